//! `skillrun ask` and `skillrun chat`: an engine without a skill, from the command line and in a terminal.

use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::process::{Output, Stdio};

use lab::Lab;
use serde_json::json;

use crate::on_terminal::Terminal;

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `ask` with this text on stdin.
fn ask_stdin(lab: &Lab, text: &[u8]) -> Output {
    with_stdin(lab, &["ask", "-", "--engine", "scripted"], text)
}

#[test]
fn ask_prints_the_answer_alone() {
    let lab = Lab::new();
    let asked = lab.output(&["ask", "Why is the sky blue?", "--engine", "scripted"]);
    assert_eq!(
        (asked.status.code(), stdout(&asked).as_str()),
        (Some(0), "Why is the sky blue?\n"),
        "{}",
        stderr(&asked)
    );
    assert_eq!(stderr(&asked), "");
    let piped = ask_stdin(&lab, b"one\n two \n\n");
    assert_eq!((piped.status.code(), stdout(&piped).as_str()), (Some(0), "one\n two\n"), "{}", stderr(&piped));
    let result = lab.json(&["ask", "Why?", "--engine", "scripted", "--json"]);
    assert_eq!(
        (&result["status"], &result["text"], &result["output"]),
        (&json!("succeeded"), &json!("Why?"), &json!(null))
    );
}

/// The setting applies to skills; a prompt has no marker.
#[test]
fn ask_ignores_the_setting_require_marker() {
    let lab = Lab::new();
    lab.settings("require_marker = true\nengine = \"scripted\"\n");
    let asked = lab.output(&["ask", "Why?"]);
    assert_eq!((asked.status.code(), stdout(&asked).as_str()), (Some(0), "Why?\n"), "{}", stderr(&asked));
}

#[test]
fn ask_fails_with_the_exit_code_of_its_turn() {
    let lab = Lab::new();
    for (script, code, words) in [
        ("- - say: Half an\n  - fail: the model is gone\n", 1, "the run failed: ENGINE_FAILED · the model is gone"),
        ("- - say: Half an\n  - hang\n", 3, "the run failed: TIMEOUT"),
    ] {
        lab.write("script.yaml", script);
        let words_of = ["ask", "Why?", "--engine", "scripted", "--script", "script.yaml", "--stall", "1"];
        let asked = lab.output(&words_of);
        assert_eq!((asked.status.code(), stdout(&asked).as_str()), (Some(code), ""), "{}", stderr(&asked));
        assert!(stderr(&asked).contains(words), "{}", stderr(&asked));
    }
}

#[test]
fn ask_refuses_unusable_prompts_in_one_sentence() {
    let lab = Lab::new();
    let cases: [(&[u8], &str); 4] = [
        (b"\n", "error: the prompt is empty; give a text\n"),
        (b"a\0b", "error: the prompt contains a NUL character at byte 1; remove it\n"),
        (
            b"caf\xe9",
            "error: the prompt is not UTF-8: byte 3 is invalid; convert it to UTF-8, or attach it as a file\n",
        ),
        (&[b'x'; 600_000], "error: the prompt has more than 524288 bytes (PROMPT_MAX); attach longer text as a file\n"),
    ];
    for (text, sentence) in cases {
        let asked = ask_stdin(&lab, text);
        assert_eq!((asked.status.code(), stderr(&asked).as_str()), (Some(2), sentence));
    }
    let mut command = lab.command(&["ask"]);
    command.arg(std::ffi::OsString::from_vec(b"caf\xe9".to_vec())).args(["--engine", "scripted"]);
    let asked = command.output().expect("an end");
    assert_eq!((asked.status.code(), stderr(&asked).as_str()), (Some(2), cases[2].1));
    assert_eq!(lab.runs(), Vec::<String>::new());
}

/// A command with this text on stdin.
fn with_stdin(lab: &Lab, words: &[&str], text: &[u8]) -> Output {
    let mut command = lab.command(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    let mut stdin = child.stdin.take().expect("stdin");
    // It may have refused the text before the end.
    let _ = stdin.write_all(text);
    drop(stdin);
    child.wait_with_output().expect("an end")
}

/// What a run consists of, in which nothing may change.
fn contents(lab: &Lab, run: &str) -> (Vec<serde_json::Value>, Vec<std::ffi::OsString>) {
    let entries = std::fs::read_dir(lab.run_folder(run).join("inputs")).into_iter().flatten().flatten();
    (lab.events(run), entries.map(|entry| entry.file_name()).collect())
}

#[test]
fn unusable_prompts_are_refused_and_change_nothing() {
    let lab = Lab::with_skill("talk", "- - say: First.\n- - say: 'Second: {{reply}}'\n");
    let begun = lab.output(&["run", "./talk", "--engine", "scripted", "--mode", "conversation"]);
    assert_eq!(begun.status.code(), Some(6), "{}", stderr(&begun));
    let run = lab.wait_run();
    lab.write("table.csv", "1,2");
    let before = contents(&lab, &run);
    let empty = "the prompt is empty; give a text";
    let nul = "contains a NUL character at byte 1; remove it";
    let not_utf8 = "the prompt is not UTF-8: byte 3 is invalid; convert it to UTF-8, or attach it as a file";
    let long = "the prompt has more than 524288 bytes (PROMPT_MAX); attach longer text as a file";
    let texts: [(&[u8], &str); 5] =
        [(b" \n\n", empty), (b"", empty), (b"a\0b", nul), (b"caf\xe9", not_utf8), (&[b'x'; 600_000], long)];
    for (text, sentence) in texts {
        for words in [&["reply", &run, "-", "--file", "table.csv"][..], &["continue", &run, "-", "-e", "scripted"]] {
            let refused = with_stdin(&lab, words, text);
            let said = stderr(&refused);
            assert_eq!(refused.status.code(), Some(2), "{words:?}: {said}");
            assert!(said.starts_with("error: ") && said.ends_with(&format!("{sentence}\n")), "{words:?}: {said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        assert_eq!((contents(&lab, &run), lab.runs().len()), (before.clone(), 1), "{sentence}");
    }
    let bad_word = || std::ffi::OsString::from_vec(b"caf\xe9".to_vec());
    for words in [&["reply", &run][..], &["continue", &run, "-e", "scripted"], &["interrupt", &run, "--say"]] {
        let refused = lab.command(words).arg(bad_word()).output().expect("an end");
        assert_eq!((refused.status.code(), stderr(&refused)), (Some(2), format!("error: {not_utf8}\n")), "{words:?}");
        let refused = lab.output(&[words, &[" "]].concat());
        assert_eq!(refused.status.code(), Some(2), "{words:?}");
        assert!(stderr(&refused).ends_with(&format!("{empty}\n")), "{words:?}: {}", stderr(&refused));
    }
    assert_eq!((contents(&lab, &run), lab.runs().len()), (before, 1));
    // The prompt is sent as it is.
    let sent = with_stdin(&lab, &["reply", &run, "-"], b" still \n here\n");
    assert!(stdout(&sent).contains("Second:  still"), "{} {}", stdout(&sent), stderr(&sent));
}

/// It may be all that a question needs.
#[test]
fn blank_answer_to_a_question_is_accepted() {
    let script = "- - ask: {prompt: Anything else?}\n- - output: {answer: 'It was <{{reply}}>.'}\n    done: true\n";
    let lab = Lab::with_skill("asks", script);
    let asked = lab.output(&["run", "./asks", "--engine", "scripted", "--mode", "interactive"]);
    assert_eq!(asked.status.code(), Some(6), "{}", stderr(&asked));
    let refused = with_stdin(&lab, &["reply", "last", "-"], b"a\0b");
    let sentence = "the answer contains a NUL character at byte 1; remove it\n";
    assert!(stderr(&refused).ends_with(sentence), "{}", stderr(&refused));
    let answered = lab.output(&["reply", "last", ""]);
    assert_eq!(answered.status.code(), Some(0), "{}", stderr(&answered));
    assert_eq!(lab.json(&["result", "last", "--json"])["output"]["answer"], "It was <>.");
}

#[test]
fn chat_refuses_lines_of_a_pipe_and_takes_the_next_one() {
    let lab = Lab::new();
    let text = [&b"caf\xe9\na\0b\n"[..], &[b'x'; 600_000], b"\nWhy?\n/close\n"].concat();
    let chatted = with_stdin(&lab, &["chat", "--engine", "scripted"], &text);
    let said = stderr(&chatted);
    assert_eq!(chatted.status.code(), Some(0), "{said}");
    for sentence in ["the prompt is not UTF-8: byte 3", "a NUL character at byte 1", "more than 524288 bytes"] {
        assert_eq!(said.matches(sentence).count(), 1, "{said}");
    }
    let run = lab.wait_run();
    let prompts: Vec<_> = lab.events(&run).into_iter().filter(|event| lab::kind(event) == "message.user").collect();
    assert_eq!(prompts.len(), 1);
    assert_eq!(prompts[0]["data"]["text"], "Why?");
}

/// Regression: in lists, every continued conversation was called "Below is the transcript of a conversation …".
#[test]
fn continued_run_is_listed_with_its_own_prompt() {
    let lab = Lab::new();
    assert!(lab.output(&["ask", "Why is the sky blue?", "--engine", "scripted"]).status.success());
    let continued = lab.output(&["continue", "last", "And at night?", "--engine", "scripted"]);
    assert_eq!(continued.status.code(), Some(6), "{}", stderr(&continued));
    let listed = lab.json(&["ls", "--json"]);
    let titles: Vec<_> = listed["runs"].as_array().expect("runs").iter().map(|run| run["title"].clone()).collect();
    assert_eq!(titles, ["And at night?", "Why is the sky blue?"]);
    let shown = stdout(&lab.output(&["ls"]));
    assert!(shown.contains("And at night?"), "{shown}");
    // Regression: "the agent did not say that it was done", as of a run of a skill.
    let decided = lab.json(&["diagnose", "last", "--json"])["decided"].clone();
    let words = "the turn ended as it should, and the conversation waits for the next prompt";
    assert_eq!((&decided["rule"], &decided["words"]), (&json!("14"), &json!(words)));
    let run = lab.runs().pop().expect("a run");
    let sent = lab.events(&run).into_iter().find(|event| lab::kind(event) == "message.user").expect("a message");
    let text = sent["data"]["text"].as_str().expect("a text");
    assert!(text.contains("Why is the sky blue?") && text.ends_with("And at night?"), "{text}");
}

const TALK: &str = "- - say: 'First: {{reply}}'\n\
                    - - say: Second begins.\n  - hang\n\
                    - - say: 'Third: {{reply}}'\n\
                    - - say: Half\n  - fail: the model is gone\n";

fn chat(lab: &Lab, words: &[&str]) -> Terminal {
    let mut command = lab.command(&[&["chat"], words].concat());
    command.env("TERM", "xterm");
    Terminal::new(command)
}

fn types(lab: &Lab, run: &str) -> Vec<String> {
    lab.events(run).iter().map(|event| lab::kind(event).to_owned()).collect()
}

/// Waits until the Log has these words.
fn wait_log(lab: &Lab, run: &str, words: &str) {
    lab::wait_until(words, || lab.events(run).iter().any(|event| event.to_string().contains(words)));
}

/// Waits for the prompt after this text.
fn wait_prompt(terminal: &Terminal, after: &str) {
    let has_prompt = || terminal.screen().rsplit_once(after).is_some_and(|(_, behind)| behind.contains("> "));
    lab::wait_until(&format!("a prompt after {after:?}"), has_prompt);
}

/// Two turns, an interrupt with Esc, a line that is continued, a turn that fails, and the end.
#[test]
fn chat_takes_turns_until_it_is_closed() {
    let lab = Lab::new();
    lab.write("talk.yaml", TALK);
    let mut terminal = chat(&lab, &["--engine", "scripted", "--script", "talk.yaml"]);
    terminal.wait_for("> ", 1);
    terminal.press("one\r");
    terminal.wait_for("First: one", 1);
    let run = lab.wait_run();
    wait_log(&lab, &run, "\"status\":\"waiting_user\"");
    terminal.press("two\r");
    // The message is on the terminal while the turn runs.
    terminal.wait_for("Second begins.", 1);
    terminal.press("\x1b");
    wait_prompt(&terminal, "! the turn was interrupted; the text above is not an answer");
    terminal.press("three\\\r");
    terminal.press("lines\r");
    terminal.wait_for("Third: three", 1);
    wait_log(&lab, &run, "Third: three\\nlines");
    terminal.press("four\r");
    let failed = "! the turn failed: ENGINE_FAILED · the model is gone; the text above is not an answer";
    terminal.wait_for(failed, 1);
    terminal.press("/clos\r");
    terminal.wait_for("note: there is no command /clos; did you mean /close?", 1);
    terminal.press("/close\r");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    lab.wait_quiet();
    assert_eq!(lab.wait_end(&run)["event"]["type"], "run.completed");
    let result = lab.json(&["result", &run, "--json"]);
    assert_eq!((&result["status"], &result["text"]), (&json!("closed"), &json!(null)));
    assert_eq!(result["turns"], json!({"completed": 2, "partial_failed": 1, "interrupted": 1}));
    assert_eq!(types(&lab, &run).iter().filter(|kind| *kind == "message.user").count(), 4);
}

/// The conversation stays at rest, the arrow key has the prompt of the earlier chat, and another chat continues it.
#[test]
fn chat_is_continued_after_quit() {
    let lab = Lab::new();
    let mut terminal = chat(&lab, &["--engine", "scripted"]);
    terminal.wait_for("> ", 1);
    terminal.press("Why is the sky blue?\r");
    let run = lab.wait_run();
    wait_log(&lab, &run, "\"status\":\"waiting_user\"");
    terminal.press("/quit\r");
    terminal.wait_for("the conversation stays open; continue it with: skillrun chat ", 1);
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert_eq!(lab.json(&["show", &run, "--json"])["status"], "waiting_user");

    let mut terminal = chat(&lab, &["last"]);
    terminal.wait_for("Why is the sky blue? · on scripted", 1);
    terminal.wait_for("> ", 1);
    // The key up.
    terminal.press("\x1b[A");
    terminal.wait_for("> Why is the sky blue?", 1);
    terminal.press(" Really?\r");
    wait_log(&lab, &run, "Why is the sky blue? Really?");
    // The answer, and the prompt after it. Then Ctrl-D.
    wait_prompt(&terminal, "\nWhy is the sky blue? Really?");
    terminal.press("\x04");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    let closed = lab.output(&["close", &run]);
    assert!(closed.status.success(), "{}", stderr(&closed));
    let again = lab.output(&["chat", &run]);
    let sentence =
        format!("error: run {run} is closed and takes no more prompts; `skillrun chat` begins a new conversation\n");
    assert_eq!((again.status.code(), stderr(&again)), (Some(2), sentence));
}
