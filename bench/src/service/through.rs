//! What a run costs when it goes through the service: one after the other, and many together.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::place::{Engine, Place, succeeded};
use super::sizes::Sizes;
use super::spread::{Spread, ms, us};
use crate::capture::wall;
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let quick = Engine { name: "quick", profile: "plain_text", program: Path::new("/bin/echo"), words: &[] };
    let place = Place::new(program, "through", &[quick])?;
    let server = place.serve()?;
    let (mut bare, mut through) = (Vec::new(), Vec::new());
    for _ in 0..sizes.single_runs {
        bare.push(wall(Command::new("/bin/echo").arg("hello"))?);
        let begin = Instant::now();
        succeeded(&server.run("quick", Some(60))?)?;
        through.push(begin.elapsed());
    }
    let (bare, through) = (Spread::new(bare), Spread::new(through));
    let name = format!("one run by `POST /v1/runs?wait=60`, engine `echo`, median of {}", through.len());
    let more = format!("{} more", ms(through.p50().saturating_sub(bare.p50())));
    table.service(&name, &ms(through.p50()), &ms(bare.p50()), &more, "–");

    let (begin, before) = (Instant::now(), server.cpu()?);
    let runs = (0..sizes.together).map(|_| server.start("quick")).collect::<Result<Vec<_>, _>>()?;
    let mut events = 0;
    for run in &runs {
        succeeded(&server.wait(run)?)?;
        let log = fs::read(place.data().join("runs").join(run).join("events.jsonl"))?;
        events += memchr::memchr_iter(b'\n', &log).count();
    }
    let (took, used) = (begin.elapsed(), server.cpu()?.saturating_sub(before));
    let per = |count: usize| used / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
    let name = format!(
        "{} runs together, processor time of the server for each; {:.1} s in all",
        runs.len(),
        took.as_secs_f64()
    );
    table.service(&name, &ms(per(runs.len())), "–", &format!("{} for each event", us(per(events))), "–");
    server.stop().map(drop)
}
