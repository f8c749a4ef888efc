use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::super::SnapshotError;
use super::{ONE, Workspace, now_ns};

fn hashed(work: &Workspace, listing: &str) -> Vec<bool> {
    work.listing(listing).iter().map(|entry| entry.get("hash").is_some()).collect()
}

#[test]
fn beyond_the_limit_of_files_only_size_and_time_are_noted() {
    let work = Workspace::with_limits(|limits| limits.files = 2);
    for name in ["a", "b", "c", "d"] {
        work.write(name, "old");
    }
    let taken = work.before();
    assert_eq!((taken.files, taken.limited, taken.truncated), (4, true, false));
    assert_eq!(hashed(&work, "fs-before.1.json"), [true, true, false, false]);
    work.write("a", "new");
    work.write("c", "longer");
    let (taken, _) = work.after();
    assert!(taken.limited);
    assert_eq!(hashed(&work, "fs-after.1.json"), [true, true, false, false]);
    assert_eq!(work.changes(), "~a ~c");
    let diff = work.read("fs-diff.1.json");
    assert_eq!((&diff["modified"][1]["diff_omitted"], &diff["limited"]), (&json!("budget"), &json!(true)));
}

#[test]
fn a_limit_that_is_just_reached_limits_nothing() {
    let work = Workspace::with_limits(|limits| (limits.files, limits.bytes) = (2, 6));
    work.write("a", "old");
    work.write("b", "old");
    assert!(!work.before().limited);
    let (taken, _) = work.after();
    assert!(!taken.limited);
}

#[test]
fn a_file_over_the_limit_is_skipped_and_smaller_ones_hashed() {
    let work = Workspace::with_limits(|limits| limits.bytes = 10);
    work.write("a", "12345");
    // A hole of a terabyte: reading it would take minutes.
    work.write("b", "");
    let hole = fs::File::options().write(true).open(work.path("b")).expect("opened");
    hole.set_len(1 << 40).expect("a hole");
    work.write("c", "12345");
    let taken = work.before();
    assert_eq!((taken.limited, taken.bytes), (true, (1 << 40) + 10));
    assert_eq!(hashed(&work, "fs-before.1.json"), [true, false, true]);
}

#[test]
fn beyond_the_limit_folders_are_listed_without_content() {
    let work = Workspace::with_limits(|limits| limits.entries = 5);
    for name in ["a/1", "b/1", "b/2", "b/3", "c/1"] {
        work.write(name, "x");
    }
    let taken = work.before();
    assert_eq!((taken.truncated, taken.limited, taken.unreadable), (true, false, 2));
    assert_eq!(work.paths("fs-before.1.json"), ["a", "a/1", "b", "c"], "c would fit, and comes after the end");
    assert_eq!(work.entry("b")["error"], "too many entries");
    fs::remove_dir_all(work.path("a")).expect("removed");
    let (taken, _) = work.after();
    assert!(!taken.truncated || taken.unreadable > 0);
    assert_eq!(work.changes(), "-a -a/1", "what was not looked into before was not created");
    assert_eq!(work.read("fs-diff.1.json")["truncated"], true);
}

#[test]
fn a_root_with_too_many_names_is_truncated_to_nothing() {
    let mut work = Workspace::new();
    for name in ["abc", "def"] {
        work.write(name, "x");
    }
    for (before, after) in [(5, 100), (100, 5), (5, 5)] {
        work.limits.path_bytes = before;
        let taken_before = work.before();
        work.limits.path_bytes = after;
        let (taken_after, _) = work.after();
        assert_eq!((taken_before.truncated, taken_after.truncated), (before == 5, after == 5));
        assert_eq!(taken_after.files, if after == 5 { 0 } else { 2 });
        assert_eq!(work.changes(), "", "nothing is known to be created or deleted");
    }
}

#[test]
fn breath_is_taken_for_every_file() {
    let work = Workspace::new();
    for index in 0..50 {
        work.write(format!("{index}"), "x");
    }
    work.write("large", vec![b'x'; 5 << 20]);
    work.before();
    assert!(work.breaths.get() >= 51 + 5, "{}", work.breaths.get());
    work.breaths.set(0);
    work.after();
    assert!(work.breaths.get() >= 51, "{}", work.breaths.get());
}

#[test]
fn a_workspace_that_is_not_there_is_an_error_that_names_it() {
    let work = Workspace::new();
    fs::remove_dir(work.root()).expect("removed");
    let error = work.snapshots().before(ONE, None, now_ns(), &mut || {}).expect_err("no workspace");
    assert_eq!(error.path, work.root());
    assert_eq!(work.files_in_audit(), Vec::<String>::new(), "nothing half-made is left");
}

#[test]
fn no_room_for_the_files_is_an_error_that_names_one() {
    let work = Workspace::new();
    fs::remove_dir_all(work.audit()).expect("removed");
    let error: SnapshotError = work.snapshots().before(ONE, None, now_ns(), &mut || {}).expect_err("no .audit");
    assert_eq!(error.path, work.audit().join("fs-before.1.json"));
}

/// An engine that may write to `.audit` can do anything to the files of the host. The result is an error or a wrong
/// diff, and never a panic, a hang, or a file outside.
#[test]
fn files_of_ours_that_were_tampered_with_do_no_harm() {
    let work = Workspace::new();
    work.write("a", "old");
    work.write("b", "x");
    work.before();
    let path = work.audit().join("fs-before.1.json");
    let whole = fs::read_to_string(&path).expect("text");
    work.write("a", "new");
    let after = |content: &str| {
        fs::write(&path, content).expect("written");
        work.snapshots().after(ONE, now_ns(), &|_| {}, &mut || {})
    };
    for broken in ["", "{}\n", &whole[..whole.len() - 2], &whole.replace("\"kind\"", "\"mind\""), &"x".repeat(1 << 20)]
    {
        after(broken).expect_err("no listing");
        assert!(!work.audit().join("fs-diff.1.json").exists(), "nothing half-made is left");
    }
    assert!(!work.audit().join("blobs/text.1.pack").exists(), "unmasked texts do not outlive the call");
    after(&whole).expect("a snapshot");
    assert_eq!(work.modified()["diff_omitted"], "unreadable", "the old text is gone");

    let mut lines: Vec<&str> = whole.lines().collect();
    lines.swap(1, 2);
    after(&(lines.join("\n") + "\n")).expect("entries in the wrong order");

    fs::remove_file(&path).expect("removed");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).expect("a pipe");
    work.snapshots().after(ONE, now_ns(), &|_| {}, &mut || {}).expect_err("not opened, so not waited for");

    let outside = work.folder.path().join("outside");
    fs::write(&outside, "precious").expect("written");
    for name in ["fs-diff.1.json.tmp", "fs-diff.1.json", "fs-after.1.json", "fs-diff.1.deleted.tmp"] {
        fs::remove_file(work.audit().join(name)).ok();
        symlink(&outside, work.audit().join(name)).expect("a link");
    }
    fs::remove_file(&path).expect("removed");
    after(&whole).expect("a snapshot");
    assert_eq!(fs::read_to_string(&outside).expect("there"), "precious");
}
