//! One turn of a scenario.

use std::time::Duration;

use serde_json::{Value, json};

use super::agent::{Agent, Stop, complain};
use super::wire::Message;
use super::words::Scenario;
use skillrun_simulate::process::LIFE;

/// Pieces of a slow turn, and the pause after each.
const PIECES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

impl Agent<'_> {
    /// Plays a turn. Gives back what was said, where the turn ends well; else it was answered here.
    pub(super) fn turn(
        &mut self,
        id: &Value,
        session: &str,
        before: usize,
        text: &str,
    ) -> Result<Option<String>, Stop> {
        match self.words.scenario {
            Scenario::Auto | Scenario::Nameless | Scenario::Moody => {
                self.tool(session)?;
                self.done(session, "blue").map(Some)
            }
            Scenario::Question
            | Scenario::Later
            | Scenario::Leaves
            | Scenario::Forgets
            | Scenario::Refuses
            | Scenario::Resumes => {
                if before == 0 {
                    let words = "Which colour do you like?".to_owned();
                    self.say(session, &words)?;
                    return Ok(Some(words));
                }
                let is_slow = self.words.scenario == Scenario::Later;
                if is_slow && self.pieces(session)? {
                    return self.canceled(id);
                }
                self.done(session, text).map(Some)
            }
            Scenario::Afterwards => {
                if before == 0 {
                    self.say(session, "Which colour do you like?")?;
                    return Ok(Some(finished("old")));
                }
                if text == "nothing" { Ok(Some(String::new())) } else { self.done(session, text).map(Some) }
            }
            Scenario::Permission => {
                let request = self.ask_permission(session, Value::from(self.asked))?;
                let heard = self.answers(session, &[request])?;
                self.told(id, session, heard)
            }
            Scenario::Permissions => {
                let first = self.ask_permission(session, Value::from("ask-1"))?;
                let second = self.ask_permission(session, Value::from("ask-2"))?;
                let heard = self.answers(session, &[first, second])?;
                self.told(id, session, heard)
            }
            Scenario::Elicitation => {
                let field = json!({ "type": "string", "enum": ["red", "blue"] });
                let schema = json!({ "type": "object", "properties": { "colour": field }, "required": ["colour"] });
                let params = json!({
                    "sessionId": session, "mode": "form", "message": "Which colour?", "requestedSchema": schema,
                });
                let request = self.ask("elicitation/create", params, Value::from("form-1"))?;
                let heard = self.answers(session, &[request])?;
                self.told(id, session, heard)
            }
            Scenario::Files => {
                let file = json!({ "sessionId": session, "path": "/etc/hostname" });
                let terminal = json!({ "sessionId": session, "command": "true" });
                let first = self.ask("fs/read_text_file", file, Value::from(1))?;
                let second = self.ask("terminal/create", terminal, Value::from("terminal"))?;
                let heard = self.answers(session, &[first, second])?;
                self.told(id, session, heard)
            }
            Scenario::Slow => {
                if self.pieces(session)? {
                    return self.canceled(id);
                }
                self.tool(session)?;
                self.done(session, "blue").map(Some)
            }
            Scenario::Hang => {
                self.say(session, "I begin.")?;
                self.tool_begins(session)?;
                if self.is_canceled(session, LIFE)? { self.canceled(id) } else { Err(Stop::Exit(75)) }
            }
            Scenario::Deaf => {
                self.say(session, "I begin.")?;
                while self.hear(LIFE)?.is_some() {}
                Err(Stop::Exit(75))
            }
            Scenario::Quota => {
                let data = json!({ "errorKind": "rate_limit" });
                let words = "Internal error: API Error: Request rejected (429) · Rate limit reached";
                self.fail(id, -32603, words, data).map(|()| None)
            }
            Scenario::Auth => self.fail(id, -32000, "Authentication required", Value::Null).map(|()| None),
            Scenario::Note => {
                self.say(session, "exceeded retry limit, last status: 429 Too Many Requests")?;
                let error = json!({ "message": "exceeded retry limit, last status: 429 Too Many Requests" });
                self.answer(id, &json!({ "stopReason": "end_turn", "_meta": { "error": error } })).map(|()| None)
            }
            Scenario::Limit => {
                self.say(session, "As far as I")?;
                self.answer(id, &json!({ "stopReason": "max_tokens" })).map(|()| None)
            }
            Scenario::Noise => {
                self.write_line("a line that is not a message")?;
                self.write_line("")?;
                self.write_line(&"x".repeat(100_000))?;
                self.write_line("[1, 2")?;
                self.write(&json!({ "jsonrpc": "2.0", "id": "unrequested", "result": { "made": "up" } }))?;
                self.write(&json!({ "jsonrpc": "2.0", "method": "_made/up", "params": {} }))?;
                self.update(session, &json!({ "sessionUpdate": "made_up", "content": null }))?;
                self.done(session, "blue").map(Some)
            }
            Scenario::Exits => {
                self.say(session, "I begin.")?;
                Err(Stop::Exit(3))
            }
        }
    }

    /// A long text comes in two pieces.
    fn say(&mut self, session: &str, text: &str) -> Result<(), Stop> {
        let length = text.chars().count();
        let middle = if length < 16 { 0 } else { text.char_indices().nth(length / 2).map_or(0, |(at, _)| at) };
        for piece in [&text[..middle], &text[middle..]].into_iter().filter(|piece| !piece.is_empty()) {
            let content = json!({ "type": "text", "text": piece });
            self.update(session, &json!({ "sessionUpdate": "agent_message_chunk", "content": content }))?;
        }
        Ok(())
    }

    /// One after the other; true when the turn was canceled meanwhile.
    fn pieces(&mut self, session: &str) -> Result<bool, Stop> {
        for piece in 1..=PIECES {
            self.say(session, &format!("Piece {piece}. "))?;
            if self.is_canceled(session, PAUSE)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The last message of the work.
    fn done(&mut self, session: &str, answer: &str) -> Result<String, Stop> {
        let text = finished(answer);
        self.say(session, &text)?;
        Ok(text)
    }

    fn tool_begins(&mut self, session: &str) -> Result<(), Stop> {
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": "call-1", "title": "ls", "kind": "execute",
            "status": "in_progress", "rawInput": { "command": "ls" },
        });
        self.update(session, &call)
    }

    fn tool(&mut self, session: &str) -> Result<(), Stop> {
        self.tool_begins(session)?;
        let output = json!([{ "type": "content", "content": { "type": "text", "text": "notes.md\n" } }]);
        let update = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "call-1", "status": "completed", "content": output,
        });
        self.update(session, &update)
    }

    fn ask(&mut self, method: &str, params: Value, id: Value) -> Result<Value, Stop> {
        self.asked += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    fn ask_permission(&mut self, session: &str, id: Value) -> Result<Value, Stop> {
        let option = |id: &str, name: &str, kind: &str| json!({ "optionId": id, "name": name, "kind": kind });
        let options = [
            option("once", "Yes", "allow_once"),
            option("always", "Yes, and do not ask again", "allow_always"),
            option("reject", "No", "reject_once"),
        ];
        let call = json!({
            "toolCallId": "call-2", "title": "rm -rf build", "kind": "execute", "status": "pending",
            "rawInput": { "command": "rm -rf build" },
        });
        let params = json!({ "sessionId": session, "toolCall": call, "options": options });
        self.ask("session/request_permission", params, id)
    }

    /// Waits for all these answers. None in the place of one: the turn was canceled before.
    fn answers(&mut self, session: &str, ids: &[Value]) -> Result<Heard, Stop> {
        let mut heard: Vec<Option<Value>> = vec![None; ids.len()];
        let mut is_canceled = false;
        while heard.iter().any(Option::is_none) {
            match self.hear(LIFE)? {
                Some(Message::Answer { id, result }) => {
                    let value = result.unwrap_or_else(|error| json!({ "error": error.get("code") }));
                    match ids.iter().position(|asked| *asked == id) {
                        Some(at) if heard[at].is_none() => heard[at] = Some(value),
                        Some(_) => complain(&format!("a second answer to {id}")),
                        None => complain(&format!("an answer to {id}, which was not requested")),
                    }
                }
                Some(Message::Cancel { session: named }) if named == session => is_canceled = true,
                Some(Message::Cancel { session }) => complain(&format!("session/cancel for {session}")),
                Some(Message::Request { id, .. }) => self.busy(&id)?,
                None => return Err(Stop::Exit(75)),
            }
        }
        Ok(Heard { answers: heard.into_iter().flatten().collect(), is_canceled })
    }

    fn busy(&mut self, id: &Value) -> Result<(), Stop> {
        complain("a request in the middle of a turn");
        self.fail(id, -32600, "busy", Value::Null)
    }

    /// Ends the turn with what came back.
    fn told(&mut self, id: &Value, session: &str, heard: Heard) -> Result<Option<String>, Stop> {
        if heard.is_canceled {
            return self.canceled(id);
        }
        let words: Vec<String> = heard.answers.iter().map(Value::to_string).collect();
        self.done(session, &words.join(" ")).map(Some)
    }

    fn is_canceled(&mut self, session: &str, patience: Duration) -> Result<bool, Stop> {
        match self.hear(patience)? {
            None => Ok(false),
            Some(Message::Cancel { session: named }) if named == session => Ok(true),
            Some(Message::Cancel { session }) => {
                complain(&format!("session/cancel for {session}"));
                Ok(false)
            }
            Some(Message::Request { id, .. }) => self.busy(&id).map(|()| false),
            Some(Message::Answer { id, .. }) => {
                complain(&format!("an answer to {id}, which was not requested"));
                Ok(false)
            }
        }
    }

    fn canceled(&mut self, id: &Value) -> Result<Option<String>, Stop> {
        self.answer(id, &json!({ "stopReason": "cancelled" })).map(|()| None)
    }
}

fn finished(answer: &str) -> String {
    json!({ "__SKILL_DONE__": true, "answer": answer }).to_string()
}

/// What came back.
struct Heard {
    answers: Vec<Value>,
    is_canceled: bool,
}
