//! What is said about real runs.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use lab::runtime::{RuntimeLab, reply, sticky};
use skillrun_inspect::diagnose::{Diagnosis, FindingKind, Resolution, RunOwner, diagnose};
use skillrun_log::FileLog;
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{Code, ExecutionMode, RunId, RunStatus, Timestamp};
use skillrun_runtime::{Clock, NewRun, Options, SystemClock};

use super::{DONE, played};

/// Columns of labels, and of a terminal.
const LABEL: usize = 12;
const WIDTH: usize = 80;

fn look(lab: &RuntimeLab, run: RunId, owner: RunOwner, now: Timestamp) -> Diagnosis {
    let log = FileLog::new(lab.data().runs());
    diagnose(&lab.data(), &log, run, owner, now).expect("a diagnosis")
}

fn now(lab: &RuntimeLab, run: RunId) -> Diagnosis {
    look(lab, run, RunOwner::Unknown, SystemClock.now())
}

fn finds(diagnosis: &Diagnosis, is_it: impl Fn(&FindingKind) -> bool) -> bool {
    diagnosis.findings.iter().any(|finding| is_it(&finding.kind))
}

/// The lines as a terminal shows them, with what is never the same left out.
fn shown(diagnosis: &Diagnosis) -> String {
    let lines = diagnosis.lines();
    for (label, text) in &lines {
        assert!(label.len() < LABEL, "{label}");
        assert!(!text.contains(char::is_control), "{text:?}");
        let words = text.split(' ').map(|word| word.chars().count());
        // Only quoted text may have a word that does not fit.
        let fits = words.max().unwrap_or(0) <= WIDTH - LABEL;
        assert!(fits || text.contains(".log ") || text.contains("skills validate "), "{text}");
    }
    let wrapped: String = lines.iter().map(|(label, text)| wrapped(label, &steady(text))).collect();
    wrapped.lines().for_each(|line| assert!(line.chars().count() <= WIDTH, "{line}"));
    wrapped
}

fn wrapped(label: &str, text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let line = lines.last_mut().expect("a line");
            let used = line.chars().count() + usize::from(!line.is_empty());
            if used + word.len() <= WIDTH - LABEL {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.extend(&word);
                break;
            }
            if line.is_empty() {
                line.extend(word.drain(..WIDTH - LABEL));
            } else {
                lines.push(String::new());
            }
        }
    }
    let label_of = |at: usize| if at == 0 { label } else { "" };
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| format!("{}\n", format!("{:LABEL$}{line}", label_of(at)).trim_end()))
        .collect()
}

/// Without ids, times, and what an engine costs.
fn steady(text: &str) -> String {
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let text = match text.split_once("skills validate ") {
        Some((before, folder)) if folder.starts_with('/') => format!("{before}skills validate SKILL"),
        Some(_) | None => text,
    };
    let mut steady = String::new();
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let is_id = |text: &str| {
            let shape =
                |(at, c): (usize, char)| if [8, 13, 18, 23].contains(&at) { c == '-' } else { c.is_ascii_hexdigit() };
            text.len() >= 36 && text.is_char_boundary(36) && text[..36].char_indices().all(shape)
        };
        let is_time = |text: &str| {
            text.get(..24)
                .is_some_and(|time| time.ends_with('Z') && time.as_bytes()[10] == b'T' && time.starts_with("20"))
        };
        if is_id(rest) {
            steady.push_str("ID");
            rest = &rest[36..];
        } else if is_time(rest) {
            steady.push_str("TIME");
            rest = &rest[24..];
        } else if rest.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (number, after) = rest.split_at(digits);
            // What was measured has parts of a second; what a test sets has whole ones.
            if let Some(after) = after.strip_prefix(" ms") {
                steady.push_str("N s");
                rest = after;
            } else {
                steady.push_str(if after.starts_with(" s") && number.contains('.') { "N" } else { number });
                rest = after;
            }
        } else {
            steady.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    steady
}

#[test]
fn a_success() {
    let lab = RuntimeLab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, DONE));
    assert_snapshot!(shown(&now(&lab, run)), @r#"
    run         ID
    skill       probe on scripted VERSION, auto
    status      succeeded, after N s (at TIME)
    because     the agent said that it was done, and its output is valid (rule 3c)
    reason      DONE_MARKER_FOUND: The agent finished its turn with the done marker,
                and its output is valid.
    session     ID
    attempt     1 completed (rule 3c, DONE_MARKER_FOUND): 548 bytes on stdout, 17 on
                stderr
                exit code 0, it ended by itself
                end in stdout.1.log 425..548:
                {"type":"turn.completed","usage":{"input_tokens":3,"cached_input_tok
                ens":0,"output_tokens":5,"reasoning_output_tokens":0}}
                done marker in stdout.1.log 298..425:
                {"type":"item.completed","item":{"id":"item_2","type":"agent_message
                ","text":"{\"__SKILL_DONE__\":true,\"answer\":\"blue\"}"}}
                answer in the same bytes
    timeline    TIME +N s accepted
                TIME +N s started (attempt 1)
                TIME +N s first output (attempt 1)
                TIME +N s last output (attempt 1)
                TIME +N s settled (attempt 1)
                TIME +N s over
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                passed · partial answers: no turn broke off in the middle of an
                answer
                passed · failures: every turn that ended has completed
                passed · output cut: no
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; left out: 1
                summary of reasoning
    looks wrong LOW_CONFIDENCE_PARSE: lines that could not be read as the engine's
                format
    "#);
}

#[test]
fn an_engine_that_says_it_failed() {
    let lab = RuntimeLab::new();
    let script = "- - say: Half a word.\n  - fail: \"The model is \\e[31maway.\"\n";
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, script));
    assert_snapshot!(shown(&now(&lab, run)), @r#"
    run         ID
    skill       probe on scripted VERSION, auto
    status      failed, after N s (at TIME)
    because     the engine said that its turn failed (rule 2b)
    reason      ENGINE_FAILED: The engine reported that its turn failed, or its
                process ended with an error.
    error       ENGINE_FAILED (engine): The model is away.
    session     ID
    attempt     1 failed after part of an answer (rule 2b, ENGINE_FAILED): 327 bytes
                on stdout, 0 on stderr
                exit code 1, it ended by itself
                end in stdout.1.log 253..327:
                {"type":"turn.failed","error":{"message":"The model is
                \u001b[31maway."}}
                last message in stdout.1.log 101..195:
                {"type":"item.completed","item":{"id":"item_0","type":"agent_message
                ","text":"Half a word."}}
    timeline    TIME +N s accepted
                TIME +N s started (attempt 1)
                TIME +N s first output (attempt 1)
                TIME +N s last output (attempt 1)
                TIME +N s settled (attempt 1)
                TIME +N s over
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                warning · partial answers: attempt 1 broke off after text, which is
                not an answer
                warning · failures: attempt 1 did not complete (engine)
                passed · output cut: no
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; left out: 1
                message of a turn that did not complete
    looks wrong ENGINE_ERROR: The model is away.
                ENGINE_RETRY: The model is away.
    you can     inspect_evidence: skillrun logs ID --rasp
                retry: skillrun retry ID
                retry_other_engine: skillrun retry ID --engine ENGINE
    "#);
}

#[test]
fn an_output_that_does_not_fit() {
    let lab = RuntimeLab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, "- - output: {other: 1}\n    done: true\n"));
    assert_snapshot!(shown(&now(&lab, run)), @r#"
    run         ID
    skill       probe on scripted VERSION, auto
    status      failed, after N s (at TIME)
    because     the agent said that it was done, and its output does not fit the
                schema (rule 3)
    reason      DONE_MARKER_OUTPUT_INVALID: The agent declared the work done, but
                its output is missing or does not fit the schema.
    error       OUTPUT_SCHEMA_INVALID (output): the output does not fit the skill's
                schema: the output: Additional properties are not allowed ('other'
                was unexpected)
                the output: Additional properties are not allowed ('other' was
                unexpected)
                the output: "answer" is a required property
    session     ID
    attempt     1 completed (rule 3, DONE_MARKER_OUTPUT_INVALID): 246 bytes on
                stdout, 0 on stderr
                exit code 0, it ended by itself
                end in stdout.1.log 220..246: {"type":"turn.completed"}
                done marker in stdout.1.log 101..220:
                {"type":"item.completed","item":{"id":"item_0","type":"agent_message
                ","text":"{\"__SKILL_DONE__\":true,\"other\":1}"}}
                answer in the same bytes
    timeline    TIME +N s accepted
                TIME +N s started (attempt 1)
                TIME +N s first output (attempt 1)
                TIME +N s last output (attempt 1)
                TIME +N s settled (attempt 1)
                TIME +N s over
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                passed · partial answers: no turn broke off in the middle of an
                answer
                passed · failures: every turn that ended has completed
                passed · output cut: no
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; nothing is left
                out
    you can     fix_output: skillrun logs ID
                fix_skill: skillrun skills validate SKILL
                retry: skillrun retry ID
    "#);
}

/// A marker and an output that do not count are named, with their bytes.
#[test]
fn what_a_tool_call_followed_is_named() {
    let lab = RuntimeLab::new();
    let script = "- - output: {answer: blue}\n    done: true\n  - tool: {name: shell, input: {command: ls}, output: a}\n  - say: Bye.\n";
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, script));
    let diagnosis = now(&lab, run);
    let words = |wanted: Code| {
        let found = diagnosis
            .findings
            .iter()
            .find(|finding| matches!(finding.kind, FindingKind::Noticed { code, .. } if code == wanted));
        found.expect("a finding").words.clone()
    };
    for code in [Code::DoneMarkerBeforeWork, Code::OutputBeforeWork] {
        assert!(words(code).contains("a tool call follows it (stdout bytes 101 to "), "{}", words(code));
    }
    assert_eq!(diagnosis.error.expect("an error").code, Code::OutputMissing);
}

/// The agent's own word.
#[test]
fn an_agent_that_is_not_done() {
    let lab = RuntimeLab::new();
    let script = "- - say: '{\"answer\": \"blue\", \"__SKILL_DONE__\": false}'\n";
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, script));
    let diagnosis = now(&lab, run);
    let shown = shown(&diagnosis);
    assert!(shown.contains("the agent said that its work is not"), "{shown}");
    assert!(shown.contains("you can     inspect_evidence: skillrun logs ID --rasp"), "{shown}");
    assert_eq!(diagnosis.error.expect("an error").code, Code::AgentNotDone);
}

#[test]
fn a_timeout() {
    let lab = RuntimeLab::new();
    let new = lab.new_run(ExecutionMode::Auto, "- - say: Hm.\n  - hang: true\n");
    let run = played(&lab, NewRun { options: Options { hard_timeout_sec: Some(1.0), ..new.options.clone() }, ..new });
    assert_snapshot!(shown(&now(&lab, run)), @r#"
    run         ID
    skill       probe on scripted VERSION, auto
    status      failed, after N s (at TIME)
    because     the engine took too long, and its host ended it (rule 4)
    reason      TIMEOUT: The engine ran longer than allowed, or was silent for too
                long, and the host ended it.
    error       TIMEOUT (timeout): the engine ran longer than allowed and was ended
    session     ID
    attempt     1 ran out of time (rule 4, TIMEOUT): 186 bytes on stdout, 0 on
                stderr
                signal SIGINT, ended by the host, its time was up
                it reached the limit hard_sec, which was over at TIME
                last message in stdout.1.log 101..186:
                {"type":"item.completed","item":{"id":"item_0","type":"agent_message
                ","text":"Hm."}}
    timeline    TIME +N s accepted
                TIME +N s started (attempt 1)
                TIME +N s first output (attempt 1)
                TIME +N s last output (attempt 1)
                TIME +N s settled (attempt 1)
                TIME +N s over
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                warning · partial answers: attempt 1 broke off after text, which is
                not an answer
                warning · failures: attempt 1 did not complete (timeout)
                passed · output cut: no
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; left out: 1
                message of a turn that did not complete
    you can     raise_timeout: skillrun retry ID --timeout SECONDS
                inspect_evidence: skillrun logs ID --rasp
    "#);
}

#[test]
fn an_engine_that_dies_without_a_word() {
    let lab = RuntimeLab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, "- - exit: 3\n"));
    let diagnosis = now(&lab, run);
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::NoOutput { .. })));
    assert_snapshot!(shown(&diagnosis), @r#"
    run         ID
    skill       probe on scripted VERSION, auto
    status      failed, after N s (at TIME)
    because     the process of the engine ended with an error or by a signal (rule
                6)
    reason      ENGINE_FAILED: The engine reported that its turn failed, or its
                process ended with an error.
    error       ENGINE_FAILED (engine): the engine exited with code 3
    attempt     1 failed (rule 6, ENGINE_FAILED): 0 bytes on stdout, 0 on stderr
                exit code 3, it ended by itself
    timeline    TIME +N s accepted
                TIME +N s started (attempt 1)
                TIME +N s settled (attempt 1)
                TIME +N s over
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                passed · partial answers: no turn broke off in the middle of an
                answer
                warning · failures: attempt 1 did not complete (engine)
                passed · output cut: no
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; nothing is left
                out
    looks wrong the engine wrote nothing in attempt 1
    you can     inspect_evidence: skillrun logs ID --rasp
                retry: skillrun retry ID
                retry_other_engine: skillrun retry ID --engine ENGINE
    "#);
}

#[test]
fn a_question_that_waits() {
    let script =
        "- - ask: {kind: choose_one, prompt: Which colour?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Interactive, script);
    lab.wait_asked(run, 1);
    let diagnosis = look(&lab, run, RunOwner::NoProcess, SystemClock.now());
    // It waits without a limit, so no owner is needed.
    assert!(!finds(&diagnosis, |kind| matches!(kind, FindingKind::QuestionWithoutOwner | FindingKind::WithoutOwner)));
    assert_snapshot!(shown(&diagnosis), @r#"
    run         ID
    skill       probe on scripted VERSION, interactive
    status      waits for an answer, for N s (since TIME)
    because     the turn ended as it should, and the agent did not say that it was
                done (rule 14)
    reason      TURN_ENDED_WITHOUT_MARKER: An interactive turn ended cleanly, and
                nothing in it says that the work is done.
    session     ID
    attempt     1 completed (rule 14, TURN_ENDED_WITHOUT_MARKER): 306 bytes on
                stdout, 0 on stderr
                exit code 0, it ended by itself
                end in stdout.1.log 280..306: {"type":"turn.completed"}
                answer in stdout.1.log 101..280:
                {"type":"item.completed","item":{"id":"item_0","type":"agent_message
                ","text":"<ASK_USER_YAML>\nask_user:\n kind: \"choose_one\"\n
                prompt: \"Which colour?\"\n</ASK_USER_YAML>"}}
    question    1 (choose_one): Which colour?
                open, it waits as long as it takes
    timeline    TIME +N s accepted
                TIME +N s started (attempt 1)
                TIME +N s first output (attempt 1)
                TIME +N s last output (attempt 1)
                TIME +N s settled (attempt 1)
                TIME +N s asked (attempt 1)
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                passed · partial answers: no turn broke off in the middle of an
                answer
                passed · failures: every turn that ended has completed
                passed · output cut: no
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; nothing is left
                out
    you can     reply: skillrun reply ID TEXT
    "#);
    runtime.reply(run, reply(1, "blue")).expect("answered");
    lab.wait_over(run);
    assert_snapshot!(shown(&now(&lab, run)), @r#"
    run         ID
    skill       probe on scripted VERSION, interactive
    status      succeeded, after N s (at TIME)
    because     the agent said that it was done, and its output is valid (rule 3b)
    reason      DONE_MARKER_FOUND: The agent finished its turn with the done marker,
                and its output is valid.
    session     ID
    attempt     1 completed (rule 14, TURN_ENDED_WITHOUT_MARKER): 306 bytes on
                stdout, 0 on stderr
                exit code 0, it ended by itself
                end in stdout.1.log 280..306: {"type":"turn.completed"}
                answer in stdout.1.log 101..280:
                {"type":"item.completed","item":{"id":"item_0","type":"agent_message
                ","text":"<ASK_USER_YAML>\nask_user:\n kind: \"choose_one\"\n
                prompt: \"Which colour?\"\n</ASK_USER_YAML>"}}
    attempt     2 completed (rule 3b, DONE_MARKER_FOUND): 254 bytes on stdout, 0 on
                stderr
                exit code 0, it ended by itself
                end in stdout.2.log 228..254: {"type":"turn.completed"}
                done marker in stdout.2.log 101..228:
                {"type":"item.completed","item":{"id":"item_0","type":"agent_message
                ","text":"{\"__SKILL_DONE__\":true,\"answer\":\"blue\"}"}}
                answer in the same bytes
    question    1 (choose_one): Which colour?
                answered at TIME
    timeline    TIME +N s accepted
                TIME +N s started (attempt 1)
                TIME +N s first output (attempt 1)
                TIME +N s last output (attempt 1)
                TIME +N s settled (attempt 1)
                TIME +N s asked (attempt 1)
                TIME +N s answered
                TIME +N s started (attempt 2)
                TIME +N s first output (attempt 2)
                TIME +N s last output (attempt 2)
                TIME +N s settled (attempt 2)
                TIME +N s over
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                passed · partial answers: no turn broke off in the middle of an
                answer
                passed · failures: every turn that ended has completed
                passed · output cut: no
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; nothing is left
                out
    "#);
}

#[test]
fn a_question_whose_time_is_up() {
    let lab = RuntimeLab::new();
    let new =
        sticky(lab.new_run(ExecutionMode::Interactive, "- - ask: {kind: open_text, prompt: Which?}\n- - end: true\n"));
    let (runtime, run) = lab.begin(new);
    lab.wait_asked(run, 1);
    let later = SystemClock.now().plus_nanos(2_000 * 1_000_000_000);
    let diagnosis = look(&lab, run, RunOwner::NoProcess, later);
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::DeadlinePassed { .. })), "{diagnosis:#?}");
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::QuestionWithoutOwner)), "{diagnosis:#?}");
    let diagnosis = look(&lab, run, RunOwner::Process { pid: Some(7) }, SystemClock.now());
    assert!(!finds(&diagnosis, |kind| matches!(
        kind,
        FindingKind::DeadlinePassed { .. } | FindingKind::QuestionWithoutOwner
    )));
    assert!(diagnosis.lines().contains(&("owner", "process 7".to_owned())));
    runtime.cancel(run, "a test").expect("canceled");
    lab.wait_over(run);
    let diagnosis = now(&lab, run);
    assert_eq!(diagnosis.questions[0].resolution, Resolution::Closed);
    assert_snapshot!(shown(&diagnosis), @r#"
    run         ID
    skill       probe on scripted VERSION, interactive
    status      was canceled, after N s (at TIME)
    because     the run was canceled between two turns
    reason      CANCELED: The run was canceled before it ended.
    session     ID
    attempt     1 completed (rule 14, TURN_ENDED_WITHOUT_MARKER): 298 bytes on
                stdout, 0 on stderr
                its process continues
                end in stdout.1.log 272..298: {"type":"turn.completed"}
                answer in stdout.1.log 101..272:
                {"type":"item.completed","item":{"id":"item_0","type":"agent_message
                ","text":"<ASK_USER_YAML>\nask_user:\n kind: \"open_text\"\n prompt:
                \"Which?\"\n</ASK_USER_YAML>"}}
    question    1 (open_text): Which?
                closed without an answer
    timeline    TIME +N s accepted
                TIME +N s started (attempt 1)
                TIME +N s first output (attempt 1)
                TIME +N s last output (attempt 1)
                TIME +N s settled (attempt 1)
                TIME +N s asked (attempt 1)
                TIME +N s cancel requested
                TIME +N s over
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                passed · partial answers: no turn broke off in the middle of an
                answer
                passed · failures: every turn that ended has completed
                passed · output cut: no
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; nothing is left
                out
    you can     retry: skillrun retry ID
    "#);
}

#[test]
fn a_cancel_in_the_middle() {
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Auto, "- - say: Hm.\n  - hang: true\n");
    lab.wait(run, "message", |_| lab.types(run).contains(&"agent.message.final"));
    let diagnosis = look(&lab, run, RunOwner::NoProcess, SystemClock.now());
    assert_eq!(diagnosis.status, RunStatus::Running);
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::WithoutOwner)));
    assert!(diagnosis.attempts[0].ending.is_none());
    runtime.cancel(run, "a test").expect("canceled");
    lab.wait_over(run);
    assert_snapshot!(shown(&now(&lab, run)), @r#"
    run         ID
    skill       probe on scripted VERSION, auto
    status      was canceled, after N s (at TIME)
    because     the run was canceled before the attempt was settled (rule 1)
    reason      CANCELED: The run was canceled before it ended.
    session     ID
    attempt     1 was interrupted (rule 1, CANCELED): 186 bytes on stdout, 0 on
                stderr
                signal SIGINT, ended by the host, the run was canceled
                last message in stdout.1.log 101..186:
                {"type":"item.completed","item":{"id":"item_0","type":"agent_message
                ","text":"Hm."}}
    timeline    TIME +N s accepted
                TIME +N s started (attempt 1)
                TIME +N s first output (attempt 1)
                TIME +N s last output (attempt 1)
                TIME +N s cancel requested
                TIME +N s settled (attempt 1)
                TIME +N s over
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                warning · partial answers: attempt 1 broke off after text, which is
                not an answer
                warning · failures: attempt 1 did not complete (canceled)
                passed · output cut: no
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; left out: 1
                message of a turn that did not complete
    you can     retry: skillrun retry ID
    "#);
}

#[test]
fn a_lost_host() {
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Auto, "- - say: Hm.\n  - hang: true\n");
    lab.wait(run, "message", |_| lab.types(run).contains(&"agent.message.final"));
    let host = lab.events(run).into_iter().find_map(|event| {
        let Data::Control(ControlData::AttemptStarted(started)) = event.data else { return None };
        started.host_pid
    });
    let killed = Command::new("kill").arg("-9").arg(host.expect("a host").to_string()).status().expect("a command");
    assert!(killed.success());
    lab.wait_over(run);
    assert!(runtime.wait_idle(lab::TEST_TIMEOUT));
    assert_snapshot!(shown(&now(&lab, run)), @r#"
    run         ID
    skill       probe on scripted VERSION, auto
    status      failed, after N s (at TIME)
    because     the host was lost (rule 5)
    reason      ATTEMPT_LOST: The host process that recorded the engine disappeared,
                so how the attempt ended is unknown.
    error       ATTEMPT_LOST (host): The host process that recorded the engine
                disappeared, so how the attempt ended is unknown.
    session     ID
    attempt     1 was interrupted (rule 5, ATTEMPT_LOST): 186 bytes on stdout, 0 on
                stderr
                no exit, its host was lost
                last message in stdout.1.log 101..186:
                {"type":"item.completed","item":{"id":"item_0","type":"agent_message
                ","text":"Hm."}}
    timeline    TIME +N s accepted
                TIME +N s started (attempt 1)
                TIME +N s first output (attempt 1)
                TIME +N s last output (attempt 1)
                TIME +N s settled (attempt 1)
                TIME +N s over
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                warning · partial answers: attempt 1 broke off after text, which is
                not an answer
                warning · failures: attempt 1 did not complete (host)
                unknown · output cut: the host of attempt 1 left no record
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; left out: 1
                message of a turn that did not complete
    you can     retry: skillrun retry ID
    "#);
    // What its host could not vouch for is compared with nothing; the rest comes out the same.
    let report = super::check(&lab, run);
    assert!(report.is_good(), "{report:#?}");
}

#[test]
fn a_run_in_the_queue() {
    let mut lab = RuntimeLab::new();
    lab.slots.total = 0;
    let (_runtime, run) = lab.begin(lab.new_run(ExecutionMode::Auto, DONE));
    let diagnosis = look(&lab, run, RunOwner::NoProcess, SystemClock.now().plus_nanos(65_000_000_000));
    assert!(diagnosis.elapsed_ms >= 65_000);
    assert_snapshot!(shown(&diagnosis), @r#"
    run         ID
    skill       probe on scripted VERSION, auto
    status      waits for a slot, for 1 min 5 s (since TIME)
    timeline    TIME +N s accepted
    checked     passed · tool calls: every call has a start and an end
                passed · turn records: every turn that ended has one record
                passed · partial answers: no turn broke off in the middle of an
                answer
                passed · failures: every turn that ended has completed
                passed · output cut: no
                passed · user messages: every turn has the message that began it
                passed · replay: every replayed call has its result; nothing is left
                out
    looks wrong it is queued, and no process works on it; resume it with `skillrun
                recover`
    "#);
}

#[test]
fn what_is_missing_or_torn_is_found() {
    let lab = RuntimeLab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, DONE));
    let folder = lab.data().run(run);
    fs::write(folder.root().join("events.torn.1"), "{").expect("written");
    fs::remove_file(folder.audit().join("stdout.1.log")).expect("removed");
    let diagnosis = now(&lab, run);
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::LogTorn { files } if files == &["events.torn.1"])));
    assert!(finds(
        &diagnosis,
        |kind| matches!(kind, FindingKind::EvidenceMissing { file, .. } if file == "stdout.1.log")
    ));
    assert!(diagnosis.attempts[0].evidence.iter().all(|passage| passage.excerpt.is_none()));
    fs::write(folder.audit().join("removed.json"), "{}").expect("written");
    let diagnosis = now(&lab, run);
    assert!(finds(&diagnosis, |kind| matches!(kind, FindingKind::EvidenceRemoved)));
    assert!(!finds(&diagnosis, |kind| matches!(kind, FindingKind::EvidenceMissing { .. })));
    let text = fs::read_to_string(folder.events()).expect("readable");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    fs::write(folder.events(), [&lines[..4], &lines[5..]].concat().concat()).expect("written");
    assert!(finds(&now(&lab, run), |kind| matches!(kind, FindingKind::LogDamaged)));
}

#[test]
fn a_diagnosis_as_json() {
    let lab = RuntimeLab::new();
    let run = played(&lab, lab.new_run(ExecutionMode::Auto, DONE));
    let json = serde_json::to_value(now(&lab, run)).expect("JSON");
    assert_eq!(json["status"], "succeeded");
    assert_eq!(json["decided"]["rule"], "3c");
    assert_eq!(json["attempts"][0]["evidence"][0]["file"], "stdout.1.log");
    assert_eq!(json["findings"][0]["finding"], "noticed");
    assert_eq!(json["timeline"][0]["what"], "created");
}
