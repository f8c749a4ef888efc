//! What the engine of a run is doing, folded from the events of the run. It decides nothing: it is for the line that a
//! user sees who waits for the run.

use skillrun_model::rasp::data::Diagnostic;
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData};
use skillrun_model::{Code, Timestamp};
use skillrun_parse::classify;

/// Characters that are kept of a text.
const TEXT_CHARS: usize = 200;

/// What is known about the open attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    pub engine: String,
    /// When the attempt began.
    pub began: Option<Timestamp>,
    /// When the engine last wrote something.
    pub output_at: Option<Timestamp>,
    pub activity: Option<Activity>,
}

/// The last thing that the engine reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// A piece of a message or a whole one: its first line.
    Message(String),
    Reasoning,
    /// A tool that was called.
    Tool(String),
    /// A call that is over.
    ToolEnded,
    Retry(EngineRetry),
    /// Another error or warning of the engine.
    Problem(String),
}

/// A request to the model failed, and the engine repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineRetry {
    /// The HTTP status, if the engine named it since it last made progress: qwen names it on stderr alone.
    pub status: Option<u64>,
    pub message: String,
}

impl Progress {
    /// Applies one more event.
    pub fn evolve(&mut self, event: &Event) {
        match &event.data {
            Data::Control(data) => self.control(event, data),
            Data::Evidence(data) => {
                self.wrote_at(event.ts);
                self.evidence(data);
            }
        }
    }

    /// The engine wrote something at this moment, whether or not there is an event for it.
    pub fn wrote_at(&mut self, at: Timestamp) {
        if self.began.is_none_or(|began| at >= began) {
            self.output_at = self.output_at.max(Some(at));
        }
    }

    fn control(&mut self, event: &Event, data: &ControlData) {
        match data {
            ControlData::AttemptStarted(started) => {
                let engine = event.source.engine.as_str().to_owned();
                *self = Self { engine, began: Some(started.started_at), output_at: None, activity: None };
            }
            ControlData::RunStarted(started) => self.engine.clone_from(&started.engine),
            ControlData::RunStatus(_)
            | ControlData::RunHeartbeat(_)
            | ControlData::RunCompleted(_)
            | ControlData::RunFailed(_)
            | ControlData::RunCanceled(_)
            | ControlData::InteractionRequested(_)
            | ControlData::InteractionReplied(_)
            | ControlData::InteractionTimeout(_)
            | ControlData::AutoDecision(_)
            | ControlData::ArtifactCreated(_)
            | ControlData::ArtifactIndexed(_)
            | ControlData::ArtifactPreviewReady(_)
            | ControlData::ParserWarning(_)
            | ControlData::AttemptEnded(_)
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

    fn evidence(&mut self, data: &EvidenceData) {
        self.activity = Some(match data {
            EvidenceData::MessageDelta(delta) => Activity::Message(beginning(&delta.text)),
            EvidenceData::MessageFinal(message) => Activity::Message(beginning(&message.text)),
            EvidenceData::ReasoningSummary(_) => Activity::Reasoning,
            EvidenceData::ToolCallStarted(call) => Activity::Tool(beginning(&call.name)),
            EvidenceData::ToolCallCompleted(_) | EvidenceData::ToolCallFailed(_) => Activity::ToolEnded,
            EvidenceData::EngineError(diagnostic) => self.problem(diagnostic),
            // Lines without a known meaning do not show that a retry succeeded.
            EvidenceData::RunStatus(_)
            | EvidenceData::SubagentObserved(_)
            | EvidenceData::ParserWarning(_)
            | EvidenceData::ParserError(_)
            | EvidenceData::RawStdout(_)
            | EvidenceData::RawStderr(_) => return,
        });
    }

    fn problem(&self, diagnostic: &Diagnostic) -> Activity {
        let message = beginning(&diagnostic.message);
        if diagnostic.code != Code::EngineRetry {
            return Activity::Problem(message);
        }
        let before = if let Some(Activity::Retry(retry)) = &self.activity { retry.status } else { None };
        let status = classify::status_in(&diagnostic.message).or(before);
        Activity::Retry(EngineRetry { status, message })
    }
}

/// The first line of a text that is not blank.
fn beginning(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(TEXT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use skillrun_model::rasp::data::{AttemptStarted, MessageDelta, RawText};
    use skillrun_model::rasp::{Correlation, Level};
    use skillrun_model::{EngineName, ProfileId, RunId, Stream};
    use skillrun_parse::record::Span;

    use super::*;
    use crate::EventBuilder;
    use crate::builder::EventOrigin;

    fn second(seconds: u64) -> Timestamp {
        Timestamp::EPOCH.plus_nanos(seconds * 1_000_000_000)
    }

    /// A run on `gemini` whose attempt began after ten seconds, with one piece of evidence per second after it.
    fn told(evidence: Vec<EvidenceData>) -> Progress {
        let mut builder = EventBuilder::new(RunId::from_evidence_hash(&[7; 32]), EngineName::new("gemini"));
        let started = AttemptStarted {
            confinement: None,
            profile: ProfileId::GeminiStreamJson,
            profile_version: 1,
            engine_version: None,
            host_pid: None,
            started_at: second(10),
        };
        let data = ControlData::AttemptStarted(started);
        let mut progress = Progress::default();
        progress.evolve(&builder.control(second(10), Level::Info, data, Correlation::default()));
        for (data, at) in evidence.into_iter().zip(11..) {
            let origin = EventOrigin {
                ts: second(at),
                span: Span { stream: Stream::Stdout, from: 0, to: 1 },
                profile: ProfileId::GeminiStreamJson,
                confidence: 1.0,
            };
            progress.evolve(&builder.evidence(origin, Level::Info, data, Correlation::default()));
        }
        progress
    }

    fn retry(message: &str) -> EvidenceData {
        EvidenceData::EngineError(Diagnostic::new(Code::EngineRetry, message))
    }

    fn delta(text: &str) -> EvidenceData {
        EvidenceData::MessageDelta(MessageDelta { message_id: "m".to_owned(), text: text.to_owned(), sanitized: false })
    }

    #[test]
    fn a_retry_is_the_activity_until_the_engine_makes_progress() {
        let failed = "Attempt 1 failed with status 503. Retrying with backoff...";
        let noise = || EvidenceData::RawStderr(RawText::new("noise"));
        let progress = told(vec![delta("hello"), retry(failed), noise(), retry("again")]);
        let expected = EngineRetry { status: Some(503), message: "again".to_owned() };
        assert_eq!(progress.activity, Some(Activity::Retry(expected)));
        assert_eq!((progress.engine.as_str(), progress.began), ("gemini", Some(second(10))));
        assert_eq!(progress.output_at, Some(second(14)));
        let progress = told(vec![retry(failed), delta("\n  hello\nyou")]);
        assert_eq!(progress.activity, Some(Activity::Message("hello".to_owned())));
        let progress = told(vec![retry(failed), delta("hello"), retry("again")]);
        let expected = EngineRetry { status: None, message: "again".to_owned() };
        assert_eq!(progress.activity, Some(Activity::Retry(expected)));
    }

    #[test]
    fn output_without_an_event_counts_and_earlier_output_does_not() {
        let mut progress = told(vec![delta("hello")]);
        for (at, last) in [(30, 30), (20, 30), (9, 30)] {
            progress.wrote_at(second(at));
            assert_eq!(progress.output_at, Some(second(last)), "{at}");
        }
        let mut silent = told(Vec::new());
        silent.wrote_at(second(9));
        assert_eq!(silent.output_at, None, "the file of an earlier attempt");
    }
}
