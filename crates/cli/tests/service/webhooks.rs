//! Configured addresses are notified of every run, whichever process created it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use lab::{Lab, TEST_TIMEOUT};
use serde_json::{Value, json};

const SCRIPT: &str = "- - output: {answer: done}\n    done: true\n";
const ASKING: &str = "- - ask: {kind: open_text, prompt: Which?}\n- - output: {answer: done}\n    done: true\n";

/// One message as it arrived.
struct Message {
    headers: Vec<String>,
    body: Value,
}

/// Takes messages and thanks for each.
fn receiver() -> (String, Receiver<Message>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/told", listener.local_addr().expect("an address"));
    let (sender, messages) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().expect("a second hand"));
            let mut headers = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a line");
                let line = line.trim().to_ascii_lowercase();
                if line.is_empty() {
                    break;
                }
                headers.push(line);
            }
            let length = headers.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.expect("a length")];
            reader.read_exact(&mut body).expect("a body");
            stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").expect("thanked");
            if sender.send(Message { headers, body: serde_json::from_slice(&body).expect("JSON") }).is_err() {
                return;
            }
        }
    });
    (url, messages)
}

#[test]
fn every_run_is_notified_whichever_process_made_it() {
    let (url, messages) = receiver();
    let lab = Lab::new();
    lab.installed_skill("plain", SCRIPT);
    lab.installed_skill("asking", ASKING);
    lab.settings(&format!("[server]\nwebhooks = [\"{url}\"]\nwebhook_private = true\n"));
    let server = lab.serve();
    let told = |run: &str, kind: &str| {
        let message = messages.recv_timeout(TEST_TIMEOUT).expect("a message");
        assert_eq!((&message.body["type"], &message.body["data"]["run_id"]), (&json!(kind), &json!(run)));
        for header in ["webhook-id: msg_", "webhook-timestamp: ", "webhook-signature: v1,"] {
            assert!(message.headers.iter().any(|line| line.starts_with(header)), "{header}: {:?}", message.headers);
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
