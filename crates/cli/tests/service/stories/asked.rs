//! What was asked for can be looked at later, without what is secret in it.

use std::fs;

use lab::{Lab, Server};
use serde_json::{Value, json};
use testkit::paths;

use super::{DONE, id};

fn asked(server: &Server, run: &str) -> Value {
    let answer = server.get(&format!("/v1/runs/{run}/request"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[test]
fn a_request_is_shown_as_it_was_accepted() {
    let lab = Lab::new();
    let skill = lab.installed_skill("done", DONE);
    fs::write(skill.join("assets/runner.json"), r#"{"version": "1.2.3", "max_attempt": 7, "require_marker": true}"#)
        .expect("written");
    fs::create_dir(lab.path("elsewhere")).expect("a folder");
    let elsewhere = fs::canonicalize(lab.path("elsewhere")).expect("a path");
    let server = lab.serve();
    let request = json!({
        "skill": "done", "engine": "scripted", "mode": "interactive", "model": "large",
        "input": {"a": 1, "deep": {"list": [true, null, "x"]}}, "parameter": {"p": "q"},
        "workspace": {"path": elsewhere, "share": true},
        "options": {"hard_timeout_sec": 12.5, "permission": "read_only", "priority": -3, "env": ["LANG"]},
    });
    let request = request.to_string();
    let parts = [("request", None, request.as_bytes()), ("files.table", Some("a-b.csv"), &b"12345"[..])];
    let first = id(&server.send_form("/v1/runs?wait=60", &[], &parts));
    let told = asked(&server, &first);
    assert_eq!(told["run_id"], json!(first));
    assert_eq!((&told["skill"]["name"], &told["skill"]["version"]), (&json!("done"), &json!("1.2.3")));
    assert_eq!(told["skill"]["hash"], server.get("/v1/skills/done").json()["hash"]);
    let words = [&told["engine"]["name"], &told["mode"], &told["model"]];
    assert_eq!(words, ["scripted", "interactive", "large"]);
    assert_eq!(told["input"], json!({"a": 1, "deep": {"list": [true, null, "x"]}}));
    assert_eq!(told["parameter"], json!({"p": "q"}));
    assert_eq!(told["files"], json!([{"slot": "table", "name": "a-b.csv", "size": 5}]));
    assert_eq!(told["workspace"], json!({"path": elsewhere, "share": true, "copy": null}));
    let options = &told["options"];
    assert_eq!((&options["hard_timeout_sec"], &options["permission"]), (&json!(12.5), &json!("read_only")));
    assert_eq!((&options["priority"], &options["env"]), (&json!(-3), &json!(["LANG"])));
    assert_eq!((&options["max_attempt"], &options["require_marker"]), (&json!(7), &json!(true)), "the skill's own");
    assert_eq!(server.get("/v1/skills/done").json()["require_marker"], true);
    assert_eq!(options["stall_timeout_sec"], 600.0, "not given, so the default");
    assert_eq!((&told["retry_of"], &told["command"]), (&Value::Null, &json!(format!("skillrun retry {first}"))));

    let again = server.post(&format!("/v1/runs/{first}/retry?wait=60"), &json!({"input": {"a": 2}}));
    let told = asked(&server, &id(&again));
    assert_eq!((&told["retry_of"], &told["input"]["a"]), (&json!(first), &json!(2)));
    assert_eq!(told["options"]["require_marker"], true, "as it was");
    let plain = asked(&server, &server.run("done", json!({"options": {"require_marker": false}})));
    assert_eq!(plain["options"]["require_marker"], false, "the request comes first");
    assert_eq!((&plain["workspace"], &plain["files"], &plain["input"]), (&Value::Null, &json!([]), &json!({})));
}

/// A value that a user put into an input, although there are variables for that.
#[test]
fn no_secret_comes_out_of_a_request() {
    const SECRET: &str = "hush-5f0c\"9b17-secret";
    let lab = Lab::new();
    lab.settings("engines = \"engines\"\nredact = ['\"password\": ?\"[^\"]*\"', 'card \\d+']\n");
    let engine = fs::read_to_string(paths::workspace().join("crates/engine/engines/scripted.toml")).expect("an engine");
    lab.write("engines/scripted.toml", &format!("{engine}secret = [\"OF_ENGINE\"]\n"));
    lab.installed_skill("done", DONE);
    let mut command = lab.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("HUSH", SECRET).env("OF_ENGINE", "the-engine-s-own");
    let server = Lab::started(command);
    let run = server.run(
        "done",
        json!({
            "input": {"key": format!("it is {SECRET}"), SECRET: [SECRET], "password": "sesame", "note": "card 4711",
                "engine": "the-engine-s-own"},
            "parameter": {"deep": {"as_json": json!({"key": SECRET}).to_string()}},
            "model": SECRET,
            "options": {"secrets": ["HUSH"], "effort": SECRET},
        }),
    );
    let told = asked(&server, &run);
    let text = told.to_string();
    for word in ["hush-5f0c", "9b17-secret", "sesame", "4711", "the-engine-s-own"] {
        assert!(!text.contains(word), "{word} is in {text}");
    }
    let stars = "*".repeat(SECRET.len());
    assert_eq!(told["options"]["secrets"], json!(["HUSH"]), "names are shown");
    assert_eq!(told["input"]["key"], json!(format!("it is {stars}")));
    assert_eq!((&told["input"]["password"], &told["input"]["note"]), (&json!("******"), &json!("*********")));
    assert_eq!(told["model"], json!(stars));
    server.wait(&run);
}
