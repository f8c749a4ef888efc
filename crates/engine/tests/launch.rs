//! What every descriptor has in common when it is started: long prompts, refusals, untrusted values.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use skillrun_engine::files::{Existing, FileToWrite};
use skillrun_engine::launch::MAX_ARGUMENT;
use skillrun_engine::template::Placeholder;
use skillrun_engine::{Descriptor, Engines, Launch, StartRequest, resume, start};
use skillrun_model::status::Continuation;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_model::{ExecutionMode, ProfileId};
use skillrun_plan::{StdinPlan, Variable, VariableKind};

mod support;
use support::{request, variables, words};

fn shipped(name: &str) -> Descriptor {
    Engines::shipped().get(name).expect("an engine").clone()
}

/// A descriptor of an operator.
fn custom(text: &str) -> Descriptor {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("mine.toml"), text).expect("a file");
    Engines::load(Some(folder.path())).get("mine").unwrap_or_else(|error| panic!("{error}")).clone()
}

const MINE: &str = r#"
name = "mine"
title = "Mine"
profile = "plain_text"
continuation = "none"
[executable]
names = ["mine"]
[start]
argv = ["go", ["--skill", "{{skill_dir}}"], "{{prompt_flags}}"]
interactive = ["ask", "{{prompt_flags}}"]
[prompt]
argument = ["{{prompt}}"]
[permission.workspace]
posture = "not_enforced"
[permission.read_only]
posture = "not_enforced"
[permission.full]
posture = "not_enforced"
"#;

fn prompt_file(launch: &Launch) -> Option<&FileToWrite> {
    launch.files.iter().find(|file| file.path == Path::new("/run/prompt.1.txt"))
}

#[test]
fn a_long_prompt_goes_another_way() {
    let prompt = "x".repeat(MAX_ARGUMENT + 1);
    let request = StartRequest { prompt: &prompt, workspace_settings: WorkspaceSettings::Allow, ..request(&[]) };
    for (name, last) in [
        ("codex", "-"),
        ("opencode", "json"),
        ("claude", "--dangerously-skip-permissions"),
        ("gemini", "yolo"),
        ("qwen", "yolo"),
    ] {
        for launch in [start(&shipped(name), &request), resume(&shipped(name), &request, "ses_1")] {
            let launch = launch.expect("a launch");
            assert_eq!(launch.stdin, StdinPlan::File(Path::new("/run/prompt.1.txt").into()), "{name}");
            let file = prompt_file(&launch).expect("a file");
            assert_eq!((file.bytes.len(), file.existing), (prompt.len(), Existing::Replace));
            let words = words(&launch);
            assert!(words.last() == Some(&last) || words.last() == Some(&"ses_1"), "{words:?}");
        }
    }
    let launch = start(&shipped("scripted"), &request).expect("a launch");
    assert_eq!(words(&launch).last(), Some(&"--prompt=-"));
    let by_file = MINE.replace("[prompt]", "[prompt]\nfile = [\"--prompt-file={{prompt_file}}\"]");
    let launch = start(&custom(&by_file), &request).expect("a launch");
    assert_eq!(words(&launch), ["go", "--prompt-file=/run/prompt.1.txt"]);
    assert_eq!(launch.stdin, StdinPlan::Null);
    assert!(prompt_file(&launch).is_some());

    let error = start(&shipped("iflow"), &request).expect_err("no way");
    let expected = "iflow cannot take a prompt of 131072 bytes: it takes prompts only as arguments of up to 131071";
    assert_eq!(error.to_string(), expected);
}

/// Found by an attack: every user of the machine saw the prompt and the input in the list of processes.
#[test]
fn engines_that_read_stdin_get_no_prompt_argument() {
    const SECRET: &str = "the input of a run";
    let request = StartRequest { prompt: SECRET, ..request(&[]) };
    for name in ["codex", "opencode", "claude", "gemini", "qwen", "scripted"] {
        for launch in [start(&shipped(name), &request), resume(&shipped(name), &request, "ses_1")] {
            let launch = launch.expect("a launch");
            let shown = format!("{:?} {:?}", words(&launch), launch.variables);
            assert!(!shown.contains(SECRET), "{name}: {shown}");
            assert_eq!(launch.stdin, StdinPlan::File(Path::new("/run/prompt.1.txt").into()), "{name}");
            assert_eq!(prompt_file(&launch).map(|file| file.bytes.as_slice()), Some(SECRET.as_bytes()), "{name}");
        }
    }
    let iflow = start(&shipped("iflow"), &request).expect("a launch");
    assert!(words(&iflow).contains(&SECRET), "it has no other way");
}

#[test]
fn the_limit_is_the_kernels_to_the_byte() {
    let launch = |name: &str, prompt: &str| {
        let sticky = Some(Continuation::Sticky);
        start(&shipped(name), &StartRequest { prompt, continuation: sticky, ..request(&[]) })
    };
    // A process that is kept needs its stdin for replies.
    assert_eq!(launch("codex", &"x".repeat(MAX_ARGUMENT)).expect("a launch").stdin, StdinPlan::Pipe);
    // The flag is in the same word.
    assert!(launch("gemini", &"x".repeat(MAX_ARGUMENT)).is_err());
    let fits = "x".repeat(MAX_ARGUMENT - "--prompt=".len());
    assert_eq!(launch("gemini", &fits).expect("a launch").stdin, StdinPlan::Pipe);
}

#[test]
fn an_operator_may_set_a_lower_limit() {
    let with = |more: &str| custom(&MINE.replace("argument = [\"{{prompt}}\"]", more));
    let prompt = |prompt| StartRequest { prompt, ..request(&[]) };
    let both = with("argument = [\"--p={{prompt}}\"]\nfile = [\"--f={{prompt_file}}\"]\nlimit = 5");
    assert_eq!(words(&start(&both, &prompt("12345")).expect("a launch")), ["go", "--p=12345"]);
    assert_eq!(words(&start(&both, &prompt("123456")).expect("a launch")), ["go", "--f=/run/prompt.1.txt"]);
    let first = with("argument = [\"--p={{prompt}}\"]\nstdin = [\"-\"]");
    assert_eq!(words(&start(&first, &prompt("12345")).expect("a launch")), ["go", "-"], "stdin comes first");
    let one = with("argument = [\"--p={{prompt}}\"]");
    let long = "x".repeat(MAX_ARGUMENT);
    let expected = "mine cannot take a prompt of 131071 bytes: it takes prompts only as arguments of up to 131067";
    assert_eq!(start(&one, &prompt(&long)).expect_err("no way").to_string(), expected);
    let stdin = with("stdin = []");
    assert!(matches!(start(&stdin, &prompt("x")).expect("a launch").stdin, StdinPlan::File(_)));
    let sticky = StartRequest { continuation: Some(Continuation::Sticky), ..prompt("x") };
    let expected = "mine reads prompts only from stdin, and here its stdin is kept for replies";
    assert_eq!(start(&stdin, &sticky).expect_err("no way").to_string(), expected);
}

#[test]
fn what_the_kernel_takes_is_what_we_say() {
    let run = |bytes: usize| std::process::Command::new("true").arg("x".repeat(bytes)).status();
    assert!(run(MAX_ARGUMENT).is_ok());
    assert!(run(MAX_ARGUMENT + 1).is_err());
}

#[test]
fn a_zero_byte_goes_another_way_too() {
    let request = StartRequest { prompt: "a\0b", ..request(&[]) };
    assert!(matches!(start(&shipped("codex"), &request).expect("a launch").stdin, StdinPlan::File(_)));
    let expected = "iflow cannot take a prompt with a zero byte in it, because it reads prompts only from arguments";
    assert_eq!(start(&shipped("iflow"), &request).expect_err("no way").to_string(), expected);
}

#[test]
fn a_sticky_process_keeps_its_stdin_for_replies() {
    let prompt = "x".repeat(MAX_ARGUMENT + 1);
    let request = StartRequest { prompt: &prompt, continuation: Some(Continuation::Sticky), ..request(&[]) };
    assert!(start(&shipped("codex"), &request).is_err());
    let by_file = MINE.replace("[prompt]", "[prompt]\nstdin = []\nfile = [\"{{prompt_file}}\"]");
    let launch = start(&custom(&by_file), &request).expect("a launch");
    assert_eq!(launch.stdin, StdinPlan::Pipe);
    assert!(prompt_file(&launch).is_some());
}

#[test]
fn interactive_needs_an_engine_that_goes_on() {
    let mine = custom(MINE);
    let interactive = StartRequest { mode: ExecutionMode::Interactive, ..request(&[]) };
    let expected = "mine cannot continue a session, so it cannot run interactively; use auto mode or another engine";
    assert_eq!(start(&mine, &interactive).expect_err("refused").to_string(), expected);
    assert!(start(&mine, &request(&[])).is_ok());
    let expected = "mine cannot resume a session: its continuation is none";
    assert_eq!(resume(&mine, &request(&[]), "s").expect_err("refused").to_string(), expected);
    let sticky = StartRequest { continuation: Some(Continuation::Sticky), ..interactive };
    let expected = "scripted cannot resume a session: its continuation is sticky";
    assert_eq!(resume(&shipped("scripted"), &sticky, "s").expect_err("refused").to_string(), expected);
    let resumable = StartRequest { continuation: Some(Continuation::Resumable), ..interactive };
    let expected = "mine cannot resume a session: its file has no [resume]";
    assert_eq!(resume(&mine, &resumable, "s").expect_err("refused").to_string(), expected);
    assert_eq!(words(&start(&mine, &sticky).expect("a launch")), ["ask", "Do the job."]);
}

#[test]
fn groups_come_whole_or_not_at_all() {
    let mine = custom(MINE);
    assert_eq!(words(&start(&mine, &request(&[])).expect("a launch")), ["go", "Do the job."]);
    let with = StartRequest { skill_dir: Some(Path::new("/s k")), ..request(&[]) };
    assert_eq!(words(&start(&mine, &with).expect("a launch")), ["go", "--skill", "/s k", "Do the job."]);
}

#[test]
fn a_word_that_needs_a_value_says_which() {
    let request = StartRequest { script: None, ..request(&[]) };
    let mine = custom(&MINE.replace(r#"["--skill", "{{skill_dir}}"]"#, r#""{{script}}""#));
    let expected = "mine cannot be started: there is no value for {{script}}";
    assert_eq!(start(&mine, &request).expect_err("no script").to_string(), expected);
    let scripted = start(&shipped("scripted"), &request).expect("a group of words is left out");
    assert!(!words(&scripted).contains(&"--script"), "{:?}", words(&scripted));
}

#[test]
fn values_cannot_become_flags() {
    let codex = shipped("codex");
    for (id, reason) in [
        ("--last", "it begins with a dash"),
        ("", "it is empty"),
        // Regression: opencode expands such a model name before it reads its settings.
        ("{env:OPENAI_API_KEY}", "it has spaces, quotes, braces or control characters in it"),
        ("{file:/etc/passwd}", "it has spaces, quotes, braces or control characters in it"),
        ("a b", "it has spaces, quotes, braces or control characters in it"),
        ("a\u{1b}[2J", "it has spaces, quotes, braces or control characters in it"),
    ] {
        let error = resume(&codex, &request(&[]), id).expect_err("refused");
        assert_eq!(error.to_string(), format!("the session id {id:?} cannot be given to an engine: {reason}"));
    }
    let long = "x".repeat(100_000);
    let error = resume(&codex, &request(&[]), &long).expect_err("refused").to_string();
    assert!(error.ends_with("it is longer than 256 bytes") && error.len() < 300, "{error}");
    for request in [
        StartRequest { model: Some("--yolo"), ..request(&[]) },
        StartRequest { model: Some("{file:~/.ssh/config}"), ..request(&[]) },
        StartRequest { effort: Some("x\" y"), ..request(&[]) },
    ] {
        assert!(start(&codex, &request).is_err());
    }
    // A prompt may begin with any character, also where it is an argument because stdin is kept for replies.
    let sticky = Some(Continuation::Sticky);
    let dash = StartRequest { prompt: "--help", continuation: sticky, ..request(&[]) };
    for (name, end) in [
        ("codex", &["--", "--help"][..]),
        ("claude", &["--", "--help"]),
        ("opencode", &["--", "--help"]),
        ("gemini", &["--prompt=--help"]),
        ("qwen", &["--prompt=--help"]),
        ("scripted", &["--prompt=--help"]),
    ] {
        assert!(words(&start(&shipped(name), &dash).expect("a launch")).ends_with(end), "{name}");
    }
}

#[test]
fn ignored_settings_are_reported() {
    let wishes = StartRequest { model: Some("m"), effort: Some("low"), ..request(&[]) };
    let ignored = |name: &str| start(&shipped(name), &wishes).expect("a launch").ignored;
    assert_eq!(ignored("iflow"), [Placeholder::Model, Placeholder::Effort]);
    assert_eq!(ignored("gemini"), [Placeholder::Effort]);
    assert_eq!(ignored("codex"), []);
    assert_eq!(start(&shipped("iflow"), &request(&[])).expect("a launch").ignored, []);
}

#[test]
fn request_variables_win_and_host_variables_stay_out() {
    let user: Vec<(OsString, OsString)> =
        [("TMPDIR", "/t"), ("SKILLRUN_ATTEMPT", "x"), ("LC_ALL", "C"), ("NO_COLOR", "0")]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec();
    let more = [
        Variable { name: "NO_COLOR".into(), value: "2".into(), kind: VariableKind::Plain },
        Variable { name: "TOKEN".into(), value: "t".into(), kind: VariableKind::Secret },
    ];
    let request = StartRequest { variables: &more, ..request(&user) };
    let launch = start(&shipped("iflow"), &request).expect("a launch");
    assert_eq!(variables(&launch), ["HOME=/run/own", "LC_ALL=C", "NO_COLOR=2", "*TOKEN=t"]);
    assert!(!format!("{launch:?}").contains("\"t\""), "a secret is shown");
}

#[test]
fn a_variable_that_the_kernel_would_refuse_is_named() {
    let more =
        [Variable { name: "BIG".into(), value: "x".repeat(MAX_ARGUMENT).as_str().into(), kind: VariableKind::Plain }];
    let request = StartRequest { variables: &more, ..request(&[]) };
    let expected = "codex cannot be started: the variable BIG has 131075 bytes, and the limit is 131071";
    assert_eq!(start(&shipped("codex"), &request).expect_err("too long").to_string(), expected);
}

#[test]
fn paths_that_are_not_text_stay_as_they_are() {
    let mine = custom(MINE);
    let path = PathBuf::from(OsString::from_vec(b"/s/\xff".to_vec()));
    let launch = start(&mine, &StartRequest { skill_dir: Some(&path), ..request(&[]) }).expect("a launch");
    assert_eq!(launch.argv[3].as_bytes(), b"/s/\xff");
}

#[test]
fn the_launch_has_more_than_arguments() {
    let text = format!(
        "{}\n[snapshot]\nignore = [\"/.mine/\"]\n[process]\nlinger_ms = 2500\nladder = [{{ signal = \"SIGTERM\", \
         pause_ms = 10 }}, \
         {{ signal = \"SIGKILL\", pause_ms = 0 }}]\n",
        MINE.replace("continuation = \"none\"", "continuation = \"sticky\"\nwiring = \"split_pty\"\nstdin = \"tty\"")
    );
    let request = StartRequest { engine_version: Some("1.2.3"), ..request(&[]) };
    let launch = start(&custom(&text), &request).expect("a launch");
    assert_eq!(launch.stdin, StdinPlan::Tty);
    assert_eq!(launch.wiring.as_str(), "split_pty");
    assert_eq!(launch.snapshot_ignore, ["/.mine/"]);
    assert_eq!(launch.linger.map(|linger| linger.as_millis()), Some(2500));
    let ladder: Vec<_> = launch.ladder.iter().map(|rung| (rung.signal.to_string(), rung.pause.as_millis())).collect();
    assert_eq!(ladder, [("SIGTERM".to_owned(), 10), ("SIGKILL".to_owned(), 0)]);
    assert_eq!(launch.label.engine.as_deref(), Some("mine"));
    assert_eq!(launch.label.engine_version.as_deref(), Some("1.2.3"));
    assert_eq!(launch.label.profile, Some(ProfileId::PlainText));
}
