//! The values that an argument can have on this machine: engines, skills, runs, settings, codes, tokens.

use skillrun_auth::TokenList;
use skillrun_engine::Engines;
use skillrun_model::Code;
use skillrun_runs::RunRecord;

use super::Candidate;
use crate::args::Global;
use crate::place::CommandContext;
use crate::settings::Settings;
use crate::settings::key::Key;
use crate::short_ids::ShortIds;
use crate::words::{from_now, now};

/// Most runs that are offered, newest first.
const RUNS_MAX: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Engine,
    /// An engine that skillrun can install, or all of them.
    InstalledEngine,
    /// By its name; a path is completed by the shell.
    Skill,
    Run,
    Setting,
    Code,
    Token,
}

impl ValueKind {
    /// By the path of a command, and the id of its argument.
    pub(super) fn of(path: &[&str], id: &str, given: &[String]) -> Option<Self> {
        let setting = given.first().and_then(|key| Key::named(key));
        match (path, id) {
            (["engines", "install" | "upgrade" | "uninstall"], "name") => Some(Self::InstalledEngine),
            (["engines", _], "name") | (_, "engine" | "engines") => Some(Self::Engine),
            (["config", "set"], "values") if matches!(setting, Some(Key::Engine | Key::Consent)) => Some(Self::Engine),
            (["skills", "remove"], "name") | (_, "skill") => Some(Self::Skill),
            (_, "run" | "runs" | "cut" | "parent") => Some(Self::Run),
            (["config", _], "key") => Some(Self::Setting),
            (["explain"], "code") => Some(Self::Code),
            (["token", "revoke"], "name") => Some(Self::Token),
            _ => None,
        }
    }

    /// Everything that begins with what is typed, and more. Nothing where something cannot be read.
    pub(super) fn candidates(self, global: &Global, typed: &str) -> Vec<Candidate> {
        match self {
            Self::Setting => Key::ALL.iter().map(|key| Candidate::new(key.as_str(), "")).collect(),
            Self::Code => codes(typed),
            Self::Engine => load(global).map_or_else(Vec::new, |settings| engines(&settings.engines(), false)),
            Self::InstalledEngine => load(global).map_or_else(Vec::new, |settings| engines(&settings.engines(), true)),
            Self::Skill => load(global).map_or_else(Vec::new, |settings| skills(&settings)),
            Self::Token => load(global).map_or_else(Vec::new, |settings| tokens(&settings)),
            Self::Run => CommandContext::open(global).map_or_else(|_| Vec::new(), |place| runs(&place, typed)),
        }
    }
}

fn load(global: &Global) -> Option<Settings> {
    Settings::load(global).ok()
}

/// Codes can be given in lower case too.
fn codes(typed: &str) -> Vec<Candidate> {
    let is_lower = typed.starts_with(|c: char| c.is_ascii_lowercase());
    let spelled = |code: &Code| if is_lower { code.as_str().to_ascii_lowercase() } else { code.as_str().to_owned() };
    Code::ALL.iter().map(|code| Candidate::new(&spelled(code), code.summary())).collect()
}

fn engines(engines: &Engines, only_installable: bool) -> Vec<Candidate> {
    let known = engines.iter().filter(|engine| !only_installable || engine.install.is_some());
    let all = only_installable.then(|| Candidate::new("all", "every engine"));
    known.map(|engine| Candidate::new(engine.name.as_str(), &engine.title)).chain(all).collect()
}

fn skills(settings: &Settings) -> Vec<Candidate> {
    let found = settings.search_path(settings.cwd()).list().skills.into_iter();
    let first = found.filter(|found| found.shadowed_by.is_none());
    first
        .map(|found| {
            let description = found.skill.as_ref().map(|skill| skill.description().to_owned()).unwrap_or_default();
            Candidate::new(&found.name, &description)
        })
        .collect()
}

fn tokens(settings: &Settings) -> Vec<Candidate> {
    let list = TokenList::new(settings.data.root()).read().unwrap_or_default();
    list.iter().map(|entry| Candidate::new(entry.name.as_str(), entry.scope.as_str())).collect()
}

/// The short ids of the newest runs. An id that is typed further is continued to its end.
fn runs(place: &CommandContext, typed: &str) -> Vec<Candidate> {
    let (ids, now) = (place.ids(), now());
    let short_ids = ShortIds::new(&ids);
    let mut found: Vec<Candidate> = ids.first().map(|_| Candidate::new("last", "the newest run")).into_iter().collect();
    let matching = ids.iter().rev().filter(|id| id.to_string().starts_with(typed)).take(RUNS_MAX);
    found.extend(matching.map(|id| {
        let short = short_ids.of(*id);
        let shown = if short.starts_with(typed) { short } else { id.to_string() };
        let record = RunRecord::read(&place.folder(*id).record());
        let what = record.map(|record| {
            let began = from_now(record.created_at, now);
            format!("{} on {}, {began}", record.title(), record.engine.name)
        });
        Candidate::new(&shown, &what.unwrap_or_default())
    }));
    found
}
