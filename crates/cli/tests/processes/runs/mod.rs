//! Runs from request to end, with real hosts and real processes of the scripted engine.

mod acceptance;
mod acp;
mod calls;
mod checks;
mod clocks;
mod conversation;
mod delegation;
mod figures;
mod iflow;
mod logins;
mod matrix;
mod messages;
mod offline;
mod profiles;
mod prompts;
mod queue;
mod quota;
mod redact;
mod replies;
mod rules;
mod rules_by_hand;
mod sticky;
mod sticky_left;
mod stories;
mod turn_records;
mod verify;
mod views;
mod workspaces;

use lab::runtime::RuntimeLab;
use skillrun_catalog::Catalog;
use skillrun_runtime::Runtime;
use skillrun_runtime::runtime::Recovered;

/// As the next owner finds the runs.
fn recover(lab: &RuntimeLab, runtime: &Runtime) -> Recovered {
    let (mut catalog, _) = Catalog::open(&lab.data().catalog(), &lab.data().runs()).expect("a catalog");
    catalog.refresh(runtime.log()).expect("refreshed");
    runtime.recover(&mut catalog).expect("recovered")
}
