//! Why nothing could be tried, and why a trial failed.

pub(crate) use testkit::problem::Problem;

/// Something was tried and is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Miss {
    /// For the table: a word or two.
    pub(crate) word: String,
    /// The whole story in one line.
    pub(crate) why: String,
}

impl Miss {
    pub(crate) fn new(word: &str, why: impl Into<String>) -> Self {
        Self { word: word.to_owned(), why: why.into() }
    }
}

impl From<std::io::Error> for Miss {
    fn from(error: std::io::Error) -> Self {
        Self::new("cannot look", error.to_string())
    }
}

/// A condition that must hold; otherwise the trial failed with this word and reason.
pub(crate) fn must(holds: bool, word: &str, why: impl FnOnce() -> String) -> Result<(), Miss> {
    if holds { Ok(()) } else { Err(Miss::new(word, why())) }
}
