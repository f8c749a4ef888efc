//! Workflows that wait for a decision: their deadlines come although nothing else happens.

use lab::{Lab, Server, eventually, kind};
use serde_json::{Value, json};

/// Stays in its turn until it is canceled.
const WORKS: &str = "- - say: begun\n  - hang\n";

fn begin(server: &Server, workflow: &str, options: &Value) -> String {
    let body = json!({ "workflow": workflow, "engine": "scripted", "options": options });
    let answer = server.post("/v1/workflows", &body);
    let (status, made) = (answer.status, answer.json());
    assert_eq!(status, 202, "{made}");
    made["run_id"].as_str().expect("an id").to_owned()
}

fn ends_for_its_time(lab: &Lab, run: &str) {
    let end = lab.wait_end(run);
    assert_eq!((kind(&end), &end["data"]["error"]["code"]), ("run.failed", &json!("WORKFLOW_TIMED_OUT")), "{end}");
}

fn view(server: &Server, run: &str) -> Value {
    server.get(&format!("/v1/runs/{run}/workflow")).json()
}

/// It waited for the answer without an end.
#[test]
fn the_time_of_a_workflow_ends_its_wait_for_a_decision() {
    let (lab, server) = Lab::serving(&[]);
    let run = begin(&server, "steps: [{id: a, prompt: x, ask: before}]\ntimeout: 2\n", &json!({}));
    ends_for_its_time(&lab, &run);
    // The server shows an event a moment after it is in the file.
    eventually("the outcome", || (view(&server, &run)["outcome"] == "timed_out").then_some(()));
}

/// The same where the server that had the timer is gone.
#[test]
fn the_time_of_a_workflow_comes_after_a_restart() {
    let (lab, server) = Lab::serving(&[]);
    let run = begin(&server, "steps: [{id: a, prompt: x, ask: before}]\ntimeout: 4\n", &json!({}));
    lab.wait_event(&run, "interaction.requested");
    server.kill();
    let _server = lab.serve();
    ends_for_its_time(&lab, &run);
}

/// The question stayed open until the other step had ended, and the conductor did not rest meanwhile.
#[test]
fn a_question_expires_while_another_step_works() {
    let (lab, server) = Lab::serving(&[("works", WORKS)]);
    let options = json!({ "interactive_require_user_reply": false, "session_timeout_sec": 1 });
    let workflow =
        "steps:\n- {id: a, skill: works, on_failure: continue}\n- {id: b, prompt: x, ask: before, required: false}\n";
    let run = begin(&server, workflow, &options);
    let held = eventually("the end of the step that asked", || {
        let view = view(&server, &run);
        (view["steps"][1]["standing"] == "held").then_some(view)
    });
    assert_eq!(held["steps"][0]["standing"], "running", "{held}");
    assert_eq!(lab.events(&run).iter().filter(|event| event["event"]["type"] == "interaction.timeout").count(), 1);
    server.post(&format!("/v1/runs/{run}/cancel"), &json!({}));
    assert_eq!(server.wait(&run)["status"], "canceled");
}
