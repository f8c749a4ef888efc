//! Where an engine works: a folder inside the run, or one of the user's.
//!
//! In a folder of the user's nothing that exists is touched. Files that have to be put there are listed in
//! `placed.json` of the run before they are created, and removed when the run is over, by the process that finds it
//! over. One run at a time works in a folder, unless sharing is allowed: `workspaces/` of the data folder has a note
//! for each folder in use.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skillrun_base::file_lock;
use skillrun_base::whole_file::{self, SyncLevel};
use skillrun_collect::tree;
use skillrun_engine::Descriptor;
use skillrun_evidence::{OsText, names};
use skillrun_model::{AttemptNumber, RunId};
use skillrun_runs::data_folder::{DataFolder, RunFolder};
use skillrun_runs::record::{HomeChoice, RunRecord, Sharing, SkillRecord, Workspace};
use skillrun_skill::{Layers, Patch, SkillCopy, SkillError};

use crate::error::RuntimeError;
use skillrun_model::IgnoredError;

/// Where engines look for skills if they name no folder of their own.
const COMMON_SKILLS: &str = ".agents/skills";

/// The folders an attempt needs.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// Absolute, without links.
    pub(crate) workspace: PathBuf,
    pub(crate) artifacts: PathBuf,
    /// The patched copy, as the engine finds it. None for a run without a skill.
    pub(crate) skill: Option<PathBuf>,
    pub(crate) home: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error("{}: cannot be prepared ({error})", path.display())]
    Folder { path: PathBuf, error: io::Error },
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> PlaceError {
    let path = path.to_owned();
    move |error| PlaceError::Folder { path, error }
}

/// What was put into a folder of the user's, in the order it was made.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Placed {
    paths: Vec<OsText>,
    /// One of them belongs to skillrun with everything in it, whatever the agent put there.
    copy: Option<OsText>,
}

/// The owner of files that appear inside something that was put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Ours,
    Users,
}

/// What is known of the patched copy that an earlier attempt made. It is not synced, because that would cost more than
/// all else that is done for a small run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlierCopy {
    /// No power failure since the run was accepted: it is complete.
    Complete,
    /// Any part of it may be missing, so it is made again.
    Unsynced,
}

/// The name of a copy until it is complete.
fn part_of(copy: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(copy.file_name().unwrap_or_default());
    name.push(".part");
    copy.with_file_name(name)
}

/// Where the copy of a skill is placed.
fn skill_place(name: &str, record: &RunRecord, descriptor: &Descriptor, workspace: &Path, home: &Path) -> PathBuf {
    let in_project = descriptor.skills.project.first().map_or(Path::new(COMMON_SKILLS), PathBuf::as_path);
    match (&record.request.workspace, record.request.home, descriptor.skills.home.first()) {
        (Workspace::Own | Workspace::Copy(_), _, _) => workspace.join(in_project).join(name),
        (Workspace::Folder { .. }, HomeChoice::Run, Some(in_home)) => home.join(in_home).join(name),
        // Under a name that no other skill has.
        (Workspace::Folder { .. }, HomeChoice::Run | HomeChoice::User, _) => {
            let id = record.run_id.to_string();
            let tail = id.rsplit('-').next().unwrap_or(&id);
            workspace.join(in_project).join(format!("{name}-{tail}"))
        }
    }
}

fn placed_file(folder: &RunFolder) -> PathBuf {
    folder.root().join("placed.json")
}

impl Places {
    pub(crate) fn of(folder: &RunFolder, record: &RunRecord, descriptor: &Descriptor, user_home: &Path) -> Self {
        let home = match record.request.home {
            HomeChoice::Run => folder.home(),
            HomeChoice::User => user_home.to_owned(),
        };
        let workspace = record.request.workspace.folder().map_or_else(|| folder.workspace(), Path::to_owned);
        let copy = |skill: &SkillRecord| skill_place(&skill.name, record, descriptor, &workspace, &home);
        let skill = record.skill.as_ref().map(copy);
        Self { artifacts: workspace.join("artifacts"), skill, workspace, home }
    }

    fn is_in_users_folder(&self, record: &RunRecord, path: &Path) -> bool {
        record.request.workspace.folder().is_some() && path.starts_with(&self.workspace)
    }

    /// Creates the folders and the patched copy. Does nothing where an earlier attempt did it. `earlier` is the copy of
    /// an earlier attempt.
    pub(crate) fn prepare(
        &self,
        folder: &RunFolder,
        record: &RunRecord,
        layers: &Layers,
        earlier: EarlierCopy,
    ) -> Result<(), PlaceError> {
        match &record.request.workspace {
            Workspace::Own => fs::create_dir_all(&self.workspace).map_err(failed(&self.workspace))?,
            // It was made with the run.
            Workspace::Copy(_) => {
                fs::metadata(&self.workspace).map_err(failed(&self.workspace))?;
            }
            Workspace::Folder { path, .. } => {
                fs::metadata(path.as_path()).map_err(failed(path.as_path()))?;
                let link = folder.workspace();
                if fs::symlink_metadata(&link).is_err() {
                    symlink(path.as_path(), &link).map_err(failed(&link))?;
                }
            }
        }
        if record.request.home == HomeChoice::Run {
            fs::create_dir_all(&self.home).map_err(failed(&self.home))?;
        }
        // An agent without a skill is not asked for artifacts.
        let Some(skill) = &self.skill else { return Ok(()) };
        let is_users = self.is_in_users_folder(record, &self.artifacts);
        if is_users {
            self.note(folder, &self.artifacts, Content::Users).map_err(failed(&self.artifacts))?;
        }
        fs::create_dir_all(&self.artifacts).map_err(failed(&self.artifacts))?;
        // Whole or not at all: it is made beside and moved, so that an incomplete copy is never used.
        if earlier == EarlierCopy::Unsynced {
            tree::remove(skill).ignored();
        }
        if !skill.join("SKILL.md").exists() {
            let parent = skill.parent().unwrap_or(&self.workspace);
            if self.is_in_users_folder(record, skill) {
                self.note(folder, skill, Content::Ours).map_err(failed(skill))?;
            }
            fs::create_dir_all(parent).map_err(failed(parent))?;
            let beside = folder.root().join("skill.patched");
            tree::remove(&beside).ignored();
            let copy = SkillCopy::make(&folder.skill(), &beside)?;
            copy.patch(layers, &Patch { mode: record.request.mode, artifacts_dir: &self.artifacts })?;
            // Not synced: after a power failure it is made again.
            match fs::rename(&beside, skill) {
                Ok(()) => {}
                // Another file system: copied there instead, under another name, and moved when it is complete.
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    let part = part_of(skill);
                    if self.is_in_users_folder(record, &part) {
                        self.note(folder, &part, Content::Users).map_err(failed(&part))?;
                    }
                    // Left by an owner that was killed.
                    tree::remove(&part).ignored();
                    SkillCopy::make(&beside, &part)?;
                    whole_file::sync_trees(std::slice::from_ref(&part)).map_err(failed(&part))?;
                    fs::rename(&part, skill).map_err(failed(skill))?;
                    tree::remove(&beside).ignored();
                }
                Err(error) => return Err(failed(skill)(error)),
            }
        }
        Ok(())
    }

    /// Lists a path, and the folders above it that will be created for it, before anything is created.
    fn note(&self, folder: &RunFolder, path: &Path, content: Content) -> io::Result<()> {
        let file = placed_file(folder);
        let mut placed: Placed = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Placed::default(),
            Err(error) => return Err(error),
        };
        if content == Content::Ours {
            placed.copy = Some(OsText::from(path));
        }
        let made = path.ancestors().take_while(|path| *path != self.workspace && fs::symlink_metadata(path).is_err());
        let mut made: Vec<PathBuf> = made.map(Path::to_owned).collect();
        made.reverse();
        for path in made {
            let path = OsText::from(path.as_path());
            if !placed.paths.contains(&path) {
                placed.paths.push(path);
            }
        }
        whole_file::replace(&file, &serde_json::to_vec(&placed)?)
    }

    /// Lists files that an engine's settings were written to.
    pub(crate) fn note_files(&self, folder: &RunFolder, record: &RunRecord, files: &[PathBuf]) -> io::Result<()> {
        for path in files.iter().filter(|path| self.is_in_users_folder(record, path)) {
            self.note(folder, path, Content::Users)?;
        }
        Ok(())
    }
}

/// Removes what an ended run has twice or does not use, before its last event: files of the patched copy that `skill/`
/// has too, prompts that the evidence has too, and empty folders.
pub(crate) fn remove_spare(folder: &RunFolder, record: &RunRecord, descriptor: &Descriptor, artifacts: &[PathBuf]) {
    // Relative to the workspace, and not outside of the run.
    let places = Places::of(folder, record, descriptor, Path::new("/nonexistent"));
    let is_own = record.request.workspace.folder().is_none();
    if let Some(copy) = places.skill.as_ref().filter(|_| is_own) {
        let is_artifact = artifacts.iter().any(|path| places.workspace.join(path).starts_with(copy));
        if !is_artifact {
            // What cannot be removed costs space only.
            SkillCopy::at(copy).remove_unchanged(&folder.skill()).ignored();
        }
    }
    for attempt in 1.. {
        let attempt = AttemptNumber(attempt);
        let prompt = folder.inputs().join(prompt_name(attempt));
        let Ok(about) = fs::metadata(&prompt) else { break };
        let given = folder.audit().join(names::stdin(attempt));
        let is_same = fs::metadata(&given).is_ok_and(|given| given.len() == about.len())
            && matches!((fs::read(&prompt), fs::read(&given)), (Ok(prompt), Ok(given)) if prompt == given);
        if is_same {
            fs::remove_file(&prompt).ignored();
        }
    }
    let own = is_own.then_some(&places.artifacts);
    for empty in own.into_iter().chain([&folder.inputs(), &folder.home()]) {
        // One that is not empty stays.
        fs::remove_dir(empty).ignored();
    }
}

/// The name of the file in `inputs/` with the prompt of an attempt.
pub(crate) fn prompt_name(attempt: AttemptNumber) -> String {
    format!("prompt.{attempt}.txt")
}

/// Removes from the user's folder what was put there. Folders that contain something else by now stay.
pub(crate) fn remove_placed(folder: &RunFolder, record: &RunRecord) {
    let Workspace::Folder { .. } = &record.request.workspace else { return };
    let file = placed_file(folder);
    let Ok(bytes) = fs::read(&file) else { return };
    let Ok(placed) = serde_json::from_slice::<Placed>(&bytes) else { return };
    for listed in placed.paths.iter().rev() {
        let path = listed.as_path();
        // Files that the agent made elsewhere belong to the user.
        let is_copy = placed.copy.as_ref().is_some_and(|copy| copy == listed || part_of(copy.as_path()) == path);
        let removed = match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() && is_copy => tree::remove(path),
            Ok(found) if found.is_dir() => fs::remove_dir(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        // A folder that is not empty contains files of the user or the agent.
        removed.ignored();
    }
    fs::remove_file(&file).ignored();
}

/// The note that a run works in a folder.
#[derive(Debug, Serialize, Deserialize)]
struct InUse {
    run_id: RunId,
    path: OsText,
    sharing: Sharing,
}

/// Which run uses a folder.
#[derive(Debug)]
pub(crate) enum Claim {
    /// This run. No other process claims anything while this is held, so it is held until the run is visible.
    Ours(#[expect(dead_code, reason = "a lock, given back when it is dropped")] fs::File),
    Of(RunId),
}

/// Records that a run works in a folder of the user's, unless another run is there.
pub(crate) fn claim(
    data: &DataFolder,
    run: RunId,
    path: &Path,
    sharing: Sharing,
    is_over: impl Fn(RunId) -> bool,
    is_of_family: impl Fn(RunId) -> bool,
) -> Result<Claim, RuntimeError> {
    let notes = data.workspaces();
    let io = RuntimeError::file;
    fs::create_dir_all(&notes).map_err(io(&notes, "created"))?;
    let lock = fs::File::create(notes.join("lock")).map_err(io(&notes, "locked"))?;
    file_lock::lock(&lock).map_err(io(&notes, "locked"))?;
    for entry in fs::read_dir(&notes).map_err(io(&notes, "read"))?.flatten() {
        let file = entry.path();
        if file.extension() != Some(std::ffi::OsStr::new("json")) {
            continue;
        }
        let Some(note) = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<InUse>(&bytes).ok()) else {
            fs::remove_file(&file).ignored();
            continue;
        };
        if is_over(note.run_id) {
            fs::remove_file(&file).ignored();
            continue;
        }
        let other = note.path.as_path();
        let overlaps = path.starts_with(other) || other.starts_with(path);
        let is_shared = sharing == Sharing::Allowed && note.sharing == Sharing::Allowed;
        // A run shares its folder with the runs that it asks for.
        if overlaps && !is_shared && !is_of_family(note.run_id) {
            return Ok(Claim::Of(note.run_id));
        }
    }
    let note = InUse { run_id: run, path: OsText::from(path), sharing };
    let file = note_file(data, run);
    let text = serde_json::to_vec(&note).map_err(|error| io(&file, "written")(error.into()))?;
    whole_file::replace_with(&file, &text, SyncLevel::Nothing).map_err(io(&file, "written"))?;
    Ok(Claim::Ours(lock))
}

pub(crate) fn release(data: &DataFolder, run: RunId) {
    fs::remove_file(note_file(data, run)).ignored();
}

fn note_file(data: &DataFolder, run: RunId) -> PathBuf {
    let mut name = OsString::from(run.to_string());
    name.push(".json");
    data.workspaces().join(name)
}
