//! The answer as the gate reads it: its marker, its question, and what was noticed on the way.

use skillrun_model::Code;
use skillrun_parse::text::marker::{MarkerForm, Scan};
use skillrun_translate::facts::{Facts, FinalMessage};

use crate::ask_user::{self, Ask, AskNote, AskUser};
use crate::control::Control;
use crate::output::{self, Output, Read, Standing};

/// Something the gate noticed that decides nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateNotice {
    pub code: Code,
    pub message: String,
}

fn notice(code: Code, message: impl Into<String>) -> GateNotice {
    GateNotice { code, message: message.into() }
}

/// What the messages of a cleanly ended turn say.
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
    /// The answer without its question's envelope.
    pub(crate) prompt: String,
    /// The agent says "not done".
    pub(crate) denied: bool,
    pub(crate) notices: Vec<GateNotice>,
}

/// Reads the messages of a turn. Without a clean end nothing in them counts.
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
        notices: Vec::new(),
    };
    let messages = &facts.messages;
    let Some(answer) = messages.last() else { return reading };
    reading.answer = Some(answer);
    if !clean_end {
        return reading;
    }
    let last = messages.len() - 1;
    let ask = ask_user::find(&answer.text);
    let in_answer = Read::new(answer, envelopes(&ask));
    let read_at = |at: Option<usize>| {
        let message = messages.get(at?)?;
        Some((message, Read::new(message, envelopes(&ask_user::find(&message.text)))))
    };
    // A message counts with the one after it while no tool call lies between.
    let before = |at: usize| at.checked_sub(1).filter(|_| !messages[at].after_tool);
    let previous = read_at(before(last));

    let previous_marker = previous.as_ref().and_then(|(_, read)| read.scan.first.as_ref());
    let is_cut;
    if let (Some((message, read)), Some(marker)) = (&previous, previous_marker) {
        let earlier = read_at(before(last - 1)).map(|(_, read)| read);
        reading.carrier = Some((message, marker.form));
        reading.output = output::with_marker(read, earlier.as_ref(), control.schema);
        is_cut = read.is_cut || earlier.is_some_and(|read| read.is_cut);
    } else if let Some(marker) = &in_answer.scan.first {
        let before = previous.as_ref().map(|(_, read)| read);
        reading.carrier = Some((answer, marker.form));
        reading.output = output::with_marker(&in_answer, before, control.schema);
        is_cut = in_answer.is_cut || before.is_some_and(|read| read.is_cut);
    } else {
        reading.output = output::without_marker(&in_answer, Standing::Anywhere, control.schema);
        reading.soft_output = output::without_marker(&in_answer, Standing::Alone, control.schema);
        is_cut = in_answer.is_cut;
    }
    reading.denied = in_answer.scan.denied;
    reading.notice_markers(&in_answer.scan, previous.as_ref().map(|(_, read)| &read.scan));
    reading.without_object(&in_answer, is_cut, control);
    reading.question(ask, &answer.text);
    reading
}

fn envelopes(ask: &AskUser) -> Vec<(usize, usize)> {
    match ask {
        AskUser::None => Vec::new(),
        AskUser::Malformed { ranges } | AskUser::Found { ranges, .. } => ranges.clone(),
    }
}

impl Reading<'_> {
    /// Where no object is the output, the answer's text is, unless a schema wants an object.
    fn without_object(&mut self, answer: &Read<'_>, is_cut: bool, control: &Control<'_>) {
        if self.output != Output::Missing {
            return;
        }
        if is_cut {
            let message = "the message is larger than 4 MiB, and no output is in its end";
            self.notices.push(notice(Code::OutputTooLarge, message));
        }
        if control.schema.is_none() {
            self.output = Output::Valid(output::as_text(answer));
        }
    }

    fn notice_markers(&mut self, answer: &Scan, previous: Option<&Scan>) {
        let scans = || [previous, Some(answer)].into_iter().flatten();
        let markers: usize = scans().map(|s| s.repeated + usize::from(s.first.is_some())).sum();
        if markers > 1 {
            let message = format!("the done marker came {markers} times; the first counts");
            self.notices.push(notice(Code::DoneMarkerRepeated, message));
        }
        let malformed: usize = scans().map(|s| s.malformed).sum();
        if malformed > 0 {
            let message =
                format!("{malformed} mention(s) of the done marker are none: wrong case, value, place or syntax");
            self.notices.push(notice(Code::DoneMarkerMalformed, message));
        }
    }

    fn question(&mut self, ask: AskUser, answer: &str) {
        let ranges = envelopes(&ask);
        self.prompt = ask_user::without_envelopes(answer, &ranges);
        self.asks = ask != AskUser::None;
        if self.asks && self.carrier.is_some() {
            self.notices.push(notice(Code::AskUserIgnored, "a question stands beside the done marker and is ignored"));
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
                        notice(Code::AskUserKindUnknown, format!("unknown kind \"{kind}\"; taken as open_text"))
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
