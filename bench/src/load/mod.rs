//! One machine under load: what work costs, how much of it fits, and what happens at the edge.
//!
//! - [`cost`]: processor time of the server for a run and for an event.
//! - [`lone`]: system calls of the server for an event that comes alone.
//! - [`at_once`]: many runs at the same time, compared with as many bare engines.
//! - [`flood`]: a million lines through a live run with three readers, and how it affects other clients.
//! - [`ramp`]: the rate of lines at which one machine stops keeping up, and what limits it.
//! - [`ordinary`]: many hosts of a user with ordinary limits.
//! - [`recovery`]: a server that was killed while many hosts were alive.
//! - [`disk`]: bytes written per byte received.
//!
//! [`gate`] holds engines back until all are ready, [`reader`] follows one stream, [`bare`] is the same engine without
//! skillrun, [`usage`] measures which process used the processor.

mod at_once;
mod bare;
mod cost;
mod disk;
mod flood;
pub(crate) mod gate;
mod lone;
mod ordinary;
mod ramp;
mod reader;
mod recovery;
mod sizes;
mod usage;

use crate::args::{Figures, Scale};
use crate::problem::Problem;
use crate::program::Program;
use crate::service::more_descriptors;
use crate::table::Table;
use sizes::Sizes;

/// For pipes, sockets and files of 1,000 runs, here and in the server.
const DESCRIPTORS: u64 = 20_000;

/// One figure: how it is measured, and its name.
type Figure = (&'static str, fn(&Program, Sizes, &mut Table) -> Result<(), Problem>);

const FIGURES: [Figure; 8] = [
    ("cost", cost::measure),
    ("lone event", lone::measure),
    ("runs at once", at_once::measure),
    ("flood", flood::measure),
    ("rate", ramp::measure),
    ("ordinary user", ordinary::measure),
    ("recovery", recovery::measure),
    ("disk", disk::measure),
];

/// A figure that cannot be measured is reported as missed, and the others are still measured.
pub(crate) fn measure(program: &Program, scale: Scale, figures: &Figures, table: &mut Table) -> Result<(), Problem> {
    more_descriptors(DESCRIPTORS);
    for (name, figure) in FIGURES.into_iter().filter(|(name, _)| figures.have(name)) {
        if let Err(problem) = figure(program, Sizes::of(scale), table) {
            table.missed(format!("load: {name} could not be measured: {problem}"));
        }
    }
    Ok(())
}
