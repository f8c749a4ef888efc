//! Exact bytes: what the engine writes is in the evidence, all of it and nothing else, whatever it writes, however it
//! ends, and whatever reads it.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use lab::host::{self, FIRST, HostLab, Stopped, escaped, output, receive_ended, spawn, spawn_piped, steps};
use lab::{eventually, is_gone, wait_until};
use serde_json::Value;
use skillrun_evidence::Folder;
use skillrun_evidence::feed::StepKind;
use skillrun_model::{EndedBy, Stream, Wiring};

use crate::SKILLRUN;

/// Every wiring in which stdout and stderr are apart.
const APART: &[&str] = &["pipes", "split_pty"];

/// Every value a byte can have, what a terminal would take for a key or rewrite, and no line end at the end.
fn every_byte() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=255).collect();
    bytes.extend(b"\x03\x04\x1a\x11\x13\x1c\x7f\r\n\n\r\r\n\0\0\xff\xfe\xc3(\xe2\x82\x1b[31mred\tend");
    bytes
}

/// Sees that every byte of every stream has one record, in order, and that the rest of the index fits.
fn check_index(lab: &HostLab, streams: &[Stream]) {
    let records = lab.index(1);
    let number = |record: &Value, field: &str| record[field].as_u64().unwrap_or_else(|| panic!("{field} of {record}"));
    let mut reached = [0; 3];
    let mut ended = [false; 3];
    let (mut time, mut batches) = (0, 0);
    let mut last: Option<(u64, usize)> = None;
    let stream_of = |name: &Value| match name.as_str() {
        Some("stdout") => Stream::Stdout,
        Some("stderr") => Stream::Stderr,
        Some("pty") => Stream::Pty,
        _ => panic!("{name} is not a stream"),
    };
    for (expected, record) in records.iter().enumerate() {
        assert_eq!(number(record, "i"), expected as u64, "{record}");
        assert!(number(record, "t_ns") >= time, "{record} comes before {time}");
        time = number(record, "t_ns");
        if !record["eof"].is_null() {
            let at = stream_of(&record["eof"]).index();
            assert!(!std::mem::replace(&mut ended[at], true), "{record} comes twice");
        } else if record["act"].is_null() {
            let at = stream_of(&record["stream"]).index();
            let (from, to, batch) = (number(record, "from"), number(record, "to"), number(record, "batch"));
            assert!(from == reached[at] && to > from && !ended[at], "{record} after {}", reached[at]);
            reached[at] = to;
            if last.is_some_and(|(last, _)| last == batch) {
                assert!(last.is_some_and(|(_, stream)| stream < at), "{record}: one record of each stream, in order");
            } else {
                assert_eq!(batch, batches, "{record}");
                batches += 1;
            }
            last = Some((batch, at));
        }
    }
    let record = lab.record(1);
    assert_eq!(record.capture.batches, batches);
    let sizes = [record.bytes.stdout, record.bytes.stderr, record.bytes.pty];
    assert_eq!(reached, sizes, "bytes of the record have a record each");
    for stream in Stream::ALL {
        assert_eq!(ended[stream.index()], streams.contains(&stream), "the end of {stream:?}");
        if streams.contains(&stream) {
            let name = skillrun_evidence::names::log(stream, FIRST);
            assert_eq!(lab.evidence(&name).len() as u64, reached[stream.index()], "{name}");
        }
    }
}

fn streams_of(wiring: &str) -> &'static [Stream] {
    match wiring {
        "split_pty" => &Stream::ALL,
        _ => &[Stream::Stdout, Stream::Stderr],
    }
}

#[test]
fn every_byte_arrives_as_it_was_written() {
    let out = every_byte();
    let err: Vec<u8> = out.iter().rev().copied().collect();
    for wiring in APART {
        let words = format!("out {} err {} out {}", escaped(&out), escaped(&err), escaped(&out));
        let (lab, output) = host::captured(&["--wiring", wiring], &steps(&words));
        assert_eq!(output.status.code(), Some(0), "{wiring}");
        let twice = [&out[..], &out].concat();
        assert_eq!(lab.evidence("stdout.1.log"), twice, "{wiring}");
        assert_eq!(lab.evidence("stderr.1.log"), err, "{wiring}");
        assert_eq!((&output.stdout, &output.stderr), (&twice, &err), "{wiring}: what is shown is what was written");
        check_index(&lab, streams_of(wiring));
    }
}

#[test]
fn one_terminal_for_all_is_one_stream_and_rewrites_nothing() {
    let odd = every_byte();
    let words = format!(r"out one\n err two\r\n tty three\n out {}", escaped(&odd));
    let (lab, output) = host::captured(&["--wiring", "one_pty"], &steps(&words));
    assert_eq!(output.status.code(), Some(0));
    let expected = [b"one\ntwo\r\nthree\n", &odd[..]].concat();
    assert_eq!(lab.evidence("stdout.1.log"), expected, "all of it, in the order of the writes");
    assert_eq!(lab.evidence("stderr.1.log"), b"");
    assert!(!lab.has("pty-output.1.log"), "the terminal is stdout, there is no copy");
    assert_eq!((output.stdout, output.stderr), (expected, vec![]));
    check_index(&lab, streams_of("one_pty"));
}

#[test]
fn terminals_are_terminals_to_the_engine_and_pipes_are_not() {
    for (wiring, is_terminal) in [("pipes", false), ("split_pty", true), ("one_pty", true)] {
        let (lab, output) = host::captured(&["--wiring", wiring], &["report"]);
        let report = host::report(&output);
        assert_eq!(report["tty"], serde_json::json!([is_terminal, is_terminal, is_terminal]), "{wiring}");
        let size = if is_terminal { serde_json::json!([200, 50]) } else { Value::Null };
        assert_eq!(report["winsize"], size, "{wiring}");
        assert!(output.stdout.ends_with(b"}\n"), "{wiring}: the line end is as it was written");
        assert_eq!(lab.meta(1)["wiring"], wiring);
    }
}

#[test]
fn what_is_written_to_the_terminal_itself_is_kept_apart() {
    let (lab, output) = host::captured(&["--wiring", "split_pty"], &steps(r"out a\n tty to\x20you\n err b\n"));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(lab.evidence("stdout.1.log"), b"a\n");
    assert_eq!(lab.evidence("stderr.1.log"), b"b\n");
    assert_eq!(lab.evidence("pty-output.1.log"), b"to you\n");
    assert_eq!(lab.record(1).bytes.pty, 7);
    check_index(&lab, streams_of("split_pty"));
}

/// A terminal gives a few kilobytes at a time; the rest was lost when nothing but the controlling terminal had more.
#[test]
fn a_full_terminal_is_read_to_its_end_after_the_exit() {
    const BYTES: usize = 60 * 1024;
    for _ in 0..10 {
        let (lab, output) = host::captured(&["--wiring", "split_pty", "--no-snapshot"], &steps("flood tty 60K"));
        assert_eq!(output.status.code(), Some(0), "{:?}", host::said(&output));
        assert!(lab.evidence("pty-output.1.log") == host::flood(BYTES), "bytes of the terminal are missing");
    }
}

#[test]
fn megabytes_right_before_the_exit_are_complete() {
    const OUT: usize = 640 << 10;
    const ERR: usize = 384 << 10;
    let times = |bytes: usize| host::flood(bytes).repeat(8);
    for wiring in ["pipes", "split_pty", "one_pty"] {
        let words = steps("repeat 8 [ flood stdout 640K flood stderr 384K ] exit 9");
        let (lab, output) = host::captured(&["--wiring", wiring], &words);
        assert_eq!(output.status.code(), Some(9), "{wiring}");
        let (out, err) = match wiring {
            "one_pty" => ([host::flood(OUT), host::flood(ERR)].concat().repeat(8), vec![]),
            _ => (times(OUT), times(ERR)),
        };
        assert!(lab.evidence("stdout.1.log") == out, "{wiring}: stdout is not what was written");
        assert!(lab.evidence("stderr.1.log") == err, "{wiring}: stderr is not what was written");
        assert!(output.stdout == out && output.stderr == err, "{wiring}: what was shown is not what was written");
        let streams = host::read_back(&lab.out(), 1);
        assert!(host::of(&streams, Stream::Stdout) == out, "{wiring}: what is read back is not what was written");
        check_index(&lab, streams_of(wiring));
    }
}

/// The host does not read while all this is written; the kernel keeps what fits, and the engine is gone by then.
#[test]
fn what_waits_in_the_kernel_when_the_engine_is_gone_is_read() {
    // More than one read of a terminal, and less than makes the engine wait.
    const BYTES: usize = 8_000;
    for wiring in [Wiring::Pipes, Wiring::SplitPty, Wiring::OnePty] {
        let lab = HostLab::new();
        let mut plan = lab.plan(&steps("pid main.pid wait-file go flood stdout 8000 exit 3"));
        plan.wiring = wiring;
        let mut owner = lab.start(&plan);
        let main = lab.await_pid("main.pid");
        let stopped = Stopped::new(owner.host_pid());
        lab.put("go", "");
        wait_until("the exit", || is_gone(main));
        drop(stopped);
        assert_eq!(receive_ended(&mut owner), EndedBy::Exited, "{wiring:?}");
        assert!(lab.evidence("stdout.1.log") == host::flood(BYTES), "{wiring:?}: bytes are missing");
    }
}

/// With one terminal and no terminal on stdin the engine was hung up on when it had closed its streams.
#[test]
fn an_engine_that_closes_its_streams_lives_on() {
    for options in [
        &["--wiring", "pipes"][..],
        &["--wiring", "split_pty"],
        &["--wiring", "one_pty"],
        &["--wiring", "one_pty", "--stdin", "null"],
    ] {
        let lab = HostLab::new();
        let words = steps(r"out before\n silence pid closed.pid wait-file go out unread\n file after.txt x exit 4");
        let mut child = spawn(&mut lab.capture(options, &words));
        let main = lab.await_pid("closed.pid");
        if !options.contains(&"one_pty") {
            let is_end = |record: &Value| record["eof"] == "stdout" || record["eof"] == "stderr";
            wait_until("the ends of the streams", || lab.index(1).iter().filter(|r| is_end(r)).count() == 2);
        }
        assert!(!is_gone(main), "{options:?}: it was ended with its streams");
        lab.put("go", "");
        assert_eq!(child.wait().expect("its end").code(), Some(4), "{options:?}");
        assert!(lab.workspace().join("after.txt").exists());
        assert_eq!(lab.evidence("stdout.1.log"), b"before\n");
        check_index(&lab, streams_of(options[1]));
    }
}

/// With one terminal an engine may close it and open it again by its name.
#[test]
fn a_terminal_that_was_closed_can_be_opened_again() {
    let lab = HostLab::new();
    let words = steps(r"out one\n silence sleep 20 tty two\n exit 0");
    assert_eq!(lab.run(&["--wiring", "one_pty", "--stdin", "null"], &words).status.code(), Some(0));
    assert_eq!(lab.evidence("stdout.1.log"), b"one\ntwo\n");
}

#[test]
fn what_is_written_after_the_parent_has_gone_is_kept() {
    for wiring in [Wiring::Pipes, Wiring::SplitPty] {
        let lab = HostLab::new();
        let child = r"child [ ignore SIGHUP pid child.pid wait-file go out late\n err late\n ]";
        let words = format!(r"{child} wait-file child.pid out early\n exit 5");
        let mut plan = lab.plan(&steps(&words));
        plan.wiring = wiring;
        let mut owner = lab.start(&plan);
        assert_eq!(host::receive_exit(&mut owner), Some(5), "{wiring:?}");
        lab.put("go", "");
        assert_eq!(receive_ended(&mut owner), EndedBy::Exited, "{wiring:?}");
        let record = lab.record(1);
        assert_eq!((record.exit_code, record.capture.drain.bytes), (Some(5), 10), "{wiring:?}");
        assert_eq!(lab.evidence("stdout.1.log"), b"early\nlate\n", "{wiring:?}");
        assert_eq!(lab.evidence("stderr.1.log"), b"late\n", "{wiring:?}");
        assert_eq!(record.survivors_total, 0, "{wiring:?}: it ended by itself");
    }
}

#[test]
fn a_late_child_is_waited_for_by_capture_too() {
    let (lab, output) = host::captured(&[], &steps(r"out early\n late 100 late\n exit 5"));
    assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(5), "early\nlate\n".to_owned()));
    check_index(&lab, streams_of("pipes"));
}

#[test]
fn the_index_has_a_record_for_every_byte_however_they_come() {
    let lab = HostLab::new();
    let words = r"out a err b sleep 5 repeat 20 [ out x\n err y\n sleep 3 ] flood stdout 300K tty z\n sleep 5
        flood stderr 200K out end";
    assert_eq!(lab.run(&["--wiring", "split_pty"], &steps(words)).status.code(), Some(0));
    check_index(&lab, streams_of("split_pty"));
}

#[test]
fn what_was_read_at_different_times_has_different_records() {
    let (lab, mut owner) = host::started(&steps("out ab wait-file go err cd out ef"));
    host::wait_for_stdout(&mut owner, 2);
    lab.put("go", "");
    assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
    check_index(&lab, streams_of("pipes"));
    let records = lab.index(1);
    let range = |record: &Value| (record["from"].clone(), record["to"].clone(), record["batch"].clone());
    assert_eq!(range(&records[0]), (0.into(), 2.into(), 0.into()));
    assert!(records[1..].iter().all(|record| record["batch"] != 0), "{records:?}");
    assert!(records[0]["t_ns"].as_u64() < records[1]["t_ns"].as_u64(), "{records:?}");
}

/// Bytes that a reader of a living attempt is given, and what it says about the rest.
fn read_now(lab: &HostLab) -> Option<([Vec<u8>; 3], Vec<String>)> {
    // Before the first file is there, there is nothing to open.
    let folder = Folder::open(&lab.out()).ok()?;
    let mut feed = folder.attempt(FIRST).expect("the attempt").feed().expect("its bytes");
    let mut streams: [Vec<u8>; 3] = Default::default();
    while let Some(step) = feed.next_step().expect("a step") {
        if let StepKind::Bytes { stream, bytes } = step.kind {
            streams[stream.index()].extend_from_slice(bytes);
        }
    }
    Some((streams, feed.problems()))
}

/// The index was read after the mask and the sizes of the files: a reader could find records of bytes that it did not
/// know of, and of secrets that it did not mask.
#[test]
fn a_concurrent_reader_sees_a_prefix_of_the_recording() {
    let lab = HostLab::new();
    let words = r"repeat 400 [ out a\x20key:\x20open-sesame-1;\n err not\x20much\n sleep 1 ] flood stdout 2M";
    let mut child = spawn(&mut lab.capture(&["--env", "KEY=open-sesame-1", "--secret", "KEY"], &steps(words)));
    let mut seen: Vec<[Vec<u8>; 3]> = Vec::new();
    let mut last_problems = Vec::new();
    loop {
        let is_over = child.try_wait().expect("its state").is_some();
        if let Some((streams, problems)) = read_now(&lab) {
            for problem in &problems {
                let is_tail = problem.contains("have no record in the chunk index");
                let is_half_line = problem.contains("has a line that is not a record");
                assert!(is_tail || is_half_line, "{problem}");
            }
            if seen.last().is_none_or(|last| *last != streams) {
                seen.push(streams);
            }
            last_problems = problems;
        }
        if is_over {
            break;
        }
    }
    assert_eq!(last_problems, Vec::<String>::new());
    let last = seen.last().expect("a reading");
    let line = b"a key: *************;\n";
    assert!(last[0] == [line.repeat(400), host::flood(2 << 20)].concat(), "the whole is not what was written");
    for streams in &seen {
        for (part, whole) in streams.iter().zip(last) {
            assert!(whole.starts_with(part), "a reading of {} bytes is not a prefix", part.len());
        }
    }
}

#[test]
fn a_reader_that_comes_late_or_reads_slowly_loses_nothing() {
    const BYTES: usize = 3 << 20;
    let lab = HostLab::new();
    let mut child = spawn_piped(&mut lab.capture(&[], &steps("flood stdout 3M err done exit 7")));
    // The host finishes before any output of capture is read.
    assert_eq!(lab.record(1).exit_code, Some(7));
    assert!(lab.evidence("stdout.1.log") == host::flood(BYTES), "the evidence does not wait for readers");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut shown = Vec::new();
    let mut buffer = vec![0; 300_000];
    loop {
        let count = stdout.read(&mut buffer).expect("readable");
        shown.extend_from_slice(&buffer[..count]);
        if count == 0 {
            break;
        }
        sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("its end");
    assert_eq!((output.status.code(), host::text(&output.stderr)), (Some(7), "done".to_owned()));
    assert!(shown == host::flood(BYTES), "what was shown is not what was written");
}

#[test]
fn a_reader_that_leaves_takes_nothing_along() {
    let lab = HostLab::new();
    let mut child = spawn_piped(&mut lab.capture(&[], &steps(r"flood stdout 1M err after\n flood stdout 1M exit 7")));
    let mut first = [0; 10];
    child.stdout.take().expect("a pipe").read_exact(&mut first).expect("ten bytes");
    let output = child.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(7), "{}", host::text(&output.stderr));
    assert_eq!(host::text(&output.stderr), "after\n", "stderr is still read");
    assert!(lab.evidence("stdout.1.log") == host::flood(1 << 20).repeat(2), "the evidence is not whole");
}

/// A parent that has set its pipe to non-blocking was taken for one that had left, and saw no more.
#[test]
fn an_output_that_does_not_block_gets_everything() {
    const BYTES: usize = 2 << 20;
    let lab = HostLab::new();
    let (mut ours, theirs) = UnixStream::pair().expect("a socket");
    theirs.set_nonblocking(true).expect("set");
    let mut command = lab.capture(&[], &steps("flood stdout 2M exit 7"));
    let mut child = command.stdout(OwnedFd::from(theirs)).stderr(Stdio::null()).spawn().expect("a process");
    // The command holds our copy of the other end.
    drop(command);
    lab.record(1);
    let mut shown = Vec::new();
    ours.read_to_end(&mut shown).expect("readable");
    assert_eq!(child.wait().expect("its end").code(), Some(7));
    assert!(shown == host::flood(BYTES), "{} of {BYTES} bytes were shown", shown.len());
}

#[test]
fn a_capture_without_any_stream_of_its_own_records_all_the_same() {
    let lab = HostLab::new();
    let capture = lab.capture(&[], &steps(r"out a\n err b\n exit 7"));
    assert_eq!(output(&mut host::after("exec <&- >&- 2>&-", &capture)).status.code(), Some(7));
    assert_eq!((lab.evidence("stdout.1.log"), lab.evidence("stderr.1.log")), (b"a\n".to_vec(), b"b\n".to_vec()));
}

/// The files of one attempt with terminals, as contract R9 lists them.
const FILES: &str = "blobs/ chunks.1.jsonl claim.1 fs-after.1.json fs-before.1.json fs-diff.1.json host.1.json \
    meta.1.json pty-output.1.log redact.1.jsonl stderr.1.log stdin.1.log stdout.1.log";

fn check_modes(lab: &HostLab) {
    let mode = |path: &std::path::Path| fs::symlink_metadata(path).expect("there").permissions().mode() & 0o7777;
    assert_eq!(mode(&lab.audit()), 0o700);
    for name in lab.left() {
        let expected = if name.ends_with('/') { 0o700 } else { 0o600 };
        assert_eq!(mode(&lab.audit().join(&name)), expected, "{name}");
    }
}

#[test]
fn every_file_of_an_attempt_is_there_and_for_its_owner_alone() {
    let lab = HostLab::new();
    lab.put("text.txt", "one\n");
    let words = steps(r"out a\n tty b\n file text.txt two\n pid main.pid wait-file go");
    let mut child = spawn(&mut lab.capture(&["--wiring", "split_pty"], &words));
    lab.await_pid("main.pid");
    for name in ["host.sock", "claim.1", "reserve.1", "meta.1.json", "fs-before.1.json", "blobs/text.1.pack"] {
        wait_until(name, || lab.left().iter().any(|there| there == name));
    }
    assert!(!lab.left().iter().any(|name| name == "host.1.json"), "it is not over");
    check_modes(&lab);
    lab.put("go", "");
    assert!(child.wait().expect("its end").success());
    assert_eq!(lab.left().join(" "), FILES, "nothing is missing, and nothing is left that is of no use");
    check_modes(&lab);
}

#[test]
fn sizes_and_hashes_are_those_of_the_files() {
    let lab = HostLab::new();
    fs::write(lab.path("input"), "given\n").expect("a file");
    let input = lab.path("input").into_os_string().into_string().expect("UTF-8");
    let options = ["--stdin", &input, "--env", "KEY=open-sesame-1", "--secret", "KEY", "--wiring", "split_pty"];
    let words = steps(r"flood stdout 1M err open-sesame-1\n tty x echo-stdin");
    assert_eq!(lab.run(&options, &words).status.code(), Some(0));
    let record = lab.record(1);
    let names: Vec<_> = record.hashes.keys().map(String::as_str).collect();
    let views = ["blobs/", "host.1.json", "meta.1.json"];
    assert_eq!(names, FILES.split(' ').filter(|name| !views.contains(name)).collect::<Vec<_>>());
    for (name, hash) in &record.hashes {
        assert_eq!(*hash, blake3::hash(&lab.evidence(name)).to_hex().to_string(), "{name}");
    }
    let size = |name: &str| lab.evidence(name).len() as u64;
    let bytes = record.bytes;
    assert_eq!([bytes.stdout, bytes.stderr, bytes.pty, bytes.stdin], [(1 << 20) + 6, 14, 1, 6]);
    let files = ["stdout.1.log", "stderr.1.log", "pty-output.1.log", "stdin.1.log"];
    assert_eq!([bytes.stdout, bytes.stderr, bytes.pty, bytes.stdin], files.map(size));
    assert_eq!(record.capture.discarded, 0);
    let meta = lab.meta(1);
    for field in ["bytes", "hashes", "exit_code", "ended_by", "capture", "pid", "started_at", "ended_at", "argv"] {
        assert_eq!(meta[field], lab.json("host.1.json")[field], "{field}: the meta file is a view of the record");
    }
}

/// What `normalize` makes of a folder, without what names the run.
fn verdict(dir: &std::path::Path, options: &[&str]) -> Vec<Value> {
    let output = output(Command::new(SKILLRUN).arg("normalize").arg(dir).args(options));
    assert!(output.status.success(), "{}", host::text(&output.stderr));
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let fields = "profile session_id turn_state completion run_status rule marker output messages prompt tool_calls usage \
        coverage warnings parse_confidence";
    let kept = |line: &[u8]| {
        let line: Value = serde_json::from_slice(line).expect("JSON");
        let error = line["error"]["code"].clone();
        let fields = fields.split_whitespace().map(|field| (field.to_owned(), line[field].clone()));
        Value::Object(fields.chain([("error".to_owned(), error)]).collect())
    };
    lines.map(kept).collect()
}

/// Recording and judging are one: an engine that writes what a recorded one wrote is judged as that one was.
#[test]
fn what_was_captured_is_judged_like_the_recording_it_came_from() {
    for name in [
        "codex-tool-then-done",
        "codex-turn-failed",
        "claude-tool-then-done",
        "exit-0-without-end",
        "done-then-exit-3",
        "colours-and-odd-bytes",
    ] {
        let recorded = testkit::paths::workspace().join("testkit/corpus").join(name);
        let meta: Value =
            serde_json::from_slice(&fs::read(recorded.join(".audit/meta.1.json")).expect("a meta file")).expect("JSON");
        let engine = meta["engine"].as_str().expect("an engine").to_owned();
        let mode = meta["execution_mode"].as_str().unwrap_or("auto").to_owned();
        let lab = HostLab::new();
        let mut command = lab.bare_capture(&["--engine", &engine]);
        let script = "cat \"$1/stdout.1.log\"; cat \"$1/stderr.1.log\" >&2; exit \"$2\"";
        command.args(["sh", "-c", script, "sh"]).arg(recorded.join(".audit")).arg(meta["exit_code"].to_string());
        let captured = output(&mut command);
        assert_eq!(captured.status.code().map(Value::from).as_ref(), Some(&meta["exit_code"]), "{name}");
        assert_eq!(lab.meta(1)["engine"], engine.as_str(), "{name}");
        assert_eq!(verdict(&lab.out(), &["--mode", &mode]), verdict(&recorded, &["--mode", &mode]), "{name}");
    }
}

/// An attempt whose bytes came one by one is read as one whose bytes came at once.
#[test]
fn the_verdict_does_not_depend_on_how_the_bytes_came() {
    let recorded = testkit::paths::workspace().join("testkit/corpus/codex-tool-then-done");
    let stream = fs::read(recorded.join(".audit/stdout.1.log")).expect("a stream");
    let lab = HostLab::new();
    let mut command = lab.bare_capture(&["--engine", "codex", "--stdin", "pipe"]);
    command.args(host::engine(&["echo-stdin"])).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().expect("a process");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut written = 0;
    for piece in stream.chunks(37) {
        stdin.write_all(piece).expect("written");
        written += piece.len();
        eventually("the piece", || {
            fs::metadata(lab.audit().join("stdout.1.log")).ok().filter(|log| log.len() == written as u64)
        });
    }
    drop(stdin);
    assert!(child.wait().expect("its end").success());
    assert!(lab.record(1).capture.reads >= stream.len().div_ceil(37) as u64);
    // The recording has something on stderr, which is not part of the answer.
    let of = |dir: &std::path::Path| {
        let verdict = verdict(dir, &[]);
        ["completion", "messages", "output", "usage", "tool_calls"].map(|field| verdict[0][field].clone())
    };
    assert_eq!(of(&lab.out()), of(&recorded));
}
