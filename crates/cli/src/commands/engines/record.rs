//! `skillrun engines record`: a fixture from a real engine with a scripted model.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use serde_json::json;
use skillrun_model::ErrorClass;
use skillrun_runtime::engines::{Probing, State};
use skillrun_simulate::model::Choice;
use skillrun_trial::record::{Machine, Recorded, RecordingError, record, recordable};

use super::{around, lab};
use crate::args::{EnginesRecord, Global, OutputForm};
use crate::commands::test::stop_on_signals;
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, plain, print, print_json};
use crate::settings::Settings;
use crate::words::{counted, now};

pub(super) fn run(global: &Global, args: &EnginesRecord) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    if args.list {
        return list(args.json.form(), &Output::new(global.color, &settings.surroundings));
    }
    let (Some(name), Some(scenario)) = (&args.name, &args.scenario) else {
        return Err(Failure::Input("an engine and a scenario are required; --list lists the scenarios".to_owned()));
    };
    let choice: Choice = scenario.parse().map_err(|error| Failure::NotFound(format!("{error}")))?;
    let engines = settings.engines();
    let state = State::of(engines.get(name)?, around(&settings), Probing::Off);
    if let Err(error) = &state.program {
        return Err(Failure::NotFound(error.to_string()));
    }
    let to = settings.surroundings.absolute_path(&args.to);
    let stop = stop_on_signals()?;
    let machine = machine(&settings, &state);
    let recorded = lab::within(&settings, &state, |lab| record(lab, &choice, &to, &machine, now(), &stop))?;
    let recorded = recorded.map_err(|error| match error {
        RecordingError::Exists(_) | RecordingError::NeedsScript(_) => Failure::of_class(ErrorClass::Usage, error),
        RecordingError::Lab(_)
        | RecordingError::Evidence(_)
        | RecordingError::Server(_)
        | RecordingError::File { .. }
        | RecordingError::TooLarge { .. }
        | RecordingError::Clean(_)
        | RecordingError::Stopped => Failure::of_class(ErrorClass::Internal, error),
    })?;
    match args.json.form() {
        OutputForm::Json => print_json(&recorded),
        OutputForm::Text => print(&text(&recorded)),
    }
}

fn text(recorded: &Recorded) -> String {
    let Recorded { folder, engine_version, status, attempts, files, replaced } = recorded;
    let version = engine_version.as_deref().unwrap_or("of unknown version");
    format!(
        "{}\nengine    {}\nrun       {status}, {}\nfiles     {}\nreplaced  {} of this machine\n",
        plain(&folder.to_string_lossy()),
        plain(version),
        counted(*attempts, "attempt", "attempts"),
        files.join(" "),
        counted(*replaced, "piece", "pieces"),
    )
}

fn list(form: OutputForm, output: &Output) -> Result<(), Failure> {
    match form {
        OutputForm::Json => {
            let all = recordable().map(|one| json!({"name": one.as_str(), "description": one.description()}));
            print_json(&json!({ "scenarios": all.collect::<Vec<_>>() }))
        }
        OutputForm::Text => {
            let row = |name: &str, words: &str| [(Ink::Bold, name.to_owned()), (Ink::Plain, words.to_owned())];
            let rows: Vec<_> = recordable().map(|one| row(one.as_str(), one.description())).collect();
            print(&output.table(&rows, LastColumn::Cut))
        }
    }
}

/// Details of this machine that must not be in a recording.
fn machine(settings: &Settings, state: &State<'_>) -> Machine {
    let around = &settings.surroundings;
    let text = |value: &OsStr| value.to_str().map(str::to_owned);
    let line = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let environment = &state.descriptor.environment;
    let secrets = environment.secret.iter().chain(&state.descriptor.login.variables);
    Machine {
        user_home: around.home().map(Path::to_owned),
        programs: settings.programs.clone().or_else(|| {
            let found = state.program.as_ref().ok()?;
            found.program.parent().map(Path::to_owned)
        }),
        temporary: Some(std::env::temp_dir()),
        cwd: Some(around.cwd.clone()),
        user: around.variable("USER").or_else(|| around.variable("LOGNAME")).and_then(text),
        host: line("/proc/sys/kernel/hostname"),
        machine_id: line("/etc/machine-id").filter(|id| !id.is_empty()),
        secrets: secrets.filter_map(|name| around.variable(name)).filter_map(text).collect(),
    }
}
