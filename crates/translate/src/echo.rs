//! Echo suppression: raw lines that only repeat a message are left out of the conversation.
//!
//! Raw lines wait for the next final message or the end of the attempt, while other events overtake them. A run of
//! three or more consecutive raw lines of one stream that are lines of the message before or after is left out. A blank
//! line, or a code fence that is not itself a line of the message, neither breaks a run nor counts towards one.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use skillrun_model::rasp::{Data, Event, EvidenceData, SourceStream};

/// Most bytes that wait; beyond that the oldest lines are released.
const WAITING_BUDGET: usize = 4 * 1024 * 1024;
/// The cost of a waiting line in addition to its text.
const LINE_OVERHEAD: usize = 256;
/// Shortest run that is an echo.
const RUN_MIN: usize = 3;
/// Most lines of a message that raw lines are compared with.
const COMPARED_LINES: usize = 100_000;

/// The lines of a message.
#[derive(Debug, Default)]
pub(crate) struct MessageLines {
    hashes: Vec<u64>,
}

impl MessageLines {
    pub(crate) fn of(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut hashes: Vec<u64> = lines.take(COMPARED_LINES).map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self { hashes }
    }

    fn has(&self, line: &str) -> bool {
        self.hashes.binary_search(&hash(line)).is_ok()
    }
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

/// What to do with lines that waited.
#[derive(Debug)]
pub(crate) enum Decided {
    Show(Box<Event>),
    /// A run that only repeats a message.
    LeaveOut(Vec<Event>),
}

/// Raw lines on their way into the conversation.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    events: VecDeque<Event>,
    bytes: usize,
    before: MessageLines,
}

fn text_of(event: &Event) -> Option<&str> {
    if let Data::Evidence(EvidenceData::RawStdout(raw)) | Data::Evidence(EvidenceData::RawStderr(raw)) = &event.data {
        raw.text.as_deref()
    } else {
        None
    }
}

fn cost(event: &Event) -> usize {
    text_of(event).map_or(0, str::len) + LINE_OVERHEAD
}

impl Waiting {
    /// A raw line arrived. Over budget, the older half is released.
    pub(crate) fn push(&mut self, event: Event) -> Vec<Decided> {
        self.bytes += cost(&event);
        self.events.push_back(event);
        if self.bytes <= WAITING_BUDGET {
            return Vec::new();
        }
        let mut going = VecDeque::new();
        while self.bytes > WAITING_BUDGET / 2
            && let Some(oldest) = self.events.pop_front()
        {
            self.bytes -= cost(&oldest);
            going.push_back(oldest);
        }
        decide(going, &self.before, &MessageLines::default())
    }

    /// A final message came.
    pub(crate) fn message(&mut self, text: &str) -> Vec<Decided> {
        let after = MessageLines::of(text);
        self.bytes = 0;
        let decided = decide(std::mem::take(&mut self.events), &self.before, &after);
        self.before = after;
        decided
    }

    /// The attempt is over.
    pub(crate) fn end(&mut self) -> Vec<Decided> {
        self.bytes = 0;
        let before = std::mem::take(&mut self.before);
        decide(std::mem::take(&mut self.events), &before, &MessageLines::default())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Likeness {
    Repeats,
    /// A blank line or a fence: neither an echo nor something else.
    Neutral,
    Other,
}

fn likeness(event: &Event, before: &MessageLines, after: &MessageLines) -> Likeness {
    let Some(line) = text_of(event).map(str::trim) else { return Likeness::Other };
    if before.has(line) || after.has(line) {
        Likeness::Repeats
    } else if line.is_empty() || line.starts_with("```") || line.starts_with("~~~") {
        Likeness::Neutral
    } else {
        Likeness::Other
    }
}

/// Lines of one stream that follow each other and may be an echo, by their places.
#[derive(Debug, Default)]
struct Run {
    places: Vec<usize>,
    repeats: usize,
}

impl Run {
    /// The places of an echo; none when the run is too short to be one.
    fn end(&mut self) -> Option<Vec<usize>> {
        let Self { places, repeats } = std::mem::take(self);
        (repeats >= RUN_MIN).then_some(places)
    }
}

/// Each stream has its own runs: lines of the other stream in between do not break an echo.
fn decide(events: VecDeque<Event>, before: &MessageLines, after: &MessageLines) -> Vec<Decided> {
    let mut runs: [Run; 2] = Default::default();
    let mut echoes: Vec<Vec<usize>> = Vec::new();
    for (place, event) in events.iter().enumerate() {
        let run = &mut runs[usize::from(event.source.stream == SourceStream::Stderr)];
        match likeness(event, before, after) {
            Likeness::Other => echoes.extend(run.end()),
            like @ (Likeness::Repeats | Likeness::Neutral) => {
                run.repeats += usize::from(like == Likeness::Repeats);
                run.places.push(place);
            }
        }
    }
    echoes.extend(runs.iter_mut().filter_map(Run::end));
    let mut waiting: Vec<Option<Event>> = events.into_iter().map(Some).collect();
    let mut left_out: HashMap<usize, Vec<Event>> = HashMap::new();
    for places in echoes {
        let lines: Vec<Event> = places.iter().filter_map(|place| waiting[*place].take()).collect();
        left_out.extend(places.first().map(|first| (*first, lines)));
    }
    let mut decided = Vec::new();
    for (place, event) in waiting.into_iter().enumerate() {
        decided.extend(event.map(|event| Decided::Show(Box::new(event))));
        decided.extend(left_out.remove(&place).map(Decided::LeaveOut));
    }
    decided
}
