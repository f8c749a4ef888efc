//! The kinds of settings: how the value of a kind is read from TOML, and how it is shown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Number, Value, json};
use skillrun_engine::Permission;
use skillrun_model::confinement::{BoxChoice, NetworkAccess};
use skillrun_runs::DataFolder;
use skillrun_runs::record::HomeChoice;
use skillrun_webhooks::Secret;

use super::given::{FOREVER, Given, Located};
use super::key::Shape;
use super::server::HIDDEN;

const DAY: f64 = 24.0 * 60.0 * 60.0;
const GB: f64 = 1e9;

pub(super) struct Kind<T> {
    pub(super) shape: Shape,
    pub(super) read: fn(&Given<'_>) -> Result<T, Located>,
    pub(super) show: fn(&T) -> Value,
}

const fn kind<T>(shape: Shape, read: fn(&Given<'_>) -> Result<T, Located>, show: fn(&T) -> Value) -> Kind<T> {
    Kind { shape, read, show }
}

type Texts = Kind<Vec<String>>;

pub(super) const TEXT: Kind<Option<String>> = kind(Shape::Text, |given| given.text().map(Some), |text| json!(text));
pub(super) const TEXTS: Texts = kind(Shape::Texts, |given| given.texts(), |texts| json!(texts));
pub(super) const PATTERNS: Texts = kind(Shape::Texts, |given| given.patterns(), |texts| json!(texts));
pub(super) const HOSTS: Texts = kind(Shape::Texts, |given| given.hosts(), |texts| json!(texts));
pub(super) const ORIGINS: Texts = kind(Shape::Texts, |given| given.origins(), |texts| json!(texts));
pub(super) const WEB_ADDRESSES: Texts = kind(Shape::Texts, |given| given.web_addresses(), |texts| json!(texts));
pub(super) const DATA_FOLDER: Kind<DataFolder> =
    kind(Shape::Path, |given| given.path().map(DataFolder::new), |data| json!(shown(data.root())));
pub(super) const PATH: Kind<Option<PathBuf>> =
    kind(Shape::Path, |given| given.path().map(Some), |path| json!(path.as_deref().map(shown)));
pub(super) const PATHS: Kind<Vec<PathBuf>> =
    kind(Shape::Paths, |given| given.paths(), |paths| paths.iter().map(|path| shown(path)).collect());
pub(super) const FLAG: Kind<bool> = kind(Shape::Flag, |given| given.flag(), |flag| json!(flag));
pub(super) const COUNT: Kind<u32> = kind(Shape::Number, |given| given.count(0), |count| json!(count));
pub(super) const COUNT_FROM_1: Kind<u32> = kind(Shape::Number, |given| given.count(1), |count| json!(count));
pub(super) const SLOTS: Kind<usize> = kind(Shape::Number, |given| Ok(given.count(1)? as usize), |count| json!(count));
pub(super) const QUEUED: Kind<usize> = kind(Shape::Number, |given| Ok(given.count(0)? as usize), |count| json!(count));
pub(super) const RUNS: Kind<Option<usize>> =
    kind(Shape::Number, |given| Ok(Some(given.count(0)? as usize)), |count| json!(count));
pub(super) const PER_ENGINE: Kind<BTreeMap<String, usize>> =
    kind(Shape::PerEngine, |given| given.per_engine(), |counts| json!(counts));
pub(super) const SECONDS: Kind<Duration> =
    kind(Shape::Number, |given| given.seconds(), |time| number(time.as_secs_f64()));
pub(super) const DAYS: Kind<Option<Duration>> = kind(Shape::Number, |given| given.days(), |age| days(*age));
pub(super) const GIGABYTES: Kind<Option<u64>> =
    kind(Shape::Number, |given| given.gigabytes().map(Some), |bytes| bytes.map_or(Value::Null, gigabytes));
pub(super) const SIZE: Kind<Option<u64>> = kind(Shape::Text, |given| given.size().map(Some), |bytes| json!(bytes));
pub(super) const PROCESSES: Kind<Option<u32>> =
    kind(Shape::Number, |given| given.count(1).map(Some), |count| json!(count));
pub(super) const CPU_SECONDS: Kind<Option<u64>> =
    kind(Shape::Number, |given| given.count(1).map(|seconds| Some(seconds.into())), |seconds| json!(seconds));
pub(super) const PERMISSION: Kind<Permission> =
    kind(Shape::Text, |given| given.word(Permission::ALL, Permission::as_str), |one| json!(one.as_str()));
pub(super) const BOX: Kind<BoxChoice> =
    kind(Shape::Text, |given| given.word(BoxChoice::ALL, BoxChoice::as_str), |one| json!(one.as_str()));
pub(super) const NETWORK: Kind<NetworkAccess> =
    kind(Shape::Text, |given| given.word(NetworkAccess::ALL, NetworkAccess::as_str), |one| json!(one.as_str()));
pub(super) const HOME: Kind<HomeChoice> =
    kind(Shape::Text, |given| given.word(HOMES, home_word), |home| json!(home_word(*home)));
pub(super) const LISTEN: Kind<SocketAddr> =
    kind(Shape::Text, |given| given.listen(), |address| json!(address.to_string()));
pub(super) const SECRET: Kind<Option<Secret>> =
    kind(Shape::Text, |given| given.webhook_secret().map(Some), |secret| json!(secret.as_ref().map(|_| HIDDEN)));

const HOMES: &[HomeChoice] = &[HomeChoice::Run, HomeChoice::User];

fn home_word(home: HomeChoice) -> &'static str {
    match home {
        HomeChoice::Run => "run",
        HomeChoice::User => "user",
    }
}

fn shown(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
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
