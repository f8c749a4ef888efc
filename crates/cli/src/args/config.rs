//! Arguments of `skillrun config`.

use clap::Subcommand;

use super::Json;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = HELP)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
    /// Of the table that is printed where no command is given.
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting, its value, and where it comes from
    Show {
        #[command(flatten)]
        json: Json,
    },
    /// Print the value of one setting
    Get {
        /// Its key, such as engine or slots.total
        key: String,
        #[command(flatten)]
        json: Json,
    },
    /// Write a setting into the file; comments there stay as they are
    Set {
        /// Its key, such as engine or slots.total
        key: String,
        /// Its value; several for a setting that is a list
        #[arg(required = true, value_name = "VALUE", allow_negative_numbers = true)]
        values: Vec<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Take a setting out of the file, so that its default holds
    Unset {
        /// Its key, such as engine or slots.total
        key: String,
        #[command(flatten)]
        json: Json,
    },
    /// Print where the file is, whether it exists or not
    Path {
        #[command(flatten)]
        json: Json,
    },
}

const HELP: &str = "\
The file is the one that --config names, else SKILLRUN_CONFIG, else
skillrun/config.toml in XDG_CONFIG_HOME or ~/.config.

  skillrun config set engine codex
  skillrun config set slots.engines.codex 2
  skillrun config set skills ~/skills ../team/skills";
