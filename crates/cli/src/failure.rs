//! How a command reports a failure: one clear sentence on stderr, and an exit code.
//!
//! ```text
//! 1  something went wrong on the way
//! 2  bad usage, or input that cannot be used
//! 4  not found: a skill, an engine, a setting
//! ```

use std::io::{self, Write};
use std::process::ExitCode;

use skillrun_engine::GetError;
use skillrun_log::catalog::CatalogError;
use skillrun_log::{LogError, LogErrorKind};
use skillrun_runtime::owners::Kind;
use skillrun_runtime::{AcceptError, RecordError, RuntimeError};
use skillrun_server::auth::AuthError;
use skillrun_skill::archive::ArchiveErrorKind;
use skillrun_skill::search::FindError;
use skillrun_skill::{ArchiveError, SkillError, SkillErrorKind};

use crate::nearest::nearest;
use crate::output::plain;
use crate::settings::SettingsError;

const FAILED: u8 = 1;
const BAD_INPUT: u8 = 2;
const NOT_FOUND: u8 = 4;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Bad usage, or input that cannot be read.
    #[error("{0}")]
    Input(String),
    /// Nothing has the given name.
    #[error("{0}")]
    NotFound(String),
    #[error(transparent)]
    Evidence(#[from] skillrun_evidence::EvidenceError),
    #[error(transparent)]
    Serve(#[from] skillrun_server::ServeError),
    #[error(transparent)]
    Schema(#[from] skillrun_skill::SchemaError),
    /// A run that cannot be worked on.
    #[error("{0}")]
    Owner(String),
    #[error("{path}: cannot be written ({})", reason(error))]
    Write { path: String, error: io::Error },
}

/// Why something cannot be written; replaces messages of the operating system that do not help.
pub(crate) fn reason(error: &io::Error) -> String {
    const WORDS: &[(io::ErrorKind, &str)] = &[
        (io::ErrorKind::AlreadyExists, "a file is in the way"),
        (io::ErrorKind::NotADirectory, "a file is in the way"),
        (io::ErrorKind::NotFound, "there is no such folder"),
        (io::ErrorKind::PermissionDenied, "permission denied"),
        (io::ErrorKind::StorageFull, "the disk is full"),
    ];
    let ours = WORDS.iter().find(|(kind, _)| *kind == error.kind());
    ours.map_or_else(|| error.to_string(), |(_, words)| (*words).to_owned())
}

/// The reader of the output has closed it. That is allowed and does not count as a failure.
fn reader_left(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

impl Failure {
    pub(crate) fn report(&self) -> ExitCode {
        if let Self::Write { error, .. } = self
            && reader_left(error)
        {
            return ExitCode::SUCCESS;
        }
        // If stderr is gone too, there is nothing left to do.
        let _ = writeln!(io::stderr(), "error: {}", plain(&self.to_string()));
        ExitCode::from(self.exit_code())
    }

    fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound(_) => NOT_FOUND,
            Self::Owner(_) | Self::Serve(_) => FAILED,
            Self::Input(_) | Self::Evidence(_) | Self::Schema(_) | Self::Write { .. } => BAD_INPUT,
        }
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        match error {
            SettingsError::UnknownKey(_) | SettingsError::NotSet { .. } => Self::NotFound(error.to_string()),
            SettingsError::NoCurrentFolder(_)
            | SettingsError::NoHome { .. }
            | SettingsError::Missing { .. }
            | SettingsError::Read { .. }
            | SettingsError::Write { .. }
            | SettingsError::Unusable { .. }
            | SettingsError::InFile { .. }
            | SettingsError::Value(_) => Self::Input(error.to_string()),
        }
    }
}

impl From<GetError> for Failure {
    fn from(error: GetError) -> Self {
        match error {
            GetError::Unknown { .. } => Self::NotFound(error.to_string()),
            GetError::Broken { .. } => Self::Input(error.to_string()),
        }
    }
}

impl From<SkillError> for Failure {
    fn from(error: SkillError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        match &error {
            FindError::NotFound { name, known, .. } => {
                let suggestion = nearest(name, known.iter().map(String::as_str));
                let offer = |known: &str| format!("there is no skill \"{name}\"; did you mean \"{known}\"?");
                Self::NotFound(suggestion.map_or_else(|| error.to_string(), offer))
            }
            FindError::Unusable(SkillError { kind: SkillErrorKind::NoFolder, .. }) => Self::NotFound(error.to_string()),
            FindError::Unusable(_) => Self::Input(error.to_string()),
        }
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        match &error.kind {
            ArchiveErrorKind::Exists(_) => Self::Input(format!("{error}; give --replace to replace it")),
            ArchiveErrorKind::NotInstalled(_) => Self::NotFound(error.to_string()),
            ArchiveErrorKind::Io(_)
            | ArchiveErrorKind::NotZip(_)
            | ArchiveErrorKind::Zip64
            | ArchiveErrorKind::TooManyEntries
            | ArchiveErrorKind::Entry { .. }
            | ArchiveErrorKind::SameName
            | ArchiveErrorKind::TooLarge
            | ArchiveErrorKind::Overlap
            | ArchiveErrorKind::Layout
            | ArchiveErrorKind::BadSkill(_)
            | ArchiveErrorKind::NoName
            | ArchiveErrorKind::InTheWay(_)
            | ArchiveErrorKind::IsLink(_) => Self::Input(error.to_string()),
        }
    }
}

impl From<AcceptError> for Failure {
    fn from(error: AcceptError) -> Self {
        match error {
            AcceptError::Engine(error) => error.into(),
            AcceptError::Runtime(error) => error.into(),
            AcceptError::NotInstalled(_) => Self::NotFound(error.to_string()),
            AcceptError::Skill(SkillError { kind: SkillErrorKind::Io(_), .. })
            | AcceptError::Write { .. }
            | AcceptError::QueueFull { .. } => Self::Owner(error.to_string()),
            AcceptError::Skill(_)
            | AcceptError::Input(_)
            | AcceptError::EngineNotSupported { .. }
            | AcceptError::ModeNotAllowed { .. }
            | AcceptError::NotInteractive { .. }
            | AcceptError::NoConsent { .. }
            | AcceptError::File { .. }
            | AcceptError::NoFile { .. }
            | AcceptError::NoFolder { .. }
            | AcceptError::FileTooLarge { .. }
            | AcceptError::NoScript { .. }
            | AcceptError::WorkspaceInUse { .. }
            | AcceptError::Option { .. }
            | AcceptError::Pattern(_) => Self::Input(error.to_string()),
        }
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Log(error) => error.into(),
            RuntimeError::Record(error) => error.into(),
            RuntimeError::Owner(trouble) => match trouble.kind {
                Kind::NotFound => Self::NotFound(trouble.message),
                Kind::Held => Self::Owner(trouble.message),
                Kind::Stale | Kind::Repeated | Kind::Over | Kind::OtherVariables | Kind::Version | Kind::Other => {
                    Self::Input(trouble.message)
                }
            },
            RuntimeError::Refused { .. } | RuntimeError::ReplyTooLong { .. } | RuntimeError::OtherVariables { .. } => {
                Self::Input(error.to_string())
            }
            RuntimeError::Catalog(_)
            | RuntimeError::Host(_)
            | RuntimeError::Evidence(_)
            | RuntimeError::OwnerSilent { .. }
            | RuntimeError::File { .. } => Self::Owner(error.to_string()),
        }
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        match error.kind {
            LogErrorKind::NotFound | LogErrorKind::Gone => Self::NotFound(error.to_string()),
            LogErrorKind::Exists
            | LogErrorKind::NotOpen
            | LogErrorKind::Held { .. }
            | LogErrorKind::Stale { .. }
            | LogErrorKind::WrongSeq { .. }
            | LogErrorKind::WrongRun { .. }
            | LogErrorKind::BatchTooLarge { .. }
            | LogErrorKind::Damaged(_)
            | LogErrorKind::NoSpace { .. }
            | LogErrorKind::ReadOnly { .. }
            | LogErrorKind::Failed
            | LogErrorKind::Io { .. } => Self::Owner(error.to_string()),
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Missing { .. } => Self::NotFound(error.to_string()),
            RecordError::Newer { .. } | RecordError::Unreadable { .. } | RecordError::Io { .. } => {
                Self::Owner(error.to_string())
            }
        }
    }
}

impl From<AuthError> for Failure {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::NoSuchToken(_) => Self::NotFound(error.to_string()),
            AuthError::NameTaken(_) | AuthError::TooManyTokens { .. } => Self::Input(error.to_string()),
            AuthError::File { .. }
            | AuthError::NotAFile { .. }
            | AuthError::NotPrivate { .. }
            | AuthError::TooLarge { .. }
            | AuthError::Content { .. }
            | AuthError::Busy { .. }
            | AuthError::TooManyLinks { .. }
            | AuthError::NoRandom(_) => Self::Owner(error.to_string()),
        }
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        Self::Owner(error.to_string())
    }
}
