//! Whether the user is logged in to an engine, as far as that can be seen without asking a server.

use std::path::Path;

use crate::descriptor::{Descriptor, TakeLogin};

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
    let has_gateway = descriptor.gateway.as_ref().is_some_and(|gateway| is_set(&gateway.variable));
    let with_gateway = login.gateway_variables.iter().filter(|_| has_gateway);
    if let Some(name) = login.variables.iter().chain(with_gateway).find(|name| is_set(name)) {
        return LoginFound::Variable(name.clone());
    }
    let first = login.files.first().map(|file| file.path.as_path());
    let places = first.into_iter().chain(login.folders.iter().map(AsRef::as_ref));
    let there = places.into_iter().find(|path| is_in_home(path));
    there.map_or(LoginFound::Nothing, |path| LoginFound::File(path.to_string_lossy().into_owned()))
}

impl LoginFound {
    /// Whether files and folders of the user are taken along.
    pub fn needs_files(&self, descriptor: &Descriptor) -> bool {
        match (self, descriptor.login.take) {
            (Self::File(_), _) | (_, TakeLogin::Always) => true,
            (Self::Variable(_) | Self::Nothing, TakeLogin::WithoutVariable) => false,
        }
    }

    /// What `{{login}}` stands for.
    pub(crate) fn text<'a>(&self, descriptor: &'a Descriptor) -> Option<&'a str> {
        let text = descriptor.login.text.as_ref()?;
        Some(match self {
            Self::Variable(_) | Self::Nothing => text.variable.as_str(),
            Self::File(_) => text.file.as_str(),
        })
    }
}
