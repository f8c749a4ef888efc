//! Evidence through patterns: every reader, live or later, sees the result of searching each line, and ends of lines,
//! ends of streams and acts come in the same order and at the same moments as without patterns.

use proptest::prelude::*;
use proptest::sample::select;
use regex::bytes::Regex;
use skillrun_model::AttemptNumber;

use crate::feed::{FeedStep, StepKind};
use crate::testing::{Recording, RecordingAct, patterns, recording_acts, report, step_text};
use crate::{LiveFeed, Patterns, Recorder, Stream, Tail};

const ONE: AttemptNumber = AttemptNumber(1);
const MAIL: &str = r"[a-z]+@example\.org";
const KEY: &str = "key=.*";
/// The same in bytes, for a search that knows nothing of characters.
const KEY_IN_BYTES: &str = r"(?s-u)key=.*";

/// What a file shows: found line by line in all of it, then the ranges.
fn expected(all: &[&str], file: &[u8], hidden: &[(usize, usize)]) -> Vec<u8> {
    let mut masked = file.to_vec();
    let mut begin = 0;
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        let content = line.strip_suffix(b"\n").unwrap_or(line);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        for pattern in all {
            for found in Regex::new(pattern).expect("a pattern").find_iter(content) {
                masked[begin + found.start()..begin + found.end()].fill(b'*');
            }
        }
        begin += line.len();
    }
    hidden.iter().for_each(|(from, to)| masked[*from..*to].fill(b'*'));
    masked
}

/// What a reader of lines learns, and when; and all bytes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Seen {
    told: Vec<String>,
    bytes: [Vec<u8>; 3],
}

impl Seen {
    fn step(&mut self, step: &FeedStep<'_>) {
        match step.kind {
            StepKind::Bytes { stream, bytes } => {
                assert!(!bytes.is_empty());
                let all = &mut self.bytes[stream.index()];
                let before = all.len();
                all.extend_from_slice(bytes);
                for end in memchr::memchr_iter(b'\n', bytes) {
                    self.told.push(format!("{} {} line to {}", step.t_ns, stream.source(), before + end));
                }
            }
            StepKind::Eof(stream) => {
                let len = self.bytes[stream.index()].len();
                self.told.push(format!("{} at {len}", step_text(step)));
            }
            StepKind::Act(_) => self.told.push(step_text(step)),
        }
    }

    fn offline(recording: &Recording, patterns: &Patterns) -> Self {
        let mut feed = recording.folder().hiding(patterns).attempt(ONE).expect("an attempt").feed().expect("a feed");
        let mut seen = Self::default();
        while let Some(step) = feed.next_step().expect("a step") {
            seen.step(&step);
        }
        Stream::ALL.into_iter().for_each(|s| assert_eq!(feed.position(s), seen.bytes[s.index()].len() as u64));
        assert_eq!(feed.problems(), [""; 0]);
        seen
    }
}

#[test]
fn a_line_comes_at_the_moment_of_its_end() {
    let index = concat!(
        "{\"t_ns\":1,\"stream\":\"stdout\",\"from\":0,\"to\":5}\n",
        "{\"t_ns\":2,\"stream\":\"stderr\",\"from\":0,\"to\":3}\n",
        "{\"t_ns\":3,\"act\":\"stall\"}\n",
        "{\"t_ns\":4,\"stream\":\"stdout\",\"from\":5,\"to\":17}\n",
        "{\"t_ns\":5,\"stream\":\"stdout\",\"from\":17,\"to\":21}\n",
        "{\"t_ns\":6,\"act\":\"linger\"}\n",
        "{\"t_ns\":7,\"eof\":\"stdout\"}\n",
    );
    let files: [(&str, &[u8]); 4] = [
        ("stdout.1.log", b"by jo@example.org\nabc"),
        ("stderr.1.log", b"x\r\n"),
        ("chunks.1.jsonl", index.as_bytes()),
        ("redact.1.jsonl", b"{\"stream\":\"stdout\",\"from\":18,\"to\":19}\n"),
    ];
    let recording = Recording::new(&files);
    let read = |patterns: &Patterns| {
        let mut feed = recording.attempt().feed().expect("a feed").hiding(patterns);
        crate::testing::steps(&mut feed)
    };
    let lines = [
        "2 stderr x\\r\\n",
        "3 stall",
        "5 stdout by **************\\n",
        "6 linger",
        "7 stdout *bc",
        "7 stdout over",
        "7 stderr over",
    ];
    assert_eq!(read(&patterns(&[MAIL])), lines);
    assert_eq!(read(&Patterns::default()), recording.steps().0, "no patterns change nothing");
}

/// A secret is hidden by its range, and a pattern that it is part of must be found all the same.
#[test]
fn a_pattern_sees_what_the_process_wrote() {
    let files: [(&str, &[u8]); 2] = [
        ("stdout.1.log", b"token hunter22-and-more\n"),
        ("redact.1.jsonl", b"{\"stream\":\"stdout\",\"from\":6,\"to\":14}\n"),
    ];
    let recording = Recording::new(&files);
    let seen = Seen::offline(&recording, &patterns(&["hunter[0-9a-z-]+"]));
    assert_eq!(seen.bytes[0].escape_ascii().to_string(), r"token *****************\n");
}

fn words() -> impl Strategy<Value = Vec<u8>> {
    let addresses = [&b"jo@example.org"[..], b"jo@exam", b"ple.org", b"al", b"@", b"key=", b"k", b"ey="];
    let others = [&b"\n"[..], b"\r\n", b"\r", b"\n\n", b" ", b"\xc3\xa4", b"\xc3", b"\xff", b"0"];
    select([&addresses[..], &others].concat()).prop_map(<[u8]>::to_vec)
}

/// Records all remaining bytes, as a host does at its end.
fn close(recorder: &mut Recorder, hidden: &mut [Vec<(usize, usize)>; 3], t_ns: u64) {
    for stream in Stream::ALL {
        if !recorder.is_over(stream) {
            recorder.clear(stream, u64::MAX);
        }
    }
    recorder.announce(t_ns).expect("announced");
    hidden.iter_mut().for_each(|ranges| ranges.sort_unstable());
}

proptest! {
    #[test]
    fn live_and_later_are_the_same_and_nothing_gets_through(acts in recording_acts(words(), 70_000, 120)) {
        let recording = Recording::new(&[]);
        let audit = recording.path().join(".audit");
        let all = patterns(&[MAIL, KEY]);
        let mut recorder = Recorder::create(&audit, ONE, &Stream::ALL).expect("files");
        let open = || LiveFeed::open(&audit, ONE).expect("readable").hiding(&all);
        let (mut feed, mut seen) = (open(), Seen::default());
        let (mut tail, mut tailed) = (Tail::new(&audit, ONE).hiding(&all), [const { Vec::new() }; 3]);
        let (mut told, mut hidden) = ([0; 3], [const { Vec::new() }; 3]);
        let mut t_ns = 0;
        for act in acts {
            t_ns += 1;
            if let RecordingAct::Read(parts) = act {
                let extent = report(&recorder, parts, &mut told);
                for stream in Stream::ALL {
                    while let Some(bytes) = tail.next(stream, told[stream.index()]).expect("readable") {
                        tailed[stream.index()].extend_from_slice(bytes);
                    }
                }
                while let Some(step) = feed.next_step(extent).expect("readable") {
                    seen.step(&step);
                }
            } else if matches!(act, RecordingAct::Restart) {
                (feed, seen) = (open(), Seen::default());
            } else {
                if let RecordingAct::Hide(stream) = act {
                    hidden[stream.index()].push((recorder.clear_to(stream) as usize, recorder.written(stream) as usize));
                }
                act.record(&mut recorder, t_ns);
            }
        }
        close(&mut recorder, &mut hidden, t_ns);
        let recorded = Stream::ALL.map(|stream| recorder.recorded(stream));
        drop(recorder);
        let mut rest = feed.finish().expect("readable");
        while let Some(step) = rest.next_step().expect("readable") {
            seen.step(&step);
        }
        let later = Seen::offline(&recording, &all);
        prop_assert_eq!(&seen.told, &later.told);
        prop_assert!(seen == later);
        let plain = Seen::offline(&recording, &Patterns::default());
        prop_assert_eq!(&plain.told, &later.told, "patterns change no moment and no order");
        for stream in Stream::ALL {
            let at = stream.index();
            let file = std::fs::read(audit.join(crate::names::log(stream, ONE))).expect("a file");
            let end = recorded[at] as usize;
            let hidden: Vec<_> = hidden[at].iter().map(|(from, to): &(usize, usize)| ((*from).min(end), (*to).min(end))).collect();
            let wanted = expected(&[MAIL, KEY_IN_BYTES], &file[..end], &hidden);
            prop_assert_eq!(&later.bytes[at].escape_ascii().to_string(), &wanted.escape_ascii().to_string());
            while let Some(bytes) = tail.next(stream, recorded[at]).expect("readable") {
                tailed[at].extend_from_slice(bytes);
            }
            tailed[at].extend_from_slice(tail.rest(stream).unwrap_or_default());
            prop_assert!(tailed[at] == wanted, "a tail shows the same");
            prop_assert_eq!(tail.rest(stream), None);
        }
    }
}
