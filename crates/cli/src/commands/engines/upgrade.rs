//! `skillrun engines upgrade`.

use std::time::Duration;

use serde_json::{Value, json};
use skillrun_engine::Descriptor;
use skillrun_engine::install::is_older;
use skillrun_runtime::programs::{InstallOutcome, Uninstall, Uninstalled};

use super::install::{Installing, failure, install_rule, programs};
use super::uninstall::{PROGRAMS_LOCK_TIMEOUT, installed_folders, sharing};
use crate::args::{EnginesUpgrade, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::settings::Settings;

pub(super) fn run(global: &Global, args: &EnginesUpgrade) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let engines = settings.engines();
    let installing = Installing::new(&settings, &engines, Duration::from_secs(args.timeout))?;
    let is_stopped = &installing.is_stopped;
    let uninstall = Uninstall { programs: programs(&settings)?, timeout: PROGRAMS_LOCK_TIMEOUT, is_stopped };
    let chosen: Vec<&Descriptor> = match &args.name {
        Some(name) => {
            let engine = engines.get(name)?;
            if uninstall.versions(install_rule(engine)?.folder(name)).is_empty() {
                return Err(Failure::NotFound(format!(
                    "{name} is not installed by skillrun; `skillrun engines install {name}` installs it"
                )));
            }
            vec![engine]
        }
        None => {
            let folders = installed_folders(&engines, &uninstall);
            // The engines of a folder have the same package.
            let first = |folder: &String| sharing(&engines, folder).into_iter().next();
            folders.iter().filter_map(first).filter_map(|name| engines.get(&name).ok()).collect()
        }
    };
    let mut upgraded = Vec::new();
    for engine in chosen {
        upgraded.push(one(&installing, &uninstall, engine, args.json.form())?);
    }
    match args.json.form() {
        OutputForm::Json => print_json(&json!({ "engines": upgraded })),
        OutputForm::Text if upgraded.is_empty() => print("No engine is installed by skillrun.\n"),
        OutputForm::Text => Ok(()),
    }
}

fn one(
    installing: &Installing<'_>,
    uninstall: &Uninstall<'_>,
    engine: &Descriptor,
    form: OutputForm,
) -> Result<Value, Failure> {
    let rule = install_rule(engine)?;
    let (name, version) = (engine.name.as_str(), rule.version.as_str());
    let folder = rule.folder(name);
    let newer = uninstall.versions(folder).into_iter().find(|installed| is_older(version, installed));
    // A newer version was asked for with --version.
    let outcome = match &newer {
        Some(_) => InstallOutcome::WasThere,
        None => installing.install(engine, None)?,
    };
    let removed = match &newer {
        Some(_) => Uninstalled::default(),
        None => uninstall.some(folder, |installed| is_older(installed, version)).map_err(failure)?,
    };
    if form == OutputForm::Text {
        print(&text(name, version, newer.as_deref(), outcome, &removed))?;
    }
    Ok(json!({
        "engine": name,
        "version": newer.as_deref().unwrap_or(version),
        "was_installed": outcome == InstallOutcome::WasThere,
        "removed": removed.versions,
        "in_use": removed.used.iter().map(|used| &used.version).collect::<Vec<_>>(),
    }))
}

fn text(name: &str, version: &str, newer: Option<&str>, outcome: InstallOutcome, removed: &Uninstalled) -> String {
    if let Some(newer) = newer {
        return format!("{name} {newer} stays; it is newer than the tested version {version}\n");
    }
    let words = match outcome {
        InstallOutcome::Installed => "is installed",
        InstallOutcome::WasThere => "is up to date",
    };
    let mut text = format!("{name} {version} {words}\n");
    text.extend(removed.versions.iter().map(|old| format!("{name} {old} is removed\n")));
    text.extend(removed.used.iter().map(|old| {
        format!("{name} {} stays, because {} uses it; upgrade again when its run is over\n", old.version, old.user)
    }));
    text.extend(removed.node.iter().map(|old| format!("Node {old} is removed; no engine needs it\n")));
    text
}
