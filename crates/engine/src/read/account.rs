//! How an engine is installed, how the user is logged in to it, where its model is, and how it takes MCP servers.

use super::argv::templates;
use super::argv::{Place, template};
use super::is_engine_name;
use super::surroundings::{inside, variable_name};
use crate::descriptor::{Environment, Gateway, Install, KeepLogin, Login, LoginFile, LoginText, ProbeRule, TakeLogin};
use crate::install::{is_package, is_version};
use skillrun_model::confinement::HostPatternError;

use crate::keys::{KeyResult, Value};
use crate::mcp::{FailureReport, McpForm, McpRule};

pub(super) fn install(value: &Value<'_>) -> KeyResult<Install> {
    let section = value.section(&["package", "version", "node", "program", "shares"])?;
    // They become arguments of a command line.
    let package = section.required("package")?;
    let name = package.string()?;
    if !is_package(&name) {
        return Err(package.unusable(format!("{name:?} is not the name of a package")));
    }
    let version = section.required("version")?;
    let number = version.string()?;
    if !is_version(&number) {
        return Err(version.unusable(format!("{number:?} is not a version such as 1.2.3")));
    }
    let node = match section.get("node") {
        None => None,
        Some(value) => match u32::try_from(value.number()?) {
            Ok(major) if (1..1000).contains(&major) => Some(major),
            Ok(_) | Err(_) => return Err(value.unusable("must be a major version of Node, such as 22")),
        },
    };
    let program = section.required("program")?;
    let shares = match section.get("shares") {
        None => None,
        Some(value) => {
            let name = value.string()?;
            if !is_engine_name(&name) {
                return Err(value.unusable(format!("{name:?} is not the name of an engine")));
            }
            Some(name)
        }
    };
    Ok(Install { package: name, version: number, node, program: inside(&program.string()?, &program)?, shares })
}

/// A variable that the engine receives; any other one would never reach it.
fn known(name: String, value: &Value<'_>, environment: &Environment) -> KeyResult<String> {
    let name = variable_name(name, value)?;
    let is_known = environment.pass.contains(&name) || environment.secret.contains(&name);
    let unknown = value.unusable(format!("{name} must be in environment.pass or environment.secret"));
    if is_known { Ok(name) } else { Err(unknown) }
}

pub(super) fn login(value: &Value<'_>, environment: &Environment) -> KeyResult<Login> {
    let section = value.section(&["command", "variables", "gateway_variables", "take", "files", "folders", "text"])?;
    let mut login = Login { command: section.string("command")?, ..Login::default() };
    for (name, value) in section.strings("variables")? {
        login.variables.push(known(name, &value, environment)?);
    }
    for (name, value) in section.strings("gateway_variables")? {
        login.gateway_variables.push(known(name, &value, environment)?);
    }
    if let Some(take) = section.get("take") {
        login.take = take.one_of(TakeLogin::ALL, TakeLogin::as_str)?;
    }
    for file in section.get("files").map_or_else(|| Ok(Vec::new()), |files| files.list())? {
        let file = file.section(&["path", "keep"])?;
        let path = file.required("path")?;
        let keep = file.required("keep")?.one_of(KeepLogin::ALL, KeepLogin::as_str)?;
        login.files.push(LoginFile { path: inside(&path.string()?, &path)?, keep });
    }
    for (path, value) in section.strings("folders")? {
        login.folders.push(inside(&path, &value)?);
    }
    if let Some(text) = section.get("text") {
        let text = text.section(&["variable", "file"])?;
        login.text =
            Some(LoginText { variable: text.required("variable")?.string()?, file: text.required("file")?.string()? });
    }
    Ok(login)
}

pub(super) fn gateway(value: &Value<'_>, environment: &Environment) -> KeyResult<Gateway> {
    let section = value.section(&["variable", "text", "hosts"])?;
    let mut hosts = Vec::new();
    for (host, value) in section.strings("hosts")? {
        hosts.push(host.parse().map_err(|error: HostPatternError| value.unusable(error.to_string()))?);
    }
    let variable = section.required("variable")?;
    let text = section.get("text").map(|text| template(&text.string()?, &text, Place::Gateway)).transpose()?;
    Ok(Gateway { variable: known(variable.string()?, &variable, environment)?, text, hosts })
}

pub(super) fn probe(value: &Value<'_>, environment: &Environment) -> KeyResult<ProbeRule> {
    let section = value.section(&["model", "set"])?;
    let mut set = Vec::new();
    for (name, value) in section.required("set")?.entries()? {
        set.push((known(name, &value, environment)?, template(&value.string()?, &value, Place::Probe)?));
    }
    Ok(ProbeRule { model: section.get("model").map(|value| value.text()).transpose()?, set })
}

pub(super) fn mcp(value: &Value<'_>) -> KeyResult<McpRule> {
    let section = value.section(&["form", "reports", "flags", "each", "text", "item", "rule", "set"])?;
    let words = |key: &str, place: Place| section.get(key).map_or_else(|| Ok(Vec::new()), |it| templates(&it, place));
    let text =
        |key: &str, place: Place| section.get(key).map(|value| template(&value.string()?, &value, place)).transpose();
    let mut set = Vec::new();
    for (name, value) in section.get("set").map_or_else(|| Ok(Vec::new()), |set| set.entries())? {
        set.push((variable_name(name, &value)?, value.string()?));
    }
    Ok(McpRule {
        form: section.required("form")?.one_of(McpForm::ALL, McpForm::as_str)?,
        reports: match section.get("reports") {
            Some(value) => value.one_of(FailureReport::ALL, FailureReport::as_str)?,
            None => FailureReport::ByName,
        },
        flags: words("flags", Place::Mcp)?,
        each: words("each", Place::McpEach)?,
        text: text("text", Place::Mcp)?,
        item: text("item", Place::McpEach)?,
        rule: text("rule", Place::McpEach)?,
        set,
    })
}
