//! Arguments of `skillrun engines`.

use clap::Subcommand;

use super::Json;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Engines {
    #[command(subcommand)]
    pub(crate) command: Option<EnginesCommand>,
    /// Of the list that is printed where no command is given.
    #[command(flatten)]
    pub(crate) list: EnginesList,
}

#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct EnginesList {
    /// Do not start the programs to ask for their versions
    #[arg(long)]
    pub(crate) no_probe: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnginesCommand {
    /// List all engines, with those whose file is broken
    List(EnginesList),
    /// Show all that is known about an engine
    Show {
        /// Name of the engine
        name: String,
        #[command(flatten)]
        list: EnginesList,
    },
    /// Print the file of an example engine, with every key and what it means
    Reference,
}
