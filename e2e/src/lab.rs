//! What all trials share: the program, the model, the user's HOME, a skill, and what must be the same on all engines.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use skillrun_engine::Engines;
use skillrun_simulate::model::{Options, Script, ScriptError, Server};

use crate::args::Confinement;
use crate::clis::Clis;
use crate::engines::{self, Engine};
use crate::home::Home;
use crate::place::World;
use crate::problem::Problem;
use crate::program::Program;
use crate::scenarios::asked;
use crate::scenarios::skill::{self, Shapes};
use crate::scenarios::talk;
use crate::stop::Stop;

const SKILL: &str = "\
---
name: probe
description: Finds out whether an engine works. Use it when you are asked for it by name.
---

# Probe

Do one thing with the shell. Then say how it went.
";

// It lets an object through that was only meant as an example, so that taking the wrong one would show.
const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {"status": {"type": "string"}, "summary": {"type": "string"}},
  "required": ["status", "summary"]
}
"#;

const RUNNER: &str = r#"{"id": "probe", "execution_modes": ["auto", "interactive"], "schemas": {"output": "assets/output.schema.json"}}"#;

/// Between the forty pieces of a slow answer: time enough to disturb it.
const SLOW_PAUSE: Duration = Duration::from_millis(150);

#[derive(Debug)]
pub(crate) struct Lab {
    program: Program,
    clis: Clis,
    /// What it does is part of its address.
    pub(crate) model: Server,
    pub(crate) home: Home,
    config: PathBuf,
    /// The skill of most scenarios.
    pub(crate) skill: PathBuf,
    /// The skill of conversations.
    pub(crate) talk: PathBuf,
    pub(crate) shapes: Shapes,
    pub(crate) scratch: PathBuf,
    /// When everything must be over.
    pub(crate) end: Option<Instant>,
    pub(crate) confinement: Confinement,
    pub(crate) stop: Stop,
}

impl Lab {
    pub(crate) fn make(
        program: Program,
        clis: Clis,
        engines: &[String],
        end: Option<Instant>,
        confinement: Confinement,
        stop: Stop,
    ) -> Result<Self, Problem> {
        // Short, because sockets below it have room for a hundred bytes.
        let scratch = std::env::temp_dir().join(format!("skillrun-e2e-{}", std::process::id()));
        let skill = scratch.join("probe");
        fs::create_dir_all(skill.join("assets"))?;
        fs::write(skill.join("SKILL.md"), SKILL)?;
        fs::write(skill.join("assets/output.schema.json"), SCHEMA)?;
        fs::write(skill.join("assets/runner.json"), RUNNER)?;
        let talk = scratch.join("talk");
        talk::write_skill(&talk)?;
        let config = scratch.join("config.toml");
        let settings = match confinement {
            Confinement::Off => format!("box = \"off\"\nconsent = {engines:?}\n"),
            // No consent: what the box holds needs none.
            Confinement::On => "box = \"required\"\nnetwork = \"model\"\n".to_owned(),
        };
        fs::write(&config, settings)?;
        let home = Home::make(scratch.join("home"))?;
        let scripts = std::iter::once((skill::SCRIPT, skill::script())).chain(asked::scripts());
        let read = |(name, json): (&str, Value)| Ok((name.to_owned(), Script::from_json(&json)?));
        let scripts = scripts.map(read).collect::<Result<Vec<_>, ScriptError>>();
        let scripts = scripts.map_err(|error| Problem(error.to_string()))?;
        let model = Server::start(Options { slow_pause: SLOW_PAUSE, scripts, ..Options::default() })?;
        Ok(Self {
            program,
            clis,
            model,
            home,
            config,
            skill,
            talk,
            shapes: Shapes::default(),
            scratch,
            end,
            confinement,
            stop,
        })
    }

    /// An engine, if its program is there.
    pub(crate) fn engine(&self, name: &str) -> Option<Engine> {
        engines::installed(Engines::shipped().get(name).ok()?, &self.clis)
    }

    pub(crate) fn world(&self) -> World<'_> {
        World { skillrun: self.program.path(), clis: &self.clis, home: self.home.path(), config: &self.config }
    }
}
