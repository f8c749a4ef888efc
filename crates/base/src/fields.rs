//! Reads the fields of a file one by one: TOML with positions, and JSON or YAML as JSON values.
//!
//! A derived reader would report less: it knows neither what was probably meant nor, once the types are right, the
//! position of a value that turns out to be unusable. Here every error has the name of its key and, in TOML, its
//! position; unknown keys and words come with a suggestion.
//!
//! `K` is the kind of error of the file that is read. It includes the problems that are found here.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::suggest::{closest, hint};

/// Longest text that an error message quotes.
const SHOWN_MAX: usize = 40;

/// What is wrong, and where in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError<K> {
    pub at: Option<usize>,
    pub key: Option<String>,
    pub problem: K,
}

/// What can be wrong with a field of any file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldProblem {
    #[error("is not {format}: {message}")]
    Syntax { format: &'static str, message: String },
    #[error("there is no such key{}", hint(suggestion.as_deref(), known))]
    UnknownKey { suggestion: Option<String>, known: Vec<String> },
    #[error("must be {expected}, and is {found}")]
    Wrong { expected: Cow<'static, str>, found: Cow<'static, str> },
    #[error("is missing")]
    Missing,
    #[error("\"{given}\" is not known here{}", hint(suggestion.as_deref(), known))]
    UnknownWord { given: String, suggestion: Option<String>, known: Vec<String> },
    #[error("{0}")]
    Unusable(String),
}

/// A value of one of the formats.
#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    Toml(&'a DeValue<'a>),
    Json(&'a Value),
}

/// A value, its key and its position.
#[derive(Debug)]
pub struct Field<'a, K> {
    /// With the tables that contain it, such as `slots.total`; empty for the whole file.
    pub key: String,
    at: Option<usize>,
    source: Source<'a>,
    kind: PhantomData<fn() -> K>,
}

/// A table, and the fields in it.
#[derive(Debug)]
pub struct Section<'a, K> {
    key: String,
    at: Option<usize>,
    /// In the order of the text, so that the first mistake is reported first.
    fields: Vec<(&'a str, Option<usize>, Field<'a, K>)>,
}

/// The number of the line, from 1, that contains a byte.
pub fn line_of(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// A whole file of TOML; see [`Section::toml`].
pub fn parse_toml<K: From<FieldProblem>>(text: &str) -> Result<Spanned<DeTable<'_>>, FieldError<K>> {
    DeTable::parse(text).map_err(|error| {
        // The parser has hints of several lines for people in front of an editor; one sentence is enough here.
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        let at = error.span().map(|Range { start, .. }| start);
        FieldError { at, key: None, problem: FieldProblem::Syntax { format: "TOML", message }.into() }
    })
}

impl<'a, K: From<FieldProblem>> Section<'a, K> {
    /// The whole of a TOML file.
    pub fn toml(table: &'a DeTable<'a>) -> Self {
        Self::of_table(String::new(), Some(0), table)
    }

    fn of_table(key: String, at: Option<usize>, table: &'a DeTable<'a>) -> Self {
        let field = |(name, value): (&'a Spanned<Cow<'a, str>>, &'a Spanned<DeValue<'a>>)| {
            let source = Source::Toml(value.get_ref());
            let field = Field::new(joined(&key, name.get_ref()), Some(value.span().start), source);
            (name.get_ref().as_ref(), Some(name.span().start), field)
        };
        let mut fields: Vec<_> = table.iter().map(field).collect();
        fields.sort_by_key(|(_, at, _)| *at);
        Self { key, at, fields }
    }

    /// Fails if there is another key than these.
    pub fn with_known(self, known: &[&str]) -> Result<Self, FieldError<K>> {
        match self.fields.iter().find(|(name, _, _)| !known.contains(name)) {
            None => Ok(self),
            Some((name, at, field)) => Err(FieldError {
                at: *at,
                key: Some(field.key.clone()),
                problem: K::from(FieldProblem::UnknownKey {
                    suggestion: closest(name, known.iter().copied()).map(str::to_owned),
                    known: known.iter().map(|&key| key.to_owned()).collect(),
                }),
            }),
        }
    }

    /// All fields with their names, and the positions of the names.
    pub fn into_fields(self) -> Vec<(&'a str, Option<usize>, Field<'a, K>)> {
        self.fields
    }

    /// None if the field is left out; `null` is how some write that in JSON and YAML.
    pub fn get(&self, name: &str) -> Option<Field<'a, K>> {
        let (_, _, field) = self.fields.iter().find(|(known, _, _)| *known == name)?;
        (!matches!(field.source, Source::Json(Value::Null))).then(|| field.clone())
    }

    pub fn required(&self, name: &str) -> Result<Field<'a, K>, FieldError<K>> {
        self.get(name).ok_or_else(|| self.missing(name))
    }

    pub fn missing(&self, name: &str) -> FieldError<K> {
        FieldError { at: self.at, key: Some(joined(&self.key, name)), problem: FieldProblem::Missing.into() }
    }

    /// The strings of a key that may be left out.
    pub fn strings(&self, name: &str) -> Result<Vec<(String, Field<'a, K>)>, FieldError<K>> {
        self.get(name).map_or_else(|| Ok(Vec::new()), |field| field.strings())
    }

    pub fn plain_strings(&self, name: &str) -> Result<Vec<String>, FieldError<K>> {
        Ok(self.strings(name)?.into_iter().map(|(text, _)| text).collect())
    }

    pub fn string(&self, name: &str) -> Result<Option<String>, FieldError<K>> {
        self.get(name).map(|field| field.string()).transpose()
    }
}

fn joined(key: &str, name: &str) -> String {
    if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") }
}

impl<K> Clone for Field<'_, K> {
    fn clone(&self) -> Self {
        Self { key: self.key.clone(), at: self.at, source: self.source, kind: PhantomData }
    }
}

impl<'a, K: From<FieldProblem>> Field<'a, K> {
    /// The whole of a JSON or YAML file.
    pub fn json(value: &'a Value) -> Self {
        Self::new(String::new(), None, Source::Json(value))
    }

    fn new(key: String, at: Option<usize>, source: Source<'a>) -> Self {
        Self { key, at, source, kind: PhantomData }
    }

    /// The same value under another key.
    pub fn with_key(self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self }
    }

    pub fn problem(&self, problem: K) -> FieldError<K> {
        let key = Some(self.key.clone()).filter(|key| !key.is_empty());
        FieldError { at: self.at, key, problem }
    }

    pub fn unusable(&self, message: impl Into<String>) -> FieldError<K> {
        self.problem(FieldProblem::Unusable(message.into()).into())
    }

    /// The value is of another type than expected.
    pub fn wrong_type(&self, expected: impl Into<Cow<'static, str>>) -> FieldError<K> {
        self.problem(FieldProblem::Wrong { expected: expected.into(), found: self.type_name().into() }.into())
    }

    /// The value is another one than expected; the message quotes it.
    pub fn wrong(&self, expected: impl Into<Cow<'static, str>>) -> FieldError<K> {
        self.problem(FieldProblem::Wrong { expected: expected.into(), found: self.shown().into() }.into())
    }

    fn type_name(&self) -> &'static str {
        match self.source {
            Source::Toml(DeValue::String(_)) | Source::Json(Value::String(_)) => "a string",
            Source::Toml(DeValue::Integer(_)) => "an integer",
            Source::Toml(DeValue::Float(_)) => "a float",
            Source::Json(Value::Number(_)) => "a number",
            Source::Toml(DeValue::Boolean(_)) | Source::Json(Value::Bool(_)) => "a boolean",
            Source::Toml(DeValue::Datetime(_)) => "a date",
            Source::Toml(DeValue::Array(_)) | Source::Json(Value::Array(_)) => "a list",
            Source::Toml(DeValue::Table(_)) => "a table",
            Source::Json(Value::Object(_)) => "a mapping",
            Source::Json(Value::Null) => "empty",
        }
    }

    /// The value as an error message quotes it.
    pub fn shown(&self) -> String {
        match self.source {
            Source::Toml(DeValue::String(text)) => quoted(text),
            Source::Json(Value::String(text)) => quoted(text),
            Source::Toml(DeValue::Integer(number)) => number.to_string(),
            Source::Toml(DeValue::Float(number)) => number.to_string(),
            Source::Toml(DeValue::Boolean(flag)) => flag.to_string(),
            Source::Json(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            Source::Toml(DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_))
            | Source::Json(Value::Null | Value::Array(_) | Value::Object(_)) => self.type_name().to_owned(),
        }
    }

    /// The JSON value; none in a TOML file.
    pub fn value(&self) -> Option<&'a Value> {
        match self.source {
            Source::Json(value) => Some(value),
            Source::Toml(_) => None,
        }
    }

    pub fn is_list(&self) -> bool {
        match self.source {
            Source::Toml(value) => value.is_array(),
            Source::Json(value) => value.is_array(),
        }
    }

    pub fn as_str(&self) -> Option<&'a str> {
        match self.source {
            Source::Toml(value) => value.as_str(),
            Source::Json(value) => value.as_str(),
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self.source {
            Source::Toml(value) => value.as_bool(),
            Source::Json(value) => value.as_bool(),
        }
    }

    pub fn as_integer(&self) -> Option<i64> {
        match self.source {
            Source::Toml(value) => {
                value.as_integer().and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok())
            }
            Source::Json(value) => value.as_i64(),
        }
    }

    /// A number, whole or not.
    pub fn as_number(&self) -> Option<f64> {
        match self.source {
            Source::Toml(DeValue::Float(number)) => number.as_str().parse().ok(),
            Source::Toml(_) =>
            {
                #[expect(clippy::cast_precision_loss, reason = "numbers of seconds, days and bytes are below 2^53")]
                self.as_integer().map(|number| number as f64)
            }
            Source::Json(value) => value.as_f64(),
        }
    }

    pub fn string_or(&self, expected: &'static str) -> Result<String, FieldError<K>> {
        self.as_str().map(str::to_owned).ok_or_else(|| self.wrong_type(expected))
    }

    pub fn string(&self) -> Result<String, FieldError<K>> {
        self.string_or("a string")
    }

    /// A string that is not blank.
    pub fn text(&self) -> Result<String, FieldError<K>> {
        let text = self.string()?;
        if text.trim().is_empty() { Err(self.unusable("is empty")) } else { Ok(text) }
    }

    pub fn number(&self) -> Result<u64, FieldError<K>> {
        let (is_number, number) = match self.source {
            Source::Toml(value) => {
                let number = value.as_integer();
                (number.is_some(), number.and_then(|it| u64::from_str_radix(it.as_str(), it.radix()).ok()))
            }
            Source::Json(value) => (value.is_number(), value.as_u64()),
        };
        match number {
            Some(number) => Ok(number),
            None if is_number => Err(self.unusable(format!("{} is out of range", self.shown()))),
            None => Err(self.wrong_type("an integer")),
        }
    }

    /// The elements of a list. They have the key of the list.
    pub fn list_or(&self, expected: &'static str) -> Result<Vec<Self>, FieldError<K>> {
        let element = |at, source| Self::new(self.key.clone(), at, source);
        match self.source {
            Source::Toml(DeValue::Array(list)) => {
                Ok(list.iter().map(|value| element(Some(value.span().start), Source::Toml(value.get_ref()))).collect())
            }
            Source::Json(Value::Array(list)) => {
                Ok(list.iter().map(|value| element(None, Source::Json(value))).collect())
            }
            Source::Toml(_) | Source::Json(_) => Err(self.wrong_type(expected)),
        }
    }

    pub fn list(&self) -> Result<Vec<Self>, FieldError<K>> {
        self.list_or("a list")
    }

    pub fn strings(&self) -> Result<Vec<(String, Self)>, FieldError<K>> {
        self.list()?.into_iter().map(|field| Ok((field.string()?, field))).collect()
    }

    /// A table with only these keys.
    pub fn section(&self, known: &[&str]) -> Result<Section<'a, K>, FieldError<K>> {
        self.table()?.with_known(known)
    }

    /// The values of a table whose keys are free, in the order of the text.
    pub fn entries(&self) -> Result<Vec<(String, Self)>, FieldError<K>> {
        let fields = self.table()?.fields;
        Ok(fields.into_iter().map(|(name, _, field)| (name.to_owned(), field)).collect())
    }

    pub fn table(&self) -> Result<Section<'a, K>, FieldError<K>> {
        match self.source {
            Source::Toml(_) => self.table_or("a table"),
            Source::Json(_) => self.table_or("a mapping"),
        }
    }

    pub fn table_or(&self, expected: &'static str) -> Result<Section<'a, K>, FieldError<K>> {
        match self.source {
            Source::Toml(DeValue::Table(table)) => Ok(Section::of_table(self.key.clone(), self.at, table)),
            Source::Json(Value::Object(map)) => {
                let field = |(name, value): (&'a String, &'a Value)| {
                    (name.as_str(), None, Self::new(joined(&self.key, name), None, Source::Json(value)))
                };
                let fields = map.iter().map(field).collect();
                Ok(Section { key: self.key.clone(), at: None, fields })
            }
            Source::Toml(_) | Source::Json(_) => Err(self.wrong_type(expected)),
        }
    }

    /// One of a closed list of words.
    pub fn one_of<T: Copy>(&self, all: &[T], word: impl Fn(T) -> &'static str) -> Result<T, FieldError<K>> {
        let given = self.string()?;
        all.iter().copied().find(|choice| word(*choice) == given).ok_or_else(|| {
            let words: Vec<_> = all.iter().map(|choice| word(*choice)).collect();
            let problem = FieldProblem::UnknownWord {
                suggestion: closest(&given, words.iter().copied()).map(str::to_owned),
                known: words.into_iter().map(str::to_owned).collect(),
                given,
            };
            self.problem(problem.into())
        })
    }
}

fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN_MAX).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("\"{}{more}\"", cut.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    type Problem = FieldError<FieldProblem>;

    /// The key, the line and the message of an error.
    fn said(text: &str, error: Problem) -> (String, Option<usize>, String) {
        let line = error.at.map(|at| line_of(text, at));
        (error.key.unwrap_or_default(), line, error.problem.to_string())
    }

    const TEXT: &str = "name = 'x'\n[slots]\ntotal = 3\nlist = ['a', 4]\nrate = 0.5\nis_on = true\nlarge = -1\n";

    #[test]
    fn values_are_read_from_toml_and_json_alike() {
        let table = parse_toml::<FieldProblem>(TEXT).expect("it is TOML");
        let value = json!({
            "name": "x",
            "slots": {"total": 3, "list": ["a", 4], "rate": 0.5, "is_on": true, "large": -1, "none": null},
        });
        let root = Section::<FieldProblem>::toml(table.get_ref());
        for root in [root, Field::json(&value).table().expect("a table")] {
            let root = root.with_known(&["name", "slots"]).expect("both are known");
            assert_eq!(root.required("name").expect("it is there").text(), Ok("x".to_owned()));
            let slots = root.required("slots").expect("it is there");
            let slots = slots.section(&["total", "list", "rate", "is_on", "large", "none"]).expect("all are known");
            let get = |name: &str| slots.get(name).expect("it is there");
            assert_eq!((get("total").number(), get("total").as_number()), (Ok(3), Some(3.0)));
            assert_eq!((get("rate").as_number(), get("rate").as_integer()), (Some(0.5), None));
            assert_eq!((get("is_on").as_bool(), get("large").as_integer()), (Some(true), Some(-1)));
            assert!(get("list").is_list() && get("list").list().expect("a list").len() == 2);
            assert!(slots.get("none").is_none() && slots.plain_strings("none") == Ok(Vec::new()));
        }
    }

    #[test]
    fn every_error_names_its_key_and_line() {
        let table = parse_toml::<FieldProblem>(TEXT).expect("it is TOML");
        let root = || Section::<FieldProblem>::toml(table.get_ref());
        let slots = root().get("slots").expect("it is there");
        let section = slots.table().expect("a table");
        let get = |name: &str| section.get(name).expect("it is there");
        let of = |error: Problem| said(TEXT, error);
        let words = ["slow", "fast"];
        let cases: Vec<(Problem, &str, Option<usize>, &str)> = vec![
            (
                root().with_known(&["nme", "slots"]).unwrap_err(),
                "name",
                Some(1),
                "there is no such key; did you mean \"nme\"?",
            ),
            (slots.section(&["b"]).unwrap_err(), "slots.total", Some(3), "there is no such key; the known ones are: b"),
            (get("total").string().unwrap_err(), "slots.total", Some(3), "must be a string, and is an integer"),
            (get("total").wrong("above 5"), "slots.total", Some(3), "must be above 5, and is 3"),
            (get("list").strings().unwrap_err(), "slots.list", Some(4), "must be a string, and is an integer"),
            (get("large").number().unwrap_err(), "slots.large", Some(7), "-1 is out of range"),
            (section.required("more").unwrap_err(), "slots.more", Some(2), "is missing"),
            (
                root().get("name").expect("it is there").one_of(&words, |word| word).unwrap_err(),
                "name",
                Some(1),
                "\"x\" is not known here; the known ones are: slow, fast",
            ),
        ];
        for (error, key, line, message) in cases {
            assert_eq!(of(error), (key.to_owned(), line, message.to_owned()));
        }
        let text = "a = 1\nb = [";
        let (key, line, message) = said(text, parse_toml::<FieldProblem>(text).unwrap_err());
        assert_eq!((key.as_str(), line), ("", Some(2)));
        assert!(message.starts_with("is not TOML: ") && !message.contains('\n'), "{message}");
    }

    #[test]
    fn a_quoted_value_is_short_and_has_no_control_characters() {
        let long = json!("\u{1b}".repeat(100));
        let shown = Field::<FieldProblem>::json(&long).shown();
        assert!(shown.ends_with("…\"") && !shown.contains('\u{1b}') && shown.len() < 400, "{shown}");
    }
}
