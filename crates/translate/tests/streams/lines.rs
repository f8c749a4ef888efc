//! Generated output: what an engine could write, what it could write in part, and what it would never write.

use std::fmt;
use std::ops::Deref;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use skillrun_model::ProfileId;

/// Bytes of a stream, readable where a test fails.
#[derive(Clone)]
pub(crate) struct Output(Vec<u8>);

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

impl Deref for Output {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Events of a format; `@` stands for some text. One of several lines is a document.
fn events(profile: ProfileId) -> &'static [&'static str] {
    match profile {
        ProfileId::CodexNdjson => &[
            r#"{"type":"thread.started","thread_id":"t1"}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"@"}}"#,
            r#"{"type":"item.completed","item":{"id":"i1","type":"command_execution","aggregated_output":"@","status":"completed"}}"#,
            r#"{"type":"item.completed","item":{"id":"i2","type":"reasoning","text":"@"}}"#,
            r#"{"type":"item.completed","item":{"id":"i3","type":"agent_message","text":"@"}}"#,
            r#"{"type":"item.completed","item":{"id":"i4","type":"agent_message","text":"first\n@"}}"#,
            r#"{"type":"error","message":"@"}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":2}}"#,
            r#"{"type":"turn.failed","error":{"message":"@"}}"#,
            r#"{"type":"item.completed","item":{"id":"i9","type":"collab_tool_call","tool":"wait","prompt":"@","receiver_thread_ids":["t2"],"agents_states":{"t1":{"status":"completed","message":"@"}}}}"#,
        ],
        ProfileId::GeminiStreamJson => &[
            r#"{"type":"init","session_id":"s1","model":"m"}"#,
            r#"{"type":"message","role":"user","content":"@"}"#,
            r#"{"type":"message","role":"assistant","content":"@","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"[API ","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"@"}"#,
            r#"{"type":"tool_use","tool_name":"run","tool_id":"c1","parameters":{"a":"@"}}"#,
            r#"{"type":"tool_result","tool_id":"c1","status":"success","output":"@"}"#,
            r#"{"type":"error","severity":"warning","message":"@"}"#,
            r#"{"type":"result","status":"success","stats":{"input_tokens":1}}"#,
            r#"{"type":"result","status":"error","error":{"message":"@"}}"#,
            "Error when talking to Gemini API Full report available at: /tmp/x.json TypeError: @\n    at run (file:///a.js:1:2) {\n  status: 429\n}",
            "{\n  \"session_id\": \"s2\",\n  \"response\": \"@\"\n}",
        ],
        ProfileId::GeminiJson => &[
            "{\n  \"session_id\": \"s1\",\n  \"response\": \"@\",\n  \"stats\": {}\n}",
            "{\n\n  \"session_id\": \"s1\",\n  \"error\": {\"message\": \"@\"}\n}",
            r#"{"session_id":"s1","response":"@"}"#,
            "{\n  \"other\": \"@\"\n}",
            "{\n  \"session_id\": \"s1\",",
            "Attempt 1 failed with status 429. Retrying with backoff... @\n    at run (file:///a.js:1:2)",
            "TypeError: @\n    at run (file:///a.js:1:2)",
        ],
        ProfileId::OpencodeNdjson => &[
            r#"{"type":"step_start","sessionID":"s1","part":{"id":"p1"}}"#,
            r#"{"type":"text","sessionID":"s1","part":{"id":"p2","messageID":"m1","text":"@"}}"#,
            r#"{"type":"reasoning","part":{"text":"@"}}"#,
            r#"{"type":"tool_use","part":{"callID":"c1","tool":"bash","state":{"status":"pending","input":{"a":"@"}}}}"#,
            r#"{"type":"tool_use","part":{"callID":"c1","tool":"bash","state":{"status":"completed","output":"@"}}}"#,
            r#"{"type":"step_finish","part":{"reason":"stop","tokens":{"input":1,"output":2}}}"#,
            r#"{"type":"step_finish","part":{"reason":"tool-calls"}}"#,
            r#"{"type":"tool_use","sessionID":"s1","part":{"callID":"c2","tool":"task","state":{"status":"running","input":{"prompt":"@"},"metadata":{"sessionId":"s2"}}}}"#,
            r#"{"type":"text","sessionID":"s2","part":{"messageID":"m9","text":"@"}}"#,
            r#"{"type":"error","error":{"name":"APIError","data":{"message":"@","statusCode":429}}}"#,
        ],
        ProfileId::ClaudeStreamJson | ProfileId::QwenStreamJson => &[
            r#"{"type":"system","subtype":"init","session_id":"s1"}"#,
            r#"{"type":"system","subtype":"retry","data":{"preserveText":false,"reason":"@"}}"#,
            r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":3,"error":"@"}"#,
            r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"@"}}}"#,
            r#"{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"text","text":"@"}]}}"#,
            r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"a":"@"}}]}}"#,
            r#"{"type":"assistant","message":{"id":"m3","content":[{"type":"thinking","thinking":"@"},{"type":"odd"}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"@"}]}}"#,
            r#"{"type":"user","isSynthetic":true,"message":{"content":"@"}}"#,
            r#"{"type":"user","refused_message_id":"m1","message":{"content":[]}}"#,
            r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"@","input":{"a":"@"}}}"#,
            r#"{"type":"control_request","request_id":"r2","request":{"subtype":"@"}}"#,
            r#"{"type":"control_cancel_request","request_id":"r1"}"#,
            r#"{"type":"assistant","message":{"id":"m5","content":[{"type":"tool_use","id":"c3","name":"Task","input":{"prompt":"@"}}]}}"#,
            r#"{"type":"system","subtype":"task_notification","task_id":"a1","tool_use_id":"c3","status":"completed","summary":"@"}"#,
            r#"{"type":"assistant","parent_tool_use_id":"c1","message":{"id":"m4","content":[{"type":"text","text":"@"}]}}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"@"}"#,
            r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#,
            r#"[{"type":"system","subtype":"init"},{"type":"result","is_error":false,"result":"@"}]"#,
            "{\n  \"type\": \"result\",\n  \"is_error\": false,\n  \"result\": \"@\"\n}",
            "[\n  {\"type\": \"system\", \"subtype\": \"init\"},\n  7,\n  {\"type\": \"odd\"}\n]",
        ],
        ProfileId::AcpJsonrpc => &[
            r#"{"jsonrpc":"2.0","id":"initialize","result":{"protocolVersion":1,"agentInfo":{"name":"@","version":"1.0.0"}}}"#,
            r#"{"jsonrpc":"2.0","id":"session","result":{"sessionId":"s1"}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","messageId":"m1","content":{"type":"text","text":"@"}}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"@"}}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"@"}}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"@","kind":"execute","rawInput":{"a":"@"}}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","rawOutput":{"o":"@"}}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"odd"}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s2","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"@"}}}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c1","title":"@"},"options":[{"optionId":"o1","name":"@","kind":"allow_once"}]}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"active"}}}}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"systemError"}}}}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"session_info_update","_meta":{"codex":{"error":{"message":"@","willRetry":true}}}}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"c2","title":"@","status":"pending"}}}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Warning: @"}}}}"#,
            r#"{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"@","requestedSchema":{"a":"@"}}}"#,
            r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#,
            r#"{"jsonrpc":"2.0","id":"prompt.1","result":{"stopReason":"end_turn"}}"#,
            r#"{"jsonrpc":"2.0","id":"prompt.1","error":{"code":-32603,"message":"@"}}"#,
        ],
        ProfileId::IflowText | ProfileId::PlainText => &[
            "@",
            "Hello @",
            "```json\n{\"a\": \"@\"}\n```",
            "~~~\n<Execution Info>\n{}\n</Execution Info>\n~~~",
            "<Execution Info>\n{\n  \"session-id\": \"session-1\",\n  \"tokenUsage\": {\"input\": 3}\n}\n</Execution Info>",
            "<Execution Info>{\"session-id\": \"session-2\"}</Execution Info> and @",
            "<Execution Info>\n{\n  \"session-id\": \"sess",
            "Error: @",
            "Error when talking to iFlow API: @\n    at run (file:///a.js:1:2)",
            "To resume this session: iflow --resume session-3",
        ],
    }
}

/// What appears between events, and in their place. It contains no line end.
fn noise() -> Vec<&'static [u8]> {
    let text = ["", "   ", "\t\r", "warning: something", "    at somewhere", "10%\r20%\r30%", "Session not found"];
    let json = ["{", "}", "[", "]", "{}", "[]", "null", r#"{"a":1}"#, r#"{"type":7}"#, r#"{"type":"\ud800"}"#];
    let marks = [r#"{"type":"never.heard.of","x":"__SKILL_DONE__"}"#, r#"{"__SKILL_DONE__": true}"#];
    let places = ["```", "```json", "<Execution Info>", "</Execution Info>"];
    let escapes = ["\x1b[31mred\x1b[0m", "\x1b]0;title\x07{\"type\":\"turn.started\"}", "\x1b[", "\u{9b}31m"];
    let texts =
        [&text[..], &json, &marks, &places, &escapes, &["\u{feff}", "\u{feff}{", "a\0b", "a\u{2028}b"]].concat();
    let invalid = [&b"\xff\xfe\x00"[..], b"\xc3"];
    texts.into_iter().map(str::as_bytes).chain(invalid).collect()
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z ]{0,12}",
        1 => select(&["é漢🙂", "\\n", "\\u001b[1mx", "\\ud83d", "a\\\"b", "{\\\"__SKILL_DONE__\\\": true}"][..])
            .prop_map(str::to_owned),
        1 => "\\PC{0,6}".prop_map(|text: String| text.replace(['"', '\\'], "'")),
    ]
}

/// The content of one place in a stream, without the line end behind it.
fn piece(profile: ProfileId) -> impl Strategy<Value = Vec<u8>> {
    let event = (select(events(profile)), text()).prop_map(|(event, text)| event.replace('@', &text).into_bytes());
    let cut = (select(events(profile)), any::<Index>()).prop_map(|(event, at)| {
        let event = event.as_bytes();
        event[..at.index(event.len())].to_vec()
    });
    prop_oneof![
        8 => event,
        2 => cut,
        4 => select(noise()).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..20),
    ]
}

/// A stream of a profile, in mostly good order. Its last line may lack an end.
pub(crate) fn stream(profile: ProfileId, pieces: usize) -> impl Strategy<Value = Output> {
    let end = prop_oneof![6 => Just(&b"\n"[..]), 2 => Just(&b"\r\n"[..]), 1 => Just(&b"\n\n"[..])];
    (vec((piece(profile), end), 0..pieces), any::<bool>()).prop_map(|(pieces, is_cut)| {
        let mut stream: Vec<u8> = pieces.into_iter().flat_map(|(piece, end)| [piece, end.to_vec()].concat()).collect();
        if is_cut {
            stream.pop();
        }
        Output(stream)
    })
}

/// A stream with some of its bytes changed, removed or repeated.
pub(crate) fn damaged(profile: ProfileId, pieces: usize) -> impl Strategy<Value = Output> {
    let damage = (any::<Index>(), any::<u8>(), 0..4u8);
    (stream(profile, pieces), vec(damage, 0..4)).prop_map(|(Output(mut stream), damages)| {
        for (at, byte, how) in damages {
            let at = at.index(stream.len() + 1);
            match how {
                0 => stream.insert(at, byte),
                1 => stream.insert(at, b'\n'),
                2 if at < stream.len() => stream[at] = byte,
                _ => drop(stream.drain(at..(at + 3).min(stream.len()))),
            }
        }
        Output(stream)
    })
}

pub(crate) fn random() -> impl Strategy<Value = Output> {
    vec(any::<u8>(), 0..400).prop_map(Output)
}

/// The lines of a stream, with their ends.
pub(crate) fn split(stream: &[u8]) -> Vec<&[u8]> {
    stream.split_inclusive(|byte| *byte == b'\n').collect()
}

pub(crate) fn profile() -> impl Strategy<Value = ProfileId> {
    select(ProfileId::ALL)
}
