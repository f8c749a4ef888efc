use std::os::unix::net::UnixListener;
use std::process::{Command, Output};

use skillrun_model::AttemptNumber;

use super::*;
use crate::data_folder::{DataFolder, RunFolder};

/// A folder that is copied, and the place of the copy.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        for folder in ["from", "data"] {
            fs::create_dir(dir.path().join(folder)).expect("a folder");
        }
        Self { dir }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.path("from").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("written");
    }

    fn git(&self, folder: &str, words: &[&str]) -> String {
        let output = git(&self.path(folder), words);
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// A repository with one commit of these files.
    fn repository(files: &[(&str, &str)]) -> Self {
        let world = Self::new();
        for (path, content) in files {
            world.put(path, content);
        }
        world.git("from", &["init", "--quiet", "--initial-branch=main"]);
        world.commit();
        world
    }

    fn commit(&self) {
        self.git("from", &["add", "--all", "--force"]);
        self.git("from", &["commit", "--quiet", "--message=all"]);
    }

    fn copy_within(&self, limits: CopyLimits) -> Result<WorkspaceCopy, CopyError> {
        let (folder, data) = (self.path("from"), self.path("data"));
        let source = CopySource { folder: &folder, data: &data, limits };
        let measured = source.measure()?;
        let made = source.make(&self.path("copy"))?;
        assert_eq!(measured, made, "what is measured is what is copied");
        Ok(made)
    }

    fn copy(&self) -> WorkspaceCopy {
        self.copy_within(CopyLimits::default()).expect("a copy")
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path("copy").join(path)).ok()
    }
}

fn git(folder: &Path, words: &[&str]) -> Output {
    Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "protocol.file.allow=always"])
        .args(words)
        .env("GIT_CEILING_DIRECTORIES", "/")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git is installed")
}

fn left_out(copy: &WorkspaceCopy) -> Vec<String> {
    copy.left_out.iter().map(|left| format!("{}: {}", left.path.as_path().display(), left.why)).collect()
}

const IGNORES: &str = "*.log\n/out/\n!keep.log\n";

/// git says the same of the copy as of the repository: staged, modified, deleted and untracked files.
#[test]
fn copy_of_a_repository_has_its_uncommitted_state() {
    let files =
        [(".gitignore", IGNORES), ("a.txt", "a\n"), ("b.txt", "b\n"), ("d/c.txt", "c\n"), ("d/.gitignore", "x*\n")];
    let world = World::repository(&files);
    world.put("forced.log", "tracked although it is ignored\n");
    world.commit();
    world.put("a.txt", "A\n");
    world.put("b.txt", "B\n");
    world.git("from", &["add", "b.txt"]);
    world.put("b.txt", "B again\n");
    fs::remove_file(world.path("from/d/c.txt")).expect("removed");
    for path in ["new.txt", "d/new.txt", "out/build", "d/other.log", "d/xyz", "keep.log"] {
        world.put(path, "x\n");
    }
    fs::set_permissions(world.path("from/new.txt"), Permissions::from_mode(0o755)).expect("executable");
    symlink("a.txt", world.path("from/link")).expect("a link");
    let copy = world.copy();
    assert_eq!((copy.kind, left_out(&copy)), (CopiedFrom::Repository, vec![]));
    let status = world.git("from", &["status", "--porcelain"]);
    assert_eq!(world.git("copy", &["status", "--porcelain"]), status);
    for line in [" M a.txt", "MM b.txt", " D d/c.txt", "?? new.txt", "?? d/new.txt", "?? keep.log", "?? link"] {
        assert!(status.lines().any(|found| found == line), "{line} is not in {status}");
    }
    for ignored in ["out", "out/build", "d/other.log", "d/xyz", "d/c.txt"] {
        assert!(!world.path("copy").join(ignored).exists(), "{ignored}");
    }
    assert_eq!(world.read("forced.log").as_deref(), Some("tracked although it is ignored\n"));
    assert_eq!(fs::metadata(world.path("copy/new.txt")).expect("there").permissions().mode() & 0o777, 0o755);
    assert_eq!(world.git("copy", &["diff", "--cached"]), world.git("from", &["diff", "--cached"]));
    assert_eq!(world.git("copy", &["log", "--format=%H"]), world.git("from", &["log", "--format=%H"]));
}

/// New objects are in the copy, and the repository has not changed by one byte.
#[test]
fn objects_of_the_repository_are_only_read() {
    let world = World::repository(&[("a.txt", "a\n")]);
    world.git("from", &["tag", "v1"]);
    world.git("from", &["pack-refs", "--all"]);
    world.git("from", &["branch", "loose/one"]);
    let list = || {
        let output =
            Command::new("find").arg(world.path("from")).args(["-type", "f", "-printf", "%p %s %T@ %n\n"]).output();
        let mut lines: Vec<String> =
            String::from_utf8(output.expect("find").stdout).expect("text").lines().map(ToOwned::to_owned).collect();
        lines.sort();
        lines
    };
    let before = list();
    assert!(before.iter().all(|line| line.ends_with(" 1")), "{before:?}");
    world.copy();
    fs::write(world.path("copy/a.txt"), "changed\n").expect("written");
    world.git("copy", &["commit", "--quiet", "--all", "--message=in the copy"]);
    world.git("copy", &["gc", "--quiet", "--prune=now"]);
    assert_eq!(
        world.git("copy", &["rev-parse", "v1", "loose/one"]),
        world.git("from", &["rev-parse", "v1", "loose/one"])
    );
    assert_eq!(list(), before, "a hard link, or a write into the repository");
    world.git("copy", &["fsck", "--strict"]);
}

/// Everything that makes git start a program of the repository.
#[test]
fn nothing_of_a_hostile_repository_is_started_or_copied() {
    let world = World::repository(&[("a.txt", "a\n"), (".gitattributes", "* filter=evil diff=evil merge=evil\n")]);
    let ran = world.path("ran");
    let program = world.path("evil");
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $@\" >> {}\n", ran.display())).expect("written");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("executable");
    let evil = program.to_str().expect("text");
    for hook in ["post-checkout", "pre-commit", "post-commit", "post-index-change", "reference-transaction"] {
        fs::create_dir_all(world.path("from/.git/hooks")).expect("a folder");
        fs::copy(&program, world.path("from/.git/hooks").join(hook)).expect("a hook");
    }
    for setting in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.external",
        "core.gitProxy",
        "alias.status",
    ] {
        world.git("from", &["config", setting, evil]);
    }
    world.git("from", &["config", "core.hooksPath", world.path("from/.git/hooks").to_str().expect("text")]);
    world.git("from", &["config", "core.worktree", "/"]);
    world.git("from", &["config", "include.path", evil]);
    fs::write(world.path("from/.git/objects/info/alternates"), "/nowhere/objects\n").expect("written");
    fs::remove_file(&ran).ok();
    world.copy();
    assert!(!ran.exists(), "a copy starts no program");
    assert!(!world.path("copy/.git/hooks").exists());
    fs::write(world.path("copy/a.txt"), "changed\n").expect("written");
    let status = world.git("copy", &["status", "--porcelain"]);
    world.git("copy", &["commit", "--quiet", "--all", "--message=x"]);
    world.git("copy", &["checkout", "--quiet", "-b", "other"]);
    assert_eq!((ran.exists(), status.as_str()), (false, " M a.txt\n"));
}

/// A working folder of a repository elsewhere has a file in the place of `.git`.
#[test]
fn linked_working_folder_is_copied_with_a_repository_of_its_own() {
    let world = World::repository(&[("a.txt", "a\n")]);
    world.git("from", &["worktree", "add", "--quiet", "../linked", "-b", "side"]);
    let (folder, data) = (world.path("linked"), world.path("data"));
    fs::write(folder.join("b.txt"), "b\n").expect("written");
    let source = CopySource { folder: &folder, data: &data, limits: CopyLimits::default() };
    source.make(&world.path("copy")).expect("a copy");
    assert!(world.path("copy/.git").is_dir());
    assert_eq!(world.git("copy", &["status", "--porcelain", "--branch"]), "## side\n?? b.txt\n");
}

#[test]
fn other_repositories_inside_are_copied_as_plain_files() {
    let world = World::repository(&[("a.txt", "a\n")]);
    world.put("nested/b.txt", "b\n");
    world.git("from/nested", &["init", "--quiet"]);
    let copy = world.copy();
    assert_eq!(left_out(&copy), ["nested/.git: it belongs to another repository"]);
    assert_eq!(world.read("nested/b.txt").as_deref(), Some("b\n"));
}

#[test]
fn folder_without_git_is_copied_with_every_file_but_special_ones() {
    let world = World::new();
    world.put(".gitignore", "*.log\n");
    world.put("a.log", "copied\n");
    world.put("d/b.txt", "b\n");
    world.put(".claude/settings.json", "{}");
    world.put(".audit/chunks", "x");
    fs::create_dir(world.path("from/empty")).expect("a folder");
    let links = [
        ("in", "d/b.txt"),
        ("d/up", "../a.log"),
        ("out", "../../etc"),
        ("absolute", "/etc/passwd"),
        ("d/far", "../../x"),
    ];
    for (link, target) in links {
        symlink(target, world.path("from").join(link)).expect("a link");
    }
    let _socket = UnixListener::bind(world.path("from/socket")).expect("a socket");
    let copy = world.copy();
    assert_eq!((copy.kind, copy.files, copy.left_out_count), (CopiedFrom::Folder, 5, 4));
    assert_eq!(
        left_out(&copy),
        [
            "absolute: it is a link that leads out of the folder",
            "d/far: it is a link that leads out of the folder",
            "out: it is a link that leads out of the folder",
            "socket: it is not a file, a folder or a link",
        ]
    );
    assert_eq!(world.read("a.log").as_deref(), Some("copied\n"));
    assert_eq!(world.read("d/up").as_deref(), Some("copied\n"));
    assert!(world.path("copy/empty").is_dir());
    for gone in [".claude", ".audit", "out", "absolute", "d/far", "socket"] {
        fs::symlink_metadata(world.path("copy").join(gone)).expect_err(gone);
    }
}

#[test]
fn settings_of_engines_are_copied_if_git_tracks_them() {
    let world = World::repository(&[(".claude/commands/x.md", "x\n"), ("a.txt", "a\n")]);
    world.put(".claude/settings.local.json", "{}");
    world.copy();
    assert_eq!(world.read(".claude/commands/x.md").as_deref(), Some("x\n"));
    assert_eq!(world.read(".claude/settings.local.json"), None);
}

/// Otherwise each copy would have all earlier ones in it.
#[test]
fn data_folder_inside_is_not_copied() {
    let world = World::new();
    world.put("data/runs/x", "x");
    world.put("a.txt", "a\n");
    let (folder, data) = (world.path("from"), world.path("from/data"));
    let source = CopySource { folder: &folder, data: &data, limits: CopyLimits::default() };
    let copy = source.make(&data.join("copy")).expect("a copy");
    assert_eq!((copy.files, left_out(&copy)), (1, vec!["data: it is the data folder of skillrun".to_owned()]));
}

#[test]
fn folder_beyond_the_limits_is_refused_with_what_to_do() {
    let world = World::new();
    for number in 0..10 {
        world.put(&format!("{number}"), "12345");
    }
    let told = |entries, bytes| world.copy_within(CopyLimits { entries, bytes }).expect_err("refused").to_string();
    let many = told(9, 1_000);
    assert!(many.contains("has more than 9 files and folders that would be copied"), "{many}");
    assert!(many.contains("use the workspace shared, or own with what the task needs in its prompt"), "{many}");
    assert!(told(10, 49).contains("has more than 49 bytes that would be copied"));
    assert!(!world.path("copy").exists(), "nothing is written");
    world.copy_within(CopyLimits { entries: 10, bytes: 50 }).expect("exactly the limit");
}

/// A file may be longer than its entry said.
#[test]
fn file_that_grows_while_it_is_copied_does_not_exceed_the_limit() {
    let world = World::new();
    world.put("a", "123456");
    let file = || File::open(world.path("from/a")).expect("a file");
    assert_eq!(copy_file(file(), &world.path("one"), 5).expect("copied"), None);
    assert_eq!(copy_file(file(), &world.path("two"), 6).expect("copied"), Some(6));
}

#[test]
fn folders_that_are_nested_too_deep_are_refused() {
    let world = World::new();
    world.put(&format!("{}x", "d/".repeat(70)), "x");
    let error = world.copy_within(CopyLimits::default()).expect_err("refused").to_string();
    assert!(error.contains("nested too deep for a copy; use the workspace shared or own"), "{error}");
}

#[test]
fn damaged_repository_is_refused_or_copied_as_a_folder() {
    let world = World::repository(&[("a.txt", "a\n")]);
    fs::write(world.path("from/.git/index"), "DIRC\0\0\0\x02\0\0\0\x09short").expect("written");
    let error = world.copy_within(CopyLimits::default()).expect_err("refused").to_string();
    assert!(error.contains("its repository cannot be copied, because its index is damaged"), "{error}");
    fs::write(world.path("from/.git/HEAD"), "ref: /etc/passwd\n").expect("written");
    let copy = world.copy();
    assert_eq!(
        (copy.kind, left_out(&copy)),
        (CopiedFrom::Folder, vec![".git: it is not a repository that can be read".to_owned()])
    );
}

/// Every version that git writes, with names longer than its length field.
#[test]
fn index_of_each_version_has_the_tracked_paths() {
    let long = format!("{}/{}", "n".repeat(200), "m".repeat(200));
    let deep = format!("{}{long}", format!("{}/", "k".repeat(250)).repeat(15));
    let world = World::repository(&[("a", "a\n"), ("ab/c", "c\n"), ("ab/cd", "d\n"), (&long, "long\n")]);
    // Too long for a path of the kernel, but not for the index.
    let hash = world.git("from", &["hash-object", "-w", "a"]);
    let entry = format!("100644,{},{deep}", hash.trim());
    world.git("from", &["update-index", "--add", "--cacheinfo", &entry]);
    for version in ["2", "3", "4"] {
        if version == "3" {
            world.git("from", &["update-index", "--skip-worktree", "a"]);
        }
        let version = if version == "3" { "2" } else { version };
        world.git("from", &["update-index", "--index-version", version]);
        let bytes = fs::read(world.path("from/.git/index")).expect("an index");
        let found = index::paths(&bytes, 20).expect("paths");
        let listed = world.git("from", &["ls-files", "-z"]);
        let listed: std::collections::BTreeSet<Vec<u8>> =
            listed.split_terminator('\0').map(|path| path.as_bytes().to_vec()).collect();
        assert_eq!(found, listed, "version {version}");
        for cut in 0..bytes.len().min(600) {
            index::paths(&bytes[..cut], 20).ok();
        }
    }
    world.git("from", &["update-index", "--split-index"]);
    let bytes = fs::read(world.path("from/.git/index")).expect("an index");
    assert!(index::paths(&bytes, 20).expect_err("split").contains("--no-split-index"));
}

/// A run whose only attempt has changed a text and a picture.
fn changed_run(world: &World) -> (RunFolder, RunId) {
    let id: RunId = "019b0000-0000-7000-8000-00000000abcd".parse().expect("an id");
    let run = DataFolder::new(world.path("data")).run(id);
    fs::create_dir_all(run.audit()).expect("a folder");
    fs::create_dir_all(run.workspace()).expect("a folder");
    let text = r#"{"path":"a.txt","before":{"kind":"file","hash":"1"},"after":{"kind":"file","hash":"2"},"diff":"@@ -1 +1 @@\n-a\n+b\n"}"#;
    let picture = r#"{"path":"x\ny.png","before":{"kind":"file","hash":"1"},"after":{"kind":"file","hash":"2"},"diff_omitted":"binary"}"#;
    let list = format!(
        "{{\"attempt\":1,\"created\":[\n],\"modified\":[\n{text},\n{picture}\n],\"deleted\":[\n],\"counts\":{{}}}}\n"
    );
    fs::write(run.audit().join("fs-diff.1.json"), list).expect("written");
    (run, id)
}

#[test]
fn patch_names_what_it_lacks_where_git_does_not_read_it() {
    let world = World::repository(&[("a.txt", "a\n")]);
    let (run, id) = changed_run(&world);
    fs::create_dir(run.workspace().join("artifacts")).expect("a folder");
    // Left by an owner that was killed.
    fs::write(run.workspace().join("artifacts/.changes-00000000abcd.patch.part"), "half").expect("written");
    for last in [1, 1] {
        let (created, indexed) = write_patch(&run, id, AttemptNumber(last)).expect("written").expect("a patch");
        assert_eq!((&*created.path, &*indexed.path), ("artifacts/changes-00000000abcd.patch", &*created.path));
        let file = run.workspace().join(&indexed.path);
        let text = fs::read_to_string(&file).expect("a file");
        assert_eq!(
            (indexed.size, indexed.hash),
            (text.len() as u64, blake3::hash(text.as_bytes()).to_hex().to_string())
        );
        assert!(
            text.ends_with("applies those that are files:\n#   x\u{fffd}y.png: its text was not recorded: binary\n"),
            "{text}"
        );
        world.git("from", &["apply", "--check", file.to_str().expect("text")]);
    }
    assert_eq!(fs::read_dir(run.workspace().join("artifacts")).expect("a folder").count(), 1);
}

/// The engine may have put a link in its place.
#[test]
fn patch_is_not_written_through_a_link() {
    let world = World::new();
    let (run, id) = changed_run(&world);
    symlink(world.path("from"), run.workspace().join("artifacts")).expect("a link");
    write_patch(&run, id, AttemptNumber(1)).expect_err("a link");
    assert_eq!(fs::read_dir(world.path("from")).expect("a folder").count(), 0);
}

/// A commit of everything has nothing of skillrun in it.
#[test]
fn what_skillrun_adds_to_a_copy_is_ignored_by_its_repository() {
    let world = World::repository(&[("a.txt", "a\n")]);
    fs::write(world.path("from/.git/info/exclude"), "private").expect("written");
    world.copy();
    for path in [".agents/skills/x/SKILL.md", "artifacts/changes-00000000abcd.patch", "private"] {
        let path = world.path("copy").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, "x").expect("written");
    }
    assert_eq!(world.git("copy", &["status", "--porcelain"]), "");
}

#[test]
fn ignored_files_are_found_path_by_path() {
    let world = World::repository(&[(".gitignore", IGNORES), ("d/.gitignore", "x*\n!xkept\n")]);
    fs::write(world.path("from/.git/info/exclude"), "private\n").expect("written");
    let mut ignored = IgnoredFiles::of(&world.path("from")).expect("a folder");
    let names =
        ["a.log", "keep.log", "out/x/y", "d/out/x", "d/xyz", "d/xkept", "d/e/xyz", "e/xyz", "d/private/x", "a.txt"];
    for name in names {
        world.put(name, "");
        let said = git(&world.path("from"), &["check-ignore", "--quiet", "--no-index", name]).status.success();
        assert_eq!(ignored.contains(name.as_bytes()), said, "{name}");
    }
}
