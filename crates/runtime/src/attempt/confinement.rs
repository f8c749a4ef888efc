//! The folders that are let into the box of a run: its own, the workspace, and the program of its engine. Nothing else of
//! the data folder, and nothing of the user's HOME.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use skillrun_collect::plan::Variable;
use skillrun_confine::network::PROXY;
use skillrun_confine::{BoxPlan, NetworkPlan};
use skillrun_engine::descriptor::Executable;
use skillrun_engine::{Descriptor, Permission};
use skillrun_evidence::OsText;
use skillrun_model::confinement::{BoxMechanism, BoxPartName, BoxReport, NetworkAccess};
use skillrun_runs::record::{RunRecord, Workspace};

use crate::delegation::token;
use crate::run::Run;
use crate::runtime::RuntimeConfig;

/// The permission whose flags the engine gets: inside of a box that holds the files, an engine whose own sandbox would not
/// start is started without it.
pub(crate) fn engine_permission(record: &RunRecord, descriptor: &Descriptor) -> Permission {
    let asked = record.request.permission;
    match mechanism(record) {
        Some(_) if descriptor.permissions.rule(asked).own_sandbox => Permission::Full,
        Some(_) | None => asked,
    }
}

fn mechanism(record: &RunRecord) -> Option<BoxMechanism> {
    record.confinement.as_ref()?.mechanism()
}

/// The box for the engine of a run. `workspace` and `home`: where it works.
pub(super) fn of_engine(
    config: &RuntimeConfig,
    run: &Run,
    descriptor: &Descriptor,
    (workspace, home): (&Path, &Path),
) -> Option<BoxPlan> {
    let record = &run.record;
    let mut plan = of_command(run, (workspace, home))?;
    let mut readable = vec![run.folder.inputs(), run.folder.skill()];
    let program = record.engine.program.as_path();
    readable.push(program.to_owned());
    match descriptor.executable {
        // One file, which starts itself as the engine and reads the record of the run.
        Executable::Own => readable.push(run.folder.record()),
        Executable::Installed(_) => {
            let interpreter = record.engine.interpreter.as_ref().map(OsText::as_path);
            for file in [Some(program), interpreter].into_iter().flatten() {
                readable.push(program_folder(&real(file), &real(&config.user_home)));
                readable.push(file.to_owned());
            }
        }
    }
    if record.request.delegation.is_some() {
        readable.push(config.own_program.clone());
        readable.push(token::folder(&config.tools.data, run.id));
    }
    plan.readable.extend(readable.into_iter().map(OsText::from));
    Some(plan)
}

/// The box for a command that has the folders of a run and the programs of the system.
pub(super) fn of_command(run: &Run, (workspace, home): (&Path, &Path)) -> Option<BoxPlan> {
    let record = &run.record;
    let mechanism = mechanism(record)?;
    let report = record.confinement.as_ref()?;
    let network = network(record.request.network, mechanism, report);
    let (mut readable, mut writable) = (Vec::new(), vec![OsText::from(home)]);
    match record.request.permission {
        Permission::ReadOnly => readable.push(OsText::from(workspace)),
        Permission::Workspace | Permission::Full => writable.push(OsText::from(workspace)),
    }
    readable.extend(objects(record).map(OsText::from));
    Some(BoxPlan { mechanism, network, readable, writable })
}

fn network(asked: NetworkAccess, mechanism: BoxMechanism, report: &BoxReport) -> NetworkPlan {
    match (asked, mechanism) {
        (NetworkAccess::Open, _) => NetworkPlan::Open,
        // Without network namespaces it is not enforced, and the report says so.
        (_, BoxMechanism::Namespaces) if !report.enforces(BoxPartName::Network) => NetworkPlan::Open,
        // Rules of Landlock that hold nothing completely, and let everything through that the model needs.
        (NetworkAccess::Model | NetworkAccess::List, BoxMechanism::Landlock) => NetworkPlan::Open,
        (NetworkAccess::None, _) => NetworkPlan::Only(Vec::new()),
        (NetworkAccess::Model | NetworkAccess::List, BoxMechanism::Namespaces) => {
            NetworkPlan::Only(report.reachable.clone())
        }
    }
}

/// Variables that lead programs to the proxy of their box. Those of the user would lead to a proxy that is not reached.
pub(super) fn add_proxy(variables: &mut Vec<Variable>, plan: Option<&BoxPlan>) {
    let is_served = plan.is_some_and(|plan| !plan.network.is_open() && !plan.network.has_no_host());
    if !is_served {
        return;
    }
    let proxy = format!("http://{PROXY}");
    // Each address by itself: not every client knows ranges. A model on loopback is reached through its door.
    let own = "localhost,127.0.0.1,::1";
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let mut added: Vec<Variable> = names.iter().map(|name| Variable::plain(name, &proxy)).collect();
    added.extend(["NO_PROXY", "no_proxy"].iter().map(|name| Variable::plain(name, own)));
    // The fetch of Node reads the variables only then.
    added.push(Variable::plain("NODE_USE_ENV_PROXY", "1"));
    variables.retain(|given| added.iter().all(|one| one.name != given.name));
    variables.extend(added);
}

/// The objects that the copy of a repository borrows. From the record alone: the list in the copy can be changed by the
/// engine.
fn objects(record: &RunRecord) -> Option<PathBuf> {
    let from = match &record.request.workspace {
        Workspace::Copy(copy) => copy.from.as_path(),
        Workspace::Own | Workspace::Folder { .. } => return None,
    };
    let git = from.join(".git");
    let objects = git.join("objects");
    // A link could lead to any folder of the user.
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|about| about.is_dir());
    (is_folder(&git) && is_folder(&objects)).then_some(objects)
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The folder with everything that a program needs: the packages beside it, if it is one of npm, else the folder that it
/// is in. The program alone where that folder has the user's HOME in it.
fn program_folder(program: &Path, user_home: &Path) -> PathBuf {
    let mut packages = PathBuf::new();
    for part in program.components() {
        packages.push(part);
        if part.as_os_str() == OsStr::new("node_modules") {
            return packages;
        }
    }
    match program.parent() {
        Some(folder) if !user_home.starts_with(folder) => folder.to_owned(),
        Some(_) | None => program.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_brings_its_packages_or_its_folder() {
        let rows = [
            ("/users/u/.nvm/lib/node_modules/@x/cli/dist/index.js", "/users/u/.nvm/lib/node_modules"),
            ("/p/node_modules/a/node_modules/b/bin/b", "/p/node_modules"),
            ("/users/u/.local/share/claude/versions/2.1/claude", "/users/u/.local/share/claude/versions/2.1"),
            ("/users/u/codex", "/users/u/codex"),
            ("/users/tool", "/users/tool"),
            ("/tool", "/tool"),
            ("/users/user2/bin/tool", "/users/user2/bin"),
        ];
        for (program, folder) in rows {
            assert_eq!(program_folder(Path::new(program), Path::new("/users/u")), Path::new(folder), "{program}");
        }
    }
}
