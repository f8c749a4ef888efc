//! Every rule of the settle table that a script can bring about by itself, one line each.

use std::fs;
use std::path::PathBuf;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, impatient, speaking, sticky, with};
use serde_json::{Value, json};
use skillrun_model::verdict::Verdict;
use skillrun_model::{ExecutionMode, ProfileId, RunId, RunStatus};
use skillrun_runtime::NewRun;

use self::How::*;
use crate::runs::offline::{Told, check_same, rows};

/// How the run is made, beside its script.
#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    AsItIs,
    NoSchema,
    Speaking(ProfileId),
    Sticky,
    /// Not long after the end.
    Linger(f64),
    /// Its process is asked politely for a short time.
    Impatient,
    Hard(f64),
    Stall(f64),
    Budget(u64),
    MaxAttempt(u32),
    RequireMarker,
}

struct Case {
    mode: ExecutionMode,
    how: How,
    script: &'static str,
}

/// A table has an end, and below it the runs that end so.
enum Row {
    Ends(&'static str),
    Run(Case),
}

/// Rule, turn, completion, reason, run, error, warnings.
const fn ends(verdict: &'static str) -> Row {
    Row::Ends(verdict)
}

const fn auto(how: How, script: &'static str) -> Row {
    Row::Run(Case { mode: ExecutionMode::Auto, how, script })
}

const fn interactive(how: How, script: &'static str) -> Row {
    Row::Run(Case { mode: ExecutionMode::Interactive, how, script })
}

const ENGINE_ENDS: &[Row] = &[
    ends("2 partial_failed interrupted LIMIT_REACHED failed LIMIT_REACHED"),
    auto(AsItIs, "- - say: I begin.\n  - limit: too many tokens\n"),
    auto(AsItIs, "- - output: {answer: blue}\n    done: true\n  - limit: too many tokens\n"),
    interactive(Speaking(ProfileId::OpencodeNdjson), "- - say: I begin.\n  - limit: ''\n"),
    ends("2 failed interrupted LIMIT_REACHED failed LIMIT_REACHED"),
    interactive(Speaking(ProfileId::ClaudeStreamJson), "- - limit: too many turns\n"),
    ends("2b failed interrupted ENGINE_FAILED failed ENGINE_FAILED"),
    auto(AsItIs, "- - fail: the model is gone\n"),
    ends("2b partial_failed interrupted ENGINE_FAILED failed ENGINE_FAILED"),
    interactive(AsItIs, "- - output: {answer: blue}\n    done: true\n  - fail: the model is gone\n"),
    interactive(Sticky, "- - ask: {prompt: Which?}\n  - fail: the model is gone\n"),
    auto(Speaking(ProfileId::GeminiStreamJson), "- - say: I begin.\n  - fail: the model is gone\n"),
];

const MARKED: &[Row] = &[
    ends("3 completed completed DONE_MARKER_OUTPUT_INVALID failed OUTPUT_SCHEMA_INVALID"),
    auto(AsItIs, "- - output: {colour: blue}\n    done: true\n"),
    interactive(AsItIs, "- - ask: {prompt: Which?}\n  - output: {answer: 1}\n    done: true\n"),
    ends("3 completed completed DONE_MARKER_OUTPUT_INVALID failed OUTPUT_MISSING"),
    interactive(AsItIs, "- - output: {}\n    done: true\n"),
    ends("3b completed completed DONE_MARKER_FOUND succeeded"),
    interactive(AsItIs, "- - output: {answer: blue}\n    done: true\n"),
    interactive(Sticky, "- - output: {answer: blue}\n    done: true\n- - say: never\n"),
    ends("3b completed completed DONE_MARKER_FOUND succeeded +EXIT_NONZERO_AFTER_DONE"),
    interactive(AsItIs, "- - output: {answer: blue}\n    done: true\n  - end\n  - exit: 3\n"),
    interactive(AsItIs, "- - output: {answer: blue}\n    done: true\n  - end\n  - crash: SIGSEGV\n"),
    ends("3b completed completed DONE_MARKER_FOUND succeeded +LINGER_ENDED"),
    interactive(Linger(0.1), "- - output: {answer: blue}\n    done: true\n  - end\n  - hang\n"),
    ends("3c completed completed DONE_MARKER_FOUND succeeded"),
    auto(AsItIs, "- - output: {answer: blue}\n    done: true\n"),
    auto(RequireMarker, "- - output: {answer: blue}\n    done: true\n  - say: One.\n  - say: Two.\n"),
    auto(AsItIs, "- - output: {answer: blue}\n    done: true\n  - usage: {input: 1}\n  - cut: -2\n  - end\n"),
    ends("3c completed completed DONE_MARKER_FOUND succeeded +LINGER_ENDED"),
    auto(Linger(0.1), "- - output: {answer: blue}\n    done: true\n  - end\n  - hang\n"),
    auto(Impatient, "- - ignore: [SIGINT, SIGTERM]\n  - output: {answer: blue}\n    done: true\n  - end\n  - hang\n"),
    ends("3c completed completed DONE_MARKER_FOUND failed ENGINE_EXIT_NONZERO"),
    auto(AsItIs, "- - output: {answer: blue}\n    done: true\n  - end\n  - exit: 3\n"),
];

const BROKEN: &[Row] = &[
    ends("4 timed_out interrupted TIMEOUT failed TIMEOUT"),
    auto(Hard(0.3), "- - say: I begin.\n  - hang\n"),
    interactive(Stall(0.3), "- - say: I begin.\n  - hang\n"),
    interactive(Hard(0.3), "- - output: {answer: blue}\n    done: true\n  - hang\n"),
    ends("5 interrupted interrupted EVIDENCE_BUDGET failed EVIDENCE_BUDGET"),
    auto(Budget(20_000), "- - say: I begin.\n  - flood: 2000000\n  - output: {answer: blue}\n    done: true\n"),
    ends("6 partial_failed interrupted ENGINE_FAILED failed ENGINE_FAILED"),
    auto(AsItIs, "- - say: I begin.\n  - exit: 3\n"),
    interactive(AsItIs, "- - ask: {prompt: Which?}\n  - crash: SIGABRT\n"),
    auto(AsItIs, "- - output: {answer: blue}\n    done: true\n  - exit: 3\n"),
    ends("6 failed interrupted ENGINE_FAILED failed ENGINE_FAILED"),
    interactive(AsItIs, "- - exit: 3\n"),
    auto(AsItIs, "- - crash: SIGKILL\n"),
    ends("7 partial_failed interrupted ENGINE_END_MISSING failed ENGINE_END_MISSING"),
    auto(AsItIs, "- - output: {answer: blue}\n    done: true\n  - exit: 0\n"),
    interactive(Sticky, "- - ask: {prompt: Which?}\n  - exit: 0\n"),
    ends("7 failed interrupted ENGINE_END_MISSING failed ENGINE_END_MISSING"),
    interactive(AsItIs, "- - exit: 0\n"),
];

const CLEAN: &[Row] = &[
    ends("8 failed interrupted ANSWER_MISSING failed ANSWER_MISSING"),
    auto(AsItIs, "- - end\n"),
    ends("9 completed completed OUTPUT_VALID succeeded +COMPLETED_WITHOUT_DONE_MARKER"),
    auto(AsItIs, "- - output: {answer: blue}\n"),
    auto(AsItIs, "- - output: {answer: blue}\n  - say: That was all.\n"),
    ends("9 completed completed CLEAN_FINAL succeeded +COMPLETED_WITHOUT_DONE_MARKER"),
    auto(NoSchema, "- - say: The sky is blue.\n"),
    ends("9 completed completed OUTPUT_VALID succeeded +LINGER_ENDED +COMPLETED_WITHOUT_DONE_MARKER"),
    auto(Linger(0.1), "- - output: {answer: blue}\n  - end\n  - hang\n"),
    ends("8b completed unknown AGENT_NOT_DONE failed AGENT_NOT_DONE"),
    auto(AsItIs, "- - say: '{\"answer\": \"blue\", \"__SKILL_DONE__\": false}'\n"),
    auto(AsItIs, "- - say: '{\"__SKILL_DONE__\": false}'\n  - output: {answer: blue}\n"),
    ends("9 completed completed OUTPUT_VALID failed DONE_MARKER_MISSING"),
    auto(RequireMarker, "- - output: {answer: blue}\n"),
    ends("10 completed unknown OUTPUT_INVALID failed OUTPUT_SCHEMA_INVALID"),
    auto(AsItIs, "- - output: {colour: blue}\n"),
    ends("10 completed unknown OUTPUT_MISSING failed OUTPUT_MISSING"),
    auto(AsItIs, "- - say: Blue.\n"),
    ends("11 completed completed OUTPUT_VALID succeeded +INTERACTIVE_COMPLETED_WITHOUT_DONE_MARKER"),
    interactive(AsItIs, "- - output: {answer: blue}\n"),
    ends("12 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER failed INTERACTIVE_MAX_ATTEMPT_EXCEEDED"),
    interactive(MaxAttempt(1), "- - ask: {prompt: Which?}\n"),
    ends("12 failed awaiting_user_input TURN_ENDED_WITHOUT_MARKER failed INTERACTIVE_MAX_ATTEMPT_EXCEEDED"),
    interactive(MaxAttempt(1), "- - end\n"),
    ends("13 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER failed SESSION_ID_MISSING"),
    // It writes the name of its session with its end, and this one leaves before that.
    interactive(Speaking(ProfileId::IflowText), "- - say: Which colour?\n  - exit: 0\n"),
];

const WAITING: &[Row] = &[
    ends("14 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER waiting_user"),
    interactive(AsItIs, "- - ask: {prompt: Which?}\n"),
    interactive(NoSchema, "- - output: {answer: blue}\n"),
    interactive(AsItIs, "- - say: '{\"answer\": \"blue\", \"__SKILL_DONE__\": false}'\n"),
    // Its exit is not known, because it keeps running: 7b with an end event.
    interactive(Sticky, "- - ask: {prompt: Which?}\n- - say: never\n"),
    ends("14 failed awaiting_user_input TURN_ENDED_WITHOUT_MARKER waiting_user"),
    interactive(MaxAttempt(2), "- - end\n"),
    ends("14 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER waiting_user +LINGER_ENDED"),
    interactive(Linger(0.1), "- - ask: {prompt: Which?}\n  - end\n  - hang\n"),
];

fn request(lab: &RuntimeLab, case: &Case) -> NewRun {
    let new = lab.new_run(case.mode, case.script);
    match case.how {
        AsItIs => new,
        NoSchema => NewRun { task: lab.skill("no-schema", json!({ "schemas": {} })).into(), ..new },
        Speaking(profile) => speaking(new, profile),
        Sticky => sticky(new),
        Impatient => with(impatient(new), |options| options.linger_sec = Some(0.1)),
        Linger(seconds) => with(new, |options| options.linger_sec = Some(seconds)),
        Hard(seconds) => with(new, |options| options.hard_timeout_sec = Some(seconds)),
        Stall(seconds) => with(new, |options| options.stall_timeout_sec = Some(seconds)),
        Budget(bytes) => with(new, |options| options.max_bytes = Some(bytes)),
        MaxAttempt(max) => with(new, |options| options.max_attempt = Some(max)),
        RequireMarker => with(new, |options| options.require_marker = Some(true)),
    }
}

/// The Log, `result.json` and the files all agree with the line.
fn check(lab: &RuntimeLab, run: RunId, case: &Case, is: &str) {
    let verdicts = lab.verdicts(run);
    assert_eq!(rows(lab, run), [is], "{}", case.script);
    let result = lab.result(run);
    let verdict = &verdicts[0];
    let completion = result.completion.expect("a turn was settled");
    assert_eq!((completion.state, completion.reason_code), (verdict.completion, verdict.reason_code));
    if verdict.run_status == RunStatus::WaitingUser {
        assert_eq!(result.status, RunStatus::Canceled, "as the test ends it");
    } else {
        assert_eq!(result.status, verdict.run_status);
        assert_eq!(result.error, verdict.error, "{}", case.script);
        assert!(verdict.warnings.iter().all(|code| result.warnings.contains(code)), "{:?}", result.warnings);
        assert_eq!(result.output, verdict.output);
        if result.status == RunStatus::Succeeded {
            check_warnings(lab, run, verdict);
        }
    }
    let schema: Option<PathBuf> = (case.how != NoSchema).then(|| lab.path("skills").join("probe/assets/output.json"));
    let require_marker = case.how == RequireMarker;
    let max_attempt = if let MaxAttempt(max) = case.how { Some(max) } else { None };
    check_same(lab, run, Told { mode: case.mode, schema: schema.as_deref(), max_attempt, require_marker });
    lab.check_whole(run);
}

/// Warnings of a success are in the conversation too.
fn check_warnings(lab: &RuntimeLab, run: RunId, verdict: &Verdict) {
    let conversation = fs::read_to_string(lab.data().run(run).fcmp()).expect("a conversation");
    let end: Value = serde_json::from_str(conversation.lines().last().expect("an end")).expect("JSON");
    assert_eq!(end["type"], "conversation.completed");
    let told = end["data"]["warnings"].as_array().cloned().unwrap_or_default();
    assert_eq!(told, verdict.warnings.iter().map(|code| json!(code)).collect::<Vec<_>>());
}

fn play(table: &[Row]) {
    let (lab, runtime) = RuntimeLab::running();
    let mut runs = Vec::new();
    let mut is = "";
    for row in table {
        match row {
            Row::Ends(verdict) => is = verdict,
            Row::Run(case) => runs.push((runtime.submit(request(&lab, case)).expect("accepted"), case, is)),
        }
    }
    for (run, _, is) in &runs {
        let state = lab.wait(*run, is, |state| state.is_over() || state.status == Some(RunStatus::WaitingUser));
        if !state.is_over() {
            runtime.cancel(*run, "the test").expect("canceled");
        }
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    runs.iter().for_each(|(run, case, is)| check(&lab, *run, case, is));
}

#[test]
fn the_engine_says_how_its_turn_ended() {
    play(ENGINE_ENDS);
}

#[test]
fn a_marker_is_found() {
    play(MARKED);
}

#[test]
fn the_process_breaks_off() {
    play(BROKEN);
}

#[test]
fn a_turn_ends_well_without_a_marker() {
    play(CLEAN);
}

#[test]
fn the_user_is_asked() {
    play(WAITING);
}
