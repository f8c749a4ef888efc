//! Every rule of the settle table that a script can bring about by itself, one line each.

use std::fs;
use std::path::PathBuf;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, impatient, speaking, sticky, with};
use serde_json::{Value, json};
use skillrun_model::verdict::Verdict;
use skillrun_model::{ExecutionMode, ProfileId, RunId, RunStatus};
use skillrun_runtime::{NewRun, Runtime};

use crate::runs::offline::{Told, check_same, row};

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
    /// Rule, turn, completion, reason, run, error, warnings.
    is: &'static str,
}

const fn auto(how: How, script: &'static str, is: &'static str) -> Case {
    Case { mode: ExecutionMode::Auto, how, script, is }
}

const fn interactive(how: How, script: &'static str, is: &'static str) -> Case {
    Case { mode: ExecutionMode::Interactive, how, script, is }
}

const ENGINE_ENDS: &[Case] = &[
    auto(
        How::AsItIs,
        "- - say: I begin.\n  - limit: too many tokens\n",
        "2 partial_failed interrupted LIMIT_REACHED failed LIMIT_REACHED",
    ),
    auto(
        How::AsItIs,
        "- - output: {answer: blue}\n    done: true\n  - limit: too many tokens\n",
        "2 partial_failed interrupted LIMIT_REACHED failed LIMIT_REACHED",
    ),
    interactive(
        How::Speaking(ProfileId::ClaudeStreamJson),
        "- - limit: too many turns\n",
        "2 failed interrupted LIMIT_REACHED failed LIMIT_REACHED",
    ),
    interactive(
        How::Speaking(ProfileId::OpencodeNdjson),
        "- - say: I begin.\n  - limit: ''\n",
        "2 partial_failed interrupted LIMIT_REACHED failed LIMIT_REACHED",
    ),
    auto(How::AsItIs, "- - fail: the model is gone\n", "2b failed interrupted ENGINE_FAILED failed ENGINE_FAILED"),
    interactive(
        How::AsItIs,
        "- - output: {answer: blue}\n    done: true\n  - fail: the model is gone\n",
        "2b partial_failed interrupted ENGINE_FAILED failed ENGINE_FAILED",
    ),
    interactive(
        How::Sticky,
        "- - ask: {prompt: Which?}\n  - fail: the model is gone\n",
        "2b partial_failed interrupted ENGINE_FAILED failed ENGINE_FAILED",
    ),
    auto(
        How::Speaking(ProfileId::GeminiStreamJson),
        "- - say: I begin.\n  - fail: the model is gone\n",
        "2b partial_failed interrupted ENGINE_FAILED failed ENGINE_FAILED",
    ),
];

const MARKED: &[Case] = &[
    auto(
        How::AsItIs,
        "- - output: {colour: blue}\n    done: true\n",
        "3 completed completed DONE_MARKER_OUTPUT_INVALID failed OUTPUT_SCHEMA_INVALID",
    ),
    interactive(
        How::AsItIs,
        "- - output: {}\n    done: true\n",
        "3 completed completed DONE_MARKER_OUTPUT_INVALID failed OUTPUT_MISSING",
    ),
    interactive(
        How::AsItIs,
        "- - ask: {prompt: Which?}\n  - output: {answer: 1}\n    done: true\n",
        "3 completed completed DONE_MARKER_OUTPUT_INVALID failed OUTPUT_SCHEMA_INVALID",
    ),
    interactive(
        How::AsItIs,
        "- - output: {answer: blue}\n    done: true\n",
        "3b completed completed DONE_MARKER_FOUND succeeded",
    ),
    interactive(
        How::Sticky,
        "- - output: {answer: blue}\n    done: true\n- - say: never\n",
        "3b completed completed DONE_MARKER_FOUND succeeded",
    ),
    interactive(
        How::AsItIs,
        "- - output: {answer: blue}\n    done: true\n  - end\n  - exit: 3\n",
        "3b completed completed DONE_MARKER_FOUND succeeded +EXIT_NONZERO_AFTER_DONE",
    ),
    interactive(
        How::AsItIs,
        "- - output: {answer: blue}\n    done: true\n  - end\n  - crash: SIGSEGV\n",
        "3b completed completed DONE_MARKER_FOUND succeeded +EXIT_NONZERO_AFTER_DONE",
    ),
    interactive(
        How::Linger(0.1),
        "- - output: {answer: blue}\n    done: true\n  - end\n  - hang\n",
        "3b completed completed DONE_MARKER_FOUND succeeded +LINGER_ENDED",
    ),
    auto(
        How::AsItIs,
        "- - output: {answer: blue}\n    done: true\n",
        "3c completed completed DONE_MARKER_FOUND succeeded",
    ),
    auto(
        How::RequireMarker,
        "- - output: {answer: blue}\n    done: true\n  - say: One.\n  - say: Two.\n",
        "3c completed completed DONE_MARKER_FOUND succeeded",
    ),
    auto(
        How::Linger(0.1),
        "- - output: {answer: blue}\n    done: true\n  - end\n  - hang\n",
        "3c completed completed DONE_MARKER_FOUND succeeded +LINGER_ENDED",
    ),
    auto(
        How::Impatient,
        "- - ignore: [SIGINT, SIGTERM]\n  - output: {answer: blue}\n    done: true\n  - end\n  - hang\n",
        "3c completed completed DONE_MARKER_FOUND succeeded +LINGER_ENDED",
    ),
    auto(
        How::AsItIs,
        "- - output: {answer: blue}\n    done: true\n  - end\n  - exit: 3\n",
        "3c completed completed DONE_MARKER_FOUND failed ENGINE_EXIT_NONZERO",
    ),
    auto(
        How::AsItIs,
        "- - output: {answer: blue}\n    done: true\n  - usage: {input: 1}\n  - cut: -2\n  - end\n",
        "3c completed completed DONE_MARKER_FOUND succeeded",
    ),
];

const BROKEN: &[Case] = &[
    auto(How::Hard(0.3), "- - say: I begin.\n  - hang\n", "4 timed_out interrupted TIMEOUT failed TIMEOUT"),
    interactive(How::Stall(0.3), "- - say: I begin.\n  - hang\n", "4 timed_out interrupted TIMEOUT failed TIMEOUT"),
    interactive(
        How::Hard(0.3),
        "- - output: {answer: blue}\n    done: true\n  - hang\n",
        "4 timed_out interrupted TIMEOUT failed TIMEOUT",
    ),
    auto(
        How::Budget(20_000),
        "- - say: I begin.\n  - flood: 2000000\n  - output: {answer: blue}\n    done: true\n",
        "5 interrupted interrupted EVIDENCE_BUDGET failed EVIDENCE_BUDGET",
    ),
    auto(
        How::AsItIs,
        "- - say: I begin.\n  - exit: 3\n",
        "6 partial_failed interrupted ENGINE_FAILED failed ENGINE_FAILED",
    ),
    interactive(How::AsItIs, "- - exit: 3\n", "6 failed interrupted ENGINE_FAILED failed ENGINE_FAILED"),
    auto(How::AsItIs, "- - crash: SIGKILL\n", "6 failed interrupted ENGINE_FAILED failed ENGINE_FAILED"),
    interactive(
        How::AsItIs,
        "- - ask: {prompt: Which?}\n  - crash: SIGABRT\n",
        "6 partial_failed interrupted ENGINE_FAILED failed ENGINE_FAILED",
    ),
    auto(
        How::AsItIs,
        "- - output: {answer: blue}\n    done: true\n  - exit: 3\n",
        "6 partial_failed interrupted ENGINE_FAILED failed ENGINE_FAILED",
    ),
    auto(
        How::AsItIs,
        "- - output: {answer: blue}\n    done: true\n  - exit: 0\n",
        "7 partial_failed interrupted ENGINE_END_MISSING failed ENGINE_END_MISSING",
    ),
    interactive(How::AsItIs, "- - exit: 0\n", "7 failed interrupted ENGINE_END_MISSING failed ENGINE_END_MISSING"),
    interactive(
        How::Sticky,
        "- - ask: {prompt: Which?}\n  - exit: 0\n",
        "7 partial_failed interrupted ENGINE_END_MISSING failed ENGINE_END_MISSING",
    ),
];

const CLEAN: &[Case] = &[
    auto(How::AsItIs, "- - end\n", "8 failed interrupted ANSWER_MISSING failed ANSWER_MISSING"),
    auto(
        How::AsItIs,
        "- - output: {answer: blue}\n",
        "9 completed completed OUTPUT_VALID succeeded +COMPLETED_WITHOUT_DONE_MARKER",
    ),
    auto(
        How::NoSchema,
        "- - say: The sky is blue.\n",
        "9 completed completed CLEAN_FINAL succeeded +COMPLETED_WITHOUT_DONE_MARKER",
    ),
    auto(
        How::Linger(0.1),
        "- - output: {answer: blue}\n  - end\n  - hang\n",
        "9 completed completed OUTPUT_VALID succeeded +LINGER_ENDED +COMPLETED_WITHOUT_DONE_MARKER",
    ),
    auto(
        How::AsItIs,
        "- - say: '{\"answer\": \"blue\", \"__SKILL_DONE__\": false}'\n",
        "8b completed unknown AGENT_NOT_DONE failed AGENT_NOT_DONE",
    ),
    auto(
        How::AsItIs,
        "- - say: '{\"__SKILL_DONE__\": false}'\n  - output: {answer: blue}\n",
        "8b completed unknown AGENT_NOT_DONE failed AGENT_NOT_DONE",
    ),
    auto(
        How::AsItIs,
        "- - output: {answer: blue}\n  - say: That was all.\n",
        "9 completed completed OUTPUT_VALID succeeded +COMPLETED_WITHOUT_DONE_MARKER",
    ),
    auto(
        How::RequireMarker,
        "- - output: {answer: blue}\n",
        "9 completed completed OUTPUT_VALID failed DONE_MARKER_MISSING",
    ),
    auto(
        How::AsItIs,
        "- - output: {colour: blue}\n",
        "10 completed unknown OUTPUT_INVALID failed OUTPUT_SCHEMA_INVALID",
    ),
    auto(How::AsItIs, "- - say: Blue.\n", "10 completed unknown OUTPUT_MISSING failed OUTPUT_MISSING"),
    interactive(
        How::AsItIs,
        "- - output: {answer: blue}\n",
        "11 completed completed OUTPUT_VALID succeeded +INTERACTIVE_COMPLETED_WITHOUT_DONE_MARKER",
    ),
    interactive(
        How::MaxAttempt(1),
        "- - ask: {prompt: Which?}\n",
        "12 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER failed INTERACTIVE_MAX_ATTEMPT_EXCEEDED",
    ),
    interactive(
        How::MaxAttempt(1),
        "- - end\n",
        "12 failed awaiting_user_input TURN_ENDED_WITHOUT_MARKER failed INTERACTIVE_MAX_ATTEMPT_EXCEEDED",
    ),
    // It writes the name of its session with its end, and this one leaves before that.
    interactive(
        How::Speaking(ProfileId::IflowText),
        "- - say: Which colour?\n  - exit: 0\n",
        "13 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER failed SESSION_ID_MISSING",
    ),
];

const WAITING: &[Case] = &[
    interactive(
        How::AsItIs,
        "- - ask: {prompt: Which?}\n",
        "14 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER waiting_user",
    ),
    interactive(
        How::NoSchema,
        "- - output: {answer: blue}\n",
        "14 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER waiting_user",
    ),
    interactive(
        How::AsItIs,
        "- - say: '{\"answer\": \"blue\", \"__SKILL_DONE__\": false}'\n",
        "14 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER waiting_user",
    ),
    interactive(
        How::MaxAttempt(2),
        "- - end\n",
        "14 failed awaiting_user_input TURN_ENDED_WITHOUT_MARKER waiting_user",
    ),
    interactive(
        How::Linger(0.1),
        "- - ask: {prompt: Which?}\n  - end\n  - hang\n",
        "14 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER waiting_user +LINGER_ENDED",
    ),
    // Its exit is not known, because it keeps running: 7b with an end event.
    interactive(
        How::Sticky,
        "- - ask: {prompt: Which?}\n- - say: never\n",
        "14 completed awaiting_user_input TURN_ENDED_WITHOUT_MARKER waiting_user",
    ),
];

fn request(lab: &RuntimeLab, case: &Case) -> NewRun {
    let new = lab.new_run(case.mode, case.script);
    match case.how {
        How::AsItIs => new,
        How::NoSchema => NewRun { skill: lab.skill("no-schema", json!({ "schemas": {} })), ..new },
        How::Speaking(profile) => speaking(new, profile),
        How::Sticky => sticky(new),
        How::Impatient => with(impatient(new), |options| options.linger_sec = Some(0.1)),
        How::Linger(seconds) => with(new, |options| options.linger_sec = Some(seconds)),
        How::Hard(seconds) => with(new, |options| options.hard_timeout_sec = Some(seconds)),
        How::Stall(seconds) => with(new, |options| options.stall_timeout_sec = Some(seconds)),
        How::Budget(bytes) => with(new, |options| options.max_bytes = Some(bytes)),
        How::MaxAttempt(max) => with(new, |options| options.max_attempt = Some(max)),
        How::RequireMarker => with(new, |options| options.require_marker = Some(true)),
    }
}

/// The Log, `result.json` and the files all agree with the line.
fn check(lab: &RuntimeLab, run: RunId, case: &Case) {
    let verdicts = lab.verdicts(run);
    let rows: Vec<String> = verdicts.iter().map(row).collect();
    assert_eq!(rows, [case.is], "{}", case.script);
    let result = lab.result(run);
    let verdict = &verdicts[0];
    let completion = result.completion.expect("a turn was settled");
    assert_eq!((completion.state, completion.reason_code), (verdict.completion, verdict.reason_code));
    match verdict.run_status {
        RunStatus::WaitingUser => assert_eq!(result.status, RunStatus::Canceled, "as the test ends it"),
        status @ (RunStatus::Queued
        | RunStatus::Running
        | RunStatus::Succeeded
        | RunStatus::Failed
        | RunStatus::Canceled) => {
            assert_eq!(result.status, status);
            assert_eq!(result.error, verdict.error, "{}", case.script);
            assert!(verdict.warnings.iter().all(|code| result.warnings.contains(code)), "{:?}", result.warnings);
            assert_eq!(result.output, verdict.output);
            if status == RunStatus::Succeeded {
                check_warnings(lab, run, verdict);
            }
        }
    }
    let schema: Option<PathBuf> =
        (case.how != How::NoSchema).then(|| lab.path("skills").join("probe/assets/output.json"));
    let require_marker = case.how == How::RequireMarker;
    let max_attempt = if let How::MaxAttempt(max) = case.how { Some(max) } else { None };
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

fn play(cases: &[Case]) {
    let lab = RuntimeLab::new();
    let runtime: Runtime = lab.runtime();
    let runs: Vec<RunId> = cases.iter().map(|case| runtime.submit(request(&lab, case)).expect("accepted")).collect();
    for (run, case) in runs.iter().zip(cases) {
        let state = lab.wait(*run, case.is, |state| state.is_over() || state.status == Some(RunStatus::WaitingUser));
        if !state.is_over() {
            runtime.cancel(*run, "the test").expect("canceled");
        }
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    runs.iter().zip(cases).for_each(|(run, case)| check(&lab, *run, case));
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
