use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use skillrun_evidence::Recorder;
use skillrun_model::Wiring;

use super::*;
use crate::evidence_views::testing::{ONE, World, moment, put};

const MAIL: &str = r"[a-z]+@example\.org";
const TRICKY: &[&str] = &[MAIL, "key=.*", "\"[^\"]*\"", r"\bab\b", "^a", "b$", "[a-c]+x?", r"\Bb", "ä+"];

/// A run whose first attempt has begun.
fn recording(patterns: &[&str]) -> (World, Recorder) {
    let world = World::new(patterns);
    let recorder = world.recorder(ONE, &[Stream::Stdout]);
    (world, recorder)
}

fn open(world: &World, kind: RawKind) -> Result<RawStream, RawError> {
    RawStream::open(&world.folder, &world.record, ONE, kind)
}

fn all(world: &World, kind: RawKind) -> String {
    let stream = open(world, kind).expect("readable");
    let bytes = stream.read(0, MOST).expect("bytes");
    assert_eq!(bytes.len() as u64, stream.size());
    bytes.escape_ascii().to_string()
}

/// A host that is running.
fn socket(world: &World) -> UnixListener {
    UnixListener::bind(world.audit(names::SOCKET)).expect("a socket")
}

#[test]
fn a_part_of_a_line_is_hidden_as_the_whole_line_says() {
    let world = World::new(&["^key=[0-9]+;$"]);
    let mut recorder = world.recorder(ONE, &[Stream::Stdout, Stream::Stderr]);
    put(&mut recorder, 1, Stream::Stdout, b"key=12;\nkey=34\nhunter22 key=5;", Some(15..23));
    put(&mut recorder, 2, Stream::Stderr, b"err", None);
    world.seal(recorder, Wiring::Pipes, moment(0));
    let stream = open(&world, RawKind::Stdout).expect("readable");
    for (from, limit, wanted) in
        [(0, 99, "*******\nkey=34\n******** key=5;"), (4, 2, "**"), (12, 5, "34\n**"), (29, 9, ";"), (30, 9, "")]
    {
        let read = stream.read(from, limit).expect("bytes");
        assert_eq!(String::from_utf8_lossy(&read), wanted, "from {from}");
    }
    assert_eq!(stream.read(u64::MAX, usize::MAX).expect("nothing"), b"");
    assert_eq!(all(&world, RawKind::Stderr), "err");
}

/// The input of a process has ranges of its own, which are written later than its bytes.
#[test]
fn stdin_is_hidden_until_its_secrets_are_known() {
    let (world, mut recorder) = recording(&[MAIL]);
    recorder.write_stdin(b"use hunter22 of jo@example.org\n").expect("written");
    assert_eq!(all(&world, RawKind::Stdin), "*".repeat(31));
    recorder.hide_stdin(4..12).expect("hidden");
    world.seal(recorder, Wiring::Pipes, moment(0));
    assert_eq!(all(&world, RawKind::Stdin), r"use ******** of **************\n");
}

/// An emptied mask was accepted, and the secret was shown.
#[test]
fn what_a_lost_mask_hid_is_withheld() {
    let (world, mut recorder) = recording(&[]);
    put(&mut recorder, 1, Stream::Stdout, b"before\n", None);
    put(&mut recorder, 2, Stream::Stdout, b"key hunter22\n", Some(11..19));
    recorder.write_stdin(b"hunter22\n").expect("written");
    recorder.hide_stdin(0..8).expect("hidden");
    world.seal(recorder, Wiring::Pipes, moment(0));
    assert_eq!(all(&world, RawKind::Stdout), r"before\nkey ********\n");
    assert_eq!(all(&world, RawKind::Stdin), r"********\n");
    for lost in ["", "{\"stream\":\"stdout\",\"from\":11,\"to\""] {
        world.write("redact.1.jsonl", lost.as_bytes());
        assert_eq!(all(&world, RawKind::Stdout), format!(r"before\n{}", "*".repeat(13)));
        assert_eq!(all(&world, RawKind::Stdin), "*".repeat(9), "it is not what the host sealed");
    }
}

#[test]
fn what_is_not_there_is_told() {
    let world = World::new(&[]);
    assert!(matches!(open(&world, RawKind::Stdout), Err(RawError::NoAttempt(ONE))));
    let recorder = world.recorder(ONE, &[Stream::Stdout]);
    world.seal(recorder, Wiring::Pipes, moment(0));
    assert!(matches!(open(&world, RawKind::Pty), Err(RawError::NoStream(RawKind::Pty, ONE))));
    for number in [0, 2, u32::MAX] {
        let number = AttemptNumber(number);
        let opened = RawStream::open(&world.folder, &world.record, number, RawKind::Stdout);
        assert!(matches!(opened, Err(RawError::NoAttempt(told)) if told == number));
    }
}

/// A removal may be under way: the mask can be gone before the bytes it hides.
#[test]
fn evidence_that_is_being_removed_is_not_read() {
    let (world, mut recorder) = recording(&[]);
    put(&mut recorder, 1, Stream::Stdout, b"hunter22", Some(0..8));
    world.seal(recorder, Wiring::Pipes, moment(0));
    world.write(retention::NOTE, b"{}\n");
    assert!(matches!(open(&world, RawKind::Stdout), Err(RawError::EvidenceRemoved(ONE))));
    fs::remove_file(world.audit("stdout.1.log")).expect("removed");
    assert!(matches!(open(&world, RawKind::Stdout), Err(RawError::EvidenceRemoved(ONE))));
    let other = RawStream::open(&world.folder, &world.record, AttemptNumber(2), RawKind::Stdout);
    assert!(matches!(other, Err(RawError::NoAttempt(_))));
}

/// An engine that can write there must not choose what is read.
#[test]
fn a_link_does_not_lead_out_of_the_run() {
    let (world, mut recorder) = recording(&[]);
    put(&mut recorder, 1, Stream::Stdout, b"abc", None);
    fs::remove_file(world.audit("stdout.1.log")).expect("removed");
    fs::write(world.folder.root().join("elsewhere"), "secret").expect("a file");
    symlink(world.folder.root().join("elsewhere"), world.audit("stdout.1.log")).expect("a link");
    assert!(matches!(open(&world, RawKind::Stdout), Err(RawError::Io { .. })));
}

#[test]
fn a_record_past_the_end_of_its_file_is_torn() {
    for is_live in [false, true] {
        let world = World::new(&[]);
        let mut recorder = world.recorder(ONE, &[Stream::Stdout, Stream::Stderr]);
        for _ in 0..20 {
            put(&mut recorder, 1, Stream::Stdout, b"0123456789", None);
            put(&mut recorder, 1, Stream::Stderr, b"x", None);
        }
        let _socket = is_live.then(|| socket(&world));
        assert_eq!(open(&world, RawKind::Stdout).expect("readable").size(), 200);
        let file = fs::OpenOptions::new().write(true).open(world.audit("stdout.1.log")).expect("a file");
        file.set_len(125).expect("cut");
        assert_eq!(open(&world, RawKind::Stdout).expect("readable").size(), 120, "{is_live}");
        assert_eq!(open(&world, RawKind::Stderr).expect("readable").size(), 20, "{is_live}");
        assert_eq!(world.fed(ONE)[0].len(), 120);
    }
}

/// A host's record does not count when the index has lost its end.
#[test]
fn an_index_that_lost_its_end_is_read() {
    let (world, mut recorder) = recording(&[]);
    for _ in 0..30 {
        put(&mut recorder, 1, Stream::Stdout, b"0123456789", None);
    }
    world.seal(recorder, Wiring::Pipes, moment(0));
    assert_eq!(open(&world, RawKind::Stdout).expect("readable").size(), 300);
    let index = fs::read(world.audit("chunks.1.jsonl")).expect("an index");
    let ends: Vec<usize> = index.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    for (cut, wanted) in [(ends[11], 120), (ends[11] + 5, 120), (ends[28], 290), (0, 0)] {
        world.write("chunks.1.jsonl", &index[..cut]);
        assert_eq!(open(&world, RawKind::Stdout).expect("readable").size(), wanted);
        assert_eq!(world.fed(ONE)[0].len() as u64, wanted);
    }
    fs::remove_file(world.audit("chunks.1.jsonl")).expect("removed");
    assert_eq!(open(&world, RawKind::Stdout).expect("readable").size(), 300, "without an index all of it counts");
}

/// Recordings that no host of skillrun made.
#[test]
fn older_recordings_are_read_too() {
    let world = World::new(&[]);
    world.write("pty-output.1.log", b"one hunter22 and what nobody told of");
    world.write("redact.1.jsonl", b"{\"stream\":\"pty\",\"from\":4,\"to\":12}\n");
    world.write("chunks.1.jsonl", b"{\"t\":0.1,\"s\":\"pty\",\"n\":5}\n{\"t\":0.2,\"s\":\"pty\",\"n\":9}\n");
    for is_live in [false, true] {
        let _socket = is_live.then(|| socket(&world));
        for kind in [RawKind::Stdout, RawKind::Pty] {
            assert_eq!(all(&world, kind), "one ******** a");
        }
    }
    assert_eq!(world.fed(ONE)[0], b"one ******** a");
}

/// A quiet stream beside a loud one, over many blocks of the index.
#[test]
fn the_last_record_is_found_however_far_back_it_is() {
    let world = World::new(&[]);
    let mut recorder = world.recorder(ONE, &[Stream::Stdout, Stream::Stderr]);
    put(&mut recorder, 1, Stream::Stderr, b"once", None);
    for _ in 0..200 {
        put(&mut recorder, 2, Stream::Stdout, b"x", None);
    }
    recorder.write(Stream::Stderr, b"no record").expect("written");
    let _socket = socket(&world);
    assert_eq!((all(&world, RawKind::Stderr), all(&world, RawKind::Stdout)), ("once".to_owned(), "x".repeat(200)));
    // A line that is being written does not count yet.
    let mut index = fs::read(world.audit("chunks.1.jsonl")).expect("an index");
    index.extend_from_slice(b"{\"i\":201,\"t_ns\":3,\"stream\":\"stderr\",\"from\":4,\"to\":9");
    world.write("chunks.1.jsonl", &index);
    assert_eq!(all(&world, RawKind::Stderr), "once");
}

#[test]
fn the_rest_of_a_line_that_is_too_long_is_hidden() {
    let world = World::new(&["bad"]);
    let long = LINE_MAX as usize;
    let text = [b"ok bad\n".to_vec(), vec![b'x'; 2 * long], b"\nbad ok\n".to_vec()].concat();
    let mut recorder = world.recorder(ONE, &[Stream::Stdout]);
    put(&mut recorder, 1, Stream::Stdout, &text, None);
    world.seal(recorder, Wiring::Pipes, moment(0));
    let wanted = [b"ok ***\n".to_vec(), vec![b'x'; long], vec![b'*'; long], b"\n*** ok\n".to_vec()].concat();
    let stream = open(&world, RawKind::Stdout).expect("readable");
    let end = text.len();
    for from in [0, 7, 8, 6 + long, 7 + long, 8 + long, 9 + long, 7 + long + long, end - 8, end - 3] {
        for limit in [1, 3, 100, 300_000, MOST] {
            let read = stream.read(from as u64, limit).expect("bytes");
            assert!(read == wanted[from..(from + limit).min(end)], "{limit} from {from}");
        }
    }
}

fn words() -> impl Strategy<Value = Vec<u8>> {
    let words = [&b"ab"[..], b"jo@example.org", b"key=", b"abcx", b"\xff", "ä".as_bytes(), b"\"", b"-"];
    let blanks = [&b" "[..], b"\n", b"\r\n", b"\r"];
    let word = select([&words[..], &blanks].concat());
    // Occasionally a word is repeated often, so that lines are longer than a search window.
    let long = (word.clone(), 0..50_000usize).prop_map(|(word, count)| match word {
        b"\n" | b"\r\n" => word.to_vec(),
        _ => word.repeat(count / word.len()),
    });
    prop_oneof![12 => word.prop_map(<[u8]>::to_vec), 1 => long]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Byte for byte what every other reader sees, whatever part is requested.
    #[test]
    fn a_part_is_what_a_feed_gives(
        pieces in vec((select(vec![Stream::Stdout, Stream::Stderr]), vec(words(), 0..12), any::<bool>()), 1..24),
        some in vec(select(TRICKY.to_vec()), 0..4),
        parts in vec((0.0..1.0f64, prop_oneof![3 => 1..40usize, 1 => 1..200_000usize]), 1..24),
        is_sealed in any::<bool>(),
    ) {
        let world = World::new(&some);
        let mut recorder = world.recorder(ONE, &[Stream::Stdout, Stream::Stderr]);
        for (t_ns, (stream, text, is_hidden)) in (0..).zip(&pieces) {
            let (text, from) = (text.concat(), recorder.written(*stream));
            let middle = from + text.len() as u64 / 2;
            put(&mut recorder, t_ns, *stream, &text, is_hidden.then_some(middle..middle + 9));
        }
        if is_sealed {
            world.seal(recorder, Wiring::Pipes, moment(0));
        } else {
            // Its host is lost, and the run is over.
            fs::write(world.folder.result(), "{}").expect("a file");
        }
        let fed = world.fed(ONE);
        for (kind, stream) in [(RawKind::Stdout, Stream::Stdout), (RawKind::Stderr, Stream::Stderr)] {
            let wanted = &fed[stream.index()];
            let opened = open(&world, kind).expect("readable");
            prop_assert_eq!(opened.size(), wanted.len() as u64);
            for (place, limit) in &parts {
                let from = (*place * wanted.len() as f64) as usize;
                let to = (from + limit).min(wanted.len());
                let read = opened.read(from as u64, *limit).expect("bytes");
                prop_assert!(read == wanted[from..to], "{:?} from {} of {}: {:?}", some, from, wanted.len(), limit);
            }
        }
    }

    /// What was shown during an attempt is shown forever: no pattern hides it later.
    #[test]
    fn what_was_shown_is_never_hidden_later(
        pieces in vec(vec(words(), 0..6), 1..24),
        some in vec(select(TRICKY.to_vec()), 0..4),
    ) {
        let world = World::new(&some);
        let mut recorder = world.recorder(ONE, &[Stream::Stdout]);
        let _socket = socket(&world);
        let mut shown: Vec<u8> = Vec::new();
        for (t_ns, text) in (0..).zip(&pieces) {
            put(&mut recorder, t_ns, Stream::Stdout, &text.concat(), None);
            let opened = open(&world, RawKind::Stdout).expect("readable");
            prop_assert!(opened.size() >= shown.len() as u64 && opened.size() <= recorder.recorded(Stream::Stdout));
            while (shown.len() as u64) < opened.size() {
                shown.extend(opened.read(shown.len() as u64, MOST).expect("bytes"));
            }
        }
        world.seal(recorder, Wiring::Pipes, moment(0));
        let fed = &world.fed(ONE)[0];
        let is_kept = shown.iter().zip(fed).all(|(shown, wanted)| shown == wanted);
        prop_assert!(is_kept && shown.len() <= fed.len(), "{:?}", some);
        prop_assert!(!some.is_empty() || shown.len() == fed.len(), "without patterns nothing is held back");
    }
}
