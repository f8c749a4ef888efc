//! Runs that other runs ask for, with scripted parents and real processes: the child is made once, its end is in the
//! Log of its parent before that of the parent, and a parent never says more of a child than the Log of the child.

mod copies;
mod limits;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, impatient};
use skillrun_lifecycle::run::{ChildProgress, State};
use skillrun_model::delegation::{Delegation, OnParentEnd, SubagentEnded, SubagentStatus};
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{Code, ExecutionMode, RunId, RunStatus};
use skillrun_runs::record::{RunRecord, Sharing};
use skillrun_runtime::{NewRun, Options, SlotLimits};

/// A parent that plays this script, and may delegate.
fn parent(lab: &RuntimeLab, script: &str, delegation: Delegation) -> NewRun {
    let new = impatient(lab.new_run(ExecutionMode::Auto, script));
    NewRun { options: Options { delegation: Some(delegation), ..new.options.clone() }, ..new }
}

fn ends(lab: &RuntimeLab, run: RunId) -> Vec<SubagentEnded> {
    let end = |event: skillrun_model::rasp::Event| match event.data {
        Data::Control(ControlData::SubagentEnded(end)) => Some(end),
        Data::Control(_) | Data::Evidence(_) => None,
    };
    lab.events(run).into_iter().filter_map(end).collect()
}

fn statuses(lab: &RuntimeLab, run: RunId) -> Vec<SubagentStatus> {
    ends(lab, run).iter().map(|end| end.status).collect()
}

/// What a parent says of its children follows from their Logs.
fn check_family(lab: &RuntimeLab, run: RunId) -> State {
    let state = lab.state(run);
    for child in &state.children {
        let record = RunRecord::read(&lab.data().run(child.run_id).record()).expect("a record");
        let link = record.parent.expect("a link");
        assert_eq!((link.run_id, link.attempt), (run, child.attempt));
        let own = lab.state(child.run_id);
        let expected = match own.status {
            Some(RunStatus::Succeeded) => Some(SubagentStatus::Completed),
            Some(RunStatus::Canceled) => Some(SubagentStatus::Cancelled),
            Some(RunStatus::Failed) => None,
            other => panic!("child {} is {other:?}", child.run_id),
        };
        match (child.progress, expected) {
            (ChildProgress::Ended(status), Some(expected)) => assert_eq!(status, expected),
            (ChildProgress::Ended(SubagentStatus::Failed | SubagentStatus::TimedOut), None) => {}
            (progress, expected) => panic!("{progress:?} where {expected:?} is in the Log of the child"),
        }
        check_family(lab, child.run_id);
    }
    state
}

#[test]
fn parent_waits_for_its_child_and_has_its_answer() {
    let (lab, runtime) = RuntimeLab::running();
    let script = r#"
- - delegate: {do: spawn, request: {key: one, prompt: "The first task.\n"}}
  - delegate: {do: spawn, request: {key: one, prompt: "The first task.\n"}}
  - say: "again {{delegated.was_new}}"
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: "{{delegated.outcome}}: {{delegated.runs.0.summary}}"}
    done: true
"#;
    let run = runtime.submit(parent(&lab, script, Delegation::default())).expect("accepted");
    let state = lab.finish(&runtime, run);
    assert_eq!(state.status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
    lab.wait_said(run, "again false");
    assert_eq!(lab.output(run)["answer"], "completed: The first task.\n");
    let [end] = &ends(&lab, run)[..] else { panic!("{:?}", lab.types(run)) };
    assert_eq!(
        (end.status, end.reason, end.child_seq),
        (SubagentStatus::Completed, Code::CleanFinal, Some(lab.state(end.child_run_id).last_seq))
    );
    assert_eq!(check_family(&lab, run).children.len(), 1, "the same key gives the same child");
    let types = lab.types(run);
    let place = |name: &str| types.iter().position(|found| *found == name).expect("an event");
    assert!(
        place("subagent.requested") < place("subagent.started") && place("subagent.started") < place("subagent.ended")
    );
    assert!(place("subagent.ended") < place("attempt.ended"));
}

/// A skill that children can run by its name.
fn skill(lab: &RuntimeLab, name: &str, script: &str) {
    let folder = lab.path(&format!("skills/{name}"));
    std::fs::create_dir_all(folder.join("assets")).expect("a folder");
    let text = format!("---\nname: {name}\ndescription: For tests.\n---\n\nDo it.\n");
    std::fs::write(folder.join("SKILL.md"), text).expect("written");
    std::fs::write(folder.join("assets/scripted.yaml"), script).expect("written");
}

#[test]
fn no_child_that_broke_off_counts_as_completed() {
    let (lab, runtime) = RuntimeLab::running();
    skill(&lab, "broken", "- - say: Nearly.\n  - fail: the model is gone\n");
    skill(&lab, "slow", "- - say: Nearly.\n  - hang\n");
    skill(&lab, "typed", "- - output: {count: 3}\n    done: true\n");
    let script = r#"
- - delegate: {do: spawn, request: {key: good, prompt: Good.}}
  - delegate: {do: spawn, request: {skill: broken}}
  - delegate: {do: spawn, request: {skill: slow, timeout_sec: 1}}
  - delegate: {do: spawn, request: {skill: typed}}
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: "{{delegated.outcome}} {{delegated.runs.0.state}} {{delegated.runs.1.state}} {{delegated.runs.2.state}} {{delegated.runs.3.summary}}"}
    done: true
"#;
    let run = runtime.submit(parent(&lab, script, Delegation::default())).expect("accepted");
    lab.finish(&runtime, run);
    assert_eq!(lab.output(run)["answer"], "partial completed failed timed_out {\"count\":3}");
    for end in ends(&lab, run) {
        let has_answer = end.status == SubagentStatus::Completed;
        assert_eq!(end.summary.is_some(), has_answer, "text of a broken turn is not an answer: {end:?}");
        assert_eq!(end.deadline_at.is_some(), end.status == SubagentStatus::TimedOut, "{end:?}");
    }
    check_family(&lab, run);
}

#[test]
fn children_are_ended_before_their_parent_ends() {
    for (policy, expected) in [
        (OnParentEnd::Cancel, SubagentStatus::Cancelled),
        (OnParentEnd::Detach, SubagentStatus::Detached),
        (OnParentEnd::Wait, SubagentStatus::Completed),
    ] {
        let mut lab = RuntimeLab::new();
        // The child has no slot until its parent has ended its turn, and lends its own.
        lab.slots = SlotLimits { total: 1, ..SlotLimits::default() };
        let runtime = lab.runtime();
        let script =
            "- - delegate: {do: spawn, request: {prompt: Later.}}\n  - output: {answer: done}\n    done: true\n";
        let delegation = Delegation { on_parent_end: policy, ..Delegation::default() };
        let run = runtime.submit(parent(&lab, script, delegation)).expect("accepted");
        let state = lab.wait_over(run);
        assert_eq!(state.status, Some(RunStatus::Succeeded), "{policy}: {:?}", lab.types(run));
        assert_eq!(statuses(&lab, run), [expected], "{policy}");
        let child = state.children[0].run_id;
        let own = lab.wait_over(child);
        let status = if policy == OnParentEnd::Cancel { RunStatus::Canceled } else { RunStatus::Succeeded };
        assert_eq!(own.status, Some(status), "{policy}");
        assert!(runtime.wait_idle(TEST_TIMEOUT));
        lab.check_whole(run);
    }
}

#[test]
fn four_parents_on_four_slots_all_end() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 4, per_engine: 4, ..SlotLimits::default() };
    let runtime = lab.runtime();
    let script = r#"
- - delegate: {do: spawn, request: {key: a, prompt: A.}}
  - delegate: {do: spawn, request: {key: b, prompt: B.}}
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: "{{delegated.outcome}}"}
    done: true
"#;
    let runs: Vec<RunId> =
        (0..4).map(|_| runtime.submit(parent(&lab, script, Delegation::default())).expect("accepted")).collect();
    for run in &runs {
        let state = lab.wait_over(*run);
        assert_eq!(state.status, Some(RunStatus::Succeeded));
        assert_eq!(lab.output(*run)["answer"], "completed");
        assert_eq!(check_family(&lab, *run).children.len(), 2);
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
}

#[test]
fn cancel_of_a_waiting_parent_ends_the_tree() {
    let (lab, runtime) = RuntimeLab::running();
    let waits = |skill: &str| {
        format!(
            "- - delegate: {{do: spawn, request: {{skill: {skill}}}}}\n  - delegate: {{do: wait, timeout_sec: 45}}\n  - hang\n"
        )
    };
    skill(&lab, "middle", &waits("inner"));
    skill(&lab, "inner", "- - say: working\n  - hang\n");
    let run = runtime.submit(parent(&lab, &waits("middle"), Delegation::default())).expect("accepted");
    let is_made = |state: &State| state.children.iter().any(|child| child.progress == ChildProgress::Started);
    let middle = lab.wait(run, "child", is_made).children[0].run_id;
    let inner = lab.wait(middle, "child", is_made).children[0].run_id;
    lab.wait_said(inner, "working");
    runtime.cancel(run, "test").expect("canceled");
    lab.finish(&runtime, run);
    check_family(&lab, run);
    for (over, children) in [(run, 1), (middle, 1), (inner, 0)] {
        assert_eq!(lab.state(over).status, Some(RunStatus::Canceled));
        assert_eq!(statuses(&lab, over), vec![SubagentStatus::Cancelled; children]);
        lab.check_whole(over);
        // The evidence of the attempt is complete: its host has recorded the end.
        assert!(lab.data().run(over).audit().join("host.1.json").is_file(), "{over}");
    }
}

#[test]
fn refusals_are_sentences_and_nothing_is_made() {
    let (lab, runtime) = RuntimeLab::running();
    let cases = [
        ("{prompt: Nested., engine: nosuch}", "there is no engine \"nosuch\""),
        ("{prompt: Nested., engine: scripted}", "the engine scripted is not allowed here; use one of: impatient"),
        ("{prompt: Nested., skill: other}", "give either skill or prompt, and not both"),
        ("{skill: ../other}", "a skill is named by its name, without a path"),
        ("{skill: nosuch}", "there is no skill \"nosuch\""),
        ("{prompt: '  '}", "the prompt is empty"),
        ("{prompt: Talk., mode: conversation}", "a child is an auto or an interactive run"),
        ("{prompt: Now., timeout_sec: -1}", "timeout_sec must be a number of seconds above 0"),
        ("{prompt: Now., key: ''}", "key must have 1 to 255 characters"),
    ];
    for (request, sentence) in cases {
        let script = format!(
            "- - delegate: {{do: spawn, request: {request}}}\n  - output: {{answer: '{{{{delegated.refusal.message}}}}'}}\n    done: true\n"
        );
        let engines = if request.contains("engine: scripted") { vec!["impatient".to_owned()] } else { Vec::new() };
        let run =
            runtime.submit(parent(&lab, &script, Delegation { engines, ..Delegation::default() })).expect("accepted");
        let state = lab.finish(&runtime, run);
        let message = lab.output(run)["answer"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains(sentence), "{request}: {message}");
        assert!(state.children.is_empty(), "{request}");
    }
}

/// What engines are given: `skillrun mcp`, with the variables of the attempt.
const ASKS_BY_MCP: &str = r#"
{
  echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}'
  echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"spawn_run","arguments":{"prompt":"By the tool.","key":"k"}}}'
  n=0
  while [ $n -lt 1200 ] && ! grep -q '"id":2' answers; do sleep 0.05; n=$((n+1)); done
  echo '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait_runs","arguments":{}}}'
  while [ $n -lt 1200 ] && ! grep -q '"id":3' answers; do sleep 0.05; n=$((n+1)); done
} | PROGRAM mcp > answers
"#;

#[test]
fn the_tools_of_an_attempt_make_children_of_its_run() {
    let mut lab = RuntimeLab::new();
    // Only the parent has the variables; its child plays its turn at once.
    let asks = ASKS_BY_MCP.replace("PROGRAM", crate::SKILLRUN);
    lab.wrap_engine(&format!("[ -z \"$SKILLRUN_DELEGATION_SOCKET\" ] || {{ {asks} }}"));
    let runtime = lab.runtime();
    let delegation = Delegation { max_depth: 1, ..Delegation::default() };
    let script = "- - output: {answer: done}\n    done: true\n";
    let run = runtime.submit(parent(&lab, script, delegation)).expect("accepted");
    let state = lab.finish(&runtime, run);
    let answers = std::fs::read_to_string(lab.data().run(run).workspace().join("answers")).unwrap_or_default();
    assert_eq!(state.status, Some(RunStatus::Succeeded), "{answers}");
    assert_eq!(statuses(&lab, run), [SubagentStatus::Completed], "{answers}");
    assert!(answers.contains(r#""outcome":"completed""#) && answers.contains("By the tool."), "{answers}");
    check_family(&lab, run);
}

#[test]
fn a_child_works_in_the_folder_that_its_parent_has_for_itself() {
    let (lab, runtime) = RuntimeLab::running();
    skill(
        &lab,
        "writes",
        "- - write: {path: of-the-child.txt, content: here}\n  - output: {count: 1}\n    done: true\n",
    );
    let script = r#"
- - delegate: {do: spawn, request: {skill: writes, workspace: shared}}
  - delegate: {do: wait, timeout_sec: 45}
  - output: {answer: "{{delegated.outcome}}"}
    done: true
"#;
    let folder = lab.path("work");
    std::fs::create_dir(&folder).expect("a folder");
    let new = parent(&lab, script, Delegation::default());
    let run = runtime.submit(NewRun { workspace: Some((folder.clone(), Sharing::Alone)), ..new }).expect("accepted");
    lab.finish(&runtime, run);
    assert_eq!(lab.output(run)["answer"], "completed", "{:?}", ends(&lab, run));
    assert_eq!(std::fs::read_to_string(folder.join("of-the-child.txt")).expect("a file"), "here");
}
