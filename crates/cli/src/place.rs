//! The data folder as commands see it: settings, Logs, the catalog, and runs by prefixes of their ids.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;

use skillrun_catalog::{Catalog, Opened};
use skillrun_lifecycle::run::State;
use skillrun_log::{Cursor, EventLog, FileLog, Limits, LogErrorKind, LogLine, ReadEnd};
use skillrun_model::rasp::Event;
use skillrun_model::{AttemptNumber, RunId};
use skillrun_runs::{RunFolder, RunRecord};
use skillrun_runtime::owners::{OwnerRequest, ask};

use crate::args::Global;
use crate::failure::Failure;
use crate::output::plain;
use crate::settings::Settings;

/// Runs that are listed when a prefix of an id matches more than one.
const CANDIDATES: usize = 5;

#[derive(Debug)]
pub(crate) struct CommandContext {
    pub(crate) settings: Settings,
    pub(crate) log: FileLog,
}

impl CommandContext {
    pub(crate) fn open(global: &Global) -> Result<Self, Failure> {
        let settings = Settings::load(global)?;
        let log = FileLog::new(settings.data.runs());
        Ok(Self { settings, log })
    }

    /// Up to date.
    pub(crate) fn catalog(&self) -> Result<Catalog, Failure> {
        let data = &self.settings.data;
        let (mut catalog, opened) = Catalog::open(&data.catalog(), &data.runs())?;
        match opened {
            Opened::Good | Opened::Made => {}
            Opened::Rebuilt { .. } | Opened::InMemory { .. } => note(&opened.to_string()),
        }
        catalog.refresh(&self.log)?;
        Ok(catalog)
    }

    /// The run that a word on the command line means: its id, a unique prefix of it, or `last`.
    pub(crate) fn run(&self, word: &str) -> Result<RunId, Failure> {
        let ids = self.ids();
        let missing = || Failure::NotFound(format!("there is no run \"{}\"; `skillrun ls` lists them", plain(word)));
        if word == "last" {
            let none = || Failure::NotFound("there are no runs yet; `skillrun run SKILL` starts one".to_owned());
            // Runs that other runs have asked for are not what the user has started last.
            let is_child = |run: &RunId| {
                let path = self.settings.data.run(*run).record();
                // Without a record the run is being made at this moment; it may be a child.
                !path.exists() || RunRecord::read(&path).is_ok_and(|record| record.parent.is_some())
            };
            let top = ids.iter().rev().find(|run| !is_child(run));
            return top.or(ids.last()).copied().ok_or_else(none);
        }
        match with_prefix(ids, word)[..] {
            [] if self.was_removed(word) => Err(Failure::NotFound(format!("run {} was removed", plain(word)))),
            [] => Err(missing()),
            [one] => Ok(one),
            ref many => Err(ambiguous(word, many)),
        }
    }

    /// The process that works on a run, if one does and answers.
    pub(crate) fn owner(&self, run: RunId) -> Option<u32> {
        let pid = self.log.last_writer(run)?;
        ask(&self.settings.data, pid, OwnerRequest::Hello).is_ok().then_some(pid)
    }

    /// Whether this is the complete id of a run that existed.
    fn was_removed(&self, word: &str) -> bool {
        let run = word.parse().ok().map(|run| self.log.head(run));
        run.is_some_and(|head| head.is_err_and(|error| matches!(error.kind, LogErrorKind::Gone)))
    }

    /// All runs, oldest first.
    pub(crate) fn ids(&self) -> Vec<RunId> {
        let entries = fs::read_dir(self.settings.data.runs()).into_iter().flatten().flatten();
        let mut ids: Vec<RunId> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        ids.sort_by_key(ToString::to_string);
        ids
    }

    pub(crate) fn folder(&self, run: RunId) -> RunFolder {
        self.settings.data.run(run)
    }

    pub(crate) fn record(&self, run: RunId) -> Result<RunRecord, Failure> {
        Ok(RunRecord::read(&self.folder(run).record())?)
    }

    /// Every event of a run that this version knows, in order. Returns the number of those that a newer version wrote.
    pub(crate) fn events(
        &self,
        run: RunId,
        mut take: impl FnMut(Event) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let mut newer = 0;
        let mut each = |line: LogLine<'_>| {
            match line.known_event() {
                Some(event) => take(event.into_owned())?,
                None => newer += 1,
            }
            Ok::<_, Failure>(ControlFlow::Continue(()))
        };
        while let ReadEnd::Reset(_) = self.log.for_each(run, Cursor::BEGINNING, Limits::default(), &mut each)? {}
        Ok(newer)
    }

    pub(crate) fn state(&self, run: RunId) -> Result<State, Failure> {
        let mut state = State::default();
        self.events(run, |event| {
            state.evolve(&event);
            Ok(())
        })?;
        Ok(state)
    }
}

/// The runs whose ids begin with a word; none if the word is empty.
fn with_prefix(ids: Vec<RunId>, word: &str) -> Vec<RunId> {
    let wanted = spelled(word);
    let fits = |id: &RunId| !wanted.is_empty() && spelled(&id.to_string()).starts_with(&wanted);
    ids.into_iter().filter(fits).collect()
}

/// A prefix that several runs have.
fn ambiguous(word: &str, found: &[RunId]) -> Failure {
    let some: Vec<String> = found.iter().take(CANDIDATES).map(ToString::to_string).collect();
    let more = if found.len() > CANDIDATES { ", …" } else { "" };
    let message = format!(
        "\"{}\" matches {} runs: {}{more}; give more characters of the id",
        plain(word),
        found.len(),
        some.join(", ")
    );
    Failure::NotFound(message)
}

/// An attempt that a run does not have. `last` is the last one that began.
pub(crate) fn no_attempt(run: RunId, attempt: AttemptNumber, last: AttemptNumber) -> Failure {
    let known = match last.0 {
        0 => "no attempt has begun".to_owned(),
        1 => "its only attempt is 1".to_owned(),
        last => format!("its attempts are 1 to {last}"),
    };
    Failure::NotFound(format!("run {run} has no attempt {attempt}; {known}"))
}

/// An id in lower case and without hyphens, which users may leave out.
fn spelled(id: &str) -> String {
    id.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect()
}

/// Prints a note on stderr, beside the output of the command.
pub(crate) fn note(text: &str) {
    crate::live::erase();
    // If stderr is gone, there is nothing left to do.
    let _ = writeln!(io::stderr(), "note: {}", plain(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(count: usize) -> Vec<RunId> {
        (0..count)
            .map(|number| format!("019b0000-000{number}-7000-8000-000000000000").parse().expect("an id"))
            .collect()
    }

    #[test]
    fn a_prefix_finds_runs_in_any_spelling() {
        let found = |word: &str| with_prefix(ids(3), word).len();
        assert_eq!((found("019b"), found("019B0000-00"), found("019b0000000")), (3, 3, 3));
        assert_eq!((found("019b0000-0002"), found("019B00000002"), found("019b00000003")), (1, 1, 0));
        assert_eq!((found(""), found("-"), found("last")), (0, 0, 0), "an empty word does not mean all runs");
    }

    #[test]
    fn an_ambiguous_prefix_names_the_candidates() {
        let two = ambiguous("019b\u{1b}", &ids(2)).to_string();
        let expected = "\"019b\\u{1b}\" matches 2 runs: 019b0000-0000-7000-8000-000000000000, \
                        019b0000-0001-7000-8000-000000000000; give more characters of the id";
        assert_eq!(two, expected);
        let many = ambiguous("019b", &ids(6)).to_string();
        assert!(many.starts_with("\"019b\" matches 6 runs: ") && many.contains("-0004-") && !many.contains("-0005-"));
        assert!(many.ends_with(", …; give more characters of the id"), "{many}");
    }

    #[test]
    fn a_missing_attempt_names_the_attempts() {
        let run = ids(1)[0];
        let told = |last| no_attempt(run, AttemptNumber(9), AttemptNumber(last)).to_string();
        assert_eq!(told(0), format!("run {run} has no attempt 9; no attempt has begun"));
        assert_eq!(told(1), format!("run {run} has no attempt 9; its only attempt is 1"));
        assert_eq!(told(3), format!("run {run} has no attempt 9; its attempts are 1 to 3"));
    }
}
