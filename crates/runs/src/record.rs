//! `run.json`: a run as it was accepted. Written once, before the first event, and never changed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use skillrun_base::whole_file::{self, SyncLevel};
use skillrun_engine::{Permission, Posture};
use skillrun_evidence::{OsText, PatternError, Patterns};
use skillrun_lifecycle::run::{QuotaWait, RunOptions};
use skillrun_model::checks::CheckCommand;
use skillrun_model::confinement::{BoxChoice, BoxReport, HostPattern, NetworkAccess};
use skillrun_model::continues::Continues;
use skillrun_model::delegation::{Delegation, ParentLink};
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::limits::ResourceLimits;
use skillrun_model::mcp::McpServers;
use skillrun_model::status::{Continuation, OnQuota};
use skillrun_model::workflow::WorkflowPlan;
use skillrun_model::workspace_settings::{WorkspaceSettings, WorkspaceStart};
use skillrun_model::{Classified, ErrorClass, ExecutionMode, ProfileId, RunId, Timestamp};

use crate::copy::{CopiedFrom, WorkspaceCopy};
use crate::prompt;

/// Version of `run.json` for a run of a skill: the first one, so that earlier versions of skillrun read it.
pub const FORMAT: u32 = 1;
/// Version of `run.json` for a run without a skill: it has `request.prompt` and no `skill`.
pub const PROMPT_FORMAT: u32 = 2;
/// Version of `run.json` for a workflow: it has `request.workflow`, and neither a skill nor a prompt.
pub const WORKFLOW_FORMAT: u32 = 3;
/// Version of `run.json` for a run that works in a copy of a folder, with or without a skill. A run with a later version
/// is refused.
pub const COPY_FORMAT: u32 = 4;

/// Version of `run.json` for a run with checks: an earlier version would let the run succeed without them.
pub const CHECKED_FORMAT: u32 = 5;

/// Version of `run.json` for a run in a box: an earlier version would start its processes without one.
pub const BOX_FORMAT: u32 = 6;

/// Version of `run.json` for a run with limits of memory, processes, processor time or disk: an earlier version would
/// start its processes without them.
pub const LIMITS_FORMAT: u32 = 7;

/// The version of the translation from RASP to FCMP. 3: turns, and the messages that begin them.
pub const TRANSLATOR: u32 = 3;
/// Version of the rules by which turns are judged. 2: closing messages, "not done", required markers. 3: the reason that
/// an engine gave on stderr. 4: the limit that an engine named, and required MCP servers.
pub const GATE: u32 = 4;

/// Largest `run.json`: inputs are checked when they are accepted, so that it stays below.
const MAX_BYTES: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub format: u32,
    pub run_id: RunId,
    pub created_at: Timestamp,
    /// The version that accepted it.
    pub skillrun: String,
    pub translator: u32,
    /// Version of the rules by which turns are judged. Records of 0.1.0 do not contain it.
    #[serde(default = "first_gate")]
    pub gate: u32,
    /// None: the run has a prompt instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillRecord>,
    pub engine: EngineRecord,
    /// What the box of its processes holds on the machine that accepted the run. None: they start without one.
    #[serde(rename = "box", default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<BoxReport>,
    /// What files of the workspace could start, as it was when the run was accepted, and what becomes of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspace_starts: Vec<WorkspaceStart>,
    /// Names of files in the workspace that look like credentials, as they were when the run was accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspace_credentials: Vec<String>,
    pub request: RunRequest,
    /// BLAKE3 of each file in `inputs/` that came with the request, by name. Absent in records of older versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input_hashes: BTreeMap<String, String>,
    /// What readers hide, in addition to the values of secret variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redact_patterns: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunId>,
    /// The run whose conversation this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<Continues>,
    /// The run that has asked for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentLink>,
    /// For a run that replaces one that ran out of quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_retry: Option<QuotaRetry>,
}

fn first_gate() -> u32 {
    1
}

/// Why a run was created automatically, and when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaRetry {
    /// Its position in the chain of retries, from 1.
    pub number: u32,
    pub not_before: Timestamp,
}

/// What a run carries out: a skill, the prompt of a user, or a workflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RecordedTask<'a> {
    Skill(&'a SkillRecord),
    Prompt(&'a str),
    Workflow(&'a WorkflowPlan),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillRecord {
    pub name: String,
    pub version: Option<String>,
    /// Where it was found; it may no longer exist.
    pub source: OsText,
    /// Of the copy in the run, as it was accepted.
    pub hash: String,
    /// Of the rules that are added to it.
    pub layers_hash: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineRecord {
    pub name: String,
    pub program: OsText,
    /// The interpreter that starts the program, if it is a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<OsText>,
    pub version: Option<String>,
    pub profile: ProfileId,
    pub profile_version: u32,
    pub continuation: Continuation,
    pub posture: Posture,
    /// The command that logs the user in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
}

/// How long a process waits for the next prompt, where nothing else is set.
pub const DEFAULT_IDLE_SEC: f64 = 600.0;

fn default_idle_sec() -> f64 {
    DEFAULT_IDLE_SEC
}

fn no_box() -> BoxChoice {
    BoxChoice::Off
}

fn is_no_box(choice: &BoxChoice) -> bool {
    *choice == BoxChoice::Off
}

fn ignores_settings(settings: &WorkspaceSettings) -> bool {
    *settings == WorkspaceSettings::Ignore
}

fn open_network() -> NetworkAccess {
    NetworkAccess::Open
}

fn is_open_network(network: &NetworkAccess) -> bool {
    *network == NetworkAccess::Open
}

/// The request, with every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The first message of a run without a skill, exactly as it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The workflow, as it was accepted; `input` has its inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Arc<WorkflowPlan>>,
    /// The earlier run of the workflow whose ready steps count here too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuses: Option<RunId>,
    pub mode: ExecutionMode,
    pub input: Map<String, Value>,
    pub parameter: Map<String, Value>,
    /// Names in `inputs/`, by slot.
    pub files: BTreeMap<String, String>,
    pub workspace: Workspace,
    pub home: HomeChoice,
    pub permission: Permission,
    /// Whether the processes of the run start in a box.
    #[serde(rename = "box", default = "no_box", skip_serializing_if = "is_no_box")]
    pub confinement: BoxChoice,
    /// What they reach over the network.
    #[serde(default = "open_network", skip_serializing_if = "is_open_network")]
    pub network: NetworkAccess,
    /// Hosts that they reach in addition to the model, with `list`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_hosts: Vec<HostPattern>,
    /// What the processes of an attempt may use.
    #[serde(default, skip_serializing_if = "ResourceLimits::is_empty")]
    pub limits: ResourceLimits,
    /// Whether files of the workspace may start programs and name addresses.
    #[serde(default, skip_serializing_if = "ignores_settings")]
    pub workspace_settings: WorkspaceSettings,
    pub model: Option<String>,
    pub effort: Option<String>,
    /// Name in `inputs/` of the script that the scripted engine plays. None: the script of the skill, or another engine.
    pub script: Option<String>,
    pub timeouts: Timeouts,
    pub max_bytes: u64,
    pub interactive_require_user_reply: bool,
    pub session_timeout_sec: f64,
    /// How long a process waits for the next prompt of a run at rest. Records of earlier versions do not contain it.
    #[serde(default = "default_idle_sec")]
    pub idle_sec: f64,
    pub auto_decision_limit: u32,
    pub default_decision_policy: Option<DecisionPolicy>,
    /// Instead of the skill's.
    pub max_attempt: Option<u32>,
    /// An auto run without a done marker fails. Records of earlier versions do not contain it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_marker: bool,
    pub snapshot: Snapshot,
    /// Names of variables that are passed on; values are never stored.
    pub env: Vec<String>,
    /// The same, but their values are masked.
    pub secrets: Vec<String>,
    /// MCP servers for the engine: those of the request, and those of the skill that have another name.
    #[serde(default, skip_serializing_if = "McpServers::is_empty")]
    pub mcp_servers: McpServers,
    /// Higher runs first.
    pub priority: i32,
    #[serde(default)]
    pub retry: RetryPolicy,
    /// What the run may ask other runs to do. None: it starts no other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<Delegation>,
    /// Commands that must pass before the run succeeds, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<RunCheck>,
    /// Files of the workspace, relative to it, that are artifacts wherever they are: a workflow requires them of its step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    pub request_id: Option<String>,
}

/// A command that must pass before the run succeeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunCheck {
    /// Of no other check of the run.
    pub name: String,
    pub command: CheckCommand,
    pub timeout_sec: f64,
    pub origin: CheckOrigin,
}

/// Where a check comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOrigin {
    Skill,
    Request,
}

/// When the same request is retried automatically as a new run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    pub quota: OnQuota,
    /// Maximum number of consecutive retries.
    pub quota_max: u32,
}

impl Default for RetryPolicy {
    /// With no reported reset time, this many waits are about a day.
    fn default() -> Self {
        Self { quota: OnQuota::Fail, quota_max: 29 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timeouts {
    pub hard_sec: f64,
    pub stall_sec: f64,
    /// None: the engine's default.
    pub linger_sec: Option<f64>,
}

/// Where the engine works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workspace {
    /// A folder inside the run.
    Own,
    /// A folder of the user's, absolute and without links.
    Folder { path: OsText, sharing: Sharing },
    /// A folder inside the run that began as a copy of another one.
    Copy(WorkspaceCopy),
}

impl Workspace {
    /// The folder of the user in which the run works; none if it works inside of its own folder.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Own | Self::Copy(_) => None,
            Self::Folder { path, .. } => Some(path.as_path()),
        }
    }

    /// The copy in which the run works.
    pub fn copy(&self) -> Option<&WorkspaceCopy> {
        match self {
            Self::Own | Self::Folder { .. } => None,
            Self::Copy(copy) => Some(copy),
        }
    }

    pub(crate) fn is_copy_of_repository(&self) -> bool {
        self.copy().is_some_and(|copy| copy.kind == CopiedFrom::Repository)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// No other run may work there at the same time.
    Alone,
    Allowed,
}

/// The engine's home folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HomeChoice {
    /// A folder inside the run.
    Run,
    User,
}

/// Whether the workspace is compared before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Snapshot {
    Taken,
    Off,
}

/// Why the record of a run cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{}: there is no such file", path.display())]
    Missing { path: PathBuf },
    #[error("{}: written by a later version of skillrun (format {found}, this one reads up to {LIMITS_FORMAT}); use that version", path.display())]
    Newer { path: PathBuf, found: u64 },
    #[error("{}: is not a record of a run: {why}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        why: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("{}: {error}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
}

impl Classified for RecordError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Missing { .. } => ErrorClass::NotFound,
            Self::Newer { .. } | Self::Unreadable { .. } | Self::Io { .. } => ErrorClass::Internal,
        }
    }
}

impl RunRecord {
    /// Writes it and returns its hash, which the first event carries.
    pub fn write(&self, path: &Path) -> io::Result<String> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        // The first event syncs the folder to disk.
        whole_file::replace_with(path, &text, SyncLevel::Content)?;
        Ok(blake3::hash(&text).to_hex().to_string())
    }

    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let io = |error: io::Error| {
            if error.kind() == io::ErrorKind::NotFound {
                RecordError::Missing { path: path.to_owned() }
            } else {
                RecordError::Io { path: path.to_owned(), error }
            }
        };
        let unreadable = |why| RecordError::Unreadable { path: path.to_owned(), why };
        if fs::metadata(path).map_err(io)?.len() > MAX_BYTES {
            return Err(unreadable(format!("it has more than {MAX_BYTES} bytes").into()));
        }
        let text = fs::read(path).map_err(io)?;
        // The version is checked first: the other fields of a later version are unknown.
        #[derive(Deserialize)]
        struct Version {
            format: u64,
        }
        let version: Version = serde_json::from_slice(&text).map_err(|error| unreadable(error.into()))?;
        if version.format > u64::from(LIMITS_FORMAT) {
            return Err(RecordError::Newer { path: path.to_owned(), found: version.format });
        }
        let record: Self = serde_json::from_slice(&text).map_err(|error| unreadable(error.into()))?;
        match (&record.skill, &record.request.prompt, &record.request.workflow) {
            (Some(_), None, None) | (None, Some(_), None) | (None, None, Some(_)) => Ok(record),
            (Some(_), Some(_), _) => Err(unreadable("it has both a skill and a prompt".into())),
            (Some(_), None, Some(_)) | (None, Some(_), Some(_)) => {
                Err(unreadable("it has a workflow besides a skill or a prompt".into()))
            }
            (None, None, None) => Err(unreadable("it has neither a skill nor a prompt".into())),
        }
    }

    /// What the run carries out.
    pub fn task(&self) -> RecordedTask<'_> {
        // A record has exactly one of them.
        match (&self.skill, &self.request.workflow) {
            (Some(skill), _) => RecordedTask::Skill(skill),
            (None, Some(plan)) => RecordedTask::Workflow(plan),
            (None, None) => RecordedTask::Prompt(self.request.prompt.as_deref().unwrap_or_default()),
        }
    }

    /// The check with this number, from 1.
    pub fn check(&self, number: u32) -> Option<&RunCheck> {
        self.request.checks.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// The run at the top of its family: the one without a parent.
    pub fn family(&self) -> RunId {
        self.parent.as_ref().map_or(self.run_id, |link| link.root)
    }

    /// The workflow, if the run is one.
    pub fn workflow(&self) -> Option<&WorkflowPlan> {
        self.request.workflow.as_deref()
    }

    /// A short name of the run: its skill or workflow, or the beginning of its prompt.
    pub fn title(&self) -> String {
        match self.task() {
            RecordedTask::Skill(skill) => skill.name.clone(),
            RecordedTask::Workflow(_) | RecordedTask::Prompt(_) => self.prompt_title().unwrap_or_default(),
        }
    }

    /// The beginning of the user's own prompt, or the name of a workflow; none for a run of a skill. The transcript of the run that this one
    /// continues is not part of it.
    pub fn prompt_title(&self) -> Option<String> {
        match self.task() {
            RecordedTask::Skill(_) => None,
            RecordedTask::Workflow(plan) => Some(plan.name.clone()),
            RecordedTask::Prompt(text) => {
                let transcript = self.continues.as_ref().and_then(|continues| continues.bytes).unwrap_or(0);
                let own = usize::try_from(transcript).ok().and_then(|from| text.get(from..));
                Some(prompt::title(own.unwrap_or(text)))
            }
        }
    }

    /// What readers of its evidence hide. `path` is the place of the record, for error messages.
    pub fn patterns(&self, path: &Path) -> Result<Patterns, RecordError> {
        let unreadable = |error: PatternError| RecordError::Unreadable { path: path.to_owned(), why: error.into() };
        Patterns::new(&self.redact_patterns).map_err(unreadable)
    }

    /// The options that decide about questions.
    pub fn options(&self) -> RunOptions {
        RunOptions {
            mode: self.request.mode,
            continuation: self.engine.continuation,
            require_user_reply: self.request.interactive_require_user_reply,
            session_timeout: seconds(self.request.session_timeout_sec),
            auto_decision_limit: self.request.auto_decision_limit,
            quota_wait: self.quota_wait(),
            max_children: self.request.delegation.as_ref().map(|delegation| delegation.max_children),
            checks: u32::try_from(self.request.checks.len()).unwrap_or(u32::MAX),
        }
    }

    fn quota_wait(&self) -> Option<QuotaWait> {
        let RetryPolicy { quota, quota_max: max } = self.request.retry;
        match quota {
            OnQuota::Fail => None,
            OnQuota::Wait => {
                let hash = blake3::hash(format!("retry of {}", self.run_id).as_bytes());
                let mut random = [0; 10];
                random.copy_from_slice(&hash.as_bytes()[..10]);
                Some(QuotaWait { made: self.quota_retry.map_or(0, |retry| retry.number), max, random })
            }
        }
    }

    /// The run does not begin before this.
    pub fn not_before(&self) -> Option<Timestamp> {
        self.quota_retry.map(|retry| retry.not_before)
    }
}

/// Seconds as written in a record; an invalid value means no time at all.
pub fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RUN: &str = "00000000-0001-7001-8101-010101010101";

    /// What is read from a `run.json` with these changes.
    fn read(change: impl FnOnce(&mut Value)) -> Result<RunRecord, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.json");
        let mut record = testkit::run_files::run_record(RUN);
        change(&mut record);
        fs::write(&path, record.to_string()).expect("written");
        let place = format!("{}: ", path.display());
        RunRecord::read(&path).map_err(|error| error.to_string().replace(&place, ""))
    }

    fn without_skill(record: &mut Value) {
        record["format"] = json!(2);
        record["request"]["prompt"] = json!(" Why is\nthe sky blue? ");
        record.as_object_mut().expect("an object").remove("skill");
    }

    #[test]
    fn format_1_and_format_2_are_read() {
        let skill = read(|_| ()).expect("a record");
        assert!(matches!(skill.task(), RecordedTask::Skill(skill) if skill.name == "demo"));
        assert_eq!(skill.title(), "demo");
        let prompt = read(without_skill).expect("a record");
        assert_eq!(prompt.task(), RecordedTask::Prompt(" Why is\nthe sky blue? "));
        assert_eq!(prompt.title(), "Why is the sky blue?");
        let null = read(|record| {
            without_skill(record);
            record["skill"] = Value::Null;
        });
        assert_eq!(null, Ok(prompt));
    }

    /// Regression: in lists, all continued conversations had the beginning of the transcript as their title.
    #[test]
    fn title_of_a_continued_run_is_its_own_prompt() {
        let title = |bytes: Value| {
            let continued = read(|record| {
                without_skill(record);
                record["request"]["prompt"] = json!("Below is a transcript.\n\nAnd now the tests.");
                let hash = "0".repeat(64);
                record["continues"] = json!({"run_id": RUN, "seq": 9, "hash": hash, "left_out": [], "bytes": bytes});
            });
            continued.expect("a record").title()
        };
        assert_eq!(title(json!(24)), "And now the tests.");
        // An earlier version noted no length, and a wrong one must not hide the prompt.
        for bytes in [Value::Null, json!(1000)] {
            assert_eq!(title(bytes), "Below is a transcript. And now the tests.");
        }
    }

    /// An earlier version reads what is written for a run of a skill.
    #[test]
    fn record_of_a_skill_has_no_field_of_format_2() {
        let written = serde_json::to_value(read(|_| ()).expect("a record")).expect("JSON");
        assert_eq!(written["format"], json!(1));
        assert_eq!(written["request"].get("prompt"), None);
        let prompt = serde_json::to_value(read(without_skill).expect("a record")).expect("JSON");
        assert_eq!(prompt.get("skill"), None);
    }

    #[test]
    fn record_has_exactly_one_of_skill_and_prompt() {
        let both = read(|record| record["request"]["prompt"] = json!("Why?"));
        assert_eq!(both, Err("is not a record of a run: it has both a skill and a prompt".to_owned()));
        let neither = read(|record| record["skill"] = Value::Null);
        assert_eq!(neither, Err("is not a record of a run: it has neither a skill nor a prompt".to_owned()));
        let newer = read(|record| record["format"] = json!(8));
        let sentence = "written by a later version of skillrun (format 8, this one reads up to 7); use that version";
        assert_eq!(newer, Err(sentence.to_owned()));
    }
}
