//! The server as a client sees it, over real connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.origin().trim_start_matches("http://")).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
    stream
}

/// Sends bytes and reads to the end of the connection.
fn send(server: &Server, bytes: &[u8]) -> Answer {
    let mut stream = connect(server);
    stream.write_all(bytes).expect("sent");
    let mut answer = Vec::new();
    // A connection that is cut may end with an error.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

fn ask(server: &Server, method: &str, path: &str, body: &str) -> Answer {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    send(server, format!("{head}{body}").as_bytes())
}

fn chat(stream: bool) -> String {
    let tool = json!({"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {}}}}});
    let messages = json!([{"role": "user", "content": "Read /x/skills/greet/SKILL.md."}]);
    json!({"model": "m", "stream": stream, "messages": messages, "tools": [tool]}).to_string()
}

const CHAT: &str = "/v1/chat/completions";

#[test]
fn a_model_answers_and_remembers_what_it_was_asked() {
    let server = Server::start(Options::default()).expect("a server");
    let answer = ask(&server, "POST", &format!("/s/soft{CHAT}"), &chat(false));
    assert_eq!((answer.status, &answer.json()["choices"][0]["message"]["content"]), (200, &json!(texts::SOFT)));
    let answer = ask(&server, "POST", &format!("/s/auto{CHAT}"), &chat(true));
    assert!(answer.head.contains("text/event-stream"), "{}", answer.head);
    assert!(answer.body.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"), "{}", answer.body);
    assert_eq!(ask(&server, "GET", "/health", "").json(), json!({"ok": true}));
    assert_eq!(ask(&server, "GET", "/s/auto/v1/models", "").json()["data"][0]["id"], "fake-model");
    let head = ask(&server, "HEAD", "/s/auto/", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));

    let seen = server.requests();
    assert_eq!(seen.iter().map(|seen| seen.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let expected = (Some("auto"), Some(Wire::Chat), Some("m"));
    assert_eq!((seen[1].scenario.as_deref(), seen[1].wire, seen[1].model.as_deref()), expected);
    let expected = (&["bash".to_owned()][..], &["greet".to_owned()][..]);
    assert_eq!((seen[1].tools.as_slice(), seen[1].skills.as_slice()), expected);
    let told = ask(&server, "GET", "/control/requests", "").json();
    assert_eq!(told["requests"][1]["wire"], "chat");
    assert_eq!(ask(&server, "GET", "/control/requests?full=2", "").body, chat(true));
    assert_eq!(ask(&server, "GET", "/control/requests?full=99", "").status, 404);
}

#[test]
fn one_connection_serves_many_requests() {
    let server = Server::start(Options::default()).expect("a server");
    let body = chat(true);
    let one = format!("POST /s/soft{CHAT} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let last = "GET /health HTTP/1.1\r\nConnection: close\r\n\r\n";
    let answer = send(&server, format!("{one}{one}{last}").as_bytes());
    assert_eq!(answer.body.matches("data: [DONE]").count(), 2);
    assert!(answer.body.ends_with(r#"{"ok":true}"#), "{}", answer.body);
}

#[test]
fn a_cut_is_in_the_middle_of_a_chunk() {
    let server = Server::start(Options::default()).expect("a server");
    let cut = ask(&server, "POST", &format!("/s/cutonce.k{CHAT}"), &chat(true));
    assert!(cut.body.contains("__SKILL") && cut.body.ends_with("data: {\"torn"), "{}", cut.body);
    let again = ask(&server, "POST", &format!("/s/cutonce.k{CHAT}"), &chat(true));
    assert!(again.body.contains("[DONE]"), "{}", again.body);
}

#[test]
fn errors_have_their_status_and_headers() {
    let server = Server::start(Options::default()).expect("a server");
    let answer = ask(&server, "POST", "/s/err429.20/v1/messages", "{}");
    assert_eq!((answer.status, &answer.json()["error"]["type"]), (429, &json!("rate_limit_error")));
    assert!(answer.head.contains("\r\nretry-after: 20\r\n"), "{}", answer.head);
    assert_eq!(ask(&server, "POST", "/s/err401/v1/responses", "{}").status, 401);
}

#[test]
fn invalid_arguments_are_reported() {
    let server = Server::start(Options::default()).expect("a server");
    for (method, path, body, status, words) in [
        ("POST", "/s/nothing/v1/messages", "{}", 404, "the scenarios are auto, autofenced, "),
        ("POST", "/v1/messages", "{}", 404, "/s/SCENARIO/"),
        ("POST", "/s/auto/v1/nothing", "{}", 404, "/chat/completions"),
        ("PUT", "/s/auto/v1/messages", "{}", 405, "POST"),
        ("POST", "/s/auto/v1/messages", "{", 400, "not JSON"),
        ("POST", "/s/script.none/v1/messages", "{}", 404, "no such script"),
        ("GET", "/control/nothing", "", 404, "/control/requests"),
        ("POST", "/control/scripts/x", r#"{"turns": [{}]}"#, 400, "turn 1"),
        ("POST", "/control/scripts/a.b", r#"{"turns": []}"#, 400, "short word"),
    ] {
        let answer = ask(&server, method, path, body);
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert!(answer.body.contains(words), "{path}: {}", answer.body);
    }
    let nonsense = send(&server, b"nonsense\r\n\r\n");
    assert_eq!(nonsense.status, 400);
    let large = format!("POST /s/auto{CHAT} HTTP/1.1\r\nContent-Length: 99999999\r\n\r\nabc");
    let mut stream = connect(&server);
    stream.write_all(large.as_bytes()).expect("sent");
    stream.shutdown(Shutdown::Write).expect("no more");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("16 MiB"), "{answer}");
}

/// Regression: a page in a browser could read prompts, by a name of its own for this machine (found by a review).
#[test]
fn who_speaks_to_another_host_gets_answers_and_no_control() {
    let server = Server::start(Options::default()).expect("a server");
    for (path, status) in [("/control/requests", 403), ("/health", 200), ("/s/auto/v1/models", 200)] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
        assert_eq!(send(&server, request.as_bytes()).status, status, "{path}");
    }
    assert_eq!(ask(&server, "GET", "/control/requests", "").status, 200);
}

#[test]
fn scripts_are_given_either_way() {
    let turns = |text: &str| json!({"turns": [{"say": text}]});
    let script = Script::from_json(&turns("given")).expect("a script");
    let server =
        Server::start(Options { scripts: vec![("a".to_owned(), script)], ..Options::default() }).expect("a server");
    assert_eq!(ask(&server, "POST", "/control/scripts/b", &turns("posted").to_string()).status, 200);
    for (name, text) in [("a", "given"), ("b", "posted")] {
        let answer = ask(&server, "POST", &format!("/s/script.{name}{CHAT}"), &chat(false));
        assert_eq!(answer.json()["choices"][0]["message"]["content"], text);
    }
}

#[test]
fn too_many_connections_are_sent_away() {
    let server = Server::start(Options::default()).expect("a server");
    let mut held: Vec<TcpStream> = (0..256).map(|_| connect(&server)).collect();
    // Taken in the order they came, so all of those are before this one.
    let refused = send(&server, b"");
    assert_eq!(refused.status, 503, "{}", refused.head);
    held.clear();
}
