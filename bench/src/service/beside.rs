//! What the server does beside many runs that do nothing: one follower of all runs, and the list of many questions.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::http::Opened;

use super::place::{Engine, Place};
use super::sizes::Sizes;
use super::spread::{Spread, ms};
use super::start::copy;
use crate::problem::Problem;
use crate::program::Program;
use crate::runs::ASKS;
use crate::table::Table;

/// Share of one processor, in percent.
const FOLLOWER_TARGET: f64 = 0.5;

const QUESTIONS_TARGET: Duration = Duration::from_millis(10);

/// What is done after the start is done by then: the folder of all runs is read again for some seconds, and five seconds
/// after the start old runs are looked for, which the server does once an hour.
const CALM: Duration = Duration::from_secs(12);

/// Number of requests for questions.
const REQUESTS: usize = 30;

/// One follower of all runs, in a folder with many of them.
pub(super) fn follower(place: &Place, runs: &str, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let server = place.serve()?;
    let mut events = match server.client.events("/v1/stream", &[])? {
        Opened::Stream(events) => events,
        Opened::No(answer) => return Err(Problem(format!("service: no stream of all runs: {}", answer.text()))),
    };
    events.next_event()?;
    sleep(CALM);
    let (begin, before) = (Instant::now(), server.cpu()?);
    sleep(Duration::from_secs(5 * sizes.seconds));
    let used = server.cpu()?.saturating_sub(before);
    let share = 100.0 * used.as_secs_f64() / begin.elapsed().as_secs_f64();
    let name = format!("one follower of `/v1/stream` beside {runs}, share of a processor");
    table.measured(&name, &format!("{share:.2} %"), "–", "–", &format!("under {FOLLOWER_TARGET} %"));
    if share >= FOLLOWER_TARGET {
        table.missed(format!("service: {name}: {share:.2} %"));
    }
    drop(events);
    server.stop().map(drop)
}

/// Many runs that wait for an answer.
pub(super) fn questions(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let none: [Engine<'_>; 0] = [];
    let place = Place::new(program, "questions", &none)?;
    let skill = place.data().join("skills/asks");
    fs::create_dir_all(skill.join("assets"))?;
    fs::write(skill.join("SKILL.md"), "---\nname: asks\ndescription: For measuring.\n---\n\nAsk.\n")?;
    fs::write(skill.join("assets/scripted.yaml"), ASKS)?;
    let server = place.serve()?;
    let request = json!({ "skill": "asks", "engine": "scripted", "mode": "interactive" });
    let view = server.client.post("/v1/runs?wait=60", &request)?.json();
    if view["status"] != "waiting_user" {
        return Err(Problem(format!("service: a run does not ask: {view}")));
    }
    server.stop()?;
    for number in 0..sizes.finished {
        copy(&place.data().join("runs"), view["run_id"].as_str().unwrap_or_default(), number)?;
    }
    follower(&place, &format!("{} runs that wait", sizes.finished), sizes, table)?;
    let server = place.serve()?;
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let begin = Instant::now();
        server.get("/v1/interactions")?;
        times.push(begin.elapsed());
    }
    let times = Spread::new(times);
    let name = format!("`/v1/interactions` of {} questions, p50, longest of {REQUESTS}", sizes.finished);
    let measured = format!("{}, {}", ms(times.p50()), ms(times.max()));
    table.measured(&name, &measured, "–", "–", &format!("p50 under {}", ms(QUESTIONS_TARGET)));
    if times.p50() >= QUESTIONS_TARGET {
        table.missed(format!("service: {name}: {measured}"));
    }
    server.stop().map(drop)
}
