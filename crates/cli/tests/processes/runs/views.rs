//! What a run leaves beside its Log while it waits, and what its control events say of the request that made it.

use std::fs;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, reply, speaking, sticky};
use serde_json::Value;
use skillrun_model::rasp::{ControlData, Data, EventType, EvidenceData, SourceStream};
use skillrun_model::{ExecutionMode, ProfileId, RunId, RunStatus};
use skillrun_runtime::{NewRun, Reply};

const ASKS: &str = "- - raw: '{\"type\":\"new.thing\"}'\n  - ask: {prompt: Which?}\n\
    - - ask: {prompt: Really?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

const PERMISSION: &str = "- - permission: {tool: Bash, input: {command: rm -rf build}}\n  \
    - output: {answer: '{{reply}}'}\n    done: true\n";

fn view(lab: &RuntimeLab, run: RunId, name: &str) -> Option<String> {
    fs::read_to_string(lab.data().run(run).root().join(name)).ok()
}

/// Waits until the conversation on disk has the question of this number.
fn wait_told(lab: &RuntimeLab, run: RunId, interaction: u32) -> String {
    let asked = format!("\"type\":\"user.input.required\",\"data\":{{\"interaction_id\":{interaction},");
    let is_told = || view(lab, run, "fcmp.jsonl").is_some_and(|text| text.contains(&asked) && text.ends_with('\n'));
    lab.wait_until("conversation on disk", is_told);
    lab.wait_until("diagnostics on disk", || view(lab, run, "parser_diagnostics.jsonl").is_some());
    view(lab, run, "fcmp.jsonl").expect("a view")
}

/// A run that waited, for days perhaps, had neither of the two views.
#[test]
fn conversation_and_diagnostics_are_there_while_a_run_waits() {
    let (lab, runtime) = RuntimeLab::running();
    let asks = lab.new_run(ExecutionMode::Interactive, ASKS);
    let call = speaking(sticky(lab.new_run(ExecutionMode::Interactive, PERMISSION)), ProfileId::ClaudeStreamJson);
    for (new, questions) in [(asks.clone(), 2), (sticky(asks), 2), (call, 1)] {
        let run = runtime.submit(new).expect("accepted");
        let mut before = String::new();
        for question in 1..=questions {
            lab.wait_asked(run, question);
            let told = wait_told(&lab, run, question);
            assert!(told.starts_with(&before), "a line that was written once stays as it is");
            if questions == 2 {
                let diagnostics = view(&lab, run, "parser_diagnostics.jsonl").expect("a view");
                assert!(diagnostics.contains("UNKNOWN_EVENT"), "{diagnostics}");
            }
            before = told;
            runtime.reply(run, reply(question, "yes")).expect("answered");
        }
        assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded), "{:?}", lab.types(run));
        let whole = view(&lab, run, "fcmp.jsonl").expect("a view");
        assert!(whole.starts_with(&before) && whole.len() > before.len());
        // By a translation of the whole Log at once.
        let verified = skillrun(&lab, &["verify", &run.to_string()]);
        assert!(verified.contains("Nothing differs."), "{verified}");
    }
}

fn skillrun(lab: &RuntimeLab, args: &[&str]) -> String {
    String::from_utf8(lab.place.output(args).stdout).expect("text")
}

/// Runs that another version left waiting, and one whose owner died before it wrote them.
#[test]
fn views_that_are_lacking_are_made_at_the_start() {
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Interactive, ASKS);
    lab.wait_asked(run, 1);
    let told = wait_told(&lab, run, 1);
    assert!(runtime.wait_for(run, TEST_TIMEOUT));
    drop(runtime);
    let folder = lab.data().run(run);
    fs::remove_file(folder.fcmp()).expect("removed");
    fs::remove_file(folder.diagnostics()).expect("removed");
    let runtime = lab.runtime();
    assert_eq!(super::recover(&lab, &runtime).waiting, 1);
    assert_eq!(wait_told(&lab, run, 1), told);
}

/// The conversation that was written at the last question is outdated for a run that has continued since.
#[test]
fn an_incomplete_conversation_is_not_shown_as_complete() {
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Interactive, ASKS);
    lab.wait_asked(run, 1);
    let first = wait_told(&lab, run, 1);
    assert!(runtime.wait_for(run, TEST_TIMEOUT));
    runtime.reply(run, reply(1, "yes")).expect("answered");
    lab.wait_asked(run, 2);
    let both = wait_told(&lab, run, 2);
    assert!(runtime.wait_for(run, TEST_TIMEOUT));
    fs::write(lab.data().run(run).fcmp(), first).expect("written");
    assert_eq!(skillrun(&lab, &["logs", &run.to_string(), "--fcmp"]), both);
}

/// No event of a run named the request that made it, although the schema says so.
#[test]
fn control_events_name_the_request_of_their_run() {
    let lab = RuntimeLab::new();
    let new = NewRun { request_id: Some("order-66".to_owned()), ..lab.new_run(ExecutionMode::Interactive, ASKS) };
    let (runtime, run) = lab.begin(new);
    lab.answer(&runtime, run, 1, "yes");
    lab.wait_asked(run, 2);
    // A reply is another request; that it has the same name does not make it one that was carried out.
    let again = Reply { request_id: Some("order-66".to_owned()), ..reply(2, "blue") };
    runtime.reply(run, again).expect("answered");
    assert_eq!(lab.wait_over(run).status, Some(RunStatus::Succeeded));
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    let mut replies = Vec::new();
    for event in lab.events(run) {
        let named = event.correlation.request_id.as_deref();
        let is_control = event.source.stream == SourceStream::Control;
        if event.event_type() == EventType::InteractionReplied {
            replies.push(named.map(str::to_owned));
        } else {
            assert_eq!(named, Some("order-66").filter(|_| is_control), "{}", event.event_type());
        }
    }
    assert_eq!(replies, [None, Some("order-66".to_owned())], "a reply has its own key or none");
}

/// The field was in the schema, and no run ever had it.
#[test]
fn the_end_says_where_the_result_is() {
    let (lab, runtime) = RuntimeLab::running();
    let run = runtime.submit(lab.new_run(ExecutionMode::Auto, "- - output: {answer: blue}\n    done: true\n"));
    let run = run.expect("accepted");
    assert_eq!(lab.wait_over(run).status, Some(RunStatus::Succeeded));
    let events = lab.events(run);
    let Some(Data::Control(ControlData::RunCompleted(completed))) = events.last().map(|event| &event.data) else {
        panic!("no end")
    };
    let path = lab.data().run(run).root().join(completed.result.as_deref().expect("a path"));
    let result: Value = serde_json::from_slice(&fs::read(path).expect("a result")).expect("JSON");
    assert_eq!(result["status"], "succeeded");
    let payload = events.iter().find_map(|event| {
        let Data::Evidence(EvidenceData::MessageFinal(message)) = &event.data else { return None };
        message.structured_payload.clone()
    });
    assert_eq!(payload.map(Value::Object), Some(serde_json::json!({ "answer": "blue" })), "without the marker");
}
