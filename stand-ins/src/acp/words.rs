//! The words of the command line. Pure.

use std::ffi::OsString;
use std::path::PathBuf;

use skillrun_model::word_enum;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) scenario: Scenario,
    /// Where sessions are kept.
    pub(super) state: PathBuf,
}

word_enum! {
    pub(super) Scenario {
        Auto = "auto",
        Question = "question",
        Later = "later",
        Leaves = "leaves",
        Permission = "permission",
        Permissions = "permissions",
        Elicitation = "elicitation",
        Files = "files",
        Slow = "slow",
        Hang = "hang",
        Deaf = "deaf",
        Quota = "quota",
        Auth = "auth",
        Note = "note",
        Limit = "limit",
        Noise = "noise",
        Exits = "exits",
        Forgets = "forgets",
        Refuses = "refuses",
        Resumes = "resumes",
        Afterwards = "afterwards",
        Nameless = "nameless",
        Moody = "moody",
    }
}

/// How a scenario takes up sessions of other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loading {
    Load,
    LoadOrResume,
    Never,
    /// It says that it can, and does not know them.
    Refuses,
}

impl Scenario {
    pub(super) fn loading(self) -> Loading {
        if self == Self::Forgets {
            Loading::Never
        } else if self == Self::Refuses {
            Loading::Refuses
        } else if self == Self::Resumes {
            Loading::LoadOrResume
        } else {
            Loading::Load
        }
    }

    /// Exits a moment after a turn.
    pub(super) fn leaves(self) -> bool {
        matches!(self, Self::Leaves | Self::Forgets | Self::Refuses | Self::Resumes | Self::Afterwards)
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WordsError {
    #[error("there is no option {0}; it takes --scenario NAME and --state DIR")]
    Unknown(String),
    #[error("{0} needs a value after it")]
    Missing(&'static str),
    #[error("--scenario is needed, one of: {0}")]
    Needed(String),
    #[error("--scenario {given} is not one of: {known}")]
    Scenario { given: String, known: String },
}

pub(super) fn parse(words: &[OsString]) -> Result<Words, WordsError> {
    let known = || Scenario::ALL.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", ");
    let (mut scenario, mut state) = (None, PathBuf::from(".stand-in-acp"));
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--scenario") => {
                let given = words.next().ok_or(WordsError::Missing("--scenario"))?.to_string_lossy();
                let found = Scenario::ALL.iter().find(|one| one.as_str() == given);
                let unknown = || WordsError::Scenario { given: given.clone().into_owned(), known: known() };
                scenario = Some(*found.ok_or_else(unknown)?);
            }
            Some("--state") => state = words.next().ok_or(WordsError::Missing("--state"))?.into(),
            Some(_) | None => return Err(WordsError::Unknown(word.to_string_lossy().into_owned())),
        }
    }
    Ok(Words { scenario: scenario.ok_or_else(|| WordsError::Needed(known()))?, state })
}
