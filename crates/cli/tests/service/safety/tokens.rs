//! Nothing without a token that is right, at this moment.

use serde_json::json;

use super::{JSON, plain, refused};

/// Routes without a token. A new one is added here on purpose.
const PUBLIC: [(&str, &str); 4] =
    [("get", "/healthz"), ("get", "/readyz"), ("get", "/openapi.json"), ("post", "/v1/session")];

/// What a token that may only read is refused.
const CHANGING: [(&str, &str); 14] = [
    ("post", "/v1/runs"),
    ("delete", "/v1/runs/{run_id}"),
    ("post", "/v1/runs/{run_id}/cancel"),
    ("post", "/v1/runs/{run_id}/close"),
    ("post", "/v1/runs/{run_id}/interrupt"),
    ("post", "/v1/runs/{run_id}/retry"),
    ("post", "/v1/runs/{run_id}/interaction/reply"),
    ("post", "/v1/skills"),
    ("delete", "/v1/skills/{name}"),
    ("post", "/v1/runs/{run_id}/continue"),
    ("post", "/v1/runs/{run_id}/apply"),
    ("post", "/v1/workflows"),
    ("post", "/v1/runs/{run_id}/workflow/retry"),
    ("post", "/v1/validate"),
];

/// Routes that are sent something and change nothing that others have.
const HARMLESS: &[(&str, &str)] =
    &[("post", "/v1/downloads"), ("post", "/v1/session/end"), ("post", "/v1/workflows/validate")];

#[test]
fn every_route_wants_a_token_of_the_right_scope() {
    let (lab, server) = plain();
    let run = server.run("plain", json!({}));
    server.wait(&run);
    let reader = lab.make_token("reader", "read");
    let before = server.belongings();
    let document = server.get("/openapi.json").json();
    let mut seen = 0;
    for (path, methods) in document["paths"].as_object().expect("paths") {
        let real =
            path.replace("{run_id}", &run).replace("{name}", "plain").replace("{path}", "x").replace("{*path}", "x");
        for method in methods.as_object().expect("methods").keys() {
            let (word, route) = (method.to_uppercase(), (method.as_str(), path.as_str()));
            if PUBLIC.contains(&route) {
                seen += 1;
                continue;
            }
            let of = |token: &str| server.as_told(&word, &real, &[("Authorization", token)], b"");
            refused(&server.as_told(&word, &real, &[], b""), 401, "UNAUTHORIZED");
            let token = server.token();
            let other = if token.ends_with('A') { "B" } else { "A" };
            for wrong in [
                "Bearer wrong".to_owned(),
                "Bearer ".to_owned(),
                token.to_owned(),
                format!("Basic {token}"),
                format!("Bearer {token}{other}"),
                format!("Bearer {}{other}", &token[..token.len() - 1]),
                format!("Bearer {}", &token[..token.len() - 1]),
                format!("Bearer {}", token.to_ascii_uppercase()),
                format!("Bearer {}", "x".repeat(10_000)),
            ] {
                refused(&of(&wrong), 401, "UNAUTHORIZED");
            }
            let in_query = format!("{real}?token={token}&access_token={token}");
            refused(&server.as_told(&word, &in_query, &[], b""), 401, "UNAUTHORIZED");
            if CHANGING.contains(&route) {
                seen += 1;
                refused(&of(&format!("Bearer {reader}")), 403, "FORBIDDEN");
            } else if HARMLESS.contains(&route) {
                seen += 1;
            } else {
                assert_eq!(method, "get", "{path} changes something and is in no list here");
            }
        }
    }
    assert_eq!(seen, PUBLIC.len() + CHANGING.len() + HARMLESS.len(), "all of the lists are in the description");
    assert_eq!(server.belongings(), before);
    server.is_well();
}

#[test]
fn other_methods_are_no_way_round() {
    let (_lab, server) = plain();
    let before = server.belongings();
    for method in ["HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "X"] {
        for path in ["/v1/runs", "/v1/skills/plain", "/v1/stream", "/metrics"] {
            let host = server.client.address;
            let head =
                format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            let answer = server.send(head.as_bytes());
            let status = answer.map(|answer| answer.status).unwrap_or(400);
            assert!(matches!(status, 400 | 401 | 403 | 404 | 405), "{method} {path}: {status}");
        }
    }
    for header in
        [("X-HTTP-Method-Override", "DELETE"), ("X-Forwarded-For", "127.0.0.1"), ("X-Original-URL", "/healthz")]
    {
        refused(&server.as_told("GET", "/v1/skills/plain", &[header], b""), 401, "UNAUTHORIZED");
    }
    assert_eq!(server.belongings(), before);
    server.is_well();
}

#[test]
fn a_token_that_is_revoked_is_refused_at_once() {
    let (lab, server) = plain();
    let token = lab.make_token("worker", "run");
    let client = server.with_token(&token);
    let body = json!({"skill": "plain", "engine": "scripted"});
    assert_eq!(client.post("/v1/runs?wait=30", &body).expect("an answer").status, 200);
    lab.printed(&["token", "revoke", "worker"]);
    let before = server.belongings();
    refused(&client.post("/v1/runs", &body).expect("an answer"), 401, "UNAUTHORIZED");
    refused(&client.get("/v1/runs").expect("an answer"), 401, "UNAUTHORIZED");
    // A broken list admits only the client whose token is not in it.
    std::fs::write(lab.data().join("tokens.json"), "[").expect("written");
    refused(&client.get("/v1/runs").expect("an answer"), 401, "UNAUTHORIZED");
    assert_eq!(server.belongings(), before);
    server.is_well();
}

#[test]
fn a_body_is_not_read_without_authorization() {
    let (_lab, server) = plain();
    let headers = [JSON, ("Content-Length", "1000000000")];
    let head = testkit::http::Client { address: server.client.address, token: None }.head("POST", "/v1/runs", &headers);
    refused(&server.send(head.as_bytes()).expect("an answer before the body"), 401, "UNAUTHORIZED");
    // This one needs no token, so its length is limited.
    let head = head.replace("/v1/runs", "/v1/session").replace("1000000000", "5000");
    refused(&server.send(head.as_bytes()).expect("an answer before the body"), 413, "BODY_TOO_LARGE");
    server.is_well();
}
