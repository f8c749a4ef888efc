//! Lists with filters and pages; bytes and recordings as they lie in the evidence.

use std::fs;

use lab::{Lab, Server, wait_until};
use serde_json::{Value, json};

use super::{ASKS, DONE, LONG};

fn ids(list: &Value) -> Vec<String> {
    list["runs"].as_array().expect("runs").iter().map(|row| row["run_id"].as_str().expect("an id").to_owned()).collect()
}

fn listed(server: &Server, query: &str) -> Vec<String> {
    ids(&server.get(&format!("/v1/runs?{query}")).json())
}

#[test]
fn lists_have_filters_and_pages() {
    let (_lab, server) =
        Lab::serving(&[("done", DONE), ("asks", ASKS), ("fails", "- - fail: the model is not there\n")]);
    let mut made = Vec::new();
    for (skill, more) in
        [("done", json!({})), ("asks", json!({"mode": "interactive"})), ("fails", json!({})), ("done", json!({}))]
    {
        made.push(server.run(skill, more));
        server.wait(made.last().expect("one"));
    }
    made.reverse();
    let at = |places: &[usize]| places.iter().map(|place| made[*place].clone()).collect::<Vec<_>>();
    assert_eq!(listed(&server, ""), made, "the newest first");
    for (query, places) in [
        ("status=succeeded", &[0, 3][..]),
        ("status=failed,waiting_user", &[1, 2]),
        ("status=queued", &[]),
        ("skill=asks", &[2]),
        ("skill=nothing", &[]),
        ("engine=scripted", &[0, 1, 2, 3]),
        ("engine=codex", &[]),
        ("q=colour", &[2]),
        ("skill=done&status=succeeded&limit=1", &[0]),
    ] {
        assert_eq!(listed(&server, query), at(places), "{query}");
    }
    for limit in 1..=4 {
        let (mut walked, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.get(&format!("/v1/runs?limit={limit}{cursor}")).json();
            walked.extend(ids(&page));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(walked, made, "by {limit}");
    }
    for wrong in ["status=done", "limit=0", "limit=501", "cursor=x"] {
        assert_eq!(server.get(&format!("/v1/runs?{wrong}")).status, 400, "{wrong}");
    }
}

#[test]
fn bytes_and_recordings_are_those_of_the_evidence() {
    let lab = Lab::new();
    let lines: String = (0..200).map(|n| format!("  - raw: 'line {n} — ünïcode'\n")).collect();
    lab.installed_skill("writes", &format!("- - say: I begin.\n{lines}  - output: {{answer: done}}\n    done: true\n"));
    let server = lab.serve();
    let run = server.run("writes", json!({}));
    server.wait(&run);
    let whole = fs::read(lab.run_folder(&run).join(".audit/stdout.1.log")).expect("evidence");
    let size = whole.len();
    let raw = format!("/v1/runs/{run}/raw?attempt=1&stream=stdout");
    let all = server.get(&raw);
    assert_eq!((all.status, &all.body), (200, &whole));
    assert_eq!(all.header("content-length"), Some(size.to_string().as_str()));
    assert!(all.header("content-disposition").is_some_and(|value| value.starts_with("attachment")));
    assert_eq!(all.header("x-content-type-options"), Some("nosniff"));
    let part = |from: usize, to: usize, answer: testkit::http::Answer| {
        assert_eq!((answer.status, &answer.body[..]), (206, &whole[from..to]), "{from} to {to}");
        assert_eq!(answer.header("content-range"), Some(format!("bytes {from}-{}/{size}", to - 1).as_str()));
    };
    let ranged = |range: &str| server.client.request("GET", &raw, &[("Range", range)], b"").expect("an answer");
    part(0, 1, ranged("bytes=0-0"));
    part(10, 200, ranged("bytes=10-199"));
    part(size - 7, size, ranged("bytes=-7"));
    part(50, size, ranged("bytes=50-"));
    part(10, 200, server.get(&format!("{raw}&from=10&to=200")));
    part(0, 5, server.get(&format!("{raw}&to=5")));
    part(size - 1, size, server.get(&format!("{raw}&from={}&to={}", size - 1, size + 100)));
    for beyond in [ranged(&format!("bytes={size}-")), server.get(&format!("{raw}&from={size}"))] {
        assert_eq!((beyond.status, beyond.header("content-range")), (416, Some(format!("bytes */{size}").as_str())));
    }
    assert_eq!(server.get(&raw.replace("attempt=1", "attempt=2")).status, 404);
    // Every byte lies in an event.
    for offset in [0, size / 2, size - 1] {
        let path = format!("/v1/runs/{run}/events/at?attempt=1&stream=stdout&offset={offset}");
        let found = server.get(&path).json();
        let events = found["events"].as_array().expect("events");
        let holds = |event: &Value| {
            let (from, to) = (event["raw_ref"]["stdout_from"].as_u64(), event["raw_ref"]["stdout_to"].as_u64());
            from.is_some_and(|from| from <= offset as u64) && to.is_some_and(|to| (offset as u64) < to)
        };
        assert!(!events.is_empty() && events.iter().all(holds), "{offset}: {found}");
    }
    let cast = server.get(&format!("/v1/runs/{run}/recording.cast")).text();
    let mut entries = cast.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert_eq!(entries.next().expect("a head")["version"], 3);
    let entries: Vec<Value> = entries.collect();
    let shown = |code: &str| {
        entries.iter().filter(|entry| entry[1] == code).filter_map(|entry| entry[2].as_str()).collect::<Vec<_>>()
    };
    assert_eq!(shown("o").concat().replace("\r\n", "\n").as_bytes(), whole, "nothing was written on stderr");
    let log = lab.events(&run);
    let marks: Vec<String> = log.iter().map(|event| format!("{} {}", event["seq"], super::kind(event))).collect();
    let mut told: Vec<String> = shown("m").into_iter().map(str::to_owned).collect();
    told.sort_by_key(|mark| mark.split(' ').next().and_then(|seq| seq.parse::<u64>().ok()));
    assert_eq!(told, marks, "a marker per event");
}

/// The head that a client noted shows it later whether the run is still the same.
#[test]
fn answers_carry_the_head_of_the_log_and_a_run_can_be_verified() {
    let (lab, server) = Lab::serving(&[("done", DONE)]);
    let run = server.run("done", json!({}));
    server.wait(&run);
    let path = format!("/v1/runs/{run}");
    let head = server.get(&format!("{path}/result")).json()["log_head"].clone();
    assert_eq!(server.get(&path).json()["result"]["log_head"], head);
    assert_eq!(head["seq"], json!(lab.events(&run).len()));
    let noted = format!("{path}/verification?head={}:{}", head["seq"], head["hash"].as_str().expect("a hash"));
    // Views are written after the last event.
    wait_until("the views", || server.get(&noted).json()["is_good"] == true);
    let found = server.get(&noted).json();
    assert_eq!((&found["is_good"], &found["first_break"]), (&json!(true), &Value::Null), "{found}");
    assert_eq!(found["log_head"], head);
    assert_eq!(server.get(&format!("{path}/verification?head=12")).status, 400);
    let record = lab.run_folder(&run).join("run.json");
    fs::write(&record, fs::read_to_string(&record).expect("readable") + " ").expect("written");
    let found = server.get(&noted).json();
    assert_eq!((&found["is_good"], &found["first_break"]["what"]), (&json!(false), &json!("record")), "{found}");
}

#[test]
fn a_run_that_is_over_can_be_removed() {
    let (lab, server) = Lab::serving(&[("done", DONE), ("long", LONG)]);
    let (over, alive) = (server.done("done", json!({})), server.run("long", json!({})));
    let remove = |run: &str| server.client.request("DELETE", &format!("/v1/runs/{run}"), &[], b"").expect("an answer");
    let refused = remove(&alive);
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("NOT_YET")), "{:?}", refused.json());
    let detail = format!("run {alive} is not over; cancel it first");
    assert_eq!((&refused.json()["detail"], &refused.json()["run_id"]), (&json!(detail), &json!(alive)));
    let token = lab.make_token("runner", "run");
    let forbidden = server.with_token(&token).request("DELETE", &format!("/v1/runs/{over}"), &[], b"");
    assert_eq!(forbidden.expect("an answer").status, 403);
    assert_eq!(listed(&server, ""), [alive.clone(), over.clone()]);

    // The runtime may still hold a run that has just ended.
    wait_until("the removal", || remove(&over).status == 204);
    assert!(!lab.run_folder(&over).exists());
    assert_eq!(listed(&server, ""), std::slice::from_ref(&alive));
    for answer in [remove(&over), server.get(&format!("/v1/runs/{over}"))] {
        assert_eq!((answer.status, &answer.json()["code"]), (410, &json!("RUN_REMOVED")));
    }
    let unknown = remove("0199a000-0000-7000-8000-000000000000");
    assert_eq!((unknown.status, &unknown.json()["code"]), (404, &json!("RUN_NOT_FOUND")));
    assert_eq!(server.post(&format!("/v1/runs/{alive}/cancel?wait=60"), &json!({})).status, 200);
}

#[test]
fn a_replay_is_returned_in_every_dialect() {
    let (lab, server) = Lab::serving(&[("done", DONE)]);
    let run = server.run("done", json!({}));
    server.wait(&run);
    let path = format!("/v1/runs/{run}/replay");
    let plain = server.get(&path).json();
    let end =
        lab.events(&run).iter().find(|event| super::kind(event) == "attempt.ended").expect("a record")["seq"].clone();
    assert_eq!(
        (&plain["run_id"], &plain["fidelity"], &plain["rendered"]),
        (&json!(run), &json!("shown"), &Value::Null)
    );
    let turn = &plain["turns"][0];
    assert_eq!((&turn["state"], &turn["end_seq"], &turn["hash"]), (&json!("completed"), &end, &plain["hash"]));
    assert_eq!((&turn["items"][0]["type"], &turn["items"][0]["origin"]), (&json!("user"), &json!("skill")));
    let rendered = |dialect: &str| server.get(&format!("{path}?dialect={dialect}")).json()["rendered"].clone();
    assert!(rendered("text").as_str().is_some_and(|text| text.starts_with("User:\n  ")));
    assert_eq!(rendered("anthropic-messages")["messages"][0]["role"], "user");
    assert_eq!(rendered("openai-chat")["messages"][0]["role"], "user");
    assert_eq!(rendered("openai-responses")["input"][0]["type"], "message");
    let before = end.as_u64().expect("a number") - 1;
    assert_eq!(server.get(&format!("{path}?upto={before}")).json()["turns"], json!([]));
    for wrong in ["dialect=xml", "upto=-1", "upto=soon"] {
        assert_eq!(server.get(&format!("{path}?{wrong}")).status, 400, "{wrong}");
    }
    assert_eq!(server.get("/v1/runs/019b0000-0000-7000-8000-000000000000/replay").status, 404);
}

#[test]
fn changes_of_a_copy_are_applied_over_http() {
    let writes = "- - write: {path: a.txt, content: by the run}\n  - output: {answer: done}\n    done: true\n";
    let (lab, server) = Lab::serving(&[("writes", writes)]);
    lab.write("project/a.txt", "mine");
    let folder = lab.path("project");
    let read = || fs::read_to_string(folder.join("a.txt")).expect("there");
    let refused = server.post(
        "/v1/runs",
        &json!({"skill": "writes", "engine": "scripted", "workspace": {"path": folder, "copy": true, "share": true}}),
    );
    assert_eq!(refused.status, 400, "{}", refused.text());
    let run = server.done("writes", json!({"workspace": {"path": folder, "copy": true}}));
    assert_eq!(read(), "mine");
    let told = server.get(&format!("/v1/runs/{run}/request")).json()["workspace"].clone();
    assert_eq!((&told["copy"]["kind"], &told["copy"]["files"]), (&json!("folder"), &json!(1)));
    let artifacts = server.get(&format!("/v1/runs/{run}/artifacts")).json()["artifacts"].clone();
    let (path, role) = (artifacts[0]["path"].as_str().expect("a path"), &artifacts[0]["role"]);
    assert_eq!(role, "patch");
    let patch = server.get(&format!("/v1/runs/{run}/artifacts/{path}")).text();
    assert!(patch.starts_with("diff --git a/a.txt b/a.txt\n") && patch.contains("-mine"), "{patch}");

    let apply = |body: Value| server.post(&format!("/v1/runs/{run}/apply"), &body);
    let narrow = lab.make_token("narrow", "run");
    let narrow = [("Authorization", &*format!("Bearer {narrow}")), ("Content-Type", "application/json")];
    assert_eq!(server.as_told("POST", &format!("/v1/runs/{run}/apply"), &narrow, b"{}").status, 403);
    assert_eq!((apply(json!({"check": true})).json()["outcome"].clone(), read()), (json!("applicable"), "mine".into()));
    assert_eq!(apply(json!({"to": "relative"})).status, 400);
    let applied = apply(json!({})).json();
    assert_eq!((&applied["outcome"], &applied["changes"][0]["path"]), (&json!("applied"), &json!("a.txt")));
    assert_eq!((apply(json!({})).json()["outcome"].clone(), read()), (json!("already_applied"), "by the run".into()));
    lab.write("project/a.txt", "changed since");
    let conflict = apply(json!({}));
    assert_eq!((conflict.status, conflict.json()["code"].clone()), (409, json!("APPLY_CONFLICT")));
    assert_eq!(read(), "changed since");
}

#[test]
fn a_conversation_is_continued_on_another_engine() {
    let (lab, server) = Lab::serving(&[("done", DONE)]);
    let old = server.run("done", json!({}));
    server.wait(&old);
    let replay = server.get(&format!("/v1/runs/{old}/replay")).json();
    let path = format!("/v1/runs/{old}/continue?wait=60");
    let answer = server.post(&path, &json!({"engine": "scripted", "prompt": "And now?"}));
    let new = answer.json()["run_id"].as_str().expect("an id").to_owned();
    wait_until("its first turn", || lab.events(&new).iter().any(|event| super::kind(event) == "attempt.ended"));
    let events = lab.events(&new);
    let of = |kind: &str| events.iter().find(|event| super::kind(event) == kind).expect("an event")["data"].clone();
    let started = of("run.started");
    assert_eq!((&started["mode"], &started["continues"]["run_id"]), (&json!("conversation"), &json!(old)));
    assert_eq!(started["title"], "And now?", "and not the transcript");
    assert_eq!(
        (&started["continues"]["hash"], &started["continues"]["seq"]),
        (&replay["hash"], &replay["turns"][0]["end_seq"])
    );
    let request = |run: &str| server.get(&format!("/v1/runs/{run}/request")).json();
    assert_eq!((&request(&new)["continues"], &request(&old)["continues"]), (&started["continues"], &Value::Null));
    let message = of("message.user");
    assert_eq!(message["origin"], "orchestrator");
    assert!(
        message["text"].as_str().is_some_and(|text| text.contains("User:\n") && text.ends_with("And now?")),
        "{message}"
    );
    assert_eq!(server.post(&path, &json!({"engine": "nothing"})).status, 422);
    assert_eq!(server.post(&path, &json!({"motor": "scripted"})).status, 400);
}
