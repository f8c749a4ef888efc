//! Finds and reads the file of a workflow.

use std::path::{Path, PathBuf};

use skillrun_model::workflow::{WorkflowOrigin, WorkflowPlan};
use skillrun_runtime::workflows::{WorkflowSurroundings, planned as plan_of};
use skillrun_skill::workflow::read_file;

use crate::failure::Failure;
use crate::settings::Settings;

/// Where a skill keeps its workflow.
const OF_SKILL: [&str; 3] = ["assets/workflow.yaml", "assets/workflow.yml", "assets/workflow.json"];

/// The plan of the workflow that a word on the command line means.
pub(super) fn planned(settings: &Settings, word: &str, engine: Option<&str>) -> Result<WorkflowPlan, Failure> {
    let (path, origin) = find(settings, word)?;
    let file = read_file(&path).map_err(skillrun_runtime::workflows::WorkflowFault::from)?;
    let around = WorkflowSurroundings {
        folder: path.parent(),
        skills: &settings.search_path(settings.cwd()),
        engines: &settings.engines(),
        engine: engine.or(settings.engine.as_deref()),
        origin: Some(&origin),
    };
    Ok(plan_of(&file, around)?)
}

fn find(settings: &Settings, word: &str) -> Result<(PathBuf, WorkflowOrigin), Failure> {
    let path = settings.surroundings.absolute_path(Path::new(word));
    if path.is_file() {
        return Ok((path, WorkflowOrigin::File));
    }
    let looks_like_a_file = Path::new(word).extension().is_some() || word.contains('/') && !path.is_dir();
    if looks_like_a_file {
        return Err(Failure::NotFound(format!("{word}: there is no such file")));
    }
    let skill = settings.search_path(settings.cwd()).resolve(word, settings.cwd())?;
    let found = OF_SKILL.iter().map(|name| skill.root.join(name)).find(|path| path.is_file());
    let path = found.ok_or_else(|| {
        Failure::Input(format!("the skill \"{}\" has no workflow; it would be in {}", skill.name, OF_SKILL[0]))
    })?;
    Ok((path, WorkflowOrigin::Skill(skill.name)))
}
