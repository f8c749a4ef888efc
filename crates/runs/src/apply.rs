//! The changes of a run, applied to another folder: usually those of a copy to the folder that was copied.
//!
//! What changed is what the lists of changes say, as in the patch. The new content is that of the workspace, and only
//! if it is what the run left there; so binary files and large ones, which no patch has, are applied too.
//!
//! A path of the target is either as the run found it, or as the run left it: then the change was applied before. If one
//! is neither, nothing is applied. New content is written beside first, and exchanged for the old one when all of it is
//! there; a failure exchanges everything back. A process that is killed in between leaves paths in both states, and the
//! next call applies the rest.

mod net;
mod target;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_evidence::OsText;
use skillrun_lifecycle::run::State;
use skillrun_model::{Classified, ErrorClass, RunId, word_enum};

use crate::changes::{ChangeKind, ChangesError};
use crate::data_folder::RunFolder;
use crate::patch::CHANGES_MAX;
use crate::record::RunRecord;
use net::{NetChange, NetChanges};
use target::{Standing, Target};

/// Paths that an error names.
const NAMED: usize = 10;

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApplyMode {
    Apply,
    Check,
}

word_enum! {
    /// How the changes of a run relate to a folder.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub ApplyOutcome {
        /// They are in the folder now.
        Applied = "applied",
        /// They were in the folder before.
        AlreadyApplied = "already_applied",
        /// They can be applied, and were only checked.
        Applicable = "applicable",
        /// The run changed nothing that can be applied.
        NothingToApply = "nothing_to_apply",
    }
}

/// What was done, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApplyReport {
    pub run_id: RunId,
    pub outcome: ApplyOutcome,
    /// The folder, as text.
    pub folder: String,
    pub changes: Vec<ApplyChange>,
    /// Changes that cannot be applied, such as those of pipes and sockets.
    pub left_out: Vec<NotApplied>,
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApplyChange {
    pub path: OsText,
    pub change: ChangeKind,
    /// The folder had the change before.
    pub was_applied: bool,
}

/// A change that is not applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotApplied {
    pub path: OsText,
    pub why: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error(transparent)]
    Changes(#[from] ChangesError),
    #[error("the run made more than {CHANGES_MAX} changes, which is too many to apply; `skillrun diff` lists them")]
    TooMany,
    #[error(
        "run {run} has no list of its changes, so that they cannot be applied; it was removed, or snapshots were off"
    )]
    NoChanges { run: RunId },
    #[error("run {run} is not over, so that its changes may be incomplete; wait for it, or cancel it")]
    NotOver { run: RunId },
    #[error("run {run} did not work in a copy of a folder; name the folder to which its changes are applied")]
    NoCopy { run: RunId },
    #[error("{}: cannot be used as the folder ({error})", path.display())]
    Target {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("nothing was applied, because {} changed in {} since the run began: {}; restore {}, or apply to another folder with --to", files(paths.len() + more), folder.display(), named(paths, *more), them(paths.len() + more))]
    Conflict { folder: PathBuf, paths: Vec<String>, more: usize },
    #[error("nothing was applied, because the workspace of run {run} no longer has what the run left there: {}", named(paths, *more))]
    Lost { run: RunId, paths: Vec<String>, more: usize },
    #[error("nothing was applied, because {path} cannot be written in {} ({error})", folder.display())]
    Write {
        folder: PathBuf,
        path: String,
        #[source]
        error: io::Error,
    },
    #[error("{path} could not be put back as it was in {} ({error}); its earlier content is in {}", folder.display(), kept.display())]
    NotPutBack {
        folder: PathBuf,
        path: String,
        kept: PathBuf,
        #[source]
        error: io::Error,
    },
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

fn them(count: usize) -> &'static str {
    if count == 1 { "it" } else { "them" }
}

fn named(paths: &[String], more: usize) -> String {
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{rest}", paths.join(", "))
}

impl Classified for ApplyError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Changes(_) | Self::NotPutBack { .. } => ErrorClass::Internal,
            Self::TooMany | Self::NoCopy { .. } | Self::Target { .. } => ErrorClass::Usage,
            Self::NoChanges { .. } => ErrorClass::Gone,
            Self::NotOver { .. } | Self::Conflict { .. } | Self::Lost { .. } => ErrorClass::Conflict,
            Self::Write { error, .. } if ErrorClass::of_io(error) == ErrorClass::StorageFull => ErrorClass::StorageFull,
            Self::Write { .. } => ErrorClass::Usage,
        }
    }
}

/// A path as text, for messages.
fn text(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The changes of a run, and where they are to be applied.
#[derive(Debug, Clone, Copy)]
pub struct ApplyRequest<'a> {
    pub run: &'a RunFolder,
    pub record: &'a RunRecord,
    /// Of the run, from its Log.
    pub state: &'a State,
    /// None: the folder of which the run has a copy.
    pub to: Option<&'a Path>,
    pub mode: ApplyMode,
}

/// Applies the changes of a run that is over to a folder, or only checks whether that can be done.
pub fn apply(request: &ApplyRequest<'_>) -> Result<ApplyReport, ApplyError> {
    let ApplyRequest { run, record, state, to, mode } = *request;
    let run_id = record.run_id;
    if !state.is_over() {
        return Err(ApplyError::NotOver { run: run_id });
    }
    let folder = to.or_else(|| record.request.workspace.copy().map(|copy| copy.from.as_path()));
    let folder = folder.ok_or(ApplyError::NoCopy { run: run_id })?;
    apply_to(run, run_id, state.attempt.0, folder, mode)
}

/// Applies the changes of the attempts up to `last`.
fn apply_to(
    run: &RunFolder,
    run_id: RunId,
    last: u32,
    folder: &Path,
    mode: ApplyMode,
) -> Result<ApplyReport, ApplyError> {
    let NetChanges { changes, left_out } = net::read(run, run_id, last)?;
    let target = Target::open(folder).map_err(|error| ApplyError::Target { path: folder.to_owned(), error })?;
    // Two of them at once would each check what the other is about to change.
    let _lock = target.lock().map_err(|error| ApplyError::Target { path: folder.to_owned(), error })?;
    let mut conflicts = Vec::new();
    let standing = target.standing(&changes);
    for (change, standing) in changes.iter().zip(&standing) {
        match standing {
            Standing::Before | Standing::After => {}
            Standing::Other => conflicts.push(text(&change.path)),
        }
    }
    let standing: Vec<bool> = standing.into_iter().map(|standing| standing == Standing::After).collect();
    if !conflicts.is_empty() {
        let more = conflicts.len().saturating_sub(NAMED);
        conflicts.truncate(NAMED);
        return Err(ApplyError::Conflict { folder: folder.to_owned(), paths: conflicts, more });
    }
    let open: Vec<&NetChange> =
        changes.iter().zip(&standing).filter(|(_, was_applied)| !**was_applied).map(|(change, _)| change).collect();
    let outcome = match (changes.is_empty(), open.is_empty(), mode) {
        (true, _, _) => ApplyOutcome::NothingToApply,
        (false, true, _) => ApplyOutcome::AlreadyApplied,
        (false, false, ApplyMode::Check) => {
            target::check_sources(run, run_id, &open)?;
            ApplyOutcome::Applicable
        }
        (false, false, ApplyMode::Apply) => {
            target.carry_out(run, run_id, &open)?;
            ApplyOutcome::Applied
        }
    };
    let told = changes.iter().zip(standing).map(|(change, was_applied)| ApplyChange {
        path: OsText::from(std::ffi::OsStr::new(change.as_path())),
        change: change.kind(),
        was_applied,
    });
    let folder = folder.to_string_lossy().into_owned();
    Ok(ApplyReport { run_id, outcome, folder, changes: told.collect(), left_out })
}
