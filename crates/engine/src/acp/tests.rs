//! The driver over whole sessions, split sessions and sessions read twice; and the answers to an agent's questions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skillrun_model::AttemptNumber;

use super::answer::{Choice, ExpectedAnswer, OptionKind, answer, canceled};
use super::driver::{AgentInput, Driver, Loads};
use super::opening::{Opening, Session};

fn opening(session: Session) -> Opening {
    Opening {
        attempt: AttemptNumber(1),
        cwd: "/work".to_owned(),
        session,
        mode: None,
        prompt: "Do it.\n\"now\"".to_owned(),
        meta: Default::default(),
    }
}

/// Everything that is sent for these bytes.
fn sends(opening: Opening, bytes: &[u8]) -> Vec<AgentInput> {
    let mut driver = Driver::new(opening);
    driver.push(bytes);
    driver.take()
}

fn ids(sends: &[AgentInput]) -> Vec<&str> {
    sends.iter().map(|send| send.id.as_str()).collect()
}

fn value(send: &AgentInput) -> Value {
    assert!(send.line.ends_with('\n') && send.line.matches('\n').count() == 1, "{:?}", send.line);
    serde_json::from_str(&send.line).expect("JSON")
}

fn initialized(capabilities: Value) -> String {
    let result = json!({ "protocolVersion": 1, "agentCapabilities": capabilities });
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": "initialize", "result": result }))
}

fn answered(id: &str, result: Value) -> String {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn request(id: Value, method: &str) -> String {
    let params = json!({ "sessionId": "s1", "toolCall": { "toolCallId": "c1" }, "options": [], "message": "Which?" });
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

#[test]
fn a_new_session_step_by_step() {
    let mut driver = Driver::new(opening(Session::New));
    let first = driver.take();
    assert_eq!(ids(&first), ["acp.1.initialize"]);
    let said = value(&first[0]);
    assert_eq!((&said["id"], &said["method"]), (&json!("initialize"), &json!("initialize")));
    assert_eq!(said["params"]["protocolVersion"], json!(1));
    assert_eq!(said["params"]["clientInfo"]["name"], json!("skillrun"));
    let capabilities = &said["params"]["clientCapabilities"];
    assert_eq!(capabilities["fs"], json!({ "readTextFile": false, "writeTextFile": false }));
    assert_eq!((&capabilities["terminal"], &capabilities["elicitation"]), (&json!(false), &json!({ "form": {} })));

    driver.push(initialized(json!({ "loadSession": true })).as_bytes());
    let second = driver.take();
    assert_eq!(ids(&second), ["acp.1.session"]);
    let expected = json!({
        "jsonrpc": "2.0", "id": "session", "method": "session/new", "params": { "cwd": "/work", "mcpServers": [] },
    });
    assert_eq!(value(&second[0]), expected);

    driver.push(answered("session", json!({ "sessionId": "s1", "modes": null })).as_bytes());
    let third = driver.take();
    assert_eq!(ids(&third), ["acp.1.prompt"]);
    let prompt = json!([{ "type": "text", "text": "Do it.\n\"now\"" }]);
    let expected = json!({
        "jsonrpc": "2.0", "id": "prompt.1", "method": "session/prompt",
        "params": { "sessionId": "s1", "prompt": prompt },
    });
    assert_eq!(value(&third[0]), expected);

    driver.push(answered("prompt.1", json!({ "stopReason": "end_turn" })).as_bytes());
    driver.push(answered("session", json!({ "sessionId": "s2" })).as_bytes());
    driver.push(initialized(json!({})).as_bytes());
    assert_eq!(driver.take(), []);
}

#[test]
fn a_session_is_resumed_where_the_agent_can_and_else_loaded() {
    let cases = [
        (json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } }), Loads::Resume, "session/resume"),
        (json!({ "loadSession": true, "sessionCapabilities": { "resume": null } }), Loads::Load, "session/load"),
        (json!({ "loadSession": true }), Loads::Load, "session/load"),
        (json!({ "loadSession": "yes", "sessionCapabilities": 7 }), Loads::Not, "session/load"),
        (Value::Null, Loads::Not, "session/load"),
    ];
    for (capabilities, loads, method) in cases {
        let mut driver = Driver::new(opening(Session::Load("old".to_owned())));
        assert_eq!(driver.loads(), None);
        driver.push(initialized(capabilities.clone()).as_bytes());
        assert_eq!(driver.loads(), Some(loads), "{capabilities}");
        let said = value(&driver.take()[1]);
        assert_eq!(said["method"], json!(method), "{capabilities}");
        assert_eq!((&said["params"]["sessionId"], &said["params"]["cwd"]), (&json!("old"), &json!("/work")));
        // Resuming needs no list of servers, loading does.
        assert_eq!(said["params"].get("mcpServers").is_some(), method == "session/load");
        // Its history comes first and is ignored. The answer may be null.
        driver.push(format!("{}\n", json!({ "jsonrpc": "2.0", "method": "session/update", "params": {} })).as_bytes());
        let name = said["id"].as_str().expect("a name");
        assert_eq!(name, format!("session {}=old", method.trim_start_matches("session/")));
        driver.push(answered(name, Value::Null).as_bytes());
        if method == "session/load" {
            driver.push((answered("past.1", json!({})) + &answered("now", json!({}))).as_bytes());
        }
        let sent = driver.take();
        assert_eq!(value(&sent[sent.len() - 1])["params"]["sessionId"], json!("old"));
    }
}

fn refused(id: &str) -> String {
    let error = json!({ "code": -32601, "message": "Method not found" });
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

fn told(kind: &str) -> String {
    let params = json!({ "sessionId": "old", "update": { "sessionUpdate": kind } });
    format!("{}\n", json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
}

/// Symptom: an answer in the history ended a new turn. gemini answers `session/load` first and replays the history
/// then, as fast as its pipe takes it.
#[test]
fn a_loaded_session_is_prompted_when_its_past_is_over() {
    let load = || {
        let mut driver = Driver::new(opening(Session::Load("old".to_owned())));
        driver.push(initialized(json!({ "loadSession": true })).as_bytes());
        driver.take();
        driver.push(answered("session load=old", json!({})).as_bytes());
        driver
    };
    let mut driver = load();
    let mut sent_after = |text: String| {
        driver.push(text.as_bytes());
        let sent = driver.take();
        sent.iter().map(|send| send.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(sent_after(String::new()), ["acp.1.past.1"]);
    for kind in ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "plan"] {
        assert_eq!(sent_after(told(kind)), [""; 0], "{kind}");
    }
    // It makes no difference whether an agent knows the request.
    assert_eq!(sent_after(refused("past.1")), ["acp.1.past.2"]);
    let expected = ["acp.1.past.3"];
    assert_eq!(sent_after(refused("past.1") + &told("tool_call_update") + &answered("past.2", json!({}))), expected);
    // Updates that are not part of a conversation may come at any time.
    assert_eq!(sent_after(told("available_commands_update") + &refused("past.3")), ["acp.1.now"]);
    assert_eq!(sent_after(refused("past.4")), [""; 0]);
    assert_eq!(sent_after(refused("now")), ["acp.1.prompt"]);
    assert_eq!(sent_after(refused("now") + &answered("session load=old", json!({}))), [""; 0]);

    let mut driver = load();
    let past = value(&driver.take()[0]);
    assert_eq!((&past["method"], &past["params"]), (&json!("_skillrun/past"), &json!({})));
    // The number of requests is bounded.
    for number in 1..=2000 {
        driver.push((told("tool_call") + &refused(&format!("past.{number}"))).as_bytes());
    }
    let sent = driver.take();
    assert_eq!(ids(&sent)[sent.len() - 1], "acp.1.past.1000");
}

#[test]
fn an_agent_in_another_mode_is_not_prompted() {
    let modes = |mode: &str| json!({ "sessionId": "s1", "modes": { "currentModeId": mode, "availableModes": [] } });
    for (result, is_prompted) in [(modes("plan"), true), (modes("agent"), false), (json!({ "sessionId": "s1" }), false)]
    {
        let opening = Opening { mode: Some("plan".to_owned()), ..opening(Session::New) };
        let bytes = initialized(json!({})) + &answered("session mode=plan", result.clone());
        let sent = sends(opening, bytes.as_bytes());
        assert_eq!(value(&sent[1])["id"], json!("session mode=plan"));
        assert_eq!(ids(&sent).contains(&"acp.1.prompt"), is_prompted, "{result}");
    }
}

#[test]
fn an_error_is_answered_with_nothing() {
    let error =
        |id: &str| format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -1, "message": "no" } }));
    assert_eq!(ids(&sends(opening(Session::New), error("initialize").as_bytes())), ["acp.1.initialize"]);
    let both = initialized(json!({})) + &error("session");
    assert_eq!(ids(&sends(opening(Session::New), both.as_bytes())), ["acp.1.initialize", "acp.1.session"]);
    // A session without a name cannot be prompted.
    for result in [json!({}), json!({ "sessionId": "" }), json!({ "sessionId": 7 }), json!(null)] {
        let both = initialized(json!({})) + &answered("session", result);
        assert_eq!(ids(&sends(opening(Session::New), both.as_bytes())), ["acp.1.initialize", "acp.1.session"]);
    }
}

#[test]
fn what_we_do_not_have_is_refused_and_questions_are_not() {
    let mut driver = Driver::living(AttemptNumber(3));
    for question in ["session/request_permission", "elicitation/create"] {
        driver.push(request(json!(1), question).as_bytes());
    }
    assert_eq!(driver.take(), []);
    // A question that cannot be put to the user must not keep the agent waiting.
    let mut broken = Driver::living(AttemptNumber(1));
    for (method, params) in [
        ("session/request_permission", json!({ "sessionId": "s1", "options": [] })),
        ("session/request_permission", json!([])),
        ("session/request_permission", json!({ "toolCall": 7 })),
        ("elicitation/create", json!({ "sessionId": "s1" })),
    ] {
        broken.push(format!("{}\n", json!({ "id": 1, "method": method, "params": params })).as_bytes());
        let refused = broken.take();
        assert_eq!(value(&refused[0])["error"]["code"], json!(-32602), "{method} {params}");
    }
    broken.push(request(json!("x".repeat(2000)), "elicitation/create").as_bytes());
    assert_eq!(broken.take().len(), 1);
    // Nor must a question whose call is reported twice; half of a character is not a reason to refuse.
    let line = |call: &str| {
        format!(r#"{{"id":1,"method":"session/request_permission","params":{{"toolCall":{call}}}}}"#) + "\n"
    };
    broken.push(line(r#"{"title":"a","title":"b"}"#).as_bytes());
    assert_eq!(broken.take().len(), 1);
    broken.push(line(r#"{"title":"\ud800"}"#).as_bytes());
    assert_eq!(broken.take(), []);
    driver.push(request(json!(5), "fs/read_text_file").as_bytes());
    driver.push(request(json!("t"), "terminal/create").as_bytes());
    driver.push(request(json!(1.5), "_made/up").as_bytes());
    let refused = driver.take();
    assert_eq!(ids(&refused), ["acp.3.refuse.1", "acp.3.refuse.2", "acp.3.refuse.3"]);
    let told: Vec<_> = refused.iter().map(value).collect();
    assert_eq!([&told[0]["id"], &told[1]["id"], &told[2]["id"]], [&json!(5), &json!("t"), &json!(1.5)]);
    assert!(told.iter().all(|told| told["error"]["code"] == json!(-32601) && told["error"]["message"].is_string()));
    // The number of refusals is bounded.
    for _ in 0..2000 {
        driver.push(request(json!(1), "fs/read_text_file").as_bytes());
    }
    assert_eq!(driver.take().len(), 997);
    let mut driver = Driver::living(AttemptNumber(1));
    driver.push(request(json!("x".repeat(5000)), "fs/read_text_file").as_bytes());
    assert_eq!(driver.take(), []);
}

#[test]
fn lines_that_are_no_messages_are_nothing() {
    let mut bytes = Vec::new();
    for line in
        ["", "words", "[]", "7", "{\"id\":\"initialize\"}", "{\"method\":\"x\"}", "{\"id\":1,\"id\":2}", "\u{0}"]
    {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(b"\xff\xfe{}\n");
    // Longer than any real line, and it contains what would be an answer.
    bytes.extend(std::iter::repeat_n(b' ', 9 << 20));
    bytes.extend_from_slice(initialized(json!({})).as_bytes());
    assert_eq!(ids(&sends(opening(Session::New), &bytes)), ["acp.1.initialize"]);
    bytes.extend_from_slice(initialized(json!({})).as_bytes());
    assert_eq!(ids(&sends(opening(Session::New), &bytes)), ["acp.1.initialize", "acp.1.session"]);
}

/// A session with everything in it.
fn session() -> Vec<u8> {
    let update =
        |n: u32| format!("{}\n", json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "n": n } }));
    let parts = [
        "starting up\n".to_owned(),
        initialized(json!({ "loadSession": true })),
        request(json!(0), "fs/read_text_file"),
        update(1),
        answered("session", json!({ "sessionId": "s1" })),
        update(2),
        request(json!(1), "session/request_permission"),
        request(json!("é"), "terminal/create"),
        answered("prompt.1", json!({ "stopReason": "end_turn" })),
    ];
    parts.concat().into_bytes()
}

/// Whatever part of a session an owner has seen, the next owner sends the same messages and those after it, with the
/// same ids.
fn check_restarts(session: &Session, bytes: &[u8], cuts: impl Iterator<Item = usize>) {
    let opening = || opening(session.clone());
    let whole = sends(opening(), bytes);
    for cut in cuts {
        let before = sends(opening(), &bytes[..cut]);
        assert_eq!(before, sends(opening(), &bytes[..cut]), "the same twice");
        assert_eq!(before[..], whole[..before.len()], "a prefix says no more than the whole");
        let mut driver = Driver::new(opening());
        driver.push(&bytes[..cut]);
        driver.push(&bytes[cut..]);
        let both = driver.take();
        assert_eq!(both, whole, "however it is cut");
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for send in before.into_iter().chain(both) {
            let known = names.insert(send.id.clone(), send.line.clone());
            assert!(known.is_none_or(|line| line == send.line), "{} has two lines", send.id);
        }
        assert_eq!(names.len(), whole.len(), "the union is what one owner would have sent");
    }
}

#[test]
fn an_owner_that_comes_later_says_the_same() {
    let bytes = session();
    check_restarts(&Session::New, &bytes, 0..=bytes.len());
    let whole = sends(opening(Session::New), &bytes);
    let expected = ["initialize", "session", "refuse.1", "prompt", "refuse.2"].map(|name| format!("acp.1.{name}"));
    assert_eq!(ids(&whole), expected);
    let parts = [
        initialized(json!({ "loadSession": true })),
        answered("session load=old", json!({})),
        told("tool_call"),
        refused("past.1"),
        refused("past.2"),
        refused("now"),
        answered("prompt.1", json!({ "stopReason": "end_turn" })),
    ];
    let bytes = parts.concat().into_bytes();
    check_restarts(&Session::Load("old".to_owned()), &bytes, 0..=bytes.len());
}

/// Sessions of real agents, where they are available. Their client used numbers as ids.
fn recorded() -> Vec<PathBuf> {
    // Beside the repository, and not everywhere.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let folders = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let agents = folders.filter(|path| path.to_string_lossy().ends_with("-acp"));
    let files = agents.flat_map(|path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()));
    files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect()
}

#[test]
fn recorded_sessions_are_opened_and_prompted_once() {
    for path in recorded() {
        let text = fs::read_to_string(&path).expect("readable");
        let (mut bytes, mut names) = (String::new(), BTreeMap::new());
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).expect("a recording");
            let mut message = line["msg"].clone();
            match line["dir"].as_str() {
                Some("->") => {
                    let name = match message["method"].as_str() {
                        Some("initialize") => "initialize",
                        Some("session/new" | "session/load" | "session/resume") => "session",
                        _ => "prompt.1",
                    };
                    names.insert(message["id"].to_string(), name);
                }
                Some("<-") => {
                    if message.get("method").is_none() {
                        message["id"] = json!(names[&message["id"].to_string()]);
                    }
                    bytes.push_str(&format!("{message}\n"));
                }
                _ => {}
            }
        }
        let whole = sends(opening(Session::New), bytes.as_bytes());
        let opened = ids(&whole).into_iter().filter(|id| !id.contains("refuse")).collect::<Vec<_>>();
        assert_eq!(opened[..2], ["acp.1.initialize", "acp.1.session"], "{}", path.display());
        let ends = bytes.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        check_restarts(&Session::New, bytes.as_bytes(), ends.collect::<Vec<_>>().into_iter().step_by(7));
    }
}

const CHOICES: [Choice<'static>; 4] = [
    Choice { id: "always", name: "Yes, and do not ask again", kind: OptionKind::AllowAlways },
    Choice { id: "once", name: "Yes", kind: OptionKind::AllowOnce },
    Choice { id: "reject", name: "Keep it", kind: OptionKind::RejectOnce },
    Choice { id: "other", name: "Show me", kind: OptionKind::Other },
];

fn outcome(choices: &[Choice<'_>], text: &str) -> Value {
    let line = answer("7", &ExpectedAnswer::Permission(choices.to_vec()), text);
    let value: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&value["jsonrpc"], &value["id"]), (&json!("2.0"), &json!(7)));
    value["result"]["outcome"].clone()
}

fn picked(id: &str) -> Value {
    json!({ "outcome": "selected", "optionId": id })
}

#[test]
fn words_pick_an_option() {
    let cases = [
        ("once", "once"),
        ("always", "always"),
        ("yes, and do not ask again", "always"),
        (" other\n", "other"),
        ("Show me", "other"),
        ("allow", "once"),
        ("OK", "once"),
        ("deny", "reject"),
        ("", "reject"),
        ("Nobody answered in time.", "reject"),
    ];
    for (text, expected) in cases {
        assert_eq!(outcome(&CHOICES, text), picked(expected), "{text:?}");
    }
    let always = [CHOICES[0], Choice { id: "never", name: "Never", kind: OptionKind::RejectAlways }];
    assert_eq!((outcome(&always, "yes"), outcome(&always, "no")), (picked("always"), picked("never")));
    // No option that was offered matches the text.
    let cancelled = json!({ "outcome": "cancelled" });
    assert_eq!((outcome(&CHOICES[..2], "no"), outcome(&[], "yes")), (cancelled.clone(), cancelled.clone()));
    let line = canceled("\"a\"", &ExpectedAnswer::Permission(CHOICES.to_vec()));
    let value: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&value["id"], &value["result"]["outcome"]), (&json!("a"), &cancelled));
}

/// An agent that calls its yes "deny" would otherwise be allowed what was denied.
#[test]
fn a_plain_yes_or_no_goes_by_what_an_option_does() {
    let lying = [
        Choice { id: "deny", name: "No", kind: OptionKind::AllowOnce },
        Choice { id: "allow", name: "Yes", kind: OptionKind::RejectOnce },
    ];
    for text in ["deny", "no", "No", "n"] {
        assert_eq!(outcome(&lying, text), picked("allow"), "{text:?}");
    }
    for text in ["allow", "yes", "ok"] {
        assert_eq!(outcome(&lying, text), picked("deny"), "{text:?}");
    }
}

#[test]
fn a_form_is_filled_or_declined() {
    let filled = |schema: &Value, text: &str| {
        let line = answer("\"form\"", &ExpectedAnswer::Form(Some(schema)), text);
        let value: Value = serde_json::from_str(&line).expect("JSON");
        value["result"].clone()
    };
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let colour = json!({ "type": "object", "properties": {
        "count": { "type": "integer" },
        "colour": { "type": "string", "oneOf": [{ "const": "r", "title": "Red" }, { "const": "b", "title": "Blue" }] },
    } });
    assert_eq!(filled(&colour, "blue"), accept(json!({ "colour": "b" })));
    assert_eq!(filled(&colour, "r"), accept(json!({ "colour": "r" })));
    assert_eq!(filled(&colour, "green"), accept(json!({ "colour": "green" })));
    let both = r#"{"colour": "r", "count": 2}"#;
    assert_eq!(filled(&colour, both), accept(json!({ "colour": "r", "count": 2 })));
    let decline = json!({ "action": "decline" });
    for text in ["", "no", "decline"] {
        assert_eq!(filled(&colour, text), decline, "{text:?}");
    }
    let of = |field: Value| json!({ "type": "object", "properties": { "f": field } });
    assert_eq!(filled(&of(json!({ "type": "integer" })), "7"), accept(json!({ "f": 7 })));
    assert_eq!(filled(&of(json!({ "type": "integer" })), "seven"), decline);
    assert_eq!(filled(&of(json!({ "type": "number" })), "0.5"), accept(json!({ "f": 0.5 })));
    assert_eq!(filled(&of(json!({ "type": "boolean" })), "yes"), accept(json!({ "f": true })));
    let several = json!({ "type": "array", "items": { "type": "string", "enum": ["red", "blue"] } });
    assert_eq!(filled(&of(several), "Blue"), accept(json!({ "f": ["blue"] })));
    assert_eq!(filled(&json!({ "type": "object", "properties": {} }), "ok"), accept(json!({})));
    assert_eq!(filled(&Value::Null, "blue"), decline);
    let line = canceled("1", &ExpectedAnswer::Form(None));
    assert!(line.contains(r#""action":"cancel""#), "{line}");
}

#[test]
fn an_opening_is_the_same_after_it_was_written() {
    for session in [Session::New, Session::Load("s1".to_owned())] {
        let opening = opening(session);
        assert_eq!(Opening::from_json(opening.to_json().as_bytes()).expect("readable"), opening);
    }
    assert_eq!(Opening::file_name(AttemptNumber(2)), "opening.2.json");
}
