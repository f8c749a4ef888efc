//! Every tool from beginning to end.

use lab::Lab;
use serde_json::{Value, json};

use super::client::{Connection, Http, McpClient, ServerProcess, VERSIONS};

pub(super) const ASKS: &str = "\
- - ask: {kind: choose_one, prompt: 'Which colour?', options: [red, blue]}
- - say: I take {{reply}}.
  - output: {answer: '{{reply}}'}
    done: true
";
pub(super) const LONG: &str = "- - say: I begin.\n  - sleep_ms: 60000\n";
pub(super) const DONE: &str = "- - say: I begin.\n  - output: {answer: done}\n    done: true\n";

pub(super) const SKILLS: [(&str, &str); 3] = [("asks", ASKS), ("long", LONG), ("done", DONE)];

const NAMES: [&str; 6] = ["spawn_run", "wait_runs", "send_to_run", "cancel_run", "list_runs", "read_result"];

/// The state of a run in a wait or a list.
fn state(data: &Value, run: &str) -> Value {
    let runs = data["runs"].as_array().expect("runs");
    let found = runs.iter().find(|found| found["run_id"] == run);
    found.unwrap_or_else(|| panic!("no {run} in {data}"))["state"].clone()
}

/// Waits again and again until the outcome is another than `incomplete`, or a run asks.
fn wait<C: Connection>(client: &mut McpClient<C>, runs: &[&str]) -> Value {
    loop {
        let waited = client.done("wait_runs", json!({"run_ids": runs, "timeout_sec": 20}));
        if waited["outcome"] != "incomplete" || waited.to_string().contains("needs_orchestrator") {
            return waited;
        }
    }
}

fn every_tool<C: Connection>(mut client: McpClient<C>, lab: &Lab) {
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
    assert_eq!(names, NAMES);
    for tool in &tools {
        let is_read_only = ["wait_runs", "list_runs", "read_result"].contains(&tool["name"].as_str().expect("a name"));
        assert_eq!(tool["annotations"]["readOnlyHint"], is_read_only, "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }

    // The same call twice, as after a call that was cut off.
    let spawn = json!({"skill": "asks", "engine": "scripted", "mode": "interactive", "key": "the colour"});
    let first = client.done("spawn_run", spawn.clone());
    let again = client.done("spawn_run", spawn);
    assert_eq!((&first["was_new"], &again["was_new"]), (&json!(true), &json!(false)));
    assert_eq!(first["run_id"], again["run_id"]);
    let asks = first["run_id"].as_str().expect("an id").to_owned();
    assert_eq!(lab.runs(), std::slice::from_ref(&asks));

    let waited = wait(&mut client, &[&asks]);
    assert_eq!((&waited["outcome"], state(&waited, &asks)), (&json!("incomplete"), json!("needs_orchestrator")));
    let question = &waited["runs"][0]["question"];
    assert_eq!((&question["prompt"], &question["interaction_id"]), (&json!("Which colour?"), &json!(1)));
    let (reason, words) = client.refused("read_result", json!({"run_id": asks}));
    assert_eq!(reason, "wrong_state");
    assert!(words.contains("has not ended") && words.contains("wait_runs"), "{words}");

    for _ in 0..2 {
        client.done("send_to_run", json!({"run_id": asks, "text": "blue"}));
    }
    let waited = wait(&mut client, &[&asks]);
    assert_eq!((&waited["outcome"], state(&waited, &asks)), (&json!("completed"), json!("completed")));
    // An answer that is repeated after the end has no effect, and another one is refused.
    client.done("send_to_run", json!({"run_id": asks, "text": "blue"}));
    assert_eq!(client.refused("send_to_run", json!({"run_id": asks, "text": "red"})).0, "wrong_state");
    let replies = lab.events(&asks).iter().filter(|event| lab::kind(event) == "interaction.replied").count();
    assert_eq!(replies, 1);

    let read = client.call("read_result", json!({"run_id": asks}));
    assert!(!read.is_error && read.text.contains("> {\"answer\":\"blue\"}"), "{}", read.text);
    assert_eq!(read.data["output"], "{\"answer\":\"blue\"}");
    let read = client.done("read_result", json!({"run_id": asks, "part": "answer"}));
    assert_eq!(read["has_output"], true, "{read}");

    let long = client.done("spawn_run", json!({"skill": "long", "engine": "scripted"}));
    let long = long["run_id"].as_str().expect("an id").to_owned();
    let now = client.done("wait_runs", json!({"run_ids": [asks, long], "timeout_sec": 0}));
    assert_eq!(now["outcome"], "incomplete");
    assert!(now["next"].as_str().expect("words").contains("Call wait_runs again"), "{now}");
    for _ in 0..2 {
        client.done("cancel_run", json!({"run_id": long}));
    }
    let waited = wait(&mut client, &[&asks, &long]);
    assert_eq!((&waited["outcome"], state(&waited, &long)), (&json!("partial"), json!("cancelled")));
    client.done("cancel_run", json!({"run_id": long}));
    assert_eq!(client.refused("cancel_run", json!({"run_id": asks})).0, "wrong_state");

    let late = client.done("spawn_run", json!({"skill": "long", "engine": "scripted", "timeout_sec": 0.3}));
    let late = late["run_id"].as_str().expect("an id").to_owned();
    let waited = wait(&mut client, &[&late]);
    assert_eq!((&waited["outcome"], state(&waited, &late)), (&json!("partial"), json!("timed_out")));
    let read = client.done("read_result", json!({"run_id": late}));
    assert_eq!((&read["answer"], &read["run"]["reason"]), (&Value::Null, &json!("TIMEOUT")));

    let listed = client.done("list_runs", json!({}));
    let states = [&asks, &long, &late].map(|run| state(&listed, run));
    assert_eq!(states, ["completed", "cancelled", "timed_out"]);
    assert_eq!(lab.runs().len(), 3);
}

#[test]
fn every_tool_works_on_stdio_in_each_version() {
    for version in VERSIONS {
        let lab = Lab::new();
        SKILLS.iter().for_each(|(name, script)| drop(lab.installed_skill(name, script)));
        let process = ServerProcess::start(lab.command(&["mcp"]));
        every_tool(McpClient::open(process, version), &lab);
        lab.wait_quiet();
    }
}

#[test]
fn every_tool_works_over_http_in_each_version() {
    for version in VERSIONS {
        let (lab, server) = Lab::serving(&SKILLS);
        let token = lab.make_token("agent", "run");
        every_tool(McpClient::open(Http { server: &server, token }, version), &lab);
    }
}

/// A run is that of the user: agents end their servers with any signal.
#[test]
fn a_run_survives_the_server_process_that_started_it() {
    let lab = Lab::new();
    lab.installed_skill("slow", "- - sleep_ms: 1500\n  - output: {answer: done}\n    done: true\n");
    let mut client = McpClient::open(ServerProcess::start(lab.command(&["mcp"])), VERSIONS[0]);
    let run = client.done("spawn_run", json!({"skill": "slow", "engine": "scripted"}));
    let run = run["run_id"].as_str().expect("an id").to_owned();
    lab::kill(&mut client.connection.child);
    assert_eq!(lab::kind(&lab.wait_end(&run)), "run.completed");
    lab.wait_quiet();
}

/// The agent works in the folder of the agent that asks, if that is wanted.
#[test]
fn a_shared_workspace_is_the_folder_of_the_agent() {
    let lab = Lab::new();
    lab.installed_skill("done", DONE);
    let mut client = McpClient::open(ServerProcess::start(lab.command(&["mcp"])), VERSIONS[1]);
    let run = client.done("spawn_run", json!({"skill": "done", "engine": "scripted", "workspace": "shared"}));
    let run = run["run_id"].as_str().expect("an id").to_owned();
    wait(&mut client, &[&run]);
    let workspace = lab.run_json(&run, "run.json")["request"]["workspace"].to_string();
    client.connection.stdin.take();
    lab.wait_quiet();
    assert!(workspace.contains(&lab.root().canonicalize().expect("a folder").display().to_string()), "{workspace}");
    let (lab, server) = Lab::serving(&SKILLS);
    let mut client = McpClient::open(Http { server: &server, token: server.token().to_owned() }, VERSIONS[1]);
    let shared = json!({"skill": "done", "engine": "scripted", "workspace": "shared"});
    assert_eq!(client.refused("spawn_run", shared).0, "invalid", "a server does not have the folder of its client");
    assert_eq!(lab.runs(), [""; 0]);
}

/// A token that may only read, and none.
#[test]
fn a_token_allows_what_its_scope_says() {
    let (lab, server) = Lab::serving(&SKILLS);
    let token = lab.make_token("reader", "read");
    let mut client = McpClient::open(Http { server: &server, token }, VERSIONS[0]);
    for (tool, arguments) in [
        ("spawn_run", json!({"skill": "done", "engine": "scripted"})),
        ("send_to_run", json!({"run_id": "x", "text": "y"})),
        ("cancel_run", json!({"run_id": "x"})),
    ] {
        let (reason, words) = client.refused(tool, arguments);
        assert_eq!(reason, "not_allowed");
        assert!(words.contains("scope run"), "{words}");
    }
    assert_eq!(client.done("list_runs", json!({}))["runs"], json!([]));
    let stranger = Http { server: &server, token: "wrong".to_owned() };
    let request = client.request("tools/list", json!({}));
    let refused = stranger.send(VERSIONS[0], &request);
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(server.get("/mcp").status, 405, "there is no stream to listen to");
}

/// A wait of an agent does not delay the end of the server.
#[test]
fn a_server_that_stops_ends_the_waits() {
    let (lab, server) = Lab::serving(&SKILLS);
    let mut client = McpClient::open(Http { server: &server, token: server.token().to_owned() }, VERSIONS[0]);
    let run = client.done("spawn_run", json!({"skill": "long", "engine": "scripted"}))["run_id"].clone();
    lab.wait_event(run.as_str().expect("an id"), "attempt.started");
    let request = client.request("tools/call", json!({"name": "wait_runs", "arguments": {"run_ids": [run]}}));
    let pid = server.child.id();
    let begin = std::time::Instant::now();
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| client.connection.send(VERSIONS[0], &request));
        // The wait has a connection before the server stops.
        lab::wait_until("the wait", || connections(pid) > 0);
        server.signal("TERM");
        let answer = waiting.join().expect("a thread");
        assert!(answer.status == 503 || answer.text().contains("incomplete"), "{} {}", answer.status, answer.text());
    });
    lab::wait_until("the end of the server", || lab::is_gone(pid));
    assert!(begin.elapsed().as_secs() < 30, "it took {:?}", begin.elapsed());
    lab.json(&["cancel", run.as_str().expect("an id"), "--json"]);
    lab.wait_quiet();
}

/// Sockets of a process besides the one that it listens on; unix sockets do not count.
fn connections(pid: u32) -> usize {
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let names = entries.filter_map(|fd| std::fs::read_link(fd.path()).ok()?.to_str().map(str::to_owned));
    let inodes = names.filter_map(|name| Some(name.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()));
    let is_established = |inode: &String| {
        table.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.get(3) == Some(&"01") && fields.get(9) == Some(&inode.as_str())
        })
    };
    inodes.filter(is_established).count()
}
