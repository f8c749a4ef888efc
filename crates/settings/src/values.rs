//! Settings by key: reading one from TOML, and showing one.

use std::time::Duration;

use serde_json::{Number, Value, json};
use skillrun_engine::Permission;
use skillrun_runs::DataFolder;
use skillrun_runs::record::HomeChoice;

use super::Settings;
use super::given::{FOREVER, Given, Located};
use super::key::Key;
use super::server::HIDDEN;

const DAY: f64 = 24.0 * 60.0 * 60.0;
const GB: f64 = 1e9;

const HOMES: &[HomeChoice] = &[HomeChoice::Run, HomeChoice::User];

fn home_word(home: HomeChoice) -> &'static str {
    match home {
        HomeChoice::Run => "run",
        HomeChoice::User => "user",
    }
}

impl Settings {
    pub(super) fn set(&mut self, key: Key, given: &Given<'_>) -> Result<(), Located> {
        let retention = &mut self.retention;
        match key {
            Key::Data => self.data = DataFolder::new(given.path()?),
            Key::Engine => self.engine = Some(given.text()?),
            Key::Skills => self.skills = given.paths()?,
            Key::Engines => self.engines_folder = Some(given.path()?),
            Key::Programs => self.programs = Some(given.path()?),
            Key::Layers => self.layers_folder = Some(given.path()?),
            Key::Permission => self.permission = given.word(Permission::ALL, Permission::as_str)?,
            Key::Home => self.home = given.word(HOMES, home_word)?,
            Key::HardTimeoutSec => self.hard_timeout = given.seconds()?,
            Key::StallTimeoutSec => self.stall_timeout = given.seconds()?,
            Key::SessionTimeoutSec => self.session_timeout = given.seconds()?,
            Key::InteractiveRequireUserReply => self.interactive_require_user_reply = given.flag()?,
            Key::AutoDecisionLimit => self.auto_decision_limit = given.count(0)?,
            Key::RequireMarker => self.require_marker = given.flag()?,
            Key::Redact => self.redact = given.patterns()?,
            Key::Consent => self.consent = given.texts()?,
            Key::SlotsTotal => self.slots.total = given.count(1)? as usize,
            Key::SlotsPerEngine => self.slots.per_engine = given.count(1)? as usize,
            Key::SlotsSticky => self.slots.sticky = given.count(1)? as usize,
            Key::SlotsQueued => self.slots.queued = given.count(0)? as usize,
            Key::SlotsEngines => self.slots.by_engine = given.per_engine()?,
            Key::RetentionSucceededDays => retention.succeeded.age = given.days()?,
            Key::RetentionFailedDays => retention.failed.age = given.days()?,
            Key::RetentionCanceledDays => retention.canceled.age = given.days()?,
            Key::RetentionSucceededCount => retention.succeeded.count = Some(given.count(0)? as usize),
            Key::RetentionFailedCount => retention.failed.count = Some(given.count(0)? as usize),
            Key::RetentionCanceledCount => retention.canceled.count = Some(given.count(0)? as usize),
            Key::RetentionMaxGb => retention.max_bytes = Some(given.gigabytes()?),
            Key::RetentionEvidenceDays => retention.evidence_age = given.days()?,
            Key::ServerListen => self.server.listen = given.listen()?,
            Key::ServerHosts => self.server.hosts = given.hosts()?,
            Key::ServerOrigins => self.server.origins = given.origins()?,
            Key::ServerBodyMb => self.server.body_mb = given.count(1)?,
            Key::ServerConnections => self.server.connections = given.count(1)?,
            Key::ServerWebhooks => self.server.webhooks = given.web_addresses()?,
            Key::ServerWebhookSecret => self.server.webhook_secret = Some(given.webhook_secret()?),
            Key::ServerWebhookPrivate => self.server.webhook_private = given.flag()?,
        }
        Ok(())
    }

    /// As it would be written in the file, except a secret, which is not shown; null if it is not set and has no default.
    pub fn get(&self, key: Key) -> Value {
        let retention = &self.retention;
        match key {
            Key::Data => json!(self.data.root().to_string_lossy()),
            Key::Engine => json!(self.engine),
            Key::Skills => self.skills.iter().map(|path| path.to_string_lossy()).collect(),
            Key::Engines => json!(self.engines_folder.as_ref().map(|path| path.to_string_lossy())),
            Key::Programs => json!(self.programs.as_ref().map(|path| path.to_string_lossy())),
            Key::Layers => json!(self.layers_folder.as_ref().map(|path| path.to_string_lossy())),
            Key::Permission => json!(self.permission.as_str()),
            Key::Home => json!(home_word(self.home)),
            Key::HardTimeoutSec => number(self.hard_timeout.as_secs_f64()),
            Key::StallTimeoutSec => number(self.stall_timeout.as_secs_f64()),
            Key::SessionTimeoutSec => number(self.session_timeout.as_secs_f64()),
            Key::InteractiveRequireUserReply => json!(self.interactive_require_user_reply),
            Key::AutoDecisionLimit => json!(self.auto_decision_limit),
            Key::RequireMarker => json!(self.require_marker),
            Key::Redact => json!(self.redact),
            Key::Consent => json!(self.consent),
            Key::SlotsTotal => json!(self.slots.total),
            Key::SlotsPerEngine => json!(self.slots.per_engine),
            Key::SlotsSticky => json!(self.slots.sticky),
            Key::SlotsQueued => json!(self.slots.queued),
            Key::SlotsEngines => json!(self.slots.by_engine),
            Key::RetentionSucceededDays => days(retention.succeeded.age),
            Key::RetentionFailedDays => days(retention.failed.age),
            Key::RetentionCanceledDays => days(retention.canceled.age),
            Key::RetentionSucceededCount => json!(retention.succeeded.count),
            Key::RetentionFailedCount => json!(retention.failed.count),
            Key::RetentionCanceledCount => json!(retention.canceled.count),
            Key::RetentionMaxGb => retention.max_bytes.map_or(Value::Null, gigabytes),
            Key::RetentionEvidenceDays => days(retention.evidence_age),
            Key::ServerListen => json!(self.server.listen.to_string()),
            Key::ServerHosts => json!(self.server.hosts),
            Key::ServerOrigins => json!(self.server.origins),
            Key::ServerBodyMb => json!(self.server.body_mb),
            Key::ServerConnections => json!(self.server.connections),
            Key::ServerWebhooks => json!(self.server.webhooks),
            Key::ServerWebhookSecret => json!(self.server.webhook_secret.as_ref().map(|_| HIDDEN)),
            Key::ServerWebhookPrivate => json!(self.server.webhook_private),
        }
    }
}

fn gigabytes(bytes: u64) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    number(bytes as f64 / GB)
}

fn days(age: Option<Duration>) -> Value {
    age.map_or_else(|| json!(FOREVER), |age| number(age.as_secs_f64() / DAY))
}

/// Whole where it is, as people write it.
fn number(number: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "the loss is checked")]
    let whole = number as i64;
    #[expect(clippy::cast_precision_loss, reason = "the same")]
    let is_whole = whole as f64 == number;
    if is_whole { json!(whole) } else { Number::from_f64(number).map_or(Value::Null, Value::Number) }
}
