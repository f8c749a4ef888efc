//! The box of a run: what it holds on this machine, and what cannot be run in one.

use std::path::Path;

use skillrun_confine::network::PATTERNS_MAX;
use skillrun_confine::{BoxRequest, ProbeScope, probe, report as report_of};
use skillrun_engine::Descriptor;
use skillrun_engine::descriptor::Executable;
use skillrun_model::confinement::{BoxChoice, BoxPart, BoxReport, HostPattern, HostPort, NetworkAccess};
use skillrun_runs::record::{HomeChoice, Workspace};

use super::error::AcceptError;
use super::limits;
use super::options::Filled;
use crate::runtime::RuntimeConfig;

/// Folders that a box has of its own.
const OWN: &[&str] = &["/proc", "/sys", "/dev"];

/// Options that exclude each other.
pub(super) fn check_options(options: &Filled) -> Result<(), AcceptError> {
    let network = options.network;
    let count = options.allow_hosts.len();
    if options.confinement == BoxChoice::Off && network != NetworkAccess::Open {
        Err(AcceptError::NetworkWithoutBox { network })
    } else if count > 0 && network != NetworkAccess::List {
        Err(AcceptError::HostsWithoutList { network })
    } else if count > PATTERNS_MAX {
        Err(AcceptError::TooManyHosts { count, limit: PATTERNS_MAX })
    } else {
        Ok(())
    }
}

/// What the run reaches over the network, where that is restricted: the address of the model, and the hosts of the
/// request. From the variable of the user or the descriptor of the engine, never from the workspace.
fn reachable(
    config: &RuntimeConfig,
    options: &Filled,
    descriptor: &Descriptor,
) -> Result<Vec<HostPattern>, AcceptError> {
    match options.network {
        NetworkAccess::Open | NetworkAccess::None => Ok(Vec::new()),
        NetworkAccess::Model => model_hosts(config, descriptor),
        NetworkAccess::List => {
            let hosts = options.allow_hosts.iter().cloned();
            // The list may have the host of the model, if nothing else says where it is.
            let model = match model_hosts(config, descriptor) {
                Err(AcceptError::ModelAddressUnknown { .. }) if !options.allow_hosts.is_empty() => Vec::new(),
                other => other?,
            };
            let mut all: Vec<HostPattern> = hosts.chain(model).collect();
            all.sort_unstable();
            all.dedup();
            Ok(all)
        }
    }
}

/// Where the model of an engine is.
fn model_hosts(config: &RuntimeConfig, descriptor: &Descriptor) -> Result<Vec<HostPattern>, AcceptError> {
    let gateway = match (&descriptor.gateway, &descriptor.executable) {
        (Some(gateway), _) => gateway,
        // It has no model.
        (None, Executable::Own) => return Ok(Vec::new()),
        (None, Executable::Installed(_)) => {
            let variable = "the variable of its address in its file".to_owned();
            return Err(AcceptError::ModelAddressUnknown { engine: descriptor.name.to_string(), variable });
        }
    };
    let unknown = || AcceptError::ModelAddressUnknown {
        engine: descriptor.name.to_string(),
        variable: format!("{} to an address such as https://api.example.com/v1", gateway.variable),
    };
    match config.variable(&gateway.variable).filter(|value| !value.is_empty()) {
        Some(address) => {
            let host = address.to_str().and_then(HostPort::of_url).ok_or_else(unknown)?;
            Ok(vec![host.into()])
        }
        None if gateway.hosts.is_empty() => Err(unknown()),
        None => Ok(gateway.hosts.clone()),
    }
}

/// What the box of a run holds on this machine. None: the run has neither a box nor limits.
pub(super) fn report(
    config: &RuntimeConfig,
    options: &Filled,
    descriptor: &Descriptor,
) -> Result<Option<BoxReport>, AcceptError> {
    check_options(options)?;
    let reachable = reachable(config, options, descriptor)?;
    let request = BoxRequest {
        permission: options.permission,
        network: options.network,
        has_home_of_user: options.home == HomeChoice::User,
    };
    let scope = match options.network {
        NetworkAccess::Open => ProbeScope::WithoutNetwork,
        NetworkAccess::Model | NetworkAccess::List | NetworkAccess::None => ProbeScope::All,
    };
    let limits = limits::parts(options.limits);
    let held = |limits: Vec<BoxPart>| {
        let mut report = BoxReport { reachable, ..report_of(request, &probe(scope)) };
        report.parts.extend(limits);
        report
    };
    match options.confinement {
        // Limits hold without a box, too.
        BoxChoice::Off if limits.is_empty() => Ok(None),
        BoxChoice::Off => Ok(Some(BoxReport { parts: limits, reachable: Vec::new() })),
        BoxChoice::On => Ok(Some(held(limits))),
        BoxChoice::Required => {
            let report = held(limits);
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
