//! Processor time for ordinary streams, beside `jq` and a plain copy of what was written.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::scratch::Recording;
use testkit::streams::Profile;
use testkit::streams::turns::{Written, write_turns};

use crate::args::Part;
use crate::problem::Problem;
use crate::program::{Output, Program, cost_of};
use crate::table::Table;

const INPUT: u64 = 34_000_000;
const ROUNDS: usize = 5;
/// For codex, where it is a promise.
const TARGET: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy)]
struct Times {
    best: Duration,
    median: Duration,
}

#[derive(Debug)]
struct Measured {
    profile: Profile,
    input: Written,
    output_bytes: u64,
    normalize: Times,
    jq: Option<Times>,
    copy: Times,
}

pub(crate) fn measure(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let mut all = Vec::new();
    for profile in Profile::ALL {
        let measured = one(program, profile)?;
        eprintln!("speed: {} {:.3} s", profile.name(), measured.normalize.best.as_secs_f64());
        all.push(measured);
    }
    let of = |profile: Profile| all.iter().find(|measured| measured.profile == profile);
    let row = |table: &mut Table, name: &str, target: &str, cell: &dyn Fn(&Measured) -> Option<String>| {
        table.profiles(Part::Speed, name, target, |profile| of(profile).and_then(cell));
    };
    let seconds = |time: Duration| Some(format!("{:.3}", time.as_secs_f64()));
    let ratio = |time: Duration, to: Duration| Some(format!("{:.1}", time.as_secs_f64() / to.as_secs_f64()));
    let mb = |bytes: u64| Some(format!("{:.1}", bytes as f64 / 1e6));
    row(table, "input, lines", "", &|m| Some(m.input.lines.to_string()));
    row(table, "input, MB", "", &|m| mb(m.input.bytes));
    row(table, "events.jsonl and fcmp.jsonl, MB", "", &|m| mb(m.output_bytes));
    row(table, "best of 5, s", "codex < 0.5", &|m| seconds(m.normalize.best));
    row(table, "median of 5, s", "", &|m| seconds(m.normalize.median));
    row(table, "`jq -c .` on the input, best, s", "", &|m| seconds(m.jq?.best));
    row(table, "copy of the output, best, s", "", &|m| seconds(m.copy.best));
    row(table, "times jq", "", &|m| ratio(m.normalize.best, m.jq?.best));
    row(table, "times copy", "", &|m| ratio(m.normalize.best, m.copy.best));
    if let Some(codex) = of(Profile::CodexNdjson)
        && codex.normalize.best >= TARGET
    {
        table.missed(format!("speed: codex took {:.3} s", codex.normalize.best.as_secs_f64()));
    }
    Ok(())
}

fn one(program: &Program, profile: Profile) -> Result<Measured, Problem> {
    let mut input = Written::default();
    let recording = Recording::new(|out| {
        input = write_turns(profile, INPUT, out)?;
        Ok(())
    })?;
    let normalize = times(|| {
        let cost = cost_of(&mut program.normalize(&recording, profile, Output::Files), Stdio::null())?;
        Ok(cost.cpu)
    })?;
    let jq = if profile.is_json() { jq(&recording)? } else { None };
    let written: Vec<PathBuf> =
        ["out/events.jsonl", "out/fcmp.jsonl"].iter().map(|name| recording.path(name)).collect();
    let copy = times(|| {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("copy").args(&written).arg(recording.path("copy"));
        Ok(cost_of(&mut command, Stdio::null())?.cpu)
    })?;
    let sizes = written.iter().map(|path| Ok(fs::metadata(path)?.len())).collect::<Result<Vec<_>, Problem>>()?;
    Ok(Measured { profile, input, output_bytes: sizes.iter().sum(), normalize, jq, copy })
}

/// None where jq is not installed.
fn jq(recording: &Recording) -> Result<Option<Times>, Problem> {
    if Command::new("jq").arg("--version").output().is_err() {
        return Ok(None);
    }
    let measured = times(|| {
        let mut command = Command::new("jq");
        command.args(["-c", "."]).arg(recording.stdout());
        Ok(cost_of(&mut command, Stdio::from(File::create(recording.path("jq"))?))?.cpu)
    })?;
    Ok(Some(measured))
}

fn times(mut run: impl FnMut() -> Result<Duration, Problem>) -> Result<Times, Problem> {
    let mut times = (0..ROUNDS).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    times.sort_unstable();
    Ok(Times { best: times[0], median: times[ROUNDS / 2] })
}
