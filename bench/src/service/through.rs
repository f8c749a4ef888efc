//! What a run costs when it goes through the service. Many together are measured under load.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::place::{Engine, Place, is_over, succeeded};
use super::sizes::Sizes;
use super::spread::{Spread, ms};
use crate::capture::wall;
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

/// Between two questions whether a run is over.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let quick = Engine { name: "quick", profile: "plain_text", program: Path::new("/bin/echo"), words: &[] };
    let place = Place::new(program, "through", &[quick])?;
    let server = place.serve()?;
    let (mut bare, mut through, mut polled) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..sizes.single_runs {
        bare.push(wall(Command::new("/bin/echo").arg("hello"))?);
        let begin = Instant::now();
        succeeded(&server.run("quick", Some(60))?)?;
        through.push(begin.elapsed());
        let begin = Instant::now();
        let run = server.start("quick")?;
        while !is_over(&server.get(&format!("/v1/runs/{run}"))?) {
            sleep(POLL_INTERVAL);
        }
        polled.push(begin.elapsed());
    }
    let (bare, through, polled) = (Spread::new(bare), Spread::new(through), Spread::new(polled));
    let name = format!("one run by `POST /v1/runs?wait=60`, engine `echo`, median of {}", through.len());
    let more = format!("{} more", ms(through.p50().saturating_sub(bare.p50())));
    table.measured(&name, &ms(through.p50()), &ms(bare.p50()), &more, "–");
    let name = "the same without `wait`, asked for every millisecond until it is over";
    let more = format!("{} more", ms(polled.p50().saturating_sub(bare.p50())));
    table.measured(name, &ms(polled.p50()), &ms(bare.p50()), &more, "–");
    server.stop().map(drop)
}
