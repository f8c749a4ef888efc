//! The message that begins an attempt: composed once, sent to the engine, and recorded in the Log.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use skillrun_engine::Descriptor;
use skillrun_inspect::InspectError;
use skillrun_lifecycle::run::SessionLeft;
use skillrun_model::AttemptNumber;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::data::{MessageOrigin, UserMessage};
use skillrun_model::status::Continuation;
use skillrun_model::verdict::RunError;
use skillrun_replay::handover;
use skillrun_runs::blobs;
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::judge::Rules;
use skillrun_runs::record::RecordedTask;
use skillrun_skill::{PromptValues, prompt::prompt};

use super::launch::error;
use super::opening;
use crate::run::{Run, Tools};
use crate::workspace::Places;

/// The message of the next attempt, without the list of its files. Its text is what is sent: where the session is lost,
/// the replay and then the words of the user.
pub(crate) fn compose(
    tools: &Tools,
    run: &Run,
    rules: &Rules,
    descriptor: &Descriptor,
    places: &Places,
) -> Result<UserMessage, RunError> {
    if let Some(reply) = &run.state.reply {
        let message = reply.message();
        return if begins_session(run) { after_lost_session(tools, run, message) } else { Ok(message) };
    }
    let (record, folder) = (&run.record, &run.folder);
    match record.task() {
        // A workflow has no attempt.
        RecordedTask::Skill(_) | RecordedTask::Workflow(_) => {}
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

/// Whether the next prompt begins another session: the one before is lost, or was never named.
pub(crate) fn begins_session(run: &Run) -> bool {
    let is_prompt = run.state.reply.as_ref().is_some_and(|reply| reply.scope == Scope::Prompt);
    is_prompt && (run.state.session_id.is_none() || is_lost(run))
}

/// The process that had the session is gone, and no other can load it.
fn is_lost(run: &Run) -> bool {
    let sticky = run.record.engine.continuation == Continuation::Sticky;
    sticky && opening::session_left(run) == SessionLeft::Lost
}

/// The message with what the lost session knew before it.
fn after_lost_session(tools: &Tools, run: &Run, message: UserMessage) -> Result<UserMessage, RunError> {
    let unread = |failed: InspectError| {
        let message = format!("failed to read the conversation for another session: {failed}");
        error(ErrorCategory::Host, Code::HostError, message)
    };
    let replay = skillrun_inspect::replay::replay(&tools.data, &tools.log, run.id, None).map_err(unread)?.replay;
    Ok(match handover::after_lost_session(&replay, &message.text) {
        Some((text, replayed)) => UserMessage { text, replayed: Some(replayed), ..message },
        None => message,
    })
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

/// The message as the Log has it: the exact text, or a part of it and a file with the whole.
pub(crate) fn for_event(folder: &RunFolder, attempt: AttemptNumber, message: UserMessage) -> io::Result<UserMessage> {
    let sent = words(folder, &message.text, &message.files);
    let replay = message.replayed.as_ref().map_or(0, |replayed| usize::try_from(replayed.bytes).unwrap_or(usize::MAX));
    let own = sent.get(replay..).unwrap_or_default();
    let text = blobs::beginning(own).to_owned();
    let whole = if text == sent { None } else { Some(blobs::write_prompt(folder, attempt, &sent)?) };
    Ok(UserMessage { text, whole, ..message })
}
