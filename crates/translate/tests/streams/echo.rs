//! Echo suppression: raw lines that only repeat a message are left out of the conversation, and only those.

use skillrun_model::fcmp::{FcmpData, FcmpEvent};
use skillrun_model::rasp::data::RunCompleted;
use skillrun_model::rasp::{ControlData, Correlation, Event, Level, SourceStream};
use skillrun_model::{AttemptNumber, Code, ProfileId, Stream, Timestamp};

use crate::run::{Arrival, builder, conversation, raw_of, read_with, story};

const OUT: Stream = Stream::Stdout;
const ERR: Stream = Stream::Stderr;

/// A finished message of codex.
fn says(lines: &[&str]) -> String {
    let text = serde_json::Value::from(lines.join("\n"));
    format!(r#"{{"type":"item.completed","item":{{"type":"agent_message","text":{text}}}}}"#)
}

/// The Log of a codex run that wrote these lines, in this order; the run is over after them.
fn log(lines: &[(Stream, String)]) -> Vec<Event> {
    let lines: Vec<_> = lines.iter().map(|(stream, line)| (*stream, format!("{line}\n"))).collect();
    let mut arrivals: Vec<_> = lines.iter().map(|(stream, line)| Arrival::Bytes(*stream, line.as_bytes())).collect();
    arrivals.extend([Arrival::End(OUT), Arrival::End(ERR)]);
    let mut builder = builder();
    let mut events = read_with(&mut builder, AttemptNumber(1), ProfileId::CodexNdjson, &arrivals).events;
    let done = RunCompleted::new(Code::CleanFinal);
    let data = ControlData::RunCompleted(done);
    events.push(builder.control(Timestamp::EPOCH, Level::Info, data, Correlation::default()));
    events
}

fn told(lines: &[(Stream, String)]) -> Vec<FcmpEvent> {
    let told = conversation(log(lines));
    let numbers: Vec<u64> = told.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=told.len() as u64).collect::<Vec<_>>(), "seq has no gap");
    told
}

/// The story without the general diagnostics about raw lines, and without the end.
fn words(lines: &[(Stream, String)]) -> Vec<String> {
    let mut words = story(&told(lines));
    assert_eq!(words.pop().as_deref(), Some("conversation.completed"));
    words.retain(|word| !word.starts_with("LOW_CONFIDENCE_PARSE"));
    words
}

fn out(lines: &[&str]) -> Vec<(Stream, String)> {
    lines.iter().map(|line| (OUT, (*line).to_owned())).collect()
}

fn err(lines: &[&str]) -> Vec<(Stream, String)> {
    lines.iter().map(|line| (ERR, (*line).to_owned())).collect()
}

fn message(lines: &[&str]) -> Vec<(Stream, String)> {
    vec![(OUT, says(lines))]
}

const ABC: &[&str] = &["a", "b", "c"];

/// The words of a conversation in which a message stands beside these lines of stderr.
fn check(rows: &[(&[&str], &[&str], &[&str])]) {
    for (lines, text, expected) in rows {
        assert_eq!(words(&[err(lines), message(text)].concat()), *expected, "{lines:?}");
    }
}

#[test]
fn three_lines_that_repeat_the_next_message_are_left_out() {
    check(&[
        (ABC, ABC, &["RAW_DUPLICATE_SUPPRESSED 3", "final a"]),
        // Spaces around a line do not matter.
        (&["  a", "b\r", "\tc "], &[" a ", "b", "c"], &["RAW_DUPLICATE_SUPPRESSED 3", "final  a "]),
    ]);
}

#[test]
fn three_lines_that_repeat_the_message_before_are_left_out() {
    let lines = [message(ABC), err(ABC)].concat();
    assert_eq!(words(&lines), ["final a", "RAW_DUPLICATE_SUPPRESSED 3"]);
}

#[test]
fn lines_are_compared_with_both_messages_around_them() {
    let lines = [message(&["a", "b"]), err(&["a", "b", "x", "y"]), message(&["x", "y"])].concat();
    assert_eq!(words(&lines), ["final a", "RAW_DUPLICATE_SUPPRESSED 4", "final x"]);
    let two_back = [message(ABC), message(&["x"]), err(ABC)].concat();
    assert_eq!(words(&two_back), ["final a", "final x", "err a", "err b", "err c"]);
}

#[test]
fn two_lines_are_no_echo() {
    check(&[
        (&["a", "b"], ABC, &["err a", "err b", "final a"]),
        (&["a", "b", "noise", "c"], ABC, &["err a", "err b", "err noise", "err c", "final a"]),
        // A fence has no content of its own, so it does not turn two lines into three.
        (&["```", "a", "b", "```"], ABC, &["err ```", "err a", "err b", "err ```", "final a"]),
        (&["a", "b"], &["```", "a", "b", "```"], &["err a", "err b", "final ```"]),
    ]);
}

#[test]
fn a_noise_line_beside_the_echo_does_not_defeat_it() {
    let between = ["a", "b", "c", "noise", "c", "b", "a", "c"];
    check(&[
        (&["noise", "a", "b", "c"], ABC, &["err noise", "RAW_DUPLICATE_SUPPRESSED 3", "final a"]),
        (&["a", "b", "c", "noise"], ABC, &["RAW_DUPLICATE_SUPPRESSED 3", "err noise", "final a"]),
        (&between, ABC, &["RAW_DUPLICATE_SUPPRESSED 3", "err noise", "RAW_DUPLICATE_SUPPRESSED 4", "final a"]),
        // Nor does a fence.
        (&["```json", "a", "b", "c", "```"], ABC, &["RAW_DUPLICATE_SUPPRESSED 5", "final a"]),
        (&["a", "~~~", "b", "c"], ABC, &["RAW_DUPLICATE_SUPPRESSED 4", "final a"]),
    ]);
}

/// Where blank lines are lines of their own, one between two paragraphs broke the run.
#[test]
fn a_blank_line_does_not_defeat_the_echo() {
    let stdout = b"a\n\nb\n\nc\n";
    let arrivals = [Arrival::Bytes(ERR, stdout), Arrival::End(ERR), Arrival::Bytes(OUT, stdout), Arrival::End(OUT)];
    let events = read_with(&mut builder(), AttemptNumber(1), ProfileId::PlainText, &arrivals).events;
    assert_eq!(events.iter().filter(|event| raw_of(event).is_some()).count(), 5);
    let mut words = story(&conversation(events));
    words.retain(|word| !word.starts_with("LOW_CONFIDENCE_PARSE"));
    assert_eq!(words, ["RAW_DUPLICATE_SUPPRESSED 5", "final a"]);
}

/// Lines of the other stream in between do not break the echo.
#[test]
fn the_other_stream_does_not_defeat_the_echo() {
    let both: Vec<_> = ABC.iter().flat_map(|line| [out(&["noise"]), err(&[line])].concat()).collect();
    let lines = [both, message(ABC)].concat();
    assert_eq!(words(&lines), ["out noise", "RAW_DUPLICATE_SUPPRESSED 3", "out noise", "out noise", "final a"]);
    // But two lines of each stream are not four lines.
    let two: Vec<_> = ["a", "b"].iter().flat_map(|line| [out(&[line]), err(&[line])].concat()).collect();
    assert_eq!(words(&[two, message(ABC)].concat()), ["out a", "err a", "out b", "err b", "final a"]);
}

#[test]
fn the_warning_has_the_range() {
    let lines = [err(&["noise", "a", "b", "c"]), message(ABC)].concat();
    let told = told(&lines);
    let suppressed = told.iter().find_map(|event| {
        let FcmpData::DiagnosticWarning(warning) = &event.data else { return None };
        (warning.code == Code::RawDuplicateSuppressed).then_some((event, warning))
    });
    let (event, warning) = suppressed.expect("an echo");
    let [span] = warning.spans[..] else { panic!("{warning:?}") };
    assert_eq!((span.stream, span.from, span.to), (SourceStream::Stderr, 6, 12));
    assert_eq!((event.raw_ref.stderr_from, event.raw_ref.stderr_to), (6, 12));
    assert_eq!((event.raw_ref.stdout_from, event.raw_ref.stdout_to), (0, 0));
}

#[test]
fn other_events_overtake_waiting_lines() {
    let turn = r#"{"type":"turn.started"}"#;
    let lines = [err(&["noise"]), out(&[turn]), err(&["more"]), out(&[turn]), message(ABC)].concat();
    assert_eq!(words(&lines), ["conversation.status", "conversation.status", "err noise", "err more", "final a"]);
    let echoed = [err(&["a"]), out(&[turn]), err(&["b"]), out(&[turn]), err(&["c"]), message(ABC)].concat();
    let expected = ["conversation.status", "conversation.status", "RAW_DUPLICATE_SUPPRESSED 3", "final a"];
    assert_eq!(words(&echoed), expected, "lines that follow each other as raw lines are consecutive");
}

#[test]
fn the_log_keeps_every_line() {
    let lines = [err(&["noise", "a", "b", "c"]), message(ABC)].concat();
    let log = log(&lines);
    let raws: Vec<_> = log.iter().filter_map(|event| raw_of(event)?.text.clone()).collect();
    assert_eq!(raws, ["noise", "a", "b", "c"]);
    let order: Vec<u64> = log.iter().map(|event| event.seq).collect();
    assert_eq!(order, (1..=log.len() as u64).collect::<Vec<_>>());
}

/// Raw lines on stdout; a line that is parsed after every 50 keeps them from becoming a flood, which has no text.
fn many(lines: &[String]) -> Vec<(Stream, String)> {
    let parsed = || (OUT, r#"{"type":"turn.started"}"#.to_owned());
    lines.chunks(50).flat_map(|some| some.iter().map(|line| (OUT, line.clone())).chain([parsed()])).collect()
}

/// Each raw line is 8 KiB, so that 512 of them are 4 MiB.
#[test]
fn at_most_4_mib_wait_and_the_oldest_are_released() {
    let long: Vec<String> = (0..700).map(|n| format!("{n:08192}")).collect();
    let log = log(&many(&long));
    let raws: Vec<Event> = log.into_iter().filter(|event| raw_of(event).is_some()).collect();
    let mut translator = skillrun_translate::FcmpTranslator::default();
    let mut shown = Vec::new();
    for (pushed, event) in raws.into_iter().enumerate() {
        translator.push(event, &mut |event| shown.push(event));
        let waiting = pushed + 1 - shown.len();
        assert!(waiting * 8192 <= 4 * 1024 * 1024, "{waiting} lines wait");
        assert!(pushed >= 490 || shown.is_empty(), "line {pushed} did not wait");
    }
    let numbers: Vec<_> = story(&shown).iter().filter_map(|word| word["out ".len()..].parse::<usize>().ok()).collect();
    assert_eq!(numbers, (0..shown.len()).collect::<Vec<_>>(), "the oldest go first");
    assert!(!shown.is_empty());
}

/// Lines that were released before their message arrived were still compared with the previous message.
#[test]
fn lines_released_early_match_the_previous_message() {
    let long: Vec<String> = (0..700).map(|n| format!("{n:08000}")).collect();
    let text: Vec<&str> = long.iter().map(|line| &line[..]).take(300).collect();
    let lines: Vec<_> = [message(&text), many(&long)].concat();
    let words = words(&lines);
    let counts = words.iter().filter_map(|word| word.strip_prefix("RAW_DUPLICATE_SUPPRESSED ")?.parse::<u32>().ok());
    assert_eq!(counts.sum::<u32>(), 300);
    assert_eq!(words.iter().filter(|word| word.starts_with("out ")).count(), 400);
}

#[test]
fn the_end_shows_what_waits() {
    let words = words(&[message(&["x"]), err(ABC)].concat());
    assert_eq!(words, ["final x", "err a", "err b", "err c"]);
}

/// The lines of an attempt are neither compared nor counted together with those of another, even where no event reports
/// that it ended.
#[test]
fn attempts_are_kept_apart() {
    let mut builder = builder();
    let mut log = Vec::new();
    let said = says(ABC);
    for (attempt, stdout) in [(1, format!("{said}\n")), (2, "a\nb\n".to_owned()), (3, format!("c\n{said}"))] {
        let arrivals = [Arrival::Bytes(OUT, stdout.as_bytes()), Arrival::End(OUT)];
        log.extend(read_with(&mut builder, AttemptNumber(attempt), ProfileId::CodexNdjson, &arrivals).events);
    }
    let mut words = story(&conversation(log));
    words.retain(|word| !word.starts_with("LOW_CONFIDENCE_PARSE"));
    assert_eq!(words, ["final a", "out a", "out b", "out c", "final a"]);
}
