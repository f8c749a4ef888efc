//! skillrun is killed while the engine works, and another process takes the run over. The result must be the same as
//! that of an undisturbed run.

use rustix::process::{Pid, Signal, kill_process};
use skillrun_model::RunStatus;
use skillrun_model::rasp::SourceStream;

use crate::bounded::until;
use crate::problem::{Miss, must};
use crate::processes;
use crate::trial::{Over, Trial};

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let undisturbed = trial.run(&[])?;
    undisturbed.must_give_the_answer()?;

    let before = trial.runs();
    let mut owner = trial.start(trial.run_command(&[]), "killed")?;
    let run = trial.new_run(&mut owner, &before)?;
    // From the engine's first word on it is at work, and the model takes its time.
    until(&trial.deadline, "the first word of the engine", || {
        let log = trial.log(run).ok()?;
        let speaks = log.iter().any(|event| event.source.stream == SourceStream::Stdout);
        (speaks || trial.is_over(run)).then_some(())
    })?;
    let pid = i32::try_from(owner.child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| Miss::new("no pid", "skillrun has no process id"))?;
    kill_process(pid, Signal::KILL).map_err(std::io::Error::from)?;
    owner.child.wait()?;
    let at_the_kill = trial.log(run)?.len();
    must(!trial.is_over(run), "over already", || {
        format!("it was over before skillrun was killed: {}", trial.last_words(run))
    })?;
    let is_alive = !processes::tagged(&trial.place.tag).is_empty();
    must(is_alive, "engine gone", || "the engine did not outlive skillrun".to_owned())?;

    let recovered = trial.finish(trial.command(&["recover", "--json"]), "recover")?;
    must(recovered.code == Some(0), "no recovery", || format!("skillrun recover: {}", recovered.stderr.trim()))?;
    let over = trial.over(run)?;
    must(over.log.len() > at_the_kill, "over already", || "nothing was left to do after the kill".to_owned())?;
    same(&undisturbed, &over)
}

fn same(undisturbed: &Over, over: &Over) -> Result<(), Miss> {
    over.must_be(RunStatus::Succeeded)?;
    let verdict = |over: &Over| {
        let completion = over.result.completion;
        (
            over.result.output.clone(),
            over.result.text.clone(),
            over.result.attempts,
            completion.map(|end| end.reason_code),
        )
    };
    let (expected, found) = (verdict(undisturbed), verdict(over));
    must(expected == found, "differs", || format!("{found:?} instead of {expected:?}"))
}
