//! A million lines through a live run with three readers: one of the events, one of the conversation, one that joins
//! late. Every event must arrive at each of them once and in order, the server must not grow, and others must not suffer:
//! small runs and `/healthz` are asked for before the flood and during it. Beside it a bare relay of the same lines to as
//! many readers.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use super::cost::times;
use super::gate::Gate;
use super::reader::{self, Heard};
use super::sizes::Sizes;
use crate::problem::Problem;
use crate::program::Program;
use crate::service::crowd::{Crowd, Member};
use crate::service::place::{Engine, Place, SERVER_TIMEOUT, Server, succeeded};
use crate::service::spread::{Spread, mb, ms};
use crate::table::Table;

const READERS: usize = 3;
const MEMORY_TARGET: u64 = 64_000_000;
const ANSWER_TARGET: Duration = Duration::from_millis(50);

/// Everything is through by then.
const LONG: Duration = Duration::from_secs(240);
const QUIET: Duration = Duration::from_secs(4);
/// The pause between two requests, so that the requests are not a load themselves.
const PAUSE: Duration = Duration::from_millis(5);
/// Between two small runs.
const APART: Duration = Duration::from_millis(100);

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let relayed = relayed(sizes.flood_lines)?;
    let gate_path = Place::root("torrent").join("gate");
    let (bench, gate_word) = (std::env::current_exe()?, gate_path.display().to_string());
    let lines = sizes.flood_lines.to_string();
    let words = ["write", "held", &gate_word, &lines];
    let engines = [
        Engine { name: "lines", profile: "codex_ndjson", program: &bench, words: &words },
        Engine { name: "quick", profile: "plain_text", program: Path::new("/bin/echo"), words: &[] },
    ];
    let place = Place::new(program, "torrent", &engines)?;
    let gate = Gate::closed(&gate_path)?;
    let server = place.serve()?;
    let begin = Instant::now();
    let quiet = others(&server, || begin.elapsed() > QUIET)?;
    let before = server.memory()?;
    let run = server.start("lines")?;
    let flooded = flooded(&server, &run, gate, sizes.flood_lines)?;
    let peak = server.peak_memory()?.saturating_sub(before);
    succeeded(&server.wait(&run)?)?;
    let events = lines_of(&place.data().join("runs").join(&run).join("events.jsonl"))?;
    let told = server.get(&format!("/v1/runs/{run}/chat/history?limit=1"))?["last_seq"].as_u64().unwrap_or_default();
    report(sizes, &flooded, events, told, relayed, table);
    let name = "flood: peak memory of the server above idle";
    table.measured(name, &mb(peak), "–", "–", "under 64 MB");
    if peak >= MEMORY_TARGET {
        table.missed(format!("load: the server grows by {} in a flood", mb(peak)));
    }
    let three = |spread: &Spread| format!("{}, {}, {}", ms(spread.p50()), ms(spread.p99()), ms(spread.max()));
    let more = |busy: &Spread, quiet: &Spread| {
        format!(
            "{} and {} more",
            ms(busy.p50().saturating_sub(quiet.p50())),
            ms(busy.p99().saturating_sub(quiet.p99()))
        )
    };
    let busy = &flooded.others;
    let name = format!("flood: `/healthz` during it, p50, p99, longest of {}; floor: before", busy.answers.len());
    let compared = more(&busy.answers, &quiet.answers);
    table.measured(&name, &three(&busy.answers), &three(&quiet.answers), &compared, "p99 under 50 ms");
    if busy.answers.p99() >= ANSWER_TARGET {
        table.missed(format!("load: `/healthz` takes {} in a flood (p99)", ms(busy.answers.p99())));
    }
    let name = format!("flood: a small run during it, p50, p99, longest of {}; floor: before", busy.runs.len());
    table.measured(&name, &three(&busy.runs), &three(&quiet.runs), &more(&busy.runs, &quiet.runs), "–");
    server.stop().map(drop)
}

fn report(sizes: Sizes, flooded: &Flooded, events: u64, told: u64, relayed: Duration, table: &mut Table) {
    let lines = sizes.flood_lines;
    let s = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    for (name, heard, all) in [
        ("the reader of the events", flooded.events, events),
        ("the reader of the conversation", flooded.chat, told),
        ("the reader that joins in the middle", flooded.late, events),
    ] {
        let got = format!("{} of {all}, {} out of order", heard.events, heard.jumps);
        table.measured(&format!("flood of {lines} lines: {name} received"), &got, "–", "–", "all, in order");
        if !heard.is_all_of(all) || all < lines {
            table.missed(format!("load: in a flood of {lines} lines {name} received {got}"));
        }
    }
    let name = format!("flood of {lines} lines: until the last reader had the last event; floor: a bare relay");
    let rate = format!("{}, {:.0} lines/s", s(flooded.took), lines as f64 / flooded.took.as_secs_f64());
    table.measured(&name, &rate, &s(relayed), &times(flooded.took, relayed, "the relay"), "–");
    let name = "flood: of that, processor time of the server";
    table.measured(
        name,
        &s(flooded.cpu),
        "–",
        &format!("{:.1} µs a line", flooded.cpu.as_secs_f64() * 1e6 / lines as f64),
        "–",
    );
}

struct Flooded {
    events: Heard,
    chat: Heard,
    late: Heard,
    took: Duration,
    cpu: Duration,
    others: Others,
}

fn flooded(server: &Server, run: &str, gate: Gate, lines: u64) -> Result<Flooded, Problem> {
    let (events, chat) = (format!("/v1/runs/{run}/events"), format!("/v1/runs/{run}/chat"));
    let [first, second, third] = [const { AtomicU64::new(0) }; READERS];
    let joined = |reading: ScopedJoinHandle<'_, Result<Heard, Problem>>| {
        reading.join().unwrap_or_else(|_| Err(Problem("load: a reader thread panicked".to_owned())))
    };
    thread::scope(|scope| {
        let client = &server.client;
        let of_events = scope.spawn(|| reader::follow(client, &events, LONG, &first));
        let of_chat = scope.spawn(|| reader::follow(client, &chat, LONG, &second));
        let begin = Instant::now();
        while first.load(Ordering::Relaxed) == 0 && begin.elapsed() < SERVER_TIMEOUT && !of_events.is_finished() {
            sleep(PAUSE);
        }
        let (begin, cpu) = (Instant::now(), server.cpu()?);
        gate.open();
        let (first, third, events) = (&first, &third, &events);
        let late = scope.spawn(move || {
            while first.load(Ordering::Relaxed) < lines / 2 && begin.elapsed() < LONG {
                sleep(PAUSE);
            }
            reader::follow(client, events, LONG, third)
        });
        let others = others(server, || {
            (late.is_finished() && of_events.is_finished() && of_chat.is_finished()) || begin.elapsed() > 2 * LONG
        });
        let (took, cpu) = (begin.elapsed(), server.cpu()?.saturating_sub(cpu));
        let (events, chat, late) = (joined(of_events)?, joined(of_chat)?, joined(late)?);
        Ok(Flooded { events, chat, late, took, cpu, others: others? })
    })
}

/// What others see meanwhile.
struct Others {
    answers: Spread,
    runs: Spread,
}

fn others(server: &Server, is_over: impl Fn() -> bool) -> Result<Others, Problem> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let answers = scope.spawn(|| again_and_again(&over, PAUSE, || server.get("/healthz").map(drop)));
        let runs = scope.spawn(|| again_and_again(&over, APART, || succeeded(&server.run("quick", Some(60))?)));
        while !is_over() {
            sleep(Duration::from_millis(20));
        }
        over.store(true, Ordering::Relaxed);
        let joined = |asking: ScopedJoinHandle<'_, Result<Spread, Problem>>| {
            asking.join().unwrap_or_else(|_| Err(Problem("load: the request thread panicked".to_owned())))
        };
        Ok(Others { answers: joined(answers)?, runs: joined(runs)? })
    })
}

fn again_and_again(
    over: &AtomicBool,
    apart: Duration,
    ask: impl Fn() -> Result<(), Problem>,
) -> Result<Spread, Problem> {
    let mut times = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        ask()?;
        times.push(begin.elapsed());
        sleep(apart);
    }
    Ok(Spread::new(times))
}

fn lines_of(log: &Path) -> Result<u64, Problem> {
    let (mut reader, mut count) = (BufReader::with_capacity(1 << 20, fs::File::open(log)?), 0);
    loop {
        let block = reader.fill_buf()?;
        let length = block.len();
        if length == 0 {
            return Ok(count);
        }
        count += memchr::memchr_iter(b'\n', block).count() as u64;
        reader.consume(length);
    }
}

/// The same lines from the same engine through a bare relay to as many readers.
fn relayed(lines: u64) -> Result<Duration, Problem> {
    let folder = std::env::temp_dir().join(format!("skillrun-bench-{}-torrent-relay", std::process::id()));
    let gate_path = folder.join("gate");
    let gate = Gate::closed(&gate_path)?;
    let relay = || {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("relay").arg(READERS.to_string()).arg("held").arg(&gate_path).arg(lines.to_string());
        let (_relay, mut crowd) = Crowd::at_relay(&mut command, READERS)?;
        let begin = Instant::now();
        gate.open();
        crowd.read_until(LONG, |crowd| crowd.all(Member::is_done))?;
        Ok(begin.elapsed())
    };
    let took = relay();
    fs::remove_dir_all(&folder)?;
    took
}
