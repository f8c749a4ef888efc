//! Events in a few numbers each: the same events as on the pages of the history.

use lab::{Lab, Server};
use serde_json::{Value, json};
use skillrun_model::Timestamp;

use super::follower::{answer, slow_talk};

const ACTS: usize = 20;

fn outline(server: &Server, run: &str, query: &str) -> Value {
    let answer = server.get(&format!("/v1/runs/{run}/events/outline?{query}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// What an outline says of each event, in the words of the history.
fn events_of(outline: &Value) -> Vec<Value> {
    let column = |name: &str| outline[name].as_array().expect(name);
    let first = outline["first_seq"].as_u64().expect("a seq");
    let at = |table: &str, place: &Value| column(table)[usize::try_from(place.as_u64().unwrap()).unwrap()].clone();
    let each = |(i, ts): (usize, &Value)| {
        let group = &column("groups_of")[i];
        let level = usize::try_from(column("levels")[i].as_u64().unwrap()).unwrap();
        let level = ["info", "warning", "error"][level];
        json!({
            "seq": first + i as u64,
            "ts": ts,
            "type": at("names", &column("types")[i]),
            "level": level,
            "attempt": column("attempts")[i],
            "group": if group.is_null() { Value::Null } else { at("groups", group) },
        })
    };
    column("ts").iter().enumerate().map(each).collect()
}

/// The same of a whole event.
fn of_event(event: &Value) -> Value {
    let ts: Timestamp = event["ts"].as_str().expect("a moment").parse().expect("a moment");
    let correlation = &event["correlation"];
    let group = |kind: &str, field: &str| {
        let id = Some(&correlation[field]).filter(|id| !id.is_null())?;
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        Some(json!({"kind": kind, "id": id}))
    };
    let group = group("tool_call", "tool_call_id")
        .or_else(|| group("interaction", "interaction_id"))
        .or_else(|| group("artifact", "artifact_id"));
    json!({
        "seq": event["seq"],
        "ts": ts.millis_since(Timestamp::EPOCH),
        "type": event["event"]["type"],
        "level": event["event"]["level"],
        "attempt": event["attempt_number"],
        "group": group,
    })
}

#[test]
fn an_outline_has_the_same_events_as_the_history() {
    let (_lab, server) = Lab::serving(&[("talk", &slow_talk(ACTS).replace("  - sleep_ms: 20\n", ""))]);
    let run = server.run("talk", json!({"mode": "interactive"}));
    answer(&server, &run);
    assert_eq!(server.wait(&run)["status"], "succeeded");
    let history = server.get(&format!("/v1/runs/{run}/events/history?limit=1000")).json();
    let expected: Vec<Value> = history["events"].as_array().expect("events").iter().map(of_event).collect();
    let kinds: Vec<&Value> = expected.iter().map(|event| &event["group"]["kind"]).collect();
    for kind in ["tool_call", "interaction"] {
        assert!(kinds.contains(&&json!(kind)), "no {kind} in {kinds:?}");
    }

    let whole = outline(&server, &run, "");
    assert_eq!(events_of(&whole), expected);
    assert_eq!((&whole["last_seq"], &whole["epoch"]), (&history["last_seq"], &history["epoch"]));

    for limit in [1, 7, 50_000] {
        let (mut all, mut from) = (Vec::new(), 1);
        while from <= expected.len() {
            let page = outline(&server, &run, &format!("from_seq={from}&limit={limit}"));
            let events = events_of(&page);
            assert_eq!(events.len(), limit.min(expected.len() + 1 - from), "from {from} by {limit}");
            from += events.len();
            all.extend(events);
        }
        assert_eq!(all, expected, "by {limit}");
    }
}

#[test]
fn beyond_the_end_is_empty_and_a_wrong_question_is_a_problem() {
    let (_lab, server) = Lab::serving(&[("talk", "- - output: {answer: blue}\n    done: true\n")]);
    let run = server.done("talk", json!({"mode": "auto"}));
    let empty = outline(&server, &run, "from_seq=1000000");
    assert_eq!((events_of(&empty), &empty["first_seq"]), (Vec::new(), &json!(1_000_000)));
    assert_eq!(empty["last_seq"], outline(&server, &run, "")["ts"].as_array().expect("a column").len());
    for wrong in ["limit=0", "limit=50001", "limit=x", "from_seq=-1"] {
        let answer = server.get(&format!("/v1/runs/{run}/events/outline?{wrong}"));
        assert_eq!((answer.status, &answer.json()["code"]), (400, &json!("INVALID_REQUEST")), "{wrong}");
        let field = wrong.split('=').next().map(|name| json!(format!("query.{name}")));
        assert_eq!(answer.json()["errors"][0]["field"], field.expect("a name"), "{wrong}");
    }
    let nobody = server.get("/v1/runs/01a1df5b-e7ea-7bb5-9e74-4d7b27124512/events/outline");
    assert_eq!((nobody.status, &nobody.json()["code"]), (404, &json!("RUN_NOT_FOUND")));
}
