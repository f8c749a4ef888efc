//! `skillrun engines`: which there are, which are installed, and how far each can be trusted.

mod list;
mod probe;
mod show;

use std::path::Path;

use serde_json::{Map, Value, json};
use skillrun_engine::descriptor::{Executable, Origin};
use skillrun_engine::load::REFERENCE;
use skillrun_engine::{Descriptor, Disk, FindError, Found, Permission, find};

use crate::args::{Engines, EnginesCommand, EnginesList, Global};
use crate::failure::Failure;
use crate::output::print;
use crate::settings::Settings;
use probe::Version;

pub(crate) fn run(global: &Global, args: Engines) -> Result<(), Failure> {
    match args.command.unwrap_or(EnginesCommand::List(args.list)) {
        EnginesCommand::List(how) => list::run(global, how),
        EnginesCommand::Show { name, list: how } => show::run(global, &name, how),
        EnginesCommand::Reference => print(REFERENCE),
    }
}

/// Whether programs are started to ask for their versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probing {
    On,
    Off,
}

impl From<EnginesList> for Probing {
    fn from(args: EnginesList) -> Self {
        if args.no_probe { Self::Off } else { Self::On }
    }
}

/// An engine and what is found of it on this machine.
#[derive(Debug)]
struct State<'a> {
    descriptor: &'a Descriptor,
    program: Result<Found, FindError>,
    version: Version,
}

/// Whether the output of this version is known to be read well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tested {
    Yes,
    No,
    /// No version, or none was ever tested.
    Unknown,
}

impl Tested {
    fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "tested",
            Self::No => "untested",
            Self::Unknown => "unknown",
        }
    }
}

impl<'a> State<'a> {
    fn of(descriptor: &'a Descriptor, settings: &Settings, probing: Probing) -> Self {
        let program = find(descriptor, &settings.engine_surroundings(descriptor), &Disk);
        let version = match (&descriptor.version, &program, probing) {
            (Some(rule), Ok(found), Probing::On) => probe::version(&found.program, rule),
            (Some(_), _, Probing::Off) | (None, _, _) | (_, Err(_), _) => Version::NotAsked,
        };
        Self { descriptor, program, version }
    }

    /// All at once, because some programs take a second to tell their version.
    fn of_all(descriptors: Vec<&'a Descriptor>, settings: &Settings, probing: Probing) -> Vec<Self> {
        std::thread::scope(|scope| {
            let start = |descriptor| (descriptor, scope.spawn(move || Self::of(descriptor, settings, probing)));
            let started: Vec<_> = descriptors.into_iter().map(start).collect();
            // A thread that died has told why; the engine is shown without a version.
            let end = |(descriptor, thread): (_, std::thread::ScopedJoinHandle<'_, Self>)| {
                thread.join().unwrap_or_else(|_| Self::of(descriptor, settings, Probing::Off))
            };
            started.into_iter().map(end).collect()
        })
    }

    fn is_own(&self) -> bool {
        self.descriptor.executable == Executable::Own
    }

    fn tested(&self) -> Tested {
        match (&self.version, self.descriptor.tested_versions()) {
            (Version::Known(version), Some(_)) if self.descriptor.version_is_untested(version) => Tested::No,
            (Version::Known(_), Some(_)) => Tested::Yes,
            (Version::Known(_), None) | (Version::NotAsked | Version::Silent(_), _) => Tested::Unknown,
        }
    }

    fn json(&self) -> Value {
        let descriptor = self.descriptor;
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let origin = match &descriptor.origin {
            Origin::Shipped(_) => "shipped".to_owned(),
            Origin::File(file) => path(file),
        };
        let found = self.program.as_ref().ok();
        let posture = |permission: &Permission| {
            let posture = descriptor.permissions.rule(*permission).posture.as_str();
            (permission.as_str().to_owned(), Value::from(posture))
        };
        json!({
            "name": descriptor.name.as_str(),
            "title": descriptor.title,
            "origin": origin,
            "program": found.map(|found| path(&found.program)),
            "wrapper": found.and_then(|found| found.wrapper.as_deref()).map(path),
            "version": match &self.version {
                Version::Known(version) => Some(version),
                Version::NotAsked | Version::Silent(_) => None,
            },
            "tested": self.tested().as_str(),
            "continuation": descriptor.continuation.as_str(),
            "profile": descriptor.profile.as_str(),
            "permissions": Permission::ALL.iter().map(posture).collect::<Map<_, _>>(),
            "problem": self.problem(),
        })
    }

    /// Why it cannot be used, or its version not be told.
    fn problem(&self) -> Option<String> {
        match (&self.program, &self.version) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), Version::Silent(why)) => Some(why.clone()),
            (Ok(_), Version::Known(_) | Version::NotAsked) => None,
        }
    }
}
