//! Unanswered questions: the four cells of the matrix, the policies, and their limit.

use lab::TEST_TIMEOUT;
use lab::runtime::{LONG, RuntimeLab, reply, sticky, with};
use serde_json::json;
use skillrun_model::interaction::{DecisionPolicy, OnDeadline, PolicySource};
use skillrun_model::rasp::data::ResolutionMode;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{Code, ExecutionMode, RunId, RunStatus};
use skillrun_runtime::{NewRun, Runtime, SlotLimits};

const ASKS: &str = "- - ask: {prompt: Which colour?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

const SOON: f64 = 0.3;

const JUDGE: &str = "No answer came in time. Decide by your own judgement and continue.";

/// The engine read a bare "blue", as if a person had said it.
const DEFAULT: &str = "No answer came in time. The default was taken: blue";

/// An interactive run that waits this long for an answer.
fn asking(lab: &RuntimeLab, script: &str, require_user_reply: bool, seconds: f64) -> NewRun {
    with(lab.new_run(ExecutionMode::Interactive, script), |options| {
        options.require_user_reply = Some(require_user_reply);
        options.session_timeout_sec = Some(seconds);
    })
}

fn start(lab: &RuntimeLab, runtime: &Runtime, new: NewRun) -> RunId {
    let run = runtime.submit(new).expect("accepted");
    lab.wait(run, "question", |state| state.interactions == 1);
    run
}

/// What was asked, as the first question of the Log has it.
fn on_deadline(lab: &RuntimeLab, run: RunId) -> (OnDeadline, bool) {
    let events = lab.events(run);
    let asked = events.iter().find_map(|event| {
        let Data::Control(ControlData::InteractionRequested(question)) = &event.data else { return None };
        Some((question.on_deadline, question.deadline.is_some()))
    });
    asked.expect("a question")
}

/// Everything about the first question after it was asked: `timeout`, decisions with their policy, answers.
fn story(lab: &RuntimeLab, run: RunId) -> Vec<String> {
    let tell = |data: &Data| {
        if let Data::Control(ControlData::InteractionTimeout(timeout)) = data {
            Some(timeout.fails_with.map_or("timeout".to_owned(), |code| format!("timeout {code}")))
        } else if let Data::Control(ControlData::AutoDecision(decision)) = data {
            let (source, reason) = (decision.source.expect("a source"), decision.reason.expect("a reason"));
            Some(format!("decided by {}, {source}, {reason}", decision.policy))
        } else if let Data::Control(ControlData::InteractionReplied(reply)) = data {
            Some(format!("{}: {}", reply.resolution_mode, reply.text))
        } else {
            None
        }
    };
    lab.events(run).iter().filter_map(|event| tell(&event.data)).collect()
}

#[test]
fn strict_and_resumable_waits_and_releases_its_slot() {
    let mut lab = RuntimeLab::new();
    lab.slots = SlotLimits { total: 1, per_engine: 1, ..SlotLimits::default() };
    let runtime = lab.runtime();
    let run = start(&lab, &runtime, asking(&lab, ASKS, true, SOON));
    assert_eq!(on_deadline(&lab, run), (OnDeadline::Wait, false));
    assert!(runtime.wait_for(run, TEST_TIMEOUT), "nothing is armed for it");
    let other = runtime.submit(lab.new_run(ExecutionMode::Auto, "- - output: {answer: blue}\n")).expect("accepted");
    assert_eq!(lab.finish(&runtime, other).status, Some(RunStatus::Succeeded), "the only slot was free");
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert_eq!(lab.state(run).status, Some(RunStatus::WaitingUser), "long after its time would have been up");
    assert_eq!(story(&lab, run), Vec::<String>::new());
    runtime.reply(run, reply(1, "green")).expect("answered");
    assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded));
    assert_eq!(lab.output(run), json!({ "answer": "green" }));
}

#[test]
fn lenient_and_resumable_resumes_with_an_automatic_answer() {
    let (lab, runtime) = RuntimeLab::running();
    let run = start(&lab, &runtime, asking(&lab, ASKS, false, SOON));
    assert_eq!(on_deadline(&lab, run), (OnDeadline::AutoReply, true));
    let state = lab.finish(&runtime, run);
    assert_eq!(state.status, Some(RunStatus::Succeeded));
    assert_eq!((state.auto_decisions, state.last_auto_decision_at.is_some(), state.attempt.0), (1, true, 2));
    assert_eq!(lab.output(run), json!({ "answer": JUDGE }), "the engine got it as any other answer");
    let mode = ResolutionMode::AutoDecideTimeout;
    let expected = [
        "timeout".to_owned(),
        "decided by engine_judgement, auto_decide_timeout, user_no_reply".to_owned(),
        format!("{mode}: {JUDGE}"),
    ];
    assert_eq!(story(&lab, run), expected);
}

#[test]
fn strict_and_sticky_ends_the_process_and_fails() {
    let (lab, runtime) = RuntimeLab::running();
    let stays = "- - ignore: [SIGINT, SIGTERM]\n  - ask: {prompt: Which colour?}\n- - say: never\n";
    let requests = [asking(&lab, ASKS, true, SOON), lab::runtime::impatient(asking(&lab, stays, true, SOON))];
    let runs = requests.map(|new| start(&lab, &runtime, sticky(new)));
    for run in runs {
        assert_eq!(on_deadline(&lab, run), (OnDeadline::FailRun, true));
        let state = lab.finish(&runtime, run);
        assert_eq!((state.status, lab.failure(run)), (Some(RunStatus::Failed), Some(Code::InteractionWaitTimeout)));
        assert_eq!(state.attempt.0, 1, "no unrequested turn began");
        assert_eq!(story(&lab, run), ["timeout INTERACTION_WAIT_TIMEOUT"]);
        assert_eq!(lab.verdicts(run).len(), 1);
    }
}

#[test]
fn lenient_and_sticky_sends_the_decision_to_the_process() {
    let (lab, runtime) = RuntimeLab::running();
    let run = start(&lab, &runtime, sticky(asking(&lab, ASKS, false, SOON)));
    assert_eq!(on_deadline(&lab, run), (OnDeadline::AutoReply, true));
    let state = lab.finish(&runtime, run);
    assert_eq!(state.status, Some(RunStatus::Succeeded));
    assert_eq!(lab.output(run), json!({ "answer": JUDGE }));
    let hosts = lab.hosts(run);
    assert_eq!((hosts.len(), hosts[0]), (2, hosts[1]), "one process");
}

#[test]
fn an_answer_in_time_is_the_only_one() {
    let (lab, runtime) = RuntimeLab::running();
    for sticks in [false, true] {
        for strict in [false, true] {
            let new = asking(&lab, ASKS, strict, LONG);
            let run = start(&lab, &runtime, if sticks { sticky(new) } else { new });
            lab.answer(&runtime, run, 1, "green");
            assert_eq!(lab.finish(&runtime, run).status, Some(RunStatus::Succeeded));
            assert_eq!(story(&lab, run), ["user_reply: green"], "and no timer is left: the runtime is idle");
        }
    }
}

/// Who asks for what, and what becomes of it.
struct Policy {
    fields: &'static str,
    request: Option<DecisionPolicy>,
    skill: Option<&'static str>,
    source: PolicySource,
    is: Result<(&'static str, &'static str), Code>,
}

/// A policy of the skill, or of the question alone.
fn of_skill(fields: &'static str, skill: Option<&'static str>, source: PolicySource) -> Policy {
    Policy { fields, request: None, skill, source, is: Ok(("engine_judgement", JUDGE)) }
}

/// A policy of the request.
fn of_request(fields: &'static str, policy: DecisionPolicy) -> Policy {
    Policy { request: Some(policy), ..of_skill(fields, None, PolicySource::Request) }
}

const OPTIONS: &str = "options: [{value: red, label: Red}, {value: blue, label: Blue, default: true}]";

#[test]
fn policies_decide_and_only_request_and_skill_may_abort() {
    let no_default = "No answer came in time, and no option is marked as the default. \
                      Decide by your own judgement and continue.";
    let no_risk = "No answer came in time. The risk is not acknowledged; do not do anything that requires it. \
                   Decide by your own judgement how to continue without it.";
    let judges = |text| Ok(("engine_judgement", text));
    let (default, aborts) = (Ok(("safe_default", DEFAULT)), Err(Code::InteractionAbortedByPolicy));
    let (skill, model) = (PolicySource::Skill, PolicySource::Model);
    let engine = "default_decision_policy: engine_judgement";
    let risk = "kind: risk_ack, options: [{value: 'yes', label: Do it, default: true}]";
    let unmarked = "options: [red, blue], default_decision_policy: safe_default";
    let policies = [
        of_skill("kind: choose_one", None, PolicySource::Default),
        Policy { skill: Some("safe_default"), ..of_request(OPTIONS, DecisionPolicy::EngineJudgement) },
        Policy { is: default, ..of_request(OPTIONS, DecisionPolicy::SafeDefault) },
        Policy { is: default, ..of_skill(OPTIONS, Some("safe_default"), skill) },
        Policy { is: judges(no_default), ..of_skill(unmarked, None, model) },
        Policy { is: aborts, ..of_request("kind: confirm", DecisionPolicy::Abort) },
        Policy { is: aborts, ..of_skill(engine, Some("abort"), skill) },
        of_skill("default_decision_policy: abort", None, model),
        Policy { is: judges(no_risk), ..of_request(risk, DecisionPolicy::SafeDefault) },
        Policy { is: judges(no_risk), ..of_skill("kind: risk_ack, default_decision_policy: abort", None, model) },
    ];
    let (lab, runtime) = RuntimeLab::running();
    let mut runs = Vec::new();
    for (policy, number) in policies.iter().zip(1..) {
        let script = ASKS.replace("prompt: Which colour?", &format!("prompt: Which colour?, {}", policy.fields));
        let new = with(asking(&lab, &script, false, SOON), |options| options.default_decision_policy = policy.request);
        let runner = policy.skill.map_or(json!({}), |policy| json!({ "default_decision_policy": policy }));
        let new = NewRun { task: lab.skill(&format!("policy-{number}"), runner).into(), ..new };
        // Both columns of the matrix ask the same.
        for new in [new.clone(), sticky(new)] {
            runs.push((runtime.submit(new).expect("accepted"), policy));
        }
    }
    for (run, policy) in &runs {
        lab.wait_over(*run);
        let verdicts = lab.verdicts(*run);
        let asked = verdicts[0].pending.as_ref().expect("a question");
        assert_eq!(asked.policy_source, policy.source, "{}", policy.fields);
        match policy.is {
            Ok((by, text)) => {
                let expected = [
                    "timeout".to_owned(),
                    format!("decided by {by}, auto_decide_timeout, user_no_reply"),
                    format!("auto_decide_timeout: {text}"),
                ];
                assert_eq!(story(&lab, *run), expected, "{}", policy.fields);
                assert_eq!(lab.output(*run), json!({ "answer": text }));
            }
            Err(code) => {
                assert_eq!(story(&lab, *run), [format!("timeout {code}")]);
                assert_eq!(lab.failure(*run), Some(code));
            }
        }
    }
    assert!(runtime.wait_idle(TEST_TIMEOUT));
    runs.iter().for_each(|(run, _)| lab.check_whole(*run));
}

#[test]
fn a_run_decides_by_itself_only_so_often() {
    let (lab, runtime) = RuntimeLab::running();
    let asks = "- - ask: {prompt: Which?}\n".repeat(5);
    let requests = [0, 2].map(|limit| {
        let new = with(asking(&lab, &asks, false, 0.05), |options| options.auto_decision_limit = Some(limit));
        (limit, new)
    });
    for (limit, new) in requests {
        for new in [new.clone(), sticky(new)] {
            let run = runtime.submit(new).expect("accepted");
            let state = lab.finish(&runtime, run);
            assert_eq!(lab.failure(run), Some(Code::AutoDecisionLimit));
            assert_eq!((state.auto_decisions, state.attempt.0), (limit, limit + 1));
        }
    }
}

#[test]
fn automatic_answers_count_as_attempts() {
    let (lab, runtime) = RuntimeLab::running();
    let asks = "- - ask: {prompt: Which?}\n".repeat(5);
    let new = with(asking(&lab, &asks, false, 0.05), |options| options.max_attempt = Some(3));
    for new in [new.clone(), sticky(new)] {
        let run = runtime.submit(new).expect("accepted");
        let state = lab.finish(&runtime, run);
        assert_eq!(lab.failure(run), Some(Code::InteractiveMaxAttemptExceeded));
        assert_eq!((state.auto_decisions, state.attempt.0), (2, 3));
    }
}
