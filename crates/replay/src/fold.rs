//! The fold from the events of a Log to items. Two passes: [`TurnEnds`] finds how each turn ended, and [`Fold`] then
//! keeps only what is replayed, so that texts of broken turns are never held in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::io::{BufWriter, Write};

use skillrun_model::delegation::SubagentEnded;
use skillrun_model::rasp::data::{AttemptEnded, MessageFinal, ToolCallStarted, UserMessage};
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData};
use skillrun_model::{AttemptNumber, Code, IgnoredError, RunId, TurnState};

use crate::child;
use crate::item::{Fidelity, Item, LeftOut, LeftOutCounts, Notice, NoticeKind, Replay, ReplayedTurn, ToolOutcome};

/// Bytes of the inputs of tool calls that have no result yet, in one turn. Beyond this, the oldest calls are left out.
const OPEN_CALLS_BYTES: usize = 32 << 20;

/// Bytes that are hashed at a time.
const HASH_BUFFER: usize = 64 * 1024;

/// How a turn ended.
#[derive(Debug, Clone)]
struct TurnEnd {
    seq: u64,
    state: TurnState,
    is_refused: bool,
    answer: Option<String>,
}

/// The ends of turns, which the first pass finds.
#[derive(Debug, Clone, Default)]
pub struct TurnEnds {
    upto: Option<u64>,
    ends: BTreeMap<AttemptNumber, TurnEnd>,
    started: BTreeSet<AttemptNumber>,
}

impl TurnEnds {
    /// With `upto`, only events up to that one count.
    pub fn new(upto: Option<u64>) -> Self {
        Self { upto, ..Self::default() }
    }

    /// Takes an event. Only `attempt.started` and `attempt.ended` matter, so a reader need not pass on others.
    pub fn push(&mut self, event: &Event) {
        if self.upto.is_some_and(|upto| event.seq > upto) {
            return;
        }
        if let Data::Control(ControlData::AttemptStarted(_)) = &event.data {
            self.started.insert(event.attempt_number);
        } else if let Data::Control(ControlData::AttemptEnded(ended)) = &event.data {
            // A turn has one record, and it is the first.
            self.ends.entry(event.attempt_number).or_insert_with(|| end(event.seq, ended));
        }
    }

    /// The last event that the second pass needs; 0 where no turn is over.
    pub fn last_seq(&self) -> u64 {
        self.ends.values().map(|end| end.seq).max().unwrap_or(0)
    }

    fn open_turns(&self) -> u64 {
        self.started.iter().filter(|turn| !self.ends.contains_key(turn)).count() as u64
    }
}

fn end(seq: u64, ended: &AttemptEnded) -> TurnEnd {
    let state = ended.terminal_status;
    let answer = ended.verdict.answer_message_id.clone();
    TurnEnd { seq, state, is_refused: ended.verdict.refused, answer }
}

/// Builds the replay of one run. Events are passed by value, in order of `seq`.
#[derive(Debug)]
pub struct Fold {
    ends: TurnEnds,
    turn: Option<OpenTurn>,
    turns: Vec<ReplayedTurn>,
    hash: blake3::Hash,
    notices: BTreeMap<NoticeKind, Notice>,
    /// Children whose ends are replayed.
    ended_children: HashSet<RunId>,
    /// Ends of children between two turns, or in a turn that contributes nothing: they begin the next turn.
    late_children: Vec<Item>,
}

impl Fold {
    pub fn new(ends: TurnEnds) -> Self {
        Self {
            ends,
            turn: None,
            turns: Vec::new(),
            hash: blake3::hash(b""),
            notices: BTreeMap::new(),
            ended_children: HashSet::new(),
            late_children: Vec::new(),
        }
    }

    /// Takes the next event. `whole_text` returns the exact text of a message that is too large for its event; none
    /// where it cannot be read.
    pub fn push(&mut self, event: Event, whole_text: &mut dyn FnMut(&UserMessage) -> Option<String>) {
        let child =
            if let Data::Control(ControlData::SubagentEnded(end)) = &event.data { self.child(end) } else { None };
        // A turn that is not over contributes nothing, and neither does what follows its record.
        let Some(end) = self.ends.ends.get(&event.attempt_number).filter(|end| event.seq <= end.seq) else {
            self.late_children.extend(child);
            return;
        };
        let keeps = Keeps::of(end);
        let turn = self.turn.get_or_insert_with(|| OpenTurn::new(event.attempt_number));
        match keeps {
            Keeps::All | Keeps::ToolCalls => {
                // The slot of a call has its result too, so the end of a child never stands between them.
                let ends = self.late_children.drain(..).chain(child);
                turn.slots.extend(ends.map(Slot::Item));
            }
            Keeps::Nothing => self.late_children.extend(child),
        }
        if turn.number != event.attempt_number {
            // Events of another attempt before the record of this one; no version writes that.
            return;
        }
        let Event { seq, data, correlation, .. } = event;
        let call_id = correlation.tool_call_id;
        match data {
            Data::Control(ControlData::MessageUser(message)) => {
                turn.has_user = true;
                if keeps != Keeps::Nothing {
                    let item =
                        user(message, whole_text, || notice(&mut self.notices, NoticeKind::UserMessageUnreadable, seq));
                    turn.slots.push(Slot::Item(item));
                }
            }
            Data::Control(ControlData::AttemptEnded(_)) => self.close(seq),
            // Everything else that the runtime writes is for people and audits. Answers to questions inside a turn are
            // part of the tool calls that asked them.
            Data::Control(
                ControlData::RunStarted(_)
                | ControlData::RunStatus(_)
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
                | ControlData::AttemptStarted(_)
                | ControlData::TurnUsage(_)
                | ControlData::SubagentRequested(_)
                | ControlData::SubagentStarted(_)
                // Its item has its place already.
                | ControlData::SubagentEnded(_)
                | ControlData::WorkflowStarted(_)
                | ControlData::StepScheduled(_)
                | ControlData::StepHeld(_)
                | ControlData::StepEnded(_)
                | ControlData::WorkflowEnded(_)
                | ControlData::CheckEnded(_),
            ) => {}
            Data::Evidence(_) if keeps == Keeps::Nothing => {}
            Data::Evidence(data) => turn.evidence(data, call_id, keeps),
        }
    }

    /// Adds a notice about an event that could not be passed on.
    pub fn notice(&mut self, kind: NoticeKind, seq: u64) {
        notice(&mut self.notices, kind, seq);
    }

    /// The end of a child, once.
    fn child(&mut self, end: &SubagentEnded) -> Option<Item> {
        let item = child::item(end)?;
        self.ended_children.insert(end.child_run_id).then_some(item)
    }

    fn close(&mut self, seq: u64) {
        let Some(turn) = self.turn.take() else { return };
        let Some(end) = self.ends.ends.get(&turn.number) else { return };
        let number = turn.number;
        if !turn.has_user {
            notice(&mut self.notices, NoticeKind::UserMessageMissing, seq);
        }
        let (items, left_out) = turn.finish(end);
        if !items.is_empty() {
            self.hash = chained(self.hash, &items);
        }
        self.turns.push(ReplayedTurn {
            turn: number,
            state: end.state,
            end_seq: end.seq,
            items,
            left_out: left_out.list(),
            hash: self.hash.to_string(),
        });
    }

    pub fn finish(self) -> Replay {
        let mut left_out = LeftOutCounts::default();
        for turn in &self.turns {
            left_out.add_all(&turn.left_out);
        }
        left_out.add(LeftOut::OpenTurn, self.ends.open_turns());
        Replay {
            // Every engine is another program: what it sends to its model beside this is not known.
            fidelity: Fidelity::Shown,
            hash: self.hash.to_string(),
            turns: self.turns,
            left_out: left_out.list(),
            notices: self.notices.into_values().collect(),
        }
    }
}

/// Both passes over events in memory.
pub fn replay(events: &[Event], upto: Option<u64>) -> Replay {
    let mut ends = TurnEnds::new(upto);
    for event in events {
        ends.push(event);
    }
    let mut fold = Fold::new(ends);
    for event in events {
        fold.push(event.clone(), &mut |_| None);
    }
    fold.finish()
}

fn notice(notices: &mut BTreeMap<NoticeKind, Notice>, kind: NoticeKind, seq: u64) {
    notices.entry(kind).or_insert(Notice { kind, count: 0, seq }).count += 1;
}

fn user(
    message: UserMessage,
    whole_text: &mut dyn FnMut(&UserMessage) -> Option<String>,
    unreadable: impl FnOnce(),
) -> Item {
    let origin = message.origin;
    if message.whole.is_none() {
        return Item::User { text: message.text, origin, truncated: false };
    }
    // The turns that a message repeats for another session have been replayed already.
    let from = message.replayed.as_ref().map_or(0, |replayed| usize::try_from(replayed.bytes).unwrap_or(usize::MAX));
    match whole_text(&message).and_then(|text| text.get(from..).map(str::to_owned)) {
        Some(text) => Item::User { text, origin, truncated: false },
        None if !message.is_cut() => Item::User { text: message.text, origin, truncated: false },
        None => {
            unreadable();
            Item::User { text: message.text, origin, truncated: true }
        }
    }
}

/// The hash of a turn's items after those of the turns before it.
fn chained(before: blake3::Hash, items: &[Item]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before.to_hex().as_bytes());
    let mut out = BufWriter::with_capacity(HASH_BUFFER, &mut hasher);
    // Items are texts, words and JSON, which can always be written, and a hasher accepts everything.
    serde_json::to_writer(&mut out, items).ignored();
    out.flush().ignored();
    drop(out);
    hasher.finalize()
}

/// What a turn contributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    /// Clean messages and tool calls.
    All,
    /// The message that began it, and finished tool calls.
    ToolCalls,
    Nothing,
}

impl Keeps {
    fn of(end: &TurnEnd) -> Self {
        if end.is_refused {
            return Self::Nothing;
        }
        match end.state {
            TurnState::Completed => Self::All,
            TurnState::PartialFailed | TurnState::Failed | TurnState::Interrupted | TurnState::TimedOut => {
                Self::ToolCalls
            }
        }
    }
}

/// A turn whose record was not reached yet.
#[derive(Debug)]
struct OpenTurn {
    number: AttemptNumber,
    has_user: bool,
    slots: Vec<Slot>,
    /// Where the calls without a result are, by id.
    open_calls: HashMap<String, usize>,
    /// The same, oldest first; some may have a result.
    call_order: VecDeque<usize>,
    open_bytes: usize,
    voided: HashSet<String>,
    left_out: LeftOutCounts,
}

/// A place in the order of a turn.
#[derive(Debug)]
enum Slot {
    Item(Item),
    Message {
        id: String,
        text: String,
        truncated: bool,
    },
    /// A call stands where it began, with its result behind it.
    OpenCall(Item),
    FinishedCall {
        call: Item,
        result: Item,
    },
    Empty,
}

impl OpenTurn {
    fn new(number: AttemptNumber) -> Self {
        Self {
            number,
            has_user: false,
            slots: Vec::new(),
            open_calls: HashMap::new(),
            call_order: VecDeque::new(),
            open_bytes: 0,
            voided: HashSet::new(),
            left_out: LeftOutCounts::default(),
        }
    }

    fn evidence(&mut self, data: EvidenceData, call_id: Option<String>, keeps: Keeps) {
        match data {
            EvidenceData::MessageFinal(message) => self.message(message, keeps),
            EvidenceData::ReasoningSummary(_) => self.left_out.add(LeftOut::Reasoning, 1),
            EvidenceData::ToolCallStarted(call) => self.call(call, call_id),
            EvidenceData::ToolCallCompleted(done) => {
                self.result(call_id, ToolOutcome::Ok, done.output.unwrap_or_default(), done.truncated);
            }
            // The call stays open: no tool has returned this.
            EvidenceData::ToolCallFailed(failed) if failed.synthetic => {}
            EvidenceData::ToolCallFailed(failed) => {
                let output = failed.output.filter(|output| !output.is_empty()).unwrap_or(failed.reason);
                self.result(call_id, ToolOutcome::Failed, output, failed.truncated);
            }
            EvidenceData::ParserWarning(warning) => {
                if let (Code::MessageVoided, Some(id)) = (warning.code, warning.message_id) {
                    self.voided.insert(id);
                }
            }
            // Deltas are repeated by the message that they become; the others are for people.
            EvidenceData::MessageDelta(_)
            | EvidenceData::RunStatus(_)
            | EvidenceData::SubagentObserved(_)
            | EvidenceData::ParserError(_)
            | EvidenceData::EngineError(_)
            | EvidenceData::RawStdout(_)
            | EvidenceData::RawStderr(_) => {}
        }
    }

    fn message(&mut self, message: MessageFinal, keeps: Keeps) {
        if message.partial {
            self.left_out.add(LeftOut::PartialMessage, 1);
        } else if keeps != Keeps::All {
            self.left_out.add(LeftOut::TextOfBrokenTurn, 1);
        } else if message.text.trim().is_empty() {
            self.left_out.add(LeftOut::EmptyMessage, 1);
        } else {
            let MessageFinal { message_id: id, text, truncated, .. } = message;
            self.slots.push(Slot::Message { id, text, truncated });
        }
    }

    fn call(&mut self, call: ToolCallStarted, id: Option<String>) {
        let Some(id) = id else {
            self.left_out.add(LeftOut::OpenCall, 1);
            return;
        };
        let ToolCallStarted { name, input, truncated } = call;
        let at = self.slots.len();
        // An earlier call with the same id has no result, and cannot get one any more.
        if let Some(earlier) = self.open_calls.insert(id.clone(), at) {
            self.forget(earlier);
        }
        let item = Item::ToolCall { id, name, input, truncated };
        self.open_bytes += weight(&item);
        self.slots.push(Slot::OpenCall(item));
        self.call_order.push_back(at);
        while self.open_bytes > OPEN_CALLS_BYTES
            && let Some(oldest) = self.call_order.pop_front()
        {
            self.forget(oldest);
        }
    }

    /// Leaves out a call that has no result.
    fn forget(&mut self, at: usize) {
        if let Some(slot) = self.slots.get_mut(at)
            && let Slot::OpenCall(call) = slot
        {
            self.open_bytes -= weight(call);
            if let Item::ToolCall { id, .. } = call
                && self.open_calls.get(id) == Some(&at)
            {
                self.open_calls.remove(id);
            }
            *slot = Slot::Empty;
            self.left_out.add(LeftOut::OpenCall, 1);
        }
    }

    fn result(&mut self, id: Option<String>, outcome: ToolOutcome, output: String, truncated: bool) {
        let found = id.and_then(|id| self.open_calls.remove(&id).map(|at| (id, at)));
        let Some((id, at)) = found else {
            self.left_out.add(LeftOut::ResultWithoutCall, 1);
            return;
        };
        let slot = &mut self.slots[at];
        match std::mem::replace(slot, Slot::Empty) {
            Slot::OpenCall(call) => {
                self.open_bytes -= weight(&call);
                *slot = Slot::FinishedCall { call, result: Item::ToolResult { id, outcome, output, truncated } };
            }
            other @ (Slot::Item(_) | Slot::Message { .. } | Slot::FinishedCall { .. } | Slot::Empty) => *slot = other,
        }
    }

    fn finish(self, end: &TurnEnd) -> (Vec<Item>, LeftOutCounts) {
        let Self { slots, voided, mut left_out, .. } = self;
        if Keeps::of(end) == Keeps::Nothing {
            let mut only = LeftOutCounts::default();
            only.add(LeftOut::RefusedTurn, 1);
            return (Vec::new(), only);
        }
        let mut items = Vec::with_capacity(slots.len());
        for slot in slots {
            match slot {
                Slot::Item(item) => items.push(item),
                Slot::Message { id, .. } if voided.contains(&id) => left_out.add(LeftOut::VoidedMessage, 1),
                Slot::Message { id, text, truncated } => {
                    items.push(Item::Agent { text, answer: end.answer.as_ref() == Some(&id), truncated });
                }
                Slot::OpenCall(_) => left_out.add(LeftOut::OpenCall, 1),
                Slot::FinishedCall { call, result } => items.extend([call, result]),
                Slot::Empty => {}
            }
        }
        (items, left_out)
    }
}

/// Bytes that a call holds.
fn weight(call: &Item) -> usize {
    match call {
        Item::ToolCall { id, name, input, .. } => {
            id.len() + name.len() + input.as_ref().map_or(0, |input| input.0.get().len())
        }
        Item::User { .. } | Item::Agent { .. } | Item::ToolResult { .. } | Item::Child { .. } => 0,
    }
}
