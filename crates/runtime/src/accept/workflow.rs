//! A workflow is accepted: a run without an engine, whose steps become child runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use skillrun_evidence::{OsText, Patterns};
use skillrun_model::confinement::BoxChoice;
use skillrun_model::mcp::McpServers;
use skillrun_model::status::{Continuation, OnQuota, Posture};
use skillrun_model::workflow::{CONDUCTOR, WorkflowPlan};
use skillrun_model::{ExecutionMode, ProfileId};
use skillrun_runs::record::{
    BOX_FORMAT, EngineRecord, GATE, LIMITS_FORMAT, RetryPolicy, RunRecord, RunRequest, Snapshot, TRANSLATOR, Timeouts,
    WORKFLOW_FORMAT,
};

use super::options::{Filled, Options};
use super::{AcceptError, Checked, NewRun, confinement, is_agreed_to, workspace_of};
use crate::consent;
use crate::runtime::RuntimeConfig;
use crate::variables::{self, SealedVariables};

/// Options that the conductor would ignore: they belong to the turns of an engine, and the steps have theirs in the file.
fn refuse_options_of_turns(options: &Options) -> Result<(), AcceptError> {
    let Options {
        idle_sec,
        default_decision_policy,
        max_attempt,
        require_marker,
        snapshot,
        retry_quota,
        retry_quota_max,
        mcp_servers,
        delegation,
        checks,
        // These hold for the steps that have none of their own.
        permission: _,
        home: _,
        model: _,
        effort: _,
        hard_timeout_sec: _,
        stall_timeout_sec: _,
        linger_sec: _,
        max_bytes: _,
        require_user_reply: _,
        session_timeout_sec: _,
        auto_decision_limit: _,
        env: _,
        secrets: _,
        priority: _,
        confinement: _,
        network: _,
        allow_hosts: _,
        limits: _,
        workspace_settings: _,
    } = options;
    let given = [
        ("idle_sec", idle_sec.is_some()),
        ("default_decision_policy", default_decision_policy.is_some()),
        ("max_attempt", max_attempt.is_some()),
        ("require_marker", require_marker.is_some()),
        ("snapshot", snapshot.is_some()),
        ("retry_quota", retry_quota.is_some()),
        ("retry_quota_max", retry_quota_max.is_some()),
        ("mcp_servers", !mcp_servers.is_empty()),
        ("delegation", delegation.is_some()),
        ("checks", !checks.is_empty()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(AcceptError::NotOfWorkflows { name }),
        None => Ok(()),
    }
}

/// Checks the request of a workflow whose plan and inputs were checked, and changes nothing.
pub(super) fn check(config: &RuntimeConfig, new: NewRun, plan: Arc<WorkflowPlan>) -> Result<Checked, AcceptError> {
    if let Some(consent) = consent::of_workflow(&plan)
        && !is_agreed_to(config, &consent)?
    {
        return Err(AcceptError::NoConsentToWorkflow { consent });
    }
    refuse_options_of_turns(&new.options)?;
    let options = Filled::of(&new.options, &serde_json::Map::new(), &config.defaults)?;
    // Its steps are held to the box, each with its own permission; what no step can have is refused before the first.
    confinement::check_options(&options)?;
    confinement::check_workspace(config, &options, &workspace_of(config, &new)?)?;
    // Text that could not be hidden later must not be written now.
    Patterns::new(&config.redact_patterns)?;
    let now = config.tools.clock.now();
    let profile = ProfileId::PlainText;
    let record = RunRecord {
        format: match options.confinement {
            _ if !options.limits.is_empty() => LIMITS_FORMAT,
            BoxChoice::On | BoxChoice::Required => BOX_FORMAT,
            BoxChoice::Off => WORKFLOW_FORMAT,
        },
        run_id: config.new_id(now)?,
        created_at: now,
        skillrun: env!("CARGO_PKG_VERSION").to_owned(),
        translator: TRANSLATOR,
        gate: GATE,
        skill: None,
        // It has no process of its own: this names the part of the program that carries it out.
        engine: EngineRecord {
            name: CONDUCTOR.to_owned(),
            program: OsText::from(config.own_program.clone()),
            interpreter: None,
            version: None,
            profile,
            profile_version: profile.version(),
            continuation: Continuation::None,
            posture: Posture::Enforced,
            login: None,
        },
        confinement: None,
        workspace_starts: Vec::new(),
        workspace_credentials: Vec::new(),
        request: RunRequest {
            prompt: None,
            workflow: Some(plan),
            reuses: new.reuses,
            mode: ExecutionMode::Auto,
            files: BTreeMap::new(),
            workspace: workspace_of(config, &new)?,
            home: options.home,
            permission: options.permission,
            confinement: options.confinement,
            network: options.network,
            allow_hosts: options.allow_hosts,
            limits: options.limits,
            workspace_settings: options.workspace_settings,
            model: new.options.model.clone(),
            effort: new.options.effort.clone(),
            script: None,
            timeouts: Timeouts {
                hard_sec: options.hard_timeout_sec,
                stall_sec: options.stall_timeout_sec,
                linger_sec: options.linger_sec,
            },
            max_bytes: options.max_bytes,
            interactive_require_user_reply: options.require_user_reply,
            session_timeout_sec: options.session_timeout_sec,
            idle_sec: options.idle_sec,
            auto_decision_limit: options.auto_decision_limit,
            default_decision_policy: None,
            max_attempt: None,
            require_marker: false,
            snapshot: Snapshot::Off,
            env: new.options.env.clone(),
            secrets: new.options.secrets.clone(),
            mcp_servers: McpServers::default(),
            priority: new.options.priority.unwrap_or(0),
            // Its steps are tried again, as its file says.
            retry: RetryPolicy { quota: OnQuota::Fail, ..options.retry },
            delegation: None,
            checks: Vec::new(),
            artifacts: Vec::new(),
            request_id: new.request_id.clone(),
            input: new.input,
            parameter: new.parameter,
        },
        input_hashes: BTreeMap::new(),
        redact_patterns: config.redact_patterns.clone(),
        retry_of: new.retry_of,
        continues: None,
        parent: None,
        quota_retry: None,
    };
    let salt = variables::random_salt().map_err(crate::RuntimeError::file("/dev/urandom", "read"))?;
    // Its steps get the variables that the request names; another process must have the same ones.
    let names = new.options.env.iter().chain(&new.options.secrets).cloned().collect();
    let variables = Some(SealedVariables::of(names, &config.tools.variables, salt));
    Ok(Checked { record, variables, files: Vec::new(), skill: None })
}
