//! Arguments of `skillrun engines`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

use super::Json;
use super::parsers::seconds;

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
    /// Install an engine with npm, for skillrun alone
    Install(EnginesInstall),
    /// Try whether an engine works, against a scripted model on this machine
    #[command(after_help = VERIFY_HELP)]
    Verify(EnginesVerify),
    /// Record what an engine writes, against a scripted model on this machine
    Record(EnginesRecord),
    /// Print the file of an example engine, with every key and what it means
    Reference,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EnginesInstall {
    /// Name of the engine, or `all` for every one that can be installed
    pub(crate) name: String,
    /// Another version than the newest that was tested
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Give up a package after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
}

const VERIFY_HELP: &str = "\
Needs no network and no login, and touches nothing of yours.
The exit code is 0 when all that is required works, and 1 when not.";

#[derive(Debug, clap::Args)]
pub(crate) struct EnginesVerify {
    /// Name of the engine
    pub(crate) name: String,
    /// Give up after this many seconds
    #[arg(long, value_name = "S", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EnginesRecord {
    /// Name of the engine
    pub(crate) name: Option<String>,
    /// What the model does
    pub(crate) scenario: Option<String>,
    /// Folder for recordings; this one gets a folder in it
    #[arg(long, value_name = "DIR", default_value = "recordings")]
    pub(crate) to: PathBuf,
    /// List the scenarios
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}
