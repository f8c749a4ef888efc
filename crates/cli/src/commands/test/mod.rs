//! `skillrun test`: a skill's cases on several engines, and what they make of them.
//!
//! `engines` says which, `place` where the runs lie, `table` what is printed.

mod engines;
mod place;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use skillrun_model::status::OnQuota;
use skillrun_runtime::{Options, RunRecord};
use skillrun_trial::cases::{self, Case};
use skillrun_trial::drive::Stop;
use skillrun_trial::junit;
use skillrun_trial::report::{About, Overall, Report};
use skillrun_trial::trials::{Came, Plan, Progress, Trial, run_all};

use crate::args::{Form, Global, Test};
use crate::exit::Outcome;
use crate::failure::Failure;
use crate::output::{Output, plain, print, print_json};
use crate::owner::Owner;
use crate::settings::Settings;
use place::Place;

pub(crate) fn run(global: &Global, args: &Test) -> Result<ExitCode, Failure> {
    let mut settings = Settings::load(global)?;
    let skill = settings.search_path(settings.cwd()).resolve(&args.skill, settings.cwd())?;
    skill.check_usable()?;
    let given = args.cases.as_deref().map(|path| settings.surroundings.absolute_path(path));
    let file = given.or_else(|| cases::find(&skill.root));
    let cases = match &file {
        Some(file) => cases::read(file).map_err(|error| Failure::Input(error.to_string()))?,
        None => vec![Case::without_input()],
    };
    let chosen = engines::choose(&settings, &skill, &cases, args)?;
    for (name, why) in &chosen.skipped {
        tell(&format!("{name} is left out: {}", plain(why)));
    }
    let place = Place::make(&settings, args.keep.as_deref())?;
    let skill = place.skill(&skill, file.as_deref())?;
    let jobs = args.jobs as usize;
    settings.data = place.data();
    // A run that waits for a slot would seem to take longer than it does.
    let slots = &mut settings.slots;
    (slots.total, slots.per_engine, slots.sticky) = (jobs, jobs, jobs);
    slots.by_engine = BTreeMap::new();
    let owner = Owner::new(&settings)?;
    let options = Options {
        hard_timeout_sec: args.timeout.map(|limit| limit.as_secs_f64()),
        // Nobody waits for a test for hours, and nobody is there any more when it would go on.
        retry_quota: Some(OnQuota::Fail),
        ..Options::default()
    };
    let plan = Plan {
        skill: &skill,
        cases: &cases,
        engines: &chosen.engines,
        times: args.n,
        at_once: jobs,
        options: &options,
    };
    let trials = run_all(&owner.runtime, plan, &stop_on_signals()?, |progress| tell_progress(plan, &progress))?;
    let versions = versions(&settings, plan, &trials);
    // Nothing goes on behind a test.
    owner.leave_runs();
    let cases_file = file.map(|file| file.to_string_lossy().into_owned());
    let mut report = Report::of(plan, About { cases_file, versions, skipped: chosen.skipped }, &trials);
    report.folder = place.end(report.verdict);
    if let Some(path) = &args.junit {
        write(&settings.surroundings.absolute_path(path), &junit::xml(&report))?;
    }
    match args.json.form() {
        Form::Json => print_json(&report)?,
        Form::Text => print(&table::text(&report, &Output::new(global.color, &settings.surroundings)))?,
    }
    Ok(ExitCode::from(match report.verdict {
        Overall::Passed => Outcome::Succeeded,
        Overall::Failed => Outcome::Failed,
        Overall::Interrupted => Outcome::Interrupted,
    }))
}

/// What was tried is what its runs say.
fn versions(settings: &Settings, plan: Plan<'_>, trials: &[Trial]) -> BTreeMap<String, String> {
    let version = |trial: &Trial| {
        let Came::Ended { ended, .. } = &trial.came else { return None };
        let record = RunRecord::read(&settings.data.run(ended.run).record()).ok()?;
        Some((plan.engines.get(trial.engine)?.name.clone(), record.engine.version?))
    };
    trials.iter().filter_map(version).collect()
}

/// The first signal cancels what runs, the second leaves at once.
pub(crate) fn stop_on_signals() -> Result<Stop, Failure> {
    let failed = |error: io::Error| Failure::Owner(format!("signals cannot be heard ({error})"));
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the second is for the next signal.
        let code = i32::from(Outcome::Interrupted.code());
        signal_hook::flag::register_conditional_shutdown(signal, code, flag.clone()).map_err(failed)?;
        signal_hook::flag::register(signal, flag.clone()).map_err(failed)?;
    }
    Ok(Stop::of(flag))
}

fn tell_progress(plan: Plan<'_>, progress: &Progress<'_>) {
    match progress {
        Progress::Stopping => tell("canceling; press Ctrl-C again to leave at once"),
        Progress::Done { done, of, trial } => {
            let case = plan.cases.get(trial.case).map_or("", |case| &case.name);
            let engine = plan.engines.get(trial.engine).map_or("", |engine| &engine.name);
            let time = if plan.times > 1 { format!(", {} of {}", trial.time, plan.times) } else { String::new() };
            let verdict = table::verdict_word(trial.verdict());
            tell(&format!("[{done}/{of}] {} on {engine}{time}: {verdict}", plain(case)));
        }
    }
}

/// Beside what was asked for.
fn tell(text: &str) {
    // Nothing is left to do if stderr is gone.
    let _ = writeln!(io::stderr(), "{text}");
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::Write { path: path.to_string_lossy().into_owned(), error })
}
