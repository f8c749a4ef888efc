//! The checks of a run: those of its skill, then those of its request, with limits that make sense.

use serde_json::Value;
use skillrun_model::ExecutionMode;
use skillrun_model::checks::{CheckCommand, CheckRequest};
use skillrun_runs::record::{CheckOrigin, RunCheck};

use super::error::AcceptError;

/// Checks of one run.
const MOST: usize = 32;

/// Characters of a name.
const NAME_MAX: usize = 100;

/// Bytes of a command with all its words.
const COMMAND_MAX: usize = 16 << 10;

const DEFAULT_SEC: f64 = 600.0;
const LONGEST_SEC: f64 = 86_400.0;

/// All of them, with every default filled in.
pub(super) fn of(
    mode: ExecutionMode,
    skill: &[CheckRequest],
    request: &[CheckRequest],
) -> Result<Vec<RunCheck>, AcceptError> {
    let of_skill = skill.iter().map(|check| (check, CheckOrigin::Skill));
    let all: Vec<_> = of_skill.chain(request.iter().map(|check| (check, CheckOrigin::Request))).collect();
    match mode {
        // It has no end at which it would succeed.
        ExecutionMode::Conversation if !all.is_empty() => {
            return Err(wrong(
                "checks",
                &Value::from(all.len()),
                "left out: a conversation is closed, and does not succeed",
            ));
        }
        ExecutionMode::Auto | ExecutionMode::Interactive | ExecutionMode::Conversation => {}
    }
    if all.len() > MOST {
        return Err(wrong("checks", &Value::from(all.len()), "at most 32"));
    }
    let mut checks: Vec<RunCheck> = Vec::new();
    for (check, origin) in all {
        let name = check.name.clone().unwrap_or_else(|| format!("check {}", checks.len() + 1));
        let is_usable =
            !name.trim().is_empty() && name.chars().count() <= NAME_MAX && !name.chars().any(char::is_control);
        if !is_usable || checks.iter().any(|other| other.name == name) {
            return Err(wrong(
                "checks.name",
                &Value::from(name),
                "1 to 100 characters in one line, other than every other name",
            ));
        }
        check_command(&check.command)?;
        let timeout_sec = check.timeout_sec.unwrap_or(DEFAULT_SEC);
        if !timeout_sec.is_finite() || timeout_sec <= 0.0 || timeout_sec > LONGEST_SEC {
            return Err(wrong(
                "checks.timeout_sec",
                &Value::from(timeout_sec),
                "a number of seconds above 0, at most 86400",
            ));
        }
        checks.push(RunCheck { name, command: check.command.clone(), timeout_sec, origin });
    }
    Ok(checks)
}

fn check_command(command: &CheckCommand) -> Result<(), AcceptError> {
    let words = command.argv();
    let bytes: usize = words.iter().map(String::len).sum();
    let has_program = match command {
        CheckCommand::Line(line) => !line.trim().is_empty(),
        CheckCommand::Words(words) => words.first().is_some_and(|program| !program.is_empty()),
    };
    let is_usable = has_program && bytes <= COMMAND_MAX && words.iter().all(|word| !word.contains('\0'));
    let shown: String = command.shown().chars().take(NAME_MAX).collect();
    is_usable.then_some(()).ok_or_else(|| {
        wrong(
            "checks.command",
            &Value::from(shown),
            "a line, or a list of words that begins with a program, of at most 16384 bytes",
        )
    })
}

fn wrong(name: &'static str, value: &Value, wanted: &'static str) -> AcceptError {
    AcceptError::Option { place: "options", name, value: value.to_string(), wanted }
}
