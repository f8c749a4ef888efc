//! What comes out: nothing an engine wrote becomes a page of the server, no secret is in any answer, and nothing is sent
//! to an address that should not get it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Read};
use std::time::Duration;

use lab::{Lab, Server};
use serde_json::{Value, json};

use super::{plain, refused};

#[test]
fn what_an_engine_wrote_is_never_a_page() {
    let lab = Lab::new();
    let page = "<script>alert(1)</script>";
    let script = format!(
        "- - write: {{path: artifacts/page.html, content: '{page}'}}\n  - write: {{path: artifacts/image.svg, content: '<svg onload=alert(1)>'}}\n  \
         - say: '{page}'\n  - stderr: '{page}'\n  - output: {{answer: '{page}'}}\n    done: true\n"
    );
    lab.installed_skill("page", &script);
    let server = lab.serve();
    let run = server.done("page", json!({}));
    let of = |path: &str| server.get(&format!("/v1/runs/{run}/{path}"));
    for (path, kind) in [
        ("artifacts/artifacts/page.html", "application/octet-stream"),
        ("artifacts/artifacts/image.svg", "application/octet-stream"),
        ("raw?attempt=1&stream=stdout", "application/octet-stream"),
        ("raw?attempt=1&stream=stderr", "application/octet-stream"),
        ("recording.cast", "application/x-asciicast"),
        ("bundle", "application/zip"),
    ] {
        let answer = of(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
        let disposition = answer.header("content-disposition").unwrap_or_default();
        assert!(disposition.starts_with("attachment; filename="), "{path}: {disposition}");
    }
    assert_eq!(of("artifacts/artifacts/page.html").text(), page);
    for path in
        routes(&server, &run).iter().chain(&["/".to_owned(), "/docs".to_owned(), "/nothing%3Cscript%3E".to_owned()])
    {
        if is_stream(path) {
            continue;
        }
        let answer = server.get(path);
        let is_page = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        assert!(!is_page || !answer.text().contains(page), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        for part in ["default-src 'self'", "frame-ancestors 'none'", "object-src 'none'", "base-uri 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("script-src") && !policy.contains("unsafe-eval"), "{policy}");
    }
    server.is_well();
}

/// All that can be got, with the values of a run put in.
fn routes(server: &Server, run: &str) -> BTreeSet<String> {
    let document = server.get("/openapi.json").json();
    let mut paths = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        if methods.get("get").is_none() {
            continue;
        }
        let path = path.replace("{run_id}", run).replace("{name}", "plain").replace("{path}", "artifacts/page.html");
        let path = path.replace("{*path}", "artifacts/page.html");
        if path.ends_with("/raw") {
            for stream in ["stdout", "stderr", "stdin", "pty"] {
                paths.insert(format!("{path}?attempt=1&stream={stream}"));
            }
        } else if path.ends_with("/events/at") {
            paths.insert(format!("{path}?attempt=1&stream=stdout&offset=1"));
        } else {
            if path.ends_with("/bundle") {
                paths.insert(format!("{path}?full=true"));
            }
            paths.insert(path);
        }
    }
    paths
}

fn is_stream(path: &str) -> bool {
    ["/events", "/chat", "/v1/stream"].iter().any(|end| path.ends_with(end))
}

/// All that a route says; of a stream, what there is until it ends or pauses.
fn everything(server: &Server, path: &str) -> String {
    if is_stream(path) {
        let mut events = server.client.events(path, &[]).expect("an answer").stream();
        events.set_read_timeout(Duration::from_millis(500)).expect("set");
        let mut all = String::new();
        while let Ok(Some(event)) = events.next_event() {
            all += &format!("{:?} {:?} {}\n", event.id, event.event, event.data);
        }
        return all;
    }
    let answer = server.get(path);
    let mut all = format!("{:?}{}", answer.headers, answer.text());
    if let Ok(mut archive) = zip::ZipArchive::new(Cursor::new(answer.body)) {
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).expect("an entry");
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("read");
            all += &format!("{}: {}\n", entry.name().expect("a name"), String::from_utf8_lossy(&bytes));
        }
    }
    all
}

#[test]
fn a_secret_is_in_no_answer() {
    const SECRET: &str = "hush-5f0c\"9b17-secret";
    let lab = Lab::new();
    let quoted = SECRET.replace('"', "\\\"");
    lab.installed_skill("plain", super::SCRIPT);
    let script = lab.path("script.yaml");
    let text = format!(
        "- - think: \"{quoted}\"\n  - say: \"before {quoted} after\"\n  - stderr: \"{quoted}\"\n  - raw: \"{quoted}\"\n  \
         - tool: {{name: shell, input: {{command: \"echo {quoted}\"}}, output: \"{quoted}\"}}\n  \
         - ask: {{prompt: \"Is it {quoted}?\"}}\n\
         - - say: \"{quoted}\"\n  - output: {{answer: \"{quoted}\"}}\n    done: true\n"
    );
    fs::write(&script, text).expect("written");
    let mut command = lab.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("HUSH", SECRET);
    let server = Lab::started(command);
    let request =
        json!({"skill": "plain", "engine": "scripted", "mode": "interactive", "options": {"secrets": ["HUSH"]}});
    let request = request.to_string();
    let script = fs::read(&script).expect("read");
    let parts = [("request", None, request.as_bytes()), ("script", Some("script.yaml"), script.as_slice())];
    let answer = server.asked("POST", "/v1/runs", &[super::FORM], &super::form(&parts));
    assert_eq!(answer.status, 202, "{}", answer.text());
    let run = answer.json()["run_id"].as_str().expect("an id").to_owned();
    assert_eq!(server.wait(&run)["status"], "waiting_user");
    let look = |when: &str| {
        let mut masked = 0;
        for path in routes(&server, &run) {
            let all = everything(&server, &path);
            for spelled in [SECRET, &quoted, "hush-5f0c"] {
                assert!(!all.contains(spelled), "{when}: {path} has the secret: {}", around(&all, spelled));
            }
            masked += usize::from(all.contains("*********"));
        }
        assert!(masked > 3, "{when}: {masked} routes show that something was there");
    };
    look("while it waits");
    let question = server.get(&format!("/v1/runs/{run}/interaction")).json()["interaction_id"].clone();
    let reply = json!({"interaction_id": question, "text": "yes"});
    assert_eq!(server.post(&format!("/v1/runs/{run}/interaction/reply"), &reply).status, 200);
    assert_eq!(server.wait(&run)["status"], "succeeded");
    look("at the end");
    // It is in the evidence, which only the owner of the files reads.
    let kept = fs::read_to_string(lab.run_folder(&run).join(".audit/stdout.1.log")).expect("evidence");
    assert!(kept.contains("hush-5f0c"));
}

fn around<'a>(text: &'a str, word: &str) -> &'a str {
    let at = text.find(word).unwrap_or(0);
    let from = (0..=at.saturating_sub(200)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let to = (at + 100..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[from..to]
}

#[test]
fn private_addresses_are_not_notified() {
    let (lab, server) = plain();
    let run = server.run("plain", json!({}));
    server.wait(&run);
    let before = server.belongings();
    let webhooks = || -> BTreeSet<_> {
        let entries = fs::read_dir(lab.data().join("webhooks")).into_iter().flatten();
        entries.map(|entry| entry.expect("an entry").file_name()).collect()
    };
    let stored = webhooks();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    listener.set_nonblocking(true).expect("set");
    let port = listener.local_addr().expect("an address").port();
    let urls = "http://127.0.0.1:PORT/hook http://localhost:PORT/hook http://LOCALHOST.:PORT/ http://[::1]:PORT/ \
        http://[::ffff:127.0.0.1]:PORT/ http://0.0.0.0:PORT/ http://2130706433:PORT/ http://0x7f000001:PORT/ \
        http://0177.0.0.1:PORT/ http://127.1:PORT/ http://10.0.0.1/ http://172.16.0.1/ http://192.168.1.1/ \
        http://100.64.0.1/ http://169.254.169.254/latest/meta-data/ http://[fd00::1]/ http://[fe80::1]/ \
        http://metadata.google.internal/ http://user@example.org/ http://example.org@127.0.0.1:PORT/ \
        http://example.org\\@127.0.0.1:PORT/ http://example.org#@127.0.0.1:PORT/ file:///etc/passwd \
        gopher://127.0.0.1:PORT/";
    for url in urls.split(' ') {
        let url = url.replace("PORT", &port.to_string());
        let told = |path: &str, body: Value| refused(&server.post(path, &body), 422, "WEBHOOK_ADDRESS_REFUSED");
        told("/v1/runs", json!({"skill": "plain", "engine": "scripted", "webhooks": [url]}));
        told("/v1/runs", json!({"skill": "plain", "engine": "scripted", "webhooks": ["https://example.org/", url]}));
        told(&format!("/v1/runs/{run}/retry"), json!({"webhooks": [url]}));
    }
    assert_eq!((server.belongings(), webhooks()), (before, stored));
    let none = listener.accept().expect_err("a connection was made");
    assert_eq!(none.kind(), std::io::ErrorKind::WouldBlock);
    server.is_well();
}
