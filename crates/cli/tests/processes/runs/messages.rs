//! `message.user`: the Log has what each turn began with, word for word.

use lab::runtime::{RuntimeLab, impatient, reply, sticky};
use skillrun_inspect::verify::CheckKind;
use skillrun_model::rasp::data::{MessageOrigin, UserMessage};
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{AttemptNumber, ExecutionMode, InteractionId, RunId};
use skillrun_runs::blobs;

use crate::runs::verify::{bad, check};

/// The message of each attempt, with the question that it answers.
pub(crate) fn messages(lab: &RuntimeLab, run: RunId) -> Vec<(AttemptNumber, Option<InteractionId>, UserMessage)> {
    let message = |event: skillrun_model::rasp::Event| match event.data {
        Data::Control(ControlData::MessageUser(message)) => {
            Some((event.attempt_number, event.correlation.interaction_id, message))
        }
        Data::Control(_) | Data::Evidence(_) => None,
    };
    lab.events(run).into_iter().filter_map(message).collect()
}

#[test]
fn each_turn_has_the_message_that_began_it() {
    let (lab, runtime) = RuntimeLab::running();
    let script = "- - say: First.\n- - say: Second.\n";
    for keeps_process in [false, true] {
        let new = impatient(lab.new_run(ExecutionMode::Conversation, script));
        let run = runtime.submit(if keeps_process { sticky(new) } else { new }).expect("accepted");
        let rests = |attempt: u32| lab.wait(run, "rest", |s| s.attempt == AttemptNumber(attempt) && s.is_at_rest());
        rests(1);
        runtime.reply(run, reply(1, "and now?")).expect("sent");
        rests(2);
        let messages = messages(&lab, run);
        let rows: Vec<_> = messages.iter().map(|(attempt, question, m)| (attempt.0, *question, m.origin)).collect();
        let expected = [(1, None, MessageOrigin::Skill), (2, Some(InteractionId(1)), MessageOrigin::User)];
        assert_eq!(rows, expected, "{:?}", lab.types(run));
        assert_eq!(messages[1].2, UserMessage::new(MessageOrigin::User, "and now?"));
        let types = lab.types(run);
        let after_start: Vec<&str> = types.windows(2).filter(|w| w[0] == "attempt.started").map(|w| w[1]).collect();
        assert_eq!(after_start, ["message.user"; 2], "directly after the start: {types:?}");
        runtime.close(run, "test").expect("closed");
        lab.finish(&runtime, run);
    }
}

#[test]
fn a_long_message_is_in_a_file() {
    let (lab, runtime) = RuntimeLab::running();
    let new = impatient(lab.new_run(ExecutionMode::Conversation, "- - say: First.\n- - say: Second.\n"));
    let run = runtime.submit(sticky(new)).expect("accepted");
    lab.wait(run, "rest", |s| s.is_at_rest());
    let text = "ä".repeat(blobs::PROMPT_IN_EVENT);
    runtime.reply(run, reply(1, &text)).expect("sent");
    lab.wait(run, "rest", |s| s.attempt == AttemptNumber(2) && s.is_at_rest());
    let (_, _, message) = messages(&lab, run).pop().expect("a message");
    let whole = message.whole.clone().expect("a file");
    assert_eq!((whole.path.as_str(), whole.bytes), (".audit/blobs/prompt.2.txt", text.len() as u64));
    assert!(text.starts_with(&message.text) && message.text.len() <= blobs::PROMPT_IN_EVENT);
    let folder = lab.data().run(run);
    assert_eq!(blobs::read_prompt(&folder, &message).expect("read"), text);
    runtime.close(run, "test").expect("closed");
    lab.finish(&runtime, run);
    assert_eq!(bad(&check(&lab, run)), []);
    std::fs::write(folder.root().join(&whole.path), "changed").expect("written");
    blobs::read_prompt(&folder, &message).expect_err("another text");
    assert_eq!(bad(&check(&lab, run)), [CheckKind::Inputs]);
}
