//! Owners beside each other on one data folder, in the background, and interrupted.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use lab::{Lab, is_end, kind, signal, wait_exit, wait_until};
use serde_json::Value;

const SLOW: &str = "- - say: I begin.\n  - sleep_ms: 700\n  - output: {answer: blue}\n    done: true\n";
const ASKS: &str =
    "- - ask: {kind: open_text, prompt: Which colour?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

fn assert_no_owner_is_left(lab: &Lab) {
    let left: Vec<_> = fs::read_dir(lab.data().join("owners")).expect("a folder").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn ctrl_c_cancels_and_waits_for_the_end() {
    let lab = Lab::with_skill("slow", SLOW);
    let (mut owner, run) = lab.start_until(&["run", "./slow", "--engine", "scripted"], "agent.message.final");
    signal(owner.id(), "INT");
    assert_eq!(wait_exit(&mut owner).code(), Some(130));
    assert_eq!(kind(&lab.wait_end(&run)), "run.canceled");
    lab.wait_quiet();
}

#[test]
fn a_second_ctrl_c_leaves_it_running_with_another_owner() {
    let lab = Lab::with_skill("slow", "- - ignore: [SIGINT, SIGTERM]\n  - say: I begin.\n  - sleep_ms: 60000\n");
    let (mut owner, run) = lab.start_until(&["run", "./slow", "--engine", "scripted"], "agent.message.final");
    signal(owner.id(), "INT");
    wait_until("cancel", || lab.events(&run).iter().any(|event| event["data"]["phase"] == "canceling"));
    signal(owner.id(), "INT");
    assert_eq!(wait_exit(&mut owner).code(), Some(130));
    // The one in the background brings the cancel to its end.
    assert_eq!(kind(&lab.wait_end(&run)), "run.canceled");
    lab.wait_quiet();
    assert_no_owner_is_left(&lab);
}

#[test]
fn no_wait_leaves_an_owner_in_the_background() {
    let lab = Lab::with_skill("slow", SLOW);
    let told = lab.json(&["run", "./slow", "--engine", "scripted", "--no-wait", "--json"]);
    let run = told["run_id"].as_str().expect("an id");
    assert!(!lab.events(run).last().is_some_and(is_end), "it continues without this process");
    assert_eq!(kind(&lab.wait_end(run)), "run.completed");
    lab.wait_quiet();
}

#[test]
fn a_reply_and_a_cancel_from_elsewhere_reach_the_owner() {
    let lab = Lab::with_skill("asks", ASKS);
    let words =
        ["run", "./asks", "--engine", "scripted", "--mode", "interactive", "--continuation", "sticky", "--json"];
    let (mut owner, run) = lab.start_until(&words, "interaction.requested");
    let answered = lab.json(&["reply", &run, "blue", "--json", "--key", "mine"]);
    assert_eq!(answered["answered"], true);
    assert_eq!(wait_exit(&mut owner).code(), Some(0));
    let again = lab.output(&["reply", &run, "blue", "--json", "--key", "mine", "--interaction", "1"]);
    assert!(again.status.success(), "the same answer again has the same effect: none");
    let late = lab.output(&["reply", &run, "red", "--json", "--interaction", "1"]);
    assert_eq!(late.status.code(), Some(2));

    let lab = Lab::with_skill("slow", "- - say: I begin.\n  - sleep_ms: 60000\n");
    let (mut owner, run) = lab.start_until(&["run", "./slow", "--engine", "scripted", "--json"], "agent.message.final");
    assert!(lab.output(&["cancel", &run]).status.success());
    assert_eq!(wait_exit(&mut owner).code(), Some(8));
    lab.wait_quiet();
}

/// What `serve` will be: an owner of everything, beside commands that own their runs alone.
#[test]
fn an_owner_of_everything_and_a_run_beside_it() {
    let lab = Lab::with_skill("asks", ASKS);
    lab.skill("slow", SLOW);
    let words = ["run", "./asks", "--engine", "scripted", "--mode", "interactive", "--json"];
    let timed = [&words[..], &["--no-reply-needed", "--session-timeout", "3"]].concat();
    let (mut first, asked) = lab.start_until(&timed, "interaction.requested");
    lab::kill(&mut first);
    let mut everything = lab.start(&["own", "--all"]);
    lab.printed(&["run", "./slow", "--engine", "scripted", "--json"]);
    // No answer came, so the owner of all runs decides it in time.
    assert_eq!(kind(&lab.wait_end(&asked)), "run.completed");
    assert!(wait_exit(&mut everything).success(), "nothing is left to do");
    lab.wait_quiet();
}

#[test]
fn a_run_takes_over_what_a_crash_left() {
    let lab = Lab::with_skill("slow", SLOW);
    lab.skill("quick", "- - output: {answer: blue}\n    done: true\n");
    let (mut owner, run) = lab.start_until(&["run", "./slow", "--engine", "scripted", "--json"], "agent.message.final");
    lab::kill(&mut owner);
    let output = lab.output(&["run", "./quick", "--engine", "scripted", "--json"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(kind(&lab.wait_end(&run)), "run.completed");
    lab.wait_quiet();
    assert_no_owner_is_left(&lab);
}

/// `skillrun run … | head -1` left the run `running` forever, and without an owner.
#[test]
fn a_reader_who_leaves_leaves_no_run_without_an_owner() {
    let lab = Lab::with_skill("slow", SLOW);
    let mut command = lab.command(&["run", "./slow", "--engine", "scripted", "--follow"]);
    let mut owner = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let mut line = String::new();
    BufReader::new(owner.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    wait_exit(&mut owner);
    let run = lab.wait_run();
    assert_eq!(kind(&lab.wait_end(&run)), "run.completed");
    lab.wait_quiet();
}

/// An owner whose agent lives and waits for an answer; with its run and the pid of the host.
fn living_agent_that_asks(lab: &Lab) -> (Child, String, String) {
    lab.skill("asks", ASKS);
    lab.agent("question");
    let words = ["--engine", "agent", "--mode", "interactive", "--continuation", "sticky", "--json"];
    let (owner, run) = lab.start_until(&[&["run", "./asks"][..], &words].concat(), "interaction.requested");
    let host = lab.run_json(&run, ".audit/claim.2")["host_pid"].to_string();
    (owner, run, host)
}

/// Regression: the answer was acknowledged and the run failed, because the process ended at the moment of the answer,
/// though its session could be loaded.
#[test]
fn an_answer_that_meets_a_process_just_leaving_goes_to_the_next() {
    let lab = Lab::new();
    let (mut owner, run, host) = living_agent_that_asks(&lab);
    let children = fs::read_to_string(format!("/proc/{host}/task/{host}/children")).expect("a list");
    // The host learns of both at once: the exit of its process, and the input for it.
    signal(&host, "STOP");
    children.split_whitespace().for_each(|child| signal(child, "KILL"));
    lab.printed(&["reply", &run, "blue", "--json", "--no-wait"]);
    signal(&host, "CONT");
    assert_eq!(wait_exit(&mut owner).code(), Some(0), "{:#}", lab.wait_end(&run));
    let replies = lab.events(&run).iter().filter(|event| kind(event) == "interaction.replied").count();
    assert_eq!((kind(&lab.wait_end(&run)), replies), ("run.completed", 1));
    lab.wait_quiet();
    lab.printed(&["verify", &run]);
}

/// A host that is killed with an answer on its way.
fn killed_with_an_answer(lab: &Lab, mark: bool) -> (Child, String) {
    let (owner, run, host) = living_agent_that_asks(lab);
    // It reads nothing any more, so that the answer is on its way for as long as this takes.
    signal(&host, "STOP");
    lab.printed(&["reply", &run, "blue", "--json", "--no-wait"]);
    lab.wait_event(&run, "interaction.replied");
    if mark {
        // As it would be had the host come as far as giving it.
        fs::write(lab.run_folder(&run).join(".audit/given.2"), "").expect("written");
    }
    signal(&host, "KILL");
    (owner, run)
}

/// Regression: a host that was killed before it had given the answer lost a session that could be loaded.
#[test]
fn an_answer_that_a_killed_host_never_gave_goes_to_the_next() {
    let lab = Lab::new();
    let (mut owner, run) = killed_with_an_answer(&lab, false);
    assert_eq!(wait_exit(&mut owner).code(), Some(0), "{:#}", lab.wait_end(&run));
    assert_eq!(kind(&lab.wait_end(&run)), "run.completed");
    lab.wait_quiet();
    lab.printed(&["verify", &run]);
}

/// With the mark it may have been given, and is not given again.
#[test]
fn an_answer_a_killed_host_may_have_sent_is_not_repeated() {
    let lab = Lab::new();
    let (mut owner, run) = killed_with_an_answer(&lab, true);
    wait_exit(&mut owner);
    let end = lab.wait_end(&run);
    assert_eq!((kind(&end), &end["data"]["error"]["code"]), ("run.failed", &Value::from("ATTEMPT_LOST")), "{end:#}");
    lab.wait_quiet();
}

/// Found by chaos on a full disk: a host that gave the answer and could not write that down looked like one that had not
/// given it, and the agent received it twice.
#[test]
fn an_answer_that_may_have_arrived_is_not_sent_again() {
    let lab = Lab::new();
    let (mut owner, run, host) = living_agent_that_asks(&lab);
    // It may not write to files any more, and to pipes it may.
    let limited = Command::new("prlimit").args(["--fsize=0:0", "--pid", &host]).status();
    assert!(limited.expect("prlimit").success());
    lab.printed(&["reply", &run, "blue", "--json", "--no-wait"]);
    wait_exit(&mut owner);
    let end = lab.wait_end(&run);
    lab.wait_quiet();
    let heard = fs::read_dir(lab.run_folder(&run).join("home/.sessions")).expect("sessions").map(|session| {
        let text = fs::read_to_string(session.expect("an entry").path()).expect("a session");
        text.matches(r#""user":"blue""#).count()
    });
    assert!(heard.sum::<usize>() <= 1, "{end:#}");
    assert_eq!((kind(&end), &end["data"]["error"]["code"]), ("run.failed", &Value::from("ATTEMPT_LOST")), "{end:#}");
}

/// Regression: the asking command stayed until the question's deadline, though another process had brought the run to its
/// end.
#[test]
fn a_waiting_command_exits_when_the_run_ends_elsewhere() {
    let lab = Lab::with_skill("asks", ASKS);
    let words = ["--mode", "interactive", "--no-reply-needed", "--session-timeout", "3600", "--json"];
    let (mut owner, run) =
        lab.start_until(&[&["run", "./asks", "--engine", "scripted"][..], &words].concat(), "interaction.requested");
    lab.printed(&["reply", &run, "blue", "--json"]);
    assert_eq!(kind(&lab.wait_end(&run)), "run.completed");
    assert_eq!(wait_exit(&mut owner).code(), Some(0));
    lab.wait_quiet();
}

/// Regression: an owner in the background stayed until the deadline of a question that another process had answered, for
/// twenty minutes. Found by `make chaos`.
#[test]
fn an_owner_exits_when_its_question_is_answered_elsewhere() {
    let lab = Lab::with_skill("asks", "leaves");
    lab.agent("leaves");
    let words = ["run", "./asks", "--engine", "agent", "--mode", "interactive", "--continuation", "sticky"];
    let made = lab.json(&[&words[..], &["--no-wait", "--json"]].concat());
    let run = made["run_id"].as_str().expect("an id").to_owned();
    let folder = lab.run_folder(&run);
    wait_until("end of the process", || folder.join(".audit/host.1.json").exists());
    // The agent can load its session, so the run waits on, and the owner has nothing of it but the time.
    wait_until("rest", || {
        let free = Command::new("flock").arg("-n").arg(folder.join("lock")).arg("true").status().expect("flock");
        free.success()
    });
    lab.printed(&["reply", &run, "blue", "--json"]);
    lab.wait_quiet();
}

/// The process that had the run at that moment may have left the question open, and its deadline must not be forgotten.
#[test]
fn a_question_keeps_its_deadline_across_owners() {
    let lab = Lab::with_skill(
        "decided",
        "- - ask: {kind: open_text, prompt: Which?}\n- - output: {answer: blue}\n    done: true\n",
    );
    let words = ["run", "./decided", "--engine", "scripted", "--mode", "interactive", "--no-reply-needed"];
    let made = lab.json(&[&words[..], &["--session-timeout", "15", "--no-wait", "--json"]].concat());
    let run = made["run_id"].as_str().expect("an id").to_owned();
    let lock = lab.run_folder(&run).join("lock");
    let log = lock.with_file_name("events.jsonl");
    wait_until("a question", || fs::read_to_string(&log).is_ok_and(|events| events.contains("\"waiting_user\"")));
    // Its owner looks every ten seconds.
    let held = Command::new("flock").arg(&lock).args(["sleep", "12"]).status().expect("flock");
    assert!(held.success());
    assert_eq!(kind(&lab.wait_end(&run)), "run.completed");
    lab.wait_quiet();
}
