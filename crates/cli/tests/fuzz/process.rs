//! Ends of processes that were given something strange to read.

use std::process::{Command, Output, Stdio};

use crate::tree::assert_sentence;

/// What the shell sets for a child: more memory than any input here should need.
const MEMORY_KIB: u64 = 1 << 20;

/// The program with a bound on its memory, and a clean environment.
pub(crate) fn skillrun(words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_skillrun"))
        .args(words);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).stdin(Stdio::null());
    command
}

/// It ended by itself, with a code that means something, and said why in one sentence where it refused.
#[track_caller]
pub(crate) fn assert_ended(output: &Output, refusals: &[i32]) {
    let said = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(!said.contains("panicked"), "{said}");
    match code {
        Some(0) => {}
        Some(code) if refusals.contains(&code) => {
            assert_sentence(&said);
            let line = said.trim_end_matches('\n');
            assert!(!line.contains(|c: char| c.is_control()), "more than one line, or control characters: {line:?}");
        }
        Some(_) | None => panic!("it ended with {}: {said}", output.status),
    }
}

/// The check itself: a process that panicked is seen.
#[test]
#[should_panic(expected = "panicked at")]
fn a_panic_is_seen() {
    let output = Command::new("sh").args(["-c", "echo \"thread 'main' panicked at x\" >&2; exit 101"]).output();
    assert_ended(&output.expect("run"), &[2]);
}

/// The same for one that was ended by its bound.
#[test]
#[should_panic(expected = "it ended with signal")]
fn a_death_is_seen() {
    assert_ended(&Command::new("sh").args(["-c", "kill -KILL $$"]).output().expect("run"), &[2]);
}
