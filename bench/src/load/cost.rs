//! Processor time of the server for a run and for an event. Beside a run stands a bare process of the same engine, beside
//! an event `jq` on its line.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use super::gate::Gate;
use super::reader;
use super::sizes::Sizes;
use super::usage;
use crate::capture::wall;
use crate::problem::Problem;
use crate::program::{Program, cost_of};
use crate::service::place::{Engine, Place, SERVER_TIMEOUT, succeeded};
use crate::service::spread::{ms, us};
use crate::table::Table;

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    runs(program, sizes, table)?;
    let alone = events(program, sizes, Readers::None)?;
    let read = events(program, sizes, Readers::One)?;
    let jq = jq(sizes.lines)?;
    let floor = jq.map_or_else(|| "–".to_owned(), us);
    for (name, used) in [("no reader", alone), ("one reader", read)] {
        let name =
            format!("processor time for an event, run of {} lines, {name}: server; host and engine", sizes.lines);
        let measured = format!("{}; {}", us(used.server), us(used.host));
        let compared = jq.map_or_else(|| "–".to_owned(), |jq| times(used.server, jq, "`jq`"));
        table.measured(&name, &measured, &floor, &compared, "–");
    }
    Ok(())
}

pub(super) fn times(measured: Duration, floor: Duration, of: &str) -> String {
    format!("{:.1} times {of}", measured.as_secs_f64() / floor.as_secs_f64().max(1e-9))
}

fn runs(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let quick = Engine { name: "quick", profile: "plain_text", program: Path::new("/bin/echo"), words: &[] };
    let place = Place::new(program, "cost", &[quick])?;
    let server = place.serve()?;
    let me = std::process::id();
    let per = |used: Duration| used / u32::try_from(sizes.small_runs.max(1)).unwrap_or(u32::MAX);
    let before = usage::children_of(me)?;
    for _ in 0..sizes.small_runs {
        wall(Command::new("/bin/echo").arg("hello"))?;
    }
    let bare = per(usage::children_of(me)?.saturating_sub(before));
    let (begin, before, hosts) = (Instant::now(), server.cpu()?, usage::children_of(server.pid())?);
    let runs = (0..sizes.small_runs).map(|_| server.start("quick")).collect::<Result<Vec<_>, _>>()?;
    for run in &runs {
        succeeded(&server.wait(run)?)?;
    }
    let took = begin.elapsed();
    let used = per(server.cpu()?.saturating_sub(before));
    // A host that has just ended may not be reaped yet; one of many makes no difference.
    let hosts = per(usage::children_of(server.pid())?.saturating_sub(hosts));
    let name = format!(
        "processor time for a run, engine `echo`, {} together in {:.1} s: server; host and engine",
        sizes.small_runs,
        took.as_secs_f64()
    );
    table.measured(
        &name,
        &format!("{}; {}", ms(used), ms(hosts)),
        &ms(bare),
        &times(used + hosts, bare, "the bare process"),
        "–",
    );
    server.stop().map(drop)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readers {
    None,
    One,
}

#[derive(Debug, Clone, Copy)]
struct Used {
    server: Duration,
    host: Duration,
}

/// For each event of a run with this many lines.
fn events(program: &Program, sizes: Sizes, readers: Readers) -> Result<Used, Problem> {
    let gate_path = Place::root("events").join("gate");
    let (bench, gate_word, lines) =
        (std::env::current_exe()?, gate_path.display().to_string(), sizes.lines.to_string());
    let words = ["write", "held", &gate_word, &lines];
    let engine = Engine { name: "lines", profile: "codex_ndjson", program: &bench, words: &words };
    let place = Place::new(program, "events", &[engine])?;
    let gate = Gate::closed(&gate_path)?;
    let server = place.serve()?;
    let run = server.start("lines")?;
    let (before, hosts) = (server.cpu()?, usage::children_of(server.pid())?);
    let path = format!("/v1/runs/{run}/events");
    gate.open();
    let so_far = AtomicU64::new(0);
    thread::scope(|scope| {
        let reading = match readers {
            Readers::None => None,
            Readers::One => Some(scope.spawn(|| reader::follow(&server.client, &path, SERVER_TIMEOUT, &so_far))),
        };
        succeeded(&server.wait(&run)?)?;
        match reading {
            None => Ok(()),
            Some(reading) => {
                reading.join().unwrap_or_else(|_| Err(Problem("load: the reader thread panicked".to_owned()))).map(drop)
            }
        }
    })?;
    let log = fs::read(place.data().join("runs").join(&run).join("events.jsonl"))?;
    let events = u32::try_from(memchr::memchr_iter(b'\n', &log).count().max(1)).unwrap_or(u32::MAX);
    let server_used = server.cpu()?.saturating_sub(before) / events;
    // With its engine, which is waited for by the host.
    let host = usage::children_of(server.pid())?.saturating_sub(hosts) / events;
    server.stop()?;
    Ok(Used { server: server_used, host })
}

/// `jq -c .` for each of the same lines; none where it is not installed.
fn jq(lines: u64) -> Result<Option<Duration>, Problem> {
    if Command::new("jq").arg("--version").output().is_err() {
        eprintln!("load: jq is not installed, so there is no floor for an event");
        return Ok(None);
    }
    let folder = std::env::temp_dir().join(format!("skillrun-bench-{}-jq", std::process::id()));
    let gate = folder.join("gate");
    Gate::closed(&gate)?.open();
    let file = folder.join("lines");
    let mut write = Command::new(std::env::current_exe()?);
    write.args(["write", "held"]).arg(&gate).arg(lines.to_string());
    let written = cost_of(&mut write, Stdio::from(File::create(&file)?));
    let cost = written.and_then(|_| cost_of(Command::new("jq").args(["-c", "."]).arg(&file), Stdio::null()));
    fs::remove_dir_all(&folder)?;
    Ok(Some(cost?.cpu / u32::try_from(lines.max(1)).unwrap_or(u32::MAX)))
}
