//! A browser is led here by pages of other sites, and gives names of theirs to our address.

use lab::{Lab, Server};
use serde_json::json;
use testkit::http::Answer;

use super::{JSON, plain, refused};

const RUN: &[u8] = br#"{"skill":"plain","engine":"scripted"}"#;

#[test]
fn a_server_that_is_called_by_a_name_of_others_does_not_answer() {
    let (_lab, server) = plain();
    let before = server.belongings();
    let (token, port) = (server.token(), server.client.address.port());
    let ask = |line: &str, hosts: &[String]| {
        let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
        let head = format!("{line} HTTP/1.1\r\n{hosts}Authorization: Bearer {token}\r\nConnection: close\r\n\r\n");
        server.send(head.as_bytes()).expect("an answer")
    };
    let hosts = "evil.example.org evil.example.org:PORT 127.0.0.1.evil.example.org 127.0.0.1.evil.example.org:PORT \
        localhost.evil.example.org evil.localhost:PORT localhost.:PORT user@127.0.0.1:PORT \
        127.0.0.1:PORT@evil.example.org evil.example.org@127.0.0.1:PORT evil.example.org#@127.0.0.1:PORT \
        127.0.0.1:PORT/evil 127.0.0.1:PORT:80 0.0.0.0:PORT [::]:PORT [::ffff:10.0.0.1]:PORT 127.1:PORT \
        2130706433:PORT 0x7f.0.0.1:PORT 0177.0.0.1:PORT";
    for host in hosts.split(' ').chain(["127.0.0.1:PORT, evil.example.org", ""]) {
        let host = host.replace("PORT", &port.to_string());
        for path in ["/v1/runs", "/healthz", "/", "/openapi.json"] {
            let answer = ask(&format!("GET {path}"), std::slice::from_ref(&host));
            assert_eq!(answer.status, 403, "{host} {path}: {}", answer.text());
            refused(&answer, 403, "HOST_REFUSED");
        }
    }
    let own = server.client.address.to_string();
    refused(&ask("GET /v1/runs", &[]), 403, "HOST_REFUSED");
    refused(&ask("GET /v1/runs", &[own.clone(), own.clone()]), 403, "HOST_REFUSED");
    refused(&ask("GET /v1/runs", &[own.clone(), "evil.example.org".to_owned()]), 403, "HOST_REFUSED");
    refused(&ask("GET http://evil.example.org/v1/runs", std::slice::from_ref(&own)), 403, "HOST_REFUSED");
    refused(&ask(&format!("GET http://evil@{own}/v1/runs"), std::slice::from_ref(&own)), 403, "HOST_REFUSED");
    refused(&ask(&format!("GET http://{own}/v1/runs"), &["evil.example.org".to_owned()]), 403, "HOST_REFUSED");
    for good in [own.clone(), format!("localhost:{port}"), format!("LOCALHOST:{port}"), format!("[::1]:{port}")] {
        assert_eq!(ask("GET /v1/runs", &[good]).status, 200);
    }
    assert_eq!(ask(&format!("GET http://{own}/v1/runs"), std::slice::from_ref(&own)).status, 200);
    assert_eq!(server.belongings(), before);
    server.is_well();
}

fn grants_nothing(answer: &Answer) {
    let cors = answer.headers.iter().find(|(name, _)| name.starts_with("access-control-"));
    assert_eq!(cors, None);
}

#[test]
fn a_page_of_another_site_is_refused_whatever_it_knows() {
    let (_lab, server) = plain();
    let before = server.belongings();
    let (host, port) = (server.client.address.to_string(), server.client.address.port());
    let origins = [
        "http://evil.example.org".to_owned(),
        "null".to_owned(),
        String::new(),
        "file://".to_owned(),
        "http://127.0.0.1:1".to_owned(),
        "http://127.0.0.1".to_owned(),
        format!("http://localhost:{port}"),
        format!("http://{host}.evil.example.org"),
        format!("http://evil.example.org@{host}"),
        format!("http://{host}/"),
        format!("ftp://{host}"),
        host.clone(),
        format!("http://{host}, http://evil.example.org"),
    ];
    for origin in &origins {
        let from = ("Origin", origin.as_str());
        for (method, path) in [("GET", "/v1/runs"), ("GET", "/healthz"), ("POST", "/v1/runs"), ("POST", "/v1/session")]
        {
            let answer = server.asked(method, path, &[from, JSON], if method == "POST" { RUN } else { b"" });
            refused(&answer, 403, "ORIGIN_REFUSED");
            grants_nothing(&answer);
        }
        let preflight =
            [from, ("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "authorization")];
        let answer = server.asked("OPTIONS", "/v1/runs", &preflight, b"");
        refused(&answer, 403, "ORIGIN_REFUSED");
        grants_nothing(&answer);
    }
    for site in ["cross-site", "same-site"] {
        for (method, mode) in [("GET", "no-cors"), ("GET", "cors"), ("POST", "no-cors"), ("POST", "navigate")] {
            let headers = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), JSON];
            let body = if method == "POST" { RUN } else { b"" };
            refused(&server.asked(method, "/v1/runs", &headers, body), 403, "ORIGIN_REFUSED");
        }
    }
    // A form of another page cannot send JSON.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "text/plain; x=application/json"] {
        refused(&server.asked("POST", "/v1/runs", &[("Content-Type", kind)], RUN), 415, "UNSUPPORTED_MEDIA_TYPE");
    }
    grants_nothing(&server.get("/v1/runs"));
    let own = format!("http://{host}");
    grants_nothing(&server.asked("GET", "/v1/runs", &[("Origin", &own)], b""));
    assert_eq!(server.belongings(), before);
    server.is_well();
}

#[test]
fn a_configured_page_may_call_with_a_token_and_gets_no_session() {
    let lab = Lab::new();
    lab.installed_skill("plain", super::SCRIPT);
    lab.settings("[server]\norigins = [\"https://app.example.org\"]\n");
    let server = lab.serve();
    let from = ("Origin", "https://app.example.org");
    let preflight = server.as_told("OPTIONS", "/v1/runs", &[from, ("Access-Control-Request-Method", "POST")], b"");
    let read = server.asked("GET", "/v1/runs", &[from], b"");
    let unknown = server.as_told("GET", "/v1/runs", &[from], b"");
    assert_eq!((preflight.status, read.status, unknown.status), (204, 200, 401));
    for answer in [&preflight, &read, &unknown] {
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example.org"));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        assert_eq!(answer.header("vary"), Some("origin"));
    }
    for other in
        ["https://app.example.org.evil.example.org", "http://app.example.org", "https://app.example.org:444", "null"]
    {
        let answer = server.asked("GET", "/v1/runs", &[("Origin", other)], b"");
        refused(&answer, 403, "ORIGIN_REFUSED");
        grants_nothing(&answer);
    }
    let code = json!({"code": code(&server.link)}).to_string();
    refused(&server.as_told("POST", "/v1/session", &[from, JSON], code.as_bytes()), 403, "ORIGIN_REFUSED");
    server.is_well();
}

fn code(link: &str) -> &str {
    link.split_once("#code=").expect("a code").1
}

fn begin(server: &Server, code: &str) -> Answer {
    server.as_told("POST", "/v1/session", &[JSON], json!({ "code": code }).to_string().as_bytes())
}

/// The token that a link is worth.
fn session(server: &Server, link: &str) -> String {
    let answer = begin(server, code(link));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("set-cookie"), None, "a cookie is sent to every port of the host");
    let token = answer.json()["token"].as_str().expect("a token").to_owned();
    assert!(token.starts_with("sks_"), "{token}");
    token
}

fn new_link(lab: &Lab) -> String {
    lab.printed(&["open"]).trim().to_owned()
}

#[test]
fn a_link_is_good_once_and_for_a_while() {
    let (lab, server) = plain();
    let link = server.link.clone();
    session(&server, &link);
    refused(&begin(&server, code(&link)), 401, "UNAUTHORIZED");
    let unknown = "A".repeat(32);
    for code in [unknown.as_str(), "", "../../server.token", "%2e%2e", "\u{0}"] {
        refused(&begin(&server, code), 401, "UNAUTHORIZED");
    }
    let link = new_link(&lab);
    for entry in std::fs::read_dir(lab.data().join("links")).expect("links") {
        // It ended in the first second of 1970.
        std::fs::write(entry.expect("an entry").path(), "1").expect("written");
    }
    refused(&begin(&server, code(&link)), 401, "UNAUTHORIZED");
    session(&server, &new_link(&lab));
    server.is_well();
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[test]
fn a_browser_has_a_token_and_no_cookie() {
    let (lab, server) = plain();
    let token = session(&server, &server.link);
    let authorization = bearer(&token);
    let with = ("Authorization", authorization.as_str());
    assert_eq!(server.as_told("GET", "/v1/runs", &[with], b"").status, 200);
    assert_eq!(server.as_told("POST", "/v1/runs", &[with, JSON], RUN).status, 202);
    // What a browser sends by itself, to every port of this host, gives no access.
    for cookie in [format!("skillrun_session={token}"), format!("token={token}"), token.clone()] {
        refused(&server.as_told("GET", "/v1/runs", &[("Cookie", &cookie)], b""), 401, "UNAUTHORIZED");
    }
    for path in [format!("/v1/runs?token={token}"), format!("/v1/runs?ticket={token}")] {
        refused(&server.as_told("GET", &path, &[], b""), 401, "UNAUTHORIZED");
    }
    // A restart logs no browser out, and the disk holds no token.
    let address = server.client.address.to_string();
    server.stop();
    let server = lab.serve_at(&address, &[]);
    assert_eq!(server.as_told("GET", "/v1/runs", &[with], b"").status, 200);
    let kept = std::fs::read_to_string(lab.data().join("sessions.json")).expect("sessions");
    assert!(!kept.contains(&token[4..20]), "{kept}");
    server.is_well();
}

#[test]
fn a_browser_that_logs_out_is_refused_everywhere() {
    let (lab, server) = plain();
    let [one, other] = [server.link.clone(), new_link(&lab)].map(|link| session(&server, &link));
    let (of_one, of_other) = (server.with_token(&one), server.with_token(&other));
    let run = server.done("plain", json!({}));
    let bundle = link(&of_one, &format!("/v1/runs/{run}/bundle"));
    assert_eq!(server.as_told("GET", &bundle, &[], b"").status, 200);
    let mut stream = of_one.events("/v1/stream", &[]).expect("an answer").stream();
    assert_eq!(stream.next_event().expect("an event").and_then(|event| event.event).as_deref(), Some("reset"));
    assert_eq!(of_one.post("/v1/session/end", &json!({})).expect("an answer").status, 204);
    refused(&of_one.get("/v1/runs").expect("an answer"), 401, "UNAUTHORIZED");
    refused(&of_one.post("/v1/session/end", &json!({})).expect("an answer"), 401, "UNAUTHORIZED");
    refused(&server.as_told("GET", &bundle, &[], b""), 401, "UNAUTHORIZED");
    let left = stream.next_event();
    assert!(!matches!(left, Ok(Some(_))), "the stream continues: {left:?}");
    assert_eq!(of_other.get("/v1/runs").expect("an answer").status, 200, "other browsers stay");
    let address = server.client.address.to_string();
    server.kill();
    let server = lab.serve_at(&address, &[]);
    refused(&of_one.get("/v1/runs").expect("an answer"), 401, "UNAUTHORIZED");
    assert_eq!(of_other.get("/v1/runs").expect("an answer").status, 200);
    // A token of a program is not for this.
    refused(&server.post("/v1/session/end", &json!({})), 403, "FORBIDDEN");
    server.is_well();
}

/// An address with a ticket in it.
fn link(client: &testkit::http::Client, path: &str) -> String {
    let answer = client.post("/v1/downloads", &json!({ "path": path })).expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["url"].as_str().expect("an address").to_owned()
}

#[test]
fn a_link_for_a_download_is_good_for_one_file() {
    let (lab, server) = plain();
    let run = server.done("plain", json!({}));
    let reader = server.with_token(&lab.make_token("reader", "read"));
    let path = format!("/v1/runs/{run}/raw?attempt=1&stream=stdout");
    let url = link(&reader, &path);
    let plainly = |method: &str, path: &str, headers: &[(&str, &str)]| server.as_told(method, path, headers, b"");
    let whole = plainly("GET", &url, &[]);
    assert_eq!((whole.status, &whole.body), (200, &reader.get(&path).expect("an answer").body));
    assert!(whole.header("content-disposition").is_some_and(|value| value.starts_with("attachment")));
    assert_eq!(whole.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(plainly("GET", &url, &[("Range", "bytes=0-3")]).body, whole.body[..4]);
    let ticket = url.strip_prefix(&format!("{path}&")).expect("the ticket is last");
    for other in [
        format!("/v1/runs?{ticket}"),
        format!("/v1/runs/{run}/bundle?{ticket}"),
        format!("/v1/runs/{run}/raw?attempt=1&stream=stderr&{ticket}"),
        format!("/v1/runs/{run}/raw?{ticket}&attempt=1&stream=stdout"),
        format!("{url}&from=1"),
        format!("{url}x"),
        url[..url.len() - 1].to_owned(),
        format!("{path}&ticket="),
    ] {
        refused(&plainly("GET", &other, &[]), 401, "UNAUTHORIZED");
    }
    for method in ["POST", "DELETE", "HEAD"] {
        let status = plainly(method, &url, &[]).status;
        assert!(matches!(status, 401 | 405), "{method}: {status}");
    }
    for bad in ["/v1/runs", "/v1/session", "", "http://evil.example.org/", "//evil.example.org/v1/runs/x/bundle"] {
        refused(&reader.post("/v1/downloads", &json!({ "path": bad })).expect("an answer"), 400, "INVALID_REQUEST");
    }
    refused(&server.as_told("POST", "/v1/downloads", &[JSON], b"{\"path\":\"/v1/runs\"}"), 401, "UNAUTHORIZED");
    // It ends with the token it was made with.
    lab.printed(&["token", "revoke", "reader"]);
    refused(&plainly("GET", &url, &[]), 401, "UNAUTHORIZED");
    server.is_well();
}

#[test]
fn a_session_that_was_changed_is_none() {
    let (_lab, server) = plain();
    let token = session(&server, &server.link);
    let with = |token: &str| server.as_told("GET", "/v1/runs", &[("Authorization", &bearer(token))], b"");
    assert_eq!(with(&token).status, 200);
    for at in (0..token.len()).step_by(5) {
        let mut bytes = token.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
        refused(&with(&String::from_utf8(bytes).expect("text")), 401, "UNAUTHORIZED");
    }
    for token in [&token[1..], &token[..token.len() - 1], &format!("{token}0"), "sks_", "."] {
        refused(&with(token), 401, "UNAUTHORIZED");
    }
    // One of another server.
    let other = Lab::new();
    let another = other.serve();
    refused(&with(&session(&another, &another.link)), 401, "UNAUTHORIZED");
    server.is_well();
}
