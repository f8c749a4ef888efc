//! What real agents wrote: trimmed recordings of the corpus, and complete ones where they are beside the repository.

use std::fs;

use serde_json::Value;
use skillrun_model::{ProfileId, Stream};
use testkit::paths;

use super::stdout;
use crate::profiles::story::{self, Story};

fn corpus(folder: &str, attempt: u32) -> Story {
    let audit = paths::corpus().join(folder).join(".audit");
    let read = |name: &str| fs::read_to_string(audit.join(format!("{name}.{attempt}.log"))).expect(name);
    let (stdout, stderr) = (read("stdout"), read("stderr"));
    story::read(ProfileId::AcpJsonrpc, &[(Stream::Stdout, &stdout), (Stream::Stderr, &stderr)])
}

/// The records that matter to a user.
fn told(story: &Story) -> Vec<String> {
    let mut facts = story.facts();
    facts.retain(|fact| !fact.starts_with("session") && !fact.starts_with("raw"));
    facts
}

const ANSWER: &str =
    r#"{"__SKILL_DONE__": true, "status": "ok", "summary": "fake run finished", "unicode": "naïve – 完成 ✅"}"#;
const COMMAND: &str = "date -u +%Y > fake-artifact.txt; cat fake-artifact.txt; echo to-stderr >&2";

fn ends_with(story: &Story, expected: &[&str]) {
    let told = told(story);
    assert_eq!(told[told.len().saturating_sub(expected.len())..], *expected, "{told:#?}");
}

#[test]
fn codex_calls_a_tool_and_is_done() {
    let story = corpus("acp-codex-tool-then-done", 1);
    let call = format!(r#"tool call_dd80a3172deb exec_command {{"command":"{COMMAND}","cwd":"/workspace"}}"#);
    let answer = format!("message msg_resp_9a59b237ffca4739: {ANSWER}");
    ends_with(
        &story,
        &[&call, "completed call_dd80a3172deb: 2026\nto-stderr\n", &answer, "usage 200 40 0 0", "end success"],
    );
    assert!(told(&story)[0].starts_with("Warning ENGINE_WARNING engine: Warning: Model metadata"));
    assert_eq!(story.facts()[0], "session 01a1dcb9-a7fa-7090-91c9-229af8ae7469");
}

#[test]
fn claude_asks_and_is_done() {
    let told = told(&corpus("acp-claude-permission-then-done", 1));
    let input = format!(r#"{{"command":"{COMMAND}"}}"#);
    assert_eq!(told[0], format!("tool toolu_7c2b77be9c9140df Bash {input}"));
    assert!(told[1].starts_with(&format!("question 0 Bash {input} [allow-once Yes AllowOnce]")), "{}", told[1]);
    assert_eq!(told[2], "completed toolu_7c2b77be9c9140df: 2026\nto-stderr");
    let answer = format!("message msg_6c166d12921b4e09: {ANSWER}");
    assert_eq!(told[3..], [&answer, "usage 200 40 0 -", "end success"]);
}

#[test]
fn opencode_calls_a_tool_and_is_done() {
    let told = told(&corpus("acp-opencode-tool-then-done", 1));
    let call = format!(r#"tool call_e7a6564922e0 execute {{"command":"{COMMAND}","cwd":"/workspace"}}"#);
    let answer = format!("message msg_1dcbefe4a001Ynd3FUQEv2anZa: {ANSWER}");
    let output = "completed call_e7a6564922e0: 2026\nto-stderr\n";
    assert_eq!(told, [&call, output, &answer, "usage 100 20 - -", "end success"]);
}

/// gemini asks before it reports the call, and names no message.
#[test]
fn gemini_asks_and_is_done() {
    let told = told(&corpus("acp-gemini-permission-then-done", 1));
    let id = "run_shell_command__run_shell_command_1794767154112_0";
    let title = format!(r#"{{"title":"{COMMAND}"}}"#);
    assert_eq!(told[0], format!("tool {id} execute {title}"));
    assert!(told[1].starts_with(&format!("question 0 execute {title} [proceed_always")), "{}", told[1]);
    let answer = format!("message: {ANSWER}");
    assert_eq!(told[2..], [&format!("completed {id}: -"), &answer, "usage 200 40 - -", "end success"]);
}

#[test]
fn a_question_and_in_the_next_attempt_the_answer() {
    for folder in ["acp-opencode-asks-then-done", "acp-codex-asks-then-done"] {
        let (first, second) = (told(&corpus(folder, 1)), told(&corpus(folder, 2)));
        let message = |told: &[String]| told.iter().rfind(|fact| fact.starts_with("message ")).cloned();
        assert!(message(&first).is_some_and(|text| text.ends_with("**red** or **blue**?")), "{first:?}");
        assert!(message(&second).is_some_and(|text| text.contains("\"__SKILL_DONE__\": true")), "{second:?}");
        for told in [first, second] {
            assert_eq!(told.last().map(String::as_str), Some("end success"));
            assert_eq!(told.iter().filter(|fact| fact.starts_with("message")).count(), 1, "{told:?}");
        }
    }
}

#[test]
fn http_429_is_a_quota_failure_and_no_message() {
    for (folder, words) in [
        ("acp-codex-quota-behind-end-turn", "exceeded retry limit, last status: 429 Too Many Requests"),
        (
            "acp-claude-quota",
            "Internal error: API Error: Request rejected (429) · Rate limit reached for fake-model: quota exceeded",
        ),
        ("acp-opencode-quota", "Internal error: Rate limit reached for fake-model: quota exceeded"),
    ] {
        let story = corpus(folder, 1);
        ends_with(&story, &[&format!("end failure quota: {words}")]);
        let is_text = |line: &String| ["message", "partial", "delta"].iter().any(|word| line.starts_with(word));
        assert!(!story.lines().iter().any(is_text), "{folder}: {:#?}", story.lines());
    }
}

#[test]
fn a_refused_login_is_the_users() {
    let story = corpus("acp-claude-login-refused", 1);
    ends_with(&story, &["end failure auth: Authentication required"]);
}

#[test]
fn canceled_turns_answer_nothing() {
    let told = told(&corpus("acp-claude-canceled-in-tool", 1));
    assert!(
        told.iter().any(|fact| fact.starts_with("failed toolu_68c350ed2c11412e (The user doesn't want")),
        "{told:?}"
    );
    assert_eq!(told.last().map(String::as_str), Some("end failure engine: cancelled by the client"));
    let story = corpus("acp-codex-canceled-in-message", 1);
    let partial = r#"partial msg_resp_3d44ba59d77447f3: {"__SKILL_DONE__": true, "status""#;
    ends_with(&story, &[partial, "end failure engine: cancelled by the client"]);
}

#[test]
fn a_loaded_session_shows_no_old_message() {
    for folder in ["acp-codex-loaded-session", "acp-claude-loaded-session"] {
        let told = told(&corpus(folder, 1));
        let messages: Vec<_> = told.iter().filter(|fact| fact.starts_with("message")).collect();
        assert_eq!(messages.len(), 1, "{told:#?}");
        assert!(messages[0].contains("All steps are done."), "{messages:?}");
        assert!(!told.iter().any(|fact| fact.starts_with("tool") || fact.starts_with("completed")), "{told:#?}");
        assert_eq!(told.last().map(String::as_str), Some("end success"));
    }
}

/// Symptom: an answer in the history ended a new turn. gemini replays most of the history after its response to
/// `session/load`.
#[test]
fn updates_after_session_load_are_history_until_now() {
    let told = told(&corpus("acp-gemini-loaded-session", 1));
    let id = "run_shell_command__run_shell_command_1794771784223_0";
    assert!(told[0].starts_with(&format!("tool {id} execute ")), "{told:#?}");
    let answer = r#"{"__SKILL_DONE__":true,"status":"ok","summary":"the run is finished","unicode":"naïve – 完成 ✅"}"#;
    let rest = [&format!("completed {id}: -"), &format!("message: {answer}"), "usage 200 40 - -", "end success"];
    assert_eq!(told[1..], rest);
}

#[test]
fn limits_and_a_session_that_is_gone() {
    ends_with(
        &corpus("acp-codex-token-limit", 1),
        &["end limit engine: Incomplete response returned, reason: max_output_tokens"],
    );
    ends_with(&corpus("acp-claude-refusal", 1), &["usage 200 40 0 -", "end refusal engine: refusal"]);
    let gone = "Internal error: no rollout found for thread id 01a1dcb9-a7fa-7090-91c9-229af8ae7469";
    ends_with(&corpus("acp-codex-unknown-session", 1), &[&format!("end failure session: {gone}")]);
}

/// All recordings, complete: nothing in them is unknown, and each session has its end.
#[test]
fn whole_recordings_have_nothing_unknown() {
    let Some(dir) = paths::recordings() else { return };
    let mut count = 0;
    for agent in ["codexacp-acp", "claudeacp-acp", "opencode-acp"] {
        for entry in fs::read_dir(dir.join(agent)).expect(agent) {
            let path = entry.expect("entry").path();
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            count += 1;
            let text = fs::read_to_string(&path).expect("a recording");
            let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            let written: String =
                lines.filter(|line| line["dir"] == "<-").map(|line| format!("{}\n", line["msg"])).collect();
            let facts = stdout(&written).facts();
            let odd: Vec<_> = facts.iter().filter(|f| f.starts_with("unknown") || f.starts_with("raw")).collect();
            assert!(odd.is_empty(), "{}: {odd:?}", path.display());
            let end = facts.iter().rfind(|fact| fact.starts_with("end ")).map(String::as_str).unwrap_or_default();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let expected = match name.split('.').nth(1) {
                Some("auto" | "interactive" | "load") => "end success",
                Some("err429") => "end failure quota",
                _ => "end failure engine: cancelled by the client",
            };
            assert!(end.starts_with(expected), "{}: {end}", path.display());
        }
    }
    assert!(count >= 21, "only {count} recordings");
}
