//! Rows about turns after which the run waits for the next prompt: those of a conversation, and interrupted ones.

use skillrun_model::TurnState::{Failed, PartialFailed};
use skillrun_model::codes::ErrorCategory;
use skillrun_model::status::Continuation;
use skillrun_model::{Code, EndedBy, ExecutionMode};
use skillrun_parse::record::EndKind;

use super::build::{ASK, GOOD_DONE, How, NOT_DONE, Order, auto, by_exit, chat, interactive, said, silent};
use super::expect::{
    Rows, rule_1, rule_1b, rule_2, rule_2b, rule_4, rule_5, rule_5b, rule_6, rule_7, rule_7b, rule_14_conversation,
    rule_14_no_answer,
};

fn conversation() -> How {
    auto().mode(ExecutionMode::Conversation)
}

pub(crate) fn rows(rows: &mut Rows) {
    clean(rows);
    broken(rows);
    interrupted(rows);
}

fn clean(rows: &mut Rows) {
    let origin = "14, conversation: a clean final is CLEAN_FINAL";
    rows.row("talk", origin, chat(), conversation(), rule_14_conversation());
    let origin = "3, 3b, 3c, 8b do not apply: a marker is text";
    rows.row("talk with a marker", origin, said(GOOD_DONE), conversation().schema(), rule_14_conversation());
    rows.row("talk with not done", origin, said(NOT_DONE), conversation(), rule_14_conversation());
    rows.row("talk with a question", "R5.1 does not apply", said(ASK), conversation(), rule_14_conversation());
    let how = conversation().attempt(3).max_attempt(2);
    rows.row("talk beyond max_attempt", "12 does not apply", chat(), how, rule_14_conversation());
    let how = conversation().continuation(Continuation::Resumable);
    rows.row("talk without a session", "13 does not apply", chat().no_session(), how, rule_14_conversation());
    let origin = "14, conversation: a clean end without an answer is ANSWER_MISSING";
    rows.row("talk without an answer", origin, silent(), conversation(), rule_14_no_answer());
    let turn = chat().act(EndedBy::Linger, Order::AfterSuccess);
    let how = conversation().ended_by(EndedBy::Linger).signal();
    rows.row("talk, then linger", "R3.6", turn, how, rule_14_conversation().warns(&[Code::LingerEnded]));
    let plain = by_exit("Hello.");
    rows.row("talk that ends by its exit", origin, plain, conversation(), rule_14_conversation());
}

fn broken(rows: &mut Rows) {
    let origin = "a turn that fails leads to waiting_user, its error with it";
    let limit = chat().ends(EndKind::Limit);
    rows.row("talk, limit", origin, limit, conversation(), rule_2(PartialFailed).rests());
    let failure = silent().ends(EndKind::Failure);
    rows.row("talk, failure", origin, failure, conversation(), rule_2b(Failed).rests());
    let how = conversation().ended_by(EndedBy::HardTimeout).signal();
    rows.row("talk, timeout", origin, chat().endless(), how, rule_4().rests());
    let how = conversation().ended_by(EndedBy::HostLost).exit_unknown();
    rows.row("talk, host lost", origin, chat().endless(), how.clone().ended_by(EndedBy::HostLost), {
        rule_5(Code::AttemptLost).rests()
    });
    let how = conversation().ended_by(EndedBy::NotStarted).exit(127);
    rows.row("talk, not started", origin, silent().endless(), how, rule_5b(Code::EngineNotFound).rests());
    let how = conversation().exit(1);
    rows.row("talk, bad exit", origin, silent().endless(), how, rule_6(Failed).rests());
    rows.row("talk, no end event", origin, chat().endless(), conversation(), rule_7(PartialFailed).rests());
    let how = conversation().exit_unknown();
    rows.row("talk, exit unknown", origin, chat().endless(), how, rule_7b().rests());
    let refused = silent().endless().error(ErrorCategory::Session, "no such session");
    let expected = rule_6(Failed).error(Code::SessionNotFound).rests();
    rows.row("talk, session refused", "R3.10", refused, conversation().exit(1), expected);
}

fn interrupted(rows: &mut Rows) {
    let origin = "1b: an interrupt that stands in the chunk index before the end event";
    let stopped = |how: How| how.ended_by(EndedBy::Interrupted).signal();
    for (word, how) in [("interactive", interactive as fn() -> How), ("conversation", conversation)] {
        let name = |what: &str| format!("{what}, {word}");
        let before = || chat().endless().act(EndedBy::Interrupted, Order::BeforeEnd);
        rows.row(&name("interrupt"), origin, before(), stopped(how()), rule_1b());
        // claude writes an error result after SIGINT.
        let error = before().ends(EndKind::Failure);
        rows.row(&name("interrupt, then a failure end"), origin, error, stopped(how()), rule_1b());
        let success = before().ends(EndKind::Success);
        rows.row(&name("interrupt, then a success end"), origin, success, how(), rule_1b());
        let unrecorded = "the act is missing: an end event counts, where there is one";
        rows.row(&name("interrupt without its act"), unrecorded, chat().endless(), stopped(how()), rule_1b());
        let ended = chat().ends(EndKind::Failure);
        let expected = if word == "interactive" { rule_2b(PartialFailed) } else { rule_2b(PartialFailed).rests() };
        rows.row(&name("failure end, interrupt without its act"), unrecorded, ended, stopped(how()), expected);
        let origin = "1b: an engine that continues after a limit had not ended its turn";
        let passed = chat().ends(EndKind::ProvisionalLimit);
        let passed = passed.act(EndedBy::Interrupted, Order::AfterProvisionalLimit);
        rows.row(&name("interrupt after a provisional limit"), origin, passed, stopped(how()), rule_1b());
        rows.row(&name("cancel beats interrupt"), "1 before 1b", before(), stopped(how()).canceled(), rule_1());
    }
    let origin = "1b: an end event that stands first keeps its verdict";
    let after = chat().act(EndedBy::Interrupted, Order::AfterSuccess);
    let expected = rule_14_conversation().warns(&[Code::LingerEnded]);
    rows.row("interrupt after the end", origin, after, stopped(conversation()), expected);
    let failed = chat().ends(EndKind::Failure).act(EndedBy::Interrupted, Order::AfterFailure);
    rows.row("interrupt after a failure", origin, failed, stopped(conversation()), rule_2b(PartialFailed).rests());
    let origin = "1b: not in auto mode";
    let act = chat().endless().act(EndedBy::Interrupted, Order::BeforeEnd);
    rows.row("interrupt in auto mode", origin, act, stopped(auto()), rule_6(PartialFailed));
    rows.row("cancel of a conversation", "1", chat(), conversation().canceled(), rule_1());
}
