//! What is printed: one table with a row per measurement and a column per profile, and one of recording, beside the bare
//! command.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use testkit::streams::Profile;

use crate::problem::Problem;

#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
    beside: Vec<[String; 5]>,
    runs: Vec<[String; 5]>,
    service: Vec<[String; 5]>,
    web: Vec<[String; 5]>,
    failures: Vec<String>,
}

#[derive(Debug)]
struct Row {
    name: String,
    cells: Vec<String>,
    target: String,
}

const NONE: &str = "–";

impl Table {
    /// A row; a profile that was not measured has none.
    pub(crate) fn row(&mut self, name: impl Into<String>, target: &str, cell: impl Fn(Profile) -> Option<String>) {
        let cells = Profile::ALL.into_iter().map(|profile| cell(profile).unwrap_or_else(|| NONE.to_owned())).collect();
        self.rows.push(Row { name: name.into(), cells, target: target.to_owned() });
    }

    /// What recording costs: measured, the bare command, how they compare, target.
    pub(crate) fn beside(&mut self, name: &str, measured: &str, bare: &str, compared: &str, target: &str) {
        self.beside.push([name, measured, bare, compared, target].map(str::to_owned));
    }

    /// What running a skill costs, in the same columns.
    pub(crate) fn run(&mut self, name: &str, measured: &str, bare: &str, compared: &str, target: &str) {
        self.runs.push([name, measured, bare, compared, target].map(str::to_owned));
    }

    /// What the service does: measured, the least that is possible here, how they compare, target.
    pub(crate) fn service(&mut self, name: &str, measured: &str, floor: &str, compared: &str, target: &str) {
        eprintln!("service: {name}: {measured} (floor {floor}, {compared})");
        self.service.push([name, measured, floor, compared, target].map(str::to_owned));
    }

    /// What the web page costs, in the same columns.
    pub(crate) fn web(&mut self, name: &str, measured: &str, floor: &str, compared: &str, target: &str) {
        eprintln!("page: {name}: {measured} (floor {floor}, {compared})");
        self.web.push([name, measured, floor, compared, target].map(str::to_owned));
    }

    /// A target that was missed.
    pub(crate) fn missed(&mut self, what: String) {
        eprintln!("  MISSED: {what}");
        self.failures.push(what);
    }

    pub(crate) fn page(&self, date: &str) -> Result<String, Problem> {
        let mut page = format!(
            "# Numbers\n\nMade by `make bench` on {date}: {}, commit {}.\n\n{}\n\n",
            machine(),
            commit(),
            ABOUT
        );
        let names: Vec<_> = Profile::ALL.iter().map(|profile| profile.name().replace('_', " ")).collect();
        let head = [&["measured".to_owned()], names.as_slice(), &["target".to_owned()]].concat();
        let mut line = |cells: &[String]| writeln!(page, "| {} |", cells.join(" | "));
        let written = line(&head).and_then(|()| line(&vec!["---".to_owned(); head.len()])).and_then(|()| {
            self.rows.iter().try_for_each(|row| {
                line(&[std::slice::from_ref(&row.name), &row.cells, std::slice::from_ref(&row.target)].concat())
            })
        });
        written.map_err(|error| Problem(error.to_string()))?;
        if !self.beside.is_empty() {
            let _ = writeln!(page, "\n{BESIDE}\n");
            let _ = writeln!(
                page,
                "| recorded | with `capture` | bare | compared | target |\n| --- | --- | --- | --- | --- |"
            );
            for row in &self.beside {
                let _ = writeln!(page, "| {} |", row.join(" | "));
            }
        }
        if !self.runs.is_empty() {
            let _ = writeln!(
                page,
                "\n| run | measured | bare engine | compared | target |\n| --- | --- | --- | --- | --- |"
            );
            for row in &self.runs {
                let _ = writeln!(page, "| {} |", row.join(" | "));
            }
        }
        if !self.service.is_empty() {
            let _ = writeln!(page, "\n{SERVICE}\n");
            let _ =
                writeln!(page, "| service | measured | floor | compared | target |\n| --- | --- | --- | --- | --- |");
            for row in &self.service {
                let _ = writeln!(page, "| {} |", row.join(" | "));
            }
        }
        if !self.web.is_empty() {
            let _ = writeln!(page, "\n{WEB}\n");
            let _ = writeln!(page, "| page | measured | floor | compared | target |\n| --- | --- | --- | --- | --- |");
            for row in &self.web {
                let _ = writeln!(page, "| {} |", row.join(" | "));
            }
        }
        let _ = match self.failures.as_slice() {
            [] => writeln!(page, "\nAll targets are met."),
            missed => writeln!(page, "\nMissed:\n\n- {}", missed.join("\n- ")),
        };
        Ok(page)
    }

    pub(crate) fn verdict(&self) -> Result<(), Problem> {
        match self.failures.len() {
            0 => Ok(()),
            missed => Err(Problem(format!("{missed} targets were missed"))),
        }
    }
}

const ABOUT: &str = "\
Processor time is user and system time together, of one process. The machine is shared, so times vary by a tenth or so; \
instruction counts do not. *Speed*: `skillrun normalize DIR --out OUT` on ordinary work of 34 MB. *Memory*: the most \
memory held at a time, and seconds of processor time per GiB, for 1 GiB of input (256 MiB where files are written). \
*Growth*: how many times longer four times the input takes, best of three, measured once more before it counts as a miss; linear is 4. Short runs show less, because \
starting takes time too.";

const WEB: &str = "\
The web page in the distribution's Chromium, with a run of a hundred thousand events; the floor is the same page with a \
run of a few events.";

const BESIDE: &str = "\
What `skillrun capture` costs, in elapsed time, beside the same command without it in the same run. Bytes: into a pipe \
that `cat` stores in a file. Files: read once with `cat`.";

const SERVICE: &str = "\
`skillrun serve` as a process, followed by a client on the same machine. *Latency*: from the moment before an engine \
writes a line to the moment a client has read its event. *Floor*: measured in the same run: for latency a program that \
puts lines of the same engine from a pipe into a stream, for requests `/healthz` of the same server without work, for \
a start `skillrun --version`. A latency that misses its target is measured once more, and the better of the two stands.";

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let model = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        model.lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned()));
    let gib = kib.unwrap_or_default() as f64 / (1024.0 * 1024.0);
    format!("{cores} cores ({}), {gib:.0} GiB of memory", model.unwrap_or_else(|| "unknown".to_owned()))
}

fn commit() -> String {
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short", "HEAD"]) else { return "unknown".to_owned() };
    let changed = git(&["status", "--porcelain", "--", "crates", "Cargo.lock"]).is_none_or(|list| !list.is_empty());
    if changed { format!("{commit} with changes") } else { commit }
}
