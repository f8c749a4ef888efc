//! The rate of lines at which one machine stops keeping up, found by stepping up: a rate is kept when the last lines of a
//! window come to the reader as soon as the first ones did. Through one run, and through ten; beside it a bare relay.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::{self, sleep};
use std::time::Duration;

use super::at_once::all_alive;
use super::gate::Gate;
use super::sizes::Sizes;
use super::usage::{Look, Shares};
use crate::problem::Problem;
use crate::program::Program;
use crate::service::crowd::{Crowd, Member};
use crate::service::place::{Engine, Place, SERVER_TIMEOUT, succeeded};
use crate::service::spread::{Spread, ms};
use crate::table::Table;

/// No machine of today does that; it is here so that there is an end.
const MOST: u64 = 4_000_000;

/// What was not kept up with is through by then.
const LONG: Duration = Duration::from_secs(120);

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let relayed = edge(sizes, |rate| relayed(rate, sizes.window))?;
    for runs in [1, 10] {
        let found = edge(sizes, |rate| served(program, rate, runs, sizes.window))?;
        report(runs, &found, &relayed, table);
    }
    Ok(())
}

fn report(runs: u64, found: &Edge, relayed: &Edge, table: &mut Table) {
    let through = if runs == 1 { "one run".to_owned() } else { format!("{runs} runs together") };
    let rate = |step: &Option<Step>| step.as_ref().map_or_else(|| "–".to_owned(), |step| format!("{}/s", step.rate));
    let compared = match (&found.kept, &relayed.kept) {
        (Some(kept), Some(floor)) => format!("{:.2} of the relay", kept.rate as f64 / floor.rate as f64),
        (Some(_) | None, _) => "–".to_owned(),
    };
    let name = format!("lines per second through {through}: highest sustained rate; floor: a bare relay of one run");
    table.measured(&name, &rate(&found.kept), &rate(&relayed.kept), &compared, "–");
    if let Some(step) = &found.kept {
        let name = format!("lines per second through {through}: delay at that rate, first and last third");
        table.measured(&name, &format!("{}, {}", ms(step.lag.first), ms(step.lag.last)), "–", "–", "–");
    }
    let name = format!("lines per second through {through}: first rate not sustained; delay, first and last third");
    let measured = found.lost.as_ref().map_or_else(
        || "–".to_owned(),
        |step| format!("{}/s; {}, {}", step.rate, ms(step.lag.first), ms(step.lag.last)),
    );
    table.measured(&name, &measured, &rate(&relayed.lost), "–", "–");
    if let Some(shares) = found.lost.as_ref().and_then(|step| step.shares) {
        let name = format!("lines per second through {through}: limiting factor; shares of one processor at that rate");
        table.measured(&name, shares.limit().words(), "–", &shares.words(), "–");
    }
}

#[derive(Debug, Clone)]
struct Step {
    rate: u64,
    lag: Lag,
    shares: Option<Shares>,
}

#[derive(Debug, Default)]
struct Edge {
    kept: Option<Step>,
    lost: Option<Step>,
}

/// Doubles the rate until it is not kept, then halves the way between.
fn edge(sizes: Sizes, at: impl Fn(u64) -> Result<Step, Problem>) -> Result<Edge, Problem> {
    let mut edge = Edge::default();
    let mut rate = sizes.first_rate;
    while edge.lost.is_none() && rate <= MOST {
        edge.add(at(rate)?, sizes.window);
        rate *= 2;
    }
    for _ in 0..sizes.halvings {
        let (Some(kept), Some(lost)) = (&edge.kept, &edge.lost) else { break };
        edge.add(at(u64::midpoint(kept.rate, lost.rate))?, sizes.window);
    }
    Ok(edge)
}

impl Edge {
    fn add(&mut self, step: Step, window: Duration) {
        let is_kept = step.lag.is_flat(window);
        let word = if is_kept { "kept" } else { "not kept" };
        eprintln!("load: {} lines/s {word}, delay {} then {}", step.rate, ms(step.lag.first), ms(step.lag.last));
        *(if is_kept { &mut self.kept } else { &mut self.lost }) = Some(step);
    }
}

/// Delay at the reader: medians of the first and of the last third of all lines, as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lag {
    first: Duration,
    last: Duration,
}

impl Lag {
    fn of(ages: &[Duration]) -> Self {
        let third = ages.len() / 3;
        let median = |part: &[Duration]| Spread::new(part.to_vec()).p50();
        Self { first: median(&ages[..third]), last: median(&ages[ages.len() - third..]) }
    }

    /// A reader that is a tenth too slow falls behind by a fifteenth of the window between these two.
    fn is_flat(&self, window: Duration) -> bool {
        self.last.saturating_sub(self.first) < window / 20
    }
}

fn lines_in(rate: u64, window: Duration) -> u64 {
    u64::try_from(u128::from(rate) * window.as_millis() / 1000).unwrap_or(u64::MAX)
}

fn served(program: &Program, rate: u64, runs: u64, window: Duration) -> Result<Step, Problem> {
    let gate_path = Place::root("ramp").join("gate");
    let (bench, gate_word) = (std::env::current_exe()?, gate_path.display().to_string());
    let (each, lines) = ((rate / runs).to_string(), lines_in(rate / runs, window));
    let lines_word = lines.to_string();
    let words = ["write", "paced", &gate_word, &each, &lines_word];
    let engine = Engine { name: "paced", profile: "codex_ndjson", program: &bench, words: &words };
    let place = Place::new(program, "ramp", &[engine])?;
    place.allow(usize::try_from(runs).unwrap_or(usize::MAX))?;
    let gate = Gate::closed(&gate_path)?;
    let server = place.serve()?;
    let started = (0..runs).map(|_| server.start("paced")).collect::<Result<Vec<_>, _>>()?;
    all_alive(&place, &started)?;
    let head = |run: &String| server.client.head("GET", &format!("/v1/runs/{run}/events"), &[]);
    let requests: Vec<_> = started.iter().map(head).collect();
    let mut crowd = Crowd::join_each(server.client.address, requests.iter().map(String::as_str))?;
    crowd.read_until(SERVER_TIMEOUT, |crowd| crowd.all(|member| member.is_open() && member.events > 0))?;
    gate.open();
    let shares = thread::scope(|scope| {
        let looking = scope.spawn(|| looked(&place, &server, window));
        crowd.read_until(window + LONG, |crowd| crowd.all(Member::is_done))?;
        looking.join().unwrap_or_else(|_| Err(Problem("load: the observer thread panicked".to_owned())))
    })?;
    for run in &started {
        succeeded(&server.wait(run)?)?;
    }
    server.stop()?;
    Ok(Step { rate, lag: whole(&crowd, lines * runs)?, shares: Some(shares) })
}

/// Not at the edges of the window: what begins and what ends costs too.
fn looked(place: &Place, server: &crate::service::place::Server, window: Duration) -> Result<Shares, Problem> {
    sleep(window / 6);
    let from = Look::now(place, server)?;
    sleep(window * 4 / 6);
    Ok(Shares::between(&from, &Look::now(place, server)?))
}

fn relayed(rate: u64, window: Duration) -> Result<Step, Problem> {
    let folder = std::env::temp_dir().join(format!("skillrun-bench-{}-ramp-relay", std::process::id()));
    let step = relayed_in(&folder, rate, window);
    fs::remove_dir_all(&folder)?;
    step
}

fn relayed_in(folder: &Path, rate: u64, window: Duration) -> Result<Step, Problem> {
    let gate_path = folder.join("gate");
    let gate = Gate::closed(&gate_path)?;
    let lines = lines_in(rate, window);
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["relay", "1", "paced"]).arg(&gate_path).arg(rate.to_string()).arg(lines.to_string());
    let (_relay, mut crowd) = Crowd::at_relay(&mut command, 1)?;
    gate.open();
    crowd.read_until(window + LONG, |crowd| crowd.all(Member::is_done))?;
    Ok(Step { rate, lag: whole(&crowd, lines)?, shares: None })
}

/// Losing lines must not count as speed.
fn whole(crowd: &Crowd, lines: u64) -> Result<Lag, Problem> {
    let count = crowd.ages.len() as u64;
    if count == lines && crowd.all(|member| member.jumps == 0 && !member.is_cut) {
        return Ok(Lag::of(&crowd.ages));
    }
    Err(Problem(format!("load: the readers received {count} of {lines} lines, or not in order")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(3);

    /// Lines that are due at a rate, read by a reader that is this many percent faster than that.
    fn lag(percent_faster: i64) -> Lag {
        let ages = (0..3_000_u64).map(|number| {
            let due = number * 1_000;
            let read = u64::try_from(i64::try_from(number).unwrap() * 100_000 / (100 + percent_faster)).unwrap();
            Duration::from_micros(read.saturating_sub(due) + 700)
        });
        Lag::of(&ages.collect::<Vec<_>>())
    }

    #[test]
    fn a_delay_that_grows_is_not_kept() {
        assert!(lag(20).is_flat(WINDOW) && lag(0).is_flat(WINDOW));
        assert!(!lag(-10).is_flat(WINDOW), "{:?}", lag(-10));
        assert!(!lag(-50).is_flat(WINDOW));
        let late_but_flat = Lag { first: Duration::from_secs(1), last: Duration::from_secs(1) };
        assert!(late_but_flat.is_flat(WINDOW));
    }

    #[test]
    fn the_edge_is_between_what_was_kept_and_what_was_not() {
        let sizes = Sizes { first_rate: 1_000, halvings: 4, window: WINDOW, ..Sizes::of(crate::args::Scale::Quick) };
        let at = |rate: u64| {
            let last = if rate > 5_300 { WINDOW } else { Duration::ZERO };
            Ok(Step { rate, lag: Lag { first: Duration::ZERO, last }, shares: None })
        };
        let edge = edge(sizes, at).unwrap();
        assert_eq!((edge.kept.unwrap().rate, edge.lost.unwrap().rate), (5_250, 5_500));
    }
}
