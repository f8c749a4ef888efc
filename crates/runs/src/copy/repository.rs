//! A repository of git, read without git, and the `.git` of its copy.
//!
//! The copy has HEAD, branches, tags, the index and `info/exclude` of the repository, and the path of its objects in
//! `objects/info/alternates`: git only reads them there, and writes new ones into the copy. It has a configuration of
//! its own, no hooks, no remotes, no reflogs and no stash.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use skillrun_base::files::{self, FileReadError, SymbolicLinks};
use skillrun_collect::engine_folders;

use super::{CopyError, PATCHES, ignores, index, written};

const INDEX_MAX: u64 = 64 << 20;
const PACKED_REFS_MAX: u64 = 64 << 20;
const CONFIG_MAX: u64 = 1 << 20;
/// Largest HEAD, branch, or other file of one line.
const LINE_MAX: u64 = 8 << 10;
const SHALLOW_MAX: u64 = 1 << 20;
/// Most files and folders below `refs/`, other than packed ones.
const REFS_MAX: usize = 20_000;
const REFS_DEPTH: usize = 32;

#[derive(Debug)]
pub(super) struct Repository {
    /// Of all working folders of the repository.
    common: PathBuf,
    objects: PathBuf,
    head: String,
    uses_sha256: bool,
    index: Option<Vec<u8>>,
    pub(super) tracked: BTreeSet<Vec<u8>>,
    pub(super) exclude: Vec<u8>,
}

/// A file of the repository; none if it is missing, is something else or is too large.
fn read(path: &Path, max: u64) -> Option<Vec<u8>> {
    let file = files::open(path, SymbolicLinks::Refused).ok()?;
    files::read_open(&file, max).ok()
}

fn line(path: &Path) -> Option<String> {
    let text = String::from_utf8(read(path, LINE_MAX)?).ok()?;
    Some(text.trim_end().to_owned())
}

/// What a reference may contain: a hash, or the name of another reference.
fn is_reference(text: &str) -> bool {
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash || text.strip_prefix("ref: refs/").is_some_and(|name| !name.contains(['\n', '\0']))
}

impl Repository {
    /// None: the folder is not the top of a repository that git would use.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>, CopyError> {
        let refused = |why: &str| CopyError::Repository { folder: folder.to_owned(), why: why.to_owned() };
        let place = folder.join(".git");
        let git = match fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() => place,
            // A working folder of a repository elsewhere, or a submodule.
            Ok(found) if found.is_file() => {
                let elsewhere = line(&place).and_then(|text| Some(folder.join(text.strip_prefix("gitdir: ")?)));
                match elsewhere.and_then(|git| git.canonicalize().ok()).filter(|git| git.is_dir()) {
                    Some(git) => git,
                    None => return Ok(None),
                }
            }
            Ok(_) | Err(_) => return Ok(None),
        };
        let Some(head) = line(&git.join("HEAD")).filter(|head| is_reference(head)) else { return Ok(None) };
        let common = line(&git.join("commondir")).map_or_else(|| git.clone(), |path| git.join(path));
        let Ok(objects) = common.join("objects").canonicalize() else { return Ok(None) };
        if !objects.is_dir() {
            return Ok(None);
        }
        if objects.as_os_str().as_bytes().contains(&b'\n') {
            return Err(refused("the path of its objects has a line end"));
        }
        let config = read(&common.join("config"), CONFIG_MAX).unwrap_or_default();
        let config = String::from_utf8_lossy(&config).to_ascii_lowercase();
        // Two of the settings that say how the repository is stored. No other setting is looked at.
        let stored = |name: &str, value: &str| {
            let pairs = config.lines().filter_map(|line| line.split_once('='));
            pairs.into_iter().any(|(key, found)| key.trim() == name && found.trim() == value)
        };
        if stored("refstorage", "reftable") {
            return Err(refused("its references are in a reftable"));
        }
        let uses_sha256 = stored("objectformat", "sha256");
        let index = match files::open(&git.join("index"), SymbolicLinks::Refused)
            .and_then(|file| files::read_open(&file, INDEX_MAX))
        {
            Ok(index) => Some(index),
            Err(error) if error.is_missing() => None,
            Err(FileReadError::Io(error)) => return Err(CopyError::Read { path: git.join("index"), error }),
            Err(FileReadError::Problem(problem)) => return Err(refused(&format!("its index {problem}"))),
        };
        let tracked = match &index {
            Some(index) => index::paths(index, if uses_sha256 { 32 } else { 20 }).map_err(refused)?,
            None => BTreeSet::new(),
        };
        let exclude = read(&common.join("info/exclude"), ignores::RULES_MAX).unwrap_or_default();
        Ok(Some(Self { common, objects, head, uses_sha256, index, tracked, exclude }))
    }

    /// Writes the `.git` of a copy.
    pub(super) fn clone_into(&self, copy: &Path) -> Result<(), CopyError> {
        let git = copy.join(".git");
        let put = |name: &str, content: &[u8]| {
            let path = git.join(name);
            let folder = path.parent().unwrap_or(&git);
            fs::create_dir_all(folder).and_then(|()| fs::write(&path, content)).map_err(written(&path))
        };
        for folder in ["objects/pack", "objects/info", "refs/heads", "refs/tags"] {
            let path = git.join(folder);
            fs::create_dir_all(&path).map_err(written(&path))?;
        }
        let (version, extensions) =
            if self.uses_sha256 { (1, "[extensions]\n\tobjectFormat = sha256\n") } else { (0, "") };
        let config = format!(
            "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\
             \tlogallrefupdates = true\n{extensions}"
        );
        put("config", config.as_bytes())?;
        put("HEAD", format!("{}\n", self.head).as_bytes())?;
        put("objects/info/alternates", &[self.objects.as_os_str().as_bytes(), b"\n"].concat())?;
        put("info/exclude", &self.excluded())?;
        if let Some(index) = &self.index {
            put("index", index)?;
        }
        if let Some(packed) = read(&self.common.join("packed-refs"), PACKED_REFS_MAX) {
            put("packed-refs", &packed)?;
        }
        if let Some(shallow) = read(&self.common.join("shallow"), SHALLOW_MAX) {
            put("shallow", &shallow)?;
        }
        let mut left = REFS_MAX;
        for kind in ["heads", "tags", "remotes"] {
            self.references(&Path::new("refs").join(kind), REFS_DEPTH, &mut left, &git)?;
        }
        Ok(())
    }

    /// The rules of the repository, and what skillrun and engines put into a workspace: no commit of the copy has it.
    fn excluded(&self) -> Vec<u8> {
        let mut rules = self.exclude.clone();
        if !rules.is_empty() && !rules.ends_with(b"\n") {
            rules.push(b'\n');
        }
        for folder in engine_folders() {
            rules.extend([b"/", folder, b"/\n"].concat());
        }
        rules.extend_from_slice(format!("/{}\n", PATCHES).as_bytes());
        rules
    }

    fn references(&self, folder: &Path, depth: usize, left: &mut usize, git: &Path) -> Result<(), CopyError> {
        let from = self.common.join(folder);
        let is_folder = fs::symlink_metadata(&from).is_ok_and(|found| found.is_dir());
        let Some(depth) = depth.checked_sub(1).filter(|_| is_folder) else { return Ok(()) };
        let read_error = |error: io::Error| CopyError::Read { path: from.clone(), error };
        for entry in fs::read_dir(&from).map_err(read_error)? {
            let entry = entry.map_err(read_error)?;
            let name = folder.join(entry.file_name());
            *left = left.checked_sub(1).ok_or_else(|| CopyError::Repository {
                folder: self.common.clone(),
                why: format!("it has more than {REFS_MAX} references (git pack-refs --all packs them)"),
            })?;
            let kind = entry.file_type().map_err(read_error)?;
            if kind.is_dir() {
                self.references(&name, depth, left, git)?;
            } else if let Some(text) = line(&self.common.join(&name)).filter(|text| is_reference(text)) {
                let to = git.join(&name);
                let above = to.parent().unwrap_or(git);
                fs::create_dir_all(above).and_then(|()| fs::write(&to, format!("{text}\n"))).map_err(written(&to))?;
            }
        }
        Ok(())
    }
}
