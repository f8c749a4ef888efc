//! `skillrun token` and `skillrun open` as others see them: what they print is good for a server, and once where it
//! must be.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::SystemTime;

use serde_json::Value;
use skillrun_auth::server_note::Listening;
use skillrun_auth::{Scope, ServerNote, TokenFile, Tokens, links};
use skillrun_model::Timestamp;

fn skillrun(data: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_skillrun"));
    command.env("SKILLRUN_CONFIG", "/dev/null").env("SKILLRUN_DATA", data).args(words);
    command.output().expect("skillrun runs")
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn now() -> Timestamp {
    SystemTime::now().try_into().expect("a moment")
}

/// A server that is this process.
fn note(data: &Path) -> ServerNote {
    let listening = Listening {
        listen: "localhost:7333".to_owned(),
        url: "http://localhost:7333".to_owned(),
        token_file: TokenFile::default_path(data),
        started_at: now(),
    };
    ServerNote::of_this_process(listening).expect("a note")
}

#[test]
fn a_token_is_good_until_it_is_revoked() {
    let dir = tempfile::tempdir().expect("a folder");
    let data = dir.path();
    let first = TokenFile::load_or_make(&TokenFile::default_path(data), [1; 32]).expect("a token");
    let tokens = Tokens::new(first, data);
    let scope = |token: &str| tokens.check(token.as_bytes(), now()).map(|granted| granted.scope);
    let printed = text(skillrun(dir.path(), &["token", "create", "people"]));
    let people = printed.lines().next().expect("a line");
    let made: Value = serde_json::from_str(&text(skillrun(
        dir.path(),
        &["token", "create", "program", "--scope", "admin", "--days", "1", "--json"],
    )))
    .expect("JSON");
    let program = made["token"].as_str().expect("a token");
    assert_eq!((scope(people), scope(program)), (Some(Scope::Run), Some(Scope::Admin)));
    let in_two_days = now().plus_nanos(2 * 24 * 60 * 60 * 1_000_000_000);
    assert!(tokens.check(program.as_bytes(), in_two_days).is_none());
    assert!(tokens.check(people.as_bytes(), in_two_days).is_some());
    text(skillrun(dir.path(), &["token", "revoke", "program"]));
    assert_eq!((scope(people), scope(program)), (Some(Scope::Run), None));
    let listed = text(skillrun(dir.path(), &["token", "list", "--json"]));
    assert!(!listed.contains("skr_") && !listed.contains("hash"), "{listed}");
    let mode = std::fs::metadata(dir.path().join("tokens.json")).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_link_opens_the_running_server_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let data = dir.path();
    let note = note(data);
    note.write(data).expect("written");
    let url = text(skillrun(dir.path(), &["open"]));
    let code = url.trim().strip_prefix("http://localhost:7333/open#code=").unwrap_or_else(|| panic!("{url}"));
    assert!(links::take(data, code, now()));
    assert!(!links::take(data, code, now()));
    let document: Value = serde_json::from_str(&text(skillrun(dir.path(), &["open", "--json"]))).expect("JSON");
    let other = document["url"].as_str().and_then(|url| url.split_once("#code=")).expect("a link").1;
    assert_ne!(other, code);
    let end: Timestamp = document["expires_at"].as_str().and_then(|end| end.parse().ok()).expect("a moment");
    assert!(!links::take(data, other, end));
    note.remove(data).expect("removed");
    let none = skillrun(dir.path(), &["open"]);
    assert_eq!(none.status.code(), Some(4));
    let told = String::from_utf8_lossy(&none.stderr).into_owned();
    assert_eq!(told, "error: no server is running for this data folder; start one with `skillrun serve`\n");
}

/// Regression: a setting was changed, and the server that had read it at its start continued with the old value.
#[test]
fn a_changed_setting_names_the_server_that_must_restart() {
    let dir = tempfile::tempdir().expect("a folder");
    let (data, config) = (dir.path().join("data"), dir.path().join("config.toml"));
    std::fs::create_dir(&data).expect("a folder");
    let config = config.to_str().expect("a path");
    let said = |words: &[&str]| {
        let output = skillrun(&data, &[words, &["--config", config]].concat());
        (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let set = ["config", "set", "slots.total", "3"];
    assert_eq!(said(&set), (format!("slots.total is set in {config}\n"), String::new()));
    note(&data).write(&data).expect("a note");
    let restart = format!(
        "note: the running server (process {}) has read its settings already; restart it to apply the change\n",
        std::process::id()
    );
    assert_eq!(said(&set), (format!("slots.total is set in {config}\n"), restart.clone()));
    let json: Value = serde_json::from_str(&said(&[&set[..], &["--json"]].concat()).0).expect("JSON");
    assert_eq!(json["restart_server"], std::process::id());
    assert_eq!(said(&["config", "unset", "slots.total"]).1, restart);
    said(&["config", "set", "consent", "claude"]);
    assert_eq!(said(&["consent", "--revoke", "claude"]).1, restart);
}
