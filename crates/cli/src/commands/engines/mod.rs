//! `skillrun engines`: which engines there are, which are installed, and which permissions each enforces.

mod install;
mod lab;
mod list;
mod record;
mod show;
mod uninstall;
mod upgrade;
mod verify;

use std::process::ExitCode;

use skillrun_engine::load::REFERENCE;
use skillrun_runtime::engines::{EngineContext, Probing};

use crate::args::{Engines, EnginesCommand, EnginesList, Global};
use crate::failure::Failure;
use crate::output::print;
use crate::settings::Settings;

pub(crate) use install::stop_on_signals;

pub(crate) fn run(global: &Global, args: Engines) -> Result<ExitCode, Failure> {
    let done = |()| ExitCode::SUCCESS;
    match args.command.unwrap_or(EnginesCommand::List(args.list)) {
        EnginesCommand::List(how) => list::run(global, how).map(done),
        EnginesCommand::Show { name, list: how } => show::run(global, &name, how).map(done),
        EnginesCommand::Install(args) => install::run(global, &args).map(done),
        EnginesCommand::Upgrade(args) => upgrade::run(global, &args).map(done),
        EnginesCommand::Uninstall { name, json } => uninstall::run(global, &name, json.form()).map(done),
        EnginesCommand::Verify(args) => verify::run(global, &args),
        EnginesCommand::Record(args) => record::run(global, &args).map(done),
        EnginesCommand::Reference => print(REFERENCE).map(done),
    }
}

impl From<EnginesList> for Probing {
    fn from(args: EnginesList) -> Self {
        if args.no_probe { Self::Off } else { Self::On }
    }
}

pub(crate) fn around(settings: &Settings) -> EngineContext<'_> {
    let around = &settings.surroundings;
    EngineContext {
        own: &around.own,
        cwd: &around.cwd,
        user_home: around.home(),
        programs: settings.programs.as_deref(),
        environment: &around.environment,
        consents: &settings.consent,
        data: Some(&settings.data),
    }
}
