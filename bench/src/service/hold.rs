//! Memory of a server with nothing to do, after small runs, and with many streams that are silent.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::crowd::Crowd;
use super::place::{Engine, Place, SERVER_TIMEOUT, succeeded};
use super::sizes::Sizes;
use super::spread::mb;
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

const IDLE_TARGET: u64 = 20_000_000;
/// Memory of one silent stream, in KiB.
const STREAM_TARGET: u64 = 8;
/// Memory that one ended run leaves, in bytes.
const ENDED_TARGET: u64 = 100;

/// What is done after a request is done by then.
const CALM: Duration = Duration::from_millis(500);

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let go = std::env::temp_dir().join(format!("skillrun-bench-{}-service-hold/go", std::process::id()));
    let (bench, go_word) = (std::env::current_exe()?, go.display().to_string());
    let engines = [
        Engine { name: "quick", profile: "plain_text", program: Path::new("/bin/echo"), words: &[] },
        Engine {
            name: "waits",
            profile: "codex_ndjson",
            program: &bench,
            words: &["write", "steady", "1", "1", &go_word],
        },
    ];
    let place = Place::new(program, "hold", &engines)?;
    let server = place.serve()?;
    sleep(CALM);
    idle("idle, empty data folder", server.memory()?, server.own_memory()?, table);
    for _ in 0..sizes.small_runs {
        succeeded(&server.run("quick", Some(60))?)?;
    }
    sleep(CALM);
    idle_later(&format!("idle, after {} small runs", sizes.small_runs), server.memory()?, server.own_memory()?, table);

    // A cache with a limit is full before the measurement: only what grows with every run counts.
    for _ in 0..sizes.cached_runs {
        succeeded(&server.run("quick", Some(60))?)?;
    }
    sleep(CALM);
    let before = server.own_memory()?;
    for _ in 0..sizes.ended_runs {
        succeeded(&server.run("quick", Some(60))?)?;
    }
    sleep(CALM);
    let more = server.own_memory()?.saturating_sub(before);
    let each = more / sizes.ended_runs.max(1) as u64;
    let done = sizes.small_runs + sizes.cached_runs;
    let name = format!("{} more runs that ended after {done}, memory above that", sizes.ended_runs);
    let target = format!("under {ENDED_TARGET} bytes each");
    table.measured(&name, &mb(more), "–", &format!("{each} bytes each"), &target);
    if each >= ENDED_TARGET {
        table.missed(format!("service: an ended run leaves {each} bytes of memory"));
    }

    let run = server.start("waits")?;
    let request = server.client.head("GET", &format!("/v1/runs/{run}/events"), &[]);
    let has_begun = |crowd: &Crowd| crowd.all(|member| member.is_open() && member.events > 0);
    // The first stream brings what all of them share.
    Crowd::join(server.client.address, &request, 1)?.read_until(SERVER_TIMEOUT, has_begun)?;
    sleep(CALM);
    let before = server.memory()?;
    let mut crowd = Crowd::join(server.client.address, &request, sizes.idle_streams)?;
    crowd.read_until(SERVER_TIMEOUT, has_begun)?;
    sleep(CALM);
    let more = server.memory()?.saturating_sub(before);
    let each = more / sizes.idle_streams.max(1) as u64 / 1024;
    let name = format!("{} silent streams of one run, memory above idle", sizes.idle_streams);
    table.measured(&name, &mb(more), "–", &format!("{each} KiB each"), &format!("under {STREAM_TARGET} KiB each"));
    if each >= STREAM_TARGET {
        table.missed(format!("service: silent streams hold {each} KiB each"));
    }
    fs::write(&go, "")?;
    crowd.read_until(SERVER_TIMEOUT, |crowd| crowd.all(super::crowd::Member::is_done))?;
    if !crowd.all(|member| member.jumps == 0 && !member.is_cut) {
        return Err(Problem("service: a silent stream lost an event".to_owned()));
    }
    drop(crowd);
    sleep(CALM);
    let after = server.memory()?.saturating_sub(before);
    table.measured("the same after they disconnected", &mb(after), "–", "–", "–");
    server.stop().map(drop)
}

fn idle(name: &str, memory: u64, own: u64, table: &mut Table) {
    table.measured(name, &mb(memory), "–", &format!("{} without pages of its file", mb(own)), "under 20 MB");
    if memory >= IDLE_TARGET {
        table.missed(format!("service: {name}: {}", mb(memory)));
    }
}

/// For information: pages of the program's file that were used once stay in memory as long as no other process needs
/// it.
fn idle_later(name: &str, memory: u64, own: u64, table: &mut Table) {
    table.measured(name, &mb(memory), "–", &format!("{} without pages of its file", mb(own)), "–");
}
