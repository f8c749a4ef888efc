//! Parsers for the values of arguments.

use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};
use skillrun_model::delegation::Delegation;
use skillrun_model::status::Continuation;

/// Seconds, with or without a fraction.
pub(crate) fn seconds(text: &str) -> Result<Duration, &'static str> {
    const WRONG: &str = "not a number of seconds above 0";
    let seconds: f64 = text.parse().map_err(|_| WRONG)?;
    Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero()).ok_or(WRONG)
}

/// A time such as 30min, 2h or 3d.
pub(crate) fn age(text: &str) -> Result<Duration, &'static str> {
    const WRONG: &str = "not a time such as 30min, 2h or 3d";
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let unit = match text[digits..].trim_start() {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return Err(WRONG),
    };
    let number: u64 = text[..digits].parse().map_err(|_| WRONG)?;
    number.checked_mul(unit).map(Duration::from_secs).ok_or(WRONG)
}

/// A closed list of words, for help, completion and errors alike.
pub(crate) fn words<T>(all: &'static [T], name: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: Copy + std::str::FromStr<Err = skillrun_model::status::UnknownWord> + Send + Sync + 'static,
{
    clap::builder::PossibleValuesParser::new(all.iter().map(|word| name(*word))).try_map(|word| word.parse::<T>())
}

/// How a later turn continues: by its wire word, or by the alias for a sticky process.
pub(crate) fn continuation() -> impl TypedValueParser<Value = Continuation> {
    let words = Continuation::ALL.iter().map(|word| match word {
        Continuation::Sticky => PossibleValue::new(word.as_str()).alias(Continuation::STICKY_ALIAS),
        Continuation::Resumable | Continuation::None => PossibleValue::new(word.as_str()),
    });
    clap::builder::PossibleValuesParser::new(words).try_map(|word| match word.as_str() {
        Continuation::STICKY_ALIAS => Ok(Continuation::Sticky),
        word => word.parse(),
    })
}

/// Like [`words`], for a type without `FromStr`.
pub(crate) fn named<T>(all: &'static [T], name: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    clap::builder::PossibleValuesParser::new(all.iter().map(|word| name(*word))).try_map(move |word| {
        let found = all.iter().copied().find(|known| name(*known) == word);
        found.ok_or("not one of the possible values")
    })
}

/// What a run may ask other runs to do, as JSON.
pub(crate) fn delegation(text: &str) -> Result<Delegation, String> {
    serde_json::from_str(text).map_err(|error| {
        format!("{error}; give JSON such as {{\"engines\": [\"codex\"], \"max_children\": 4}}, or no limits at all")
    })
}

pub(crate) fn count(text: &str) -> Result<u32, &'static str> {
    text.parse().ok().filter(|count| *count > 0).ok_or("not a whole number from 1")
}

pub(crate) fn whole_number(text: &str) -> Result<i32, &'static str> {
    text.parse().map_err(|_| "not a whole number")
}

pub(crate) fn natural_number(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "not a whole number from 0")
}
