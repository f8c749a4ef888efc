//! The options that a run was accepted with, drawn from the tape.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Map;
use skillrun_engine::{Permission, Posture};
use skillrun_evidence::OsText;
use skillrun_lifecycle::run::SessionLeft;
use skillrun_model::confinement::{BoxChoice, NetworkAccess};
use skillrun_model::delegation::Delegation;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::limits::ResourceLimits;
use skillrun_model::mcp::McpServers;
use skillrun_model::status::{Continuation, OnQuota};
use skillrun_model::{ExecutionMode, ProfileId, RunId, Timestamp};
use skillrun_runs::record::{
    EngineRecord, FORMAT, HomeChoice, QuotaRetry, RetryPolicy, RunRecord, RunRequest, SkillRecord, Snapshot, Timeouts,
    Workspace,
};

use super::host::HARD;
use super::tape::Tape;

/// How the Log is kept. As text it is parsed again from its text, as a new owner does; that is slow, so it is rare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paper {
    Events,
    Text,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) continuation: Continuation,
    require_user_reply: bool,
    auto_decision_limit: u32,
    on_quota: OnQuota,
    pub(crate) mode: ExecutionMode,
    /// Whether the session of a process that is gone can be loaded.
    pub(crate) session: SessionLeft,
    pub(crate) max_attempt: Option<u32>,
    pub(crate) policy: Option<DecisionPolicy>,
    pub(crate) paper: Paper,
    /// The run may have children.
    pub(crate) delegates: bool,
}

/// In milliseconds, as all times of a story.
pub(crate) const SESSION_TIMEOUT: u64 = 20_000;

/// Children that work at the same time.
const CHILDREN_MAX: u32 = 2;

/// How long a process waits for the next prompt.
pub(crate) const IDLE: u64 = 15_000;

impl Scene {
    pub(crate) fn draw(tape: &mut Tape) -> Self {
        let (continuation, session) = [
            (Continuation::Resumable, SessionLeft::Lost),
            (Continuation::Sticky, SessionLeft::Lost),
            (Continuation::Sticky, SessionLeft::Loadable),
            (Continuation::Resumable, SessionLeft::Lost),
            (Continuation::Sticky, SessionLeft::Lost),
            (Continuation::None, SessionLeft::Lost),
        ][tape.pick(6)];
        let drawn = [
            ExecutionMode::Interactive,
            ExecutionMode::Conversation,
            ExecutionMode::Interactive,
            ExecutionMode::Conversation,
            ExecutionMode::Auto,
        ][tape.pick(5)];
        let mode = match continuation {
            // Other modes are refused.
            Continuation::None => ExecutionMode::Auto,
            Continuation::Resumable | Continuation::Sticky => drawn,
        };
        let require_user_reply = tape.pick(2) == 0;
        let auto_decision_limit = [2, 0, 1][tape.pick(3)];
        let policies = [None, None, Some(DecisionPolicy::Abort), Some(DecisionPolicy::SafeDefault)];
        let policy = policies[tape.pick(4)];
        let on_quota = if tape.pick(3) == 2 { OnQuota::Wait } else { OnQuota::Fail };
        let max_attempt = (tape.pick(5) == 4).then_some(2);
        let delegates = tape.pick(3) == 2;
        let paper = if tape.pick(24) == 23 { Paper::Text } else { Paper::Events };
        Self {
            continuation,
            require_user_reply,
            auto_decision_limit,
            on_quota,
            mode,
            session,
            max_attempt,
            policy,
            paper,
            delegates,
        }
    }

    /// A process of this run can wait between two turns.
    pub(crate) fn goes_on(&self) -> bool {
        let has_turns = match self.mode {
            ExecutionMode::Auto => false,
            ExecutionMode::Interactive | ExecutionMode::Conversation => true,
        };
        self.continuation == Continuation::Sticky && has_turns
    }

    /// The run as it was accepted. `retry`: its position in a chain, and when it may begin.
    pub(crate) fn record(&self, run_id: RunId, retry: Option<(u32, Timestamp)>) -> RunRecord {
        let nowhere = || OsText::from(Path::new("/nonexistent"));
        RunRecord {
            format: FORMAT,
            run_id,
            created_at: Timestamp::EPOCH,
            skillrun: "0".to_owned(),
            translator: 1,
            gate: 1,
            skill: Some(SkillRecord {
                name: "probe".to_owned(),
                version: None,
                source: nowhere(),
                hash: String::new(),
                layers_hash: String::new(),
            }),
            engine: EngineRecord {
                name: "claude".to_owned(),
                program: nowhere(),
                interpreter: None,
                version: None,
                profile: ProfileId::ClaudeStreamJson,
                profile_version: ProfileId::ClaudeStreamJson.version(),
                continuation: self.continuation,
                posture: Posture::NotEnforced,
                login: None,
            },
            confinement: None,
            workspace_starts: Vec::new(),
            workspace_credentials: Vec::new(),
            request: RunRequest {
                prompt: None,
                workflow: None,
                reuses: None,
                mode: self.mode,
                input: Map::new(),
                parameter: Map::new(),
                files: BTreeMap::new(),
                workspace: Workspace::Own,
                home: HomeChoice::Run,
                permission: Permission::Workspace,
                confinement: BoxChoice::Off,
                network: NetworkAccess::Open,
                allow_hosts: Vec::new(),
                limits: ResourceLimits::default(),
                workspace_settings: Default::default(),
                model: None,
                effort: None,
                script: None,
                timeouts: Timeouts { hard_sec: HARD as f64 / 1000.0, stall_sec: 30.0, linger_sec: None },
                max_bytes: u64::MAX,
                interactive_require_user_reply: self.require_user_reply,
                session_timeout_sec: SESSION_TIMEOUT as f64 / 1000.0,
                idle_sec: IDLE as f64 / 1000.0,
                auto_decision_limit: self.auto_decision_limit,
                default_decision_policy: self.policy,
                max_attempt: self.max_attempt,
                require_marker: false,
                snapshot: Snapshot::Off,
                env: Vec::new(),
                secrets: Vec::new(),
                delegation: self.delegates.then(|| Delegation { max_children: CHILDREN_MAX, ..Delegation::default() }),
                checks: Vec::new(),
                artifacts: Vec::new(),
                mcp_servers: McpServers::default(),
                priority: 0,
                retry: RetryPolicy { quota: self.on_quota, quota_max: 2 },
                request_id: None,
            },
            input_hashes: BTreeMap::new(),
            redact_patterns: Vec::new(),
            retry_of: None,
            continues: None,
            parent: None,
            quota_retry: retry.map(|(number, not_before)| QuotaRetry { number, not_before }),
        }
    }
}
