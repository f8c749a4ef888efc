use std::fs;
use std::process::{Command, Stdio};

use super::*;
use crate::data_folder::DataFolder;

struct World {
    dir: tempfile::TempDir,
    run: RunFolder,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let run = DataFolder::new(dir.path()).run("019b0000-0000-7000-8000-000000000000".parse().expect("an id"));
        fs::create_dir_all(run.audit()).expect("a folder");
        fs::create_dir_all(run.workspace()).expect("a folder");
        Self { dir, run }
    }

    fn attempt(&self, number: u32, created: &[String], modified: &[String], deleted: &[String]) {
        let list = |entries: &[String]| entries.iter().map(|entry| format!("\n{entry}")).collect::<Vec<_>>().join(",");
        let text = format!(
            "{{\"attempt\":{number},\"created\":[{}\n],\"modified\":[{}\n],\"deleted\":[{}\n],\"counts\":{{}}}}\n",
            list(created),
            list(modified),
            list(deleted)
        );
        fs::write(self.run.audit().join(format!("fs-diff.{number}.json")), text).expect("written");
    }

    fn put(&self, path: &str, content: &[u8]) {
        let path = self.run.workspace().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("written");
    }

    fn patch(&self, last: u32) -> (String, PatchReport) {
        let mut out = Vec::new();
        let report = write(&self.run, 1..=last, &mut out).expect("a patch");
        (String::from_utf8(out).expect("text"), report)
    }
}

fn version(content: &[u8], mode: &str) -> String {
    let hash = blake3::hash(content).to_hex();
    format!(r#""kind":"file","mode":"{mode}","size":{},"hash":"{hash}""#, content.len())
}

fn alone(path: &str, content: &[u8]) -> String {
    format!(r#"{{"path":"{path}",{}}}"#, version(content, "0644"))
}

fn modified(path: &str, before: &[u8], after: &[u8], rest: &str) -> String {
    let (before, after) = (version(before, "0644"), version(after, "0644"));
    format!(r#"{{"path":"{path}","before":{{{before}}},"after":{{{after}}}{rest}}}"#)
}

fn git(folder: &std::path::Path, words: &[&str], input: &str) {
    let mut child = Command::new("git")
        .current_dir(folder)
        .env("GIT_CEILING_DIRECTORIES", "/")
        .args(words)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git is installed");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Two attempts with everything that git can express, applied by git itself.
#[test]
fn git_applies_the_patch_of_two_attempts() {
    let world = World::new();
    let created = [
        alone("new dir/é \\\"x\\\".txt", b"one\ntwo"),
        alone("empty", b""),
        alone("later", b"first\n"),
        alone("gone", b"x\n"),
        r#"{"path":"link","kind":"symlink","mode":"0777","target":"a.txt"}"#.to_owned(),
        r#"{"path":"new dir","kind":"folder","mode":"0755"}"#.to_owned(),
    ];
    let mode = format!(
        r#"{{"path":"tool.sh","before":{{{}}},"after":{{{}}}}}"#,
        version(b"#!\n", "0644"),
        version(b"#!\n", "0755")
    );
    let first = modified("a.txt", b"1\n2\n3\n", b"1\nTWO\n3\n", r#","diff":"@@ -1,3 +1,3 @@\n 1\n-2\n+TWO\n 3\n""#);
    let deleted = [format!(
        r#"{{"path":"old.txt",{},"diff":"@@ -1,2 +0,0 @@\n-a\n-b\n\\ No newline at end of file\n"}}"#,
        version(b"a\nb", "0644")
    )];
    world.attempt(1, &created, &[first, mode], &deleted);
    let second = modified("a.txt", b"1\nTWO\n3\n", b"1\nTWO\n4\n", r#","diff":"@@ -1,3 +1,3 @@\n 1\n TWO\n-3\n+4\n""#);
    let later = modified("later", b"first\n", b"second\n", r#","diff":"@@ -1 +1 @@\n-first\n+second\n""#);
    world.attempt(2, &[], &[second, later], &[alone("gone", b"x\n")]);
    world.put("new dir/é \"x\".txt", b"one\ntwo");
    world.put("empty", b"");
    world.put("later", b"second\n");
    let (patch, report) = world.patch(2);
    assert_eq!((report.attempts, report.omitted), (2, vec![]), "{patch}");

    let copy = world.dir.path().join("copy");
    fs::create_dir(&copy).expect("a folder");
    for (name, content) in [("a.txt", "1\n2\n3\n"), ("tool.sh", "#!\n"), ("old.txt", "a\nb")] {
        fs::write(copy.join(name), content).expect("written");
    }
    git(&copy, &["init", "--quiet"], "");
    git(&copy, &["apply", "--check", "-"], &patch);
    git(&copy, &["apply", "-"], &patch);
    let read = |name: &str| fs::read_to_string(copy.join(name)).expect(name);
    assert_eq!((read("a.txt"), read("later"), read("empty")), ("1\nTWO\n4\n".into(), "second\n".into(), String::new()));
    assert_eq!(read("new dir/é \"x\".txt"), "one\ntwo");
    assert_eq!(fs::read_link(copy.join("link")).expect("a link"), std::path::Path::new("a.txt"));
    assert!(!copy.join("old.txt").exists() && !copy.join("gone").exists());
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(copy.join("tool.sh")).expect("there").permissions());
    assert_eq!(mode & 0o111, 0o111);
}

#[test]
fn changes_without_a_text_are_named_with_the_reason() {
    let world = World::new();
    let created = [alone("changed", b"mine"), alone("binary", b"\0"), alone("missing", b"x"), alone("kept", b"ok\n")];
    let rest = [
        modified("image.png", b"1", b"2", r#","diff_omitted":"binary""#),
        modified("key.txt", b"1", b"2", r#","diff":"@@ -1 +1 @@\n-k=*\n+k=*2\n","diff_masked":true"#),
        format!(r#"{{"path":"kind","before":{{{}}},"after":{{"kind":"folder"}}}}"#, version(b"1", "0644")),
    ];
    world.attempt(1, &created, &rest, &[alone("before this was recorded", b"1")]);
    world.put("changed", b"yours");
    world.put("binary", b"\0");
    world.put("kept", b"ok\n");
    let (patch, report) = world.patch(1);
    assert_eq!(
        patch,
        "diff --git a/kept b/kept\nnew file mode 100644\n--- /dev/null\n+++ b/kept\n@@ -0,0 +1 @@\n+ok\n"
    );
    let told: Vec<String> =
        report.omitted.iter().map(|omitted| format!("{}: {}", omitted.path.as_path().display(), omitted.why)).collect();
    let expected = [
        "changed: it has changed since the run made it",
        "binary: it is binary",
        "missing: it no longer exists",
        "image.png: its text was not recorded: binary",
        "key.txt: it has a secret in it, which is masked",
        "kind: it was a file and is a folder now",
        "before this was recorded: its old content was not recorded",
    ];
    assert_eq!((told, report.files), (expected.map(str::to_owned).to_vec(), 1));
}

#[test]
fn unusual_names_are_quoted_as_git_does() {
    assert_eq!(quoted(b"a/", b"src/a-b_c.rs"), "a/src/a-b_c.rs");
    assert_eq!(quoted(b"b/", b"a b"), "\"b/a b\"");
    assert_eq!(quoted(b"b/", b"\"\\\n\xff"), "\"b/\\\"\\\\\\012\\377\"");
}
