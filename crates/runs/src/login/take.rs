//! Takes the user's login along.

use std::fs;
use std::io;
use std::path::Path;

use skillrun_engine::descriptor::{KeepLogin, LoginFile};
use skillrun_engine::{Descriptor, LoginFound, login};
use skillrun_evidence::OsText;
use skillrun_model::RunId;

use super::note::{Back, Note, Taken};
use super::{give_back_left, place};
use crate::data_folder::DataFolder;

/// The login that was found. An empty variable counts as not set.
pub fn found(descriptor: &Descriptor, user_home: &Path, is_set: impl Fn(&str) -> bool) -> LoginFound {
    login::found(descriptor, is_set, |path| user_home.join(path).exists())
}

/// Puts the user's login into the HOME of a run, if it is the one that was found. Files that the user does not have are
/// left out. The login of an earlier attempt was given back, as far as that was possible.
pub fn take(
    data: &DataFolder,
    run: RunId,
    descriptor: &Descriptor,
    found: &LoginFound,
    home: &Path,
    user_home: &Path,
    is_left: impl Fn(RunId) -> bool,
) -> io::Result<()> {
    if !found.needs_files(descriptor) {
        return Ok(());
    }
    give_back_left(data, run, is_left);
    let login = &descriptor.login;
    let mut note =
        Note { run_id: run, home: OsText::from(home), user_home: OsText::from(user_home), taken: newer(data, run) };
    let mut copies: Vec<(&LoginFile, Vec<u8>)> = Vec::new();
    for file in &login.files {
        if note.taken.iter().any(|taken| taken.path.as_path() == file.path) {
            continue;
        }
        let Some(bytes) = place::read_users(&user_home.join(&file.path)).map_err(named(&file.path))? else { continue };
        let back = match file.keep {
            KeepLogin::Link | KeepLogin::CopyBack => Back::of(&bytes),
            KeepLogin::Copy => Back::Dropped,
        };
        note.taken.push(Taken { path: OsText::from(file.path.as_path()), back });
        copies.push((file, bytes));
    }
    let folders = login.folders.iter().filter(|folder| user_home.join(folder).is_dir());
    let folders: Vec<_> = folders.collect();
    note.taken.extend(folders.iter().map(|path| Taken { path: OsText::from(path.as_path()), back: Back::Dropped }));
    if note.taken.is_empty() {
        return Ok(());
    }
    note.write(data)?;
    for (file, bytes) in &copies {
        let placed = match file.keep {
            KeepLogin::CopyBack | KeepLogin::Copy => place::copy(home, &file.path, bytes),
            KeepLogin::Link => {
                fs::canonicalize(user_home.join(&file.path)).and_then(|users| place::link(home, &file.path, &users))
            }
        };
        placed.map_err(named(&file.path))?;
    }
    for folder in folders {
        let linked = fs::canonicalize(user_home.join(folder)).and_then(|users| place::link(home, folder, &users));
        linked.map_err(named(folder))?;
    }
    Ok(())
}

/// Copies of the run that the engine has refreshed and that could not be given back: they are valid, the user's are
/// not.
fn newer(data: &DataFolder, run: RunId) -> Vec<Taken> {
    let Some(note) = Note::read(data, run) else { return Vec::new() };
    let is_there = |taken: &Taken| matches!(place::read_ours(note.home.as_path(), taken.path.as_path()), Ok(Some(_)));
    let is_newer = |taken: &Taken| matches!(taken.back, Back::IfUnchanged { .. }) && is_there(taken);
    note.taken.iter().filter(|taken| is_newer(taken)).cloned().collect()
}

/// Adds the name of the file in HOME to the error.
fn named(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    let path = path.to_owned();
    move |error| io::Error::new(error.kind(), format!("the login {} cannot be taken along: {error}", path.display()))
}
