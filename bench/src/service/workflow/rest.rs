//! Starts over very many workflows that wait for the user: for a decision of their own, and for an answer to a child.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::super::family;
use super::super::place::{Engine, Place};
use super::super::sizes::Sizes;
use super::super::spread::{Spread, ms};
use super::super::start::{Lost, cold, copy, forget_catalog, row};
use super::{asks, begin, calm};
use crate::capture::wall;
use crate::problem::Problem;
use crate::program::Program;
use crate::runs::ASKS;
use crate::table::Table;

const TARGET: std::time::Duration = std::time::Duration::from_secs(1);

const DECIDES: &str = "steps:\n  - {id: greet, skill: asks, ask: before}\n";
const ANSWERS: &str = "steps:\n  - {id: greet, skill: asks}\n";

pub(in super::super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let mut bare = Vec::new();
    for _ in 0..sizes.starts {
        bare.push(wall(Command::new(program.path()).arg("--version"))?);
    }
    let bare = Spread::new(bare);
    let mut lost = Lost::default();

    let place = resting(program, "decisions", DECIDES)?;
    let runs = place.data().join("runs");
    let original = only_run(&runs)?;
    for number in 0..sizes.workflows {
        copy(&runs, &original, number)?;
    }
    let name = format!("start to `/readyz` with {} workflows that wait for a decision", sizes.workflows);
    starts(&place, &name, sizes, &bare, &mut lost, table)?;

    let place = resting(program, "answers", ANSWERS)?;
    let runs = place.data().join("runs");
    let family = run_ids(&runs)?;
    for number in 0..sizes.workflows {
        copy_all(&runs, &family, number)?;
    }
    let name = format!("start to `/readyz` with {} workflows whose step asks", sizes.workflows);
    starts(&place, &name, sizes, &bare, &mut lost, table)?;
    let server = place.serve()?;
    calm(&server)?;
    let used = server.cpu()?;
    table.measured("the same, processor time until the server is idle", &ms(used), "–", "–", "–");
    server.stop().map(drop)
}

/// A start without a catalog and one with it.
fn starts(
    place: &Place,
    name: &str,
    sizes: Sizes,
    bare: &Spread,
    lost: &mut Lost,
    table: &mut Table,
) -> Result<(), Problem> {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..sizes.starts.min(3) {
        forget_catalog(&place.data())?;
        without.push(cold(place, lost)?.0);
    }
    for _ in 0..sizes.starts {
        with.push(cold(place, lost)?.0);
    }
    row(name, Spread::new(with), bare, Some(TARGET), table);
    row("the same without a catalog, which is created then", Spread::new(without), bare, Some(TARGET), table);
    Ok(())
}

/// A folder with one workflow that waits for the user.
fn resting(program: &Program, name: &str, file: &str) -> Result<Place, Problem> {
    let none: [Engine<'_>; 0] = [];
    let place = Place::new(program, name, &none)?;
    family::skill(&place, "asks", ASKS)?;
    let runner = place.data().join("skills/asks/assets/runner.json");
    fs::write(runner, r#"{"execution_modes": ["interactive"]}"#)?;
    let server = place.serve()?;
    begin(&server, &json!({"workflow": file, "engine": "scripted"}))?;
    asks(&server)?;
    calm(&server)?;
    server.stop()?;
    Ok(place)
}

fn run_ids(runs: &Path) -> Result<Vec<String>, Problem> {
    let folders = fs::read_dir(runs)?.flatten().filter(|entry| entry.path().join("events.jsonl").exists());
    Ok(folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn only_run(runs: &Path) -> Result<String, Problem> {
    run_ids(runs)?.pop().ok_or_else(|| Problem("service: there is no workflow".to_owned()))
}

/// Another family like an existing one: each run names the others.
fn copy_all(runs: &Path, family: &[String], number: u32) -> Result<(), Problem> {
    let other = |run: &str| format!("{}{number:012x}", &run[..run.len().saturating_sub(12)]);
    for run in family {
        copy(runs, run, number)?;
        let folder = runs.join(other(run));
        for name in ["run.json", "events.jsonl"] {
            let text = fs::read_to_string(folder.join(name))?;
            let text = family.iter().fold(text, |text, member| text.replace(member.as_str(), &other(member)));
            fs::write(folder.join(name), text)?;
        }
    }
    Ok(())
}
