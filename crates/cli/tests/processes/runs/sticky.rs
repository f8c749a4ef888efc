//! A process that lives on between turns.

use std::fs;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, impatient, processes_of, reply, sticky};
use serde_json::{Value, json};
use skillrun_model::rasp::{Data, EvidenceData};
use skillrun_model::{Code, ExecutionMode, RunId, RunStatus};
use skillrun_runtime::Runtime;

use crate::runs::offline::{check_probe, rows};

const WAITING: &str = "14 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER waiting_user";
const DONE: &str = "3b completed completed DONE_MARKER_FOUND succeeded";

fn start(lab: &RuntimeLab, runtime: &Runtime, script: &str) -> RunId {
    runtime.submit(sticky(lab.new_run(ExecutionMode::Interactive, script))).expect("accepted")
}

#[test]
fn one_process_over_four_attempts() {
    let (lab, runtime) = RuntimeLab::running();
    let script = "- - say: first words\n  - ask: {prompt: One?}\n\
                  - - echo_reply\n  - stderr: in the second\n  - ask: {prompt: Two?}\n\
                  - - write: {path: artifacts/notes.md, content: '{{reply}}'}\n  - ask: {prompt: Three?}\n\
                  - - output: {answer: '{{reply}}'}\n    done: true\n";
    let run = start(&lab, &runtime, script);
    for (number, text) in [(1, "alpha"), (2, "beta"), (3, "gamma")] {
        lab.answer(&runtime, run, number, text);
    }
    let state = lab.wait_over(run);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!((state.status, state.attempt.0), (Some(RunStatus::Succeeded), 4));
    assert_eq!(rows(&lab, run), [WAITING, WAITING, WAITING, DONE]);
    assert_eq!(lab.output(run), json!({ "answer": "gamma" }));

    let hosts = lab.hosts(run);
    assert_eq!(hosts, [hosts[0]; 4], "one host");
    let records: Vec<Value> = (1..=4).map(|n| lab.evidence_json(run, &format!("host.{n}.json"))).collect();
    for record in &records {
        assert_eq!((&record["pid"], &record["host_pid"]), (&records[0]["pid"], &json!(hosts[0])), "one engine");
    }
    for record in &records[..3] {
        assert_eq!((&record["process_continues"], &record["exit_code"]), (&json!(true), &Value::Null));
    }

    let audit = lab.data().run(run).audit();
    let stdout = |n: u32| fs::read_to_string(audit.join(format!("stdout.{n}.log"))).expect("readable");
    for (number, own) in [(1, "first words"), (2, "alpha"), (3, "Three?"), (4, "gamma")] {
        let holders: Vec<u32> = (1..=4).filter(|n| stdout(*n).contains(own)).collect();
        assert_eq!(holders, [number], "{own}");
        assert_eq!(stdout(number).matches("turn.completed").count(), 1, "one turn each");
    }
    assert_eq!(fs::read_to_string(audit.join("stderr.2.log")).expect("readable"), "in the second\n");
    let stdin: Vec<String> =
        (2..=4).map(|n| fs::read_to_string(audit.join(format!("stdin.{n}.log"))).unwrap_or_default()).collect();
    assert_eq!(stdin, ["alpha\n", "beta\n", "gamma\n"]);

    // Every byte of an attempt is covered by an event of that attempt, and none of another.
    for number in 1..=4 {
        let length = stdout(number).len() as u64;
        let events = lab.events(run);
        let of_attempt = events.iter().filter(|event| event.attempt_number.0 == number);
        let reach = of_attempt.map(|event| event.raw_ref.stdout_to).max();
        assert_eq!(reach, Some(length), "attempt {number}");
    }
    let artifacts: Vec<String> = lab.result(run).artifacts.into_iter().map(|artifact| artifact.path).collect();
    assert_eq!(artifacts, ["artifacts/notes.md"]);
    assert!(lab.evidence_json(run, "fs-diff.3.json").to_string().contains("notes.md"), "the third turn wrote it");
    assert!(!lab.evidence_json(run, "fs-diff.4.json").to_string().contains("notes.md"));

    check_probe(&lab, run, ExecutionMode::Interactive);
    lab.check_whole(run);
}

#[test]
fn a_process_that_leaves_between_turns_loses_the_session() {
    let (lab, runtime) = RuntimeLab::running();
    let scripts = [
        // After its last turn it exits at once, and may be gone before an owner could keep it.
        "- - ask: {prompt: Which?}\n",
        "- - ask: {prompt: Which?}\n  - end\n  - sleep_ms: 300\n  - exit: 0\n- - say: never\n",
        "- - ask: {prompt: Which?}\n  - end\n  - sleep_ms: 300\n  - crash: SIGKILL\n- - say: never\n",
    ];
    let runs: Vec<RunId> = scripts.iter().cycle().take(12).map(|script| start(&lab, &runtime, script)).collect();
    for run in &runs {
        let state = lab.wait_over(*run);
        assert_eq!((state.status, state.attempt.0), (Some(RunStatus::Failed), 1), "{:?}", lab.types(*run));
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    for run in &runs {
        assert!([Some(Code::SessionLost), Some(Code::EngineFailed)].contains(&lab.failure(*run)));
        lab.check_whole(*run);
    }
}

/// It waited for an answer that could not have been delivered, because the process was gone before its turn was
/// settled.
#[test]
fn a_process_that_exits_unowned_loses_the_session() {
    let (lab, runtime) = RuntimeLab::running();
    let run = start(&lab, &runtime, "- - say: I begin.\n  - sleep_ms: 300\n  - ask: {prompt: Which?}\n");
    lab.wait_said(run, "I begin.");
    drop(runtime);
    lab.wait_until("end of the process", || lab.data().run(run).audit().join("host.1.json").exists());
    let runtime = lab.runtime();
    runtime.take_up(run).expect("taken up");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Failed), "{:?}", lab.types(run));
    assert_eq!((rows(&lab, run), lab.failure(run)), (vec![WAITING.to_owned()], Some(Code::SessionLost)));
}

#[test]
fn it_is_canceled_while_it_waits_and_while_it_works() {
    let (lab, runtime) = RuntimeLab::running();
    let waits = start(&lab, &runtime, "- - ask: {prompt: Which?}\n- - say: never\n");
    let works = start(&lab, &runtime, "- - ask: {prompt: Which?}\n- - say: I work.\n  - hang\n");
    let ignores = "- - ignore: [SIGINT, SIGTERM]\n  - ask: {prompt: Which?}\n- - say: never\n";
    let stubborn = impatient(lab.new_run(ExecutionMode::Interactive, ignores));
    let stubborn = runtime.submit(sticky(stubborn)).expect("accepted");
    for run in [waits, works, stubborn] {
        lab.wait_asked(run, 1);
    }
    runtime.reply(works, reply(1, "go")).expect("answered");
    lab.wait_said(works, "I work.");
    for run in [waits, works, stubborn] {
        runtime.cancel(run, "somebody").expect("canceled");
        assert_eq!(lab.wait_over(run).status, Some(RunStatus::Canceled));
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    let canceled = "1 interrupted interrupted CANCELED canceled";
    assert_eq!(rows(&lab, waits), [WAITING], "no turn was open");
    assert_eq!(rows(&lab, works), [WAITING, canceled]);
    for run in [waits, works, stubborn] {
        lab.check_whole(run);
    }
}

#[test]
fn an_answer_of_any_shape_arrives_whole() {
    let (lab, runtime) = RuntimeLab::running();
    let long: String = (0..).map(|n| format!("{n} ")).take(20_000).collect::<String>()[..100_000].to_owned();
    let texts = [
        "two\nlines".to_owned(),
        "\"quoted\"".to_owned(),
        "{\"text\": \"other\"}".to_owned(),
        "[1, 2]\r\n\r\n".to_owned(),
        "tab\tand \u{1b}[31mred\u{1b}[0m".to_owned(),
        "😀 é \u{2028} end".to_owned(),
        String::new(),
        long.clone(),
        long.replace(' ', "\n"),
    ];
    // The resumable engine gets them as words or on stdin, the sticky one as lines.
    let script = "- - ask: {prompt: Which?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";
    let request = lab.new_run(ExecutionMode::Interactive, script);
    for new in [request.clone(), sticky(request)] {
        let runs: Vec<RunId> = texts.iter().map(|_| runtime.submit(new.clone()).expect("accepted")).collect();
        for (run, text) in runs.iter().zip(&texts) {
            lab.answer(&runtime, *run, 1, text);
        }
        for (run, text) in runs.iter().zip(&texts) {
            let shown: String = text.chars().take(30).collect();
            assert_eq!(lab.wait_over(*run).status, Some(RunStatus::Succeeded), "{shown:?}");
            assert_eq!(lab.output(*run)["answer"], json!(text), "{shown:?}");
        }
        assert!(runtime.wait_idle(TEST_TIMEOUT));
        runs.iter().for_each(|run| lab.check_whole(*run));
    }
}

#[test]
fn it_is_left_and_found_again_between_turns_and_within_one() {
    let (lab, runtime) = RuntimeLab::running();
    let script = "- - ask: {prompt: One?}\n- - say: I work.\n  - sleep_ms: 400\n  - ask: {prompt: Two?}\n\
                  - - output: {answer: '{{reply}}'}\n    done: true\n";
    let run = start(&lab, &runtime, script);
    lab.wait_asked(run, 1);
    let runtime = lab.next_owner(runtime, run);
    runtime.reply(run, reply(1, "one")).expect("answered");
    lab.wait_said(run, "I work.");
    drop(runtime);
    assert!(!processes_of(&lab.data().run(run).root().display().to_string()).is_empty(), "it continues alone");
    let runtime = lab.runtime();
    runtime.take_up(run).expect("taken up");
    lab.answer(&runtime, run, 2, "two");
    lab.finish(&runtime, run);
    assert_eq!(rows(&lab, run), [WAITING, WAITING, DONE]);
    let hosts = lab.hosts(run);
    assert_eq!(hosts, [hosts[0]; 3], "one process all along");
    let said =
        |data: &Data| matches!(data, Data::Evidence(EvidenceData::MessageFinal(message)) if message.text == "I work.");
    assert_eq!(lab.events(run).iter().filter(|event| said(&event.data)).count(), 1, "reported once");
}
