//! The settings file: where it is, and reading it key by key, so that every error names a line.

use std::path::{Path, PathBuf};

use skillrun_base::fields::{FieldProblem, Section, line_of, parse_toml};
use skillrun_base::files::{self, FileProblem, FileReadError};
use toml_edit::Document;

use super::error::{SettingProblem, SettingsError};
use super::given::{Base, Given, Located, wrong};
use super::key::{Key, UnknownKey};
use super::surroundings::ProcessContext;
use super::{SettingOptions, SettingSource, Settings};

/// Settings are a page of text.
const MAX_BYTES: u64 = 1 << 20;
/// Stands for no settings at all.
const NOTHING: &str = "/dev/null";
const VARIABLE: &str = "SKILLRUN_CONFIG";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Absolute.
    pub path: PathBuf,
    /// The option or variable that names it. None: it is at the default path and does not have to exist.
    named_by: Option<&'static str>,
}

impl ConfigFile {
    pub fn locate(options: impl Into<SettingOptions>, surroundings: &ProcessContext) -> Result<Self, SettingsError> {
        let options = options.into();
        let option = options.config.as_deref().map(|path| (path, "--config"));
        let variable = || surroundings.variable(VARIABLE).map(|value| (Path::new(value), VARIABLE));
        match option.or_else(variable) {
            Some((path, named_by)) => Ok(Self { path: surroundings.absolute_path(path), named_by: Some(named_by) }),
            None => Ok(Self { path: surroundings.default_config_file()?, named_by: None }),
        }
    }

    /// Empty if there is no file and none is required.
    pub(super) fn text(&self) -> Result<String, SettingsError> {
        match (self.text_if_there()?, self.named_by) {
            (Some(text), _) => Ok(text),
            (None, None) => Ok(String::new()),
            (None, Some(named_by)) => Err(SettingsError::Missing { path: self.path.clone(), named_by }),
        }
    }

    /// Empty if there is no file yet. Anything but a regular file is refused: writing would replace it by a file.
    pub(super) fn text_to_edit(&self) -> Result<String, SettingsError> {
        if self.path == Path::new(NOTHING) {
            return Err(SettingsError::Unusable { path: self.path.clone(), kind: FileProblem::NotAFile });
        }
        Ok(self.text_if_there()?.unwrap_or_default())
    }

    fn text_if_there(&self) -> Result<Option<String>, SettingsError> {
        if self.path == Path::new(NOTHING) {
            return Ok(Some(String::new()));
        }
        files::if_exists(files::read_text(&self.path, MAX_BYTES)).map_err(|error| match error {
            FileReadError::Io(error) => SettingsError::Read { path: self.path.clone(), error },
            FileReadError::Problem(kind) => SettingsError::Unusable { path: self.path.clone(), kind },
        })
    }

    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    pub(super) fn parse(&self, text: &str) -> Result<Document<String>, SettingsError> {
        Document::parse(text.to_owned()).map_err(|error| {
            // The parser gives hints of several lines, meant for an editor; one sentence is enough here.
            let message = error.message().lines().next().unwrap_or_default().to_owned();
            let problem = FieldProblem::Syntax { format: "TOML", message }.into();
            self.in_file(text, Located { at: error.span().map(|span| span.start), key: None, problem })
        })
    }

    fn in_file(&self, text: &str, located: Located) -> SettingsError {
        let line = located.at.map(|at| line_of(text, at));
        SettingsError::InFile { path: self.path.clone(), line, problem: located.problem }
    }
}

impl Settings {
    /// Applies the settings of the file.
    pub(super) fn read(&mut self, text: &str) -> Result<(), SettingsError> {
        let file = self.file.clone();
        let surroundings = self.surroundings.clone();
        let base = Base { folder: file.folder(), home: surroundings.home() };
        let document = parse_toml(text).map_err(|located| file.in_file(text, located))?;
        self.read_table(Section::toml(document.get_ref()), base).map_err(|located| file.in_file(text, located))
    }

    fn read_table(&mut self, table: Section<'_, SettingProblem>, base: Base<'_>) -> Result<(), Located> {
        for (name, at, field) in table.into_fields() {
            if let Some(key) = Key::named(&field.key) {
                self.set(key, &Given { field, base })?;
                self.sources.insert(key, SettingSource::File);
            } else if field.key == name && Key::is_table(name) {
                let inner = field.table().map_err(|_| wrong(&field, "a table", "not one"))?;
                self.read_table(inner, base)?;
            } else {
                return Err(Located { at, key: None, problem: UnknownKey::new(&field.key).into() });
            }
        }
        Ok(())
    }
}
