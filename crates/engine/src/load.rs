//! All engines: those in the binary, and those of the operator.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use skillrun_base::fields::FieldProblem;
use skillrun_base::files;
use skillrun_base::suggest::closest;

use crate::descriptor::{Descriptor, DescriptorOrigin};
use crate::error::{GetError, LoadError, LoadErrorKind};
use crate::read::{is_engine_name, read};

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        /// Name, file name and text of the engines in the binary.
        const SHIPPED: &[(&str, &str, &str)] =
            &[$(($name, concat!($name, ".toml"), include_str!(concat!("../engines/", $name, ".toml"))),)+];
    };
}

shipped!(
    "claude",
    "claude-acp",
    "codex",
    "codex-acp",
    "gemini",
    "gemini-acp",
    "iflow",
    "opencode",
    "opencode-acp",
    "qwen",
    "qwen-acp",
    "scripted",
);

/// A file with every key and its meaning.
pub const REFERENCE: &str = include_str!("reference.toml");

/// A descriptor is a page of text.
const MAX_FILE: u64 = 1 << 20;

/// The engines by name; a broken one stays in the list with its error.
#[derive(Debug, Clone)]
pub struct Engines {
    by_name: BTreeMap<String, Result<Descriptor, Box<LoadError>>>,
    /// Problems that belong to no engine: the folder, or a file whose name is not an engine name.
    stray: Vec<LoadError>,
}

impl Engines {
    /// The engines in the binary.
    pub fn shipped() -> Self {
        let one = |&(name, file, text): &(&str, &'static str, &str)| {
            (name.to_owned(), read(text, name, &DescriptorOrigin::Shipped(file)))
        };
        Self { by_name: SHIPPED.iter().map(one).collect(), stray: Vec::new() }
    }

    /// The engines in the binary, overridden by those in the operator's folder. A folder that does not exist counts as
    /// empty.
    pub fn load(folder: Option<&Path>) -> Self {
        let mut engines = Self::shipped();
        if let Some(folder) = folder {
            engines.add_folder(folder);
        }
        engines
    }

    fn add_folder(&mut self, folder: &Path) {
        let listing = fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
        let mut paths: Vec<_> = match listing {
            Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.stray.push(whole_file(folder, LoadErrorKind::Io(error.to_string()))),
        };
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
            match path.file_stem().and_then(|stem| stem.to_str()).filter(|name| is_engine_name(name)) {
                Some(name) => {
                    self.by_name.insert(name.to_owned(), read_file(path, name));
                }
                None => {
                    let message = "a file must be named after its engine, with lower-case letters, digits, - and _";
                    self.stray.push(whole_file(path, FieldProblem::Unusable(message.to_owned()).into()));
                }
            }
        }
    }

    pub fn get(&self, name: &str) -> Result<&Descriptor, GetError> {
        match self.by_name.get(name) {
            Some(Ok(descriptor)) => Ok(descriptor),
            Some(Err(error)) => Err(GetError::Broken { name: name.to_owned(), error: error.clone() }),
            None => Err(GetError::Unknown {
                given: name.to_owned(),
                suggestion: closest(name, self.by_name.keys().map(String::as_str)).map(str::to_owned),
                known: self.by_name.keys().cloned().collect(),
            }),
        }
    }

    /// Those that can be used, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Descriptor> {
        self.by_name.values().filter_map(|loaded| loaded.as_ref().ok())
    }

    /// Everything that could not be used.
    pub fn broken(&self) -> impl Iterator<Item = &LoadError> {
        self.by_name.values().filter_map(|loaded| loaded.as_ref().err().map(AsRef::as_ref)).chain(&self.stray)
    }
}

fn whole_file(path: &Path, kind: LoadErrorKind) -> LoadError {
    LoadError { origin: DescriptorOrigin::File(path.to_owned()), line: None, key: None, kind }
}

fn read_file(path: &Path, name: &str) -> Result<Descriptor, Box<LoadError>> {
    let text = files::read_text(path, MAX_FILE).map_err(|error| Box::new(whole_file(path, error.into())))?;
    read(&text, name, &DescriptorOrigin::File(path.to_owned()))
}
