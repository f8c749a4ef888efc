//! The check of a workflow file: as many steps as are allowed, each with a value of the one before and a skill with
//! schemas, beside a file with a single step.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use super::super::family::{self, ENDS};
use super::super::place::{Engine, Place};
use super::super::sizes::Sizes;
use super::super::spread::{Spread, ms};
use super::steps::chain;
use crate::problem::Problem;
use crate::program::{Program, cost_of};
use crate::table::Table;

const STEPS: usize = 10_000;
const TARGET: Duration = Duration::from_millis(100);
const ROUNDS: usize = 11;

const RUNNER: &str = r#"{"schemas": {"input": "assets/input.json", "output": "assets/output.json"}}"#;
const INPUT: &str = r#"{"type": "object", "properties": {"before": {"type": "string"}}, "required": ["before"]}"#;
const OUTPUT: &str = r#"{"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}"#;

pub(in super::super) fn measure(program: &Program, _: Sizes, table: &mut Table) -> Result<(), Problem> {
    let none: [Engine<'_>; 0] = [];
    let place = Place::new(program, "validate", &none)?;
    family::skill(&place, "typed", ENDS)?;
    for (name, text) in [("runner.json", RUNNER), ("input.json", INPUT), ("output.json", OUTPUT)] {
        fs::write(place.data().join("skills/typed/assets").join(name), text)?;
    }
    fs::write(place.path("small.yaml"), chain(1, "typed"))?;
    fs::write(place.path("large.yaml"), chain(STEPS, "typed"))?;
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (times, file) in [(&mut small, "small.yaml"), (&mut large, "large.yaml")] {
            let mut command = place.command(&["workflow", "validate", file]);
            times.push(cost_of(&mut command, Stdio::null())?.cpu);
        }
    }
    let (small, large) = (Spread::new(small), Spread::new(large));
    let name = format!(
        "`skillrun workflow validate` of {STEPS} steps, processor time, median and longest of {ROUNDS}; of one step"
    );
    let two = |times: &Spread| format!("{}, {}", ms(times.p50()), ms(times.max()));
    let more = format!("{} more", ms(large.p50().saturating_sub(small.p50())));
    table.measured(&name, &two(&large), &two(&small), &more, &format!("under {}", ms(TARGET)));
    if large.p50() >= TARGET {
        table.missed(format!("service: {name}: {}", two(&large)));
    }
    Ok(())
}
