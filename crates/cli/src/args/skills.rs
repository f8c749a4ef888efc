//! Arguments of `skillrun skills`.

use std::path::PathBuf;

use clap::Subcommand;
use skillrun_model::ExecutionMode;

use super::Json;
use super::parsers::words;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Skills {
    #[command(subcommand)]
    pub(crate) command: Option<SkillsCommand>,
    /// Of the list that is printed where no command is given.
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List all skills, with those that are shadowed or broken
    List {
        #[command(flatten)]
        json: Json,
    },
    /// Show a skill, or exactly what an agent will read of it
    #[command(after_help = SHOW_HELP)]
    Show {
        /// Name of the skill, or a path: whatever has a slash in it
        #[arg(value_name = "NAME")]
        skill: String,
        /// Print its SKILL.md with the rules that are added in a run
        #[arg(long)]
        patched: bool,
        /// Whether the user can be asked [default: as in a run of this skill]
        #[arg(long, requires = "patched", value_parser = words(ExecutionMode::ALL, ExecutionMode::as_str))]
        mode: Option<ExecutionMode>,
        #[command(flatten)]
        json: Json,
    },
    /// Write a new skill: small, complete, ready to be changed
    New {
        /// Its name: lowercase letters, digits and hyphens
        name: String,
        /// Folder to put it in
        #[arg(long, value_name = "DIR", default_value = ".agents/skills")]
        dir: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Tell everything that is wrong with a skill
    #[command(after_help = "The exit code is 0 for a skill that can be run, with warnings too, and 2 for another.")]
    Validate {
        /// Folder of the skill
        dir: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Install the skill in a zip file
    Install {
        /// The zip file
        file: PathBuf,
        /// Replace an installed skill of the same name
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Remove a skill that was installed
    Remove {
        /// Name of the skill
        name: String,
        #[command(flatten)]
        json: Json,
    },
}

const SHOW_HELP: &str = "In the patched text, RUN stands for the id that the run will have.";
