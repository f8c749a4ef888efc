//! Arguments of `skillrun test`.

use std::path::PathBuf;
use std::time::Duration;

use super::Json;
use super::parsers::{count, seconds};

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = TEST_HELP)]
pub(crate) struct Test {
    /// The skill: its name, or the path of its folder
    pub(crate) skill: String,
    /// Engines to try it on [default: all that it allows and that are installed]
    #[arg(long, value_name = "E,E", value_delimiter = ',')]
    pub(crate) engines: Vec<String>,
    /// File with the cases [default: tests/cases.yaml or .json of the skill]
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: Option<PathBuf>,
    /// Run each case on each engine so often
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count)]
    pub(crate) n: u32,
    /// Runs at the same time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = count)]
    pub(crate) jobs: u32,
    /// Model to ask for, of all engines or of one [default: each engine's own]
    #[arg(long = "model", value_name = "[ENGINE=]MODEL", value_parser = model)]
    pub(crate) models: Vec<ModelChoice>,
    /// End an attempt after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Leave engines out that are not installed
    #[arg(long)]
    pub(crate) skip_missing: bool,
    /// Keep the runs in this folder [default: kept where something failed]
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Write a JUnit report
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Which model to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelChoice {
    /// None: of all that have no choice of their own.
    pub(crate) engine: Option<String>,
    pub(crate) model: String,
}

fn model(text: &str) -> Result<ModelChoice, &'static str> {
    let (engine, model) = match text.split_once('=') {
        Some((engine, model)) => (Some(engine), model),
        None => (None, text),
    };
    match engine == Some("") || model.is_empty() {
        true => Err("not MODEL or ENGINE=MODEL"),
        false => Ok(ModelChoice { engine: engine.map(str::to_owned), model: model.to_owned() }),
    }
}

const TEST_HELP: &str = "\
Exit codes: 0 all is as expected, 1 something is not, 2 wrong usage,
4 an engine or the skill is not there, 130 interrupted.
Ctrl-C cancels what runs and prints what there is; a second one leaves at once.

  skillrun test ./my-skill
  skillrun test ./my-skill --engines codex,claude --n 3 --junit report.xml
  skillrun test ./my-skill --model codex=MODEL --model claude=MODEL";
