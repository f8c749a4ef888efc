//! A question that is not answered in time, or late: whether an answer is required, and whether a process waits for it.
//! The four cells of that table.

use std::time::Duration;

use skillrun_model::interaction::OnDeadline;
use skillrun_model::rasp::data::ResolutionMode;
use skillrun_model::{Code, RunStatus};

use super::question;
use crate::bounded::pause;
use crate::problem::{Miss, must};
use crate::processes;
use crate::trial::{Over, Trial, WAITS};

/// How long an answer is waited for.
const SOON: Duration = Duration::from_secs(2);

/// The exit code of skillrun when the time was up.
const TIMED_OUT: i32 = 3;

#[derive(Debug, Clone, Copy)]
enum Process {
    /// One for each turn.
    Leaves,
    Stays,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Needed,
    NotNeeded,
}

/// `skillrun run` of the cell; it is asked once.
fn words(process: Process, answer: Answer, timeout: Duration) -> Vec<String> {
    let continuation = match process {
        Process::Leaves => "resumable",
        Process::Stays => "sticky",
    };
    let seconds = timeout.as_secs().to_string();
    let mut words = vec!["--mode", "interactive", "--continuation", continuation, "--session-timeout", &seconds];
    match answer {
        Answer::Needed => {}
        Answer::NotNeeded => words.push("--no-reply-needed"),
    }
    words.into_iter().map(str::to_owned).collect()
}

fn run(trial: &Trial<'_>, words: &[String]) -> Result<(Option<i32>, Over), Miss> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut running = trial.start(trial.run_command(&words), "run")?;
    let run = trial.new_run(&mut running, &[])?;
    let over = question::over(trial, run)?;
    Ok((running.finish(&trial.deadline)?.code, over))
}

/// Needed, and no process: it waits for as long as it takes.
pub(super) fn waits(trial: &Trial<'_>) -> Result<(), Miss> {
    let words = words(Process::Leaves, Answer::Needed, SOON);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let finished = trial.finish(trial.run_command(&words), "run")?;
    let run = trial.only_run(&finished)?;
    must(finished.code == Some(WAITS), "exit code", || {
        format!("skillrun run exits with {:?}: {}", finished.code, trial.last_words(run))
    })?;
    let question = question::asked(trial, run, 1)?;
    let is_patient = question.deadline.is_none() && question.on_deadline == OnDeadline::Wait;
    must(is_patient, "deadline", || format!("{} at {:?}", question.on_deadline, question.deadline))?;
    processes::gone(&trial.place.tag, trial.place.root())?;
    pause(&trial.deadline, trial.engine.loads_after().max(SOON))?;
    must(!trial.is_over(run), "over already", || trial.last_words(run))?;
    question::reply(trial, run, "blue", "reply")?;
    let over = question::over(trial, run)?;
    question::must_go_on_once(&over)?;
    must_be_resolved(&over, ResolutionMode::UserReply)?;
    must(question::loads(trial, run, 2), "not loaded", || "the session was not loaded".to_owned())
}

/// Needed, and a process that waits: it is ended when the time is up, and the run has failed.
pub(super) fn expires(trial: &Trial<'_>) -> Result<(), Miss> {
    let (code, over) = run(trial, &words(Process::Stays, Answer::Needed, SOON))?;
    over.must_be(RunStatus::Failed)?;
    let error = over.result.error.as_ref().map(|error| error.code);
    must(error == Some(Code::InteractionWaitTimeout), "other error", || format!("the error is {error:?}"))?;
    must(code == Some(TIMED_OUT), "exit code", || format!("skillrun run exits with {code:?}"))?;
    let answers = over.answers();
    must(answers.is_empty(), "answer", || format!("there is an answer: {answers:?}"))
}

/// Not required, and a process that waits: it receives the automatic answer.
pub(super) fn decided(trial: &Trial<'_>) -> Result<(), Miss> {
    let (_, over) = run(trial, &words(Process::Stays, Answer::NotNeeded, SOON))?;
    question::must_go_on_once(&over)?;
    must_be_resolved(&over, ResolutionMode::AutoDecideTimeout)?;
    must(!question::loads(trial, over.run, 2), "loaded", || "another process was started".to_owned())
}

/// Not needed, and no process: another one loads the session for the automatic answer.
pub(super) fn resumed(trial: &Trial<'_>) -> Result<(), Miss> {
    let timeout = trial.engine.loads_after().max(SOON);
    let (_, over) = run(trial, &words(Process::Leaves, Answer::NotNeeded, timeout))?;
    question::must_go_on_once(&over)?;
    must_be_resolved(&over, ResolutionMode::AutoDecideTimeout)?;
    must(question::loads(trial, over.run, 2), "not loaded", || "the session was not loaded".to_owned())
}

fn must_be_resolved(over: &Over, mode: ResolutionMode) -> Result<(), Miss> {
    let modes: Vec<_> = over.answers().into_iter().map(|(mode, _)| mode).collect();
    must(modes == [mode], "answer", || format!("the answers are {:?}", over.answers()))
}
