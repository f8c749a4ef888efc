//! Workflows over HTTP: what is refused, who may start what, and that their views are those of the command line.

use lab::{Lab, Server};
use serde_json::{Value, json};

const ANSWERS: &str = "- - output: {answer: blue}\n    done: true\n";
const FAILS: &str = "- - fail: the model is not there\n";

/// The second step uses what the first has found.
const FLOW: &str = "name: two\n\
                    inputs: {colour: {schema: {type: string}}}\n\
                    steps:\n\
                    - {id: a, skill: answers}\n\
                    - {id: b, prompt: Repeat this., with: {of: {from: /steps/a/output}, is: {from: /inputs/colour}}}\n\
                    outputs: {answer: {from: /steps/a/output/answer}, text: {from: /steps/b/text}}\n";
const BROKEN: &str = "steps:\n- {id: a, skill: answers}\n- {id: b, skill: fails, needs: [a]}\n";
const CHECKED: &str = "steps:\n- {id: a, skill: answers, check: 'true'}\n";

fn serving() -> (Lab, Server) {
    Lab::serving(&[("answers", ANSWERS), ("fails", FAILS)])
}

fn body(workflow: &str, more: &Value) -> Value {
    let mut body = json!({ "workflow": workflow, "engine": "scripted" });
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more.clone());
    }
    body
}

fn started(server: &Server, workflow: &str, more: &Value) -> String {
    let answer = server.post("/v1/workflows", &body(workflow, more));
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["run_id"].as_str().expect("an id").to_owned()
}

/// The view, which is that of the command line, with the result.
fn ended(lab: &Lab, server: &Server, run: &str) -> Value {
    server.wait(run);
    let view = server.get(&format!("/v1/runs/{run}/workflow")).json();
    assert_eq!(view, lab.json(&["workflow", "show", run, "--json"]));
    let result = server.get(&format!("/v1/runs/{run}/result")).json();
    assert_eq!(result, lab.json(&["result", run, "--json"]));
    assert_eq!((&result["workflow"]["outcome"], &result["workflow"]["ok"]), (&view["outcome"], &view["ok"]));
    view
}

#[test]
fn workflow_over_http_has_the_views_of_the_command() {
    let (lab, server) = serving();
    let run = started(&server, FLOW, &json!({ "inputs": { "colour": "red" } }));
    let view = ended(&lab, &server, &run);
    assert_eq!((&view["outcome"], &view["name"]), (&json!("completed"), &json!("two")));
    let output = server.get(&format!("/v1/runs/{run}/result")).json()["output"].clone();
    assert_eq!(output["answer"], "blue");
    assert!(output["text"].as_str().is_some_and(|text| text.contains("\"is\": \"red\"")), "{output}");
    let run = started(&server, BROKEN, &json!({}));
    let view = ended(&lab, &server, &run);
    assert_eq!(view["outcome"], "partial");
    let retried = server.post(&format!("/v1/runs/{run}/workflow/retry"), &json!({ "from_failed": true }));
    assert_eq!(retried.status, 202, "{}", retried.text());
    let again = retried.json()["run_id"].as_str().expect("an id").to_owned();
    let view = ended(&lab, &server, &again);
    assert_eq!((&view["retry_of"], &view["steps"][0]["reused_from"]), (&json!(run), &json!(run)));
    // A run that is not a workflow.
    let single = server.done("answers", json!({}));
    let refused = server.get(&format!("/v1/runs/{single}/workflow"));
    assert_eq!((refused.status, &refused.json()["code"]), (422, &json!("CANNOT_RUN")));
}

/// They were accepted and had no effect: a workflow succeeded although the request had a check that fails.
#[test]
fn options_that_a_workflow_would_ignore_are_refused() {
    let (lab, server) = serving();
    let folder = lab.root();
    for (more, field) in [
        (json!({ "options": { "checks": [{ "command": "false" }] } }), "options.checks"),
        (json!({ "options": { "delegation": {} } }), "options.delegation"),
        (json!({ "options": { "max_attempt": 2 } }), "options.max_attempt"),
        (json!({ "options": { "continuation": "sticky" } }), "options.continuation"),
        (json!({ "workspace": { "path": folder, "copy": true } }), "workspace.copy"),
    ] {
        let refused = server.post("/v1/workflows", &body(BROKEN, &more));
        assert_eq!((refused.status, &refused.json()["code"]), (422, &json!("CANNOT_RUN")), "{}", refused.text());
        let text = refused.text();
        assert!(text.contains(field) && text.contains("does not apply to a workflow"), "{field}: {text}");
    }
    assert!(lab.runs().is_empty());
}

#[test]
fn unusable_workflows_are_refused_with_their_sentence() {
    let (_lab, server) = serving();
    let cases = [
        ("steps:\n- {id: a, skill: answer}\n", json!({}), "CANNOT_RUN", "workflow:2: step \"a\""),
        ("steps:\n- {id: a, promt: x}\n", json!({}), "CANNOT_RUN", "prompt"),
        ("steps:\n- {id: a, skill: ./answers}\n", json!({}), "CANNOT_RUN", "without a folder"),
        ("steps:\n- {id: a, workflow: inner.yaml}\n", json!({}), "CANNOT_RUN", "without a folder"),
        (FLOW, json!({}), "INPUT_INVALID", "colour"),
        (FLOW, json!({ "inputs": { "colour": 1 } }), "INPUT_INVALID", "colour"),
        (FLOW, json!({ "skill": "answers" }), "CANNOT_RUN", "give only one of them"),
    ];
    for (workflow, more, code, words) in cases {
        let answer = server.post("/v1/workflows", &body(workflow, &more));
        let problem = answer.json();
        assert_eq!((answer.status, &problem["code"]), (422, &json!(code)), "{workflow}: {problem}");
        assert!(problem.to_string().replace("\\\"", "\"").contains(words), "{workflow}: {problem}");
    }
    let check = |workflow: &str| server.post("/v1/workflows/validate", &body(workflow, &json!({}))).json();
    assert_eq!(check(FLOW)["valid"], true);
    assert_eq!(check(FLOW)["plan"]["steps"].as_array().map(Vec::len), Some(2));
    let refused = check("steps:\n- {id: a, prompt: x, needs: [b]}\n");
    assert_eq!(refused["valid"], false);
    assert!(refused["problem"].as_str().is_some_and(|problem| problem.contains("\"b\"")), "{refused}");
    assert!(server.get("/v1/runs").json()["runs"].as_array().is_some_and(Vec::is_empty), "nothing is made");
}

/// A check is a command on the server.
#[test]
fn checks_and_full_permission_need_an_administrator() {
    let (lab, server) = serving();
    let client = server.with_token(&lab.make_token("small", "run"));
    let forbidden = |path: &str, body: &Value, field: &str| {
        let answer = client.post(path, body).expect("an answer");
        let problem = answer.json();
        assert_eq!((answer.status, &problem["code"]), (403, &json!("FORBIDDEN")), "{problem}");
        assert!(problem.to_string().contains(field), "{field}: {problem}");
    };
    let full = "steps:\n- {id: a, skill: answers, permission: full}\n";
    forbidden("/v1/workflows", &body(CHECKED, &json!({})), "workflow.steps.check");
    forbidden("/v1/workflows", &body(full, &json!({})), "workflow.steps.permission");
    let folder = json!({ "workspace": { "path": lab.root() } });
    forbidden("/v1/workflows", &body(FLOW, &folder), "workspace");
    let answer = client.post("/v1/workflows", &body(BROKEN, &json!({}))).expect("an answer");
    assert_eq!(answer.status, 202, "{}", answer.text());
    // An administrator sends a check as a request of its own. Another token cannot run it once more.
    let run = started(&server, CHECKED, &json!({}));
    assert_eq!(ended(&lab, &server, &run)["outcome"], "completed");
    forbidden(&format!("/v1/runs/{run}/workflow/retry"), &json!({ "from_failed": false }), "workflow");
    // Those of a skill are foreign to an administrator too.
    lab.write("data/skills/answers/assets/workflow.yaml", CHECKED);
    let of_skill = json!({ "skill": "answers", "engine": "scripted" });
    forbidden("/v1/workflows", &of_skill, "workflow.steps.check");
    let refused = server.post("/v1/workflows", &of_skill);
    assert_eq!(refused.status, 422, "{}", refused.text());
    assert!(refused.text().contains("skillrun consent check:answers"), "{}", refused.text());
    lab.printed(&["consent", "check:answers", "--yes"]);
    let answer = server.post("/v1/workflows", &of_skill);
    assert_eq!(answer.status, 202, "{}", answer.text());
}
