//! Finds the program of an engine. [`find`] decides, a [`Probe`] looks; [`Disk`] is the one that looks at the disk.
//!
//! In this order: the variable of the user, the path in the descriptor, a private install, PATH, other places. A path
//! that the user or the operator named is taken or refused; no other place is searched then, because they meant that
//! one.
//!
//! A private install that is a script is started with the Node it was installed with, or not at all. That Node is not
//! put into PATH: commands of the agent find the user's Node.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::descriptor::{Descriptor, Executable, InstalledProgram};
use crate::install::{MARK, NODE, Programs, chosen, highest};
use crate::template::Placeholder;

/// What the caller knows about the user's surroundings.
#[derive(Debug, Clone, Copy)]
pub struct FindContext<'a> {
    /// The path of this program.
    pub own: &'a Path,
    /// Where relative paths begin; absolute.
    pub cwd: &'a Path,
    /// The value of PATH.
    pub path: Option<&'a OsStr>,
    pub user_home: Option<&'a Path>,
    /// The value of the variable that the descriptor names.
    pub variable: Option<&'a OsStr>,
    /// The folder of private installs.
    pub programs: Option<&'a Path>,
}

/// Looks at files.
pub trait Probe {
    /// An ordinary file, or a link to one, that may be executed.
    fn is_executable(&self, path: &Path) -> bool;
    /// The path without links; as given if links cannot be resolved.
    fn real(&self, path: &Path) -> PathBuf;
    /// A program of this machine, not a script.
    fn is_native(&self, path: &Path) -> bool;
    /// The versions that have a complete private install in a folder.
    fn installed(&self, folder: &Path) -> Vec<String>;
}

/// The real files on the disk.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Probe for Disk {
    fn is_executable(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    }

    fn real(&self, path: &Path) -> PathBuf {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    }

    fn is_native(&self, path: &Path) -> bool {
        let mut magic = [0; 4];
        File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok_and(|()| &magic == b"\x7fELF")
    }

    fn installed(&self, folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| !name.starts_with('.') && folder.join(name).join(MARK).is_file()).collect()
    }
}

/// The program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineProgram {
    /// Absolute.
    pub program: PathBuf,
    /// What would have started it.
    pub wrapper: Option<PathBuf>,
    /// The interpreter that starts the program, if it is a script.
    pub interpreter: Option<PathBuf>,
    /// For a private install: the version that npm was asked for, so that the program need not be asked.
    pub version: Option<String>,
}

impl EngineProgram {
    /// The program to start for an existing file: the native program behind it, if there is one.
    pub fn behind(file: PathBuf, installed: &InstalledProgram, probe: &impl Probe) -> Self {
        let real = probe.real(&file);
        let folder = real.parent().unwrap_or(Path::new("/"));
        let mut native = installed.instead.iter().map(|path| probe.real(&folder.join(path)));
        let is_native = probe.is_native(&real);
        let (program, wrapper) = match native.find(|path| !is_native && *path != real && probe.is_executable(path)) {
            Some(program) => (program, Some(file)),
            None => (file, None),
        };
        Self { program, wrapper, interpreter: None, version: None }
    }

    /// Whether it needs an interpreter.
    pub fn is_script(&self, probe: &impl Probe) -> bool {
        self.wrapper.is_none() && !probe.is_native(&probe.real(&self.program))
    }

    /// The first words of its command line.
    pub fn command(&self) -> impl Iterator<Item = &Path> {
        self.interpreter.as_deref().into_iter().chain([self.program.as_path()])
    }
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
    #[error("{variable} says that {engine} is {}, and that is not an executable file", path.display())]
    BadVariable { engine: String, variable: String, path: PathBuf },
    #[error("{origin} says that {engine} is {}, and that is not an executable file", path.display())]
    BadPath { engine: String, origin: String, path: PathBuf },
    #[error("the private Node {node} that {engine} was installed with is missing{}", advice(install, variable))]
    NoNode { engine: String, node: u32, install: Option<String>, variable: Option<String> },
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

pub fn find(
    descriptor: &Descriptor,
    surroundings: &FindContext<'_>,
    probe: &impl Probe,
) -> Result<EngineProgram, FindError> {
    let installed = match &descriptor.executable {
        Executable::Own => {
            return Ok(EngineProgram {
                program: surroundings.own.to_owned(),
                wrapper: None,
                interpreter: None,
                version: None,
            });
        }
        Executable::Installed(installed) => installed,
    };
    let Named { file, node, version } = named(descriptor, installed, surroundings, probe)?;
    let found = EngineProgram { version, ..EngineProgram::behind(file, installed, probe) };
    match node {
        Node::Own(node) if found.is_script(probe) => Ok(EngineProgram { interpreter: Some(node), ..found }),
        Node::Gone(node) if found.is_script(probe) => Err(FindError::NoNode {
            engine: descriptor.name.to_string(),
            node,
            install: descriptor.install_command(),
            variable: installed.variable.clone(),
        }),
        Node::Any | Node::Own(_) | Node::Gone(_) => Ok(found),
    }
}

/// An existing file, with what is known of it.
struct Named {
    file: PathBuf,
    node: Node,
    version: Option<String>,
}

/// The interpreter of the file, if it is a script.
enum Node {
    /// The one that the script names itself.
    Any,
    Own(PathBuf),
    /// A Node of this major version is missing. Any other version is one that the install was made to avoid.
    Gone(u32),
}

impl From<PathBuf> for Named {
    fn from(file: PathBuf) -> Self {
        Self { file, node: Node::Any, version: None }
    }
}

/// A program that was installed for skillrun alone, with its Node.
fn private(descriptor: &Descriptor, surroundings: &FindContext<'_>, probe: &impl Probe) -> Option<Named> {
    let programs = Programs { root: surroundings.programs? };
    let install = descriptor.install.as_ref()?;
    let name = install.folder(descriptor.name.as_str());
    let versions = probe.installed(&programs.of(name));
    let version = chosen(&versions, |version| !descriptor.version_is_untested(version))?;
    let program = programs.version(name, version).join(&install.program);
    let node = |major: u32| {
        let versions = probe.installed(&programs.of(NODE));
        let node = programs.version(NODE, highest(&versions, major)?).join(Programs::node_program());
        probe.is_executable(&node).then_some(node)
    };
    let own = |major: u32| node(major).map_or(Node::Gone(major), Node::Own);
    probe.is_executable(&program).then(|| Named {
        file: surroundings.cwd.join(&program),
        node: install.node.map_or(Node::Any, own),
        version: Some(version.to_owned()),
    })
}

/// The first file that exists.
fn named(
    descriptor: &Descriptor,
    installed: &InstalledProgram,
    surroundings: &FindContext<'_>,
    probe: &impl Probe,
) -> Result<Named, FindError> {
    let engine = || descriptor.name.to_string();
    // As everywhere, an empty variable counts as not set.
    if let (Some(variable), Some(value)) =
        (&installed.variable, surroundings.variable.filter(|value| !value.is_empty()))
    {
        let path = surroundings.cwd.join(value);
        return match probe.is_executable(&path) {
            true => Ok(path.into()),
            false => Err(FindError::BadVariable { engine: engine(), variable: variable.clone(), path }),
        };
    }
    if let Some(path) = &installed.path {
        let path = surroundings.cwd.join(path);
        return match probe.is_executable(&path) {
            true => Ok(path.into()),
            false => Err(FindError::BadPath { engine: engine(), origin: descriptor.origin.to_string(), path }),
        };
    }
    if let Some(found) = private(descriptor, surroundings, probe) {
        return Ok(found);
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
    let found = in_path.chain(in_places).find(|path| probe.is_executable(path));
    found.map(Named::from).ok_or_else(|| FindError::NotInstalled {
        engine: engine(),
        names: installed.names.clone(),
        places: places.clone(),
        install: descriptor.install_command(),
        variable: installed.variable.clone(),
    })
}

/// The folders of PATH, absolute, because the engine is started in another folder. An empty one is the current folder.
fn path_folders<'a>(surroundings: &FindContext<'a>) -> impl Iterator<Item = PathBuf> + 'a {
    let cwd = surroundings.cwd;
    let folders =
        surroundings.path.filter(|path| !path.is_empty()).map(|path| path.as_bytes().split(|byte| *byte == b':'));
    folders.into_iter().flatten().map(move |folder| match folder {
        [] => cwd.to_owned(),
        folder => cwd.join(OsStr::from_bytes(folder)),
    })
}
