//! Reads an attempt from memory.

use skillrun_evidence::FeedStep;
use skillrun_evidence::feed::StepKind;
use skillrun_model::fcmp::{FcmpData, FcmpEvent};
use skillrun_model::rasp::data::{Diagnostic, MessageFinal, RawText};
use skillrun_model::rasp::{Data, Event, EvidenceData, SourceStream};
use skillrun_model::{AttemptNumber, Code, EngineName, ProfileId, RunId, Stream, Timestamp};
use skillrun_translate::{AttemptPipeline, EventBuilder, Facts, FcmpTranslator};

/// A read, or the end of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arrival<'a> {
    Bytes(Stream, &'a [u8]),
    End(Stream),
}

/// The result of reading an attempt. Moments are removed from the events.
#[derive(Debug, PartialEq)]
pub(crate) struct ReadAttempt {
    pub(crate) events: Vec<Event>,
    pub(crate) facts: Facts,
}

pub(crate) fn builder() -> EventBuilder {
    EventBuilder::new(RunId::from_evidence_hash(&[7; 32]), EngineName::new("engine"))
}

/// Reads in the order given, each at its own moment.
pub(crate) fn read(profile: ProfileId, arrivals: &[Arrival<'_>]) -> ReadAttempt {
    read_with(&mut builder(), AttemptNumber(1), profile, arrivals)
}

pub(crate) fn read_with(
    builder: &mut EventBuilder,
    attempt: AttemptNumber,
    profile: ProfileId,
    arrivals: &[Arrival<'_>],
) -> ReadAttempt {
    builder.set_attempt(attempt, EngineName::new("engine"));
    let mut pipeline = AttemptPipeline::new(attempt, profile, Timestamp::EPOCH);
    let mut events = Vec::new();
    for (at, arrival) in arrivals.iter().enumerate() {
        let kind = match *arrival {
            Arrival::Bytes(stream, bytes) => StepKind::Bytes { stream, bytes },
            Arrival::End(stream) => StepKind::Eof(stream),
        };
        pipeline.step(&FeedStep { t_ns: 1000 * (at as u64 + 1), kind }, builder, |event| events.push(event));
    }
    let facts = pipeline.finish(builder, |event| events.push(event));
    events.iter_mut().for_each(|event| event.ts = Timestamp::EPOCH);
    ReadAttempt { events, facts }
}

/// Both streams whole, stdout first.
pub(crate) fn read_whole(profile: ProfileId, stdout: &[u8], stderr: &[u8]) -> ReadAttempt {
    let arrivals = [
        Arrival::Bytes(Stream::Stdout, stdout),
        Arrival::Bytes(Stream::Stderr, stderr),
        Arrival::End(Stream::Stdout),
        Arrival::End(Stream::Stderr),
    ];
    read(profile, &arrivals)
}

/// The range of an event on the stream it comes from; none for an event without evidence.
pub(crate) fn range(event: &Event) -> Option<(Stream, usize, usize)> {
    let raw = event.raw_ref;
    match event.source.stream {
        SourceStream::Stdout => Some((Stream::Stdout, raw.stdout_from as usize, raw.stdout_to as usize)),
        SourceStream::Stderr => Some((Stream::Stderr, raw.stderr_from as usize, raw.stderr_to as usize)),
        SourceStream::Pty | SourceStream::Stdin | SourceStream::Control => None,
    }
}

pub(crate) fn raw_of(event: &Event) -> Option<&RawText> {
    if let Data::Evidence(EvidenceData::RawStdout(raw)) | Data::Evidence(EvidenceData::RawStderr(raw)) = &event.data {
        Some(raw)
    } else {
        None
    }
}

pub(crate) fn message_of(event: &Event) -> Option<&MessageFinal> {
    if let Data::Evidence(EvidenceData::MessageFinal(message)) = &event.data { Some(message) } else { None }
}

pub(crate) fn diagnostic_of(event: &Event) -> Option<&Diagnostic> {
    event.data.diagnostic()
}

impl ReadAttempt {
    /// Raw events, text or none, with their ranges.
    pub(crate) fn raws(&self) -> Vec<(Option<&str>, usize, usize)> {
        let raw = |event| Some((raw_of(event)?.text.as_deref(), range(event)?.1, range(event)?.2));
        self.events.iter().filter_map(raw).collect()
    }

    pub(crate) fn messages(&self) -> Vec<&str> {
        self.events.iter().filter_map(message_of).map(|message| message.text.as_str()).collect()
    }

    /// Events that carry this code.
    pub(crate) fn coded(&self, code: Code) -> Vec<&Event> {
        self.events.iter().filter(|event| diagnostic_of(event).is_some_and(|told| told.code == code)).collect()
    }
}

/// The conversation a frontend would get.
pub(crate) fn conversation(events: impl IntoIterator<Item = Event>) -> Vec<FcmpEvent> {
    let mut translator = FcmpTranslator::default();
    let mut told = Vec::new();
    for event in events {
        translator.push(event, &mut |event| told.push(event));
    }
    told
}

/// One word per event of a conversation, for comparing.
pub(crate) fn story(conversation: &[FcmpEvent]) -> Vec<String> {
    conversation.iter().map(word).collect()
}

fn word(event: &FcmpEvent) -> String {
    match &event.data {
        FcmpData::AssistantFinal(message) => format!("final {}", message.text.lines().next().unwrap_or_default()),
        FcmpData::RawStdout(raw) => format!("out {}", raw.text.as_deref().unwrap_or("(range)")),
        FcmpData::RawStderr(raw) => format!("err {}", raw.text.as_deref().unwrap_or("(range)")),
        FcmpData::DiagnosticWarning(warning) => match warning.count {
            Some(count) => format!("{} {count}", warning.code),
            None => warning.code.to_string(),
        },
        FcmpData::ConversationStarted(_)
        | FcmpData::ConversationStatus(_)
        | FcmpData::TurnStarted(_)
        | FcmpData::UserMessage(_)
        | FcmpData::TurnEnded(_)
        | FcmpData::SubagentStarted(_)
        | FcmpData::SubagentEnded(_)
        | FcmpData::StepStarted(_)
        | FcmpData::StepEnded(_)
        | FcmpData::WorkflowEnded(_)
        | FcmpData::SubagentObserved(_)
        | FcmpData::CheckEnded(_)
        | FcmpData::AssistantDelta(_)
        | FcmpData::AssistantReasoning(_)
        | FcmpData::AssistantToolCall(_)
        | FcmpData::UserInputRequired(_)
        | FcmpData::UserInputReplied(_)
        | FcmpData::AutoDecided(_)
        | FcmpData::TimedOut(_)
        | FcmpData::ArtifactCreated(_)
        | FcmpData::ConversationCompleted(_)
        | FcmpData::ConversationFailed(_)
        | FcmpData::ConversationCanceled(_) => event.data.fcmp_type().to_string(),
    }
}
