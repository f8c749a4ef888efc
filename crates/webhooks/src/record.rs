//! The delivery record of one run: its addresses, its messages, and the state of each. Pure.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_log::{Cursor, Epoch, LogLine, Page, Seq};
use skillrun_model::rasp::Event;
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

    /// Makes the messages of a page.
    pub(super) fn read(&mut self, page: &Page) -> Vec<Draft> {
        let drafts = page.lines().filter_map(|line| self.facts.add(&wanted(line)?)).collect();
        let Cursor { epoch, after } = page.cursor();
        (self.epoch, self.seq) = (epoch, after.0);
        drafts
    }
}

/// The event of a line, if it matters here. Most events do not, and are not parsed completely.
fn wanted(line: LogLine<'_>) -> Option<Event> {
    #[derive(Deserialize)]
    struct Glance<'a> {
        #[serde(borrow)]
        event: Kind<'a>,
    }
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type")]
        event_type: &'a str,
    }
    if let Some(event) = line.parsed() {
        return Facts::wants(event.event_type().as_str()).then(|| event.clone());
    }
    let glance: Glance<'_> = serde_json::from_slice(line.json()).ok()?;
    // An event of a later version that this version does not know cannot be reported.
    Facts::wants(glance.event.event_type).then(|| line.event().ok()).flatten()
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

/// What a try means for its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Delivered,
    Failed,
    /// The message was settled meanwhile.
    Nothing,
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
            if self.messages.len() >= MAX_MESSAGES && !message_type.is_terminal() {
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
        self.drop_body(seq, message_type);
    }

    pub(super) fn body(&self, message: &Delivery) -> Option<&str> {
        let key = (message.seq, message.message_type);
        self.bodies.iter().find(|body| (body.seq, body.message_type) == key).map(|body| body.text.as_str())
    }

    /// Drops a body that no address needs any more.
    fn drop_body(&mut self, seq: u64, message_type: MessageType) {
        if !self.pending().any(|(_, one)| (one.seq, one.message_type) == (seq, message_type)) {
            self.bodies.retain(|body| (body.seq, body.message_type) != (seq, message_type));
        }
    }

    /// Whether this message may be sent: an earlier one to the same address goes first, until it has failed once.
    pub(super) fn may_go(&self, index: usize) -> bool {
        let Some(message) = self.messages.get(index) else { return false };
        let is_pending = |one: &Delivery| one.state == DeliveryState::Pending;
        let mut earlier = self.messages[..index].iter().filter(|one| one.url == message.url);
        is_pending(message) && !earlier.any(|one| is_pending(one) && one.tries == 0)
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
        match message.state {
            DeliveryState::Pending => {}
            // Given up while it was under way; it did arrive.
            DeliveryState::GivenUp if is_taken => {}
            DeliveryState::GivenUp | DeliveryState::Delivered => return Meaning::Nothing,
        }
        message.tries = message.tries.saturating_add(1);
        message.last = Some(LastTry { at: now, status, error });
        let wait = if is_taken || status == Some(GONE) { None } else { wait(message.tries, asked) };
        message.next_try_at = wait.map(|wait| now.plus_nanos(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)));
        if is_taken {
            message.state = DeliveryState::Delivered;
        } else if wait.is_none() {
            message.state = DeliveryState::GivenUp;
        }
        let mut settled = vec![(message.seq, message.message_type)];
        if status == Some(GONE) {
            let url = message.url.clone();
            let others = self.messages.iter_mut().filter(|one| one.url == url && one.state == DeliveryState::Pending);
            for other in others {
                (other.state, other.next_try_at) = (DeliveryState::GivenUp, None);
                settled.push((other.seq, other.message_type));
            }
        }
        settled.into_iter().for_each(|(seq, message_type)| self.drop_body(seq, message_type));
        if is_taken { Meaning::Delivered } else { Meaning::Failed }
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = (usize, &Delivery)> {
        self.messages.iter().enumerate().filter(|(_, message)| message.state == DeliveryState::Pending)
    }

    pub(super) fn given_up(&self) -> u64 {
        self.messages.iter().filter(|message| message.state == DeliveryState::GivenUp).count() as u64
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
        assert_eq!(record.tried(0, NOW, &answered(500), a_second), Meaning::Failed);
        assert_eq!(record.messages[0].next_try_at, Some(NOW.plus_nanos(1_000_000_000)));
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
            assert_eq!(record.messages[0].state == DeliveryState::Pending, !is_delivered, "{status}");
            assert_eq!(record.messages[0].next_try_at.is_none(), is_delivered, "{status}");
            assert_eq!(record.messages[0].last.as_ref().unwrap().status, Some(status));
            assert_eq!(record.body(&record.messages[0]).is_none(), is_delivered, "a body is kept while it is needed");
        }
        let mut record = record(&["https://a.example"], &asks(1));
        let failed = Tried::Failed { error: "no response in time".to_owned() };
        assert_eq!(record.tried(0, NOW, &failed, |_, _| None), Meaning::Failed);
        assert_eq!((record.messages[0].state, record.given_up()), (DeliveryState::GivenUp, 1));
        assert_eq!(record.messages[0].last.as_ref().unwrap().error.as_deref(), Some("no response in time"));
    }

    #[test]
    fn an_address_that_is_gone_gets_no_more_messages() {
        let story = asks(2);
        let mut record = record(&["https://a.example", "https://b.example"], &story);
        assert_eq!(record.tried(0, NOW, &answered(410), a_second), Meaning::Failed);
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
