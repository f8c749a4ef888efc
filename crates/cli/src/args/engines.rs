//! Arguments of `skillrun engines`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;

use super::Json;
use super::parsers::{natural_number, seconds};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Engines {
    #[command(subcommand)]
    pub(crate) command: Option<EnginesCommand>,
    /// Form of the list that is printed if no subcommand is given.
    #[command(flatten)]
    pub(crate) list: EnginesList,
}

#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct EnginesList {
    /// Do not start the engine programs to find out their versions
    #[arg(long)]
    pub(crate) no_probe: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnginesCommand {
    /// List all engines, including those with an invalid description file
    List(EnginesList),
    /// Show everything that is known about an engine
    Show {
        /// Name of the engine
        name: String,
        #[command(flatten)]
        list: EnginesList,
    },
    /// Install an engine with npm, for use by skillrun only
    Install(EnginesInstall),
    /// Install the newest tested version of installed engines, and remove older ones
    #[command(after_help = UPGRADE_HELP)]
    Upgrade(EnginesUpgrade),
    /// Remove an engine that `install` installed, with all its versions
    #[command(after_help = UNINSTALL_HELP)]
    Uninstall {
        /// Name of the engine, or `all` for every engine that is installed
        name: String,
        #[command(flatten)]
        json: Json,
    },
    /// Check that an engine works, using a scripted model on this machine
    #[command(after_help = VERIFY_HELP)]
    Verify(EnginesVerify),
    /// Record the output of an engine, using a scripted model on this machine
    Record(EnginesRecord),
    /// Print an example engine description file with every key explained
    Reference,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EnginesInstall {
    /// Name of the engine, or `all` for every engine that can be installed
    pub(crate) name: String,
    /// Version to install [default: the newest tested version]
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Seconds after which the installation of a package fails, 1 to 86400
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = install_seconds)]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EnginesUpgrade {
    /// Name of the engine [default: every engine that is installed]
    pub(crate) name: Option<String>,
    /// Seconds after which the installation of a package fails, 1 to 86400
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = install_seconds)]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) json: Json,
}

const UPGRADE_HELP: &str = "\
Only engines that `skillrun engines install` installed are upgraded. An older
version that a run uses stays, and a version above the tested one stays too.";

const UNINSTALL_HELP: &str = "\
A program that was installed in another way is not touched. An engine that a run
uses is refused. Node is removed with the last engine that needs it.";

/// A day.
const INSTALL_SECONDS_MAX: u64 = 86_400;

pub(super) fn install_seconds(text: &str) -> Result<u64, &'static str> {
    let seconds = natural_number(text).ok().filter(|seconds| (1..=INSTALL_SECONDS_MAX).contains(seconds));
    seconds.ok_or("not a whole number of seconds from 1 to 86400")
}

const VERIFY_HELP: &str = "\
No network and no login are needed, and your files are not touched.
The exit code is 0 if all required features work, and 1 if not.";

#[derive(Debug, clap::Args)]
pub(crate) struct EnginesVerify {
    /// Name of the engine
    pub(crate) name: String,
    /// Seconds for all checks of the running engine together; a check that is not done by then fails
    #[arg(long, value_name = "S", default_value = "30", value_parser = seconds)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EnginesRecord {
    /// Name of the engine
    pub(crate) name: Option<String>,
    /// What the scripted model does; --list lists the scenarios
    pub(crate) scenario: Option<String>,
    /// Folder for recordings; a new folder is created in it
    #[arg(long, value_name = "DIR", default_value = "recordings")]
    pub(crate) to: PathBuf,
    /// List the available scenarios
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}
