//! The web page with a run of a hundred thousand events, in a real browser: `web/e2e/large.spec.ts` measures and leaves
//! its figures as JSON, this puts them beside their floor and their targets. The floor of a paint is the same page with
//! a run of a few events.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

const PAINT_TARGET: f64 = 2_000.0;
/// A frame.
const STEP_TARGET: f64 = 16.0;
const ELEMENTS_TARGET: f64 = 3_500.0;

pub(crate) fn measure(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let figures = figures(program)?;
    let number = |name: &str| {
        let found = figures.get(name).and_then(Value::as_f64);
        found.ok_or_else(|| Problem(format!("the browser test reported no {name}")))
    };
    let events = number("events")?;
    let (paint, longest, floor) = (number("paint_ms")?, number("longest_paint_ms")?, number("floor_paint_ms")?);
    table.measured(
        &format!("from an empty page to verdict and conversation, {events} events, median and longest of 5"),
        &format!("{paint:.0} ms, {longest:.0} ms"),
        &format!("{floor:.0} ms"),
        &format!("{:.0} ms more", paint - floor),
        "under 2 s",
    );
    if paint >= PAINT_TARGET {
        table.missed(format!("page: {events} events take {paint:.0} ms to appear"));
    }
    let elements = number("elements")?;
    table.measured("maximum number of elements", &format!("{elements}"), "–", "–", "a few thousand");
    if elements >= ELEMENTS_TARGET {
        table.missed(format!("page: {elements} elements"));
    }
    for (what, name) in
        [("conversation", "chat_step_ms"), ("list of events", "list_step_ms"), ("bytes", "bytes_step_ms")]
    {
        let step = number(name)?;
        table.measured(
            &format!("script for one step of scrolling, {what}"),
            &format!("{step:.2} ms"),
            "–",
            "–",
            "under 16 ms",
        );
        if step >= STEP_TARGET {
            table.missed(format!("page: a step of scrolling in the {what} takes {step:.1} ms"));
        }
    }
    let before = number("heap_mb")?;
    for (what, name) in [("going to and fro ten times", "heap_wandered_mb"), ("ten reloads", "heap_after_mb")] {
        let after = number(name)?;
        table.measured(
            &format!("heap after {what}"),
            &format!("{after:.1} MB"),
            &format!("{before:.1} MB before"),
            &format!("{:.2} of it", after / before),
            "under 1.5 of it",
        );
        if after >= before * 1.5 {
            table.missed(format!("page: the heap grows from {before:.1} to {after:.1} MB by {what}"));
        }
    }
    Ok(())
}

fn figures(program: &Program) -> Result<Value, Problem> {
    let skillrun = fs::canonicalize(program.path())?;
    let file = std::env::temp_dir().join(format!("skillrun-page-{}.json", std::process::id()));
    let test = Command::new("npm")
        .args(["--prefix", "web", "run", "--silent", "e2e", "--", "large.spec.ts"])
        .env("SKILLRUN_MEASURE", "1")
        .env("SKILLRUN_BIN", skillrun)
        .env("SKILLRUN_FIGURES", &file)
        .status()?;
    let text = fs::read_to_string(&file);
    let _ = fs::remove_file(&file);
    match text {
        Ok(text) if test.success() => serde_json::from_str(&text).map_err(|error| Problem(error.to_string())),
        Ok(_) | Err(_) => Err(Problem("the browser test did not finish; try: make web-check".to_owned())),
    }
}
