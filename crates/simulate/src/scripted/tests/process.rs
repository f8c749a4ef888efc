//! The engine as a real child process. The child is this test program itself, started to run only [`child`].

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::scripted::run;

const WORDS: &str = "SKILLRUN_SCRIPTED_WORDS";
/// Between what the test harness says and what the engine writes.
const BEGIN: &str = "---- the engine begins ----";

/// No test: the engine, when it was started by one of the others.
#[test]
fn child() {
    let Ok(words) = std::env::var(WORDS) else { return };
    let words: Vec<OsString> = words.split('\n').map(OsString::from).collect();
    rustix::io::write(rustix::stdio::stdout(), format!("\n{BEGIN}\n").as_bytes()).expect("stdout");
    std::process::exit(run(&words).into());
}

/// A folder with a script in it.
struct Lab {
    folder: TempDir,
}

struct Engine {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

#[derive(Debug, PartialEq, Eq)]
struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Lab {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("play.yaml"), script).expect("a script");
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn start(&self, words: &[&str]) -> Engine {
        let words = ["--script", "play.yaml", "--profile"].iter().chain(words).copied().collect::<Vec<_>>();
        self.start_with(&words)
    }

    fn start_with(&self, words: &[&str]) -> Engine {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "scripted::tests::process::child", "--nocapture", "--test-threads=2"])
            .env(WORDS, words.join("\n"))
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout"));
        let mut line = String::new();
        while line.trim_end() != BEGIN {
            line.clear();
            assert_ne!(stdout.read_line(&mut line).expect("stdout"), 0, "the engine did not begin");
        }
        Engine { child, stdout }
    }

    /// Starts it, says this on stdin, and waits for its end.
    fn run(&self, words: &[&str], stdin: &str) -> Ended {
        self.start(words).end(stdin)
    }
}

impl Engine {
    fn say(&mut self, text: &str) {
        let stdin = self.child.stdin.as_mut().expect("stdin");
        // It may have ended without listening.
        let _ = stdin.write_all(text.as_bytes());
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("stdout");
        line
    }

    fn end(mut self, stdin: &str) -> Ended {
        self.say(stdin);
        drop(self.child.stdin.take());
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).expect("stdout");
        self.child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("stderr");
        let status = self.child.wait().expect("its end");
        Ended { code: status.code(), signal: status.signal(), stdout, stderr }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, signal).expect("a living process");
    }
}

fn refused_with(stderr: &str) -> Ended {
    Ended { code: None, signal: None, stdout: String::new(), stderr: format!("simulate-scripted: {stderr}\n") }
}

const TALK: &str = r#"
session: ses-1
turns:
- - ask: {kind: open_text, prompt: "Which colour?"}
- - expect_reply: blue
  - say: "{{prompt}} Then: {{reply}}"
- - output: {colour: "{{reply}}"}
    done: true
"#;

#[test]
fn without_a_script_every_turn_repeats_the_user() {
    let lab = Lab::new(TALK);
    let run = |words: &[&str]| lab.start_with(&[&["--profile", "codex_ndjson"], words].concat()).end("");
    let first = run(&["--prompt", "Why is the sky \"blue\"?"]);
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    assert!(first.stdout.contains(r#""text":"Why is the sky \"blue\"?""#), "{}", first.stdout);
    let line: serde_json::Value = serde_json::from_str(first.stdout.lines().next().expect("a line")).expect("JSON");
    let session = line["thread_id"].as_str().expect("a session");
    for words in ["And at night?", "And at noon?"] {
        let next = run(&["--resume", session, "--prompt", words]);
        assert!(next.code == Some(0) && next.stdout.contains(words), "{}{}", next.stdout, next.stderr);
    }
    let mut sticky = lab.start_with(&["--profile", "claude_stream_json", "--sticky", "--prompt", "one"]);
    sticky.say("two\nthree\n");
    let ended = sticky.end("");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(["one", "two", "three"].iter().all(|word| ended.stdout.contains(word)), "{}", ended.stdout);
}

#[test]
fn each_turn_is_a_process_and_the_session_continues() {
    let lab = Lab::new(TALK);
    let first = lab.run(&["codex_ndjson", "--prompt", "Paint it."], "");
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    let begun = "{\"type\":\"thread.started\",\"thread_id\":\"ses-1\"}\n{\"type\":\"turn.started\"}\n";
    assert!(first.stdout.starts_with(begun) && first.stdout.contains("<ASK_USER_YAML>"), "{}", first.stdout);
    assert!(lab.path().join(".scripted/ses-1.json").is_file());

    let second = lab.run(&["codex_ndjson", "--resume", "ses-1", "--prompt", "-"], "light\nblue");
    assert_eq!(second.code, Some(0));
    assert!(second.stdout.starts_with(begun), "{}", second.stdout);
    assert!(second.stdout.contains(r#""text":"Paint it. Then: light\nblue""#), "{}", second.stdout);

    let third = lab.run(&["codex_ndjson", "--resume=ses-1", "--prompt=red"], "");
    assert!(third.stdout.contains(r#"{\"__SKILL_DONE__\":true,\"colour\":\"red\"}"#), "{}", third.stdout);

    let fourth = lab.run(&["codex_ndjson", "--resume", "ses-1"], "");
    let expected = refused_with("play.yaml: turn 4 was asked for, and it has 3");
    assert_eq!(fourth, Ended { code: Some(65), ..expected });

    let again = lab.run(&["codex_ndjson", "--prompt", "Paint it."], "");
    assert_eq!(again, first, "a start without a session begins a new one");
}

#[test]
fn sessions_are_kept_where_it_is_said() {
    let lab = Lab::new("[[end], [say: on]]");
    let state = ["--state", "kept"];
    let first = lab.run(&[&["opencode_ndjson"], &state[..]].concat(), "");
    assert_eq!(first.code, Some(0));
    let names: Vec<_> = fs::read_dir(lab.path().join("kept")).expect("a folder").collect();
    let name = names[0].as_ref().expect("a file").file_name().into_string().expect("a name");
    let session = name.strip_suffix(".json").expect("a session");
    assert!(session.starts_with("ses_") && first.stdout.contains(session) && names.len() == 1, "{name}");
    let elsewhere = lab.run(&["opencode_ndjson", "--resume", session], "");
    assert_eq!((elsewhere.code, elsewhere.stdout.as_str()), (Some(1), ""));
    assert!(elsewhere.stderr.contains("Session not found"), "{}", elsewhere.stderr);
    assert_eq!(lab.run(&[&["opencode_ndjson", "--resume", session], &state[..]].concat(), "").code, Some(0));
}

#[test]
fn an_unknown_session_is_refused() {
    let lab = Lab::new(TALK);
    let refused = lab.run(&["gemini_stream_json", "--resume", "../../etc/x"], "");
    let stderr = "Error resuming session: No previous sessions found for this project.\n".to_owned();
    assert_eq!(refused, Ended { code: Some(42), signal: None, stdout: String::new(), stderr });
}

#[test]
fn a_sticky_engine_takes_a_line_per_turn() {
    let lab = Lab::new(TALK);
    let mut engine = lab.start(&["claude_stream_json", "--sticky", "--prompt", "-"]);
    engine.say("Paint it.\n");
    let mut said = Vec::new();
    for reply in ["{\"text\":\"blue\\nsky\"}\n", "red\n"] {
        let mut turn = String::new();
        while !turn.contains(r#""type":"result""#) {
            turn.push_str(&engine.line());
        }
        said.push(turn);
        engine.say(reply);
    }
    // Stdin stays open: it ends after its last turn by itself.
    let mut rest = String::new();
    engine.stdout.read_to_string(&mut rest).expect("stdout");
    let end = Ended { stdout: rest, ..engine.end("") };
    assert_eq!((end.code, end.stderr.as_str()), (Some(0), ""));
    assert!(said[0].contains("ASK_USER_YAML") && said[1].contains(r"Paint it. Then: blue\nsky"), "{said:?}");
    assert!(end.stdout.contains("__SKILL_DONE__") && said.iter().all(|turn| turn.contains("ses-1")), "{end:?}");
}

#[test]
fn a_sticky_engine_ends_with_stdin_and_can_be_resumed() {
    let lab = Lab::new(TALK);
    let left = lab.run(&["qwen_stream_json", "--sticky", "--prompt", "Paint it."], "");
    assert_eq!((left.code, left.stdout.matches(r#""type":"result""#).count()), (Some(0), 1));
    let resumed = lab.run(&["qwen_stream_json", "--sticky", "--resume", "ses-1", "--prompt", "blue"], "red\n");
    assert_eq!((resumed.code, resumed.stdout.matches(r#""type":"result""#).count()), (Some(0), 2));
    assert!(resumed.stdout.contains("Paint it. Then: blue"), "{}", resumed.stdout);
}

/// Answers the question that the next lines of the engine hold.
fn answer(engine: &mut Engine, text: &str) {
    let mut question = String::new();
    while !question.contains("control_request") {
        question = engine.line();
        assert_ne!(question, "", "it ended and asked nothing");
    }
    let question: serde_json::Value = serde_json::from_str(&question).expect("JSON");
    let id = question["request_id"].as_str().expect("a name");
    let input = &question["request"]["input"];
    let question = skillrun_engine::input::CallQuestion { call_id: id, input: Some(input), asked: None };
    let claude = skillrun_model::ProfileId::ClaudeStreamJson;
    engine.say(&skillrun_engine::input::answer(claude, &question, text).expect("it asks"));
}

#[test]
fn a_sticky_engine_waits_for_its_permissions() {
    let permission = "permission: {tool: Bash, input: {command: ls}}, say: \"{{permission}}\"";
    let lab = Lab::new(&format!("[[{permission}], [echo_reply, {permission}]]"));
    let mut engine = lab.start(&["claude_stream_json", "--sticky", "--prompt", "go"]);
    answer(&mut engine, "ok");
    engine.say("on\n");
    answer(&mut engine, "no");
    let ended = engine.end("");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains(r#""text":"deny: The user said no.""#), "{}", ended.stdout);

    let left = lab.run(&["claude_stream_json", "--sticky", "--prompt", "go"], "");
    let asked = "play.yaml: turn 1, act 1 (permission): ";
    let sentence = format!("{asked}stdin ended before an answer to permission_t1_1 came");
    assert_eq!((left.code, left.stderr), (Some(65), refused_with(&sentence).stderr));
    let other = lab.run(&["claude_stream_json", "--sticky", "--prompt", "go"], "yes\n");
    let sentence = format!("{asked}the line on stdin, \"yes\", is not an answer to permission_t1_1");
    assert_eq!((other.code, other.stderr), (Some(65), refused_with(&sentence).stderr));
    assert!(!other.stdout.contains("deny") && !other.stdout.contains("allow"), "{}", other.stdout);

    let alone = lab.run(&["claude_stream_json", "--prompt", "go"], "");
    let sentence = format!("{asked}its answer comes on stdin, to which only a --sticky engine listens");
    assert_eq!(alone, Ended { code: Some(64), ..refused_with(&sentence) });
}

#[test]
fn a_failure_ends_a_sticky_engine() {
    let lab = Lab::new("[[fail: no], [say: never]]");
    let ended = lab.run(&["codex_ndjson", "--sticky"], "go on\n");
    assert_eq!((ended.code, ended.stdout.contains("never")), (Some(1), false));
}

#[test]
fn invalid_scripts_are_reported_before_anything_is_done() {
    let lab = Lab::new("[[say: hello], [dance: yes]]");
    let expected = |sentence| Ended { code: Some(64), ..refused_with(sentence) };
    let refused = lab.run(&["codex_ndjson"], "");
    assert_eq!(refused, expected("play.yaml: turn 2, act 1 (dance): there is no act dance"));
    assert!(!lab.path().join(".scripted").exists());
    let words = lab.start_with(&["--script", "play.yaml"]).end("");
    assert_eq!(words, expected("--profile is needed"));
    let missing = lab.start_with(&["--profile", "codex_ndjson", "--script", "none"]).end("");
    assert_eq!(missing, expected("none: No such file or directory (os error 2)"));
    fs::write(lab.path().join("play.yaml"), vec![b' '; (1 << 20) + 1]).expect("a script");
    assert_eq!(lab.run(&["codex_ndjson"], ""), expected("play.yaml: it is larger than 1048576 bytes"));
    fs::write(lab.path().join("play.yaml"), b"- - say: \xff").expect("a script");
    assert_eq!(lab.run(&["codex_ndjson"], ""), expected("play.yaml: it is not UTF-8"));
    fs::write(lab.path().join("play.yaml"), "[[limit: x]]").expect("a script");
    let limit = "play.yaml: turn 1, act 1 (limit): plain_text has no limit end";
    assert_eq!(lab.run(&["plain_text"], ""), expected(limit));
}

#[test]
fn an_unexpected_reply_is_reported() {
    let lab = Lab::new("[[expect_reply: please, say: never]]");
    let sentence = "turn 1, act 1 (expect_reply): what the user said, \"now\", does not contain \"please\"";
    let expected = Ended { code: Some(65), ..refused_with(&format!("play.yaml: {sentence}")) };
    assert_eq!(lab.run(&["plain_text", "--prompt", "now"], ""), expected);
}

#[test]
fn files_are_written_below_the_working_folder_and_nowhere_else() {
    let lab = Lab::new("[[write: {path: out/deep/a.txt, content: \"{{reply}}\"}, write: {path: b, content: x}]]");
    assert_eq!(lab.run(&["plain_text", "--prompt", "blue"], "").code, Some(0));
    assert_eq!(fs::read(lab.path().join("out/deep/a.txt")).expect("a file"), b"blue");

    let outside = tempfile::tempdir().expect("a folder");
    let lab = Lab::new("[[write: {path: link/a.txt, content: x}]]");
    symlink(outside.path(), lab.path().join("link")).expect("a link");
    let refused = lab.run(&["plain_text"], "");
    assert_eq!((refused.code, outside.path().join("a.txt").exists()), (Some(74), false));
    assert!(refused.stderr.starts_with("simulate-scripted: link/a.txt ("), "{}", refused.stderr);

    let lab = Lab::new("[[write: {path: link, content: x}]]");
    symlink(outside.path().join("a.txt"), lab.path().join("link")).expect("a link");
    assert_eq!(lab.run(&["plain_text"], "").code, Some(74));
    assert!(!outside.path().join("a.txt").exists());
}

#[test]
fn lines_are_seen_at_once_and_ignored_signals_do_nothing() {
    let lab = Lab::new("[[ignore: [SIGINT, TERM], say: a, end, hang]]");
    let mut engine = lab.start(&["plain_text"]);
    assert_eq!(engine.line(), "a\n");
    for signal in [Signal::INT, Signal::TERM, Signal::INT] {
        engine.signal(signal);
    }
    std::thread::sleep(Duration::from_millis(50));
    assert!(engine.child.try_wait().expect("a child").is_none(), "it should hang");
    engine.signal(Signal::KILL);
    assert_eq!(engine.end("").signal, Some(9));
}

#[test]
fn sleeping_takes_its_time() {
    let lab = Lab::new("[[say: a, sleep_ms: 150, say: b]]");
    let mut engine = lab.start(&["plain_text"]);
    assert_eq!(engine.line(), "a\n");
    let begin = Instant::now();
    assert_eq!((engine.line(), engine.line()), ("\n".to_owned(), "b\n".to_owned()));
    assert!(begin.elapsed() >= Duration::from_millis(100), "{:?}", begin.elapsed());
    assert_eq!(engine.end("").code, Some(0));
}

#[test]
fn a_crash_is_a_signal_and_an_exit_a_code() {
    for (signal, number) in [("SIGSEGV", 11), ("KILL", 9), ("TERM", 15)] {
        let lab = Lab::new(&format!("[[ignore: [TERM], say: a, crash: {signal}]]"));
        let ended = lab.run(&["plain_text"], "");
        assert_eq!((ended.signal, ended.stdout.as_str()), (Some(number), "a\n"), "{signal}");
    }
    let lab = Lab::new("[[say: a, exit: 7]]");
    assert_eq!(lab.run(&["plain_text"], "").code, Some(7));
}

#[test]
fn a_flood_has_its_length_and_ends_its_line() {
    let lab = Lab::new("[[flood: 200001, say: after]]");
    let ended = lab.run(&["plain_text"], "");
    assert_eq!(ended.stdout.len(), 200_001 + "after\n".len());
    assert!(ended.stdout.starts_with("0000000000000000 the quick") && ended.stdout.ends_with("\nafter\n"));
}

#[test]
fn a_reader_that_is_gone_ends_it_quietly() {
    let lab = Lab::new("[[flood: 10000000, say: never]]");
    let mut engine = lab.start(&["codex_ndjson"]);
    // Only the reading end goes; the child has to notice by itself.
    let Engine { child, stdout } = &mut engine;
    stdout.get_mut().read_exact(&mut [0; 10]).expect("the flood's beginning");
    let mut null = Command::new("true").stdout(Stdio::piped()).spawn().expect("a child");
    let other = BufReader::new(null.stdout.take().expect("stdout"));
    null.wait().expect("its end");
    drop(std::mem::replace(stdout, other));
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("stderr");
    assert_eq!((child.wait().expect("its end").code(), stderr.as_str()), (Some(74), ""));
}

/// Found by a user: the first example of the README answered "9 words" to "one two three".
#[test]
fn an_answer_follows_from_the_request_of_the_run() {
    let script = r#"
- - output: {words: "{{input.text | words}}", longest: "{{input.text | longest_word}}", rows: "{{file.table | rows}}"}
"#;
    let lab = Lab::new(script);
    let record = r#"{"more": 1, "request": {"mode": "auto", "input": {"text": "one two three"}, "parameter": {},
        "files": {"table": "1-t.csv"}, "more": 1}}"#;
    fs::write(lab.path().join("run.json"), record).expect("a record");
    fs::create_dir(lab.path().join("inputs")).expect("a folder");
    fs::write(lab.path().join("inputs/1-t.csv"), "a,b\n1,2\n").expect("a file");
    let ended = lab.run(&["plain_text", "--run", "run.json"], "");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "{\"words\":3,\"longest\":\"three\",\"rows\":1}\n"));
    let without = lab.run(&["plain_text"], "");
    let told = "play.yaml: turn 1, act 1 (output): {{input.text | words}} has no value in this run; give it with --input \
                text=VALUE";
    assert_eq!(without, Ended { code: Some(65), ..refused_with(told) });
    let unreadable = lab.run(&["plain_text", "--run", "gone.json"], "");
    let told = "gone.json (No such file or directory (os error 2))";
    assert_eq!(unreadable, Ended { code: Some(74), ..refused_with(told) });
    fs::write(lab.path().join("inputs/1-t.csv"), vec![b'\n'; (1 << 20) + 1]).expect("a file");
    let large = lab.run(&["plain_text", "--run", "run.json"], "");
    assert_eq!(large.code, Some(65));
    assert!(large.stderr.ends_with("which is larger than 1048576 bytes\n"), "{}", large.stderr);
}
