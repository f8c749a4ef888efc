//! Limits of memory, processes, processor time and disk, tried with processes that use more.
//!
//! [`bombs`]: each limit, with and without a box, as root and as an ordinary user, with a control group and watched.
//! [`runs`]: whole runs, from the request to the verdict and every view.
//!
//! Every bomb is bounded by itself: at most three times the limit, 600 processes, and 20 s. Without the guard that it is
//! for, it exits with code 0, and the test fails.

mod bombs;
mod runs;

use std::process::Command;

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: there is no python3");
    }
    found
}
