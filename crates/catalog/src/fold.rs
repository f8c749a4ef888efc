//! The state of one run as folded from its Log, and how reading resumes from there.

use std::any::Any;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use skillrun_lifecycle::output::without_markers;
use skillrun_lifecycle::run::State;
use skillrun_model::codes::Code;
use skillrun_model::cost::RunCost;
use skillrun_model::delegation::ParentLink;
use skillrun_model::presenters::is_answer;
use skillrun_model::rasp::data::{MessageFinal, RunCanceled, RunCompleted};
use skillrun_model::rasp::{ControlData, Data, Event, EventType, EvidenceData};
use skillrun_model::verdict::RunError;
use skillrun_model::{ExecutionMode, RunId, Timestamp};

use super::folders::Mark;
use super::front::{FrontReader, has_no_session};
use super::row::{TokenUsage, beginning};
use skillrun_log::LiveFold;
use skillrun_log::cursor::{Cursor, Seq};
use skillrun_log::error::LogErrorKind;
use skillrun_log::event_log::EventLog;
use skillrun_log::file::FileLog;
use skillrun_log::page::{Limits, LogLine, LogRead};

/// Version of [`Fold`] and of everything it contains. Raise the number when a fold would have another result, or
/// another form as JSON: all rows are then rebuilt. They are also rebuilt by another version of the program.
pub(super) const FOLD_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " fold 14");

/// Logs are read in pieces of about this size.
const LIMITS: Limits = Limits { events: usize::MAX, bytes: 1024 * 1024 };

/// The marker before a question in a message.
const ASKS: &str = "<ASK_USER_YAML>";

/// Maximum number of retries for a Log that is truncated while it is read; after that it is left for the next refresh.
const RESETS: u32 = 3;

/// A run as far as its Log was read. The state is that of the lifecycle; the other fields come from single events and
/// do not affect the state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Fold {
    pub(super) state: State,
    pub(super) started: Option<Started>,
    pub(super) ended: Option<Ended>,
    /// Time of the first event.
    pub(super) created_at: Option<Timestamp>,
    /// Time of the last event.
    pub(super) updated_at: Option<Timestamp>,
    /// The last answer: a message that a completed turn names. Text of a turn that broke off is not one.
    pub(super) said: Option<LastMessage>,
    /// Messages of the open turn. Its record names the one that is the answer, if one is.
    pub(super) saying: VecDeque<LastMessage>,
    pub(super) usage: Option<TokenUsage>,
    pub(super) cost: Option<RunCost>,
    /// Events of a newer version, which are skipped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) newer_events: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Messages of a turn that are kept: the same number as the gate keeps, so that the answer is among them.
const KEPT_MESSAGES: usize = 64;

/// A finished message of the agent, truncated for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastMessage {
    message_id: String,
    pub(super) text: String,
}

impl LastMessage {
    /// None if it is empty, or was itself truncated.
    fn of(message: &MessageFinal) -> Option<Self> {
        if message.partial {
            return None;
        }
        // Where the question begins; the question itself is in the row.
        let said = message.text.split(ASKS).next().unwrap_or_default();
        let text = without_markers(said);
        let text = beginning(text.trim()).0.to_owned();
        Some(Self { message_id: message.message_id.clone(), text }).filter(|said| !said.text.is_empty())
    }
}

/// The content of `run.started`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Started {
    pub(super) skill: Option<String>,
    #[serde(default)]
    pub(super) title: Option<String>,
    pub(super) engine: String,
    pub(super) mode: ExecutionMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<ParentLink>,
}

/// The content of the terminal record. A run can fail without a verdict, and be canceled after one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) at: Timestamp,
    pub(super) reason_code: Code,
    pub(super) error: Option<EndError>,
}

/// The error of a run that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndError {
    pub(super) code: Code,
    /// The beginning of its message, on one line.
    pub(super) message: String,
}

impl EndError {
    pub(super) fn of(error: &RunError) -> Self {
        let line = error.message.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { code: error.code, message: beginning(&line).0.to_owned() }
    }
}

impl LiveFold for Fold {
    fn add(&mut self, event: &Event) {
        Self::add(self, event);
    }

    fn copy(&self) -> Box<dyn Any> {
        Box::new(self.clone())
    }
}

/// Whether an event of this type changes nothing in a fold but how far it goes, and the session while none is known.
fn is_passed_over(event_type: EventType) -> bool {
    match event_type {
        EventType::MessageDelta
        | EventType::ReasoningSummary
        | EventType::ToolCallStarted
        | EventType::ToolCallCompleted
        | EventType::ToolCallFailed
        | EventType::ParserError
        | EventType::EngineError
        | EventType::RawStdout
        | EventType::RawStderr => true,
        // The last message is shown, and a warning can retract it.
        EventType::MessageFinal | EventType::ParserWarning => false,
        EventType::RunStarted
        | EventType::RunStatus
        | EventType::RunHeartbeat
        | EventType::RunCompleted
        | EventType::RunFailed
        | EventType::RunCanceled
        | EventType::MessageUser
        | EventType::InteractionRequested
        | EventType::InteractionReplied
        | EventType::InteractionTimeout
        | EventType::AutoDecision
        | EventType::ArtifactCreated
        | EventType::ArtifactIndexed
        | EventType::ArtifactPreviewReady
        | EventType::AttemptStarted
        | EventType::AttemptEnded
        | EventType::TurnUsage
        | EventType::SubagentRequested
        | EventType::SubagentStarted
        | EventType::SubagentEnded
        | EventType::WorkflowStarted
        | EventType::StepScheduled
        | EventType::StepHeld
        | EventType::StepEnded
        | EventType::WorkflowEnded
        | EventType::SubagentObserved
        | EventType::CheckEnded => false,
    }
}

impl Fold {
    /// Adds a line, without parsing its data where that cannot change the fold. The result is that of [`Fold::add`] for
    /// every line that this program has written; a line that is JSON and whose data does not match its type is found by
    /// `skillrun verify`. An event of a newer version is counted.
    pub(super) fn add_line(&mut self, line: &LogLine<'_>, fronts: &mut FrontReader) {
        if line.parsed().is_none()
            && let Some(front) = fronts.read(line.json()).filter(|front| is_passed_over(front.event_type))
            && (self.state.session_id.is_some() || has_no_session(line.json()))
        {
            self.state.last_seq = line.seq.0;
            self.created_at.get_or_insert(front.ts);
            self.updated_at = Some(front.ts);
            return;
        }
        if let Some(event) = line.known_event() {
            self.add(&event);
        } else {
            self.state.last_seq = line.seq.0;
            self.newer_events += 1;
        }
    }

    pub(super) fn add(&mut self, event: &Event) {
        self.state.evolve(event);
        self.created_at.get_or_insert(event.ts);
        self.updated_at = Some(event.ts);
        match &event.data {
            Data::Control(data) => self.control(event.ts, data),
            Data::Evidence(EvidenceData::MessageFinal(message)) => {
                self.saying.extend(LastMessage::of(message));
                if self.saying.len() > KEPT_MESSAGES {
                    self.saying.pop_front();
                }
            }
            Data::Evidence(EvidenceData::ParserWarning(warning)) => {
                if warning.code == Code::MessageVoided {
                    self.saying.retain(|said| Some(&said.message_id) != warning.message_id.as_ref());
                }
            }
            Data::Evidence(_) => {}
        }
    }

    fn control(&mut self, at: Timestamp, data: &ControlData) {
        if let ControlData::RunStarted(run) = data {
            self.started = Some(Started {
                skill: run.skill.clone(),
                title: run.title.clone(),
                engine: run.engine.clone(),
                mode: run.mode,
                parent: run.parent.as_deref().cloned(),
            });
        } else if let ControlData::AttemptEnded(ended) = data {
            let messages = std::mem::take(&mut self.saying);
            let answer = ended.verdict.answer_message_id.as_ref().filter(|_| is_answer(ended.verdict.turn));
            let answer = answer.and_then(|id| messages.into_iter().rev().find(|said| said.message_id == *id));
            self.said = answer.or(self.said.take());
        } else if let ControlData::RunCompleted(RunCompleted { reason_code, .. })
        | ControlData::RunCanceled(RunCanceled { reason_code, .. }) = data
        {
            self.ended = Some(Ended { at, reason_code: *reason_code, error: None });
        } else if let ControlData::RunFailed(end) = data {
            self.ended = Some(Ended { at, reason_code: end.reason_code, error: Some(EndError::of(&end.error)) });
        } else if let ControlData::TurnUsage(usage) = data {
            let sum = self.usage.get_or_insert_default();
            sum.add(usage.input_tokens, usage.output_tokens);
            if let Some(total) = usage.session_cost_usd() {
                self.cost.get_or_insert_default().turn(total);
            }
            sum.cost_usd = self.cost.map(RunCost::usd);
        }
    }
}

/// A fold and how far it goes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Folded {
    pub(super) fold: Fold,
    pub(super) mark: Mark,
    /// Why it does not go further.
    pub(super) damage: Option<String>,
}

impl Folded {
    /// Nothing read yet of a Log that was seen as `seen`.
    pub(super) fn nothing(seen: Mark) -> Self {
        Self { fold: Fold::default(), mark: Mark { bytes: 0, ..seen }, damage: None }
    }

    /// Resumes a fold in a Log that was seen as `seen`: nothing that was read can have changed.
    pub(super) fn resumes_in(&self, seen: Mark) -> bool {
        self.mark.bytes <= seen.bytes && (self.mark.inode, self.mark.epoch) == (seen.inode, seen.epoch)
    }
}

/// From now on the writers in this process fold new Logs, so that they need not be read.
pub(super) fn fold_new(log: &FileLog) {
    log.fold_new_logs(|| Box::<Fold>::default());
}

/// The Log is gone.
#[derive(Debug)]
pub(super) struct Gone;

/// Reads new events. `seen` was taken before; later events are read now or next time.
pub(super) fn read_on(log: &FileLog, run: RunId, folded: Folded, seen: Mark) -> Result<Folded, Gone> {
    let mut folded = if folded.resumes_in(seen) { folded } else { Folded::nothing(seen) };
    folded.damage = None;
    // The writer in this process has it already. A row of another process may be ahead of what is published here.
    if let Some((fold, epoch, bytes)) = log.fold(run)
        && let Ok(fold) = fold.downcast::<Fold>()
        && epoch == seen.epoch
        && bytes >= folded.mark.bytes
    {
        return Ok(Folded { fold: *fold, mark: Mark { epoch, bytes, ..seen }, damage: None });
    }
    let (mut resets, mut fronts) = (0, FrontReader::default());
    // Events appended after `seen` was taken are left for the next refresh: a writer that never pauses must not hold up
    // this one.
    while folded.mark.bytes < seen.bytes {
        let after = Seq(folded.fold.state.last_seq);
        // A reader without events accepts any epoch, and gets the current one.
        match log.read(run, Cursor::new(folded.mark.epoch, after), LIMITS) {
            Ok(LogRead::Page(page)) if page.is_empty() => break,
            Ok(LogRead::Page(page)) => {
                folded.mark.epoch = page.epoch();
                for line in page.lines() {
                    folded.fold.add_line(&line, &mut fronts);
                    folded.mark.bytes = line.end();
                }
            }
            // Other processes read lines that the writer of this process has written and not yet published: their row
            // is ahead of what may be read here, and must not go back.
            Ok(LogRead::Reset(head)) if head.epoch == folded.mark.epoch && log.has_writer(run) => break,
            Ok(LogRead::Reset(_)) if resets < RESETS => {
                resets += 1;
                folded = Folded::nothing(seen);
            }
            Ok(LogRead::Reset(_)) => {
                folded.damage = Some("was truncated while it was being read; try again".to_owned());
                break;
            }
            Err(error) if matches!(error.kind, LogErrorKind::NotFound | LogErrorKind::Gone) => return Err(Gone),
            Err(error) => {
                folded.damage = Some(error.kind.to_string());
                break;
            }
        }
    }
    if folded.damage.is_none() {
        log.continue_fold(run, Box::new(folded.fold.clone()), folded.mark.epoch, folded.mark.bytes);
    }
    Ok(folded)
}
