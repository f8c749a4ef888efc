//! Routes for authors of skills: what an agent reads of a skill, and the errors of a skill that is not installed yet.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::routing::{get, post};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use skillrun_inspect::patched::{PatchedError, PatchedSkill, patched};
use skillrun_model::ExecutionMode;
use skillrun_skill::{Existing, Skill, archive};

use super::Route;
use super::catalogs::{SkillForm, SkillWords, found, refused};
use crate::blocking::blocking;
use crate::extract::{InPath, Params};
use crate::guard::{Reads, Runs};
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use crate::upload;
use skillrun_auth::Scope;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            operation: Operation::get(
                "/v1/skills/{name}/patched",
                "get_patched_skill",
                "Show a skill as the agent reads it, with the rules that a run adds",
            )
            .scope(Scope::Read)
            .query::<PatchedParams>()
            .answers::<PatchedSkill>(StatusCode::OK, "The text, and which lines were added")
            .problems(&[ProblemCode::SkillNotFound, ProblemCode::SkillInvalid, ProblemCode::CannotRun]),
            handler: get(patched_skill),
        },
        // Not below `/v1/skills/`: a skill of that name would be unreachable there.
        Route {
            operation: Operation::post(
                "/v1/validate",
                "validate_skill",
                "Validate a skill in a zip without storing it",
            )
            .scope(Scope::Run)
            .multipart_body::<SkillForm>()
            .answers::<SkillCheck>(StatusCode::OK, "The skill, with its errors and warnings")
            .problems(&[ProblemCode::SkillInvalid]),
            handler: post(validate_skill),
        },
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PatchedParams {
    /// Default: the mode the skill prefers.
    mode: Option<ExecutionMode>,
    /// One of `GET /v1/engines`, whose opening text is shown. Default: the text of engines that have none of their own.
    engine: Option<String>,
}

async fn patched_skill(
    _: Reads,
    State(service): State<Arc<Service>>,
    InPath(name): InPath<String>,
    Params(params): Params<PatchedParams>,
) -> HttpResult<Json<PatchedSkill>> {
    blocking(move || {
        let skill = found(&service, &name)?;
        let cannot_run = |field: &str, words: String| Problem::field(field, words).with_code(ProblemCode::CannotRun);
        let engine = params.engine.map(|name| service.around.engines.get(&name).map(|engine| engine.name.clone()));
        let engine = engine.transpose().map_err(|error| cannot_run("query.engine", error.to_string()))?;
        let layers = service.runtime.layers();
        let patched = patched(&skill, layers, &service.data, params.mode, engine.as_ref());
        patched.map(Json).map_err(|error| match error {
            PatchedError::NoSuchMode { .. } => cannot_run("query.mode", error.to_string()),
            PatchedError::Skill(_) => Problem::new(ProblemCode::SkillInvalid, error.to_string()),
        })
    })
    .await
}

/// A skill that was validated and not stored.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillCheck {
    /// The name under which it would be installed.
    name: String,
    /// When to use the skill, from its own description.
    description: String,
    version: Option<String>,
    /// The supported modes.
    modes: Vec<ExecutionMode>,
    /// The supported engines; empty: all.
    engines: Vec<String>,
    /// Why the skill could not be run; null if it could.
    problem: Option<String>,
    /// Whether a skill of this name is installed, which this one would replace.
    is_installed: bool,
    #[serde(flatten)]
    words: SkillWords,
}

async fn validate_skill(
    _: Runs,
    State(service): State<Arc<Service>>,
    request: Request,
) -> HttpResult<Json<SkillCheck>> {
    let form = upload::receive(&service, request).await?;
    form.only(|part| part == "skill")?;
    let zip = form.one("skill")?.ok_or_else(|| Problem::field("skill", "is missing; send a zip"))?;
    service
        .clone()
        .heavily(move || {
            // Next to the zip, in the folder that is removed with the form.
            let folder = form.folder.path().join("skill");
            let installed = archive::install(&zip, &folder, Existing::Refuse).map_err(|error| refused(&error))?;
            let check = skill_check(&service, &installed.skill);
            drop(form);
            Ok(Json(check))
        })
        .await
}

fn skill_check(service: &Service, skill: &Skill) -> SkillCheck {
    let runner = &skill.runner;
    let problem = skill.check_usable().err().map(|error| {
        // Its temporary path is not disclosed.
        let file = error.path.strip_prefix(&skill.root).unwrap_or(&error.path).display().to_string();
        format!("{file}: {}", error.kind)
    });
    // Its folder has the name under which it would be installed.
    let place = skill.root.file_name().map(|name| service.data.skills().join(name));
    SkillCheck {
        name: skill.name.clone(),
        description: skill.description().to_owned(),
        version: runner.version.clone(),
        modes: runner.execution_modes.clone(),
        engines: runner.engines.iter().map(ToString::to_string).collect(),
        problem,
        is_installed: place.is_some_and(|place| place.symlink_metadata().is_ok()),
        words: SkillWords::of(skill),
    }
}
