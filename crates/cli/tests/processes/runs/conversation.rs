//! Conversations, and turns that are interrupted: the run goes on after a turn that failed or was stopped, until it is
//! closed.

use lab::TEST_TIMEOUT;
use lab::runtime::{LONG, RuntimeLab, impatient, reply, sticky, with};
use serde_json::json;
use skillrun_lifecycle::run::{Refusal, State};
use skillrun_log::FileLog;
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::data::RunStatusChange;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::status::Phase;
use skillrun_model::{AttemptNumber, Code, ExecutionMode, RunId, RunStatus};
use skillrun_replay::Item;
use skillrun_runs::blobs;
use skillrun_runtime::error::RuntimeError;
use skillrun_runtime::{NewRun, Runtime};

use crate::runs::acp::{agent_lab, request};
use crate::runs::messages::messages;
use crate::runs::offline::rows;

const ANSWERED: &str = "14 completed awaiting_user_input CLEAN_FINAL waiting_user";
const FAILED: &str = "2b partial_failed interrupted ENGINE_FAILED waiting_user ENGINE_FAILED";
const INTERRUPTED: &str = "1b interrupted interrupted INTERRUPTED waiting_user";

/// One turn is good, one fails, one does not end by itself, one is good again.
const FOUR: &str = "- - say: First.\n\
                    - - say: Second begins.\n  - fail: the model is gone\n\
                    - - say: Third begins.\n  - hang\n\
                    - - say: 'Fourth after {{reply}}.'\n";

fn talk(lab: &RuntimeLab, script: &str) -> NewRun {
    impatient(lab.new_run(ExecutionMode::Conversation, script))
}

/// The run waits for the next prompt after this many attempts.
fn wait_rest(lab: &RuntimeLab, run: RunId, attempt: u32) -> State {
    lab.wait(run, "rest", |state| state.attempt == AttemptNumber(attempt) && state.is_at_rest())
}

fn refusal(result: Result<(), RuntimeError>) -> Refusal {
    match result {
        Err(RuntimeError::Refused { refusal, .. }) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// What the Log has of changes to this phase.
fn phases(lab: &RuntimeLab, run: RunId, phase: Phase) -> Vec<RunStatusChange> {
    let of_phase = |event: skillrun_model::rasp::Event| match event.data {
        Data::Control(ControlData::RunStatus(change)) if change.phase == Some(phase) => Some(change),
        Data::Control(_) | Data::Evidence(_) => None,
    };
    lab.events(run).into_iter().filter_map(of_phase).collect()
}

/// Closes it, and looks that nothing of it is left.
fn close(lab: &RuntimeLab, runtime: &Runtime, run: RunId) {
    runtime.close(run, "test").expect("closed");
    let state = lab.finish(runtime, run);
    assert_eq!(state.status, Some(RunStatus::Closed), "{:?}", lab.types(run));
    let last = lab.events(run).pop().expect("an event").data;
    assert!(matches!(&last, Data::Control(ControlData::RunCompleted(end)) if end.reason_code == Code::Closed));
}

/// Four turns, of which the second fails and the third is interrupted.
fn four_turns(lab: &RuntimeLab, runtime: &Runtime, run: RunId) {
    let state = wait_rest(lab, run, 1);
    let question = state.question.expect("a question");
    assert_eq!((question.scope, question.deadline), (Scope::Prompt, None));
    runtime.reply(run, reply(1, "alpha")).expect("sent");
    let state = wait_rest(lab, run, 2);
    assert!(state.verdict.is_some_and(|verdict| verdict.error.is_some()), "its error is with it");
    runtime.reply(run, reply(2, "beta")).expect("sent");
    lab.wait_recorded(run, 3, "Third begins.");
    runtime.interrupt(run, "test", None).expect("interrupted");
    wait_rest(lab, run, 3);
    runtime.reply(run, reply(3, "gamma")).expect("sent");
    wait_rest(lab, run, 4);
}

#[test]
fn it_goes_on_after_a_turn_that_failed_and_one_that_was_interrupted() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.submit(talk(&lab, FOUR)).expect("accepted");
    four_turns(&lab, &runtime, run);
    lab.wait_said(run, "Fourth after gamma.");
    assert_eq!(rows(&lab, run), [ANSWERED, FAILED, INTERRUPTED, ANSWERED]);
    assert_eq!(lab.evidence_json(run, "host.3.json")["ended_by"], json!("interrupted"));
    assert_eq!(phases(&lab, run, Phase::Interrupting).len(), 1);
    close(&lab, &runtime, run);
    assert_eq!(refusal(runtime.reply(run, reply(4, "too late"))), Refusal::Over);
    assert_eq!(refusal(runtime.close(run, "test")), Refusal::Over);
}

/// The process of a turn that was interrupted is ended; the next prompt begins another session.
#[test]
fn a_process_that_stays_is_ended_with_the_turn_that_is_interrupted() {
    let (lab, runtime) = RuntimeLab::running();
    let script = "- - say: First.\n- - say: Second begins.\n  - hang\n";
    let run = runtime.submit(sticky(talk(&lab, script))).expect("accepted");
    wait_rest(&lab, run, 1);
    runtime.reply(run, reply(1, "alpha")).expect("sent");
    lab.wait_recorded(run, 2, "Second begins.");
    runtime.interrupt(run, "test", None).expect("interrupted");
    lab.wait(run, "end of the process", |state| state.is_at_rest() && state.process_ended);
    runtime.reply(run, reply(2, "beta")).expect("sent");
    wait_rest(&lab, run, 3);
    assert_eq!(rows(&lab, run), [ANSWERED, INTERRUPTED, ANSWERED]);
    let hosts = lab.hosts(run);
    assert_eq!(hosts[1], hosts[0], "one process until it is interrupted");
    assert_ne!(hosts[2], hosts[0], "and another one after that");
    // The next prompt is for the process that has just begun.
    runtime.reply(run, reply(3, "gamma")).expect("sent");
    lab.wait_recorded(run, 4, "Second begins.");
    assert_eq!(lab.hosts(run)[3], hosts[2]);
    let stdin = |attempt: u32| {
        let path = lab.data().run(run).audit().join(format!("stdin.{attempt}.log"));
        std::fs::read_to_string(path).unwrap_or_default()
    };
    assert_eq!((stdin(2), stdin(4)), ("alpha\n".to_owned(), "gamma\n".to_owned()));
    assert!(!stdin(3).contains("beta\nbeta"), "a prompt that a process is started with is not typed again");
    runtime.interrupt(run, "test", None).expect("interrupted");
    wait_rest(&lab, run, 4);
    close(&lab, &runtime, run);
}

/// The process exits after a turn that failed; the run waits for the next prompt all the same.
#[test]
fn a_process_that_exits_with_a_turn_that_failed_is_replaced() {
    let (lab, runtime) = RuntimeLab::running();
    let script = "- - say: First.\n- - say: Second begins.\n  - fail: the model is gone\n";
    let run = runtime.submit(sticky(talk(&lab, script))).expect("accepted");
    wait_rest(&lab, run, 1);
    runtime.reply(run, reply(1, "alpha")).expect("sent");
    wait_rest(&lab, run, 2);
    // A prompt that meets the process as it exits fails its turn.
    lab.wait(run, "end of the process", |state| state.is_at_rest() && state.process_ended);
    runtime.reply(run, reply(2, "beta")).expect("sent");
    wait_rest(&lab, run, 3);
    assert_eq!(rows(&lab, run), [ANSWERED, FAILED, ANSWERED]);
    close(&lab, &runtime, run);
}

#[test]
fn an_agent_stops_its_turn_and_its_process_stays() {
    let lab = agent_lab();
    let (runtime, run) = lab.begin(request(&lab, ExecutionMode::Conversation, "hang"));
    for attempt in 1..=3 {
        lab.wait_recorded(run, attempt, "in_progress");
        runtime.interrupt(run, "test", None).expect("interrupted");
        wait_rest(&lab, run, attempt);
        runtime.reply(run, reply(attempt, "go on")).expect("sent");
    }
    lab.wait_recorded(run, 4, "in_progress");
    runtime.interrupt(run, "test", None).expect("interrupted");
    wait_rest(&lab, run, 4);
    assert_eq!(rows(&lab, run), [INTERRUPTED; 4]);
    let pids: Vec<_> = (1..=4).map(|n| lab.evidence_json(run, &format!("meta.{n}.json"))["pid"].clone()).collect();
    assert_eq!(pids, vec![pids[0].clone(); 4], "one process");
    assert!(pids[0].is_u64(), "{pids:?}");
    for attempt in 1..=4 {
        let audit = lab.data().run(run).audit();
        let chunks = std::fs::read_to_string(audit.join(format!("chunks.{attempt}.jsonl"))).expect("readable");
        assert_eq!(chunks.matches(r#""act":"interrupted""#).count(), 1, "attempt {attempt}: {chunks}");
    }
    close(&lab, &runtime, run);
}

/// `make e2e` found that codex-acp stops its turn and keeps the command of the turn running.
#[test]
fn an_agent_that_leaves_its_commands_is_ended_with_its_turn() {
    let lab = agent_lab();
    let new = request(&lab, ExecutionMode::Conversation, "hang");
    let path = "engines/agent-hang.toml";
    let text = std::fs::read_to_string(lab.place.path(path)).expect("readable");
    lab.place.write(path, &format!("{text}\n[process]\ncancel_leaves_commands = true\n"));
    let (runtime, run) = lab.begin(new);
    lab.wait_recorded(run, 1, "in_progress");
    runtime.interrupt(run, "test", None).expect("interrupted");
    lab.wait(run, "end of the process", |state| state.is_at_rest() && state.process_ended);
    assert_eq!(lab.evidence_json(run, "host.1.json")["ended_by"], json!("interrupted"));
    assert_eq!(rows(&lab, run), [INTERRUPTED]);
    runtime.reply(run, reply(1, "go on")).expect("sent");
    lab.wait_recorded(run, 2, "in_progress");
    let sent = std::fs::read_to_string(lab.data().run(run).audit().join("stdin.2.log")).expect("readable");
    assert!(sent.contains("session/load"), "{sent}");
    runtime.interrupt(run, "test", None).expect("interrupted");
    wait_rest(&lab, run, 2);
    close(&lab, &runtime, run);
}

/// An agent that does not listen is ended, as any other process is.
#[test]
fn an_agent_that_does_not_stop_is_ended() {
    let lab = agent_lab();
    let (runtime, run) = lab.begin(request(&lab, ExecutionMode::Interactive, "deaf"));
    lab.wait_recorded(run, 1, "begin.");
    runtime.interrupt(run, "test", None).expect("interrupted");
    // Asked again, it has no time left.
    runtime.interrupt(run, "test", None).expect("interrupted again");
    wait_rest(&lab, run, 1);
    assert_eq!(rows(&lab, run), [INTERRUPTED]);
    close(&lab, &runtime, run);
}

#[test]
fn the_prompt_of_an_interrupt_follows_it() {
    for continues in [false, true] {
        let (lab, runtime) = RuntimeLab::running();
        let script = "- - say: First begins.\n  - sleep_ms: 600000\n- - say: 'Second after {{reply}}.'\n";
        let script = if continues { "- - say: 'I have {{reply}}.'\n  - sleep_ms: 600000\n" } else { script };
        let new = talk(&lab, script);
        let run = runtime.submit(if continues { sticky(new) } else { new }).expect("accepted");
        lab.wait_recorded(run, 1, if continues { "I have" } else { "First begins." });
        runtime.interrupt(run, "test", Some("alpha".to_owned())).expect("interrupted");
        lab.wait(run, "second attempt", |state| state.attempt == AttemptNumber(2));
        assert_eq!(rows(&lab, run)[0], INTERRUPTED);
        let replied = |state: &State| state.reply.as_ref().map(|reply| reply.text.clone());
        if continues {
            lab.wait_until("the words", || {
                let audit = lab.data().run(run).audit();
                std::fs::read_to_string(audit.join("stdout.2.log")).is_ok_and(|text| text.contains("I have"))
            });
            assert_eq!(replied(&lab.state(run)), Some("alpha".to_owned()));
            runtime.cancel(run, "test").expect("canceled");
            assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Canceled));
        } else {
            lab.wait_said(run, "Second after alpha.");
            wait_rest(&lab, run, 2);
            close(&lab, &runtime, run);
        }
    }
}

/// The owner dies after the interrupt is in the Log; the next one finishes it.
#[test]
fn an_owner_that_dies_while_a_turn_is_interrupted() {
    let lab = lab::Lab::new();
    let script = "- - ignore: [SIGINT, SIGTERM]\n  - say: I begin.\n  - hang\n- - say: Again.\n";
    let skill = lab.skill("talk", script);
    let skill = skill.to_str().expect("a path");
    let words = ["run", skill, "--engine", "scripted", "--mode", "conversation", "--json"];
    let mut owner = lab.start(&words);
    let run = lab.wait_run();
    let has = |phase: &str| lab.events(&run).iter().any(|event| event["data"]["phase"] == phase);
    let spoke = || lab.events(&run).iter().any(|event| event.to_string().contains("I begin."));
    lab::wait_until("its words", spoke);
    // The engine does not obey, so that the ladder takes its time.
    let mut asks = lab.start(&["interrupt", &run, "--json"]);
    lab::wait_until("the interrupt", || has("interrupting"));
    lab::kill(&mut owner);
    let output = lab.output(&["recover", "--json"]);
    assert!(output.status.success(), "{output:?}");
    assert!(lab::wait_exit(&mut asks).success(), "the turn was interrupted");
    let ended = |event: &serde_json::Value| lab::kind(event) == "attempt.ended";
    let record = lab::eventually("its record", || lab.events(&run).into_iter().find(ended));
    assert_eq!(record["data"]["verdict"]["rule"], json!("1b"), "{record}");
    let closed = lab.output(&["close", &run, "--json"]);
    assert!(closed.status.success(), "{closed:?}");
    assert!(lab.events(&run).last().is_some_and(lab::is_end));
    lab.wait_quiet();
}

/// A process that has waited for `idle_sec` is ended; the next prompt loads its session.
#[test]
fn a_process_that_waits_too_long_is_ended_and_its_session_is_loaded() {
    let lab = agent_lab();
    let new = with(request(&lab, ExecutionMode::Conversation, "question"), |options| options.idle_sec = Some(0.2));
    let (runtime, run) = lab.begin(new);
    wait_rest(&lab, run, 1);
    lab.wait(run, "end of the process", |state| state.process_ended);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!(lab.processes(run), Vec::<String>::new());
    assert_eq!(lab.state(run).status, Some(RunStatus::WaitingUser));
    runtime.reply(run, reply(1, "blue")).expect("sent");
    wait_rest(&lab, run, 2);
    let sent = std::fs::read_to_string(lab.data().run(run).audit().join("stdin.2.log")).expect("readable");
    assert!(sent.contains("session/load"), "{sent}");
    assert_eq!(rows(&lab, run), [ANSWERED; 2]);
    close(&lab, &runtime, run);
}

#[test]
fn an_interrupt_needs_an_open_turn_and_a_run_that_continues() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.submit(talk(&lab, "- - say: First.\n- - say: Second.\n  - hang\n")).expect("accepted");
    wait_rest(&lab, run, 1);
    let status = Some(RunStatus::WaitingUser);
    let events = lab.events(run).len();
    assert_eq!(refusal(runtime.interrupt(run, "test", Some("x".to_owned()))), Refusal::NoOpenTurn { status });
    assert_eq!(lab.events(run).len(), events, "nothing is written");
    runtime.reply(run, reply(1, "go on")).expect("sent");
    lab.wait_recorded(run, 2, "Second.");
    let status = Some(RunStatus::Running);
    assert_eq!(refusal(runtime.close(run, "test")), Refusal::NotAtRest { status });
    runtime.cancel(run, "test").expect("canceled");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Canceled));

    let auto = lab.new_run(ExecutionMode::Auto, "- - say: I begin.\n  - hang\n");
    let run = runtime.submit(with(impatient(auto), |options| options.hard_timeout_sec = Some(LONG))).expect("accepted");
    lab.wait_recorded(run, 1, "I begin.");
    assert_eq!(refusal(runtime.interrupt(run, "test", None)), Refusal::NotInterruptible);
    runtime.cancel(run, "test").expect("canceled");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Canceled));
}

/// A question inside a turn ends with the turn, and is not answered.
#[test]
fn an_interrupt_closes_a_question_inside_the_turn() {
    let lab = agent_lab();
    let (runtime, run) = lab.begin(request(&lab, ExecutionMode::Interactive, "permissions"));
    lab.wait_asked(run, 1);
    runtime.interrupt(run, "test", None).expect("interrupted");
    let stale = Refusal::Stale { asked: reply(1, "").interaction_id, open: None };
    let refused = runtime.reply(run, reply(1, "yes"));
    assert!(refused.is_err(), "{refused:?}");
    if lab.state(run).attempt_is_open {
        assert_eq!(refusal(refused), stale);
    }
    let state = wait_rest(&lab, run, 1);
    assert_eq!(state.question.map(|question| (question.interaction_id.0, question.scope)), Some((2, Scope::Prompt)));
    assert_eq!(rows(&lab, run), [INTERRUPTED]);
    assert_eq!(lab.resolutions(run), []);
    close(&lab, &runtime, run);
}

/// Found by reading: the turn record dropped the session, and the next event of its batch named it again, so that the
/// next prompt resumed the session that the engine had just refused.
#[test]
fn a_prompt_after_a_lost_session_begins_another() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.submit(talk(&lab, "- - echo_reply\n- - say: A second turn.\n")).expect("accepted");
    wait_rest(&lab, run, 1);
    std::fs::remove_dir_all(lab.data().run(run).home().join(".scripted")).expect("the engine's sessions");
    runtime.reply(run, reply(1, "alpha")).expect("sent");
    let state = wait_rest(&lab, run, 2);
    let error = state.verdict.and_then(|verdict| verdict.error).expect("an error");
    assert_eq!((error.code, state.session_id), (Code::SessionNotFound, None));
    runtime.reply(run, reply(2, "beta")).expect("sent");
    let state = wait_rest(&lab, run, 3);
    assert_eq!((rows(&lab, run)[2].as_str(), state.session_id.is_some()), (ANSWERED, true));
    close(&lab, &runtime, run);
    // It begins with what the lost one knew, and the Log says so.
    let mut messages = messages(&lab, run);
    let (_, _, message) = messages.pop().expect("a message");
    let replayed = message.replayed.clone().expect("the replay precedes the text");
    assert_eq!((message.text.as_str(), message.is_cut()), ("beta", false));
    assert!(messages.iter().all(|(_, _, earlier)| earlier.replayed.is_none()), "{messages:?}");
    let sent = blobs::read_prompt(&lab.data().run(run), &message).expect("the exact text");
    let (history, own) = sent.split_at(usize::try_from(replayed.bytes).expect("small"));
    let first = &messages[0].2.text;
    assert!(own == "beta" && history.contains("alpha") && history.contains(first.lines().next().unwrap()), "{sent}");
    // A replay of the run does not have it twice.
    let log = FileLog::new(lab.data().runs());
    let again = skillrun_inspect::replay::replay(&lab.data(), &log, run, None).expect("a replay").replay;
    let last = &again.turns[2].items[0];
    assert!(matches!(last, Item::User { text, truncated: false, .. } if text == "beta"), "{last:?}");
    assert_eq!(replayed.hash, again.turns[1].hash);
    // The agent repeats what it has received.
    assert!(matches!(&again.turns[2].items[1], Item::Agent { text, .. } if text.trim() == sent.trim()), "{again:?}");
}
