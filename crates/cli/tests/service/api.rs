//! What `make api-check` found once, each with a line: requests made from the description that were not answered as
//! described.

use lab::{Lab, Server};
use serde_json::{Value, json};

const ANSWERS: &str = "- - output: {answer: \"yes\"}\n    done: true\n";

fn lab() -> (Lab, Server) {
    Lab::serving(&[("answers", ANSWERS)])
}

fn is_problem(server: &Server, path: &str, status: u16, field: &str) {
    let answer = server.get(path);
    assert_eq!((answer.status, answer.header("content-type")), (status, Some("application/problem+json")), "{path}");
    assert_eq!(answer.json()["errors"][0]["field"], field, "{path}: {}", answer.text());
}

/// A name in the path that is not UTF-8 was answered with plain text.
#[test]
fn bytes_in_a_path_that_are_no_text_are_a_problem_like_others() {
    let (_lab, server) = lab();
    for path in ["/v1/skills/%ff", "/v1/runs/%ff", "/v1/runs/0/artifacts/a/%ff"] {
        is_problem(&server, path, 400, "path");
    }
}

/// Attempts count from 1; `diff` took 0 and answered with nothing.
#[test]
fn there_is_no_attempt_0() {
    let (_lab, server) = lab();
    let run = server.run("answers", json!({}));
    for path in ["diff?attempt=0", "raw?stream=stdout&attempt=0", "events/at?stream=stdout&offset=0&attempt=0"] {
        is_problem(&server, &format!("/v1/runs/{run}/{path}"), 400, "query.attempt");
    }
}

/// JSON Schema counts 1.0 among the integers, and Python sends it so; it was refused.
#[test]
fn whole_numbers_with_a_point_are_integers() {
    let (_lab, server) = lab();
    server.run("answers", json!({"options": {"priority": -1.0, "max_attempt": 2.0, "auto_decision_limit": 3.0}}));
    let run = server.run("answers", json!({}));
    server.wait(&run);
    let late = server.post(&format!("/v1/runs/{run}/interaction/reply"), &json!({"interaction_id": 1.0, "text": "a"}));
    assert_eq!(late.json()["code"], "RUN_OVER", "{}", late.text());
}

/// The length of a key was counted in bytes, and described in characters.
#[test]
fn a_key_of_an_answer_may_have_255_characters_of_any_kind() {
    let (_lab, server) = lab();
    let run = server.run("answers", json!({}));
    server.wait(&run);
    let code = |characters: usize| {
        let body = json!({"interaction_id": 1, "text": "a", "idempotency_key": "字".repeat(characters)});
        server.post(&format!("/v1/runs/{run}/interaction/reply"), &body).json()["code"].clone()
    };
    assert_eq!((code(255), code(256)), ("RUN_OVER".into(), "INVALID_REQUEST".into()));
}

/// A request that is as described is never a bad one; whether it can be run is another question.
#[test]
fn a_run_without_a_skill_cannot_be_run() {
    let (_lab, server) = lab();
    let answer = server.post("/v1/runs", &json!({}));
    assert_eq!((answer.status, &answer.json()["code"]), (422, &json!("CANNOT_RUN")));
}

/// The path of the router, `{*path}`, stood in the description, where `path` was described.
#[test]
fn every_parameter_of_a_path_is_described() {
    let (_lab, server) = lab();
    let document = server.get("/openapi.json").json();
    let paths = document["paths"].as_object().expect("paths");
    for (path, methods) in paths {
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        for name in names {
            let described = |operation: &Value| {
                let parameters = operation["parameters"].as_array().into_iter().flatten();
                parameters.clone().any(|parameter| parameter["in"] == "path" && parameter["name"] == name)
            };
            assert!(methods.as_object().expect("methods").values().all(described), "{path}: {name}");
        }
    }
    assert!(paths.contains_key("/v1/runs/{run_id}/artifacts/{path}"));
}
