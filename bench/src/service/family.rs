//! What children cost: runs that other runs have asked for, beside plain runs of the same server.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skillrun_model::RunStatus;
use skillrun_model::rasp::{ControlData, Data, Event};

use super::place::{Engine, Place, SERVER_TIMEOUT, Server, cpu_of, succeeded};
use super::sizes::Sizes;
use super::spread::{Spread, ms};
use super::start::{Lost, cold};
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

const RUNNING_TARGET: Duration = Duration::from_millis(40);
const MANY: usize = 50;
const MANY_TARGET: Duration = Duration::from_secs(2);
const TREE_TARGET: Duration = Duration::from_millis(100);
const RESTART_TARGET: Duration = Duration::from_secs(1);
/// Share of one processor that a parent that waits may use beside its child, in percent.
const WAITING_TARGET: f64 = 0.5;

const SLOTS: usize = 8;
const REQUESTS: usize = 30;
const STARTS: usize = 3;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A child that ends with its first message.
pub(super) const ENDS: &str = "- - output: {answer: done}\n    done: true\n";
pub(super) const SLEEPS: &str = "- - sleep_ms: 600000\n";

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let none: [Engine<'_>; 0] = [];
    let place = Place::new(program, "family", &none)?;
    place.allow(SLOTS)?;
    skill(&place, "ends", ENDS)?;
    skill(&place, "sleeps", SLEEPS)?;
    skill(&place, "one", &asks(1, "ends"))?;
    skill(&place, "many", &asks(MANY, "ends"))?;
    skill(&place, "waits", &asks(1, "sleeps"))?;
    skill(&place, "branch", &asks(sizes.branches, "ends"))?;
    skill(&place, "trunk", &asks(sizes.branches, "branch"))?;
    let server = place.serve()?;
    running(&place, &server, sizes, table)?;
    many(&server, table)?;
    waiting(&place, &server, sizes, table)?;
    tree(&server, table)?;
    server.stop()?;
    restart(program, sizes, table)
}

/// A parent that asks for so many children, waits for all of them, and ends.
fn asks(children: usize, skill: &str) -> String {
    let spawns: String = (0..children)
        .map(|number| format!("  - delegate: {{do: spawn, request: {{key: k{number}, skill: {skill}}}}}\n"))
        .collect();
    // One wait has a limit.
    let waits = "  - delegate: {do: wait, timeout_sec: 45}\n".repeat(4);
    format!("- {}{waits}  - output: {{answer: '{{{{delegated.outcome}}}}'}}\n    done: true\n", spawns.trim_start())
}

pub(super) fn skill(place: &Place, name: &str, script: &str) -> Result<(), Problem> {
    let skill = place.data().join("skills").join(name);
    fs::create_dir_all(skill.join("assets"))?;
    fs::write(skill.join("SKILL.md"), format!("---\nname: {name}\ndescription: For measuring.\n---\n\nDo it.\n"))?;
    Ok(fs::write(skill.join("assets/scripted.yaml"), script)?)
}

fn start(server: &Server, skill: &str) -> Result<String, Problem> {
    let limits = json!({"max_children": 64, "max_total": 1000});
    let body = json!({"skill": skill, "engine": "scripted", "options": {"delegation": limits}});
    let answer = server.client.post("/v1/runs", &body)?;
    let run = answer.json()["run_id"].as_str().map(str::to_owned);
    run.ok_or_else(|| Problem(format!("service: a parent was answered with {} {}", answer.status, answer.text())))
}

/// Waits for the end of a parent all of whose children completed.
fn completed(server: &Server, run: &str) -> Result<(), Problem> {
    let view = server.wait(run)?;
    succeeded(&view)?;
    let answer = &view["result"]["output"]["answer"];
    if answer == "completed" {
        Ok(())
    } else {
        Err(Problem(format!("service: the children of {run} ended as {answer}")))
    }
}

pub(super) fn events(place: &Place, run: &str) -> Result<Vec<Event>, Problem> {
    let text = fs::read_to_string(place.data().join("runs").join(run).join("events.jsonl"))?;
    let event = |line: &str| Event::from_json(line).map_err(|error| Problem(format!("service: {run}: {error}")));
    text.lines().map(event).collect()
}

/// From `first` to the event with which the run begins to run.
fn until_running(first: &Event, events: &[Event]) -> Result<Duration, Problem> {
    let is_running = |event: &&Event| matches!(&event.data, Data::Control(ControlData::RunStatus(change)) if change.status == Some(RunStatus::Running));
    let running = events.iter().find(is_running).and_then(|event| event.ts.millis_since(first.ts));
    running.map(Duration::from_millis).ok_or_else(|| Problem("service: a run never ran".to_owned()))
}

/// From the request of a parent in its Log to the moment in which the child runs, beside the same of plain runs.
fn running(place: &Place, server: &Server, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let (mut plain, mut children) = (Vec::new(), Vec::new());
    for _ in 0..sizes.single_runs {
        let run = start(server, "ends")?;
        succeeded(&server.wait(&run)?)?;
        let own = events(place, &run)?;
        plain.extend(own.first().map(|first| until_running(first, &own)).transpose()?);
        let parent = start(server, "one")?;
        completed(server, &parent)?;
        for event in events(place, &parent)? {
            if let Data::Control(ControlData::SubagentRequested(asked)) = &event.data {
                children.push(until_running(&event, &events(place, &asked.child_run_id.to_string())?)?);
            }
        }
    }
    let (plain, children) = (Spread::new(plain), Spread::new(children));
    let name = format!("a child, from its request to `running`, p50, longest of {}", children.len());
    let two = |times: &Spread| format!("{}, {}", ms(times.p50()), ms(times.max()));
    let more = format!("{} more", ms(children.p50().saturating_sub(plain.p50())));
    table.measured(&name, &two(&children), &two(&plain), &more, &format!("p50 under {}", ms(RUNNING_TARGET)));
    if children.p50() >= RUNNING_TARGET {
        table.missed(format!("service: {name}: {}", two(&children)));
    }
    Ok(())
}

/// Many children of one parent, beside as many plain runs.
fn many(server: &Server, table: &mut Table) -> Result<(), Problem> {
    let begin = Instant::now();
    let runs = (0..MANY).map(|_| start(server, "ends")).collect::<Result<Vec<_>, _>>()?;
    runs.iter().try_for_each(|run| succeeded(&server.wait(run)?))?;
    let plain = begin.elapsed();
    let begin = Instant::now();
    completed(server, &start(server, "many")?)?;
    let family = begin.elapsed();
    let more = family.saturating_sub(plain);
    let name = format!("a parent with {MANY} children at once, beside {MANY} plain runs");
    let target = format!("under {} more", ms(MANY_TARGET));
    table.measured(&name, &ms(family), &ms(plain), &format!("{} more", ms(more)), &target);
    if more >= MANY_TARGET {
        table.missed(format!("service: {name}: {} more", ms(more)));
    }
    Ok(())
}

/// A parent that waits for a child that sleeps: the processor time of the server and of the hosts of both.
fn waiting(place: &Place, server: &Server, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let parent = start(server, "waits")?;
    let begin = Instant::now();
    while place.hosts().len() < 2 {
        if begin.elapsed() > SERVER_TIMEOUT {
            return Err(Problem("service: a child does not begin to work".to_owned()));
        }
        sleep(POLL_INTERVAL);
    }
    sleep(Duration::from_secs(2));
    let pids = || place.hosts().into_iter().chain([server.pid()]);
    let used = || pids().map(cpu_of).sum::<Result<Duration, Problem>>();
    let (begin, before) = (Instant::now(), used()?);
    sleep(Duration::from_secs(5 * sizes.seconds));
    let share = 100.0 * used()?.saturating_sub(before).as_secs_f64() / begin.elapsed().as_secs_f64();
    let name = "a parent that waits, its child and the server, share of a processor";
    table.measured(name, &format!("{share:.2} %"), "–", "–", &format!("under {WAITING_TARGET} %"));
    if share >= WAITING_TARGET {
        table.missed(format!("service: {name}: {share:.2} %"));
    }
    let name = "slots in use while a parent waits for its child";
    let slots = slots(server)?;
    table.measured(name, &slots.to_string(), "–", "–", "1, that of the child");
    if slots != 1 {
        table.missed(format!("service: {name}: {slots}"));
    }
    server.client.post(&format!("/v1/runs/{parent}/cancel?wait=60"), &Value::Null)?;
    server.wait(&parent).map(drop)
}

/// Slots for processes that are in use.
fn slots(server: &Server) -> Result<u64, Problem> {
    let answer = server.client.get("/metrics")?;
    let text = answer.text();
    let used = ["turn", "sticky"].map(|kind| {
        let name = format!("skillrun_slots{{kind=\"{kind}\",is=\"used\"}} ");
        text.lines().find_map(|line| line.strip_prefix(name.as_str())?.parse::<u64>().ok())
    });
    let used = used.into_iter().sum::<Option<u64>>();
    used.ok_or_else(|| Problem(format!("service: /metrics was answered with {} without slots", answer.status)))
}

/// A family, whole.
fn tree(server: &Server, table: &mut Table) -> Result<(), Problem> {
    let parent = start(server, "trunk")?;
    completed(server, &parent)?;
    let (mut times, mut runs) = (Vec::new(), 0);
    for _ in 0..REQUESTS {
        let begin = Instant::now();
        let tree = server.get(&format!("/v1/runs/{parent}/tree"))?;
        times.push(begin.elapsed());
        runs = tree["runs"].as_array().map_or(0, Vec::len);
    }
    let times = Spread::new(times);
    let name = format!("`/v1/runs/{{id}}/tree` of {runs} runs, p50, longest of {REQUESTS}");
    let measured = format!("{}, {}", ms(times.p50()), ms(times.max()));
    table.measured(&name, &measured, "–", "–", &format!("p50 under {}", ms(TREE_TARGET)));
    if times.p50() >= TREE_TARGET {
        table.missed(format!("service: {name}: {measured}"));
    }
    Ok(())
}

/// A start over families that are at work: parents that wait, each for a child that sleeps.
fn restart(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let none: [Engine<'_>; 0] = [];
    let place = Place::new(program, "families", &none)?;
    place.allow(2 * sizes.families)?;
    skill(&place, "sleeps", SLEEPS)?;
    skill(&place, "waits", &asks(1, "sleeps"))?;
    let server = place.serve()?;
    for _ in 0..sizes.families {
        start(&server, "waits")?;
    }
    let begin = Instant::now();
    while place.hosts().len() < 2 * sizes.families {
        if begin.elapsed() > 2 * SERVER_TIMEOUT {
            return Err(Problem("service: not every parent and child works".to_owned()));
        }
        sleep(POLL_INTERVAL);
    }
    server.stop()?;
    let mut lost = Lost::default();
    let times = (0..STARTS).map(|_| Ok(cold(&place, &mut lost)?.0)).collect::<Result<Vec<_>, Problem>>()?;
    let times = Spread::new(times);
    let name = format!(
        "start to `/readyz` with {} families at work, {} runs, median and longest of {STARTS}",
        sizes.families,
        2 * sizes.families
    );
    let measured = format!("{}, {}", ms(times.p50()), ms(times.max()));
    table.measured(&name, &measured, "–", "–", &format!("under {}", ms(RESTART_TARGET)));
    if times.p50() >= RESTART_TARGET {
        table.missed(format!("service: {name}: {measured}"));
    }
    Ok(())
}
