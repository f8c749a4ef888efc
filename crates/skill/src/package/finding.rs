//! What is wrong with a skill, as data: a kind, the file, and a sentence.
//!
//! Reading is lenient. A warning is something that costs nothing but should be put right. An error is something that
//! would make a run do other than its author asked: a schema that cannot be used, a limit that cannot be read. A skill
//! with an error can be listed and shown, and is not run.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

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

/// An error keeps a skill from being run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
}

/// What is wrong or odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SkillFindingKind")]
pub enum FindingKind {
    /// It could not even be read.
    Unreadable,
    FrontMatterMissing,
    FrontMatterUnclosed,
    FrontMatterNotYaml,
    NameMissing,
    NameInvalid,
    NameNotFolder,
    DescriptionMissing,
    DescriptionTooLong,
    CompatibilityTooLong,
    BodyEmpty,
    /// A value that is not of the type it should be, and was left out.
    WrongType,
    UnknownKey,
    UnknownMode,
    NoMode,
    EngineTwice,
    MaxAttempt,
    PolicyUnknown,
    SchemaPath,
    SchemaInvalid,
    PromptPlaceholder,
    ArtifactPath,
    /// A part of `runner.json` that decides how the skill is run, and cannot be read.
    RunnerPart,
    /// The lines that mark our block in a patched copy stand in the skill itself.
    PatchBlock,
    NotCopyable,
}

impl FindingKind {
    pub fn severity(self) -> Severity {
        match self {
            Self::Unreadable
            | Self::NoMode
            | Self::MaxAttempt
            | Self::PolicyUnknown
            | Self::SchemaPath
            | Self::SchemaInvalid
            | Self::PromptPlaceholder
            | Self::ArtifactPath
            | Self::RunnerPart
            | Self::NotCopyable => Severity::Error,
            Self::FrontMatterMissing
            | Self::FrontMatterUnclosed
            | Self::FrontMatterNotYaml
            | Self::NameMissing
            | Self::NameInvalid
            | Self::NameNotFolder
            | Self::DescriptionMissing
            | Self::DescriptionTooLong
            | Self::CompatibilityTooLong
            | Self::BodyEmpty
            | Self::WrongType
            | Self::UnknownKey
            | Self::UnknownMode
            | Self::EngineTwice
            | Self::PatchBlock => Severity::Warning,
        }
    }
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

    pub(crate) fn add(&mut self, kind: FindingKind, message: impl Into<String>) {
        let message = message.into();
        self.all.push(Finding { severity: kind.severity(), kind, file: self.file.into(), message });
    }
}
