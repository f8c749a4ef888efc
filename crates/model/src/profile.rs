//! Parser profiles: which format is read, in which version, and what its engine can do.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::{Continuation, wire_enum};

/// Name of an engine as the operator writes it.
// Open, unlike `ProfileId`, because engines are data; shared, because every event carries it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct EngineName(Arc<str>);

impl EngineName {
    pub const UNKNOWN: &'static str = "unknown";

    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

wire_enum! {
    /// A stream format and the rules to read it.
    ProfileId {
        CodexNdjson = "codex_ndjson",
        GeminiStreamJson = "gemini_stream_json",
        GeminiJson = "gemini_json",
        OpencodeNdjson = "opencode_ndjson",
        ClaudeStreamJson = "claude_stream_json",
        QwenStreamJson = "qwen_stream_json",
        IflowText = "iflow_text",
        PlainText = "plain_text",
        AcpJsonrpc = "acp_jsonrpc",
    }
}

/// A version of an engine, as far as it can be compared: the first three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EngineVersion(pub u32, pub u32, pub u32);

impl EngineVersion {
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .split(|c: char| !c.is_ascii_digit())
            .map(str::parse::<u32>);
        let mut next = || numbers.next().and_then(Result::ok);
        Some(Self(next()?, next()?, next().unwrap_or(0)))
    }
}

impl ProfileId {
    /// Raised whenever the same bytes would give other events.
    pub fn version(self) -> u32 {
        match self {
            // 2: harmless lines of stderr, errors as text, limits after which the engine continues, uncertain text as
            // raw, structured payloads, `parser.error`, the texts of warnings.
            // 3: long rows of lines that the parser does not know, as counts and ranges; no warnings about stderr;
            // retries on stderr.
            Self::IflowText | Self::PlainText => 3,
            // 4: MCP servers that did not start.
            Self::GeminiStreamJson | Self::GeminiJson => 4,
            // 4: subagents of the engine.
            Self::OpencodeNdjson => 4,
            // 4: MCP servers that did not start. 5: subagents of the engine.
            Self::ClaudeStreamJson | Self::QwenStreamJson => 5,
            // 4: the content of plans. 5: MCP servers that did not start. 6: subagents of the engine.
            Self::CodexNdjson | Self::AcpJsonrpc => 6,
        }
    }

    /// The default profile for an engine's output.
    pub fn for_engine(engine: &EngineName) -> Self {
        let name = engine.as_str();
        // Agents of the protocol are named after the engine that they drive.
        let of_protocol = name.ends_with("-acp").then_some(Self::AcpJsonrpc);
        let of_engine = || Self::ALL.iter().copied().find(|profile| profile.engine() == Some(name));
        of_protocol.or_else(of_engine).unwrap_or(Self::PlainText)
    }

    /// Whether the engine's format may be on stderr. Otherwise stderr has only lines for people, of which nothing is
    /// guessed.
    pub fn reads_stderr(self) -> bool {
        match self {
            Self::GeminiJson | Self::IflowText => true,
            Self::CodexNdjson
            | Self::GeminiStreamJson
            | Self::OpencodeNdjson
            | Self::ClaudeStreamJson
            | Self::QwenStreamJson
            | Self::PlainText
            | Self::AcpJsonrpc => false,
        }
    }

    /// The engine a profile was made for; none for profiles that read several engines.
    pub fn engine(self) -> Option<&'static str> {
        match self {
            Self::CodexNdjson => Some("codex"),
            Self::GeminiStreamJson | Self::GeminiJson => Some("gemini"),
            Self::OpencodeNdjson => Some("opencode"),
            Self::ClaudeStreamJson => Some("claude"),
            Self::QwenStreamJson => Some("qwen"),
            Self::IflowText => Some("iflow"),
            Self::PlainText | Self::AcpJsonrpc => None,
        }
    }

    pub fn continuation(self) -> Continuation {
        match self {
            Self::CodexNdjson
            | Self::GeminiStreamJson
            | Self::GeminiJson
            | Self::OpencodeNdjson
            | Self::ClaudeStreamJson
            | Self::QwenStreamJson
            | Self::IflowText => Continuation::Resumable,
            // The agent stays for later turns.
            Self::AcpJsonrpc => Continuation::Sticky,
            Self::PlainText => Continuation::None,
        }
    }

    /// The range of engine versions whose real output this profile was tested on, both ends included.
    pub fn tested_versions(self) -> Option<(EngineVersion, EngineVersion)> {
        let one = |v: EngineVersion| Some((v, v));
        match self {
            Self::CodexNdjson => one(EngineVersion(0, 166, 0)),
            Self::GeminiStreamJson | Self::GeminiJson => one(EngineVersion(0, 61, 0)),
            Self::OpencodeNdjson => one(EngineVersion(1, 18, 33)),
            Self::ClaudeStreamJson => one(EngineVersion(2, 1, 325)),
            Self::QwenStreamJson => one(EngineVersion(0, 24, 4)),
            Self::IflowText | Self::PlainText | Self::AcpJsonrpc => None,
        }
    }

    pub fn version_is_untested(self, engine_version: &str) -> bool {
        match (self.tested_versions(), EngineVersion::parse(engine_version)) {
            (Some((from, to)), Some(version)) => version < from || version > to,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}
