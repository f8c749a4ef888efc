//! Rows about how the turn and its process ended.

use skillrun_model::TurnState::{Failed, PartialFailed};
use skillrun_model::codes::ErrorCategory;
use skillrun_model::limits::LimitName;
use skillrun_model::status::Continuation;
use skillrun_model::{Code, EndedBy, ExecutionMode};
use skillrun_parse::record::EndKind;

use super::build::{BAD, BAD_DONE, DONE, GOOD, GOOD_DONE, Order, Turn, auto, by_exit, chat, interactive, said, silent};
use super::expect::{
    Expect, Rows, done, rule_1, rule_2, rule_2b, rule_3, rule_3_missing, rule_3b, rule_3c, rule_3c_failed, rule_4,
    rule_5, rule_5b, rule_6, rule_7, rule_7b, rule_8, rule_9, rule_9_no_schema, rule_11, rule_12, rule_13, rule_14,
};

const LINGER: &str = "whatever the host did after the bytes of the success end counts as linger and is no failure";
const TEXT: &str = "with text the turn is partial_failed, without failed";

const ANSWER: &str = r#"{"answer": 42}"#;
const COLOUR: &str = "Which colour?";
const FALLBACK: &str = "The agent ended its turn without a result and without a question. How should it continue?";

pub(crate) fn rows(rows: &mut Rows) {
    cancel(rows);
    ends(rows);
    marker_and_process(rows);
    host(rows);
    linger(rows);
    exits(rows);
    exit_profiles(rows);
    clean(rows);
    sessions(rows);
}

fn cancel(rows: &mut Rows) {
    let origin = "1: cancel was recorded before the attempt was settled";
    rows.both("cancel, nothing written", origin, silent().endless(), auto().canceled().signal(), rule_1());
    rows.both("cancel before a done turn", origin, said(GOOD_DONE), auto().canceled().schema(), rule_1());
    rows.both("cancel before a failure end", origin, chat().ends(EndKind::Failure), auto().canceled(), rule_1());
    let how = auto().canceled().ended_by(EndedBy::HardTimeout).signal();
    rows.both("cancel before a timeout", origin, chat().endless(), how, rule_1());
    // Only the record counts: without it the signal is what happened.
    let how = auto().ended_by(EndedBy::Canceled).signal();
    rows.both("no cancel recorded", origin, silent().endless(), how, rule_6(Failed));
}

fn ends(rows: &mut Rows) {
    let origin = "2: limit end";
    let limit = |turn: Turn| turn.ends(EndKind::Limit);
    rows.both("limit with text", TEXT, limit(chat()), auto(), rule_2(PartialFailed));
    rows.both("limit with deltas alone", TEXT, limit(silent().deltas()), auto(), rule_2(PartialFailed));
    rows.both("limit without text", TEXT, limit(silent()), auto(), rule_2(Failed));
    let how = auto().schema();
    rows.both("limit with a marker", origin, limit(said(GOOD_DONE)), how, rule_2(PartialFailed));
    let how = auto().exit(1);
    rows.both("limit and a bad exit", "2 before 6", limit(chat()), how, rule_2(PartialFailed));
    let how = auto().ended_by(EndedBy::HardTimeout).signal();
    rows.both("limit and a timeout", "2 before 4", limit(chat()), how.clone(), rule_2(PartialFailed));
    let origin = "8: a limit that the engine goes on after is no end; its process tells";
    let passed = |turn: Turn| turn.ends(EndKind::ProvisionalLimit);
    rows.both("limit passed, then a timeout", origin, passed(chat()), how, rule_4());
    let how = auto().ended_by(EndedBy::Stall).signal();
    let after = passed(silent()).act(EndedBy::Stall, Order::AfterFailure);
    rows.both("limit passed, then a stall", origin, after, how, rule_4());
    rows.both("limit passed, then exit 0", origin, passed(chat()), auto(), rule_2(PartialFailed));
    rows.both("limit passed, then exit 1", origin, passed(silent()), auto().exit(1), rule_2(Failed));

    let origin = "2b: failure end";
    let failure = |turn: Turn| turn.ends(EndKind::Failure);
    rows.both("failure with text", TEXT, failure(chat()), auto(), rule_2b(PartialFailed));
    rows.both("failure without text", TEXT, failure(silent()), auto(), rule_2b(Failed));
    let how = auto().schema();
    rows.both("failure with a marker", origin, failure(said(GOOD_DONE)), how, rule_2b(PartialFailed));
    let how = auto().ended_by(EndedBy::HostLost).exit_unknown();
    rows.both("failure and a lost host", "2b before 5", failure(chat()), how, rule_2b(PartialFailed));
}

fn marker_and_process(rows: &mut Rows) {
    let origin = "3: never waiting_user";
    let bad = || said(BAD_DONE);
    rows.both("marker, output invalid", origin, bad(), auto().schema(), rule_3());
    rows.both("marker, output missing", origin, said(DONE), auto().schema(), rule_3_missing());
    rows.both("marker, output invalid, bad exit", "3 before 6", bad(), auto().schema().exit(1), rule_3());
    let how = auto().schema().max_attempt(1);
    rows.both("marker, output invalid, last attempt", "3 before 12", bad(), how, rule_3());

    let origin = "3b: however the process ended afterwards";
    let how = || interactive().schema();
    let ok = || rule_3b().output(ANSWER);
    let warned = |code| rule_3b().output(ANSWER).warns(&[code]);
    let turn = || said(GOOD_DONE);
    rows.row("interactive done", "3b", turn(), how(), ok());
    rows.row("interactive done, exit 1", origin, turn(), how().exit(1), warned(Code::ExitNonzeroAfterDone));
    rows.row("interactive done, signal", origin, turn(), how().signal(), warned(Code::ExitNonzeroAfterDone));
    let lost = how().exit_unknown().ended_by(EndedBy::HostLost);
    rows.row("interactive done, host lost", origin, turn(), lost, warned(Code::HostLostAfterDone));
    let killed = turn().act(EndedBy::Exited, Order::BeforeEnd);
    rows.row("interactive done after its wrapper", origin, killed, how().signal(), warned(Code::WrapperEnded));
    let later = turn().act(EndedBy::Exited, Order::AfterSuccess);
    rows.row("interactive done before its wrapper", origin, later, how().signal(), warned(Code::ExitNonzeroAfterDone));
    let error = how().exit_unknown().ended_by(EndedBy::HostError);
    rows.row("interactive done, host error", origin, turn(), error, ok());
    rows.row("interactive done, exit unknown", origin, turn(), how().exit_unknown(), ok());
    rows.row("interactive done, last attempt", "3b before 12", turn(), how().max_attempt(1), ok());
    rows.row("interactive done, no session", "3b before 13", turn().no_session(), how(), ok());

    let how = || auto().schema();
    let ok = || rule_3c().output(ANSWER);
    let failed = || rule_3c_failed().output(ANSWER);
    rows.row("auto done, exit 0", "3c: succeeded on exit 0", turn(), how(), ok());
    rows.row("auto done, exit 1", "3c: else ENGINE_EXIT_NONZERO", turn(), how().exit(1), failed());
    rows.row("auto done, signal", "3c: else ENGINE_EXIT_NONZERO", turn(), how().signal(), failed());
    let killed = turn().act(EndedBy::Exited, Order::BeforeEnd);
    rows.row("auto done after its wrapper", "3c: else ENGINE_EXIT_NONZERO", killed, how().signal(), failed());
    let origin = "7b: exit unknown with an end event, go on as for exit 0";
    rows.row("auto done, exit unknown", origin, turn(), how().exit_unknown(), ok());
    let lost = how().exit_unknown().ended_by(EndedBy::HostLost);
    rows.row("auto done, host lost", origin, turn(), lost, ok().warns(&[Code::HostLostAfterDone]));
    rows.row("auto done, not at the limit", "max_attempt: interactive only", turn(), how().max_attempt(1), ok());

    for ended_by in [EndedBy::Linger, EndedBy::HardTimeout, EndedBy::Stall, EndedBy::Budget].into_iter().chain(LIMITS) {
        let after = turn().act(ended_by, Order::AfterSuccess);
        let how = auto().schema().ended_by(ended_by).signal();
        let expect = |mode| done(mode).output(ANSWER).warns(&[Code::LingerEnded]);
        rows.each(&format!("done, then {ended_by}"), LINGER, after, how.clone(), expect);
        rows.each(&format!("done, then {ended_by} not recorded between chunks"), LINGER, turn(), how.clone(), expect);
        let before = turn().act(ended_by, Order::BeforeEnd);
        let outcomes = (rule_3c_failed().output(ANSWER), rule_3b().output(ANSWER).warns(&[Code::ExitNonzeroAfterDone]));
        rows.modes(&format!("{ended_by}, then done"), LINGER, before, how, outcomes);
    }
}

/// Ends at a limit of what the processes use.
const LIMITS: [EndedBy; 4] = [EndedBy::MemoryLimit, EndedBy::ProcessLimit, EndedBy::CpuLimit, EndedBy::DiskLimit];

fn host(rows: &mut Rows) {
    for ended_by in [EndedBy::HardTimeout, EndedBy::Stall] {
        let how = auto().ended_by(ended_by).signal();
        let origin = "4: hard or stall timeout";
        rows.both(&format!("{ended_by} without an end"), origin, chat().endless(), how.clone(), rule_4());
        rows.both(&format!("{ended_by} without a word"), origin, silent().endless(), how.clone(), rule_4());
        let marked = said(GOOD_DONE).endless();
        rows.both(&format!("{ended_by} after a marker without an end"), "no clean end", marked, how.clone(), rule_4());
        let before = chat().act(ended_by, Order::BeforeEnd);
        rows.both(&format!("{ended_by} before the success end"), LINGER, before, how.clone(), rule_4());
        for kind in [EndKind::Failure, EndKind::Limit] {
            let origin = "0016: what an engine says of a turn that we broke off is no failure of its own";
            let broken_off = chat().ends(kind).act(ended_by, Order::BeforeEnd);
            rows.both(&format!("{ended_by}, then a {kind:?} end"), origin, broken_off, how.clone(), rule_4());
        }
        let failed = silent().ends(EndKind::Failure);
        let origin = "2b before 4: the engine had failed already, or the order is not known";
        let after = failed.clone().act(ended_by, Order::AfterFailure);
        rows.both(&format!("a failure end, then {ended_by}"), origin, after, how.clone(), rule_2b(Failed));
        rows.both(&format!("{ended_by} and a failure end"), origin, failed, how.clone(), rule_2b(Failed));
        let exits = chat().endless();
        rows.both(&format!("{ended_by}, then exit 0"), "4 before 7", exits, how.exit(0), rule_4());
    }
    for (ended_by, reason) in [
        (EndedBy::HostLost, Code::AttemptLost),
        (EndedBy::Budget, Code::EvidenceBudget),
        (EndedBy::MemoryLimit, Code::MemoryLimit),
        (EndedBy::ProcessLimit, Code::ProcessLimit),
        (EndedBy::CpuLimit, Code::CpuLimit),
        (EndedBy::DiskLimit, Code::DiskLimit),
        (EndedBy::HostError, Code::HostError),
    ] {
        let how = auto().exit_unknown().ended_by(ended_by);
        rows.both(&format!("{ended_by} without an end"), "5", chat().endless(), how.clone(), rule_5(reason));
        let signal = how.signal();
        rows.both(&format!("{ended_by} and a signal"), "5 before 6", silent().endless(), signal, rule_5(reason));
    }
    // Only an act of the host counts as linger; losing the host is not an act of the host.
    for (ended_by, reason) in [(EndedBy::HostLost, Code::AttemptLost), (EndedBy::HostError, Code::HostError)] {
        let how = auto().exit_unknown().ended_by(ended_by);
        rows.both(&format!("{ended_by} after a success end"), "5", chat(), how, rule_5(reason));
    }
    let turn = chat().act(EndedBy::Budget, Order::BeforeEnd);
    let how = auto().ended_by(EndedBy::Budget).signal();
    rows.both("budget before the success end", LINGER, turn, how, rule_5(Code::EvidenceBudget));
    for name in LimitName::ALL.iter().copied() {
        let ended_by = name.ended_by();
        let turn = chat().act(ended_by, Order::BeforeEnd);
        let how = auto().ended_by(ended_by).signal();
        rows.both(&format!("{ended_by} before the success end"), LINGER, turn, how, rule_5(name.code()));
    }

    let how = auto().ended_by(EndedBy::NotStarted);
    let nothing = || silent().endless().no_session();
    let found = how.clone().exit(127);
    rows.both("engine not found", "5b", nothing(), found, rule_5b(Code::EngineNotFound));
    rows.both("engine not started", "5b", nothing(), how.clone().exit(126), rule_5b(Code::EngineNotStarted));
    let unknown = how.exit_unknown().ended_by(EndedBy::NotStarted);
    rows.both("never started, exit unknown", "5b before 7b", nothing(), unknown, rule_5b(Code::EngineNotStarted));
}

fn linger(rows: &mut Rows) {
    for ended_by in [EndedBy::Linger, EndedBy::HardTimeout, EndedBy::Stall, EndedBy::Budget].into_iter().chain(LIMITS) {
        let how = auto().schema().ended_by(ended_by).signal();
        let warned = |rule: Expect, code| rule.output(ANSWER).warns(&[Code::LingerEnded, code]);
        let outcomes = (
            warned(rule_9(), Code::CompletedWithoutDoneMarker),
            warned(rule_11(), Code::InteractiveCompletedWithoutDoneMarker),
        );
        let turn = said(GOOD).act(ended_by, Order::AfterSuccess);
        rows.modes(&format!("valid output, then {ended_by}"), LINGER, turn, how.clone(), outcomes.clone());
        rows.modes(&format!("valid output, then {ended_by} not recorded"), LINGER, said(GOOD), how.clone(), outcomes);
        let waits = rule_14(COLOUR).warns(&[Code::LingerEnded]);
        let how = how.mode(ExecutionMode::Interactive);
        rows.row(&format!("a question, then {ended_by}"), LINGER, chat(), how, waits);
    }
    // An act other than the one that ended the process has no effect.
    let turn = chat().act(EndedBy::Linger, Order::AfterSuccess).act(EndedBy::HardTimeout, Order::BeforeEnd);
    let how = auto().ended_by(EndedBy::HardTimeout).signal();
    rows.both("acts of two kinds", LINGER, turn, how, rule_4());
    // The first act of the kind ended the process, regardless of later repetitions.
    let turn = chat().act(EndedBy::Stall, Order::BeforeEnd).act(EndedBy::Stall, Order::AfterSuccess);
    let how = auto().ended_by(EndedBy::Stall).signal();
    rows.both("an act repeated", LINGER, turn, how, rule_4());
}

fn exits(rows: &mut Rows) {
    let origin = "6: non-zero exit, or a signal not ours";
    rows.both("exit 1 with text", TEXT, chat(), auto().exit(1), rule_6(PartialFailed));
    rows.both("exit 1 without text", TEXT, silent(), auto().exit(1), rule_6(Failed));
    rows.both("exit 1 without an end", origin, chat().endless(), auto().exit(1), rule_6(PartialFailed));
    rows.both("a signal not ours", origin, chat(), auto().signal(), rule_6(PartialFailed));
    rows.both("a signal, only deltas", TEXT, silent().endless().deltas(), auto().signal(), rule_6(PartialFailed));
    let valid = || said(GOOD);
    let how = auto().schema().exit(2);
    rows.both("valid output, exit 2", "6 before 9 and 11", valid(), how, rule_6(PartialFailed));

    let origin = "7: exit 0 without any end event";
    rows.both("exit 0, no end, text", origin, chat().endless(), auto(), rule_7(PartialFailed));
    rows.both("exit 0, no end, no text", origin, silent().endless(), auto(), rule_7(Failed));
    let how = auto().schema();
    let turn = said(GOOD_DONE).endless();
    rows.both("exit 0, no end, marker", "no marker without a clean end", turn, how.clone(), rule_7(PartialFailed));
    let turn = chat().ends(EndKind::Retracted);
    rows.both("a success end taken back", origin, turn, how, rule_7(PartialFailed));

    let origin = "7b: exit unknown without an end event";
    rows.both("exit unknown, no end", origin, chat().endless(), auto().exit_unknown(), rule_7b());
    rows.both("exit unknown, no end, no text", origin, silent().endless(), auto().exit_unknown(), rule_7b());
    let origin = "7b: with an end event go on as for exit 0";
    let outcomes = (rule_9().output(ANSWER), rule_11().output(ANSWER));
    rows.modes("exit unknown, valid output", origin, valid(), auto().schema().exit_unknown(), outcomes);
    let limit = chat().ends(EndKind::Limit);
    rows.both("exit unknown, limit end", origin, limit, auto().exit_unknown(), rule_2(PartialFailed));
    rows.row("exit unknown, a question", origin, chat(), interactive().exit_unknown(), rule_14(COLOUR));
}

/// iflow and plain text: the exit determines the end.
fn exit_profiles(rows: &mut Rows) {
    let origin = "8: success end is exit 0 at EOF";
    rows.modes("by exit, exit 0", origin, by_exit(COLOUR), auto(), (rule_9_no_schema().text(COLOUR), rule_14(COLOUR)));
    let how = auto().schema();
    rows.each("by exit, done", origin, by_exit(GOOD_DONE), how.clone(), |mode| done(mode).output(ANSWER));
    let noisy = || by_exit(COLOUR).error(ErrorCategory::Network, "fetch failed");
    let expect = rule_9_no_schema().text(COLOUR);
    rows.row("by exit, error keyword, exit 0", "failure: a keyword and a non-zero exit", noisy(), auto(), expect);
    let origin = "failure: an error keyword and a non-zero exit";
    rows.both("by exit, error keyword, exit 1", origin, noisy(), auto().exit(1), rule_2b(PartialFailed));
    rows.both("by exit, exit 1, no keyword", "6", by_exit(COLOUR), auto().exit(1), rule_6(PartialFailed));
    rows.both("by exit, signal", "6", by_exit(COLOUR), auto().signal(), rule_6(PartialFailed));
    rows.both("by exit, exit unknown", "7b", by_exit(COLOUR), auto().exit_unknown(), rule_7b());
    let turn = by_exit(GOOD_DONE);
    rows.both("by exit, done, exit 1", "no clean end, no marker", turn, how.clone().exit(1), rule_6(PartialFailed));
    let origin = "linger: the act came before the exit, which is the success end";
    for ended_by in [EndedBy::HardTimeout, EndedBy::Stall] {
        let how = auto().ended_by(ended_by);
        rows.both(&format!("by exit, {ended_by}, then exit 0"), origin, by_exit(COLOUR), how, rule_4());
    }
    let how = auto().ended_by(EndedBy::Budget);
    rows.both("by exit, budget, then exit 0", origin, by_exit(COLOUR), how, rule_5(Code::EvidenceBudget));
}

fn clean(rows: &mut Rows) {
    let failed = |expect: Expect| expect.turn(Failed);
    rows.row("auto, no answer", "8", silent(), auto(), rule_8());
    rows.row("auto, no answer, only deltas", "8", silent().deltas(), auto().schema(), rule_8());
    rows.row("auto, no answer, exit unknown", "8", silent(), auto().exit_unknown(), rule_8());

    let origin = "12: attempt >= max_attempt";
    rows.row("the last attempt", origin, chat(), interactive().attempt(2).max_attempt(2), rule_12());
    rows.row("beyond the last attempt", origin, chat(), interactive().attempt(3).max_attempt(2), rule_12());
    rows.row("the only attempt", origin, chat(), interactive().max_attempt(1), rule_12());
    rows.row("not yet the last attempt", origin, chat(), interactive().attempt(1).max_attempt(2), rule_14(COLOUR));
    rows.row("no max_attempt", "absent: unbounded", chat(), interactive().attempt(999), rule_14(COLOUR));
    let how = interactive().max_attempt(1);
    rows.row("the last attempt, no answer", "12: failed without an answer", silent(), how.clone(), failed(rule_12()));
    rows.row("the last attempt, no session", "12 before 13", chat().no_session(), how.clone(), rule_12());
    let origin = "max_attempt: only without strong or soft evidence";
    rows.row("the last attempt, soft evidence", origin, said(GOOD), how.clone().schema(), rule_11().output(ANSWER));
    rows.row("the last attempt, strong evidence", origin, said(GOOD_DONE), how.schema(), rule_3b().output(ANSWER));
    let how = auto().max_attempt(1).schema();
    rows.row("auto has no last attempt", "max_attempt: interactive only", said(GOOD), how, rule_9().output(ANSWER));

    let origin = "14: failed without an answer";
    rows.row("interactive, no answer", origin, silent(), interactive(), failed(rule_14(FALLBACK)));
    rows.row("interactive, a question", "14", chat(), interactive(), rule_14(COLOUR));
    rows.row("interactive, invalid output", "14", said(BAD), interactive().schema(), rule_14(BAD));
}

fn sessions(rows: &mut Rows) {
    let origin = "13: resumable engine, no session id known in the run";
    let turn = || chat().no_session();
    rows.row("no session", origin, turn(), interactive(), rule_13());
    let failed = rule_13().turn(Failed);
    rows.row("no session, no answer", "13: failed without an answer", silent().no_session(), interactive(), failed);
    rows.row("session of an earlier attempt", origin, turn(), interactive().known_session("s-0"), rule_14(COLOUR));
    let sticky = interactive().continuation(Continuation::Sticky);
    rows.row("a sticky process needs no session", origin, turn(), sticky, rule_14(COLOUR));
    let valid = said(GOOD).no_session();
    rows.row("no session, soft evidence", "11 before 13", valid, interactive().schema(), rule_11().output(ANSWER));

    let origin = "a resume that the engine refuses is SESSION_NOT_FOUND";
    let refused = || silent().endless().error(ErrorCategory::Session, "no conversation found");
    let lost = |expect: Expect| expect.error(Code::SessionNotFound);
    let how = || interactive().attempt(2).known_session("s-0");
    let turn = refused().ends(EndKind::Failure);
    rows.row("refused by a failure end", origin, turn, how().exit(1), lost(rule_2b(Failed)));
    let turn = silent().ends(EndKind::Failure).end_category(ErrorCategory::Session);
    rows.row("refused in the end event alone", origin, turn, how(), lost(rule_2b(Failed)));
    rows.row("refused by exit", origin, refused(), how().exit(1), lost(rule_6(Failed)));
    rows.row("refused with exit 0", origin, refused(), how(), lost(rule_7(Failed)));
    let other = silent().ends(EndKind::Failure).error(ErrorCategory::Auth, "401");
    rows.row("another failure", "error.code is the reason code", other, how(), rule_2b(Failed));
}
