//! Entries of the archive, one after the other, in bounded memory.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use skillrun_engine::Engines;
use skillrun_model::rasp::LogHead;
use skillrun_runs::artifacts::Root;
use skillrun_runs::login;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::{BundleError, BundleKind, FORMAT, LeftOut, Packed, Summary};

const MANIFEST: &str = "MANIFEST.json";
/// From this size on an entry needs the long form of the format.
const LARGE: u64 = 1 << 31;

pub(super) struct Packer<'a, W: Write + Seek> {
    zip: ZipWriter<&'a mut W>,
    names: BTreeSet<String>,
    summary: Summary,
    engines: Engines,
}

/// An entry that is being written.
pub(super) struct Entry<'a> {
    zip: &'a mut dyn Write,
    hasher: blake3::Hasher,
    size: u64,
}

impl Entry<'_> {
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), BundleError> {
        self.zip.write_all(bytes)?;
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }
}

impl<'a, W: Write + Seek> Packer<'a, W> {
    pub(super) fn new(kind: BundleKind, log_head: Option<LogHead>, out: &'a mut W) -> Self {
        let summary =
            Summary { format: FORMAT, kind, files: Vec::new(), changed: Vec::new(), left_out: Vec::new(), log_head };
        let names = BTreeSet::from([MANIFEST.to_owned()]);
        Self { zip: ZipWriter::new(out), names, summary, engines: Engines::shipped() }
    }

    /// A file of the run under its own name, if it exists.
    pub(super) fn file_if_there(&mut self, root: &Root, name: &str) -> Result<(), BundleError> {
        match root.file(Path::new(name)) {
            Ok(file) => self.file(name, file, None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => {
                self.leave_out(name, &format!("it cannot be read ({error})"));
                Ok(())
            }
        }
    }

    /// An artifact, if it is what the run made; the bytes that are packed are those that are compared.
    pub(super) fn artifact(&mut self, name: &str, file: File, hash: &str) -> Result<(), BundleError> {
        self.file(name, file, Some(hash))
    }

    /// A file, up to the length it had at the beginning. Left out when the name exists already, when it is the name of
    /// a login file, which no mask knows, or when its hash differs from the expected one.
    fn file(&mut self, name: &str, file: File, expected: Option<&str>) -> Result<(), BundleError> {
        if login::is_login(&self.engines, Path::new(name)) {
            self.leave_out(name, "it is a login");
            return Ok(());
        }
        let failed = |error: io::Error| BundleError::Read { name: name.to_owned(), error };
        let len = file.metadata().map_err(failed)?.len();
        let mut file = file.take(len);
        let mut buffer = vec![0; 64 << 10];
        self.entry_of(name, len, expected, |entry| {
            loop {
                let read = file.read(&mut buffer).map_err(failed)?;
                if read == 0 {
                    return Ok(());
                }
                entry.write(&buffer[..read])?;
            }
        })
    }

    /// An entry whose bytes `fill` writes; `most` is their maximum number.
    pub(super) fn entry(
        &mut self,
        name: &str,
        most: u64,
        fill: impl FnOnce(&mut Entry<'_>) -> Result<(), BundleError>,
    ) -> Result<(), BundleError> {
        self.entry_of(name, most, None, fill)
    }

    fn entry_of(
        &mut self,
        name: &str,
        most: u64,
        expected: Option<&str>,
        fill: impl FnOnce(&mut Entry<'_>) -> Result<(), BundleError>,
    ) -> Result<(), BundleError> {
        if !self.names.insert(name.to_owned()) {
            self.leave_out(name, "there is already an entry with that name");
            return Ok(());
        }
        self.zip.start_file(name, options().large_file(most >= LARGE))?;
        let mut entry = Entry { zip: &mut self.zip, hasher: blake3::Hasher::new(), size: 0 };
        fill(&mut entry)?;
        let (size, hash) = (entry.size, entry.hasher.finalize().to_hex().to_string());
        if expected.is_some_and(|expected| expected != hash) {
            self.zip.abort_file()?;
            self.summary.changed.push(name.to_owned());
            self.leave_out(name, "it has changed since the run made it");
            return Ok(());
        }
        self.summary.files.push(Packed { name: name.to_owned(), size, hash });
        Ok(())
    }

    pub(super) fn leave_out(&mut self, name: &str, why: &str) {
        self.summary.left_out.push(LeftOut { name: name.to_owned(), why: why.to_owned() });
    }

    pub(super) fn finish(mut self) -> Result<Summary, BundleError> {
        let mut text = serde_json::to_vec_pretty(&self.summary).map_err(io::Error::from)?;
        text.push(b'\n');
        self.zip.start_file(MANIFEST, options())?;
        self.zip.write_all(&text)?;
        self.zip.finish()?;
        Ok(self.summary)
    }
}

/// The same for every entry of every bundle, so that nothing shows when it was made.
fn options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o600)
}
