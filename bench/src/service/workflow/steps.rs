//! Many steps in a row: each needs the one before it and is given a value of its output. Beside them plain runs in a row,
//! each requested after the end of the one before. And many items of one step at once, beside as many plain runs at once.

use std::time::{Duration, Instant};

use serde_json::json;
use skillrun_model::Timestamp;
use skillrun_model::rasp::{ControlData, Data};

use super::super::family::{self, ENDS};
use super::super::place::{Engine, Place, Server, succeeded};
use super::super::sizes::Sizes;
use super::super::spread::ms;
use super::{begin, completed};
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

/// Of a step, beyond the time of a plain run.
const TARGET: Duration = Duration::from_millis(25);

pub(in super::super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let none: [Engine<'_>; 0] = [];
    let place = Place::new(program, "steps", &none)?;
    family::skill(&place, "ends", ENDS)?;
    let server = place.serve()?;
    let steps = sizes.steps;
    // Half of them before and half of them after, because a shared machine changes its speed.
    let used = server.cpu()?;
    let before = plain(&server, sizes.plain_runs / 2)?;
    let of_plain = server.cpu()?.saturating_sub(used) / count(sizes.plain_runs / 2);
    let used = server.cpu()?;
    let body = json!({"workflow": chain(steps, "ends"), "engine": "scripted"});
    let started = Instant::now();
    let workflow = begin(&server, &body)?;
    completed(&server, &workflow)?;
    let each = started.elapsed() / count(steps);
    let of_step = server.cpu()?.saturating_sub(used) / count(steps);
    let plain = (before + plain(&server, sizes.plain_runs / 2)?) / 2;

    let events = family::events(&place, &workflow)?;
    let ends = events.iter().filter(|event| matches!(event.data, Data::Control(ControlData::StepEnded(_))));
    let ends: Vec<Timestamp> = ends.map(|event| event.ts).collect();
    if ends.len() != steps {
        return Err(Problem(format!("service: of {steps} steps {} have ended", ends.len())));
    }
    let part = (steps / 10).max(1);
    let mean = |from: usize, to: usize| {
        let time = Duration::from_millis(ends[to].millis_since(ends[from]).unwrap_or(0));
        time / count(to - from)
    };
    let (first, last) = (mean(0, part), mean(steps - 1 - part, steps - 1));
    let more = each.saturating_sub(plain);
    let name =
        format!("{steps} steps in a row, each with the output of the one before, mean time of a step; a plain run");
    let compared = format!("{} more; the first {part} {}, the last {part} {} each", ms(more), ms(first), ms(last));
    table.measured(&name, &ms(each), &ms(plain), &compared, &format!("at most {} more", ms(TARGET)));
    if more > TARGET {
        table.missed(format!("service: a step of {steps} in a row takes {} more than a run", ms(more)));
    }
    let more = format!("{} more", ms(of_step.saturating_sub(of_plain)));
    table.measured("of that, processor time of the server", &ms(of_step), &ms(of_plain), &more, "–");
    at_once(&server, sizes, table)?;
    server.stop().map(drop)
}

/// Items of one step that are all open from the beginning, beside as many plain runs.
fn at_once(server: &Server, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let items = sizes.items;
    let started = Instant::now();
    let body = json!({"skill": "ends", "engine": "scripted", "input": {"before": "done"}});
    let mut runs = Vec::new();
    for _ in 0..items {
        let answer = server.client.post("/v1/runs", &body)?.json();
        runs.push(answer["run_id"].as_str().unwrap_or_default().to_owned());
    }
    runs.iter().try_for_each(|run| completed(server, run))?;
    let plain = started.elapsed();
    let file = format!(
        "inputs: {{items: }}\nconcurrency: {items}\nsteps:\n  - {{id: each, skill: ends, \
         for_each: {{from: /inputs/items}}, with: {{before: {{from: /item}}}}}}\n"
    );
    let values: Vec<usize> = (0..items).collect();
    let body = json!({"workflow": file, "inputs": {"items": values}, "engine": "scripted"});
    let started = Instant::now();
    completed(server, &begin(server, &body)?)?;
    let took = started.elapsed();
    let more = took.saturating_sub(plain) / count(items);
    let name =
        format!("`for_each` over {items} items at once, until the workflow has ended; as many plain runs at once");
    let compared = format!("{} more for each", ms(more));
    table.measured(&name, &ms(took), &ms(plain), &compared, &format!("at most {} more for each", ms(TARGET)));
    if more > TARGET {
        table.missed(format!("service: `for_each` over {items} items at once takes {} more for each", ms(more)));
    }
    Ok(())
}

/// Runs in a row: the mean time from a request to the answer with the end.
fn plain(server: &Server, runs: usize) -> Result<Duration, Problem> {
    let body = json!({"skill": "ends", "engine": "scripted", "input": {"before": "done"}});
    let started = Instant::now();
    for _ in 0..runs {
        succeeded(&server.client.post("/v1/runs?wait=60", &body)?.json())?;
    }
    Ok(started.elapsed() / count(runs))
}

/// A number to divide by.
fn count(number: usize) -> u32 {
    u32::try_from(number.max(1)).unwrap_or(u32::MAX)
}

/// The file: steps of one skill, each with a value of the one before.
pub(super) fn chain(steps: usize, skill: &str) -> String {
    let step = |number: usize| {
        let value = number
            .checked_sub(1)
            .map_or_else(|| "x".to_owned(), |before| format!("{{from: /steps/s{before}/output/answer}}"));
        format!("  - id: s{number}\n    skill: {skill}\n    engine: scripted\n    with: {{before: {value}}}\n")
    };
    format!("steps:\n{}", (0..steps).map(step).collect::<String>())
}
