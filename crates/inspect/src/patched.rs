//! The text of a skill that an agent will read, before there is a run.

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_model::ExecutionMode;
use skillrun_model::profile::EngineName;
use skillrun_runs::data_folder::DataFolder;
use skillrun_skill::patch::{PatchedText, patched_view};
use skillrun_skill::prompt::unfilled;
use skillrun_skill::{Layers, Patch, Skill, SkillError};

/// Placeholder for the id of a run that does not exist yet.
const RUN: &str = "RUN";

/// A skill with the rules that are added to it in a run. `RUN` stands for the id that the run will have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PatchedSkill {
    pub name: String,
    pub mode: ExecutionMode,
    #[serde(flatten)]
    pub patched: PatchedText,
    /// The first message to the engine, with its placeholders; a run adds input, parameter and files.
    pub prompt: String,
}

#[derive(Debug, thiserror::Error)]
pub enum PatchedError {
    #[error("the skill \"{skill}\" has no {mode} mode; it has: {}", words(allowed))]
    NoSuchMode { skill: String, mode: ExecutionMode, allowed: Vec<ExecutionMode> },
    #[error(transparent)]
    Skill(#[from] SkillError),
}

fn words(modes: &[ExecutionMode]) -> String {
    modes.iter().map(|mode| mode.as_str()).collect::<Vec<_>>().join(", ")
}

/// `mode`: the mode that the skill prefers, where none is given. `engine`: the engine whose first message is shown.
pub fn patched(
    skill: &Skill,
    layers: &Layers,
    data: &DataFolder,
    mode: Option<ExecutionMode>,
    engine: Option<&EngineName>,
) -> Result<PatchedSkill, PatchedError> {
    let mode = mode.unwrap_or_else(|| skill.runner.default_mode());
    if !skill.runner.allows(mode) {
        let allowed = skill.runner.execution_modes.clone();
        return Err(PatchedError::NoSuchMode { skill: skill.name.clone(), mode, allowed });
    }
    let artifacts_dir = data.runs().join(RUN).join("workspace/artifacts");
    let patched = patched_view(skill, layers, &Patch { mode, artifacts_dir: &artifacts_dir })?;
    Ok(PatchedSkill { name: skill.name.clone(), mode, patched, prompt: unfilled(skill, engine) })
}
