//! A folder of evidence that goes away by itself.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder with `.audit/stdout.1.log` in it, removed when dropped.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
}

const BUFFER: usize = 1024 * 1024;

impl Recording {
    /// Writes what `stdout` writes, as it comes.
    pub fn new(stdout: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("skillrun-recording-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let recording = Self { folder: std::env::temp_dir().join(name) };
        fs::create_dir_all(recording.folder.join(".audit"))?;
        let mut file = BufWriter::with_capacity(BUFFER, File::create(recording.stdout())?);
        stdout(&mut file)?;
        file.flush()?;
        Ok(recording)
    }

    pub fn of_bytes(stdout: &[u8]) -> io::Result<Self> {
        Self::new(|out| out.write_all(stdout))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn stdout(&self) -> PathBuf {
        self.folder.join(".audit/stdout.1.log")
    }

    /// Bytes of stdout.
    pub fn len(&self) -> io::Result<u64> {
        Ok(fs::metadata(self.stdout())?.len())
    }

    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// A place in the folder, for what is made of it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // What cannot be removed stays in the folder for temporary files, where it was looked for.
        fs::remove_dir_all(&self.folder).ok();
    }
}
