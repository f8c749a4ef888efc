//! Scripts: what the model answers, turn by turn, as the caller wants it.
//!
//! ```json
//! {"turns": [
//!   {"say": "I look at the table first.", "tool": "head -n 3 table.csv"},
//!   {"tool": "wc -l < table.csv"},
//!   {"call": "spawn_run", "arguments": {"prompt": "Count the rows."}},
//!   {"call": "wait_runs", "arguments": {"run_ids": ["{{run}}"]}},
//!   {"say": "Which column? {{printed}}"},
//!   {"answer": {"rows": 12}},
//!   {"status": 429}
//! ]}
//! ```
//!
//! A turn is one answer of the model. `say` alone ends the turn of the CLI, `tool` runs a command, `call` calls a tool of
//! an MCP server, `answer` is an object to which the marker is added, after what it says, if it says something; `status`
//! is an HTTP error, every time its turn is asked for.
//!
//! In what a turn says and in the strings of its arguments, `{{run}}` is replaced by the first run that a tool has named
//! in the conversation, and `{{printed}}` by what the last tool printed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::scenario::is_key;
use super::texts::DONE_KEY;

/// The most bytes of a script.
pub const SCRIPT_MAX: usize = 256 * 1024;
/// The most scripts that a server keeps.
pub const SCRIPTS_MAX: usize = 64;

/// What the model answers, turn by turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    turns: Vec<Turn>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Turn {
    Say(String),
    Tool { say: Option<String>, command: String },
    Call { say: Option<String>, tool: String, arguments: Map<String, Value> },
    Status(u16),
}

/// Why something is not a script, or cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("a script has at most {SCRIPT_MAX} bytes, this has {0}")]
    TooLarge(usize),
    #[error("no script: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error(
        "turn {0} needs one of `say`, `tool`, `call`, `answer` and `status`; `say` may stand beside another but `status`, \
         and `arguments` beside `call`"
    )]
    Unclear(usize),
    #[error("turn {turn} has the status {status}, which is not an HTTP error")]
    NoError { turn: usize, status: u16 },
    #[error("the name of a script is a short word of letters, digits, `-` and `_`")]
    BadName,
    #[error("{SCRIPTS_MAX} scripts are kept already")]
    Full,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    turns: Vec<WrittenTurn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTurn {
    say: Option<String>,
    tool: Option<String>,
    call: Option<String>,
    arguments: Option<Map<String, Value>>,
    answer: Option<Map<String, Value>>,
    status: Option<u16>,
}

impl Script {
    pub fn read(bytes: &[u8]) -> Result<Self, ScriptError> {
        if bytes.len() > SCRIPT_MAX {
            return Err(ScriptError::TooLarge(bytes.len()));
        }
        let written: Written = serde_json::from_slice(bytes)?;
        let turns = written.turns.into_iter().enumerate().map(|(at, turn)| turn.read(at + 1));
        Ok(Self { turns: turns.collect::<Result<_, _>>()? })
    }

    /// As [`Script::read`].
    pub fn from_json(json: &Value) -> Result<Self, ScriptError> {
        Self::read(json.to_string().as_bytes())
    }

    pub(super) fn turn(&self, at: usize) -> Option<&Turn> {
        self.turns.get(at)
    }
}

impl WrittenTurn {
    fn read(self, number: usize) -> Result<Turn, ScriptError> {
        match self {
            Self { say: Some(say), tool: None, call: None, arguments: None, answer: None, status: None } => {
                Ok(Turn::Say(say))
            }
            Self { say, tool: Some(command), call: None, arguments: None, answer: None, status: None } => {
                Ok(Turn::Tool { say, command })
            }
            Self { say, tool: None, call: Some(tool), arguments, answer: None, status: None } => {
                Ok(Turn::Call { say, tool, arguments: arguments.unwrap_or_default() })
            }
            Self { say, tool: None, call: None, arguments: None, answer: Some(answer), status: None } => {
                let mut object = Map::from_iter([(DONE_KEY.to_owned(), Value::Bool(true))]);
                object.extend(answer);
                let object = Value::Object(object);
                Ok(Turn::Say(say.map_or_else(|| object.to_string(), |say| format!("{say}\n\n{object}"))))
            }
            Self { say: None, tool: None, call: None, arguments: None, answer: None, status: Some(status) } => {
                let is_error = (400..600).contains(&status);
                if is_error { Ok(Turn::Status(status)) } else { Err(ScriptError::NoError { turn: number, status }) }
            }
            _ => Err(ScriptError::Unclear(number)),
        }
    }
}

/// The scripts of a server, by name.
#[derive(Debug, Default)]
pub(super) struct Scripts {
    kept: BTreeMap<String, Script>,
}

impl Scripts {
    /// Takes the place of one with the same name.
    pub(super) fn keep(&mut self, name: &str, script: Script) -> Result<(), ScriptError> {
        if !is_key(name) {
            return Err(ScriptError::BadName);
        }
        if self.kept.len() == SCRIPTS_MAX && !self.kept.contains_key(name) {
            return Err(ScriptError::Full);
        }
        self.kept.insert(name.to_owned(), script);
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Script> {
        self.kept.get(name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn turns(turns: Value) -> Result<Vec<Turn>, String> {
        Script::from_json(&json!({"turns": turns})).map(|script| script.turns).map_err(|error| error.to_string())
    }

    #[test]
    fn turns_are_read() {
        let read = turns(json!([
            {"say": "a"}, {"tool": "ls"}, {"say": "b", "tool": "ls"}, {"answer": {"x": 1}},
            {"say": "c", "answer": {"__SKILL_DONE__": false}}, {"status": 429}, {"call": "t", "arguments": {"x": 1}},
        ]));
        let tool = |say: Option<&str>| Turn::Tool { say: say.map(str::to_owned), command: "ls".to_owned() };
        let say = |text: &str| Turn::Say(text.to_owned());
        let wanted = vec![
            say("a"),
            tool(None),
            tool(Some("b")),
            say(r#"{"__SKILL_DONE__":true,"x":1}"#),
            say("c\n\n{\"__SKILL_DONE__\":false}"),
            Turn::Status(429),
            Turn::Call { say: None, tool: "t".to_owned(), arguments: Map::from_iter([("x".to_owned(), json!(1))]) },
        ];
        assert_eq!(read, Ok(wanted));
    }

    #[test]
    fn what_is_no_script_is_refused() {
        for (wrong, words) in [
            (json!([{}]), "turn 1 needs one of"),
            (json!([{"say": "a"}, {"tool": "ls", "answer": {}}]), "turn 2 needs one of"),
            (json!([{"status": 200}]), "status 200"),
            (json!([{"say": "a", "arguments": {}}]), "turn 1 needs one of"),
            (json!([{"shout": "a"}]), "unknown field"),
            (json!("turns"), "no script"),
        ] {
            let error = turns(wrong).expect_err("no script");
            assert!(error.contains(words), "{error}");
        }
        let large = turns(json!([{"say": "x".repeat(SCRIPT_MAX)}])).expect_err("too large");
        assert!(large.contains("at most 262144 bytes"), "{large}");
    }

    #[test]
    fn only_so_many_are_kept() {
        let script = Script::from_json(&json!({"turns": []})).expect("a script");
        let mut scripts = Scripts::default();
        for number in 0..SCRIPTS_MAX {
            scripts.keep(&format!("s{number}"), script.clone()).expect("room");
        }
        assert!(matches!(scripts.keep("more", script.clone()), Err(ScriptError::Full)));
        scripts.keep("s0", script.clone()).expect("its own place");
        assert!(matches!(scripts.keep("a/b", script), Err(ScriptError::BadName)));
    }
}
