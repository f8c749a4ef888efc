//! Agents of the Agent Client Protocol, from request to end: a stand-in that reads strictly, driven by what it wrote.

use std::fs;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, kill_hard, on, reply, with};
use serde_json::{Value, json};
use skillrun_engine::Permission;
use skillrun_model::codes::ErrorCategory;
use skillrun_model::interaction::{InteractionKind, Scope};
use skillrun_model::rasp::data::ResolutionMode;
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData};
use skillrun_model::status::{Continuation, Phase};
use skillrun_model::{Code, ExecutionMode, RunId, RunStatus};
use skillrun_runtime::{NewRun, Options, Runtime};
use testkit::paths;

use crate::SKILLRUN;
use crate::runs::offline::check_probe;

const ENGINE: &str = r#"
title = "A stand-in for an agent"
profile = "acp_jsonrpc"
continuation = "sticky"

[executable]
kind = "self"

[start]
argv = ["acp", "--scenario", "SCENARIO", "--state", "{{home}}/.sessions"]

[prompt]
protocol = "acp"

[permission.workspace]
posture = "not_enforced"
calls = "allow"

[permission.read_only]
posture = "asked"

[permission.full]
posture = "not_enforced"

[environment]
set = { HOME = "{{home}}" }
"#;

/// A lab with a run of an agent.
fn start(new: impl FnOnce(&RuntimeLab) -> NewRun) -> (RuntimeLab, Runtime, RunId) {
    let lab = agent_lab();
    let (runtime, run) = lab.begin(new(&lab));
    (lab, runtime, run)
}

/// A lab whose engines of the kind `self` are the stand-in.
pub(super) fn agent_lab() -> RuntimeLab {
    let mut lab = RuntimeLab::new();
    lab.program = paths::stand_in(SKILLRUN);
    lab
}

/// A request for an agent that plays this scenario.
pub(super) fn request(lab: &RuntimeLab, mode: ExecutionMode, scenario: &str) -> NewRun {
    let name = format!("agent-{scenario}");
    let text = format!("name = \"{name}\"\n{}", ENGINE.replace("SCENARIO", scenario));
    lab.place.write(&format!("engines/{name}.toml"), &text);
    // Our own program wants a script; this one has its scenario.
    on(lab.new_run(mode, ""), &name)
}

fn auto(lab: &RuntimeLab, scenario: &str) -> NewRun {
    request(lab, ExecutionMode::Auto, scenario)
}

fn interactive(lab: &RuntimeLab, scenario: &str) -> NewRun {
    request(lab, ExecutionMode::Interactive, scenario)
}

fn resumable(new: NewRun) -> NewRun {
    NewRun { continuation: Some(Continuation::Resumable), ..new }
}

fn evidence(lab: &RuntimeLab, run: RunId, name: &str) -> String {
    fs::read_to_string(lab.data().run(run).audit().join(name)).unwrap_or_default()
}

/// What was written to the agent in an attempt, message by message.
fn messages_sent(lab: &RuntimeLab, run: RunId, attempt: u32) -> Vec<Value> {
    let text = evidence(lab, run, &format!("stdin.{attempt}.log"));
    text.lines().map(|line| serde_json::from_str(line).expect("a message")).collect()
}

/// Methods and names of what was written to it.
fn summary(lab: &RuntimeLab, run: RunId, attempt: u32) -> Vec<String> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = |message: &Value| match message.get("method") {
        Some(method) => format!("{} {}", word(&message["id"]), word(method)),
        None => format!("{} answered", word(&message["id"])),
    };
    messages_sent(lab, run, attempt).iter().map(line).collect()
}

/// What is written to an agent that loads its session.
fn loaded(prompt: &str) -> Vec<String> {
    let opened = ["initialize initialize", "session load=session-1 session/load"];
    let past = ["past.1 _skillrun/past", "now _skillrun/now"];
    opened.into_iter().chain(past).map(str::to_owned).chain([format!("{prompt} session/prompt")]).collect()
}

/// Nothing is left, the files say the same, and a strict agent had nothing to complain about.
fn check(lab: &RuntimeLab, run: RunId, mode: ExecutionMode) {
    lab.check_whole(run);
    for attempt in 1..=lab.state(run).attempt.0 {
        assert_eq!(evidence(lab, run, &format!("stderr.{attempt}.log")), "", "attempt {attempt}");
    }
    check_probe(lab, run, mode);
}

fn answer(lab: &RuntimeLab, run: RunId) -> Value {
    let output = lab.output(run);
    let text = output["answer"].as_str().unwrap_or_else(|| panic!("{:?}", lab.types(run)));
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

fn over(lab: &RuntimeLab, runtime: &Runtime, run: RunId, status: RunStatus) {
    assert_eq!(lab.wait_over(run).status, Some(status), "{:?} {:?}", lab.failure(run), lab.types(run));
    assert!(runtime.wait_idle(TEST_TIMEOUT));
}

/// The same, and everything about it is as it must be.
fn finish(lab: &RuntimeLab, runtime: &Runtime, run: RunId, mode: ExecutionMode, status: RunStatus) {
    over(lab, runtime, run, status);
    check(lab, run, mode);
}

fn category(lab: &RuntimeLab, run: RunId) -> Option<ErrorCategory> {
    lab.failed(run).map(|failed| failed.error.category)
}

#[test]
fn auto_from_the_first_message_to_the_last() {
    for scenario in ["auto", "noise"] {
        let (lab, runtime, run) = start(|lab| auto(lab, scenario));
        finish(&lab, &runtime, run, ExecutionMode::Auto, RunStatus::Succeeded);
        assert_eq!(lab.output(run), json!({ "answer": "blue" }));
        let expected = ["initialize initialize", "session session/new", "prompt.1 session/prompt"];
        assert_eq!(summary(&lab, run, 1), expected);
        let cwd = messages_sent(&lab, run, 1)[1]["params"]["cwd"].clone();
        assert_eq!(cwd.as_str().map(str::to_owned), lab.data().run(run).workspace().to_str().map(str::to_owned));
        assert!(lab.state(run).session_id.is_some_and(|id| id.starts_with("session-")));
    }
}

#[test]
fn a_question_is_answered_by_a_prompt_to_the_same_process() {
    let (lab, runtime, run) = start(|lab| interactive(lab, "question"));
    let question = lab.wait_asked(run, 1).question.expect("a question");
    assert_eq!((question.scope, question.prompt.as_str()), (Scope::Turn, "Which colour do you like?"));
    runtime.reply(run, reply(1, "dark\n\"blue\"")).expect("answered");
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
    assert_eq!(lab.output(run), json!({ "answer": "dark\n\"blue\"" }));
    assert_eq!(summary(&lab, run, 2), ["prompt.2 session/prompt"]);
    let hosts = lab.hosts(run);
    assert_eq!(hosts, [hosts[0]; 2], "one process");
}

#[test]
fn a_permission_question_has_the_options_of_the_agent() {
    for (words, expected) in [("yes", "once"), ("always", "always"), ("No", "reject"), ("keep it", "reject")] {
        let (lab, runtime, run) = start(|lab| interactive(lab, "permission"));
        let state = lab.wait_asked(run, 1);
        let question = state.question.expect("a question");
        assert_eq!((question.scope, question.kind), (Scope::Call, InteractionKind::ChooseOne));
        assert!(question.prompt.contains("rm -rf build"), "{}", question.prompt);
        let options: Vec<_> = question.options.iter().map(|one| (one.value.as_str(), one.default)).collect();
        assert_eq!(options, [("once", false), ("always", false), ("reject", true)]);
        assert!(state.attempt_is_open && question.deadline.is_some());
        runtime.reply(run, reply(1, words)).expect("answered");
        finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
        assert_eq!(answer(&lab, run), json!({ "outcome": { "outcome": "selected", "optionId": expected } }), "{words}");
        assert_eq!(lab.state(run).attempt.0, 1);
    }
}

#[test]
fn two_permissions_at_once_are_asked_one_after_the_other() {
    let (lab, runtime, run) = start(|lab| interactive(lab, "permissions"));
    lab.answer(&runtime, run, 1, "yes");
    lab.answer(&runtime, run, 2, "no");
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
    let output = lab.output(run);
    let both = output["answer"].as_str().expect("a text");
    assert!(both.contains("\"once\"") && both.contains("\"reject\""), "{both}");
    assert!(summary(&lab, run, 1).ends_with(&["ask-1 answered".to_owned(), "ask-2 answered".to_owned()]));
}

#[test]
fn in_auto_mode_the_permission_of_the_run_decides() {
    let levels = [(Permission::Workspace, "once"), (Permission::ReadOnly, "reject"), (Permission::Full, "once")];
    for (permission, expected) in levels {
        let lab = agent_lab();
        let new = with(auto(&lab, "permission"), |options| options.permission = Some(permission));
        let (runtime, run) = lab.begin(new);
        finish(&lab, &runtime, run, ExecutionMode::Auto, RunStatus::Succeeded);
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": expected } });
        assert_eq!(answer(&lab, run), outcome, "{permission:?}");
        assert_eq!(lab.resolutions(run), [ResolutionMode::PermissionPolicy]);
    }
}

#[test]
fn an_unanswered_permission_times_out() {
    let impatient = |options: &mut Options| options.session_timeout_sec = Some(0.3);
    // A reply is not needed: the option that rejects.
    let lab = agent_lab();
    let lenient = |options: &mut Options| options.require_user_reply = Some(false);
    let new = with(with(interactive(&lab, "permission"), impatient), lenient);
    let (runtime, run) = lab.begin(new);
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
    assert_eq!(answer(&lab, run)["outcome"]["optionId"], json!("reject"));
    assert_eq!(lab.resolutions(run), [ResolutionMode::AutoDecideTimeout]);

    // It is: the process is ended, and the run has failed.
    let (lab, runtime, run) = start(|lab| with(interactive(lab, "permission"), impatient));
    over(&lab, &runtime, run, RunStatus::Failed);
    assert_eq!(lab.failure(run), Some(Code::InteractionWaitTimeout));
    lab.check_whole(run);
}

#[test]
fn a_form_is_filled_by_the_user_or_declined() {
    let accepted = json!({ "action": "accept", "content": { "colour": "blue" } });
    for words in ["Blue", r#"{"colour": "blue"}"#] {
        let (lab, runtime, run) = start(|lab| interactive(lab, "elicitation"));
        let question = lab.wait_asked(run, 1).question.expect("a question");
        assert_eq!((question.scope, question.kind), (Scope::Call, InteractionKind::FillFields));
        assert!(question.prompt.starts_with("Which colour?"), "{}", question.prompt);
        runtime.reply(run, reply(1, words)).expect("answered");
        finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
        assert_eq!(answer(&lab, run), accepted);
    }
    let (lab, runtime, run) = start(|lab| auto(lab, "elicitation"));
    finish(&lab, &runtime, run, ExecutionMode::Auto, RunStatus::Succeeded);
    assert_eq!(answer(&lab, run), json!({ "action": "decline" }));

    let lab = agent_lab();
    let new = with(interactive(&lab, "elicitation"), |options| {
        options.session_timeout_sec = Some(0.3);
        options.require_user_reply = Some(false);
    });
    let (runtime, run) = lab.begin(new);
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
    assert_eq!(answer(&lab, run), json!({ "action": "decline" }));
}

#[test]
fn files_and_terminals_are_refused_at_once() {
    let (lab, runtime, run) = start(|lab| auto(lab, "files"));
    finish(&lab, &runtime, run, ExecutionMode::Auto, RunStatus::Succeeded);
    assert_eq!(lab.output(run)["answer"], json!(r#"{"error":-32601} {"error":-32601}"#));
}

#[test]
fn a_cancel_in_the_middle_of_a_turn() {
    let (lab, runtime, run) = start(|lab| auto(lab, "hang"));
    lab.wait_recorded(run, 1, "in_progress");
    runtime.cancel(run, "test").expect("canceled");
    finish(&lab, &runtime, run, ExecutionMode::Auto, RunStatus::Canceled);
    assert_eq!(summary(&lab, run, 1).last().map(String::as_str), Some("null session/cancel"));
    assert!(evidence(&lab, run, "stdout.1.log").contains("cancelled"), "the agent had its moment");

    // One that does not listen is ended as any other process.
    let (lab, runtime, run) = start(|lab| interactive(lab, "deaf"));
    lab.wait_recorded(run, 1, "begin.");
    runtime.cancel(run, "test").expect("canceled");
    over(&lab, &runtime, run, RunStatus::Canceled);
    lab.check_whole(run);
}

#[test]
fn a_cancel_answers_what_the_agent_still_asks() {
    let (lab, runtime, run) = start(|lab| interactive(lab, "permissions"));
    lab.wait_asked(run, 1);
    lab.wait_recorded(run, 1, "ask-2");
    runtime.cancel(run, "test").expect("canceled");
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Canceled);
    let said = messages_sent(&lab, run, 1);
    let outcomes: Vec<_> = said.iter().filter(|message| message.get("result").is_some()).collect();
    assert_eq!(outcomes.len(), 2, "{said:?}");
    assert!(outcomes.iter().all(|one| one["result"]["outcome"] == json!({ "outcome": "cancelled" })), "{outcomes:?}");
    assert!(evidence(&lab, run, "stdout.1.log").contains(r#""stopReason":"cancelled""#));
}

#[test]
fn a_turn_that_fails_says_why() {
    let cases = [
        ("quota", Code::EngineFailed, ErrorCategory::Quota),
        ("auth", Code::EngineFailed, ErrorCategory::Auth),
        ("note", Code::EngineFailed, ErrorCategory::Quota),
        ("limit", Code::LimitReached, ErrorCategory::Engine),
        ("exits", Code::EngineFailed, ErrorCategory::Engine),
    ];
    for (scenario, code, expected) in cases {
        let (lab, runtime, run) = start(|lab| auto(lab, scenario));
        finish(&lab, &runtime, run, ExecutionMode::Auto, RunStatus::Failed);
        assert_eq!((lab.failure(run), category(&lab, run)), (Some(code), Some(expected)), "{scenario}");
    }
}

/// Kills the process of the first attempt, not its host.
fn kill_agent(lab: &RuntimeLab, run: RunId) {
    let pid = lab.evidence_json(run, "host.1.json")["pid"].as_u64();
    kill_hard(u32::try_from(pid.expect("a process")).expect("a process"));
}

fn wait_process_ended(lab: &RuntimeLab, run: RunId) {
    let state = lab.wait(run, "end of the process", |state| state.process_ended || state.is_over());
    assert_eq!(state.status, Some(RunStatus::WaitingUser), "{:?}", lab.failure(run));
}

#[test]
fn an_agent_that_is_gone_is_started_again_and_loads_its_session() {
    let resumed = ["initialize initialize", "session resume=session-1 session/resume", "prompt.2 session/prompt"];
    for (scenario, expected) in [("leaves", loaded("prompt.2")), ("resumes", resumed.map(str::to_owned).to_vec())] {
        let (lab, runtime, run) = start(|lab| interactive(lab, scenario));
        wait_process_ended(&lab, run);
        let tells = |data: &Data| matches!(data, Data::Control(ControlData::RunStatus(it)) if it.phase == Some(Phase::ProcessEnded));
        assert_eq!(lab.events(run).iter().filter(|event| tells(&event.data)).count(), 1);
        runtime.reply(run, reply(1, "blue")).expect("answered");
        finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
        assert_eq!(lab.output(run), json!({ "answer": "blue" }));
        assert_eq!(summary(&lab, run, 2), expected);
        let hosts = lab.hosts(run);
        assert_ne!(hosts[0], hosts[1], "another process");
    }
}

/// Symptom: a run that continued after a restart succeeded with an older answer. Found with gemini, which reports that a
/// session is loaded and sends its history then. The stand-in's history has a finished answer.
#[test]
fn an_old_answer_never_becomes_the_new_turns() {
    let past = (1..=3).map(|number| format!("past.{number} _skillrun/past"));
    let opened = ["initialize initialize", "session load=session-1 session/load"].map(str::to_owned);
    let rest = ["now _skillrun/now", "prompt.2 session/prompt"].map(str::to_owned);
    let expected: Vec<String> = opened.into_iter().chain(past).chain(rest).collect();
    let messages_sent = |lab: &RuntimeLab, run: RunId| {
        let is_second = |event: &&Event| event.attempt_number.0 == 2;
        let text = |data: &Data| {
            let Data::Evidence(EvidenceData::MessageFinal(message)) = data else { return None };
            Some(message.text.clone())
        };
        lab.events(run).iter().filter(is_second).filter_map(|event| text(&event.data)).collect::<Vec<_>>()
    };
    for change in [|new| new, resumable] {
        let (lab, runtime, run) = start(|lab| change(interactive(lab, "afterwards")));
        lab.wait_asked(run, 1);
        if lab.state(run).continuation == Some(Continuation::Sticky) {
            wait_process_ended(&lab, run);
        }
        runtime.reply(run, reply(1, "blue")).expect("answered");
        finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
        assert_eq!(lab.output(run), json!({ "answer": "blue" }));
        assert_eq!(summary(&lab, run, 2), expected);
        assert!(evidence(&lab, run, "stdout.2.log").contains("old"), "the history was sent");
        assert_eq!(messages_sent(&lab, run).len(), 1, "{:?}", messages_sent(&lab, run));
    }
    // A turn that says nothing has not succeeded.
    let (lab, runtime, run) = start(|lab| resumable(interactive(lab, "afterwards")));
    lab.answer(&runtime, run, 1, "nothing");
    let state = lab.wait(run, "the end of the turn", |state| state.attempt.0 == 2 && !state.attempt_is_open);
    assert_ne!(state.status, Some(RunStatus::Succeeded));
    assert_eq!((summary(&lab, run, 2), messages_sent(&lab, run)), (expected, Vec::new()));
    drop(runtime);
}

#[test]
fn an_agent_without_a_usable_session_fails_the_run() {
    let moody = |lab: &RuntimeLab| {
        let new = auto(lab, "moody");
        let file = lab.path("engines/agent-moody.toml");
        let text = fs::read_to_string(&file).expect("readable");
        let wanted = "[permission.workspace]\nmode = \"read-only\"";
        fs::write(&file, text.replace("[permission.workspace]", wanted)).expect("written");
        new
    };
    let nameless = |lab: &RuntimeLab| auto(lab, "nameless");
    for (new, name, words) in [
        (&nameless as &dyn Fn(&RuntimeLab) -> NewRun, "session", "without an id"),
        (&moody, "session mode=read-only", "in mode agent, but the permission requires mode read-only"),
    ] {
        let (lab, runtime, run) = start(new);
        finish(&lab, &runtime, run, ExecutionMode::Auto, RunStatus::Failed);
        let message = lab.failed(run).expect("a failure").error.message;
        assert!(message.contains(words), "{message}");
        assert_eq!(lab.failure(run), Some(Code::EngineFailed));
        let expected = ["initialize initialize".to_owned(), format!("{name} session/new")];
        assert_eq!(summary(&lab, run, 1), expected, "nothing was asked of it");
    }
}

#[test]
fn an_agent_that_is_killed_while_it_waits_is_started_again() {
    let (lab, runtime, run) = start(|lab| interactive(lab, "question"));
    lab.wait_asked(run, 1);
    kill_agent(&lab, run);
    wait_process_ended(&lab, run);
    runtime.reply(run, reply(1, "blue")).expect("answered");
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
    assert_eq!(lab.output(run), json!({ "answer": "blue" }));
    let aside = lab.data().run(run).audit().join("aside.2/host.2.json");
    assert!(aside.exists(), "how the process ended is kept");
}

/// Symptom: the run never ended after its last turn. Found by killing the process of qwen, which is a wrapper.
#[test]
fn an_agent_whose_wrapper_was_killed_ends_with_its_turn() {
    let lab = agent_lab();
    lab.place.write_program("wrapper", &format!("#!/bin/sh\n{:?} \"$@\"\nexit $?\n", lab.program));
    let wrapper = lab.path("wrapper");
    let new = interactive(&lab, "question");
    let file = lab.path("engines/agent-question.toml");
    let text = fs::read_to_string(&file).expect("readable");
    fs::write(&file, text.replace("kind = \"self\"", &format!("path = {wrapper:?}"))).expect("written");
    // There is no consent, so it must be one that asks.
    let new = with(new, |options| options.permission = Some(Permission::ReadOnly));
    let (runtime, run) = lab.begin(with(new, |options| options.linger_sec = Some(1.0)));
    lab.wait_asked(run, 1);
    kill_agent(&lab, run);
    runtime.reply(run, reply(1, "blue")).expect("answered");
    over(&lab, &runtime, run, RunStatus::Succeeded);
    assert_eq!(lab.output(run), json!({ "answer": "blue" }));
    lab.check_whole(run);
}

#[test]
fn an_owner_that_comes_later_finds_that_the_agent_is_gone() {
    let (lab, runtime, run) = start(|lab| interactive(lab, "question"));
    lab.wait_asked(run, 1);
    drop(runtime);
    kill_agent(&lab, run);
    lab.wait_until("the end of the process", || lab.processes(run).is_empty());
    let runtime = lab.runtime();
    runtime.take_up(run).expect("taken up");
    wait_process_ended(&lab, run);
    runtime.reply(run, reply(1, "blue")).expect("answered");
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
}

#[test]
fn an_agent_that_cannot_load_has_lost_the_session() {
    let (lab, runtime, run) = start(|lab| interactive(lab, "forgets"));
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Failed);
    assert_eq!((lab.failure(run), category(&lab, run)), (Some(Code::SessionLost), Some(ErrorCategory::Session)));
}

#[test]
fn an_agent_that_refuses_to_load_fails_the_run() {
    for change in [|new| new, resumable] {
        let (lab, runtime, run) = start(|lab| change(interactive(lab, "refuses")));
        lab.wait_asked(run, 1);
        // With a process of its own for every turn there is none to wait for.
        let is_gone = lab.state(run).continuation == Some(Continuation::Resumable);
        if !is_gone {
            wait_process_ended(&lab, run);
        }
        runtime.reply(run, reply(1, "blue")).expect("answered");
        finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Failed);
        let failure = (lab.failure(run), category(&lab, run));
        assert_eq!(failure, (Some(Code::SessionNotFound), Some(ErrorCategory::Session)));
    }
}

/// The four cells of the matrix, with one agent.
#[test]
fn it_waits_with_a_process_or_without_one_and_decides_or_not() {
    let quick = |new: NewRun, require: bool| {
        with(new, |options| {
            options.session_timeout_sec = Some(0.5);
            options.require_user_reply = Some(require);
        })
    };
    // Resumable, a reply is needed: waits forever, with no process.
    let (lab, runtime, run) = start(|lab| quick(resumable(interactive(lab, "question")), true));
    let question = lab.wait_asked(run, 1).question.expect("a question");
    assert_eq!(question.deadline, None);
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    assert_eq!(lab.processes(run), Vec::<String>::new());
    runtime.reply(run, reply(1, "blue")).expect("answered");
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
    assert_eq!(lab.output(run), json!({ "answer": "blue" }));
    let expected = loaded("prompt.2");
    assert_eq!(summary(&lab, run, 2), expected);

    // Resumable, none is needed: another process gets the automatic one.
    let (lab, runtime, run) = start(|lab| quick(resumable(interactive(lab, "question")), false));
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
    assert_eq!(lab.resolutions(run), [ResolutionMode::AutoDecideTimeout]);
    assert_eq!(summary(&lab, run, 2), expected);

    // Sticky, a reply is needed: the process is ended and the run has failed.
    let (lab, runtime, run) = start(|lab| quick(interactive(lab, "question"), true));
    over(&lab, &runtime, run, RunStatus::Failed);
    assert_eq!(lab.failure(run), Some(Code::InteractionWaitTimeout));
    lab.check_whole(run);

    // Sticky, none is needed: the living process gets it.
    let (lab, runtime, run) = start(|lab| quick(interactive(lab, "question"), false));
    finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
    assert_eq!(lab.resolutions(run), [ResolutionMode::AutoDecideTimeout]);
    assert_eq!(summary(&lab, run, 2), ["prompt.2 session/prompt"]);
}

/// The previous owner may have sent anything or nothing; the next one sends the rest, and nothing twice.
#[test]
fn another_owner_continues_driving() {
    let once = ["initialize initialize", "session session/new", "prompt.1 session/prompt"];
    for words in ["protocolVersion", "sessionId", "Piece 7", "Piece 19"] {
        let (lab, runtime, run) = start(|lab| auto(lab, "slow"));
        lab.wait_recorded(run, 1, words);
        let runtime = lab.next_owner(runtime, run);
        finish(&lab, &runtime, run, ExecutionMode::Auto, RunStatus::Succeeded);
        assert_eq!(summary(&lab, run, 1), once, "after {words}");
    }
    // A later turn is prompted once too, whether its process lived on or was started for it.
    let prompted = vec!["prompt.2 session/prompt".to_owned()];
    for (continuation, expected) in [(Continuation::Sticky, prompted), (Continuation::Resumable, loaded("prompt.2"))] {
        let lab = agent_lab();
        let new = NewRun { continuation: Some(continuation), ..interactive(&lab, "later") };
        let (runtime, run) = lab.begin(new);
        lab.answer(&runtime, run, 1, "blue");
        lab.wait_recorded(run, 2, "Piece 7");
        let runtime = lab.next_owner(runtime, run);
        finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
        assert_eq!(summary(&lab, run, 2), expected, "{continuation:?}");
    }
    // A question inside the turn is asked once, and so is one between two.
    for (scenario, text) in [("permission", "yes"), ("question", "blue")] {
        let (lab, runtime, run) = start(|lab| interactive(lab, scenario));
        lab.wait_asked(run, 1);
        let runtime = lab.next_owner(runtime, run);
        runtime.reply(run, reply(1, text)).expect("answered");
        finish(&lab, &runtime, run, ExecutionMode::Interactive, RunStatus::Succeeded);
        assert_eq!(lab.types(run).iter().filter(|word| **word == "interaction.requested").count(), 1);
    }
}

#[test]
fn a_prompt_that_no_message_can_hold_is_refused_with_a_sentence() {
    let lab = agent_lab();
    let mut new = auto(&lab, "auto");
    new.input.insert("text".to_owned(), Value::from("x".repeat(1 << 20)));
    let (runtime, run) = lab.begin(new);
    over(&lab, &runtime, run, RunStatus::Failed);
    let message = lab.failed(run).expect("a failure").error.message;
    assert!(message.contains("cannot take a prompt of"), "{message}");
}
