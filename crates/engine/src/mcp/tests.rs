use super::*;
use crate::Engines;

fn servers(value: Value) -> McpServers {
    serde_json::from_value(value).expect("servers")
}

fn all(form: McpForm, value: Value) -> Value {
    serde_json::from_str(&form.all(&servers(value))).expect("JSON")
}

fn example() -> Value {
    json!({
        "lab": {"command": "/bin/lab", "args": ["a b", "\"q\"\n"], "env": {"K": "v", "TOK": "${TOK}"}, "timeout_sec": 1.5},
        "web": {"url": "http://h/mcp", "headers": {"Authorization": "Bearer ${TOK}", "X-A": "${A}", "X-B": "b"}, "required": true},
    })
}

#[test]
fn codex_is_told_the_names_of_variables() {
    let expected = json!({
        "lab": {
            "command": "/bin/lab", "args": ["a b", "\"q\"\n"], "env": {"K": "v"}, "env_vars": ["TOK", "SKILLRUN_ATTEMPT"],
            "default_tools_approval_mode": "approve", "tool_timeout_sec": 1.5,
        },
        "web": {
            "url": "http://h/mcp", "bearer_token_env_var": "TOK", "http_headers": {"X-B": "b"},
            "env_http_headers": {"X-A": "A"}, "default_tools_approval_mode": "approve", "required": true,
        },
    });
    assert_eq!(all(McpForm::CodexJson, example()), expected);
    assert_eq!(all(McpForm::CodexToml, example()), expected);
}

/// codex reads it with the same library.
#[test]
fn codex_form_on_a_command_line_is_toml() {
    for (name, server) in servers(example()).iter() {
        let text = format!("server={}", McpForm::CodexToml.entry(server));
        let read: toml::Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let read = serde_json::to_value(&read["server"]).expect("JSON");
        assert_eq!(read, McpForm::CodexToml.object(server), "{name}");
    }
}

#[test]
fn claude_shows_the_tools_to_its_model() {
    let expected = json!({
        "lab": {
            "type": "stdio", "command": "/bin/lab", "args": ["a b", "\"q\"\n"], "env": {"K": "v", "TOK": "${TOK}"},
            "alwaysLoad": true, "timeout": 1500,
        },
        "web": {
            "type": "http", "url": "http://h/mcp", "alwaysLoad": true,
            "headers": {"Authorization": "Bearer ${TOK}", "X-A": "${A}", "X-B": "b"},
        },
    });
    assert_eq!(all(McpForm::Claude, example()), expected);
}

#[test]
fn gemini_and_qwen_trust_the_servers() {
    let expected = json!({
        "lab": {
            "command": "/bin/lab", "args": ["a b", "\"q\"\n"], "env": {"K": "v", "TOK": "${TOK}"}, "trust": true,
            "timeout": 1500,
        },
        "web": {
            "httpUrl": "http://h/mcp", "trust": true,
            "headers": {"Authorization": "Bearer ${TOK}", "X-A": "${A}", "X-B": "b"},
        },
    });
    assert_eq!(all(McpForm::Gemini, example()), expected);
}

#[test]
fn opencode_has_its_own_words_for_variables() {
    let expected = json!({
        "lab": {
            "type": "local", "command": ["/bin/lab", "a b", "\"q\"\n"], "environment": {"K": "v", "TOK": "{env:TOK}"},
            "timeout": 1500,
        },
        "web": {
            "type": "remote", "url": "http://h/mcp", "oauth": false,
            "headers": {"Authorization": "Bearer {env:TOK}", "X-A": "{env:A}", "X-B": "b"},
        },
    });
    assert_eq!(all(McpForm::Opencode, example()), expected);
}

fn refused(engine: &str, server: Value, has_own_home: bool) -> String {
    let engines = Engines::shipped();
    let servers = servers(json!({"lab": server}));
    let checked = check(engines.get(engine).expect("an engine"), &servers, has_own_home);
    checked.map_or_else(|refusal| refusal.to_string(), |()| "accepted".to_owned())
}

#[test]
fn what_an_engine_would_change_is_refused() {
    let stdio = |key: &str, value: &str| json!({"command": "x", "env": {key: value}});
    let http = |key: &str, value: &str| json!({"url": "http://x", "headers": {key: value}});
    let args = |arg: &str| json!({"command": "x", "args": [arg]});
    for (engine, server, expected) in [
        ("codex", stdio("A", "${A}"), "accepted"),
        ("codex", stdio("A", "text"), "accepted"),
        (
            "codex",
            stdio("A", "${B}"),
            "mcp_servers.lab: codex passes a variable to a server only under its own name, so env.A must be \"${A}\" or a text",
        ),
        (
            "codex-acp",
            stdio("A", "x${A}"),
            "mcp_servers.lab: codex-acp passes a variable to a server only under its own name, so env.A must be \"${A}\" or a text",
        ),
        ("codex", http("authorization", "Bearer ${A}"), "accepted"),
        ("codex", http("X", "${A}"), "accepted"),
        (
            "codex",
            http("X", "Bearer ${A}"),
            "mcp_servers.lab: codex takes a header as a text, as one variable, or as \"Bearer ${NAME}\", and headers.X is none of them",
        ),
        (
            "claude",
            stdio("A", "${HOME}"),
            "mcp_servers.lab: claude has another value of HOME, so yours cannot be passed; use another name",
        ),
        ("claude", stdio("A", "x ${B} $C {env:D}"), "accepted"),
        ("gemini", stdio("A", "x ${B} y"), "accepted"),
        ("gemini", args("costs 5$ or $5"), "accepted"),
        (
            "gemini",
            args("$HOME"),
            "mcp_servers.lab: gemini would replace the text after a dollar sign in args; pass that text as a variable",
        ),
        (
            "qwen",
            stdio("A", "a$b"),
            "mcp_servers.lab: qwen would replace the text after a dollar sign in env.A; pass that text as a variable",
        ),
        ("opencode", stdio("A", "$b ${C}"), "accepted"),
        (
            "opencode",
            args("{file:/etc/passwd}"),
            "mcp_servers.lab: opencode would replace the text after {file: in args; pass that text as a variable",
        ),
        ("iflow", args("x"), "iflow cannot take MCP servers; use another engine, or leave out mcp_servers"),
        ("scripted", args("x"), "scripted cannot take MCP servers; use another engine, or leave out mcp_servers"),
    ] {
        assert_eq!(refused(engine, server.clone(), true), expected, "{engine} {server}");
    }
}

/// Where no report comes, the turn would succeed without a server that it requires.
#[test]
fn a_required_server_is_refused_by_an_engine_that_does_not_report_it() {
    let engines = Engines::shipped();
    let (required, other) = (json!({"command": "x", "required": true}), json!({"command": "x"}));
    let words = |engine: &str, all: Value| {
        let checked = check(engines.get(engine).expect("an engine"), &servers(all), true);
        checked.map_or_else(|refusal| refusal.to_string(), |()| "accepted".to_owned())
    };
    for engine in ["opencode", "opencode-acp", "claude-acp", "gemini-acp"] {
        let expected = format!(
            "mcp_servers.lab: {engine} does not report whether a server has started, so none can be required; leave out required, or use another engine"
        );
        assert_eq!(words(engine, json!({"lab": required})), expected);
        assert_eq!(words(engine, json!({"lab": other})), "accepted");
    }
    for engine in ["codex", "codex-acp", "claude", "gemini", "qwen", "qwen-acp"] {
        assert_eq!(words(engine, json!({"lab": required})), "accepted", "{engine}");
    }
    assert_eq!(words("claude", json!({"lab": required, "more": other})), "accepted");
    assert_eq!(
        words("gemini", json!({"lab": required, "more": other})),
        "mcp_servers.lab: gemini does not report which server has not started, so it can only be required together with all others; make all of them required, or none"
    );
}

#[test]
fn servers_in_a_settings_file_need_a_home_of_the_run() {
    for engine in Engines::shipped().iter().filter(|engine| engine.mcp.is_some()) {
        let name = engine.name.as_str();
        let expected = match name {
            "gemini" | "gemini-acp" | "qwen" | "qwen-acp" | "claude-acp" => format!(
                "{name} takes MCP servers only from a home folder of the run; leave out the setting home = \"user\""
            ),
            _ => "accepted".to_owned(),
        };
        assert_eq!(refused(name, json!({"command": "x"}), false), expected);
    }
}

#[test]
fn own_server_has_no_value_of_a_variable() {
    let own = own_server(Path::new("/bin/skillrun"), Path::new("/run/socket"), "a token").expect("a server");
    let servers = McpServers::default().with_own(own.server);
    for form in McpForm::ALL {
        let text = form.all(&servers);
        assert!(text.contains(SOCKET_VARIABLE) && text.contains(TOKEN_VARIABLE), "{text}");
        assert!(!text.contains("a token") && !text.contains("/run/socket"), "{text}");
        for (name, server) in servers.iter() {
            assert_eq!((form.check("any", name, server), name), (Ok(()), OWN_SERVER), "every engine can take it");
        }
    }
    let [socket, token] = own.variables;
    assert_eq!((socket.name.as_os_str(), socket.kind), (SOCKET_VARIABLE.as_ref(), VariableKind::Plain));
    assert_eq!((token.name.as_os_str(), token.kind), (TOKEN_VARIABLE.as_ref(), VariableKind::Secret));
}
