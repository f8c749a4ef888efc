//! Whether the user is logged in to an engine, as far as that can be told without asking anybody.

use std::path::Path;

use crate::descriptor::Descriptor;

/// What was found of the user's login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginFound {
    /// A variable of this name is set.
    Variable(String),
    /// A file or folder of this name is in HOME.
    File(String),
    Nothing,
}

/// A variable comes before a file, as it does in the engines.
pub fn found(descriptor: &Descriptor, is_set: impl Fn(&str) -> bool, is_in_home: impl Fn(&Path) -> bool) -> LoginFound {
    let login = &descriptor.login;
    if let Some(name) = login.variables.iter().find(|name| is_set(name)) {
        return LoginFound::Variable(name.clone());
    }
    let first = login.files.first().map(|file| file.path.as_path());
    let places = first.into_iter().chain(login.folders.iter().map(AsRef::as_ref));
    let there = places.into_iter().find(|path| is_in_home(path));
    there.map_or(LoginFound::Nothing, |path| LoginFound::File(path.to_string_lossy().into_owned()))
}

impl LoginFound {
    /// What `{{login}}` stands for.
    pub(crate) fn text<'a>(&self, descriptor: &'a Descriptor) -> Option<&'a str> {
        let text = descriptor.login.text.as_ref()?;
        Some(match self {
            Self::Variable(_) | Self::Nothing => text.variable.as_str(),
            Self::File(_) => text.file.as_str(),
        })
    }
}
