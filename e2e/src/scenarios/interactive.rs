//! Three questions, each answered by a command of its own. Where an engine is started for each turn, every answer is a
//! new process that resumes the session; an agent that stays is told the answer. Nobody here knows which it is.

use skillrun_model::RunId;
use skillrun_model::rasp::Data;

use crate::bounded::until;
use crate::problem::{Miss, must};
use crate::trial::{Trial, WAITS};

const ANSWERS: [&str; 3] = ["blue", "large", "yes"];

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let mut running = trial.start(trial.run_command(&["--mode", "interactive"]), "run")?;
    let run = trial.new_run(&mut running, &[])?;
    for (number, answer) in (1..).zip(ANSWERS) {
        asks(trial, run, number)?;
        let reply = trial.command(&["reply", &run.to_string(), answer, "--no-wait"]);
        let replied = trial.finish(reply, &format!("reply-{number}"))?;
        must(replied.code == Some(0), "no reply", || format!("skillrun reply: {}", replied.stderr.trim()))?;
    }
    until(trial.deadline, "the turn after the last answer", || trial.is_over(run).then_some(()))
        .map_err(|miss| Miss::new(&miss.word, format!("{}; {}", miss.why, trial.last_words(run))))?;
    // Either it left when it was asked, or it stayed to the end.
    let code = running.finish(trial.deadline)?.code;
    must(code == Some(WAITS) || code == Some(0), "exit code", || format!("skillrun run exits with {code:?}"))?;
    let over = trial.over(run)?;
    over.must_give_the_answer()?;
    must(over.result.attempts == 4, "attempts", || format!("{} attempts instead of four", over.result.attempts))?;
    must(over.sessions().len() == 1, "session", || format!("the session changed: {:?}", over.sessions()))?;
    let asked = over.log.iter().filter(|event| matches!(event.data, Data::InteractionRequested(_))).count();
    must(asked == ANSWERS.len(), "questions", || format!("{asked} questions instead of three"))
}

/// Waits for this question.
fn asks(trial: &Trial<'_>, run: RunId, number: usize) -> Result<(), Miss> {
    let asked = until(trial.deadline, "the question", || {
        let log = trial.log(run).ok()?;
        let asked = log.iter().filter(|event| matches!(event.data, Data::InteractionRequested(_))).count();
        (asked >= number || trial.is_over(run)).then_some(asked)
    });
    let why = || format!("it did not ask question {number}: {}", trial.last_words(run));
    must(asked.is_ok_and(|asked| asked >= number), "no question", why)
}
