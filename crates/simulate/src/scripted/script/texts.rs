//! The texts of an act that are templates: one list of them for reading, checking and filling.

use serde_json::{Map, Value};

use super::{Act, Tool};
use crate::scripted::template::text_of;

/// Makes a value from the text of a template.
type Fill<'a, E> = &'a mut dyn FnMut(&str) -> Result<Value, E>;

impl Act {
    /// The act with its templates replaced. Keys, names and paths stay as they are.
    pub(crate) fn filled<E>(&self, fill: Fill<'_, E>) -> Result<Self, E> {
        Ok(match self {
            Self::Say(words) => Self::Say(text(words, fill)?),
            Self::Think(words) => Self::Think(text(words, fill)?),
            Self::Ask(members) => Self::Ask(fields(members, fill)?),
            Self::Tool(tool) => {
                let Tool { name, input, output, status } = tool;
                let (input, output) = (fields(input, fill)?, text(output, fill)?);
                Self::Tool(Tool { name: name.clone(), input, output, status: *status })
            }
            Self::Permission { tool, input } => Self::Permission { tool: tool.clone(), input: fields(input, fill)? },
            Self::Delegate(request) => Self::Delegate(fields(request, fill)?),
            Self::Write { path, content } => Self::Write { path: path.clone(), content: text(content, fill)? },
            Self::Output { object, marker } => Self::Output { object: fields(object, fill)?, marker: *marker },
            Self::Sleep(_)
            | Self::Usage(_)
            | Self::Stderr(_)
            | Self::Raw(_)
            | Self::Fail(_)
            | Self::Limit(_)
            | Self::Exit(_)
            | Self::End
            | Self::Hang
            | Self::Ignore(_)
            | Self::Crash(_)
            | Self::Flood(_)
            | Self::Cut(_)
            | Self::ExpectReply(_)
            | Self::EchoReply
            | Self::EchoPrompt => self.clone(),
        })
    }
}

fn text<E>(text: &str, fill: Fill<'_, E>) -> Result<String, E> {
    fill(text).map(text_of)
}

fn value<E>(value: &Value, fill: Fill<'_, E>) -> Result<Value, E> {
    match value {
        Value::String(text) => fill(text),
        Value::Array(items) => items.iter().map(|item| self::value(item, fill)).collect(),
        Value::Object(members) => fields(members, fill).map(Value::Object),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
    }
}

fn fields<E>(members: &Map<String, Value>, fill: Fill<'_, E>) -> Result<Map<String, Value>, E> {
    members.iter().map(|(key, member)| Ok((key.clone(), value(member, fill)?))).collect()
}
