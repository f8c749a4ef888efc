//! The MCP servers of a run in the form that an engine takes them: `[mcp]` of its file.
//!
//! Pure. No form contains the value of a variable: each engine gets the name, and takes the value from its own
//! environment.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use skillrun_evidence::OsText;
use skillrun_model::mcp::{McpServer, McpServers, McpTransport, OWN_NAME, ServerValue, ValuePiece};
use skillrun_model::word_enum;
use skillrun_plan::delegation::{SOCKET_VARIABLE, TOKEN_VARIABLE};
use skillrun_plan::environment::TAG;
use skillrun_plan::{Variable, VariableKind};

use crate::descriptor::{Descriptor, FileBase};
use crate::template::{Placeholder, Template};

#[cfg(test)]
mod tests;

/// How an engine takes servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpRule {
    pub form: McpForm,
    pub reports: FailureReport,
    /// For `{{mcp_flags}}`: once.
    pub flags: Vec<Template>,
    /// For `{{mcp_flags}}`: once per server, after the others.
    pub each: Vec<Template>,
    /// For `{{mcp_text}}`.
    pub text: Option<Template>,
    /// For `{{mcp_list}}`: once per server, with commas between.
    pub item: Option<Template>,
    /// For `{{mcp_rules}}`: the same.
    pub rule: Option<Template>,
    /// Variables that are set where there are servers.
    pub set: Vec<(String, String)>,
}

word_enum! {
    /// How a server is written.
    pub McpForm {
        /// An inline table of TOML.
        CodexToml = "codex_toml",
        /// The same table as JSON.
        CodexJson = "codex_json",
        Claude = "claude",
        /// Of gemini and qwen.
        Gemini = "gemini",
        Opencode = "opencode",
    }
}

word_enum! {
    /// How an engine reports that a server has not started.
    pub FailureReport {
        ByName = "by_name",
        /// It says that a server has not started, and not which.
        WithoutName = "without_name",
        Never = "never",
    }
}

/// Why an engine cannot take the servers of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpRefusal {
    #[error("{engine} cannot take MCP servers; use another engine, or leave out mcp_servers")]
    NoServers { engine: String },
    #[error("{engine} takes MCP servers only from a home folder of the run; leave out the setting home = \"user\"")]
    UsersHome { engine: String },
    #[error(
        "mcp_servers.{server}: {engine} does not report whether a server has started, so none can be required; leave out required, or use another engine"
    )]
    NotReported { engine: String, server: String },
    #[error(
        "mcp_servers.{server}: {engine} does not report which server has not started, so it can only be required together with all others; make all of them required, or none"
    )]
    NotNamed { engine: String, server: String },
    #[error("mcp_servers.{server}: {engine} has another value of {name}, so yours cannot be passed; use another name")]
    OwnVariable { engine: String, server: String, name: String },
    #[error(
        "mcp_servers.{server}: {engine} passes a variable to a server only under its own name, so {field} must be \"${{{wanted}}}\" or a text"
    )]
    OtherName { engine: String, server: String, field: String, wanted: String },
    #[error(
        "mcp_servers.{server}: {engine} takes a header as a text, as one variable, or as \"Bearer ${{NAME}}\", and {field} is none of them"
    )]
    MixedHeader { engine: String, server: String, field: String },
    #[error(
        "mcp_servers.{server}: {engine} would replace the text after {begins} in {field}; pass that text as a variable"
    )]
    Replaced { engine: String, server: String, field: String, begins: &'static str },
}

/// Checks that an engine can take these servers. `home`: the base in which its settings are written, if it is the
/// run's own.
pub fn check(descriptor: &Descriptor, servers: &McpServers, has_own_home: bool) -> Result<(), McpRefusal> {
    if servers.is_empty() {
        return Ok(());
    }
    let engine = || descriptor.name.to_string();
    let Some(rule) = &descriptor.mcp else { return Err(McpRefusal::NoServers { engine: engine() }) };
    if !has_own_home && writes_into_home(descriptor) {
        return Err(McpRefusal::UsersHome { engine: engine() });
    }
    let all_are_required = servers.iter().all(|(_, server)| server.required);
    servers.iter().try_for_each(|(name, server)| {
        rule.form.check(&engine(), name, server)?;
        match rule.reports {
            FailureReport::Never if server.required => {
                return Err(McpRefusal::NotReported { engine: engine(), server: name.to_owned() });
            }
            FailureReport::WithoutName if server.required && !all_are_required => {
                return Err(McpRefusal::NotNamed { engine: engine(), server: name.to_owned() });
            }
            FailureReport::Never | FailureReport::WithoutName | FailureReport::ByName => {}
        }
        // HOME, above all: the engine would look for its settings in that of the user.
        let set = descriptor.environment.set.iter().map(|(name, _)| name);
        let set: Vec<_> = set.chain(descriptor.network.set.iter().chain(&rule.set).map(|(name, _)| name)).collect();
        match server.variables().find(|variable| set.iter().any(|name| name == variable)) {
            None => Ok(()),
            Some(variable) => {
                let (server, name) = (name.to_owned(), variable.to_owned());
                Err(McpRefusal::OwnVariable { engine: engine(), server, name })
            }
        }
    })
}

/// Whether the engine reads its servers from a file in its home folder.
fn writes_into_home(descriptor: &Descriptor) -> bool {
    let in_home = descriptor.files.iter().filter(|file| file.base == FileBase::Home);
    in_home.flat_map(|file| file.text.placeholders()).any(Placeholder::is_of_servers)
}

impl McpForm {
    fn check(self, engine: &str, name: &str, server: &McpServer) -> Result<(), McpRefusal> {
        let (engine, server_name) = (|| engine.to_owned(), || name.to_owned());
        match self {
            Self::CodexToml | Self::CodexJson => match &server.transport {
                McpTransport::Stdio { env, .. } => env.iter().try_for_each(|(key, value)| match value.pieces() {
                    [ValuePiece::Text(_)] | [] => Ok(()),
                    [ValuePiece::Variable(variable)] if variable == key => Ok(()),
                    _ => Err(McpRefusal::OtherName {
                        engine: engine(),
                        server: server_name(),
                        field: format!("env.{key}"),
                        wanted: key.clone(),
                    }),
                }),
                McpTransport::Http { headers, .. } => headers.iter().try_for_each(|(key, value)| {
                    let field = || format!("headers.{key}");
                    match CodexHeader::of(key, value) {
                        Some(_) => Ok(()),
                        None => {
                            Err(McpRefusal::MixedHeader { engine: engine(), server: server_name(), field: field() })
                        }
                    }
                }),
            },
            // `${` was refused where no variable is meant.
            Self::Claude => Ok(()),
            Self::Gemini => texts(server).into_iter().try_for_each(|(field, text)| {
                let is_name = |rest: &str| rest.starts_with(|c: char| c == '{' || c == '_' || c.is_ascii_alphabetic());
                let is_replaced = text.split('$').skip(1).any(is_name);
                let refusal =
                    || McpRefusal::Replaced { engine: engine(), server: server_name(), field, begins: "a dollar sign" };
                if is_replaced { Err(refusal()) } else { Ok(()) }
            }),
            Self::Opencode => texts(server).into_iter().try_for_each(|(field, text)| {
                let begins = ["{env:", "{file:"].into_iter().find(|begins| text.contains(begins));
                begins.map_or(Ok(()), |begins| {
                    Err(McpRefusal::Replaced { engine: engine(), server: server_name(), field, begins })
                })
            }),
        }
    }

    /// How a value that may name variables is written.
    fn value(self, value: &ServerValue) -> String {
        let piece = |piece: &ValuePiece| match (piece, self) {
            (ValuePiece::Text(text), _) => text.clone(),
            (ValuePiece::Variable(name), Self::Opencode) => format!("{{env:{name}}}"),
            (ValuePiece::Variable(name), Self::Claude | Self::Gemini | Self::CodexToml | Self::CodexJson) => {
                format!("${{{name}}}")
            }
        };
        value.pieces().iter().map(piece).collect()
    }

    fn values(self, values: &BTreeMap<String, ServerValue>) -> Map<String, Value> {
        values.iter().map(|(name, value)| (name.clone(), self.value(value).into())).collect()
    }

    /// One server.
    pub fn entry(self, server: &McpServer) -> String {
        match self {
            Self::CodexToml => toml(&Value::Object(codex(server))),
            Self::CodexJson | Self::Claude | Self::Gemini | Self::Opencode => self.object(server).to_string(),
        }
    }

    /// All servers by name, as a JSON object.
    pub fn all(self, servers: &McpServers) -> String {
        let entries = servers.iter().map(|(name, server)| (name.to_owned(), self.object(server)));
        Value::Object(entries.collect()).to_string()
    }

    fn object(self, server: &McpServer) -> Value {
        let milliseconds = server.timeout_sec.map(|seconds| (seconds * 1000.0).round() as u64);
        let mut entry = match (self, &server.transport) {
            (Self::CodexToml | Self::CodexJson, _) => return Value::Object(codex(server)),
            // Deferred tools are not shown to the model.
            (Self::Claude, McpTransport::Stdio { command, args, env }) => json!({
                "type": "stdio", "command": command, "args": args, "env": self.values(env), "alwaysLoad": true,
            }),
            (Self::Claude, McpTransport::Http { url, headers }) => json!({
                "type": "http", "url": url, "headers": self.values(headers), "alwaysLoad": true,
            }),
            (Self::Gemini, McpTransport::Stdio { command, args, env }) => json!({
                "command": command, "args": args, "env": self.values(env), "trust": true,
            }),
            (Self::Gemini, McpTransport::Http { url, headers }) => json!({
                "httpUrl": url, "headers": self.values(headers), "trust": true,
            }),
            (Self::Opencode, McpTransport::Stdio { command, args, env }) => {
                let words: Vec<&String> = std::iter::once(command).chain(args).collect();
                json!({"type": "local", "command": words, "environment": self.values(env)})
            }
            (Self::Opencode, McpTransport::Http { url, headers }) => json!({
                "type": "remote", "url": url, "headers": self.values(headers), "oauth": false,
            }),
        };
        if let (Some(entry), Some(milliseconds)) = (entry.as_object_mut(), milliseconds) {
            entry.insert("timeout".to_owned(), milliseconds.into());
        }
        entry
    }
}

/// A header as codex takes it.
enum CodexHeader {
    Text(String),
    Variable(String),
    Bearer(String),
}

impl CodexHeader {
    fn of(name: &str, value: &ServerValue) -> Option<Self> {
        match value.pieces() {
            [] => Some(Self::Text(String::new())),
            [ValuePiece::Text(text)] => Some(Self::Text(text.clone())),
            [ValuePiece::Variable(variable)] => Some(Self::Variable(variable.clone())),
            [ValuePiece::Text(text), ValuePiece::Variable(variable)]
                if text == "Bearer " && name.eq_ignore_ascii_case("authorization") =>
            {
                Some(Self::Bearer(variable.clone()))
            }
            _ => None,
        }
    }
}

/// codex passes a handful of variables alone; the tag of the attempt lets the host find a server that has left its
/// process group.
fn codex(server: &McpServer) -> Map<String, Value> {
    let mut entry = Map::new();
    let mut put = |name: &str, value: Value| {
        entry.insert(name.to_owned(), value);
    };
    match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            put("command", command.clone().into());
            put("args", args.clone().into());
            let is_text = |value: &ServerValue| value.variables().next().is_none();
            let texts = env.iter().filter(|(_, value)| is_text(value));
            let texts: Map<String, Value> =
                texts.map(|(name, value)| (name.clone(), value.to_string().into())).collect();
            put("env", texts.into());
            let names = env.iter().filter(|(_, value)| !is_text(value)).map(|(name, _)| name.as_str());
            put("env_vars", names.chain([TAG]).map(Value::from).collect());
        }
        McpTransport::Http { url, headers } => {
            put("url", url.clone().into());
            let (mut texts, mut variables) = (Map::new(), Map::new());
            for (name, value) in headers {
                match CodexHeader::of(name, value) {
                    Some(CodexHeader::Text(text)) => drop(texts.insert(name.clone(), text.into())),
                    Some(CodexHeader::Variable(variable)) => drop(variables.insert(name.clone(), variable.into())),
                    Some(CodexHeader::Bearer(variable)) => put("bearer_token_env_var", variable.into()),
                    // Refused before.
                    None => {}
                }
            }
            put("http_headers", texts.into());
            put("env_http_headers", variables.into());
        }
    }
    // Without it, codex refuses the calls in its sandbox.
    put("default_tools_approval_mode", "approve".into());
    if server.required {
        put("required", true.into());
    }
    if let Some(seconds) = server.timeout_sec {
        put("tool_timeout_sec", seconds.into());
    }
    entry
}

/// Strings, lists and tables of strings, booleans and numbers. A JSON string without control characters other than
/// line ends and tabs is a TOML string.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{}={}", Value::from(key.as_str()), toml(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(toml).collect::<Vec<_>>().join(",")),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain.to_string(),
    }
}

/// All texts of a server that an engine could take for something else, with their fields.
fn texts(server: &McpServer) -> Vec<(String, &str)> {
    fn of_values<'a>(field: &str, values: &'a BTreeMap<String, ServerValue>) -> Vec<(String, &'a str)> {
        let pieces = values.iter().flat_map(|(name, value)| value.pieces().iter().map(move |piece| (name, piece)));
        let text = |(name, piece): (&String, &'a ValuePiece)| match piece {
            ValuePiece::Text(text) => Some((format!("{field}.{name}"), text.as_str())),
            ValuePiece::Variable(_) => None,
        };
        pieces.filter_map(text).collect()
    }
    match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            let args = args.iter().map(|arg| ("args".to_owned(), arg.as_str()));
            [("command".to_owned(), command.as_str())].into_iter().chain(args).chain(of_values("env", env)).collect()
        }
        McpTransport::Http { url, headers } => {
            [("url".to_owned(), url.as_str())].into_iter().chain(of_values("headers", headers)).collect()
        }
    }
}

/// The server that skillrun itself offers to the engine of an attempt: `skillrun mcp`.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnServer {
    /// For [`McpServers::with_own`]. It names the variables and has no value of them.
    pub server: McpServer,
    /// For the host of the attempt; the token is masked.
    pub variables: [Variable; 2],
}

/// The name by which an engine knows [`OwnServer`].
pub const OWN_SERVER: &str = OWN_NAME;

/// None where the path of the program is not UTF-8: no engine could take it.
pub fn own_server(program: &Path, socket: &Path, token: &str) -> Option<OwnServer> {
    let env = [SOCKET_VARIABLE, TOKEN_VARIABLE].map(|name| (name.to_owned(), ServerValue::variable(name)));
    let transport = McpTransport::Stdio {
        command: program.to_str()?.to_owned(),
        args: vec!["mcp".to_owned()],
        env: BTreeMap::from(env),
    };
    let variable = |name: &str, value: OsText, kind| Variable { name: OsText::from(name), value, kind };
    Some(OwnServer {
        server: McpServer { transport, required: false, timeout_sec: None },
        variables: [
            variable(SOCKET_VARIABLE, OsText::from(socket), VariableKind::Plain),
            variable(TOKEN_VARIABLE, OsText::from(token), VariableKind::Secret),
        ],
    })
}
