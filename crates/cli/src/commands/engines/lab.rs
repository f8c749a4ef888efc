//! A lab for one engine: a temporary folder, and runtimes without access to anything of the user.

use std::ffi::OsString;
use std::fs;
use std::sync::{Arc, Mutex};

use skillrun_base::sync::{into_inner, lock};
use skillrun_engine::Descriptor;
use skillrun_model::ErrorClass;
use skillrun_runs::DataFolder;
use skillrun_runtime::Runtime;
use skillrun_runtime::engines::State;
use skillrun_trial::lab::{Lab, World};

use crate::failure::Failure;
use crate::owner::OwnerProcess;
use crate::settings::Settings;

/// Runs a task in a lab.
pub(super) fn within<T>(settings: &Settings, state: &State<'_>, task: impl FnOnce(Lab<'_>) -> T) -> Result<T, Failure> {
    let parent = settings.data.tests();
    let failed = |error| Failure::Write { path: parent.to_string_lossy().into_owned(), error };
    fs::create_dir_all(&parent).map_err(failed)?;
    let scratch = tempfile::Builder::new().prefix("engine-").tempdir_in(&parent).map_err(failed)?;
    let owners: Mutex<Vec<OwnerProcess>> = Mutex::default();
    let start = |world: &World| {
        let owner = OwnerProcess::new(&inside(settings, state, world)).map_err(|failure| failure.to_string())?;
        let runtime: Arc<Runtime> = owner.runtime.clone();
        lock(&owners).push(owner);
        Ok(runtime)
    };
    let lab = Lab::make(state.descriptor, scratch.path(), &start);
    let done = lab.map(task).map_err(|error| Failure::of_class(ErrorClass::Internal, error));
    // Before the folder with their sockets is removed; no run continues in it.
    into_inner(owners).into_iter().for_each(OwnerProcess::leave_runs);
    done
}

/// The settings inside the lab.
fn inside(settings: &Settings, state: &State<'_>, world: &World) -> Settings {
    let mut settings = settings.clone();
    settings.data = DataFolder::new(&world.data);
    settings.consent = vec![world.consent.clone()];
    let is_gone = |name: &OsString| name == "HOME" || world.unset.iter().any(|unset| name == unset.as_str());
    let environment = &mut settings.surroundings.environment;
    environment.retain(|(name, _)| !is_gone(name));
    environment.push(("HOME".into(), world.home.clone().into()));
    environment.extend(program(state.descriptor, state));
    environment.extend(world.set.iter().map(|(name, value)| (name.into(), value.into())));
    settings
}

/// A program may be in the home folder of the user, which the lab replaces, so its path is passed on.
fn program(descriptor: &Descriptor, state: &State<'_>) -> Option<(OsString, OsString)> {
    let found = state.program.as_ref().ok().filter(|found| found.interpreter.is_none())?;
    Some((descriptor.executable.variable()?.into(), found.program.clone().into()))
}
