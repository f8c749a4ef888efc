//! What agents do to a server on stdio.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use lab::{Lab, wait_exit};
use serde_json::{Value, json};

use super::client::{McpClient, NEWEST, ServerProcess, VERSIONS};
use super::tools::{DONE, LONG};

/// Less than a wait takes, and less than the 5 s that the SDK gives to open calls.
const EXIT_TIMEOUT: Duration = Duration::from_secs(4);

fn lab() -> Lab {
    let lab = Lab::new();
    lab.installed_skill("long", LONG);
    lab.installed_skill("done", DONE);
    lab
}

/// claude asks `server/discover` first and continues with `initialize`; others send a line that is not JSON, unknown
/// methods and notifications before anything else.
#[test]
fn messages_before_the_first_request_do_not_end_the_server() {
    let lab = lab();
    let mut server = ServerProcess::start(lab.command(&["mcp"]));
    server.send("this is not JSON");
    server.send("");
    server.send("[1, 2]");
    server
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}).to_string());
    server.send(&json!({"jsonrpc": "2.0", "id": 8, "result": {}}).to_string());
    for (id, method) in [(1, "no/such"), (2, "ping")] {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": method}).to_string());
    }
    let mut answers: Vec<Value> = Vec::new();
    while answers.last().is_none_or(|answer| answer["id"] != 2) {
        answers.push(server.next());
    }
    let unknown = answers.iter().find(|answer| answer["id"] == 1).expect("an answer");
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    // A probe and then the handshake.
    let mut client = McpClient::open(server, NEWEST);
    let opened = client.ask(
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "2"}}),
    );
    assert_eq!(opened["result"]["protocolVersion"], "2025-11-25", "{opened}");
    assert_eq!(client.done("list_runs", json!({}))["runs"], json!([]));
}

/// opencode sends it after every call that succeeded.
#[test]
fn a_cancel_after_a_call_is_ignored() {
    for version in VERSIONS {
        let lab = lab();
        let mut client = McpClient::open(ServerProcess::start(lab.command(&["mcp"])), version);
        for id in 1..5 {
            client.done("list_runs", json!({}));
            client.notify("notifications/cancelled", json!({"requestId": id, "reason": "AbortError"}));
            client.connection.send("{\"neither\": \"this\"");
        }
        assert_eq!(client.done("list_runs", json!({}))["runs"], json!([]));
    }
}

/// A server that outlives its agent holds the folder of the attempt.
#[test]
fn the_end_of_stdin_ends_the_process_in_a_wait() {
    for version in VERSIONS {
        let lab = lab();
        let mut client = McpClient::open(ServerProcess::start(lab.command(&["mcp"])), version);
        let run = client.done("spawn_run", json!({"skill": "long", "engine": "scripted"}))["run_id"].clone();
        let wait = client.request("tools/call", json!({"name": "wait_runs", "arguments": {"run_ids": [run]}}));
        let list = client.request("tools/call", json!({"name": "list_runs", "arguments": {}}));
        client.connection.send(&wait.to_string());
        client.connection.send(&list.to_string());
        assert_eq!(client.connection.next()["id"], list["id"], "other calls are answered in a wait");
        let begin = Instant::now();
        client.connection.stdin.take();
        assert!(wait_exit(&mut client.connection.child).success());
        assert!(begin.elapsed() < EXIT_TIMEOUT, "{version}: it took {:?}", begin.elapsed());
        lab.json(&["cancel", run.as_str().expect("an id"), "--json"]);
        // Its owner in the background works in the folder of the lab.
        lab.wait_quiet();
    }
}

/// Requests from a file, such as of a script.
#[test]
fn requests_before_the_end_of_stdin_are_answered() {
    let lab = lab();
    let mut server = ServerProcess::start(lab.command(&["mcp"]));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (id, method) in [(1, "server/discover"), (2, "tools/list")] {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta}}).to_string());
    }
    server.stdin.take();
    assert_eq!([server.next()["id"].clone(), server.next()["id"].clone()], [json!(1), json!(2)]);
    assert!(wait_exit(&mut server.child).success());
}

/// The desk of an attempt: requests go to the owner of its run, with the token from the environment.
#[test]
fn a_server_of_an_attempt_asks_the_owner() {
    let lab = lab();
    let socket = lab.path("owner.sock");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let (lines, got) = mpsc::channel::<Value>();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).expect("a line");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            let response = match message["ask"]["do"].as_str() {
                Some("spawn") => json!({"is": "spawned", "run_id": UNKNOWN, "was_new": true}),
                Some("wait") => json!({"is": "waited", "outcome": "completed", "runs": []}),
                Some("list") => json!({"is": "listed", "runs": []}),
                Some("send" | "cancel") => json!({"is": "done"}),
                _ => json!({"is": "refused", "refusal": {"reason": "turn_over", "message": "the turn has ended"}}),
            };
            writeln!(stream, "{response}").expect("a client");
            lines.send(message).ok();
        }
    });
    const UNKNOWN: &str = "019b0000-0000-7000-8000-000000000000";
    let mut command = lab.command(&["mcp"]);
    command.env("SKILLRUN_DELEGATION_SOCKET", &socket).env("SKILLRUN_DELEGATION_TOKEN", "secret");
    let mut client = McpClient::open(ServerProcess::start(command), NEWEST);
    let spawned = client.done("spawn_run", json!({"prompt": "count", "key": "a", "on_parent_end": "detach"}));
    assert_eq!((&spawned["run_id"], &spawned["was_new"]), (&json!(UNKNOWN), &json!(true)));
    assert_eq!(client.done("wait_runs", json!({}))["outcome"], "completed");
    client.done("send_to_run", json!({"run_id": UNKNOWN, "text": "blue", "interaction_id": 2}));
    client.done("cancel_run", json!({"run_id": UNKNOWN}));
    client.done("list_runs", json!({}));
    assert_eq!(client.refused("read_result", json!({"run_id": UNKNOWN})).0, "turn_over");
    let lines: Vec<Value> = got.try_iter().collect();
    assert!(lines.iter().all(|line| line["token"] == "secret" && line["skillrun_delegation"] == 1), "{lines:?}");
    let asks: Vec<&Value> = lines.iter().map(|line| &line["ask"]).collect();
    assert_eq!(asks[0]["request"]["prompt"], "count");
    assert_eq!((&asks[0]["request"]["key"], &asks[0]["request"]["on_parent_end"]), (&json!("a"), &json!("detach")));
    let wait = json!({"do": "wait", "runs": [], "timeout_sec": 45.0});
    assert_eq!((asks[1]["do"].clone(), asks[1]["runs"].clone()), (wait["do"].clone(), wait["runs"].clone()));
    let left = asks[1]["timeout_sec"].as_f64().expect("a time");
    assert!(left > 30.0 && left <= 45.0, "{left}");
    assert_eq!(*asks[2], json!({"do": "send", "run": UNKNOWN, "text": "blue", "interaction_id": 2}));
    assert_eq!(*asks[3], json!({"do": "cancel", "run": UNKNOWN}));
    assert_eq!(lab.runs(), [""; 0], "nothing is made here");
}

/// Half of an environment is a mistake of the caller, and not a user.
#[test]
fn a_socket_without_a_token_is_refused() {
    let lab = lab();
    for (set, missing) in [
        ("SKILLRUN_DELEGATION_SOCKET", "SKILLRUN_DELEGATION_TOKEN"),
        ("SKILLRUN_DELEGATION_TOKEN", "SKILLRUN_DELEGATION_SOCKET"),
    ] {
        let output = lab.command(&["mcp"]).env(set, "x").output().expect("run");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("{missing} is not")), "{said}");
    }
}
