//! How far a family may grow, and what its processes are refused.

use lab::runtime::RuntimeLab;
use skillrun_collect::plan::delegation::DelegationAddress;
use skillrun_lifecycle::run::{ChildProgress, State};
use skillrun_model::delegation::{
    Delegation, DelegationRequest, DelegationResponse, OnParentEnd, RefusalReason, SubagentStatus,
};
use skillrun_model::{AttemptNumber, ExecutionMode, RunId, RunStatus};
use skillrun_runs::record::RunRecord;
use skillrun_runtime::{NewRun, SlotLimits};

use super::{check_family, parent, skill, statuses};

#[test]
fn a_tree_is_as_deep_as_its_limit() {
    let (lab, runtime) = RuntimeLab::running();
    let asks = |skill: &str| {
        format!(
            "- - delegate: {{do: spawn, request: {{skill: {skill}}}}}\n  - delegate: {{do: wait, timeout_sec: 45}}\n  - output: {{answer: '{{{{delegated.outcome}}}} {{{{delegated.runs.0.summary}}}}'}}\n    done: true\n"
        )
    };
    skill(&lab, "middle", &asks("inner"));
    let refused = "- - delegate: {do: spawn, request: {prompt: Deeper.}}\n  - output: {answer: '{{delegated.refusal.message}}'}\n    done: true\n";
    skill(&lab, "inner", refused);
    let run = runtime.submit(parent(&lab, &asks("middle"), Delegation::default())).expect("accepted");
    lab.finish(&runtime, run);
    let answer = lab.output(run)["answer"].as_str().unwrap_or_default().to_owned();
    assert!(answer.contains("this run may not delegate"), "{answer}");
    let state = check_family(&lab, run);
    let middle = check_family(&lab, state.children[0].run_id);
    let inner = middle.children[0].run_id;
    assert!(lab.state(inner).children.is_empty());
    let link = RunRecord::read(&lab.data().run(inner).record()).expect("a record").parent.expect("a link");
    assert_eq!((link.depth, link.root, link.run_id), (2, run, state.children[0].run_id));
}

#[test]
fn fifty_children_at_once_and_not_one_more() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 8, per_engine: 8, ..SlotLimits::default() };
    let runtime = lab.runtime();
    let spawn =
        |number: u32| format!("  - delegate: {{do: spawn, request: {{key: k{number}, prompt: Task {number}.}}}}\n");
    let spawns: String = (1..=51).map(spawn).collect();
    // A wait has a limit, and is repeated as an engine repeats it.
    let waits = "  - delegate: {do: wait, timeout_sec: 45}\n".repeat(3);
    let script = format!(
        "- {}  - say: 'refused: {{{{delegated.refusal.reason}}}} {{{{delegated.refusal.message}}}}'\n{waits}  - output: {{answer: '{{{{delegated.outcome}}}}'}}\n    done: true\n",
        spawns.trim_start()
    );
    let limits = Delegation { max_children: 50, max_total: 50, ..Delegation::default() };
    let run = runtime.submit(parent(&lab, &script, limits)).expect("accepted");
    lab.finish(&runtime, run);
    lab.wait_said(run, "refused: limit_reached the limit of 50 runs below one run is reached (max_total)");
    assert_eq!(lab.output(run)["answer"], "completed");
    assert_eq!(statuses(&lab, run), [SubagentStatus::Completed; 50]);
    let mut made: Vec<RunId> = check_family(&lab, run).children.iter().map(|child| child.run_id).collect();
    made.sort();
    made.dedup();
    assert_eq!(made.len(), 50);
    assert_eq!(lab.run_folders().len(), 51, "nothing was made for the one that was refused");
}

/// Keeps the token of each process of a run in its folder.
const KEEPS_TOKENS: &str = r#"[ -z "$SKILLRUN_DELEGATION_TOKEN" ] || echo "$SKILLRUN_DELEGATION_TOKEN" >> tokens"#;

/// The socket of a run, with the token of its process of this number.
fn address(lab: &RuntimeLab, run: RunId, process: usize) -> DelegationAddress {
    let tokens = std::fs::read_to_string(lab.data().run(run).workspace().join("tokens")).expect("tokens");
    let token = tokens.lines().nth(process).expect("a token").to_owned();
    DelegationAddress { socket: lab.data().delegation().join(run.to_string()).join("sock"), token }
}

fn spawn_request(prompt: String) -> DelegationRequest {
    let request = serde_json::json!({"do": "spawn", "request": {"prompt": prompt}});
    serde_json::from_value(request).expect("a request")
}

fn check_refused(address: &DelegationAddress, request: DelegationRequest, reason: RefusalReason, words: &str) {
    let response = address.ask(request.clone()).expect("a response");
    let DelegationResponse::Refused { refusal } = response else { panic!("{request:?}: {response:?}") };
    assert_eq!(refusal.reason, reason, "{}", refusal.message);
    let message = refusal.message;
    assert!(message.contains(words) && !message.contains('\n') && message.len() < 600, "{message}");
}

/// A parent that waits for a child, which works until it is canceled.
const WAITS: &str =
    "- - delegate: {do: spawn, request: {skill: endless}}\n  - delegate: {do: wait, timeout_sec: 45}\n  - hang\n";

/// A child that has begun to work.
fn working_child(lab: &RuntimeLab, run: RunId) -> RunId {
    let is_made = |state: &State| state.children.iter().any(|child| child.progress == ChildProgress::Started);
    let child = lab.wait(run, "child", is_made).children[0].run_id;
    lab.wait_said(child, "working");
    child
}

#[test]
fn what_a_process_may_not_ask_is_refused_and_nothing_is_made() {
    let mut lab = RuntimeLab::new();
    lab.wrap_engine(KEEPS_TOKENS);
    let runtime = lab.runtime();
    skill(&lab, "endless", "- - say: working\n  - hang\n");
    let limits = Delegation { max_children: 1, ..Delegation::default() };
    let [run, other] = [(); 2].map(|()| runtime.submit(parent(&lab, WAITS, limits.clone())).expect("accepted"));
    let child = working_child(&lab, run);
    let foreign_child = working_child(&lab, other);
    let folders = lab.run_folders().len();

    let own = address(&lab, run, 0);
    let with_token = |token: &str| DelegationAddress { token: token.to_owned(), ..own.clone() };
    let task = || spawn_request("One more.".to_owned());
    check_refused(&with_token(""), task(), RefusalReason::WrongToken, "it cannot delegate");
    check_refused(&with_token(&address(&lab, other, 0).token), task(), RefusalReason::WrongToken, "it cannot delegate");
    check_refused(&own, task(), RefusalReason::LimitReached, "the limit of 1 children");
    let long = "x".repeat(10_000_000);
    check_refused(&own, spawn_request(long), RefusalReason::LimitReached, "put long text into a file of the workspace");
    for foreign in [foreign_child, other, run] {
        let wait = DelegationRequest::Wait { runs: vec![foreign], timeout_sec: 1.0 };
        check_refused(&own, wait, RefusalReason::NotFound, "is not a child of this run; list_runs shows its children");
        let cancel = DelegationRequest::Cancel { run: foreign };
        check_refused(&own, cancel, RefusalReason::NotFound, "is not a child of this run");
    }
    check_refused(
        &own,
        DelegationRequest::Result { run: child },
        RefusalReason::WrongState,
        "wait for it with wait_runs",
    );
    let answer = DelegationRequest::Send { run: child, text: "Yes.".to_owned(), interaction_id: None };
    check_refused(&own, answer, RefusalReason::WrongState, "asks nothing at the moment");

    assert_eq!(lab.run_folders().len(), folders, "nothing was made");
    for run in [run, other] {
        runtime.cancel(run, "test").expect("canceled");
    }
    for run in [run, other] {
        lab.finish(&runtime, run);
        assert_eq!(check_family(&lab, run).children.len(), 1);
    }
}

#[test]
fn a_request_after_the_end_of_the_turn_is_refused() {
    let mut lab = RuntimeLab::new();
    lab.wrap_engine(KEEPS_TOKENS);
    let runtime = lab.runtime();
    skill(&lab, "endless", "- - say: working\n  - hang\n");
    let script = "- - delegate: {do: spawn, request: {skill: endless}}\n  - output: {answer: done}\n    done: true\n";
    let waits = Delegation { on_parent_end: OnParentEnd::Wait, ..Delegation::default() };
    let run = runtime.submit(parent(&lab, script, waits)).expect("accepted");
    let is_ending = |state: &State| state.attempt == AttemptNumber(1) && !state.attempt_is_open;
    let state = lab.wait(run, "end of the turn", is_ending);
    assert!(!state.is_over(), "it waits for its child: {:?}", lab.types(run));
    let own = address(&lab, run, 0);
    check_refused(&own, spawn_request("Late.".to_owned()), RefusalReason::TurnOver, "end your work");
    let child = working_child(&lab, run);
    runtime.cancel(child, "test").expect("canceled");
    let state = lab.finish(&runtime, run);
    assert_eq!(state.status, Some(RunStatus::Succeeded));
    assert_eq!(statuses(&lab, run), [SubagentStatus::Cancelled]);
    assert_eq!(check_family(&lab, run).children.len(), 1);
}

#[test]
fn the_token_of_an_earlier_process_is_refused() {
    let mut lab = RuntimeLab::new();
    lab.wrap_engine(KEEPS_TOKENS);
    let runtime = lab.runtime();
    skill(&lab, "endless", "- - say: working\n  - hang\n");
    let new = parent(&lab, &format!("- - ask: {{prompt: Go on?}}\n{WAITS}"), Delegation::default());
    let run = runtime.submit(NewRun { mode: Some(ExecutionMode::Interactive), ..new }).expect("accepted");
    lab.wait_asked(run, 1);
    lab.answer(&runtime, run, 1, "yes");
    working_child(&lab, run);
    let task = || spawn_request("One more.".to_owned());
    check_refused(&address(&lab, run, 0), task(), RefusalReason::WrongToken, "the process that works on this run now");
    let spawned = address(&lab, run, 1).ask(task()).expect("a response");
    assert!(matches!(spawned, DelegationResponse::Spawned { was_new: true, .. }), "{spawned:?}");
    runtime.cancel(run, "test").expect("canceled");
    lab.finish(&runtime, run);
    assert_eq!(check_family(&lab, run).children.len(), 2);
}
