//! MCP servers that a run gives to its engine, by name.
//!
//! The fields are those that engines and editors use for them, so that a user can copy an entry. A value of `env` or
//! `headers` may name a variable of the user as `${NAME}`: the value itself is stored nowhere.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most servers of one run.
pub const SERVERS_MAX: usize = 20;
/// Longest name of a server.
pub const NAME_MAX: usize = 32;
/// Most arguments, variables or headers of one server.
pub const ENTRIES_MAX: usize = 100;
/// Most bytes of all servers of a run as JSON, so that they fit into one argument of a command line.
pub const BYTES_MAX: usize = 32 * 1024;
/// Longest time for one call, in seconds.
pub const TIMEOUT_MAX_SEC: f64 = 86_400.0;
/// The name of the server that skillrun itself offers to its engines.
pub const OWN_NAME: &str = "skillrun";

/// MCP servers by name: lower-case letters, digits and dashes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "BTreeMap<String, McpServerEntry>", into = "BTreeMap<String, McpServerEntry>")]
#[schemars(extend("maxProperties" = SERVERS_MAX))]
#[schemars(extend("propertyNames" = {"pattern": "^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$", "not": {"const": OWN_NAME}}))]
pub struct McpServers(BTreeMap<String, McpServer>);

/// One server.
#[derive(Debug, Clone, PartialEq)]
pub struct McpServer {
    pub transport: McpTransport,
    /// The run fails when the engine reports that this server did not start.
    pub required: bool,
    /// The engine ends a call that takes longer. None: the engine's own limit.
    pub timeout_sec: Option<f64>,
}

/// How the engine reaches a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that the engine starts.
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, ServerValue> },
    /// An address, by streamable HTTP.
    Http { url: String, headers: BTreeMap<String, ServerValue> },
}

/// A text that may name variables of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerValue(Vec<ValuePiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValuePiece {
    Text(String),
    /// `${NAME}`.
    Variable(String),
}

/// How a server is reached, where the entry says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpServerType {
    Stdio,
    Http,
}

/// A server as it is written: a program with `command`, or an address with `url`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "McpServer")]
pub struct McpServerEntry {
    /// May be left out.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<McpServerType>,
    /// The program of a server that the engine starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = ENTRIES_MAX))]
    pub args: Vec<String>,
    /// Variables of the program. `${NAME}` in a value stands for a variable of the user, which is passed to the engine
    /// and masked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The address of a server that is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers of each request. `${NAME}` in a value stands for a variable of the user, which is passed to the engine and
    /// masked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Whether the run fails when the engine reports that this server did not start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// The engine ends a call that takes longer; null: the engine's own limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1.0, max = TIMEOUT_MAX_SEC))]
    pub timeout_sec: Option<f64>,
}

/// Why servers cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpServersError {
    #[error(
        "mcp_servers: \"{name}\" cannot be the name of a server; a name has 1 to {NAME_MAX} lower-case letters, digits and dashes, with no dash at its ends"
    )]
    Name { name: String },
    #[error("mcp_servers: the name {OWN_NAME} belongs to the server that skillrun itself offers; use another name")]
    OwnName,
    #[error("mcp_servers: there are {count} servers, and the limit is {SERVERS_MAX}")]
    TooMany { count: usize },
    #[error("mcp_servers: all servers together have {bytes} bytes, and the limit is {BYTES_MAX}")]
    TooLarge { bytes: usize },
    #[error("mcp_servers.{server}: {problem}")]
    Server { server: String, problem: ServerProblem },
}

/// What is wrong with one server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerProblem {
    #[error("has neither command nor url; give one of them")]
    NoTransport,
    #[error("has both command and url; give one of them")]
    TwoTransports,
    #[error("the type does not fit: a server with command is stdio, one with url is http")]
    OtherType,
    #[error("{field} goes with {with}, and this server has none")]
    Misplaced { field: &'static str, with: &'static str },
    #[error("{field} is empty")]
    Empty { field: &'static str },
    #[error("{field} has {count} entries, and the limit is {ENTRIES_MAX}")]
    TooMany { field: &'static str, count: usize },
    #[error("{field} has a control character in it")]
    Control { field: String },
    #[error("url must begin with http:// or https://, and is \"{url}\"")]
    Url { url: String },
    #[error("\"{name}\" cannot be the name of a variable")]
    VariableName { name: String },
    #[error("\"{name}\" cannot be the name of a header")]
    HeaderName { name: String },
    #[error("{field} has ${{ without the name of a variable and }} after it")]
    Reference { field: String },
    #[error("{field} has ${{ in it, and only values of env and headers can name a variable")]
    NoReference { field: &'static str },
    #[error("timeout_sec must be a number from 1 to 86400, and is {given}")]
    Timeout { given: String },
}

impl McpServers {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &McpServer)> {
        self.0.iter().map(|(name, server)| (name.as_str(), server))
    }

    pub fn get(&self, name: &str) -> Option<&McpServer> {
        self.0.get(name)
    }

    /// These servers, and those of `other` that have another name.
    pub fn or(mut self, other: &Self) -> Result<Self, McpServersError> {
        for (name, server) in &other.0 {
            self.0.entry(name.clone()).or_insert_with(|| server.clone());
        }
        self.bounded()
    }

    /// Without the servers that `other` has in exactly the same form.
    pub fn without(mut self, other: &Self) -> Self {
        self.0.retain(|name, server| other.0.get(name) != Some(server));
        self
    }

    /// With the server that skillrun itself offers.
    pub fn with_own(mut self, own: McpServer) -> Self {
        self.0.insert(OWN_NAME.to_owned(), own);
        self
    }

    /// The names of the variables that are named in values.
    pub fn variables(&self) -> BTreeSet<&str> {
        self.0.values().flat_map(McpServer::variables).collect()
    }

    fn bounded(self) -> Result<Self, McpServersError> {
        if self.0.len() > SERVERS_MAX {
            return Err(McpServersError::TooMany { count: self.0.len() });
        }
        let bytes = serde_json::to_vec(&self).map_or(usize::MAX, |text| text.len());
        if bytes > BYTES_MAX { Err(McpServersError::TooLarge { bytes }) } else { Ok(self) }
    }
}

impl McpServer {
    /// The names of the variables that are named in its values.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.values().values().flat_map(ServerValue::variables)
    }

    fn values(&self) -> &BTreeMap<String, ServerValue> {
        match &self.transport {
            McpTransport::Stdio { env, .. } => env,
            McpTransport::Http { headers, .. } => headers,
        }
    }
}

impl ServerValue {
    /// A value that is one variable.
    pub fn variable(name: &str) -> Self {
        Self(vec![ValuePiece::Variable(name.to_owned())])
    }

    pub fn pieces(&self) -> &[ValuePiece] {
        &self.0
    }

    /// The names of the variables in it.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            ValuePiece::Text(_) => None,
            ValuePiece::Variable(name) => Some(name.as_str()),
        })
    }

    /// None where `${` does not begin a variable.
    fn parse(text: &str) -> Option<Self> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find("${") {
            let (name, after) = rest[open + 2..].split_once('}')?;
            if !is_variable_name(name) {
                return None;
            }
            if open > 0 {
                pieces.push(ValuePiece::Text(rest[..open].to_owned()));
            }
            pieces.push(ValuePiece::Variable(name.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(ValuePiece::Text(rest.to_owned()));
        }
        Some(Self(pieces))
    }
}

impl fmt::Display for ServerValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            ValuePiece::Text(text) => f.write_str(text),
            ValuePiece::Variable(name) => write!(f, "${{{name}}}"),
        })
    }
}

impl TryFrom<BTreeMap<String, McpServerEntry>> for McpServers {
    type Error = McpServersError;

    fn try_from(entries: BTreeMap<String, McpServerEntry>) -> Result<Self, Self::Error> {
        if entries.len() > SERVERS_MAX {
            return Err(McpServersError::TooMany { count: entries.len() });
        }
        let mut servers = BTreeMap::new();
        for (name, entry) in entries {
            if name == OWN_NAME {
                return Err(McpServersError::OwnName);
            }
            if !is_name(&name) {
                return Err(McpServersError::Name { name: shown(&name) });
            }
            let server = McpServer::try_from(entry)
                .map_err(|problem| McpServersError::Server { server: name.clone(), problem })?;
            servers.insert(name, server);
        }
        Self(servers).bounded()
    }
}

impl From<McpServers> for BTreeMap<String, McpServerEntry> {
    fn from(servers: McpServers) -> Self {
        servers.0.into_iter().map(|(name, server)| (name, server.into())).collect()
    }
}

impl TryFrom<McpServerEntry> for McpServer {
    type Error = ServerProblem;

    fn try_from(entry: McpServerEntry) -> Result<Self, Self::Error> {
        let McpServerEntry { kind, command, args, env, url, headers, required, timeout_sec } = entry;
        let transport = match (command, url) {
            (None, None) => return Err(ServerProblem::NoTransport),
            (Some(_), Some(_)) => return Err(ServerProblem::TwoTransports),
            (Some(command), None) => {
                if kind == Some(McpServerType::Http) {
                    return Err(ServerProblem::OtherType);
                }
                if !headers.is_empty() {
                    return Err(ServerProblem::Misplaced { field: "headers", with: "url" });
                }
                check_text("command", &command, Lines::Refused)?;
                if command.is_empty() {
                    return Err(ServerProblem::Empty { field: "command" });
                }
                count("args", args.len())?;
                args.iter().try_for_each(|arg| check_text("args", arg, Lines::Allowed))?;
                McpTransport::Stdio { command, args, env: values("env", env, is_variable_name, Lines::Allowed)? }
            }
            (None, Some(url)) => {
                if kind == Some(McpServerType::Stdio) {
                    return Err(ServerProblem::OtherType);
                }
                for (field, is_given) in [("args", !args.is_empty()), ("env", !env.is_empty())] {
                    if is_given {
                        return Err(ServerProblem::Misplaced { field, with: "command" });
                    }
                }
                check_text("url", &url, Lines::Refused)?;
                let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
                if host.is_none_or(|host| host.is_empty() || host.contains(char::is_whitespace)) {
                    return Err(ServerProblem::Url { url: shown(&url) });
                }
                McpTransport::Http { url, headers: values("headers", headers, is_header_name, Lines::Refused)? }
            }
        };
        match timeout_sec {
            Some(seconds) if !(1.0..=TIMEOUT_MAX_SEC).contains(&seconds) => {
                Err(ServerProblem::Timeout { given: seconds.to_string() })
            }
            Some(_) | None => Ok(Self { transport, required, timeout_sec }),
        }
    }
}

impl From<McpServer> for McpServerEntry {
    fn from(server: McpServer) -> Self {
        let McpServer { transport, required, timeout_sec } = server;
        let written = |values: BTreeMap<String, ServerValue>| {
            values.into_iter().map(|(name, value)| (name, value.to_string())).collect()
        };
        let entry = Self { required, timeout_sec, ..Self::default() };
        match transport {
            McpTransport::Stdio { command, args, env } => {
                Self { command: Some(command), args, env: written(env), ..entry }
            }
            McpTransport::Http { url, headers } => Self { url: Some(url), headers: written(headers), ..entry },
        }
    }
}

/// Whether a text may have more than one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lines {
    Allowed,
    Refused,
}

fn has_control(text: &str, lines: Lines) -> bool {
    text.chars().any(|c| c.is_control() && !(lines == Lines::Allowed && matches!(c, '\n' | '\t')))
}

fn check_text(field: &'static str, text: &str, lines: Lines) -> Result<(), ServerProblem> {
    if has_control(text, lines) {
        return Err(ServerProblem::Control { field: field.to_owned() });
    }
    if text.contains("${") { Err(ServerProblem::NoReference { field }) } else { Ok(()) }
}

fn count(field: &'static str, count: usize) -> Result<(), ServerProblem> {
    if count > ENTRIES_MAX { Err(ServerProblem::TooMany { field, count }) } else { Ok(()) }
}

fn values(
    field: &'static str,
    given: BTreeMap<String, String>,
    is_name: fn(&str) -> bool,
    lines: Lines,
) -> Result<BTreeMap<String, ServerValue>, ServerProblem> {
    count(field, given.len())?;
    let mut values = BTreeMap::new();
    for (name, text) in given {
        if !is_name(&name) {
            let name = shown(&name);
            return Err(match field {
                "env" => ServerProblem::VariableName { name },
                _ => ServerProblem::HeaderName { name },
            });
        }
        let field = || format!("{field}.{name}");
        if has_control(&text, lines) {
            return Err(ServerProblem::Control { field: field() });
        }
        let value = ServerValue::parse(&text).ok_or_else(|| ServerProblem::Reference { field: field() })?;
        values.insert(name, value);
    }
    Ok(values)
}

fn is_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_inner) && !name.starts_with('-') && !name.ends_with('-')
}

/// As a shell takes it.
pub fn is_variable_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= 128
        && bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_header_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=128).contains(&name.len()) && name.bytes().all(is_token)
}

/// The beginning of a text, for a message.
fn shown(text: &str) -> String {
    text.chars().take(80).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
