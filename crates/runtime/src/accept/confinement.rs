//! The box of a run: what it holds on this machine, and what cannot be run in one.

use std::path::Path;

use skillrun_confine::{BoxRequest, probe, report as report_of};
use skillrun_model::confinement::{BoxChoice, BoxReport, NetworkAccess};
use skillrun_runs::record::{HomeChoice, Workspace};

use super::error::AcceptError;
use super::limits;
use super::options::Filled;
use crate::runtime::RuntimeConfig;

/// Folders that a box has of its own.
const OWN: &[&str] = &["/proc", "/sys", "/dev"];

/// Options that exclude each other.
pub(super) fn check_options(options: &Filled) -> Result<(), AcceptError> {
    match (options.confinement, options.network, options.home) {
        (BoxChoice::Off, NetworkAccess::None, _) => Err(AcceptError::NetworkWithoutBox),
        (BoxChoice::On | BoxChoice::Required, _, HomeChoice::User) => Err(AcceptError::BoxWithHomeOfUser),
        (BoxChoice::Off, NetworkAccess::Open, _)
        | (BoxChoice::On | BoxChoice::Required, NetworkAccess::Open | NetworkAccess::None, HomeChoice::Run) => Ok(()),
    }
}

/// What the box of a run holds on this machine. None: the run has neither a box nor limits.
pub(super) fn report(options: &Filled) -> Result<Option<BoxReport>, AcceptError> {
    check_options(options)?;
    let request = BoxRequest { permission: options.permission, network: options.network };
    let limits = limits::parts(options.limits);
    let report = || {
        let mut report = report_of(request, probe());
        report.parts.extend(limits.iter().cloned());
        report
    };
    match options.confinement {
        // Limits hold without a box, too.
        BoxChoice::Off => Ok((!limits.is_empty()).then(|| BoxReport { parts: limits.clone() })),
        BoxChoice::On => Ok(Some(report())),
        BoxChoice::Required => {
            let report = report();
            match report.missing() {
                None => Ok(Some(report)),
                Some(missing) => Err(AcceptError::BoxNotEnforced {
                    part: missing.part,
                    reason: missing.reason.clone().unwrap_or_default(),
                }),
            }
        }
    }
}

/// A folder that a box cannot hold its processes to.
pub(super) fn check_workspace(
    config: &RuntimeConfig,
    options: &Filled,
    workspace: &Workspace,
) -> Result<(), AcceptError> {
    let Some(folder) = workspace.folder().filter(|_| options.confinement != BoxChoice::Off) else { return Ok(()) };
    // Links lead to the folder in which the runs really are.
    let data = config.tools.data.root();
    let data = std::fs::canonicalize(data).unwrap_or_else(|_| data.to_owned());
    let reason = if folder == Path::new("/") {
        "it has everything in it"
    } else if OWN.iter().any(|own| folder.starts_with(own)) {
        "a box has its own"
    } else if folder.starts_with(&data) || data.starts_with(folder) {
        "the data folder, which has the evidence of all runs, must be outside"
    } else {
        return Ok(());
    };
    Err(AcceptError::WorkspaceInBox { path: folder.to_owned(), reason })
}
