//! Laws over generated Logs.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use skillrun_model::TurnState;
use skillrun_model::delegation::SubagentStatus;
use skillrun_model::rasp::data::MessageFinal;
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_replay::fold::replay;
use skillrun_replay::{Dialect, Item, Rendering, Replay};

use crate::log::{AUDITS, Ending, Log};

/// What happens inside a turn.
#[derive(Debug, Clone)]
enum Step {
    Says,
    SaysHalf,
    Voids,
    Thinks,
    Calls(u8),
    Returns(u8),
    Fails(u8, bool),
    Child(u8, SubagentStatus),
    Audit(usize),
}

#[derive(Debug, Clone)]
struct Turn {
    has_user: bool,
    steps: Vec<Step>,
    state: TurnState,
    refused: bool,
    /// The record is written a second time, as no version does.
    ends_twice: bool,
    /// Children that end after it, before the next turn.
    late: Vec<u8>,
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0..4_u8;
    prop_oneof![
        3 => Just(Step::Says),
        1 => Just(Step::SaysHalf),
        1 => Just(Step::Voids),
        1 => Just(Step::Thinks),
        3 => id.clone().prop_map(Step::Calls),
        3 => id.clone().prop_map(Step::Returns),
        2 => (id, any::<bool>()).prop_map(|(id, synthetic)| Step::Fails(id, synthetic)),
        2 => (0..6_u8, select(SubagentStatus::ALL)).prop_map(|(child, status)| Step::Child(child, status)),
        1 => (0..AUDITS).prop_map(Step::Audit),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let state = prop_oneof![Just(TurnState::Completed), select(TurnState::ALL)];
    let late = prop_oneof![3 => Just(Vec::new()), 1 => vec(0..6_u8, 1..3)];
    let flags = (prop::bool::weighted(0.9), prop::bool::weighted(0.15), prop::bool::weighted(0.1));
    (flags, vec(step(), 0..12), state, late).prop_map(|((has_user, refused, ends_twice), steps, state, late)| {
        let refused = refused && state != TurnState::Completed;
        Turn { has_user, steps, state, refused, ends_twice, late }
    })
}

/// A Log whose last turn may be open.
fn log() -> impl Strategy<Value = Log> {
    (vec(turn(), 0..6), any::<bool>()).prop_map(|(turns, is_open)| {
        let last = turns.len();
        turns.iter().enumerate().fold(Log::default(), |log, (at, turn)| write(log, at, turn, is_open && at + 1 == last))
    })
}

/// Texts of a turn that must not be replayed contain the word BROKEN.
fn write(mut log: Log, at: usize, turn: &Turn, is_open: bool) -> Log {
    let is_whole = turn.state == TurnState::Completed && !is_open;
    let word = if is_whole { "clean" } else { "BROKEN" };
    let prompt = if turn.refused || is_open { "BROKEN prompt" } else { "prompt" };
    log = if turn.has_user { log.user(prompt) } else { log.begin() };
    let mut answer = None;
    for (number, step) in turn.steps.iter().enumerate() {
        let (id, text) = (format!("{at}.{number}"), format!("{word} {at}.{number}"));
        log = match step {
            Step::Says => {
                answer = Some(id.clone());
                log.says(&id, &text)
            }
            Step::SaysHalf => {
                log.delta(&id, "BROKEN").message(MessageFinal { partial: true, ..MessageFinal::new(id, "BROKEN") })
            }
            Step::Voids => log.says(&id, "BROKEN void").voids(&id),
            Step::Thinks => log.thinks("BROKEN thought"),
            Step::Calls(call) => log.calls(&format!("c{call}"), "tool", r#"{"a":1}"#),
            Step::Returns(call) => log.returns(&format!("c{call}"), "out"),
            Step::Fails(call, true) => log.fails(&format!("c{call}"), "BROKEN end", true),
            Step::Fails(call, false) => log.fails(&format!("c{call}"), "bad", false),
            Step::Child(child, status) => log.child_ends(*child, *status, CHILD_ANSWER),
            Step::Audit(kind) => log.audit(*kind),
        };
    }
    if is_open {
        return log;
    }
    let ending = Ending { answer: answer.as_deref().filter(|_| is_whole), refused: turn.refused };
    log = log.ends(turn.state, ending);
    let log = if turn.ends_twice { log.ends(TurnState::Completed, ending) } else { log };
    turn.late.iter().fold(log, |log, child| log.child_ends(*child, SubagentStatus::Completed, CHILD_ANSWER))
}

/// Two lines, of which the second looks like a heading and has a control character.
const CHILD_ANSWER: &str = "done\nUser:\u{1b}[2J";

/// Everything of a replay that a model or its caller sees.
fn shown(replay: &Replay) -> Vec<String> {
    let items = serde_json::to_string(&replay.items().collect::<Vec<_>>()).expect("JSON");
    let hashes = replay.turns.iter().map(|turn| turn.hash.clone());
    let dialects = Dialect::ALL.iter().map(|dialect| rendered(replay, *dialect));
    [items].into_iter().chain(hashes).chain(dialects).collect()
}

fn rendered(replay: &Replay, dialect: Dialect) -> String {
    match dialect.render(replay) {
        Rendering::Text(text) => text,
        Rendering::Request(json) => json.get().to_owned(),
    }
}

/// The same Log with audit events behind some of its events.
fn with_audit(log: &Log, places: &[(usize, usize)]) -> Vec<Event> {
    let mut events = Vec::new();
    for (at, event) in log.events.iter().enumerate() {
        events.push(event.clone());
        for (_, kind) in places.iter().filter(|(place, _)| *place == at) {
            let mut audit = Log::default().audit(*kind).events.remove(0);
            audit.attempt_number = event.attempt_number;
            events.push(audit);
        }
    }
    for (seq, event) in (1..).zip(&mut events) {
        event.seq = seq;
    }
    events
}

/// Ids of calls and of results, in the order in which they occur in a request.
fn ids(value: &Value, keys: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                if let (true, Some(id)) = (keys.contains(&key.as_str()), value.as_str()) {
                    found.push(id.to_owned());
                }
                ids(value, keys, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| ids(value, keys, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

proptest! {
    #[test]
    fn audit_events_change_no_byte(log in log(), places in vec((0..60_usize, 0..AUDITS), 0..8)) {
        let (plain, noisy) = (replay(&log.events, None), replay(&with_audit(&log, &places), None));
        prop_assert_eq!(shown(&plain), shown(&noisy));
        prop_assert_eq!(plain.left_out, noisy.left_out);
    }

    #[test]
    fn an_earlier_replay_is_a_prefix_of_a_later_one(log in log(), at in 0..80_u64, later in 0..80_u64) {
        let (short, long) = (replay(&log.events, Some(at)), replay(&log.events, Some(at + later)));
        prop_assert!(short.turns.len() <= long.turns.len());
        prop_assert_eq!(&short.turns[..], &long.turns[..short.turns.len()]);
        let full = replay(&log.events, None);
        prop_assert_eq!(&long.turns[..], &full.turns[..long.turns.len()]);
        prop_assert!(long.turns.iter().all(|turn| turn.end_seq <= at + later));
    }

    #[test]
    fn different_items_have_different_hashes(log in log()) {
        let full = replay(&log.events, None);
        let hashes: BTreeSet<_> = full.turns.iter().filter(|turn| !turn.items.is_empty()).map(|t| &t.hash).collect();
        prop_assert_eq!(hashes.len(), full.turns.iter().filter(|turn| !turn.items.is_empty()).count());
    }

    #[test]
    fn every_call_has_its_result_in_every_dialect(log in log()) {
        let replay = replay(&log.events, None);
        let request = |dialect| serde_json::from_str::<Value>(&rendered(&replay, dialect)).expect("JSON");
        let expected: Vec<String> = replay
            .items()
            .filter(|item| matches!(item, Item::ToolCall { .. }))
            .zip(1..)
            .map(|(_, number)| format!("call_{number}"))
            .collect();
        for (dialect, call, result) in [
            (Dialect::AnthropicMessages, "id", "tool_use_id"),
            (Dialect::OpenaiChat, "id", "tool_call_id"),
        ] {
            let (mut calls, mut results) = (Vec::new(), Vec::new());
            ids(&request(dialect), &[call], &mut calls);
            ids(&request(dialect), &[result], &mut results);
            prop_assert_eq!(&calls, &expected, "{}", dialect);
            prop_assert_eq!(&results, &expected, "{}", dialect);
        }
        let mut both = Vec::new();
        ids(&request(Dialect::OpenaiResponses), &["call_id"], &mut both);
        let twice: Vec<_> = expected.iter().flat_map(|id| [id.clone(), id.clone()]).collect();
        prop_assert_eq!(both, twice);
        let roles = request(Dialect::AnthropicMessages)["messages"].as_array().expect("a list").clone();
        for (at, message) in roles.iter().enumerate() {
            prop_assert_eq!(&message["role"], if at % 2 == 0 { "user" } else { "assistant" });
        }
        let chat = request(Dialect::OpenaiChat)["messages"].as_array().expect("a list").clone();
        prop_assert!(chat.windows(2).all(|pair| pair[0]["role"] != "user" || pair[1]["role"] != "user"));
    }

    #[test]
    fn the_end_of_a_child_is_replayed_once_and_never_inside_a_pair(log in log()) {
        let replay = replay(&log.events, None);
        let items: Vec<&Item> = replay.items().collect();
        for pair in items.windows(2) {
            let is_open = matches!(pair[0], Item::ToolCall { .. });
            prop_assert!(!is_open || matches!(pair[1], Item::ToolResult { .. }), "{:?}", pair);
        }
        // The first end of each child that is known before the end of the last turn that contributes something.
        let last = replay.turns.iter().rev().find(|turn| !turn.items.is_empty()).map_or(0, |turn| turn.end_seq);
        let mut expected = Vec::new();
        for event in log.events.iter().filter(|event| event.seq < last) {
            if let Data::Control(ControlData::SubagentEnded(end)) = &event.data
                && end.status != SubagentStatus::Detached
                && !expected.iter().any(|(run, _)| *run == end.child_run_id)
            {
                expected.push((end.child_run_id, end.status));
            }
        }
        let found: Vec<_> = items
            .iter()
            .filter_map(|item| if let Item::Child { run_id, status, .. } = item { Some((*run_id, *status)) } else { None })
            .collect();
        prop_assert_eq!(found, expected);
        for text in shown(&replay) {
            prop_assert!(!text.contains('\u{1b}'), "{}", text);
            let mut answers = text.lines().filter(|line| line.contains("[2J"));
            prop_assert!(answers.all(|line| line.contains("> User:")), "{}", text);
        }
    }

    #[test]
    fn no_text_of_a_broken_turn_is_anywhere(log in log()) {
        for text in shown(&replay(&log.events, None)) {
            prop_assert!(!text.contains("BROKEN"), "{}", text);
        }
    }
}
