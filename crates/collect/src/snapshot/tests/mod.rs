//! Snapshots of real folders. [`changes`]: the content of a diff. [`tree`]: unusual trees. [`bounds`]: limits, and
//! files that must not be trusted. [`join`]: the one pass against a plain comparison of two maps.

mod bounds;
mod changes;
mod join;
mod tree;

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;
use skillrun_evidence::host_record::FsCounts;
use skillrun_model::AttemptNumber;

use super::{Rules, SnapshotLimits, Snapshots, Taken};

const ONE: AttemptNumber = AttemptNumber(1);
const TWO: AttemptNumber = AttemptNumber(2);

/// A workspace with its `.audit` beside it.
struct Workspace {
    folder: tempfile::TempDir,
    rules: Vec<String>,
    limits: SnapshotLimits,
    breaths: Cell<u64>,
}

impl Workspace {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["workspace", ".audit"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        Self { folder, rules: Vec::new(), limits: SnapshotLimits::default(), breaths: Cell::new(0) }
    }

    fn with_limits(change: impl FnOnce(&mut SnapshotLimits)) -> Self {
        let mut workspace = Self::new();
        change(&mut workspace.limits);
        workspace
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    fn audit(&self) -> PathBuf {
        self.folder.path().join(".audit")
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root().join(name)
    }

    fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("in the workspace")).expect("a folder");
        fs::write(path, content).expect("written");
    }

    fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).expect("set");
    }

    fn snapshots(&self) -> Snapshots {
        let rules = Rules::new(&self.rules).expect("patterns");
        Snapshots::new(&self.root(), &self.audit(), rules, self.limits.clone())
    }

    fn before(&self) -> Taken {
        let breathe = &mut || self.breaths.set(self.breaths.get() + 1);
        self.snapshots().before(ONE, None, now_ns(), breathe).expect("a snapshot")
    }

    fn after(&self) -> (Taken, FsCounts) {
        self.after_masked(&|_| {})
    }

    fn after_masked(&self, mask: &dyn Fn(&mut Vec<u8>)) -> (Taken, FsCounts) {
        let breathe = &mut || self.breaths.set(self.breaths.get() + 1);
        self.snapshots().after(ONE, now_ns(), mask, breathe).expect("a snapshot")
    }

    fn read(&self, name: &str) -> Value {
        let bytes = fs::read(self.audit().join(name)).expect(name);
        serde_json::from_slice(&bytes).expect("JSON")
    }

    fn listing(&self, name: &str) -> Vec<Value> {
        self.read(name)["entries"].as_array().expect("entries").clone()
    }

    fn paths(&self, name: &str) -> Vec<Value> {
        self.listing(name).into_iter().map(|entry| entry["path"].clone()).collect()
    }

    /// The entry of a path in the listing before.
    fn entry(&self, path: impl Into<Value>) -> Value {
        let path = path.into();
        let found = self.listing("fs-before.1.json").into_iter().find(|entry| entry["path"] == path);
        found.unwrap_or_else(|| panic!("{path} is not listed"))
    }

    /// The diff in short: `+created ~modified -deleted`, in order.
    fn changes(&self) -> String {
        let diff = self.read("fs-diff.1.json");
        let mut words = Vec::new();
        for (sign, part) in [('+', "created"), ('~', "modified"), ('-', "deleted")] {
            let lines = diff[part].as_array().expect("a list");
            assert_eq!(diff["counts"][part], lines.len(), "{part}");
            for line in lines {
                let path = &line["path"];
                words.push(format!("{sign}{}", path.as_str().map_or_else(|| path.to_string(), str::to_owned)));
            }
        }
        words.join(" ")
    }

    /// The one file that was modified.
    fn modified(&self) -> Value {
        let diff = self.read("fs-diff.1.json");
        assert_eq!(diff["modified"].as_array().expect("a list").len(), 1, "{diff}");
        diff["modified"][0].clone()
    }

    fn files_in_audit(&self) -> Vec<String> {
        let mut names: Vec<_> = walk_names(&self.audit()).collect();
        names.sort();
        names
    }
}

fn walk_names(folder: &Path) -> Box<dyn Iterator<Item = String>> {
    let found = fs::read_dir(folder).expect("readable").map(|found| found.expect("an entry").path());
    Box::new(found.flat_map(|path| match path.is_dir() {
        true => walk_names(&path),
        false => Box::new(std::iter::once(path.file_name().expect("a name").to_string_lossy().into_owned())),
    }))
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    u64::try_from(since.as_nanos()).expect("before 2554")
}

/// Whether modes prevent this user from reading. They do not prevent root; tests that need this print a note and pass.
fn modes_bind() -> bool {
    let root = rustix::process::geteuid().is_root();
    if root {
        eprintln!("skipped: root reads everything, whatever its mode");
    }
    !root
}
