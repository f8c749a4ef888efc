//! What is refused, with a sentence that a model can act on, and nothing made.

use lab::Lab;
use serde_json::json;

use super::client::{Connection, Http, McpClient, ServerProcess, VERSIONS};
use super::tools::SKILLS;

const UNKNOWN: &str = "019b0000-0000-7000-8000-000000000000";

fn refusals<C: Connection>(mut client: McpClient<C>) {
    let long = "x".repeat(10_000_000);
    for (tool, arguments, reason, words) in [
        ("spawn_run", json!({"skill": "done", "engine": "codx"}), "not_found", "did you mean \"codex\""),
        ("spawn_run", json!({"skill": "dne", "engine": "scripted"}), "not_found", "done"),
        ("spawn_run", json!({"engine": "scripted"}), "invalid", "prompt or a skill"),
        ("spawn_run", json!({"prompt": long}), "limit_reached", "put long text into a file"),
        ("spawn_run", json!({"prompt": ["a"]}), "invalid", "expected a string"),
        ("spawn_run", json!({"skill": "done", "mode": "conversation"}), "invalid", "auto"),
        (
            "spawn_run",
            json!({"skill": "done", "engine": "scripted", "timeout_sec": -1}),
            "invalid",
            "timeout_sec is not above 0",
        ),
        ("spawn_run", json!({"skill": "done", "engine": "scripted", "on_parent_end": "wait"}), "invalid", "no parent"),
        ("wait_runs", json!({"run_ids": [UNKNOWN]}), "not_found", "list_runs"),
        ("wait_runs", json!({"run_ids": ["last"]}), "not_found", "is not a run id"),
        ("wait_runs", json!({}), "invalid", "give the ids"),
        ("wait_runs", json!({"run_ids": [UNKNOWN], "timeout_sec": "long"}), "invalid", "timeout_sec"),
        ("send_to_run", json!({"run_id": UNKNOWN, "text": "a"}), "not_found", "list_runs"),
        ("send_to_run", json!({"run_id": UNKNOWN}), "invalid", "missing field `text`"),
        ("cancel_run", json!({"run_id": UNKNOWN}), "not_found", "list_runs"),
        ("read_result", json!({"run_id": UNKNOWN}), "not_found", "list_runs"),
        ("list_runs", json!({"all": 1}), "invalid", "unknown field `all`"),
    ] {
        let (given, sentence) = client.refused(tool, arguments);
        assert_eq!(given, reason, "{tool}: {sentence}");
        assert!(sentence.contains(words) && !sentence.contains('\n') && sentence.len() < 600, "{tool}: {sentence}");
    }
    assert_eq!(client.done("list_runs", json!({}))["runs"], json!([]), "nothing was made");
}

/// Errors of the protocol, which a program reads and no model.
fn protocol_errors<C: Connection>(mut client: McpClient<C>) {
    for (method, params, code) in [
        ("tools/call", json!({"name": "fetch_run", "arguments": {}}), json!(-32602)),
        ("tools/call", json!({"name": "list_runs", "arguments": "none"}), json!(-32602)),
        ("no/such", json!({}), json!(-32601)),
        ("prompts/list", json!({}), json!(-32601)),
        ("resources/list", json!({}), json!(-32601)),
    ] {
        let response = client.ask(method, params);
        assert_eq!(response["error"]["code"], code, "{method}: {response}");
    }
    assert_eq!(client.done("list_runs", json!({}))["runs"], json!([]), "it still answers");
}

#[test]
fn bad_input_on_stdio_is_refused() {
    for version in VERSIONS {
        let lab = Lab::new();
        SKILLS.iter().for_each(|(name, script)| drop(lab.installed_skill(name, script)));
        refusals(McpClient::open(ServerProcess::start(lab.command(&["mcp"])), version));
        protocol_errors(McpClient::open(ServerProcess::start(lab.command(&["mcp"])), version));
    }
}

#[test]
fn bad_input_over_http_is_refused() {
    let (_lab, server) = Lab::serving(&SKILLS);
    for version in VERSIONS {
        let http = || Http { server: &server, token: server.token().to_owned() };
        refusals(McpClient::open(http(), version));
        protocol_errors(McpClient::open(http(), version));
    }
}

/// An agent sees the cause: an error of a server that does not start is silent in all of them.
#[test]
fn a_data_folder_that_cannot_be_used_is_a_refusal() {
    let lab = Lab::without_data();
    lab.write("data", "a file");
    let mut client = McpClient::open(ServerProcess::start(lab.command(&["mcp"])), VERSIONS[0]);
    let (reason, words) = client.refused("list_runs", json!({}));
    assert_eq!(reason, "unavailable");
    assert!(words.contains("data folder"), "{words}");
}
