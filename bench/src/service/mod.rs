//! The service, measured as a process from outside.
//!
//! - [`follow`]: from an engine's line to a client, one or many, beside a bare relay.
//! - [`hold`]: memory: nothing to do, small runs done, many streams that are silent.
//! - [`history`]: pages from the middle of a long Log.
//! - [`flood`]: answers while one run writes as much as it can.
//! - [`beside`]: many runs that do nothing: a follower of all of them, and their questions.
//! - [`family`]: runs that other runs have asked for.
//! - [`start`]: from nothing to ready, and whether a request is lost meanwhile.
//! - [`through`]: what a run costs when it goes through the service.
//! - [`workflow`]: runs in a declared order.
//!
//! [`writer`] and [`relay`] are programs of their own, as modes of this one. [`place`] is a data folder with a server,
//! [`crowd`] and [`wire`] are clients of streams, [`children`] end with us, [`clock`] and [`spread`] count.

mod beside;
pub(crate) mod children;
pub(crate) mod clock;
pub(crate) mod crowd;
mod family;
mod flood;
mod follow;
mod history;
mod hold;
pub(crate) mod place;
pub(crate) mod relay;
mod sizes;
pub(crate) mod spread;
mod start;
mod through;
pub(crate) mod wire;
mod workflow;
pub(crate) mod writer;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::args::{Figures, Scale};
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;
use sizes::Sizes;

/// One figure: how it is measured, and its name.
type Figure = (&'static str, fn(&Program, Sizes, &mut Table) -> Result<(), Problem>);

const FIGURES: [Figure; 13] = [
    ("start", start::measure),
    ("questions", beside::questions),
    ("memory", hold::measure),
    ("follow", follow::measure),
    ("history", history::measure),
    ("flood", flood::measure),
    ("flood by another process", flood::by_another),
    ("through", through::measure),
    ("children", family::measure),
    ("workflow steps", workflow::steps::measure),
    ("workflow memory", workflow::hold::measure),
    ("workflow start", workflow::rest::measure),
    ("workflow validate", workflow::validate::measure),
];

pub(crate) fn measure(program: &Program, scale: Scale, figures: &Figures, table: &mut Table) -> Result<(), Problem> {
    let sizes = Sizes::of(scale);
    more_descriptors(sizes.idle_streams as u64 + 200);
    FIGURES.into_iter().filter(|(name, _)| figures.have(name)).try_for_each(|(_, figure)| figure(program, sizes, table))
}

/// Each stream needs a descriptor here and one in the server, which inherits the limit.
pub(crate) fn more_descriptors(needed: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    let raised = Rlimit { current: Some(needed), ..limit };
    if setrlimit(Resource::Nofile, raised).is_err() {
        eprintln!(
            "service: {needed} open files are needed and only {:?} are allowed; some parts will fail",
            limit.maximum
        );
    }
}
