//! Real processes: killed in the middle of an append, writing at the same time, without space. A child is this test
//! binary again; its environment states its role.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::conformance::{LONG, tailed};

const ROLE: &str = "SKILLRUN_LOG_TEST_ROLE";
const FOLDER: &str = "SKILLRUN_LOG_TEST_FOLDER";
const CHILD: &str = "file::tests::processes::child";

fn this_program() -> PathBuf {
    std::env::current_exe().expect("a program")
}

/// A child in this role, and what it writes to stderr.
fn start(role: &str, fixture: &Fixture) -> (Killed, BufReader<ChildStderr>) {
    let mut command = Command::new(this_program());
    command.args([CHILD, "--exact", "--nocapture"]).env(ROLE, role).env(FOLDER, fixture.runs());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a child");
    let words = BufReader::new(child.stderr.take().expect("a pipe"));
    (Killed(child), words)
}

/// What a child does. Without a role this tests nothing.
#[test]
fn child() {
    let (Ok(role), Ok(folder)) = (std::env::var(ROLE), std::env::var(FOLDER)) else { return };
    let folder = PathBuf::from(folder);
    match role.as_str() {
        "append" => append_for_ever(&folder),
        "hold" => hold(&folder),
        "small disk" => on_a_small_disk(&folder),
        other => panic!("no role {other}"),
    }
}

/// Every event is known beforehand, so that a reader can detect a wrong one.
fn expected_event(run: RunId, seq: u64) -> skillrun_model::rasp::Event {
    let text = usize::try_from(seq * 7_919 % 30_000).expect("small");
    text_event(run, seq, seq, format!("{seq}{}", "e".repeat(text)))
}

fn append_for_ever(folder: &Path) {
    let log = FileLog::new(folder);
    let run = run_id(1);
    let mut next = log.open(run).expect("opened").head.next_seq;
    eprintln!("opened {next}");
    for round in 0_u64.. {
        let count = if round % 3 == 0 { 300 } else { 1 + round % 5 };
        let batch: Vec<_> = (next.0..next.0 + count).map(|seq| expected_event(run, seq)).collect();
        let durability = if round % 3 == 1 { Durability::Synced } else { Durability::Derived };
        next = log.append(run, next, &batch, durability).expect("appended");
        eprintln!("appended {next}");
    }
}

fn hold(folder: &Path) {
    let log = FileLog::new(folder);
    log.open(run_id(1)).expect("opened");
    eprintln!("opened");
    thread::sleep(LONG);
}

/// Kills its process when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn a_writer_that_is_killed_loses_nothing_that_was_appended() {
    let rounds = std::env::var("SKILLRUN_CHAOS_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(12_u64);
    let fixture = Fixture::new(0);
    let run = fixture.run;
    let reader = fixture.log();
    let (mut torn, mut acknowledged) = (0, 1_u64);
    let mut tail = Tail::new(&reader, run, Cursor::BEGINNING).expect("a tail");
    for round in 0..rounds {
        let (child, mut words) = start("append", &fixture);
        let mut line = String::new();
        while !line.starts_with("opened") {
            line.clear();
            assert!(words.read_line(&mut line).expect("read") > 0, "the child did not open the Log");
        }
        let acks = thread::spawn(move || words.lines().map_while(Result::ok).filter_map(appended).last());
        if round % 2 == 0 {
            // In the middle of a write: as soon as the file grows.
            let size = || fs::metadata(fixture.path("events.jsonl")).expect("the Log").len();
            let (before, start) = (size(), Instant::now());
            while size() == before {
                assert!(start.elapsed() < LONG, "the child does not append");
            }
        } else {
            // Anywhere, while a reader reads.
            for _ in 0..=round % 4 {
                let from = tail.cursor().after.0 + 1;
                let page = tailed(tail.next(Limits::default(), LONG).expect("more"));
                for (event, seq) in page.events().expect("whole events").into_iter().zip(from..) {
                    assert!(event == expected_event(run, seq), "seq {seq}");
                }
            }
            thread::sleep(Duration::from_millis(round * 7 % 40));
        }
        drop(child);
        acknowledged = acks.join().expect("words").unwrap_or(acknowledged).max(acknowledged);

        let log = fixture.log();
        let recovered = log.open(run).expect("never fatal");
        torn += u32::from(recovered.torn.is_some());
        assert!(recovered.damage.is_none() && !recovered.is_new_epoch, "{recovered:?}");
        let next = recovered.head.next_seq.0;
        assert!(next >= acknowledged, "{acknowledged} was acknowledged, {next} is next");
        assert!(tail.cursor().after.0 < next, "what was seen is there");
        acknowledged = next;
    }
    let log = fixture.log();
    let end = log.next_seq(run).expect("a head").0;
    let all = read_all(&log, run, Limits::default());
    assert_eq!(all.len() as u64, end - 1);
    for (event, seq) in all.iter().zip(1..) {
        assert!(*event == expected_event(run, seq), "seq {seq}");
    }
    let mut rest = tail.cursor().after.0;
    while let Tailed::Page(page) = tail.next(MANY, Duration::ZERO).expect("an answer") {
        rest += page.len() as u64;
    }
    assert_eq!(rest, end - 1, "the tail saw all of it");
    assert_eq!(log.check(run).expect("checked"), None);
    eprintln!("{rounds} kills, {torn} torn ends, {} events", end - 1);
}

fn appended(line: String) -> Option<u64> {
    line.strip_prefix("appended ")?.parse().ok()
}

#[test]
fn a_second_process_cannot_write() {
    let fixture = Fixture::new(3);
    let run = fixture.run;
    let (child, words) = start("hold", &fixture);
    assert!(words.lines().any(|line| line.expect("read") == "opened"));
    let log = fixture.log();
    let error = log.open(run).expect_err("held");
    assert!(matches!(error.kind, LogErrorKind::Held { pid: Some(pid) } if pid == child.0.id()), "{error}");
    assert_eq!(log.last_writer(run), Some(child.0.id()), "and it can be asked without a try");
    assert_eq!(read_all(&log, run, MANY), events(run, 1, 4), "readers need no lock");
    drop(child);
    assert_eq!(log.open(run).expect("free when its process is dead").head.next_seq, Seq(4));
}

#[test]
fn a_full_disk_leaves_nothing_half() {
    let folder = TempDir::new().expect("a folder");
    let script = r#"mount -t tmpfs -o size=2m tmpfs "$1" || exit 77; shift; exec "$@""#;
    let mut unshared = Command::new("unshare");
    unshared.args(["-m", "sh", "-c", script, "sh"]).arg(folder.path()).arg(this_program());
    unshared.args([CHILD, "--exact", "--nocapture"]).env(ROLE, "small disk").env(FOLDER, folder.path());
    match unshared.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) if output.status.code() == Some(77) || output.status.code() == Some(1) => {
            eprintln!("skipped: no small disk here ({})", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => eprintln!("skipped: unshare cannot be run ({error})"),
    }
}

fn on_a_small_disk(folder: &Path) {
    let log = FileLog::new(folder.join("runs"));
    let elsewhere = FileLog::new(folder.join("runs"));
    let run = run_id(1);
    log.create(run).expect("a Log");
    // Something else takes half of the disk.
    fs::write(folder.join("other"), vec![b'x'; 1024 * 1024]).expect("written");
    let batch = |from: u64, size: usize| -> Vec<_> {
        (from..from + 40).map(|seq| text_event(run, seq, seq, "z".repeat(size))).collect()
    };
    let mut next = Seq(1);
    let error = loop {
        match log.append(run, next, &batch(next.0, 3_000), Durability::Synced) {
            Ok(after) => next = after,
            Err(error) => break error,
        }
    };
    assert!(next > Seq(100), "{error}");
    assert!(matches!(error.kind, LogErrorKind::NoSpace { .. }), "{error}");
    assert!(error.to_string().contains("nothing of the batch was written; free space and append again"), "{error}");
    let path = folder.join("runs").join(run.to_string()).join("events.jsonl");
    let bytes = fs::read(&path).expect("the Log");
    assert_eq!(memchr::memchr_iter(b'\n', &bytes).count() as u64, next.0 - 1);
    assert!(bytes.ends_with(b"}\n"));
    for log in [&log, &elsewhere] {
        assert_eq!(log.next_seq(run).expect("a head"), next);
        assert_eq!(read_all(log, run, MANY).len() as u64, next.0 - 1);
    }
    // Still full, still the same, and a small batch may fit.
    assert!(log.append(run, next, &batch(next.0, 3_000), Durability::Derived).is_err());
    fs::remove_file(folder.join("other")).expect("removed");
    let after = log.append(run, next, &batch(next.0, 4_000), Durability::Synced).expect("space again");
    assert_eq!(after, next.plus(40));
    let head = log.head(run).expect("a head");
    assert_eq!(head, elsewhere.head(run).expect("a head"), "both know the epoch");
    assert!(head.epoch > Epoch::FIRST, "another process may have seen truncated lines");
    for after in [Seq(1), Seq(next.0 - 50), next, next.plus(39)] {
        let read = |log: &FileLog| log.read(run, Cursor::new(head.epoch, after), MANY).expect("a page");
        assert_eq!(read(&log), read(&elsewhere), "in memory after a failed append, and in the file");
    }
    let cursor = Cursor::new(Epoch::FIRST, next);
    assert!(matches!(elsewhere.read(run, cursor, MANY).expect("an answer"), LogRead::Reset(_)));
    assert!(matches!(log.read(run, cursor, MANY).expect("an answer"), LogRead::Reset(_)));
    assert_eq!(log.check(run).expect("checked"), None);
    log.release(run);

    let mounted = Command::new("mount").args(["-o", "remount,ro"]).arg(folder).status().expect("mount");
    assert!(mounted.success());
    for error in [log.open(run).map(drop).expect_err("refused"), log.create(run_id(2)).map(drop).expect_err("refused")]
    {
        assert!(matches!(error.kind, LogErrorKind::ReadOnly { .. }), "{error}");
        assert!(error.to_string().contains("failed to write"), "{error}");
    }
    assert_eq!(read_all(&log, run, MANY).len() as u64, after.0 - 1, "reading still works");
}
