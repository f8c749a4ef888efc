//! Arguments of `skillrun config`.

use clap::Subcommand;

use super::Json;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = HELP)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
    /// Form of the table that is printed if no subcommand is given.
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting, its value, and where the value comes from
    Show {
        #[command(flatten)]
        json: Json,
    },
    /// Print the value of one setting
    Get {
        /// Key of the setting, such as engine or slots.total
        key: String,
        #[command(flatten)]
        json: Json,
    },
    /// Set a value in the settings file; comments in the file are kept
    Set {
        /// Key of the setting, such as engine or slots.total
        key: String,
        /// Value of the setting; several values for a list
        #[arg(required = true, value_name = "VALUE", allow_negative_numbers = true)]
        values: Vec<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Remove a setting from the file, so that its default applies
    Unset {
        /// Key of the setting, such as engine or slots.total
        key: String,
        #[command(flatten)]
        json: Json,
    },
    /// Print the path of the settings file, whether it exists or not
    Path {
        #[command(flatten)]
        json: Json,
    },
}

const HELP: &str = "\
The settings file is the one named by --config, else by SKILLRUN_CONFIG, else
skillrun/config.toml in XDG_CONFIG_HOME or ~/.config.

  skillrun config set engine codex
  skillrun config set slots.engines.codex 2
  skillrun config set skills ~/skills ../team/skills";
