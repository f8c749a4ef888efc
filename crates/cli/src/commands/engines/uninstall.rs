//! `skillrun engines uninstall`.

use std::time::Duration;

use serde_json::json;
use skillrun_engine::{Descriptor, Engines};
use skillrun_runtime::programs::{Uninstall, Uninstalled};

use super::install::{ALL, failure, install_rule, programs, stop_on_signals};
use crate::args::{Global, OutputForm};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::settings::Settings;

/// How long another process may install or remove something meanwhile.
pub(super) const PROGRAMS_LOCK_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn run(global: &Global, name: &str, form: OutputForm) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let engines = settings.engines();
    let is_stopped = stop_on_signals()?;
    let uninstall =
        Uninstall { programs: programs(&settings)?, timeout: PROGRAMS_LOCK_TIMEOUT, is_stopped: &is_stopped };
    let folders = match name {
        ALL => installed_folders(&engines, &uninstall),
        name => {
            let engine = engines.get(name)?;
            let folder = install_rule(engine)?.folder(name).to_owned();
            if uninstall.versions(&folder).is_empty() {
                return Err(Failure::NotFound(format!(
                    "{name} is not installed by skillrun; `skillrun engines` shows whether and where it is installed"
                )));
            }
            vec![folder]
        }
    };
    let mut removed = Vec::new();
    for folder in folders {
        let done = uninstall.all(&folder).map_err(failure)?;
        let names = sharing(&engines, &folder);
        if form == OutputForm::Text {
            print(&text(&folder, &names, &done))?;
        }
        removed.push(json!({ "engines": names, "versions": done.versions, "node": done.node }));
    }
    match form {
        OutputForm::Json => print_json(&json!({ "removed": removed })),
        OutputForm::Text if removed.is_empty() => print("No engine is installed by skillrun.\n"),
        OutputForm::Text => Ok(()),
    }
}

/// Folders of the engines that have a private install, each once.
pub(super) fn installed_folders(engines: &Engines, uninstall: &Uninstall<'_>) -> Vec<String> {
    let folder = |engine: &Descriptor| Some(engine.install.as_ref()?.folder(engine.name.as_str()).to_owned());
    let mut folders: Vec<String> = engines.iter().filter_map(folder).collect();
    folders.sort();
    folders.dedup();
    folders.retain(|folder| !uninstall.versions(folder).is_empty());
    folders
}

/// The engines that use the install in a folder.
pub(super) fn sharing(engines: &Engines, folder: &str) -> Vec<String> {
    let uses =
        |engine: &&Descriptor| engine.install.as_ref().is_some_and(|rule| rule.folder(engine.name.as_str()) == folder);
    engines.iter().filter(uses).map(|engine| engine.name.to_string()).collect()
}

fn text(folder: &str, names: &[String], done: &Uninstalled) -> String {
    let others: Vec<&str> = names.iter().map(String::as_str).filter(|name| *name != folder).collect();
    let also = if others.is_empty() { String::new() } else { format!(", also for {}", others.join(", ")) };
    let engine = done.versions.iter().map(|version| format!("{folder} {version} is uninstalled{also}\n"));
    let node = done.node.iter().map(|version| format!("Node {version} is uninstalled; no other engine needs it\n"));
    engine.chain(node).collect()
}
