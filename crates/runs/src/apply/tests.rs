use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use super::target::Target;
use super::*;
use crate::data_folder::DataFolder;

/// A run whose workspace is a copy of `target`.
struct World {
    dir: tempfile::TempDir,
    run: RunFolder,
    id: RunId,
    entries: [Vec<String>; 3],
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let id: RunId = "019b0000-0000-7000-8000-000000000000".parse().expect("an id");
        let run = DataFolder::new(dir.path()).run(id);
        for folder in [run.audit(), run.workspace(), dir.path().join("target")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        Self { dir, run, id, entries: [const { Vec::new() }; 3] }
    }

    fn target(&self, path: &str) -> PathBuf {
        self.dir.path().join("target").join(path)
    }

    fn put(&self, path: &str, content: &str) {
        put(&self.target(path), content);
    }

    fn created(&mut self, path: &str, content: &str) {
        put(&self.run.workspace().join(path), content);
        self.entries[0].push(format!(r#"{{"path":"{path}",{}}}"#, version(content)));
    }

    fn modified(&mut self, path: &str, before: &str, after: &str) {
        put(&self.run.workspace().join(path), after);
        let entry = format!(r#"{{"path":"{path}","before":{{{}}},"after":{{{}}}}}"#, version(before), version(after));
        self.entries[1].push(entry);
    }

    fn deleted(&mut self, path: &str, content: &str) {
        self.entries[2].push(format!(r#"{{"path":"{path}",{}}}"#, version(content)));
    }

    /// Ends an attempt.
    fn attempt(&mut self, number: u32) {
        let [created, modified, deleted] = std::mem::take(&mut self.entries)
            .map(|entries| entries.iter().map(|entry| format!("\n{entry}")).collect::<Vec<_>>().join(","));
        let text = format!(
            "{{\"attempt\":{number},\"created\":[{created}\n],\"modified\":[{modified}\n],\"deleted\":[{deleted}\n],\"counts\":{{}}}}\n",
        );
        fs::write(self.run.audit().join(format!("fs-diff.{number}.json")), text).expect("written");
    }

    fn apply_as(&self, last: u32, mode: ApplyMode) -> Result<ApplyReport, ApplyError> {
        apply_to(&self.run, self.id, last, &self.dir.path().join("target"), mode)
    }

    fn apply(&self) -> Result<ApplyReport, ApplyError> {
        self.apply_as(1, ApplyMode::Apply)
    }

    /// Every path of the target, with what is there.
    fn all(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.target("")];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let about = fs::symlink_metadata(&path).expect("there");
                let content = if about.is_dir() {
                    open.push(path.clone());
                    "folder".to_owned()
                } else if about.is_symlink() {
                    format!("-> {}", fs::read_link(&path).expect("a link").display())
                } else {
                    format!("{:o} {}", about.permissions().mode() & 0o777, fs::read_to_string(&path).expect("text"))
                };
                found.push(format!("{}: {content}", path.strip_prefix(self.target("")).expect("below").display()));
            }
        }
        found.sort();
        found
    }
}

fn put(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("written");
}

fn version(content: &str) -> String {
    let hash = blake3::hash(content.as_bytes()).to_hex();
    format!(r#""kind":"file","mode":"0644","size":{},"hash":"{hash}""#, content.len())
}

#[test]
fn changes_are_applied_once_and_found_applied_afterwards() {
    let mut world = World::new();
    world.put("a.txt", "one\n");
    world.put("old/b.txt", "b\n");
    world.put("old/ignored", "kept\n");
    world.put("tool", "#!\n");
    fs::set_permissions(world.target("a.txt"), Permissions::from_mode(0o640)).expect("a mode");
    world.modified("a.txt", "one\n", "two\0binary\n");
    world.created("new/deep/c.txt", "c\n");
    world.deleted("old/b.txt", "b\n");
    world.entries[0].push(r#"{"path":"link","kind":"symlink","mode":"0777","target":"a.txt"}"#.to_owned());
    world.entries[0].push(r#"{"path":"pipe","kind":"pipe","mode":"0644"}"#.to_owned());
    world.entries[2].push(r#"{"path":"old","kind":"folder","mode":"0755"}"#.to_owned());
    let (before, after) = (version("#!\n"), version("#!\n").replace("0644", "0755"));
    put(&world.run.workspace().join("tool"), "#!\n");
    world.entries[1].push(format!(r#"{{"path":"tool","before":{{{before}}},"after":{{{after}}}}}"#));
    world.attempt(1);
    let before = world.all();

    let checked = world.apply_as(1, ApplyMode::Check).expect("applicable");
    assert_eq!((checked.outcome, world.all()), (ApplyOutcome::Applicable, before));
    let report = world.apply().expect("applied");
    assert_eq!(report.outcome, ApplyOutcome::Applied);
    let left: Vec<String> = report.left_out.iter().map(|left| left.why.clone()).collect();
    assert_eq!(left, ["it is a pipe"]);
    let applied = world.all();
    assert_eq!(
        applied,
        [
            "a.txt: 640 two\0binary\n",
            "link: -> a.txt",
            "new/deep/c.txt: 644 c\n",
            "new/deep: folder",
            "new: folder",
            "old/ignored: 644 kept\n",
            "old: folder",
            "tool: 755 #!\n",
        ]
    );
    let again = world.apply().expect("applied before");
    assert_eq!((again.outcome, world.all()), (ApplyOutcome::AlreadyApplied, applied));
    assert!(again.changes.iter().all(|change| change.was_applied));
}

#[test]
fn one_changed_file_means_that_nothing_is_applied() {
    let mut world = World::new();
    for name in ["a", "b", "c"] {
        world.put(name, "old\n");
    }
    world.put("taken", "mine\n");
    world.modified("a", "old\n", "new\n");
    world.modified("b", "old\n", "new\n");
    world.deleted("c", "old\n");
    world.created("taken", "theirs\n");
    world.attempt(1);
    world.put("b", "changed by the user\n");
    fs::remove_file(world.target("c")).expect("removed");
    let before = world.all();
    for mode in [ApplyMode::Check, ApplyMode::Apply] {
        let error = world.apply_as(1, mode).expect_err("a conflict");
        let told = error.to_string();
        assert!(told.contains("nothing was applied, because 2 files changed in"), "{told}");
        assert!(told.contains(": b, taken; restore them, or apply to another folder"), "{told}");
        assert_eq!((error.class(), world.all()), (ErrorClass::Conflict, before.clone()));
    }
}

/// As after a process that was killed in between.
#[test]
fn half_of_the_changes_are_completed() {
    let mut world = World::new();
    world.put("a", "old\n");
    world.put("b", "old\n");
    world.modified("a", "old\n", "new\n");
    world.modified("b", "old\n", "new\n");
    world.attempt(1);
    world.put("a", "new\n");
    put(&world.target(&format!(".skillrun-apply.{}/new.1", world.id)), "half");
    let report = world.apply().expect("applied");
    let before: Vec<bool> = report.changes.iter().map(|change| change.was_applied).collect();
    assert_eq!((report.outcome, before), (ApplyOutcome::Applied, vec![true, false]));
    assert_eq!(world.all(), ["a: 644 new\n", "b: 644 new\n"]);
}

/// The last change fails, after all others were carried out.
#[test]
fn failure_on_the_way_puts_everything_back() {
    let mut world = World::new();
    world.put("a", "old\n");
    world.put("gone/x", "old\n");
    world.put("z", "a file where a folder should be\n");
    world.modified("a", "old\n", "new\n");
    world.deleted("gone/x", "old\n");
    world.entries[2].push(r#"{"path":"gone","kind":"folder","mode":"0750"}"#.to_owned());
    fs::set_permissions(world.target("gone"), Permissions::from_mode(0o750)).expect("a mode");
    world.created("made/y", "new\n");
    world.created("z/inside", "new\n");
    world.attempt(1);
    let before = world.all();
    let error = world.apply().expect_err("z is in the way");
    assert!(error.to_string().contains("nothing was applied, because z/inside cannot be written"), "{error}");
    assert_eq!(world.all(), before);
    assert_eq!(fs::metadata(world.target("gone")).expect("there").permissions().mode() & 0o777, 0o750);
}

#[test]
fn workspace_that_changed_after_the_run_is_refused() {
    let mut world = World::new();
    world.put("a", "old\n");
    world.modified("a", "old\n", "new\n");
    world.created("b", "new\n");
    world.attempt(1);
    fs::write(world.run.workspace().join("b"), "bad\n").expect("written");
    let before = world.all();
    for mode in [ApplyMode::Check, ApplyMode::Apply] {
        let error = world.apply_as(1, mode).expect_err("changed");
        assert!(error.to_string().ends_with("no longer has what the run left there: b"), "{error}");
        assert_eq!(world.all(), before);
    }
}

/// The list of changes is in a file that the engine could write.
#[test]
fn paths_out_of_the_folder_and_of_git_are_never_applied() {
    let mut world = World::new();
    let outside = world.dir.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    symlink(&outside, world.target("link")).expect("a link");
    for path in ["../escape", "/tmp/escape", ".git/hooks/post-commit", "d/.GIT/config", "d//e", "./f"] {
        world.entries[0].push(format!(r#"{{"path":"{path}",{}}}"#, version("evil\n")));
    }
    world.attempt(1);
    let report = world.apply().expect("nothing to apply");
    assert_eq!((report.outcome, report.left_out.len()), (ApplyOutcome::NothingToApply, 6));
    let mut world = World { entries: [const { Vec::new() }; 3], ..world };
    world.created("link/x", "evil\n");
    world.attempt(1);
    world.apply().expect_err("a link is in the way");
    assert_eq!(fs::read_dir(&outside).expect("a folder").count(), 0);
    assert!(!world.dir.path().join("escape").exists());
}

/// Created in the first attempt and removed in the second; changed there and back.
#[test]
fn attempts_count_together() {
    let mut world = World::new();
    world.put("kept", "one\n");
    world.put("changed", "one\n");
    world.created("temporary", "x\n");
    world.modified("kept", "one\n", "two\n");
    world.modified("changed", "one\n", "two\n");
    world.attempt(1);
    world.deleted("temporary", "x\n");
    world.modified("kept", "two\n", "one\n");
    world.modified("changed", "two\n", "three\n");
    world.attempt(2);
    let report = world.apply_as(2, ApplyMode::Apply).expect("applied");
    assert_eq!((report.changes.len(), report.outcome), (1, ApplyOutcome::Applied));
    assert_eq!(world.all(), ["changed: 644 three\n", "kept: 644 one\n"]);
}

#[test]
fn file_becomes_a_folder_and_a_folder_a_file() {
    let mut world = World::new();
    world.put("file", "x\n");
    world.put("folder/y", "y\n");
    put(&world.run.workspace().join("file/inside"), "in\n");
    put(&world.run.workspace().join("folder"), "now a file\n");
    world.entries[0].push(format!(r#"{{"path":"file/inside",{}}}"#, version("in\n")));
    world.entries[1].push(format!(r#"{{"path":"file","before":{{{}}},"after":{{"kind":"folder"}}}}"#, version("x\n")));
    let after = version("now a file\n");
    world.entries[1].push(format!(r#"{{"path":"folder","before":{{"kind":"folder"}},"after":{{{after}}}}}"#));
    world.deleted("folder/y", "y\n");
    world.attempt(1);
    // As after a process that was killed between the two steps.
    fs::remove_file(world.target("file")).expect("removed");
    assert_eq!(world.apply().expect("applied").outcome, ApplyOutcome::Applied);
    assert_eq!(world.all(), ["file/inside: 644 in\n", "file: folder", "folder: 644 now a file\n"]);
    assert_eq!(world.apply().expect("applied").outcome, ApplyOutcome::AlreadyApplied);
}

#[test]
fn two_calls_wait_for_each_other() {
    let world = World::new();
    let target = Target::open(&world.target("")).expect("a folder");
    let held = target.lock().expect("locked");
    let other = Target::open(&world.target("")).expect("a folder");
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            other.lock().expect("locked");
            sender.send(()).expect("sent");
        });
        assert!(receiver.recv_timeout(std::time::Duration::from_millis(50)).is_err(), "locked by the other one");
        drop(held);
        receiver.recv_timeout(std::time::Duration::from_secs(60)).expect("locked afterwards");
    });
}

#[test]
fn run_without_lists_of_changes_says_so() {
    let world = World::new();
    let error = world.apply().expect_err("nothing is known").to_string();
    assert!(error.contains("has no list of its changes"), "{error}");
}
