//! Three questions, each answered by a command of its own; every answer is a new process of the engine that resumes
//! the session.

use skillrun_model::RunStatus;
use skillrun_model::rasp::Data;

use crate::problem::{Miss, must};
use crate::trial::{Trial, WAITS};

const ANSWERS: [&str; 3] = ["ANSWER=blue", "ANSWER=large", "ANSWER=yes"];

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let first = trial.finish(trial.run_command(&["--mode", "interactive"]), "run")?;
    let run = trial.only_run(&first)?;
    let mut code = first.code;
    for (number, answer) in (1..).zip(ANSWERS) {
        must(code == Some(WAITS), "no question", || {
            format!("it did not wait for answer {number}: {}", trial.last_words(run))
        })?;
        let reply = trial.command(&["reply", &run.to_string(), answer, "--json"]);
        code = trial.finish(reply, &format!("reply-{number}"))?.code;
    }
    must(code != Some(WAITS), "still asks", || "it asks again after the last answer".to_owned())?;
    let over = trial.over(run)?;
    over.must_be(RunStatus::Succeeded)?;
    over.must_give_the_answer()?;
    must(over.result.attempts == 4, "attempts", || format!("{} attempts instead of four", over.result.attempts))?;
    must(over.sessions().len() == 1, "session", || format!("the session changed: {:?}", over.sessions()))?;
    let asked = over.log.iter().filter(|event| matches!(event.data, Data::InteractionRequested(_))).count();
    must(asked == ANSWERS.len(), "questions", || format!("{asked} questions instead of three"))
}
