use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use serde_json::{Value, json};
use skillrun_evidence::host_record::FsCounts;

use super::{ONE, Workspace, modes_bind, now_ns};

#[test]
fn an_entry_has_all_its_facts() {
    use std::os::unix::fs::MetadataExt;
    let work = Workspace::new();
    work.write("folder/file", "abc");
    work.chmod("folder", 0o1750);
    work.chmod("folder/file", 0o640);
    work.before();
    let meta = fs::metadata(work.path("folder/file")).expect("there");
    assert_eq!(work.entry("folder"), json!({"path": "folder", "kind": "folder", "mode": "1750"}));
    let expected = json!({
        "path": "folder/file", "kind": "file", "mode": "0640", "size": 3,
        "mtime_ns": meta.mtime() * 1_000_000_000 + meta.mtime_nsec(),
        "ctime_ns": meta.ctime() * 1_000_000_000 + meta.ctime_nsec(),
        "ino": meta.ino(), "hash": blake3::hash(b"abc").to_hex().as_str(), "text_at": 0,
    });
    assert_eq!(work.entry("folder/file"), expected);
}

#[test]
fn names_are_in_order_and_folders_before_their_content() {
    let work = Workspace::new();
    for name in ["a/z", "a.b", "a-b", "a/b/c", "B", "ab"] {
        work.write(name, "");
    }
    work.before();
    assert_eq!(work.paths("fs-before.1.json"), ["B", "a", "a/b", "a/b/c", "a/z", "a-b", "a.b", "ab"]);
}

#[test]
fn links_are_named_and_not_followed() {
    let work = Workspace::new();
    fs::write(work.folder.path().join("outside"), "outside").expect("written");
    for (target, name) in [("../outside", "out"), ("..", "up"), ("nowhere", "dangling"), ("self", "self")] {
        symlink(target, work.path(name)).expect("a link");
    }
    symlink(OsStr::from_bytes(b"\xff"), work.path("odd")).expect("a link");
    let taken = work.before();
    assert_eq!((taken.files, taken.unreadable), (0, 0));
    assert_eq!(work.paths("fs-before.1.json"), ["dangling", "odd", "out", "self", "up"], "nothing behind them");
    let out = work.entry("out");
    assert_eq!((&out["kind"], &out["target"], out.get("hash")), (&json!("symlink"), &json!("../outside"), None));
    assert_eq!(work.entry("odd")["target"], json!({"hex": "ff"}));
}

#[test]
fn pipes_sockets_and_devices_are_named_and_not_opened() {
    let work = Workspace::new();
    rustix::fs::mknodat(CWD, work.path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let _listener = UnixListener::bind(work.path("socket")).expect("a socket");
    let zero = rustix::fs::makedev(1, 5);
    let mode = Mode::RUSR | Mode::WUSR;
    let device = rustix::fs::mknodat(CWD, work.path("zero"), FileType::CharacterDevice, mode, zero).is_ok();
    work.before();
    assert_eq!(work.entry("pipe"), json!({"path": "pipe", "kind": "pipe", "mode": "0600"}));
    assert_eq!(work.entry("socket")["kind"], "socket");
    match device {
        true => assert_eq!(work.entry("zero"), json!({"path": "zero", "kind": "char_device", "mode": "0600"})),
        false => eprintln!("skipped: only root can make a device"),
    }
    work.after();
    assert_eq!(work.changes(), "");
}

#[test]
fn names_may_be_any_bytes() {
    let work = Workspace::new();
    let odd = OsString::from_vec(b"\xff\xfe".to_vec());
    work.write(odd.as_os_str(), "1");
    work.write("new\nline", "1");
    work.write("quote\"}],", "1");
    work.write(OsString::from_vec(b"\xffdir/x".to_vec()), "1");
    work.before();
    assert_eq!(work.entry(json!({"hex": "fffe"}))["size"], 1);
    assert_eq!(work.entry("new\nline")["size"], 1);
    work.write(odd.as_os_str(), "2");
    fs::remove_file(work.path("new\nline")).expect("removed");
    work.after();
    assert_eq!(work.changes(), "~{\"hex\":\"fffe\"} -new\nline");
}

#[test]
fn housekeeping_and_what_rules_name_is_left_out() {
    let mut work = Workspace::new();
    for name in [".git/config", "sub/.git", "sub/.audit/x", ".codex/auth", ".claude/x", "sub/.claude/kept", "a.log"] {
        work.write(name, "x");
    }
    work.write("node_modules/deep/x", "x");
    work.write("target", "a file");
    work.rules = ["*.log", "node_modules/", "target/"].map(str::to_owned).to_vec();
    work.before();
    assert_eq!(work.paths("fs-before.1.json"), ["sub", "sub/.claude", "sub/.claude/kept", "target"]);
    work.write(".git/config", "y");
    work.write("node_modules/deep/y", "y");
    work.after();
    assert_eq!(work.changes(), "");
}

#[test]
fn the_audit_folder_inside_the_workspace_is_not_seen() {
    let work = Workspace::new();
    let audit = work.path(".audit");
    fs::create_dir(&audit).expect("a folder");
    work.write("a", "a");
    let rules = super::Rules::new(&[]).expect("none");
    let snapshots = super::Snapshots::new(&work.root(), &audit, rules, super::SnapshotLimits::default());
    snapshots.before(ONE, None, now_ns(), &mut || {}).expect("a snapshot");
    let (taken, counts) = snapshots.after(ONE, now_ns(), &|_| {}, &mut || {}).expect("a snapshot");
    assert_eq!((taken.files, counts), (1, FsCounts::default()));
}

#[test]
fn a_workspace_may_be_a_link() {
    let work = Workspace::new();
    work.write("a", "a");
    let link = work.folder.path().join("link");
    symlink(work.root(), &link).expect("a link");
    let rules = super::Rules::new(&[]).expect("none");
    let snapshots = super::Snapshots::new(&link, &work.audit(), rules, super::SnapshotLimits::default());
    assert_eq!(snapshots.before(ONE, None, now_ns(), &mut || {}).expect("a snapshot").files, 1);
}

#[test]
fn what_cannot_be_read_is_an_entry_with_an_error() {
    if !modes_bind() {
        return;
    }
    let work = Workspace::new();
    for name in ["file", "folder/x", "names-only/x", "ok"] {
        work.write(name, "x");
    }
    work.chmod("file", 0o000);
    work.chmod("folder", 0o000);
    work.chmod("names-only", 0o600);
    let taken = work.before();
    assert_eq!((taken.files, taken.unreadable), (2, 3));
    for (path, kind) in [("file", "file"), ("folder", "folder"), ("names-only", "folder")] {
        let entry = work.entry(path);
        assert_eq!(entry["kind"], kind);
        assert!(entry["error"].as_str().is_some_and(|error| error.contains("denied")), "{entry}");
    }
    for name in ["file", "folder", "names-only"] {
        work.chmod(name, 0o755);
    }
    work.after();
    assert_eq!(work.changes(), "~file ~folder ~names-only", "folder/x may have been there before");
}

/// Root reads all modes; a folder that is nested too deep is unreadable for every user.
#[test]
fn content_of_an_unreadable_folder_is_not_a_change() {
    let depth = |depth| super::SnapshotLimits { depth, ..super::SnapshotLimits::default() };
    let mut work = Workspace::new();
    work.write("a/b/c", "x");
    work.write("z", "x");
    for (before, after) in [(1, 128), (128, 1)] {
        work.limits = depth(before);
        work.before();
        work.limits = depth(after);
        work.write("new", "x");
        work.after();
        assert_eq!(work.changes(), "+new", "{before} {after}");
        fs::remove_file(work.path("new")).expect("removed");
    }
    assert_eq!(work.listing("fs-after.1.json")[0]["error"], "folders are nested too deep");
}

/// Found by analysis: a chain of folders deeper than paths can be, which tools can create and many cannot remove.
#[test]
fn a_tree_deeper_than_any_path_is_walked_as_far_as_it_may() {
    let work = Workspace::with_limits(|limits| limits.depth = 60);
    let name = "n".repeat(200);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open(work.root(), flags, Mode::empty()).expect("opened");
    for _ in 0..100 {
        rustix::fs::mkdirat(&folder, &name, Mode::RWXU).expect("a folder");
        folder = rustix::fs::openat(&folder, &name, flags, Mode::empty()).expect("opened");
    }
    let taken = work.before();
    let entries = work.listing("fs-before.1.json");
    let len = |entry: &Value| entry["path"].as_str().map(str::len);
    assert_eq!((taken.unreadable, taken.truncated), (1, false));
    let last = entries.last().expect("entries");
    assert!(len(last) > Some(4096) && len(last) < Some(4500), "{:?}", len(last));
    assert!(last["error"].is_string());
    work.after();
    assert_eq!(work.changes(), "");
}

#[test]
fn deep_trees_take_no_more_descriptors_than_their_bound() {
    let work = Workspace::new();
    let deep = vec!["d"; 300].join("/");
    fs::create_dir_all(work.path(&deep)).expect("folders");
    work.write(format!("{deep}/x"), "x");
    let taken = work.before();
    assert_eq!((taken.files, taken.unreadable), (0, 1));
    assert_eq!(work.listing("fs-before.1.json").len(), 128);
}

/// `breathe` runs between any two steps of a walk: here it removes what was just listed, at every step.
#[test]
fn a_tree_that_is_torn_down_while_it_is_walked_does_no_harm() {
    for step in 0..40 {
        let work = Workspace::new();
        for name in ["a/1", "a/b/2", "a/b/c/3", "d/4", "e"] {
            work.write(name, "x");
        }
        let tear = |at: u64| {
            let mut count = 0;
            let root = work.root();
            move || {
                count += 1;
                if count == at {
                    fs::remove_dir_all(root.join("a")).ok();
                    symlink("/", root.join("a")).ok();
                    fs::remove_file(root.join("e")).ok();
                    rustix::fs::mknodat(CWD, root.join("e"), FileType::Fifo, Mode::RUSR, 0).ok();
                }
            }
        };
        work.snapshots().before(ONE, None, now_ns(), &mut tear(step)).expect("a snapshot");
        assert!(work.listing("fs-before.1.json").len() <= 9, "nothing behind the link");
        for name in ["a", "e"] {
            fs::remove_file(work.path(name)).ok();
        }
        work.write("a/b/2", "y");
        work.write("e", "y");
        work.snapshots().after(ONE, now_ns(), &|_| {}, &mut tear(step)).expect("a snapshot");
        work.changes();
    }
}

#[test]
fn a_file_that_vanishes_is_left_out_and_was_deleted() {
    let work = Workspace::new();
    for name in ["a", "b", "c"] {
        work.write(name, "x");
    }
    work.before();
    let path = work.path("c");
    // The names are listed before the first breath between two entries.
    let mut breaths = 0;
    let mut vanish = || {
        breaths += 1;
        if breaths == 2 {
            fs::remove_file(&path).expect("removed");
        }
    };
    work.snapshots().after(ONE, now_ns(), &|_| {}, &mut vanish).expect("a snapshot");
    assert_eq!(work.paths("fs-after.1.json"), ["a", "b"]);
    assert_eq!(work.changes(), "-c");
}

/// While deleted entries are reported, `breathe` runs between the check of a file and its opening.
#[test]
fn a_file_replaced_before_it_is_opened_is_not_read() {
    let replaced = |replace: fn(&Workspace)| {
        let work = Workspace::new();
        fs::write(work.folder.path().join("outside"), "x").expect("written");
        work.write("gone", "x");
        work.write("victim", "x");
        work.before();
        fs::remove_file(work.path("gone")).expect("removed");
        let mut breaths = 0;
        let mut act = || {
            breaths += 1;
            if breaths == 2 {
                fs::remove_file(work.path("victim")).expect("removed");
                replace(&work);
            }
        };
        work.snapshots().after(ONE, now_ns(), &|_| {}, &mut act).expect("a snapshot");
        let listed = work.listing("fs-after.1.json");
        assert!(listed.iter().all(|entry| entry.get("hash").is_none()), "{listed:?}");
        (work.changes(), listed.first().map(|entry| entry["error"].as_str().map(str::to_owned)))
    };
    assert_eq!(replaced(|_| {}), ("-gone -victim".to_owned(), None));
    let (changes, error) = replaced(|work| symlink("../outside", work.path("victim")).expect("a link"));
    assert_eq!(changes, "-gone", "what it is now the next snapshot will tell");
    assert!(error.flatten().is_some());
    let (changes, error) = replaced(|work| {
        rustix::fs::mknodat(CWD, work.path("victim"), FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
    });
    let expected = ("~victim -gone", Some("replaced while it was being opened"));
    assert_eq!((changes.as_str(), error.flatten().as_deref()), expected);
}

/// Regression: a file named after a secret brought it into the lists, and from there into the Log.
#[test]
fn what_has_a_secret_in_its_path_is_in_no_list() {
    let secret = "sk-live-0123456789abcdef";
    let secrets = || crate::secrets::Secrets::new([secret.as_bytes()]);
    let work = Workspace::new();
    work.write(format!("old-{secret}.txt"), "before");
    let breathe = &mut || {};
    let before = work.snapshots().without(secrets()).before(ONE, None, now_ns(), breathe).expect("a snapshot");
    for path in
        [format!("artifacts/{secret}"), format!("{secret}/deep/file"), "c2stbGl2ZS0wMTIzNDU2Nzg5YWJjZGVm.b64".into()]
    {
        work.write(path, "x");
    }
    work.write("artifacts/report.md", "fine");
    std::os::unix::fs::symlink(format!("/elsewhere/{secret}"), work.path("link")).expect("a link");
    let taken = work.snapshots().without(secrets()).after(ONE, now_ns(), &|_| {}, breathe).expect("a snapshot").0;
    assert_eq!((before.hidden, taken.hidden), (1, 4));
    assert_eq!(work.changes(), "+artifacts +artifacts/report.md +link");
    for name in work.files_in_audit() {
        let content = fs::read_to_string(work.audit().join(&name)).unwrap_or_default();
        assert!(!content.contains(secret), "{name}: {content}");
    }
}
