//! Agents of the Agent Client Protocol: prompted and loaded by messages, so their arguments are the same for every
//! turn.

mod support;

use std::fs;

use serde_json::Value;
use skillrun_engine::acp::{Opening, Session};
use skillrun_engine::descriptor::Calls;
use skillrun_engine::{Engines, LaunchError, Permission, StartRequest, resume, start};
use skillrun_model::status::Continuation;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_model::{AttemptNumber, ProfileId};
use skillrun_plan::StdinPlan;

use support::{request, variables, words};

const AGENTS: [&str; 5] = ["claude-acp", "codex-acp", "gemini-acp", "opencode-acp", "qwen-acp"];

#[test]
fn the_prompt_is_in_the_opening_and_in_no_word() {
    let engines = Engines::shipped();
    for name in AGENTS {
        let engine = engines.get(name).expect("an engine");
        let request = StartRequest { workspace_settings: WorkspaceSettings::Allow, ..request(&[]) };
        let begun = start(engine, &request).expect("a launch");
        let opening = Opening {
            attempt: AttemptNumber(1),
            cwd: "/run/workspace".to_owned(),
            session: Session::New,
            mode: (name == "codex-acp").then(|| "workspace-write".to_owned()),
            prompt: "Do the job.".to_owned(),
            meta: Default::default(),
        };
        assert_eq!((begun.opening.as_ref(), &begun.stdin), (Some(&opening), &StdinPlan::Pipe), "{name}");
        assert!(!words(&begun).join(" ").contains("Do the job."), "{name}");
        // A session is loaded the same way with a process for every turn and with one process for all turns.
        for continuation in [None, Some(Continuation::Resumable)] {
            let later = StartRequest { attempt: AttemptNumber(2), continuation, ..request };
            let loaded = resume(engine, &later, "ses_1").expect("a launch");
            assert_eq!(words(&loaded), words(&begun), "{name}");
            assert_eq!(loaded.stdin, StdinPlan::Pipe, "{name}");
            let loaded = loaded.opening.expect("an opening");
            assert_eq!((loaded.session, loaded.attempt.0), (Session::Load("ses_1".to_owned()), 2), "{name}");
        }
    }
}

#[test]
fn what_is_asked_is_denied_where_nothing_may_be_changed() {
    let engines = Engines::shipped();
    for engine in engines.iter() {
        let calls = |permission| engine.permissions.rule(permission).calls;
        assert_eq!(
            (calls(Permission::ReadOnly), calls(Permission::Full)),
            (Calls::Deny, Calls::Allow),
            "{}",
            engine.name
        );
    }
    // An agent that asks about every command must be allowed to work; one that asks only outside of its sandbox must
    // not.
    let allowing = engines.iter().filter(|one| one.permissions.workspace.calls == Calls::Allow);
    let allowing: Vec<_> = allowing.map(|one| one.name.as_str()).collect();
    assert_eq!(allowing, ["claude-acp", "gemini-acp", "opencode-acp", "qwen-acp"]);
}

#[test]
fn the_model_reaches_the_agents_that_have_a_place_for_it() {
    let engines = Engines::shipped();
    let request = StartRequest { model: Some("m1"), ..request(&[]) };
    let launch = |name: &str| start(engines.get(name).expect("an engine"), &request).expect("a launch");
    for name in ["gemini-acp", "qwen-acp"] {
        assert!(words(&launch(name)).join(" ").contains("--model m1"), "{name}");
    }
    assert!(variables(&launch("claude-acp")).contains(&"ANTHROPIC_MODEL=m1".to_owned()));
    let variable = |request: &StartRequest<'_>, engine: &str, name: &str| {
        let launch = start(engines.get(engine).expect("an engine"), request).expect("a launch");
        assert_eq!(launch.ignored, [], "{engine}");
        let found = variables(&launch).into_iter().find_map(|one| Some(one.strip_prefix(name)?.to_owned()));
        serde_json::from_str::<Value>(&found.expect("a variable")[1..]).expect("JSON")
    };
    for (model, effort) in [(None, None), (Some("m1"), None), (None, Some("low")), (Some("m1"), Some("low"))] {
        let request = StartRequest { model, effort, ..request };
        let config = variable(&request, "codex-acp", "CODEX_CONFIG");
        assert_eq!((config["model"].as_str(), config["model_reasoning_effort"].as_str()), (model, effort));
        if effort.is_none() {
            let config = variable(&request, "opencode-acp", "OPENCODE_CONFIG_CONTENT");
            assert_eq!((config["model"].as_str(), config["autoupdate"].as_bool()), (model, Some(false)));
        }
    }
}

#[test]
fn a_prompt_that_is_too_long_for_a_message_is_refused() {
    let engines = Engines::shipped();
    let agent = engines.get("gemini-acp").expect("an engine");
    for (prompt, fits) in
        [("x".repeat(1_000_000), true), ("x".repeat(1 << 20), false), ("\u{1}".repeat(200_000), false)]
    {
        let launch = start(agent, &StartRequest { prompt: &prompt, ..request(&[]) });
        assert_eq!(launch.is_ok(), fits, "{}", prompt.len());
        if let Err(error) = launch {
            let expected =
                format!("gemini-acp cannot take a prompt of {} bytes: a whole message to it may have ", prompt.len());
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }
}

#[test]
fn its_output_is_read_as_nothing_else() {
    let engines = Engines::shipped();
    let agent = engines.get("opencode-acp").expect("an engine");
    let other = StartRequest { profile: Some(ProfileId::OpencodeNdjson), ..request(&[]) };
    let refused = start(agent, &other).expect_err("refused");
    assert!(matches!(refused, LaunchError::OtherProtocol { .. }), "{refused}");
}

#[test]
fn a_file_that_mixes_words_and_protocol_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let shipped =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/engines/gemini-acp.toml")).expect("readable");
    let broken = |from: &str, to: &str| {
        let text = shipped.replace(from, to);
        assert_ne!(text, shipped, "{from}");
        fs::write(folder.path().join("gemini-acp.toml"), text).expect("written");
        let engines = Engines::load(Some(folder.path()));
        engines.get("gemini-acp").expect_err("refused").to_string()
    };
    let both = broken("protocol = \"acp\"", "protocol = \"acp\"\nargument = [\"{{prompt}}\"]");
    assert!(both.contains("there must be no argument, stdin or file"), "{both}");
    let none = broken("protocol = \"acp\"", "stdin = []");
    assert!(none.contains("is a protocol, so [prompt] must be protocol = \"acp\""), "{none}");
    let other = broken("profile = \"acp_jsonrpc\"", "profile = \"plain_text\"");
    assert!(other.contains("needs acp_jsonrpc"), "{other}");
    let closed = broken("continuation = \"sticky\"", "continuation = \"sticky\"\nstdin = \"null\"");
    assert!(closed.contains("stdin"), "{closed}");
    let word = broken("calls = \"deny\"", "calls = \"perhaps\"");
    assert!(word.contains("perhaps"), "{word}");
}

/// The adapter takes no flags.
#[test]
fn claude_is_told_with_the_session_what_to_ignore() {
    let engines = Engines::shipped();
    let launch = start(engines.get("claude-acp").expect("an engine"), &request(&[])).expect("a launch");
    let meta = launch.opening.expect("an opening").meta;
    let options = serde_json::json!({"settingSources": ["user"], "additionalDirectories": ["/run/workspace"]});
    assert_eq!(meta["claudeCode"]["options"], options);
}
