//! Why a program for measurements or trials could not do its work.

use std::fmt;
use std::process::Command;

/// A sentence for the person who started the program.
#[derive(Debug)]
pub struct Problem(pub String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self(format!("the summary is not JSON: {error}"))
    }
}

/// Today, in the format of the pages that these programs write.
pub fn today() -> String {
    let today = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    today.map_or_else(|_| "unknown".to_owned(), |out| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}
