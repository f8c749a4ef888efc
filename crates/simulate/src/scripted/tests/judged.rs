//! Every act through every format that can express it: what comes out must be the same.

use serde_json::{Value, json};
use skillrun_engine::input::CallQuestion;
use skillrun_lifecycle::ProcessExit;
use skillrun_model::ProfileId::{
    self, AcpJsonrpc, ClaudeStreamJson, CodexNdjson, GeminiJson, GeminiStreamJson, IflowText, OpencodeNdjson,
    PlainText, QwenStreamJson,
};
use skillrun_model::interaction::InteractionKind;
use skillrun_model::rasp::{Data, EvidenceData};
use skillrun_model::verdict::Rule;
use skillrun_model::{Code, RunStatus};
use skillrun_parse::record::EndKind;

use super::stage::{Played, SESSION, answered, played, script, turn};
use crate::scripted::formats::{self, Line, Lines, Sink};
use crate::scripted::play::Action;
use crate::scripted::said::Said;
use crate::scripted::words::Life;

/// Formats whose end is an event, one line of its own.
const EVENTS: [ProfileId; 5] = [CodexNdjson, GeminiStreamJson, OpencodeNdjson, ClaudeStreamJson, QwenStreamJson];

/// Formats with one message for all that is said.
const ONE_MESSAGE: [ProfileId; 3] = [GeminiJson, IflowText, PlainText];

fn each(yaml: &str, check: impl Fn(ProfileId, Played)) {
    formats::spoken().for_each(|profile| check(*profile, played(*profile, yaml)));
}

/// Lines that no parser understands, though the engine writes them: iflow's block has a blank line before it.
fn blank_lines(profile: ProfileId) -> u64 {
    u64::from(profile == IflowText)
}

#[test]
fn what_is_said_is_read_as_it_was_said() {
    let yaml = r#"[[say: "One — 一\n\n  and \"more\" 😀", say: two, think: hm, say: three, say: four]]"#;
    let texts = ["One — 一\n\n  and \"more\" 😀", "two", "three", "four"];
    each(yaml, |profile, played| {
        let judged = played.auto();
        if ONE_MESSAGE.contains(&profile) {
            assert_eq!(judged.messages(), [texts.join("\n\n")], "{profile}");
        } else {
            assert_eq!(judged.messages(), texts, "{profile}");
            assert_eq!((judged.facts.parse.inferred, judged.noticed()), (0, vec![]), "{profile}");
        }
        let verdict = &judged.settled.verdict;
        assert_eq!((verdict.rule, verdict.run_status), (Rule::AutoValid, RunStatus::Succeeded), "{profile}");
        assert_eq!((judged.facts.parse.raw, judged.facts.parse.unknown), (blank_lines(profile), 0), "{profile}");
        assert_eq!(played.last, Action::TurnOver, "{profile}");
    });
}

#[test]
fn a_long_text_comes_whole() {
    let text = "abcdefghij 完成 ".repeat(20_000);
    each(&format!("[[say: \"{text}\"]]"), |profile, played| {
        assert_eq!(played.auto().messages(), [text.as_str()], "{profile}");
    });
}

#[test]
fn the_session_has_its_name_and_the_end_its_kind() {
    each("[[say: done]]", |profile, played| {
        let judged = played.auto();
        let named = (profile != PlainText).then_some(SESSION);
        assert_eq!(judged.facts.session_id.as_deref(), named, "{profile}");
        let end = judged.facts.end.map(|end| end.kind);
        assert_eq!(end, (!formats::ends_by_exit(profile)).then_some(EndKind::Success), "{profile}");
    });
}

#[test]
fn the_session_is_named_before_the_first_act_takes_time() {
    for profile in EVENTS {
        let played = played(profile, "[[sleep_ms: 1, exit: 0]]");
        assert_eq!(played.auto().facts.session_id.as_deref(), Some(SESSION), "{profile}");
    }
    each("[[stderr: oh, ignore: [SIGINT], exit: 3]]", |profile, played| {
        assert_eq!((played.stdout.len(), &played.exit), (0, &ProcessExit::Code(3)), "{profile}");
        assert_eq!(played.stderr, b"oh\n", "{profile}");
    });
}

#[test]
fn thoughts_are_shown_where_the_engine_shows_them() {
    each("[[think: step one, say: done]]", |profile, played| {
        let thought = |data| {
            let Data::Evidence(EvidenceData::ReasoningSummary(thought)) = data else { return None };
            Some(thought.text)
        };
        let thoughts: Vec<String> = played.auto().events.into_iter().filter_map(thought).collect();
        let shown = EVENTS.contains(&profile) && profile != GeminiStreamJson;
        assert_eq!(thoughts, vec!["step one"; usize::from(shown)], "{profile}");
    });
}

/// Name, input and what became of each call.
fn calls(played: &Played) -> Vec<String> {
    let mut calls = Vec::new();
    for data in played.auto().events {
        if let Data::Evidence(EvidenceData::ToolCallStarted(call)) = data {
            let input = serde_json::to_value(&call.input).expect("JSON");
            calls.push(format!("{} {input}", call.name));
        } else if let Data::Evidence(EvidenceData::ToolCallCompleted(call)) = data {
            calls.push(format!("completed {}", call.output.unwrap_or_default()));
        } else if let Data::Evidence(EvidenceData::ToolCallFailed(call)) = data {
            calls.push(if call.synthetic { "left open".to_owned() } else { "failed".to_owned() });
        }
    }
    calls
}

#[test]
fn tools_are_called_and_answer() {
    let yaml = r#"
- - say: looking
  - tool: {name: shell, input: {command: "ls *"}, output: "a\nb"}
  - tool: {name: search, input: {query: "{{reply}}", deep: [1, true]}, output: none, status: failed}
  - tool: {name: wait, status: open}
  - say: done
"#;
    each(yaml, |profile, played| {
        let told = [
            r#"shell {"command":"ls *"}"#,
            "completed a\nb",
            r#"search {"query":"Do the job.","deep":[1,true]}"#,
            "failed",
            "wait {}",
            "left open",
        ];
        let shown: &[&str] = if EVENTS.contains(&profile) { &told } else { &[] };
        assert_eq!(calls(&played), shown, "{profile}");
        let judged = played.auto();
        assert_eq!(judged.settled.verdict.run_status, RunStatus::Succeeded, "{profile}");
        let after_tool: Vec<_> = judged.facts.messages.iter().map(|message| message.after_tool).collect();
        assert_eq!(after_tool, if ONE_MESSAGE.contains(&profile) { vec![false] } else { vec![false, true] });
        assert_eq!((judged.facts.parse.raw, judged.facts.parse.unknown), (blank_lines(profile), 0), "{profile}");
    });
}

#[test]
fn a_question_waits_for_the_user() {
    let yaml = r#"[[ask: {kind: choose_one, prompt: "Which colour?", options: [{value: r, label: Red}, blue],
        default_decision_policy: safe_default, context: {why: "{{reply}}"}}]]"#;
    each(yaml, |profile, played| {
        let judged = played.interactive();
        let verdict = judged.settled.verdict;
        assert_eq!((verdict.rule, verdict.run_status), (Rule::Waiting, RunStatus::WaitingUser), "{profile}");
        let pending = verdict.pending.expect("a question");
        assert_eq!((pending.kind, pending.prompt.as_str()), (InteractionKind::ChooseOne, "Which colour?"));
        let options: Vec<_> = pending.options.iter().map(|option| option.label.as_str()).collect();
        assert_eq!(options, ["Red", "blue"], "{profile}");
        assert_eq!(pending.context, Some(json!({"why": "Do the job."})), "{profile}");
        assert_eq!(judged.settled.notices, [], "{profile}");
    });
}

#[test]
fn an_output_with_its_marker_is_the_result() {
    let yaml = r#"
- - say: Working on it.
  - output: {status: ok, said: "{{reply}}", list: [{x: 1.5}]}
    done: true
"#;
    let object: Value = json!({"status": "ok", "said": "Do the job.", "list": [{"x": 1.5}]});
    each(yaml, |profile, played| {
        for (judged, rule) in [(played.auto(), Rule::MarkerAuto), (played.interactive(), Rule::MarkerInteractive)] {
            let verdict = judged.settled.verdict;
            assert_eq!((verdict.rule, verdict.run_status), (rule, RunStatus::Succeeded), "{profile}");
            assert_eq!(verdict.output.map(Value::Object), Some(object.clone()), "{profile}");
        }
    });
}

#[test]
fn an_output_without_marker_is_no_end_of_a_conversation() {
    each("[[output: {status: ok}]]", |profile, played| {
        let verdict = played.interactive().settled.verdict;
        assert_eq!((verdict.rule, verdict.run_status), (Rule::Waiting, RunStatus::WaitingUser), "{profile}");
        let output = played.auto().settled.verdict.output;
        assert_eq!(output.map(Value::Object), Some(json!({"status": "ok"})), "{profile}");
    });
}

#[test]
fn a_failure_is_a_failure_with_its_words() {
    each("[[say: half of it, fail: quota exceeded]]", |profile, played| {
        assert_eq!(played.last, Action::Exit(1), "{profile}");
        let verdict = played.interactive().settled.verdict;
        let rule = if profile == PlainText { Rule::BadExit } else { Rule::Failure };
        assert_eq!((verdict.rule, verdict.run_status), (rule, RunStatus::Failed), "{profile}");
        assert_eq!(verdict.reason_code, Code::EngineFailed, "{profile}");
        let words = verdict.error.expect("an error").message;
        assert!(words.contains("quota exceeded") || profile == PlainText, "{profile}: {words}");
    });
    each("[[fail: no]]", |profile, played| {
        assert!(!played.interactive().facts.has_text, "{profile}: an error's text is not an answer");
    });
}

#[test]
fn a_failure_end_stays_one_whatever_the_exit() {
    for profile in EVENTS.into_iter().chain([GeminiJson]) {
        let played = played(profile, "[[say: half of it, fail: no, stderr: bye, exit: 0]]");
        assert_eq!((&played.exit, played.auto().settled.verdict.rule), (&ProcessExit::Code(0), Rule::Failure));
    }
}

#[test]
fn a_failed_document_is_on_stderr() {
    let played = played(GeminiJson, "[[say: half of it, fail: no]]");
    assert_eq!((played.stdout.len(), played.stderr.first()), (0, Some(&b'{')));
}

#[test]
fn a_limit_is_reported_where_the_format_allows_it() {
    let yaml = "[[say: half of it], [say: x, limit: too long]]";
    let mut told = Vec::new();
    for profile in formats::spoken() {
        if !formats::has_limit_end(*profile) {
            let refused = script(yaml).check(*profile, Life::OneTurn).expect_err("no limit end").to_string();
            assert_eq!(refused, format!("turn 2, act 2 (limit): {profile} has no limit end"));
            continue;
        }
        let played =
            turn(*profile, yaml, 2, Said { prompt: "", reply: "", permission: None, delegated: None, request: None });
        let verdict = played.auto().settled.verdict;
        assert_eq!((verdict.rule, verdict.run_status), (Rule::Limit, RunStatus::Failed), "{profile}");
        assert_eq!(verdict.reason_code, Code::LimitReached, "{profile}");
        assert!(matches!(played.last, Action::Exit(_)), "{profile}: a sticky engine would keep running");
        told.push((*profile, played.exit));
    }
    let code = |profile, code| (profile, ProcessExit::Code(code));
    let expected = [code(CodexNdjson, 1), code(OpencodeNdjson, 0), code(ClaudeStreamJson, 1)];
    assert_eq!(told, expected);
}

#[test]
fn an_exit_without_end_is_no_success_unless_the_exit_is_the_end() {
    each("[[{output: {a: 1}, done: true}, exit: 0]]", |profile, played| {
        let verdict = played.auto().settled.verdict;
        let expected = if formats::ends_by_exit(profile) { Rule::MarkerAuto } else { Rule::EndMissing };
        assert_eq!(verdict.rule, expected, "{profile}");
    });
}

#[test]
fn a_bad_exit_after_the_end_is_seen() {
    each("[[say: fine, end, exit: 3]]", |profile, played| {
        assert_eq!(played.auto().settled.verdict.rule, Rule::BadExit, "{profile}");
    });
}

#[test]
fn an_end_that_is_cut_may_already_show_success() {
    let yaml = "[[{output: {a: 1}, done: true}, usage: {input: 1}, cut: -2, end]]";
    each(yaml, |profile, played| {
        let judged = played.auto();
        let (rule, noticed) = match profile {
            GeminiJson => (Rule::EndMissing, vec![Code::DocumentUnclosed]),
            IflowText | PlainText | AcpJsonrpc => (Rule::MarkerAuto, vec![]),
            CodexNdjson | GeminiStreamJson | OpencodeNdjson | ClaudeStreamJson | QwenStreamJson => {
                (Rule::MarkerAuto, vec![Code::EndEventCut])
            }
        };
        assert_eq!(judged.settled.verdict.rule, rule, "{profile}");
        let noticed_cuts: Vec<_> = judged.noticed().into_iter().filter(|code| noticed.contains(code)).collect();
        assert_eq!(noticed_cuts, noticed, "{profile}");
        assert!(matches!(played.last, Action::Exit(0) | Action::TurnOver), "{profile}");
    });
}

#[test]
fn an_end_that_is_cut_early_is_missing() {
    for profile in EVENTS {
        let played = played(profile, "[[{output: {a: 1}, done: true}, cut: 9]]");
        assert_eq!(played.stdout.iter().rev().position(|byte| *byte == b'\n'), Some(9), "{profile}");
        assert_eq!(played.auto().settled.verdict.rule, Rule::EndMissing, "{profile}");
    }
}

#[test]
fn nothing_comes_after_a_cut() {
    each("[[cut: 3, stderr: \"é—é\", say: never, exit: 7]]", |profile, played| {
        assert_eq!((played.stdout.len(), &played.last), (0, &Action::Exit(0)), "{profile}");
        assert_eq!(played.stderr, b"\xc3\xa9\xe2", "{profile}");
    });
    for profile in EVENTS {
        let played = played(profile, "[[cut: 5, say: never]]");
        assert_eq!((played.stdout.len(), played.last), (5, Action::Exit(0)), "{profile}");
    }
}

#[test]
fn usage_is_reported_with_the_end() {
    each("[[usage: {input: 200, output: 40, cached: 7, reasoning: 3}, say: done]]", |profile, played| {
        let usage = played.auto().facts.usage;
        let told = usage.map(|u| [u.input_tokens, u.output_tokens, u.cached_input_tokens, u.reasoning_tokens]);
        let expected = match profile {
            CodexNdjson | GeminiJson | OpencodeNdjson | ClaudeStreamJson | QwenStreamJson => {
                Some([Some(200), Some(40), Some(7), Some(3)])
            }
            GeminiStreamJson => Some([Some(200), Some(40), Some(7), None]),
            IflowText => Some([Some(200), Some(40), None, None]),
            PlainText | AcpJsonrpc => None,
        };
        assert_eq!(told, expected, "{profile}");
    });
}

#[test]
fn raw_lines_and_stderr_change_nothing() {
    for profile in EVENTS {
        let played =
            played(profile, "[[raw: what is this, stderr: \"warning\\n\", say: done, raw: \"{\\\"odd\\\":1}\"]]");
        let judged = played.auto();
        assert_eq!(judged.messages(), ["done"], "{profile}");
        assert_eq!((judged.facts.parse.raw, judged.facts.parse.unknown), (2, 1), "{profile}");
        assert_eq!(judged.settled.verdict.run_status, RunStatus::Succeeded, "{profile}");
    }
}

/// Codes and words are those of the real engines, as they were recorded; iflow's are a guess.
#[test]
fn an_unknown_session_is_refused_as_the_engine_does() {
    for (profile, code) in [
        (CodexNdjson, 1),
        (GeminiStreamJson, 42),
        (GeminiJson, 42),
        (OpencodeNdjson, 1),
        (ClaudeStreamJson, 1),
        (QwenStreamJson, 1),
        (IflowText, 1),
    ] {
        let mut lines = Lines::default();
        assert_eq!(formats::refuse_session(profile, "nobody-1", &mut lines), code, "{profile}");
        let written = |sink| -> Vec<u8> {
            let of_sink = lines.0.iter().filter(|line: &&Line| line.to == sink);
            of_sink.flat_map(|line| line.bytes.clone()).collect()
        };
        let (stdout, stderr) = (written(Sink::Stdout), written(Sink::Stderr));
        let exit = ProcessExit::Code(code.into());
        let verdict = Played { profile, stdout, stderr, exit, last: Action::Exit(code) }.auto().settled.verdict;
        assert_eq!(verdict.run_status, RunStatus::Failed, "{profile}");
        assert_eq!(verdict.error.map(|error| error.code), Some(Code::SessionNotFound), "{profile}");
    }
}

#[test]
fn what_the_user_said_comes_back() {
    let yaml = r#"
- [say: "You want: {{prompt}}"]
- - expect_reply: blue
  - echo_reply
  - echo_prompt
  - write: {path: ./a/b.txt, content: "{{reply}}!"}
  - output: {colour: "{{reply}}"}
    done: true
"#;
    let said = Said { prompt: "Paint it.", reply: "blue {{prompt}}", permission: None, delegated: None, request: None };
    for profile in EVENTS {
        let judged = turn(profile, yaml, 2, said).auto();
        let output = r#"{"__SKILL_DONE__":true,"colour":"blue {{prompt}}"}"#;
        assert_eq!(judged.messages(), ["blue {{prompt}}", "Paint it.", output], "{profile}");
    }
    let first = turn(
        PlainText,
        yaml,
        1,
        Said { prompt: "Paint it.", reply: "Paint it.", permission: None, delegated: None, request: None },
    );
    assert_eq!(first.stdout, b"You want: Paint it.\n");
}

#[test]
fn a_reply_that_was_not_expected_ends_the_play() {
    let said = Said { prompt: "p", reply: "red", permission: None, delegated: None, request: None };
    let played = turn(CodexNdjson, "[[end], [expect_reply: blue, say: on]]", 2, said);
    let sentence = "turn 2, act 1 (expect_reply): what the user said, \"red\", does not contain \"blue\"";
    assert_eq!((played.stdout.len(), played.last), (0, Action::Mismatch(sentence.to_owned())));
}

const NOTHING_SAID: Said<'_> = Said { prompt: "", reply: "", permission: None, delegated: None, request: None };
const ASKING: [ProfileId; 2] = [ClaudeStreamJson, QwenStreamJson];

/// A line as the runtime answers it, with what that is an answer to.
fn answer(profile: ProfileId, id: &str, text: &str) -> String {
    let input = json!({"command": "rm -rf build"});
    let question = CallQuestion { call_id: id, input: Some(&input), asked: None };
    skillrun_engine::input::answer(profile, &question, text).expect("it asks")
}

#[test]
fn an_engine_asks_before_a_call_and_continues() {
    let yaml = r#"
- - say: "{{permission}}"
  - permission: {tool: Bash, input: {command: "rm -rf {{prompt}}"}}
  - say: "{{permission}}"
  - permission: {tool: Write}
  - write: {path: a.txt, content: "{{permission}}"}
  - say: "{{permission}} {{reply}}"
"#;
    let said = Said { prompt: "build", reply: "build", permission: None, delegated: None, request: None };
    for profile in ASKING {
        let answers = [("permission_t1_2", "yes"), ("permission_t1_4", "No, {{reply}}.")];
        let answers = answers.map(|(id, text)| answer(profile, id, text));
        let played = answered(profile, yaml, 1, said, &answers.each_ref().map(String::as_str));
        let judged = played.auto();
        assert_eq!(judged.messages(), ["{{permission}}", "allow", "deny: No, {{reply}}. build"], "{profile}");
        let asked: Vec<_> =
            judged.questions.into_iter().map(|asked| (asked.call_id, asked.tool, asked.input)).collect();
        let question = |id: &str, tool: &str, input| (id.to_owned(), tool.to_owned(), Some(input));
        let expected = [
            question("permission_t1_2", "Bash", json!({"command": "rm -rf build"})),
            question("permission_t1_4", "Write", json!({})),
        ];
        assert_eq!(asked, expected, "{profile}");
        assert_eq!(judged.settled.verdict.run_status, RunStatus::Succeeded, "{profile}");
        assert_eq!((judged.facts.parse.raw, judged.facts.parse.unknown), (0, 0), "{profile}");
    }
}

#[test]
fn what_is_no_answer_ends_the_play() {
    let yaml = "[[end], [permission: {tool: Bash}, say: never]]";
    let asked = "turn 2, act 1 (permission): ";
    for profile in ASKING {
        let other = answer(profile, "permission_t2_2", "yes");
        for (lines, sentence) in [
            (vec!["yes"], "the line on stdin, \"yes\", is not an answer to permission_t2_1".to_owned()),
            (vec![other.as_str()], format!("the line on stdin, {other:?}, is not an answer to permission_t2_1")),
            (vec![], "stdin ended before an answer to permission_t2_1 came".to_owned()),
        ] {
            let played = answered(profile, yaml, 2, NOTHING_SAID, &lines);
            assert_eq!(played.last, Action::Mismatch(format!("{asked}{sentence}")), "{profile}");
            assert_eq!(played.auto().questions.len(), 1, "{profile}");
        }
        let cut = turn(profile, "[[cut: 9, permission: {tool: Bash}]]", 1, NOTHING_SAID);
        assert_eq!(cut.last, Action::Exit(0), "{profile}: a question that was cut gets no answer");
    }
}

#[test]
fn only_a_living_engine_that_can_ask_may_ask() {
    let script = script("[[end], [say: a, permission: {tool: Bash}]]");
    for profile in formats::spoken() {
        let refused = |life| script.check(*profile, life).map_err(|error| error.to_string());
        if ASKING.contains(profile) {
            let alone =
                "turn 2, act 2 (permission): its answer comes on stdin, to which only a --sticky engine listens";
            assert_eq!((refused(Life::Sticky), refused(Life::OneTurn)), (Ok(()), Err(alone.to_owned())));
        } else {
            let never = Err(format!("turn 2, act 2 (permission): {profile} does not ask for permission"));
            assert_eq!((refused(Life::Sticky), refused(Life::OneTurn)), (never.clone(), never));
        }
    }
}

#[test]
fn names_are_unique_in_a_session_and_the_same_every_time() {
    let yaml = "[[say: a, tool: {name: t}, say: b], [say: c]]";
    for profile in EVENTS {
        let said = Said { prompt: "p", reply: "r", permission: None, delegated: None, request: None };
        let [first, again, second] = [1, 1, 2].map(|number| turn(profile, yaml, number, said));
        assert_eq!(first.stdout, again.stdout, "{profile}");
        let names = |played: &Played| -> Vec<String> {
            played.auto().facts.messages.into_iter().map(|message| message.message_id).collect()
        };
        // codex restarts its numbers in every turn, and gemini's messages have no name; both get the attempt's number.
        let own_names = !matches!(profile, CodexNdjson | GeminiStreamJson);
        assert!(!own_names || !names(&first).contains(&names(&second)[0]), "{profile}");
    }
}

/// Turns of a sticky engine that got into one recording: each takes the end before it back.
#[test]
fn a_turn_after_another_takes_its_end_back() {
    let yaml = "[[say: a], [say: b, exit: 0]]";
    let said = Said { prompt: "p", reply: "r", permission: None, delegated: None, request: None };
    for profile in EVENTS {
        let [mut first, second] = [1, 2].map(|number| turn(profile, yaml, number, said));
        first.stdout.extend(second.stdout);
        assert_eq!(first.auto().settled.verdict.rule, Rule::EndMissing, "{profile}");
    }
}
