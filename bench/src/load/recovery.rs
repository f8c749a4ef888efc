//! A server that was killed while many hosts were alive: how long the next one takes until it is ready, until it follows
//! all runs again, and whether all of them end rightly. A run is followed when its Log has a line that its engine wrote
//! after the start of the new server.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::at_once::{all_alive, ended_rightly};
use super::gate::Gate;
use super::sizes::Sizes;
use crate::problem::Problem;
use crate::program::Program;
use crate::service::clock;
use crate::service::place::{Engine, Place, SERVER_TIMEOUT};
use crate::service::spread::ms;
use crate::table::Table;

const READY_TARGET: Duration = Duration::from_secs(1);
const FOLLOWED_TARGET: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Long enough for a few lines of each engine.
const ALIVE: Duration = Duration::from_secs(1);

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let count = sizes.living_hosts;
    let floor = without_hosts(program)?;
    let gate_path = Place::root("recovery").join("gate");
    let (bench, gate_word) = (std::env::current_exe()?, gate_path.display().to_string());
    let engine =
        Engine { name: "beat", profile: "codex_ndjson", program: &bench, words: &["write", "beat", &gate_word] };
    let place = Place::new(program, "recovery", &[engine])?;
    place.allow(count)?;
    let gate = Gate::closed(&gate_path)?;
    let server = place.serve()?;
    let runs = (0..count).map(|_| server.start("beat")).collect::<Result<Vec<_>, _>>()?;
    all_alive(&place, &runs)?;
    sleep(ALIVE);
    // Killed with SIGKILL, and waited for.
    drop(server);

    let (begin, moment) = (Instant::now(), clock::now());
    let server = place.serve()?;
    while server.client.get("/readyz")?.status != 200 {
        if begin.elapsed() > SERVER_TIMEOUT {
            return Err(Problem("load: the server is not ready after it was killed".to_owned()));
        }
        sleep(POLL_INTERVAL);
    }
    let ready = begin.elapsed();
    let mut waiting: Vec<PathBuf> =
        runs.iter().map(|run| place.data().join("runs").join(run).join("events.jsonl")).collect();
    loop {
        waiting.retain(|log| !has_line_after(log, moment));
        if waiting.is_empty() || begin.elapsed() > SERVER_TIMEOUT {
            break;
        }
        sleep(POLL_INTERVAL);
    }
    let followed = begin.elapsed();
    let alive = place.hosts().len();
    let begin = Instant::now();
    gate.open();
    let right = ended_rightly(&server, &runs)?;
    let ended = begin.elapsed();

    let name = format!("server killed with {count} living hosts: from its start to `/readyz`; floor: no runs");
    table.measured(&name, &ms(ready), &ms(floor), &format!("{} more", ms(ready.saturating_sub(floor))), "under 1 s");
    if ready >= READY_TARGET {
        table.missed(format!("load: with {count} living hosts a server takes {} to become ready", ms(ready)));
    }
    let name = format!("server killed with {count} living hosts: from its start until all are followed again");
    let again = count - waiting.len();
    table.measured(&name, &ms(followed), "250 ms between two lines", &format!("{again} of {count}"), "all, under 10 s");
    if followed >= FOLLOWED_TARGET || again != count {
        table.missed(format!("load: of {count} living hosts {again} are followed again after {}", ms(followed)));
    }
    let name = format!("server killed with {count} living hosts: ended correctly");
    let compared = format!("{alive} alive before, {} to the last end", ms(ended));
    table.measured(&name, &format!("{right} of {count}"), "–", &compared, &format!("all {count}"));
    if right != count {
        table.missed(format!("load: only {right} of {count} runs end correctly after their server was killed"));
    }
    server.stop().map(drop)
}

/// The same start with an empty folder.
fn without_hosts(program: &Program) -> Result<Duration, Problem> {
    let place = Place::new(program, "recovery-floor", &[])?;
    let begin = Instant::now();
    let server = place.serve()?;
    while server.client.get("/readyz")?.status != 200 && begin.elapsed() < SERVER_TIMEOUT {
        sleep(POLL_INTERVAL);
    }
    let ready = begin.elapsed();
    server.stop()?;
    Ok(ready)
}

/// The end of the Log has a line that was written after this moment.
fn has_line_after(log: &Path, moment: u64) -> bool {
    let end = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(4096)))?;
        let mut end = Vec::new();
        file.take(64 * 1024).read_to_end(&mut end)?;
        Ok(end)
    };
    let now = clock::now();
    let since = Duration::from_nanos(now.saturating_sub(moment));
    end().is_ok_and(|end| {
        end.split(|byte| *byte == b'\n').any(|line| clock::age(line, now).is_some_and(|age| age < since))
    })
}
