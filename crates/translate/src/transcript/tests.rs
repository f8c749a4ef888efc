use serde_json::value::RawValue;
use skillrun_model::fcmp::Meta;
use skillrun_model::fcmp::data::{AssistantFinal, AssistantToolCall, ConversationStatus, ToolCallStatus};
use skillrun_model::rasp::data::Foreign;
use skillrun_model::rasp::{Correlation, RawRef};
use skillrun_model::{EngineName, RunId, Timestamp};

use super::*;

fn event(data: FcmpData) -> FcmpEvent {
    FcmpEvent {
        run_id: RunId::from_evidence_hash(&[7; 32]),
        seq: 1,
        ts: Timestamp::EPOCH,
        engine: EngineName::new("engine"),
        data,
        meta: Meta { attempt: AttemptNumber::BEFORE_FIRST, confidence: 1.0, rasp_seq: 1 },
        correlation: Correlation::default(),
        raw_ref: RawRef::default(),
    }
}

fn call(id: &str, name: Option<&str>, status: ToolCallStatus) -> AssistantToolCall {
    AssistantToolCall {
        tool_call_id: Some(id.to_owned()),
        name: name.map(str::to_owned),
        status,
        input: None,
        output: None,
        reason: None,
    }
}

fn starts(id: &str, input: &str) -> FcmpEvent {
    let input = RawValue::from_string(input.to_owned()).expect("JSON");
    let call = AssistantToolCall { input: Some(Foreign(input)), ..call(id, Some("sh"), ToolCallStatus::Started) };
    event(FcmpData::AssistantToolCall(call))
}

fn ends(id: &str, output: &str) -> FcmpEvent {
    let call = AssistantToolCall { output: Some(output.to_owned()), ..call(id, None, ToolCallStatus::Completed) };
    event(FcmpData::AssistantToolCall(call))
}

fn fails(id: &str, reason: &str) -> FcmpEvent {
    let call = AssistantToolCall { reason: Some(reason.to_owned()), ..call(id, None, ToolCallStatus::Failed) };
    event(FcmpData::AssistantToolCall(call))
}

fn says(text: &str) -> FcmpEvent {
    let message_id = "m".to_owned();
    let message = AssistantFinal { message_id, text: text.to_owned(), partial: false, structured_payload: None };
    event(FcmpData::AssistantFinal(message))
}

/// Two tools at the same time, of which the first one ends last, and a message in between.
fn parallel() -> Vec<FcmpEvent> {
    vec![
        starts("a", r#"{"n":1}"#),
        starts("b", r#"{"n":2}"#),
        says("meanwhile"),
        ends("b", "two"),
        ends("a", "one"),
        says("done"),
    ]
}

fn written(calls: CallLayout, events: &[FcmpEvent]) -> String {
    let mut transcript = Transcript::new(TranscriptStyle { calls, ..TranscriptStyle::default() });
    let mut text: String = events.iter().map(|event| transcript.event(event, Shown::Yes)).collect();
    text += &transcript.finish();
    text
}

#[test]
fn outputs_of_parallel_tools_stand_below_their_calls() {
    let expected =
        "tool sh {\"n\":1}\n  > one\ntool sh {\"n\":2}\n  > two\nassistant\n  meanwhile\nassistant\n  done\n";
    assert_eq!(written(CallLayout::Whole, &parallel()), expected);
}

#[test]
fn a_follower_sees_a_call_again_above_its_output() {
    let expected = "tool sh {\"n\":1}\ntool sh {\"n\":2}\nassistant\n  meanwhile\n\
                    tool sh {\"n\":2}\n  > two\ntool sh {\"n\":1}\n  > one\nassistant\n  done\n";
    assert_eq!(written(CallLayout::Live, &parallel()), expected);
    let alone = [starts("a", "{}"), ends("a", "one")];
    assert_eq!(written(CallLayout::Live, &alone), "tool sh {}\n  > one\n", "nothing is between the two");
}

#[test]
fn a_failed_call_is_named_although_its_end_is_not() {
    for layout in [CallLayout::Live, CallLayout::Whole] {
        let text = written(layout, &[starts("a", "{}"), fails("a", "exit 1")]);
        assert_eq!(text, "tool sh {}\ntool sh failed: exit 1\n", "{layout:?}");
    }
}

#[test]
fn an_open_call_is_shown_at_the_end() {
    let text = written(CallLayout::Whole, &[starts("a", "{}"), says("I wait.")]);
    assert_eq!(text, "tool sh {}\nassistant\n  I wait.\n");
}

#[test]
fn a_call_that_was_not_shown_is_named_above_its_output() {
    let mut transcript = Transcript::default();
    assert_eq!(transcript.event(&starts("a", r#"{"n":1}"#), Shown::No), "");
    assert_eq!(transcript.event(&ends("a", "one"), Shown::Yes), "tool sh {\"n\":1}\n  > one\n");
}

#[test]
fn text_that_is_held_back_is_bounded() {
    let mut transcript = Transcript::new(TranscriptStyle { calls: CallLayout::Whole, ..TranscriptStyle::default() });
    assert_eq!(transcript.event(&starts("a", "{}"), Shown::Yes), "");
    let long = "x".repeat(100_000);
    let came: Vec<usize> = (0..20).map(|_| transcript.event(&says(&long), Shown::Yes).len()).collect();
    assert!(came.iter().sum::<usize>() > 1_000_000, "{came:?}");
    assert_eq!(transcript.event(&ends("a", "one"), Shown::Yes), "tool sh {}\n  > one\n");
}

/// `logs` cut lines after 66 characters, in a pipe too.
#[test]
fn lines_are_whole_in_a_pipe_and_fit_a_terminal() {
    let input = format!("{{\"path\":\"{}\"}}", "p".repeat(100));
    let output = "o".repeat(100);
    let events = [starts("a", &input), ends("a", &output)];
    assert_eq!(written(CallLayout::Live, &events), format!("tool sh {input}\n  > {output}\n"));
    for columns in [40, 80, 100] {
        let style = TranscriptStyle { lines: LineLimit::Columns(columns), ..TranscriptStyle::default() };
        let mut transcript = Transcript::new(style);
        let text: String = events.iter().map(|event| transcript.event(event, Shown::Yes)).collect();
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths, [columns, columns], "{text}");
    }
}

#[test]
fn a_plan_is_shown_when_it_changes() {
    let plans = |detail: Option<&str>| {
        let detail = detail.map(str::to_owned);
        event(FcmpData::ConversationStatus(ConversationStatus { status: None, phase: Some(Phase::Planning), detail }))
    };
    let (first, second) = ("[ ] Read it\n[ ] Write it", "[x] Read it\n[ ] Write it");
    let events = [plans(Some(first)), plans(Some(second)), plans(Some(second)), plans(None)];
    let expected = "plan\n  [ ] Read it\n  [ ] Write it\nplan\n  [x] Read it\n  [ ] Write it\n";
    assert_eq!(written(CallLayout::Live, &events), expected);
}
