//! `skillrun logs -f` shows a run completely, across questions too, and exits after the end.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Output, Stdio};

use lab::wait_until;
use rustix::process::{Pid, Signal, kill_process};

const ASKS: &str = r"
- - say: Let me think.
  - stderr: it is noted
  - sleep_ms: 50
  - ask: {kind: open_text, prompt: Which colour?}
- - sleep_ms: 50
  - output: {colour: '{{reply}}'}
    done: true
";

const HANGS: &str = r"
- - say: Let me think.
  - hang
";

struct Lab {
    place: lab::Lab,
}

impl Lab {
    fn new(script: &str) -> Self {
        let place = lab::Lab::without_data();
        place.bare_skill("paint", script);
        Self { place }
    }

    fn output(&self, words: &[&str]) -> Output {
        self.place.output(words)
    }

    fn text(&self, words: &[&str]) -> String {
        let output = self.output(words);
        String::from_utf8(output.stdout).expect("text") + &String::from_utf8(output.stderr).expect("text")
    }

    /// A run that continues in the background.
    fn run(&self, mode: &str) -> String {
        let output = self.output(&["run", "./paint", "--engine", "scripted", "--mode", mode, "--no-wait"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    fn follow(&self, run: &str, how: &[&str]) -> (Child, BufReader<ChildStdout>) {
        let words = [&["logs", "-f", run], how].concat();
        let mut child =
            self.place.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        (child, stdout)
    }

    fn file(&self, run: &str, name: &str) -> String {
        fs::read_to_string(self.place.run_folder(run).join(name)).expect("readable")
    }
}

/// Reads until a line has these words.
fn read_until(from: &mut impl BufRead, words: &str) -> String {
    let mut text = String::new();
    while !text.contains(words) {
        let before = text.len();
        from.read_line(&mut text).expect("readable");
        assert!(text.len() > before, "it ended without {words:?}: {text}");
    }
    text
}

fn end(mut child: Child, mut stdout: impl Read) -> (Option<i32>, String, String) {
    let (mut text, mut notes) = (String::new(), String::new());
    stdout.read_to_string(&mut text).expect("text");
    child.stderr.take().expect("a pipe").read_to_string(&mut notes).expect("text");
    (child.wait().expect("over").code(), text, notes)
}

#[test]
fn a_question_is_no_end_and_the_end_is_always_shown() {
    let lab = Lab::new(ASKS);
    let run = lab.run("interactive");
    let (child, mut stdout) = lab.follow(&run, &[]);
    let begin = read_until(&mut stdout, "waiting for the user");
    assert!(begin.contains("Which colour?"), "{begin}");
    let (events, events_out) = lab.follow(&run, &["--rasp"]);
    let (conversation, conversation_out) = lab.follow(&run, &["--fcmp"]);
    let (raw, mut raw_out) = lab.follow(&run, &["--raw"]);
    let said = read_until(&mut raw_out, "turn.completed");
    assert!(lab.output(&["reply", &run, "blue"]).status.success());
    let (code, text, notes) = end(child, stdout);
    assert_eq!((code, text.ends_with("\n== run succeeded · DONE_MARKER_FOUND\n")), (Some(0), true), "{text}");
    assert!(notes.contains(&format!("skillrun reply {run} TEXT")), "{notes}");
    assert_eq!(end(events, events_out).1, lab.file(&run, "events.jsonl"));
    assert_eq!(end(conversation, conversation_out).1, lab.file(&run, "fcmp.jsonl"));
    let (code, rest, noted) = end(raw, raw_out);
    let all = lab.file(&run, ".audit/stdout.1.log") + &lab.file(&run, ".audit/stdout.2.log");
    assert_eq!((code, said + &rest, noted.as_str()), (Some(0), all, "it is noted\n"));
}

#[test]
fn logs_can_be_interrupted_without_harm() {
    let lab = Lab::new(HANGS);
    let run = lab.run("auto");
    for how in [&[][..], &["--raw"], &["--rasp"]] {
        let (child, mut stdout) = lab.follow(&run, how);
        read_until(&mut stdout, "Let me think.");
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, Signal::INT).expect("told");
        assert_eq!(end(child, stdout).0, Some(130), "{how:?}");
    }
    assert!(lab.text(&["ls"]).contains("running"), "only its owner affects the run");
    assert!(lab.output(&["cancel", &run]).status.success());
}

#[test]
fn a_dead_owner_is_reported_by_every_command() {
    let lab = Lab::new(HANGS);
    let run = lab.run("auto");
    let (mut child, mut stdout) = lab.follow(&run, &[]);
    read_until(&mut stdout, "Let me think.");
    child.kill().and_then(|()| child.wait()).expect("over");
    let owner =
        |shown: &str| shown.lines().find_map(|line| line.strip_prefix("owner")).map(|rest| rest.trim().to_owned());
    let found = owner(&lab.text(&["show", &run])).expect("an owner");
    let pid: i32 = found.strip_prefix("process ").and_then(|pid| pid.parse().ok()).expect("a process");
    kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("killed");
    let has_owner = || owner(&lab.text(&["show", &run])).is_some_and(|owner| owner.starts_with("process"));
    wait_until("the end of the owner", || !has_owner());
    let doctor = lab.output(&["doctor"]);
    let told = String::from_utf8(doctor.stdout).expect("text");
    assert_eq!(doctor.status.code(), Some(1), "{told}");
    assert!(
        told.contains("1 owner process died with unfinished runs") && told.contains("no process works on 1 run"),
        "{told}"
    );
    assert!(lab.text(&["ls"]).contains("`skillrun recover` resumes them"));
    let (mut child, stdout) = lab.follow(&run, &[]);
    let note = read_until(&mut BufReader::new(child.stderr.take().expect("a pipe")), "note:");
    assert!(note.contains("no process works on this run"), "{note}");
    assert!(lab.output(&["cancel", &run]).status.success());
    let mut text = String::new();
    BufReader::new(stdout).read_to_string(&mut text).expect("text");
    assert!(text.contains("== run canceled"), "{text}");
    assert_eq!(child.wait().expect("over").code(), Some(8), "canceled");
}

/// Regression: the command left as soon as the Log had the end, and the conversation on disk stayed without it (found by
/// the scenarios in `proof/verdicts`, on all five engines).
#[test]
fn a_run_ended_by_policy_has_its_conversation_on_disk() {
    let lab = Lab::new(ASKS);
    let words = ["--engine", "scripted", "--mode", "interactive", "--no-reply-needed", "--session-timeout", "0.2"];
    let ended = lab.output(&[&["run", "./paint"], &words[..], &["--decide", "abort"]].concat());
    assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
    let verified = lab.output(&["verify", "last"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}
