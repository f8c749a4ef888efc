//! What each engine is started with in a run with MCP servers: the exact arguments, variables and files.

use std::path::Path;

use serde_json::{Value, json};
use skillrun_engine::mcp::FailureReport;
use skillrun_engine::{Descriptor, Engines, Home, Launch, Permission, StartRequest, resume, start};
use skillrun_evidence::OsText;
use skillrun_model::mcp::McpServers;
use skillrun_model::workspace_settings::WorkspaceSettings;
use skillrun_plan::{Variable, VariableKind};

mod support;
use support::{request, variables, words};

/// One of them is required, where the engine reports by name which has not started.
fn servers(engine: &Descriptor) -> McpServers {
    let reports = engine.mcp.as_ref().map(|rule| rule.reports);
    let both = json!({
        "lab": {"command": "/bin/lab", "args": ["-x"], "env": {"TOK": "${TOK}"}},
        "web": {
            "url": "http://h/mcp",
            "headers": {"Authorization": "Bearer ${TOK}"},
            "required": reports == Some(FailureReport::ByName),
            "timeout_sec": 20.0,
        },
    });
    serde_json::from_value(both).expect("servers")
}

fn token() -> [Variable; 1] {
    [Variable { name: OsText::from("TOK"), value: OsText::from("a-secret-value"), kind: VariableKind::Secret }]
}

/// The first attempt and a later one, with both servers and without any.
fn launches(engine: &str) -> [(Launch, Launch); 2] {
    let engines = Engines::shipped();
    let engine = engines.get(engine).expect("an engine");
    let (servers, token) = (servers(engine), token());
    // Without the switches that are given in a run without servers too.
    let plain = StartRequest { workspace_settings: WorkspaceSettings::Allow, ..request(&[]) };
    let with = StartRequest { servers: &servers, variables: &token, ..plain };
    let without = StartRequest { variables: &token, ..plain };
    [
        (start(engine, &with).expect("a launch"), start(engine, &without).expect("a launch")),
        (resume(engine, &with, "ses_1").expect("a launch"), resume(engine, &without, "ses_1").expect("a launch")),
    ]
}

/// The words that a run with servers has in addition, in their order.
fn added_words(with: &Launch, without: &Launch) -> Vec<String> {
    let (with, mut without) = (words(with), words(without).into_iter().peekable());
    let added = with.into_iter().filter(|word| without.next_if_eq(word).is_none());
    let added = added.map(str::to_owned).collect();
    assert_eq!(without.next(), None, "every other word is there too");
    added
}

fn added_variables(with: &Launch, without: &Launch) -> Vec<String> {
    let known = variables(without);
    variables(with).into_iter().filter(|variable| !known.contains(variable)).collect()
}

fn file(launch: &Launch, path: &str) -> Option<Value> {
    let found = launch.files.iter().find(|file| file.path == Path::new(path))?;
    Some(serde_json::from_slice(&found.bytes).expect("JSON"))
}

#[test]
fn codex_takes_servers_as_arguments() {
    for (with, without) in launches("codex") {
        let lab = concat!(
            r#"mcp_servers.lab={"command"="/bin/lab","args"=["-x"],"env"={},"env_vars"=["TOK","SKILLRUN_ATTEMPT"],"#,
            r#""default_tools_approval_mode"="approve"}"#
        );
        let web = concat!(
            r#"mcp_servers.web={"url"="http://h/mcp","bearer_token_env_var"="TOK","http_headers"={},"#,
            r#""env_http_headers"={},"default_tools_approval_mode"="approve","required"=true,"tool_timeout_sec"=20.0}"#
        );
        let expected = ["--ignore-user-config", "-c", "mcp_optional_startup_grace_ms=10000", "-c", lab, "-c", web];
        assert_eq!(added_words(&with, &without), expected);
        assert_eq!(added_variables(&with, &without), [""; 0]);
    }
}

#[test]
fn claude_takes_servers_as_an_argument() {
    for (with, without) in launches("claude") {
        let config = json!({"mcpServers": {
            "lab": {"type": "stdio", "command": "/bin/lab", "args": ["-x"], "env": {"TOK": "${TOK}"}, "alwaysLoad": true},
            "web": {
                "type": "http", "url": "http://h/mcp", "headers": {"Authorization": "Bearer ${TOK}"}, "alwaysLoad": true,
                "timeout": 20000,
            },
        }});
        let expected = [
            "--strict-mcp-config",
            &format!("--mcp-config={config}"),
            "--allowedTools=mcp__lab",
            "--allowedTools=mcp__web",
        ];
        assert_eq!(added_words(&with, &without), expected);
        assert_eq!(added_variables(&with, &without), [""; 0]);
    }
}

#[test]
fn gemini_and_qwen_take_servers_in_their_settings() {
    let expected = json!({
        "lab": {"command": "/bin/lab", "args": ["-x"], "env": {"TOK": "${TOK}"}, "trust": true},
        "web": {
            "httpUrl": "http://h/mcp", "headers": {"Authorization": "Bearer ${TOK}"}, "trust": true, "timeout": 20000,
        },
    });
    for (engine, path) in [
        ("gemini", "/run/own/.gemini/settings.json"),
        ("gemini-acp", "/run/own/.gemini/settings.json"),
        ("qwen", "/run/own/.qwen/settings.json"),
        ("qwen-acp", "/run/own/.qwen/settings.json"),
    ] {
        for (with, without) in launches(engine) {
            let flags = ["--allowed-mcp-server-names=lab", "--allowed-mcp-server-names=web"];
            assert_eq!(added_words(&with, &without), flags, "{engine}");
            let (settings, plain) = (file(&with, path).expect("settings"), file(&without, path).expect("settings"));
            assert_eq!((&settings["mcpServers"], &plain["mcpServers"]), (&expected, &Value::Null), "{engine}");
            assert_eq!(settings["security"], plain["security"], "{engine}");
            let is_qwen = engine.starts_with("qwen");
            assert_eq!(settings["tools"]["toolSearch"]["enabled"] == json!(false), is_qwen, "{engine}");
            assert_eq!(plain["tools"], Value::Null, "{engine}");
        }
    }
}

#[test]
fn opencode_takes_servers_in_a_variable() {
    let expected = json!({
        "lab": {"type": "local", "command": ["/bin/lab", "-x"], "environment": {"TOK": "{env:TOK}"}},
        "web": {
            "type": "remote", "url": "http://h/mcp", "headers": {"Authorization": "Bearer {env:TOK}"}, "oauth": false,
            "timeout": 20000,
        },
    });
    for engine in ["opencode", "opencode-acp"] {
        for (with, without) in launches(engine) {
            assert_eq!(added_words(&with, &without), [""; 0]);
            let [config, own] = &added_variables(&with, &without)[..] else { panic!("{engine}") };
            assert_eq!(own, "OPENCODE_DISABLE_PROJECT_CONFIG=1");
            let config = config.strip_prefix("OPENCODE_CONFIG_CONTENT=").expect("a configuration");
            let config: Value = serde_json::from_str(config).expect("JSON");
            assert_eq!(config["mcp"], expected, "{engine}");
            assert_eq!(config["autoupdate"], json!(false), "{engine}");
        }
    }
}

#[test]
fn agents_take_servers_in_their_configuration() {
    for (with, without) in launches("codex-acp") {
        let [config] = &added_variables(&with, &without)[..] else { panic!("one variable") };
        let config: Value =
            serde_json::from_str(config.strip_prefix("CODEX_CONFIG=").expect("a configuration")).expect("JSON");
        assert_eq!(config["mcp_servers"]["lab"]["env_vars"], json!(["TOK", "SKILLRUN_ATTEMPT"]));
        assert_eq!(config["mcp_servers"]["web"]["required"], json!(true));
        assert_eq!(config["mcp_optional_startup_grace_ms"], json!(10000));
    }
    for (with, without) in launches("claude-acp") {
        assert_eq!(added_words(&with, &without), [""; 0]);
        let config = file(&with, "/run/own/.claude.json").expect("a configuration");
        assert_eq!(config["mcpServers"]["lab"]["env"], json!({"TOK": "${TOK}"}));
        let settings = file(&with, "/run/own/.claude/settings.json").expect("settings");
        let expected = json!({
            "allowedMcpServers": [{"serverName": "lab"}, {"serverName": "web"}],
            "permissions": {"allow": ["mcp__lab", "mcp__web"]},
        });
        assert_eq!(settings, expected);
        assert_eq!(without.files, [], "nothing is written for a run without servers");
    }
}

#[test]
fn value_of_a_variable_is_in_no_argument_and_no_file() {
    for engine in Engines::shipped().iter().filter(|engine| engine.mcp.is_some()) {
        for (with, _) in launches(engine.name.as_str()) {
            assert!(!format!("{:?}", with.argv).contains("a-secret-value"), "{}", engine.name);
            let is_in_file = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("a-secret-value");
            assert!(!with.files.iter().any(|file| is_in_file(&file.bytes)), "{}", engine.name);
            let holders: Vec<_> =
                with.variables.iter().filter(|one| one.value == OsText::from("a-secret-value")).collect();
            assert_eq!(holders, token().iter().collect::<Vec<_>>(), "{}", engine.name);
        }
    }
}

#[test]
fn every_permission_allows_the_servers() {
    let engines = Engines::shipped();
    let (servers, token) = (servers(engines.get("claude").expect("claude")), token());
    for permission in Permission::ALL {
        let request = StartRequest { servers: &servers, variables: &token, permission: *permission, ..request(&[]) };
        let claude = start(engines.get("claude").expect("claude"), &request).expect("a launch");
        assert!(words(&claude).contains(&"--allowedTools=mcp__lab"), "{permission}");
        let codex = start(engines.get("codex").expect("codex"), &request).expect("a launch");
        assert!(words(&codex).iter().any(|word| word.contains(r#""default_tools_approval_mode"="approve""#)));
    }
}

#[test]
fn servers_that_cannot_work_are_not_started() {
    let engines = Engines::shipped();
    let (servers, token) = (servers(engines.get("iflow").expect("iflow")), token());
    let failed = |engine: &str, request: &StartRequest<'_>| {
        start(engines.get(engine).expect("an engine"), request).expect_err("refused").to_string()
    };
    let unset = StartRequest { servers: &servers, ..request(&[]) };
    assert_eq!(failed("claude", &unset), "mcp_servers.lab: the variable TOK is not set");
    let with = StartRequest { servers: &servers, variables: &token, ..request(&[]) };
    assert!(failed("iflow", &with).starts_with("iflow cannot take MCP servers"));
    let users = StartRequest { home: Home::User(Path::new("/people/me")), ..with };
    assert!(failed("gemini", &users).starts_with("gemini takes MCP servers only from a home folder of the run"));
    assert!(start(engines.get("claude").expect("claude"), &users).is_ok());
}
