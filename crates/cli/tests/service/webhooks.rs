//! Configured addresses are notified of every run, whichever process created it.

use lab::Lab;
use serde_json::{Value, json};
use testkit::receiver::HookReceiver;

const SCRIPT: &str = "- - output: {answer: done}\n    done: true\n";
const ASKING: &str = "- - ask: {kind: open_text, prompt: Which?}\n- - output: {answer: done}\n    done: true\n";

#[test]
fn every_run_is_notified_whichever_process_made_it() {
    let receiver = HookReceiver::answering(&["204 No Content"]);
    let lab = Lab::new();
    lab.installed_skill("plain", SCRIPT);
    lab.installed_skill("asking", ASKING);
    lab.settings(&format!("[server]\nwebhooks = [\"{}\"]\nwebhook_private = true\n", receiver.url("/told")));
    let server = lab.serve();
    let told = |run: &str, kind: &str| {
        let message = receiver.next();
        assert_eq!((&message.json()["type"], &message.json()["data"]["run_id"]), (&json!(kind), &json!(run)));
        for (header, begin) in [("webhook-id", "msg_"), ("webhook-timestamp", "1"), ("webhook-signature", "v1,")] {
            assert!(message.header(header).starts_with(begin), "{header}: {message:?}");
        }
    };
    let run = server.run("plain", json!({}));
    told(&run, "run.completed");
    let asks = server.run("asking", json!({"mode": "interactive"}));
    told(&asks, "run.waiting_user");
    let answer =
        server.post(&format!("/v1/runs/{asks}/interaction/reply"), &json!({"interaction_id": 1, "text": "this"}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    told(&asks, "run.completed");
    // One that is given to the server, and one that its maker keeps.
    for words in [&["--no-wait"][..], &["--env", "HOME"]] {
        let made =
            lab.command(&[&["run", "plain", "--engine", "scripted", "--json"], words].concat()).output().expect("run");
        let made: Value = serde_json::from_slice(&made.stdout).unwrap_or_default();
        told(made["run_id"].as_str().expect("an id"), "run.completed");
    }
    let deliveries = server.get(&format!("/v1/runs/{run}/webhooks")).json();
    assert_eq!(deliveries["deliveries"][0]["state"], "delivered", "{deliveries}");
}
