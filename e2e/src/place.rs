//! The folder of one trial, and skillrun called in it as a user would.
//!
//! ```text
//! SCRATCH/ENGINE/SCENARIO/  data/   the data folder of skillrun
//!                           tmp/    temporary files
//!                           NAME.stdout, NAME.stderr of each command
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use skillrun_model::RunId;

use crate::clis::{self, Clis};
use crate::engines::Engine;
use crate::processes;

/// Long enough to be masked wherever it turns up.
pub(crate) const KEY: &str = "sk-e2e-5d41402abc4b2a76b9719d911017c592";

#[derive(Debug)]
pub(crate) struct Place {
    root: PathBuf,
    /// The value that all processes of this trial carry.
    pub(crate) tag: String,
}

/// Everything that a command of skillrun needs to know of the world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) skillrun: &'a Path,
    pub(crate) clis: &'a Clis,
    pub(crate) home: &'a Path,
    /// The settings of skillrun.
    pub(crate) config: &'a Path,
}

impl Place {
    pub(crate) fn make(scratch: &Path, engine: &str, scenario: &str) -> std::io::Result<Self> {
        let root = scratch.join(engine).join(scenario);
        for folder in ["data", "tmp"] {
            fs::create_dir_all(root.join(folder))?;
        }
        let tag = format!("{}-{engine}-{scenario}", std::process::id());
        Ok(Self { root, tag })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Where the folders of runs lie.
    pub(crate) fn runs(&self) -> PathBuf {
        self.data().join("runs")
    }

    /// A file of a run.
    pub(crate) fn file(&self, run: RunId, name: &str) -> PathBuf {
        self.runs().join(run.to_string()).join(name)
    }

    /// skillrun with these words; `server` is where the engine finds its model.
    pub(crate) fn command(&self, world: World<'_>, engine: &Engine, server: &str, words: &[&str]) -> Command {
        let mut command = Command::new(world.skillrun);
        command.arg("--config").arg(world.config).arg("--data").arg(self.data()).args(words);
        self.surround(&mut command, world, engine, server);
        command
    }

    /// A user's surroundings and nothing else.
    pub(crate) fn surround(&self, command: &mut Command, world: World<'_>, engine: &Engine, server: &str) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", world.home)
            .env("TMPDIR", self.root.join("tmp"))
            .env("LANG", "C.UTF-8")
            .env(clis::VARIABLE, world.clis.root())
            .env(processes::TAG, &self.tag)
            .envs(engine.variables(server))
            .current_dir(&self.root);
    }
}
