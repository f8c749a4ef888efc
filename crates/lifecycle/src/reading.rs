//! The closing messages of a turn as the gate reads them: marker, output, question, and notices.

use skillrun_model::rasp::SpanRef;
use skillrun_model::{Code, ExecutionMode};
use skillrun_parse::text::broken::BrokenObject;
use skillrun_parse::text::marker::{DONE_KEY, MarkerForm, scan};
use skillrun_translate::builder::span_ref;
use skillrun_translate::facts::{Facts, FinalMessage};

use crate::ask_user::{self, Ask, AskNote, AskUser};
use crate::control::{CompletionLayer, Control};
use crate::output::{self, MessageScan, ObjectPosition, Output};

/// Something the gate noticed that decides nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateNotice {
    pub code: Code,
    pub message: String,
    /// The bytes it is about.
    pub spans: Vec<SpanRef>,
}

pub(crate) fn notice(code: Code, message: impl Into<String>) -> GateNotice {
    GateNotice { code, message: message.into(), spans: Vec::new() }
}

fn notice_in(code: Code, message: impl Into<String>, place: &FinalMessage) -> GateNotice {
    GateNotice { spans: place.spans.iter().map(span_ref).collect(), ..notice(code, message) }
}

/// The content of the messages of a cleanly ended turn.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) answer: Option<&'a FinalMessage>,
    /// The message that carries the marker.
    pub(crate) carrier: Option<(&'a FinalMessage, MarkerForm)>,
    /// Output with a marker; without one, for auto.
    pub(crate) output: Output,
    /// Output that may complete an interactive turn without a marker.
    pub(crate) soft_output: Output,
    pub(crate) asks: bool,
    pub(crate) ask: Option<Box<Ask>>,
    /// The answer without its question's envelope, and without a marker that cannot be parsed.
    pub(crate) prompt: String,
    /// The agent says "not done" in a closing message.
    pub(crate) denied: bool,
    /// The agent says so in its answer.
    pub(crate) answer_denied: bool,
    /// Where the JSON of a marker is broken.
    pub(crate) broken_marker: Option<String>,
    pub(crate) notices: Vec<GateNotice>,
}

/// Reads the messages of a turn. Without a clean end nothing in them counts. A conversation and a run without a skill
/// have neither marker nor output: their messages are text, in which an interactive agent may ask.
pub(crate) fn read<'a>(facts: &'a Facts, clean_end: bool, control: &Control<'_>) -> Reading<'a> {
    let mut reading = Reading {
        answer: None,
        carrier: None,
        output: Output::Missing,
        soft_output: Output::Missing,
        asks: false,
        ask: None,
        prompt: String::new(),
        denied: false,
        answer_denied: false,
        broken_marker: None,
        notices: Vec::new(),
    };
    let messages = &facts.messages;
    let Some(answer) = messages.last() else { return reading };
    reading.answer = Some(answer);
    match (clean_end, control.mode, control.layer) {
        (false, _, _) | (true, ExecutionMode::Conversation, _) => return reading,
        (true, ExecutionMode::Auto, CompletionLayer::Absent) => return reading,
        (true, ExecutionMode::Interactive, CompletionLayer::Absent) => {
            reading.question(ask_user::find(&answer.text), &answer.text, &[]);
            return reading;
        }
        (true, ExecutionMode::Auto | ExecutionMode::Interactive, CompletionLayer::OfSkill) => {}
    }
    let ask = ask_user::find(&answer.text);
    let in_answer = || MessageScan::new(answer, envelopes(&ask));
    let (early, closing_messages) = messages.split_at(closing_start(facts));
    let closing: Vec<MessageScan<'_>> = match closing_messages.split_last() {
        Some((_, before)) => before.iter().map(read_whole).chain([in_answer()]).collect(),
        None => Vec::new(),
    };

    let carrier = closing.iter().enumerate().find_map(|(at, read)| Some((at, read, read.scan.first.as_ref()?)));
    let is_cut;
    if let Some((at, read, marker)) = carrier {
        reading.carrier = closing_messages.get(at).map(|message| (message, marker.form));
        reading.output = output::with_marker(read, &closing[..at], control.schema);
        is_cut = closing[..=at].iter().any(|read| read.is_cut);
    } else {
        reading.output = output::without_marker(&closing, ObjectPosition::Anywhere, control.schema);
        let answer_alone = &closing[closing.len().saturating_sub(1)..];
        reading.soft_output = output::without_marker(answer_alone, ObjectPosition::Alone, control.schema);
        is_cut = closing.iter().any(|read| read.is_cut);
    }
    reading.denied = closing.iter().any(|read| read.scan.denied);
    reading.answer_denied = closing.last().is_some_and(|read| read.scan.denied);
    reading.notice_markers(closing_messages, &closing);
    reading.notice_early(early, &closing, control);
    let whole_answer;
    let in_answer = match closing.last() {
        Some(read) => read,
        // A tool call followed it; as text it is still the answer.
        None => {
            whole_answer = in_answer();
            &whole_answer
        }
    };
    reading.without_object(in_answer, is_cut, control);
    let broken = if closing.is_empty() || in_answer.is_cut { &[][..] } else { &in_answer.scan.broken };
    reading.question(ask, &answer.text, broken);
    reading
}

/// Where the closing messages begin: after the last tool call.
fn closing_start(facts: &Facts) -> usize {
    if facts.tool_follows {
        return facts.messages.len();
    }
    facts.messages.iter().rposition(|message| message.after_tool).unwrap_or(0)
}

fn read_whole(message: &FinalMessage) -> MessageScan<'_> {
    MessageScan::new(message, envelopes(&ask_user::find(&message.text)))
}

fn envelopes(ask: &AskUser) -> Vec<(usize, usize)> {
    match ask {
        AskUser::None => Vec::new(),
        AskUser::Malformed { ranges } | AskUser::Found { ranges, .. } => ranges.clone(),
    }
}

impl Reading<'_> {
    /// Where no object is the output, the answer's text is, unless a schema requires an object.
    fn without_object(&mut self, answer: &MessageScan<'_>, is_cut: bool, control: &Control<'_>) {
        if self.output != Output::Missing {
            return;
        }
        if is_cut {
            let message = "the message is larger than 4 MiB, and its last 4 MiB contain no output";
            self.notices.push(notice(Code::OutputTooLarge, message));
        }
        if control.schema.is_none() {
            self.output = Output::Valid(output::as_text(answer));
        }
    }

    fn notice_markers(&mut self, messages: &[FinalMessage], closing: &[MessageScan<'_>]) {
        let scans = || closing.iter().map(|read| &read.scan);
        let first =
            |is_it: &dyn Fn(&MessageScan<'_>) -> bool| messages.iter().zip(closing).find(|(_, read)| is_it(read));
        let markers: usize = scans().map(|s| s.repeated + usize::from(s.first.is_some())).sum();
        if markers > 1 {
            let message = format!("the done marker occurs {markers} times; the first one counts");
            self.notices.push(notice(Code::DoneMarkerRepeated, message));
        }
        if let Some((message, _)) = first(&|read| read.scan.denied) {
            let what = format!("the agent says that it is not done: \"{DONE_KEY}\" is false");
            self.notices.push(notice_in(Code::DoneMarkerFalse, what, message));
        }
        let broken = scans().zip(closing).filter(|(_, read)| !read.is_cut).find_map(|(scan, _)| scan.broken.first());
        let malformed: usize = scans().map(|s| s.malformed).sum();
        if let Some((message, _)) = first(&|read| read.scan.malformed > 0) {
            let mut what =
                format!("{malformed} mention(s) of the done marker do not count: wrong case, value, place or syntax");
            if let Some(broken) = broken {
                what += &format!("; its JSON is broken: {}", broken.problem);
            }
            self.notices.push(notice_in(Code::DoneMarkerMalformed, what, message));
        }
        self.broken_marker = broken.filter(|_| self.carrier.is_none()).map(|broken| broken.problem.clone());
    }

    /// Reports what would have counted if no tool call had followed it.
    fn notice_early(&mut self, early: &[FinalMessage], closing: &[MessageScan<'_>], control: &Control<'_>) {
        let has_marker = |message: &&FinalMessage| {
            // The key may be spelled with an escape.
            let may_have = message.text.contains(DONE_KEY) || message.text.contains("\\u");
            may_have && scan(&message.text).first.is_some()
        };
        if let Some(message) = early.iter().rev().find(has_marker) {
            let what = format!("a done marker does not count, because a tool call follows it ({})", place(message));
            self.notices.push(notice_in(Code::DoneMarkerBeforeWork, what, message));
        }
        let Some(schema) = control.schema else { return };
        if matches!(self.output, Output::Valid(_)) || output::last_fitting(closing, schema).is_some() {
            return;
        }
        let early_reads: Vec<_> = early.iter().map(read_whole).collect();
        if let Some(message) = output::last_fitting(&early_reads, schema).and_then(|at| early.get(at)) {
            let what = format!(
                "an object that fits the schema does not count, because a tool call follows it ({})",
                place(message)
            );
            self.notices.push(notice_in(Code::OutputBeforeWork, what, message));
        }
    }

    fn question(&mut self, ask: AskUser, answer: &str, broken: &[BrokenObject]) {
        let mut hidden = envelopes(&ask);
        if self.carrier.is_none() {
            hidden.extend(broken.iter().map(|broken| (broken.start, broken.end)));
        }
        self.prompt = ask_user::without_envelopes(answer, &apart(hidden));
        self.asks = ask != AskUser::None;
        if self.asks && self.carrier.is_some() {
            self.notices.push(notice(Code::AskUserIgnored, "a question beside the done marker is ignored"));
            return;
        }
        match ask {
            AskUser::None => {}
            AskUser::Malformed { .. } => {
                self.notices.push(notice(Code::AskUserMalformed, "the question's envelope could not be read"));
            }
            AskUser::Found { ask, notes, .. } => {
                self.ask = Some(ask);
                self.notices.extend(notes.iter().map(|note| match note {
                    AskNote::UnknownKind(kind) => {
                        notice(Code::AskUserKindUnknown, format!("unknown kind \"{kind}\"; treated as open_text"))
                    }
                    AskNote::UnknownPolicy(policy) => {
                        notice(Code::AskUserPolicyUnknown, format!("unknown default_decision_policy \"{policy}\""))
                    }
                    AskNote::UnreadableOptions(_) => {
                        notice(Code::AskUserOptionUnreadable, "an option of the question could not be read")
                    }
                }));
            }
        }
    }
}

/// The byte range of a message as text.
fn place(message: &FinalMessage) -> String {
    match message.spans.first() {
        Some(span) => format!("{} bytes {} to {}", span.stream.source(), span.from, span.to),
        None => "its byte range is not known".to_owned(),
    }
}

/// Ranges in order, with adjacent ones merged.
fn apart(mut ranges: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    ranges.sort_unstable();
    let mut apart: Vec<(usize, usize)> = Vec::with_capacity(ranges.len());
    for (start, end) in ranges {
        match apart.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            Some(_) | None => apart.push((start, end)),
        }
    }
    apart
}
