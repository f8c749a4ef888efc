//! A terminal's recording beside stdout and stderr: only what they lack is taken from it.

use skillrun_model::rasp::SourceStream;
use skillrun_model::{Code, ProfileId, Stream};
use skillrun_parse::record::EndKind;
use skillrun_translate::coverage::Coverage;

use crate::run::{Arrival, ReadAttempt, message_of, read};

fn says(id: &str, text: &str) -> String {
    format!(r#"{{"type":"item.completed","item":{{"id":"{id}","type":"agent_message","text":"{text}"}}}}"#) + "\r\n"
}

const DONE: &str = "{\"type\":\"turn.completed\"}\n";

/// Reads three streams, one after the other.
fn three(profile: ProfileId, [stdout, stderr, pty]: [&str; 3], order: [Stream; 3]) -> ReadAttempt {
    let bytes = |stream| match stream {
        Stream::Stdout => Arrival::Bytes(stream, stdout.as_bytes()),
        Stream::Stderr => Arrival::Bytes(stream, stderr.as_bytes()),
        Stream::Pty => Arrival::Bytes(stream, pty.as_bytes()),
    };
    let arrivals = [order.map(bytes), order.map(Arrival::End)].concat();
    let told = read(profile, &arrivals);
    let mut coverage = Coverage::default();
    told.events.iter().for_each(|event| coverage.add(event));
    assert_eq!(coverage.covered(Stream::Stdout), stdout.len() as u64);
    assert_eq!(coverage.covered(Stream::Stderr), stderr.len() as u64);
    told
}

const ORDERS: [[Stream; 3]; 2] =
    [[Stream::Stdout, Stream::Stderr, Stream::Pty], [Stream::Pty, Stream::Stderr, Stream::Stdout]];

fn codex(stdout: &str, pty: &str) -> ReadAttempt {
    let [told, other] = ORDERS.map(|order| three(ProfileId::CodexNdjson, [stdout, "", pty], order));
    assert_eq!(told.facts, other.facts);
    told
}

/// Name and text of the messages the gate sees.
fn seen(told: &ReadAttempt) -> Vec<(&str, &str)> {
    told.facts.messages.iter().map(|message| (message.message_id.as_str(), message.text.as_str())).collect()
}

/// Names of the messages in the Log.
fn named(told: &ReadAttempt) -> Vec<&str> {
    told.events.iter().filter_map(message_of).map(|message| message.message_id.as_str()).collect()
}

#[test]
fn equal_streams_do_not_mismatch() {
    let text = [&says("i1", "a"), &says("i2", "b"), DONE].concat();
    let told = codex(&text, &text);
    assert_eq!(told.coded(Code::PtyStreamMismatch).len(), 0);
    assert_eq!(told.messages(), ["a", "b"]);
    assert_eq!(seen(&told), [("m1.i1", "a"), ("m1.i2", "b")]);
    assert!(told.facts.messages.iter().all(|message| message.spans[0].stream == Stream::Stdout));
}

#[test]
fn a_message_only_the_terminal_has_is_taken_from_there() {
    let stdout = [&says("i1", "a"), DONE].concat();
    let pty = [&says("i1", "a"), &says("i2", "b"), DONE].concat();
    let told = codex(&stdout, &pty);
    let [notice] = told.coded(Code::PtyStreamMismatch)[..] else { panic!("{:?}", told.events) };
    assert_eq!(notice.source.stream, SourceStream::Pty);
    assert_eq!(told.messages(), ["a", "b"]);
    let taken = told.events.iter().rev().find_map(message_of).expect("a message");
    let [span] = taken.spans[..] else { panic!("{taken:?}") };
    let from = says("i1", "a").len() as u64;
    assert_eq!((span.stream, span.from, span.to), (SourceStream::Pty, from, from + says("i2", "b").len() as u64));
    assert_eq!(seen(&told), [("m1.i1", "a"), ("m1.i2", "b")]);
    assert_eq!(named(&told), ["m1.i1", "m1.i2"]);
}

/// A message that is missing on stdout comes last in the Log, but the answer is the message that was written last.
#[test]
fn the_answer_is_the_last_message_of_the_terminal() {
    let stdout = [&says("i1", "a"), &says("i3", "c"), DONE].concat();
    let pty = [&says("i1", "a"), &says("i2", "b"), &says("i3", "c"), DONE].concat();
    let told = codex(&stdout, &pty);
    assert_eq!(told.messages(), ["a", "c", "b"]);
    assert_eq!(seen(&told), [("m1.i1", "a"), ("m1.i2", "b"), ("m1.i3", "c")]);
    assert_eq!(told.facts.end.map(|end| end.kind), Some(EndKind::Success));
}

#[test]
fn each_message_of_the_answer_has_the_name_it_has_in_the_log() {
    let stdout = [says("i1", "same"), says("i2", "same"), says("i4", "last")].concat();
    let pty = [says("i1", "same"), says("i2", "same"), says("i1", "other"), says("i4", "last")].concat();
    let told = codex(&stdout, &pty);
    assert_eq!(named(&told), ["m1.i1", "m1.i2", "m1.i4", "m1.i1#2"]);
    assert_eq!(seen(&told), [("m1.i1", "same"), ("m1.i2", "same"), ("m1.i1#2", "other"), ("m1.i4", "last")]);
}

#[test]
fn a_terminal_that_lacks_something_changes_nothing() {
    let stdout = [&says("i1", "a"), &says("i2", "b"), DONE].concat();
    let told = codex(&stdout, &says("i1", "a"));
    assert_eq!(told.coded(Code::PtyStreamMismatch).len(), 0);
    assert_eq!(seen(&told), [("m1.i1", "a"), ("m1.i2", "b")]);
}

/// An end that only the terminal shows counts where its messages do.
#[test]
fn a_cut_stdout_ends_as_on_the_terminal() {
    let pty = [&says("i1", "a"), &says("i2", "b"), DONE].concat();
    let told = codex(&says("i1", "a"), &pty);
    assert_eq!(told.facts.end.map(|end| (end.kind, end.span.stream)), Some((EndKind::Success, Stream::Pty)));
    let without = codex(&says("i1", "a"), &[&says("i1", "a"), DONE].concat());
    assert_eq!(without.facts.end, None);
}

#[test]
fn raw_lines_of_the_terminal_are_no_events() {
    let told = codex(&says("i1", "a"), &["noise\n", &says("i1", "a")].concat());
    assert_eq!(told.raws(), []);
    assert!(told.events.iter().all(|event| event.source.stream != SourceStream::Pty));
}

fn document(text: &str) -> String {
    format!("{{\n  \"session_id\": \"s-{text}\",\n  \"response\": \"{text}\"\n}}\n")
}

#[test]
fn gemini_looks_at_stderr_then_stdout_then_the_terminal() {
    let documents = ["out", "err", "pty"].map(document);
    let [out, err, pty] = documents.each_ref().map(String::as_str);
    let cases = [
        ([out, err, pty], "err", 0),
        ([out, "noise\n", pty], "out", 0),
        (["noise\n", "", pty], "pty", 1),
        (["", "", pty], "pty", 1),
    ];
    for (streams, answer, mismatches) in cases {
        for order in ORDERS {
            let told = three(ProfileId::GeminiJson, streams, order);
            let texts: Vec<_> = told.facts.messages.iter().map(|message| message.text.as_str()).collect();
            assert_eq!(texts, [answer]);
            assert_eq!(told.facts.session_id.as_deref(), Some(&*format!("s-{answer}")));
            assert_eq!(told.facts.end.as_ref().map(|end| end.kind), Some(EndKind::Success));
            assert_eq!(told.coded(Code::PtyStreamMismatch).len(), mismatches, "{answer}");
            assert!(named(&told).contains(&told.facts.messages[0].message_id.as_str()));
        }
    }
}
