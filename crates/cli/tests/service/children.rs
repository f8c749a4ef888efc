//! Children that users ask for, over HTTP and from the command line; and what views show of a family.

use lab::{Lab, Server};
use serde_json::{Value, json};

/// Stays in its turn until it is canceled.
const WORKS: &str = "- - say: begun\n  - hang\n";
const ANSWERS: &str = "- - output: {answer: blue}\n    done: true\n";
/// Ends at once, and leaves its child alone.
const LEAVES: &str = "- - delegate: {do: spawn, request: {skill: asks, mode: interactive}}\n  - output: {answer: done}\n    done: true\n";
const ASKS: &str = "- - ask: {prompt: Which one?}\n- - output: {answer: '{{reply}}'}\n    done: true\n";

fn delegates(limits: &Value) -> Value {
    json!({ "options": { "delegation": limits } })
}

/// A parent whose turn is open.
fn begun(lab: &Lab, server: &Server, limits: &Value) -> String {
    let run = server.run("works", delegates(limits));
    lab.wait_event(&run, "agent.message.final");
    run
}

fn ask(server: &Server, parent: &str, key: Option<&str>, more: &Value) -> (u16, Value) {
    let mut body = json!({ "parent_run_id": parent, "prompt": "The task." });
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more.clone());
    }
    let mut headers = vec![("Content-Type", "application/json")];
    headers.extend(key.map(|key| ("Idempotency-Key", key)));
    let answer = server.asked("POST", "/v1/runs", &headers, body.to_string().as_bytes());
    (answer.status, answer.json())
}

fn events<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["event"]["type"] == kind).collect()
}

#[test]
fn a_request_with_a_parent_makes_its_child_once() {
    let (lab, server) = Lab::serving(&[("works", WORKS), ("answers", ANSWERS)]);
    let parent = begun(&lab, &server, &json!({}));
    let (status, made) = ask(&server, &parent, Some("k"), &json!({}));
    assert_eq!(status, 202, "{made}");
    let child = made["run_id"].as_str().expect("an id").to_owned();
    assert_eq!((&made["parent"]["run_id"], &made["parent"]["depth"]), (&json!(parent), &json!(1)));
    let (status, again) = ask(&server, &parent, Some("k"), &json!({}));
    assert_eq!((status, &again["run_id"]), (202, &json!(child)));
    let (status, other) = ask(&server, &parent, Some("other"), &json!({ "prompt": null, "skill": "answers" }));
    assert_eq!(status, 202, "{other}");
    assert_eq!(server.wait(&child)["status"], "succeeded");
    lab.wait_event(&parent, "subagent.ended");
    let log = lab.events(&parent);
    let asked = events(&log, "subagent.requested");
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!((&asked[0]["data"]["child_run_id"], &asked[0]["data"]["key"]), (&json!(child), &json!("k")));
    assert_eq!(asked[0]["attempt_number"], 1);
    // By id in the list of its children.
    let listed = server.get(&format!("/v1/runs?parent={parent}")).json();
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(2), "{listed}");
    // After the turn there is no other child; the same request still gets the same one.
    server.post(&format!("/v1/runs/{parent}/cancel"), &json!({}));
    assert_eq!(server.wait(&parent)["status"], "canceled");
    let (status, again) = ask(&server, &parent, Some("k"), &json!({}));
    assert_eq!((status, &again["run_id"]), (202, &json!(child)));
    let (status, refused) = ask(&server, &parent, Some("late"), &json!({}));
    assert_eq!((status, &refused["code"]), (409, &json!("WRONG_STATE")), "{refused}");
    assert!(refused["detail"].as_str().is_some_and(|words| words.contains("has no open turn")), "{refused}");
    assert_eq!(refused["current"]["status"], "canceled", "{refused}");
}

#[test]
fn a_parent_that_may_not_have_the_child_refuses_it() {
    let (lab, server) = Lab::serving(&[("works", WORKS)]);
    let limits = json!({ "engines": ["scripted"], "max_children": 1 });
    let parent = begun(&lab, &server, &limits);
    let refused = |more: Value, status: u16, words: &str| {
        let (found, problem) = ask(&server, &parent, None, &more);
        let detail = format!("{} {}", problem["detail"], problem["errors"]);
        assert_eq!(found, status, "{more}: {problem}");
        assert!(detail.contains(words), "{more}: {problem}");
    };
    refused(json!({ "engine": "codex" }), 422, "the engine codex is not allowed here");
    refused(json!({ "mode": "conversation" }), 422, "a child is an auto or an interactive run");
    refused(json!({ "skill": "works" }), 422, "give either skill or prompt");
    refused(json!({ "options": { "permission": "full" } }), 422, "cannot be given with parent_run_id");
    refused(json!({ "workspace": { "path": "/tmp" } }), 422, "cannot be given with parent_run_id");
    let (status, made) = ask(&server, &parent, None, &json!({ "prompt": null, "skill": "works" }));
    assert_eq!(status, 202, "{made}");
    refused(json!({}), 409, "the limit of 1 children that work at the same time");
    assert_eq!(events(&lab.events(&parent), "subagent.requested").len(), 1, "nothing else is in the Log");
    // A run that may not delegate, and none at all.
    let alone = server.run("works", json!({}));
    lab.wait_event(&alone, "agent.message.final");
    let (status, problem) = ask(&server, &alone, None, &json!({}));
    assert_eq!((status, &problem["code"]), (422, &json!("CANNOT_RUN")), "{problem}");
    let missing = "019b0000-0000-7000-8000-000000000000";
    let (status, problem) = ask(&server, missing, None, &json!({}));
    assert_eq!((status, &problem["code"]), (404, &json!("RUN_NOT_FOUND")), "{problem}");
}

/// A child has the permission of its parent, which may be more than the token allows.
#[test]
fn a_token_cannot_have_a_child_with_more_than_itself() {
    let (lab, server) = Lab::serving(&[("works", WORKS)]);
    let options = json!({ "delegation": {}, "permission": "full" });
    let parent = server.run("works", json!({ "options": options }));
    lab.wait_event(&parent, "agent.message.final");
    let client = server.with_token(&lab.make_token("small", "run"));
    let body = json!({ "parent_run_id": parent, "prompt": "The task." });
    let answer = client.post("/v1/runs", &body).expect("an answer");
    assert_eq!((answer.status, &answer.json()["code"]), (403, &json!("FORBIDDEN")), "{}", answer.text());
}

/// Another process owns the parent; the command asks it over its socket.
#[test]
fn the_command_line_asks_the_owner_of_the_parent() {
    let (lab, server) = Lab::serving(&[("works", WORKS), ("answers", ANSWERS)]);
    let parent = begun(&lab, &server, &json!({}));
    let answer = lab.printed(&["ask", "The task.", "--parent", &parent, "--key", "a"]);
    assert!(answer.contains("The task."), "{answer:?}");
    let again = lab.json(&["run", "answers", "--parent", &parent, "--no-wait", "--json"]);
    let child = again["run_id"].as_str().expect("an id").to_owned();
    assert_eq!(server.wait(&child)["status"], "succeeded");
    let children = lab.json(&["ls", "--children", "--json"]);
    let of_parent = |run: &&Value| run["parent"]["run_id"] == json!(parent);
    assert_eq!(children["runs"].as_array().expect("runs").iter().filter(of_parent).count(), 2, "{children}");
    let refused = lab.output(&["ask", "x", "--parent", &parent, "--permission", "full"]);
    assert_eq!(refused.status.code(), Some(2));
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(words.contains("everything else is as in the parent"), "{words}");
    let checks = lab.json(&["diagnose", &parent, "--tree", "--json"]);
    assert_eq!(checks["runs"].as_array().map(Vec::len), Some(3), "{checks}");
}

fn check<'a>(found: &'a Value, topic: &str) -> &'a Value {
    let checks = found["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["check"] == topic).unwrap_or_else(|| panic!("{found}"))
}

/// Nothing is appended after the end of a run: the views say how a child that it has left has really ended.
#[test]
fn views_reconcile_a_child_that_outlived_its_parent() {
    let (lab, server) = Lab::serving(&[("leaves", LEAVES), ("asks", ASKS)]);
    let parent = server.done("leaves", delegates(&json!({ "on_parent_end": "detach" })));
    let log = lab.events(&parent);
    let ended = events(&log, "subagent.ended");
    assert_eq!((ended.len(), &ended[0]["data"]["status"]), (1, &json!("detached")), "{ended:?}");
    let child = ended[0]["data"]["child_run_id"].as_str().expect("an id").to_owned();
    assert_eq!(server.wait(&child)["status"], "waiting_user");
    let in_tree = || server.get(&format!("/v1/runs/{parent}/tree")).json()["runs"][1].clone();
    assert_eq!((&in_tree()["parent_says"], &in_tree()["reconciled"]), (&json!("detached"), &Value::Null));
    server.reply(&child, 1, "blue");
    assert_eq!(server.wait(&child)["status"], "succeeded");
    let end_seq = lab.events(&child).last().expect("an end")["seq"].clone();
    assert_eq!((&in_tree()["status"], &in_tree()["reconciled"]), (&json!("succeeded"), &json!(true)));
    let found = server.get(&format!("/v1/runs/{parent}/tree/diagnosis")).json();
    let run = &found["runs"][1];
    assert_eq!(
        (&run["ended"], &run["end_seq"], &run["reconciled"]),
        (&json!("completed"), &end_seq, &json!(true)),
        "{found}"
    );
    assert_eq!(check(&found, "detached")["severity"], "warning", "{found}");
    for topic in ["missing_fields", "stale_children", "orphans"] {
        assert_eq!(check(&found, topic)["severity"], "passed", "{found}");
    }
    let shown = lab.json(&["show", &parent, "--json"]);
    let seen = &shown["children"][0];
    assert_eq!(
        (&seen["status"], &seen["reconciled"], &seen["child_seq"]),
        (&json!("completed"), &json!(true), &end_seq)
    );
    let text = lab.printed(&["tree", &parent]);
    assert!(text.contains("detached by its parent; the status is from its own Log"), "{text}");
    let text = lab.printed(&["diagnose", &parent, "--tree"]);
    assert!(
        text.contains("detached: warning:") && text.contains(&format!("is completed (event {end_seq} of its Log)")),
        "{text}"
    );
    // The Log of the parent is as it was.
    assert_eq!(lab.events(&parent).len(), log.len());
}
