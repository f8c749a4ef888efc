//! Arguments of `skillrun workflow`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use skillrun_engine::Permission;

use super::confinement::BoxArgs;
use super::parsers::{named, seconds};
use super::{Json, OneRun, Wait, WorkspaceWait};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Workflow {
    #[command(subcommand)]
    pub(crate) command: WorkflowCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Check the file of a workflow
    Validate(WorkflowFileArgs),
    /// Print the steps of a workflow and what each of them waits for; nothing is started
    Plan(WorkflowFileArgs),
    /// Run a workflow
    Run(Box<WorkflowRun>),
    /// Show a workflow with its steps
    Show(OneRun),
    /// Run a workflow again with the same inputs
    Retry(WorkflowRetry),
}

/// A file and what fills its gaps.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WorkflowFileArgs {
    /// Workflow: the path of a YAML or JSON file, or the name of a skill with assets/workflow.yaml
    #[arg(value_name = "FILE|SKILL")]
    pub(crate) file: String,
    /// Engine of steps that name none [default: the setting `engine`]
    #[arg(long, short, value_name = "E")]
    pub(crate) engine: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct WorkflowRun {
    /// Workflow: the path of a YAML or JSON file, or the name of a skill with assets/workflow.yaml
    #[arg(value_name = "FILE|SKILL")]
    pub(crate) file: String,
    /// Input: name=value, a JSON file, or - for JSON on stdin (repeatable)
    #[arg(long, short, value_name = "K=V|FILE|-")]
    pub(crate) input: Vec<String>,
    /// Engine of steps that name none [default: the setting `engine`]
    #[arg(long, short, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// Folder that steps with `workspace: shared` work in [default: a new folder inside the run]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Allow other runs to work in the workspace at the same time
    #[arg(long, requires = "workspace")]
    pub(crate) share: bool,
    /// Model of steps that name none [default: the engine's own]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// What engines of steps that name no permission may do without asking [default: the setting `permission`]
    #[arg(long, value_parser = named(Permission::ALL, Permission::as_str))]
    pub(crate) permission: Option<Permission>,
    #[command(flatten)]
    pub(crate) confinement: BoxArgs,
    /// Let the engines take settings from the workspace that start programs or name addresses [default: they are ignored,
    /// with a warning]
    #[arg(long)]
    pub(crate) allow_workspace_settings: bool,
    /// Terminate a turn of a step after this many seconds [default: `timeout` of the step, else the setting
    /// `hard_timeout_sec`]
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Seconds a question waits for an answer: without one a step counts as not decided, and an agent decides by itself
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) question_timeout: Option<Duration>,
    /// Pass an environment variable to the engines (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Pass an environment variable to the engines and mask its value in all output (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Vec<String>,
    #[command(flatten)]
    pub(crate) wait: Wait,
    #[command(flatten)]
    pub(crate) workspace_wait: WorkspaceWait,
}

const RUN_HELP: &str = "\
Exit codes: 0 completed, 1 failed or not decided, 2 wrong usage, 3 timed out,
4 not found, 5 partial, 6 waiting for a decision, 8 canceled, 130 interrupted.
The other commands work on workflows as on every run: `skillrun logs -f`,
`reply`, `cancel`, `diagnose`, `export`. `skillrun close` closes the question
about a step without an answer.

  skillrun workflow run review.yaml --engine claude --workspace .
  skillrun workflow run release.yaml --input version=v2";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = RETRY_HELP)]
pub(crate) struct WorkflowRetry {
    /// Workflow: its id, a unique prefix of it, or "last"
    pub(crate) run: String,
    /// Take over the steps that are ready and whose skill, input, engine and options are the same
    #[arg(long)]
    pub(crate) from_failed: bool,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

const RETRY_HELP: &str = "\
The old run is not changed. Its plan is used as it was accepted; skills are read
again from where they came from, and a step whose skill has changed is run again.
The Log of the new run names the steps that it has taken over.

  skillrun workflow retry last --from-failed";
