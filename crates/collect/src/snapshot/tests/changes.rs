use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{ONE, TWO, Workspace, now_ns};

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[test]
fn created_modified_and_deleted_are_listed_with_hashes() {
    let work = Workspace::new();
    work.write("same", "same");
    work.write("src/a.rs", "one\ntwo\n");
    work.write("src/old.rs", "old");
    let taken = work.before();
    assert_eq!((taken.files, taken.bytes, taken.unreadable, taken.limited, taken.truncated), (3, 15, 0, false, false));

    work.write("src/a.rs", "one\n2\n");
    work.write("new/b", "b");
    fs::remove_file(work.path("src/old.rs")).expect("removed");
    let (taken, counts) = work.after();
    assert_eq!((taken.files, taken.bytes), (3, 11));
    assert_eq!((counts.created, counts.modified, counts.deleted), (2, 1, 1));
    assert_eq!(work.changes(), "+new +new/b ~src/a.rs -src/old.rs");

    let diff = work.read("fs-diff.1.json");
    assert_eq!((&diff["limited"], &diff["truncated"]), (&json!(false), &json!(false)));
    assert_eq!(diff["created"][1]["hash"], hash("b"));
    assert_eq!(diff["deleted"][0]["hash"], hash("old"));
    let modified = work.modified();
    let expected = (&json!(hash("one\ntwo\n")), &json!(hash("one\n2\n")));
    assert_eq!((&modified["before"]["hash"], &modified["after"]["hash"]), expected);
    assert_eq!(modified["diff"], "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
}

#[test]
fn an_empty_workspace_has_empty_lists() {
    let work = Workspace::new();
    work.before();
    work.after();
    assert_eq!(work.changes(), "");
    assert_eq!(work.paths("fs-before.1.json"), Vec::<serde_json::Value>::new());
}

/// Longer than what is held in memory, and so through a file.
#[test]
fn long_lists_come_out_whole_and_in_order() {
    let work = Workspace::new();
    let name = |at: usize| format!("{}-{at:03}", "long-name-".repeat(10));
    for at in 0..300 {
        work.write(name(at), "old");
    }
    work.before();
    for at in 0..300 {
        match at % 3 {
            0 => work.write(name(at), "new text"),
            1 => fs::remove_file(work.path(name(at))).expect("removed"),
            _ => work.write(format!("{}+", name(at)), "one more"),
        }
    }
    let (_, counts) = work.after();
    assert_eq!((counts.created, counts.modified, counts.deleted), (100, 100, 100));
    let of = |part: usize, sign: char, end: &str| -> Vec<String> {
        (part..300).step_by(3).map(|at| format!("{sign}{}{end}", name(at))).collect()
    };
    let expected = [of(2, '+', "+"), of(0, '~', ""), of(1, '-', "")].concat();
    assert_eq!(work.changes(), expected.join(" "));
    assert_eq!(work.files_in_audit(), ["fs-after.1.json", "fs-before.1.json", "fs-diff.1.json"]);
}

#[test]
fn only_whole_files_are_left_for_their_owner_alone() {
    let work = Workspace::new();
    work.write("a", "a");
    work.before();
    assert_eq!(work.files_in_audit(), ["fs-before.1.json", "text.1.pack"]);
    assert_eq!(fs::read(work.audit().join("blobs/text.1.pack")).expect("there"), b"a");
    work.write("a", "b");
    work.after();
    assert_eq!(work.files_in_audit(), ["fs-after.1.json", "fs-before.1.json", "fs-diff.1.json"]);
    for name in work.files_in_audit() {
        let mode = fs::metadata(work.audit().join(&name)).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn times_alone_change_nothing_and_modes_do() {
    let work = Workspace::new();
    for name in ["touched", "tool", "folder/x"] {
        work.write(name, "content");
    }
    work.before();
    let later = SystemTime::now() + Duration::from_secs(100);
    File::options().write(true).open(work.path("touched")).expect("opened").set_modified(later).expect("set");
    work.chmod("tool", 0o755);
    work.chmod("folder", 0o700);
    work.after();
    assert_eq!(work.changes(), "~folder ~tool");
    let tool = &work.read("fs-diff.1.json")["modified"][1];
    assert_eq!((&tool["before"]["mode"], &tool["after"]["mode"]), (&json!("0644"), &json!("0755")));
    assert!(tool.get("diff").is_none() && tool.get("diff_omitted").is_none(), "its content is the same: {tool}");
}

#[test]
fn a_kind_may_change_into_any_other() {
    let work = Workspace::new();
    work.write("file-to-folder", "x");
    work.write("folder-to-file/in/it", "x");
    work.write("file-to-link", "x");
    symlink("here", work.path("link")).expect("a link");
    work.before();
    fs::remove_file(work.path("file-to-folder")).expect("removed");
    work.write("file-to-folder/new", "x");
    fs::remove_dir_all(work.path("folder-to-file")).expect("removed");
    work.write("folder-to-file", "x");
    for name in ["file-to-link", "link"] {
        fs::remove_file(work.path(name)).expect("removed");
        symlink("there", work.path(name)).expect("a link");
    }
    work.after();
    let expected = "+file-to-folder/new ~file-to-folder ~file-to-link ~folder-to-file ~link \
                    -folder-to-file/in -folder-to-file/in/it";
    assert_eq!(work.changes(), expected);
    let link = &work.read("fs-diff.1.json")["modified"][3];
    assert_eq!((&link["before"]["target"], &link["after"]["target"]), (&json!("here"), &json!("there")));
}

/// Same size, and the stamp restored as `touch -r` does: the hash shows the change.
#[test]
fn a_change_that_hides_its_time_is_seen() {
    let work = Workspace::new();
    work.write("a", "one");
    let then = fs::metadata(work.path("a")).expect("there").modified().expect("a time");
    work.before();
    work.write("a", "two");
    File::options().write(true).open(work.path("a")).expect("opened").set_modified(then).expect("set");
    work.after();
    assert_eq!(work.changes(), "~a");
}

#[test]
fn the_reason_for_a_missing_difference_is_recorded() {
    let omitted = |old: &[u8], new: &[u8]| {
        let work = Workspace::with_limits(|limits| limits.text = 10);
        work.write("a", old);
        work.before();
        work.write("a", new);
        work.after();
        work.modified()["diff_omitted"].as_str().map(str::to_owned)
    };
    assert_eq!(omitted(b"old", b"new"), None);
    assert_eq!(omitted(b"old", b"\0").as_deref(), Some("binary"));
    assert_eq!(omitted(b"\xff", b"new").as_deref(), Some("binary"));
    assert_eq!(omitted(b"old", b"longer than ten").as_deref(), Some("too_large"));
    assert_eq!(omitted(b"longer than ten", b"new").as_deref(), Some("too_large"));
}

#[test]
fn texts_beyond_the_budget_have_no_difference() {
    let work = Workspace::with_limits(|limits| limits.pack = 7);
    for name in ["1", "2", "3"] {
        work.write(name, "old");
    }
    work.before();
    for name in ["1", "2", "3"] {
        work.write(name, "new");
    }
    work.after();
    let modified = &work.read("fs-diff.1.json")["modified"];
    let diff = "@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+new\n\\ No newline at end of file\n";
    assert_eq!((&modified[0]["diff"], &modified[1]["diff"]), (&json!(diff), &json!(diff)));
    assert_eq!(modified[2]["diff_omitted"], "budget");

    let work = Workspace::with_limits(|limits| limits.texts_time = Duration::ZERO);
    work.write("a", "old");
    work.before();
    work.write("a", "new");
    work.after();
    assert_eq!(work.modified()["diff_omitted"], "budget");
}

#[test]
fn secrets_do_not_reach_the_difference() {
    let work = Workspace::new();
    work.write("env", "KEY=old-secret\nx\n");
    work.before();
    work.write("env", "KEY=new-secret\ny\n");
    work.after_masked(&|bytes| {
        while let Some(at) = memchr::memmem::find(bytes, b"-secret") {
            bytes[at - 3..at + 7].fill(b'*');
        }
    });
    assert_eq!(work.modified()["diff"], "@@ -1,2 +1,2 @@\n KEY=**********\n-x\n+y\n");
    for name in work.files_in_audit() {
        let text = fs::read_to_string(work.audit().join(&name)).expect("text");
        assert!(!text.contains("secret"), "{name}: {text}");
    }
}

/// A hash is taken over from an earlier listing, and only where the stamps prove that the file is the same. The proof:
/// a falsified hash in that listing is taken over or it is not.
#[test]
fn hashes_are_taken_over_unless_the_file_is_too_young() {
    let (truth, lie) = (hash("a"), hash("falsified"));
    let mut work = Workspace::new();
    work.write("a", "a");
    let stamp = fs::metadata(work.path("a")).expect("there");
    let ctime = u64::try_from(stamp.ctime() * 1_000_000_000 + stamp.ctime_nsec()).expect("after 1970");
    let falsify = |name: &str| {
        let path = work.audit().join(name);
        let text = fs::read_to_string(&path).expect("text");
        fs::write(&path, text.replace(&truth, &lie)).expect("written");
    };
    let snapshots = work.snapshots();
    for (age_ns, expected) in [(10_000_000_000, &lie), (50_000_000, &truth), (0, &truth)] {
        let now = ctime + age_ns;
        snapshots.before(ONE, None, now, &mut || {}).expect("a snapshot");
        falsify("fs-before.1.json");
        snapshots.after(ONE, now, &|_| {}, &mut || {}).expect("a snapshot");
        assert_eq!(&work.listing("fs-after.1.json")[0]["hash"], expected, "{age_ns}");
    }
    snapshots.after(ONE, ctime + 10_000_000_000, &|_| {}, &mut || {}).expect("a snapshot");
    falsify("fs-after.1.json");
    snapshots.before(TWO, Some(ONE), now_ns(), &mut || {}).expect("a snapshot");
    assert_eq!(work.listing("fs-before.2.json")[0]["hash"], json!(truth), "read for its text");
    work.limits.text = 0;
    work.snapshots().before(TWO, Some(ONE), now_ns(), &mut || {}).expect("a snapshot");
    assert_eq!(work.listing("fs-before.2.json")[0]["hash"], json!(lie), "no text, so not read");
}

#[test]
fn a_cache_that_is_missing_or_broken_costs_nothing_but_time() {
    let work = Workspace::new();
    work.write("a", "a");
    let listed = |cache| {
        work.snapshots().before(TWO, cache, now_ns(), &mut || {}).expect("a snapshot");
        work.listing("fs-before.2.json")
    };
    let plain = listed(None);
    assert_eq!(listed(Some(ONE)), plain, "missing");
    work.before();
    work.after();
    let path = work.audit().join("fs-after.1.json");
    let whole = fs::read(&path).expect("bytes");
    for cut in [0, 10, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).expect("written");
        assert_eq!(listed(Some(ONE)), plain, "cut at {cut}");
    }
}
