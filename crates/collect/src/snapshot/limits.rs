//! How much of a workspace is looked at. A workspace is what an engine made of it: each of these bounds memory, disk or
//! time against a tree that was built to use it up.

use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// This many files are hashed; of those that follow only size and time are noted.
    pub(crate) files: u64,
    /// This many bytes are hashed. A file that does not fit into what is left is not; smaller ones after it may be.
    pub(crate) bytes: u64,
    /// This many entries are listed. A folder that does not fit is named, and none is looked into after it.
    pub(crate) entries: u64,
    /// The same for the sum of the lengths of all paths: names are held in memory while their folder is walked.
    pub(crate) path_bytes: u64,
    /// Folders within folders. Each holds a file descriptor open, and the usual allowance for them is small.
    pub(crate) depth: usize,
    /// A folder whose path is longer is not looked into; what no program can open by its path matters to none.
    pub(crate) path: usize,
    /// Both versions of a text must be no longer for it to be compared line by line.
    pub(crate) text: u64,
    /// All the old texts together.
    pub(crate) pack: u64,
    /// All the differences of texts together.
    pub(crate) diffs: u64,
    /// After this long the comparison of one text settles for a rougher answer.
    pub(crate) text_time: Duration,
    /// After this long in all no more texts are compared.
    pub(crate) texts_time: Duration,
}

impl Default for Limits {
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
