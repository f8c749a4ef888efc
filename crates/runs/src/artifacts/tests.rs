use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::json;
use skillrun_model::rasp::data::PreviewKind;
use tempfile::TempDir;

use super::*;

/// A workspace and the list of its changes.
struct World {
    dir: TempDir,
    created: Vec<Value>,
    modified: Vec<Value>,
    deleted: Vec<Value>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join("workspace/artifacts")).expect("a workspace");
        Self { dir, created: Vec::new(), modified: Vec::new(), deleted: Vec::new() }
    }

    fn workspace(&self) -> PathBuf {
        self.dir.path().join("workspace")
    }

    /// A file that exists and is in no list.
    fn file(&self, path: &str, text: &str) {
        let path = self.workspace().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn created(mut self, path: &str, text: &str) -> Self {
        self.file(path, text);
        self.created.push(version(Some(path), text));
        self
    }

    fn modified(mut self, path: &str, text: &str) -> Self {
        self.file(path, text);
        self.modified.push(json!({"path": path, "before": version(None, "old"), "after": version(None, text)}));
        self
    }

    fn deleted(mut self, path: &str) -> Self {
        self.deleted.push(version(Some(path), "old"));
        self
    }

    fn diff(&self) -> PathBuf {
        self.dir.path().join("fs-diff.1.json")
    }

    /// The list, as the host writes it.
    fn write_diff(&self) {
        let part = |entries: &[Value]| entries.iter().map(|e| format!("\n{e}")).collect::<Vec<_>>().join(",");
        let (created, modified, deleted) = (part(&self.created), part(&self.modified), part(&self.deleted));
        let counts = json!({"created": self.created.len()});
        let text = format!(
            "{{\"attempt\":1,\"created\":[{created}\n],\"modified\":[{modified}\n],\"deleted\":[{deleted}\n],\"counts\":{counts},\"limited\":false,\"truncated\":false}}\n"
        );
        serde_json::from_str::<Value>(&text).expect("JSON, as the host writes it");
        fs::write(self.diff(), text).expect("written");
    }

    fn found(&self, output: Option<Value>, rules: &[ArtifactRule]) -> AttemptArtifacts {
        self.write_diff();
        let output = output.map(|output| output.as_object().expect("an object").clone());
        artifacts(&self.workspace(), &self.diff(), output.as_ref(), rules, &[])
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

fn version(path: Option<&str>, text: &str) -> Value {
    let mut version = json!({"kind": "file", "mode": "0644", "size": text.len(), "mtime_ns": 1, "hash": hash(text)});
    if let Some(path) = path {
        version["path"] = json!(path);
    }
    version
}

fn rule(pattern: &str) -> ArtifactRule {
    ArtifactRule { pattern: pattern.into(), role: None, media_type: None, required: false }
}

fn paths_and_changes(found: &AttemptArtifacts) -> Vec<(&str, &str)> {
    found.artifacts.iter().map(|(created, _)| (created.path.as_str(), created.change.as_str())).collect()
}

#[test]
fn only_files_below_the_folder_are_artifacts() {
    let world = World::new()
        .created("artifacts/new.md", "# x")
        .modified("artifacts/a/old.csv", "1,2")
        .deleted("artifacts/gone.txt")
        .created("src/main.rs", "fn main() {}")
        .created("artifactsy/x", "")
        .deleted("src/gone.rs");
    let found = world.found(None, &[]);
    let wanted =
        [("artifacts/a/old.csv", "modified"), ("artifacts/gone.txt", "deleted"), ("artifacts/new.md", "created")];
    assert_eq!(paths_and_changes(&found), wanted);
    assert_eq!((found.cut, found.skipped, found.problems), (false, vec![], vec![]));
    let (_, indexed) = &found.artifacts[2];
    let markdown = ArtifactIndexed {
        path: "artifacts/new.md".into(),
        size: 3,
        hash: hash("# x"),
        media_type: "text/markdown".into(),
        role: None,
    };
    assert_eq!(*indexed, Some(markdown));
    assert_eq!(found.artifacts[1].1, None, "nothing is known of a file that is gone");
}

/// A workflow requires such files, wherever they are.
#[test]
fn files_that_the_request_names_are_artifacts() {
    let world = World::new().created("out/a.md", "a").created("out/b.md", "b").deleted("out/gone.md");
    world.write_diff();
    world.file("before.md", "unchanged");
    let wanted = ["out/a.md", "out/gone.md", "before.md", "none.md"].map(str::to_owned);
    let found = artifacts(&world.workspace(), &world.diff(), None, &[], &wanted);
    assert_eq!(paths_and_changes(&found), [("before.md", "created"), ("out/a.md", "created")]);
    assert_eq!(found.artifacts[0].1.as_ref().map(|indexed| indexed.hash.clone()), Some(hash("unchanged")));
}

#[test]
fn the_hash_of_the_list_is_taken_as_it_is() {
    let world = World::new().created("artifacts/a", "then");
    world.file("artifacts/a", "changed since");
    let (_, indexed) = &world.found(None, &[]).artifacts[0];
    assert_eq!(indexed.as_ref().map(|i| i.hash.clone()), Some(hash("then")));
}

#[test]
fn a_file_beyond_the_limits_of_the_list_is_read_here() {
    let mut world = World::new().created("artifacts/a", "text");
    world.created[0].as_object_mut().expect("an entry").remove("hash");
    let (_, indexed) = &world.found(None, &[]).artifacts[0];
    assert_eq!(indexed.as_ref().map(|i| (i.size, i.hash.clone())), Some((4, hash("text"))));
}

#[test]
fn a_file_that_is_too_large_to_be_read_has_no_index() {
    let mut world = World::new().created("artifacts/huge", "");
    world.created[0].as_object_mut().expect("an entry").remove("hash");
    let file = fs::File::create(world.workspace().join("artifacts/huge")).expect("a file");
    file.set_len(HASHED_HERE + 1).expect("a sparse file");
    let found = world.found(None, &[]);
    assert_eq!(paths_and_changes(&found), [("artifacts/huge", "created")]);
    assert_eq!((found.artifacts[0].1.is_none(), found.problems.len()), (true, 1));
}

#[test]
fn what_the_output_names_is_an_artifact() {
    let world = World::new()
        .created("report.md", "r")
        .modified("deep/x.csv", "x")
        .created("other.md", "o")
        .created("artifacts/inner.md", "i");
    world.file("input.txt", "was there");
    world.file("artifacts/earlier.md", "of an earlier attempt");
    let absolute = world.workspace().join("abs.txt");
    world.file("abs.txt", "a");
    let output = json!({
        "report": "./report.md",
        "list": [{"deep": "deep/x.csv"}, 7, null, true, "no such file", "input.txt"],
        "absolute": absolute.to_str(),
        "named as the prompt asks": "earlier.md",
        "text": "I wrote\nreport.md",
    });
    let found = world.found(Some(output), &[]);
    let paths: Vec<&str> = paths_and_changes(&found).into_iter().map(|(path, _)| path).collect();
    let wanted = ["abs.txt", "artifacts/earlier.md", "artifacts/inner.md", "deep/x.csv", "input.txt", "report.md"];
    assert_eq!(paths, wanted);
    assert!(found.artifacts.iter().all(|(_, indexed)| indexed.is_some()));
}

/// The workspace of a run in a folder of the user's is a link; engines report the name they find.
#[test]
fn the_workspace_may_be_a_link_and_is_known_under_both_names() {
    let world = World::new();
    world.file("a.txt", "a");
    world.file("b.txt", "b");
    let link = world.dir.path().join("link");
    symlink(world.workspace(), &link).expect("a link");
    let real = world.workspace().canonicalize().expect("a path");
    let output = json!({"a": link.join("a.txt").to_str(), "b": real.join("b.txt").to_str()});
    world.write_diff();
    let found = artifacts(&link, &world.diff(), output.as_object(), &[], &[]);
    assert_eq!(paths_and_changes(&found), [("a.txt", "created"), ("b.txt", "created")]);
}

#[test]
fn an_output_cannot_name_what_is_outside() {
    let world = World::new();
    let secret = world.dir.path().join("secret.txt");
    fs::write(&secret, "precious").expect("a file");
    symlink(&secret, world.workspace().join("link.txt")).expect("a link");
    symlink(world.dir.path(), world.workspace().join("up")).expect("a link");
    world.file(".git/config", "x");
    // What a path would mean if its `..` were left out.
    world.file("secret.txt", "decoy");
    world.file("artifacts/secret.txt", "decoy");
    fs::create_dir(world.workspace().join("folder")).expect("a folder");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        world.workspace().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("a pipe");
    let names = [
        "../secret.txt",
        "artifacts/../../secret.txt",
        secret.to_str().expect("a path"),
        "link.txt",
        "up/secret.txt",
        "/etc/passwd",
        ".git/config",
        "folder",
        "pipe",
        ".",
        "",
        "/",
        "a\0b",
    ];
    let inside_and_out = format!("{}/../secret.txt", world.workspace().display());
    let output = json!({"names": names, "more": inside_and_out});
    let found = world.found(Some(output), &[]);
    assert_eq!(found.artifacts, []);
}

#[test]
fn an_output_of_any_size_is_looked_at_up_to_a_bound() {
    let world = World::new();
    world.file("last.txt", "x");
    let mut deep = json!("last.txt");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let found = world.found(Some(json!({"deep": deep})), &[]);
    assert_eq!(paths_and_changes(&found), [("last.txt", "created")]);
    let many: Vec<String> = (0..STRINGS_AND_MORE).map(|n| format!("no{n}")).collect();
    let found = world.found(Some(json!({"a": "last.txt", "many": many})), &[]);
    assert_eq!(found.artifacts, [], "the list is looked at first, and is too long");
}

const STRINGS_AND_MORE: usize = 10_001;

#[test]
fn links_and_special_files_in_the_folder_are_told_and_left_out() {
    let mut world = World::new().created("artifacts/file", "x").modified("artifacts/now-a-link", "x");
    world.created.push(json!({"path": "artifacts/out", "kind": "symlink", "target": "/etc/passwd"}));
    world.created.push(json!({"path": "artifacts/pipe", "kind": "pipe"}));
    world.created.push(json!({"path": "artifacts/odd", "kind": "something later"}));
    world.created.push(json!({"path": "artifacts/sub", "kind": "folder"}));
    world
        .created
        .push(json!({"path": {"hex": "6172746966616374732fff"}, "kind": "file", "size": 1, "hash": hash("x")}));
    world.created.push(json!({"path": "artifacts/a\u{1b}[2J", "kind": "file", "size": 1, "hash": hash("x")}));
    world.modified[0]["after"] = json!({"kind": "symlink", "target": "file"});
    let found = world.found(None, &[]);
    assert_eq!(paths_and_changes(&found), [("artifacts/file", "created"), ("artifacts/now-a-link", "deleted")]);
    let skipped: Vec<(&str, Why)> = found.skipped.iter().map(|s| (s.path.as_str(), s.why)).collect();
    let expected = [
        ("artifacts/out", Why::Link),
        ("artifacts/pipe", Why::Special),
        ("artifacts/odd", Why::Special),
        ("artifacts/\u{fffd}", Why::NotUtf8),
        ("artifacts/a\u{fffd}[2J", Why::ControlCharacters),
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn rules_tell_role_and_type_and_find_files_elsewhere() {
    let world = World::new()
        .created("artifacts/report.html", "")
        .created("artifacts/img/a.png", "")
        .created("out/data.bin", "")
        .created("out/deep/data.bin", "")
        .created("notes.txt", "");
    let mut report = rule("report.html");
    (report.role, report.media_type) = (Some("report".into()), Some("text/x-special".into()));
    let mut images = rule("**/*.png");
    images.role = Some("image".into());
    let found = world.found(None, &[report, images, rule("out/*.bin"), rule("*.nothing")]);
    let labels: Vec<_> = found.artifacts.iter().filter_map(|(_, indexed)| indexed.as_ref()).collect();
    let labels: Vec<_> = labels.iter().map(|i| (i.path.as_str(), i.media_type.as_str(), i.role.as_deref())).collect();
    let expected = [
        ("artifacts/img/a.png", "image/png", Some("image")),
        ("artifacts/report.html", "text/x-special", Some("report")),
        ("out/data.bin", "application/octet-stream", None),
    ];
    assert_eq!(labels, expected);
}

#[test]
fn a_rule_may_name_a_folder_and_never_means_more_than_it_says() {
    let world = World::new().created("out/a/b.txt", "").created("a.md", "").created("sub/b.md", "").created("!x", "");
    let paths = |pattern: &str| {
        let found = world.found(None, &[rule(pattern)]);
        let paths: Vec<String> = found.artifacts.into_iter().map(|(created, _)| created.path).collect();
        (paths, found.problems.len())
    };
    assert_eq!(paths("out"), (vec!["out/a/b.txt".to_owned()], 0));
    assert_eq!(paths("out/"), (vec!["out/a/b.txt".to_owned()], 0));
    assert_eq!(paths("*.md"), (vec!["a.md".to_owned()], 0));
    assert_eq!(paths("./a.md"), (vec!["a.md".to_owned()], 0));
    assert_eq!(paths("**/*.md"), (vec!["a.md".to_owned(), "sub/b.md".to_owned()], 0));
    assert_eq!(paths("!x"), (vec!["!x".to_owned()], 0));
    assert_eq!(paths("a{b"), (vec![], 1), "an invalid pattern is reported");
}

#[test]
fn what_is_required_and_not_there_is_told() {
    let world = World::new().created("artifacts/made.pdf", "");
    world.file("artifacts/earlier/x.csv", "of an earlier attempt");
    world.file("top.txt", "");
    fs::create_dir(world.workspace().join("artifacts/folder.zip")).expect("a folder");
    symlink("made.pdf", world.workspace().join("artifacts/link.pdf")).expect("a link");
    let required = |pattern: &str| ArtifactRule { required: true, ..rule(pattern) };
    let patterns = ["made.pdf", "earlier/*.csv", "top.txt", "none.*", "folder.zip", "link.pdf"];
    let mut rules: Vec<ArtifactRule> = patterns.iter().map(|pattern| required(pattern)).collect();
    rules.push(rule("optional.txt"));
    let found = world.found(None, &rules);
    assert_eq!(found.missing_required, ["none.*", "folder.zip", "link.pdf"]);
    let warnings = missing_warnings(&found);
    assert!(matches!(&warnings[0].data, ControlData::ParserWarning(w) if w.code == Code::ArtifactMissing));
    assert_eq!(warnings.len(), 3);
    assert_eq!(world.deleted("artifacts/made.pdf").found(None, &[required("gone.pdf")]).missing_required, ["gone.pdf"]);
}

#[test]
fn at_most_a_thousand_artifacts_requested_ones_first() {
    let mut world = World::new();
    for n in 0..=MOST {
        world.created.push(version(Some(&format!("artifacts/a{n:05}")), ""));
    }
    let mut world = world.created("artifacts/z-named", "").created("artifacts/z-rule.md", "");
    let found = world.found(Some(json!({"file": "z-named"})), &[rule("z-rule.*")]);
    assert!(found.cut);
    assert_eq!(found.artifacts.len(), MOST);
    let last: Vec<_> = paths_and_changes(&found).into_iter().rev().take(3).map(|(path, _)| path).collect();
    assert_eq!(last, ["artifacts/z-rule.md", "artifacts/z-named", "artifacts/a00997"]);
    let events = control_events(&found);
    assert!(matches!(&events[2 * MOST].data, ControlData::ParserWarning(w) if w.code == Code::ArtifactsCut));
    world.created.truncate(MOST);
    assert!(!world.found(None, &[]).cut, "a thousand is not too many");
}

#[test]
fn events_come_per_path_created_first() {
    let world = World::new().created("artifacts/a", "x").created("artifacts/b", "x").deleted("artifacts/c");
    let events = control_events(&world.found(None, &[]));
    let paths_and_changes: Vec<(&str, Option<&str>)> =
        events.iter().map(|e| (e.data.event_type().as_str(), e.correlation.artifact_id.as_deref())).collect();
    let (created, indexed) = ("artifact.created", "artifact.indexed");
    let (a, b, c) = (Some("artifacts/a"), Some("artifacts/b"), Some("artifacts/c"));
    assert_eq!(paths_and_changes, [(created, a), (indexed, a), (created, b), (indexed, b), (created, c)]);
}

/// The type was in the schema, but no run ever wrote it.
#[test]
fn files_that_can_be_shown_have_a_preview() {
    let world =
        World::new().created("artifacts/a.md", "x").created("artifacts/b.bin", "x").created("artifacts/c.txt", "");
    let events = control_events(&world.found(None, &[]));
    let ready: Vec<_> = events
        .iter()
        .filter_map(|event| {
            let ControlData::ArtifactPreviewReady(ready) = &event.data else { return None };
            Some((ready.path.as_str(), ready.kind, event.correlation.artifact_id.as_deref()))
        })
        .collect();
    assert_eq!(ready, [("artifacts/a.md", PreviewKind::Markdown, Some("artifacts/a.md"))]);
    let types: Vec<_> = events.iter().take(3).map(|event| event.data.event_type().as_str()).collect();
    assert_eq!(types, ["artifact.created", "artifact.indexed", "artifact.preview_ready"]);
}

#[test]
fn without_a_list_the_folder_itself_is_looked_at() {
    let world = World::new();
    world.file("artifacts/a/b.txt", "b");
    world.file("artifacts/c.txt", "c");
    world.file("elsewhere.txt", "e");
    symlink("/etc", world.workspace().join("artifacts/etc")).expect("a link");
    let found = artifacts(&world.workspace(), &world.diff(), None, &[], &[]);
    assert_eq!(paths_and_changes(&found), [("artifacts/a/b.txt", "created"), ("artifacts/c.txt", "created")]);
    assert_eq!(found.skipped, [Skipped { path: "artifacts/etc".into(), why: Why::Link }]);
    assert_eq!(found.problems, Vec::<String>::new(), "no snapshot was taken, which is not a problem");
    let odd = world.workspace().join(std::ffi::OsStr::from_bytes(b"artifacts/\xff"));
    fs::write(odd, "").expect("a file");
    let found = artifacts(&world.workspace(), &world.diff(), None, &[], &[]);
    assert_eq!(found.skipped.len(), 2);
}

#[test]
fn a_list_cut_anywhere_loses_no_artifact() {
    let world = World::new().modified("artifacts/a", "text").created("artifacts/b", "text").deleted("artifacts/c");
    world.write_diff();
    let whole = fs::read(world.diff()).expect("bytes");
    for cut in 0..whole.len() {
        fs::write(world.diff(), &whole[..cut]).expect("written");
        let found = artifacts(&world.workspace(), &world.diff(), None, &[], &[]);
        let there: Vec<_> = paths_and_changes(&found).into_iter().filter(|(_, change)| *change != "deleted").collect();
        assert_eq!(there.len(), 2, "cut at {cut}: {found:?}");
        assert_eq!(found.problems.len(), 1);
    }
    fs::write(world.diff(), &whole[..whole.len() - 1]).expect("written");
    let found = artifacts(&world.workspace(), &world.diff(), None, &[], &[]);
    let wanted = [("artifacts/a", "modified"), ("artifacts/b", "created"), ("artifacts/c", "deleted")];
    assert_eq!(paths_and_changes(&found), wanted, "what it does say holds");
    for bad in ["", "[]", "{\"attempt\":1,\"created\":[\nnonsense\n"] {
        fs::write(world.diff(), bad).expect("written");
        assert_eq!(artifacts(&world.workspace(), &world.diff(), None, &[], &[]).problems.len(), 1, "{bad}");
    }
    fs::remove_file(world.diff()).expect("removed");
    symlink("/dev/zero", world.diff()).expect("a link");
    assert_eq!(artifacts(&world.workspace(), &world.diff(), None, &[], &[]).problems.len(), 1, "a link is not read");
}

#[test]
fn a_workspace_that_is_gone_is_told() {
    let world = World::new();
    let found = artifacts(&world.dir.path().join("nowhere"), &world.diff(), None, &[], &[]);
    assert_eq!((found.artifacts.len(), found.problems.len()), (0, 1));
}

#[test]
fn types_go_by_extension() {
    for (path, wanted) in [
        ("a.md", "text/markdown"),
        ("A.PDF", "application/pdf"),
        ("x/.md", "application/octet-stream"),
        ("x.tar/readme", "application/octet-stream"),
        ("a.tar.gz", "application/gzip"),
        ("a.", "application/octet-stream"),
        ("", "application/octet-stream"),
    ] {
        assert_eq!(media::of(path), wanted, "{path}");
    }
}

/// Its other name may be anywhere.
#[test]
fn a_hard_link_is_no_artifact() {
    let world = World::new().created("artifacts/own", "own");
    let outside = world.dir.path().join("outside");
    fs::write(&outside, "not of the run").expect("a file");
    fs::hard_link(&outside, world.workspace().join("artifacts/linked")).expect("a link");
    fs::hard_link(&outside, world.workspace().join("named")).expect("a link");
    let world =
        World { created: [world.created, vec![version(Some("artifacts/linked"), "not of the run")]].concat(), ..world };
    world.write_diff();
    let output = json!({"file": "named"});
    let found = artifacts(&world.workspace(), &world.diff(), output.as_object(), &[], &[]);
    let paths: Vec<&str> = found.artifacts.iter().map(|(created, _)| created.path.as_str()).collect();
    assert_eq!(paths, ["artifacts/own"]);
    assert_eq!(found.hard_links, ["artifacts/linked", "named"]);
    let warning = control_events(&found).pop().expect("an event");
    assert!(matches!(&warning.data, ControlData::ParserWarning(warning) if warning.code == Code::ArtifactHardLink));
}

#[test]
fn only_what_the_run_made_is_served() {
    let world = World::new();
    world.file("artifacts/a", "made");
    let hash = blake3::hash(b"made").to_hex().to_string();
    let open = || open_unchanged(&world.workspace(), Path::new("artifacts/a"), 4, &hash);
    let unchanged = open().expect("it is what the run made");
    assert_eq!(unchanged.stamp.size(), 4);
    world.file("artifacts/a", "mode");
    assert!(matches!(open(), Err(NotServed::Changed)));
    world.file("artifacts/a", "made and more");
    assert!(matches!(open(), Err(NotServed::Changed)));
    world.file("artifacts/a", "made");
    open().expect("as it was");
    fs::hard_link(world.workspace().join("artifacts/a"), world.dir.path().join("other")).expect("a link");
    assert!(matches!(open(), Err(NotServed::HardLink)));
    fs::remove_file(world.workspace().join("artifacts/a")).expect("removed");
    assert!(matches!(open(), Err(NotServed::Gone)));
}
