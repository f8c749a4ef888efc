//! What happened to a run, as far as a diagnosis needs it: a fold over its Log.

use std::collections::BTreeMap;

use skillrun_lifecycle::run::State;
use skillrun_model::interaction::{Pending, Scope};
use skillrun_model::rasp::data::{AttemptEnded, Diagnostic, RunFailed};
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData, Level, SourceStream};
use skillrun_model::status::Phase;
use skillrun_model::{AttemptNumber, Code, RunStatus, Timestamp};
use skillrun_runs::events::is_evidence;

use super::check::AttemptContent;
use super::finding::CONFIDENT;
use super::{DiagnosisQuestion, MomentKind, OutputBytes, Resolution, passage};

#[derive(Debug)]
pub(super) struct Story {
    pub(super) state: State,
    /// The time of the first event; that of the record while there is none.
    pub(super) created_at: Timestamp,
    /// When it got its current status.
    pub(super) since: Timestamp,
    pub(super) attempts: Vec<Attempt>,
    pub(super) questions: Vec<DiagnosisQuestion>,
    pub(super) moments: Vec<(MomentKind, Option<AttemptNumber>, Timestamp)>,
    pub(super) noticed: BTreeMap<Code, Noticed>,
    pub(super) failed: Option<RunFailed>,
    pub(super) ended_with: Option<Code>,
    /// Turn records that belong to no attempt that began.
    pub(super) stray_records: u64,
}

#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) number: AttemptNumber,
    pub(super) started_at: Timestamp,
    pub(super) first_output: Option<Timestamp>,
    pub(super) last_output: Option<Timestamp>,
    pub(super) bytes: OutputBytes,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) ended: Option<AttemptEnded>,
    pub(super) content: AttemptContent,
}

/// The diagnostics with one code.
#[derive(Debug)]
pub(super) struct Noticed {
    pub(super) count: u64,
    pub(super) level: Level,
    /// The first message.
    pub(super) message: String,
}

impl Story {
    pub(super) fn new(created_at: Timestamp) -> Self {
        Self {
            state: State::default(),
            created_at,
            since: created_at,
            attempts: Vec::new(),
            questions: Vec::new(),
            moments: Vec::new(),
            noticed: BTreeMap::new(),
            failed: None,
            ended_with: None,
            stray_records: 0,
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        let before = self.state.status;
        self.state.evolve(event);
        if self.state.status != before {
            self.since = event.ts;
        }
        if is_evidence(event) {
            self.output(event);
        }
        if let Some(noticed) = event.data.diagnostic() {
            self.notice(event.level, noticed);
        }
        if let Some(attempt) = self.attempts.last_mut().filter(|attempt| attempt.number == event.attempt_number) {
            attempt.content.event(event);
        } else if matches!(event.data, Data::Control(ControlData::AttemptEnded(_))) {
            self.stray_records += 1;
        }
        let at = event.ts;
        let Data::Control(data) = &event.data else { return };
        match data {
            ControlData::RunStarted(_) => {
                self.created_at = at;
                self.moments.push((MomentKind::Created, None, at));
            }
            ControlData::RunStatus(change) => {
                let asked = if change.phase == Some(Phase::Canceling) {
                    Some(MomentKind::CancelAsked)
                } else if change.phase == Some(Phase::Interrupting) {
                    Some(MomentKind::InterruptAsked)
                } else if change.phase == Some(Phase::Closing) {
                    Some(MomentKind::CloseAsked)
                } else {
                    None
                };
                self.moments.extend(asked.map(|what| (what, None, at)));
            }
            ControlData::AttemptStarted(_) => self.begin(event),
            ControlData::AttemptEnded(ended) => self.settle(event, ended),
            ControlData::InteractionRequested(question) => self.ask(at, question),
            ControlData::InteractionReplied(reply) => {
                let what = match self.scope_of(reply.interaction_id.0) {
                    Scope::Prompt => MomentKind::Prompted,
                    Scope::Turn | Scope::Call | Scope::Step => MomentKind::Answered,
                };
                self.moments.push((what, None, at));
                self.resolve(reply.interaction_id.0, Resolution::Answered { mode: reply.resolution_mode, at });
            }
            ControlData::InteractionTimeout(timeout) => {
                self.moments.push((MomentKind::NotAnswered, None, at));
                if let Some(fails_with) = timeout.fails_with {
                    self.resolve(timeout.interaction_id.0, Resolution::TimedOut { fails_with, at });
                }
            }
            ControlData::RunCompleted(end) => self.end(at, end.reason_code),
            ControlData::RunFailed(end) => {
                self.failed = Some(end.clone());
                self.end(at, end.reason_code);
            }
            ControlData::RunCanceled(end) => self.end(at, end.reason_code),
            ControlData::RunHeartbeat(_)
            | ControlData::AutoDecision(_)
            | ControlData::ArtifactCreated(_)
            | ControlData::ArtifactIndexed(_)
            | ControlData::ArtifactPreviewReady(_)
            | ControlData::ParserWarning(_)
            | ControlData::MessageUser(_)
            | ControlData::TurnUsage(_)
            | ControlData::SubagentRequested(_)
            | ControlData::SubagentStarted(_)
            | ControlData::SubagentEnded(_)
            | ControlData::WorkflowStarted(_)
            | ControlData::StepScheduled(_)
            | ControlData::StepHeld(_)
            | ControlData::StepEnded(_)
            | ControlData::WorkflowEnded(_)
            | ControlData::CheckEnded(_) => {}
        }
    }

    fn begin(&mut self, event: &Event) {
        self.moments.push((MomentKind::AttemptStarted, Some(event.attempt_number), event.ts));
        self.attempts.push(Attempt {
            number: event.attempt_number,
            started_at: event.ts,
            first_output: None,
            last_output: None,
            bytes: OutputBytes::default(),
            ended_at: None,
            ended: None,
            content: AttemptContent::default(),
        });
    }

    fn output(&mut self, event: &Event) {
        let Some(attempt) = self.attempts.last_mut() else { return };
        let raw = event.raw_ref;
        // The end of a stream that brought nothing is not output.
        if (raw.stdout_to, raw.stderr_to) != (0, 0) {
            attempt.first_output = attempt.first_output.into_iter().chain([event.ts]).min();
            attempt.last_output = attempt.last_output.into_iter().chain([event.ts]).max();
        }
        attempt.bytes.stdout = attempt.bytes.stdout.max(raw.stdout_to);
        attempt.bytes.stderr = attempt.bytes.stderr.max(raw.stderr_to);
        // Lines that every healthy run has are raw, and known. On stderr most engines write only lines for people.
        let is_for_people = event.source.stream == SourceStream::Stderr
            && event.source.parser.is_some_and(|profile| !profile.reads_stderr());
        let is_known = event.source.confidence >= CONFIDENT || is_for_people;
        if matches!(event.data, Data::Evidence(EvidenceData::RawStdout(_) | EvidenceData::RawStderr(_))) && !is_known {
            attempt.bytes.raw += raw.stdout_to.saturating_sub(raw.stdout_from);
            attempt.bytes.raw += raw.stderr_to.saturating_sub(raw.stderr_from);
        }
    }

    fn settle(&mut self, event: &Event, ended: &AttemptEnded) {
        let Some(attempt) = self.attempts.last_mut() else { return };
        let number = Some(attempt.number);
        let outputs = [(MomentKind::FirstOutput, attempt.first_output), (MomentKind::LastOutput, attempt.last_output)];
        self.moments.extend(outputs.into_iter().filter_map(|(what, at)| Some((what, number, at?))));
        self.moments.push((MomentKind::AttemptSettled, number, event.ts));
        attempt.ended_at = Some(event.ts);
        attempt.ended = Some(ended.clone());
        ended.verdict.warnings.iter().for_each(|code| self.count(*code, Level::Warning, code.summary(), 1));
        self.close_questions();
    }

    fn ask(&mut self, at: Timestamp, question: &Pending) {
        let what = match question.scope {
            Scope::Prompt => MomentKind::Rested,
            Scope::Turn | Scope::Call | Scope::Step => MomentKind::Asked,
        };
        self.moments.push((what, Some(question.source_attempt), at));
        self.questions.push(DiagnosisQuestion {
            interaction_id: question.interaction_id,
            kind: question.kind,
            scope: question.scope,
            prompt: passage::shown(&question.prompt),
            asked_at: at,
            deadline: question.deadline,
            on_deadline: question.on_deadline,
            resolution: Resolution::Open,
        });
    }

    fn scope_of(&self, interaction: u32) -> Scope {
        let asked = self.questions.iter().find(|question| question.interaction_id.0 == interaction);
        asked.map_or(Scope::Turn, |question| question.scope)
    }

    fn resolve(&mut self, interaction: u32, resolution: Resolution) {
        let asked = self.questions.iter_mut().find(|question| question.interaction_id.0 == interaction);
        if let Some(question) = asked.filter(|question| question.resolution == Resolution::Open) {
            question.resolution = resolution;
        }
    }

    /// Unanswered questions end with the turn or the run.
    fn close_questions(&mut self) {
        for question in self.questions.iter_mut().filter(|question| question.resolution == Resolution::Open) {
            question.resolution = Resolution::Closed;
        }
    }

    fn notice(&mut self, level: Level, noticed: &Diagnostic) {
        self.count(noticed.code, level, &noticed.message, noticed.count.unwrap_or(1));
    }

    fn count(&mut self, code: Code, level: Level, message: &str, count: u64) {
        let first = || Noticed { count: 0, level, message: passage::shown(message) };
        let noticed = self.noticed.entry(code).or_insert_with(first);
        noticed.count = noticed.count.saturating_add(count);
        noticed.level = noticed.level.max(level);
    }

    fn end(&mut self, at: Timestamp, reason_code: Code) {
        self.ended_with = Some(reason_code);
        self.moments.push((MomentKind::Ended, None, at));
        self.close_questions();
    }

    pub(super) fn status(&self) -> RunStatus {
        self.state.status.unwrap_or(RunStatus::Queued)
    }
}
