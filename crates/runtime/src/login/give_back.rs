//! Gives a login back.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::de::IgnoredAny;
use skillrun_lifecycle::closing::{self, ControlEvent};
use skillrun_model::{Code, RunId};

use super::note::{Back, Note, Taken, hash};
use super::place;
use crate::data_folder::DataFolder;

/// The login of a run whose process has ended. Tells what could not be kept. Does nothing when it was done.
pub(crate) fn give_back(data: &DataFolder, run: RunId) -> Vec<ControlEvent> {
    Note::read(data, run).map_or_else(Vec::new, |note| give(data, &note))
}

/// Logins of runs that are over, whose owners died before they could give them back.
pub(crate) fn give_back_left(data: &DataFolder, but: RunId, is_over: impl Fn(RunId) -> bool) {
    for note in Note::all(data).iter().filter(|note| note.run_id != but && is_over(note.run_id)) {
        // There is nobody to tell.
        give(data, note);
    }
}

fn give(data: &DataFolder, note: &Note) -> Vec<ControlEvent> {
    let (home, user_home) = (note.home.as_path(), note.user_home.as_path());
    let mut warnings = Vec::new();
    for taken in &note.taken {
        let why = match one(home, user_home, taken) {
            Ok(Given::Back | Given::Unchanged) => continue,
            Ok(Given::Both) => "the user's own has changed since too, and stays".to_owned(),
            Ok(Given::Broken) => "what the engine left is not JSON".to_owned(),
            Err(error) => error.to_string(),
        };
        let path = taken.path.as_path().display();
        let message = format!("the engine changed its login {path}, and that was not kept: {why}");
        warnings.push(closing::warning(Code::LoginNotKept, message));
    }
    note.taken.iter().for_each(|taken| place::remove(home, taken.path.as_path()));
    note.remove(data);
    warnings
}

enum Given {
    Back,
    Unchanged,
    /// The user's file is not the one that was copied.
    Both,
    /// Cut short, or something else altogether.
    Broken,
}

fn one(home: &Path, user_home: &Path, taken: &Taken) -> io::Result<Given> {
    let Back::IfUnchanged { hash: copied } = &taken.back else { return Ok(Given::Unchanged) };
    let path = taken.path.as_path();
    // A link has led the engine to the user's file, which is as it should be.
    if fs::symlink_metadata(home.join(path)).is_ok_and(|found| found.is_symlink()) {
        return Ok(Given::Unchanged);
    }
    // One that it removed is one that it could not use; that is no reason to take it from the user.
    let Some(now) = place::read_ours(home, path)?.filter(|now| hash(now) != *copied) else {
        return Ok(Given::Unchanged);
    };
    if serde_json::from_slice::<IgnoredAny>(&now).is_err() {
        return Ok(Given::Broken);
    }
    let users = user_home.join(path);
    // Where the user has a link, what it leads to is replaced, and not the link.
    let Ok(users) = fs::canonicalize(users) else { return Ok(Given::Both) };
    let _lock = lock(&users)?;
    match place::read_users(&users)? {
        Some(theirs) if theirs == now => Ok(Given::Unchanged),
        Some(theirs) if hash(&theirs) == *copied => replace(&users, &now).map(|()| Given::Back),
        Some(_) | None => Ok(Given::Both),
    }
}

/// Two runs do not look and write at once. The lock is on the folder, so that no file is made for it.
fn lock(users: &Path) -> io::Result<File> {
    let folder = File::open(users.parent().unwrap_or(Path::new("/")))?;
    flock(&folder, FlockOperation::LockExclusive)?;
    Ok(folder)
}

/// Whole or as it was, with the mode it had.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode() & 0o777;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside: PathBuf = path.with_file_name(name);
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(bytes)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&beside, path)
    })();
    if written.is_err() {
        fs::remove_file(&beside).ok();
    }
    written
}
