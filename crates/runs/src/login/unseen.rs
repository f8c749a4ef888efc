//! Logins in a workspace: they are not compared, so that no text of them gets into evidence.
//!
//! A workspace may hold the user's HOME, and the data folder with the HOME of every run in it.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use skillrun_engine::Engines;

use crate::data_folder::DataFolder;

/// Rules for what is left out of a snapshot.
pub fn rules(data: &DataFolder, engines: &Engines, workspace: &Path, user_home: &Path) -> Vec<String> {
    let paths = paths(engines);
    let mut rules: Vec<String> = paths.iter().map(|path| format!("**/{}", pattern(path))).collect();
    let real = |path: &Path| fs::canonicalize(path).ok();
    let workspace = real(workspace).unwrap_or_else(|| workspace.to_owned());
    // Where a login is a link, its target may have any name.
    let behind = paths.iter().filter_map(|path| real(&user_home.join(path)));
    let below = behind.chain(real(data.root()));
    rules.extend(below.filter_map(|path| rule(path.strip_prefix(&workspace).ok()?)));
    rules
}

/// A rule for one path below the workspace, whatever it is; none for the workspace itself.
pub fn rule(inside: &Path) -> Option<String> {
    Some(format!("/{}", pattern(inside))).filter(|rule| rule != "/")
}

/// Whether a file has the name of a login, in any folder.
pub fn is_login(engines: &Engines, path: &Path) -> bool {
    paths(engines).iter().any(|login| path.ends_with(login))
}

fn paths(engines: &Engines) -> Vec<PathBuf> {
    let of = |engine: &skillrun_engine::Descriptor| {
        let login = &engine.login;
        login.files.iter().map(|file| file.path.clone()).chain(login.folders.iter().cloned()).collect::<Vec<_>>()
    };
    let mut paths: Vec<PathBuf> = engines.iter().flat_map(of).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// A path as a pattern. A byte with a special meaning becomes a wildcard; a wider rule does no harm.
fn pattern(path: &Path) -> String {
    let plain = |byte: &u8| match *byte {
        byte if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) => char::from(byte),
        _ => '?',
    };
    path.as_os_str().as_bytes().iter().map(plain).collect()
}
