//! The most memory held for inputs of any size.

use std::io::{self, Write};

use testkit::measure::Cost;
use testkit::parallel;
use testkit::scratch::Recording;
use testkit::streams::shapes::write_repeated;
use testkit::streams::turns::write_turns;
use testkit::streams::{Profile, Shape};

use crate::args::Part;
use crate::problem::Problem;
use crate::program::{Output, Program, cost_with_coverage};
use crate::table::Table;

const TARGET: u64 = 64_000_000;
/// Written as JSON it just fits into a line that is read.
const MESSAGE: usize = 4_100_000;
/// The longest line that is read.
const LINE: usize = 8 << 20;
const GIB: f64 = (1024 * 1024 * 1024) as f64;

/// An input that is the same for all profiles.
#[derive(Debug, Clone, Copy)]
enum Input {
    Line(Shape),
    /// One JSON object, all of it one string.
    LongString,
    Lines(Shape),
    Noise,
    Blank,
    /// Each byte of a message takes two when it is written.
    Quotes,
    /// A fence that is opened and never closed, with text in it.
    OpenFence,
}

impl Input {
    const ALL: [Self; 10] = [
        Self::Line(Shape::Letters),
        Self::LongString,
        Self::Line(Shape::OpenBraces),
        Self::Line(Shape::OpenBrackets),
        Self::Line(Shape::NestedObjects),
        Self::Noise,
        Self::Blank,
        Self::Quotes,
        Self::Lines(Shape::CutEvents),
        Self::OpenFence,
    ];

    fn name(self) -> String {
        match self {
            Self::Line(shape) => format!("one line, {}", shape.name()),
            Self::LongString => "one line, an object with one string".to_owned(),
            Self::Lines(shape) => format!("short lines, {}", shape.name()),
            Self::Noise => "short lines, noise".to_owned(),
            Self::Blank => "blank lines".to_owned(),
            Self::Quotes => "short lines, quotes".to_owned(),
            Self::OpenFence => "short lines in a fence that never closes".to_owned(),
        }
    }

    /// Input of this size or of a part of it: short lines take a hundred times the processor time of one long line, and
    /// a quarter of the size would show growth as well.
    fn size(self, largest: u64) -> u64 {
        match self {
            Self::Line(_) | Self::LongString | Self::Noise => largest,
            Self::Lines(_) | Self::Blank | Self::Quotes | Self::OpenFence => largest / 4,
        }
    }

    fn write(self, bytes: u64, out: &mut dyn Write) -> io::Result<()> {
        const NOISE: &[u8] = b"2026-11-15T00:59:08Z DEBUG fetch: connection 17 is kept alive for 30 s\nok\n\n";
        let framed = |head: &[u8], unit: &[u8], tail: &[u8], out: &mut dyn Write| {
            out.write_all(head)?;
            write_repeated(unit, bytes.saturating_sub((head.len() + tail.len()) as u64), out)?;
            out.write_all(tail)
        };
        match self {
            Self::Line(shape) => shape.write_line(bytes, out),
            Self::LongString => framed(br#"{"type":"message","text":""#, b"abcdefgh", b"\"}\n", out),
            Self::Lines(shape) => shape.write_lines(bytes, out),
            Self::Noise => write_repeated(NOISE, bytes, out),
            Self::Blank => write_repeated(b"\n", bytes, out),
            Self::Quotes => write_repeated([[b'"'; 79].as_slice(), b"\n"].concat().as_slice(), bytes, out),
            Self::OpenFence => framed(b"```json\n", b"{\"key\": \"value\", \"text\": \"some words\"},\n", b"", out),
        }
    }
}

pub(crate) fn measure(program: &Program, size: u64, table: &mut Table) -> Result<(), Problem> {
    for input in Input::ALL {
        let size = input.size(size);
        let recording = Recording::new(|out| input.write(size, out))?;
        let run = |profile: Profile| one(program, &recording, profile, Output::Summary);
        let costs = in_parallel(run)?;
        report(&input.name(), &costs, size, table);
    }
    let run = |profile: Profile| {
        let recording = Recording::new(|out| write_turns(profile, size, out).map(drop))?;
        one(program, &recording, profile, Output::Summary)
    };
    report("short lines, ordinary work", &in_parallel(run)?, size, table);
    // What is written is several times as much as what is read.
    let part = size / 4;
    let run = |profile: Profile| {
        let recording = Recording::new(|out| write_turns(profile, part, out).map(drop))?;
        one(program, &recording, profile, Output::Files)
    };
    let costs = Profile::ALL.into_iter().map(run).collect::<Result<Vec<_>, _>>()?;
    report("ordinary work, to files", &costs, part, table);
    let run = |profile: Profile| {
        let recording = Recording::of_bytes(profile.message(&"\"".repeat(MESSAGE)).as_bytes())?;
        one(program, &recording, profile, Output::Files)
    };
    report("one message of 4 MB of quotes, to files", &in_parallel(run)?, 2 * MESSAGE as u64, table);
    let line = tiny_blocks();
    let recording = Recording::of_bytes(line.as_bytes())?;
    let run = |profile: Profile| one(program, &recording, profile, Output::Summary);
    report("one line of 8 MiB, tiny content blocks", &in_parallel(run)?, line.len() as u64, table);
    Ok(())
}

/// A message of the assistant that just fits into a line that is read, and gives 300,000 records.
fn tiny_blocks() -> String {
    const BLOCK: &str = r#"{"type":"text","text":"a"}"#;
    let blocks = vec![BLOCK; (LINE - 200) / (BLOCK.len() + 1)].join(",");
    format!("{{\"type\":\"assistant\",\"message\":{{\"id\":\"m\",\"content\":[{blocks}]}},\"session_id\":\"s\"}}\n")
}

fn one(program: &Program, recording: &Recording, profile: Profile, output: Output) -> Result<Cost, Problem> {
    cost_with_coverage(&mut program.normalize(recording, profile, output), recording, profile.name())
}

/// Several at a time: memory does not care, and it takes less long.
fn in_parallel(run: impl Fn(Profile) -> Result<Cost, Problem> + Sync) -> Result<Vec<Cost>, Problem> {
    parallel::each(&Profile::ALL, |profile| run(*profile)).into_iter().collect()
}

fn report(name: &str, costs: &[Cost], size: u64, table: &mut Table) {
    let of = |profile: Profile| Profile::ALL.into_iter().position(|p| p == profile).and_then(|at| costs.get(at));
    let mb = |cost: &Cost| cost.peak as f64 / 1e6;
    let worst = costs.iter().map(mb).fold(0.0, f64::max);
    let slowest = costs.iter().map(|cost| cost.cpu.as_secs_f64()).fold(0.0, f64::max);
    eprintln!("memory: {name}: at most {worst:.0} MB, {slowest:.1} s");
    table.profiles(Part::Memory, name, "< 64 MB", |profile| {
        let cost = of(profile)?;
        Some(format!("{:.0} ({:.1})", mb(cost), cost.cpu.as_secs_f64() * GIB / size as f64))
    });
    for profile in Profile::ALL {
        if let Some(cost) = of(profile).filter(|cost| cost.peak >= TARGET) {
            table.missed(format!("memory: {name}: {} held {:.0} MB", profile.name(), mb(cost)));
        }
    }
}
