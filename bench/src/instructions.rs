//! Exact instruction counts for small inputs, by callgrind. Unlike times they are the same on a busy machine, so a change
//! of a few percent can be seen. They depend on compiler and processor; `bench --accept` writes them anew.
//!
//! `bench/accepted.txt` has a line `NAME COUNT` per input; lines that begin with `#` are for people.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::scratch::Recording;
use testkit::streams::shapes::write_repeated;
use testkit::streams::turns::write_turns;
use testkit::streams::{Profile, Shape};

use crate::problem::Problem;
use crate::program::{Output, Program};
use crate::table::Table;

const ACCEPTED: &str = "bench/accepted.txt";
const HEAD: &str =
    "# Instructions that skillrun takes for small inputs; `bench --accept` writes them, `bench --check` compares.\n";
const SIZE: u64 = 1_000_000;
/// Growth that is put up with.
const TOLERANCE: f64 = 0.05;

#[derive(Debug, Clone, Copy)]
enum Input {
    Parse,
    Translate,
    Settle,
    Noise,
}

impl Input {
    const ALL: [Self; 4] = [Self::Parse, Self::Translate, Self::Settle, Self::Noise];

    fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Translate => "translate",
            Self::Settle => "settle",
            Self::Noise => "noise",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Parse => "parse, 1 MB of ordinary work",
            Self::Translate => "translate, the same to files",
            Self::Settle => "settle, an answer of 1 MB",
            Self::Noise => "noise, 1 MB",
        }
    }

    fn output(self) -> Output {
        match self {
            Self::Translate => Output::Files,
            Self::Parse | Self::Settle | Self::Noise => Output::Summary,
        }
    }

    fn recording(self) -> Result<Recording, Problem> {
        Ok(match self {
            Self::Parse | Self::Translate => {
                Recording::new(|out| write_turns(Profile::CodexNdjson, SIZE, out).map(drop))?
            }
            Self::Settle => Recording::of_bytes(Profile::CodexNdjson.message(&answer()).as_bytes())?,
            Self::Noise => {
                Recording::new(|out| write_repeated(b"DEBUG fetch: connection 17 is kept alive\n", SIZE, out))?
            }
        })
    }
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
    for input in Input::ALL {
        let count = count(program, input)?;
        let known = accepted_of(&accepted, input);
        let target = known.map_or_else(|| "none accepted".to_owned(), |known| format!("{:.1} + 5 %", millions(known)));
        table.row(format!("instructions: {}, millions", input.about()), &target, |profile| {
            (profile == Profile::CodexNdjson).then(|| format!("{:.1}", millions(count)))
        });
        if let Some(missed) = known.and_then(|known| grown(input, count, known)) {
            table.missed(missed);
        }
    }
    Ok(())
}

pub(crate) fn check(program: &Program) -> Result<(), Problem> {
    let accepted = fs::read_to_string(ACCEPTED).map_err(|error| Problem(format!("{ACCEPTED}: {error}")))?;
    let mut missed = Vec::new();
    for input in Input::ALL {
        let known =
            accepted_of(&accepted, input).ok_or_else(|| Problem(format!("{ACCEPTED} has no {}", input.name())))?;
        missed.extend(grown(input, count(program, input)?, known));
    }
    if missed.is_empty() { Ok(()) } else { Err(Problem(missed.join("; "))) }
}

pub(crate) fn accept(program: &Program) -> Result<(), Problem> {
    let mut text = HEAD.to_owned();
    for input in Input::ALL {
        text.push_str(&format!("{} {}\n", input.name(), count(program, input)?));
    }
    Ok(fs::write(Path::new(ACCEPTED), text)?)
}

fn accepted_of(accepted: &str, input: Input) -> Option<u64> {
    accepted.lines().find_map(|line| line.strip_prefix(input.name())?.strip_prefix(' ')?.trim().parse().ok())
}

fn grown(input: Input, count: u64, known: u64) -> Option<String> {
    let growth = count as f64 / known as f64 - 1.0;
    (growth > TOLERANCE).then(|| format!("instructions: {} grew by {:.1} %", input.name(), growth * 100.0))
}

fn millions(count: u64) -> f64 {
    count as f64 / 1e6
}

fn count(program: &Program, input: Input) -> Result<u64, Problem> {
    let recording = input.recording()?;
    let mut outer = Command::new("valgrind");
    outer.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let mut command = program.normalize_under(outer, &recording, Profile::CodexNdjson, input.output());
    let told = command.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    let collected = told.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    let count = collected.ok_or_else(|| Problem(format!("callgrind told no count: {told}")))?;
    eprintln!("instructions: {} {:.1} million", input.name(), millions(count));
    Ok(count)
}
