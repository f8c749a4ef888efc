//! Reads TOML key by key, so that every error has a line and the name of the key.
//!
//! A derived reader would report less: it knows neither what was probably meant nor, once the types are right, the
//! position of a value that turns out to be unusable.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::LoadErrorKind;
use skillrun_base::suggest::closest;

/// What is wrong, and where in the text.
#[derive(Debug)]
pub(crate) struct KeyProblem {
    pub(crate) at: Option<usize>,
    pub(crate) key: Option<String>,
    pub(crate) kind: LoadErrorKind,
}

pub(crate) type KeyResult<T> = std::result::Result<T, KeyProblem>;

/// A table and the keys it may have.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    /// Empty for the whole file.
    key: String,
    at: usize,
    table: &'a DeTable<'a>,
}

/// A value and its position.
#[derive(Debug, Clone)]
pub(crate) struct Value<'a> {
    pub(crate) key: String,
    at: usize,
    value: &'a DeValue<'a>,
}

/// The number of the line, from 1, that contains a byte.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The whole file.
pub(crate) fn parse(text: &str) -> KeyResult<Spanned<DeTable<'_>>> {
    DeTable::parse(text).map_err(|error| {
        // The parser has hints of several lines for people in front of an editor; one sentence is enough here.
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        KeyProblem {
            at: error.span().map(|Range { start, .. }| start),
            key: None,
            kind: LoadErrorKind::Syntax(message),
        }
    })
}

impl<'a> Section<'a> {
    pub(crate) fn root(table: &'a DeTable<'a>, known: &[&str]) -> KeyResult<Self> {
        Self { key: String::new(), at: 0, table }.with_known(known)
    }

    fn with_known(self, known: &[&str]) -> KeyResult<Self> {
        // In the order of the text, so that the first mistake is reported first.
        let mut keys: Vec<_> = self.table.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        match keys.into_iter().find(|key| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(self),
            Some(key) => Err(KeyProblem {
                at: Some(key.span().start),
                key: Some(self.key_of(key.get_ref())),
                kind: LoadErrorKind::UnknownKey {
                    suggestion: closest(key.get_ref(), known.iter().copied()).map(str::to_owned),
                    known: known.iter().map(|&key| key.to_owned()).collect(),
                },
            }),
        }
    }

    fn key_of(&self, key: &str) -> String {
        if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Value<'a>> {
        let (_, value) = self.table.iter().find(|(name, _)| name.get_ref().as_ref() == key)?;
        Some(Value { key: self.key_of(key), at: value.span().start, value: value.get_ref() })
    }

    pub(crate) fn required(&self, key: &str) -> KeyResult<Value<'a>> {
        self.get(key).ok_or_else(|| self.missing(key))
    }

    pub(crate) fn missing(&self, key: &str) -> KeyProblem {
        KeyProblem { at: Some(self.at), key: Some(self.key_of(key)), kind: LoadErrorKind::Missing }
    }

    /// The strings of a key that may be left out.
    pub(crate) fn strings(&self, key: &str) -> KeyResult<Vec<(String, Value<'a>)>> {
        self.get(key).map_or_else(|| Ok(Vec::new()), |value| value.strings())
    }

    pub(crate) fn plain_strings(&self, key: &str) -> KeyResult<Vec<String>> {
        Ok(self.strings(key)?.into_iter().map(|(text, _)| text).collect())
    }

    pub(crate) fn string(&self, key: &str) -> KeyResult<Option<String>> {
        self.get(key).map(|value| value.string()).transpose()
    }
}

impl<'a> Value<'a> {
    pub(crate) fn problem(&self, kind: LoadErrorKind) -> KeyProblem {
        KeyProblem { at: Some(self.at), key: Some(self.key.clone()), kind }
    }

    pub(crate) fn unusable(&self, message: impl Into<String>) -> KeyProblem {
        self.problem(LoadErrorKind::Unusable(message.into()))
    }

    fn wrong_type(&self, expected: &'static str) -> KeyProblem {
        let found = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.problem(LoadErrorKind::WrongType { expected, found })
    }

    pub(crate) fn is_list(&self) -> bool {
        self.value.is_array()
    }

    pub(crate) fn string_or(&self, expected: &'static str) -> KeyResult<String> {
        self.value.as_str().map(str::to_owned).ok_or_else(|| self.wrong_type(expected))
    }

    pub(crate) fn string(&self) -> KeyResult<String> {
        self.string_or("a string")
    }

    /// A string that is not blank.
    pub(crate) fn text(&self) -> KeyResult<String> {
        let text = self.string()?;
        if text.trim().is_empty() { Err(self.unusable("is empty")) } else { Ok(text) }
    }

    pub(crate) fn number(&self) -> KeyResult<u64> {
        let number = self.value.as_integer().ok_or_else(|| self.wrong_type("an integer"))?;
        let parsed = u64::from_str_radix(number.as_str(), number.radix());
        parsed.map_err(|_| self.unusable(format!("{number} is out of range")))
    }

    pub(crate) fn list(&self) -> KeyResult<Vec<Value<'a>>> {
        let array = self.value.as_array().ok_or_else(|| self.wrong_type("a list"))?;
        let element = |value: &'a Spanned<DeValue<'a>>| Value {
            key: self.key.clone(),
            at: value.span().start,
            value: value.get_ref(),
        };
        Ok(array.iter().map(element).collect())
    }

    pub(crate) fn strings(&self) -> KeyResult<Vec<(String, Value<'a>)>> {
        self.list()?.into_iter().map(|value| Ok((value.string()?, value))).collect()
    }

    pub(crate) fn section(&self, known: &[&str]) -> KeyResult<Section<'a>> {
        self.table()?.with_known(known)
    }

    /// The values of a table whose keys are free, in the order of the text.
    pub(crate) fn entries(&self) -> KeyResult<Vec<(String, Value<'a>)>> {
        let section = self.table()?;
        let mut entries: Vec<_> = section.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&'a Spanned<_>, &'a Spanned<DeValue<'a>>)| {
            let key: &std::borrow::Cow<'a, str> = key.get_ref();
            let value = Value { key: section.key_of(key), at: value.span().start, value: value.get_ref() };
            (key.clone().into_owned(), value)
        };
        Ok(entries.into_iter().map(entry).collect())
    }

    fn table(&self) -> KeyResult<Section<'a>> {
        let table = self.value.as_table().ok_or_else(|| self.wrong_type("a table"))?;
        Ok(Section { key: self.key.clone(), at: self.at, table })
    }

    /// One of a closed list of words.
    pub(crate) fn one_of<T: Copy>(&self, all: &[T], word: impl Fn(T) -> &'static str) -> KeyResult<T> {
        let given = self.string()?;
        all.iter().copied().find(|choice| word(*choice) == given).ok_or_else(|| {
            let words: Vec<_> = all.iter().map(|choice| word(*choice)).collect();
            self.problem(LoadErrorKind::UnknownWord {
                suggestion: closest(&given, words.iter().copied()).map(str::to_owned),
                known: words.into_iter().map(str::to_owned).collect(),
                given,
            })
        })
    }
}
