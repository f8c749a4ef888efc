//! The delivery record of one run: its addresses, its messages, and the state of each. Pure.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_log::{Cursor, Epoch, Seq};
use skillrun_model::{RunId, Timestamp};

use super::address::{MAX_ADDRESSES, Url};
use super::message::{Draft, Facts, MessageType, message_id};
use super::send::Tried;

/// Version of the file. A file of a later version is refused.
pub(super) const FORMAT: u32 = 1;

/// Maximum number of messages of one run; after that only its end is sent.
const MAX_MESSAGES: usize = 1_000;

const GONE: u16 = 410;

/// The state of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    Pending,
    Delivered,
    GivenUp,
}

/// One message to one address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// The same in every try, so that the receiver can recognize duplicates.
    pub id: String,
    #[serde(rename = "type")]
    pub message_type: MessageType,
    /// The seq of the event in the Log.
    pub seq: u64,
    pub url: String,
    pub state: DeliveryState,
    pub tries: u32,
    pub next_try_at: Option<Timestamp>,
    /// The outcome of the last try.
    pub last: Option<LastTry>,
}

/// The outcome of a try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastTry {
    pub at: Timestamp,
    /// The status the receiver responded with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why there is no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How far the Log was read, and the state at that point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Position {
    epoch: Option<Epoch>,
    seq: u64,
    pub(super) facts: Facts,
}

impl Position {
    pub(super) fn cursor(&self) -> Cursor {
        Cursor { epoch: self.epoch, after: Seq(self.seq) }
    }

    pub(super) fn moved_to(&mut self, cursor: Cursor) {
        self.epoch = cursor.epoch;
        self.seq = cursor.after.0;
    }
}

/// A body is kept while it is still to be sent to an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeptBody {
    seq: u64,
    #[serde(rename = "type")]
    message_type: MessageType,
    text: String,
}

impl KeptBody {
    fn is_of(&self, seq: u64, message_type: MessageType) -> bool {
        (self.seq, self.message_type) == (seq, message_type)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) format: u32,
    pub(super) run_id: RunId,
    urls: Vec<String>,
    pub(super) position: Position,
    pub(super) messages: Vec<Delivery>,
    bodies: Vec<KeptBody>,
    /// Number of messages that were not made because of the limit.
    left_out: u64,
}

/// What a try means for its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Delivered,
    Again {
        at: Timestamp,
    },
    GivenUp,
    /// The message was settled meanwhile.
    Nothing,
}

impl Record {
    pub(super) fn new(run_id: RunId) -> Self {
        Self {
            format: FORMAT,
            run_id,
            urls: Vec::new(),
            position: Position::default(),
            messages: Vec::new(),
            bodies: Vec::new(),
            left_out: 0,
        }
    }

    pub(super) fn has_addresses(&self) -> bool {
        !self.urls.is_empty()
    }

    /// Adds addresses up to the limit; returns whether any is new. A new address gets all messages, so the Log is read
    /// again; existing messages are unchanged.
    pub(super) fn add_addresses(&mut self, urls: &[Url]) -> bool {
        let before = self.urls.len();
        for url in urls {
            if self.urls.len() < MAX_ADDRESSES && !self.urls.iter().any(|known| known == url.as_str()) {
                self.urls.push(url.as_str().to_owned());
            }
        }
        let is_changed = self.urls.len() > before;
        if is_changed {
            self.position = Position::default();
        }
        is_changed
    }

    /// Makes the messages of a draft, one for each address that does not have it.
    pub(super) fn add(&mut self, draft: &Draft, now: Timestamp) {
        let message_type = draft.body.message_type;
        for url in self.urls.clone() {
            let id = message_id(self.run_id, draft.seq, message_type, &url);
            if self.messages.iter().any(|known| known.id == id) {
                continue;
            }
            if self.messages.len() >= MAX_MESSAGES && !message_type.is_terminal() {
                self.left_out += 1;
                continue;
            }
            let (state, next_try_at, last) = if self.is_gone(&url) {
                let error = Some("not tried: the address responded earlier that it is gone".to_owned());
                (DeliveryState::GivenUp, None, Some(LastTry { at: now, status: None, error }))
            } else {
                (DeliveryState::Pending, Some(now), None)
            };
            self.messages.push(Delivery { id, message_type, seq: draft.seq, url, state, tries: 0, next_try_at, last });
        }
        let is_kept = self.bodies.iter().any(|body| body.is_of(draft.seq, message_type));
        if !is_kept && let Ok(text) = serde_json::to_string(&draft.body) {
            self.bodies.push(KeptBody { seq: draft.seq, message_type, text });
        }
        self.drop_body(draft.seq, message_type);
    }

    fn is_gone(&self, url: &str) -> bool {
        let said = |message: &Delivery| message.last.as_ref().is_some_and(|last| last.status == Some(GONE));
        self.messages.iter().any(|message| message.url == url && said(message))
    }

    pub(super) fn body(&self, message: &Delivery) -> Option<&str> {
        let body = self.bodies.iter().find(|body| body.is_of(message.seq, message.message_type));
        body.map(|body| body.text.as_str())
    }

    /// Drops a body that no address needs any more.
    fn drop_body(&mut self, seq: u64, message_type: MessageType) {
        let needs_it = |one: &Delivery| (one.seq, one.message_type) == (seq, message_type);
        if !self.pending().any(|(_, message)| needs_it(message)) {
            self.bodies.retain(|body| !body.is_of(seq, message_type));
        }
    }

    /// Whether this message may be sent: an earlier one to the same address goes first, until it has failed once.
    pub(super) fn may_go(&self, index: usize) -> bool {
        let Some(message) = self.messages.get(index) else { return false };
        let holds_up = |earlier: &Delivery| {
            earlier.url == message.url && earlier.state == DeliveryState::Pending && earlier.tries == 0
        };
        message.state == DeliveryState::Pending && !self.messages[..index].iter().any(holds_up)
    }

    /// The next message that waited for this one.
    pub(super) fn next_after(&self, index: usize) -> Option<usize> {
        let message = self.messages.get(index)?;
        let is_next =
            |later: &Delivery| later.url == message.url && later.state == DeliveryState::Pending && later.tries == 0;
        (index + 1..self.messages.len()).find(|later| is_next(&self.messages[*later]))
    }

    /// Records the outcome of a try. `wait` returns how long to wait after the given number of tries.
    pub(super) fn tried(
        &mut self,
        index: usize,
        now: Timestamp,
        tried: &Tried,
        wait: impl FnOnce(u32, Option<Duration>) -> Option<Duration>,
    ) -> Meaning {
        let Some(message) = self.messages.get_mut(index) else { return Meaning::Nothing };
        let (status, error, asked) = match tried {
            Tried::Answered { status, retry_after } => (Some(*status), None, *retry_after),
            Tried::Failed { error } => (None, Some(error.clone()), None),
        };
        let is_taken = status.is_some_and(|status| (200..300).contains(&status));
        let is_open = match message.state {
            DeliveryState::Pending => true,
            // Given up while it was under way; it did arrive.
            DeliveryState::GivenUp => is_taken,
            DeliveryState::Delivered => false,
        };
        if !is_open {
            return Meaning::Nothing;
        }
        let (seq, message_type) = (message.seq, message.message_type);
        message.tries = message.tries.saturating_add(1);
        message.last = Some(LastTry { at: now, status, error });
        message.next_try_at = None;
        let meaning = if is_taken {
            message.state = DeliveryState::Delivered;
            Meaning::Delivered
        } else if status == Some(GONE) {
            let url = message.url.clone();
            self.give_up(&url);
            Meaning::GivenUp
        } else if let Some(wait) = wait(message.tries, asked) {
            let at = now.plus_nanos(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX));
            message.next_try_at = Some(at);
            Meaning::Again { at }
        } else {
            message.state = DeliveryState::GivenUp;
            Meaning::GivenUp
        };
        self.drop_body(seq, message_type);
        meaning
    }

    fn give_up(&mut self, url: &str) {
        let mut given_up = Vec::new();
        for message in self.messages.iter_mut().filter(|message| message.url == url) {
            if message.state == DeliveryState::Pending {
                message.state = DeliveryState::GivenUp;
                message.next_try_at = None;
                given_up.push((message.seq, message.message_type));
            }
        }
        given_up.into_iter().for_each(|(seq, message_type)| self.drop_body(seq, message_type));
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = (usize, &Delivery)> {
        self.messages.iter().enumerate().filter(|(_, message)| message.state == DeliveryState::Pending)
    }

    /// The run is over and no message is pending.
    pub(super) fn is_done(&self) -> bool {
        self.position.facts.is_over && self.pending().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::address::PrivateAddresses;
    use super::super::tests::events::{Story, question};
    use super::*;

    const NOW: Timestamp = Timestamp::EPOCH;

    fn record(urls: &[&str], story: &Story) -> Record {
        let mut record = Record::new(story.events_run());
        let urls: Vec<Url> = urls.iter().map(|url| Url::parse(url, PrivateAddresses::Refused).unwrap()).collect();
        assert!(record.add_addresses(&urls));
        take(&mut record, story);
        record
    }

    fn take(record: &mut Record, story: &Story) {
        for event in &story.events {
            if let Some(draft) = record.position.facts.add(event) {
                record.add(&draft, NOW);
            }
        }
    }

    fn asks(times: u32) -> Story {
        (1..=times).fold(Story::new(1).started(), |story, id| story.asked(question(id, "Which?")).waits().replied(id))
    }

    fn answered(status: u16) -> Tried {
        Tried::Answered { status, retry_after: None }
    }

    fn a_second(_: u32, _: Option<Duration>) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }

    #[test]
    fn a_message_waits_until_the_earlier_one_failed_once() {
        let mut record = record(&["https://a.example", "https://b.example"], &asks(2));
        let may_go = |record: &Record| (0..4).map(|index| record.may_go(index)).collect::<Vec<_>>();
        assert_eq!(may_go(&record), [true, true, false, false]);
        assert_eq!(record.next_after(0), Some(2));
        assert_eq!(
            record.tried(0, NOW, &answered(500), a_second),
            Meaning::Again { at: NOW.plus_nanos(1_000_000_000) }
        );
        assert_eq!(may_go(&record), [true, true, true, false]);
        assert_eq!(record.tried(1, NOW, &answered(204), a_second), Meaning::Delivered);
        assert_eq!(may_go(&record), [true, false, true, true]);
    }

    #[test]
    fn every_answer_has_its_meaning() {
        for status in [199, 200, 204, 299, 301, 307, 400, 404, 429, 500, 503] {
            let mut record = record(&["https://a.example"], &asks(1));
            let meaning = record.tried(0, NOW, &answered(status), a_second);
            let is_delivered = (200..300).contains(&status);
            assert_eq!(meaning == Meaning::Delivered, is_delivered, "{status}");
            assert_eq!(matches!(meaning, Meaning::Again { .. }), !is_delivered, "{status}");
            assert_eq!(record.messages[0].last.as_ref().unwrap().status, Some(status));
            assert_eq!(record.body(&record.messages[0]).is_none(), is_delivered, "a body is kept while it is needed");
        }
        let mut record = record(&["https://a.example"], &asks(1));
        let failed = Tried::Failed { error: "no response in time".to_owned() };
        assert_eq!(record.tried(0, NOW, &failed, |_, _| None), Meaning::GivenUp);
        assert_eq!(record.messages[0].last.as_ref().unwrap().error.as_deref(), Some("no response in time"));
    }

    #[test]
    fn an_address_that_is_gone_gets_no_more_messages() {
        let story = asks(2);
        let mut record = record(&["https://a.example", "https://b.example"], &story);
        assert_eq!(record.tried(0, NOW, &answered(410), a_second), Meaning::GivenUp);
        let states = |record: &Record, url: &str| {
            record.messages.iter().filter(|message| message.url == url).map(|message| message.state).collect::<Vec<_>>()
        };
        assert_eq!(states(&record, "https://a.example"), [DeliveryState::GivenUp; 2]);
        assert_eq!(states(&record, "https://b.example"), [DeliveryState::Pending; 2]);
        assert_eq!(record.tried(2, NOW, &answered(500), a_second), Meaning::Nothing, "it was on its way");
        assert_eq!(record.tried(2, NOW, &answered(200), a_second), Meaning::Delivered, "it arrived all the same");
        take(&mut record, &story.completed());
        assert_eq!(*states(&record, "https://a.example").last().unwrap(), DeliveryState::GivenUp);
        assert_eq!(*states(&record, "https://b.example").last().unwrap(), DeliveryState::Pending);
    }

    #[test]
    fn only_a_new_address_gets_messages_for_old_events() {
        let story = asks(2).completed();
        let mut record = record(&["https://a.example"], &story);
        assert_eq!(record.messages.len(), 3);
        let again = Url::parse("https://a.example", PrivateAddresses::Refused).unwrap();
        assert!(!record.add_addresses(std::slice::from_ref(&again)));
        let other = Url::parse("https://b.example", PrivateAddresses::Refused).unwrap();
        assert!(record.add_addresses(&[again, other]));
        assert_eq!(record.position, Position::default());
        take(&mut record, &story);
        assert_eq!(record.messages.len(), 6);
    }

    #[test]
    fn too_many_messages_leave_room_for_the_end() {
        let mut record = record(&["https://a.example"], &asks(1_005).completed());
        assert_eq!(record.messages.len(), 1_001);
        assert_eq!(record.messages[1_000].message_type, MessageType::RunCompleted);
        assert_eq!(record.left_out, 5);
        assert!(!record.is_done());
        for index in 0..1_001 {
            record.tried(index, NOW, &answered(200), a_second);
        }
        assert!(record.is_done() && record.bodies.is_empty());
    }
}
