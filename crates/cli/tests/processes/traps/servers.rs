//! MCP servers of a run: every engine continues without a server that did not start, and starts those of the
//! workspace too.

use std::fs;

use serde_json::{Value, json};

use crate::traps::lab::{Lab, plays, words};

/// A variable that every lab has.
const KEY: &str = "CODEX_API_KEY";

fn write_servers(lab: &Lab, is_required: bool) {
    let servers = json!({"mcpServers": {"lab": {
        "type": "stdio", "command": "/bin/lab", "args": ["-x"], "env": {KEY: format!("${{{KEY}}}")}, "required": is_required,
    }}});
    lab.put("servers.json", &servers.to_string());
}

/// The messages of the events that report servers.
fn reported(lab: &Lab) -> Vec<String> {
    let output = lab.command(&["logs", "last", "--rasp"]).output().expect("started");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let failed = events.filter(|event| event["data"]["code"] == "MCP_SERVER_FAILED");
    failed.map(|event| event["data"]["message"].as_str().unwrap_or_default().to_owned()).collect()
}

/// A stand-in that reports the server as each engine was seen to, and then does its work without it.
#[track_caller]
fn continues_without_its_server(engine: &str, report: &str, message: &str) {
    for is_required in [false, true] {
        let lab = Lab::new();
        write_servers(&lab, is_required);
        lab.stand_in(engine, &format!("cat >/dev/null; {report}; {}", plays(&format!("{engine}-tool-then-done"), 1)));
        let run = lab.run(engine, &["--mcp-servers", "servers.json", "--timeout", "50"]);
        match is_required {
            false => run.ends_as("succeeded", ""),
            true => run.ends_as("failed", "MCP_SERVER_FAILED"),
        }
        assert_eq!(reported(&lab), [message], "{engine}");
    }
}

#[test]
fn claude_exits_with_0_without_a_server() {
    let init =
        r#"{"type":"system","subtype":"init","mcp_servers":[{"name":"lab","status":"failed","source":"dynamic"}]}"#;
    let message = "the MCP server \"lab\" did not start (failed)";
    continues_without_its_server("claude", &format!("echo '{init}'"), message);
}

#[test]
fn qwen_exits_with_0_without_a_server() {
    let warning = "Warning: MCP server(s) failed to start: lab. Continuing with built-in tools and any servers.";
    let init = r#"{"type":"system","subtype":"init","mcp_servers":[{"name":"lab","status":"disconnected"}]}"#;
    let message = "the MCP server \"lab\" did not start (disconnected)";
    continues_without_its_server("qwen", &format!("echo '{warning}' >&2; echo '{init}'"), message);
}

#[test]
fn gemini_exits_with_0_without_a_server() {
    for is_required in [false, true] {
        let lab = Lab::new();
        write_servers(&lab, is_required);
        let events = [
            json!({"type": "init", "session_id": "s", "model": "m"}),
            json!({"type": "message", "role": "assistant", "content": r#"{"__SKILL_DONE__": true}"#, "delta": true}),
            json!({"type": "result", "status": "success", "stats": {}}),
        ];
        let events: Vec<String> = events.iter().map(|event| format!("echo '{event}'")).collect();
        let says = "echo 'MCP issues detected. Run /mcp list for status.' >&2";
        lab.stand_in("gemini", &format!("cat >/dev/null; {says}; {}", events.join("; ")));
        let run = lab.run("gemini", &["--mcp-servers", "servers.json", "--timeout", "50"]);
        match is_required {
            false => run.ends_as("succeeded", ""),
            true => run.ends_as("failed", "MCP_SERVER_FAILED"),
        }
        assert_eq!(reported(&lab), ["an MCP server did not start; the engine does not name it"]);
    }
}

/// The engine is told the name of a variable and has its value in its environment; no argument and no file has it.
#[test]
fn engines_start_the_servers_of_the_run_alone() {
    for engine in ["claude", "codex", "gemini", "opencode", "qwen"] {
        let lab = Lab::new();
        write_servers(&lab, false);
        lab.stand_in(engine, &lab.steps("report"));
        let run = lab.run(engine, &["--mcp-servers", "servers.json", "--mcp", "web=http://127.0.0.1:1/mcp"]);
        let (argv, report) = (run.argv(1).join(" "), run.report());
        assert_eq!(report["env"][KEY], "nobodys-key", "{engine}");
        let setting = |name: &str| report["env"][name].as_str().unwrap_or_default().to_owned();
        let (given, alone) = match engine {
            "claude" => (argv.clone(), argv.contains("--strict-mcp-config")),
            "codex" => (argv.clone(), argv.contains("--ignore-user-config")),
            "opencode" => (setting("OPENCODE_CONFIG_CONTENT"), setting("OPENCODE_DISABLE_PROJECT_CONFIG") == "1"),
            "gemini" | "qwen" => {
                let settings = run.home(&format!(".{engine}/settings.json"))["mcpServers"].to_string();
                let flags = ["--allowed-mcp-server-names=lab", "--allowed-mcp-server-names=web"];
                (settings, flags.iter().all(|flag| argv.contains(flag)))
            }
            other => panic!("{other}"),
        };
        for word in ["/bin/lab", "http://127.0.0.1:1/mcp", KEY] {
            assert!(given.contains(word), "{engine}: {word}: {given}");
        }
        assert!(alone && !given.contains("nobodys-key"), "{engine}: {given}");
        let record = run.request()["request"]["mcp_servers"].clone();
        let expected = json!({
            "lab": {"command": "/bin/lab", "args": ["-x"], "env": {KEY: format!("${{{KEY}}}")}},
            "web": {"url": "http://127.0.0.1:1/mcp"},
        });
        assert_eq!(record, expected, "{engine}");
    }
}

/// codex and a permission that only reads hold the engine back, and an engine starts servers outside of that.
#[test]
fn servers_of_a_skill_do_not_get_around_the_permission() {
    let lab = Lab::new();
    let refused = |words_of: &[&str]| {
        let command = [&["run", "./skill", "--engine", "codex"], words_of].concat();
        let output = lab.command(&command).output().expect("started");
        assert_eq!(output.status.code(), Some(2), "{}", words(&output));
        words(&output)
    };
    lab.stand_in("codex", &lab.steps("report"));
    let runner = json!({"mcp_servers": {"own": {"command": "/bin/own", "env": {KEY: format!("${{{KEY}}}")}}}});
    lab.put("skill/assets/runner.json", &runner.to_string());
    let told = refused(&[]);
    assert!(told.contains("brings the MCP server own, which would run outside of the permission workspace"), "{told}");
    let told = refused(&["--permission", "full"]);
    assert!(told.contains(&format!("needs the variable {KEY}; pass it with --secret {KEY}")), "{told}");
    assert!(!lab.path("data/runs").exists() || fs::read_dir(lab.path("data/runs")).expect("a folder").next().is_none());
    let run = lab.run("codex", &["--permission", "full", "--secret", KEY]);
    assert!(run.argv(1).join(" ").contains("mcp_servers.own="), "{:?}", run.argv(1));
}
