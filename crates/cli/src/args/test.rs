//! Arguments of `skillrun test`.

use std::path::PathBuf;
use std::time::Duration;

use super::Json;
use super::parsers::{count, seconds};

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = TEST_HELP)]
pub(crate) struct Test {
    /// Skill: its name, or the path of its folder
    pub(crate) skill: String,
    /// Engines to test on [default: all installed engines that the skill supports]
    #[arg(long, value_name = "E,E", value_delimiter = ',')]
    pub(crate) engines: Vec<String>,
    /// File with the test cases [default: tests/cases.yaml or tests/cases.json of the skill]
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: Option<PathBuf>,
    /// Run each case N times on each engine
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count)]
    pub(crate) n: u32,
    /// Maximum number of concurrent runs
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = count)]
    pub(crate) jobs: u32,
    /// Model for all engines, or for one engine (repeatable) [default: the engine's own]
    #[arg(long = "model", value_name = "[ENGINE=]MODEL", value_parser = model)]
    pub(crate) models: Vec<ModelChoice>,
    /// Terminate an attempt after this many seconds [default: as in a run]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Skip engines that are not installed
    #[arg(long)]
    pub(crate) skip_missing: bool,
    /// Keep the runs in this folder [default: in the data folder, only if a test does not pass]
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// Write a JUnit report to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// Which model to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelChoice {
    /// None: for all engines without a choice of their own.
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
Exit codes: 0 all tests passed, 1 a test failed, 2 wrong usage, 4 the skill or
an engine was not found, 130 interrupted.
Ctrl-C cancels the active runs and prints the results so far; a second Ctrl-C
exits at once.

  skillrun test ./my-skill
  skillrun test ./my-skill --engines codex,claude --n 3 --junit report.xml
  skillrun test ./my-skill --model codex=MODEL --model claude=MODEL";
