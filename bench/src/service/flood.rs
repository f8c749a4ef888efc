//! Answers while one run writes as much as it can.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::place::{Engine, Place, Server, is_over, succeeded};
use super::sizes::Sizes;
use super::spread::{Spread, mb, ms};
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

const TARGET: Duration = Duration::from_millis(50);

/// The whole flood is through by then.
const PATIENCE: Duration = Duration::from_secs(90);

/// Between two requests, so that asking is no load.
const PAUSE: Duration = Duration::from_millis(5);
const QUIET: usize = 200;

const PATHS: [&str; 2] = ["/healthz", "/v1/runs?limit=20"];

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let (bench, bytes) = (std::env::current_exe()?, sizes.flood_bytes.to_string());
    let words = ["write", "flood", &bytes];
    let engine = Engine { name: "floods", profile: "codex_ndjson", program: &bench, words: &words };
    let place = Place::new(program, "flood", &[engine])?;
    let server = place.serve()?;
    let mut quiet = [Vec::new(), Vec::new()];
    for _ in 0..QUIET {
        ask(&server, &mut quiet)?;
    }
    let begin = Instant::now();
    let run = server.start("floods")?;
    let mut busy = [Vec::new(), Vec::new()];
    let view = loop {
        // Its own view is asked for rarely, and is not counted.
        for _ in 0..20 {
            ask(&server, &mut busy)?;
        }
        let view = server.get(&format!("/v1/runs/{run}"))?;
        if is_over(&view) {
            break view;
        }
        if begin.elapsed() > PATIENCE {
            server.client.post(&format!("/v1/runs/{run}/cancel?wait=20"), &serde_json::json!({}))?;
            return Err(Problem(format!("service: a flood of {bytes} bytes is not through in {} s", PATIENCE.as_secs())));
        }
    };
    let took = begin.elapsed();
    succeeded(&view)?;
    let size = mb(sizes.flood_bytes);
    for ((path, quiet), busy) in PATHS.into_iter().zip(quiet).zip(busy) {
        let (quiet, busy) = (Spread::new(quiet), Spread::new(busy));
        let three = |spread: &Spread| format!("{}, {}, {}", ms(spread.p50()), ms(spread.p99()), ms(spread.max()));
        let more = format!("{} and {} more", ms(busy.p50().saturating_sub(quiet.p50())), ms(busy.p99().saturating_sub(quiet.p99())));
        let name = format!("`{path}` while a run writes {size}, p50, p99, longest of {}", busy.len());
        let has_target = path == PATHS[0];
        table.service(&name, &three(&busy), &three(&quiet), &more, if has_target { "p99 under 50 ms" } else { "–" });
        if has_target && busy.p99() >= TARGET {
            table.missed(format!("service: {name}: p99 {}", ms(busy.p99())));
        }
    }
    let rate = format!("{:.1} MB/s", sizes.flood_bytes as f64 / 1e6 / took.as_secs_f64());
    let name = format!("those {size} from request to end; most memory of the server");
    table.service(&name, &format!("{:.1} s, {}", took.as_secs_f64(), mb(server.peak_memory()?)), "–", &rate, "–");
    let name = "of that, processor time of the server";
    table.service(name, &format!("{:.1} s", server.cpu()?.as_secs_f64()), "–", "–", "–");
    server.stop().map(drop)
}

fn ask(server: &Server, times: &mut [Vec<Duration>; 2]) -> Result<(), Problem> {
    for (path, times) in PATHS.into_iter().zip(times) {
        let begin = Instant::now();
        let answer = server.client.get(path)?;
        times.push(begin.elapsed());
        if answer.status != 200 {
            return Err(Problem(format!("service: {path} was answered with {} {}", answer.status, answer.text())));
        }
        sleep(PAUSE);
    }
    Ok(())
}
