//! Concurrent use: threads with their own catalogs, and processes that are killed. A child is this test binary again;
//! its environment states its role.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::*;

pub(super) const ROLE: &str = "SKILLRUN_CATALOG_TEST_ROLE";
pub(super) const FOLDER: &str = "SKILLRUN_CATALOG_TEST_FOLDER";
pub(super) const CHILD: &str = "tests::together::child";

/// What a child does. Without a role this tests nothing.
#[test]
fn child() {
    let (Ok(role), Ok(folder)) = (std::env::var(ROLE), std::env::var(FOLDER)) else { return };
    let folder = PathBuf::from(folder);
    match role.as_str() {
        "small disk" => damage::on_a_small_disk(&folder),
        "refresh" => loop {
            let log = FileLog::new(folder.join("runs"));
            let boot = Boot(Some("this boot".to_owned()));
            let (mut catalog, _) =
                Catalog::in_boot(&folder.join("catalog.sqlite"), log.runs(), boot).expect("a catalog");
            catalog.refresh(&log).expect("refreshed");
        },
        other => panic!("no role {other}"),
    }
}

fn whole_lines(path: &Path) -> u64 {
    let bytes = fs::read(path).expect("a Log");
    memchr::memrchr(b'\n', &bytes).map_or(0, |at| at as u64 + 1)
}

/// A state that a reader has seen is never taken back, whichever process refreshes.
#[test]
fn many_refresh_at_once_and_no_row_goes_back() {
    let world = World::new();
    let runs: Vec<_> = (1..9).map(run_id).collect();
    runs.iter().for_each(|run| world.append(*run, &life()));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let (mut catalog, _) = world.open();
                // Like another process, it reads the file.
                let log = FileLog::new(world.log.runs());
                let mut seen = [0; 8];
                while !is_over.load(Ordering::SeqCst) {
                    let before: Vec<_> = runs.iter().map(|run| whole_lines(&world.events(*run))).collect();
                    catalog.refresh(&log).expect("refreshed");
                    for (at, run) in runs.iter().enumerate() {
                        let bytes = catalog.get(*run).expect("asked").expect("a row").log_bytes;
                        assert!(bytes >= seen[at] && bytes >= before[at], "{bytes} {} {}", seen[at], before[at]);
                        seen[at] = bytes;
                    }
                    assert_eq!(catalog.news(), None);
                }
            });
        }
        runs.iter().for_each(|run| drop(world.log.open(*run).expect("opened")));
        for round in 0..60 {
            for run in &runs {
                let next = world.log.next_seq(*run).expect("a seq");
                let event = event_of(*run, next.0, text(round * 10));
                world.log.append(*run, next, &[event], Durability::Derived).expect("appended");
            }
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let (mut catalog, opened) = world.open();
    assert_eq!((opened, world.rows(&mut catalog)), (Opened::Good, world.rows_from_scratch()));
}

#[test]
fn concurrent_repairs_leave_every_run_visible() {
    let world = World::new();
    for number in 1..40 {
        world.append(run_id(number), &life());
    }
    let rows = world.rows_from_scratch();
    for round in 0..6 {
        fs::write(world.path(), vec![0x5a; 20_000]).expect("written");
        if round % 2 == 1 {
            drop(world.open_in("another boot"));
        }
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let (mut catalog, _) = world.open();
                    catalog.refresh(&world.log).expect("refreshed");
                    for _ in 0..20 {
                        // Without a refresh: a repair by another process must not be visible.
                        assert_eq!(catalog.list(&Query::default()).expect("a list"), rows);
                    }
                });
            }
        });
        let (mut catalog, opened) = world.open();
        assert_eq!((opened, world.rows(&mut catalog)), (Opened::Good, rows.clone()));
    }
}

#[test]
fn a_killed_process_leaves_a_valid_catalog() {
    let world = World::new();
    let mut child = None;
    for round in 0..30_u64 {
        for number in 1..30 {
            world.append(run_id(number), &[text(100)]);
        }
        let started = Command::new(std::env::current_exe().expect("a program"))
            .args([CHILD, "--exact", "--nocapture"])
            .env(ROLE, "refresh")
            .env(FOLDER, world.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut killed: std::process::Child = match child.replace(started.expect("a child")) {
            Some(killed) => killed,
            None => continue,
        };
        thread::sleep(Duration::from_millis(round * 7 % 23));
        killed.kill().expect("killed");
        killed.wait().expect("dead");
        let (mut catalog, opened) = world.open();
        assert!(matches!(opened, Opened::Good | Opened::Made), "{opened:?}");
        assert_eq!(world.rows(&mut catalog), world.rows_from_scratch());
        assert_eq!(catalog.news(), None);
    }
    if let Some(mut child) = child {
        child.kill().expect("killed");
        child.wait().expect("dead");
    }
}
