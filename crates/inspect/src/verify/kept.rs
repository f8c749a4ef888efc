//! What the run keeps beside its Log, against the hashes that were recorded when it was taken or made.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use skillrun_base::whole_file;
use skillrun_evidence::HostRecord;
use skillrun_lifecycle::run::State;
use skillrun_model::checks::CheckEnded;
use skillrun_model::rasp::data::{ArtifactIndexed, RunStarted, UserMessage};
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_model::{Code, EndedBy, RunId};
use skillrun_runs::artifacts::{self, Root};
use skillrun_runs::record::Workspace;
use skillrun_runs::retention::is_evidence_removed;
use skillrun_runs::{blobs, inputs};

use super::VerifyOutcome;
use super::attempt::Context;
use super::views::Extent;

/// What the Log says about files that are not evidence.
#[derive(Debug, Default)]
pub(super) struct Kept {
    started: Option<RunStarted>,
    reply_hashes: BTreeMap<String, String>,
    /// Files of answers whose hashes were not recorded.
    unhashed_reply: bool,
    /// Messages whose text is in a file.
    messages: Vec<UserMessage>,
    artifacts: BTreeMap<String, ArtifactIndexed>,
    /// Commands that were run after the turn.
    pub(super) checks: Vec<CheckEnded>,
    /// There were more artifacts than are listed, so a listed one may have changed without being listed again.
    is_cut: bool,
}

impl Kept {
    pub(super) fn event(&mut self, event: &Event) {
        if let Data::Control(ControlData::RunStarted(started)) = &event.data {
            self.started.get_or_insert_with(|| started.clone());
        } else if let Data::Control(ControlData::InteractionReplied(replied)) = &event.data {
            self.unhashed_reply |= replied.files.iter().any(|name| !replied.file_hashes.contains_key(name));
            self.reply_hashes.extend(replied.file_hashes.clone());
        } else if let Data::Control(ControlData::MessageUser(message)) = &event.data {
            self.messages.extend(message.whole.is_some().then(|| message.clone()));
        } else if let Data::Control(ControlData::ArtifactCreated(created)) = &event.data {
            self.artifacts.remove(&created.path);
        } else if let Data::Control(ControlData::ArtifactIndexed(indexed)) = &event.data {
            self.artifacts.insert(indexed.path.clone(), indexed.clone());
        } else if let Data::Control(ControlData::CheckEnded(end)) = &event.data {
            self.checks.push(end.as_ref().clone());
        } else if let Data::Control(ControlData::ParserWarning(warning)) = &event.data {
            self.is_cut |= warning.code == Code::ArtifactsCut;
        }
    }

    /// `run.json`.
    pub(super) fn record(&self, run: RunId, context: &Context<'_>) -> VerifyOutcome {
        let its = context.record.run_id;
        if its != run {
            return VerifyOutcome::different(format!("it is the record of run {its}, in the folder of run {run}"));
        }
        let Some(wanted) = self.started.as_ref().and_then(|started| started.record_hash.as_ref()) else {
            return VerifyOutcome::not_comparable("the first event carries no hash of it: an older version wrote it");
        };
        match whole_file::hash(&context.folder.record()) {
            Ok((found, _)) if found == *wanted => VerifyOutcome::Same,
            Ok(_) => VerifyOutcome::different("run.json was changed after the run was accepted: it has another hash"),
            Err(error) => VerifyOutcome::lost(format!("run.json cannot be read ({error})")),
        }
    }

    /// None where the run has no skill.
    pub(super) fn skill(context: &Context<'_>) -> Option<VerifyOutcome> {
        context.record.skill.as_ref()?;
        let found = inputs::skill(context.folder, context.record);
        Some(found.map_or_else(VerifyOutcome::different, |()| VerifyOutcome::Same))
    }

    /// None where the run has no such files.
    pub(super) fn inputs(&self, context: &Context<'_>) -> Option<VerifyOutcome> {
        let (record, folder) = (context.record, context.folder.inputs());
        let mut hashes = record.input_hashes.clone();
        hashes.extend(self.reply_hashes.clone());
        if let Err(changed) = inputs::files(&folder, &hashes) {
            return Some(VerifyOutcome::different(changed));
        }
        for message in &self.messages {
            if let (Some(whole), Err(error)) = (&message.whole, blobs::read_prompt(context.folder, message)) {
                return Some(VerifyOutcome::different(format!(
                    "{} is not the message that was sent ({error})",
                    whole.path
                )));
            }
        }
        let named = record.request.files.values().chain(&record.request.script);
        let is_unhashed = self.unhashed_reply || named.into_iter().any(|name| !hashes.contains_key(name));
        match (is_unhashed, hashes.is_empty() && self.messages.is_empty()) {
            (true, _) => {
                Some(VerifyOutcome::not_comparable("their hashes were not recorded: an older version took them"))
            }
            (false, false) => Some(VerifyOutcome::Same),
            (false, true) => None,
        }
    }

    /// None where the run made none.
    pub(super) fn artifacts(&self, context: &Context<'_>, state: &State, extent: &Extent) -> Option<VerifyOutcome> {
        if self.artifacts.is_empty() {
            return None;
        }
        match extent {
            Extent::Over => {}
            Extent::NotOver => {
                return Some(VerifyOutcome::not_comparable("the run is not over, and may still change them"));
            }
            Extent::Unknown(why) => return Some(VerifyOutcome::not_comparable(why.clone())),
        }
        let is_own = match &context.record.request.workspace {
            // A check runs there after the files of the turn are listed.
            Workspace::Own | Workspace::Copy(_) => context.record.request.checks.is_empty(),
            Workspace::Folder { .. } => false,
        };
        // Listed after the last process was gone, unless its end was never seen.
        let audit = context.folder.audit();
        let holds_still = match HostRecord::read(&audit, state.attempt) {
            Ok(Some(host)) => !host.process_continues && host.ended_by != Some(EndedBy::HostError),
            Ok(None) | Err(_) => is_evidence_removed(&audit),
        };
        let root = Root::open(&context.folder.workspace());
        for artifact in self.artifacts.values() {
            let path = Path::new(&artifact.path);
            // Hashed in pieces, whatever its size.
            let mut budget = u64::MAX;
            let found = match &root {
                Ok(root) => root.hash(path, &mut budget),
                Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
            };
            let changed = match found {
                Ok((_, hash)) if hash == artifact.hash => continue,
                Ok((size, _)) => {
                    format!("{} was {} bytes and has {size} and another hash", artifact.path, artifact.size)
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => format!("{} is missing", artifact.path),
                Err(error) => format!("{} cannot be read ({error})", artifact.path),
            };
            // A file that only the output names is listed when it is named, and not when it changes.
            let is_listed = path.starts_with(artifacts::FOLDER) && !self.is_cut;
            return Some(if is_own && holds_still && is_listed {
                VerifyOutcome::different(changed)
            } else if is_own {
                VerifyOutcome::ChangedSince { what_changed: changed }
            } else {
                VerifyOutcome::ChangedSince { what_changed: format!("{changed}; the folder is the user's") }
            });
        }
        Some(VerifyOutcome::Same)
    }
}
