//! Processes in a box: what they reach, and that everything else is as without one.
//!
//! Each test runs under every mechanism that this machine has, and prints which it leaves out and why. [`escapes`] has
//! the table of attempts to get out, [`lifetime`] the rules for exits, signals and leftovers, [`networks`] what is reached over the
//! network, [`runs`] whole runs,
//! [`unmade`] boxes that cannot be made.

mod escapes;
mod lifetime;
mod networks;
mod runs;
mod unmade;

use std::path::Path;

use lab::host::HostLab;
use skillrun_collect::plan::HostPlan;
use skillrun_confine::{BoxPlan, NetworkPlan, ProbeScope, probe};
use skillrun_evidence::OsText;
use skillrun_model::confinement::BoxMechanism;

/// The mechanisms that this machine has.
fn mechanisms() -> Vec<BoxMechanism> {
    let abilities = probe(ProbeScope::All);
    let mut found = Vec::new();
    match &abilities.namespaces {
        Ok(()) => found.push(BoxMechanism::Namespaces),
        Err(reason) => eprintln!("skipped: namespaces ({reason})"),
    }
    match abilities.landlock {
        Some(6..) => found.push(BoxMechanism::Landlock),
        version => eprintln!("skipped: Landlock (version {version:?}, and the table is for 6 and later)"),
    }
    found
}

/// A box with the workspace, the folder of the stand-ins and nothing else of this lab.
fn confined(lab: &HostLab, steps: &[&str], mechanism: BoxMechanism) -> HostPlan {
    let stand_in = testkit::paths::stand_in(crate::SKILLRUN);
    let programs = stand_in.parent().unwrap_or_else(|| Path::new("/"));
    let confinement = BoxPlan {
        mechanism,
        network: NetworkPlan::Open,
        readable: vec![OsText::from(programs)],
        writable: vec![OsText::from(lab.workspace())],
    };
    HostPlan { confinement: Some(confinement), ..lab.plan(steps) }
}
