//! Small cases of each rule; what agents really wrote is in `recorded`.

mod bounds;
mod calls;
mod messages;
mod ours;
mod questions;
mod recorded;
mod said;
mod turns;

use skillrun_model::{ProfileId, Stream};

use crate::profiles::story::{self, Story};

fn stdout(text: &str) -> Story {
    story::read(ProfileId::AcpJsonrpc, &[(Stream::Stdout, text)])
}

fn joined(lines: &[&str]) -> String {
    lines.join("\n") + "\n"
}

/// Without records that only report progress, and without the name of the session.
fn facts(lines: &[&str]) -> Vec<String> {
    let mut facts = stdout(&joined(lines)).facts();
    facts.retain(|fact| fact != "session s1");
    facts
}

fn update(update: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s1","update":{{"sessionUpdate":{update}}}}}}}"#
    )
}

fn named(id: &str, text: &str) -> String {
    update(&format!(r#""agent_message_chunk","messageId":"{id}","content":{{"type":"text","text":"{text}"}}"#))
}

fn unnamed(text: &str) -> String {
    update(&format!(r#""agent_message_chunk","content":{{"type":"text","text":"{text}"}}"#))
}

fn codex(meta: &str) -> String {
    update(&format!(r#""session_info_update","_meta":{{"codex":{meta}}}"#))
}

fn stopped(reason: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"prompt.1","result":{{"stopReason":"{reason}"}}}}"#)
}

fn refused(id: &str, error: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

const INITIALIZED: &str =
    r#"{"jsonrpc":"2.0","id":"initialize","result":{"protocolVersion":1,"agentInfo":{"name":"a","version":"1.2"}}}"#;
const OPENED: &str = r#"{"jsonrpc":"2.0","id":"session","result":{"sessionId":"s1"}}"#;
