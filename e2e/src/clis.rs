//! The folder with the programs of the engines: which of them are there, and getting those that are not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use skillrun_engine::{Descriptor, Disk, EngineProgram, FindContext, find};

use crate::bounded::{Deadline, Running};
use crate::problem::Problem;
use crate::program::Program;

/// How long one may take to be installed.
const INSTALL: Duration = Duration::from_secs(10 * 60);

/// The variable that says where the folder is.
pub(crate) const VARIABLE: &str = "SKILLRUN_PROGRAMS";

#[derive(Debug, Clone)]
pub(crate) struct Clis {
    root: PathBuf,
}

impl Clis {
    /// As the user's variables say.
    pub(crate) fn find() -> Result<Self, Problem> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        let root = variable(VARIABLE).or_else(|| Some(cache()?.join("skillrun/programs")));
        Ok(Self { root: root.ok_or_else(|| Problem(format!("neither {VARIABLE} nor HOME is set")))? })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The program of an engine, if it is there; what else is installed on this machine does not count.
    pub(crate) fn program(&self, descriptor: &Descriptor) -> Option<EngineProgram> {
        let nowhere = Path::new("/");
        let surroundings = FindContext {
            own: nowhere,
            cwd: nowhere,
            path: None,
            user_home: None,
            variable: None,
            programs: Some(&self.root),
        };
        find(descriptor, &surroundings, &Disk).ok()
    }

    /// Has skillrun install one.
    pub(crate) fn install(&self, program: &Program, name: &str) -> Result<(), Problem> {
        eprintln!("installing {name}");
        let mut command = Command::new(program.path());
        command.args(["engines", "install", name]).env(VARIABLE, &self.root);
        let folder = std::env::temp_dir().join(format!("skillrun-e2e-install-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let running = Running::start(&mut command, &folder, name);
        let finished = running.and_then(|running| running.finish(&Deadline::after(INSTALL)));
        fs::remove_dir_all(&folder)?;
        match finished {
            Ok(finished) if finished.code == Some(0) => Ok(()),
            Ok(finished) => Err(Problem(format!("failed to install {name}: {}", finished.stderr.trim()))),
            Err(miss) => Err(Problem(format!("failed to install {name}: {}", miss.why))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillrun_engine::Engines;

    #[test]
    fn only_what_lies_in_the_folder_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let clis = Clis { root: folder.path().to_owned() };
        let engines = Engines::shipped();
        let mut tried = 0;
        for descriptor in engines.iter().filter(|descriptor| descriptor.install.is_some()) {
            assert_eq!(clis.program(descriptor), None, "{}", descriptor.name);
            tried += 1;
        }
        assert!(tried >= 5, "only {tried} engines can be installed");
        fs::write(folder.path().join("codex"), "").expect("written");
        assert_eq!(clis.program(engines.get("codex").expect("codex")), None);
    }
}
