//! A token that may start runs reaches no further than those runs.

use lab::{Lab, Server};
use serde_json::{Value, json};
use skillrun_confine::{ProbeScope, probe};

use super::{FORM, SCRIPT, form, plain, refused};

fn create(server: &Server, token: &str, more: Value) -> testkit::http::Answer {
    let mut body = json!({"skill": "plain", "engine": "scripted"});
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    server.with_token(token).post("/v1/runs", &body).expect("an answer")
}

#[test]
fn what_reaches_beyond_a_run_is_for_administrators() {
    let (lab, server) = plain();
    let token = lab.make_token("worker", "run");
    let elsewhere = lab.path("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let before = server.belongings();
    for (field, body) in [
        ("workspace", json!({"workspace": {"path": elsewhere}})),
        ("options.env", json!({"options": {"env": ["HOME"]}})),
        ("options.secrets", json!({"options": {"secrets": ["HOME"]}})),
        ("options.mcp_servers", json!({"options": {"mcp_servers": {"lab": {"command": "x"}}}})),
        ("options.checks", json!({"options": {"checks": [{"command": "true"}]}})),
        ("options.home", json!({"options": {"home": "user"}})),
        ("options.permission", json!({"options": {"permission": "full"}})),
        ("skill", json!({"skill": lab.data().join("skills/plain")})),
        ("skill", json!({"skill": "./data/skills/plain"})),
        ("skill", json!({"skill": "../plain"})),
    ] {
        let answer = create(&server, &token, body);
        refused(&answer, 403, "FORBIDDEN");
        assert_eq!(answer.json()["errors"][0]["field"], field);
    }
    for name in ["..", ".", "", "..\\plain", "plain\u{0}"] {
        refused(&create(&server, &token, json!({ "skill": name })), 404, "SKILL_NOT_FOUND");
    }
    let client = server.with_token(&token);
    let zip = form(&[("skill", Some("a.zip"), b"PK")]);
    refused(&client.request("POST", "/v1/skills", &[FORM], &zip).expect("an answer"), 403, "FORBIDDEN");
    refused(&client.request("DELETE", "/v1/skills/plain", &[], b"").expect("an answer"), 403, "FORBIDDEN");
    // To have one looked at is less than to have it run.
    refused(&client.request("POST", "/v1/validate", &[FORM], &zip).expect("an answer"), 422, "SKILL_INVALID");
    let reader = server.with_token(&lab.make_token("reader", "read"));
    refused(&reader.request("POST", "/v1/validate", &[FORM], &zip).expect("an answer"), 403, "FORBIDDEN");
    assert_eq!(server.belongings(), before);
    assert_eq!(create(&server, &token, json!({})).status, 202);
    server.is_well();
}

/// A retry takes over what the first run had: found when a token of scope `run` tried the run of an administrator again
/// and got its folder, its variables and its permission, with an input of its own.
#[test]
fn a_retry_does_not_lend_what_an_administrator_had() {
    let lab = Lab::new();
    lab.installed_skill("plain", SCRIPT);
    let apart = lab.installed_skill("apart", SCRIPT);
    let moved = lab.path("apart");
    std::fs::rename(apart, &moved).expect("moved");
    let elsewhere = lab.path("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let server = lab.serve();
    let token = lab.make_token("worker", "run");
    for (field, body) in [
        ("workspace", json!({"workspace": {"path": elsewhere}})),
        ("options.env", json!({"options": {"env": ["HOME"]}})),
        ("options.secrets", json!({"options": {"secrets": ["HOME"]}})),
        ("options.checks", json!({"options": {"checks": [{"command": "true"}]}})),
        ("options.home", json!({"options": {"home": "user"}})),
        ("options.permission", json!({"options": {"permission": "full"}})),
        ("skill", json!({"skill": moved})),
    ] {
        let answer = create(&server, server.token(), body);
        assert_eq!(answer.status, 202, "{}", answer.text());
        let run = answer.json()["run_id"].as_str().expect("an id").to_owned();
        server.wait(&run);
        let before = server.belongings();
        let again = |token: &str, body: Value| {
            server.with_token(token).post(&format!("/v1/runs/{run}/retry"), &body).expect("an answer")
        };
        for body in [json!({}), json!({"input": {"text": "mine"}})] {
            let answer = again(&token, body);
            refused(&answer, 403, "FORBIDDEN");
            assert_eq!(answer.json()["errors"][0]["field"], field);
        }
        refused(&again(&token, json!({"options": {"env": ["PATH"]}})), 403, "FORBIDDEN");
        assert_eq!(server.belongings(), before);
        let allowed = again(server.token(), json!({}));
        assert_eq!(allowed.status, 202, "{}", allowed.text());
        // Before the next look at what there is.
        server.wait(allowed.json()["run_id"].as_str().expect("an id"));
    }
    let own = create(&server, &token, json!({})).json()["run_id"].as_str().expect("an id").to_owned();
    server.wait(&own);
    let again = server.with_token(&token).post(&format!("/v1/runs/{own}/retry"), &json!({})).expect("an answer");
    assert_eq!(again.status, 202, "{}", again.text());
    server.is_well();
}

/// Collects everything that it can read: files of the server, environments of processes.
const COLLECTS: &str = r#"#!/bin/sh
find LAB -type f ! -name found -exec cat {} + > "$HOME/found" 2> /dev/null
cat /proc/[0-9]*/environ >> "$HOME/found" 2> /dev/null
echo done
"#;

const COLLECTOR: &str = r#"
name = "collector"
title = "An engine that collects what it can read"
profile = "plain_text"
continuation = "none"

[executable]
path = PROGRAM

[start]
argv = ["{{prompt_flags}}"]

[prompt]
argument = ["{{prompt}}"]

[permission]
workspace = { posture = "not_enforced" }
read_only = { posture = "not_enforced" }
full = { posture = "not_enforced" }

[environment]
set = { HOME = "{{home}}" }
"#;

/// The engine of a run that was started with a small token does not find the token of the administrator.
#[test]
fn an_engine_in_a_box_finds_no_token_of_an_administrator() {
    let abilities = probe(ProbeScope::WithoutNetwork);
    if abilities.namespaces.is_err() && abilities.landlock.is_none_or(|version| version < 3) {
        eprintln!("skipped: this machine has no boxes ({abilities:?})");
        return;
    }
    let lab = Lab::new();
    lab.write_program("programs/collector", &COLLECTS.replace("LAB", &lab.path("").display().to_string()));
    let program = format!("{:?}", lab.path("programs/collector"));
    lab.write("engines/collector.toml", &COLLECTOR.replace("PROGRAM", &program));
    lab.settings(&format!("engines = {:?}\nconsent = [\"collector\"]\n", lab.path("engines")));
    let server = lab.serve();
    let token = lab.make_token("worker", "run");
    let collected = |choice: &str| {
        let body = json!({ "prompt": "Collect.", "engine": "collector", "options": { "box": choice } });
        let answer = server.with_token(&token).post("/v1/runs", &body).expect("an answer");
        assert_eq!(answer.status, 202, "{}", answer.text());
        let run = answer.json()["run_id"].as_str().expect("an id").to_owned();
        server.wait(&run);
        let bytes = std::fs::read(lab.run_folder(&run).join("home/found")).expect("collected");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    assert!(collected("off").contains(server.token()), "or the test shows nothing");
    let found = collected("on");
    assert!(!found.is_empty() && !found.contains(server.token()) && !found.contains(&token));
}
