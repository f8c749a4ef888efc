//! `skillrun engines install`.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use skillrun_engine::descriptor::Install as InstallRule;
use skillrun_engine::install::is_version;
use skillrun_engine::{Descriptor, Engines};
use skillrun_model::ErrorClass;
use skillrun_runtime::SystemClock;
use skillrun_runtime::programs::{Install, InstallError, InstallOutcome, InstallProgress};

use crate::args::{EnginesInstall, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{plain, print, print_json};
use crate::settings::Settings;

/// Every engine that can be installed.
pub(super) const ALL: &str = "all";

pub(super) fn run(global: &Global, args: &EnginesInstall) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let engines = settings.engines();
    if let Some(version) = args.version.as_deref().filter(|version| !is_version(version)) {
        return Err(Failure::Input(format!("\"{version}\" is not a complete version number such as 1.2.3")));
    }
    let chosen: Vec<&Descriptor> = match (args.name.as_str(), &args.version) {
        (ALL, Some(_)) => {
            return Err(Failure::Input("--version can only be given for one engine, not for all".to_owned()));
        }
        (ALL, None) => engines.iter().filter(|engine| engine.install.is_some()).collect(),
        (name, _) => vec![engines.get(name)?],
    };
    let installing = Installing::new(&settings, &engines, Duration::from_secs(args.timeout))?;
    let mut installed = Vec::new();
    for engine in chosen {
        installed.push(one(&installing, engine, args)?);
    }
    match args.json.form() {
        OutputForm::Json => print_json(&json!({ "engines": installed })),
        OutputForm::Text => Ok(()),
    }
}

/// What all installs of one command share.
pub(super) struct Installing<'a> {
    settings: &'a Settings,
    secrets: Vec<String>,
    timeout: Duration,
    pub(super) is_stopped: Box<dyn Fn() -> bool>,
}

impl<'a> Installing<'a> {
    pub(super) fn new(settings: &'a Settings, engines: &Engines, timeout: Duration) -> Result<Self, Failure> {
        let secrets = engines.iter().flat_map(|engine| engine.environment.secret.iter().cloned()).collect();
        Ok(Self { settings, secrets, timeout, is_stopped: Box::new(stop_on_signals()?) })
    }

    pub(super) fn install(&self, engine: &Descriptor, version: Option<&str>) -> Result<InstallOutcome, Failure> {
        let install = Install {
            engine,
            rule: install_rule(engine)?,
            version,
            programs: programs(self.settings)?,
            environment: &self.settings.surroundings.environment,
            secrets: &self.secrets,
            timeout: self.timeout,
            clock: &SystemClock,
            is_stopped: &self.is_stopped,
        };
        install.run(&mut print_progress).map_err(failure)
    }
}

pub(super) fn failure(error: InstallError) -> Failure {
    let class = match &error {
        InstallError::InUse { .. } => ErrorClass::Conflict,
        InstallError::NoNpm
        | InstallError::Failed { .. }
        | InstallError::TooSlow { .. }
        | InstallError::OtherVersion { .. }
        | InstallError::NoProgram { .. }
        | InstallError::Mute { .. }
        | InstallError::Busy(_)
        | InstallError::Stopped
        | InstallError::File { .. } => ErrorClass::Internal,
    };
    Failure::of_class(class, error)
}

pub(super) fn install_rule(engine: &Descriptor) -> Result<&InstallRule, Failure> {
    engine.install.as_ref().ok_or_else(|| {
        Failure::Input(format!(
            "{} cannot be installed by skillrun; its description file has no [install] table",
            engine.name
        ))
    })
}

pub(super) fn programs(settings: &Settings) -> Result<&Path, Failure> {
    let missing = || Failure::Input("there is no home folder to install into; set SKILLRUN_PROGRAMS".to_owned());
    settings.programs.as_deref().ok_or_else(missing)
}

fn one(installing: &Installing<'_>, engine: &Descriptor, args: &EnginesInstall) -> Result<Value, Failure> {
    let name = engine.name.as_str();
    let version = args.version.as_deref().unwrap_or(&install_rule(engine)?.version);
    let outcome = installing.install(engine, args.version.as_deref())?;
    let (words, was_there) = match outcome {
        InstallOutcome::Installed => ("is installed", false),
        InstallOutcome::WasThere => ("was already installed", true),
    };
    let is_untested = engine.version_is_untested(version);
    if args.json.form() == OutputForm::Text {
        let untested = if is_untested { ", which is an untested version" } else { "" };
        print(&format!("{name} {version} {words}{untested}\n"))?;
    }
    Ok(json!({ "engine": name, "version": version, "was_installed": was_there, "untested": is_untested }))
}

fn print_progress(progress: InstallProgress<'_>) {
    let words = match progress {
        InstallProgress::Waits => "waiting for another installation to finish".to_owned(),
        InstallProgress::Begins { what } => format!("installing {what}"),
        InstallProgress::GoesOn { what, elapsed } => format!("installing {what}, {} s so far", elapsed.as_secs()),
        InstallProgress::Done { what, elapsed } => format!("installed {what} in {:.1} s", elapsed.as_secs_f64()),
    };
    // If stderr is gone, there is nothing left to do.
    let _ = writeln!(io::stderr(), "{}", plain(&words));
}

/// The first signal terminates the program that installs, and what it has created is removed; the second exits at once.
pub(crate) fn stop_on_signals() -> Result<impl Fn() -> bool, Failure> {
    let failed = |error: io::Error| Failure::internal(format!("failed to register signal handlers: {error}"), error);
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the conditional shutdown is for the next signal.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, flag.clone()).map_err(failed)?;
        signal_hook::flag::register(signal, flag.clone()).map_err(failed)?;
    }
    Ok(move || flag.load(Ordering::Relaxed))
}
