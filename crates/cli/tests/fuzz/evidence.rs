//! A folder of evidence whose index, mask and notes are anything.
//!
//! Laws: it is read to its end or refused in one sentence; bytes come in their order and are those of the file or
//! hidden; each stream ends once; nothing that the mask names is shown.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use skillrun_evidence::feed::StepKind;
use skillrun_evidence::{Folder, Patterns, Stream};
use skillrun_model::AttemptNumber;

use crate::drive::{Input, fuzz};
use crate::mutate::{self, Bytes, Material};
use crate::tree::assert_sentence;
use crate::{seeds, words};

const STDOUT: &[u8] = b"one line\nand a secret-7 on another\nthe end";
const STDERR: &[u8] = b"warning: secret-7\n";

/// The record of a host, as it is written.
const HOST: &str = r#"{"format":1,"run_id":"00000000-0001-7707-8707-070707070707","attempt_number":1,"engine":"codex",
"engine_version":"1.2.3","profile":"codex_ndjson","execution_mode":"auto","wiring":"pipes","stdin":"null","argv":["x"],"cwd":"/",
"env_names":["PATH"],"secret_names":[],"host_pid":1,"pid":2,"started_at":"2026-01-01T00:00:00Z","ended_at":"2026-01-01T00:00:01Z",
"exit_code":0,"signal":null,"ended_by":"exited","error":null,"survivors":[],"survivors_total":0,"rusage":null,
"bytes":{"stdout":42,"stderr":18,"pty":0,"stdin":0},"hashes":{},"capture":{"reads":1,"batches":1,"drain":{"bytes":0},"discarded":0},
"warnings":[],"fs_diff":null,"process_continues":false}"#;

#[derive(Debug, Clone)]
struct Notes {
    chunks: Bytes,
    redact: Option<Bytes>,
    meta: Option<Bytes>,
    host: Option<Bytes>,
    pty: bool,
}

impl Input for Notes {
    fn bytes(&self) -> Vec<u8> {
        let part = |bytes: &Option<Bytes>| bytes.as_ref().map_or(Vec::new(), |bytes| bytes.0.clone());
        [self.chunks.0.clone(), part(&self.redact), part(&self.meta), part(&self.host)].join(&b"\n====\n"[..])
    }
}

fn indexes() -> Vec<Vec<u8>> {
    let good = "{\"i\":0,\"t_ns\":10,\"stream\":\"stdout\",\"from\":0,\"to\":20,\"batch\":0}\n\
                {\"i\":1,\"t_ns\":20,\"stream\":\"stderr\",\"from\":0,\"to\":18,\"batch\":0}\n\
                {\"i\":2,\"t_ns\":30,\"stream\":\"stdout\",\"from\":20,\"to\":42,\"batch\":1}\n\
                {\"i\":3,\"t_ns\":40,\"eof\":\"stdout\"}\n{\"i\":4,\"t_ns\":50,\"eof\":\"stderr\"}\n";
    let old = "{\"t\":0.5,\"s\":\"stdout\",\"n\":42}\n{\"t\":0.6,\"s\":\"stderr\",\"n\":18}\n";
    [good, old].map(|index| index.as_bytes().to_vec()).into()
}

fn notes() -> impl Strategy<Value = Notes> {
    let masks =
        vec![b"{\"stream\":\"stdout\",\"from\":15,\"to\":23}\n{\"stream\":\"stderr\",\"from\":9,\"to\":17}\n".to_vec()];
    let json = |ending: &str| Material::new(seeds::files("testkit/corpus", ending), words::JSON);
    let (chunks, redact) = (Material::new(indexes(), words::LINES), Material::new(masks, words::LINES));
    let (meta, host) = (json("/meta.1.json"), Material::new(vec![HOST.as_bytes().to_vec()], words::JSON));
    (
        mutate::bytes(&chunks),
        proptest::option::of(mutate::bytes(&redact)),
        proptest::option::of(mutate::bytes(&meta)),
        proptest::option::weighted(0.3, mutate::bytes(&host)),
        any::<bool>(),
    )
        .prop_map(|(chunks, redact, meta, host, pty)| Notes { chunks, redact, meta, host, pty })
}

fn put(audit: &Path, name: &str, bytes: &[u8]) {
    fs::write(audit.join(name), bytes).expect("written");
}

/// What is shown is the file, or a byte that hides it.
fn assert_prefix(shown: &[u8], file: &[u8], stream: Stream) {
    assert!(shown.len() <= file.len(), "{stream:?}: more than there is");
    let hides = |at: usize, byte: u8| byte == file[at] || byte == b'*';
    assert!(shown.iter().enumerate().all(|(at, byte)| hides(at, *byte)), "{stream:?}: {}", shown.escape_ascii());
}

fn check(root: &Path, patterns: &Patterns, notes: &Notes) {
    let audit = root.join(".audit");
    fs::remove_dir_all(&audit).ok();
    fs::create_dir_all(&audit).expect("a folder");
    put(&audit, "stdout.1.log", STDOUT);
    put(&audit, "stderr.1.log", STDERR);
    put(&audit, "chunks.1.jsonl", &notes.chunks.0);
    for (name, bytes) in [("redact.1.jsonl", &notes.redact), ("meta.1.json", &notes.meta), ("host.1.json", &notes.host)]
    {
        if let Some(bytes) = bytes {
            put(&audit, name, &bytes.0);
        }
    }
    if notes.pty {
        put(&audit, "pty-output.1.log", STDOUT);
    }
    for hidden in [false, true] {
        let folder = Folder::open(root).expect("a folder");
        let folder = if hidden { folder.hiding(patterns) } else { folder };
        match folder.attempt(AttemptNumber(1)).and_then(|attempt| attempt.feed()) {
            Ok(feed) => follow(feed, hidden),
            Err(error) => assert_sentence(&error.to_string()),
        }
    }
}

fn follow(mut feed: skillrun_evidence::Feed, hidden: bool) {
    let mut shown: [Vec<u8>; 3] = Default::default();
    let mut ends = [0; 3];
    loop {
        match feed.next_step() {
            Ok(None) => break,
            Err(error) => return assert_sentence(&error.to_string()),
            Ok(Some(step)) => match step.kind {
                StepKind::Bytes { stream, bytes } => {
                    assert_eq!(ends[stream.index()], 0, "bytes after the end");
                    shown[stream.index()].extend_from_slice(bytes);
                }
                StepKind::Eof(stream) => ends[stream.index()] += 1,
                StepKind::Act(_) => {}
            },
        }
    }
    assert_prefix(&shown[Stream::Stdout.index()], STDOUT, Stream::Stdout);
    assert_prefix(&shown[Stream::Stderr.index()], STDERR, Stream::Stderr);
    assert_prefix(&shown[Stream::Pty.index()], STDOUT, Stream::Pty);
    assert_eq!((ends[Stream::Stdout.index()], ends[Stream::Stderr.index()]), (1, 1), "each stream ends once");
    if hidden {
        let is_shown = |bytes: &Vec<u8>| bytes.windows(8).any(|window| window == b"secret-7");
        assert!(!shown.iter().any(is_shown), "a pattern was shown");
    }
    feed.problems().iter().for_each(|problem| assert_sentence(problem));
}

#[test]
fn evidence() {
    let root = tempfile::tempdir().expect("a folder");
    let patterns = Patterns::new(&["secret-[0-9]".to_owned()]).expect("a pattern");
    fuzz("evidence", notes(), |notes| check(root.path(), &patterns, notes));
}
