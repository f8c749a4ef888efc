//! `skillrun test`: runs the test cases of a skill on several engines and compares the results.
//!
//! `engines` chooses the engines, `place` the folder of the runs, `table` formats the output.

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
use skillrun_model::{ErrorClass, IgnoredError};
use skillrun_runs::RunRecord;
use skillrun_runtime::Options;
use skillrun_trial::cases::{self, Case};
use skillrun_trial::drive::Stop;
use skillrun_trial::junit;
use skillrun_trial::report::{About, Overall, TrialReport};
use skillrun_trial::trials::{RunningTrial, Trial, TrialEnd, TrialPlan, TrialProgress, run_all};

use crate::args::{Global, OutputForm, Test};
use crate::exit::RunOutcome;
use crate::failure::Failure;
use crate::live::{LiveLine, RunningCase, of_cases};
use crate::output::{Output, plain, print, print_json};
use crate::owner::OwnerProcess;
use crate::settings::Settings;
use crate::words::now;
use place::Place;

pub(crate) fn run(global: &Global, args: &Test) -> Result<ExitCode, Failure> {
    let mut settings = Settings::load(global)?;
    let skill = settings.search_path(settings.cwd()).resolve(&args.skill, settings.cwd())?;
    skill.check_usable()?;
    let given = args.cases.as_deref().map(|path| settings.surroundings.absolute_path(path));
    let file = given.or_else(|| cases::find(&skill.root));
    let cases = match &file {
        Some(file) => cases::read(file).map_err(|error| Failure::of_class(ErrorClass::Usage, error))?,
        None => vec![Case::without_input()],
    };
    let chosen = engines::choose(&settings, &skill, &cases, args)?;
    for (name, why) in &chosen.skipped {
        print_line(&format!("{name} is skipped: {}", plain(why)));
    }
    if let Some(path) = &args.junit {
        check_writable(&settings.surroundings.absolute_path(path))?;
    }
    let place = Place::make(&settings, args.keep.as_deref())?;
    let skill = place.skill(&skill, file.as_deref())?;
    let jobs = args.jobs as usize;
    settings.data = place.data();
    // The time that a run waits for a slot would count as its own.
    let slots = &mut settings.slots;
    (slots.total, slots.per_engine, slots.sticky) = (jobs, jobs, jobs);
    slots.by_engine = BTreeMap::new();
    let owner = OwnerProcess::new(&settings)?;
    let options = Options {
        hard_timeout_sec: args.timeout.map(|limit| limit.as_secs_f64()),
        // A test does not wait for hours, and its owner process would be gone when the quota resets.
        retry_quota: Some(OnQuota::Fail),
        ..Options::default()
    };
    let plan = TrialPlan {
        skill: &skill,
        cases: &cases,
        engines: &chosen.engines,
        times: args.n,
        at_once: jobs,
        options: &options,
    };
    let mut line = LiveLine::new();
    let trials =
        run_all(&owner.runtime, plan, &stop_on_signals()?, |progress| print_progress(plan, &progress, &mut line))?;
    drop(line);
    let versions = versions(&settings, plan, &trials);
    // No run continues after a test.
    owner.leave_runs();
    let cases_file = file.map(|file| file.to_string_lossy().into_owned());
    let mut report = TrialReport::of(plan, About { cases_file, versions, skipped: chosen.skipped }, &trials);
    report.folder = place.end(report.verdict);
    if let Some(path) = &args.junit {
        write(&settings.surroundings.absolute_path(path), &junit::xml(&report))?;
    }
    match args.json.form() {
        OutputForm::Json => print_json(&report)?,
        OutputForm::Text => print(&table::text(&report, &Output::new(global.color, &settings.surroundings)))?,
    }
    Ok(ExitCode::from(match report.verdict {
        Overall::Passed => RunOutcome::SUCCEEDED,
        Overall::Failed => RunOutcome::FAILED,
        Overall::Interrupted => RunOutcome::Interrupted,
    }))
}

/// The versions that were tested, from the records of the runs.
fn versions(settings: &Settings, plan: TrialPlan<'_>, trials: &[Trial]) -> BTreeMap<String, String> {
    let version = |trial: &Trial| {
        let TrialEnd::Ended { ended, .. } = &trial.came else { return None };
        let record = RunRecord::read(&settings.data.run(ended.run).record()).ok()?;
        Some((plan.engines.get(trial.engine)?.name.clone(), record.engine.version?))
    };
    trials.iter().filter_map(version).collect()
}

/// The first signal cancels the active runs, the second exits at once.
pub(crate) fn stop_on_signals() -> Result<Stop, Failure> {
    let failed = |error: io::Error| Failure::internal(format!("failed to register signal handlers: {error}"), error);
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the conditional shutdown is for the next signal.
        let code = i32::from(RunOutcome::Interrupted.code());
        signal_hook::flag::register_conditional_shutdown(signal, code, flag.clone()).map_err(failed)?;
        signal_hook::flag::register(signal, flag.clone()).map_err(failed)?;
    }
    Ok(Stop::of(flag))
}

fn print_progress(plan: TrialPlan<'_>, progress: &TrialProgress<'_>, line: &mut LiveLine) {
    match progress {
        TrialProgress::Running { done, of, running } => line.draw(|width| {
            let running: Vec<RunningCase> = running.iter().map(|trial| running_case(plan, trial)).collect();
            of_cases(*done, *of, &running, now(), width)
        }),
        TrialProgress::Stopping => print_line("canceling; press Ctrl-C again to exit at once"),
        TrialProgress::Done { done, of, trial } => {
            let case = plan.cases.get(trial.case).map_or("", |case| &case.name);
            let engine = plan.engines.get(trial.engine).map_or("", |engine| &engine.name);
            let time = if plan.times > 1 { format!(", {} of {}", trial.time, plan.times) } else { String::new() };
            let verdict = table::verdict_word(trial.verdict());
            print_line(&format!("[{done}/{of}] {} on {engine}{time}: {verdict}", plain(case)));
        }
    }
}

fn running_case(plan: TrialPlan<'_>, trial: &RunningTrial) -> RunningCase {
    let case = plan.cases.get(trial.case).map(|case| case.name.clone()).unwrap_or_default();
    let engine = plan.engines.get(trial.engine).map(|engine| engine.name.clone()).unwrap_or_default();
    RunningCase { case, engine, progress: trial.progress.clone() }
}

/// Prints a line on stderr, beside the output of the command.
fn print_line(text: &str) {
    crate::live::erase();
    // If stderr is gone, there is nothing left to do.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Tests may take an hour, so a report that cannot be written is an error before them. A file that exists keeps its
/// content, and no new one stays.
fn check_writable(path: &Path) -> Result<(), Failure> {
    let existed = path.symlink_metadata().is_ok();
    let opened = fs::OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| Failure::Write { path: path.to_string_lossy().into_owned(), error })?;
    if !existed {
        fs::remove_file(path).ignored();
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::Write { path: path.to_string_lossy().into_owned(), error })
}
