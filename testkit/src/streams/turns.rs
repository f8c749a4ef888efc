//! Ordinary work, as real engines write it.

use std::io::{self, Write};

use super::Profile;
use super::filler::Filler;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    pub bytes: u64,
    pub lines: u64,
}

/// Calls of a tool per turn.
const CALLS: u64 = 24;

/// Writes turns of a session until there are at least this many bytes. Ends with the end of a turn.
pub fn write_turns(profile: Profile, bytes: u64, out: &mut dyn Write) -> io::Result<Written> {
    let mut turns = Turns { texts: Filler::new(615), thoughts: Filler::new(200), item: 0, turn: 0, buffer: Vec::new() };
    let mut written = Written::default();
    while written.bytes < bytes {
        turns.buffer.clear();
        turns.write(profile)?;
        out.write_all(&turns.buffer)?;
        written.bytes += turns.buffer.len() as u64;
        written.lines += turns.buffer.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    Ok(written)
}

struct Turns {
    texts: Filler,
    thoughts: Filler,
    /// Number of the next item of the session.
    item: u64,
    turn: u64,
    buffer: Vec<u8>,
}

const SESSION: &str = "67690277-2499-4b58-acb5-4e4b388a93ff";

impl Turns {
    fn write(&mut self, profile: Profile) -> io::Result<()> {
        let is_first = self.turn == 0;
        self.turn += 1;
        match profile {
            Profile::CodexNdjson => self.codex(is_first),
            Profile::GeminiStreamJson => self.gemini_stream(),
            Profile::GeminiJson => self.gemini_document(),
            Profile::OpencodeNdjson => self.opencode(),
            Profile::ClaudeStreamJson => self.claude(is_first),
            Profile::QwenStreamJson => self.qwen(is_first),
            Profile::IflowText => self.iflow(),
            Profile::PlainText => self.prose(),
            Profile::AcpJsonrpc => self.acp(is_first),
        }
    }

    fn next_item(&mut self) -> u64 {
        self.item += 1;
        self.item
    }

    fn codex(&mut self, is_first: bool) -> io::Result<()> {
        if is_first {
            writeln!(self.buffer, r#"{{"type":"thread.started","thread_id":"{SESSION}"}}"#)?;
        }
        writeln!(self.buffer, r#"{{"type":"turn.started"}}"#)?;
        for call in 0..CALLS {
            let id = self.next_item();
            let command = format!("/bin/bash -lc 'cargo test -p part-{call} 2>&1 | tail -{id}'");
            writeln!(
                self.buffer,
                r#"{{"type":"item.started","item":{{"id":"item_{id}","type":"command_execution","command":"{command}","aggregated_output":"","exit_code":null,"status":"in_progress"}}}}"#
            )?;
            let output = self.texts.next();
            writeln!(
                self.buffer,
                r#"{{"type":"item.completed","item":{{"id":"item_{id}","type":"command_execution","command":"{command}","aggregated_output":{output},"exit_code":0,"status":"completed"}}}}"#
            )?;
            if call % 3 == 0 {
                let (id, text) = (self.next_item(), self.thoughts.next());
                writeln!(
                    self.buffer,
                    r#"{{"type":"item.completed","item":{{"id":"item_{id}","type":"reasoning","text":{text}}}}}"#
                )?;
            }
            if call % 6 == 5 {
                let (id, text) = (self.next_item(), self.texts.next());
                writeln!(
                    self.buffer,
                    r#"{{"type":"item.completed","item":{{"id":"item_{id}","type":"agent_message","text":{text}}}}}"#
                )?;
            }
        }
        writeln!(
            self.buffer,
            r#"{{"type":"turn.completed","usage":{{"input_tokens":2000,"cached_input_tokens":1500,"output_tokens":400,"reasoning_output_tokens":40}}}}"#
        )
    }

    fn acp(&mut self, is_first: bool) -> io::Result<()> {
        if is_first {
            write!(
                self.buffer,
                r#"{{"jsonrpc":"2.0","id":"initialize","result":{{"protocolVersion":1,"agentCapabilities":{{"loadSession":true}}}}}}
{{"jsonrpc":"2.0","id":"session","result":{{"sessionId":"{SESSION}"}}}}
"#
            )?;
        }
        let head =
            format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{SESSION}","update":"#);
        for call in 0..CALLS {
            let (id, output) = (self.next_item(), self.texts.next());
            write!(
                self.buffer,
                r#"{head}{{"sessionUpdate":"tool_call","toolCallId":"call_{id}","title":"cargo test -p part-{call}","kind":"execute","status":"in_progress","rawInput":{{"command":"cargo test -p part-{call}"}}}}}}}}
{head}{{"sessionUpdate":"tool_call_update","toolCallId":"call_{id}","status":"completed","content":[{{"type":"content","content":{{"type":"text","text":{output}}}}}]}}}}}}
"#
            )?;
            if call % 4 == 0 {
                for _ in 0..6 {
                    let text = self.thoughts.next();
                    writeln!(
                        self.buffer,
                        r#"{head}{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{text}}}}}}}}}"#
                    )?;
                }
            }
        }
        let turn = self.turn;
        writeln!(
            self.buffer,
            r#"{{"jsonrpc":"2.0","id":"prompt.{turn}","result":{{"stopReason":"end_turn","usage":{{"inputTokens":100,"outputTokens":20,"totalTokens":120}}}}}}"#
        )
    }

    fn gemini_stream(&mut self) -> io::Result<()> {
        const TIME: &str = "2026-11-15T00:59:08.093Z";
        writeln!(
            self.buffer,
            r#"{{"type":"init","timestamp":"{TIME}","session_id":"{SESSION}","model":"gemini-2.5-flash"}}"#
        )?;
        for call in 0..CALLS {
            let id = self.next_item();
            let output = self.texts.next();
            write!(
                self.buffer,
                r#"{{"type":"tool_use","timestamp":"{TIME}","tool_name":"run_shell_command","tool_id":"run_shell_command_{id}","parameters":{{"command":"cargo test -p part-{call}"}}}}
{{"type":"tool_result","timestamp":"{TIME}","tool_id":"run_shell_command_{id}","status":"success","output":{output}}}
"#
            )?;
            if call % 4 == 0 {
                for _ in 0..6 {
                    let text = self.thoughts.next();
                    writeln!(
                        self.buffer,
                        r#"{{"type":"message","timestamp":"{TIME}","role":"assistant","content":{text},"delta":true}}"#
                    )?;
                }
            }
        }
        writeln!(
            self.buffer,
            r#"{{"type":"result","timestamp":"{TIME}","status":"success","stats":{{"total_tokens":240,"input_tokens":200,"output_tokens":40,"cached":0,"duration_ms":491,"tool_calls":{CALLS}}}}}"#
        )
    }

    fn gemini_document(&mut self) -> io::Result<()> {
        let response = self.texts.next();
        writeln!(
            self.buffer,
            r#"{{
  "session_id": "{SESSION}",
  "response": {response},
  "stats": {{
    "models": {{
      "gemini": {{
        "tokens": {{
          "input": 200,
          "prompt": 200,
          "candidates": 40,
          "cached": 0,
          "thoughts": 0
        }}
      }}
    }}
  }}
}}"#
        )
    }

    fn opencode(&mut self) -> io::Result<()> {
        for call in 0..CALLS {
            let (step, id) = (self.next_item(), self.next_item());
            let message = format!("msg_{step}");
            writeln!(
                self.buffer,
                r#"{{"type":"step_start","timestamp":1794704305619,"sessionID":"{SESSION}","part":{{"id":"prt_{step}","messageID":"{message}","sessionID":"{SESSION}","type":"step-start"}}}}"#
            )?;
            let is_last = call + 1 == CALLS;
            if is_last || call % 6 == 5 {
                let text = self.texts.next();
                writeln!(
                    self.buffer,
                    r#"{{"type":"text","timestamp":1794704307884,"sessionID":"{SESSION}","part":{{"id":"prt_{id}","messageID":"{message}","sessionID":"{SESSION}","type":"text","text":{text},"time":{{"start":1794704307760,"end":1794704307841}}}}}}"#
                )?;
            }
            if !is_last {
                let output = self.thoughts.next();
                writeln!(
                    self.buffer,
                    r#"{{"type":"tool_use","timestamp":1794704307689,"sessionID":"{SESSION}","part":{{"type":"tool","tool":"bash","callID":"call_{id}","state":{{"status":"completed","input":{{"command":"cargo test -p part-{call}"}},"output":{output},"metadata":{{"output":{output},"exit":0,"truncated":false}},"title":"cargo test","time":{{"start":1794704305595,"end":1794704307601}}}},"id":"prt_{id}","sessionID":"{SESSION}","messageID":"{message}"}}}}"#
                )?;
            }
            let reason = if is_last { "stop" } else { "tool-calls" };
            writeln!(
                self.buffer,
                r#"{{"type":"step_finish","timestamp":1794704307689,"sessionID":"{SESSION}","part":{{"id":"prt_f{step}","reason":"{reason}","messageID":"{message}","sessionID":"{SESSION}","type":"step-finish","tokens":{{"total":120,"input":100,"output":20,"reasoning":0,"cache":{{"write":0,"read":0}}}},"cost":0}}}}"#
            )?;
        }
        Ok(())
    }

    fn claude(&mut self, is_first: bool) -> io::Result<()> {
        let tail = format!(r#""parent_tool_use_id":null,"session_id":"{SESSION}","uuid":"d5b4be4d-9c43-4c5f-9e7a"}}"#);
        if is_first {
            writeln!(
                self.buffer,
                r#"{{"type":"system","subtype":"init","cwd":"/srv/work","session_id":"{SESSION}","tools":["Task","Bash","Edit","Read","Write"],"model":"claude-sonnet-4-5"}}"#
            )?;
        }
        for call in 0..CALLS {
            let id = self.next_item();
            let head = format!(
                r#"{{"type":"assistant","message":{{"id":"msg_{id}","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":["#
            );
            const USAGE: &str =
                r#"],"stop_reason":null,"usage":{"input_tokens":100,"cache_read_input_tokens":0,"output_tokens":20}},"#;
            if call % 3 == 0 {
                let text = self.thoughts.next();
                writeln!(
                    self.buffer,
                    r#"{head}{{"type":"thinking","thinking":{text},"signature":"ZmFrZQ=="}}{USAGE}{tail}"#
                )?;
            }
            if call % 6 == 5 {
                let text = self.texts.next();
                writeln!(self.buffer, r#"{head}{{"type":"text","text":{text}}}{USAGE}{tail}"#)?;
            }
            writeln!(
                self.buffer,
                r#"{head}{{"type":"tool_use","id":"toolu_{id}","name":"Bash","input":{{"command":"cargo test -p part-{call}"}}}}{USAGE}{tail}"#
            )?;
            let output = self.texts.next();
            writeln!(
                self.buffer,
                r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{id}","type":"tool_result","content":{output},"is_error":false}}]}},{tail}"#
            )?;
        }
        self.message_result()
    }

    fn qwen(&mut self, is_first: bool) -> io::Result<()> {
        if is_first {
            writeln!(
                self.buffer,
                r#"{{"type":"system","subtype":"init","uuid":"{SESSION}","session_id":"{SESSION}","cwd":"/srv/work","tools":["run_shell_command"],"model":"m"}}"#
            )?;
        }
        for call in 0..CALLS {
            let id = self.next_item();
            let head =
                format!(r#""uuid":"e45d9004-{id}","session_id":"{SESSION}","parent_tool_use_id":null,"message":{{"#);
            let said = format!(
                r#"{{"type":"assistant",{head}"id":"e45d9004-{id}","type":"message","role":"assistant","model":"m","content":["#
            );
            const USAGE: &str =
                r#"],"stop_reason":null,"usage":{"input_tokens":100,"output_tokens":20,"total_tokens":120}}}"#;
            if call % 6 == 5 {
                let text = self.texts.next();
                writeln!(self.buffer, r#"{said}{{"type":"text","text":{text}}}{USAGE}"#)?;
            }
            writeln!(
                self.buffer,
                r#"{said}{{"type":"tool_use","id":"call_{id}","name":"run_shell_command","input":{{"command":"cargo test -p part-{call}"}}}}{USAGE}"#
            )?;
            let output = self.texts.next();
            writeln!(
                self.buffer,
                r#"{{"type":"user",{head}"role":"user","content":[{{"type":"tool_result","tool_use_id":"call_{id}","is_error":false,"content":{output}}}]}}}}"#
            )?;
        }
        self.message_result()
    }

    fn message_result(&mut self) -> io::Result<()> {
        let text = self.texts.next();
        writeln!(
            self.buffer,
            r#"{{"type":"result","subtype":"success","uuid":"e5c01524","session_id":"{SESSION}","is_error":false,"duration_ms":2505,"num_turns":2,"result":{text},"usage":{{"input_tokens":200,"output_tokens":40,"cache_read_input_tokens":0}}}}"#
        )
    }

    fn iflow(&mut self) -> io::Result<()> {
        self.prose()?;
        writeln!(self.buffer, "```json\n{{\"status\": \"ok\", \"turn\": {}}}\n```", self.turn)?;
        let turn = self.turn;
        writeln!(
            self.buffer,
            r#"<Execution Info>
{{
  "session-id": "session-{SESSION}",
  "conversation-id": "{turn}",
  "assistantRounds": 4,
  "executionTimeMs": 49601,
  "tokenUsage": {{
    "input": 17792,
    "output": 400,
    "total": 18192
  }}
}}
</Execution Info>"#
        )
    }

    /// Lines of text, with one that says something else each time.
    fn prose(&mut self) -> io::Result<()> {
        for _ in 0..CALLS {
            let item = self.next_item();
            let text = self.texts.next();
            writeln!(self.buffer, "{item}. {}", &text[1..text.len() - 1])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_json_where_the_format_is_lines_of_json() {
        for profile in Profile::ALL.into_iter().filter(|profile| profile.is_json()) {
            let mut out = Vec::new();
            let written = write_turns(profile, 100_000, &mut out).unwrap();
            assert_eq!(written.bytes, out.len() as u64);
            let values = serde_json::Deserializer::from_slice(&out).into_iter::<serde_json::Value>();
            let count = values.collect::<Result<Vec<_>, _>>().unwrap().len() as u64;
            assert!(profile == Profile::GeminiJson || count == written.lines, "{profile:?}");
        }
    }
}
