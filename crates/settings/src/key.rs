//! The closed list of settings, each written once: its name, how it is read and shown, and where it is kept.
//! `docs/configuration.md` describes each; a test compares the two.

use serde_json::Value;
use skillrun_base::suggest::closest;

use super::given::{Given, Located};
use super::{Settings, values};

macro_rules! settings {
    ($($key:ident = $name:literal: $kind:ident => $($place:ident).+;)+) => {
        /// A setting.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Key { $($key,)+ }

        impl Key {
            pub const ALL: &'static [Self] = &[$(Self::$key,)+];

            /// With the table that contains it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$key => $name,)+ }
            }

            pub fn shape(self) -> Shape {
                match self { $(Self::$key => values::$kind.shape,)+ }
            }
        }

        impl Settings {
            pub(super) fn set(&mut self, key: Key, given: &Given<'_>) -> Result<(), Located> {
                match key { $(Key::$key => self.$($place).+ = (values::$kind.read)(given)?,)+ }
                Ok(())
            }

            /// As it would be written in the file, except a secret, which is not shown; null if it is not set and has
            /// no default.
            pub fn get(&self, key: Key) -> Value {
                match key { $(Key::$key => (values::$kind.show)(&self.$($place).+),)+ }
            }
        }
    };
}

settings! {
    Data = "data": DATA_FOLDER => data;
    Engine = "engine": TEXT => engine;
    Skills = "skills": PATHS => skills;
    Engines = "engines": PATH => engines_folder;
    Programs = "programs": PATH => programs;
    Layers = "layers": PATH => layers_folder;
    Permission = "permission": PERMISSION => permission;
    Home = "home": HOME => home;
    Box = "box": BOX => confinement;
    Network = "network": NETWORK => network;
    LimitsMemory = "limits.memory": SIZE => limits.memory_bytes;
    LimitsProcesses = "limits.processes": PROCESSES => limits.processes;
    LimitsCpuSec = "limits.cpu_sec": CPU_SECONDS => limits.cpu_sec;
    LimitsDisk = "limits.disk": SIZE => limits.disk_bytes;
    HardTimeoutSec = "hard_timeout_sec": SECONDS => hard_timeout;
    StallTimeoutSec = "stall_timeout_sec": SECONDS => stall_timeout;
    SessionTimeoutSec = "session_timeout_sec": SECONDS => session_timeout;
    IdleSec = "idle_sec": SECONDS => idle;
    InteractiveRequireUserReply = "interactive_require_user_reply": FLAG => interactive_require_user_reply;
    AutoDecisionLimit = "auto_decision_limit": COUNT => auto_decision_limit;
    RequireMarker = "require_marker": FLAG => require_marker;
    Redact = "redact": PATTERNS => redact;
    Consent = "consent": TEXTS => consent;
    SlotsTotal = "slots.total": SLOTS => slots.total;
    SlotsPerEngine = "slots.per_engine": SLOTS => slots.per_engine;
    SlotsSticky = "slots.sticky": SLOTS => slots.sticky;
    SlotsQueued = "slots.queued": QUEUED => slots.queued;
    SlotsEngines = "slots.engines": PER_ENGINE => slots.by_engine;
    RetentionSucceededDays = "retention.succeeded_days": DAYS => retention.succeeded.age;
    RetentionFailedDays = "retention.failed_days": DAYS => retention.failed.age;
    RetentionCanceledDays = "retention.canceled_days": DAYS => retention.canceled.age;
    RetentionSucceededCount = "retention.succeeded_count": RUNS => retention.succeeded.count;
    RetentionFailedCount = "retention.failed_count": RUNS => retention.failed.count;
    RetentionCanceledCount = "retention.canceled_count": RUNS => retention.canceled.count;
    RetentionMaxGb = "retention.max_gb": GIGABYTES => retention.max_bytes;
    RetentionEvidenceDays = "retention.evidence_days": DAYS => retention.evidence_age;
    ServerListen = "server.listen": LISTEN => server.listen;
    ServerHosts = "server.hosts": HOSTS => server.hosts;
    ServerOrigins = "server.origins": ORIGINS => server.origins;
    ServerBodyMb = "server.body_mb": COUNT_FROM_1 => server.body_mb;
    ServerConnections = "server.connections": COUNT_FROM_1 => server.connections;
    ServerWebhooks = "server.webhooks": WEB_ADDRESSES => server.webhooks;
    ServerWebhookSecret = "server.webhook_secret": SECRET => server.webhook_secret;
    ServerWebhookPrivate = "server.webhook_private": FLAG => server.webhook_private;
}

/// The type of a value, so that words of a command line can be converted to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Text,
    /// A path. A relative one starts at the current folder on the command line, and at the folder of the file in the
    /// file.
    Path,
    Number,
    Flag,
    Texts,
    Paths,
    /// One number per engine.
    PerEngine,
}

impl Key {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.as_str() == name)
    }

    /// Whether there is a table with this name.
    pub fn is_table(name: &str) -> bool {
        Self::ALL.iter().any(|key| key.as_str().split_once('.').is_some_and(|(table, _)| table == name))
    }
}

/// A place in the file: a setting, or its value for one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub key: Key,
    /// Only with [`Shape::PerEngine`].
    pub engine: Option<String>,
}

/// There is no such setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no setting \"{given}\"; {}", hint(.suggestion.as_deref()))]
pub struct UnknownKey {
    given: String,
    suggestion: Option<String>,
}

fn hint(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(key) => format!("did you mean \"{key}\"?"),
        None => "`skillrun config` shows all".to_owned(),
    }
}

impl UnknownKey {
    pub fn new(given: &str) -> Self {
        let names = || Key::ALL.iter().map(|key| key.as_str());
        // A key without its table means the key in the table.
        let in_table = || names().find(|name| name.split_once('.').is_some_and(|(_, key)| key == given));
        let suggestion = in_table().or_else(|| closest(given, names()));
        Self { given: given.to_owned(), suggestion: suggestion.map(str::to_owned) }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key.as_str())?;
        self.engine.as_ref().map_or(Ok(()), |engine| write!(f, ".{engine}"))
    }
}

impl std::str::FromStr for Address {
    type Err = UnknownKey;

    fn from_str(text: &str) -> Result<Self, UnknownKey> {
        if let Some(key) = Key::named(text) {
            return Ok(Self { key, engine: None });
        }
        let per_engine = text.rsplit_once('.').and_then(|(table, engine)| {
            let key = Key::named(table).filter(|key| key.shape() == Shape::PerEngine && !engine.is_empty())?;
            Some(Self { key, engine: Some(engine.to_owned()) })
        });
        per_engine.ok_or_else(|| UnknownKey::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_is_listed_once_and_found_by_its_name() {
        assert_eq!(Key::ALL.iter().collect::<BTreeSet<_>>().len(), Key::ALL.len());
        for key in Key::ALL {
            assert_eq!(key.as_str().parse(), Ok(Address { key: *key, engine: None }));
        }
    }

    #[test]
    fn addresses() {
        let engine = Some("codex".to_owned());
        assert_eq!("slots.engines.codex".parse(), Ok(Address { key: Key::SlotsEngines, engine }));
        for (given, expected) in [
            ("egnine", "there is no setting \"egnine\"; did you mean \"engine\"?"),
            ("total", "there is no setting \"total\"; did you mean \"slots.total\"?"),
            ("slots.totl", "there is no setting \"slots.totl\"; did you mean \"slots.total\"?"),
            ("slots.engines.", "there is no setting \"slots.engines.\"; did you mean \"slots.engines\"?"),
            ("lunch", "there is no setting \"lunch\"; `skillrun config` shows all"),
            ("", "there is no setting \"\"; `skillrun config` shows all"),
        ] {
            assert_eq!(given.parse::<Address>().unwrap_err().to_string(), expected);
        }
    }

    /// The page is written by hand; this test keeps it complete.
    #[test]
    fn the_page_describes_every_key_and_no_other() {
        let page = include_str!("../../../docs/configuration.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(key, _)| key);
        let described: Vec<&str> = rows.collect();
        let known: Vec<&str> = Key::ALL.iter().map(|key| key.as_str()).collect();
        assert_eq!(described, known);
    }
}
