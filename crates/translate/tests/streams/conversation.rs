//! The guarantees of a conversation: numbers without gaps, one end, and each message finished once.

use skillrun_model::codes::ErrorCategory;
use skillrun_model::fcmp::FcmpData;
use skillrun_model::rasp::data::{
    AttemptEnded, AttemptStarted, Exit, MessageOrigin, RunCanceled, RunCompleted, RunFailed, UserMessage,
};
use skillrun_model::rasp::{ControlData, Correlation, Data, Event, EvidenceData, Level};
use skillrun_model::status::CompletionState;
use skillrun_model::verdict::{Rule, RunError, Verdict};
use skillrun_model::{AttemptNumber, Code, InteractionId, ProfileId, RunStatus, Stream, Timestamp, TurnState};
use skillrun_translate::EventBuilder;
use skillrun_translate::transcript::{Shown, Transcript};

use crate::run::{Arrival, builder, conversation, message_of, read, read_with, story};

fn control(builder: &mut EventBuilder, data: ControlData) -> Event {
    builder.control(Timestamp::EPOCH, Level::Info, data, Correlation::default())
}

fn endings() -> [ControlData; 3] {
    let error = RunError::new(ErrorCategory::Engine, Code::EngineFailed, "it failed");
    [
        ControlData::RunCompleted(RunCompleted::new(Code::CleanFinal)),
        ControlData::RunFailed(RunFailed::new(error, Vec::new())),
        ControlData::RunCanceled(RunCanceled { reason_code: Code::Canceled, by: None }),
    ]
}

#[test]
fn the_end_comes_once_and_last() {
    let words = ["conversation.completed", "conversation.failed", "conversation.canceled"];
    for (first, word) in endings().into_iter().zip(words) {
        let mut builder = builder();
        let arrivals = [Arrival::Bytes(Stream::Stdout, b"waits\n"), Arrival::End(Stream::Stdout)];
        let mut log = read_with(&mut builder, AttemptNumber(1), ProfileId::CodexNdjson, &arrivals).events;
        log.push(control(&mut builder, first));
        log.extend(endings().map(|later| control(&mut builder, later)));
        let told = conversation(log);
        assert_eq!(story(&told), ["LOW_CONFIDENCE_PARSE 1", "out waits", word]);
        assert_eq!(told.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3]);
    }
}

fn turn_ended(state: TurnState) -> ControlData {
    let (completion, status) = (CompletionState::Unknown, RunStatus::WaitingUser);
    let verdict = Verdict::new(Rule::Failure, state, completion, Code::EngineFailed, status);
    let verdict = Verdict { answer_message_id: Some("m1".to_owned()), ..verdict };
    let exit = Exit { code: None, signal: None, ended_by: None };
    ControlData::AttemptEnded(Box::new(AttemptEnded::new(verdict, exit)))
}

#[test]
fn only_a_completed_turn_names_its_answer() {
    for state in TurnState::ALL.iter().copied() {
        let mut builder = builder();
        let told = conversation(vec![control(&mut builder, turn_ended(state))]);
        let FcmpData::TurnEnded(ended) = &told[0].data else { panic!("{told:?}") };
        let is_complete = state == TurnState::Completed;
        assert_eq!((ended.state, ended.answer_message_id.is_some()), (state, is_complete));
    }
}

#[test]
fn a_message_names_the_reply_that_it_carries() {
    let mut builder = builder();
    let started = ControlData::AttemptStarted(AttemptStarted::new(ProfileId::CodexNdjson, Timestamp::EPOCH));
    let message = ControlData::MessageUser(UserMessage::new(MessageOrigin::User, "blue"));
    let correlation = Correlation { interaction_id: Some(InteractionId(3)), ..Correlation::default() };
    let log =
        vec![control(&mut builder, started), builder.control(Timestamp::EPOCH, Level::Info, message, correlation)];
    let told = conversation(log);
    assert_eq!(story(&told), ["turn.started", "user.message"]);
    let FcmpData::UserMessage(message) = &told[1].data else { panic!("{told:?}") };
    let seen = (message.text.as_str(), message.origin, message.interaction_id, message.truncated);
    assert_eq!(seen, ("blue", MessageOrigin::User, Some(InteractionId(3)), false));
}

/// The ids of the final messages of a conversation.
fn final_ids(log: Vec<Event>) -> Vec<String> {
    let mut ids = Vec::new();
    for event in conversation(log) {
        if let FcmpData::AssistantFinal(message) = event.data {
            ids.push(message.message_id);
        }
    }
    ids
}

fn text(id: &str, text: &str) -> String {
    let line =
        format!(r#"{{"type":"assistant","message":{{"id":"{id}","content":[{{"type":"text","text":"{text}"}}]}}}}"#);
    line + "\n"
}

#[test]
fn a_second_text_under_one_name_gets_a_number() {
    let stdout = [text("m", "one"), text("m", "two"), text("n", "three"), text("m", "four")].concat();
    let arrivals = [Arrival::Bytes(Stream::Stdout, stdout.as_bytes()), Arrival::End(Stream::Stdout)];
    let told = read(ProfileId::ClaudeStreamJson, &arrivals);
    assert_eq!(final_ids(told.events), ["m", "m#2", "n", "m#3"]);
}

/// An engine may use such a name itself.
#[test]
fn a_name_with_a_number_is_not_given_twice() {
    let stdout = [text("m", "1"), text("m", "2"), text("m#2", "3"), text("m#4", "4"), text("m", "5"), text("m", "6")];
    let stdout = stdout.concat() + r#"{"type":"result","is_error":false,"result":"x"}"#;
    let arrivals = [Arrival::Bytes(Stream::Stdout, stdout.as_bytes()), Arrival::End(Stream::Stdout)];
    let ids = final_ids(read(ProfileId::ClaudeStreamJson, &arrivals).events);
    assert_eq!(ids, ["m", "m#2", "m#2#2", "m#4", "m#3", "m#5"]);
}

/// A resumed engine may count its messages from the beginning again.
#[test]
fn a_name_of_an_earlier_attempt_is_not_given_twice() {
    let stdout = text("m", "one");
    let arrivals = [Arrival::Bytes(Stream::Stdout, stdout.as_bytes()), Arrival::End(Stream::Stdout)];
    let mut builder = builder();
    let first = read_with(&mut builder, AttemptNumber(1), ProfileId::ClaudeStreamJson, &arrivals);
    let second = read_with(&mut builder, AttemptNumber(2), ProfileId::ClaudeStreamJson, &arrivals);
    assert_eq!(second.facts.messages[0].message_id, "m#2", "the gate calls it the same");
    assert_eq!(final_ids([first.events, second.events].concat()), ["m", "m#2"]);
}

#[test]
fn a_delta_has_the_name_its_message_gets() {
    let delta = |text: &str| {
        let delta = format!(r#"{{"type":"content_block_delta","delta":{{"type":"text_delta","text":"{text}"}}}}"#);
        format!(r#"{{"type":"stream_event","event":{delta}}}"#) + "\n"
    };
    let start = r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}"#.to_owned() + "\n";
    let stdout = [text("m", "one"), start, delta("t"), delta("wo"), text("m", "two")].concat();
    let arrivals = [Arrival::Bytes(Stream::Stdout, stdout.as_bytes()), Arrival::End(Stream::Stdout)];
    let told = read(ProfileId::ClaudeStreamJson, &arrivals);
    let mut names = Vec::new();
    for event in &told.events {
        if let Data::Evidence(EvidenceData::MessageDelta(delta)) = &event.data {
            names.push(delta.message_id.as_str());
        }
        names.extend(message_of(event).map(|message| message.message_id.as_str()));
    }
    assert_eq!(names, ["m", "m#2", "m#2", "m#2"]);
}

/// Unnamed messages of two streams are distinct, whichever ends first.
#[test]
fn unnamed_messages_are_counted_per_stream() {
    let ids = |order: [Stream; 2]| {
        let bytes = order.map(|stream| Arrival::Bytes(stream, b"text\n"));
        let mut told = read(ProfileId::IflowText, &[&bytes[..], &order.map(Arrival::End)].concat()).events;
        told.sort_by_key(|event| event.source.stream.as_str());
        told.iter().filter_map(message_of).map(|message| message.message_id.clone()).collect::<Vec<_>>()
    };
    let expected = ["m1.stderr.1", "m1.1"];
    assert_eq!(ids([Stream::Stdout, Stream::Stderr]), expected);
    assert_eq!(ids([Stream::Stderr, Stream::Stdout]), expected);
}

#[test]
fn a_partial_message_is_marked() {
    let delta = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"half"}}"#;
    let stdout = format!(r#"{{"type":"stream_event","event":{delta}}}"#) + "\n";
    let arrivals = [Arrival::Bytes(Stream::Stdout, stdout.as_bytes()), Arrival::End(Stream::Stdout)];
    let told = read(ProfileId::ClaudeStreamJson, &arrivals);
    assert!(told.facts.messages.is_empty(), "it is not an answer");
    let finals: Vec<_> = told.events.iter().filter_map(message_of).map(|m| (m.text.as_str(), m.partial)).collect();
    assert_eq!(finals, [("half", true)]);
}

#[test]
fn what_an_engine_says_of_subagents_is_marked_as_such() {
    let said = r#"{"type":"item.completed","item":{"id":"i","type":"collab_tool_call","tool":"spawn_agent","prompt":"Find\nall.","receiver_thread_ids":["t\u001b[31m1"],"agents_states":{"t\u001b[31m1":{"status":"completed","message":"\u001b[1mTwo."}},"status":"completed"}}"#;
    let line = format!("{said}\n");
    let arrivals = [Arrival::Bytes(Stream::Stdout, line.as_bytes()), Arrival::End(Stream::Stdout)];
    let log = read(ProfileId::CodexNdjson, &arrivals).events;
    let observed: Vec<&Event> =
        log.iter().filter(|event| matches!(event.data, Data::Evidence(EvidenceData::SubagentObserved(_)))).collect();
    let [observed] = observed[..] else { panic!("{log:?}") };
    assert_eq!((observed.raw_ref.stdout_from, observed.raw_ref.stdout_to), (0, line.len() as u64));
    let told = conversation(log);
    let shown = told
        .iter()
        .find_map(|event| if let FcmpData::SubagentObserved(observed) = &event.data { Some(observed) } else { None });
    let shown = shown.expect("it is shown");
    assert_eq!((shown.subagent_id.as_str(), shown.state.as_deref(), shown.sanitized), ("t1", Some("completed"), true));
    let mut transcript = Transcript::default();
    let text: String = told.iter().map(|event| transcript.event(event, Shown::Yes)).collect();
    let expected = "subagent of the engine · t1 · the engine says: completed\n  Find\n  > Two.\n";
    assert!(text.contains(expected), "{text}");
}
