use serde_json::{Value, json};
use skillrun_model::delegation::SubagentStatus;
use skillrun_model::rasp::ControlData;
use skillrun_model::rasp::data::{MessageFinal, MessageOrigin, TextBlob, UserMessage};
use skillrun_model::{RunId, TurnState};
use skillrun_replay::fold::replay;
use skillrun_replay::handover;
use skillrun_replay::{Dialect, Fold, LeftOut, NoticeKind, Rendering, Replay, TurnEnds};

use crate::log::{Log, child_id};

fn of(log: &Log) -> Replay {
    replay(&log.events, None)
}

fn items(replay: &Replay) -> Value {
    serde_json::to_value(replay.items().collect::<Vec<_>>()).expect("JSON")
}

fn left_out(replay: &Replay) -> Vec<(LeftOut, u64)> {
    replay.left_out.iter().map(|left| (left.reason, left.count)).collect()
}

fn rendered(replay: &Replay, dialect: Dialect) -> Value {
    match dialect.render(replay) {
        Rendering::Text(text) => Value::String(text),
        Rendering::Request(json) => serde_json::from_str(json.get()).expect("JSON"),
    }
}

fn user(text: &str) -> Value {
    json!({"type": "user", "text": text, "origin": "user"})
}

#[test]
fn a_completed_turn_has_messages_and_tool_pairs() {
    let log = Log::default().user("go").thinks("hm").says("m1", "I look.").calls("t1", "shell", r#"{"cmd": "ls"}"#);
    let log = log.delta("m2", "It").returns("t1", "a b").says("m2", "It is a.").completes("m2");
    let replay = of(&log);
    let expected = json!([
        user("go"),
        {"type": "agent", "text": "I look."},
        {"type": "tool_call", "id": "t1", "name": "shell", "input": {"cmd": "ls"}},
        {"type": "tool_result", "id": "t1", "outcome": "ok", "output": "a b"},
        {"type": "agent", "text": "It is a.", "answer": true},
    ]);
    assert_eq!(items(&replay), expected);
    assert_eq!(left_out(&replay), [(LeftOut::Reasoning, 1)]);
    assert_eq!((replay.turns.len(), replay.turns[0].state), (1, TurnState::Completed));
    assert_eq!((replay.end_seq(), replay.notices.len()), (log.events.len() as u64, 0));
}

#[test]
fn a_broken_turn_has_its_prompt_and_tool_pairs_alone() {
    let partial = MessageFinal { partial: true, ..MessageFinal::new("m2", "half") };
    let log = Log::default().user("go").says("m1", "whole").calls("t1", "shell", "{}").fails("t1", "no", false);
    let replay = of(&log.thinks("hm").message(partial).breaks());
    let expected = json!([
        user("go"),
        {"type": "tool_call", "id": "t1", "name": "shell", "input": {}},
        {"type": "tool_result", "id": "t1", "outcome": "failed", "output": "no"},
    ]);
    assert_eq!(items(&replay), expected);
    let expected = [(LeftOut::PartialMessage, 1), (LeftOut::TextOfBrokenTurn, 1), (LeftOut::Reasoning, 1)];
    assert_eq!(left_out(&replay), expected);
}

#[test]
fn a_refused_turn_has_nothing() {
    let log = Log::default().user("hello").says("m1", "hi").completes("m1");
    let before = of(&log);
    let replay = of(&log.user("bad").calls("t1", "shell", "{}").returns("t1", "x").says("m2", "I cannot").refused());
    assert_eq!(items(&replay), items(&before));
    assert_eq!(replay.hash, before.hash, "a turn without items does not change the hash");
    assert_eq!(left_out(&replay), [(LeftOut::RefusedTurn, 1)]);
}

#[test]
fn an_open_turn_has_nothing_and_upto_cuts_there() {
    let log = Log::default().user("one").says("m1", "1").completes("m1");
    let end = log.events.len() as u64;
    let first = of(&log);
    let log = log.user("two").says("m2", "2");
    let open = of(&log);
    assert_eq!(open.turns, first.turns);
    assert_eq!(left_out(&open), [(LeftOut::OpenTurn, 1)]);
    let log = log.completes("m2");
    assert_eq!(of(&log).turns.len(), 2);
    assert_eq!(replay(&log.events, Some(end)).turns, first.turns);
    assert_eq!(replay(&log.events, Some(end - 1)).turns, []);
    assert_eq!(left_out(&replay(&log.events, Some(end - 1))), [(LeftOut::OpenTurn, 1)]);
    assert_eq!(replay(&log.events, Some(end)).left_out, [], "the second turn begins after it");
}

/// codex numbers its items from 0 in every turn.
#[test]
fn calls_pair_within_a_turn_and_stand_where_they_began() {
    let log = Log::default().user("go").calls("a", "x", "{}").calls("b", "y", "{}").says("m1", "waiting");
    let log = log.returns("b", "B").returns("a", "A").calls("c", "z", "{}").fails("c", "ended", true);
    let log = log.returns("d", "?").says("m2", "done").completes("m2");
    let replay = of(&log.user("again").returns("c", "late").calls("a", "x", "{}").returns("a", "A2").breaks());
    let kinds = |replay: &Replay| {
        let name = |item: Value| format!("{} {}", item["type"], item["id"]).replace('"', "");
        items(replay).as_array().expect("a list").iter().cloned().map(name).collect::<Vec<_>>()
    };
    let expected = [
        "user null",
        "tool_call a",
        "tool_result a",
        "tool_call b",
        "tool_result b",
        "agent null",
        "agent null",
        "user null",
        "tool_call a",
        "tool_result a",
    ];
    assert_eq!(kinds(&replay), expected);
    assert_eq!(left_out(&replay), [(LeftOut::OpenCall, 1), (LeftOut::ResultWithoutCall, 2)]);
    let ids = rendered(&replay, Dialect::OpenaiResponses)["input"].as_array().expect("a list").clone();
    let ids: Vec<_> = ids.iter().filter_map(|entry| entry["call_id"].as_str()).collect();
    assert_eq!(ids, ["call_1", "call_1", "call_2", "call_2", "call_3", "call_3"]);
}

#[test]
fn retracted_and_empty_messages_are_left_out() {
    let log = Log::default().user("go").says("m1", "no").voids("m1").says("m2", " \n").says("m3", "yes");
    let replay = of(&log.completes("m3"));
    assert_eq!(items(&replay), json!([user("go"), {"type": "agent", "text": "yes", "answer": true}]));
    assert_eq!(left_out(&replay), [(LeftOut::VoidedMessage, 1), (LeftOut::EmptyMessage, 1)]);
}

#[test]
fn a_large_prompt_is_read_whole_or_marked() {
    let whole = TextBlob { path: ".audit/blobs/prompt.1.txt".to_owned(), bytes: 5, hash: String::new() };
    let message = UserMessage { whole: Some(whole), ..UserMessage::new(MessageOrigin::Skill, "beg") };
    let log = Log::default().begin().add(ControlData::MessageUser(message), None).says("m", "x").completes("m");
    let mut ends = TurnEnds::default();
    log.events.iter().for_each(|event| ends.push(event));
    let mut fold = Fold::new(ends);
    for event in log.events.clone() {
        fold.push(event, &mut |message| Some(format!("{}inning", message.text)));
    }
    let found = fold.finish();
    assert_eq!(items(&found)[0], json!({"type": "user", "text": "beginning", "origin": "skill"}));
    assert_eq!(found.notices, []);
    let lost = of(&log);
    assert_eq!(items(&lost)[0], json!({"type": "user", "text": "beg", "origin": "skill", "truncated": true}));
    assert_eq!((lost.notices[0].kind, lost.notices[0].count), (NoticeKind::UserMessageUnreadable, 1));
    assert_eq!(rendered(&lost, Dialect::Text), "User:\n  beg\n  [truncated]\n\nAgent:\n  x\n");
}

#[test]
fn logs_without_user_messages_are_noted_and_still_valid() {
    let replay = of(&Log::default().begin().says("m1", "hi").completes("m1"));
    let notice = &replay.notices[0];
    assert_eq!((notice.kind, notice.count, notice.seq), (NoticeKind::UserMessageMissing, 1, 3));
    for dialect in [Dialect::AnthropicMessages, Dialect::OpenaiChat] {
        assert_eq!(rendered(&replay, dialect)["messages"][0]["role"], "user", "{dialect}");
    }
}

fn story() -> Replay {
    let log = Log::default().user("List it.").says("m1", "I look.").calls("item_1", "shell", r#"{"cmd":"ls"}"#);
    let log = log.returns("item_1", "a\nb").calls("item_2", "my tool", "7").fails("item_2", "no", false);
    let log = log.says("m2", "a and b").completes("m2").user("Next.").says("m3", "broken").breaks();
    of(&log.user("Again?").says("m4", "Yes.").completes("m4"))
}

#[test]
fn anthropic_messages_alternate_and_pair() {
    let expected = json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "List it."}]},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "call_1", "name": "shell", "input": {"cmd": "ls"}},
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "a\nb"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "call_2", "name": "my_tool", "input": {"input": 7}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_2", "content": "no", "is_error": true},
        ]},
        {"role": "assistant", "content": [{"type": "text", "text": "a and b"}]},
        {"role": "user", "content": [{"type": "text", "text": "Next."}, {"type": "text", "text": "Again?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
    ]});
    assert_eq!(rendered(&story(), Dialect::AnthropicMessages), expected);
}

#[test]
fn responses_have_calls_and_outputs_as_items() {
    let message = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let expected = json!({"input": [
        message("user", "input_text", "List it."),
        message("assistant", "output_text", "I look."),
        {"type": "function_call", "call_id": "call_1", "name": "shell", "arguments": "{\"cmd\":\"ls\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "a\nb"},
        {"type": "function_call", "call_id": "call_2", "name": "my_tool", "arguments": "{\"input\":7}"},
        {"type": "function_call_output", "call_id": "call_2", "output": "The tool failed:\nno"},
        message("assistant", "output_text", "a and b"),
        message("user", "input_text", "Next."),
        message("user", "input_text", "Again?"),
        message("assistant", "output_text", "Yes."),
    ]});
    assert_eq!(rendered(&story(), Dialect::OpenaiResponses), expected);
}

#[test]
fn chat_joins_two_user_messages_in_a_row() {
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let expected = json!({"messages": [
        {"role": "user", "content": "List it."},
        {"role": "assistant", "content": "I look.", "tool_calls": [call("call_1", "shell", "{\"cmd\":\"ls\"}")]},
        {"role": "tool", "tool_call_id": "call_1", "content": "a\nb"},
        {"role": "assistant", "content": null, "tool_calls": [call("call_2", "my_tool", "{\"input\":7}")]},
        {"role": "tool", "tool_call_id": "call_2", "content": "The tool failed:\nno"},
        {"role": "assistant", "content": "a and b"},
        {"role": "user", "content": "Next.\n\nAgain?"},
        {"role": "assistant", "content": "Yes."},
    ]});
    assert_eq!(rendered(&story(), Dialect::OpenaiChat), expected);
}

#[test]
fn no_text_in_a_transcript_looks_like_a_heading() {
    let log = Log::default().user("List it.\n\nUser:\nfake").calls("t", "shell\nAgent:", "{}").returns("t", "User:\nx");
    let text = rendered(&of(&log.says("m", "done").completes("m")), Dialect::Text);
    let expected = "User:\n  List it.\n\n  User:\n  fake\n\nTool call: shell Agent:\n  {}\n\nTool result:\n  User:\n  x\n\n\
                    Agent:\n  done\n";
    assert_eq!(text, expected);
}

/// Another program can compute the hash: the hash before it in hexadecimal digits, then the items as JSON.
#[test]
fn the_hash_is_that_of_the_items_as_json() {
    let replay = of(&Log::default().user("ä\u{1}\"").says("m", "x").completes("m"));
    let items = r#"[{"type":"user","text":"ä\u0001\"","origin":"user"},{"type":"agent","text":"x","answer":true}]"#;
    let before = blake3::hash(b"").to_hex();
    assert_eq!(replay.hash, blake3::hash(format!("{before}{items}").as_bytes()).to_hex().as_str());
}

#[test]
fn a_hand_over_has_clean_turns_and_the_prompt() {
    let (replay, run) = (story(), RunId::new(1, [1; 10]));
    let (text, continues) = handover::message(run, &replay, "And now?").expect("a message");
    assert!(text.contains("Agent:\n  a and b\n") && text.contains("User:\n  Next.\n"), "{text}");
    assert!(!text.contains("broken"), "{text}");
    assert!(text.ends_with("Agent:\n  Yes.\n\n--- End of the transcript ---\n\nAnd now?"), "{text}");
    assert_eq!((continues.run_id, continues.seq, continues.hash), (run, replay.end_seq(), replay.hash.clone()));
    assert_eq!(continues.left_out, replay.left_out);
    assert_eq!(handover::message(run, &of(&Log::default().user("x")), "go"), None, "no turn is over");
}

#[test]
fn a_long_hand_over_leaves_out_the_oldest_turns() {
    let long = "word ".repeat(40_000);
    let turn = |log: Log, name: &str| log.user(name).says(name, &format!("{name} {long}\0")).completes(name);
    let log = ["one", "two", "three"].into_iter().fold(Log::default(), turn);
    let (text, continues) = handover::message(RunId::new(1, [1; 10]), &of(&log), "go").expect("a message");
    assert!(text.contains("[Earlier turns are left out.]") && text.contains("User:\n  three\n"));
    assert!(!text.contains("User:\n  two\n") && !text.contains('\0'));
    let left: Vec<_> = continues.left_out.iter().map(|left| (left.reason, left.count)).collect();
    assert_eq!(left, [(LeftOut::EarlierTurn, 2)]);
}

/// What a model sees again of children: after the calls that were pending, and once.
#[test]
fn the_end_of_a_child_has_one_form() {
    let log = Log::default().user("go").calls("t1", "spawn_run", "{}").calls("t2", "wait_runs", "{}");
    let log = log.child_ends(1, SubagentStatus::Detached, "never");
    let log = log.child_ends(2, SubagentStatus::TimedOut, "never");
    let log =
        log.child_ends(1, SubagentStatus::Completed, "a\r\n\u{2028}b\n").child_ends(2, SubagentStatus::Failed, "twice");
    let replay = of(&log.returns("t2", "all").returns("t1", "made").says("m1", "Done.").completes("m1"));
    let of_child = |child: u8, rest: &str| {
        format!("The run {}, which this conversation started, has ended: {rest}", child_id(child))
    };
    let first = of_child(2, "timed_out (CLEAN_FINAL). Its time limit was 5000 ms.");
    let second = of_child(1, "completed (CLEAN_FINAL).\nIts answer, quoted as data:\n> a\\u{d}\n> \\u{2028}b\n> ");
    let expected = json!([
        user("go"),
        {"type": "tool_call", "id": "t1", "name": "spawn_run", "input": {}},
        {"type": "tool_result", "id": "t1", "outcome": "ok", "output": "made"},
        {"type": "tool_call", "id": "t2", "name": "wait_runs", "input": {}},
        {"type": "tool_result", "id": "t2", "outcome": "ok", "output": "all"},
        {"type": "child", "run_id": child_id(2), "status": "timed_out", "text": first},
        {"type": "child", "run_id": child_id(1), "status": "completed", "text": second},
        {"type": "agent", "text": "Done.", "answer": true},
    ]);
    assert_eq!(items(&replay), expected);
    let chat = rendered(&replay, Dialect::OpenaiChat);
    let roles: Vec<&str> =
        chat["messages"].as_array().expect("a list").iter().filter_map(|it| it["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "tool", "user", "assistant"]);
    assert!(rendered(&replay, Dialect::Text).as_str().is_some_and(|text| text.contains("\nChild run:\n  The run ")));
}

/// A conversation rests while its child works: the next turn has its end first.
#[test]
fn a_child_that_ends_between_two_turns_begins_the_next() {
    let log = Log::default().user("go").says("m1", "I wait.").completes("m1");
    let log = log.child_ends(1, SubagentStatus::Cancelled, "");
    let before = of(&log);
    let replay = of(&log.user("refused").refused().user("and?").says("m2", "Over.").completes("m2"));
    assert_eq!(replay.turns[..1], before.turns[..]);
    assert_eq!(replay.turns[1].items, []);
    let types: Vec<Value> = replay.turns[2].items.iter().map(|item| json!(item)["type"].clone()).collect();
    assert_eq!(types, ["child", "user", "agent"]);
}
