//! `assets/runner.json`: how a skill wants to be run.
//!
//! ```text
//! id, version, description     text, for people
//! execution_modes              ["auto", "interactive", "conversation"]; all of them when left out
//! engines                      names; every engine when left out or empty
//! unsupported_engines          names
//! max_attempt                  whole number from 1; interactive runs alone
//! require_marker               true or false; auto runs alone
//! schemas                      {input, parameter, output}: paths inside the skill
//! entrypoint.prompts           {common, <engine>}: templates, see `template`
//! runtime_options              object, for the runtime
//! default_decision_policy      engine_judgement, safe_default or abort
//! mcp_servers                  {name: {command, args, env} or {url, headers}, with required and timeout_sec}
//! checks                       [{command, name, timeout_sec}]: commands that must pass before a run succeeds
//! artifacts                    [{pattern, role, type, required}], or just the patterns
//! ```
//!
//! Unknown keys are warnings. What decides how the skill is run and cannot be read is an error: dropping a schema or a
//! limit silently would give unwanted results.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use serde_json::{Map, Value};
use skillrun_model::checks::CheckRequest;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::mcp::McpServers;
use skillrun_model::profile::EngineName;
use skillrun_model::{ExecutionMode, word_enum};

use super::finding::{FindingKind, Findings};
use super::paths::InnerPath;
use crate::bounded;
use crate::prompt;
use crate::schema::shorten;

/// The key of the template for every engine that has none of its own.
const COMMON: &str = "common";

#[derive(Debug, Clone, PartialEq)]
pub struct Runner {
    pub id: Option<String>,
    pub version: Option<String>,
    pub description: Option<String>,
    /// Never empty.
    pub execution_modes: Vec<ExecutionMode>,
    /// Empty: every engine.
    pub engines: Vec<EngineName>,
    pub unsupported_engines: Vec<EngineName>,
    pub max_attempt: Option<NonZeroU32>,
    /// Whether an auto run without a done marker fails.
    pub require_marker: Option<bool>,
    pub schemas: SchemaPaths,
    pub prompts: Prompts,
    pub runtime_options: Map<String, Value>,
    pub default_decision_policy: Option<DecisionPolicy>,
    /// MCP servers that the skill brings.
    pub mcp_servers: McpServers,
    /// Commands that must pass before a run succeeds.
    pub checks: Vec<CheckRequest>,
    pub artifacts: Vec<ArtifactRule>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SchemaPaths {
    pub input: Option<InnerPath>,
    pub parameter: Option<InnerPath>,
    pub output: Option<InnerPath>,
}

word_enum! {
    pub SchemaRole {
        Input = "input",
        Parameter = "parameter",
        Output = "output",
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompts {
    pub common: Option<String>,
    pub by_engine: BTreeMap<String, String>,
}

/// Files that a skill says it will make.
#[derive(Debug, Clone, PartialEq)]
pub struct ArtifactRule {
    /// Below the folder for artifacts.
    pub pattern: String,
    pub role: Option<String>,
    pub media_type: Option<String>,
    pub required: bool,
}

impl Default for Runner {
    /// A skill without `runner.json`.
    fn default() -> Self {
        Self {
            id: None,
            version: None,
            description: None,
            execution_modes: ExecutionMode::ALL.to_vec(),
            engines: Vec::new(),
            unsupported_engines: Vec::new(),
            max_attempt: None,
            require_marker: None,
            schemas: SchemaPaths::default(),
            prompts: Prompts::default(),
            runtime_options: Map::new(),
            default_decision_policy: None,
            mcp_servers: McpServers::default(),
            checks: Vec::new(),
            artifacts: Vec::new(),
        }
    }
}

impl Runner {
    /// The mode of a run that names none.
    pub fn default_mode(&self) -> ExecutionMode {
        let preferred = [ExecutionMode::Auto, ExecutionMode::Interactive];
        preferred.into_iter().find(|mode| self.allows(*mode)).unwrap_or(ExecutionMode::Conversation)
    }

    pub fn allows(&self, mode: ExecutionMode) -> bool {
        self.execution_modes.contains(&mode)
    }

    pub fn schema(&self, role: SchemaRole) -> Option<&InnerPath> {
        match role {
            SchemaRole::Input => self.schemas.input.as_ref(),
            SchemaRole::Parameter => self.schemas.parameter.as_ref(),
            SchemaRole::Output => self.schemas.output.as_ref(),
        }
    }
}

impl Prompts {
    /// The template for an engine, and the key it stands under in `runner.json`.
    pub fn for_engine(&self, engine: &EngineName) -> Option<(&str, String)> {
        let own = self.by_engine.get(engine.as_str()).map(|text| (text.as_str(), key(engine.as_str())));
        own.or_else(|| self.common.as_deref().map(|text| (text, key(COMMON))))
    }

    /// All templates, each with its key.
    pub fn all(&self) -> impl Iterator<Item = (&str, String)> {
        let common = self.common.as_deref().map(|text| (text, key(COMMON)));
        common.into_iter().chain(self.by_engine.iter().map(|(name, text)| (text.as_str(), key(name))))
    }
}

fn key(name: &str) -> String {
    format!("entrypoint.prompts.{name}")
}

/// Reads the text of a `runner.json`. The error is a sentence.
pub(super) fn read(text: &str, root: &Path, findings: &mut Findings<'_>) -> Result<Runner, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON ({error})"))?;
    let Value::Object(fields) = value else { return Err("it is not a JSON object".to_owned()) };
    let mut runner = Runner::default();
    for (key, value) in fields {
        // `null` is how some write that a thing is not there.
        if value.is_null() {
            continue;
        }
        match key.as_str() {
            "id" => runner.id = findings.text(&key, value),
            "version" => runner.version = findings.text(&key, value),
            "description" => runner.description = findings.text(&key, value),
            "execution_modes" => read_modes(value, &mut runner, findings),
            "engines" => runner.engines = read_engines(&key, value, findings),
            "unsupported_engines" => runner.unsupported_engines = read_engines(&key, value, findings),
            "max_attempt" => runner.max_attempt = read_max_attempt(&value, findings),
            "require_marker" => runner.require_marker = flag_of(&key, &value, findings),
            "schemas" => read_schemas(value, root, &mut runner, findings),
            "entrypoint" => read_entrypoint(value, &mut runner, findings),
            "runtime_options" => runner.runtime_options = object_of(&key, value, findings),
            "default_decision_policy" => runner.default_decision_policy = read_policy(&value, findings),
            "mcp_servers" => read_mcp_servers(value, &mut runner, findings),
            "checks" => read_checks(value, &mut runner, findings),
            "artifacts" => read_artifacts(value, &mut runner, findings),
            // Editors look it up; it says nothing to us.
            "$schema" => {}
            _ => unknown(&key, findings),
        }
    }
    for engine in runner.engines.iter().filter(|engine| runner.unsupported_engines.contains(engine)) {
        let message = format!("{engine} is in engines and in unsupported_engines; it counts as unsupported");
        findings.add(FindingKind::EngineTwice, message);
    }
    Ok(runner)
}

fn unknown(key: &str, findings: &mut Findings<'_>) {
    findings.add(FindingKind::UnknownKey, format!("the key \"{}\" is unknown and is ignored", shorten(key)));
}

fn wrong_part(key: &str, wanted: &str, given: &Value, findings: &mut Findings<'_>) {
    findings.add(FindingKind::RunnerPart, format!("{key} must be {wanted}, not {}", shorten(&given.to_string())));
}

fn flag_of(key: &str, value: &Value, findings: &mut Findings<'_>) -> Option<bool> {
    let flag = value.as_bool();
    if flag.is_none() {
        wrong_part(key, "true or false", value, findings);
    }
    flag
}

/// The members of an object; none when it is not one.
fn object_of(key: &str, value: Value, findings: &mut Findings<'_>) -> Map<String, Value> {
    let Value::Object(members) = value else {
        wrong_part(key, "an object", &value, findings);
        return Map::new();
    };
    members
}

fn read_modes(value: Value, runner: &mut Runner, findings: &mut Findings<'_>) {
    let Value::Array(words) = value else {
        return wrong_part("execution_modes", "a list", &value, findings);
    };
    let mut modes = Vec::new();
    for word in words {
        match word.as_str().and_then(|word| word.parse::<ExecutionMode>().ok()) {
            Some(mode) if modes.contains(&mode) => {}
            Some(mode) => modes.push(mode),
            None => findings.add(
                FindingKind::UnknownMode,
                format!(
                    "execution_modes has {}, which is not auto, interactive or conversation",
                    shorten(&word.to_string())
                ),
            ),
        }
    }
    if modes.is_empty() {
        let message = "execution_modes contains no valid mode; name auto, interactive or conversation, or leave it out";
        findings.add(FindingKind::NoMode, message);
    } else {
        runner.execution_modes = modes;
    }
}

fn read_engines(key: &str, value: Value, findings: &mut Findings<'_>) -> Vec<EngineName> {
    let Value::Array(names) = value else {
        wrong_part(key, "a list of names", &value, findings);
        return Vec::new();
    };
    let mut engines: Vec<EngineName> = Vec::new();
    for name in names {
        match name.as_str().map(str::trim).filter(|name| !name.is_empty()).map(EngineName::new) {
            Some(engine) if engines.contains(&engine) => {}
            Some(engine) => engines.push(engine),
            None => wrong_part(key, "a list of names", &name, findings),
        }
    }
    engines
}

fn read_max_attempt(value: &Value, findings: &mut Findings<'_>) -> Option<NonZeroU32> {
    let number = value.as_u64().and_then(|n| u32::try_from(n).ok()).and_then(NonZeroU32::new);
    if number.is_none() {
        let message = format!("max_attempt must be a whole number from 1, not {}", shorten(&value.to_string()));
        findings.add(FindingKind::MaxAttempt, message);
    }
    number
}

fn read_policy(value: &Value, findings: &mut Findings<'_>) -> Option<DecisionPolicy> {
    let policy = value.as_str().and_then(|word| word.parse().ok());
    if policy.is_none() {
        let known = DecisionPolicy::ALL.iter().map(|policy| policy.as_str()).collect::<Vec<_>>().join(", ");
        let message = format!("default_decision_policy is {}, not one of: {known}", shorten(&value.to_string()));
        findings.add(FindingKind::PolicyUnknown, message);
    }
    policy
}

fn read_schemas(value: Value, root: &Path, runner: &mut Runner, findings: &mut Findings<'_>) {
    for (key, value) in object_of("schemas", value, findings) {
        let place = match key.as_str() {
            "input" => &mut runner.schemas.input,
            "parameter" => &mut runner.schemas.parameter,
            "output" => &mut runner.schemas.output,
            _ => {
                unknown(&format!("schemas.{key}"), findings);
                continue;
            }
        };
        if !value.is_null() {
            *place = read_schema_path(&key, &value, root, findings);
        }
    }
}

fn read_schema_path(key: &str, value: &Value, root: &Path, findings: &mut Findings<'_>) -> Option<InnerPath> {
    let Some(text) = value.as_str() else {
        wrong_part(&format!("schemas.{key}"), "a path", value, findings);
        return None;
    };
    let path = match InnerPath::parse(text) {
        Ok(path) => path,
        Err(problem) => {
            let message = format!("schemas.{key}: the path \"{}\" {problem}", shorten(text));
            findings.add(FindingKind::SchemaPath, message);
            return None;
        }
    };
    if let Err(error) = bounded::check_inside(root, path.as_path()) {
        let message = format!("schemas.{key}: {}: {}", shorten(text), error.kind);
        findings.add(FindingKind::SchemaPath, message);
    }
    Some(path)
}

fn read_entrypoint(value: Value, runner: &mut Runner, findings: &mut Findings<'_>) {
    for (key, value) in object_of("entrypoint", value, findings) {
        match key.as_str() {
            _ if value.is_null() => {}
            "prompts" => read_prompts(object_of("entrypoint.prompts", value, findings), runner, findings),
            _ => unknown(&format!("entrypoint.{key}"), findings),
        }
    }
}

fn read_prompts(prompts: Map<String, Value>, runner: &mut Runner, findings: &mut Findings<'_>) {
    for (name, value) in prompts {
        match value {
            Value::Null => {}
            Value::String(template) if template.trim().is_empty() => findings.add(
                FindingKind::RunnerPart,
                format!("{} is empty; leave it out to get the default prompt", key(&shorten(&name))),
            ),
            Value::String(template) => {
                for unknown in prompt::unknown_placeholders(&template) {
                    let message = format!("{} has the placeholder {{{{{unknown}}}}}, which is unknown", key(&name));
                    findings.add(FindingKind::PromptPlaceholder, message);
                }
                if name == COMMON {
                    runner.prompts.common = Some(template);
                } else {
                    runner.prompts.by_engine.insert(name, template);
                }
            }
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                wrong_part(&key(&shorten(&name)), "text", &other, findings);
            }
        }
    }
}

/// A server that is left out because of a mistake could be one that the skill cannot do without.
fn read_mcp_servers(value: Value, runner: &mut Runner, findings: &mut Findings<'_>) {
    match serde_json::from_value(value) {
        Ok(servers) => runner.mcp_servers = servers,
        Err(error) => {
            let message = shorten(&error.to_string());
            // A mistake in one server names it.
            let place = if message.starts_with("mcp_servers") { "" } else { "mcp_servers: " };
            findings.add(FindingKind::RunnerPart, format!("{place}{message}"));
        }
    }
}

/// A run without one of its checks would succeed without being checked, so any mistake is an error.
fn read_checks(value: Value, runner: &mut Runner, findings: &mut Findings<'_>) {
    let Value::Array(checks) = value else {
        return wrong_part("checks", "a list", &value, findings);
    };
    for check in checks {
        match serde_json::from_value(check) {
            Ok(check) => runner.checks.push(check),
            Err(error) => {
                findings.add(FindingKind::RunnerPart, format!("checks: {}", shorten(&error.to_string())));
            }
        }
    }
}

fn read_artifacts(value: Value, runner: &mut Runner, findings: &mut Findings<'_>) {
    let Value::Array(rules) = value else {
        return wrong_part("artifacts", "a list", &value, findings);
    };
    for rule in rules {
        let (pattern, mut fields) = match rule {
            Value::String(pattern) => (Some(pattern), Map::new()),
            Value::Object(mut fields) => match fields.shift_remove("pattern") {
                Some(Value::String(pattern)) => (Some(pattern), fields),
                Some(_) | None => (None, fields),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => (None, Map::new()),
        };
        let Some(pattern) = pattern else {
            findings.add(FindingKind::RunnerPart, "artifacts must be a list of patterns, or of objects with a pattern");
            continue;
        };
        if let Err(problem) = InnerPath::parse(&pattern) {
            let message = format!("artifacts: the pattern \"{}\" {problem}", shorten(&pattern));
            findings.add(FindingKind::ArtifactPath, message);
            continue;
        }
        let mut text = |name: &str| {
            let value = fields.shift_remove(name)?;
            findings.text(&format!("artifacts.{name}"), value)
        };
        let role = text("role");
        let media_type = text("type");
        let required = fields.shift_remove("required").filter(|value| !value.is_null());
        let required = required.and_then(|value| flag_of("artifacts.required", &value, findings)).unwrap_or(false);
        for key in fields.keys() {
            unknown(&format!("artifacts.{key}"), findings);
        }
        runner.artifacts.push(ArtifactRule { pattern, role, media_type, required });
    }
}
