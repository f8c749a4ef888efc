//! The data folder: where everything is stored.
//!
//! ```text
//! DATA/  runs/<run_id>/        one folder per run, see [`RunFolder`]
//!        runs/removed.jsonl    runs that are gone
//!        catalog.sqlite        a view over all Logs
//!        owners/<pid>.sock     one per process that owns runs; one that does not answer is left over from a crash
//!        workspaces/           which run uses which folder of the user at the moment
//!        logins/               which run has the user's login at the moment; logins that did not go back to the user
//!        cache/                which run has the result of which request
//!        requests/             which run was made for which key of a caller
//!        chat-history.jsonl    prompts of `skillrun chat`, for its arrow keys
//!        versions.json         versions of engines, by program; a view
//!        uploads/              files of requests that are being received
//!        skills/               skills that were installed
//!        tests/                data folders of tests that were kept, because a result was unexpected; for a week
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use skillrun_model::RunId;

/// Names and places in a data folder. Creates nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFolder {
    root: PathBuf,
}

impl DataFolder {
    /// `root` is absolute.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    pub fn run(&self, run: RunId) -> RunFolder {
        RunFolder { root: self.runs().join(run.to_string()) }
    }

    pub fn catalog(&self) -> PathBuf {
        self.root.join("catalog.sqlite")
    }

    pub fn owners(&self) -> PathBuf {
        self.root.join("owners")
    }

    /// Sockets of runs that may delegate.
    pub fn delegation(&self) -> PathBuf {
        self.root.join("delegation")
    }

    pub fn workspaces(&self) -> PathBuf {
        self.root.join("workspaces")
    }

    pub fn logins(&self) -> PathBuf {
        self.root.join("logins")
    }

    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    pub fn requests(&self) -> PathBuf {
        self.root.join("requests")
    }

    pub fn consent(&self) -> PathBuf {
        self.root.join("consent.json")
    }

    pub fn chat_history(&self) -> PathBuf {
        self.root.join("chat-history.jsonl")
    }

    pub fn versions(&self) -> PathBuf {
        self.root.join("versions.json")
    }

    pub fn uploads(&self) -> PathBuf {
        self.root.join("uploads")
    }

    pub fn skills(&self) -> PathBuf {
        self.root.join("skills")
    }

    pub fn tests(&self) -> PathBuf {
        self.root.join("tests")
    }
}

/// The file of a run that records how it ended.
pub const RESULT: &str = "result.json";

/// The conversation is stored beside a Log of at most this many bytes. Of a larger one, readers translate it: it would
/// take as much of the disk as the Log.
pub const CONVERSATION_LOG_MAX: u64 = 8 * 1024 * 1024;

/// The folder of one run.
///
/// ```text
/// run.json             the request, see `record`; never changes
/// variables.json       which variables it was made with, see `variables`; no values
/// events.jsonl  lock   the Log and its companions, see crate `log`
/// skill/               the skill as it was when the run was accepted; the engine never sees this copy
/// inputs/              files that came with the request and with replies; prompts, while the run is not over
/// home/                HOME of the engine, unless it has the user's; removed at the end if it is empty
/// workspace/           where the engine works, or a link to the folder the user named
/// .audit/              evidence, see crate `evidence`
/// .audit/checks/K/     the same of check K, see `checks`
/// reserve              disk space for the last events, until the run is over
/// result.json          how it ended
/// fcmp.jsonl  parser_diagnostics.jsonl     views, added to whenever the run waits, and at the end
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    root: PathBuf,
}

impl RunFolder {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn record(&self) -> PathBuf {
        self.root.join("run.json")
    }

    pub fn variables(&self) -> PathBuf {
        self.root.join("variables.json")
    }

    pub fn events(&self) -> PathBuf {
        self.root.join("events.jsonl")
    }

    pub fn skill(&self) -> PathBuf {
        self.root.join("skill")
    }

    pub fn inputs(&self) -> PathBuf {
        self.root.join("inputs")
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    pub fn audit(&self) -> PathBuf {
        self.root.join(".audit")
    }

    /// The evidence of a check.
    pub fn check(&self, number: u32) -> PathBuf {
        self.audit().join("checks").join(number.to_string())
    }

    pub fn result(&self) -> PathBuf {
        self.root.join(RESULT)
    }

    pub fn fcmp(&self) -> PathBuf {
        self.root.join("fcmp.jsonl")
    }

    /// Whether its Log is small enough for `fcmp.jsonl`.
    pub fn stores_conversation(&self) -> bool {
        fs::metadata(self.events()).map_or(true, |log| log.len() <= CONVERSATION_LOG_MAX)
    }

    /// Disk space for the last events.
    pub fn reserve(&self) -> PathBuf {
        self.root.join("reserve")
    }

    pub fn diagnostics(&self) -> PathBuf {
        self.root.join("parser_diagnostics.jsonl")
    }
}
