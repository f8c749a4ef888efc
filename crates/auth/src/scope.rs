//! What a client may do, and who it is.

use std::fmt;

use serde::{Deserialize, Serialize};
use skillrun_model::word_enum;

use super::sessions::SessionId;
use super::token::TokenName;

word_enum! {
    /// Each scope includes those before it.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub Scope {
        /// Read everything.
        Read = "read",
        /// Start runs, answer and cancel them.
        Run = "run",
        /// Also install and remove skills.
        Admin = "admin",
    }
}

impl Scope {
    /// Whether it is enough for something that needs `needed`.
    pub fn allows(self, needed: Self) -> bool {
        self >= needed
    }
}

/// A client with a valid credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    pub name: Who,
    pub scope: Scope,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// The token that the server created at its first start.
    FirstToken,
    Token(TokenName),
    /// A browser that logged in with a one-time link.
    Browser(SessionId),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstToken => f.write_str("the first token"),
            Self::Token(name) => write!(f, "token {name}"),
            Self::Browser(_) => f.write_str("a browser"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_includes_those_before_it() {
        for (at, scope) in Scope::ALL.iter().enumerate() {
            for (needed_at, needed) in Scope::ALL.iter().enumerate() {
                assert_eq!(scope.allows(*needed), needed_at <= at, "{scope} for {needed}");
            }
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
        }
        assert!(!Scope::Read.allows(Scope::Run) && !Scope::Run.allows(Scope::Admin));
    }
}
