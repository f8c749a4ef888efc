//! A TOML value, and the types it can be read as. Every error names the key and what the value must be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillrun_base::fields::{Field, FieldError};
use skillrun_evidence::Patterns;

use super::error::SettingProblem;

const DAY: f64 = 24.0 * 60.0 * 60.0;
const GB: f64 = 1e9;
/// Instead of a number of days.
pub(super) const FOREVER: &str = "forever";

/// What is wrong, and where in the text.
pub(super) type Located = FieldError<SettingProblem>;

type SettingResult<T> = std::result::Result<T, Located>;

/// The folders that relative paths start at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base<'a> {
    pub(super) folder: &'a Path,
    /// What `~/` stands for.
    pub(super) home: Option<&'a Path>,
}

#[derive(Debug, Clone)]
pub(super) struct Given<'a> {
    pub(super) field: Field<'a, SettingProblem>,
    pub(super) base: Base<'a>,
}

impl Given<'_> {
    pub(super) fn wrong(&self, expected: impl Into<String>) -> Located {
        wrong(&self.field, expected, self.field.shown())
    }

    pub(super) fn text(&self) -> SettingResult<String> {
        let text = self.field.as_str().filter(|text| is_text(text)).map(str::to_owned);
        text.ok_or_else(|| self.wrong("a single-line string that is not empty"))
    }

    pub(super) fn texts(&self) -> SettingResult<Vec<String>> {
        self.list("a list of single-line strings that are not empty", |text| is_text(text).then(|| text.to_owned()))
    }

    /// Regular expressions that compile.
    pub(super) fn patterns(&self) -> SettingResult<Vec<String>> {
        let texts = self.texts()?;
        let bad = |error| self.field.problem(SettingProblem::Pattern { key: self.field.key.clone(), error });
        Patterns::new(&texts).map_err(bad)?;
        Ok(texts)
    }

    pub(super) fn path(&self) -> SettingResult<PathBuf> {
        let path = self.field.as_str().and_then(|text| self.base.path(text));
        path.ok_or_else(|| self.wrong(self.base.expected("a path")))
    }

    pub(super) fn paths(&self) -> SettingResult<Vec<PathBuf>> {
        self.list(&self.base.expected("a list of paths"), |text| self.base.path(text))
    }

    pub(super) fn list<T>(&self, expected: &str, read: impl Fn(&str) -> Option<T>) -> SettingResult<Vec<T>> {
        let list = self.field.list().map_err(|_| self.wrong(expected))?;
        let one = |field: &Field<'_, SettingProblem>| {
            let read = field.as_str().and_then(&read);
            read.ok_or_else(|| wrong(field, expected, format!("a list that contains {}", field.shown())))
        };
        list.iter().map(one).collect()
    }

    pub(super) fn word<T: Copy>(&self, all: &[T], word: fn(T) -> &'static str) -> SettingResult<T> {
        let given = self.field.as_str();
        all.iter().copied().find(|choice| Some(word(*choice)) == given).ok_or_else(|| {
            let words: Vec<_> = all.iter().map(|choice| format!("\"{}\"", word(*choice))).collect();
            self.wrong(words.join(" or "))
        })
    }

    pub(super) fn flag(&self) -> SettingResult<bool> {
        self.field.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    pub(super) fn count(&self, from: u32) -> SettingResult<u32> {
        let count = self.field.as_integer().and_then(|number| u32::try_from(number).ok());
        count.filter(|count| *count >= from).ok_or_else(|| self.wrong(format!("a whole number from {from}")))
    }

    pub(super) fn seconds(&self) -> SettingResult<Duration> {
        let seconds = self.field.as_number().and_then(|number| Duration::try_from_secs_f64(number).ok());
        seconds.filter(|time| !time.is_zero()).ok_or_else(|| self.wrong("a number of seconds above 0"))
    }

    /// None: forever.
    pub(super) fn days(&self) -> SettingResult<Option<Duration>> {
        if self.field.as_str() == Some(FOREVER) {
            return Ok(None);
        }
        let days = self.field.as_number().and_then(|number| Duration::try_from_secs_f64(number * DAY).ok());
        days.map(Some).ok_or_else(|| self.wrong(format!("a number of days from 0, or \"{FOREVER}\"")))
    }

    /// As bytes.
    pub(super) fn gigabytes(&self) -> SettingResult<u64> {
        let bytes = self.field.as_number().map(|number| number * GB).filter(|bytes| *bytes >= 1.0 && *bytes < 1e18);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked in the line before")]
        let bytes = bytes.map(|bytes| bytes as u64);
        bytes.ok_or_else(|| self.wrong("a number of gigabytes above 0"))
    }

    /// Bytes as a text with a unit, or as a number.
    pub(super) fn size(&self) -> SettingResult<u64> {
        let wrong = || self.wrong("a size above 0 such as \"512M\" or \"2G\"");
        match self.field.as_str() {
            Some(text) => skillrun_base::amounts::size(text).map_err(|_| wrong()),
            None => {
                let bytes = self.field.as_integer().and_then(|bytes| u64::try_from(bytes).ok());
                bytes.filter(|bytes| *bytes > 0).ok_or_else(wrong)
            }
        }
    }

    pub(super) fn per_engine(&self) -> SettingResult<BTreeMap<String, usize>> {
        let entries = self.field.entries().map_err(|_| self.wrong("a table with one number per engine"))?;
        let count = |field| Given { field, base: self.base }.count(1);
        entries.into_iter().map(|(engine, field)| Ok((engine, count(field)? as usize))).collect()
    }
}

impl Base<'_> {
    fn expected(&self, what: &str) -> String {
        match self.home {
            Some(_) => what.to_owned(),
            None => format!("{what} without ~, because HOME is not set"),
        }
    }

    /// Absolute. None: not a path, or a path in the home folder while HOME is not set.
    fn path(&self, text: &str) -> Option<PathBuf> {
        if !is_text(text) {
            return None;
        }
        let path = match text.strip_prefix('~') {
            Some("") => self.home?.to_owned(),
            Some(rest) if rest.starts_with('/') => self.home?.join(rest.trim_start_matches('/')),
            Some(_) | None => self.folder.join(text),
        };
        std::path::absolute(path).ok()
    }
}

pub(super) fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(char::is_control)
}

pub(super) fn wrong(
    field: &Field<'_, SettingProblem>,
    expected: impl Into<String>,
    found: impl Into<String>,
) -> Located {
    let (expected, found) = (expected.into(), found.into());
    field.problem(SettingProblem::Wrong { key: field.key.clone(), expected, found })
}
