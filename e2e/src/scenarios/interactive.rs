//! Three questions, each answered by a separate command. If an engine is started for each turn, every answer is a new
//! process that resumes the session; an agent that stays receives the answer. The test does not depend on which of the
//! two it is.

use super::question;
use crate::problem::{Miss, must};
use crate::trial::{Trial, WAITS};

const ANSWERS: [&str; 3] = ["blue", "large", "yes"];

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let mut running = trial.start(trial.run_command(&["--mode", "interactive"]), "run")?;
    let run = trial.new_run(&mut running, &[])?;
    for (number, answer) in (1..).zip(ANSWERS) {
        question::asked(trial, run, number)?;
        question::reply(trial, run, answer, &format!("reply-{number}"))?;
    }
    let over = question::over(trial, run)?;
    // Either it left when it was asked, or it stayed to the end.
    let code = running.finish(&trial.deadline)?.code;
    must(code == Some(WAITS) || code == Some(0), "exit code", || format!("skillrun run exits with {code:?}"))?;
    over.must_give_the_answer()?;
    must(over.result.attempts == 4, "attempts", || format!("{} attempts instead of four", over.result.attempts))?;
    must(over.sessions().len() == 1, "session", || format!("the session changed: {:?}", over.sessions()))?;
    let asked = over.questions().len();
    must(asked == ANSWERS.len(), "questions", || format!("{asked} questions instead of three"))
}
