//! A real engine with a scripted model: each run has a data folder, a home and variables of its own, and neither the
//! user's login nor their secrets.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use skillrun_engine::Descriptor;
use skillrun_model::ExecutionMode;
use skillrun_runs::record::HomeChoice;
use skillrun_runtime::{NewRun, Options, Runtime};
use skillrun_simulate::model::{Seen, Server};
use skillrun_skill::{Skill, SkillError};

use crate::drive::{Conduct, DriveError, Ended, drive};

/// The skill that is run: it wants an object with two texts back.
const SKILL: &[(&str, &str)] = &[
    ("SKILL.md", include_str!("../probe/SKILL.md")),
    ("assets/runner.json", include_str!("../probe/assets/runner.json")),
    ("assets/output.schema.json", include_str!("../probe/assets/output.schema.json")),
];
pub(crate) const SCHEMA_FILE: &str = "assets/output.schema.json";

/// What a runtime is to be made with.
#[derive(Debug, Clone)]
pub struct World {
    pub data: PathBuf,
    /// In place of the user's, and empty.
    pub home: PathBuf,
    /// Variables that the engine must not get.
    pub unset: Vec<String>,
    /// Variables that lead it to the model; set after those are gone.
    pub set: Vec<(String, String)>,
    /// The engine is trusted: it has no network peer but the model, and works in an empty folder.
    pub consent: String,
}

/// Creates a runtime. It lives as long as it is referenced.
pub type Start<'a> = &'a (dyn Fn(&World) -> Result<Arc<Runtime>, String> + Sync);

/// Where an engine is tried.
#[derive(Clone, Copy)]
pub struct Lab<'a> {
    pub(crate) descriptor: &'a Descriptor,
    pub(crate) scratch: &'a Path,
    start: Start<'a>,
}

impl std::fmt::Debug for Lab<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lab").field("engine", &self.descriptor.name).field("scratch", &self.scratch).finish()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("{0} cannot be connected to a scripted model: its description file has no [probe] table")]
    NoProbe(String),
    #[error("{}: cannot be written ({error})", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error("{0}")]
    Start(String),
    #[error(transparent)]
    Drive(#[from] DriveError),
}

/// A run, and the runtime that owns it.
#[derive(Debug)]
pub struct Tried {
    pub runtime: Arc<Runtime>,
    pub ended: Ended,
}

/// Some engines report a tool call only when it is done; they have this long after the model asked for the tool.
const TOOL_BEGINS: Duration = Duration::from_secs(2);

/// Knows when the model has asked for a tool, and the tool has had time to begin.
#[derive(Debug)]
pub(crate) struct ToolWatch<'a> {
    server: &'a Server,
    scenario: &'a str,
    asked: OnceLock<Instant>,
}

impl<'a> ToolWatch<'a> {
    pub(crate) fn new(server: &'a Server, scenario: &'a str) -> Self {
        Self { server, scenario, asked: OnceLock::new() }
    }

    pub(crate) fn is_in(&self) -> bool {
        let is_ours = |seen: &Seen| seen.scenario.as_deref() == Some(self.scenario);
        let has_asked = |seen: &Seen| is_ours(seen) && seen.wire.is_some() && !seen.tools.is_empty();
        if self.asked.get().is_none() && self.server.requests().iter().any(has_asked) {
            self.asked.get_or_init(Instant::now);
        }
        self.asked.get().is_some_and(|since| since.elapsed() >= TOOL_BEGINS)
    }
}

impl<'a> Lab<'a> {
    /// `scratch` is an empty temporary folder.
    pub fn make(descriptor: &'a Descriptor, scratch: &'a Path, start: Start<'a>) -> Result<Self, LabError> {
        let root = skill_in(scratch);
        for (name, text) in SKILL {
            let path = root.join(name);
            let failed = |error| LabError::Write { path: path.clone(), error };
            fs::create_dir_all(path.parent().unwrap_or(&root)).map_err(failed)?;
            fs::write(&path, text).map_err(failed)?;
        }
        Ok(Self { descriptor, scratch, start })
    }

    /// Runs the skill of the lab. `scenario` is what the model does, as it stands in a path.
    pub fn run(
        &self,
        server: &Server,
        scenario: &str,
        mode: ExecutionMode,
        conduct: Conduct<'_>,
    ) -> Result<Tried, LabError> {
        let engine = self.descriptor.name.as_str();
        let probe = self.descriptor.probe.as_ref().ok_or_else(|| LabError::NoProbe(engine.to_owned()))?;
        let place = self.scratch.join(scenario);
        let home = place.join("home");
        fs::create_dir_all(&home).map_err(|error| LabError::Write { path: home.clone(), error })?;
        let world = World {
            data: place.join("data"),
            home,
            unset: self.private(),
            set: probe.variables(&server.base(scenario)),
            consent: engine.to_owned(),
        };
        let runtime = (self.start)(&world).map_err(LabError::Start)?;
        let new = NewRun {
            mode: Some(mode),
            options: Options { home: Some(HomeChoice::Run), model: probe.model.clone(), ..Options::default() },
            ..NewRun::new(Skill::load(&self.skill())?, engine)
        };
        let ended = drive(&runtime, new, conduct)?;
        Ok(Tried { runtime, ended })
    }

    /// Names of variables that are the user's business.
    fn private(&self) -> Vec<String> {
        let environment = &self.descriptor.environment;
        environment.secret.iter().chain(&environment.pass).chain(&self.descriptor.login.variables).cloned().collect()
    }

    /// The folder of the skill.
    pub(crate) fn skill(&self) -> PathBuf {
        skill_in(self.scratch)
    }
}

fn skill_in(scratch: &Path) -> PathBuf {
    scratch.join("skill").join("probe")
}
