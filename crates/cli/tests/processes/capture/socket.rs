//! The conversation over `host.sock`: greetings, owners one at a time, progress, input, and the end.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lab::host::{self, FIRST, HostLab, LONG, at_once, hang_up, input, receive, receive_answer, receive_ended, send};
use lab::{eventually, is_gone, signal, wait_until};
use serde_json::{Value, json};
use skillrun_collect::owner::HostMessage;
use skillrun_collect::plan::{HostPlan, StdinPlan};
use skillrun_collect::protocol::{HostRequest, INPUT_MAX, InputAnswer, LINE_MAX, Notice, RecordedSizes, VERSION};
use skillrun_collect::{Attached, CollectError, HostConnection, attach, start};
use skillrun_evidence::{HostRecord, Tail};
use skillrun_model::{AttemptNumber, EndedBy, Stream};

use crate::SKILLRUN;

/// A client of the socket that may send anything.
struct Raw {
    reader: BufReader<UnixStream>,
}

impl Raw {
    fn connect(lab: &HostLab) -> Self {
        let stream = UnixStream::connect(lab.audit().join("host.sock")).expect("a host that listens");
        stream.set_read_timeout(Some(LONG)).expect("a timeout");
        stream.set_write_timeout(Some(LONG)).expect("a timeout");
        Self { reader: BufReader::new(stream) }
    }

    /// Connects and greets, and has received the host's greeting.
    fn greeted(lab: &HostLab) -> Self {
        let mut raw = Self::connect(lab);
        assert_eq!(raw.line()["skillrun_host"], VERSION);
        raw.say(b"{\"skillrun_owner\":1}\n");
        assert_eq!(raw.line()["at"], "progress", "an accepted owner receives the progress");
        raw
    }

    /// A host that hangs up takes no more, and need not.
    fn say(&mut self, bytes: &[u8]) {
        self.reader.get_mut().write_all(bytes).ok();
    }

    fn line(&mut self) -> Value {
        self.next().expect("a line")
    }

    /// None when the host has hung up.
    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).expect("JSON")),
            // It had not read everything we said.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("the host says nothing: {error}"),
        }
    }

    fn hang_up(self) {
        // The host may have hung up before.
        self.reader.get_ref().shutdown(std::net::Shutdown::Both).ok();
    }

    /// What the host said last before it hung up.
    fn last_line(&mut self) -> Option<Value> {
        std::iter::from_fn(|| self.next()).last()
    }
}

/// Ends an attempt that has shown all it should, and checks that no process is left.
fn finish(lab: &HostLab, mut owner: HostConnection) {
    send(&mut owner, HostRequest::Cancel { ladder: at_once() });
    assert_eq!(receive_ended(&mut owner), EndedBy::Canceled);
    lab.assert_no_process_is_left();
}

/// A plan for a process that is given input.
fn with_pipe(lab: &HostLab, words: &str) -> HostPlan {
    HostPlan { stdin: StdinPlan::Pipe, ..lab.plan(&host::steps(words)) }
}

const IDLE: &[&str] = &["out", "ready\n", "forever"];

#[test]
fn the_first_line_each_way_carries_the_version() {
    let lab = HostLab::new();
    let plan = lab.plan(IDLE);
    host::start_host(&plan);
    let socket = fs::symlink_metadata(lab.audit().join("host.sock")).expect("a socket");
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    let mut raw = Raw::connect(&lab);
    // The host speaks first and waits for nothing.
    let hello = raw.line();
    let pid = hello["pid"].as_u64().expect("a number") as u32;
    let run_id = plan.run_id.to_string();
    assert_eq!(hello, json!({"skillrun_host": 1, "run_id": run_id, "attempt": 1, "pid": pid, "process": "started"}));
    let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).expect("a host");
    assert_eq!(words.split('\0').nth(1), Some("attempt-host"));
    raw.say(b"{\"skillrun_owner\":1}\n");
    assert_eq!(raw.line()["at"], "progress");
    raw.hang_up();
    finish(&lab, lab.attach(FIRST));
}

/// Everything a reader can have who is not attached.
fn read_as_far_as_it_is(lab: &HostLab) -> Vec<u8> {
    let folder = skillrun_evidence::Folder::open(&lab.out()).expect("a recording");
    let mut feed = folder.attempt(FIRST).expect("the attempt").feed().expect("its bytes");
    let mut stdout = Vec::new();
    while let Some(step) = feed.next_step().expect("a step") {
        if let skillrun_evidence::feed::StepKind::Bytes { stream: Stream::Stdout, bytes } = step.kind {
            stdout.extend_from_slice(bytes);
        }
    }
    stdout
}

#[test]
fn an_unknown_version_is_refused_but_files_can_be_followed() {
    let lab = HostLab::new();
    host::start_host(&lab.plan(&["out", "one\n", "wait-file", "go", "out", "two\n"]));
    for greeting in ["{\"skillrun_owner\":2}\n", "{\"skillrun_owner\":0,\"more\":[]}\n"] {
        let mut raw = Raw::connect(&lab);
        raw.line();
        raw.say(greeting.as_bytes());
        assert_eq!(raw.line(), json!({"at": "closed", "reason": "version", "version": 1}));
        assert_eq!(raw.next(), None, "and hangs up");
    }
    wait_until("the first line", || read_as_far_as_it_is(&lab) == b"one\n");
    let mut tail = Tail::new(&lab.audit(), FIRST);
    assert_eq!(tail.next(Stream::Stdout, 4).expect("readable"), Some(&b"one\n"[..]));
    lab.put("go", "");
    wait_until("the second line", || read_as_far_as_it_is(&lab) == b"one\ntwo\n");
    assert_eq!(tail.next(Stream::Stdout, 8).expect("readable"), Some(&b"two\n"[..]));
    assert_eq!(lab.record(1).ended_by, Some(EndedBy::Exited));
}

/// How an owner reacts to a false host that sends these lines.
fn attach_to_impostor(hears: Hears, lines: impl FnOnce(&HostPlan) -> Vec<Value>) -> Result<Attached, CollectError> {
    let lab = HostLab::new();
    let plan = lab.plan(IDLE);
    let mut owner = lab.start(&plan);
    let host = owner.host_pid();
    send(&mut owner, HostRequest::Detach);
    let place = lab.audit().join("host.sock");
    fs::remove_file(&place).expect("a socket");
    let listener = UnixListener::bind(&place).expect("a socket");
    let lines: String = lines(&plan).iter().map(|line| format!("{line}\n")).collect();
    let impostor = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        match hears {
            Hears::Owner => {}
            Hears::Nobody => stream.shutdown(std::net::Shutdown::Read).expect("closed"),
        }
        stream.write_all(lines.as_bytes()).expect("said");
    });
    let attached = attach(&lab.audit(), FIRST);
    impostor.join().expect("no panic");
    signal(host, "TERM");
    lab.record(1);
    lab.wait_quiet();
    attached
}

/// Whether what the owner says can be said at all.
#[derive(Clone, Copy)]
enum Hears {
    Owner,
    Nobody,
}

#[test]
fn a_host_of_another_version_is_not_spoken_to() {
    // Only the version is promised to stay where it is.
    let hello = |_: &HostPlan| vec![json!({"skillrun_host": 9, "run": "42", "attempt": "the first"})];
    match attach_to_impostor(Hears::Owner, hello) {
        Err(error @ CollectError::Version(9)) => assert!(error.to_string().contains("can still be read"), "{error}"),
        other => panic!("{other:?}"),
    }
}

/// Found by reading: a host that has an owner hangs up at once, and a second owner that was about to greet took that for
/// silence.
#[test]
fn an_owner_refused_before_its_greeting_gets_the_reason() {
    let lines = |plan: &HostPlan| {
        let hello = json!({"skillrun_host": VERSION, "run_id": plan.run_id, "attempt": 1, "pid": 1});
        vec![hello, json!({"at": "closed", "reason": "owned", "version": VERSION})]
    };
    let refused = attach_to_impostor(Hears::Nobody, lines);
    assert!(matches!(refused, Err(CollectError::Owned)), "{refused:?}");
}

#[test]
fn the_host_survives_any_message_and_takes_the_next_owner() {
    let (lab, owner) = host::started(IDLE);
    let host = owner.host_pid();
    hang_up(owner);
    let greeting = "{\"skillrun_owner\":1}\n";
    let long = vec![b'x'; LINE_MAX + 100];
    let assert_unreadable = |mut raw: Raw, line: &[u8]| {
        raw.say(line);
        let shown = line[..line.len().min(40)].escape_ascii();
        assert_eq!(raw.last_line(), Some(json!({"at": "closed", "reason": "unreadable", "version": 1})), "{shown}");
        hang_up(lab.attach(FIRST));
    };
    let first_lines: [&[u8]; 7] =
        [b"hello?\n", b"\n", b"\0\xff\xfe\n", b"{}\n", b"{\"skillrun_owner\":\"1\"}\n", b"[[[[[[[[\n", &long];
    for line in first_lines {
        let mut raw = Raw::connect(&lab);
        raw.line();
        assert_unreadable(raw, line);
    }
    let later_lines: [&[u8]; 7] = [
        b"what?\n",
        b"{\"do\":\"dance\"}\n",
        b"{\"do\":\"input\"}\n",
        b"{\"do\":\"cancel\",\"ladder\":[{\"signal\":\"SIGNOTHING\",\"pause\":{\"secs\":1,\"nanos\":0}}]}\n",
        b"{\"do\":\"next_attempt\",\"attempt\":-1}\n",
        b"{\"do\":\"wait\",\"deadline\":\"soon\"}\n",
        &long,
    ];
    for line in later_lines {
        assert_unreadable(Raw::greeted(&lab), line);
    }
    let half_lines: [&str; 4] = ["", "{\"skillrun_ow", greeting, &format!("{greeting}{{\"do\":\"cancel\"")];
    for half in half_lines {
        let mut raw = Raw::connect(&lab);
        raw.say(half.as_bytes());
        raw.hang_up();
        hang_up(lab.attach(FIRST));
    }
    assert!(!is_gone(host));
    assert_eq!(lab.alive().len(), 1, "the engine works on");
    let owner = lab.attach(FIRST);
    assert_eq!(owner.host_pid(), host, "it is the same host all the time");
    finish(&lab, owner);
}

#[test]
fn many_requests_at_once_do_not_hold_the_host_up() {
    let lab = HostLab::new();
    host::start_host(&with_pipe(&lab, r"echo-stdin out end\n"));
    let mut raw = Raw::greeted(&lab);
    let begin = Instant::now();
    raw.say("{\"do\":\"go_on\"}\n".repeat(200_000).as_bytes());
    raw.say(b"{\"do\":\"input\",\"id\":\"1\",\"text\":\"hello\\n\"}\n");
    let answer = eventually("an answer", || Some(raw.line()).filter(|line| line["at"] == "input"));
    assert_eq!(answer, json!({"at": "input", "id": "1", "answer": "written"}));
    // Three megabytes; time that grows with the square of that would be minutes.
    assert!(begin.elapsed() < Duration::from_secs(20), "it took {:?}", begin.elapsed());
    raw.say(b"{\"do\":\"close_stdin\"}\n");
    lab.await_stdout(1, "end\n");
    assert_eq!(lab.record(1).ended_by, Some(EndedBy::Exited));
}

#[test]
fn a_second_owner_is_refused_while_the_first_stays() {
    let lab = HostLab::new();
    let mut first = lab.start(&lab.plan(&["wait-file", "go", "out", "more\n", "forever"]));
    for _ in 0..5 {
        let begin = Instant::now();
        let refused = attach(&lab.audit(), FIRST);
        assert!(matches!(refused, Err(CollectError::Owned)), "{refused:?}");
        assert!(begin.elapsed() < Duration::from_secs(4), "a refusal is not waited for: {:?}", begin.elapsed());
    }
    lab.put("go", "");
    host::wait_for_stdout(&mut first, 5);
    // Found here: an owner that came while another one was being refused was refused as well, though the first had left.
    for _ in 0..100 {
        assert!(matches!(attach(&lab.audit(), FIRST), Err(CollectError::Owned)));
        hang_up(first);
        first = lab.attach(FIRST);
    }
    finish(&lab, first);
}

#[test]
fn the_place_of_an_owner_that_was_killed_is_free() {
    let lab = HostLab::new();
    let mut command = lab.capture(&["--no-snapshot"], IDLE);
    let mut starter = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a process");
    // It received what it shows as the owner.
    let mut line = String::new();
    BufReader::new(starter.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    let refused = attach(&lab.audit(), FIRST);
    assert!(matches!(refused, Err(CollectError::Owned)), "{refused:?}");
    starter.kill().expect("killed");
    starter.wait().expect("gone");
    finish(&lab, lab.attach(FIRST));
}

/// How the progress compares with the files at the moment it is received.
fn check_progress(lab: &HostLab, progress: &RecordedSizes, last: &mut RecordedSizes) {
    for (name, at, before) in
        [("stdout.1.log", progress.stdout, last.stdout), ("stderr.1.log", progress.stderr, last.stderr)]
    {
        let len = fs::metadata(lab.audit().join(name)).expect("a file").len();
        assert!(at <= len, "{name}: {at} bytes were announced, {len} are there");
        assert!(at >= before, "{name}: progress went back from {before} to {at}");
    }
    assert_eq!(progress.attempt, FIRST);
    *last = *progress;
}

#[test]
fn progress_is_sent_unasked_and_never_ahead_of_the_files() {
    let steps = ["repeat", "40", "[", "flood", "stdout", "20K", "flood", "stderr", "3K", "sleep", "4", "]"];
    let (lab, mut owner) = host::started(&steps);
    let mut last = RecordedSizes { attempt: FIRST, stdout: 0, stderr: 0, pty: 0 };
    let mut told = 0;
    while let HostMessage::Notice(notice) = owner.receive(LONG).expect("a host that speaks") {
        if let Notice::Progress(progress) = notice {
            check_progress(&lab, &progress, &mut last);
            // The index has it too: this is what everybody else goes by.
            assert!(read_as_far_as_it_is(&lab).len() as u64 >= progress.stdout);
            told += 1;
        }
    }
    assert_eq!((last.stdout, last.stderr), (40 * 20 * 1024, 40 * 3 * 1024));
    assert!(told > 2, "{told} times");
    assert_eq!(lab.record(1).ended_by, Some(EndedBy::Exited));
}

#[test]
fn an_unresponsive_owner_blocks_nothing_and_gets_the_newest() {
    const FLOOD: u64 = 50 << 20;
    const DRIP: u64 = 1000;
    // Much at once, and then often enough that all possible notices do not fit into the buffers.
    let drip = DRIP.to_string();
    let steps = ["flood", "stdout", "50M", "drip", "stdout", &drip, "1", "file", "written", "x", "forever"];
    let (lab, mut owner) = host::started(&steps);
    // All of it is taken while the owner reads nothing.
    lab.await_file("written");
    let log = lab.audit().join("stdout.1.log");
    wait_until("all bytes", || fs::metadata(&log).expect("a file").len() == FLOOD + DRIP);
    let mut notices = 0_u64;
    receive(&mut owner, "the newest progress", |notice| {
        notices += 1;
        if let Notice::Progress(progress) = notice { (progress.stdout == FLOOD + DRIP).then_some(()) } else { None }
    });
    finish(&lab, owner);
    let batches = lab.record(1).capture.batches;
    eprintln!("{notices} notices for {batches} batches");
    // Each notice costs the kernel some 750 bytes of this.
    let buffer = fs::read_to_string("/proc/sys/net/core/wmem_default").ok().and_then(|size| size.trim().parse().ok());
    if batches > DRIP / 2 && buffer.is_some_and(|size: u64| size <= 256 * 1024) {
        assert!(notices < batches, "progress was queued");
    }
    let expected = [host::flood(FLOOD as usize), host::flood(DRIP as usize)].concat();
    assert!(host::of(&host::read_back(&lab.out(), 1), Stream::Stdout) == expected, "the bytes differ");
}

#[test]
fn an_input_is_written_once_however_often_it_comes() {
    let lab = HostLab::new();
    let mut owner = lab.start(&with_pipe(&lab, r"echo-stdin out end\n wait-file end"));
    assert_eq!(input(&mut owner, "a", "blue\n"), InputAnswer::Written);
    assert_eq!(input(&mut owner, "a", "blue\n"), InputAnswer::Repeated);
    assert_eq!(input(&mut owner, "a", "something else\n"), InputAnswer::Repeated, "the id alone counts");
    let hex = |id: &str, hex: &str| HostRequest::Input { id: id.to_owned(), text: None, hex: Some(hex.to_owned()) };
    send(&mut owner, hex("b", "ff00fe0"));
    assert_eq!(receive_answer(&mut owner, "b"), InputAnswer::Unreadable);
    send(&mut owner, hex("b", "ff00fe0a"));
    assert_eq!(receive_answer(&mut owner, "b"), InputAnswer::Written);
    assert_eq!(input(&mut owner, "large", &"x".repeat(INPUT_MAX + 1)), InputAnswer::TooLarge);
    let whole = "y".repeat(INPUT_MAX);
    assert_eq!(input(&mut owner, "large", &whole), InputAnswer::Written, "what was refused may come again");
    hang_up(owner);
    let mut other = lab.attach(FIRST);
    for id in ["a", "b", "large"] {
        assert_eq!(input(&mut other, id, "again\n"), InputAnswer::Repeated, "{id}, of another owner");
    }
    // Numbers only grow.
    assert_eq!(input(&mut other, "7", "seven\n"), InputAnswer::Written);
    for id in ["7", "3"] {
        assert_eq!(input(&mut other, id, "again\n"), InputAnswer::Repeated, "{id}");
    }
    // Requests of owners that send and leave at once are handled too.
    send(&mut other, hex("c", "0a"));
    hang_up(other);
    let mut third = lab.attach(FIRST);
    assert_eq!(input(&mut third, "c", "again\n"), InputAnswer::Repeated);
    send(&mut third, HostRequest::CloseStdin);
    assert_eq!(input(&mut third, "d", "too late\n"), InputAnswer::Closed);
    lab.put("end", "");
    assert_eq!(receive_ended(&mut third), EndedBy::Exited);
    let given = [b"blue\n\xff\x00\xfe\n", whole.as_bytes(), b"seven\n\n"].concat();
    assert!(lab.evidence("stdin.1.log") == given);
    assert!(lab.evidence("stdout.1.log") == [&given[..], b"end\n"].concat());
    assert_eq!(lab.record(1).bytes.stdin, given.len() as u64);
}

#[test]
fn without_a_pipe_nothing_can_be_written() {
    let (lab, mut owner) = host::started(IDLE);
    assert_eq!(input(&mut owner, "1", "hello\n"), InputAnswer::Closed);
    assert_eq!(input(&mut owner, "1", "hello\n"), InputAnswer::Closed, "it was never written");
    assert_eq!(lab.evidence("stdin.1.log"), b"");
    finish(&lab, owner);
}

/// An owner that sends it again after a crash must not be answered that it was written.
#[test]
fn an_engine_that_has_closed_its_input_gets_nothing() {
    let lab = HostLab::new();
    let mut owner = lab.start(&with_pipe(&lab, "close stdin file closed x forever"));
    lab.await_file("closed");
    assert_eq!(input(&mut owner, "1", "hello\n"), InputAnswer::Closed);
    assert_eq!(input(&mut owner, "1", "hello\n"), InputAnswer::Closed, "it was never written");
    assert_eq!(input(&mut owner, "2", "hello\n"), InputAnswer::Closed);
    assert_eq!(lab.evidence("stdin.1.log"), b"");
    finish(&lab, owner);
}

#[test]
fn an_engine_that_does_not_read_blocks_nothing() {
    let lab = HostLab::new();
    let mut owner = lab.start(&with_pipe(&lab, r"out ready\n forever"));
    let whole = "x".repeat(INPUT_MAX);
    // Until the pipe is full, however large it is here: either the large one is stuck or the small one after it.
    let mut sent = 0;
    eventually("a full pipe", || {
        sent += 1;
        for (name, text) in [("large", whole.as_str()), ("small", "x")] {
            let id = format!("{name} {sent}");
            send(&mut owner, HostRequest::Input { id, text: Some(text.to_owned()), hex: None });
        }
        match input(&mut owner, &format!("last {sent}"), "x") {
            InputAnswer::Busy => Some(()),
            InputAnswer::Written => None,
            answer @ (InputAnswer::Repeated
            | InputAnswer::Closed
            | InputAnswer::TooLarge
            | InputAnswer::Unreadable
            | InputAnswer::LineTooLong) => panic!("{answer:?}"),
        }
    });
    assert_eq!(input(&mut owner, "large 1", "x"), InputAnswer::Repeated, "written or on its way");
    assert_eq!(input(&mut owner, "another", "x"), InputAnswer::Busy);
    let begin = Instant::now();
    finish(&lab, owner);
    assert!(begin.elapsed() < Duration::from_secs(1), "it took {:?}", begin.elapsed());
    let record = lab.record(1);
    assert_eq!(lab.evidence("stdin.1.log").len() as u64, record.bytes.stdin, "what the kernel took, no more");
    assert!(record.bytes.stdin < sent * (INPUT_MAX as u64 + 2));
}

#[test]
fn a_detached_attempt_continues_to_a_full_record() {
    let steps = ["out", "one\n", "wait-file", "go", "flood", "stderr", "500K", "out", "two\n", "exit", "3"];
    let (lab, mut owner) = host::started(&steps);
    host::wait_for_stdout(&mut owner, 4);
    send(&mut owner, HostRequest::Detach);
    let detached = receive(&mut owner, "leave", |notice| {
        if let Notice::Closed { reason, version } = notice { Some((*reason, *version)) } else { None }
    });
    assert_eq!(detached, (skillrun_collect::protocol::CloseReason::Detached, VERSION));
    assert_eq!(owner.receive(LONG).expect("no error"), HostMessage::Gone);
    // The next owner receives the progress at once.
    let mut next = lab.attach(FIRST);
    let progress = RecordedSizes { attempt: FIRST, stdout: 4, stderr: 0, pty: 0 };
    let heard = next.receive(LONG).expect("a host that speaks");
    assert_eq!(heard, HostMessage::Notice(Notice::Progress(progress)));
    send(&mut next, HostRequest::Detach);
    lab.put("go", "");
    let record = lab.record(1);
    assert_eq!((record.exit_code, record.ended_by), (Some(3), Some(EndedBy::Exited)));
    let streams = host::read_back(&lab.out(), 1);
    assert_eq!(host::of(&streams, Stream::Stdout), b"one\ntwo\n");
    assert!(host::of(&streams, Stream::Stderr) == host::flood(500 * 1024));
    wait_until("the end of the host", || is_gone(next.host_pid()));
    assert_eq!(lab.attach_ended(FIRST), record);
    assert_not_begun(&lab, AttemptNumber(2));
}

fn assert_not_begun(lab: &HostLab, attempt: AttemptNumber) {
    let attached = attach(&lab.audit(), attempt).expect("an answer");
    assert!(matches!(attached, Attached::NotBegun), "{attached:?}");
}

#[test]
fn what_was_never_begun_is_not_attached_to() {
    let lab = HostLab::new();
    start::prepare_folder(&lab.out()).expect("a folder");
    assert_not_begun(&lab, FIRST);
}

/// A folder whose path alone has more bytes than this.
fn deep(lab: &HostLab, bytes: usize) -> PathBuf {
    let mut path = lab.out();
    while path.as_os_str().len() <= bytes {
        path.push("a-folder-with-a-rather-long-name-so-that-a-few-of-them-are-enough".repeat(3));
    }
    path
}

#[test]
fn a_socket_may_lie_deeper_than_the_kernel_can_name() {
    let lab = HostLab::new();
    for bytes in [108, 1000, 3000] {
        let out = deep(&lab, bytes);
        let audit = start::prepare_folder(&out).expect("a folder");
        host::start_host(&HostPlan { audit: audit.clone().into(), ..with_pipe(&lab, r"echo-stdin out end\n") });
        let live = || match attach(&audit, FIRST).expect("attached") {
            Attached::Live(owner) => *owner,
            other @ (Attached::NotBegun | Attached::Ended(_) | Attached::Lost { .. }) => panic!("{other:?}"),
        };
        let mut owner = live();
        assert_eq!(input(&mut owner, "1", "hello\n"), InputAnswer::Written);
        assert!(matches!(attach(&audit, FIRST), Err(CollectError::Owned)));
        hang_up(owner);
        let mut owner = live();
        send(&mut owner, HostRequest::CloseStdin);
        assert_eq!(receive_ended(&mut owner), EndedBy::Exited);
        assert!(!audit.join("host.sock").exists());
        assert_eq!(host::of(&host::read_back(&out, 1), Stream::Stdout), b"hello\nend\n");
        // The command finds its way as well.
        let mut command = lab.bare_capture(&["--no-snapshot"]);
        let output = host::output(command.args(["true"]));
        assert_eq!(output.status.code(), Some(0));
    }
    let out = deep(&lab, 2000);
    let mut command = std::process::Command::new(SKILLRUN);
    command.args(["capture", "--no-snapshot", "--workspace"]).arg(lab.workspace()).arg("--out").arg(&out);
    let output = host::output(command.args(["--", "sh", "-c", "echo deep; exit 5"]));
    assert_eq!((output.status.code(), host::text(&output.stdout).as_str()), (Some(5), "deep\n"));
}

#[test]
fn the_owner_is_notified_of_exit_and_end_after_the_record() {
    // Main is over long before its streams are.
    let steps = ["orphan", "[", "wait-file", "go", "out", "late\n", "]", "exit", "9"];
    let (lab, mut owner) = host::started(&steps);
    let host = owner.host_pid();
    assert_eq!(host::receive_exit(&mut owner), Some(9), "the streams are still open");
    assert!(!lab.has("host.1.json"));
    hang_up(owner);
    // An owner that attaches after the exit is notified of it too.
    let mut owner = lab.attach(FIRST);
    receive(&mut owner, "the exit", |notice| {
        if let Notice::Exited { exit_code: Some(9), signal: None } = notice { Some(()) } else { None }
    });
    lab.put("go", "");
    let mut last = None;
    loop {
        match owner.receive(LONG).expect("a host that speaks") {
            HostMessage::Notice(Notice::Ended { ended_by }) => {
                let record = HostRecord::read(&lab.audit(), FIRST).expect("readable").expect("there, at this moment");
                assert_eq!((record.ended_by, record.exit_code), (Some(ended_by), Some(9)));
                assert_eq!(lab.meta(1)["exit_code"], 9);
                assert_eq!(ended_by, EndedBy::Exited);
                break;
            }
            HostMessage::Notice(notice) => last = Some(notice),
            heard @ (HostMessage::Nothing | HostMessage::Gone) => panic!("{heard:?}"),
        }
    }
    let all = RecordedSizes { attempt: FIRST, stdout: 5, stderr: 0, pty: 0 };
    assert_eq!(last, Some(Notice::Progress(all)), "all bytes are reported before the end");
    assert_eq!(owner.receive(LONG).expect("no error"), HostMessage::Gone);
    wait_until("the end of the host", || is_gone(host));
    for name in ["host.sock", "reserve.1"] {
        assert!(!lab.has(name), "{name} is left");
    }
    let temporary = fs::read_dir(lab.path("")).expect("a folder");
    let temporary: Vec<_> = temporary.map(|entry| entry.expect("one").file_name()).collect();
    assert!(!temporary.iter().any(|name| name.to_string_lossy().starts_with("skillrun-")), "{temporary:?}");
}

#[test]
fn a_host_that_is_terminated_ends_the_engine_first() {
    for signal in ["TERM", "INT", "HUP"] {
        let steps = ["out", "begun\n", "daemon", "[", "silence", "forever", "]", "pid", "main.pid", "forever"];
        let (lab, mut owner) = host::started(&steps);
        lab.await_pid("main.pid");
        lab::signal(owner.host_pid(), signal);
        assert_eq!(receive_ended(&mut owner), EndedBy::HostError, "{signal}");
        lab.assert_no_process_is_left();
        let record = lab.record(1);
        assert_eq!(record.ended_by, Some(EndedBy::HostError));
        let error = record.error.expect("an error");
        assert_eq!(error.message, "the host process was terminated by a signal");
        assert_eq!(lab.read_stdout(1), "begun\n");
        wait_until("the end of the host", || is_gone(owner.host_pid()));
        assert!(!lab.has("host.sock"));
    }
}

#[test]
fn an_owner_that_never_greets_loses_its_place() {
    let lab = HostLab::new();
    host::start_host(&lab.plan(IDLE));
    let mut raw = Raw::connect(&lab);
    raw.line();
    raw.say(b"{\"skillrun_");
    let begin = Instant::now();
    let owner = loop {
        match attach(&lab.audit(), FIRST) {
            Ok(Attached::Live(owner)) => break *owner,
            Err(CollectError::Owned) => sleep(Duration::from_millis(50)),
            other => panic!("{other:?}"),
        }
        assert!(begin.elapsed() < Duration::from_secs(15), "the place is not given up");
    };
    assert_eq!(raw.last_line().expect("a reason")["reason"], "unreadable");
    finish(&lab, owner);
}
