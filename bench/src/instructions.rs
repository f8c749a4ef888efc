//! Exact instruction counts for small inputs, by callgrind. Unlike times they are the same on a busy machine, so a
//! change of a few percent can be seen. They depend on compiler and processor; `bench --accept` rewrites them.
//!
//! The work of the parser and of the gate is counted in `skillrun normalize`; that of the Log in `bench log`, without
//! the cost of reading the same events. Only instructions of the process count, not those of the kernel: a sync costs
//! nothing here, and is measured as time elsewhere.
//!
//! `bench/accepted.txt` has a line `NAME COUNT` per input; lines that begin with `#` are for people.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use skillrun_model::word_enum;
use testkit::scratch::Recording;
use testkit::streams::shapes::write_repeated;
use testkit::streams::turns::write_turns;
use testkit::streams::{Profile, Shape};

use crate::args::Part;
use crate::problem::Problem;
use crate::program::{Output, Program, cost_of};
use crate::table::Table;

const ACCEPTED: &str = "bench/accepted.txt";
const HEAD: &str =
    "# Instructions that skillrun takes for small inputs; `bench --accept` writes them, `bench --check` compares.\n";
const SIZE: u64 = 1_000_000;
/// Tolerated growth.
const TOLERANCE: f64 = 0.05;

word_enum! {
    Input {
        Parse = "parse",
        Translate = "translate",
        Settle = "settle",
        Noise = "noise",
        Append = "append",
        Fold = "fold",
    }
}

impl Input {
    fn about(self) -> &'static str {
        match self {
            Self::Parse => "parse, 1 MB of ordinary work",
            Self::Translate => "translate, the same to files",
            Self::Settle => "settle, an answer of 1 MB",
            Self::Noise => "noise, 1 MB",
            Self::Append => "append, the events of 1 MB of ordinary work to a Log",
            Self::Fold => "fold, a Log of these events into its row of the catalog",
        }
    }
}

fn work() -> Result<Recording, Problem> {
    Ok(Recording::new(|out| write_turns(Profile::CodexNdjson, SIZE, out).map(drop))?)
}

/// A little of everything that the gate looks for, and the marker at the end.
fn answer() -> String {
    let part = SIZE / Shape::ALL.len() as u64;
    let mut answer: String = Shape::ALL.iter().map(|shape| shape.text(part)).collect();
    answer.push_str("\n\n{\"__SKILL_DONE__\": true, \"status\": \"ok\"}\n");
    answer
}

pub(crate) fn measure(program: &Program, table: &mut Table) -> Result<(), Problem> {
    let accepted = fs::read_to_string(ACCEPTED).unwrap_or_default();
    for &input in Input::ALL {
        let count = count(program, input)?;
        let known = accepted_of(&accepted, input);
        let shown = |count: u64| format!("{:.1}", millions(count));
        let change = known.map(|known| format!("{:+.1} %", (count as f64 / known as f64 - 1.0) * 100.0));
        table.row(
            Part::Instructions,
            vec![
                input.about().to_owned(),
                shown(count),
                known.map_or_else(|| "none".to_owned(), shown),
                change.unwrap_or_else(|| "–".to_owned()),
                "at most 5 % more".to_owned(),
            ],
        );
        if let Some(missed) = known.and_then(|known| grown(input, count, known)) {
            table.missed(missed);
        }
    }
    Ok(())
}

pub(crate) fn check(program: &Program) -> Result<(), Problem> {
    let accepted = fs::read_to_string(ACCEPTED).map_err(|error| Problem(format!("{ACCEPTED}: {error}")))?;
    let mut missed = Vec::new();
    for &input in Input::ALL {
        let known =
            accepted_of(&accepted, input).ok_or_else(|| Problem(format!("{ACCEPTED} has no {}", input.as_str())))?;
        missed.extend(grown(input, count(program, input)?, known));
    }
    if missed.is_empty() { Ok(()) } else { Err(Problem(missed.join("; "))) }
}

pub(crate) fn accept(program: &Program) -> Result<(), Problem> {
    let mut text = HEAD.to_owned();
    for &input in Input::ALL {
        text.push_str(&format!("{} {}\n", input.as_str(), count(program, input)?));
    }
    Ok(fs::write(Path::new(ACCEPTED), text)?)
}

fn accepted_of(accepted: &str, input: Input) -> Option<u64> {
    accepted.lines().find_map(|line| line.strip_prefix(input.as_str())?.strip_prefix(' ')?.trim().parse().ok())
}

fn grown(input: Input, count: u64, known: u64) -> Option<String> {
    let growth = count as f64 / known as f64 - 1.0;
    (growth > TOLERANCE).then(|| format!("instructions: {} grew by {:.1} %", input.as_str(), growth * 100.0))
}

fn millions(count: u64) -> f64 {
    count as f64 / 1e6
}

fn count(program: &Program, input: Input) -> Result<u64, Problem> {
    let normalized = |recording: &Recording, output: Output| {
        collected(&mut program.normalize_under(callgrind(), recording, Profile::CodexNdjson, output))
    };
    let count = match input {
        Input::Parse => normalized(&work()?, Output::Summary)?,
        Input::Translate => normalized(&work()?, Output::Files)?,
        Input::Settle => {
            let recording = Recording::of_bytes(Profile::CodexNdjson.message(&answer()).as_bytes())?;
            normalized(&recording, Output::Summary)?
        }
        Input::Noise => {
            let line = b"DEBUG fetch: connection 17 is kept alive\n";
            normalized(&Recording::new(|out| write_repeated(line, SIZE, out))?, Output::Summary)?
        }
        Input::Append => {
            let recording = events(program)?;
            let (events, runs) = (recording.path("out/events.jsonl"), recording.path("runs"));
            fs::create_dir(&runs)?;
            let read = logged(&["read".as_ref(), &events])?;
            logged(&["append".as_ref(), &events, &runs])?.saturating_sub(read)
        }
        Input::Fold => {
            let recording = events(program)?;
            let (events, runs) = (recording.path("out/events.jsonl"), recording.path("runs"));
            fs::create_dir(&runs)?;
            let empty = logged(&["fold".as_ref(), &runs, &recording.path("empty.sqlite")])?;
            crate::log_work::work(&["append".to_owned(), text(&events), text(&runs)])?;
            logged(&["fold".as_ref(), &runs, &recording.path("catalog.sqlite")])?.saturating_sub(empty)
        }
    };
    eprintln!("instructions: {} {:.1} million", input.as_str(), millions(count));
    Ok(count)
}

/// The events of ordinary work, in `out/events.jsonl`.
fn events(program: &Program) -> Result<Recording, Problem> {
    let recording = work()?;
    cost_of(&mut program.normalize(&recording, Profile::CodexNdjson, Output::Files), Stdio::null())?;
    Ok(recording)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn callgrind() -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command
}

/// Instructions of `bench log`.
fn logged(words: &[&Path]) -> Result<u64, Problem> {
    let mut command = callgrind();
    command.arg(std::env::current_exe()?).arg("log").args(words);
    collected(&mut command)
}

fn collected(command: &mut Command) -> Result<u64, Problem> {
    let told = command.stdin(Stdio::null()).stdout(Stdio::null()).output();
    let told =
        told.map_err(|error| Problem(format!("failed to start valgrind, which counts instructions: {error}")))?;
    let success = told.status.success();
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    let collected = told.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    collected.filter(|_| success).ok_or_else(|| Problem(format!("callgrind reported no count: {told}")))
}
