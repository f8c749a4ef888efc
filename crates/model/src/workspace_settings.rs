//! What settings of a workspace could start: programs, servers and addresses that an engine takes from files of the
//! folder it works in, before the model is asked for anything.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::wire_enum;

wire_enum! {
    /// Whether the engine may take settings from the workspace that start programs or name addresses.
    #[derive(Default)]
    WorkspaceSettings {
        /// It may not; what was found there and is not started is a warning.
        #[default]
        Ignore = "ignore",
        /// It may.
        Allow = "allow",
    }
}

wire_enum! {
    /// What a file of the workspace names.
    StartKind {
        McpServer = "mcp_server",
        /// A command that the engine runs at a certain moment, such as the beginning of a session.
        Hook = "hook",
        /// Code that the engine loads into itself.
        Plugin = "plugin",
        /// A command for a key, a status line, a list of tools.
        Command = "command",
        /// Where the model is, and so where the key goes.
        Address = "address",
        /// Variables for the engine, which can be any of the others.
        Variables = "variables",
        /// The file cannot be read, or is too large to be looked at.
        Unknown = "unknown",
    }
}

impl StartKind {
    /// For a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::McpServer => "MCP servers",
            Self::Hook => "hooks",
            Self::Plugin => "plugins",
            Self::Command => "commands",
            Self::Address => "the address of the model",
            Self::Variables => "variables",
            Self::Unknown => "content that cannot be read",
        }
    }
}

wire_enum! {
    /// What becomes of it.
    StartState {
        /// The engine is started so that it ignores it.
        NotStarted = "not_started",
        /// The engine has no switch for it.
        NotStopped = "not_stopped",
    }
}

/// Something in a file of the workspace that an engine could start or use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceStart {
    /// Relative to the workspace; begins with `..` if the engine finds it in a folder above, within the same repository.
    pub file: String,
    pub kind: StartKind,
    pub state: StartState,
}

impl fmt::Display for WorkspaceStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.kind.words(), self.file)
    }
}
