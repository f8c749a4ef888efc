//! Answers while one run writes as much as it can.

use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use testkit::http::Client;

use super::children::Kept;
use super::place::{Engine, Place, Server, is_over, succeeded};
use super::sizes::Sizes;
use super::spread::{Spread, mb, ms};
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

/// For `/healthz`, and for a list of runs, which looks at the catalog.
const TARGETS: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(100)];

/// For a run of another process.
const ELSEWHERE_TARGET: Duration = Duration::from_millis(50);

/// The whole flood is through by then.
const FLOOD_TIMEOUT: Duration = Duration::from_secs(90);

/// The pause between two requests, so that the requests are not a load themselves.
const PAUSE: Duration = Duration::from_millis(5);
/// Between two looks whether it is over.
const REQUEST_INTERVAL: Duration = Duration::from_millis(100);
const QUIET: Duration = Duration::from_secs(2);

const PATHS: [&str; 2] = ["/healthz", "/v1/runs?limit=20"];

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let (bench, bytes) = (std::env::current_exe()?, sizes.flood_bytes.to_string());
    let words = ["write", "flood", &bytes];
    let engine = Engine { name: "floods", profile: "codex_ndjson", program: &bench, words: &words };
    let place = Place::new(program, "flood", &[engine])?;
    let server = place.serve()?;
    let begin = Instant::now();
    let quiet = asked(&server, || Ok(begin.elapsed() > QUIET))?;
    let (begin, before) = (Instant::now(), server.cpu()?);
    let run = server.start("floods")?;
    let busy = asked(&server, || {
        if begin.elapsed() > FLOOD_TIMEOUT {
            server.client.post(&format!("/v1/runs/{run}/cancel?wait=20"), &serde_json::json!({}))?;
            return Err(Problem(format!(
                "service: a flood of {bytes} bytes is not through in {} s",
                FLOOD_TIMEOUT.as_secs()
            )));
        }
        Ok(is_over(&server.get(&format!("/v1/runs/{run}"))?))
    })?;
    let (took, cpu) = (begin.elapsed(), server.cpu()?.saturating_sub(before));
    succeeded(&server.wait(&run)?)?;
    let size = mb(sizes.flood_bytes);
    for (((path, target), quiet), busy) in PATHS.into_iter().zip(TARGETS).zip(quiet).zip(busy) {
        let three = |spread: &Spread| format!("{}, {}, {}", ms(spread.p50()), ms(spread.p99()), ms(spread.max()));
        let (p50, p99) = (busy.p50().saturating_sub(quiet.p50()), busy.p99().saturating_sub(quiet.p99()));
        let name = format!("`{path}` while a run writes {size}, p50, p99, longest of {}", busy.len());
        let aim = format!("p99 under {}", ms(target));
        table.measured(&name, &three(&busy), &three(&quiet), &format!("{} and {} more", ms(p50), ms(p99)), &aim);
        if busy.p99() >= target {
            table.missed(format!("service: {name}: p99 {}", ms(busy.p99())));
        }
    }
    let rate = format!("{:.1} MB/s", sizes.flood_bytes as f64 / 1e6 / took.as_secs_f64());
    let name = format!("those {size} from request to end; most memory of the server");
    table.measured(&name, &format!("{:.1} s, {}", took.as_secs_f64(), mb(server.peak_memory()?)), "–", &rate, "–");
    let used = format!("{:.1} s", cpu.as_secs_f64());
    table.measured("of that, processor time of the server", &used, "–", "–", "–");
    server.stop().map(drop)
}

/// The state of a run that another process owns: the server has to read its Log.
pub(super) fn by_another(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let (bench, bytes) = (std::env::current_exe()?, sizes.flood_bytes.to_string());
    let words = ["write", "flood", &bytes];
    let engine = Engine { name: "floods", profile: "codex_ndjson", program: &bench, words: &words };
    let place = Place::new(program, "flood-elsewhere", &[engine])?;
    let mut owner = place.command(&["run", "skill", "--engine", "floods"]);
    let _owner = Kept::spawn(owner.stdout(Stdio::null()).stderr(Stdio::null()))?;
    let begin = Instant::now();
    let run = loop {
        let runs = fs::read_dir(place.data().join("runs")).into_iter().flatten().flatten();
        let mut with_log = runs.filter(|entry| entry.path().join("events.jsonl").exists());
        match with_log.next() {
            Some(entry) => break entry.file_name().to_string_lossy().into_owned(),
            None if begin.elapsed() > FLOOD_TIMEOUT => {
                return Err(Problem("service: a run of another process does not begin".to_owned()));
            }
            None => sleep(PAUSE),
        }
    };
    let server = place.serve()?;
    let mut times = Vec::new();
    loop {
        let asked = Instant::now();
        let view = server.get(&format!("/v1/runs/{run}"))?;
        times.push(asked.elapsed());
        if is_over(&view) || begin.elapsed() > FLOOD_TIMEOUT {
            break;
        }
        sleep(REQUEST_INTERVAL);
    }
    let times = Spread::new(times);
    let name = format!(
        "`/v1/runs/{{id}}` of a run of another process that writes {}, p50, longest of {}",
        mb(sizes.flood_bytes),
        times.len()
    );
    let aim = format!("p50 under {}", ms(ELSEWHERE_TARGET));
    table.measured(&name, &format!("{}, {}", ms(times.p50()), ms(times.max())), "–", "–", &aim);
    if times.p50() >= ELSEWHERE_TARGET {
        table.missed(format!("service: {name}: {}", ms(times.p50())));
    }
    server.stop().map(drop)
}

/// Asks for each path again and again, each in a thread of its own, so that none waits for another.
fn asked(server: &Server, is_done: impl Fn() -> Result<bool, Problem>) -> Result<[Spread; 2], Problem> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let asking = PATHS.map(|path| {
            scope.spawn({
                let over = &over;
                move || ask(&server.client, path, over)
            })
        });
        let done = loop {
            match is_done() {
                Ok(false) => sleep(REQUEST_INTERVAL),
                Ok(true) => break Ok(()),
                Err(problem) => break Err(problem),
            }
        };
        over.store(true, Ordering::Relaxed);
        let times =
            asking.map(|asking| asking.join().unwrap_or_else(|_| Err(Problem("service: thread panicked".to_owned()))));
        done?;
        let [first, second] = times;
        Ok([first?, second?])
    })
}

fn ask(client: &Client, path: &str, over: &AtomicBool) -> Result<Spread, Problem> {
    let mut times = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        let answer = client.get(path)?;
        times.push(begin.elapsed());
        if answer.status != 200 {
            return Err(Problem(format!("service: {path} was answered with {} {}", answer.status, answer.text())));
        }
        sleep(PAUSE);
    }
    Ok(Spread::new(times))
}
