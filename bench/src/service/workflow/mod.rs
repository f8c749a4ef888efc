//! What workflows cost: their steps are runs, so most figures are compared with plain runs of the same server.
//!
//! - [`steps`]: many steps, one after the other.
//! - [`hold`]: memory of a workflow whose steps are open, and of one that repeats a step over large values.
//! - [`rest`]: starts over workflows that wait for the user.
//! - [`validate`]: the check of a file with as many steps as are allowed.

pub(super) mod hold;
pub(super) mod rest;
pub(super) mod steps;
pub(super) mod validate;

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::place::{Place, SERVER_TIMEOUT, Server, is_over, succeeded};
use crate::problem::Problem;

/// A workflow has as many runs as it has steps.
const WORKFLOW_TIMEOUT: Duration = Duration::from_secs(20 * SERVER_TIMEOUT.as_secs());
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A server that uses less of a processor than this in a second has nothing to do.
const IDLE: Duration = Duration::from_millis(20);
/// How long a server may take to come to rest. One that never does is measured all the same.
const CALM_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts a workflow and returns its id.
fn begin(server: &Server, body: &Value) -> Result<String, Problem> {
    let answer = server.client.post("/v1/workflows", body)?;
    let run = answer.json()["run_id"].as_str().map(str::to_owned);
    run.ok_or_else(|| Problem(format!("service: a workflow was answered with {} {}", answer.status, answer.text())))
}

/// Waits for the good end of a workflow.
fn completed(server: &Server, run: &str) -> Result<(), Problem> {
    let view = until(&format!("the workflow {run} does not end"), || {
        let view = server.get(&format!("/v1/runs/{run}?wait=20"))?;
        Ok(is_over(&view).then_some(view))
    })?;
    succeeded(&view)
}

/// Waits until a run asks the user.
fn asks(server: &Server) -> Result<(), Problem> {
    until("no run asks the user", || {
        let open = server.get("/v1/interactions")?;
        Ok(open["interactions"].as_array().is_some_and(|open| !open.is_empty()).then_some(()))
    })
}

fn until<T>(problem: &str, mut found: impl FnMut() -> Result<Option<T>, Problem>) -> Result<T, Problem> {
    let begin = Instant::now();
    loop {
        if let Some(found) = found()? {
            return Ok(found);
        }
        if begin.elapsed() > WORKFLOW_TIMEOUT {
            return Err(Problem(format!("service: {problem}")));
        }
        sleep(POLL_INTERVAL);
    }
}

/// Waits until this number of runs exists.
fn has_runs(place: &Place, runs: usize) -> Result<(), Problem> {
    until(&format!("there are not {runs} runs"), || {
        let folders = fs::read_dir(place.data().join("runs"))?.flatten();
        let made = folders.filter(|run| run.path().join("events.jsonl").exists()).count();
        Ok((made >= runs).then_some(()))
    })
}

/// Waits until the server has nothing to do.
fn calm(server: &Server) -> Result<(), Problem> {
    let begin = Instant::now();
    while begin.elapsed() < CALM_TIMEOUT {
        let before = server.cpu()?;
        sleep(Duration::from_secs(1));
        if server.cpu()?.saturating_sub(before) < IDLE {
            return Ok(());
        }
    }
    eprintln!("service: the server did not come to rest in {} s", CALM_TIMEOUT.as_secs());
    Ok(())
}
