//! Paths that stand in a skill's own files and must stay inside it.

use std::path::{Path, PathBuf};

/// A relative path that goes nowhere but down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerPath(PathBuf);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    #[error("is empty")]
    Empty,
    #[error("is absolute; give it relative to the skill's folder")]
    Absolute,
    #[error("has \"..\" in it; it must stay inside the skill's folder")]
    Parent,
    #[error("has a backslash or a control character in it")]
    Characters,
}

impl InnerPath {
    pub fn parse(text: &str) -> Result<Self, PathProblem> {
        if text.chars().any(|c| c == '\\' || c.is_control()) {
            return Err(PathProblem::Characters);
        }
        if text.starts_with('/') || is_drive(text) {
            return Err(PathProblem::Absolute);
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(PathProblem::Parent);
        }
        if parts.is_empty() { Err(PathProblem::Empty) } else { Ok(Self(parts.iter().collect())) }
    }

    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

/// `C:` at the beginning, absolute or relative to a drive where there are drives.
pub(crate) fn is_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_downwards() {
        assert_eq!(InnerPath::parse("./assets//a.json").unwrap().as_path(), Path::new("assets/a.json"));
        assert_eq!(InnerPath::parse("..a/b..").unwrap().as_path(), Path::new("..a/b.."));
        let bad = [
            ("", PathProblem::Empty),
            ("./", PathProblem::Empty),
            ("/etc/passwd", PathProblem::Absolute),
            ("C:/x", PathProblem::Absolute),
            ("../x", PathProblem::Parent),
            ("a/../../x", PathProblem::Parent),
            ("a\\..\\x", PathProblem::Characters),
            ("a\0b", PathProblem::Characters),
        ];
        for (text, problem) in bad {
            assert_eq!(InnerPath::parse(text), Err(problem), "{text:?}");
        }
    }
}
