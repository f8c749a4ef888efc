//! Arguments of `skillrun skills`.

use std::path::PathBuf;

use clap::Subcommand;
use skillrun_model::ExecutionMode;

use super::Json;
use super::engines::install_seconds;
use super::parsers::words;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Skills {
    #[command(subcommand)]
    pub(crate) command: Option<SkillsCommand>,
    /// Form of the list that is printed if no subcommand is given.
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List all skills, including shadowed and broken ones
    List {
        #[command(flatten)]
        json: Json,
    },
    /// Show a skill, or the exact text that an agent reads
    #[command(after_help = SHOW_HELP)]
    Show {
        /// Name of the skill, or a path (anything that contains a slash)
        #[arg(value_name = "NAME")]
        skill: String,
        /// Print SKILL.md with the rules that a run adds to it
        #[arg(long)]
        patched: bool,
        /// Whether the agent works alone (`auto`), may ask questions (`interactive`), or takes one prompt after another
        /// (`conversation`) [default: as in a run of this skill]
        #[arg(long, requires = "patched", value_parser = words(ExecutionMode::ALL, ExecutionMode::as_str))]
        mode: Option<ExecutionMode>,
        #[command(flatten)]
        json: Json,
    },
    /// Create a small, complete skill to start from
    New {
        /// Name of the skill: lowercase letters, digits and hyphens
        name: String,
        /// Folder to create the skill in
        #[arg(long, value_name = "DIR", default_value = ".agents/skills")]
        dir: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Report everything that is wrong with a skill
    #[command(after_help = "The exit code is 0 if the skill can be run, even with warnings, and 2 if it cannot.")]
    Validate {
        /// Name of the skill, or its folder
        #[arg(value_name = "NAME | DIR")]
        skill: String,
        #[command(flatten)]
        json: Json,
    },
    /// Install a skill from a folder, a zip file or GitHub
    #[command(after_help = INSTALL_HELP)]
    Install {
        /// Folder or zip file with the skill, or a repository on GitHub
        #[arg(value_name = "DIR | ZIP | OWNER/REPO")]
        source: String,
        /// Replace an installed skill with the same name
        #[arg(long, visible_alias = "force")]
        replace: bool,
        /// Seconds that git may take, 1 to 86400
        #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = install_seconds)]
        timeout: u64,
        #[command(flatten)]
        json: Json,
    },
    /// Remove an installed skill
    Remove {
        /// Name of the skill
        name: String,
        #[command(flatten)]
        json: Json,
    },
}

const INSTALL_HELP: &str = "\
A folder or repository that contains several skills is refused; name the folder of one, for example \
OWNER/REPO/skills/NAME. The latest commit of the default branch is fetched with git. Nothing in it is run.";

const SHOW_HELP: &str = "In the patched text, RUN stands for the id of the future run.";
