//! What the user said: how it comes in, and how it comes back in the texts of a script.

use serde_json::Value;

use super::request::Request;
use super::script::{Act, ScriptProblem};
use super::template::{FileTrouble, Source, Template, Values};

/// What the user said so far, as far as a turn can use it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    /// At the first turn of the session.
    pub(super) prompt: &'a str,
    /// To this turn; in the first one the same.
    pub(super) reply: &'a str,
    /// To the last question before a call in this turn; none before there was one.
    pub(super) permission: Option<&'a str>,
    /// The response to the last delegation of this turn.
    pub(super) delegated: Option<&'a Value>,
    /// Of the run; none when the engine was started without one.
    pub(super) request: Option<&'a Request>,
}

impl Said<'_> {
    /// The act with its templates replaced by what is known in this turn.
    pub(super) fn fill(&self, act: &Act) -> Result<Act, ScriptProblem> {
        act.filled(&mut |text| Ok(Template::parse(text)?.fill(self)?))
    }
}

impl Values for Said<'_> {
    fn value(&self, source: &Source) -> Option<Value> {
        let text = |text: &str| Value::String(text.to_owned());
        match source {
            Source::Reply => Some(text(self.reply)),
            Source::Prompt => Some(text(self.prompt)),
            Source::Permission => self.permission.map(text),
            Source::Delegated(None) => self.delegated.map(|response| text(&response.to_string())),
            Source::Delegated(Some(path)) => {
                let pointer = format!("/{}", path.replace('.', "/"));
                self.delegated?.pointer(&pointer).cloned()
            }
            Source::Input(key) => self.request?.input.get(key).cloned(),
            Source::Parameter(key) => self.request?.parameter.get(key).cloned(),
            Source::File(slot) => self.request?.files.get(slot).map(|path| text(&path.to_string_lossy())),
        }
    }

    fn content(&self, slot: &str) -> Option<Result<&str, FileTrouble>> {
        self.request?.content(slot)
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
        let said = Said { prompt: "P{{reply}}", reply: "R", permission: None, delegated: None, request: None };
        let filled = |said: &Said<'_>, text: &str| said.fill(&Act::Say(text.to_owned())).expect("values");
        let say = |text: &str| Act::Say(text.to_owned());
        assert_eq!(filled(&said, "a {{reply}}{{prompt}} {{{reply}} {{"), say("a RP{{reply}} {R {{"));
        assert_eq!(filled(&said, "{{permission}} {{reply}}"), say("{{permission}} R"));
        let asked = Said { permission: Some("deny: {{reply}}"), ..said };
        assert_eq!(filled(&asked, "{{permission}} {{reply}}"), say("deny: {{reply}} R"));
        let fields = |value: Value| value.as_object().cloned().expect("an object");
        let ask = Act::Ask(fields(serde_json::json!({"{{reply}}": ["{{reply}}", 1, {"x": "{{prompt}}"}]})));
        let filled = Act::Ask(fields(serde_json::json!({"{{reply}}": ["R", 1, {"x": "P{{reply}}"}]})));
        assert_eq!(said.fill(&ask).expect("values"), filled);
        let unknown = said.fill(&Act::Say("{{input.text}}".to_owned())).expect_err("no run").to_string();
        assert_eq!(unknown, "{{input.text}} has no value in this run; give it with --input text=VALUE");
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
