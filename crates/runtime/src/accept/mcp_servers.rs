//! The MCP servers of a request and of its skill.
//!
//! A skill may come from anywhere, and an engine runs its servers outside of every sandbox. So a skill's server is
//! accepted only where the engine may do anything in any case, and it gets a variable only if the user passes it.

use skillrun_engine::{Descriptor, Posture, mcp};
use skillrun_model::mcp::McpServers;
use skillrun_runs::record::HomeChoice;
use skillrun_skill::Skill;

use super::{AcceptError, Filled, NewRun};
use crate::runtime::RuntimeConfig;

/// The servers that the engine gets: those of the request, and those of the skill that have another name.
pub(super) fn of(
    config: &RuntimeConfig,
    descriptor: &Descriptor,
    new: &NewRun,
    options: &Filled,
    is_boxed: bool,
) -> Result<McpServers, AcceptError> {
    let asked = &new.options.mcp_servers;
    let servers = match new.task.skill() {
        None => asked.clone(),
        Some(skill) => {
            check_skill(skill, descriptor, new, options, is_boxed)?;
            asked.clone().or(&skill.runner.mcp_servers)?
        }
    };
    mcp::check(descriptor, &servers, options.home == HomeChoice::Run)?;
    for (name, server) in servers.iter() {
        for variable in server.variables() {
            if config.variable(variable).is_none_or(|value| value.is_empty()) {
                return Err(AcceptError::ServerVariable { server: name.to_owned(), name: variable.to_owned() });
            }
        }
    }
    Ok(servers)
}

fn check_skill(
    skill: &Skill,
    descriptor: &Descriptor,
    new: &NewRun,
    options: &Filled,
    is_boxed: bool,
) -> Result<(), AcceptError> {
    let is_own = |(name, _): &(&str, _)| new.options.mcp_servers.get(name).is_none();
    for (name, server) in skill.runner.mcp_servers.iter().filter(is_own) {
        let (skill, server_name) = (|| skill.name.clone(), || name.to_owned());
        match descriptor.permissions.rule(options.permission).posture {
            Posture::NotEnforced => {}
            // It is started by the engine, and is in the same box.
            Posture::Enforced | Posture::Asked if is_boxed => {}
            Posture::Enforced | Posture::Asked => {
                let (engine, permission) = (descriptor.name.to_string(), options.permission);
                return Err(AcceptError::SkillServer { skill: skill(), server: server_name(), engine, permission });
            }
        }
        let is_passed = |name: &&str| new.options.env.iter().chain(&new.options.secrets).any(|passed| passed == name);
        if let Some(name) = server.variables().find(|name| !is_passed(name)) {
            let name = name.to_owned();
            return Err(AcceptError::SkillServerVariable { skill: skill(), server: server_name(), name });
        }
    }
    Ok(())
}
