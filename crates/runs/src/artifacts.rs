//! Artifacts: the files of the workspace that an attempt leaves as results.
//!
//! A file is an artifact when it was created or modified (by `fs-diff.N.json`) and is below `artifacts/` or matches a
//! rule of `runner.json`, or when the output or the request names it. At most [`MOST`] per attempt; other changes are only in the
//! diff.
//!
//! - `diff`: the file of changes, line by line. `named`: paths in an output. `rules`: patterns of `runner.json`.
//! - `inside`: opening and walking without ever leaving the workspace. `media`: types by extension. `served`: whether a
//!   file is still what the run made. `preview`: what a page can show of a file.
//!
//! The content of the workspace is up to the engine: no link is followed, nothing but ordinary files is opened, and
//! names that cannot be shown are left out and reported in `skipped`.

mod diff;
mod inside;
mod media;
mod named;
mod preview;
mod rules;
mod served;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::{Map, Value};
use skillrun_evidence::OsText;
use skillrun_lifecycle::closing::{self, ControlEvent};
use skillrun_model::Code;
use skillrun_model::rasp::data::{ArtifactCreated, ArtifactIndexed, ArtifactPreviewReady, FileChange};
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_skill::package::runner::ArtifactRule;

use diff::{Change, Was};
pub(crate) use inside::open_plain;
pub use inside::{Root, is_hard_link};
use rules::Rules;
pub use served::{NotServed, Stamp, Unchanged, open_unchanged};

/// Artifacts of one attempt.
pub const MOST: usize = 1_000;
/// The folder for artifacts, in the workspace.
pub const FOLDER: &str = "artifacts";

/// Bytes that are read here because the diff has no hash of them, for all files together.
const HASHED_HERE: u64 = 1 << 30;
/// Maximum number of skipped files that are reported one by one.
const SKIPPED_REPORTED: usize = 100;

/// What an attempt leaves.
#[derive(Debug, Default, PartialEq)]
pub struct AttemptArtifacts {
    /// By path. Not indexed: a file that is missing, or one whose content could not be read.
    pub artifacts: Vec<(ArtifactCreated, Option<ArtifactIndexed>)>,
    /// There were more.
    pub cut: bool,
    /// Patterns of rules that require a file, and no file matches.
    pub missing_required: Vec<String>,
    /// Files that would have been artifacts but for their name or kind; the first hundred.
    pub skipped: Vec<Skipped>,
    /// Files that are not artifacts because they have another name as well (hard links), by path.
    pub hard_links: Vec<String>,
    /// What could not be read, as messages.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// As far as it can be shown.
    pub path: String,
    pub why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    NotUtf8,
    ControlCharacters,
    /// Links are not followed, wherever they lead.
    Link,
    /// A pipe, a socket, a device.
    Special,
}

/// The reason why a file is an artifact. The lowest is kept when there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    Named,
    Rule,
    Folder,
}

#[derive(Debug)]
struct Candidate {
    change: FileChange,
    size: Option<u64>,
    hash: Option<String>,
}

/// Finds the artifacts of an attempt. `diff` is its `fs-diff.N.json`; where it does not exist, because no snapshot was
/// taken, everything below `artifacts/` counts as created. `wanted`: files that the request names, relative to the
/// workspace.
pub fn artifacts(
    workspace: &Path,
    diff: &Path,
    output: Option<&Map<String, Value>>,
    rules: &[ArtifactRule],
    wanted: &[String],
) -> AttemptArtifacts {
    let mut search = Search { rules: Rules::new(rules), chosen: BTreeMap::new(), found: AttemptArtifacts::default() };
    search.found.problems.extend(search.rules.problems());
    let root = match Root::open(workspace) {
        Ok(root) => root,
        Err(error) => {
            search.found.problems.push(format!("the workspace cannot be read ({error})"));
            return search.found;
        }
    };
    let mut named = output.map(|output| named::paths(output, &root)).unwrap_or_default();
    named.extend(wanted.iter().cloned());
    let read = diff::each(diff, &mut |change| {
        let is_named = change.path.as_os_str().to_str().is_some_and(|path| named.contains(path));
        search.changed(change, is_named);
    });
    match read {
        Ok(()) => {}
        Err(error) => {
            // No snapshot was taken, or it is not complete; in both cases the folder itself is read.
            if error.kind() != io::ErrorKind::NotFound {
                search.found.problems.push(format!("the list of changes cannot be read ({error})"));
            }
            search.walked(&root);
        }
    }
    for path in named {
        search.named(&root, path);
    }
    search.finish(&root)
}

struct Search {
    rules: Rules,
    /// Best first.
    chosen: BTreeMap<(Claim, String), Candidate>,
    found: AttemptArtifacts,
}

impl Search {
    fn changed(&mut self, change: Change, is_named: bool) {
        let by_rule = change.path.as_os_str().to_str().is_some_and(|path| self.rules.note(path, change.now));
        let is_in_folder = is_in_folder(change.path.as_path());
        let claim = match (is_named, by_rule, is_in_folder) {
            (true, _, _) => Claim::Named,
            (false, true, _) => Claim::Rule,
            (false, false, true) => Claim::Folder,
            (false, false, false) => return,
        };
        let file_change = match (change.now, change.was == Was::File) {
            (Was::File, true) => FileChange::Modified,
            (Was::File, false) => FileChange::Created,
            // Gone, or replaced by something else. A path that is only named never was an artifact.
            (Was::Nothing | Was::Folder | Was::Link | Was::Special, true) if by_rule || is_in_folder => {
                FileChange::Deleted
            }
            (Was::Link, _) => return self.skip(&change.path, Why::Link),
            (Was::Special, _) => return self.skip(&change.path, Why::Special),
            (Was::Nothing | Was::Folder, _) => return,
        };
        match shown(&change.path) {
            Ok(path) => {
                self.choose(claim, path, Candidate { change: file_change, size: change.size, hash: change.hash });
            }
            Err(why) => self.skip(&change.path, why),
        }
    }

    /// There is no list of changes.
    fn walked(&mut self, root: &Root) {
        root.each_file(Path::new(FOLDER), &mut |path, is| {
            let now = match is {
                inside::Is::File => Was::File,
                inside::Is::Link => Was::Link,
                inside::Is::Special => Was::Special,
            };
            self.changed(Change { path: path.into(), was: Was::Nothing, now, size: None, hash: None }, false);
        });
    }

    /// A file that is named and that did not change; an earlier attempt may have made it.
    fn named(&mut self, root: &Root, path: String) {
        let is_known = self.chosen.contains_key(&(Claim::Named, path.clone()));
        if !is_known && root.file(Path::new(&path)).is_ok() {
            self.rules.note(&path, Was::File);
            self.choose(Claim::Named, path, Candidate { change: FileChange::Created, size: None, hash: None });
        }
    }

    fn choose(&mut self, claim: Claim, path: String, candidate: Candidate) {
        // The diff takes precedence over what is only seen in the folder.
        self.chosen.entry((claim, path)).or_insert(candidate);
        if self.chosen.len() > MOST {
            self.chosen.pop_last();
            self.found.cut = true;
        }
    }

    fn skip(&mut self, path: &OsText, why: Why) {
        if self.found.skipped.len() < SKIPPED_REPORTED {
            let shown = path.as_path().to_string_lossy();
            let path = shown.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
            self.found.skipped.push(Skipped { path, why });
        }
    }

    fn finish(mut self, root: &Root) -> AttemptArtifacts {
        let mut budget = HASHED_HERE;
        let chosen = std::mem::take(&mut self.chosen);
        let by_path: BTreeMap<String, Candidate> =
            chosen.into_iter().map(|((_, path), candidate)| (path, candidate)).collect();
        for (path, candidate) in by_path {
            let indexed = match candidate.change {
                FileChange::Deleted => None,
                FileChange::Created | FileChange::Modified => {
                    let known = candidate.size.zip(candidate.hash).map(Ok);
                    // The snapshot has read its content, but not its other names.
                    let is_linked = root.artifact(Path::new(&path)).is_err_and(|error| is_hard_link(&error));
                    if is_linked {
                        self.found.hard_links.push(path);
                        continue;
                    }
                    match known.unwrap_or_else(|| root.hash(Path::new(&path), &mut budget)) {
                        Ok((size, hash)) => {
                            let (media_type, role) = self.rules.labels(&path);
                            let media_type = media_type.unwrap_or_else(|| media::of(&path).to_owned());
                            Some(ArtifactIndexed { path: path.clone(), size, hash, media_type, role })
                        }
                        Err(error) => {
                            self.found.problems.push(format!("{path} was not read ({error})"));
                            None
                        }
                    }
                }
            };
            self.found.artifacts.push((ArtifactCreated { path, change: candidate.change }, indexed));
        }
        self.found.missing_required = self.rules.missing(root);
        self.found
    }
}

fn is_in_folder(path: &Path) -> bool {
    path.strip_prefix(FOLDER).is_ok_and(|rest| !rest.as_os_str().is_empty())
}

/// The path as it is written in an event.
fn shown(path: &OsText) -> Result<String, Why> {
    let text = path.as_os_str().to_str().ok_or(Why::NotUtf8)?;
    if text.chars().any(char::is_control) { Err(Why::ControlCharacters) } else { Ok(text.to_owned()) }
}

impl AttemptArtifacts {
    /// Adds a file that skillrun itself has made.
    pub fn add(&mut self, created: ArtifactCreated, indexed: ArtifactIndexed) {
        self.artifacts.retain(|(other, _)| other.path != created.path);
        let place = self.artifacts.partition_point(|(other, _)| other.path < created.path);
        self.artifacts.insert(place, (created, Some(indexed)));
    }
}

/// The events, in the order of contract R6.17: per path `artifact.created`, then `artifact.indexed`, then
/// `artifact.preview_ready` where the file can be shown; a warning at the end when there were more.
pub fn control_events(found: &AttemptArtifacts) -> Vec<ControlEvent> {
    let event = |path: &str, data: ControlData| {
        let correlation = Correlation { artifact_id: Some(path.to_owned()), ..Correlation::default() };
        ControlEvent { level: Level::Info, data, correlation }
    };
    let mut events = Vec::new();
    for (created, indexed) in &found.artifacts {
        events.push(event(&created.path, ControlData::ArtifactCreated(created.clone())));
        if let Some(indexed) = indexed {
            events.push(event(&indexed.path, ControlData::ArtifactIndexed(indexed.clone())));
            if let Some(kind) = preview::kind(&indexed.media_type, indexed.size) {
                let ready = ArtifactPreviewReady { path: indexed.path.clone(), kind };
                events.push(event(&indexed.path, ControlData::ArtifactPreviewReady(ready)));
            }
        }
    }
    if found.cut {
        let message = format!("there are more than {MOST} artifacts; the others are in the list of changes only");
        events.push(closing::warning(Code::ArtifactsCut, message));
    }
    if let [first, more @ ..] = &found.hard_links[..] {
        let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
        let message = format!("{first}{more}: a hard link is not an artifact; copy the file instead of linking it");
        events.push(closing::warning(Code::ArtifactHardLink, message));
    }
    events
}

/// Warnings about files that `runner.json` requires. For a run that ends here: one that continues may still make them.
pub fn missing_warnings(found: &AttemptArtifacts) -> Vec<ControlEvent> {
    let warning = |pattern: &String| {
        closing::warning(Code::ArtifactMissing, format!("no file matches \"{pattern}\", which the skill requires"))
    };
    found.missing_required.iter().map(warning).collect()
}
