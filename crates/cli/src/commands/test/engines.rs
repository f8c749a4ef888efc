//! Which engines a skill is tested on.

use skillrun_engine::descriptor::Executable;
use skillrun_engine::{Descriptor, Engines};
use skillrun_runtime::engines::{Probing, State};
use skillrun_skill::{EngineSupport, Skill};
use skillrun_trial::cases::Case;
use skillrun_trial::trials::{Engine, Plays};

use crate::args::{ModelChoice, Test};
use crate::commands::engines::around;
use crate::failure::Failure;
use crate::settings::Settings;

/// Path of a skill's own script.
const OWN_SCRIPT: &str = "assets/scripted.yaml";

/// What happens to an engine that was named and is not installed.
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

/// The named engines, else all that can run the skill.
pub(super) fn choose(settings: &Settings, skill: &Skill, cases: &[Case], args: &Test) -> Result<Chosen, Failure> {
    let (named, missing) = (&args.engines, Missing::from(args.skip_missing));
    let known = settings.engines();
    let models = Models::of(&known, &args.models)?;
    let mut chosen = Chosen { engines: Vec::new(), skipped: Vec::new() };
    if named.is_empty() {
        let allows = |descriptor: &&Descriptor| skill.supports(&descriptor.name) == EngineSupport::Supported;
        let can_play = |descriptor: &&Descriptor| plays(descriptor) == Plays::Nothing || has_scripts(skill, cases);
        for descriptor in known.iter().filter(allows).filter(can_play) {
            if State::of(descriptor, around(settings), Probing::Off).program.is_ok() {
                chosen.add(descriptor, &models);
            }
        }
        if chosen.engines.is_empty() {
            let what = "no engine that the skill supports is installed; `skillrun engines` lists all engines";
            return Err(Failure::NotFound(what.to_owned()));
        }
        return Ok(chosen);
    }
    for name in named {
        let descriptor = known.get(name)?;
        match (State::of(descriptor, around(settings), Probing::Off).program, missing) {
            (Ok(_), _) => chosen.add(descriptor, &models),
            (Err(error), Missing::IsLeftOut) => chosen.skipped.push((name.clone(), error.to_string())),
            (Err(error), Missing::IsAnError) => {
                return Err(Failure::NotFound(format!("{error}; --skip-missing skips it")));
            }
        }
    }
    if chosen.engines.is_empty() {
        return Err(Failure::NotFound("none of the named engines is installed".to_owned()));
    }
    Ok(chosen)
}

impl Chosen {
    fn add(&mut self, descriptor: &Descriptor, models: &Models<'_>) {
        let name = descriptor.name.as_str();
        if !self.engines.iter().any(|engine| engine.name == name) {
            let model = models.of_engine(name).map(str::to_owned);
            self.engines.push(Engine { name: name.to_owned(), plays: plays(descriptor), model });
        }
    }
}

/// Which model each engine is to use.
struct Models<'a>(&'a [ModelChoice]);

impl<'a> Models<'a> {
    /// A model for an engine that is not tested is allowed; an unknown engine is a typing error.
    fn of(known: &Engines, choices: &'a [ModelChoice]) -> Result<Self, Failure> {
        for (number, choice) in choices.iter().enumerate() {
            choice.engine.as_ref().map(|name| known.get(name)).transpose()?;
            if choices.iter().take(number).any(|earlier| earlier.engine == choice.engine) {
                let engine = choice.engine.as_deref().unwrap_or("all engines");
                return Err(Failure::Input(format!("--model is given twice for {engine}")));
            }
        }
        Ok(Self(choices))
    }

    fn of_engine(&self, name: &str) -> Option<&str> {
        let model = |engine: Option<&str>| self.0.iter().find(|choice| choice.engine.as_deref() == engine);
        model(Some(name)).or_else(|| model(None)).map(|choice| choice.model.as_str())
    }
}

fn plays(descriptor: &Descriptor) -> Plays {
    match descriptor.executable {
        Executable::Own => Plays::Scripts,
        Executable::Installed(_) => Plays::Nothing,
    }
}

/// Whether there is a script for every case.
fn has_scripts(skill: &Skill, cases: &[Case]) -> bool {
    skill.root.join(OWN_SCRIPT).is_file() || cases.iter().all(|case| case.script.is_some())
}
