//! Options of a run: those of the request, then of the skill, then of the user's settings, then the defaults.

use serde_json::{Map, Value};
use skillrun_engine::Permission;
use skillrun_model::checks::CheckRequest;
use skillrun_model::confinement::{BoxChoice, HostPattern, NetworkAccess};
use skillrun_model::delegation::Delegation;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::limits::{LimitName, ResourceLimits};
use skillrun_model::mcp::McpServers;
use skillrun_model::status::OnQuota;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_runs::record::{DEFAULT_IDLE_SEC, HomeChoice, RetryPolicy, RunRequest, Snapshot};

use super::error::AcceptError;

/// The options that a request may set. None: not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    pub permission: Option<Permission>,
    /// Whether the processes of the run start in a box.
    pub confinement: Option<BoxChoice>,
    pub network: Option<NetworkAccess>,
    /// Hosts that the run reaches in addition to the model. With these, `network` is `list` where it is not set.
    pub allow_hosts: Vec<HostPattern>,
    /// What the processes of an attempt may use.
    pub limits: ResourceLimits,
    /// Whether files of the workspace may start programs and name addresses.
    pub workspace_settings: Option<WorkspaceSettings>,
    pub home: Option<HomeChoice>,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub hard_timeout_sec: Option<f64>,
    pub stall_timeout_sec: Option<f64>,
    pub linger_sec: Option<f64>,
    pub max_bytes: Option<u64>,
    pub require_user_reply: Option<bool>,
    pub session_timeout_sec: Option<f64>,
    pub idle_sec: Option<f64>,
    pub auto_decision_limit: Option<u32>,
    pub default_decision_policy: Option<DecisionPolicy>,
    pub max_attempt: Option<u32>,
    pub require_marker: Option<bool>,
    pub snapshot: Option<Snapshot>,
    pub retry_quota: Option<OnQuota>,
    pub retry_quota_max: Option<u32>,
    pub env: Vec<String>,
    pub secrets: Vec<String>,
    /// Instead of those of the skill that have the same name.
    pub mcp_servers: McpServers,
    pub priority: Option<i32>,
    /// What the run may ask other runs to do. None: nothing.
    pub delegation: Option<Delegation>,
    /// Commands that must pass before the run succeeds, after those of the skill.
    pub checks: Vec<CheckRequest>,
}

impl Options {
    /// The same in the box of an earlier run, where nothing is said of it.
    pub fn in_box_of(self, before: &RunRequest) -> Self {
        Self {
            confinement: self.confinement.or(Some(before.confinement)),
            // Another network has its own hosts.
            allow_hosts: match (self.network, self.allow_hosts.is_empty()) {
                (None, true) => before.allow_hosts.clone(),
                (Some(_), _) | (None, false) => self.allow_hosts.clone(),
            },
            network: self.network.or_else(|| self.allow_hosts.is_empty().then_some(before.network)),
            ..self
        }
    }
}

/// All of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filled {
    pub(super) permission: Permission,
    pub(super) confinement: BoxChoice,
    pub(super) network: NetworkAccess,
    pub(super) allow_hosts: Vec<HostPattern>,
    pub(super) limits: ResourceLimits,
    pub(super) workspace_settings: WorkspaceSettings,
    pub(super) home: HomeChoice,
    pub(super) hard_timeout_sec: f64,
    pub(super) stall_timeout_sec: f64,
    pub(super) linger_sec: Option<f64>,
    pub(super) max_bytes: u64,
    pub(super) require_user_reply: bool,
    pub(super) session_timeout_sec: f64,
    pub(super) idle_sec: f64,
    pub(super) auto_decision_limit: u32,
    pub(super) snapshot: Snapshot,
    pub(super) retry: RetryPolicy,
}

impl Filled {
    pub(super) fn of(asked: &Options, skill: &Map<String, Value>, settings: &Options) -> Result<Self, AcceptError> {
        let seconds = |name: &'static str, asked: Option<f64>, settings: Option<f64>, ours: f64| {
            let skills = skill.get(name).map(|value| value.as_f64().ok_or_else(|| wrong(name, value, SECONDS)));
            let value = match (asked, skills) {
                (Some(asked), _) => asked,
                (None, Some(skills)) => skills?,
                (None, None) => settings.unwrap_or(ours),
            };
            let fits = value.is_finite() && value > 0.0 && value < 1e9;
            if fits { Ok(value) } else { Err(wrong(name, &Value::from(value), SECONDS)) }
        };
        let limits = skillrun_collect::plan::Limits::default();
        let require = match (asked.require_user_reply, skill.get("interactive_require_user_reply")) {
            (Some(asked), _) => asked,
            (None, Some(value)) => {
                value.as_bool().ok_or_else(|| wrong("interactive_require_user_reply", value, "true or false"))?
            }
            (None, None) => settings.require_user_reply.unwrap_or(true),
        };
        let limit = match (asked.auto_decision_limit, skill.get("auto_decision_limit")) {
            (Some(asked), _) => asked,
            (None, Some(value)) => value
                .as_u64()
                .and_then(|limit| u32::try_from(limit).ok())
                .ok_or_else(|| wrong("auto_decision_limit", value, "a whole number"))?,
            (None, None) => settings.auto_decision_limit.unwrap_or(10),
        };
        let confinement = asked.confinement.or(settings.confinement).unwrap_or(BoxChoice::Off);
        // A run without a box has the network of the user.
        let of_settings = settings.network.filter(|_| confinement != BoxChoice::Off);
        Ok(Self {
            permission: asked.permission.or(settings.permission).unwrap_or(Permission::Workspace),
            confinement,
            network: match (asked.network, asked.allow_hosts.is_empty()) {
                (Some(network), _) => network,
                (None, false) => NetworkAccess::List,
                (None, true) => of_settings.unwrap_or(NetworkAccess::Open),
            },
            allow_hosts: asked.allow_hosts.clone(),
            limits: resource_limits(asked.limits.or(settings.limits), confinement)?,
            workspace_settings: asked.workspace_settings.or(settings.workspace_settings).unwrap_or_default(),
            home: asked.home.or(settings.home).unwrap_or(HomeChoice::Run),
            hard_timeout_sec: seconds(
                "hard_timeout_sec",
                asked.hard_timeout_sec,
                settings.hard_timeout_sec,
                limits.hard.as_secs_f64(),
            )?,
            stall_timeout_sec: seconds(
                "stall_timeout_sec",
                asked.stall_timeout_sec,
                settings.stall_timeout_sec,
                limits.stall.as_secs_f64(),
            )?,
            linger_sec: asked.linger_sec.or(settings.linger_sec),
            max_bytes: asked.max_bytes.or(settings.max_bytes).unwrap_or(limits.max_bytes),
            require_user_reply: require,
            session_timeout_sec: seconds(
                "session_timeout_sec",
                asked.session_timeout_sec,
                settings.session_timeout_sec,
                1200.0,
            )?,
            idle_sec: seconds("idle_sec", asked.idle_sec, settings.idle_sec, DEFAULT_IDLE_SEC)?,
            auto_decision_limit: limit,
            snapshot: asked.snapshot.or(settings.snapshot).unwrap_or(Snapshot::Taken),
            retry: retry(asked, skill, settings)?,
        })
    }
}

/// Largest limit: the largest number that every reader of JSON has exactly.
const LIMIT_MAX: u64 = (1 << 53) - 1;

/// A run in a box has limits also where nothing sets them; one without a box has only those that were asked for.
fn resource_limits(asked: ResourceLimits, confinement: BoxChoice) -> Result<ResourceLimits, AcceptError> {
    let name = |limit| match limit {
        LimitName::Memory => "limits.memory_bytes",
        LimitName::Processes => "limits.processes",
        LimitName::Cpu => "limits.cpu_sec",
        LimitName::Disk => "limits.disk_bytes",
    };
    for limit in asked.names() {
        let value = asked.get(limit).unwrap_or_default();
        if !(1..=LIMIT_MAX).contains(&value) {
            return Err(wrong(name(limit), &Value::from(value), "a whole number from 1 to 9007199254740991"));
        }
    }
    Ok(match confinement {
        BoxChoice::Off => asked,
        BoxChoice::On | BoxChoice::Required => asked.or(ResourceLimits::OF_BOX),
    })
}

/// Maximum number of consecutive retries as new runs.
const QUOTA_MAX: u32 = 100;

/// `retry` of a skill: `{"quota": "wait", "quota_max": 3}`.
fn retry(asked: &Options, skill: &Map<String, Value>, settings: &Options) -> Result<RetryPolicy, AcceptError> {
    let none = Map::new();
    let skills = match skill.get("retry") {
        None => &none,
        Some(Value::Object(retry)) => retry,
        Some(other) => return Err(wrong("retry", other, r#"an object such as {"quota": "wait"}"#)),
    };
    let ours = RetryPolicy::default();
    let quota = match (asked.retry_quota, skills.get("quota")) {
        (Some(asked), _) => asked,
        (None, Some(value)) => value
            .as_str()
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| wrong("retry.quota", value, "\"fail\" or \"wait\""))?,
        (None, None) => settings.retry_quota.unwrap_or(ours.quota),
    };
    let quota_max = match (asked.retry_quota_max, skills.get("quota_max")) {
        (Some(asked), _) => asked,
        (None, Some(value)) => value
            .as_u64()
            .and_then(|max| u32::try_from(max).ok())
            .ok_or_else(|| wrong("retry.quota_max", value, "a whole number"))?,
        (None, None) => settings.retry_quota_max.unwrap_or(ours.quota_max),
    };
    if quota_max > QUOTA_MAX {
        return Err(wrong("retry.quota_max", &Value::from(quota_max), "at most 100"));
    }
    Ok(RetryPolicy { quota, quota_max })
}

/// Limits of `delegation`, above which a request is a mistake.
const DEPTH_MAX: u32 = 8;
const CHILDREN_MAX: u32 = 64;
const TOTAL_MAX: u32 = 1000;

/// What a run may delegate, with limits that make sense.
pub(super) fn delegation(asked: Option<&Delegation>) -> Result<Option<Delegation>, AcceptError> {
    let Some(asked) = asked else { return Ok(None) };
    let limits = [
        ("delegation.max_depth", asked.max_depth, DEPTH_MAX, "a whole number from 1 to 8"),
        ("delegation.max_children", asked.max_children, CHILDREN_MAX, "a whole number from 1 to 64"),
        ("delegation.max_total", asked.max_total, TOTAL_MAX, "a whole number from 1 to 1000"),
    ];
    for (name, value, most, wanted) in limits {
        if !(1..=most).contains(&value) {
            return Err(wrong(name, &Value::from(value), wanted));
        }
    }
    Ok(Some(asked.clone()))
}

const SECONDS: &str = "a number of seconds above 0 and below 1000000000";

fn wrong(name: &'static str, value: &Value, wanted: &'static str) -> AcceptError {
    AcceptError::Option { place: "options", name, value: value.to_string(), wanted }
}
