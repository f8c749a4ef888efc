//! Questions that are answered, with files, twice and too late; runs that are canceled.

use std::collections::BTreeSet;
use std::fs;

use lab::{Lab, wait_until};
use serde_json::json;

use super::{ASKS, LONG};

/// The list had no pages: 81 ms with 10,000 questions.
#[test]
fn open_questions_come_in_pages() {
    let (_lab, server) = Lab::serving(&[("asks", ASKS)]);
    let runs: Vec<_> = (0..3).map(|_| json!(server.asked_run("asks", json!({})))).collect();
    let (mut seen, mut query) = (Vec::new(), String::new());
    for left in [2, 1, 0] {
        let page = server.get(&format!("/v1/interactions?limit=1{query}")).json();
        assert_eq!((page["interactions"].as_array().map(Vec::len), &page["total"]), (Some(1), &json!(3)), "{page}");
        seen.push(page["interactions"][0]["run_id"].clone());
        assert_eq!(page["next_cursor"].is_null(), left == 0, "{page}");
        query = format!("&cursor={}", page["next_cursor"].as_str().unwrap_or_default());
    }
    assert_eq!(seen, runs, "without deadlines, the oldest first");
    for (bad, detail) in [("limit=0", "must be from 1 to 500"), ("cursor=x", "is not a cursor")] {
        let refused = server.get(&format!("/v1/interactions?{bad}"));
        assert!(refused.status == 400 && refused.text().contains(detail), "{bad}: {}", refused.text());
    }
}

#[test]
fn an_answer_counts_once_and_a_late_one_gets_the_state() {
    let (lab, server) = Lab::serving(&[("asks", ASKS)]);
    let run = server.asked_run("asks", json!({}));
    let open = server.get("/v1/interactions").json();
    let open = open["interactions"].as_array().expect("a list");
    assert_eq!((&open[0]["run_id"], open.len()), (&json!(run), 1));
    let question = server.get(&format!("/v1/runs/{run}/interaction"));
    assert_eq!((question.status, &question.json()["interaction_id"]), (200, &json!(1)));
    let reply = |interaction: u32, text: &str, key: Option<&str>| {
        let body = json!({"interaction_id": interaction, "text": text, "idempotency_key": key});
        server.post(&format!("/v1/runs/{run}/interaction/reply?wait=60"), &body)
    };
    let stale = reply(7, "red", None);
    let problem = stale.json();
    assert_eq!((stale.status, &problem["code"]), (409, &json!("STALE_INTERACTION")), "{}", stale.text());
    assert_eq!((&problem["current"]["status"], &problem["run_id"]), (&json!("waiting_user"), &json!(run)));
    assert_eq!(problem["current"]["interaction"]["interaction_id"], 1);
    let heard = reply(1, "blue", Some("mine"));
    assert_eq!((heard.status, &heard.json()["status"]), (200, &json!("succeeded")), "{}", heard.text());
    assert_eq!(heard.json()["result"]["output"]["answer"], "blue");
    let late = reply(1, "red", Some("other"));
    assert_eq!((late.status, &late.json()["current"]["status"]), (409, &json!("succeeded")), "{}", late.text());
    let replies = lab.events(&run).iter().filter(|event| super::kind(event) == "interaction.replied").count();
    assert_eq!(replies, 1);
    let history = server.get(&format!("/v1/runs/{run}/interactions")).json();
    assert_eq!(history["interactions"].as_array().map(Vec::len), Some(1), "{history}");
    assert_eq!(server.get(&format!("/v1/runs/{run}/interaction")).status, 204);
    assert_eq!(server.get("/v1/interactions").json()["interactions"], json!([]));
}

/// A client that used the names of contract R5.12 found neither.
#[test]
fn the_status_counts_automatic_decisions() {
    let (lab, server) = Lab::serving(&[("asks", ASKS)]);
    let decides = json!({"interactive_require_user_reply": false, "session_timeout_sec": 0.2});
    let run = server.run("asks", json!({"mode": "interactive", "options": decides}));
    lab.wait_end(&run);
    let decision = lab.events(&run).into_iter().find(|event| super::kind(event) == "interaction.auto_decision");
    let decision = decision.expect("a decision");
    let (source, reason) = (&decision["data"]["source"], &decision["data"]["reason"]);
    assert_eq!((source, reason), (&json!("auto_decide_timeout"), &json!("user_no_reply")));
    let listed = server.get("/v1/runs").json()["runs"][0].clone();
    for view in [server.get(&format!("/v1/runs/{run}")).json(), listed] {
        assert_eq!((&view["auto_decision_count"], &view["auto_decisions"]), (&json!(1), &json!(1)), "{view}");
        assert_eq!(view["last_auto_decision_at"], decision["ts"]);
    }
    // How well the output was read, for each attempt.
    let attempts = server.get(&format!("/v1/runs/{run}/attempts")).json();
    for attempt in attempts["attempts"].as_array().expect("attempts") {
        let parse = &attempt["parse"];
        assert!(parse["matched"].as_u64() > Some(0) && parse["confidence"] == 1.0, "{attempts}");
        assert_eq!((&parse["raw"], &parse["unknown_types"]), (&json!(0), &json!({})));
    }
    let chat = server.get(&format!("/v1/runs/{run}/chat/history")).json();
    assert!(chat.to_string().contains("\"reason\":\"user_no_reply\""), "{chat}");
}

/// The source documents call it `sticky_process`.
#[test]
fn a_sticky_process_may_be_called_so() {
    let (lab, server) = Lab::serving(&[("asks", ASKS)]);
    let run = server.asked_run("asks", json!({"continuation": "sticky_process"}));
    assert_eq!(lab.events(&run)[0]["data"]["continuation"], "sticky", "and is written as ever");
    let heard = server.reply(&run, 1, "blue");
    assert_eq!((heard.status, &heard.json()["status"]), (200, &json!("succeeded")), "{}", heard.text());
}

/// The same key again, while the run still asks something else.
#[test]
fn the_same_answer_again_has_no_second_effect() {
    let lab = Lab::new();
    lab.installed_skill(
        "twice",
        "- - ask: {prompt: First?}\n- - ask: {prompt: Second?}\n- - output: {answer: '{{reply}}'}\n    done: true\n",
    );
    let server = lab.serve();
    let run = server.run("twice", json!({"mode": "interactive"}));
    server.wait(&run);
    let body = json!({"interaction_id": 1, "text": "one", "idempotency_key": "k"});
    let path = format!("/v1/runs/{run}/interaction/reply");
    assert_eq!(server.post(&path, &body).status, 200);
    wait_until("a question", || server.wait(&run)["interaction"]["interaction_id"] == 2);
    assert_eq!(server.post(&path, &body).status, 200, "it was already received");
    let view = server.wait(&run);
    assert_eq!((&view["status"], &view["interaction"]["interaction_id"]), (&json!("waiting_user"), &json!(2)));
    let other = json!({"interaction_id": 1, "text": "one", "idempotency_key": "other"});
    let stale = server.post(&path, &other);
    assert_eq!((stale.status, &stale.json()["current"]["interaction"]["interaction_id"]), (409, &json!(2)));
}

#[test]
fn files_come_with_an_answer() {
    let (lab, server) = Lab::serving(&[("asks", ASKS)]);
    let run = server.run("asks", json!({"mode": "interactive"}));
    server.wait(&run);
    let request = json!({"interaction_id": 1, "text": "as in the picture"}).to_string();
    let path = format!("/v1/runs/{run}/interaction/reply?wait=60");
    let parts = [
        ("request", None, request.as_bytes()),
        ("files", Some("a.png"), b"\x89PNG".as_slice()),
        ("files", Some("b.txt"), b"b"),
    ];
    let unknown = server.send_form(&path, &[], &[parts[0], ("file", Some("a.png"), b"x")]);
    assert_eq!(unknown.status, 400, "{}", unknown.text());
    let heard = server.send_form(&path, &[], &parts);
    assert_eq!((heard.status, &heard.json()["status"]), (200, &json!("succeeded")), "{}", heard.text());
    let events = lab.events(&run);
    let replied = events.iter().find(|event| super::kind(event) == "interaction.replied").expect("an answer");
    assert_eq!(replied["data"]["files"], json!(["reply-1-1-a.png", "reply-1-2-b.txt"]), "{replied}");
    for (name, bytes) in [("reply-1-1-a.png", b"\x89PNG".as_slice()), ("reply-1-2-b.txt", b"b")] {
        assert_eq!(fs::read(lab.run_folder(&run).join("inputs").join(name)).expect("kept"), bytes);
    }
}

#[test]
fn a_run_is_canceled_once() {
    let (lab, server) = Lab::serving(&[("long", LONG)]);
    let run = server.run("long", json!({}));
    lab.wait_event(&run, "agent.message.final");
    let path = format!("/v1/runs/{run}/cancel?wait=60");
    let canceled = server.post(&path, &json!({}));
    assert_eq!((canceled.status, &canceled.json()["status"]), (200, &json!("canceled")), "{}", canceled.text());
    assert_eq!(lab.events(&run).last().map(super::kind), Some("run.canceled"));
    let again = server.post(&path, &json!({}));
    let problem = again.json();
    assert_eq!((again.status, &problem["code"]), (409, &json!("RUN_OVER")), "{}", again.text());
    assert_eq!(problem["current"]["status"], "canceled");
}

#[test]
fn a_turn_is_interrupted_and_a_conversation_is_closed() {
    let talk = "- - say: Working.\n  - sleep_ms: 60000\n- - say: Then otherwise.\n";
    let (lab, server) = Lab::serving(&[("talk", talk)]);
    let request = json!({"skill": "talk", "engine": "scripted", "mode": "conversation"});
    let made = server.post("/v1/runs", &request);
    assert_eq!(made.status, 202, "{}", made.text());
    let run = made.json()["run_id"].as_str().expect("an id").to_owned();
    let is_working = || lab.events(&run).iter().any(|event| super::kind(event) == "agent.message.final");
    wait_until("an open turn", is_working);
    let close = || server.post(&format!("/v1/runs/{run}/close"), &json!({}));
    let early = close();
    assert_eq!((early.status, &early.json()["code"]), (409, &json!("WRONG_STATE")), "{}", early.text());

    let interrupt = || server.post(&format!("/v1/runs/{run}/interrupt?wait=60"), &json!({"say": "otherwise"}));
    let stopped = interrupt();
    assert_eq!(stopped.status, 200, "{}", stopped.text());
    let rests = || {
        let view = server.get(&format!("/v1/runs/{run}")).json();
        view["attempt"] == 2 && view["interaction"]["scope"] == "prompt"
    };
    wait_until("the turn of the prompt that came with it", rests);
    assert_eq!(server.get("/v1/interactions").json()["total"], 0, "a prompt is not a question");
    let again = interrupt();
    assert_eq!((again.status, &again.json()["current"]["status"]), (409, &json!("waiting_user")), "{}", again.text());

    let closed = close();
    assert_eq!((closed.status, &closed.json()["status"]), (200, &json!("closed")), "{}", closed.text());
    let result = server.get(&format!("/v1/runs/{run}/result")).json();
    assert_eq!(result["turns"], json!({"completed": 1, "interrupted": 1}), "{result}");
    assert_eq!((close().status, interrupt().status), (409, 409));
}

#[test]
fn unusable_prompts_are_refused_and_change_nothing() {
    let lab = Lab::new();
    lab.installed_skill("talk", "- - say: First.\n- - say: 'Second: {{reply}}'\n");
    let server = lab.serve();
    let run = server.run("talk", json!({"mode": "conversation"}));
    wait_until("rest", || server.get(&format!("/v1/runs/{run}")).json()["status"] == "waiting_user");
    let before = lab.events(&run);
    let inputs = || {
        let entries = fs::read_dir(lab.run_folder(&run).join("inputs")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).collect::<BTreeSet<_>>()
    };
    let files = inputs();
    let long = "x".repeat(600_000);
    let cases = [
        ("", "the prompt is empty; give a text"),
        (" \n", "the prompt is empty; give a text"),
        ("a\0b", "contains a NUL character at byte 1; remove it"),
        (long.as_str(), "has more than 524288 bytes (PROMPT_MAX); attach longer text as a file"),
    ];
    let path = |name: &str| format!("/v1/runs/{run}/{name}");
    for (text, sentence) in cases {
        let requests = [
            ("text", path("interaction/reply"), json!({"interaction_id": 1, "text": text})),
            ("say", path("interrupt"), json!({"say": text})),
            ("prompt", path("continue"), json!({"engine": "scripted", "prompt": text})),
        ];
        for (field, path, body) in requests {
            let refused = server.post(&path, &body);
            let problem = refused.json();
            assert_eq!((refused.status, &problem["code"]), (422, &json!("CANNOT_RUN")), "{}", refused.text());
            assert!(problem["detail"].as_str().is_some_and(|detail| detail.ends_with(sentence)), "{problem}");
            assert!(problem.to_string().contains(&format!("\"{field}\"")), "{problem}");
        }
        let refused = server.post("/v1/runs", &json!({"engine": "scripted", "prompt": text}));
        assert_eq!(refused.status, 422, "{}", refused.text());
        assert!(
            refused.json()["detail"].as_str().is_some_and(|detail| detail.ends_with(sentence)),
            "{}",
            refused.text()
        );
        let request = json!({"interaction_id": 1, "text": text}).to_string();
        let parts = [("request", None, request.as_bytes()), ("files", Some("a.csv"), &b"1,2"[..])];
        assert_eq!(server.send_form(&path("interaction/reply"), &[], &parts).status, 422);
    }
    for (name, body) in [
        ("interaction/reply", &b"{\"interaction_id\": 1, \"text\": \"caf\xe9\"}"[..]),
        ("interrupt", b"{\"say\": \"caf\xe9\"}"),
        ("continue", b"{\"prompt\": \"caf\xe9\"}"),
    ] {
        let refused = server.asked("POST", &path(name), &[("content-type", "application/json")], body);
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert!(refused.text().contains("UTF-8") || refused.text().contains("unicode"), "{}", refused.text());
    }
    assert_eq!((lab.events(&run), lab.runs().len()), (before, 1));
    assert_eq!(inputs(), files, "no file of a refused prompt is left");
    let sent =
        server.post(&format!("{}?wait=60", path("interaction/reply")), &json!({"interaction_id": 1, "text": "go"}));
    assert_eq!((sent.status, &sent.json()["status"]), (200, &json!("waiting_user")), "{}", sent.text());
}
