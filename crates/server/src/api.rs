//! What requests say and answers tell, as types. The event protocols have theirs in `model`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillrun_log::catalog::Row;
use skillrun_model::interaction::{DecisionPolicy, Pending};
use skillrun_model::status::{Continuation, OnQuota, Permission};
use skillrun_model::{ExecutionMode, ProfileId};
use skillrun_runtime::Options;
use skillrun_runtime::record::{HomeChoice, Sharing, Snapshot};
use skillrun_runtime::result::RunResult;

use crate::integers::{integer, optional_integer};

/// A run that is wanted.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRun {
    /// The name of a skill of `GET /v1/skills`; left out when the skill comes with the request as a zip. A path needs
    /// the scope `admin`.
    #[serde(default)]
    pub(crate) skill: Option<String>,
    /// One of `GET /v1/engines`; left out: the configured one, or the only one the skill names.
    #[serde(default)]
    pub(crate) engine: Option<String>,
    /// Left out: what the skill prefers.
    #[serde(default)]
    pub(crate) mode: Option<ExecutionMode>,
    /// As the input schema of the skill says; files come in a form.
    #[serde(default)]
    pub(crate) input: Map<String, Value>,
    /// As the parameter schema of the skill says.
    #[serde(default)]
    pub(crate) parameter: Map<String, Value>,
    /// In the engine's own words.
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) options: RunOptions,
    /// A folder on the server's machine to work in; needs the scope `admin`. Left out: a folder inside the run.
    #[serde(default)]
    pub(crate) workspace: Option<WorkspaceChoice>,
    /// Addresses that are told when the run waits for an answer and when it is over.
    #[serde(default)]
    #[schemars(length(max = 10))]
    pub(crate) webhooks: Vec<String>,
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
}

/// How a run is to be carried out. What is left out is the skill's choice, else that of the settings.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RunOptions {
    /// `full` needs the scope `admin`.
    pub(crate) permission: Option<Permission>,
    /// `user` needs the scope `admin`.
    pub(crate) home: Option<HomeChoice>,
    /// How hard the model thinks, in the engine's own words.
    pub(crate) effort: Option<String>,
    /// An attempt that takes longer is ended.
    #[schemars(range(min = 0.001, max = 999_999_999.0))]
    pub(crate) hard_timeout_sec: Option<f64>,
    /// An attempt that is silent for longer is ended.
    #[schemars(range(min = 0.001, max = 999_999_999.0))]
    pub(crate) stall_timeout_sec: Option<f64>,
    /// So long a process may stay after it has finished its answer.
    #[schemars(range(min = 0.001, max = 999_999_999.0))]
    pub(crate) linger_sec: Option<f64>,
    /// False: when nobody answers in time, it is decided without a person.
    pub(crate) interactive_require_user_reply: Option<bool>,
    /// So long a question waits.
    #[schemars(range(min = 0.001, max = 999_999_999.0))]
    pub(crate) session_timeout_sec: Option<f64>,
    /// So often it is decided without a person.
    #[serde(deserialize_with = "optional_integer")]
    pub(crate) auto_decision_limit: Option<u32>,
    /// What to do when nobody answers.
    pub(crate) default_decision_policy: Option<DecisionPolicy>,
    /// So many turns the run may have.
    #[schemars(range(min = 1))]
    #[serde(deserialize_with = "optional_integer")]
    pub(crate) max_attempt: Option<u32>,
    /// Whether an auto run fails when the agent gives no done marker; null: what the skill says, else the settings.
    pub(crate) require_marker: Option<bool>,
    /// Whether the workspace is compared before and after.
    pub(crate) snapshot: Option<Snapshot>,
    /// When the same is tried again by itself.
    pub(crate) retry: RetryOptions,
    /// Names of variables of the server that the engine gets; needs the scope `admin`.
    #[schemars(length(max = 100))]
    pub(crate) env: Vec<String>,
    /// The same, and their values are masked wherever they turn up; needs the scope `admin`.
    #[schemars(length(max = 100))]
    pub(crate) secrets: Vec<String>,
    /// Higher is sooner.
    #[serde(deserialize_with = "integer")]
    pub(crate) priority: i32,
    /// How the engine's output is read, instead of its own profile.
    pub(crate) profile: Option<ProfileId>,
    /// How the engine goes on after a question, instead of its own way. `sticky_process` is read as `sticky`.
    pub(crate) continuation: Option<Continuation>,
}

/// When a run that failed is tried again by itself, as a new run of the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetryOptions {
    /// `wait`: when the engine has no quota left, until it is there again.
    pub(crate) quota: Option<OnQuota>,
    /// So many runs are made so, one after the other; 29 when left out.
    #[serde(deserialize_with = "optional_integer")]
    pub(crate) quota_max: Option<u32>,
}

impl RunOptions {
    pub(crate) fn options(&self, model: Option<String>) -> Options {
        Options {
            permission: self.permission,
            home: self.home,
            model,
            effort: self.effort.clone(),
            hard_timeout_sec: self.hard_timeout_sec,
            stall_timeout_sec: self.stall_timeout_sec,
            linger_sec: self.linger_sec,
            max_bytes: None,
            require_user_reply: self.interactive_require_user_reply,
            session_timeout_sec: self.session_timeout_sec,
            auto_decision_limit: self.auto_decision_limit,
            default_decision_policy: self.default_decision_policy,
            max_attempt: self.max_attempt,
            require_marker: self.require_marker,
            snapshot: self.snapshot,
            retry_quota: self.retry.quota,
            retry_quota_max: self.retry.quota_max,
            env: self.env.clone(),
            secrets: self.secrets.clone(),
            priority: self.priority,
        }
    }
}

impl WorkspaceChoice {
    pub(crate) fn sharing(&self) -> Sharing {
        if self.share { Sharing::Allowed } else { Sharing::Alone }
    }
}

/// What is to be other than in the run before.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetryRun {
    /// Another engine.
    pub(crate) engine: Option<String>,
    /// Another mode.
    pub(crate) mode: Option<ExecutionMode>,
    /// These keys alone; the others stay as they were.
    pub(crate) input: Map<String, Value>,
    /// These keys alone; the others stay as they were.
    pub(crate) parameter: Map<String, Value>,
    /// Another model.
    pub(crate) model: Option<String>,
    pub(crate) options: RunOptions,
    /// Of the new run alone.
    #[schemars(length(max = 10))]
    pub(crate) webhooks: Vec<String>,
}

/// A request with files: parts of a form.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used: parts are read as they come")]
#[schemars(deny_unknown_fields)]
#[schemars(extend("patternProperties" = {"^files\\.[^\\u0000-\\u001f\\u007f]+$": {"type": "string", "description": "Input files: one part `files.SLOT` per slot."}}))]
pub(crate) struct CreateRunForm {
    /// JSON, as when it is sent alone.
    #[schemars(default, with = "CreateRun")]
    request: (),
    /// A zip with the skill.
    #[schemars(default, with = "String", extend("contentMediaType" = "application/zip"))]
    skill: (),
    /// What the scripted engine plays.
    #[schemars(default, with = "String", extend("contentMediaType" = "application/octet-stream"))]
    script: (),
}

/// A run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub(crate) struct RunView {
    #[serde(flatten)]
    pub(crate) row: Row,
    /// The question that waits, all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interaction: Option<Pending>,
    /// Once it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<RunResult>,
    /// Why it does not get on, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trouble: Option<String>,
}

/// Runs, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunList {
    pub(crate) runs: Vec<Row>,
    /// Give it as `cursor` for the next page; null when there is none.
    pub(crate) next_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by reading: it said 5.
    #[test]
    fn how_often_quota_is_waited_for_is_told_as_it_is() {
        let schema = schemars::schema_for!(RetryOptions);
        let told = schema.as_value()["properties"]["quota_max"]["description"].as_str().unwrap_or_default();
        let default = skillrun_runtime::record::Retry::default().quota_max;
        assert!(told.ends_with(&format!("; {default} when left out.")), "{told}");
    }
}
