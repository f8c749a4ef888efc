//! The program that is measured.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::measure::{self, Cost};
use testkit::scratch::Recording;
use testkit::streams::Profile;

use crate::problem::Problem;

#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
}

/// Where the results go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// The summary alone.
    Summary,
    /// The four files.
    Files,
}

impl Program {
    /// The program at hand, or a fresh build with the profile `dist`.
    pub(crate) fn build(given: Option<&Path>) -> Result<Self, Problem> {
        if let Some(path) = given {
            // Parts start it from folders of their own.
            let path = path.canonicalize().map_err(|error| Problem(format!("{}: {error}", path.display())))?;
            return Ok(Self { path });
        }
        let built =
            Command::new("cargo").args(["build", "--profile", "dist", "--locked", "-p", "skillrun"]).status()?;
        if !built.success() {
            return Err(Problem("failed to build skillrun".to_owned()));
        }
        // Both are built by cargo with the same profile, so they lie side by side.
        Ok(Self { path: std::env::current_exe()?.with_file_name("skillrun") })
    }

    /// The program, without arguments.
    pub(crate) fn command(&self) -> Command {
        Command::new(&self.path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// `skillrun normalize` on a recording.
    pub(crate) fn normalize(&self, recording: &Recording, profile: Profile, output: Output) -> Command {
        let mut command = Command::new(&self.path);
        command.args(self.arguments(recording, profile, output));
        command
    }

    /// The same under another program, which gets skillrun and its arguments as arguments.
    pub(crate) fn normalize_under(
        &self,
        mut outer: Command,
        recording: &Recording,
        profile: Profile,
        output: Output,
    ) -> Command {
        outer.arg(&self.path).args(self.arguments(recording, profile, output));
        outer
    }

    fn arguments(&self, recording: &Recording, profile: Profile, output: Output) -> Vec<PathBuf> {
        let mut arguments: Vec<PathBuf> = ["normalize", "--profile", profile.name(), "--exit-code", "0", "--mode"]
            .map(PathBuf::from)
            .into_iter()
            .collect();
        arguments.push("interactive".into());
        if output == Output::Files {
            arguments.push("--out".into());
            arguments.push(recording.path("out"));
        }
        arguments.push(recording.folder().to_owned());
        arguments
    }
}

/// Runs a command and insists that it ends well.
pub(crate) fn cost_of(command: &mut Command, stdout: Stdio) -> Result<Cost, Problem> {
    let cost = measure::run(command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()))?;
    if cost.status.success() { Ok(cost) } else { Err(Problem(format!("{command:?} ended with {}", cost.status))) }
}

/// Runs skillrun and sees whether every byte lies in an event.
pub(crate) fn cost_with_coverage(command: &mut Command, recording: &Recording, name: &str) -> Result<Cost, Problem> {
    let summary = recording.path(&format!("{name}.summary.json"));
    let cost = cost_of(command, Stdio::from(File::create(&summary)?))?;
    let bytes = std::fs::read(&summary)?;
    std::fs::remove_file(&summary)?;
    let summary: Value = serde_json::from_slice(&bytes)?;
    let coverage = &summary["coverage"];
    if coverage["stdout_bytes"] != recording.len()? || coverage["stdout_covered"] != coverage["stdout_bytes"] {
        return Err(Problem(format!("{command:?}: bytes without an event: {coverage}")));
    }
    Ok(cost)
}
