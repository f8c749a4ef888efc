//! Secrets after everything was killed: what recovers, verifies and normalizes the run does not have the values, and no
//! view puts them together again.

use std::fs;
use std::path::{Path, PathBuf};

use lab::{Lab, eventually, is_end, signal};
use serde_json::Value;

const SECRET: &str = "sk-live-0123+456/789abc";
const TOKEN: &str = "first-token-of-the-server";

/// Deltas of a gemini stream: the secret in halves, with an escape sequence, with a NUL and with an escaped letter in it;
/// the server's token; and the same in base64. Then the engine hangs.
fn script() -> String {
    let (one, other) = SECRET.split_at(11);
    let texts = [
        format!("halves {one}"),
        format!("{other}, "),
        format!("colour {one}\\u001b[1;31m{other}, "),
        format!("nul {one}\\u0000{other}, "),
        SECRET.replace('+', "\\u002B"),
        format!(", token {}", &TOKEN[..9]),
        format!("{}, ", &TOKEN[9..]),
        "coded c2stbGl2ZS0wMTIzKzQ1".to_owned(),
        "Ni83ODlhYmM= end".to_owned(),
    ];
    let mut script = "- - say: I begin.\n".to_owned();
    for text in texts {
        let line = format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#);
        script.push_str(&format!("  - raw: '{line}'\n"));
    }
    script + "  - sleep_ms: 60000\n"
}

fn is_left_out(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "log" || extension == "yaml")
}

/// Every file below a folder except the streams of the evidence and the script with the engine's output.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&path, found),
            Ok(kind) if kind.is_file() && !is_left_out(&path) => found.push(path),
            Ok(_) | Err(_) => {}
        }
    }
}

fn assert_hidden(what: &str, shown: &str) {
    let (one, other) = SECRET.split_at(11);
    for value in [SECRET, TOKEN, "c2stbGl2ZS0wMTIzKzQ1Ni83ODlhYm", one, other] {
        assert!(!shown.contains(value), "{value} is in {what}: {shown}");
    }
}

/// A run whose engine has written everything, whose owner and host were killed.
fn killed(lab: &Lab) -> String {
    let skill = lab.skill("leaks", &script());
    fs::write(lab.data().join("server.token"), format!("{TOKEN}\n")).expect("written");
    let words = ["run", skill.to_str().expect("a path"), "--engine", "scripted", "--profile", "gemini_stream_json"];
    let mut command = lab.command(&[&words[..], &["--mode", "auto", "--secret", "KEY", "--json"]].concat());
    let mut owner = command.env("KEY", SECRET).stdout(std::process::Stdio::null()).spawn().expect("started");
    let audit = |run: &String| lab.run_folder(run).join(".audit");
    let is_written = |run: &String| {
        let index = fs::read_to_string(audit(run).join("chunks.1.jsonl")).unwrap_or_default();
        let last = index.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok()?["to"].as_u64());
        let log = fs::read(audit(run).join("stdout.1.log")).unwrap_or_default();
        log.ends_with(b"end\",\"delta\":true}\n") && last == Some(log.len() as u64)
    };
    let run = eventually("the output", || lab.runs().into_iter().find(is_written));
    lab::kill(&mut owner);
    signal(&lab.run_json(&run, ".audit/claim.1")["host_pid"], "KILL");
    run
}

#[test]
fn without_the_values_nothing_is_shown_in_plain_text() {
    let lab = Lab::new();
    let run = killed(&lab);
    let folder = lab.run_folder(&run);
    let recovered = lab.json(&["recover", "--json"]);
    assert_eq!(recovered["broken"], serde_json::json!({}));
    assert!(lab.events(&run).last().is_some_and(is_end));
    for words in [&["verify", &run][..], &["normalize", folder.to_str().expect("a path"), "--format", "fcmp"]] {
        let output = lab.output(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
        assert_hidden(words[0], &String::from_utf8_lossy(&output.stdout));
    }
    let mut all = Vec::new();
    files(&folder, &mut all);
    assert!(all.len() > 8, "{all:?}");
    for path in all {
        assert_hidden(&path.display().to_string(), &String::from_utf8_lossy(&fs::read(&path).expect("a file")));
    }
    let log = fs::read_to_string(folder.join("events.jsonl")).expect("a Log");
    for word in ["halves *", "colour *", "nul *", "token *", "coded *"] {
        assert!(log.contains(word), "{word}: {log}");
    }
    lab.wait_quiet();
}

/// The mask was synced last, an empty one was believed, and recovery wrote the secret into the Log.
#[test]
fn a_mask_that_a_power_cut_took_hides_everything() {
    let lab = Lab::new();
    let run = killed(&lab);
    let folder = lab.run_folder(&run);
    // The power cut: evidence and index are on the disk, the mask and the events are not.
    let text = fs::read_to_string(folder.join("events.jsonl")).expect("a Log");
    let kept: String = text.split_inclusive('\n').take_while(|line| !line.contains("agent.")).collect();
    fs::write(folder.join("events.jsonl"), kept).expect("written");
    fs::remove_file(folder.join("events.idx")).ok();
    fs::write(folder.join(".audit/redact.1.jsonl"), "").expect("written");
    lab.json(&["recover", "--json"]);
    let events = lab.events(&run);
    assert!(events.last().is_some_and(is_end), "{events:?}");
    let log = fs::read_to_string(folder.join("events.jsonl")).expect("a Log");
    assert_hidden("the Log", &log);
    assert!(log.contains("MASK_INCOMPLETE"), "{log}");
    let raw = lab.output(&["logs", &run, "--raw"]);
    assert_hidden("logs --raw", &String::from_utf8_lossy(&[raw.stdout, raw.stderr].concat()));
    lab.wait_quiet();
}
