//! The delivery record of one run: its addresses, its messages, and the state of each. Pure.

use std::collections::HashSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_log::{Cursor, Epoch, LogLine, Seq};
use skillrun_model::rasp::EventType;
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

    pub(super) fn set(&mut self, cursor: Cursor) {
        (self.epoch, self.seq) = (cursor.epoch, cursor.after.0);
    }

    /// Makes the message of an event, if there is one. Most events do not matter, and are not parsed completely.
    pub(super) fn read(&mut self, line: LogLine<'_>) -> Option<Draft> {
        #[derive(Deserialize)]
        struct Glance {
            event: Kind,
        }
        #[derive(Deserialize)]
        struct Kind {
            #[serde(rename = "type")]
            event_type: EventType,
        }
        let event_type = match line.parsed() {
            Some(event) => event.event_type(),
            // An event of a later version that this version does not know cannot be reported.
            None => serde_json::from_slice::<Glance>(line.json()).ok()?.event.event_type,
        };
        if Facts::wants(event_type) { self.facts.add(&*line.event_ref().ok()?) } else { None }
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) format: u32,
    pub(super) run_id: RunId,
    pub(super) urls: Vec<String>,
    pub(super) position: Position,
    pub(super) messages: Vec<Delivery>,
    bodies: Vec<KeptBody>,
    /// Number of messages that were not made because of the limit.
    left_out: u64,
}

impl Record {
    pub(super) fn new(run_id: RunId) -> Self {
        let position = Position::default();
        Self { format: FORMAT, run_id, urls: vec![], position, messages: vec![], bodies: vec![], left_out: 0 }
    }

    /// Adds addresses up to the limit; returns whether any is new. A new address gets all messages, so the Log is read
    /// again; existing messages are unchanged.
    pub(super) fn add_addresses(&mut self, urls: &[Url]) -> bool {
        let before = self.urls.len();
        for url in urls {
            if self.urls.len() < MAX_ADDRESSES && !self.urls.iter().any(|known| known == url.as_str()) {
                self.urls.push(url.as_str().to_owned());
                self.position = Position::default();
            }
        }
        self.urls.len() > before
    }

    /// Makes the messages of a draft, one for each address that does not have it.
    pub(super) fn add(&mut self, draft: &Draft, now: Timestamp) {
        let (seq, message_type) = (draft.seq, draft.body.message_type);
        for url in self.urls.clone() {
            let id = message_id(self.run_id, seq, message_type, &url);
            if self.messages.iter().any(|known| known.id == id) {
                continue;
            }
            if self.messages.len() >= MAX_MESSAGES && !message_type.is_end() {
                self.left_out += 1;
                continue;
            }
            let said_gone = |one: &Delivery| one.last.as_ref().is_some_and(|last| last.status == Some(GONE));
            let (state, next_try_at, last) = if self.messages.iter().any(|one| one.url == url && said_gone(one)) {
                let error = Some("not tried: the address responded earlier that it is gone".to_owned());
                (DeliveryState::GivenUp, None, Some(LastTry { at: now, status: None, error }))
            } else {
                (DeliveryState::Pending, Some(now), None)
            };
            self.messages.push(Delivery { id, message_type, seq, url, state, tries: 0, next_try_at, last });
        }
        let is_kept = self.bodies.iter().any(|body| (body.seq, body.message_type) == (seq, message_type));
        if !is_kept && let Ok(text) = serde_json::to_string(&draft.body) {
            self.bodies.push(KeptBody { seq, message_type, text });
        }
        self.drop_bodies();
    }

    pub(super) fn body(&self, message: &Delivery) -> Option<&str> {
        let key = (message.seq, message.message_type);
        self.bodies.iter().find(|body| (body.seq, body.message_type) == key).map(|body| body.text.as_str())
    }

    /// Drops the bodies that no address needs any more.
    fn drop_bodies(&mut self) {
        let needed: HashSet<_> = self.pending().map(|one| (one.seq, one.message_type)).collect();
        self.bodies.retain(|body| needed.contains(&(body.seq, body.message_type)));
    }

    /// The messages that may be sent, each with its index and the time of its next try: an earlier one to the same
    /// address goes first, until it has failed once.
    pub(super) fn sendable(&self) -> impl Iterator<Item = (usize, Timestamp, &Delivery)> {
        let mut untried = Vec::new();
        self.messages.iter().enumerate().filter_map(move |(index, message)| {
            let at = message.next_try_at.filter(|_| message.state == DeliveryState::Pending)?;
            let is_first = !untried.contains(&message.url.as_str());
            if message.tries == 0 {
                untried.push(&message.url);
            }
            is_first.then_some((index, at, message))
        })
    }

    /// Records the outcome of a try. `wait` returns how long to wait after the given number of tries.
    pub(super) fn tried(
        &mut self,
        index: usize,
        now: Timestamp,
        tried: &Tried,
        wait: impl FnOnce(u32, Option<Duration>) -> Option<Duration>,
    ) {
        let Some(message) = self.messages.get_mut(index) else { return };
        let (status, error, asked) = match tried {
            Tried::Answered { status, retry_after } => (Some(*status), None, *retry_after),
            Tried::Failed { error } => (None, Some(error.clone()), None),
        };
        let is_taken = status.is_some_and(|status| (200..300).contains(&status));
        match message.state {
            DeliveryState::Pending => {}
            // Given up while it was under way; it did arrive.
            DeliveryState::GivenUp if is_taken => {}
            DeliveryState::GivenUp | DeliveryState::Delivered => return,
        }
        message.tries = message.tries.saturating_add(1);
        message.last = Some(LastTry { at: now, status, error });
        let wait = if is_taken || status == Some(GONE) { None } else { wait(message.tries, asked) };
        message.next_try_at = wait.map(|wait| now.plus_nanos(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)));
        message.state = match wait {
            _ if is_taken => DeliveryState::Delivered,
            Some(_) => DeliveryState::Pending,
            None => DeliveryState::GivenUp,
        };
        if status == Some(GONE) {
            let url = message.url.clone();
            let others = self.messages.iter_mut().filter(|one| one.url == url && one.state == DeliveryState::Pending);
            others.for_each(|other| (other.state, other.next_try_at) = (DeliveryState::GivenUp, None));
        }
        self.drop_bodies();
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = &Delivery> {
        self.messages.iter().filter(|message| message.state == DeliveryState::Pending)
    }

    /// Number of tries, of messages that were delivered, and of those that were given up.
    pub(super) fn totals(&self) -> [u64; 3] {
        self.messages.iter().fold([0; 3], |[tries, delivered, given_up], message| {
            let is = |state| u64::from(message.state == state);
            let (delivered, given_up) =
                (delivered + is(DeliveryState::Delivered), given_up + is(DeliveryState::GivenUp));
            [tries + u64::from(message.tries), delivered, given_up]
        })
    }

    /// The run is over and no message is pending.
    pub(super) fn is_done(&self) -> bool {
        self.position.facts.is_over && self.pending().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::address::PrivateAddresses;
    use super::super::tests::events::{LogStory, question};
    use super::*;

    const NOW: Timestamp = Timestamp::EPOCH;
    const A: &str = "https://a.example";
    const B: &str = "https://b.example";
    const NO_ANSWER: &str = "no response in time";
    const GIVEN_UP: DeliveryState = DeliveryState::GivenUp;

    fn add_urls(record: &mut Record, urls: &[&str]) -> bool {
        let parsed = urls.iter().map(|url| Url::parse(url, PrivateAddresses::Refused).unwrap());
        record.add_addresses(&parsed.collect::<Vec<_>>())
    }

    fn record(urls: &[&str], story: &LogStory) -> Record {
        let mut record = Record::new(story.run);
        assert!(add_urls(&mut record, urls));
        take(&mut record, story);
        record
    }

    fn take(record: &mut Record, story: &LogStory) {
        let drafts: Vec<_> = story.events.iter().filter_map(|event| record.position.facts.add(event)).collect();
        drafts.iter().for_each(|draft| record.add(draft, NOW));
    }

    fn asks(times: u32) -> LogStory {
        (1..=times)
            .fold(LogStory::new(1).started(), |story, id| story.asked(question(id, "Which?")).waits().replied(id))
    }

    fn answer(record: &mut Record, index: usize, status: u16) {
        let tried = Tried::Answered { status, retry_after: None };
        record.tried(index, NOW, &tried, |_, _| Some(Duration::from_secs(1)));
    }

    fn states(record: &Record, url: &str) -> Vec<DeliveryState> {
        record.messages.iter().filter(|message| message.url == url).map(|message| message.state).collect()
    }

    #[test]
    fn a_message_waits_until_the_earlier_one_failed_once() {
        let mut record = record(&[A, B], &asks(2));
        let sendable = |record: &Record| record.sendable().map(|(index, ..)| index).collect::<Vec<_>>();
        assert_eq!(sendable(&record), [0, 1]);
        answer(&mut record, 0, 500);
        assert_eq!(record.messages[0].next_try_at, Some(NOW.plus_nanos(1_000_000_000)));
        assert_eq!(sendable(&record), [0, 1, 2]);
        answer(&mut record, 1, 204);
        assert_eq!(sendable(&record), [0, 2, 3]);
        assert_eq!(record.totals(), [2, 1, 0]);
    }

    #[test]
    fn every_answer_has_its_meaning() {
        for status in [199, 200, 204, 299, 301, 307, 400, 404, 429, 500, 503] {
            let mut record = record(&[A], &asks(1));
            answer(&mut record, 0, status);
            let is_delivered = (200..300).contains(&status);
            let state = if is_delivered { DeliveryState::Delivered } else { DeliveryState::Pending };
            let message = &record.messages[0];
            assert_eq!((message.state, message.next_try_at.is_none()), (state, is_delivered), "{status}");
            assert_eq!(message.last.as_ref().unwrap().status, Some(status));
            assert_eq!(record.body(message).is_none(), is_delivered, "a body is kept while it is needed");
        }
        let mut record = record(&[A], &asks(1));
        record.tried(0, NOW, &Tried::Failed { error: NO_ANSWER.to_owned() }, |_, _| None);
        assert_eq!((record.messages[0].state, record.totals()), (DeliveryState::GivenUp, [1, 0, 1]));
        assert_eq!(record.messages[0].last.as_ref().unwrap().error.as_deref(), Some(NO_ANSWER));
    }

    #[test]
    fn an_address_that_is_gone_gets_no_more_messages() {
        let story = asks(2);
        let mut record = record(&[A, B], &story);
        answer(&mut record, 0, 410);
        assert_eq!((states(&record, A), states(&record, B)), (vec![GIVEN_UP; 2], vec![DeliveryState::Pending; 2]));
        answer(&mut record, 2, 500);
        assert_eq!(record.totals(), [1, 0, 2], "it was on its way when it was given up");
        answer(&mut record, 2, 200);
        assert_eq!(states(&record, A), [GIVEN_UP, DeliveryState::Delivered], "it arrived all the same");
        take(&mut record, &story.completed());
        assert_eq!(states(&record, A).last(), Some(&GIVEN_UP));
        assert_eq!(states(&record, B).last(), Some(&DeliveryState::Pending));
    }

    #[test]
    fn only_a_new_address_gets_messages_for_old_events() {
        let story = asks(2).completed();
        let mut record = record(&[A], &story);
        assert_eq!(record.messages.len(), 3);
        assert!(!add_urls(&mut record, &[A]));
        assert!(add_urls(&mut record, &[A, B]));
        assert_eq!(record.position, Position::default());
        take(&mut record, &story);
        assert_eq!(record.messages.len(), 6);
    }

    #[test]
    fn too_many_messages_leave_room_for_the_end() {
        let mut record = record(&[A], &asks(1_005).completed());
        assert_eq!((record.messages.len(), record.left_out), (1_001, 5));
        assert_eq!(record.messages[1_000].message_type, MessageType::RunCompleted);
        assert!(!record.is_done());
        (0..1_001).for_each(|index| answer(&mut record, index, 200));
        assert!(record.is_done() && record.bodies.is_empty());
    }
}
