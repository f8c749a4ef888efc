//! A request as every API says it in its own way: what the conversation was so far, and which tools there are.

use serde_json::Value;

/// A tool that the request offers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offered {
    pub(super) name: String,
    /// The group of tools that it is in: codex has one for each MCP server.
    pub(super) namespace: Option<String>,
    /// The schema of its arguments.
    pub(super) parameters: Value,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Asked {
    pub(super) model: Option<String>,
    pub(super) stream: bool,
    /// The answer is to be JSON, beside the conversation.
    pub(super) wants_json: bool,
    pub(super) tools: Vec<Offered>,
    /// Results of tools so far.
    pub(super) results: usize,
    /// A tool has printed something since the model's last answer.
    pub(super) after_result: bool,
    /// How often the model has answered.
    pub(super) turns: usize,
    /// What the user said, what the model said, what tools printed, each joined.
    pub(super) user: String,
    pub(super) assistant: String,
    pub(super) printed: String,
    /// What the last tool printed.
    pub(super) last_printed: String,
}

/// Who said a part of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    User,
    Model,
    Tool,
}

/// Adds up a conversation, part by part.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    last: Option<Who>,
    asked: Asked,
}

impl Conversation {
    /// Parts of the model's in a row are one answer: some APIs and CLIs take it apart.
    pub(super) fn add(&mut self, who: Who, text: &str) {
        let said = match who {
            Who::User => &mut self.asked.user,
            Who::Model => &mut self.asked.assistant,
            Who::Tool => &mut self.asked.printed,
        };
        said.push_str(text);
        said.push('\n');
        match who {
            Who::User => {}
            Who::Model => {
                self.asked.turns += usize::from(self.last != Some(Who::Model));
                self.asked.after_result = false;
            }
            Who::Tool => {
                text.clone_into(&mut self.asked.last_printed);
                self.asked.results += 1;
                self.asked.after_result = true;
            }
        }
        self.last = Some(who);
    }

    pub(super) fn into_asked(self) -> Asked {
        self.asked
    }
}

/// What a message says: a text, or a list of parts of which some are text.
pub(super) fn said(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text(part, "text")).collect::<Vec<_>>().join("\n"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => text(content, "text").to_owned(),
    }
}

/// What a tool printed: all texts in its result, whatever form the CLI gives it.
pub(super) fn printed(result: &Value) -> String {
    match result {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(printed).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => match fields.get("text") {
            Some(text) => printed(text),
            None => fields.values().map(printed).collect::<Vec<_>>().join("\n"),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// A list in a request; empty when it is none.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A text in a request; empty when it is none.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continued_conversation_restarts_after_an_answer() {
        let mut conversation = Conversation::default();
        for who in [Who::User, Who::Model, Who::Tool, Who::User, Who::Model, Who::Model, Who::User] {
            conversation.add(who, "x");
        }
        let asked = conversation.into_asked();
        assert_eq!((asked.turns, asked.results, asked.after_result), (2, 1, false));
        let mut reminded = Conversation::default();
        for who in [Who::User, Who::Model, Who::Tool, Who::User] {
            reminded.add(who, "x");
        }
        assert!(reminded.into_asked().after_result, "what the CLI adds after a result takes nothing away");
    }
}
