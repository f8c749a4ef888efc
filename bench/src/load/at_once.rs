//! Many runs at the same time: all are alive together before the first may end. Beside them as many bare engines.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::bare::{self, Bare, Sink};
use super::cost::times;
use super::gate::Gate;
use super::sizes::Sizes;
use super::usage;
use crate::problem::Problem;
use crate::program::Program;
use crate::service::place::{Engine, Place, SERVER_TIMEOUT, Server};
use crate::service::spread::{mb, ms};
use crate::table::Table;

/// What each engine says when it may.
const LINES: u64 = 100;

/// What is done after a request is done by then.
const CALM: Duration = Duration::from_millis(500);

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    for count in sizes.at_once {
        let bare = bare::engines(count, LINES, Sink::File)?;
        many(program, count, bare, table)?;
    }
    Ok(())
}

fn many(program: &Program, count: usize, bare: Bare, table: &mut Table) -> Result<(), Problem> {
    let gate_path = Place::root("many").join("gate");
    let (bench, gate_word, lines) = (std::env::current_exe()?, gate_path.display().to_string(), LINES.to_string());
    let words = ["write", "held", &gate_word, &lines];
    let engine = Engine { name: "held", profile: "codex_ndjson", program: &bench, words: &words };
    let place = Place::new(program, "many", &[engine])?;
    place.allow(count)?;
    let gate = Gate::closed(&gate_path)?;
    let server = place.serve()?;
    sleep(CALM);
    let idle = server.memory()?;
    let (cpu, hosts_cpu) = (server.cpu()?, usage::children_of(server.pid())?);
    let begin = Instant::now();
    let runs = (0..count).map(|_| server.start("held")).collect::<Result<Vec<_>, _>>()?;
    all_alive(&place, &runs)?;
    let alive = begin.elapsed();
    sleep(CALM);
    let held = server.memory()?.saturating_sub(idle);
    let mut hosts: Vec<u64> = place.hosts().into_iter().filter_map(usage::own_memory).collect();
    hosts.sort_unstable();
    let host = hosts.get(hosts.len() / 2).copied().unwrap_or_default();
    let begin = Instant::now();
    gate.open();
    let right = ended_rightly(&server, &runs)?;
    let ended = begin.elapsed();
    let per = |used: Duration| used / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
    let cpu = per(server.cpu()?.saturating_sub(cpu));
    let hosts_cpu = per(usage::children_of(server.pid())?.saturating_sub(hosts_cpu));
    let s = |time: Duration| format!("{:.2} s", time.as_secs_f64());

    let all = format!("all {count}");
    table.measured(&format!("{count} runs at once: ended correctly"), &format!("{right} of {count}"), "–", "–", &all);
    if right != count {
        table.missed(format!("load: only {right} of {count} runs at once ended correctly"));
    }
    let name = format!("{count} runs at once: from the first request until all are alive");
    table.measured(&name, &s(alive), &s(bare.alive), &times(alive, bare.alive, "bare processes"), "–");
    let name = format!("{count} runs at once: from the moment they may continue to the last end");
    table.measured(&name, &s(ended), &s(bare.ended), &times(ended, bare.ended, "bare processes"), "–");
    let name = format!("{count} runs at once: processor time of each: server; host and engine");
    let compared = times(cpu + hosts_cpu, bare.cpu, "the bare process");
    table.measured(&name, &format!("{}; {}", ms(cpu), ms(hosts_cpu)), &ms(bare.cpu), &compared, "–");
    let name = format!("{count} runs at once: memory of the server above idle");
    table.measured(&name, &mb(held), "–", &format!("{} KiB each", held / count.max(1) as u64 / 1024), "–");
    let name = format!("{count} runs at once: own memory of a host, compared with its engine");
    let compared = format!("{:.1} times", host as f64 / bare.memory.max(1) as f64);
    table.measured(&name, &mb(host), &mb(bare.memory), &compared, "–");
    server.stop().map(drop)
}

/// Waits until each engine has said its first line.
pub(super) fn all_alive(place: &Place, runs: &[String]) -> Result<(), Problem> {
    let begin = Instant::now();
    let output = |run: &String| place.data().join("runs").join(run).join(".audit/stdout.1.log");
    let mut silent: Vec<_> = runs.iter().map(output).collect();
    loop {
        silent.retain(|file| !fs::metadata(file).is_ok_and(|data| data.len() > 0));
        if silent.is_empty() {
            return Ok(());
        }
        if begin.elapsed() > SERVER_TIMEOUT {
            return Err(Problem(format!("load: {} of {} engines did not start", silent.len(), runs.len())));
        }
        sleep(Duration::from_millis(10));
    }
}

/// Waits for the end of all, and counts those that succeeded.
pub(super) fn ended_rightly(server: &Server, runs: &[String]) -> Result<usize, Problem> {
    let mut right = 0;
    for run in runs {
        let view = server.wait(run)?;
        if view["status"] == "succeeded" {
            right += 1;
        } else {
            eprintln!("load: {run} did not succeed: {view}");
        }
    }
    Ok(right)
}
