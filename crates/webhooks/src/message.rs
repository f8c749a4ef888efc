//! Turns an event of the Log into a message, or into nothing. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_model::codes::Code;
use skillrun_model::interaction::Pending;
use skillrun_model::rasp::{ControlData, Data, Event, EventType};
use skillrun_model::{AttemptNumber, InteractionId, RunId, RunStatus, Timestamp};

/// Maximum size of a question in a message; a longer one is truncated, and the message says so.
const QUESTION: usize = 8 * 1024;

/// Length to which the prompt of a question that is too long is truncated.
const PROMPT_CHARS: usize = 1_000;

/// Maximum length of the name of a skill or an engine in a message.
const NAME_CHARS: usize = 200;

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MessageType {
    #[serde(rename = "run.completed")]
    RunCompleted,
    #[serde(rename = "run.failed")]
    RunFailed,
    #[serde(rename = "run.canceled")]
    RunCanceled,
    #[serde(rename = "run.waiting_user")]
    RunWaitingUser,
}

impl MessageType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RunCompleted => "run.completed",
            Self::RunFailed => "run.failed",
            Self::RunCanceled => "run.canceled",
            Self::RunWaitingUser => "run.waiting_user",
        }
    }

    pub(super) fn is_end(self) -> bool {
        self.status(None).is_terminal()
    }

    fn status(self, reason_code: Option<Code>) -> RunStatus {
        match self {
            Self::RunCompleted if reason_code == Some(Code::Closed) => RunStatus::Closed,
            Self::RunCompleted => RunStatus::Succeeded,
            Self::RunFailed => RunStatus::Failed,
            Self::RunCanceled => RunStatus::Canceled,
            Self::RunWaitingUser => RunStatus::WaitingUser,
        }
    }
}

/// The body of a message. The same for all addresses and all tries.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Body {
    #[serde(rename = "type")]
    pub message_type: MessageType,
    /// When the event happened, not when the message is sent.
    pub timestamp: Timestamp,
    pub data: BodyData,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BodyData {
    pub run_id: RunId,
    pub status: RunStatus,
    pub skill: Option<String>,
    /// The beginning of the prompt of a run without a skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub engine: Option<String>,
    pub attempt: AttemptNumber,
    pub reason_code: Option<Code>,
    pub error_code: Option<Code>,
    /// The question, for `run.waiting_user`.
    pub interaction: Option<WebhookQuestion>,
}

/// A question, truncated to fit into a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookQuestion {
    #[serde(flatten)]
    pub pending: Pending,
    /// Whether the question was truncated; the run has all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl WebhookQuestion {
    fn of(pending: &Pending) -> Self {
        let fits = |pending: &Pending| serde_json::to_vec(pending).is_ok_and(|json| json.len() <= QUESTION);
        if fits(pending) {
            return Self { pending: pending.clone(), truncated: false };
        }
        let mut cut = pending.clone();
        cut.ui_hints = None;
        cut.context = None;
        cut.prompt = shortened(&cut.prompt, PROMPT_CHARS);
        if !fits(&cut) {
            cut.options.clear();
        }
        Self { pending: cut, truncated: true }
    }
}

fn shortened(text: &str, chars: usize) -> String {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end]).to_owned()
}

/// The state kept between two events of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Facts {
    skill: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    engine: Option<String>,
    /// The pending question.
    question: Option<WebhookQuestion>,
    /// The last question that was sent. Recovery may write the status twice.
    told: Option<InteractionId>,
    pub(super) is_over: bool,
}

/// A message before it has addresses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    pub(super) seq: u64,
    pub(super) body: Body,
}

impl Facts {
    /// Events of other types need not be parsed.
    pub(super) fn wants(event_type: EventType) -> bool {
        use EventType as Is;
        let is_end = matches!(event_type, Is::RunCompleted | Is::RunFailed | Is::RunCanceled);
        let is_question =
            matches!(event_type, Is::InteractionRequested | Is::InteractionReplied | Is::InteractionTimeout);
        is_end || is_question || matches!(event_type, Is::RunStarted | Is::RunStatus)
    }

    pub(super) fn add(&mut self, event: &Event) -> Option<Draft> {
        let Data::Control(data) = &event.data else { return None };
        let (message_type, reason_code, error_code) = match data {
            ControlData::RunStarted(run) => {
                self.skill = run.skill.as_deref().map(|name| shortened(name, NAME_CHARS));
                self.title = run.title.as_deref().map(|title| shortened(title, NAME_CHARS));
                self.engine = Some(shortened(&run.engine, NAME_CHARS));
                return None;
            }
            ControlData::InteractionRequested(question) => {
                self.question = Some(WebhookQuestion::of(question));
                return None;
            }
            ControlData::InteractionReplied(_) => {
                self.question = None;
                return None;
            }
            ControlData::InteractionTimeout(timeout) => {
                self.question.take_if(|_| timeout.fails_with.is_some());
                return None;
            }
            // Not at the question itself: a question that a policy answers at once is also an event, but the run does
            // not wait for a user.
            ControlData::RunStatus(change) => {
                let id = self.question.as_ref()?.pending.interaction_id;
                if change.status != Some(RunStatus::WaitingUser) || self.told.replace(id) == Some(id) {
                    return None;
                }
                (MessageType::RunWaitingUser, None, None)
            }
            ControlData::RunCompleted(end) => (MessageType::RunCompleted, Some(end.reason_code), None),
            ControlData::RunFailed(end) => (MessageType::RunFailed, Some(end.reason_code), Some(end.error.code)),
            ControlData::RunCanceled(end) => (MessageType::RunCanceled, Some(end.reason_code), None),
            ControlData::RunHeartbeat(_)
            | ControlData::AutoDecision(_)
            | ControlData::ArtifactCreated(_)
            | ControlData::ArtifactIndexed(_)
            | ControlData::ArtifactPreviewReady(_)
            | ControlData::ParserWarning(_)
            | ControlData::WorkflowStarted(_)
            | ControlData::StepScheduled(_)
            | ControlData::StepHeld(_)
            | ControlData::StepEnded(_)
            | ControlData::WorkflowEnded(_)
            | ControlData::AttemptStarted(_)
            | ControlData::AttemptEnded(_)
            | ControlData::MessageUser(_)
            | ControlData::TurnUsage(_)
            | ControlData::SubagentRequested(_)
            | ControlData::SubagentStarted(_)
            | ControlData::SubagentEnded(_)
            | ControlData::CheckEnded(_) => return None,
        };
        let status = message_type.status(reason_code);
        if status.is_terminal() {
            (self.is_over, self.question) = (true, None);
        }
        let data = BodyData {
            run_id: event.run_id,
            status,
            skill: self.skill.clone(),
            title: self.title.clone(),
            engine: self.engine.clone(),
            attempt: event.attempt_number,
            reason_code,
            error_code,
            interaction: self.question.clone(),
        };
        Some(Draft { seq: event.seq, body: Body { message_type, timestamp: event.ts, data } })
    }
}

/// The same message to the same address always has the same id, whichever process makes it, so that receivers can
/// recognize duplicates.
pub(super) fn message_id(run: RunId, seq: u64, message_type: MessageType, url: &str) -> String {
    let hash = blake3::hash(format!("{} {url}", message_type.as_str()).as_bytes()).to_hex();
    // Without a full stop, which the signature uses as a separator.
    format!("msg_{run}_{seq}_{}", &hash[..16])
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skillrun_model::interaction::AskOption;
    use skillrun_model::rasp::SourceStream;

    use super::super::tests::events::{LogStory, question};
    use super::*;

    fn drafts(events: &[Event]) -> Vec<Draft> {
        let mut facts = Facts::default();
        events.iter().filter_map(|event| facts.add(event)).collect()
    }

    #[test]
    fn an_end_is_sent_with_its_codes() {
        let events = LogStory::new(1).started().failed().events;
        let body = serde_json::to_value(&drafts(&events)[0].body).unwrap();
        assert_eq!(
            body,
            json!({
                "type": "run.failed",
                "timestamp": "1970-01-01T00:00:02.000000Z",
                "data": {
                    "run_id": events[0].run_id.to_string(), "status": "failed", "skill": "sample", "engine": "scripted",
                    "attempt": 1, "reason_code": "ENGINE_FAILED", "error_code": "ENGINE_EXIT_NONZERO", "interaction": null,
                },
            })
        );
    }

    #[test]
    fn a_question_is_sent_once_when_the_run_waits() {
        let story = LogStory::new(1).started().asked(question(1, "Which?")).waits().waits();
        let told = drafts(&story.events);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].body.message_type, MessageType::RunWaitingUser);
        assert_eq!(told[0].seq, 3);
        let json = serde_json::to_value(&told[0].body.data.interaction).unwrap();
        assert_eq!((&json["prompt"], &json["interaction_id"]), (&json!("Which?"), &json!(1)));
        assert_eq!(json.get("truncated"), None);
    }

    #[test]
    fn policy_answers_and_engine_texts_make_no_message() {
        let story = LogStory::new(1).started().asked(question(1, "May I?")).replied(1).waits();
        assert_eq!(drafts(&story.events), []);
        let mut story = LogStory::new(1).started().asked(question(1, "Which?")).waits();
        // The same status in engine output is not a status of the run.
        story.events[2].source.stream = SourceStream::Stdout;
        story.events[2] = Event::from_json(&story.events[2].to_json()).expect("an event");
        assert_eq!(drafts(&story.events), []);
    }

    #[test]
    fn a_long_question_is_cut_and_says_so() {
        let mut long = question(1, &"\u{1}ä".repeat(500_000));
        long.context = Some(json!("x".repeat(100_000)));
        long.options = vec![AskOption { value: "y".repeat(9_000), label: "l".into(), default: false }; 20];
        let told = drafts(&LogStory::new(1).started().asked(long).waits().events);
        let interaction = told[0].body.data.interaction.as_ref().unwrap();
        assert!(interaction.truncated);
        assert!(serde_json::to_vec(&told[0].body).unwrap().len() < 12 * 1024);
    }

    #[test]
    fn what_is_wanted_is_all_that_matters() {
        let story = LogStory::new(1).started().asked(question(1, "Which?")).waits().replied(1).completed();
        assert!(story.events.iter().all(|event| Facts::wants(event.event_type())));
        assert!(!Facts::wants(EventType::RawStdout));
    }

    #[test]
    fn an_id_is_always_the_same_and_never_shared() {
        let run = LogStory::new(1).run;
        let id = |seq, kind, url| message_id(run, seq, kind, url);
        let (kind, url) = (MessageType::RunCompleted, "https://a.example");
        let first = id(7, kind, url);
        assert_eq!(first, id(7, kind, url));
        for other in [id(8, kind, url), id(7, kind, "https://b.example"), id(7, MessageType::RunFailed, url)] {
            assert_ne!(first, other);
        }
        assert!(first.starts_with(&format!("msg_{run}_7_")) && !first.contains('.'), "{first}");
    }
}
