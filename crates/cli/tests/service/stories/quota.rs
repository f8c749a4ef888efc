//! A run that waits for quota, over HTTP and through restarts.

use lab::{Lab, eventually};
use serde_json::{Value, json};

const NO_QUOTA: &str = "- - fail: 'Rate limit reached for the model. Please try again in 1h.'\n";

#[test]
fn a_run_that_waits_for_quota_survives_a_restart() {
    let (lab, server) = Lab::serving(&[("probe", NO_QUOTA)]);
    let run = server.run("probe", json!({ "options": { "retry": { "quota": "wait", "quota_max": 2 } } }));
    let view = server.wait(&run);
    assert_eq!(
        (view["status"].as_str(), view["result"]["error"]["category"].as_str()),
        (Some("failed"), Some("quota"))
    );
    assert!(view["result"]["error"]["reset_at"].is_string(), "{view}");
    let again = view["retried_as"].as_str().expect("an id").to_owned();
    assert_eq!(view["result"]["next_actions"][0]["command"], format!("skillrun show {again}"));
    // It is made right after the end of the first.
    let queued = |server: &lab::Server| {
        eventually("new run", || {
            let view = server.get(&format!("/v1/runs/{again}")).json();
            (view["status"] == "queued").then_some(view)
        })
    };
    let before = queued(&server);
    let not_before = before["not_before"].as_str().expect("a moment").to_owned();
    let asked = server.get(&format!("/v1/runs/{again}/request")).json();
    assert_eq!((asked["retry_of"].as_str(), asked["not_before"].as_str()), (Some(run.as_str()), Some(&*not_before)));
    assert_eq!(asked["options"]["retry"], json!({ "quota": "wait", "quota_max": 2 }));
    server.kill();
    let server = lab.serve();
    assert_eq!(queued(&server)["not_before"].as_str(), Some(&*not_before));
    server.stop();
    let server = lab.serve();
    let runs = server.get("/v1/runs").json();
    let listed: Vec<(&Value, &Value)> =
        runs["runs"].as_array().expect("a list").iter().map(|run| (&run["status"], &run["not_before"])).collect();
    assert_eq!(listed, [(&json!("queued"), &json!(not_before)), (&json!("failed"), &Value::Null)]);
    let answer = server.post(&format!("/v1/runs/{again}/cancel"), &json!({}));
    assert!(answer.status < 300, "{}", answer.text());
    assert_eq!(server.wait(&again)["status"], "canceled");
    // Others are not kept waiting meanwhile, and words that mean nothing are refused.
    let refused = server.post("/v1/runs", &json!({ "skill": "probe", "options": { "retry": { "quota": "soon" } } }));
    assert_eq!(refused.status, 400, "{}", refused.text());
}
