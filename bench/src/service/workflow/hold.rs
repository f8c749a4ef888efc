//! The server with a workflow whose children wait for a slot, so that all of its steps are open: its memory, and what it
//! does meanwhile.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::family::{self, ENDS, SLEEPS};
use super::super::place::{Engine, Place, Server, succeeded};
use super::super::sizes::Sizes;
use super::super::spread::mb;
use super::super::start::copy;
use super::{begin, calm, has_runs};
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

/// Memory of a workflow with a thousand open steps, beyond that of as many runs that wait for a slot.
const OPEN_TARGET: u64 = 2_000_000;
/// Share of one processor that the server may use while no step ends, in percent.
const WAITING_TARGET: f64 = 0.5;
/// Workflows inside of the workflow, which have the steps: one alone has at most 256 open ones.
const PARTS: usize = 4;

const ITEMS: usize = 200;
/// Bytes of the value that each item is given. The allocator returns a block of this size as soon as it is freed, so that
/// only values that are still held count.
const VALUE: usize = 160 << 10;
/// Memory of an item beyond that of one with a small value, in bytes: room for ids and for what the allocator keeps, and
/// not for values.
const ITEM_TARGET: u64 = 4_000;

/// Runs that have ended before, so that the page cache of the catalog is full, and runs that end in this process, so that
/// whatever is made for the first run is there.
const WARM_UP: usize = 20;

pub(in super::super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    open(program, sizes, table)?;
    items(program, sizes, table)
}

/// A server with one slot, which a run has that sleeps, in a folder with many runs that have ended.
fn served(program: &Program, name: &str, sizes: Sizes) -> Result<(Place, Server), Problem> {
    let none: [Engine<'_>; 0] = [];
    let place = Place::new(program, name, &none)?;
    place.allow(1)?;
    let config = fs::read_to_string(place.path("config.toml"))?;
    fs::write(place.path("config.toml"), config + "queued = 10000\n")?;
    family::skill(&place, "ends", ENDS)?;
    family::skill(&place, "sleeps", SLEEPS)?;
    let run = json!({"skill": "ends", "engine": "scripted"});
    let server = place.serve()?;
    let view = server.client.post("/v1/runs?wait=60", &run)?.json();
    succeeded(&view)?;
    server.stop()?;
    let original = view["run_id"].as_str().unwrap_or_default();
    for number in 0..u32::try_from(sizes.cached_runs).unwrap_or(u32::MAX) {
        copy(&place.data().join("runs"), original, number)?;
    }
    let server = place.serve()?;
    for _ in 0..WARM_UP {
        succeeded(&server.client.post("/v1/runs?wait=60", &run)?.json())?;
    }
    let answer = server.client.post("/v1/runs", &json!({"skill": "sleeps", "engine": "scripted"}))?;
    if !matches!(answer.status, 200 | 202) {
        return Err(Problem(format!("service: a run was refused: {}", answer.text())));
    }
    server.get("/v1/runs")?;
    calm(&server)?;
    Ok((place, server))
}

/// What runs take that wait for the one slot.
struct Held {
    /// Above idle.
    memory: u64,
    /// Of a processor, in percent.
    share: f64,
}

/// What requests take, whose runs wait for the one slot.
fn above(
    (place, server): (Place, Server),
    sizes: Sizes,
    runs: usize,
    request: impl FnOnce(&Server) -> Result<(), Problem>,
) -> Result<Held, Problem> {
    let there = sizes.cached_runs + WARM_UP + 2;
    let before = server.own_memory()?;
    request(&server)?;
    has_runs(&place, there + runs)?;
    calm(&server)?;
    let memory = server.own_memory()?.saturating_sub(before);
    let (begin, used) = (Instant::now(), server.cpu()?);
    sleep(Duration::from_secs(2 * sizes.seconds));
    let share = 100.0 * server.cpu()?.saturating_sub(used).as_secs_f64() / begin.elapsed().as_secs_f64();
    // The runs need not end: the host of the one that sleeps is killed with the folder.
    drop(server);
    Ok(Held { memory, share })
}

/// A thousand open steps, beside as many runs that wait for a slot.
fn open(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let steps = sizes.open_steps / PARTS * PARTS;
    let plain = above(served(program, "open-runs", sizes)?, sizes, steps, |server| {
        (0..steps).try_for_each(|_| {
            let answer = server.client.post("/v1/runs", &json!({"skill": "sleeps", "engine": "scripted"}))?;
            let is_accepted = matches!(answer.status, 200 | 202);
            if is_accepted { Ok(()) } else { Err(Problem(format!("service: a run was refused: {}", answer.text()))) }
        })
    })?;
    let (place, server) = served(program, "open-steps", sizes)?;
    wide(&place, steps / PARTS)?;
    let body = json!({"skill": "wide", "engine": "scripted"});
    let held = above((place, server), sizes, steps + PARTS + 1, |server| begin(server, &body).map(drop))?;
    let name = format!("a workflow with {steps} open steps, memory above idle; {steps} runs that wait for a slot");
    let more = format!("{} more", mb(held.memory.saturating_sub(plain.memory)));
    table.measured(&name, &mb(held.memory), &mb(plain.memory), &more, &format!("under {}", mb(OPEN_TARGET)));
    if held.memory >= OPEN_TARGET {
        table.missed(format!("service: {name}: {}", mb(held.memory)));
    }
    let name = "the same, share of a processor while no step ends";
    let percent = |held: &Held| format!("{:.2} %", held.share);
    table.measured(name, &percent(&held), &percent(&plain), "–", &format!("under {WAITING_TARGET} %"));
    if held.share >= WAITING_TARGET {
        table.missed(format!("service: a workflow whose steps wait uses {} of a processor", percent(&held)));
    }
    Ok(())
}

/// A skill with a workflow of workflows: each has as many steps, none of which needs another.
fn wide(place: &Place, steps: usize) -> Result<(), Problem> {
    family::skill(place, "wide", ENDS)?;
    let assets = place.data().join("skills/wide/assets");
    let parts: String = (0..PARTS).map(|part| format!("  - {{id: p{part}, workflow: part.yaml}}\n")).collect();
    fs::write(assets.join("workflow.yaml"), format!("concurrency: {PARTS}\nsteps:\n{parts}"))?;
    let steps_text: String = (0..steps).map(|step| format!("  - {{id: s{step}, skill: sleeps}}\n")).collect();
    Ok(fs::write(assets.join("part.yaml"), format!("concurrency: {steps}\nsteps:\n{steps_text}"))?)
}

/// A step that repeats and gives each item a large value, beside the same with small ones.
fn items(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let memory = |name: &str, value: usize| {
        let inputs = "inputs: {items: {schema: {type: array}}, text: {schema: {type: string}}}";
        let step = "{id: each, skill: sleeps, for_each: {from: /inputs/items}, \
                    with: {item: {from: /item}, text: {from: /inputs/text}}}";
        let file = format!("{inputs}\nconcurrency: {ITEMS}\nsteps:\n  - {step}\n");
        let items: Vec<usize> = (0..ITEMS).collect();
        let inputs = json!({"items": items, "text": "x".repeat(value)});
        let body = json!({"workflow": file, "inputs": inputs, "engine": "scripted"});
        above(served(program, name, sizes)?, sizes, ITEMS + 1, |server| begin(server, &body).map(drop))
    };
    let (small, large) = (memory("small-values", 1)?.memory, memory("large-values", VALUE)?.memory);
    let each = large.saturating_sub(small) / ITEMS as u64;
    let name = format!(
        "`for_each` over {ITEMS} items with a value of {} KiB each, all open, memory above idle; values of a byte",
        VALUE >> 10
    );
    let compared = format!("{each} bytes more for each; all values are {}", mb((ITEMS * VALUE) as u64));
    table.measured(&name, &mb(large), &mb(small), &compared, &format!("under {ITEM_TARGET} bytes more for each"));
    if each >= ITEM_TARGET {
        table.missed(format!("service: `for_each` over {ITEMS} items holds {each} bytes more for each large value"));
    }
    Ok(())
}
