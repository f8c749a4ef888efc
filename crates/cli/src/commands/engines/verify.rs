//! `skillrun engines verify`: whether an engine can be used, and whether its output has changed since it was recorded.

use std::process::ExitCode;

use skillrun_runtime::engines::{Probing, State, Tested, Version};
use skillrun_trial::verify::drift::Drift;
use skillrun_trial::verify::{CheckLine, InstalledEngine, Mark, Verification, verify};

use super::{around, lab};
use crate::args::{EnginesVerify, Global, OutputForm};
use crate::commands::test::stop_on_signals;
use crate::exit::RunOutcome;
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::settings::Settings;
use crate::words::lasting;

pub(super) fn run(global: &Global, args: &EnginesVerify) -> Result<ExitCode, Failure> {
    let settings = Settings::load(global)?;
    let engines = settings.engines();
    let state = State::of(engines.get(&args.name)?, around(&settings), Probing::On);
    let stop = stop_on_signals()?;
    let verification = lab::within(&settings, &state, |lab| verify(lab, installed(&state), args.timeout, &stop))?;
    match args.json.form() {
        OutputForm::Json => print_json(&verification)?,
        OutputForm::Text => {
            let output = Output::new(global.color, &settings.surroundings);
            print(&output.fit(&text(&verification, &output)))?;
        }
    }
    Ok(if verification.works { RunOutcome::SUCCEEDED } else { RunOutcome::FAILED }.into())
}

fn installed(state: &State<'_>) -> InstalledEngine {
    let engine = state.engine();
    InstalledEngine {
        program: engine.program,
        version: match (&state.version, state.is_own()) {
            (Version::Known(version), _) => Some(version.clone()),
            (Version::NotAsked | Version::Silent(_), true) => Some(env!("CARGO_PKG_VERSION").to_owned()),
            (Version::NotAsked | Version::Silent(_), false) => None,
        },
        tested: engine.tested_versions,
        is_untested: state.tested() == Tested::No,
        problem: state.program.as_ref().err().map(ToString::to_string),
    }
}

fn text(verification: &Verification, output: &Output) -> String {
    let found = &verification.installed;
    let mut text = format!("{}\n", output.paint(Ink::Bold, &verification.engine));
    match &found.problem {
        Some(problem) => text += &row(output, Ink::Bad, "✗", "installed", &plain(problem)),
        None => {
            let program = found.program.as_deref().unwrap_or_default();
            text += &row(output, Ink::Good, "✓", "installed", &plain(program));
            let version = found.version.as_deref().unwrap_or("unknown");
            let tested = found.tested.as_ref().map(|[from, to]| match from == to {
                true => format!("tested: {from}"),
                false => format!("tested: {from} to {to}"),
            });
            let words = [Some(plain(version)), tested].into_iter().flatten().collect::<Vec<_>>().join("; ");
            let (ink, mark) = if found.is_untested { (Ink::Warning, "!") } else { (Ink::Good, "✓") };
            text += &row(output, ink, mark, "version", &words);
        }
    }
    let recorded = verification.recorded.iter().map(|one| match one.mark {
        Mark::NotTried(_) => line(output, one, ""),
        Mark::Works | Mark::Fails(_) => line(output, one, "parses its recording: "),
    });
    text += &recorded.collect::<String>();
    text += &verification.live.iter().map(|one| line(output, one, "")).collect::<String>();
    if let Some(drift) = &verification.drift {
        text += &drift_text(output, drift);
    }
    let (ink, words) = match (verification.works, verification.fails()) {
        (true, _) => (Ink::Good, "the engine can be used"),
        (false, true) => (Ink::Bad, "not every required feature works"),
        (false, false) => (Ink::Warning, "not tried; it is unknown whether the engine can be used"),
    };
    text += &format!("\n{}\n", output.paint(ink, words));
    text
}

fn line(output: &Output, line: &CheckLine, before: &str) -> String {
    let name = format!("{before}{}", line.name);
    match &line.mark {
        Mark::Works => row(output, Ink::Good, "✓", &name, &line.ms.map(lasting).unwrap_or_default()),
        Mark::Fails(why) => row(output, Ink::Bad, "✗", &name, &plain(why)),
        Mark::NotTried(why) => row(output, Ink::Dim, "–", &name, &format!("not tried: {}", plain(why))),
    }
}

/// Changes are worth a look, but are not failures.
fn drift_text(output: &Output, drift: &Drift) -> String {
    let mut text = String::new();
    let mut told = |name: &str, types: &[String]| {
        if !types.is_empty() {
            let types = types.iter().map(|one| plain(one)).collect::<Vec<_>>().join(", ");
            text += &row(output, Ink::Warning, "!", name, &types);
        }
    };
    told("new events", &drift.new);
    told("events of unknown type", &drift.unknown);
    told("events no longer seen", &drift.gone);
    if text.is_empty() {
        text = row(output, Ink::Good, "✓", "events", "the same as recorded");
    }
    text
}

fn row(output: &Output, ink: Ink, mark: &str, name: &str, words: &str) -> String {
    let line = format!("  {} {name:<33}{words}", output.paint(ink, mark));
    format!("{}\n", line.trim_end())
}
