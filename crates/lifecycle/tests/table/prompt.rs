//! Rows about runs without a skill: no marker, no output, and a clean final is the answer.

use skillrun_model::TurnState::{Failed, PartialFailed};
use skillrun_model::{Code, EndedBy, ExecutionMode};
use skillrun_parse::record::EndKind;

use super::build::{
    ASK, BAD, BAD_DONE, GOOD, GOOD_DONE, How, NOT_DONE, Order, auto, by_exit, chat, interactive, said, silent,
};
use super::expect::{
    Rows, rule_1, rule_1b, rule_2b, rule_4, rule_5, rule_7, rule_8, rule_9_prompt, rule_11_prompt, rule_13, rule_14,
    rule_14_conversation,
};

const ANSWER: &str = "9, without a skill: a clean final is the answer, without a warning";
const TEXT: &str = "3 to 3c, 8b and 10 do not apply without a skill: a message is text";

pub(crate) fn rows(rows: &mut Rows) {
    for (name, text) in [
        ("a sentence", "Because of the air."),
        ("a marker", GOOD_DONE),
        ("a marker with a bad object", BAD_DONE),
        ("not done", NOT_DONE),
        ("an object", GOOD),
        ("another object", BAD),
    ] {
        let name = |mode: &str| format!("prompt answered with {name}, {mode}");
        let origin = if text.starts_with('{') { TEXT } else { ANSWER };
        rows.row(&name("auto"), origin, said(text), auto().no_skill(), rule_9_prompt());
        rows.row(&name("interactive"), origin, said(text), interactive().no_skill(), rule_11_prompt());
        let talk = auto().mode(ExecutionMode::Conversation).no_skill();
        rows.row(&name("conversation"), "14, conversation", said(text), talk, rule_14_conversation());
    }
    let origin = "a question ends a turn in interactive mode only";
    rows.row("prompt answered with a question, auto", origin, said(ASK), auto().no_skill(), rule_9_prompt());
    let how = interactive().no_skill();
    rows.row("prompt answered with a question, interactive", origin, said(ASK), how.clone(), rule_14("Go on?"));
    rows.row("prompt, question without a session", "13", said(ASK).no_session(), how.clone(), rule_13());
    let fallback = "The agent ended its turn without a result and without a question. How should it continue?";
    let expected = rule_14(fallback).turn(Failed);
    rows.row("prompt without an answer, interactive", "14", silent(), how, expected);
    rows.row("prompt without an answer, auto", "8", silent(), auto().no_skill(), rule_8());
    rows.row("prompt answered by an exit", ANSWER, by_exit("Hello."), auto().no_skill(), rule_9_prompt());
    let turn = chat().act(EndedBy::Linger, Order::AfterSuccess);
    let how = auto().no_skill().ended_by(EndedBy::Linger).signal();
    rows.row("prompt answered, then linger", "R3.6", turn, how, rule_9_prompt().warns(&[Code::LingerEnded]));
    broken(rows);
}

/// What breaks a turn breaks it with or without a skill.
fn broken(rows: &mut Rows) {
    let origin = "rules 1 to 7b do not depend on the skill";
    let how = || auto().no_skill();
    rows.row("prompt, canceled", origin, chat(), how().canceled(), rule_1());
    rows.row("prompt, failure", origin, chat().ends(EndKind::Failure), how(), rule_2b(PartialFailed));
    let timeout = |how: How| how.ended_by(EndedBy::HardTimeout).signal();
    rows.row("prompt, timeout", origin, chat().endless(), timeout(how()), rule_4());
    let lost = how().exit_unknown().ended_by(EndedBy::HostLost);
    rows.row("prompt, host lost after the end", "R3.11: nothing shows that it is done", chat(), lost, {
        rule_5(Code::AttemptLost)
    });
    rows.row("prompt, no end event", origin, chat().endless(), how(), rule_7(PartialFailed));
    let act = chat().endless().act(EndedBy::Interrupted, Order::BeforeEnd);
    let stopped = interactive().no_skill().ended_by(EndedBy::Interrupted).signal();
    rows.row("prompt, interrupted, interactive", "1b", act, stopped, rule_1b());
}
