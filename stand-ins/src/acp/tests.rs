use std::ffi::OsString;

use serde_json::{Value, json};

use super::store::{Session, Store, Turn};
use super::wire::{Call, Message, read};
use super::words::{Scenario, parse};

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[test]
fn scenarios_are_known_by_their_names_and_stand_in_the_table() {
    let table = include_str!("mod.rs");
    for scenario in Scenario::ALL {
        let parsed = parse(&words(&["--scenario", scenario.as_str(), "--state", "s"])).expect("known");
        assert_eq!((parsed.scenario, parsed.state.to_str()), (*scenario, Some("s")));
        assert!(table.contains(&format!("`{}`", scenario.as_str())), "{}", scenario.as_str());
    }
    let unknown = parse(&words(&["--scenario", "hum"])).expect_err("unknown");
    assert!(unknown.to_string().contains("hum is not one of: auto, "), "{unknown}");
    for bad in [&[][..], &["--scenario"], &["--loud"]] {
        parse(&words(bad)).expect_err("words that make no sense");
    }
}

#[test]
fn only_what_the_protocol_allows_is_taken() {
    let prompt =
        json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] });
    let whole = json!({ "jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": prompt });
    let call = Call::Prompt { session: "s".to_owned(), text: "a\nb".to_owned() };
    assert_eq!(read(&whole.to_string()), Ok(Message::Request { id: Value::from("p"), call }));
    let changed = |pointer: &str, value: Value| {
        let mut message = whole.clone();
        *message.pointer_mut(pointer).expect("a place") = value;
        read(&message.to_string()).expect_err("refused").code
    };
    assert_eq!(changed("/jsonrpc", json!("1.0")), -32600);
    assert_eq!(changed("/id", json!(1.5)), -32600);
    assert_eq!(changed("/method", json!("session/hum")), -32601);
    assert_eq!(changed("/params", json!([])), -32602);
    assert_eq!(changed("/params/prompt", json!("text")), -32602);
    assert_eq!(changed("/params/prompt/0/type", json!("image")), -32602);
    for bad in ["", "{", "[]", "{\"jsonrpc\":\"2.0\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}"] {
        read(bad).expect_err(bad);
    }
    let extension = json!({ "jsonrpc": "2.0", "id": "now", "method": "_made/up", "params": {} });
    let extension = read(&extension.to_string());
    assert_eq!(extension, Ok(Message::Request { id: Value::from("now"), call: Call::Extension }));
    let relative =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "session/new", "params": { "cwd": "a", "mcpServers": [] } });
    assert!(read(&relative.to_string()).expect_err("refused").words.contains("absolute"));
    let files = json!({ "protocolVersion": 1, "clientCapabilities": { "fs": { "readTextFile": true } } });
    let files = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": files });
    read(&files.to_string()).expect_err("we offer none");
}

#[test]
fn sessions_are_kept_for_the_next_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::new(&folder.path().join("new"));
    let mut session = Session { cwd: "/w".to_owned(), turns: Vec::new() };
    let name = store.make(&session).expect("made");
    assert_ne!(store.make(&session).expect("made"), name);
    session.turns.push(Turn { user: "u".to_owned(), agent: "a".to_owned() });
    store.save(&name, &session).expect("saved");
    assert_eq!(store.load(&name).expect("readable"), Some(session));
    for unknown in ["session-99", "../new/session-1", ""] {
        assert_eq!(store.load(unknown).expect("readable"), None, "{unknown}");
    }
}
