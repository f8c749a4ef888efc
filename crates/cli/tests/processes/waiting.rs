//! Commands that wait for runs and remove them, and the exit codes that all commands about one run share.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

use lab::{Lab, wait_exit};

const HANGS: &str = "- - say: I begin.\n  - hang\n";
const FAILS: &str = "- - fail: the model is not there\n";
const ASKS: &str = "- - ask: {kind: open_text, prompt: Which colour?}\n";
const DONE: &str = "- - output: {answer: done}\n    done: true\n";

fn lab(skills: &[(&str, &str)]) -> Lab {
    let place = Lab::without_data();
    for (name, script) in skills {
        place.bare_skill(name, script);
    }
    place
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Checks the exit code, and returns what was printed.
fn exits(lab: &Lab, words: &[&str], code: i32) -> String {
    let output = lab.output(words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output));
    text(&output)
}

/// A run that continues in the background.
fn begin(lab: &Lab, words: &[&str]) -> String {
    let words = [&["run", "--engine", "scripted", "--no-wait"], words].concat();
    let output = lab.output(&words);
    assert!(output.status.success(), "{}", text(&output));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// `result` of a running run exited with 1, and `logs -f` of a failed one with 0.
#[test]
fn exit_codes_say_how_the_run_stands() {
    let lab = lab(&[("hangs", HANGS), ("fails", FAILS), ("asks", ASKS), ("done", DONE)]);
    let run = begin(&lab, &["./hangs"]);
    assert!(exits(&lab, &["result", &run], 5).contains("The run is not over"));
    exits(&lab, &["wait", &run, "--timeout", "0.2"], 5);
    let json = exits(&lab, &["wait", &run, "--timeout", "0.2", "--json"], 5);
    assert!(json.contains("\"status\": \"running\"") || json.contains("\"status\": \"queued\""), "{json}");
    exits(&lab, &["cancel", &run], 0);
    for words in [&["wait", &run][..], &["result", &run], &["logs", "-f", &run], &["logs", "-f", "--raw", &run]] {
        exits(&lab, words, 8);
    }
    exits(&lab, &["logs", &run], 0);

    let run = begin(&lab, &["./fails"]);
    assert!(exits(&lab, &["wait", &run], 1).starts_with(&format!("{run}  failed · ")));
    for words in [&["logs", "-f", &run][..], &["logs", "-f", "--rasp", &run], &["result", &run]] {
        exits(&lab, words, 1);
    }
    let run = begin(&lab, &["./asks", "--mode", "interactive"]);
    assert!(exits(&lab, &["wait", &run], 6).contains(&format!("skillrun reply {run} TEXT")));
    exits(&lab, &["result", &run], 6);
    exits(&lab, &["cancel", &run], 0);
    let run = begin(&lab, &["./done"]);
    assert_eq!(exits(&lab, &["wait", &run], 0), format!("{run}  succeeded\n"));
    exits(&lab, &["logs", "-f", &run], 0);
    exits(&lab, &["wait", "0000"], 4);
}

/// `logs --attempt 9` printed nothing and succeeded.
#[test]
fn an_attempt_that_does_not_exist_is_an_error_in_every_form() {
    let lab = lab(&[("done", DONE)]);
    let run = begin(&lab, &["./done"]);
    exits(&lab, &["wait", &run], 0);
    for form in [&[][..], &["--rasp"], &["--fcmp"], &["--json"], &["--raw"], &["-f"], &["-f", "--raw"]] {
        let told = exits(&lab, &[&["logs", &run, "--attempt", "9"], form].concat(), 4);
        assert_eq!(told, format!("error: run {run} has no attempt 9; its only attempt is 1\n"), "{form:?}");
    }
}

#[test]
fn a_wait_ends_with_the_run() {
    let lab = lab(&[("hangs", HANGS)]);
    let run = begin(&lab, &["./hangs"]);
    let mut waiting = lab.command(&["wait", &run]).stdout(Stdio::piped()).spawn().expect("started");
    exits(&lab, &["cancel", &run], 0);
    let mut told = String::new();
    waiting.stdout.take().expect("a pipe").read_to_string(&mut told).expect("text");
    assert_eq!((wait_exit(&mut waiting).code(), told), (Some(8), format!("{run}  canceled\n")));
}

#[test]
fn only_runs_that_are_over_are_removed() {
    let lab = lab(&[("hangs", HANGS), ("done", DONE)]);
    lab.write("project/mine.txt", "mine");
    let (over, alive) = (begin(&lab, &["./done", "--workspace", "project"]), begin(&lab, &["./hangs"]));
    exits(&lab, &["wait", &over], 0);
    // A name that does not exist: nothing is removed.
    exits(&lab, &["rm", &over, "0000"], 4);
    assert!(lab.run_folder(&over).exists());
    let told = exits(&lab, &["rm", &alive, &over], 2);
    assert!(told.contains(&format!("{over}  removed, ")), "{told}");
    let refused = format!("error: run {alive} is not over; end it with `skillrun cancel {alive}` first\n");
    assert!(told.ends_with(&refused), "{told}");
    assert!(!lab.run_folder(&over).exists() && lab.run_folder(&alive).join("events.jsonl").exists());
    assert_eq!(std::fs::read_to_string(lab.path("project/mine.txt")).expect("still there"), "mine");
    assert_eq!(exits(&lab, &["show", &over], 4), format!("error: run {over} was removed\n"));
    assert!(!exits(&lab, &["ls", "--json"], 0).contains(&over));
    exits(&lab, &["cancel", &alive], 0);
    let json = exits(&lab, &["rm", "last", &alive, "--json"], 0);
    assert!(json.contains(&alive) && json.contains("\"refused\": []"), "{json}");
}

#[test]
fn gc_older_than_removes_by_age_alone() {
    let lab = lab(&[("done", DONE), ("fails", FAILS)]);
    lab.settings("[retention]\nsucceeded_count = 0\n");
    let runs = [begin(&lab, &["./done"]), begin(&lab, &["./fails"])];
    exits(&lab, &["wait", &runs[0]], 0);
    exits(&lab, &["wait", &runs[1]], 1);
    let told = exits(&lab, &["gc", "--older-than", "1h"], 0);
    assert_eq!(told, "Nothing to remove: no run ended longer than 1 h ago.\n");
    assert!(exits(&lab, &["gc", "--older-than", "0s", "--dry-run"], 0).contains("2 runs would be removed"));
    assert!(exits(&lab, &["gc", "--older-than", "0s"], 0).contains("2 runs removed"));
    assert_eq!(lab.runs(), Vec::<String>::new());
}

#[test]
fn a_run_waits_for_its_workspace() {
    let lab = lab(&[("hangs", HANGS), ("done", DONE)]);
    lab.write("project/mine.txt", "mine");
    let holder = begin(&lab, &["./hangs", "--workspace", "project"]);
    let next = ["run", "./done", "--engine", "scripted", "--workspace", "project"];
    assert!(exits(&lab, &next, 2).contains(&format!("run {holder} works in this folder")));
    let told = exits(&lab, &[&next[..], &["--wait-for-workspace=0.2"]].concat(), 2);
    assert!(told.contains("it was still in use after 0.2 seconds"), "{told}");
    assert_eq!(lab.runs().len(), 1, "a refused request leaves nothing");

    let words = [&next[..], &["--wait-for-workspace"]].concat();
    let mut waiting = lab.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut notes = BufReader::new(waiting.stderr.take().expect("a pipe"));
    let mut line = String::new();
    notes.read_line(&mut line).expect("a line");
    assert!(line.starts_with(&format!("note: waiting for run {holder}, which works in ")), "{line}");
    assert!(line.contains("for at most 3600 s"), "{line}");
    exits(&lab, &["cancel", &holder], 0);
    let (mut out, mut rest) = (String::new(), String::new());
    waiting.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    notes.read_to_string(&mut rest).expect("text");
    assert_eq!(wait_exit(&mut waiting).code(), Some(0), "{out}{rest}");
    assert!(out.contains("status  succeeded"), "{out}");
}

#[test]
fn git_applies_what_a_run_changed() {
    let writes = "- - write: {path: src/new file.txt, content: \"one\\ntwo\"}\n  \
                  - write: {path: README.md, content: \"a\\nB\\nc\\n\"}\n  \
                  - output: {answer: done}\n    done: true\n";
    let lab = lab(&[("writes", writes)]);
    for project in ["project", "copy"] {
        lab.write(&format!("{project}/README.md"), "a\nb\nc\n");
    }
    let run = begin(&lab, &["./writes", "--workspace", "project"]);
    exits(&lab, &["wait", &run], 0);
    let output = lab.output(&["diff", &run, "--patch"]);
    assert_eq!(
        (output.status.code(), text(&output).contains("not in the patch")),
        (Some(0), false),
        "{}",
        text(&output)
    );
    lab.write("the.patch", &String::from_utf8(output.stdout).expect("text"));
    for words in [&["init", "--quiet"][..], &["apply", "../the.patch"]] {
        let git = Command::new("git").args(words).current_dir(lab.path("copy")).output().expect("git is installed");
        assert!(git.status.success(), "{}", text(&git));
    }
    for name in ["README.md", "src/new file.txt"] {
        let read = |project: &str| std::fs::read_to_string(lab.path(project).join(name)).expect(name);
        assert_eq!(read("copy"), read("project"), "{name}");
    }
    // The user goes on with the new file: its content is not the run's any more.
    lab.write("project/src/new file.txt", "three");
    let told = exits(&lab, &["diff", &run, "--patch"], 1);
    assert!(told.contains("src/new file.txt is not in the patch: it has changed since the run made it"), "{told}");
    assert!(told.contains("error: the patch lacks 1 change\n"), "{told}");
}
