//! `skillrun engines`: which there are, which are installed, and how far each can be trusted.

mod list;
mod show;

use skillrun_engine::load::REFERENCE;
use skillrun_runtime::looking::engines::{Around, Probing};

use crate::args::{Engines, EnginesCommand, EnginesList, Global};
use crate::failure::Failure;
use crate::output::print;
use crate::settings::Settings;

pub(crate) fn run(global: &Global, args: Engines) -> Result<(), Failure> {
    match args.command.unwrap_or(EnginesCommand::List(args.list)) {
        EnginesCommand::List(how) => list::run(global, how),
        EnginesCommand::Show { name, list: how } => show::run(global, &name, how),
        EnginesCommand::Reference => print(REFERENCE),
    }
}

impl From<EnginesList> for Probing {
    fn from(args: EnginesList) -> Self {
        if args.no_probe { Self::Off } else { Self::On }
    }
}

fn around(settings: &Settings) -> Around<'_> {
    let around = &settings.surroundings;
    Around { own: &around.own, cwd: &around.cwd, user_home: around.home(), environment: &around.environment }
}
