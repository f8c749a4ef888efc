//! What an engine wrote, through the one pipeline to events, facts and a verdict.
//!
//! Laws: every byte lies in the range of an event; any chunking gives the same; seqs have no gap; an event can be written
//! to a Log and read back; the gate judges whatever comes.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use skillrun_evidence::FeedStep;
use skillrun_evidence::feed::StepKind;
use skillrun_lifecycle::{Control, ProcessExit, ask_user, settle};
use skillrun_log::MAX_LINE;
use skillrun_model::rasp::{Data, Event, EvidenceData, SourceStream};
use skillrun_model::status::Continuation;
use skillrun_model::{AttemptNumber, EndedBy, EngineName, ExecutionMode, ProfileId, RunId, Stream, Timestamp};
use skillrun_translate::{AttemptPipeline, EventBuilder, Facts, FcmpTranslator};

use crate::drive::{Input, fuzz};
use crate::mutate::{self, Bytes, Material};
use crate::{seeds, words};

#[derive(Debug, Clone)]
struct Written {
    profile: ProfileId,
    stdout: Bytes,
    stderr: Bytes,
    pty: Option<Bytes>,
    /// Where reads end.
    cuts: Vec<Index>,
}

impl Input for Written {
    fn bytes(&self) -> Vec<u8> {
        let pty = self.pty.as_ref().map_or(&[][..], |pty| &pty.0);
        [&self.stdout.0, &b"\n==== stderr ====\n"[..], &self.stderr.0, b"\n==== pty ====\n", pty].concat()
    }
}

/// Seeds of one profile, with a message that holds each of the words that matter to the gate.
fn material(profile: ProfileId) -> Material {
    let recorded = seeds::recordings().iter().filter(|recorded| recorded.profile == profile);
    let mut all: Vec<Vec<u8>> = recorded.map(|recorded| recorded.bytes.clone()).collect();
    let made = testkit::streams::Profile::ALL.into_iter().find(|made| made.name() == profile.as_str());
    let made = made.expect("testkit knows every profile");
    for said in ["hello", "{\"__SKILL_DONE__\": true, \"answer\": 1}", "<ASK_USER_YAML>\nprompt: q\n</ASK_USER_YAML>"] {
        all.push(made.message(said).into_bytes());
    }
    Material::new(all, words::STREAMS)
}

fn written() -> impl Strategy<Value = Written> {
    let of: Vec<(ProfileId, Material)> = ProfileId::ALL.iter().map(|profile| (*profile, material(*profile))).collect();
    // Sometimes read as what it is not.
    let pair = (select(of.clone()), prop_oneof![4 => Just(None), 1 => select(of).prop_map(Some)]);
    pair.prop_flat_map(|((profile, material), other)| {
        let profile = other.map_or(profile, |(profile, _)| profile);
        let stderr = prop_oneof![3 => Just(Bytes(Vec::new())), 2 => mutate::bytes(&material)];
        let pty = proptest::option::weighted(0.15, mutate::bytes(&material));
        let cuts = vec(any::<Index>(), 0..40);
        (Just(profile), mutate::bytes(&material), stderr, pty, cuts)
    })
    .prop_map(|(profile, stdout, stderr, pty, cuts)| Written { profile, stdout, stderr, pty, cuts })
}

/// What came of it. Moments are left out of the events.
#[derive(Debug, PartialEq)]
struct Told {
    events: Vec<Event>,
    facts: Facts,
}

fn read<'a>(profile: ProfileId, steps: impl IntoIterator<Item = StepKind<'a>>) -> Told {
    let mut builder = EventBuilder::new(RunId::from_evidence_hash(&[7; 32]), EngineName::new("engine"));
    builder.set_attempt(AttemptNumber(1), EngineName::new("engine"));
    let mut pipeline = AttemptPipeline::new(AttemptNumber(1), profile, Timestamp::EPOCH);
    let mut events = Vec::new();
    for kind in steps {
        pipeline.step(&FeedStep { t_ns: 1, kind }, &mut builder, |event| events.push(event));
        pipeline.take_questions();
        pipeline.take_withdrawn();
    }
    let facts = pipeline.finish(&mut builder, |event| events.push(event));
    events.iter_mut().for_each(|event| event.ts = Timestamp::EPOCH);
    Told { events, facts }
}

impl Written {
    fn streams(&self) -> Vec<(Stream, &[u8])> {
        let pty = self.pty.iter().map(|pty| (Stream::Pty, &pty.0[..]));
        [(Stream::Stdout, &self.stdout.0[..]), (Stream::Stderr, &self.stderr.0[..])].into_iter().chain(pty).collect()
    }

    /// One stream after the other, each in one piece.
    fn whole(&self) -> Vec<StepKind<'_>> {
        let bytes = |(stream, bytes)| [StepKind::Bytes { stream, bytes }, StepKind::Eof(stream)];
        self.streams().into_iter().flat_map(bytes).collect()
    }

    /// The same order, in other pieces.
    fn in_pieces(&self) -> Vec<StepKind<'_>> {
        let of_stream = |(stream, bytes)| {
            let pieces = pieces(bytes, &self.cuts).into_iter();
            pieces
                .map(move |bytes| StepKind::Bytes { stream, bytes })
                .chain([StepKind::Eof(stream)])
                .collect::<Vec<_>>()
        };
        self.streams().into_iter().flat_map(of_stream).collect()
    }

    /// Pieces of all streams by turns.
    fn by_turns(&self) -> Vec<StepKind<'_>> {
        let streams = self.streams();
        let mut waiting: Vec<_> =
            streams.iter().map(|(stream, bytes)| (*stream, pieces(bytes, &self.cuts).into_iter())).collect();
        let mut steps = Vec::new();
        loop {
            let before = steps.len();
            for (stream, pieces) in &mut waiting {
                let stream = *stream;
                steps.extend(pieces.next().map(|bytes| StepKind::Bytes { stream, bytes }));
            }
            if steps.len() == before {
                steps.extend(streams.iter().map(|(stream, _)| StepKind::Eof(*stream)));
                return steps;
            }
        }
    }
}

fn pieces<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut from = 0;
    ends.into_iter().map(|end| &bytes[std::mem::replace(&mut from, end)..end]).collect()
}

fn check(written: &Written) {
    let told = read(written.profile, written.whole());
    assert_lawful(&told, written);
    let in_pieces = read(written.profile, written.in_pieces());
    assert!(in_pieces == told, "other pieces, other events: {}", difference(&told, &in_pieces));
    let by_turns = read(written.profile, written.by_turns());
    assert_lawful(&by_turns, written);
    judge(&told.facts);
    let mut conversation = FcmpTranslator::default();
    for event in told.events {
        conversation.push(event, &mut |event| {
            serde_json::to_vec(&event).expect("an event that can be written");
        });
    }
}

fn difference(one: &Told, other: &Told) -> String {
    let at = one.events.iter().zip(&other.events).position(|(one, other)| one != other);
    match at {
        Some(at) => format!("{:?}\n{:?}", one.events[at], other.events[at]).chars().take(2000).collect(),
        None => {
            format!("{} and {} events, facts equal: {}", one.events.len(), other.events.len(), one.facts == other.facts)
        }
    }
}

fn assert_lawful(told: &Told, written: &Written) {
    for (at, event) in told.events.iter().enumerate() {
        assert_eq!(event.seq, at as u64 + 1, "a gap");
        let line = serde_json::to_string(event).expect("an event that can be written");
        assert!(line.len() <= MAX_LINE, "an event of {} bytes is too long for a Log", line.len());
        // JSON of an engine stands in an event as it was written; the Log puts spaces where its lines end.
        let back = Event::from_json(&line.replace('\n', " ")).expect("an event that can be read");
        assert!(back == *event || line.contains('\n'), "what is read back is another event: {line:.500}");
    }
    for (stream, source, bytes) in [
        (Stream::Stdout, SourceStream::Stdout, &written.stdout.0),
        (Stream::Stderr, SourceStream::Stderr, &written.stderr.0),
    ] {
        let mut shown = vec![false; bytes.len()];
        for (from, to) in
            told.events.iter().filter(|event| event.source.stream == source).flat_map(|e| ranges(e, stream))
        {
            assert!(from <= to && to <= bytes.len(), "{stream:?} has no {from}..{to}");
            shown[from..to].fill(true);
        }
        let lost = shown.iter().position(|shown| !shown);
        assert_eq!(lost, None, "no event has this byte of {stream:?}");
    }
}

/// An event made of pieces shows its pieces, not what lies between them.
fn ranges(event: &Event, stream: Stream) -> Vec<(usize, usize)> {
    if let Data::Evidence(EvidenceData::MessageFinal(message)) = &event.data
        && !message.spans.is_empty()
    {
        return message.spans.iter().map(|span| (span.from as usize, span.to as usize)).collect();
    }
    let raw = event.raw_ref;
    let (from, to) = match stream {
        Stream::Stdout => (raw.stdout_from, raw.stdout_to),
        Stream::Stderr | Stream::Pty => (raw.stderr_from, raw.stderr_to),
    };
    vec![(from as usize, to as usize)]
}

/// The gate has something to say about everything, in every mode.
fn judge(facts: &Facts) {
    for (mode, exit, ended_by) in [
        (ExecutionMode::Interactive, ProcessExit::Code(0), EndedBy::Exited),
        (ExecutionMode::Auto, ProcessExit::Code(1), EndedBy::Exited),
        (ExecutionMode::Auto, ProcessExit::Signal("SIGKILL".to_owned()), EndedBy::HardTimeout),
    ] {
        let settled = settle(
            facts,
            &Control {
                ended_by: Some(ended_by),
                ..Control::new(mode, AttemptNumber(1), Continuation::Resumable, exit)
            },
        );
        serde_json::to_vec(&settled.verdict).expect("a verdict that can be written");
    }
    for message in &facts.messages {
        match ask_user::find(&message.text) {
            ask_user::AskUser::None => {}
            ask_user::AskUser::Malformed { ranges } | ask_user::AskUser::Found { ranges, .. } => {
                let left = ask_user::without_envelopes(&message.text, &ranges);
                assert!(left.len() <= message.text.len() + 2 * ranges.len(), "it grew");
            }
        }
    }
}

#[test]
fn parsers() {
    fuzz("parsers", written(), check);
}

/// The check itself: without its last event a stream is not covered.
#[test]
#[should_panic(expected = "no event has this byte")]
fn a_lost_byte_is_seen() {
    let stdout = Bytes(b"noise\n{\"type\":\"turn.started\"}\nmore".to_vec());
    let (stderr, profile) = (Bytes(Vec::new()), ProfileId::CodexNdjson);
    let written = Written { profile, stdout, stderr, pty: None, cuts: Vec::new() };
    let mut told = read(profile, written.whole());
    assert_lawful(&told, &written);
    let noise = told.events.iter().position(|event| event.raw_ref.stdout_to == 6).expect("the first line");
    told.events.truncate(noise);
    assert_lawful(&told, &written);
}
