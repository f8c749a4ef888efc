//! The command: `simulate-model [--port N] [--delay-ms N] [--scripts FILE] [--until-stdin-closes]`.
//!
//! The file is a JSON object of scripts by name, for the scenarios `script.NAME`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use skillrun_base::wait::wait_until;

use super::script::Script;
use super::server::{Options, Server};
use crate::process::write_all;

/// The subcommand by which the binary that calls [`main`] should know the server; its sentences begin with it.
pub const SUBCOMMAND: &str = "simulate-model";

/// The longest one serves: a forgotten one is gone some day.
const LIFE: Duration = Duration::from_secs(6 * 60 * 60);
/// How often it looks whether it should end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

const USAGE: u8 = 64;
const TROUBLE: u8 = 74;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Words {
    port: u16,
    delay: Duration,
    scripts: Option<PathBuf>,
    until: Until,
}

/// What ends it, beside a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    Signal,
    StdinCloses,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum WordsError {
    #[error("{0} needs a number")]
    NoNumber(&'static str),
    #[error("--scripts needs a file")]
    NoFile,
    #[error("what is {0:?}? There are --port N, --delay-ms N, --scripts FILE and --until-stdin-closes")]
    Unknown(OsString),
}

fn parse(words: &[OsString]) -> Result<Words, WordsError> {
    let mut parsed = Words { port: 0, delay: Options::default().slow_pause, scripts: None, until: Until::Signal };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = |of: &'static str| {
            let number = words.next().and_then(|word| word.to_str()).and_then(|word| word.parse::<u16>().ok());
            number.ok_or(WordsError::NoNumber(of))
        };
        match word.to_str() {
            Some("--port") => parsed.port = number("--port")?,
            Some("--delay-ms") => parsed.delay = Duration::from_millis(number("--delay-ms")?.into()),
            Some("--scripts") => parsed.scripts = Some(words.next().ok_or(WordsError::NoFile)?.into()),
            Some("--until-stdin-closes") => parsed.until = Until::StdinCloses,
            _ => return Err(WordsError::Unknown(word.clone())),
        }
    }
    Ok(parsed)
}

/// Serves according to the arguments: prints one line on stdout when it is ready, then serves until a signal stops it.
pub fn main(words: Vec<OsString>) -> ExitCode {
    let (code, trouble) = match parse(&words) {
        Err(error) => (USAGE, error.to_string()),
        Ok(words) => match serve(&words) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => (TROUBLE, error.to_string()),
        },
    };
    // If this fails, there is nowhere to report it.
    let _ = write_all(rustix::stdio::stderr(), format!("{SUBCOMMAND}: {trouble}\n").as_bytes());
    ExitCode::from(code)
}

fn serve(words: &Words) -> io::Result<()> {
    let over = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&over))?;
    }
    let scripts = words.scripts.as_deref().map(read_scripts).transpose()?.unwrap_or_default();
    let server = Server::start(Options { port: words.port, slow_pause: words.delay, scripts })?;
    match words.until {
        Until::Signal => {}
        Until::StdinCloses => end_with_stdin(&over)?,
    }
    write_all(rustix::stdio::stdout(), format!("listening on {}\n", server.origin()).as_bytes())?;
    wait_until(LIFE, POLL_INTERVAL, || over.load(Ordering::Relaxed));
    Ok(())
}

/// The scripts of a file, by name.
fn read_scripts(path: &Path) -> io::Result<Vec<(String, Script)>> {
    let bad = |error: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
    };
    let written: BTreeMap<String, Value> = serde_json::from_slice(&fs::read(path)?).map_err(|error| bad(&error))?;
    let read = |(name, json)| Ok((name, Script::from_json(&json).map_err(|error| bad(&error))?));
    written.into_iter().map(read).collect()
}

fn end_with_stdin(over: &Arc<AtomicBool>) -> io::Result<()> {
    let over = Arc::clone(over);
    let read = move || {
        let _ = io::copy(&mut io::stdin().lock().by_ref(), &mut io::sink());
        over.store(true, Ordering::Relaxed);
    };
    thread::Builder::new().name("stdin".to_owned()).spawn(read).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Words, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn words_are_understood_or_refused() {
        let all = parsed(&["--port", "80", "--delay-ms", "7", "--scripts", "a.json", "--until-stdin-closes"]);
        let scripts = Some("a.json".into());
        assert_eq!(all, Ok(Words { port: 80, delay: Duration::from_millis(7), scripts, until: Until::StdinCloses }));
        assert_eq!(parsed(&["--scripts"]), Err("--scripts needs a file".to_owned()));
        assert_eq!(parsed(&["--port"]), Err("--port needs a number".to_owned()));
        assert_eq!(parsed(&["--port", "70000"]), Err("--port needs a number".to_owned()));
        assert!(parsed(&["--prot"]).expect_err("unknown").contains("--until-stdin-closes"));
    }
}
