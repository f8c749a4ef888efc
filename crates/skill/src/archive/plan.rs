//! What a package would write, decided before anything is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::error::{ArchiveErrorKind, EntryProblem};
use crate::package::SKILL_FILE;
use crate::package::paths::is_drive;
use crate::package::tree;
use crate::schema::shorten;

pub(super) const ENTRIES_MAX: usize = tree::FILES_MAX;
pub(super) const ENTRY_MAX: u64 = 64 * 1024 * 1024;
pub(super) const TOTAL_MAX: u64 = tree::BYTES_MAX;
/// Repetitive text reaches fifty; deflate cannot exceed a thousand.
pub(super) const RATIO_MAX: u64 = 200;
/// Below this size, a high ratio does no harm.
const RATIO_FROM: u64 = 1024 * 1024;
const PATH_MAX: usize = 1024;
const PART_MAX: usize = 255;

const TYPE_MASK: u32 = 0o170_000;
const TYPE_FILE: u32 = 0o100_000;
const TYPE_FOLDER: u32 = 0o040_000;
const TYPE_LINK: u32 = 0o120_000;

pub(super) type Archive = ZipArchive<BufReader<File>>;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) archive: Archive,
    /// Below the skill's folder; each comes after the folder that it is in.
    pub(super) folders: BTreeSet<PathBuf>,
    pub(super) files: BTreeMap<PathBuf, PlannedFile>,
    /// The one folder that everything was in.
    pub(super) top: Option<String>,
}

#[derive(Debug)]
pub(super) struct PlannedFile {
    pub(super) index: usize,
    pub(super) size: u64,
    pub(super) executable: bool,
}

pub(super) fn plan(path: &Path) -> Result<Plan, ArchiveErrorKind> {
    // Before it is opened: opening a pipe without a writer would block forever.
    if !path.metadata()?.is_file() {
        return Err(ArchiveErrorKind::NotZip("it is not an ordinary file".to_owned()));
    }
    let mut file = File::open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    check_end(&mut file, length)?;
    let archive = ZipArchive::new(BufReader::new(file)).map_err(not_zip)?;
    let mut all = Entries::default();
    let mut total = 0u64;
    let mut packed = 0u64;
    for index in 0..archive.len() {
        let entry = archive.by_index_data(index).map_err(not_zip)?;
        let shown = || shorten(&String::from_utf8_lossy(entry.name_raw()).escape_debug().to_string());
        let failed = |problem| ArchiveErrorKind::Entry { name: shown(), problem };
        let (name, is_folder) = check_name(entry.name_raw()).map_err(failed)?;
        let mode = entry.unix_mode().unwrap_or(0);
        match (mode & TYPE_MASK, is_folder) {
            (0, _) | (TYPE_FILE, false) | (TYPE_FOLDER, true) => {}
            (TYPE_LINK, _) => return Err(failed(EntryProblem::Link)),
            (_, _) => return Err(failed(EntryProblem::Special)),
        }
        if entry.encrypted() {
            return Err(failed(EntryProblem::Encrypted));
        }
        if ![CompressionMethod::Stored, CompressionMethod::Deflated].contains(&entry.compression()) {
            return Err(failed(EntryProblem::Method));
        }
        if entry.size() > ENTRY_MAX {
            return Err(failed(EntryProblem::TooLarge));
        }
        total = total.saturating_add(entry.size());
        packed = packed.saturating_add(entry.compressed_size());
        if total > TOTAL_MAX {
            return Err(ArchiveErrorKind::TooLarge);
        }
        if entry.size() > RATIO_FROM && entry.size() / RATIO_MAX > entry.compressed_size() {
            return Err(failed(EntryProblem::Ratio));
        }
        let file = PlannedFile { index, size: entry.size(), executable: mode & 0o111 != 0 };
        all.add(name, (!is_folder).then_some(file)).map_err(failed)?;
        // Folders that no entry names count too: ten thousand deep paths are many more folders than that.
        if all.files.len() + all.folders.len() > ENTRIES_MAX {
            return Err(ArchiveErrorKind::TooManyEntries);
        }
    }
    if archive.has_duplicate_names() {
        return Err(ArchiveErrorKind::SameName);
    }
    if packed > length {
        return Err(ArchiveErrorKind::Overlap);
    }
    all.into_plan(archive)
}

fn not_zip(error: ZipError) -> ArchiveErrorKind {
    // An unexpected end of the file is a fault of the file, any other error is not.
    let of_reading = |error: &io::Error| error.kind() != io::ErrorKind::UnexpectedEof;
    if let ZipError::Io(error) = error {
        return if of_reading(&error) { error.into() } else { ArchiveErrorKind::NotZip(error.to_string()) };
    }
    ArchiveErrorKind::NotZip(shorten(&error.to_string()))
}

/// Reads the end of the file separately, because the library reads the whole directory into memory first, and a
/// directory can have millions of entries. All places that could be the end record are checked, as the library may
/// choose another one.
fn check_end(file: &mut File, length: u64) -> Result<(), ArchiveErrorKind> {
    const END: [u8; 4] = *b"PK\x05\x06";
    const END_LEN: usize = 22;
    const ZIP64_LOCATOR: [u8; 4] = *b"PK\x06\x07";
    const ZIP64_LOCATOR_LEN: usize = 20;
    let tail_len = length.min((END_LEN + ZIP64_LOCATOR_LEN + usize::from(u16::MAX)) as u64);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(length - tail_len))?;
    file.take(tail_len).read_to_end(&mut tail)?;
    for at in 0..tail.len().saturating_sub(END_LEN - 1) {
        if tail[at..at + 4] != END {
            continue;
        }
        if at.checked_sub(ZIP64_LOCATOR_LEN).is_some_and(|before| tail[before..before + 4] == ZIP64_LOCATOR) {
            return Err(ArchiveErrorKind::Zip64);
        }
        if usize::from(u16::from_le_bytes([tail[at + 10], tail[at + 11]])) > ENTRIES_MAX {
            return Err(ArchiveErrorKind::TooManyEntries);
        }
    }
    Ok(())
}

/// The parts of a path, and whether it is that of a folder.
fn check_name(raw: &[u8]) -> Result<(Vec<&str>, bool), EntryProblem> {
    let name = std::str::from_utf8(raw).map_err(|_| EntryProblem::NotUtf8)?;
    if name.chars().any(char::is_control) {
        return Err(EntryProblem::Control);
    }
    if name.contains('\\') {
        return Err(EntryProblem::Backslash);
    }
    if name.starts_with('/') {
        return Err(EntryProblem::Absolute);
    }
    if is_drive(name) {
        return Err(EntryProblem::Drive);
    }
    let (name, is_folder) = match name.strip_suffix('/') {
        Some(name) => (name, true),
        None => (name, false),
    };
    let parts: Vec<&str> = name.split('/').collect();
    if parts.contains(&"..") {
        return Err(EntryProblem::Parent);
    }
    if parts.iter().any(|part| part.is_empty() || *part == ".") {
        return Err(EntryProblem::EmptyPart);
    }
    if name.len() > PATH_MAX || parts.len() > tree::DEPTH_MAX || parts.iter().any(|part| part.len() > PART_MAX) {
        return Err(EntryProblem::TooLong);
    }
    Ok((parts, is_folder))
}

fn is_left_out(parts: &[&str]) -> bool {
    parts.iter().any(|part| [".git", "__MACOSX", ".DS_Store"].contains(part))
}

/// Entries by their path in the package.
#[derive(Debug, Default)]
struct Entries {
    folders: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, PlannedFile>,
}

impl Entries {
    /// `file`: None for a folder.
    fn add(&mut self, parts: Vec<&str>, file: Option<PlannedFile>) -> Result<(), EntryProblem> {
        if is_left_out(&parts) {
            return Ok(());
        }
        let path: PathBuf = parts.iter().collect();
        let parent = path.parent().unwrap_or(Path::new(""));
        for folder in parent.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
            if self.files.contains_key(folder) {
                return Err(EntryProblem::FileAndFolder);
            }
            self.folders.insert(folder.to_owned());
        }
        match file {
            None if self.files.contains_key(&path) => return Err(EntryProblem::FileAndFolder),
            None => {
                self.folders.insert(path);
            }
            Some(_) if self.folders.contains(&path) => return Err(EntryProblem::FileAndFolder),
            Some(file) => {
                self.files.insert(path, file);
            }
        }
        Ok(())
    }

    /// The folder that everything is in, when it holds a skill.
    fn top(&self) -> Option<PathBuf> {
        let first = |path: &PathBuf| path.iter().next().map(PathBuf::from);
        let tops: BTreeSet<PathBuf> = self.files.keys().chain(&self.folders).filter_map(first).collect();
        let top = tops.first().filter(|_| tops.len() == 1)?;
        self.files.contains_key(&top.join(SKILL_FILE)).then(|| top.clone())
    }

    fn into_plan(self, archive: Archive) -> Result<Plan, ArchiveErrorKind> {
        if self.files.contains_key(Path::new(SKILL_FILE)) {
            return Ok(Plan { archive, folders: self.folders, files: self.files, top: None });
        }
        let top = self.top().ok_or(ArchiveErrorKind::Layout)?;
        let inner = |path: PathBuf| path.strip_prefix(&top).map(Path::to_owned).unwrap_or(path);
        Ok(Plan {
            archive,
            folders: self.folders.into_iter().map(inner).filter(|path| !path.as_os_str().is_empty()).collect(),
            files: self.files.into_iter().map(|(path, file)| (inner(path), file)).collect(),
            top: Some(top.to_string_lossy().into_owned()),
        })
    }
}
