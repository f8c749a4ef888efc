//! The name of a skill, by the Agent Skills standard. A name that passes is also safe as the name of a folder.

/// Most characters of a name.
pub const NAME_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameProblem {
    #[error("is empty")]
    Empty,
    #[error("is longer than {NAME_MAX} characters")]
    TooLong,
    #[error("has characters other than lowercase letters, digits and hyphens")]
    Characters,
    #[error("begins or ends with a hyphen, or has two in a row")]
    Hyphens,
}

pub fn check(name: &str) -> Result<(), NameProblem> {
    if name.is_empty() {
        return Err(NameProblem::Empty);
    }
    if name.chars().count() > NAME_MAX {
        return Err(NameProblem::TooLong);
    }
    if !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        return Err(NameProblem::Characters);
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Err(NameProblem::Hyphens);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_the_standard() {
        for good in ["a", "pdf-processing", "2-fast", &"x".repeat(64)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let bad = [
            ("", NameProblem::Empty),
            ("Pdf", NameProblem::Characters),
            ("a_b", NameProblem::Characters),
            ("a/b", NameProblem::Characters),
            ("..", NameProblem::Characters),
            ("ä", NameProblem::Characters),
            ("-a", NameProblem::Hyphens),
            ("a-", NameProblem::Hyphens),
            ("a--b", NameProblem::Hyphens),
            (&"x".repeat(65), NameProblem::TooLong),
        ];
        for (name, problem) in bad {
            assert_eq!(check(name), Err(problem), "{name}");
        }
    }
}
