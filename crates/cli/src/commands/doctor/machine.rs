//! The machine, the settings and the engines.

use std::path::Path;

use skillrun_confine::{BoxRequest, ProbeScope, probe, report};
use skillrun_engine::{Disk, find};
use skillrun_model::Timestamp;
use skillrun_model::confinement::{BoxReport, NetworkAccess};
use skillrun_model::limits::ResourceLimits;
use skillrun_model::status::Permission;
use skillrun_runs::record::{FORMAT, LIMITS_FORMAT};
use skillrun_runtime::limit_parts;

use super::Check;
use crate::settings::Settings;
use crate::words::{counted, moment, now};

/// A clock that shows an earlier time than this is wrong: this program did not exist then.
const WRITTEN: &str = "2026-01-01T00:00:00Z";

pub(super) fn versions() -> Check {
    let (rasp, fcmp) = (skillrun_model::rasp::PROTOCOL_VERSION, skillrun_model::fcmp::PROTOCOL_VERSION);
    Check::good(
        "skillrun",
        format!("{} · {rasp} · {fcmp} · runs of formats {FORMAT} to {LIMITS_FORMAT}", env!("CARGO_PKG_VERSION")),
    )
}

/// Host processes are started and found through it.
pub(super) fn proc() -> Check {
    match Path::new("/proc/self/exe").exists() && Path::new("/proc/sys/kernel/random/boot_id").exists() {
        true => Check::good("/proc", "is mounted"),
        false => Check::wrong("/proc", "is missing or incomplete", "mount it; no run can be started without it"),
    }
}

/// What this machine can enforce for a run in a box. Runs without a box need none of it.
pub(super) fn confinement() -> Check {
    let all = BoxRequest { permission: Permission::Workspace, network: NetworkAccess::None, has_home_of_user: false };
    let report = report(all, &probe(ProbeScope::All));
    match report.missing() {
        None => Check::good("box", report.to_string()),
        Some(_) => Check::warning(
            "box",
            report.to_string(),
            "allow user namespaces on this machine, or run with `--box on`; docs/security.md has the parts",
        ),
    }
}

/// What this machine can limit.
pub(super) fn limits() -> Check {
    let all = ResourceLimits { cpu_sec: Some(1), ..ResourceLimits::OF_BOX };
    let report = BoxReport { parts: limit_parts(all), reachable: Vec::new() };
    match report.missing() {
        None => Check::good("limits", report.to_string()),
        Some(_) => Check::warning("limits", report.to_string(), "mount /proc; docs/security.md has the limits"),
    }
}

pub(super) fn clock() -> Check {
    let now = now();
    match WRITTEN.parse::<Timestamp>().is_ok_and(|written| written < now) {
        true => Check::good("clock", moment(now)),
        false => Check::wrong("clock", format!("says {}", moment(now)), "set it; deadlines and lists depend on it"),
    }
}

pub(super) fn settings(settings: &Settings) -> Check {
    let path = settings.file.path.display();
    match settings.file.path.exists() {
        true => Check::good("settings", path.to_string()),
        false => Check::good("settings", format!("{path} does not exist; all settings have their defaults")),
    }
}

pub(super) fn layers(settings: &Settings) -> Check {
    match settings.layers() {
        Ok(_) => Check::good("layers", "the rules that are added to skills can be used"),
        Err(error) => Check::wrong("layers", error.to_string(), "correct that file, or unset the setting `layers`"),
    }
}

/// Programs are searched for and not started; `skillrun engines` finds out their versions.
pub(super) fn engines(settings: &Settings) -> Vec<Check> {
    let engines = settings.engines();
    let is_there = |engine: &&skillrun_engine::Descriptor| {
        engine.name.as_str() != "scripted" && find(engine, &settings.engine_surroundings(engine), &Disk).is_ok()
    };
    let installed: Vec<&str> = engines.iter().filter(is_there).map(|engine| engine.name.as_str()).collect();
    let mut checks = vec![match installed.as_slice() {
        [] => Check::warning("engines", "none is installed", "`skillrun engines` shows how to install each of them"),
        some => Check::good(
            "engines",
            format!("{}: {}", counted(some.len(), "is installed", "are installed"), some.join(", ")),
        ),
    }];
    checks.extend(engines.broken().map(|error| Check::wrong("engines", error.to_string(), "correct that file")));
    let is_known = |name: &String| engines.iter().any(|engine| engine.name.as_str() == name);
    if let Some(name) = settings.engine.as_ref().filter(|name| !is_known(name)) {
        checks.push(Check::wrong(
            "engines",
            format!("the setting `engine` is \"{name}\", which does not exist"),
            "`skillrun config set engine NAME`",
        ));
    }
    checks
}
