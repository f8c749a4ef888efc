//! Templates: texts of a script with placeholders, so that an answer follows from the input of the run. Pure.
//!
//! A placeholder is `{{SOURCE}}` or `{{SOURCE | FUNCTION}}` on one line, without braces in it. There is nothing more to
//! the language: no nesting, no arithmetic, no condition. Inserted values are not expanded again.

use std::fmt;

use serde_json::Value;
use skillrun_base::text::shortened;

use super::csv;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// What the user said to this turn.
    Reply,
    /// What the user said to the first turn.
    Prompt,
    /// The answer to the last permission of this turn.
    Permission,
    /// The response to the last delegation of this turn, or a field of it.
    Delegated(Option<String>),
    Input(String),
    Parameter(String),
    /// A file that came with the request: its path, or its content for a function.
    File(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Function {
    /// How many words a text has.
    Words,
    /// The first of the longest words.
    LongestWord,
    /// How many lines a table has after the first one.
    Rows,
    /// The columns of a table, as a list of objects.
    Columns,
    /// The same as lines of a Markdown table.
    ColumnTable,
    /// The text behind the key that the value is; the one behind `else` when it is none of them.
    Choose(Vec<(String, String)>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placeholder {
    /// As it was written, for sentences about it.
    written: String,
    pub(super) source: Source,
    function: Option<Function>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Value(Placeholder),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TemplateError {
    #[error(
        "{{{{{0}}}}} names no value; the values are reply, prompt, permission, delegated, input.NAME, parameter.NAME and file.SLOT"
    )]
    UnknownSource(String),
    #[error(
        "{{{{{0}}}}} names no function; the functions are words, longest_word, rows, columns, column_table and choose"
    )]
    UnknownFunction(String),
    #[error("{{{{{0}}}}} needs pairs after choose, for example choose red: warm, else: cold")]
    BadChoices(String),
}

/// Why a template cannot be filled in this run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FillError {
    #[error("{{{{{written}}}}} has no value in this run; give it with {}", option(from))]
    NoValue { written: String, from: Source },
    #[error("{{{{{written}}}}} has no choice for {value:?}, and no else")]
    NoChoice { written: String, value: String },
    #[error("{{{{{written}}}}} needs the content of a file, which {problem}")]
    File { written: String, problem: FileTrouble },
}

/// The option of `skillrun run` that gives a value.
fn option(source: &Source) -> String {
    match source {
        Source::Input(key) => format!("--input {key}=VALUE"),
        Source::Parameter(key) => format!("--param {key}=VALUE"),
        Source::File(slot) => format!("--file {slot}=PATH"),
        // Every turn has these.
        Source::Reply | Source::Prompt | Source::Permission | Source::Delegated(_) => "--prompt".to_owned(),
    }
}

/// Why a file has no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileTrouble {
    TooLarge(u64),
    Unreadable(String),
}

impl fmt::Display for FileTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(max) => write!(f, "is larger than {max} bytes"),
            Self::Unreadable(error) => write!(f, "cannot be read ({error})"),
        }
    }
}

/// The values that a turn has.
pub(super) trait Values {
    /// None: there is no such value.
    fn value(&self, source: &Source) -> Option<Value>;
    /// The text of a file. None: there is no such file.
    fn content(&self, slot: &str) -> Option<Result<&str, FileTrouble>>;
}

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let (mut before, mut rest) = (String::new(), text);
        while let Some((text, inside)) = rest.split_once("{{") {
            before.push_str(text);
            let stop = inside.find(['{', '}', '\n', '\r']).unwrap_or(inside.len());
            let found = match inside[stop..].strip_prefix("}}") {
                Some(after) => Placeholder::parse(inside[..stop].trim())?.map(|placeholder| (placeholder, after)),
                None => None,
            };
            if let Some((placeholder, after)) = found {
                if !before.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut before)));
                }
                pieces.push(Piece::Value(placeholder));
                rest = after;
            } else {
                // One brace further, so that the second of `{{{` may open.
                before.push('{');
                rest = &rest[text.len() + 1..];
            }
        }
        before.push_str(rest);
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        Ok(Self(pieces))
    }

    pub(super) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(placeholder) => Some(placeholder),
            Piece::Text(_) => None,
        })
    }

    /// A text that is one placeholder has the type of its value, so that a number stays a number.
    pub(super) fn fill(&self, values: &impl Values) -> Result<Value, FillError> {
        if let [Piece::Value(placeholder)] = self.0.as_slice() {
            return placeholder.fill(values);
        }
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Value(placeholder) => filled.push_str(&text_of(placeholder.fill(values)?)),
            }
        }
        Ok(Value::String(filled))
    }
}

/// A value inside of a text: a text as it is, anything else as JSON.
pub(super) fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

impl Source {
    /// None when it is not one.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (kind, key) = name.split_once('.').map_or((name, None), |(kind, key)| (kind, Some(key)));
        match (kind, key) {
            ("reply", None) => Some(Self::Reply),
            ("prompt", None) => Some(Self::Prompt),
            ("permission", None) => Some(Self::Permission),
            ("delegated", None) => Some(Self::Delegated(None)),
            (_, None | Some("")) => None,
            ("delegated", Some(field)) => Some(Self::Delegated(Some(field.to_owned()))),
            ("input", Some(key)) => Some(Self::Input(key.to_owned())),
            ("parameter", Some(key)) => Some(Self::Parameter(key.to_owned())),
            ("file", Some(slot)) => Some(Self::File(slot.to_owned())),
            (_, Some(_)) => None,
        }
    }
}

impl Placeholder {
    /// None when the text between the braces does not look like a placeholder: it is text then.
    fn parse(written: &str) -> Result<Option<Self>, TemplateError> {
        let (source, function) = match written.split_once('|') {
            Some((source, function)) => (source.trim(), Some(function.trim())),
            None => (written, None),
        };
        let kind = source.split('.').next().unwrap_or_default();
        let looks_like_one = !kind.is_empty()
            && kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            && !source.contains(char::is_whitespace);
        if !looks_like_one {
            return Ok(None);
        }
        let shown = || shortened(written, 80);
        let source = Source::parse(source).ok_or_else(|| TemplateError::UnknownSource(shown()))?;
        let function = function.map(|function| Function::parse(function, shown)).transpose()?;
        Ok(Some(Self { written: shown(), source, function }))
    }

    fn fill(&self, values: &impl Values) -> Result<Value, FillError> {
        let missing = || FillError::NoValue { written: self.written.clone(), from: self.source.clone() };
        match (&self.function, &self.source) {
            // It stays as it is before the first question.
            (None, Source::Permission | Source::Delegated(_)) => {
                let unasked = || Value::String(format!("{{{{{}}}}}", self.written));
                Ok(values.value(&self.source).unwrap_or_else(unasked))
            }
            (None, source) => values.value(source).ok_or_else(missing),
            (Some(function), Source::File(slot)) => match values.content(slot).ok_or_else(missing)? {
                Ok(text) => self.apply(function, text),
                Err(problem) => Err(FillError::File { written: self.written.clone(), problem }),
            },
            (Some(function), source) => self.apply(function, &text_of(values.value(source).ok_or_else(missing)?)),
        }
    }

    fn apply(&self, function: &Function, text: &str) -> Result<Value, FillError> {
        Ok(match function {
            Function::Words => words(text).count().into(),
            Function::LongestWord => longest_word(text).into(),
            Function::Rows => csv::rows(text).into(),
            Function::Columns => csv::columns(text),
            Function::ColumnTable => csv::column_table(text).into(),
            Function::Choose(choices) => {
                let value = text.trim().to_lowercase();
                let choice = |wanted: &str| choices.iter().find(|(key, _)| key.to_lowercase() == wanted);
                match choice(&value).or_else(|| choice(OTHERWISE)) {
                    Some((_, text)) => text.as_str().into(),
                    None => {
                        let value = shortened(text, 80);
                        return Err(FillError::NoChoice { written: self.written.clone(), value });
                    }
                }
            }
        })
    }
}

/// The key of a choice that any other value takes.
const OTHERWISE: &str = "else";

impl Function {
    fn parse(written: &str, shown: impl Fn() -> String) -> Result<Self, TemplateError> {
        Ok(match written {
            "words" => Self::Words,
            "longest_word" => Self::LongestWord,
            "rows" => Self::Rows,
            "columns" => Self::Columns,
            "column_table" => Self::ColumnTable,
            _ => match written.split_once(' ') {
                Some(("choose", pairs)) => {
                    let pair = |pair: &str| -> Option<(String, String)> {
                        let (key, text) = pair.split_once(':')?;
                        Some((key.trim().to_owned(), text.trim().to_owned()))
                    };
                    let pairs = pairs.split(',').map(pair).collect::<Option<Vec<_>>>();
                    Self::Choose(pairs.ok_or_else(|| TemplateError::BadChoices(shown()))?)
                }
                None if written == "choose" => return Err(TemplateError::BadChoices(shown())),
                Some(_) | None => return Err(TemplateError::UnknownFunction(shown())),
            },
        })
    }
}

/// What stands between white space, without the punctuation around it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

fn longest_word(text: &str) -> &str {
    let longer = |longest: &'_ str, word: &'_ str| word.chars().count() > longest.chars().count();
    words(text).fold("", |longest, word| if longer(longest, word) { word } else { longest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct Given;

    impl Values for Given {
        fn value(&self, source: &Source) -> Option<Value> {
            match source {
                Source::Reply => Some("Rivers".into()),
                Source::Prompt => Some("P{{reply}}".into()),
                Source::Permission | Source::Delegated(_) => None,
                Source::Input(key) => json!({"text": "The quick, brown fox!", "n": 3, "empty": ""}).get(key).cloned(),
                Source::Parameter(key) => json!({"list": ["a"]}).get(key).cloned(),
                Source::File(slot) => (slot == "table").then(|| "/in/table.csv".into()),
            }
        }

        fn content(&self, slot: &str) -> Option<Result<&str, FileTrouble>> {
            match slot {
                "table" => Some(Ok("a,b\n1,x\n2,y\n")),
                "big" => Some(Err(FileTrouble::TooLarge(7))),
                _ => None,
            }
        }
    }

    fn filled(text: &str) -> Value {
        Template::parse(text).expect("a template").fill(&Given).expect("values")
    }

    fn refused(text: &str) -> String {
        match Template::parse(text) {
            Err(error) => error.to_string(),
            Ok(template) => template.fill(&Given).expect_err("no value").to_string(),
        }
    }

    #[test]
    fn values_and_functions_follow_from_the_input() {
        for (text, value) in [
            ("{{input.text}}", json!("The quick, brown fox!")),
            ("{{input.n}}", json!(3)),
            ("n={{ input.n }}.", json!("n=3.")),
            ("{{parameter.list}}", json!(["a"])),
            ("{{file.table}}", json!("/in/table.csv")),
            ("{{input.text | words}}", json!(4)),
            ("{{input.text|longest_word}}", json!("quick")),
            ("{{input.empty | words}} {{input.empty | longest_word}}.", json!("0 .")),
            ("{{file.table | rows}}", json!(2)),
            ("{{file.table | columns}}", json!([{"name": "a", "smallest": 1, "largest": 2}, {"name": "b"}])),
            ("{{file.table | column_table}}", json!("| a | numbers | 1 | 2 |\n| b | text | | |")),
            ("{{reply | choose birds: Kite, rivers: Great Delta}}", json!("Great Delta")),
            ("{{input.n | choose 1: one, else: many}}", json!("many")),
        ] {
            assert_eq!(filled(text), value, "{text}");
        }
    }

    #[test]
    fn texts_that_do_not_look_like_placeholders_stay() {
        for text in ["{{", "{{}}", "{{ # }}", "{{\"a\": 1}}", "{{A}}", "{{a\n}}", "{{ two words }}", "{{permission}}"] {
            assert_eq!(filled(text), json!(text));
        }
        assert_eq!(filled("{{{reply}} {{prompt}}"), json!("{Rivers P{{reply}}"));
    }

    #[test]
    fn a_wrong_template_gets_one_sentence() {
        for (text, sentence) in [
            (
                "{{imput.text}}",
                "{{imput.text}} names no value; the values are reply, prompt, permission, delegated, input.NAME, parameter.NAME \
                 and file.SLOT",
            ),
            (
                "{{input}}",
                "{{input}} names no value; the values are reply, prompt, permission, delegated, input.NAME, parameter.NAME and \
                 file.SLOT",
            ),
            (
                "{{input.text | wordz}}",
                "{{input.text | wordz}} names no function; the functions are words, longest_word, rows, columns, \
                 column_table and choose",
            ),
            (
                "{{input.text | words 3}}",
                "{{input.text | words 3}} names no function; the functions are words, longest_word, rows, columns, \
                 column_table and choose",
            ),
            (
                "{{reply | choose}}",
                "{{reply | choose}} needs pairs after choose, for example choose red: warm, else: cold",
            ),
            (
                "{{reply | choose red}}",
                "{{reply | choose red}} needs pairs after choose, for example choose red: warm, else: cold",
            ),
            ("{{input.other}}", "{{input.other}} has no value in this run; give it with --input other=VALUE"),
            ("{{parameter.other}}", "{{parameter.other}} has no value in this run; give it with --param other=VALUE"),
            ("{{file.other | rows}}", "{{file.other | rows}} has no value in this run; give it with --file other=PATH"),
            ("{{file.big | rows}}", "{{file.big | rows}} needs the content of a file, which is larger than 7 bytes"),
            ("{{reply | choose a: b}}", "{{reply | choose a: b}} has no choice for \"Rivers\", and no else"),
        ] {
            assert_eq!(refused(text), sentence, "{text}");
        }
    }
}
