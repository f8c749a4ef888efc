//! Input that no format allows for: never a panic, never a lost byte, and every range correct.

use skillrun_model::fcmp::{FcmpData, FcmpEvent};
use skillrun_model::rasp::Level;
use skillrun_model::{Code, ProfileId, Stream};
use skillrun_parse::LINE_BUDGET;
use skillrun_parse::record::EndKind;

use crate::coverage::{assert_covered, checked};
use crate::run::{Arrival, ReadAttempt, conversation, message_of, range, raw_of, read, read_whole};

const CODEX: ProfileId = ProfileId::CodexNdjson;
const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;
/// Contract R6.8.
const FLOOD_AFTER: usize = 100;
const FLOOD_STEP: usize = 64 * KIB;

const MESSAGE: &str = r#"{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"hello"}}"#;

/// The only raw event on stdout, and whether something was removed from its text.
fn only_raw(told: &ReadAttempt) -> (&str, bool) {
    let raws: Vec<_> = told.events.iter().filter_map(raw_of).collect();
    let [raw] = raws[..] else { panic!("{raws:?}") };
    (raw.text.as_deref().expect("a text"), raw.sanitized)
}

fn codex_raw(line: &[u8]) -> (String, bool) {
    let told = checked(CODEX, line, b"");
    let (text, sanitized) = only_raw(&told);
    (text.to_owned(), sanitized)
}

#[test]
fn odd_bytes_are_covered_in_every_profile() {
    let odd: &[&[u8]] = &[
        b"\xff\xfe\xfd",
        b"a\x00b\n\x00",
        b"one\r\ntwo\r\n\r\n",
        b"10%\r20%\r30%\r\n",
        b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf{\n\"session_id\":\"s\",\n\"response\":\"r\"}\n",
        b"\xe6\xbc\xa2\xe5\xad",
        b"{\"type\":\"text\",\"part\":{\"text\":\"\\ud800 x \\udc00\"}}\n",
        b"{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"cut in mid",
        b"\n\n \n\t\n",
        b"a\xe2\x80\xa8b\xc2\x85c\x0bd\x0ce\n",
        b"\xc2\x9b31mred\n",
    ];
    for profile in ProfileId::ALL {
        for bytes in odd {
            checked(*profile, bytes, b"");
            let told = checked(*profile, b"", bytes);
            let single: Vec<Arrival<'_>> = bytes.chunks(1).map(|byte| Arrival::Bytes(Stream::Stderr, byte)).collect();
            let ends = [Arrival::End(Stream::Stdout), Arrival::End(Stream::Stderr)];
            assert_eq!(read(*profile, &[&single[..], &ends].concat()), told, "{profile} {}", bytes.escape_ascii());
        }
    }
}

#[test]
fn invalid_utf8_is_shown_as_such() {
    assert_eq!(codex_raw(b"a\xffb\xc3\n"), ("a\u{fffd}b\u{fffd}".to_owned(), false));
}

#[test]
fn nul_and_other_controls_are_removed_and_flagged() {
    assert_eq!(codex_raw(b"a\x00b\x7fc\x08\n"), ("abc".to_owned(), true));
    assert_eq!(codex_raw(b"a\tb\n"), ("a\tb".to_owned(), false));
}

#[test]
fn escape_sequences_are_removed_and_flagged() {
    assert_eq!(codex_raw(b"\x1b[1;31mred\x1b[0m\x1b]0;title\x07.\n"), ("red.".to_owned(), true));
}

/// An ESC and an intermediate byte swallowed the next line.
#[test]
fn a_stray_escape_does_not_swallow_what_follows() {
    let told = checked(ProfileId::PlainText, b"a\x1b\"\nb\n", b"");
    assert_eq!(told.messages(), ["a\"\nb"]);
}

#[test]
fn a_c1_control_is_text() {
    assert_eq!(codex_raw("\u{9b}31mred\u{85}\n".as_bytes()), ("\u{9b}31mred\u{85}".to_owned(), false));
}

#[test]
fn only_a_line_feed_ends_a_line() {
    assert_eq!(codex_raw("a\u{2028}b\u{2029}c\n".as_bytes()), ("a\u{2028}b\u{2029}c".to_owned(), false));
    assert_eq!(codex_raw(b"10%\r20%\rdone\n"), ("10%20%done".to_owned(), true));
}

#[test]
fn a_carriage_return_belongs_to_the_end_of_its_line() {
    let stdout = format!("noise\r\n{MESSAGE}\r\n");
    let told = checked(CODEX, stdout.as_bytes(), b"");
    assert_eq!(told.raws(), [(Some("noise"), 0, 7)]);
    assert_eq!(told.messages(), ["hello"]);
    assert!(!only_raw(&told).1, "nothing was removed from the text");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_line() {
    let told = checked(CODEX, format!("\u{feff}{MESSAGE}\n").as_bytes(), b"");
    assert_eq!(told.messages(), ["hello"]);
    assert_eq!(codex_raw("\u{feff}x\n".as_bytes()).0, "x");
    let document = "\u{feff}{\n  \"session_id\": \"s\",\n  \"response\": \"hello\"\n}\n";
    assert_eq!(checked(ProfileId::GeminiJson, document.as_bytes(), b"").messages(), ["hello"]);
    // Elsewhere it is a character like any other.
    assert_eq!(codex_raw("x\u{feff}\n".as_bytes()).0, "x\u{feff}");
}

#[test]
fn a_character_split_between_reads_is_one_character() {
    let line = MESSAGE.replace("hello", "漢🙂é");
    let reads: Vec<Arrival<'_>> = line.as_bytes().chunks(1).map(|byte| Arrival::Bytes(Stream::Stdout, byte)).collect();
    let told = read(CODEX, &[&reads[..], &[Arrival::End(Stream::Stdout)]].concat());
    assert_eq!(told.messages(), ["漢🙂é"]);
}

#[test]
fn a_lone_surrogate_spoils_nothing() {
    let line = MESSAGE.replace("hello", r"a\ud800b \ud83d\ude42");
    assert_eq!(checked(CODEX, line.as_bytes(), b"").messages(), ["a\u{fffd}b 🙂"]);
}

#[test]
fn removed_characters_are_flagged_on_messages_and_tools() {
    let line = MESSAGE.replace("hello", r"\u001b[1mhello\u0007");
    let told = checked(CODEX, line.as_bytes(), b"");
    let message = told.events.iter().find_map(message_of).expect("a message");
    assert_eq!((message.text.as_str(), message.sanitized), ("hello", true));
    assert_eq!(told.facts.messages[0].text, "\u{1b}[1mhello\u{7}", "the gate reads what the engine wrote");
    let untouched = checked(CODEX, MESSAGE.as_bytes(), b"");
    assert!(!untouched.events.iter().find_map(message_of).expect("a message").sanitized);
}

#[test]
fn blank_lines_belong_to_the_next_event() {
    let stdout = format!("\n \t\n{MESSAGE}\n\nnoise\n");
    let told = checked(CODEX, stdout.as_bytes(), b"");
    let message = told.events.iter().find(|event| message_of(event).is_some()).expect("a message");
    let end = 4 + MESSAGE.len() + 1;
    assert_eq!(range(message), Some((Stream::Stdout, 0, end)));
    assert_eq!(told.raws(), [(Some("noise"), end, end + 7)]);
}

#[test]
fn blank_lines_at_the_end_are_an_event_of_their_own() {
    let stdout = format!("{MESSAGE}\n\n\r\n  ");
    let told = checked(CODEX, stdout.as_bytes(), b"\n");
    let end = MESSAGE.len() + 1;
    assert_eq!(told.raws(), [(Some(""), end, end + 5), (Some(""), 0, 1)]);
}

#[test]
fn a_raw_line_of_8_kib_is_shown_and_a_longer_one_kept_by_range() {
    let stdout = ["x".repeat(8 * KIB), "x".repeat(8 * KIB + 1), "short".to_owned()].join("\n") + "\n";
    let told = checked(CODEX, stdout.as_bytes(), b"");
    let raws: Vec<_> = told.events.iter().filter_map(raw_of).collect();
    let shown: Vec<_> = raws.iter().map(|raw| (raw.text.as_ref().map(String::len), raw.truncated)).collect();
    assert_eq!(shown, [(Some(8 * KIB), false), (None, true), (Some(5), false)]);
    assert_eq!(told.raws()[1], (None, 8 * KIB + 1, 16 * KIB + 3));
}

/// A line without an end must neither fill the memory nor end up in an event.
#[test]
fn a_line_over_8_mib_is_kept_by_range_in_every_profile() {
    let mut stdout = b"before\n".to_vec();
    stdout.resize(stdout.len() + LINE_BUDGET + 1, b'x');
    stdout.extend_from_slice(b"\nafter\n");
    let (from, to) = (7, 7 + LINE_BUDGET + 2);
    for profile in ProfileId::ALL {
        let told = read_whole(*profile, &stdout, b"");
        assert_covered(&told, &stdout, b"");
        let [notice] = told.coded(Code::LineTooLong)[..] else { panic!("{profile}: {:?}", told.events.len()) };
        // None of it was parsed, so it is more than a warning.
        assert_eq!((range(notice), notice.level), (Some((Stream::Stdout, from, to)), Level::Error), "{profile}");
        assert_eq!(notice.event_type().as_str(), "parser.error", "{profile}");
        assert_eq!(told.raws().iter().filter(|raw| **raw == (None, from, to)).count(), 1, "{profile}");
    }
    // Cut in mid-line, and with blank lines before it.
    stdout.truncate(to - 1);
    stdout[6] = b'\n';
    stdout[5] = b'\n';
    let told = read_whole(CODEX, &stdout, b"");
    assert_covered(&told, &stdout, b"");
    assert_eq!(told.raws(), [(Some("befor"), 0, 6), (None, 6, to - 1)]);
}

#[test]
fn a_line_of_8_mib_is_still_read() {
    let around = MESSAGE.replace("hello", "").len();
    let line = MESSAGE.replace("hello", &"x".repeat(LINE_BUDGET - around)) + "\n";
    let told = read_whole(CODEX, line.as_bytes(), b"");
    assert_eq!(told.coded(Code::LineTooLong).len(), 0);
    let message = told.events.iter().find_map(message_of).expect("a message");
    assert_eq!((message.text.len(), message.truncated), (4 * MIB, true));
    assert_eq!(told.facts.messages[0].text.len(), 4 * MIB);
}

#[test]
fn a_hundred_unparsed_lines_are_no_flood() {
    let row = "noise\n{}\n".repeat(FLOOD_AFTER / 2);
    let stdout = row.clone() + MESSAGE + "\n" + &row;
    let told = checked(CODEX, stdout.as_bytes(), b"");
    assert_eq!(told.coded(Code::RawFlood).len(), 0);
    assert_eq!(told.raws().len(), 2 * FLOOD_AFTER);
    assert_eq!(told.coded(Code::UnknownEvent).len(), FLOOD_AFTER);
}

#[test]
fn a_flood_is_one_range_per_64_kib() {
    let line = "n".repeat(99) + "\n";
    let flooding = 1500;
    let stderr = line.repeat(FLOOD_AFTER + flooding);
    for (profile, stdout) in [(CODEX, "noise\n".repeat(FLOOD_AFTER)), (ProfileId::PlainText, String::new())] {
        let told = checked(profile, stdout.as_bytes(), stderr.as_bytes());
        let notices = told.coded(Code::RawFlood);
        let [notice] = notices[..] else { panic!("{notices:?}") };
        let first = 100 * FLOOD_AFTER;
        assert_eq!(range(notice), Some((Stream::Stderr, first, first + 100)), "the other stream has no part in it");
        let ranges: Vec<_> =
            told.events.iter().filter(|event| raw_of(event).is_some_and(|raw| raw.truncated)).collect();
        let whole = FLOOD_STEP.div_ceil(100) * 100;
        let edges = [first, first + whole, first + 2 * whole, stderr.len()];
        let shown: Vec<_> = ranges.iter().map(|event| range(event).expect("a range")).collect();
        let expected: Vec<_> = edges.windows(2).map(|edge| (Stream::Stderr, edge[0], edge[1])).collect();
        assert_eq!(shown, expected, "{profile}");
        let lines: u64 = ranges.iter().filter_map(|event| raw_of(event)?.lines).sum();
        assert_eq!(lines, flooding as u64);
        // Lines on stderr are for people, where the format is never there.
        let counted =
            told.coded(Code::LowConfidenceParse).into_iter().filter(|event| event.source.stream.as_str() == "stderr");
        assert_eq!(counted.count(), 0, "{profile}");
    }
}

#[test]
fn a_flood_ends_with_the_next_event() {
    let stdout = "noise\n".repeat(FLOOD_AFTER + 3) + MESSAGE + "\nnoise\n";
    let told = checked(CODEX, stdout.as_bytes(), b"");
    let from = 6 * FLOOD_AFTER;
    let raws = told.raws();
    let last = stdout.len();
    assert_eq!(raws[FLOOD_AFTER..], [(None, from, from + 18), (Some("noise"), last - 6, last)]);
}

/// Found in use: 2 MB of `{}` lines became 1.94 GB. Two alternating types, or lines that are not JSON in between, must
/// not help a row to stay at full cost.
#[test]
fn long_rows_of_unparsed_lines_cost_little() {
    let rows = ["{}\n", "{}\nx\n", "{\"type\":\"a\"}\n{\"type\":\"b\"}\n", "x\n", "{}\n\n\n", "[]\n\u{1b}[0m\n"];
    for profile in ProfileId::ALL {
        for row in rows {
            let stdout = row.repeat(60 * KIB / row.len());
            for (stdout, stderr) in [(stdout.as_str(), ""), ("", stdout.as_str())] {
                let told = checked(*profile, stdout.as_bytes(), stderr.as_bytes());
                let written: usize = told.events.iter().map(|event| event.to_json().len()).sum();
                let most = 2 * (stdout.len() + stderr.len()) + 250 * KIB;
                assert!(written <= most, "{profile} {row:?}: {written} bytes of events, at most {most}");
            }
        }
    }
}

#[test]
fn lines_of_a_flood_are_counted_by_their_type() {
    let row = "{}\n{\"type\":\"new.thing\"}\nnoise\n{\"type\":\"new.thing\",\"n\":1}\n";
    let rows = 5000;
    let stdout = row.repeat(rows) + MESSAGE + "\n";
    let told = checked(CODEX, stdout.as_bytes(), b"");
    let floods: Vec<_> = told.events.iter().filter_map(raw_of).filter(|raw| raw.lines.is_some()).collect();
    assert!(floods.len() > 1, "{}", floods.len());
    let lines: u64 = floods.iter().filter_map(|raw| raw.lines).sum();
    assert_eq!(lines as usize, 4 * rows - FLOOD_AFTER);
    let typed = |name: &str| floods.iter().filter_map(|raw| raw.unknown_types.get(name)).sum::<u64>() as usize;
    assert_eq!(typed("new.thing"), 2 * rows - FLOOD_AFTER / 2);
    assert_eq!(typed("object without type"), rows - FLOOD_AFTER / 4);
    let parse = &told.facts.parse;
    assert_eq!((parse.unknown as usize, parse.raw as usize), (3 * rows, rows));
    let types: Vec<_> = parse.unknown_types.iter().collect();
    assert_eq!(types, [("new.thing", 2 * rows as u64), ("object without type", rows as u64)]);
    let shown: Vec<_> = conversation(told.events).into_iter().filter_map(|event| lines_of(&event)).collect();
    assert_eq!(shown.iter().sum::<u64>(), lines, "the conversation has the same counts");
}

fn lines_of(event: &FcmpEvent) -> Option<u64> {
    if let FcmpData::RawStdout(raw) = &event.data { raw.lines } else { None }
}

/// Where a flood is split depends on its bytes alone, so that a worker that reads it again after a crash makes the same
/// events as the worker before it.
#[test]
fn a_flood_is_split_alike_whatever_the_reads_are() {
    let stdout = "{}\nx\n\n{\"type\":\"a\"}\n".repeat(9000) + MESSAGE + "\n" + &"{}\n".repeat(150);
    let stderr = "warn\n".repeat(30_000);
    let whole = checked(CODEX, stdout.as_bytes(), stderr.as_bytes());
    for size in [1, 2, 7, 4096, FLOOD_STEP, FLOOD_STEP + 1] {
        let arrivals: Vec<_> =
            stdout.as_bytes().chunks(size).map(|bytes| Arrival::Bytes(Stream::Stdout, bytes)).collect();
        let then: Vec<_> = stderr.as_bytes().chunks(size).map(|bytes| Arrival::Bytes(Stream::Stderr, bytes)).collect();
        let ends = [Arrival::End(Stream::Stdout), Arrival::End(Stream::Stderr)];
        let told = read(CODEX, &[&arrivals[..], &then[..], &ends].concat());
        assert!(told == whole, "reads of {size} bytes give other events");
    }
}

/// Nothing that a rule of settling or a diagnostic needs is hidden in a flood.
#[test]
fn what_the_gate_needs_is_found_behind_a_flood() {
    let row = "{}\n".repeat(FLOOD_AFTER + 50);
    let marker = "noise {\"__SKILL_DONE__\": true}\n";
    let told = checked(CODEX, (row.clone() + marker + &row).as_bytes(), b"");
    let [warning] = told.coded(Code::DoneMarkerInRaw)[..] else { panic!("one warning") };
    assert_eq!(range(warning), Some((Stream::Stdout, 3 * FLOOD_AFTER, 2 * row.len() + marker.len())));
    let cut = r#"{"type":"turn.completed","usage":{"input_tok"#;
    let told = checked(CODEX, (row.clone() + MESSAGE + "\n" + &row + cut).as_bytes(), b"");
    assert_eq!(told.coded(Code::EndEventCut).len(), 1);
    assert!(told.facts.end.is_some_and(|end| end.kind == EndKind::Success));
    let refused = "x\n".repeat(FLOOD_AFTER + 50) + "Error: no rollout found for thread id 7\n";
    let told = checked(CODEX, b"", refused.as_bytes());
    assert!(told.facts.session_refused);
}

#[test]
fn a_cut_document_is_read_as_lines() {
    let stdout = "\n{\n  \"session_id\": \"s\",\n\n";
    let told = checked(ProfileId::GeminiJson, stdout.as_bytes(), b"");
    assert_eq!(told.raws(), [(Some("{"), 0, 3), (Some("  \"session_id\": \"s\","), 3, 24), (Some(""), 24, 25)]);
    let [unclosed] = told.coded(Code::DocumentUnclosed)[..] else { panic!("{:?}", told.events.len()) };
    assert_eq!(unclosed.event_type().as_str(), "parser.error");
}

#[test]
fn unknown_events_are_warned_of_and_kept() {
    let line = r#"{"type":"never.heard.of","x":1}"#;
    let told = checked(CODEX, format!("{line}\n").as_bytes(), b"");
    assert_eq!(told.coded(Code::UnknownEvent).len(), 1);
    assert_eq!(told.raws(), [(Some(line), 0, line.len() + 1)]);
}
