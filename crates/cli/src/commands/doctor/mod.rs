//! `skillrun doctor`: one line per check, with what to do if it fails.
//!
//! `machine` checks the machine, the settings and the engines, `data` the data folder and the runs in it.

mod data;
mod machine;

use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use crate::args::{Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::place::CommandContext;
use crate::settings::{ProcessContext, Settings};

/// What was checked, and what was found.
#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    state: State,
    found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Good,
    /// It works, and the user should know about it.
    Warning,
    Wrong,
}

impl Check {
    fn good(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, state: State::Good, found: found.into(), action: None }
    }

    fn warning(what: &'static str, found: impl Into<String>, action: impl Into<String>) -> Self {
        Self { what, state: State::Warning, found: found.into(), action: Some(action.into()) }
    }

    fn wrong(what: &'static str, found: impl Into<String>, action: impl Into<String>) -> Self {
        Self { what, state: State::Wrong, found: found.into(), action: Some(action.into()) }
    }
}

pub(crate) fn run(global: &Global, form: OutputForm) -> Result<ExitCode, Failure> {
    let mut checks =
        vec![machine::versions(), machine::proc(), machine::confinement(), machine::limits(), machine::clock()];
    let surroundings = ProcessContext::read()?;
    match Settings::load_in(global, surroundings.clone()) {
        Err(error) => checks.push(Check::wrong(
            "settings",
            error.to_string(),
            "correct it, or ignore the settings with `--config /dev/null`; nothing else can be checked before that",
        )),
        Ok(settings) => {
            checks.push(machine::settings(&settings));
            checks.push(machine::layers(&settings));
            checks.extend(machine::engines(&settings));
            let place = CommandContext::open(global)?;
            checks.extend(data::folder(&place));
            checks.extend(data::runs(&place));
        }
    }
    let is_well = checks.iter().all(|check| check.state != State::Wrong);
    match form {
        OutputForm::Json => print_json(&json!({ "is_well": is_well, "checks": checks }))?,
        OutputForm::Text => print(&text(&checks, &Output::new(global.color, &surroundings)))?,
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn text(checks: &[Check], output: &Output) -> String {
    let mut rows = Vec::new();
    for check in checks {
        let (ink, mark) = match check.state {
            State::Good => (Ink::Good, "✓"),
            State::Warning => (Ink::Warning, "!"),
            State::Wrong => (Ink::Bad, "✗"),
        };
        rows.push((ink, format!("{mark} {}", check.what), plain(&check.found)));
        rows.extend(check.action.iter().map(|action| (Ink::Plain, String::new(), format!("→ {}", plain(action)))));
    }
    output.labelled(&rows)
}
