//! What a verdict contains in addition to its decision: errors, confidence, evidence, the pending payload.

use std::str::FromStr;

use serde_json::json;
use skillrun_lifecycle::advice::{name_parts, next_actions};
use skillrun_lifecycle::closing::{self, ProcessEnding};
use skillrun_lifecycle::control::ProcessExit;
use skillrun_lifecycle::{Settled, settle};
use skillrun_model::codes::ErrorCategory;
use skillrun_model::interaction::{AskOption, DecisionPolicy, InteractionKind, Pending, PolicySource};
use skillrun_model::rasp::ControlData;
use skillrun_model::verdict::{EngineLimit, Rule, RunError, Verdict};
use skillrun_model::{AttemptNumber, Code, EndedBy, InteractionId, ProfileId, RunId};
use skillrun_parse::record::EndKind;
use skillrun_parse::text::marker::MarkerForm;
use skillrun_translate::builder::span_ref;

use super::build::{
    ASK, BAD, DONE, GOOD, GOOD_DONE, How, NOT_DONE, Order, Turn, auto, by_exit, chat, interactive, said, silent, span,
};

fn settled(turn: &Turn, how: &How) -> Settled {
    settle(&turn.facts(), how.control())
}

fn verdict(turn: &Turn, how: &How) -> Verdict {
    settled(turn, how).verdict
}

fn error(turn: &Turn, how: &How) -> RunError {
    verdict(turn, how).error.expect("an error")
}

fn pending(answer: &str, how: &How) -> Pending {
    verdict(&said(answer), how).pending.expect("a question")
}

#[test]
fn errors_have_a_category() {
    let failure = || silent().ends(EndKind::Failure);
    let lingers = |ended_by| auto().ended_by(ended_by).signal();
    let cases = [
        (silent().ends(EndKind::Limit), auto(), ErrorCategory::Engine),
        (failure(), auto(), ErrorCategory::Engine),
        (failure().end_category(ErrorCategory::Quota), auto(), ErrorCategory::Quota),
        (failure().error(ErrorCategory::Auth, "401"), auto(), ErrorCategory::Auth),
        (failure().end_category(ErrorCategory::Quota).error(ErrorCategory::Auth, "401"), auto(), ErrorCategory::Quota),
        (failure().error(ErrorCategory::Session, "session not found"), auto(), ErrorCategory::Session),
        (said(DONE), auto().schema(), ErrorCategory::Output),
        (said(GOOD_DONE), auto().schema().exit(1), ErrorCategory::Engine),
        (chat().endless(), lingers(EndedBy::HardTimeout), ErrorCategory::Timeout),
        (chat().endless(), lingers(EndedBy::HostLost), ErrorCategory::Host),
        (silent().endless(), lingers(EndedBy::NotStarted), ErrorCategory::Engine),
        (chat(), auto().exit(1), ErrorCategory::Engine),
        (chat().error(ErrorCategory::Network, "fetch failed"), auto().exit(1), ErrorCategory::Network),
        (chat().endless(), auto(), ErrorCategory::Engine),
        (chat().endless(), auto().exit_unknown(), ErrorCategory::Host),
        (silent(), auto(), ErrorCategory::Engine),
        (chat(), auto().schema(), ErrorCategory::Output),
        (said(NOT_DONE), auto(), ErrorCategory::Output),
        (said(GOOD), auto().require_marker(), ErrorCategory::Output),
        (chat(), interactive().max_attempt(1), ErrorCategory::Interaction),
        (chat().no_session(), interactive(), ErrorCategory::Session),
    ];
    for (turn, how, category) in cases {
        assert_eq!(error(&turn, &how).category, category, "{turn:?} {how:?}");
    }
}

/// Rule 2b without a failure end: the engine reports success without the tools of the server.
#[test]
fn required_server_that_did_not_start_fails_the_turn() {
    let lab = |turn: Turn| turn.failed_server(Some("lab"));
    let unnamed = |turn: Turn| turn.failed_server(None);
    let required = |how: How| how.servers(&[("lab", true)]);
    let optional = |how: How| how.servers(&[("lab", false)]);
    let mixed = |how: How| how.servers(&[("lab", true), ("web", false)]);
    let of = |turn: Turn, how: How| {
        let verdict = verdict(&turn, &how);
        (verdict.rule, verdict.error.map(|error| error.code))
    };
    let failed = |rule| (rule, Some(Code::McpServerFailed));
    assert_eq!(of(lab(said(GOOD_DONE)), required(auto())), failed(Rule::Failure));
    assert_eq!(of(lab(said(DONE)), required(interactive())), failed(Rule::Failure));
    assert_eq!(of(lab(chat()), required(auto())), failed(Rule::Failure));
    assert_eq!(of(lab(chat()), mixed(auto())), failed(Rule::Failure));
    assert_eq!(of(lab(silent().endless()), required(auto().exit(1))), failed(Rule::BadExit), "as codex does");
    assert_eq!(of(unnamed(chat()), required(auto())), failed(Rule::Failure), "there is no other server");
    let settled = error(&lab(chat()), &required(auto()));
    assert_eq!(settled.message, "the required MCP server \"lab\" did not start");
    assert_eq!(settled.category, ErrorCategory::Engine);

    let fine = |how: How| of(said(GOOD_DONE), how);
    for how in [optional(auto()), auto()] {
        assert_eq!(of(lab(said(GOOD_DONE)), how), fine(auto()));
    }
    assert_eq!(of(unnamed(said(GOOD_DONE)), mixed(auto())), fine(auto()), "it may be the other server");
    assert_eq!(of(said(GOOD_DONE).failed_server(Some("other")), required(auto())), fine(auto()));
    let told = lab(chat().ends(EndKind::Failure));
    assert_eq!(
        of(told, required(auto())),
        (Rule::Failure, Some(Code::EngineFailed)),
        "the engine's own words come first"
    );
    let ended = required(auto().ended_by(EndedBy::HardTimeout).signal());
    assert_eq!(of(lab(chat().endless()), ended), (Rule::TimedOut, Some(Code::Timeout)));
}

/// A reset time without a lack of quota concerns something else.
#[test]
fn a_lack_of_quota_has_its_reset_time() {
    const LATER: &str = "2026-11-15T20:00:00Z";
    let failure = |category| silent().ends(EndKind::Failure).end_category(category).reset_at(LATER);
    let reset = |turn: Turn, how: How| error(&turn, &how).reset_at.map(|moment| moment.to_string());
    assert_eq!(reset(failure(ErrorCategory::Quota), auto()).as_deref(), Some("2026-11-15T20:00:00.000000Z"));
    let by_words = chat().error(ErrorCategory::Quota, "too many requests").reset_at(LATER);
    assert!(reset(by_words, auto().exit(1)).is_some());
    assert_eq!(reset(failure(ErrorCategory::Network), auto()), None);
    assert_eq!(reset(silent().ends(EndKind::Failure).end_category(ErrorCategory::Quota), auto()), None);
}

/// Where gemini's message does not name the status, its exit code does; exit codes of other engines have other
/// meanings.
#[test]
fn geminis_exit_code_gives_the_status() {
    let failure = |profile| silent().ends(EndKind::Failure).profile(profile);
    let cases = [
        (failure(ProfileId::GeminiStreamJson), 173, ErrorCategory::Quota),
        (failure(ProfileId::GeminiStreamJson), 145, ErrorCategory::Auth),
        (failure(ProfileId::GeminiStreamJson).end_category(ErrorCategory::Network), 173, ErrorCategory::Network),
        (chat().endless().profile(ProfileId::GeminiJson), 173, ErrorCategory::Quota),
        (failure(ProfileId::GeminiStreamJson), 1, ErrorCategory::Engine),
        (failure(ProfileId::CodexNdjson), 173, ErrorCategory::Engine),
    ];
    for (turn, code, category) in cases {
        assert_eq!(error(&turn, &auto().exit(code)).category, category, "{turn:?} {code}");
    }
}

#[test]
fn errors_contain_the_text_of_the_engine() {
    assert_eq!(error(&chat().ends(EndKind::Limit), &auto()).message, "no more");
    assert_eq!(error(&chat().ends(EndKind::Failure), &auto()).message, "no more");
    let told = chat().error(ErrorCategory::Network, "fetch failed");
    assert_eq!(error(&told, &auto().exit(1)).message, "fetch failed");
    assert_eq!(error(&chat(), &auto().exit(3)).message, "the engine exited with code 3");
    assert_eq!(error(&chat(), &auto().signal()).message, "the engine was ended by SIGKILL");
    let timeout = |ended_by| error(&chat().endless(), &auto().ended_by(ended_by).signal()).message;
    assert_ne!(timeout(EndedBy::Stall), timeout(EndedBy::HardTimeout));
}

/// Found in real use: the reason why an engine exited was only in the evidence, and the error was its exit code.
#[test]
fn the_reason_on_stderr_is_in_the_error() {
    let low = "Credit balance is too low";
    let dies = silent().endless().stderr(low);
    let told = error(&dies, &auto().exit(1));
    assert_eq!(told.message, "Credit balance is too low (the engine exited with code 1)");
    assert_eq!((told.category, told.code), (ErrorCategory::Quota, Code::EngineFailed));
    assert_eq!(error(&dies, &auto().signal()).message, "Credit balance is too low (the engine was ended by SIGKILL)");
    let quiet = silent().endless().stderr("Starting");
    let told = error(&quiet, &auto().exit(1));
    assert_eq!(told.message, "the engine exited with code 1; the last line on stderr: Starting");
    assert_eq!(told.category, ErrorCategory::Engine);
    let missing = error(&dies, &auto());
    assert_eq!(missing.message, "Credit balance is too low (the engine exited with code 0 and without an end event)");
    assert_eq!(missing.code, Code::EngineEndMissing);
    assert_eq!(error(&quiet, &auto()).message, Code::EngineEndMissing.summary(), "most lines explain nothing");
    // What the engine reports in its format is more exact.
    assert_eq!(error(&chat().ends(EndKind::Failure).stderr(low), &auto().exit(1)).message, "no more");
    let reported = chat().endless().error(ErrorCategory::Network, "fetch failed").stderr(low);
    assert_eq!(error(&reported, &auto().exit(1)).message, "fetch failed");
    assert_eq!(error(&reported, &auto().exit(1)).category, ErrorCategory::Network);
    let lost = error(&dies, &auto().ended_by(EndedBy::HardTimeout).signal());
    assert_eq!(lost.category, ErrorCategory::Timeout, "the host ended it");
}

/// Found in real use: a wrapper that was killed while the real program continued to its end was reported as "ended by
/// SIGKILL after its finished answer".
#[test]
fn the_evidence_shows_when_a_wrapper_was_ended() {
    let how = auto().schema().signal();
    let killed_first = said(GOOD_DONE).act(EndedBy::Exited, Order::BeforeEnd);
    let message = error(&killed_first, &how).message;
    assert!(message.starts_with("the engine was ended by SIGKILL before its answer was finished;"), "{message}");
    for later in [said(GOOD_DONE), said(GOOD_DONE).act(EndedBy::Exited, Order::AfterSuccess)] {
        assert_eq!(error(&later, &how).message, "the engine was ended by SIGKILL after its finished answer");
    }
}

/// Found in real use: a missing output was reported as one that does not match.
#[test]
fn a_missing_output_is_reported_as_missing() {
    let words = "the answer has no JSON object that could be the output";
    for (turn, how) in
        [(said(DONE), auto().schema()), (said("no object"), auto().schema()), (said(DONE), interactive().schema())]
    {
        let error = error(&turn, &how);
        assert_eq!((error.code, error.category), (Code::OutputMissing, ErrorCategory::Output));
        assert_eq!(error.message, format!("the output is missing: {words}"));
        assert_eq!(error.details, [words]);
    }
    let misfit = error(&said(BAD), &auto().schema());
    assert_eq!(misfit.code, Code::OutputSchemaInvalid);
    assert!(misfit.message.starts_with("the output does not fit the skill's schema: "), "{}", misfit.message);
}

/// Found by reading: the record of a canceled turn did not state why it was interrupted.
#[test]
fn every_record_of_a_turn_that_was_broken_off_has_its_kind() {
    let lost = auto().exit_unknown().ended_by(EndedBy::HostLost);
    let stalled = auto().ended_by(EndedBy::Stall).signal();
    for (turn, how, kind) in [
        (chat(), auto().canceled(), ErrorCategory::Canceled),
        (silent().endless(), interactive().canceled().signal(), ErrorCategory::Canceled),
        (chat().endless(), lost, ErrorCategory::Host),
        (chat().endless(), stalled, ErrorCategory::Timeout),
    ] {
        let facts = turn.facts();
        let ending = ProcessEnding::new(ProcessExit::Unknown, None);
        let events = closing::attempt_ended(&facts, &settle(&facts, how.control()), &ending, RunId::new(1, [1; 10]));
        let record = events.iter().find_map(|event| {
            let ControlData::AttemptEnded(ended) = &event.data else { return None };
            Some(ended)
        });
        let record = record.expect("a record of the turn");
        assert_eq!(record.error_kind, Some(kind));
        assert!(record.details.as_deref().is_some_and(|details| !details.is_empty()), "{record:?}");
    }
}

/// Each error of a turn that failed, with what it suggests first.
#[test]
fn advice_fits_the_error() {
    let run = RunId::from_str("0192c0de-0000-7000-8000-000000000001").expect("an id");
    let first = |turn: &Turn, how: &How| {
        let mut actions = next_actions(&verdict(turn, how), run);
        name_parts(&mut actions, "codex", Some("/skills/it's mine"));
        for action in &actions {
            let command = action.command.replace(&run.to_string(), "RUN");
            assert!(!command.contains("DIR"), "{command}");
            assert_ne!(command, "skillrun result RUN", "what shows the advice");
        }
        actions.iter().map(|action| action.command.replace(&run.to_string(), "RUN")).collect::<Vec<_>>()
    };
    let timeout = |ended_by| first(&chat().endless(), &auto().ended_by(ended_by).signal())[0].clone();
    assert_eq!(timeout(EndedBy::HardTimeout), "skillrun retry RUN --timeout SECONDS");
    assert_eq!(timeout(EndedBy::Stall), "skillrun retry RUN --stall SECONDS");
    assert_eq!(timeout(EndedBy::WaitTimeout), "skillrun retry RUN --session-timeout SECONDS");
    let unknown = chat().error(ErrorCategory::Engine, "status 404: the model `gpt-9` does not exist");
    assert_eq!(first(&unknown, &auto().exit(1))[0], "skillrun retry RUN --model MODEL");
    let output = first(&said(BAD), &auto().schema());
    let expected = ["skillrun logs RUN", "skillrun skills validate '/skills/it'\\''s mine'", "skillrun retry RUN"];
    assert_eq!(output, expected);
    let not_found = auto().exit(127).ended_by(EndedBy::NotStarted);
    assert_eq!(first(&silent().endless(), &not_found), ["skillrun engines install codex"]);
    let mut offline = next_actions(&verdict(&said(BAD), &auto().schema()), run);
    assert_eq!(offline.remove(1).command, "skillrun explain OUTPUT_SCHEMA_INVALID", "no folder is known");
}

/// "If none does, the errors reported are those of the last."
#[test]
fn output_errors_are_those_of_the_last_object() {
    let text = format!("{BAD}\n{{\"x\": 1}}");
    let seen = settled(&said(&text), &auto().schema());
    assert_eq!(seen.output_errors, ["answer is missing", "x is unknown"]);
    assert_eq!(seen.verdict.error.expect("an error").details, seen.output_errors);
    let seen = settled(&said(&format!("{{\"x\": 1}}\n{BAD}")), &auto().schema());
    assert_eq!(seen.output_errors, ["answer is \"forty-two\""]);
    let seen = settled(&said(&format!("{BAD}\n{DONE}")), &auto().schema());
    assert_eq!(seen.output_errors, ["answer is \"forty-two\""]);
    assert_eq!(settled(&said("no object"), &auto().schema()).output_errors.len(), 1);
    assert!(settled(&said(GOOD), &auto().schema()).output_errors.is_empty());
}

/// "`completion.confidence` the lower of end evidence and answer."
#[test]
fn confidence_is_the_lower_of_end_and_answer() {
    let confidence = |turn: Turn, how: How| verdict(&turn, &how).confidence;
    assert_eq!(confidence(chat(), auto()), 1.0);
    assert_eq!(confidence(chat().message_confidence(0.7), auto()), 0.7);
    assert_eq!(confidence(chat().end_confidence(0.8), auto()), 0.8);
    assert_eq!(confidence(chat().end_confidence(0.8).message_confidence(0.7), auto()), 0.7);
    assert_eq!(confidence(by_exit("Hello."), auto()), 0.6);
    assert_eq!(confidence(by_exit("Hello.").message_confidence(0.3), auto()), 0.3);
    // The message before the answer does not count.
    assert_eq!(confidence(said("a").message_confidence(0.3).then("b"), auto()), 1.0);
}

#[test]
fn only_a_completed_turn_names_an_answer() {
    let answer = |turn: Turn, how: How| verdict(&turn, &how).answer_message_id;
    assert_eq!(answer(said("a").then("b"), auto()).as_deref(), Some("m2"));
    assert_eq!(answer(chat(), interactive()).as_deref(), Some("m1"));
    assert_eq!(answer(said(GOOD_DONE).then("Bye."), auto()).as_deref(), Some("m2"));
    assert_eq!(answer(said(BAD), auto().schema()).as_deref(), Some("m1"));
    assert_eq!(answer(chat(), auto().exit(1)), None);
    assert_eq!(answer(chat(), auto().canceled()), None);
    assert_eq!(answer(chat().ends(EndKind::Failure), auto()), None);
    assert_eq!(answer(silent(), interactive()), None);
}

#[test]
fn a_refusal_is_a_limit_and_named_as_one() {
    let refused = |turn: Turn, how: How| verdict(&turn, &how).refused;
    assert!(refused(chat().refused(), auto()) && refused(silent().refused(), interactive()));
    assert!(!refused(chat().ends(EndKind::Limit), auto()));
    assert!(!refused(chat().refused(), auto().canceled()), "the cancel decides");
    for limit in EngineLimit::ALL {
        let named = |how: &How| verdict(&chat().limited(*limit), how).engine_limit;
        assert_eq!((named(&auto()), named(&auto().canceled())), (Some(*limit), None));
    }
    assert_eq!(verdict(&chat().ends(EndKind::Failure), &auto()).engine_limit, None);
}

#[test]
fn evidence_names_the_bytes() {
    let ranges = |places: &[(u64, u64)]| places.iter().map(|(a, b)| span_ref(&span(*a, *b))).collect::<Vec<_>>();
    let evidence = verdict(&said("a").then(GOOD_DONE), &auto()).evidence;
    assert_eq!(evidence.end, ranges(&[(90, 99)]));
    assert_eq!((evidence.marker, evidence.answer), (ranges(&[(10, 20)]), ranges(&[(10, 20)])));
    let evidence = verdict(&said(GOOD_DONE).then("Bye."), &auto()).evidence;
    assert_eq!((evidence.marker, evidence.answer), (ranges(&[(0, 10)]), ranges(&[(10, 20)])));
    let evidence = verdict(&said(GOOD_DONE).endless(), &auto()).evidence;
    assert_eq!((evidence.end, evidence.marker, evidence.answer), (vec![], vec![], ranges(&[(0, 10)])));
    assert_eq!(verdict(&by_exit("a"), &auto()).evidence.end, []);
}

/// "A marker that a tool call follows does not count: `DONE_MARKER_BEFORE_WORK` with its range."
#[test]
fn discounted_objects_are_reported_with_their_bytes() {
    let turn = said("a").then(GOOD_DONE).tool().then("That was all.");
    let bytes = vec![span_ref(&span(10, 20))];
    let seen = settled(&turn, &auto().schema()).notices;
    for code in [Code::DoneMarkerBeforeWork, Code::OutputBeforeWork] {
        let notice = seen.iter().find(|notice| notice.code == code).expect("a notice");
        assert_eq!(notice.spans, bytes);
        assert!(notice.message.contains("stdout bytes 10 to 20"), "{}", notice.message);
    }
    let seen = settled(&said("a").then(NOT_DONE), &auto()).notices;
    assert_eq!((seen[0].code, &seen[0].spans), (Code::DoneMarkerFalse, &bytes));
}

/// "Broken JSON near a marker reports where it broke."
#[test]
fn a_broken_marker_is_reported_with_its_place() {
    let broken = r#"{"answer": 42, "note": "so", "__SKILL_DONE__": true,}"#;
    let seen = settled(&said(broken), &auto().schema());
    let words = "trailing comma at column 53";
    assert!(seen.notices[0].message.ends_with(words), "{:?}", seen.notices);
    let error = seen.verdict.error.expect("an error");
    assert!(error.details.iter().any(|detail| detail.ends_with(words)), "{error:?}");
}

#[test]
fn reports_how_the_marker_is_placed() {
    let form = |text: &str| settled(&said(text), &auto()).marker;
    assert_eq!(form(DONE), Some(MarkerForm::WholeMessage));
    assert_eq!(form(&format!("Done. {DONE}")), Some(MarkerForm::InProse));
    assert_eq!(form("Done."), None);
}

#[test]
fn the_payload_is_always_built() {
    let seen = pending("Which colour?", &interactive().attempt(3).next_interaction(5));
    assert_eq!(seen, Pending::open_text(InteractionId(5), AttemptNumber(3), "Which colour?"));
}

#[test]
fn a_question_enriches_the_payload() {
    let answer = "Look:\n<ASK_USER_YAML>\nkind: choose_one\nprompt: Which?\noptions:\n- red\n- {value: b, label: Blue, \
                  default: true}\nui_hints: {wide: true}\ncontext: {step: 2}\ndefault_decision_policy: safe_default\n\
                  </ASK_USER_YAML>\nPlease.";
    let seen = pending(answer, &interactive());
    let option = |value: &str, label: &str, default| AskOption { value: value.into(), label: label.into(), default };
    assert_eq!(seen.kind, InteractionKind::ChooseOne);
    assert_eq!(seen.prompt, "Look:\n\nPlease.\n\nWhich?");
    assert_eq!(seen.options, [option("red", "red", false), option("b", "Blue", true)]);
    assert_eq!((seen.ui_hints, seen.context), (Some(json!({"wide": true})), Some(json!({"step": 2}))));
    assert_eq!(seen.default_decision_policy, DecisionPolicy::SafeDefault);
    assert_eq!(seen.policy_source, PolicySource::Model);
}

/// "Control characters are removed from text in events."
#[test]
fn the_payload_has_no_control_characters() {
    let answer = "<ASK_USER_YAML>\nprompt: \"\\e[1mWhich?\"\noptions: [{value: \"\\e[1mr\", label: \"\\e[1mRed\"}]\n\
                  ui_hints: {note: \"\\e[1mwide\"}\ncontext: [\"\\e[1mstep\"]\n</ASK_USER_YAML>";
    let seen = pending(answer, &interactive());
    assert_eq!(seen.prompt, "Which?");
    assert_eq!(seen.options, [AskOption { value: "r".into(), label: "Red".into(), default: false }]);
    assert_eq!((seen.ui_hints, seen.context), (Some(json!({"note": "wide"})), Some(json!(["step"]))));
}

#[test]
fn an_unknown_kind_is_open_text() {
    let answer = ASK.replace("confirm", "telepathy");
    assert_eq!(pending(&answer, &interactive()).kind, InteractionKind::OpenText);
    assert_eq!(pending(ASK, &interactive()).kind, InteractionKind::Confirm);
}

/// "`policy_source` (the first that has one: `request` `skill` `model` `default`)."
#[test]
fn the_first_policy_counts() {
    let answer = ASK.replace("kind", "default_decision_policy: safe_default\nkind");
    let seen = |answer: &str, how: How| {
        let pending = pending(answer, &how);
        (pending.default_decision_policy, pending.policy_source)
    };
    let (abort, judge) = (DecisionPolicy::Abort, DecisionPolicy::EngineJudgement);
    let all = interactive().request_policy(abort).skill_policy(judge);
    assert_eq!(seen(&answer, all), (abort, PolicySource::Request));
    assert_eq!(seen(&answer, interactive().skill_policy(abort)), (abort, PolicySource::Skill));
    assert_eq!(seen(&answer, interactive()), (DecisionPolicy::SafeDefault, PolicySource::Model));
    assert_eq!(seen(ASK, interactive()), (judge, PolicySource::Default));
}

/// An answer that consists only of questions must not take quadratic time.
#[test]
fn many_envelopes_do_not_hurt() {
    let answer = "{\"ask_user\":1}\n".repeat(100_000);
    let seen = settled(&said(&answer), &auto().schema());
    assert_eq!(seen.verdict.reason_code, Code::OutputMissing);
}
