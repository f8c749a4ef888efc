//! What the user said: how it comes in, and how it comes back in the texts of a script.

use serde_json::{Map, Value};

/// What the user said so far, as far as a turn can use it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    /// At the first turn of the session.
    pub(super) prompt: &'a str,
    /// To this turn; in the first one the same.
    pub(super) reply: &'a str,
    /// To the last question before a call in this turn; none before there was one.
    pub(super) permission: Option<&'a str>,
}

impl Said<'_> {
    /// A text with its `{{reply}}`, `{{prompt}}` and `{{permission}}` replaced. What was put in is not looked at again,
    /// and what stands for nothing yet stays.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            let (before, from) = rest.split_at(at);
            filled.push_str(before);
            let known = [
                ("{{reply}}", Some(self.reply)),
                ("{{prompt}}", Some(self.prompt)),
                ("{{permission}}", self.permission),
            ];
            let found = known.iter().find_map(|(name, words)| Some(((*words)?, from.strip_prefix(name)?)));
            rest = match found {
                Some((words, after)) => {
                    filled.push_str(words);
                    after
                }
                None => {
                    filled.push('{');
                    &from[1..]
                }
            };
        }
        filled.push_str(rest);
        filled
    }

    /// The same in all texts of a value; keys stay as they are.
    pub(super) fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(fields) => Value::Object(self.fill_fields(fields)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    pub(super) fn fill_fields(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        fields.iter().map(|(key, value)| (key.clone(), self.fill_value(value))).collect()
    }
}

/// What a line of stdin says to a sticky engine: the line itself, or the text in it when it is JSON: a string, an
/// object with `text`, or a user's message as claude takes it.
pub(super) fn of_line(line: &str) -> String {
    let line = line.strip_suffix('\r').unwrap_or(line);
    if !line.trim_start().starts_with(['{', '"']) {
        return line.to_owned();
    }
    let value: Option<Value> = serde_json::from_str(line).ok();
    value.as_ref().and_then(text_of).unwrap_or_else(|| line.to_owned())
}

/// What a line of stdin answers to the question of this name: `allow`, or `deny: ` and the user's words; none when it is
/// no answer to it that claude would take.
pub(super) fn permission_of(line: &str, id: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    let response = line.get("response")?;
    let is = |value: &Value, name: &str, text: &str| value.get(name).and_then(Value::as_str) == Some(text);
    if !is(&line, "type", "control_response") || !is(response, "subtype", "success") || !is(response, "request_id", id)
    {
        return None;
    }
    let decision = response.get("response")?;
    if is(decision, "behavior", "allow") {
        return decision.get("updatedInput")?.is_object().then(|| "allow".to_owned());
    }
    let message = decision.get("message")?.as_str()?;
    is(decision, "behavior", "deny").then(|| format!("deny: {message}"))
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => {
            let message = || fields.get("message")?.get("content").and_then(content);
            fields.get("text").and_then(Value::as_str).map(str::to_owned).or_else(message)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

fn content(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_replaced_once() {
        let said = Said { prompt: "P{{reply}}", reply: "R", permission: None };
        assert_eq!(said.fill("a {{reply}}{{prompt}} {{{reply}} {{other}} {{"), "a RP{{reply}} {R {{other}} {{");
        let value = serde_json::json!({"{{reply}}": ["{{reply}}", 1, {"x": "{{prompt}}"}]});
        let filled = serde_json::json!({"{{reply}}": ["R", 1, {"x": "P{{reply}}"}]});
        assert_eq!(said.fill_value(&value), filled);
        assert_eq!(said.fill("{{permission}} {{reply}}"), "{{permission}} R");
        let asked = Said { permission: Some("deny: {{reply}}"), ..said };
        assert_eq!(asked.fill("{{permission}} {{reply}}"), "deny: {{reply}} R");
    }

    #[test]
    fn an_answer_has_its_question_and_all_that_claude_needs() {
        let line = |decision: &str| {
            format!(
                r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"r1","response":{decision}}}}}"#
            )
        };
        let allow = line(r#"{"behavior":"allow","updatedInput":{"a":1}}"#);
        let deny = line(r#"{"behavior":"deny","message":"No, keep it."}"#);
        assert_eq!(permission_of(&allow, "r1").as_deref(), Some("allow"));
        assert_eq!(permission_of(&deny, "r1").as_deref(), Some("deny: No, keep it."));
        assert_eq!(permission_of(&line(r#"{"behavior":"deny","message":""}"#), "r1").as_deref(), Some("deny: "));
        for none in [
            "allow".to_owned(),
            line("null"),
            line(r#"{"behavior":"allow"}"#),
            line(r#"{"behavior":"allow","updatedInput":null}"#),
            line(r#"{"behavior":"deny"}"#),
            line(r#"{"behavior":"ask","message":"x"}"#),
            allow.replace("success", "error"),
            allow.replace("control_response", "user"),
            r#"{"type":"user","message":{"role":"user","content":"allow"}}"#.to_owned(),
            String::new(),
        ] {
            assert_eq!(permission_of(&none, "r1"), None, "{none}");
        }
        assert_eq!(permission_of(&allow, "r2"), None);
    }

    #[test]
    fn a_line_may_be_json() {
        for (line, said) in [
            ("blue", "blue"),
            ("blue\r", "blue"),
            (r#""two\nlines""#, "two\nlines"),
            (r#"{"interaction_id":1,"text":"blue"}"#, "blue"),
            (r#"{"type":"user","message":{"role":"user","content":"blue"}}"#, "blue"),
            (r#"{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#, "a\nb"),
            (r#"{"other":1}"#, r#"{"other":1}"#),
            ("{no json", "{no json"),
            ("", ""),
        ] {
            assert_eq!(of_line(line), said, "{line}");
        }
    }
}
