//! What is tried on every engine, one file each. A scenario knows no engine: where one may differ stands in
//! `engines.rs`.

mod auto;
mod cancel;
mod commentary;
mod cut;
mod errors;
mod fenced;
mod interactive;
mod outside;
mod restart;
pub(crate) mod skill;

use std::time::Duration;

use skillrun_simulate::model::Scenario as Play;

use crate::problem::Miss;
use crate::trial::Trial;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scenario {
    Auto,
    Commentary,
    Interactive,
    Fenced,
    Unauthorized,
    Quota,
    Cut,
    Cancel,
    Restart,
    Skill,
    Outside,
}

impl Scenario {
    /// In the order of the table.
    pub(crate) const ALL: &'static [Self] = &[
        Self::Auto,
        Self::Commentary,
        Self::Interactive,
        Self::Fenced,
        Self::Unauthorized,
        Self::Quota,
        Self::Cut,
        Self::Cancel,
        Self::Restart,
        Self::Skill,
        Self::Outside,
    ];

    /// What is tried in a hurry.
    pub(crate) const QUICK: &'static [Self] = &[Self::Auto, Self::Interactive];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Commentary => "commentary",
            Self::Interactive => "interactive",
            Self::Fenced => "fenced",
            Self::Unauthorized => "401",
            Self::Quota => "429",
            Self::Cut => "cut",
            Self::Cancel => "cancel",
            Self::Restart => "restart",
            Self::Skill => "skill",
            Self::Outside => "outside",
        }
    }

    /// What a reader of the table should know.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Auto => "a command, then the result",
            Self::Commentary => {
                "two texts with example objects and two commands before the result; the result is the last object"
            }
            Self::Interactive => "three questions, each answered with `skillrun reply`: four attempts, one session",
            Self::Fenced => "the result in a fence between prose",
            Self::Unauthorized => "the key is refused: failed, category `auth`",
            Self::Quota => "every request is answered with 429: failed in bounded time, category `quota`",
            Self::Cut => "the connection is cut in mid-answer: never a false success",
            Self::Cancel => "canceled while a command runs: canceled, and no process is left",
            Self::Restart => {
                "skillrun is killed in mid-run and `skillrun recover` takes over: the same verdict as undisturbed"
            }
            Self::Skill => {
                "`examples/skills/report-on-table`: output and artifacts, `result.json` of the same shape on all engines"
            }
            Self::Outside => "addresses other than loopback that it or its commands tried to reach; there are none",
        }
    }

    /// What the model does.
    pub(crate) fn model(self) -> String {
        let play = match self {
            Self::Auto | Self::Outside => Play::Auto,
            Self::Commentary => Play::Commentary,
            Self::Interactive => Play::Multi,
            Self::Fenced => Play::AutoFenced,
            Self::Unauthorized => Play::Err401,
            Self::Quota => Play::Err429,
            Self::Cut => Play::Cut,
            Self::Cancel => Play::SleepTool,
            Self::Restart => Play::Slow,
            Self::Skill => return format!("{}.{}", Play::Script, skill::SCRIPT),
        };
        play.to_string()
    }

    /// A program without which it cannot be tried.
    pub(crate) fn needs(self) -> Option<&'static str> {
        (self == Self::Outside).then_some(outside::TRACER)
    }

    /// It has failed if it takes longer. An engine that retries is silent for a minute and more, and a busy machine
    /// makes everything several times slower.
    pub(crate) fn bound(self) -> Duration {
        let seconds = match self {
            Self::Auto | Self::Commentary | Self::Fenced | Self::Unauthorized | Self::Skill => 90,
            Self::Quota | Self::Cancel => 120,
            Self::Interactive | Self::Cut | Self::Restart | Self::Outside => 180,
        };
        Duration::from_secs(seconds)
    }

    pub(crate) fn check(self, trial: &Trial<'_>) -> Result<(), Miss> {
        match self {
            Self::Auto => auto::check(trial),
            Self::Commentary => commentary::check(trial),
            Self::Interactive => interactive::check(trial),
            Self::Fenced => fenced::check(trial),
            Self::Unauthorized => errors::unauthorized(trial),
            Self::Quota => errors::quota(trial),
            Self::Cut => cut::check(trial),
            Self::Cancel => cancel::check(trial),
            Self::Restart => restart::check(trial),
            Self::Skill => skill::check(trial),
            Self::Outside => outside::check(trial),
        }
    }
}
