//! `docs/numbers.md`: a section for each part, after a list of the missed targets. The page is also read: a part that
//! was not measured this time stays as it is, with its date and commit.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::Duration;

use testkit::streams::Profile;

use crate::args::Part;
use crate::table::Table;

/// When and where something was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) date: String,
    pub(crate) commit: String,
}

impl Stamp {
    pub(crate) fn now(date: String) -> Self {
        Self { date, commit: commit() }
    }

    fn words(&self) -> String {
        format!("{}, commit {}", self.date, self.commit)
    }
}

/// The text under the headings.
#[derive(Debug, Default)]
pub(crate) struct Page(Vec<(Part, String)>);

const MISSED: &str = "Missed:";
/// How a row of another program marks a missed target.
const MISSED_ROW: &str = "**missed**";
const STAMPED: &str = "Measured on ";

impl Page {
    /// The sections of a page that was written before. Unknown sections are not kept.
    pub(crate) fn read(text: &str) -> Self {
        let sections = text.split("\n## ").skip(1).filter_map(|section| {
            let (title, body) = section.split_once('\n')?;
            let part = Part::SHOWN.into_iter().find(|part| self::title(*part) == title)?;
            Some((part, body.trim().to_owned()))
        });
        Self(sections.collect())
    }

    /// Adds a measured part.
    pub(crate) fn put(&mut self, part: Part, table: &Table, stamp: &Stamp, took: Duration) {
        let mut body = String::new();
        if !about(part).is_empty() {
            let _ = writeln!(body, "{}\n", about(part));
        }
        let _ = writeln!(body, "{STAMPED}{}, in {}.\n", stamp.words(), minutes(took));
        let mut line = |cells: &[String]| {
            let _ = writeln!(body, "| {} |", cells.join(" | "));
        };
        let head = head(part);
        line(&head);
        line(&vec!["---".to_owned(); head.len()]);
        table.rows.iter().filter(|row| row.part == part).for_each(|row| line(&row.cells));
        let missed: Vec<_> = table.missed.iter().filter(|(of, _)| *of == part).map(|(_, what)| what.as_str()).collect();
        if !missed.is_empty() {
            let _ = writeln!(body, "\n{MISSED}\n\n- {}", missed.join("\n- "));
        }
        self.put_text(part, body);
    }

    /// Adds a table that another program has made, in which rows say whether they missed. Its headings are removed:
    /// they would be mistaken for headings of this page.
    pub(crate) fn put_made(&mut self, part: Part, made: &str, stamp: &Stamp) {
        let lines: Vec<_> = made.lines().filter(|line| !line.starts_with('#')).collect();
        let mut body = format!("Included on {}.\n\n{}\n", stamp.words(), lines.join("\n").trim());
        let missed = lines.iter().filter(|line| line.contains(MISSED_ROW)).map(|line| {
            let cell = line.trim_start_matches('|').split('|').next().unwrap_or_default();
            format!("- {}: {}", part.name(), cell.trim())
        });
        let missed: Vec<_> = missed.collect();
        if !missed.is_empty() {
            let _ = writeln!(body, "\n{MISSED}\n\n{}", missed.join("\n"));
        }
        self.put_text(part, body);
    }

    fn put_text(&mut self, part: Part, body: String) {
        self.0.retain(|(of, _)| *of != part);
        self.0.push((part, body.trim().to_owned()));
    }

    pub(crate) fn missed(&self) -> Vec<&str> {
        let lists = self.shown().filter_map(|(_, body)| Some(body.split_once(MISSED)?.1));
        lists.flat_map(|list| list.lines().filter_map(|line| line.strip_prefix("- "))).collect()
    }

    fn shown(&self) -> impl Iterator<Item = (Part, &str)> {
        Part::SHOWN.into_iter().filter_map(|part| {
            let (_, body) = self.0.iter().find(|(of, _)| *of == part)?;
            Some((part, body.as_str()))
        })
    }

    pub(crate) fn text(&self, stamp: &Stamp) -> String {
        let mut text =
            format!("# Numbers\n\nMade by `make bench` on {}: {}, commit {}.\n\n", stamp.date, machine(), stamp.commit);
        let other: Vec<_> = self
            .shown()
            .filter_map(|(part, body)| {
                let measured = body.lines().find_map(|line| line.strip_prefix(STAMPED))?;
                (!measured.starts_with(&stamp.words()))
                    .then(|| format!("{} ({})", part.name(), measured.split(", in ").next().unwrap_or_default()))
            })
            .collect();
        if !other.is_empty() {
            let _ = writeln!(text, "Measured at another time: {}.\n", other.join("; "));
        }
        let _ = match self.missed().as_slice() {
            [] => writeln!(text, "All targets are met."),
            missed => writeln!(text, "{MISSED}\n\n- {}", missed.join("\n- ")),
        };
        let _ = writeln!(text, "\n{ABOUT}");
        for (part, body) in self.shown() {
            let _ = writeln!(text, "\n## {}\n\n{body}", title(part));
        }
        text
    }
}

fn title(part: Part) -> &'static str {
    match part {
        Part::Speed => "Speed",
        Part::Memory => "Memory",
        Part::Linearity => "Growth",
        Part::Instructions => "Instructions",
        Part::Capture => "Recording",
        Part::Runs => "Runs",
        Part::Service => "Service",
        Part::Load => "Load",
        Part::Page => "Page",
        Part::Soak => "Soak",
    }
}

fn head(part: Part) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match part {
        Part::Speed | Part::Memory => {
            let profiles = Profile::ALL.iter().map(|profile| profile.name().replace('_', " "));
            std::iter::once("measured".to_owned()).chain(profiles).chain(["target".to_owned()]).collect()
        }
        Part::Linearity => words(&["shape", "lines, 8 MiB", "one line, 8 MiB", "message, 4 MiB", "target"]),
        Part::Instructions => words(&["counted", "millions", "accepted", "compared", "target"]),
        Part::Capture => words(&["recorded", "with `capture`", "bare", "compared", "target"]),
        Part::Runs => words(&["run", "measured", "bare engine", "compared", "target"]),
        Part::Service | Part::Load | Part::Page | Part::Soak => words(&["measured", "", "floor", "compared", "target"]),
    }
}

const ABOUT: &str = "\
Processor time is user and system time together. The machine is shared, so times vary by a tenth or so; instruction \
counts do not. A floor is the least that any program could do, measured in the same run; `–` means that there is none.";

fn about(part: Part) -> &'static str {
    match part {
        Part::Speed => {
            "`skillrun normalize DIR --out OUT` on ordinary work of 34 MB: processor time of the process, compared \
             with `jq` on the same input and a plain copy of the output."
        }
        Part::Memory => {
            "Peak memory in MB, and in parentheses seconds of processor time per GiB. One long line, noise and \
             ordinary work: 1 GiB; other short lines, and output written to files: 256 MiB."
        }
        Part::Linearity => {
            "How many times longer four times the input takes; linear is 4. Each cell shows the profile that grew \
             most, and its processor time for the larger input. A missed target is measured three more times. Short \
             runs show less growth, because starting takes time too."
        }
        Part::Instructions => {
            "Instructions of the process by callgrind, without those of the kernel; `bench/accepted.txt` has the \
             accepted values, `make bench-check` compares. Append and fold: without the cost of reading the same \
             events and of creating an empty catalog."
        }
        Part::Capture => {
            "The cost of `skillrun capture` in elapsed time, compared with the same command without it in the same \
             run. Bytes: into a pipe that `cat` stores in a file, or through a bare terminal into a file. Files: read \
             once with `cat`."
        }
        Part::Runs => "",
        Part::Service => {
            "`skillrun serve` as a process, followed by a client on the same machine. *Latency*: from the moment before \
             an engine writes a line to the moment a client has read its event. *Floor*: for latency, a program that \
             copies lines of the same engine from a pipe into a stream; for requests, `/healthz` of the same server \
             without load; for a start, `skillrun --version`. A latency that misses its target is measured once more, \
             and the better result is kept."
        }
        Part::Load => {
            "One machine under load; engines, hosts, server and clients share its processors. *At once*: all engines \
             are alive together before the first may end. *A rate is sustained* when the last third of the lines of a \
             window reaches the reader as quickly as the first third; the time of a line is when it was due, so a \
             blocked engine counts as delay."
        }
        Part::Page => {
            "The web page in the distribution's Chromium, with a run of a hundred thousand events; the floor is the same \
             page with a run of a few events."
        }
        Part::Soak => "",
    }
}

pub(crate) fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 { format!("{seconds} s") } else { format!("{} min {} s", seconds / 60, seconds % 60) }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(commit: &str) -> Stamp {
        Stamp { date: "2026-11-15".to_owned(), commit: commit.to_owned() }
    }

    fn measured(part: Part, missed: Option<&str>) -> Table {
        let mut table = Table::default();
        table.begin(part);
        table.row(part, vec!["a row".to_owned(), "1".to_owned()]);
        missed.into_iter().for_each(|what| table.missed(what.to_owned()));
        table
    }

    #[test]
    fn unmeasured_parts_stay_with_their_date() {
        let mut page = Page::default();
        page.put(Part::Runs, &measured(Part::Runs, Some("runs: slow")), &stamp("aaa"), Duration::from_secs(5));
        page.put(Part::Load, &measured(Part::Load, None), &stamp("aaa"), Duration::from_secs(65));
        page.put_made(Part::Soak, "# Soak\n\n| flat |\n| --- |\n| memory | **missed** |\n", &stamp("aaa"));
        let old = page.text(&stamp("aaa"));
        assert!(old.contains("in 1 min 5 s.") && !old.contains("another time"), "{old}");

        let mut page = Page::read(&old);
        assert_eq!(page.text(&stamp("aaa")), old);
        assert_eq!(page.missed(), ["runs: slow", "soak: memory"]);
        page.put(Part::Load, &measured(Part::Load, Some("load: late")), &stamp("bbb"), Duration::from_secs(9));
        let new = page.text(&stamp("bbb"));
        assert!(new.contains("Measured at another time: runs (2026-11-15, commit aaa)."), "{new}");
        assert_eq!(page.missed(), ["runs: slow", "load: late", "soak: memory"]);
        assert!(
            new.contains("| flat |") && new.contains("Missed:\n\n- runs: slow\n- load: late\n- soak: memory\n"),
            "{new}"
        );
    }

    #[test]
    fn met_targets_are_stated() {
        let mut page = Page::default();
        page.put(Part::Runs, &measured(Part::Runs, None), &stamp("aaa"), Duration::ZERO);
        assert!(page.text(&stamp("aaa")).contains("\nAll targets are met.\n"));
    }
}
