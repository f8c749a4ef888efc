//! What surrounds the process: executable, variables, files, folders.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use skillrun_model::word_enum;
use skillrun_model::workspace_settings::StartKind;
use skillrun_plan::environment::{TAG, TEMPORARY};

use super::argv::{Place, template, templates};
use crate::descriptor::{Environment, Executable, FileBase, FileTemplate, InstalledProgram, Network, SkillFolders};
use crate::keys::{KeyResult, Section, Value};
use crate::workspace::{Prevention, StartRule, WorkspaceRule};

word_enum! {
    Kind {
        Installed = "installed",
        Own = "self",
    }
}

pub(super) fn executable(value: &Value<'_>) -> KeyResult<Executable> {
    let section = value.section(&["kind", "names", "path", "variable", "places", "instead", "install"])?;
    let kind = match section.get("kind") {
        None => Kind::Installed,
        Some(value) => value.one_of(Kind::ALL, Kind::as_str)?,
    };
    match kind {
        Kind::Own => Ok(Executable::Own),
        Kind::Installed => installed(value, &section).map(Executable::Installed),
    }
}

fn installed(value: &Value<'_>, section: &Section<'_>) -> KeyResult<InstalledProgram> {
    let mut names = Vec::new();
    for (name, value) in section.strings("names")? {
        if name.is_empty() || name.contains('/') {
            return Err(value.unusable(format!("\"{name}\" is not the name of a file; paths go into path or places")));
        }
        names.push(name);
    }
    let places = section.strings("places")?;
    let places =
        places.iter().map(|(text, value)| template(text, value, Place::Executable)).collect::<KeyResult<_>>()?;
    let path = section.get("path").map(|value| value.text()).transpose()?.map(PathBuf::from);
    if names.is_empty() && path.is_none() {
        return Err(value.unusable("must have names or path"));
    }
    Ok(InstalledProgram {
        names,
        path,
        variable: section.get("variable").map(|value| variable_name(value.string()?, &value)).transpose()?,
        places,
        instead: section.strings("instead")?.into_iter().map(|(path, _)| path.into()).collect(),
        install: section.string("install")?,
    })
}

pub(super) fn variable_name(name: String, value: &Value<'_>) -> KeyResult<String> {
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(value.unusable(format!("{name:?} cannot be the name of a variable")));
    }
    if name == TAG || name == TEMPORARY {
        return Err(value.unusable(format!("{name} is set by the host")));
    }
    Ok(name)
}

pub(super) fn network(value: &Value<'_>) -> KeyResult<Network> {
    let section = value.section(&["flags", "set"])?;
    let mut network = Network { flags: section.plain_strings("flags")?, set: Vec::new() };
    for (name, value) in section.get("set").map_or_else(|| Ok(Vec::new()), |set| set.entries())? {
        network.set.push((variable_name(name, &value)?, value.string()?));
    }
    Ok(network)
}

pub(super) fn environment(value: &Value<'_>, network: &Network) -> KeyResult<Environment> {
    let section = value.section(&["pass", "secret", "set"])?;
    let mut seen: BTreeSet<String> = network.set.iter().map(|(name, _)| name.clone()).collect();
    let mut once = |name: String, value: &Value<'_>| {
        let name = variable_name(name, value)?;
        let twice = value.unusable(format!("{name} is named twice in the file"));
        if seen.insert(name.clone()) { Ok(name) } else { Err(twice) }
    };
    let mut environment = Environment::default();
    for (name, value) in section.strings("pass")? {
        environment.pass.push(once(name, &value)?);
    }
    for (name, value) in section.strings("secret")? {
        environment.secret.push(once(name, &value)?);
    }
    for (name, value) in section.get("set").map_or_else(|| Ok(Vec::new()), |set| set.entries())? {
        let name = once(name, &value)?;
        let ways = if value.is_list() { value.strings()? } else { vec![(value.string()?, value)] };
        // The later of two entries wins, but the first entry of the list should.
        for (text, value) in ways.iter().rev() {
            environment.set.push((name.clone(), template(text, value, Place::Value)?));
        }
    }
    Ok(environment)
}

/// A path that stays inside of the folder it is relative to.
pub(super) fn inside(text: &str, value: &Value<'_>) -> KeyResult<PathBuf> {
    let path = Path::new(text);
    let stays = path.components().all(|component| matches!(component, Component::Normal(_)));
    if text.is_empty() || !stays || text.contains('\0') {
        return Err(value.unusable(format!("{text:?} must be a relative path without ..")));
    }
    Ok(path.to_owned())
}

pub(super) fn file(value: &Value<'_>) -> KeyResult<FileTemplate> {
    let section = value.section(&["in", "path", "text"])?;
    let path = section.required("path")?;
    let text = section.required("text")?;
    Ok(FileTemplate {
        base: section.required("in")?.one_of(FileBase::ALL, FileBase::as_str)?,
        path: inside(&path.string()?, &path)?,
        text: template(&text.string()?, &text, Place::Value)?,
    })
}

pub(super) fn skills(value: &Value<'_>) -> KeyResult<SkillFolders> {
    let section = value.section(&["project", "home"])?;
    let folders = |key: &str| -> KeyResult<Vec<PathBuf>> {
        section.strings(key)?.iter().map(|(text, value)| inside(text, value)).collect()
    };
    Ok(SkillFolders { project: folders("project")?, home: folders("home")? })
}

pub(super) fn workspace(value: &Value<'_>) -> KeyResult<WorkspaceRule> {
    let section = value.section(&["flags", "user_home_flags", "set", "unless_set", "text", "session", "starts"])?;
    let flags = |key: &str| section.get(key).map(|value| templates(&value, Place::Workspace)).transpose();
    let entries = |key: &str| section.get(key).map_or_else(|| Ok(Vec::new()), |set| set.entries());
    let text = |key: &str| section.get(key).map(|text| template(&text.string()?, &text, Place::Workspace)).transpose();
    let mut rule = WorkspaceRule {
        flags: flags("flags")?.unwrap_or_default(),
        user_home_flags: flags("user_home_flags")?,
        text: text("text")?,
        session: text("session")?,
        ..WorkspaceRule::default()
    };
    for (name, value) in entries("set")? {
        rule.set.push((variable_name(name, &value)?, template(&value.string()?, &value, Place::Workspace)?));
    }
    for (name, value) in entries("unless_set")? {
        rule.unless_set.push((variable_name(name, &value)?, value.string()?));
    }
    for value in section.get("starts").map_or_else(|| Ok(Vec::new()), |list| list.list())? {
        let section = value.section(&["file", "keys", "kind", "by"])?;
        let file = section.required("file")?;
        rule.starts.push(StartRule {
            file: inside(&file.string()?, &file)?,
            keys: section.plain_strings("keys")?,
            kind: section.required("kind")?.one_of(StartKind::ALL, StartKind::as_str)?,
            by: match section.get("by") {
                None => Prevention::default(),
                Some(value) => value.one_of(Prevention::ALL, Prevention::as_str)?,
            },
        });
    }
    Ok(rule)
}
