use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor as Bytes, Read};
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use skillrun_collect::Secrets;
use skillrun_evidence::Patterns;
use skillrun_log::{Durability, Seq};
use skillrun_model::rasp::data::{Diagnostic, RunCanceled};
use skillrun_model::rasp::{ControlData, Event};
use skillrun_model::{Code, EngineName, Timestamp};
use tempfile::TempDir;
use zip::ZipArchive;

use super::*;

const ID: &str = "0192f0c1-2d3e-7f40-8123-456789abcdef";

/// The folder of a run that is over.
struct World {
    _dir: TempDir,
    run: RunFolder,
}

impl World {
    fn new(artifacts: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let run = RunFolder::at(dir.path().join(ID));
        fs::create_dir_all(run.audit().join("blobs")).expect("a folder");
        fs::create_dir_all(run.workspace().join("artifacts")).expect("a folder");
        let world = Self { _dir: dir, run };
        let listed = |(path, text): &(&str, &str)| {
            let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
            json!({"path": path, "size": text.len(), "hash": hash, "type": "text/plain", "role": null})
        };
        let mut result = testkit::run_files::run_result(ID, "succeeded");
        result["artifacts"] = artifacts.iter().map(listed).collect();
        world.file("result.json", result.to_string().as_bytes());
        world
    }

    fn file(&self, path: &str, bytes: &[u8]) {
        let path = self.run.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }

    /// Two attempts, with a secret on each stream.
    fn with_evidence(self) -> Self {
        self.file("run.json", br#"{"request":{"input":{"password":"hunter22"}}}"#);
        self.file("events.jsonl", b"{\"seq\":1}\n");
        self.file("fcmp.jsonl", b"fcmp\n");
        for n in [1, 2] {
            self.file(&format!(".audit/stdout.{n}.log"), b"out hunter22 out\n");
            self.file(&format!(".audit/stderr.{n}.log"), b"err hunter22\nnever recorded hunter22");
            self.file(&format!(".audit/redact.{n}.jsonl"), REDACT);
            self.file(&format!(".audit/chunks.{n}.jsonl"), CHUNKS);
            self.file(&format!(".audit/meta.{n}.json"), b"{}");
            self.file(&format!(".audit/stdin.{n}.log"), b"my password is hunter22\n");
            self.file(&format!(".audit/claim.{n}"), b"");
            self.file(&format!(".audit/fs-diff.{n}.json"), b"{}");
        }
        self.file(".audit/blobs/00ff", b"large output");
        self.file(".audit/blobs/text.1.pack", b"unmasked hunter22");
        self.file(".audit/planted.sh", b"hunter22");
        self
    }

    fn write(&self, kind: BundleKind) -> (Summary, Vec<u8>) {
        let mut out = Bytes::new(Vec::new());
        let hidden = Hidden::new(Patterns::default(), Secrets::new([b"hunter22".as_slice()]));
        let contents = match kind {
            BundleKind::Result => Contents::Result,
            BundleKind::Full => Contents::Full(&hidden),
        };
        let summary = write(&self.run, contents, &mut out).expect("written");
        (summary, out.into_inner())
    }

    fn entries(&self, kind: BundleKind) -> (Summary, BTreeMap<String, Vec<u8>>) {
        let (summary, bytes) = self.write(kind);
        let mut archive = ZipArchive::new(Bytes::new(bytes)).expect("a zip");
        let mut entries = BTreeMap::new();
        for at in 0..archive.len() {
            let mut entry = archive.by_index(at).expect("an entry");
            let mut content = Vec::new();
            entry.read_to_end(&mut content).expect("its content");
            entries.insert(entry.name().expect("text").into_owned(), content);
        }
        let manifest: Value = serde_json::from_slice(&entries["MANIFEST.json"]).expect("JSON");
        assert_eq!(manifest, serde_json::to_value(&summary).expect("JSON"));
        for file in &summary.files {
            let content = &entries[&file.name];
            let expected = (file.size, file.hash.as_str());
            assert_eq!((content.len() as u64, blake3::hash(content).to_hex().as_str()), expected);
        }
        assert_eq!(summary.files.len() + 1, entries.len(), "the manifest lists everything but itself");
        (summary, entries)
    }
}

const REDACT: &[u8] = b"{\"stream\":\"stdout\",\"from\":4,\"to\":12}\n{\"stream\":\"stderr\",\"from\":4,\"to\":12}\n";
const CHUNKS: &[u8] = b"{\"i\":0,\"t_ns\":1,\"stream\":\"stdout\",\"from\":0,\"to\":17}\n{\"i\":1,\"t_ns\":2,\"stream\":\"stderr\",\"from\":0,\"to\":13}\n";

#[test]
fn a_result_has_its_artifacts_and_nothing_else() {
    let world = World::new(&[("artifacts/a.md", "made"), ("out/b.txt", "b")]).with_evidence();
    world.file("workspace/artifacts/a.md", b"made");
    world.file("workspace/out/b.txt", b"b");
    world.file("workspace/other.txt", b"no artifact");
    let (summary, entries) = world.entries(BundleKind::Result);
    let names: Vec<&str> = entries.keys().map(String::as_str).collect();
    assert_eq!(names, ["MANIFEST.json", "result.json", "workspace/artifacts/a.md", "workspace/out/b.txt"]);
    assert_eq!(entries["workspace/artifacts/a.md"], b"made");
    assert_eq!((summary.changed, summary.left_out), (vec![], vec![]));
}

#[test]
fn a_full_one_has_the_evidence_and_no_secret() {
    let world = World::new(&[]).with_evidence();
    let (summary, entries) = world.entries(BundleKind::Full);
    let names: Vec<&str> = entries.keys().map(String::as_str).collect();
    let wanted = [
        ".audit/blobs/00ff",
        ".audit/chunks.1.jsonl",
        ".audit/chunks.2.jsonl",
        ".audit/fs-diff.1.json",
        ".audit/fs-diff.2.json",
        ".audit/meta.1.json",
        ".audit/meta.2.json",
        ".audit/redact.1.jsonl",
        ".audit/redact.2.jsonl",
        ".audit/stderr.1.log",
        ".audit/stderr.2.log",
        ".audit/stdout.1.log",
        ".audit/stdout.2.log",
        "MANIFEST.json",
        "events.jsonl",
        "fcmp.jsonl",
        "result.json",
        "run.json",
        "stderr.txt",
        "stdout.txt",
    ];
    assert_eq!(names, wanted);
    assert_eq!(entries[".audit/stdout.1.log"], b"out ******** out\n", "as long as it was");
    assert_eq!(entries[".audit/stderr.2.log"], b"err ********\n", "what has no record has no mask");
    assert_eq!(entries["stdout.txt"], b"out ******** out\nout ******** out\n");
    assert_eq!(entries["stderr.txt"], b"err ********\nerr ********\n");
    let leaks = entries.iter().filter(|(_, content)| content.windows(8).any(|bytes| bytes == b"hunter22"));
    assert_eq!(leaks.map(|(name, _)| name).collect::<Vec<_>>(), Vec::<&String>::new());
    let left_out: Vec<&str> = summary.left_out.iter().map(|left| left.name.as_str()).collect();
    assert_eq!(left_out, [".audit/planted.sh", ".audit/stdin.1.log", ".audit/stdin.2.log"]);
    let on_disk = fs::read(world.run.audit().join("stdout.1.log")).expect("evidence");
    assert_eq!(on_disk, b"out hunter22 out\n", "the files keep the truth");
}

#[test]
fn a_terminal_alone_is_stdout() {
    let world = World::new(&[]);
    world.file(".audit/pty-output.1.log", b"out hunter22 out\n");
    world.file(".audit/redact.1.jsonl", b"{\"stream\":\"pty\",\"from\":4,\"to\":12}\n");
    let (_, entries) = world.entries(BundleKind::Full);
    assert_eq!(entries[".audit/pty-output.1.log"], b"out ******** out\n");
    assert_eq!(entries["stdout.txt"], b"out ******** out\n");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let make = || {
        let world = World::new(&[("artifacts/a.md", "made")]).with_evidence();
        world.file("workspace/artifacts/a.md", b"made");
        let (_, bytes) = world.write(BundleKind::Full);
        assert_eq!(world.write(BundleKind::Full).1, bytes);
        bytes
    };
    let first = make();
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert_eq!(make(), first, "in another folder and at another time");
}

#[test]
fn changed_or_missing_artifacts_are_reported() {
    let world = World::new(&[("artifacts/a", "then"), ("artifacts/b", "then"), ("artifacts/c", "c")]);
    world.file("workspace/artifacts/a", b"now");
    world.file("workspace/artifacts/c", b"c");
    let (summary, entries) = world.entries(BundleKind::Result);
    assert_eq!(summary.changed, ["workspace/artifacts/a"]);
    assert!(!entries.contains_key("workspace/artifacts/a") && entries["workspace/artifacts/c"] == b"c");
    let left_out = |path: &str, why: &str| LeftOut { name: format!("workspace/{path}"), why: why.to_owned() };
    let changed = left_out("artifacts/a", "it has changed since the run made it");
    assert_eq!(summary.left_out, [changed, left_out("artifacts/b", "it no longer exists")]);
}

/// Pitfall 26: artifact paths that leave the run.
#[test]
fn nothing_gets_in_or_out_by_its_path() {
    let hostile = [
        "../result.json",
        "/etc/passwd",
        "artifacts/../../result.json",
        "a\\..\\..\\b",
        "C:/windows",
        "link",
        "up/result.json",
        "pipe",
        "folder",
        "a//b",
        "",
        "line\nbreak",
        "twice",
        "twice",
    ];
    let listed: Vec<(&str, &str)> = hostile.iter().map(|path| (*path, "x")).collect();
    let world = World::new(&listed);
    let workspace = world.run.workspace();
    symlink("/etc/passwd", workspace.join("link")).expect("a link");
    symlink(world.run.root(), workspace.join("up")).expect("a link");
    fs::create_dir(workspace.join("folder")).expect("a folder");
    fs::write(workspace.join("a\\..\\..\\b"), "x").expect("a file");
    fs::write(workspace.join("line\nbreak"), "x").expect("a file");
    fs::write(workspace.join("twice"), "x").expect("a file");
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, workspace.join("pipe"), rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
    let (summary, entries) = world.entries(BundleKind::Result);
    let names: Vec<&str> = entries.keys().map(String::as_str).collect();
    assert_eq!(names, ["MANIFEST.json", "result.json", "workspace/twice"]);
    assert_eq!(summary.left_out.len(), hostile.len() - 1, "{:?}", summary.left_out);
}

/// An agent may call anything an artifact, and a workspace may be a user's HOME.
#[test]
fn a_login_is_never_packed() {
    let world = World::new(&[(".codex/auth.json", "token"), ("x/.codex/auth.json", "token"), ("auth.json", "mine")]);
    for path in [".codex/auth.json", "x/.codex/auth.json"] {
        world.file(&format!("workspace/{path}"), b"token");
    }
    world.file("workspace/auth.json", b"mine");
    let mut out = Bytes::new(Vec::new());
    let summary = write(&world.run, Contents::Result, &mut out).expect("a bundle");
    let names: Vec<&str> = summary.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["result.json", "workspace/auth.json"]);
    assert_eq!(summary.left_out.len(), 2, "{:?}", summary.left_out);
}

#[test]
fn links_in_the_folder_of_the_run_are_not_followed() {
    let world = World::new(&[]).with_evidence();
    for name in ["events.jsonl", ".audit/meta.1.json", ".audit/blobs/00ff"] {
        fs::remove_file(world.run.root().join(name)).expect("removed");
        symlink("/etc/passwd", world.run.root().join(name)).expect("a link");
    }
    let (summary, entries) = world.entries(BundleKind::Full);
    assert!(!entries.contains_key("events.jsonl") && !entries.contains_key(".audit/meta.1.json"));
    assert!(!entries.contains_key(".audit/blobs/00ff"));
    assert!(summary.left_out.iter().any(|left| left.name == "events.jsonl"), "{:?}", summary.left_out);
}

#[test]
fn a_workspace_that_is_the_users_folder_is_read() {
    let world = World::new(&[("a.txt", "made")]);
    let users = world.run.root().with_file_name("users");
    fs::create_dir(&users).expect("a folder");
    fs::write(users.join("a.txt"), "made").expect("a file");
    fs::remove_dir_all(world.run.workspace()).expect("removed");
    symlink(&users, world.run.workspace()).expect("a link");
    assert_eq!(world.entries(BundleKind::Result).1["workspace/a.txt"], b"made");
}

#[test]
fn without_a_result_there_is_only_a_full_one() {
    let world = World::new(&[]).with_evidence();
    fs::remove_file(world.run.result()).expect("removed");
    let error = write(&world.run, Contents::Result, &mut Bytes::new(Vec::new())).expect_err("not over");
    assert!(matches!(error, BundleError::NoResult), "{error}");
    let (_, entries) = world.entries(BundleKind::Full);
    assert!(entries.contains_key("events.jsonl") && !entries.contains_key("result.json"));
}

#[test]
fn a_run_without_evidence_is_exported_all_the_same() {
    let world = World::new(&[]);
    fs::remove_dir_all(world.run.audit()).expect("removed");
    assert!(world.entries(BundleKind::Full).1["stdout.txt"].is_empty());
    world.file(".audit/meta.1.json", b"{}");
    world.file(".audit/removed.json", b"{}");
    let (_, entries) = world.entries(BundleKind::Full);
    assert!(entries.contains_key(".audit/removed.json"), "retention left a note");
}

#[test]
fn a_conversation_that_is_not_stored_is_translated() {
    let world = World::new(&[]);
    let (log, run) = log_of(&world.run).expect("a Log");
    log.create(run).expect("created");
    let warning = || ControlData::ParserWarning(Diagnostic::new(Code::UnknownEvent, "x".repeat(1 << 20)));
    let end = ControlData::RunCanceled(RunCanceled { reason_code: Code::Canceled, by: None });
    let all = (0..9).map(|_| warning()).chain([end]).zip(1..);
    let engine = || EngineName::new("scripted");
    let events: Vec<_> = all.map(|(data, seq)| Event::control(run, seq, Timestamp::EPOCH, engine(), data)).collect();
    log.append(run, Seq(1), &events, Durability::Derived).expect("appended");
    let (_, entries) = world.entries(BundleKind::Full);
    let conversation = String::from_utf8(entries["fcmp.jsonl"].clone()).expect("text");
    let last: Value = serde_json::from_str(conversation.lines().last().expect("a line")).expect("JSON");
    assert_eq!((conversation.lines().count(), &last["type"]), (10, &json!("conversation.canceled")));
    fs::write(world.run.fcmp(), "stored\n").expect("written");
    assert_eq!(world.entries(BundleKind::Full).1["fcmp.jsonl"], b"stored\n");
}

#[test]
fn a_full_disk_is_reported() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Seek for Full {
        fn seek(&mut self, _: io::SeekFrom) -> io::Result<u64> {
            Ok(0)
        }
    }
    write(&World::new(&[]).run, Contents::Result, &mut Full).expect_err("full");
}
