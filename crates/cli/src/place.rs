//! The data folder as commands see it: settings, Logs, the catalog, and runs by prefixes of their ids.

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;

use skillrun_catalog::{Catalog, Opened};
use skillrun_lifecycle::run::State;
use skillrun_log::{Cursor, EventLog, FileLog, Limits, LogErrorKind, LogLine, ReadEnd};
use skillrun_model::RunId;
use skillrun_model::rasp::Event;
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
            return ids.last().copied().ok_or_else(none);
        }
        let wanted = spelled(word);
        let found: Vec<RunId> = ids.into_iter().filter(|id| spelled(&id.to_string()).starts_with(&wanted)).collect();
        match found[..] {
            [] if self.was_removed(word) => {
                Err(Failure::NotFound(format!("run {} was removed to make room", plain(word))))
            }
            [] => Err(missing()),
            [one] => Ok(one),
            [..] if wanted.is_empty() => Err(missing()),
            [..] => {
                let some: Vec<String> = found.iter().take(CANDIDATES).map(ToString::to_string).collect();
                let more = if found.len() > CANDIDATES { ", …" } else { "" };
                let message = format!("\"{}\" matches {} runs: {}{more}", plain(word), found.len(), some.join(", "));
                Err(Failure::NotFound(message))
            }
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

    /// Every event of a run, in order.
    pub(crate) fn events(&self, run: RunId, mut take: impl FnMut(Event) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut each = |line: LogLine<'_>| {
            take(line.event()?)?;
            Ok::<_, Failure>(ControlFlow::Continue(()))
        };
        while let ReadEnd::Reset(_) = self.log.for_each(run, Cursor::BEGINNING, Limits::default(), &mut each)? {}
        Ok(())
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

/// An id in lower case and without hyphens, which users may leave out.
fn spelled(id: &str) -> String {
    id.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect()
}

/// Prints a note on stderr, beside the output of the command.
pub(crate) fn note(text: &str) {
    // If stderr is gone, there is nothing left to do.
    let _ = writeln!(io::stderr(), "note: {}", plain(text));
}
