//! Changes the settings file and leaves everything else in it as it is: comments, order, spaces.
//!
//! The new text is checked as a whole before it is written, so that a command never leaves an unreadable file.

use std::fs;
use std::path::PathBuf;

use skillrun_base::fields::{Section, parse_toml};
use skillrun_base::whole_file;
use skillrun_engine::GetError;
use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::error::{SettingProblem, SettingsError};
use super::file::ConfigFile;
use super::given::{Base, Given, Located};
use super::key::{Address, Key, Shape};
use super::surroundings::ProcessContext;
use super::{SettingOptions, SettingSource, Settings};

/// A change that was checked and is not written yet.
#[derive(Debug)]
pub struct Edit {
    text: String,
    /// As they will be.
    settings: Settings,
}

/// The edit that sets a value.
pub fn set(
    options: impl Into<SettingOptions>,
    surroundings: ProcessContext,
    address: &Address,
    words: &[String],
) -> Result<Edit, SettingsError> {
    let options = options.into();
    let file = ConfigFile::locate(&options, &surroundings)?;
    let value = value(address, words, &surroundings).map_err(SettingsError::Value)?;
    check(address, &value, &surroundings, &file)?;
    let text = file.text_to_edit()?;
    let mut document = file.parse(&text)?.into_mut();
    put(&mut document, address, value).map_err(SettingsError::Value)?;
    Edit::new(&options, surroundings, file, document.to_string())
}

/// The edit that removes a setting from the file.
pub fn unset(
    options: impl Into<SettingOptions>,
    surroundings: ProcessContext,
    address: &Address,
) -> Result<Edit, SettingsError> {
    let options = options.into();
    let file = ConfigFile::locate(&options, &surroundings)?;
    let text = file.text_to_edit()?;
    let document = file.parse(&text)?;
    let text = without(&text, document, address)
        .ok_or_else(|| SettingsError::NotSet { key: address.to_string(), path: file.path.clone() })?;
    Edit::new(&options, surroundings, file, text)
}

impl Edit {
    fn new(
        options: &SettingOptions,
        surroundings: ProcessContext,
        file: ConfigFile,
        text: String,
    ) -> Result<Self, SettingsError> {
        let settings = Settings::with_text(options, surroundings, file, &text)?;
        Ok(Self { text, settings })
    }

    /// Fails when the setting names an engine that does not exist.
    pub fn check_engines(&self, address: &Address) -> Result<(), GetError> {
        let settings = &self.settings;
        let default = settings.engine.iter().filter(|_| address.key == Key::Engine);
        let consented = settings.consent.iter().filter(|_| address.key == Key::Consent);
        // The checks of a skill, which may be installed later.
        let consented = consented.filter(|name| !name.starts_with(skillrun_runtime::consent::CHECKS));
        let engines = settings.engines();
        default.chain(consented).chain(&address.engine).try_for_each(|name| match engines.get(name) {
            Err(error @ GetError::Unknown { .. }) => Err(error),
            // An engine with an invalid file exists, and the file may be corrected later.
            Ok(_) | Err(GetError::Broken { .. }) => Ok(()),
        })
    }

    /// Writes the file and returns its path.
    pub fn write(&self) -> Result<PathBuf, SettingsError> {
        let path = &self.settings.file.path;
        let failed = |error| SettingsError::Write { path: path.clone(), error };
        // Symbolic links are followed, because users keep their settings elsewhere and link to them.
        let target = path.canonicalize().unwrap_or_else(|_| path.clone());
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        whole_file::replace(&target, self.text.as_bytes()).map_err(failed)?;
        Ok(path.clone())
    }

    /// Where the value of the setting comes from, once this is written.
    pub fn source(&self, key: Key) -> SettingSource {
        self.settings.source(key)
    }
}

/// Checks the value alone, so that an error is about the given value and not about a line of the file.
fn check(
    address: &Address,
    value: &Value,
    surroundings: &ProcessContext,
    file: &ConfigFile,
) -> Result<(), SettingsError> {
    let value = match &address.engine {
        None => value.clone(),
        Some(engine) => Value::InlineTable(InlineTable::from_iter([(engine, value.clone())])),
    };
    let text = Table::from_iter([("value", value)]).to_string();
    let base = Base { folder: file.folder(), home: surroundings.home() };
    let mut scratch = Settings::defaults(surroundings.clone(), file.clone());
    let checked = parse_toml(&text).and_then(|table| {
        let field = Section::toml(table.get_ref()).required("value")?.with_key(address.key.as_str());
        scratch.set(address.key, &Given { field, base })
    });
    checked.map_err(|Located { problem, .. }| SettingsError::Value(problem))
}

fn value(address: &Address, words: &[String], surroundings: &ProcessContext) -> Result<Value, SettingProblem> {
    let list = |texts: Vec<String>| Value::Array(Array::from_iter(texts));
    let path = |word: &String| path_text(word, surroundings);
    match address.key.shape() {
        Shape::Texts => Ok(list(words.to_vec())),
        Shape::Paths => Ok(list(words.iter().map(path).collect())),
        Shape::Path => one(address, words).map(|word| path(word).into()),
        Shape::Text => one(address, words).map(|word| word.into()),
        Shape::Number | Shape::Flag => one(address, words).map(|word| scalar(word)),
        Shape::PerEngine if address.engine.is_some() => one(address, words).map(|word| scalar(word)),
        Shape::PerEngine => Err(SettingProblem::Wrong {
            key: address.to_string(),
            expected: format!("set for one engine at a time, such as {address}.codex"),
            found: "given for all".to_owned(),
        }),
    }
}

fn one<'a>(address: &Address, words: &'a [String]) -> Result<&'a String, SettingProblem> {
    match words {
        [word] => Ok(word),
        _ => Err(SettingProblem::Wrong {
            key: address.to_string(),
            expected: "one value".to_owned(),
            found: words.len().to_string(),
        }),
    }
}

/// A number or a boolean if the word is one; else a text, which the check rejects.
fn scalar(word: &str) -> Value {
    match word.parse::<Value>() {
        Ok(value @ (Value::Integer(_) | Value::Float(_) | Value::Boolean(_))) => value,
        Ok(Value::String(_) | Value::Datetime(_) | Value::Array(_) | Value::InlineTable(_)) | Err(_) => word.into(),
    }
}

/// A path as it has to be written in the file, where relative paths start at another folder.
fn path_text(word: &str, surroundings: &ProcessContext) -> String {
    if word.is_empty() || word == "~" || word.starts_with("~/") {
        return word.to_owned();
    }
    surroundings.absolute_path(word.as_ref()).to_string_lossy().into_owned()
}

/// The names of the nested tables that lead to a setting.
fn steps(address: &Address) -> (Vec<&str>, &str) {
    let mut names: Vec<&str> = address.key.as_str().split('.').chain(address.engine.as_deref()).collect();
    let last = names.pop().unwrap_or_default();
    (names, last)
}

fn put(document: &mut DocumentMut, address: &Address, mut value: Value) -> Result<(), SettingProblem> {
    let (tables, name) = steps(address);
    let is_empty = document.is_empty();
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for step in tables {
        let item = table.entry(step).or_insert_with(|| {
            let mut new = Table::new();
            new.decor_mut().set_prefix(if is_empty { "" } else { "\n" });
            // A table that contains only tables needs no line of its own.
            new.set_implicit(true);
            Item::Table(new)
        });
        table = item.as_table_like_mut().ok_or_else(|| SettingProblem::Wrong {
            key: step.to_owned(),
            expected: "a table".to_owned(),
            found: "not one".to_owned(),
        })?;
    }
    let Some(item) = table.get_mut(name) else {
        table.insert(name, Item::Value(value));
        return Ok(());
    };
    if let Some(old) = item.as_value() {
        // The comment at the end of the line.
        *value.decor_mut() = old.decor().clone();
    }
    // In its place: removing it and inserting it again would lose the comment above it.
    *item = Item::Value(value);
    Ok(())
}

/// None: it is not there.
fn without(text: &str, document: Document<String>, address: &Address) -> Option<String> {
    let (tables, name) = steps(address);
    let mut table: &dyn TableLike = document.as_table();
    let mut has_lines = true;
    for step in &tables {
        let item = table.get(step)?;
        has_lines &= item.is_table();
        table = item.as_table_like()?;
    }
    let (key, item) = table.get_key_value(name)?;
    let value = item.as_value().filter(|_| has_lines);
    let span = key.span().zip(value.and_then(Value::span)).map(|(key, value)| key.start..value.end);
    if let Some(span) = span {
        // Only its own lines are removed: the text above may be a comment about the whole file.
        let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at + 1);
        return Some([&text[..start], &text[end..]].concat());
    }
    let mut document = document.into_mut();
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for step in tables {
        table = table.get_mut(step)?.as_table_like_mut()?;
    }
    table.remove(name)?;
    Some(document.to_string())
}
