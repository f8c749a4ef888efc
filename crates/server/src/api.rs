//! Types of requests and responses. The types of the event protocols are in `model`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillrun_catalog::Row;
use skillrun_model::checks::CheckRequest;
use skillrun_model::confinement::{BoxChoice, NetworkAccess};
use skillrun_model::delegation::Delegation;
use skillrun_model::interaction::{DecisionPolicy, Pending};
use skillrun_model::limits::ResourceLimits;
use skillrun_model::mcp::{McpServerEntry, McpServers};
use skillrun_model::status::{Continuation, OnQuota, Permission};
use skillrun_model::workflow::StepView;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_model::{ExecutionMode, ProfileId, RunId};
use skillrun_runs::record::{HomeChoice, Sharing, Snapshot};
use skillrun_runs::result::RunResult;
use skillrun_runtime::{AcceptError, Options};

use skillrun_model::integers::optional_integer;

/// A request for a run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRun {
    /// The name of a skill of `GET /v1/skills`; omitted when the skill is sent with the request as a zip. A path needs
    /// the scope `admin`.
    #[serde(default)]
    pub(crate) skill: Option<String>,
    /// The first message to the engine, for a run without a skill. A request has exactly one of `skill` (or a zip) and
    /// `prompt`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 524_288))]
    pub(crate) prompt: Option<String>,
    /// One of `GET /v1/engines`. Default: the configured engine, or the only one the skill supports.
    #[serde(default)]
    pub(crate) engine: Option<String>,
    /// Default: the mode the skill prefers; `auto` without a skill.
    #[serde(default)]
    pub(crate) mode: Option<ExecutionMode>,
    /// The input, as the input schema of the skill requires; files are sent in a form.
    #[serde(default)]
    pub(crate) input: Map<String, Value>,
    /// The parameters, as the parameter schema of the skill requires.
    #[serde(default)]
    pub(crate) parameter: Map<String, Value>,
    /// The engine's name of the model.
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) options: RunOptions,
    /// A folder on the server's machine to work in; needs the scope `admin`. Default: a folder inside the run.
    #[serde(default)]
    pub(crate) workspace: Option<WorkspaceChoice>,
    /// Addresses that are notified when the run waits for an answer and when it is over.
    #[serde(default)]
    #[schemars(length(max = 10))]
    pub(crate) webhooks: Vec<String>,
    /// The run becomes a child of this one, whose open turn must be allowed to delegate. It then has the permission of its
    /// parent; beside the task, only `engine`, `mode`, `input`, `parameter`, `model`, `options.hard_timeout_sec` and
    /// `webhooks` can be given. The Idempotency-Key is the key of the child, which is unique in the turn of the parent;
    /// without one, the same request gives the same child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent_run_id: Option<RunId>,
}

/// A request for a workflow.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateWorkflow {
    /// The text of the file, YAML or JSON. A request has exactly one of `workflow` and `skill`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 4_194_304))]
    pub(crate) workflow: Option<String>,
    /// The name of a skill that has a workflow in `assets/workflow.yaml`.
    #[serde(default)]
    pub(crate) skill: Option<String>,
    #[serde(default)]
    pub(crate) inputs: Map<String, Value>,
    /// The engine of steps that name none. Default: the configured engine.
    #[serde(default)]
    pub(crate) engine: Option<String>,
    /// The model of steps that name none.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// Of steps that have none of their own.
    #[serde(default)]
    pub(crate) options: RunOptions,
    /// A folder on the server's machine in which steps with `workspace: shared` work; needs the scope `admin`. Default:
    /// a folder inside the run.
    #[serde(default)]
    pub(crate) workspace: Option<WorkspaceChoice>,
    /// Addresses that are notified when the workflow waits for a decision and when it is over.
    #[serde(default)]
    #[schemars(length(max = 10))]
    pub(crate) webhooks: Vec<String>,
}

/// The file of a workflow, to be checked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckWorkflow {
    /// The text of the file, YAML or JSON.
    #[schemars(length(max = 4_194_304))]
    pub(crate) workflow: String,
    /// The engine of steps that name none. Default: the configured engine.
    #[serde(default)]
    pub(crate) engine: Option<String>,
}

/// Whether the file of a workflow can be carried out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WorkflowCheck {
    pub(crate) valid: bool,
    /// The first thing that is wrong, in one sentence with its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// The steps of a valid file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<PlannedWorkflow>,
}

/// A workflow before it begins.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlannedWorkflow {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// What it is given, by name.
    pub(crate) inputs: BTreeMap<String, PlannedInput>,
    pub(crate) steps: Vec<StepView>,
}

/// One input of a workflow.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlannedInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    /// A JSON Schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<Value>,
    /// Absent: the input must be given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<Value>,
}

/// A request to run a workflow again with the same inputs.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetryWorkflow {
    /// Steps that are ready, and whose skill, input, engine and options are the same, are taken over.
    pub(crate) from_failed: bool,
    /// Addresses that are notified when the workflow waits for a decision and when it is over.
    #[schemars(length(max = 10))]
    pub(crate) webhooks: Vec<String>,
}

impl Default for RetryWorkflow {
    fn default() -> Self {
        Self { from_failed: true, webhooks: Vec::new() }
    }
}

/// A folder of the user to work in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkspaceChoice {
    /// Absolute.
    #[schemars(regex(pattern = "^/"))]
    pub(crate) path: String,
    /// Whether other runs may work there at the same time.
    #[serde(default)]
    pub(crate) share: bool,
    /// Whether the run works in a copy of the folder instead; `POST /v1/runs/{run_id}/apply` takes its changes over.
    #[serde(default)]
    pub(crate) copy: bool,
}

/// The options of a run. An omitted option is taken from the skill, else from the settings.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RunOptions {
    /// `full` needs the scope `admin`.
    pub(crate) permission: Option<Permission>,
    /// `user` needs the scope `admin`.
    pub(crate) home: Option<HomeChoice>,
    /// Whether the processes of the run start in a box; a choice other than that of the settings needs the scope `admin`
    /// if it is `off`.
    #[serde(rename = "box")]
    pub(crate) confinement: Option<BoxChoice>,
    /// What the processes of a run in a box reach over the network; default `open`.
    pub(crate) network: Option<NetworkAccess>,
    /// Hosts that they reach in addition to the model of the engine; with these, `network` is `list` unless it is set.
    #[schemars(length(max = 32))]
    pub(crate) allow_hosts: Vec<String>,
    /// What the processes of an attempt may use. What is missing: the settings, and in a box 8 GiB of memory, 1,024
    /// processes and 20 GiB of disk; more than the settings allow needs the scope `admin`.
    pub(crate) limits: ResourceLimits,
    /// Whether files of the workspace may start programs and name addresses; default `ignore`. `allow` needs the scope
    /// `admin`.
    pub(crate) workspace_settings: Option<WorkspaceSettings>,
    /// The reasoning effort, in the terms of the engine.
    pub(crate) effort: Option<String>,
    /// An attempt that takes longer is terminated.
    #[schemars(range(min = 0.001, max = 999_999_999.0))]
    pub(crate) hard_timeout_sec: Option<f64>,
    /// An attempt without output for longer is terminated.
    #[schemars(range(min = 0.001, max = 999_999_999.0))]
    pub(crate) stall_timeout_sec: Option<f64>,
    /// How long the engine process may keep running after the end of its turn.
    #[schemars(range(min = 0.001, max = 999_999_999.0))]
    pub(crate) linger_sec: Option<f64>,
    /// False: when no user answers in time, the question is answered automatically.
    pub(crate) interactive_require_user_reply: Option<bool>,
    /// How long a question waits for an answer.
    #[schemars(range(min = 0.001, max = 999_999_999.0))]
    pub(crate) session_timeout_sec: Option<f64>,
    /// How long a process of the engine waits for the next prompt of a run at rest, before it is ended.
    #[schemars(range(min = 0.001, max = 999_999_999.0))]
    pub(crate) idle_sec: Option<f64>,
    /// Maximum number of questions answered automatically.
    #[serde(deserialize_with = "optional_integer")]
    pub(crate) auto_decision_limit: Option<u32>,
    /// What to do when no user answers.
    pub(crate) default_decision_policy: Option<DecisionPolicy>,
    /// Maximum number of turns.
    #[schemars(range(min = 1))]
    #[serde(deserialize_with = "optional_integer")]
    pub(crate) max_attempt: Option<u32>,
    /// Whether an auto run fails when the agent gives no done marker; null: as the skill says, else the settings.
    pub(crate) require_marker: Option<bool>,
    /// Whether changes of the workspace are recorded.
    pub(crate) snapshot: Option<Snapshot>,
    /// When a failed run is retried automatically.
    pub(crate) retry: RetryOptions,
    /// Names of environment variables of the server that are passed to the engine; needs the scope `admin`.
    #[schemars(length(max = 100))]
    pub(crate) env: Vec<String>,
    /// Names of environment variables of the server that are passed to the engine and whose values are masked wherever
    /// they occur; needs the scope `admin`.
    #[schemars(length(max = 100))]
    pub(crate) secrets: Vec<String>,
    /// MCP servers for the engine, by name; they replace those of the skill that have the same name. Needs the scope
    /// `admin`.
    #[schemars(with = "McpServers")]
    pub(crate) mcp_servers: BTreeMap<String, McpServerEntry>,
    /// Runs with a higher priority start sooner. Null: 0, or on a retry that of the old run.
    #[serde(deserialize_with = "optional_integer")]
    pub(crate) priority: Option<i32>,
    /// What the run may ask other runs to do. Null: it starts no other run.
    pub(crate) delegation: Option<Delegation>,
    /// Commands that the server runs in the workspace after the turn of a run that would succeed, after those of the
    /// skill; each must exit with code 0. Needs the scope `admin`.
    #[schemars(length(max = 32))]
    pub(crate) checks: Vec<CheckRequest>,
    /// How the engine's output is read, instead of its own profile.
    pub(crate) profile: Option<ProfileId>,
    /// How the engine resumes after a question, instead of its default. `sticky_process` is read as `sticky`.
    pub(crate) continuation: Option<Continuation>,
}

/// When a failed run is retried automatically, as a new run with the same request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetryOptions {
    /// `wait`: when the quota of the engine is exhausted, wait until it is available again and retry.
    pub(crate) quota: Option<OnQuota>,
    /// Maximum number of consecutive automatic retries; default 29.
    #[serde(deserialize_with = "optional_integer")]
    pub(crate) quota_max: Option<u32>,
}

impl RunOptions {
    pub(crate) fn options(&self, model: Option<String>) -> Result<Options, AcceptError> {
        Ok(Options {
            permission: self.permission,
            confinement: self.confinement,
            network: self.network,
            allow_hosts: self.allow_hosts.iter().map(|host| host.parse()).collect::<Result<_, _>>()?,
            limits: self.limits,
            workspace_settings: self.workspace_settings,
            home: self.home,
            model,
            effort: self.effort.clone(),
            hard_timeout_sec: self.hard_timeout_sec,
            stall_timeout_sec: self.stall_timeout_sec,
            linger_sec: self.linger_sec,
            max_bytes: None,
            require_user_reply: self.interactive_require_user_reply,
            session_timeout_sec: self.session_timeout_sec,
            idle_sec: self.idle_sec,
            auto_decision_limit: self.auto_decision_limit,
            default_decision_policy: self.default_decision_policy,
            max_attempt: self.max_attempt,
            require_marker: self.require_marker,
            snapshot: self.snapshot,
            retry_quota: self.retry.quota,
            retry_quota_max: self.retry.quota_max,
            env: self.env.clone(),
            secrets: self.secrets.clone(),
            mcp_servers: McpServers::try_from(self.mcp_servers.clone())?,
            priority: self.priority,
            delegation: self.delegation.clone(),
            checks: self.checks.clone(),
        })
    }
}

impl WorkspaceChoice {
    pub(crate) fn sharing(&self) -> Sharing {
        if self.share { Sharing::Allowed } else { Sharing::Alone }
    }
}

/// What follows an interrupt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct InterruptRun {
    /// The next prompt, which is sent as soon as the turn is interrupted. Null: the run waits for it.
    pub(crate) say: Option<String>,
}

/// The changes of a retry against the earlier run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetryRun {
    /// Another engine.
    pub(crate) engine: Option<String>,
    /// Another mode.
    pub(crate) mode: Option<ExecutionMode>,
    /// Only these keys change; the others keep their values.
    pub(crate) input: Map<String, Value>,
    /// Only these keys change; the others keep their values.
    pub(crate) parameter: Map<String, Value>,
    /// Another model.
    pub(crate) model: Option<String>,
    pub(crate) options: RunOptions,
    /// Webhook addresses of the new run only.
    #[schemars(length(max = 10))]
    pub(crate) webhooks: Vec<String>,
}

/// How the conversation of a run continues on another engine.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ContinueRun {
    /// The engine of the new run; the default engine of the server if it is absent.
    pub(crate) engine: Option<String>,
    /// What follows the transcript of the old run; a sentence that asks to continue if it is absent.
    pub(crate) prompt: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) options: RunOptions,
    /// Webhook addresses of the new run.
    #[schemars(length(max = 10))]
    pub(crate) webhooks: Vec<String>,
}

/// A request with files: parts of a form.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used: parts are read as they come")]
#[schemars(deny_unknown_fields)]
#[schemars(extend("patternProperties" = {"^files\\.[^\\u0000-\\u001f\\u007f]+$": {"type": "string", "description": "Input files: one part `files.SLOT` per slot."}}))]
pub(crate) struct CreateRunForm {
    /// The request as JSON, as when it is sent without files.
    #[schemars(default, with = "CreateRun")]
    request: (),
    /// A zip with the skill.
    #[schemars(default, with = "String", extend("contentMediaType" = "application/zip"))]
    skill: (),
    /// The script of the scripted engine.
    #[schemars(default, with = "String", extend("contentMediaType" = "application/octet-stream"))]
    script: (),
}

/// A run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub(crate) struct RunView {
    #[serde(flatten)]
    pub(crate) row: Row,
    /// The complete pending question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interaction: Option<Pending>,
    /// The result, once the run is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<RunResult>,
    /// Why the run is stuck; null if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trouble: Option<String>,
}

/// Runs, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunList {
    pub(crate) runs: Vec<Row>,
    /// The `cursor` of the next page; null when there is none.
    pub(crate) next_cursor: Option<String>,
}

#[cfg(test)]
mod schema_names;
#[cfg(test)]
mod tests {
    use super::*;

    /// Regression, found by reading: it said 5.
    #[test]
    fn the_description_of_quota_max_states_the_default() {
        let schema = schemars::schema_for!(RetryOptions);
        let told = schema.as_value()["properties"]["quota_max"]["description"].as_str().unwrap_or_default();
        let default = skillrun_runs::record::RetryPolicy::default().quota_max;
        assert!(told.ends_with(&format!("; default {default}.")), "{told}");
    }
}
