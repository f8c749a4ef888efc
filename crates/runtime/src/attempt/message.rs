//! The message that begins an attempt: composed once, sent to the engine, and recorded in the Log.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use skillrun_engine::Descriptor;
use skillrun_model::AttemptNumber;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::rasp::data::{MessageOrigin, UserMessage};
use skillrun_model::verdict::RunError;
use skillrun_runs::blobs;
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::judge::Rules;
use skillrun_runs::record::RecordedTask;
use skillrun_skill::{PromptValues, prompt::prompt};

use super::launch::error;
use crate::run::Run;
use crate::workspace::Places;

/// The message of the next attempt, without the list of its files.
pub(crate) fn compose(
    run: &Run,
    rules: &Rules,
    descriptor: &Descriptor,
    places: &Places,
) -> Result<UserMessage, RunError> {
    if let Some(reply) = &run.state.reply {
        return Ok(reply.message());
    }
    let (record, folder) = (&run.record, &run.folder);
    match record.task() {
        RecordedTask::Skill(_) => {}
        RecordedTask::Prompt(text) => {
            let files = record.request.files.values().cloned().collect();
            let origin = if record.continues.is_some() { MessageOrigin::Orchestrator } else { MessageOrigin::User };
            return Ok(UserMessage { files, ..UserMessage::new(origin, text) });
        }
    }
    let unreadable = |message: String| error(ErrorCategory::Skill, Code::SkillUnreadable, message);
    let (Some(skill), Some(skill_path)) = (&rules.skill, &places.skill) else {
        return Err(unreadable("the run's copy of the skill cannot be read".to_owned()));
    };
    let files: BTreeMap<String, PathBuf> =
        record.request.files.iter().map(|(slot, name)| (slot.clone(), folder.inputs().join(name))).collect();
    let values = PromptValues {
        skill_path,
        engine: &descriptor.name,
        mode: record.request.mode,
        artifacts_dir: &places.artifacts,
        input: &record.request.input,
        parameter: &record.request.parameter,
        files: &files,
    };
    let text = prompt(skill, &values).map_err(|wrong| unreadable(wrong.to_string()))?;
    Ok(UserMessage::new(MessageOrigin::Skill, text))
}

/// The exact text that is sent: with the list of the files that came with it.
pub(crate) fn words(folder: &RunFolder, text: &str, files: &[String]) -> String {
    let mut words = text.to_owned();
    for (number, name) in files.iter().enumerate() {
        let before = if number == 0 { "\n\nFiles that came with this message:" } else { "" };
        words.push_str(&format!("{before}\n- {}", folder.inputs().join(name).display()));
    }
    words
}

/// The message as the Log has it: the exact text, or its beginning and a file with the whole.
pub(crate) fn for_event(folder: &RunFolder, attempt: AttemptNumber, message: UserMessage) -> io::Result<UserMessage> {
    let text = words(folder, &message.text, &message.files);
    let whole = blobs::write_prompt(folder, attempt, &text)?;
    let text = if whole.is_some() { blobs::beginning(&text).to_owned() } else { text };
    Ok(UserMessage { text, whole, ..message })
}
