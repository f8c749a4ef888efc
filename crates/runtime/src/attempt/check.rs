//! The plan for the host of a check.

use std::fs;

use skillrun_collect::plan::{self, HostPlan, Limits, SnapshotPlan, StartWhen, StdinPlan, Variable, VariableKind};
use skillrun_collect::start;
use skillrun_evidence::OsText;
use skillrun_evidence::host_record::Label;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::verdict::RunError;
use skillrun_model::{AttemptNumber, Wiring};
use skillrun_runs::record::{HomeChoice, RunCheck, seconds};

use super::launch::{error, named_variables};
use super::{confinement, keys, resources};
use crate::run::Run;
use crate::runtime::RuntimeConfig;

/// Bytes of output of one check.
const MAX_BYTES: u64 = 64 << 20;

/// How long a process that outlives the command may keep its output open.
const LINGER: std::time::Duration = std::time::Duration::from_secs(2);

/// The pause after each signal with which a check is ended.
const GRACE: std::time::Duration = std::time::Duration::from_secs(2);

/// Variables of the owner that every check gets. What else a command needs, the request passes by name; a check has no
/// key of an engine unless the request names it.
const PASSED: &[&str] = &["PATH", "LANG", "TZ"];

/// Prepares the folder of a check, and returns the plan for its host.
pub(crate) fn plan(
    config: &RuntimeConfig,
    run: &Run,
    (number, check): (u32, &RunCheck),
    recording: AttemptNumber,
) -> Result<HostPlan, RunError> {
    let host = |failed: std::io::Error| error(ErrorCategory::Host, Code::HostError, failed.to_string());
    let home = match run.record.request.home {
        HomeChoice::Run => run.folder.home(),
        HomeChoice::User => config.user_home.clone(),
    };
    fs::create_dir_all(&home).map_err(host)?;
    let plain = |name: &str, value: OsText| Variable { name: name.into(), value, kind: VariableKind::Plain };
    let is_passed = |name: &str| PASSED.contains(&name) || name.starts_with("LC_");
    let own = config.environment.iter().filter_map(|(name, value)| {
        let name = name.to_str().filter(|name| is_passed(name))?;
        Some(plain(name, OsText::from(value.clone())))
    });
    // Where the run has no folder of the user, its own; the link to it otherwise.
    let workspace = fs::canonicalize(run.folder.workspace()).map_err(host)?;
    let home_variable = plain("HOME", OsText::from(home.as_path()));
    let variables = own.chain([home_variable]).chain(named_variables(config, &run.record.request)).collect();
    let limit = seconds(check.timeout_sec);
    Ok(HostPlan {
        run_id: run.id,
        attempt: recording,
        nonce: start::random_nonce().map_err(host)?,
        audit: OsText::from(run.folder.check(number)),
        workspace: OsText::from(workspace.as_path()),
        argv: check.command.argv().iter().map(|word| OsText::from(word.as_str())).collect(),
        variables,
        keys: keys::of_server(&config.tools.data),
        wiring: Wiring::Pipes,
        stdin: StdinPlan::Null,
        label: Label::default(),
        // A command may be silent for as long as it may run.
        limits: Limits {
            hard: limit,
            stall: limit.saturating_mul(2),
            linger: LINGER,
            max_bytes: MAX_BYTES,
            ..Limits::default()
        },
        ladder: plan::ladder(GRACE),
        // The artifacts of the run are known by now.
        snapshot: SnapshotPlan::Off,
        temporary: OsText::from(config.temporary.as_path()),
        confinement: confinement::of_command(run, (&workspace, &home)),
        resources: resources::plan(&run.record, &workspace, &home),
        // The Log has announced it.
        start: StartWhen::AtOnce,
    })
}
