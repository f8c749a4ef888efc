use serde_json::{Value, json};

use super::*;

fn read(value: Value) -> Result<McpServers, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn refused(server: Value) -> String {
    read(json!({"lab": server})).expect_err("a mistake").replace("mcp_servers.lab: ", "")
}

#[test]
fn servers_are_written_as_they_are_read() {
    let written = json!({
        "db-1": {
            "command": "db-server", "args": ["--read-only", "a\nb"], "required": true, "timeout_sec": 20.0,
            "env": {"DB": "main", "TOKEN": "${DB_TOKEN}", "BOTH": "a ${A} b${B}"},
        },
        "web": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${WEB_TOKEN}", "X-A": "$A {b}"}},
    });
    let servers = read(written.clone()).expect("servers");
    assert_eq!(serde_json::to_value(&servers).expect("JSON"), written);
    assert_eq!(servers.variables().into_iter().collect::<Vec<_>>(), ["A", "B", "DB_TOKEN", "WEB_TOKEN"]);
    let db = servers.get("db-1").expect("a server");
    assert!(db.required && db.timeout_sec == Some(20.0));
    let McpTransport::Stdio { env, .. } = &db.transport else { panic!("{db:?}") };
    let text = |text: &str| ValuePiece::Text(text.to_owned());
    let variable = |name: &str| ValuePiece::Variable(name.to_owned());
    assert_eq!(env["BOTH"].pieces(), [text("a "), variable("A"), text(" b"), variable("B")]);
}

#[test]
fn entries_of_other_programs_are_read() {
    let both = read(json!({
        "a": {"type": "stdio", "command": "x", "args": [], "env": {}},
        "b": {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {}},
    }));
    assert_eq!(both.expect("servers").iter().count(), 2);
}

#[test]
fn each_mistake_has_one_sentence() {
    let with = |more: Value| {
        let mut server = json!({"command": "x"});
        server.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        server
    };
    for (server, sentence) in [
        (json!({}), "has neither command nor url; give one of them"),
        (json!({"command": "x", "url": "http://x"}), "has both command and url; give one of them"),
        (with(json!({"type": "http"})), "the type does not fit: a server with command is stdio, one with url is http"),
        (
            json!({"type": "stdio", "url": "http://x"}),
            "the type does not fit: a server with command is stdio, one with url is http",
        ),
        (with(json!({"headers": {"A": "b"}})), "headers goes with url, and this server has none"),
        (json!({"url": "http://x", "args": ["y"]}), "args goes with command, and this server has none"),
        (json!({"url": "http://x", "env": {"A": "b"}}), "env goes with command, and this server has none"),
        (json!({"command": ""}), "command is empty"),
        (json!({"command": "a\u{0}b"}), "command has a control character in it"),
        (with(json!({"args": ["\u{1b}"]})), "args has a control character in it"),
        (json!({"url": "ftp://x"}), "url must begin with http:// or https://, and is \"ftp://x\""),
        (json!({"url": "http://"}), "url must begin with http:// or https://, and is \"http://\""),
        (with(json!({"env": {"A-B": ""}})), "\"A-B\" cannot be the name of a variable"),
        (json!({"url": "http://x", "headers": {"a b": ""}}), "\"a b\" cannot be the name of a header"),
        (json!({"url": "http://x", "headers": {"a": "b\nc"}}), "headers.a has a control character in it"),
        (with(json!({"env": {"A": "${B"}})), "env.A has ${ without the name of a variable and } after it"),
        (with(json!({"env": {"A": "${B:-c}"}})), "env.A has ${ without the name of a variable and } after it"),
        (with(json!({"args": ["${B}"]})), "args has ${ in it, and only values of env and headers can name a variable"),
        (with(json!({"timeout_sec": 0})), "timeout_sec must be a number from 1 to 86400, and is 0"),
        (with(json!({"timeout_sec": 1e9})), "timeout_sec must be a number from 1 to 86400, and is 1000000000"),
    ] {
        assert_eq!(refused(server.clone()), sentence, "{server}");
    }
    assert!(refused(with(json!({"args": vec!["a"; 101]}))).contains("args has 101 entries, and the limit is 100"));
    assert!(refused(with(json!({"comand": "y"}))).starts_with("unknown field `comand`"));
}

#[test]
fn names_and_sizes_are_bounded() {
    let server = json!({"command": "x"});
    for name in ["", "A", "a_b", "-a", "a-", "a.b", "é", &"a".repeat(33)] {
        let error = read(json!({name: server})).expect_err("a name");
        assert!(error.contains("cannot be the name of a server; a name has 1 to 32"), "{error}");
    }
    for name in ["a", "0", "a-b-1", &"a".repeat(32)] {
        assert!(read(json!({name: server})).is_ok(), "{name}");
    }
    assert!(read(json!({"skillrun": server})).expect_err("ours").contains("belongs to the server that skillrun"));
    let many = |count: usize| (0..count).map(|n| (format!("s{n}"), server.clone())).collect::<Value>();
    assert!(read(many(20)).is_ok());
    assert!(read(many(21)).expect_err("too many").contains("there are 21 servers, and the limit is 20"));
    let large = |bytes: usize| json!({"a": {"command": "x".repeat(bytes)}});
    assert!(read(large(BYTES_MAX - 100)).is_ok());
    assert!(read(large(BYTES_MAX)).expect_err("too large").contains("bytes, and the limit is 32768"));
}

#[test]
fn request_replaces_servers_of_the_same_name() {
    let of = |value| read(value).expect("servers");
    let request = of(json!({"a": {"command": "mine"}}));
    let skill = of(json!({"a": {"command": "theirs"}, "b": {"command": "b"}}));
    let both = request.clone().or(&skill).expect("servers");
    assert_eq!(both, of(json!({"a": {"command": "mine"}, "b": {"command": "b"}})));
    assert_eq!(both.without(&skill), request, "what the skill has itself is not of the request");
}
