//! The agent dies while it waits for an answer. The run keeps waiting, and the answer loads the session in a new
//! process.

use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::status::Phase;

use super::question;
use crate::bounded::{pause, until};
use crate::problem::{Miss, must};
use crate::processes;
use crate::trial::Trial;

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let words = ["--mode", "interactive", "--continuation", "sticky"];
    let mut running = trial.start(trial.run_command(&words), "run")?;
    let run = trial.new_run(&mut running, &[])?;
    question::asked(trial, run, 1)?;
    processes::end_engine(&trial.place.tag, trial.lab.world().skillrun);
    let is_told = |data: &Data| matches!(data, Data::Control(ControlData::RunStatus(it)) if it.phase == Some(Phase::ProcessEnded));
    until(&trial.deadline, "the end of the agent", || {
        let log = trial.log(run).ok()?;
        (log.iter().any(|event| is_told(&event.data)) || trial.is_over(run)).then_some(())
    })?;
    pause(&trial.deadline, trial.engine.loads_after())?;
    must(!trial.is_over(run), "over already", || trial.last_words(run))?;
    question::reply(trial, run, "blue", "reply")?;
    question::ended(trial, run)?;
    let code = running.finish(&trial.deadline)?.code;
    must(code == Some(0), "exit code", || format!("skillrun run exits with {code:?}"))?;
    let over = trial.over(run)?;
    question::must_go_on_once(&over)?;
    must(question::loads(trial, run, 2), "not loaded", || "the session was not loaded".to_owned())
}
