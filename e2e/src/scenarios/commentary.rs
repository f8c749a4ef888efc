//! Texts with example objects and commands before the result.

use skillrun_model::rasp::EventType;

use crate::problem::{Miss, must};
use crate::trial::Trial;

pub(super) fn check(trial: &Trial<'_>) -> Result<(), Miss> {
    let over = trial.run(&[])?;
    // The examples would pass the schema, so success alone proves nothing.
    over.must_give_the_answer()?;
    must(over.commands() == 2, "commands", || format!("{} commands were seen instead of two", over.commands()))?;
    let messages = over.log.iter().filter(|event| event.event_type() == EventType::MessageFinal).count();
    must(messages == 3, "messages", || format!("{messages} messages were seen instead of three"))
}
