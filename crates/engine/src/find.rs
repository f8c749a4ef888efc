//! Finds the program of an engine. [`find`] decides, a [`Probe`] looks; [`Disk`] is the one that looks at the disk.
//!
//! In this order: the variable of the user, the path in the descriptor, PATH, other places. What the user or the
//! operator named is taken or refused; nothing else is looked for then, because they meant that one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::descriptor::{Descriptor, Executable, Installed};
use crate::template::Placeholder;

/// What the caller knows about the user's surroundings.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The path of this program.
    pub own: &'a Path,
    /// Where relative paths begin; absolute.
    pub cwd: &'a Path,
    /// The value of PATH.
    pub path: Option<&'a OsStr>,
    pub user_home: Option<&'a Path>,
    /// The value of the variable that the descriptor names.
    pub variable: Option<&'a OsStr>,
}

/// Looks at files.
pub trait Probe {
    /// An ordinary file, or a link to one, that may be executed.
    fn is_executable(&self, path: &Path) -> bool;
    /// The path without links; as given if that cannot be told.
    fn real(&self, path: &Path) -> PathBuf;
}

/// The files there really are.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Probe for Disk {
    fn is_executable(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    }

    fn real(&self, path: &Path) -> PathBuf {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    }
}

/// The program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Absolute.
    pub program: PathBuf,
    /// What would have started it.
    pub wrapper: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error(
        "{engine} is not installed: there is no {} in PATH{}{}",
        names.join(" or "), also(places), advice(install, variable)
    )]
    NotInstalled {
        engine: String,
        names: Vec<String>,
        places: Vec<PathBuf>,
        install: Option<String>,
        variable: Option<String>,
    },
    #[error("{variable} says that {engine} is {}, and that is no file that can be executed", path.display())]
    BadVariable { engine: String, variable: String, path: PathBuf },
    #[error("{origin} says that {engine} is {}, and that is no file that can be executed", path.display())]
    BadPath { engine: String, origin: String, path: PathBuf },
}

fn also(places: &[PathBuf]) -> String {
    places.iter().map(|place| format!(", and no {}", place.display())).collect()
}

fn advice(install: &Option<String>, variable: &Option<String>) -> String {
    match (install, variable) {
        (Some(install), Some(variable)) => format!("; install it with `{install}`, or set {variable} to its path"),
        (Some(install), None) => format!("; install it with `{install}`"),
        (None, Some(variable)) => format!("; set {variable} to its path"),
        (None, None) => String::new(),
    }
}

pub fn find(descriptor: &Descriptor, surroundings: &Surroundings<'_>, probe: &impl Probe) -> Result<Found, FindError> {
    let installed = match &descriptor.executable {
        Executable::Own => return Ok(Found { program: surroundings.own.to_owned(), wrapper: None }),
        Executable::Installed(installed) => installed,
    };
    let found = named(descriptor, installed, surroundings, probe)?;
    let real = probe.real(&found);
    let folder = real.parent().unwrap_or(Path::new("/"));
    let native = installed.instead.iter().map(|path| probe.real(&folder.join(path)));
    Ok(match native.into_iter().find(|path| *path != real && probe.is_executable(path)) {
        Some(program) => Found { program, wrapper: Some(found) },
        None => Found { program: found, wrapper: None },
    })
}

/// The first file that is there.
fn named(
    descriptor: &Descriptor,
    installed: &Installed,
    surroundings: &Surroundings<'_>,
    probe: &impl Probe,
) -> Result<PathBuf, FindError> {
    let engine = || descriptor.name.to_string();
    // An empty variable is one that is not set, as everywhere.
    if let (Some(variable), Some(value)) =
        (&installed.variable, surroundings.variable.filter(|value| !value.is_empty()))
    {
        let path = surroundings.cwd.join(value);
        return match probe.is_executable(&path) {
            true => Ok(path),
            false => Err(FindError::BadVariable { engine: engine(), variable: variable.clone(), path }),
        };
    }
    if let Some(path) = &installed.path {
        let path = surroundings.cwd.join(path);
        return match probe.is_executable(&path) {
            true => Ok(path),
            false => Err(FindError::BadPath { engine: engine(), origin: descriptor.origin.to_string(), path }),
        };
    }
    let home = |placeholder: Placeholder| {
        surroundings.user_home.filter(|_| placeholder == Placeholder::UserHome).map(Path::as_os_str)
    };
    // Without a home there are no places in it.
    let places: Vec<PathBuf> =
        installed.places.iter().filter_map(|place| place.fill(home).ok()).map(Into::into).collect();
    let in_path =
        path_folders(surroundings).flat_map(|folder| installed.names.iter().map(move |name| folder.join(name)));
    let in_places = places.iter().map(|place| surroundings.cwd.join(place));
    in_path.chain(in_places).find(|path| probe.is_executable(path)).ok_or_else(|| FindError::NotInstalled {
        engine: engine(),
        names: installed.names.clone(),
        places: places.clone(),
        install: installed.install.clone(),
        variable: installed.variable.clone(),
    })
}

/// The folders of PATH, absolute, because the engine is started in another folder. An empty one is the current folder.
fn path_folders<'a>(surroundings: &Surroundings<'a>) -> impl Iterator<Item = PathBuf> + 'a {
    let cwd = surroundings.cwd;
    let folders =
        surroundings.path.filter(|path| !path.is_empty()).map(|path| path.as_bytes().split(|byte| *byte == b':'));
    folders.into_iter().flatten().map(move |folder| match folder {
        [] => cwd.to_owned(),
        folder => cwd.join(OsStr::from_bytes(folder)),
    })
}
