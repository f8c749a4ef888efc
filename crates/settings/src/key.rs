//! The closed list of settings. `docs/configuration.md` describes each; a test compares the two.

use skillrun_base::suggest::closest;

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Data,
    Engine,
    Skills,
    Engines,
    Programs,
    Layers,
    Permission,
    Home,
    HardTimeoutSec,
    StallTimeoutSec,
    SessionTimeoutSec,
    InteractiveRequireUserReply,
    AutoDecisionLimit,
    RequireMarker,
    Redact,
    Consent,
    SlotsTotal,
    SlotsPerEngine,
    SlotsSticky,
    SlotsQueued,
    SlotsEngines,
    RetentionSucceededDays,
    RetentionFailedDays,
    RetentionCanceledDays,
    RetentionSucceededCount,
    RetentionFailedCount,
    RetentionCanceledCount,
    RetentionMaxGb,
    RetentionEvidenceDays,
    ServerListen,
    ServerHosts,
    ServerOrigins,
    ServerBodyMb,
    ServerConnections,
    ServerWebhooks,
    ServerWebhookSecret,
    ServerWebhookPrivate,
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
    pub const ALL: &'static [Self] = &[
        Self::Data,
        Self::Engine,
        Self::Skills,
        Self::Engines,
        Self::Programs,
        Self::Layers,
        Self::Permission,
        Self::Home,
        Self::HardTimeoutSec,
        Self::StallTimeoutSec,
        Self::SessionTimeoutSec,
        Self::InteractiveRequireUserReply,
        Self::AutoDecisionLimit,
        Self::RequireMarker,
        Self::Redact,
        Self::Consent,
        Self::SlotsTotal,
        Self::SlotsPerEngine,
        Self::SlotsSticky,
        Self::SlotsQueued,
        Self::SlotsEngines,
        Self::RetentionSucceededDays,
        Self::RetentionFailedDays,
        Self::RetentionCanceledDays,
        Self::RetentionSucceededCount,
        Self::RetentionFailedCount,
        Self::RetentionCanceledCount,
        Self::RetentionMaxGb,
        Self::RetentionEvidenceDays,
        Self::ServerListen,
        Self::ServerHosts,
        Self::ServerOrigins,
        Self::ServerBodyMb,
        Self::ServerConnections,
        Self::ServerWebhooks,
        Self::ServerWebhookSecret,
        Self::ServerWebhookPrivate,
    ];

    /// With the table that contains it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Engine => "engine",
            Self::Skills => "skills",
            Self::Engines => "engines",
            Self::Programs => "programs",
            Self::Layers => "layers",
            Self::Permission => "permission",
            Self::Home => "home",
            Self::HardTimeoutSec => "hard_timeout_sec",
            Self::StallTimeoutSec => "stall_timeout_sec",
            Self::SessionTimeoutSec => "session_timeout_sec",
            Self::InteractiveRequireUserReply => "interactive_require_user_reply",
            Self::AutoDecisionLimit => "auto_decision_limit",
            Self::RequireMarker => "require_marker",
            Self::Redact => "redact",
            Self::Consent => "consent",
            Self::SlotsTotal => "slots.total",
            Self::SlotsPerEngine => "slots.per_engine",
            Self::SlotsSticky => "slots.sticky",
            Self::SlotsQueued => "slots.queued",
            Self::SlotsEngines => "slots.engines",
            Self::RetentionSucceededDays => "retention.succeeded_days",
            Self::RetentionFailedDays => "retention.failed_days",
            Self::RetentionCanceledDays => "retention.canceled_days",
            Self::RetentionSucceededCount => "retention.succeeded_count",
            Self::RetentionFailedCount => "retention.failed_count",
            Self::RetentionCanceledCount => "retention.canceled_count",
            Self::RetentionMaxGb => "retention.max_gb",
            Self::RetentionEvidenceDays => "retention.evidence_days",
            Self::ServerListen => "server.listen",
            Self::ServerHosts => "server.hosts",
            Self::ServerOrigins => "server.origins",
            Self::ServerBodyMb => "server.body_mb",
            Self::ServerConnections => "server.connections",
            Self::ServerWebhooks => "server.webhooks",
            Self::ServerWebhookSecret => "server.webhook_secret",
            Self::ServerWebhookPrivate => "server.webhook_private",
        }
    }

    pub fn shape(self) -> Shape {
        match self {
            Self::Data | Self::Engines | Self::Programs | Self::Layers => Shape::Path,
            Self::Engine | Self::Permission | Self::Home | Self::ServerListen | Self::ServerWebhookSecret => {
                Shape::Text
            }
            Self::Skills => Shape::Paths,
            Self::Redact | Self::Consent | Self::ServerHosts | Self::ServerOrigins | Self::ServerWebhooks => {
                Shape::Texts
            }
            Self::InteractiveRequireUserReply | Self::RequireMarker | Self::ServerWebhookPrivate => Shape::Flag,
            Self::SlotsEngines => Shape::PerEngine,
            Self::HardTimeoutSec
            | Self::StallTimeoutSec
            | Self::SessionTimeoutSec
            | Self::AutoDecisionLimit
            | Self::SlotsTotal
            | Self::SlotsPerEngine
            | Self::SlotsSticky
            | Self::SlotsQueued
            | Self::RetentionSucceededDays
            | Self::RetentionFailedDays
            | Self::RetentionCanceledDays
            | Self::RetentionSucceededCount
            | Self::RetentionFailedCount
            | Self::RetentionCanceledCount
            | Self::RetentionMaxGb
            | Self::RetentionEvidenceDays
            | Self::ServerBodyMb
            | Self::ServerConnections => Shape::Number,
        }
    }

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
