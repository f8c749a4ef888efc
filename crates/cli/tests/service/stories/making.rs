//! Runs that are made: at once or waited for, once however often they are asked for, with files, again, and not at all.

use std::fs;
use std::thread;

use lab::{Lab, Server, wait_until};
use serde_json::{Value, json};

use super::{ASKS, DONE, LONG, id, zipped};

fn post_with_key(server: &Server, key: &str, body: &Value) -> testkit::http::Answer {
    let headers = [("Content-Type", "application/json"), ("Idempotency-Key", key)];
    server.client.request("POST", "/v1/runs", &headers, body.to_string().as_bytes()).expect("an answer")
}

fn count(server: &Server) -> usize {
    server.get("/v1/runs").json()["runs"].as_array().expect("runs").len()
}

#[test]
fn a_run_can_be_waited_for() {
    let (_lab, server) = Lab::serving(&[("done", DONE), ("asks", ASKS), ("long", LONG)]);
    let body = |skill: &str, mode: &str| json!({"skill": skill, "engine": "scripted", "mode": mode});
    let made = server.post("/v1/runs?wait=60", &body("done", "auto"));
    let view = made.json();
    assert_eq!((made.status, &view["status"]), (200, &json!("succeeded")), "{}", made.text());
    assert_eq!(view["result"]["output"], json!({"answer": "done"}));
    assert_eq!(made.header("location"), Some(format!("/v1/runs/{}", id(&made)).as_str()));
    let made = server.post("/v1/runs?wait=60", &body("asks", "interactive"));
    assert_eq!((made.status, &made.json()["status"]), (200, &json!("waiting_user")));
    assert_eq!(made.json()["interaction"]["prompt"], "Which colour?");
    let made = server.post("/v1/runs", &body("long", "auto"));
    assert_eq!(made.status, 202, "{}", made.text());
    let made = server.post("/v1/runs?wait=1", &body("long", "auto"));
    assert_eq!(made.status, 202, "it takes longer than that");
    let refused = server.post("/v1/runs?wait=601", &body("done", "auto"));
    assert_eq!((refused.status, &refused.json()["errors"][0]["field"]), (400, &json!("query.wait")));
}

/// A prompt takes the place of the skill, in every view.
#[test]
fn prompt_makes_a_run_without_a_skill() {
    let (_lab, server) = Lab::serving(&[("done", DONE)]);
    let prompt = " Why is\nthe sky blue? ";
    let made = server.post("/v1/runs?wait=60", &json!({"prompt": prompt, "engine": "scripted"}));
    let view = made.json();
    assert_eq!((made.status, &view["status"], &view["mode"]), (200, &json!("succeeded"), &json!("auto")), "{view}");
    assert_eq!((&view["skill"], &view["title"]), (&json!(null), &json!("Why is the sky blue?")));
    assert_eq!((&view["result"]["text"], &view["result"]["warnings"]), (&json!(prompt), &json!([])));
    let run = id(&made);
    let request = server.get(&format!("/v1/runs/{run}/request")).json();
    assert_eq!((&request["skill"], &request["prompt"]), (&json!(null), &json!(prompt)));
    let found = server.get("/v1/runs?text=sky").json();
    assert_eq!(found["runs"][0]["title"], "Why is the sky blue?", "{found}");
    let diagnosis = server.get(&format!("/v1/runs/{run}/diagnosis")).json();
    assert_eq!((&diagnosis["skill"], &diagnosis["title"]), (&json!(null), &json!("Why is the sky blue?")));
    let again = server.post(&format!("/v1/runs/{run}/retry?wait=60"), &json!({}));
    assert_eq!(again.json()["result"]["text"], json!(prompt), "{}", again.text());
}

#[test]
fn request_has_exactly_one_of_skill_and_prompt() {
    let (_lab, server) = Lab::serving(&[("done", DONE)]);
    let cases = [
        (json!({}), "skill", "is missing; use one of GET /v1/skills, send a zip, or give a prompt instead"),
        (json!({"skill": "done", "prompt": "Why?"}), "prompt", "was given with a skill; give only one of them"),
        (json!({"prompt": " "}), "prompt", "the prompt is empty; give a text"),
        (json!({"prompt": "a\0"}), "prompt", "the prompt contains a NUL character at byte 1; remove it"),
        (
            json!({"prompt": "x".repeat(600_000)}),
            "prompt",
            "the prompt has more than 524288 bytes (PROMPT_MAX); attach longer text as a file",
        ),
        (
            json!({"prompt": "Why?", "options": {"require_marker": true}}),
            "options.require_marker",
            "require_marker needs a skill: an agent without one is not asked for a done marker",
        ),
        (
            json!({"prompt": "Why?", "options": {"mcp_servers": {"lab": {"command": "x"}}}}),
            "options.mcp_servers",
            "scripted cannot take MCP servers; use another engine, or leave out mcp_servers",
        ),
        (
            json!({"prompt": "Why?", "input": {"a": 1}}),
            "input",
            "input needs a skill: write it into the prompt, or attach it as a file",
        ),
    ];
    for (mut body, field, message) in cases {
        body["engine"] = json!("scripted");
        let refused = server.post("/v1/runs", &body);
        let problem = refused.json();
        assert_eq!((refused.status, &problem["code"]), (422, &json!("CANNOT_RUN")), "{problem}");
        assert_eq!(problem["errors"], json!([{"field": field, "message": message}]));
    }
    assert_eq!(count(&server), 0);
}

#[test]
fn one_key_makes_one_run() {
    let (lab, server) = Lab::serving(&[("done", DONE)]);
    let body = json!({"skill": "done", "engine": "scripted", "input": {"n": 1}});
    let at_once: Vec<_> = thread::scope(|scope| {
        let ask = || scope.spawn(|| post_with_key(&server, "order-66", &body));
        let asked: Vec<_> = (0..8).map(|_| ask()).collect();
        asked.into_iter().map(|answer| answer.join().expect("an answer")).collect()
    });
    let run = id(&at_once[0]);
    for answer in &at_once {
        assert_eq!((answer.status, id(answer)), (202, run.clone()));
    }
    assert_eq!(count(&server), 1);
    let other = json!({"skill": "done", "engine": "scripted", "input": {"n": 2}});
    let is_refused = |server: &Server| {
        let refused = post_with_key(server, "order-66", &other);
        assert_eq!((refused.status, &refused.json()["code"]), (422, &json!("IDEMPOTENCY_KEY_REUSED")));
        assert_eq!(refused.json()["run_id"], json!(run));
    };
    is_refused(&server);
    server.wait(&run);
    server.stop();
    let server = lab.serve();
    assert_eq!(id(&post_with_key(&server, "order-66", &body)), run, "after a restart");
    is_refused(&server);
    server.kill();
    let server = lab.serve();
    assert_eq!(id(&post_with_key(&server, "order-66", &body)), run, "after a kill");
    assert_ne!(id(&post_with_key(&server, "order-67", &body)), run);
    assert_eq!(count(&server), 2);
    let refused = post_with_key(&server, "two words", &body);
    assert_eq!((refused.status, &refused.json()["errors"][0]["field"]), (400, &json!("header.Idempotency-Key")));
}

#[test]
fn a_skill_and_files_come_with_the_request() {
    let lab = Lab::new();
    let folder = lab.installed_skill("sent", DONE);
    let zip = zipped(&folder);
    fs::remove_dir_all(folder).expect("only what is sent counts");
    let server = lab.serve();
    let table = b"city,people\nBasel,178000\n\0\xff";
    let request = json!({"engine": "scripted", "input": {"n": 1}}).to_string();
    let parts = [
        ("request", None, request.as_bytes()),
        ("skill", Some("sent.zip"), &zip[..]),
        ("files.table", Some("../../table.csv"), &table[..]),
    ];
    let key = [("Idempotency-Key", "a-form")];
    let made = server.send_form("/v1/runs?wait=60", &key, &parts);
    let view = made.json();
    let expected = (200, &json!("succeeded"), &json!("sent"));
    assert_eq!((made.status, &view["status"], &view["skill"]), expected, "{}", made.text());
    let run = id(&made);
    let kept = fs::read(lab.run_folder(&run).join("inputs/1-table.csv")).expect("kept, and not elsewhere");
    assert_eq!(kept, table);
    assert_eq!(id(&server.send_form("/v1/runs", &key, &parts)), run, "the same form again");
    let changed = [parts[0], parts[1], ("files.table", Some("table.csv"), b"other")];
    assert_eq!(server.send_form("/v1/runs", &key, &changed).status, 422, "other bytes");
    let refused = server.send_form("/v1/runs", &[], &[parts[0], ("skill", Some("x.zip"), b"PK no zip")]);
    assert_eq!((refused.status, &refused.json()["code"]), (422, &json!("SKILL_INVALID")), "{}", refused.text());
    let refused = server.send_form("/v1/runs", &[], &[parts[0], parts[1], ("filse.table", Some("x"), b"x")]);
    assert_eq!((refused.status, &refused.json()["errors"][0]["field"]), (400, &json!("filse.table")));
    assert_eq!(count(&server), 1);
    let left = fs::read_dir(lab.data().join("uploads")).map(Iterator::count).unwrap_or_default();
    assert_eq!(left, 0, "what was sent lies in the run, and nowhere else");
}

#[test]
fn a_full_queue_says_when_to_come_again() {
    let lab = Lab::new();
    lab.settings("[slots]\ntotal = 1\nqueued = 1\n");
    lab.installed_skill("long", LONG);
    let server = lab.serve();
    let running = server.run("long", json!({}));
    wait_until("the start", || server.get(&format!("/v1/runs/{running}")).json()["status"] == "running");
    let queued = server.run("long", json!({}));
    let refused = server.post("/v1/runs", &json!({"skill": "long", "engine": "scripted"}));
    let problem = refused.json();
    assert_eq!((refused.status, &problem["code"]), (429, &json!("QUEUE_FULL")), "{}", refused.text());
    assert_eq!(problem["retryable"], true);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert!(refused.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok_and(|s| s > 0)));
    assert_eq!(count(&server), 2, "nothing is left of what was refused");
    for run in [queued, running] {
        let canceled = server.post(&format!("/v1/runs/{run}/cancel?wait=60"), &json!({}));
        assert_eq!((canceled.status, &canceled.json()["status"]), (200, &json!("canceled")));
    }
    server.run("long", json!({}));
}

#[test]
fn a_run_is_tried_again_as_another_one() {
    let (lab, server) = Lab::serving(&[("done", DONE)]);
    let first = server.run("done", json!({"input": {"a": 1, "b": 2}}));
    server.wait(&first);
    let log = lab.events(&first);
    let again = server.post(&format!("/v1/runs/{first}/retry?wait=60"), &json!({"input": {"b": 3}}));
    assert_eq!((again.status, &again.json()["status"]), (200, &json!("succeeded")), "{}", again.text());
    let second = id(&again);
    assert_ne!(second, first);
    let record = lab.run_json(&second, "run.json");
    assert_eq!(record["retry_of"], json!(first), "{record}");
    assert_eq!(record["request"]["input"], json!({"a": 1, "b": 3}), "{record}");
    assert_eq!(lab.events(&first), log, "nothing is added to a run that is over");
    let path = format!("/v1/runs/{first}/retry");
    let plain = server.client.request("POST", &path, &[("Idempotency-Key", "again")], b"").expect("an answer");
    let twice = server.client.request("POST", &path, &[("Idempotency-Key", "again")], b"").expect("an answer");
    assert_eq!((plain.status, id(&plain)), (202, id(&twice)), "{}", plain.text());
    let unknown = server.post("/v1/runs/0199a000-0000-7000-8000-000000000000/retry", &json!({}));
    assert_eq!(unknown.status, 404);
}

#[test]
fn the_demonstration_has_three_runs_to_look_at() {
    let lab = Lab::new();
    for _ in 0..2 {
        let server = lab.serve_with(&["--demo"]);
        let list = server.get("/v1/runs").json();
        let runs = list["runs"].as_array().expect("runs").iter();
        let ids: Vec<String> = runs.map(|row| row["run_id"].as_str().expect("an id").to_owned()).collect();
        let mut ends: Vec<String> =
            ids.iter().map(|run| server.wait(run)["status"].as_str().expect("a status").to_owned()).collect();
        ends.sort();
        assert_eq!(ends, ["failed", "succeeded", "waiting_user"]);
        assert_eq!(server.get("/v1/skills").json()["skills"].as_array().map(Vec::len), Some(3));
        server.stop();
    }
}
