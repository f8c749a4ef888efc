//! The formats, and one message in each of them.

use serde_json::{Value, json};

/// A format, by the name it has on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    CodexNdjson,
    GeminiStreamJson,
    GeminiJson,
    OpencodeNdjson,
    ClaudeStreamJson,
    QwenStreamJson,
    IflowText,
    PlainText,
    AcpJsonrpc,
}

impl Profile {
    pub const ALL: [Self; 9] = [
        Self::CodexNdjson,
        Self::GeminiStreamJson,
        Self::GeminiJson,
        Self::OpencodeNdjson,
        Self::ClaudeStreamJson,
        Self::QwenStreamJson,
        Self::IflowText,
        Self::PlainText,
        Self::AcpJsonrpc,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::CodexNdjson => "codex_ndjson",
            Self::GeminiStreamJson => "gemini_stream_json",
            Self::GeminiJson => "gemini_json",
            Self::OpencodeNdjson => "opencode_ndjson",
            Self::ClaudeStreamJson => "claude_stream_json",
            Self::QwenStreamJson => "qwen_stream_json",
            Self::IflowText => "iflow_text",
            Self::PlainText => "plain_text",
            Self::AcpJsonrpc => "acp_jsonrpc",
        }
    }

    pub fn is_json(self) -> bool {
        match self {
            Self::IflowText | Self::PlainText => false,
            Self::CodexNdjson
            | Self::GeminiStreamJson
            | Self::GeminiJson
            | Self::OpencodeNdjson
            | Self::ClaudeStreamJson
            | Self::QwenStreamJson
            | Self::AcpJsonrpc => true,
        }
    }

    /// A whole run that says this text and nothing else, and ends well.
    pub fn message(self, text: &str) -> String {
        match self {
            Self::CodexNdjson => lines(&[
                json!({"type": "thread.started", "thread_id": "t"}),
                json!({"type": "turn.started"}),
                json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": text}}),
                json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
            ]),
            Self::GeminiStreamJson => lines(&[
                json!({"type": "init", "session_id": "s", "model": "m"}),
                json!({"type": "message", "role": "assistant", "content": text, "delta": true}),
                json!({"type": "result", "status": "success", "stats": {"input_tokens": 1}}),
            ]),
            Self::GeminiJson => lines(&[json!({"session_id": "s", "response": text, "stats": {"models": {}}})]),
            Self::OpencodeNdjson => lines(&[
                json!({"type": "step_start", "sessionID": "s", "part": {"type": "step-start"}}),
                json!({"type": "text", "sessionID": "s", "part": {"messageID": "m", "type": "text", "text": text}}),
                json!({"type": "step_finish", "sessionID": "s", "part": {"reason": "stop", "type": "step-finish"}}),
            ]),
            Self::ClaudeStreamJson | Self::QwenStreamJson => {
                let content = json!([{"type": "text", "text": text}]);
                let message = json!({"id": "m", "role": "assistant", "model": "m", "content": content});
                lines(&[
                    json!({"type": "system", "subtype": "init", "session_id": "s"}),
                    json!({"type": "assistant", "message": message, "parent_tool_use_id": null, "session_id": "s"}),
                    json!({"type": "result", "subtype": "success", "is_error": false, "session_id": "s", "result": ""}),
                ])
            }
            Self::IflowText | Self::PlainText => format!("{text}\n"),
            Self::AcpJsonrpc => {
                let update = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
                let params = json!({"sessionId": "s", "update": update});
                lines(&[
                    json!({"jsonrpc": "2.0", "id": "initialize", "result": {"protocolVersion": 1}}),
                    json!({"jsonrpc": "2.0", "id": "session", "result": {"sessionId": "s"}}),
                    json!({"jsonrpc": "2.0", "method": "session/update", "params": params}),
                    json!({"jsonrpc": "2.0", "id": "prompt.1", "result": {"stopReason": "end_turn"}}),
                ])
            }
        }
    }
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}
