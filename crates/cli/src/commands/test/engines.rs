//! Which engines a skill is tried on.

use skillrun_engine::Descriptor;
use skillrun_engine::descriptor::Executable;
use skillrun_runtime::looking::engines::{Probing, State};
use skillrun_skill::{EngineSupport, Skill};
use skillrun_trial::cases::Case;
use skillrun_trial::trials::{Engine, Plays};

use crate::commands::engines::around;
use crate::failure::Failure;
use crate::settings::Settings;

/// Where a skill keeps the script of its own.
const OWN_SCRIPT: &str = "assets/scripted.yaml";

/// What becomes of an engine that was named and is not installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    IsAnError,
    IsLeftOut,
}

impl From<bool> for Missing {
    fn from(skip: bool) -> Self {
        if skip { Self::IsLeftOut } else { Self::IsAnError }
    }
}

#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) engines: Vec<Engine>,
    /// And why.
    pub(super) skipped: Vec<(String, String)>,
}

/// Those that were named, else all that can run the skill.
pub(super) fn choose(
    settings: &Settings,
    skill: &Skill,
    cases: &[Case],
    named: &[String],
    missing: Missing,
) -> Result<Chosen, Failure> {
    let known = settings.engines();
    let mut chosen = Chosen { engines: Vec::new(), skipped: Vec::new() };
    if named.is_empty() {
        let allows = |descriptor: &&Descriptor| skill.supports(&descriptor.name) == EngineSupport::Supported;
        let can_play = |descriptor: &&Descriptor| plays(descriptor) == Plays::Nothing || has_scripts(skill, cases);
        for descriptor in known.iter().filter(allows).filter(can_play) {
            if State::of(descriptor, around(settings), Probing::Off).program.is_ok() {
                chosen.add(descriptor);
            }
        }
        if chosen.engines.is_empty() {
            let what = "no engine that the skill allows is installed; `skillrun engines` lists them";
            return Err(Failure::NotFound(what.to_owned()));
        }
        return Ok(chosen);
    }
    for name in named {
        let descriptor = known.get(name)?;
        match (State::of(descriptor, around(settings), Probing::Off).program, missing) {
            (Ok(_), _) => chosen.add(descriptor),
            (Err(error), Missing::IsLeftOut) => chosen.skipped.push((name.clone(), error.to_string())),
            (Err(error), Missing::IsAnError) => {
                return Err(Failure::NotFound(format!("{error}; --skip-missing leaves it out")));
            }
        }
    }
    if chosen.engines.is_empty() {
        return Err(Failure::NotFound("none of the engines that were named is installed".to_owned()));
    }
    Ok(chosen)
}

impl Chosen {
    fn add(&mut self, descriptor: &Descriptor) {
        let name = descriptor.name.as_str();
        if !self.engines.iter().any(|engine| engine.name == name) {
            self.engines.push(Engine { name: name.to_owned(), plays: plays(descriptor) });
        }
    }
}

fn plays(descriptor: &Descriptor) -> Plays {
    match descriptor.executable {
        Executable::Own => Plays::Scripts,
        Executable::Installed(_) => Plays::Nothing,
    }
}

/// Whether there is something to play for every case.
fn has_scripts(skill: &Skill, cases: &[Case]) -> bool {
    skill.root.join(OWN_SCRIPT).is_file() || cases.iter().all(|case| case.script.is_some())
}
