//! `bench write`: the engine whose lines are followed. It speaks as Codex does, because that is read line by line.
//!
//! ```text
//! bench write steady RATE LINES GO    waits for the file GO, then writes RATE lines a second, each with its moment
//! bench write flood BYTES             writes BYTES as fast as they are read
//! bench write held GATE LINES         waits until the gate is open, then writes LINES as fast as they are read
//! bench write paced GATE RATE LINES   the same, but RATE lines a second, each with the moment at which it was due
//! bench write beat GATE               a line with its moment every quarter of a second until the gate is open
//! bench write play FILE               the content of the file
//! ```
//!
//! A gate is a file that another process has locked; see [`Gate`](crate::load::gate::Gate).
//!
//! Words after these are the prompt, and are ignored.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::clock;
use crate::load::gate;
use crate::problem::Problem;

const OPENING: &str = "{\"type\":\"thread.started\",\"thread_id\":\"bench\"}\n{\"type\":\"turn.started\"}\n";
const CLOSING: &str = "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}\n";

/// The maximum time to wait.
const START_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn write(words: &[String]) -> Result<(), Problem> {
    let number = |at: usize| -> Result<u64, Problem> {
        let word = words.get(at).map(String::as_str).unwrap_or_default();
        word.parse().map_err(|_| Problem(format!("write: {word:?} is not a number")))
    };
    let path = || Path::new(words.get(1).map(String::as_str).unwrap_or_default());
    let mut out = io::stdout().lock();
    if words.first().is_some_and(|word| word == "play") {
        io::copy(&mut File::open(path())?, &mut out)?;
        return Ok(out.flush()?);
    }
    match words.first().map(String::as_str) {
        Some("steady") => {
            out.write_all(OPENING.as_bytes())?;
            out.flush()?;
            wait_for(Path::new(words.get(3).map(String::as_str).unwrap_or_default()))?;
            steady(&mut out, number(1)?, number(2)?)?;
        }
        Some("flood") => {
            out.write_all(OPENING.as_bytes())?;
            flood(&mut out, number(1)?)?;
        }
        Some("held") => {
            out.write_all(OPENING.as_bytes())?;
            out.flush()?;
            gate::pass(path())?;
            lines(&mut out, number(2)?)?;
        }
        Some("paced") => {
            out.write_all(OPENING.as_bytes())?;
            out.flush()?;
            gate::pass(path())?;
            paced(&mut out, number(2)?, number(3)?)?;
        }
        Some("beat") => {
            out.write_all(OPENING.as_bytes())?;
            beat(&mut out, path())?;
        }
        _ => return Err(Problem("write: the kind of text is missing".to_owned())),
    }
    out.write_all(message("The end.").as_bytes())?;
    out.write_all(CLOSING.as_bytes())?;
    Ok(out.flush()?)
}

fn wait_for(go: &Path) -> Result<(), Problem> {
    let begin = Instant::now();
    while !go.exists() {
        // If the folder is gone, the measuring process is gone too.
        if begin.elapsed() > START_TIMEOUT || !go.parent().is_some_and(Path::exists) {
            return Err(Problem("write: the start signal did not arrive".to_owned()));
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Each line at its own moment, so that one that is late does not delay those after it.
fn steady(out: &mut impl Write, rate: u64, lines: u64) -> Result<(), Problem> {
    let begin = Instant::now();
    for number in 0..lines {
        let due = begin + Duration::from_nanos(number * 1_000_000_000 / rate.max(1));
        sleep(due.saturating_duration_since(Instant::now()));
        let text = format!("{} line {number}", clock::marked(clock::now()));
        out.write_all(thought(number, &text).as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

/// Lines that are due are written together, a thousand times a second: above some rate every writer does so. A writer
/// that is not read in time is late with all lines that follow, and their moments show it.
fn paced(out: &mut impl Write, rate: u64, lines: u64) -> Result<(), Problem> {
    const EVERY: Duration = Duration::from_millis(1);
    let (begin, first) = (Instant::now(), clock::now());
    let (mut written, mut block) = (0, Vec::new());
    while written < lines {
        let due = u64::try_from(begin.elapsed().as_nanos() * u128::from(rate) / 1_000_000_000).unwrap_or(lines);
        block.clear();
        for number in written..due.min(lines) {
            let text = format!("{} line {number}", clock::marked(first + number * 1_000_000_000 / rate.max(1)));
            block.extend_from_slice(thought(number, &text).as_bytes());
        }
        written = written.max(due.min(lines));
        out.write_all(&block)?;
        out.flush()?;
        sleep(EVERY);
    }
    Ok(())
}

fn beat(out: &mut impl Write, gate: &Path) -> Result<(), Problem> {
    const EVERY: Duration = Duration::from_millis(250);
    let mut number = 0;
    while !gate::is_open(gate)? {
        out.write_all(thought(number, &clock::marked(clock::now())).as_bytes())?;
        out.flush()?;
        number += 1;
        sleep(EVERY);
    }
    Ok(())
}

const WORDS: &str =
    "This is what an engine thinks while it works on something that is larger than it looked at first. ";
const AT_ONCE: usize = 64 * 1024;

fn lines(out: &mut impl Write, count: u64) -> Result<(), Problem> {
    let mut block = Vec::with_capacity(AT_ONCE + 1024);
    for number in 0..count {
        block.extend_from_slice(thought(number, WORDS).as_bytes());
        if block.len() >= AT_ONCE {
            out.write_all(&block)?;
            block.clear();
        }
    }
    Ok(out.write_all(&block)?)
}

fn flood(out: &mut impl Write, bytes: u64) -> Result<(), Problem> {
    let (mut written, mut number, mut block) = (0, 0, Vec::with_capacity(AT_ONCE + 1024));
    while written < bytes {
        block.clear();
        while block.len() < AT_ONCE {
            block.extend_from_slice(thought(number, WORDS).as_bytes());
            number += 1;
        }
        out.write_all(&block)?;
        written += block.len() as u64;
    }
    Ok(())
}

fn thought(number: u64, text: &str) -> String {
    let item = format!(r#"{{"id":"item_{number}","type":"reasoning","text":"{text}"}}"#);
    format!("{{\"type\":\"item.completed\",\"item\":{item}}}\n")
}

fn message(text: &str) -> String {
    let item = format!(r#"{{"id":"item_last","type":"agent_message","text":"{text}"}}"#);
    format!("{{\"type\":\"item.completed\",\"item\":{item}}}\n")
}
