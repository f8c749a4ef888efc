//! The command line as plain data.

use std::path::PathBuf;

use crate::problem::{Problem, today};

pub(crate) const HELP: &str = "\
Measures skillrun and writes docs/numbers.md.

  --only PART      speed, memory, linearity, instructions, capture, runs, service, load, page or
                   soak; may be repeated; the file is not written then
  --figure WORD    of runs, service and load, only figures whose name contains the word: one run, box,
                   together, waiting, interrupt, files, replay, continue; start, questions,
                   memory, follow, history, flood, through, children, workflow; cost, lone event,
                   runs at once, flood, rate, ordinary user, recovery, disk; may be repeated; the file is
                   not written then
  --update         write the file nevertheless: update the measured parts, keep the others
  --soak FILE      include a table written by `make soak`
  --size BYTES     size of the largest inputs of `memory` [1073741824]
  --quick          smaller sizes in `service` and `load`, to check that they work; the file is not
                   written then
  --date DATE      date on the page [today]
  --page FILE      path of the page [docs/numbers.md]
  --skillrun FILE  the program to measure [target/dist/skillrun, built first]
  --check          only compare instruction counts with bench/accepted.txt
  --accept         only write instruction counts to bench/accepted.txt
";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Speed,
    Memory,
    Linearity,
    Instructions,
    Capture,
    Runs,
    Service,
    Load,
    Page,
    /// Measured by another program and included.
    Soak,
}

impl Part {
    /// Parts that create many small files come first: removing files slows down creation in the parts that follow.
    const MEASURED: [Self; 9] = [
        Self::Capture,
        Self::Runs,
        Self::Service,
        Self::Load,
        Self::Page,
        Self::Speed,
        Self::Memory,
        Self::Linearity,
        Self::Instructions,
    ];

    /// The order on the page.
    pub(crate) const SHOWN: [Self; 10] = [
        Self::Runs,
        Self::Capture,
        Self::Service,
        Self::Load,
        Self::Soak,
        Self::Page,
        Self::Speed,
        Self::Memory,
        Self::Instructions,
        Self::Linearity,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Speed => "speed",
            Self::Memory => "memory",
            Self::Linearity => "linearity",
            Self::Instructions => "instructions",
            Self::Capture => "capture",
            Self::Runs => "runs",
            Self::Service => "service",
            Self::Load => "load",
            Self::Page => "page",
            Self::Soak => "soak",
        }
    }
}

#[derive(Debug)]
pub(crate) enum Task {
    Measure(Args),
    /// What a plain copy costs is measured in a process of its own, and this is it.
    Copy(Vec<PathBuf>),
    /// The engine whose lines are followed.
    Write(Vec<String>),
    /// The least work that any program could do with such lines.
    Relay(Vec<String>),
    /// Work on a Log whose instructions are counted.
    Log(Vec<String>),
    Help,
}

#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) parts: Vec<Part>,
    pub(crate) size: u64,
    pub(crate) scale: Scale,
    pub(crate) figures: Figures,
    date: Option<String>,
    pub(crate) page: PathBuf,
    pub(crate) soak: Option<PathBuf>,
    update: bool,
    pub(crate) skillrun: Option<PathBuf>,
    pub(crate) check: bool,
    pub(crate) accept: bool,
}

/// Which figures of a part are measured: those whose name contains one of the words, or all.
#[derive(Debug, Default)]
pub(crate) struct Figures(Vec<String>);

impl Figures {
    pub(crate) fn have(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|word| name.contains(word.as_str()))
    }
}

/// How much of `service` and `load` is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Full,
    Quick,
}

impl Scale {
    pub(crate) fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

const GIB: u64 = 1024 * 1024 * 1024;

impl Args {
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Task, Problem> {
        let mut args = Self {
            parts: Vec::new(),
            size: GIB,
            scale: Scale::Full,
            figures: Figures::default(),
            date: None,
            page: PathBuf::from("docs/numbers.md"),
            soak: None,
            update: false,
            skillrun: None,
            check: false,
            accept: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| Problem(format!("{word} needs a value")));
            match word.as_str() {
                "--only" => {
                    let name = value()?;
                    let part = Part::SHOWN.into_iter().find(|part| part.name() == name);
                    args.parts.push(part.ok_or_else(|| Problem(format!("there is no part {name}; see --help")))?);
                }
                "--figure" => args.figures.0.push(value()?),
                "--size" => {
                    let size = value()?;
                    args.size = size.parse().map_err(|_| Problem(format!("{size} is not a number of bytes")))?;
                }
                "--quick" => args.scale = Scale::Quick,
                "--date" => args.date = Some(value()?),
                "--page" => args.page = value()?.into(),
                "--soak" => args.soak = Some(value()?.into()),
                "--update" => args.update = true,
                "--skillrun" => args.skillrun = Some(value()?.into()),
                "--check" => args.check = true,
                "--accept" => args.accept = true,
                "--help" | "-h" => return Ok(Task::Help),
                "copy" => return Ok(Task::Copy(words.map(PathBuf::from).collect())),
                "write" => return Ok(Task::Write(words.collect())),
                "log" => return Ok(Task::Log(words.collect())),
                "relay" => return Ok(Task::Relay(words.collect())),
                _ => return Err(Problem(format!("unknown argument {word}; see --help"))),
            }
        }
        if args.parts.is_empty() {
            args.parts = Part::MEASURED.to_vec();
            args.parts.extend(args.soak.is_some().then_some(Part::Soak));
        }
        Ok(Task::Measure(args))
    }

    /// Whether the measurements may be written to the file.
    pub(crate) fn writes(&self) -> bool {
        let is_whole = Part::MEASURED.iter().all(|part| self.parts.contains(part));
        (is_whole || self.update) && self.size >= GIB && self.scale == Scale::Full && self.figures.0.is_empty()
    }

    pub(crate) fn date(&self) -> String {
        self.date.clone().unwrap_or_else(today)
    }
}
