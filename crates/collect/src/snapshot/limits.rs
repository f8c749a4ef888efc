//! How much of a workspace is examined. An engine controls the workspace: each of these limits bounds memory, disk or
//! time against a tree that was built to exhaust it.

use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct SnapshotLimits {
    /// Maximum number of files that are hashed; only size and time of further files are recorded.
    pub(crate) files: u64,
    /// Maximum number of bytes that are hashed. A file that exceeds the rest is not hashed; smaller ones after it may
    /// be.
    pub(crate) bytes: u64,
    /// Maximum number of entries. A folder that does not fit is listed without its content, and so is every folder
    /// after it.
    pub(crate) entries: u64,
    /// The same for the sum of the lengths of all paths: names are held in memory while their folder is walked.
    pub(crate) path_bytes: u64,
    /// Maximum depth of folders. Each level holds a file descriptor open, and the usual limit for them is small.
    pub(crate) depth: usize,
    /// A folder whose path is longer is not entered; no program can open files by such a path.
    pub(crate) path: usize,
    /// Maximum size of both versions of a text that is compared line by line.
    pub(crate) text: u64,
    /// All the old texts together.
    pub(crate) pack: u64,
    /// All the differences of texts together.
    pub(crate) diffs: u64,
    /// Time after which the comparison of one text becomes less precise.
    pub(crate) text_time: Duration,
    /// Total time after which no more texts are compared.
    pub(crate) texts_time: Duration,
}

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self {
            files: 100_000,
            bytes: 2 << 30,
            entries: 1_000_000,
            path_bytes: 128 << 20,
            depth: 128,
            path: 4096,
            text: 64 << 10,
            pack: 32 << 20,
            diffs: 32 << 20,
            text_time: Duration::from_millis(200),
            texts_time: Duration::from_secs(2),
        }
    }
}
