//! What is wrong with a skill, as data: a kind, the file, and a sentence.
//!
//! Reading is lenient. A note is something that is only good to know. A warning is something that costs nothing but should be put right. An error is something that
//! would make a run do other than its author asked: a schema that cannot be used, a limit that cannot be read. A skill
//! with an error can be listed and shown, and is not run.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Something that is wrong or odd about a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SkillFinding")]
pub struct Finding {
    pub severity: Severity,
    pub kind: FindingKind,
    /// Inside the skill.
    pub file: PathBuf,
    pub message: String,
}

/// An error keeps a skill from being run; a note needs no repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
    Note,
}

macro_rules! finding_kinds {
    ($($(#[$meta:meta])* $kind:ident: $severity:ident,)+) => {
        /// What is wrong or odd.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(rename = "SkillFindingKind")]
        pub enum FindingKind { $($(#[$meta])* $kind,)+ }

        impl FindingKind {
            pub fn severity(self) -> Severity {
                match self { $(Self::$kind => Severity::$severity,)+ }
            }
        }
    };
}

finding_kinds! {
    /// It could not even be read.
    Unreadable: Error,
    FrontMatterMissing: Warning,
    FrontMatterUnclosed: Warning,
    FrontMatterNotYaml: Warning,
    NameMissing: Warning,
    NameInvalid: Warning,
    NameNotFolder: Warning,
    DescriptionMissing: Warning,
    DescriptionTooLong: Warning,
    CompatibilityTooLong: Warning,
    BodyEmpty: Warning,
    /// A value that is not of the type it should be, and was left out.
    WrongType: Warning,
    UnknownKey: Warning,
    /// Keys of the front matter that the standard does not define, all in one.
    ExtraKeys: Note,
    UnknownMode: Warning,
    NoMode: Error,
    EngineTwice: Warning,
    MaxAttempt: Error,
    PolicyUnknown: Error,
    SchemaPath: Error,
    SchemaInvalid: Error,
    PromptPlaceholder: Error,
    ArtifactPath: Error,
    /// A part of `runner.json` that decides how the skill is run, and cannot be read.
    RunnerPart: Error,
    /// The lines that mark our block in a patched copy stand in the skill itself.
    PatchBlock: Warning,
    NotCopyable: Error,
}

/// Findings about one file.
#[derive(Debug)]
pub(crate) struct Findings<'a> {
    file: &'static str,
    all: &'a mut Vec<Finding>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(file: &'static str, all: &'a mut Vec<Finding>) -> Self {
        Self { file, all }
    }

    /// A text. A number is meant as one: `name: 2024` is a number in YAML. Any other value is ignored.
    pub(crate) fn text(&mut self, key: &str, value: Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Null => None,
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                self.add(FindingKind::WrongType, format!("{key} must be text, and is ignored"));
                None
            }
        }
    }

    pub(crate) fn add(&mut self, kind: FindingKind, message: impl Into<String>) {
        let message = message.into();
        self.all.push(Finding { severity: kind.severity(), kind, file: self.file.into(), message });
    }
}
