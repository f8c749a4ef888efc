//! From an interrupt to the end of the turn, with an engine that obeys: beside the bare engine, which receives the signal
//! and exits.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::problem::Problem;
use crate::program::Program;
use crate::runs::ms;
use crate::service::children::Kept;
use crate::service::place::{Place, SERVER_TIMEOUT, Server};
use crate::service::spread::Spread;
use crate::table::Table;

const TURNS: u32 = 21;
const TARGET: Duration = Duration::from_millis(300);
/// What a turn says before it is interrupted.
const SAYS: &str = "I begin.";
const POLL_INTERVAL: Duration = Duration::from_millis(2);

pub(crate) fn measure(program: &Program, table: &mut Table) -> Result<(), Problem> {
    for continuation in ["resumable", "sticky"] {
        let place = Place::new(program, &format!("interrupt-{continuation}"), &[])?;
        let script = place.path("data/skills/skill/assets/scripted.yaml");
        fs::create_dir_all(place.path("data/skills/skill/assets"))?;
        let turn = format!("- - say: {SAYS}\n  - sleep_ms: 600000\n");
        fs::write(&script, turn.repeat(TURNS as usize))?;
        let bare = (0..TURNS).map(|_| bare(program, &script, &place.path("state"))).collect::<Result<_, _>>()?;
        let bare = Spread::new(bare);
        let server = place.serve()?;
        let all = interrupted(&server, &place, continuation)?;
        let name = format!("interrupt to `waiting_user`, {continuation}, median and longest of {TURNS}");
        let two = |times: &Spread| format!("{}, {}", ms(times.p50()), ms(times.max()));
        let more = format!("{} more", ms(all.p50().saturating_sub(bare.p50())));
        table.measured(&name, &two(&all), &two(&bare), &more, &format!("under {}", ms(TARGET)));
        if all.p50() >= TARGET {
            table.missed(format!("runs: {name}: {}", two(&all)));
        }
        server.stop()?;
    }
    Ok(())
}

/// A conversation each turn of which is interrupted while the engine sleeps.
fn interrupted(server: &Server, place: &Place, continuation: &str) -> Result<Spread, Problem> {
    let body = json!({
        "skill": "skill", "engine": "scripted", "mode": "conversation", "options": {"continuation": continuation},
    });
    let view = posted(server, "/v1/runs", &body)?;
    let run = view["run_id"].as_str().unwrap_or_default().to_owned();
    let mut times = Vec::new();
    for turn in 1..=TURNS {
        let output = place.data().join(format!("runs/{run}/.audit/stdout.{turn}.log"));
        until(|| fs::read_to_string(&output).is_ok_and(|text| text.contains(SAYS)), "a turn does not begin")?;
        let begin = Instant::now();
        let view = posted(server, &format!("/v1/runs/{run}/interrupt?wait=20"), &json!({}))?;
        times.push(begin.elapsed());
        if view["status"] != "waiting_user" {
            return Err(Problem(format!("runs: after an interrupt the run is {}", view["status"])));
        }
        if turn < TURNS {
            let reply = json!({"interaction_id": turn, "text": "Again."});
            posted(server, &format!("/v1/runs/{run}/interaction/reply"), &reply)?;
        }
    }
    posted(server, &format!("/v1/runs/{run}/close"), &json!({}))?;
    Ok(Spread::new(times))
}

/// The engine alone, from the signal to its exit.
fn bare(program: &Program, script: &Path, state: &Path) -> Result<Duration, Problem> {
    let mut command = Command::new(program.path());
    command.arg("simulate-scripted").arg("--script").arg(script).args(["--profile", "codex_ndjson", "--prompt=Begin."]);
    command.arg("--state").arg(state).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut engine = Kept::spawn(&mut command)?;
    let mut lines = engine.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
    if !lines.any(|line| line.is_ok_and(|line| line.contains(SAYS))) {
        return Err(Problem("runs: the bare engine does not begin".to_owned()));
    }
    let begin = Instant::now();
    let pid = i32::try_from(engine.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| Problem("runs: the bare engine has no process id".to_owned()))?;
    kill_process(pid, Signal::INT).map_err(std::io::Error::from)?;
    engine.wait()?;
    Ok(begin.elapsed())
}

fn posted(server: &Server, path: &str, body: &serde_json::Value) -> Result<serde_json::Value, Problem> {
    let answer = server.client.post(path, body)?;
    if matches!(answer.status, 200 | 202) {
        Ok(answer.json())
    } else {
        Err(Problem(format!("runs: POST {path} was answered with {} {}", answer.status, answer.text())))
    }
}

fn until(mut is_so: impl FnMut() -> bool, problem: &str) -> Result<(), Problem> {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > SERVER_TIMEOUT {
            return Err(Problem(format!("runs: {problem}")));
        }
        sleep(POLL_INTERVAL);
    }
    Ok(())
}
