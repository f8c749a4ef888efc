//! How a command reports a failure: one clear sentence on stderr, and an exit code, which follows from the class of the
//! error. The error stays behind the sentence; `--log debug` shows its sources.
//!
//! ```text
//! 1  something went wrong on the way
//! 2  bad usage, or input that cannot be used
//! 4  not found: a skill, an engine, a setting
//! ```

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use skillrun_auth::AuthError;
use skillrun_base::suggest::closest;
use skillrun_catalog::CatalogError;
use skillrun_engine::GetError;
use skillrun_evidence::EvidenceError;
use skillrun_inspect::InspectError;
use skillrun_log::LogError;
use skillrun_model::error_class::{file_error_reason as reason, source_texts};
use skillrun_model::{Classified, ErrorClass};
use skillrun_runs::RecordError;
use skillrun_runtime::workflows::WorkflowFault;
use skillrun_runtime::{AcceptError, RuntimeError};
use skillrun_server::ServeError;
use skillrun_skill::archive::ArchiveErrorKind;
use skillrun_skill::search::FindError;
use skillrun_skill::{ArchiveError, SchemaError, SkillError};

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
    /// Something went wrong on the way, and there is no error value for it.
    #[error("{0}")]
    Failed(String),
    /// An error, and the sentence for it.
    #[error("{sentence}")]
    Caused {
        class: ErrorClass,
        sentence: String,
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
    #[error("{path}: cannot be written ({})", reason(error))]
    Write {
        path: String,
        #[source]
        error: io::Error,
    },
}

/// The reader of the output has closed it. That is allowed and does not count as a failure.
fn reader_left(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

impl Failure {
    /// An error in its own words.
    pub(crate) fn of(error: impl Classified + Send + Sync + 'static) -> Self {
        Self::of_class(error.class(), error)
    }

    /// An error in its own words that has no class of its own.
    pub(crate) fn of_class(class: ErrorClass, error: impl Error + Send + Sync + 'static) -> Self {
        Self::caused(class, error.to_string(), error)
    }

    /// An error in other words.
    pub(crate) fn caused(class: ErrorClass, sentence: String, error: impl Error + Send + Sync + 'static) -> Self {
        Self::Caused { class, sentence, error: error.into() }
    }

    /// An error on the way, in other words.
    pub(crate) fn internal(sentence: String, error: impl Error + Send + Sync + 'static) -> Self {
        Self::caused(ErrorClass::Internal, sentence, error)
    }

    pub(crate) fn report(&self) -> ExitCode {
        if let Self::Write { error, .. } = self
            && reader_left(error)
        {
            return ExitCode::SUCCESS;
        }
        let sources = || source_texts(self).iter().map(|text| plain(text)).collect::<Vec<_>>();
        tracing::debug!(class = ?self.class(), sources = ?sources(), "the command failed");
        crate::live::erase();
        // If stderr is gone too, there is nothing left to do.
        let _ = writeln!(io::stderr(), "error: {}", plain(&self.to_string()));
        ExitCode::from(exit_code(self.class()))
    }

    pub(crate) fn class(&self) -> ErrorClass {
        match self {
            Self::NotFound(_) => ErrorClass::NotFound,
            Self::Failed(_) => ErrorClass::Internal,
            Self::Caused { class, .. } => *class,
            // The caller names the place that is written to.
            Self::Input(_) | Self::Write { .. } => ErrorClass::Usage,
        }
    }
}

fn exit_code(class: ErrorClass) -> u8 {
    match class {
        ErrorClass::Busy | ErrorClass::StorageFull | ErrorClass::Internal => FAILED,
        ErrorClass::Usage | ErrorClass::Conflict => BAD_INPUT,
        ErrorClass::NotFound | ErrorClass::Gone => NOT_FOUND,
    }
}

/// Errors that are reported in their own words.
macro_rules! in_own_words {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::of(error)
            }
        })+
    };
}

in_own_words!(
    AcceptError,
    AuthError,
    CatalogError,
    EvidenceError,
    GetError,
    InspectError,
    LogError,
    RecordError,
    RuntimeError,
    SchemaError,
    ServeError,
    SettingsError,
    SkillError,
    WorkflowFault,
);

impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        if let FindError::NotFound { name, known, .. } = &error
            && let Some(known) = closest(name, known.iter().map(String::as_str))
        {
            let sentence = format!("there is no skill \"{name}\"; did you mean \"{known}\"?");
            return Self::caused(error.class(), sentence, error);
        }
        Self::of(error)
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        if matches!(error.kind, ArchiveErrorKind::Exists(_)) {
            return Self::caused(error.class(), format!("{error}; give --replace to replace it"), error);
        }
        Self::of(error)
    }
}

#[cfg(test)]
mod tests {
    use skillrun_log::LogErrorKind;
    use skillrun_model::RunId;
    use skillrun_runtime::owners::{OwnerError, OwnerErrorKind as Refused};
    use skillrun_skill::SkillErrorKind;

    use super::*;

    #[test]
    fn exit_codes_follow_from_the_class() {
        let codes = ErrorClass::ALL.iter().map(|class| (*class, exit_code(*class)));
        let expected = [
            (ErrorClass::Usage, 2),
            (ErrorClass::NotFound, 4),
            (ErrorClass::Gone, 4),
            (ErrorClass::Conflict, 2),
            (ErrorClass::Busy, 1),
            (ErrorClass::StorageFull, 1),
            (ErrorClass::Internal, 1),
        ];
        assert_eq!(codes.collect::<Vec<_>>(), expected);
    }

    fn io(kind: io::ErrorKind) -> io::Error {
        kind.into()
    }

    fn skill(kind: SkillErrorKind) -> SkillError {
        SkillError { path: "skill".into(), kind }
    }

    fn archive(kind: ArchiveErrorKind) -> ArchiveError {
        ArchiveError { path: "skill.zip".into(), kind }
    }

    fn owner(kind: Refused) -> RuntimeError {
        RuntimeError::Owner(OwnerError { kind, message: "refused".to_owned() })
    }

    fn log(kind: LogErrorKind) -> LogError {
        LogError { run: RunId::new(1, [1; 10]), kind }
    }

    /// The same kind of cause has another exit code where another person can do something about it.
    #[test]
    fn every_error_has_its_exit_code() {
        let denied = || io(io::ErrorKind::PermissionDenied);
        let missing = || FindError::NotFound { name: "x".to_owned(), known: Vec::new(), searched: Vec::new() };
        let file = || RuntimeError::File { path: "x".into(), doing: "read", error: denied() };
        let table: [(u8, Failure); 35] = [
            (2, Failure::Input("x".to_owned())),
            (4, Failure::NotFound("x".to_owned())),
            (1, Failure::Failed("x".to_owned())),
            (2, Failure::Write { path: "x".to_owned(), error: io(io::ErrorKind::StorageFull) }),
            (4, log(LogErrorKind::NotFound).into()),
            (4, log(LogErrorKind::Gone).into()),
            (1, log(LogErrorKind::Held { pid: None }).into()),
            (1, log(LogErrorKind::Failed).into()),
            (1, log(LogErrorKind::NoSpace { place: "x".to_owned(), source: denied() }).into()),
            (4, RecordError::Missing { path: "x".into() }.into()),
            (1, RecordError::Newer { path: "x".into(), found: 9 }.into()),
            (1, CatalogError::Runs { place: "x".to_owned(), source: denied() }.into()),
            (4, owner(Refused::NotFound).into()),
            (1, owner(Refused::Held).into()),
            (2, owner(Refused::Stale).into()),
            (2, owner(Refused::Repeated).into()),
            (2, owner(Refused::Over).into()),
            (2, owner(Refused::OtherVariables).into()),
            (2, owner(Refused::Version).into()),
            (2, owner(Refused::Other).into()),
            (1, file().into()),
            (2, skill(denied().into()).into()),
            (2, skill(SkillErrorKind::NoFolder).into()),
            (4, missing().into()),
            (4, FindError::from(skill(SkillErrorKind::NoFolder)).into()),
            (2, FindError::from(skill(denied().into())).into()),
            (1, AcceptError::from(skill(denied().into())).into()),
            (2, AcceptError::from(skill(SkillErrorKind::NoFolder)).into()),
            (1, AcceptError::QueueFull { queued: 1 }.into()),
            (2, AcceptError::NoFolder { path: "x".into() }.into()),
            (1, AcceptError::from(file()).into()),
            (2, archive(ArchiveErrorKind::Exists("x".to_owned())).into()),
            (4, archive(ArchiveErrorKind::NotInstalled("x".to_owned())).into()),
            (1, ServeError::Another { pid: 1, url: "x".to_owned() }.into()),
            (1, ServeError::from(RuntimeError::from(log(LogErrorKind::NotFound))).into()),
        ];
        for (code, failure) in table {
            assert_eq!(exit_code(failure.class()), code, "{failure:?}");
        }
    }

    #[test]
    fn the_error_stays_behind_its_sentence() {
        let failure = Failure::from(archive(ArchiveErrorKind::Exists("x".to_owned())));
        assert_eq!(failure.to_string(), "skill.zip: the skill \"x\" already exists; give --replace to replace it");
        let source = failure.source().expect("a source");
        assert!(source.downcast_ref::<ArchiveError>().is_some(), "{source:?}");
        let known = vec!["count-words".to_owned()];
        let error = FindError::NotFound { name: "count-wrods".to_owned(), known, searched: Vec::new() };
        let failure = Failure::from(error);
        assert_eq!(failure.to_string(), "there is no skill \"count-wrods\"; did you mean \"count-words\"?");
        let failure = Failure::from(RuntimeError::from(log(LogErrorKind::Io {
            place: "events.jsonl".to_owned(),
            source: io::Error::other("the cable"),
        })));
        let run = RunId::new(1, [1; 10]);
        assert_eq!(failure.to_string(), format!("the Log of run {run}: events.jsonl: the cable"));
        assert_eq!(source_texts(&failure), ["events.jsonl: the cable", "the cable"]);
    }
}
