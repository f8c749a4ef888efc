//! Takes the user's login along.

use std::fs;
use std::io;
use std::path::Path;

use skillrun_engine::descriptor::{KeepLogin, LoginFile};
use skillrun_engine::{Descriptor, LoginFound, login};
use skillrun_evidence::OsText;
use skillrun_model::RunId;

use super::note::{Back, Note, Taken, hash};
use super::{give_back, give_back_left, place};
use crate::data_folder::DataFolder;

/// What there is of a login. A variable that is empty is one that is not set.
pub(crate) fn found(descriptor: &Descriptor, user_home: &Path, is_set: impl Fn(&str) -> bool) -> LoginFound {
    login::found(descriptor, is_set, |path| user_home.join(path).exists())
}

/// Puts the user's login into the HOME of a run. What the user has not got is left out.
pub(crate) fn take(
    data: &DataFolder,
    run: RunId,
    descriptor: &Descriptor,
    home: &Path,
    user_home: &Path,
    is_over: impl Fn(RunId) -> bool,
) -> io::Result<()> {
    // Whatever an attempt before has refreshed is the user's before it is copied again. A conflict was told then, or
    // nobody was left to tell it.
    give_back(data, run);
    give_back_left(data, run, is_over);
    let login = &descriptor.login;
    let mut note =
        Note { run_id: run, home: OsText::from(home), user_home: OsText::from(user_home), taken: Vec::new() };
    let mut copies: Vec<(&LoginFile, Vec<u8>)> = Vec::new();
    for file in &login.files {
        let Some(bytes) = place::read_users(&user_home.join(&file.path)).map_err(named(&file.path))? else { continue };
        let back = match file.keep {
            KeepLogin::Link | KeepLogin::CopyBack => Back::IfUnchanged { hash: hash(&bytes) },
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

/// The file in HOME that it was about.
fn named(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    let path = path.to_owned();
    move |error| io::Error::new(error.kind(), format!("the login {} cannot be taken along: {error}", path.display()))
}
