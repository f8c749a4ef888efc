//! `bench write`: the engine whose lines are followed. It speaks as Codex does, because that is read line by line.
//!
//! ```text
//! bench write steady RATE LINES GO    waits for the file GO, then writes so many lines a second, each with its moment
//! bench write flood BYTES             writes so much as fast as it is read
//! ```
//!
//! Words after these are the prompt, and mean nothing here.

use std::io::{self, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::clock;
use crate::problem::Problem;

const OPENING: &str = "{\"type\":\"thread.started\",\"thread_id\":\"bench\"}\n{\"type\":\"turn.started\"}\n";
const CLOSING: &str = "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}\n";

/// Nobody is waited for longer.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn write(words: &[String]) -> Result<(), Problem> {
    let number = |at: usize| -> Result<u64, Problem> {
        let word = words.get(at).map(String::as_str).unwrap_or_default();
        word.parse().map_err(|_| Problem(format!("write: {word:?} is no number")))
    };
    let mut out = io::stdout().lock();
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
        _ => return Err(Problem("write: steady or flood is needed".to_owned())),
    }
    out.write_all(message("The end.").as_bytes())?;
    out.write_all(CLOSING.as_bytes())?;
    Ok(out.flush()?)
}

fn wait_for(go: &Path) -> Result<(), Problem> {
    let begin = Instant::now();
    while !go.exists() {
        // Where the folder is gone, whoever measured is gone too.
        if begin.elapsed() > PATIENCE || !go.parent().is_some_and(Path::exists) {
            return Err(Problem("write: nobody said go".to_owned()));
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

fn flood(out: &mut impl Write, bytes: u64) -> Result<(), Problem> {
    const AT_ONCE: usize = 64 * 1024;
    let words = "This is what an engine thinks while it works on something that is larger than it looked at first. ";
    let (mut written, mut number, mut block) = (0, 0, Vec::with_capacity(AT_ONCE + 1024));
    while written < bytes {
        block.clear();
        while block.len() < AT_ONCE {
            block.extend_from_slice(thought(number, words).as_bytes());
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
