//! Canceled while a command of the engine runs. Engines leave such commands behind; skillrun must not.

use skillrun_model::RunStatus;

use crate::bounded::until;
use crate::problem::{Miss, must};
use crate::processes;
use crate::trial::Trial;

/// The command that the model has it run, as it looks in the list of processes.
const COMMAND: [&str; 2] = ["sleep", "300"];

/// The exit code of skillrun for a canceled run.
const CANCELED: i32 = 8;

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let mut running = trial.start(trial.run_command(&[]), "run")?;
    let run = trial.new_run(&mut running, &[])?;
    let runs = until(&trial.deadline, "the start of the command", || {
        let runs = processes::runs(&trial.place.tag, &COMMAND);
        (runs || trial.is_over(run)).then_some(runs)
    })?;
    must(runs, "no command", || format!("the command was not started: {}", trial.last_words(run)))?;
    let canceled = trial.finish(trial.command(&["cancel", &run.to_string()]), "cancel")?;
    must(canceled.code == Some(0), "not canceled", || format!("skillrun cancel: {}", canceled.stderr.trim()))?;
    let finished = running.finish(&trial.deadline)?;
    must(finished.code == Some(CANCELED), "exit code", || format!("skillrun run exits with {:?}", finished.code))?;
    // That no process is left is seen there.
    trial.over(run)?.must_be(RunStatus::Canceled)
}
