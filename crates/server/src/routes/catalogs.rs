//! The catalogs that runs draw on: skills and engines.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use skillrun_model::{Classified, ErrorClass, ExecutionMode};
use skillrun_runtime::engines::{EngineList, Probing};
use skillrun_skill::archive::{self, ArchiveErrorKind};
use skillrun_skill::search::FindError;
use skillrun_skill::validate::validate;
use skillrun_skill::{ArchiveError, Existing, Finding, SchemaRole, Severity, Skill, SkillOrigin};

use super::Route;
use crate::blocking::blocking;
use crate::extract::{InPath, Params};
use crate::guard::{Administers, Reads};
use crate::openapi::Operation;
use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use crate::upload;
use skillrun_auth::Scope;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            operation: Operation::get("/v1/skills", "list_skills", "List skills that can be run by name")
                .scope(Scope::Read)
                .answers::<SkillList>(StatusCode::OK, "Sorted by name"),
            handler: get(list),
        },
        Route {
            operation: Operation::post("/v1/skills", "install_skill", "Install a skill from a zip")
                .scope(Scope::Admin)
                .query::<InstallParams>()
                .multipart_body::<SkillForm>()
                .answers::<SkillView>(StatusCode::CREATED, "The skill was installed")
                .problems(&[ProblemCode::SkillInvalid, ProblemCode::SkillExists]),
            handler: post(install),
        },
        Route {
            operation: Operation::get("/v1/skills/{name}", "get_skill", "Show a skill with its schemas")
                .scope(Scope::Read)
                .answers::<SkillView>(StatusCode::OK, "The skill")
                .problems(&[ProblemCode::SkillNotFound, ProblemCode::SkillInvalid]),
            handler: get(one),
        },
        Route {
            operation: Operation::delete("/v1/skills/{name}", "remove_skill", "Remove an installed skill")
                .scope(Scope::Admin)
                .answers_nothing(StatusCode::NO_CONTENT, "The skill was removed; runs keep their copies of it")
                .problems(&[ProblemCode::SkillNotFound]),
            handler: delete(remove),
        },
        Route {
            operation: Operation::get(
                "/v1/engines",
                "list_engines",
                "List engines, whether each is installed, and how well it is supported",
            )
            .scope(Scope::Read)
            .query::<EngineParams>()
            .answers::<EngineList>(StatusCode::OK, "Sorted by name"),
            handler: get(engines),
        },
    ]
}

/// A skill in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SkillSummary")]
pub(crate) struct SkillEntry {
    /// The name to use in a request.
    name: String,
    /// When to use the skill, from its own description.
    description: String,
    origin: SkillOrigin,
    version: Option<String>,
    /// The supported modes.
    modes: Vec<ExecutionMode>,
    /// The supported engines; empty: all.
    engines: Vec<String>,
    /// Why the skill cannot be run; null if it can.
    problem: Option<String>,
}

/// Skills by name.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillList {
    skills: Vec<SkillEntry>,
    /// Folders that cannot be read, each with the reason.
    unreadable: Vec<String>,
}

/// A skill, with the schemas from which a form can be generated.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Skill")]
pub(crate) struct SkillView {
    #[serde(flatten)]
    entry: SkillEntry,
    /// The folder of the skill on the machine of the server.
    folder: String,
    #[serde(flatten)]
    words: SkillWords,
}

/// What a skill declares about itself, wherever it is stored, and its errors.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SkillWords {
    /// Engines that the skill does not support.
    unsupported_engines: Vec<String>,
    /// Maximum number of turns of a run; null: the setting applies.
    max_attempt: Option<u32>,
    /// Whether an auto run fails when the agent gives no done marker; null: the setting applies.
    require_marker: Option<bool>,
    /// The JSON Schemas of input, parameter and output that the skill has.
    schemas: BTreeMap<String, Value>,
    /// Patterns of files that count as artifacts.
    artifacts: Vec<String>,
    /// blake3 of all its files.
    hash: Option<String>,
    /// Errors and warnings about the skill.
    findings: Vec<Finding>,
}

/// The first error that loading a skill does not detect, such as an invalid schema.
fn first_error(skill: &Skill) -> Option<String> {
    let findings = validate(&skill.root).findings;
    let error = findings.into_iter().find(|finding| finding.severity == Severity::Error)?;
    Some(format!("{}: {}", error.file.display(), error.message))
}

fn entry(skill: &Skill, origin: SkillOrigin) -> SkillEntry {
    SkillEntry {
        name: skill.name.clone(),
        description: skill.description().to_owned(),
        origin,
        version: skill.runner.version.clone(),
        modes: skill.runner.execution_modes.clone(),
        engines: skill.runner.engines.iter().map(ToString::to_string).collect(),
        problem: skill.check_usable().err().map(|error| error.to_string()).or_else(|| first_error(skill)),
    }
}

async fn list(_: Reads, State(service): State<Arc<Service>>) -> HttpResult<Json<SkillList>> {
    blocking(move || {
        let listing = service.around.skills.list();
        let one = |found: skillrun_skill::search::FoundSkill| match Skill::load(&found.root) {
            Ok(skill) => entry(&skill, found.origin),
            Err(error) => SkillEntry {
                name: found.name,
                description: String::new(),
                origin: found.origin,
                version: None,
                modes: Vec::new(),
                engines: Vec::new(),
                problem: Some(error.to_string()),
            },
        };
        let skills = listing.skills.into_iter().map(one).collect();
        let unreadable = listing.unreadable.iter().map(ToString::to_string).collect();
        Ok(Json(SkillList { skills, unreadable }))
    })
    .await
}

impl SkillWords {
    pub(super) fn of(skill: &Skill) -> Self {
        let runner = &skill.runner;
        let schema = |role: &SchemaRole| {
            let path = skill.root.join(runner.schema(*role)?.as_path());
            // Checked and bounded when the skill was loaded.
            let schema = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
            Some((role.as_str().to_owned(), schema))
        };
        Self {
            unsupported_engines: runner.unsupported_engines.iter().map(ToString::to_string).collect(),
            max_attempt: runner.max_attempt.map(Into::into),
            require_marker: runner.require_marker,
            schemas: SchemaRole::ALL.iter().filter_map(schema).collect(),
            artifacts: runner.artifacts.iter().map(|rule| rule.pattern.to_string()).collect(),
            hash: skill.hash().ok().map(|hash| hash.to_string()),
            findings: validate(&skill.root).findings,
        }
    }
}

fn skill_view(service: &Service, skill: &Skill) -> SkillView {
    let listed = service.around.skills.list().skills.into_iter().find(|found| found.root == skill.root);
    SkillView {
        entry: entry(skill, listed.map_or(SkillOrigin::Path, |found| found.origin)),
        folder: skill.root.to_string_lossy().into_owned(),
        words: SkillWords::of(skill),
    }
}

fn not_found(name: &str) -> Problem {
    Problem::new(ProblemCode::SkillNotFound, format!("there is no skill \"{name}\""))
}

/// The skill of a name. Blocking.
pub(super) fn found(service: &Service, name: &str) -> HttpResult<Skill> {
    service.around.skills.find(name).map_err(|error| match error {
        FindError::NotFound { .. } => not_found(name),
        FindError::Unusable(error) => Problem::new(ProblemCode::SkillInvalid, error.to_string()),
    })
}

async fn one(
    _: Reads,
    State(service): State<Arc<Service>>,
    InPath(name): InPath<String>,
) -> HttpResult<Json<SkillView>> {
    blocking(move || Ok(Json(skill_view(&service, &found(&service, &name)?)))).await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct InstallParams {
    /// Whether an installed skill of the same name is replaced.
    #[serde(default)]
    replace: bool,
}

/// Parts of a form.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used: parts are read as they come")]
#[schemars(deny_unknown_fields)]
pub(crate) struct SkillForm {
    /// A zip with the skill.
    #[schemars(extend("contentMediaType" = "application/zip"))]
    skill: String,
}

/// Why a package is refused. Its path on the disk of the server is not disclosed.
pub(super) fn refused(error: &ArchiveError) -> Problem {
    Problem::field("skill", error.kind.to_string()).with_code(archive_code(error))
}

fn archive_code(error: &ArchiveError) -> ProblemCode {
    // The uploaded package is a file of the server.
    if matches!(error.kind, ArchiveErrorKind::Io(_)) {
        return ProblemCode::Internal;
    }
    match error.class() {
        ErrorClass::Usage => ProblemCode::SkillInvalid,
        ErrorClass::NotFound | ErrorClass::Gone => ProblemCode::SkillNotFound,
        ErrorClass::Conflict => ProblemCode::SkillExists,
        ErrorClass::Busy | ErrorClass::StorageFull | ErrorClass::Internal => ProblemCode::Internal,
    }
}

async fn install(
    _: Administers,
    State(service): State<Arc<Service>>,
    Params(params): Params<InstallParams>,
    request: Request,
) -> HttpResult<Response> {
    let form = upload::receive(&service, request).await?;
    form.only(|part| part == "skill")?;
    let zip = form.one("skill")?.ok_or_else(|| Problem::field("skill", "is missing; send a zip"))?;
    let existing = if params.replace { Existing::Replace } else { Existing::Refuse };
    service
        .clone()
        .heavily(move || {
            let installed =
                archive::install(&zip, &service.data.skills(), existing).map_err(|error| refused(&error))?;
            drop(form);
            Ok((StatusCode::CREATED, Json(skill_view(&service, &installed.skill))).into_response())
        })
        .await
}

async fn remove(
    _: Administers,
    State(service): State<Arc<Service>>,
    InPath(name): InPath<String>,
) -> HttpResult<StatusCode> {
    blocking(move || {
        archive::remove(&name, &service.data.skills()).map_err(|error| {
            let is_ours = archive_code(&error) == ProblemCode::Internal;
            if is_ours { Problem::new(ProblemCode::Internal, error.to_string()) } else { not_found(&name) }
        })?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EngineParams {
    /// Whether the versions of the programs are determined, which takes a moment.
    #[serde(default)]
    probe: bool,
}

async fn engines(
    _: Reads,
    State(service): State<Arc<Service>>,
    Params(params): Params<EngineParams>,
) -> HttpResult<Json<EngineList>> {
    let probing = if params.probe { Probing::On } else { Probing::Off };
    service
        .clone()
        .heavily(move || {
            let around = &service.around;
            Ok(Json(EngineList::of(&around.engines, around.of_engines(&service.runtime), probing)))
        })
        .await
}

#[cfg(test)]
mod tests {
    use skillrun_skill::archive::EntryProblem;

    use super::*;

    #[test]
    fn every_refused_package_has_its_code() {
        let name = || "probe".to_owned();
        let entry = ArchiveErrorKind::Entry { name: name(), problem: EntryProblem::Link };
        let table = [
            ("INTERNAL", std::io::Error::from(std::io::ErrorKind::PermissionDenied).into()),
            ("SKILL_INVALID", ArchiveErrorKind::NotZip(name())),
            ("SKILL_INVALID", ArchiveErrorKind::Zip64),
            ("SKILL_INVALID", ArchiveErrorKind::TooManyEntries),
            ("SKILL_INVALID", entry),
            ("SKILL_INVALID", ArchiveErrorKind::SameName),
            ("SKILL_INVALID", ArchiveErrorKind::TooLarge),
            ("SKILL_INVALID", ArchiveErrorKind::Overlap),
            ("SKILL_INVALID", ArchiveErrorKind::Layout),
            ("SKILL_INVALID", ArchiveErrorKind::BadSkill("SKILL.md: is empty".into())),
            ("SKILL_INVALID", ArchiveErrorKind::NoName),
            ("SKILL_EXISTS", ArchiveErrorKind::Exists(name())),
            ("SKILL_INVALID", ArchiveErrorKind::InTheWay(name())),
            ("SKILL_NOT_FOUND", ArchiveErrorKind::NotInstalled(name())),
            ("SKILL_INVALID", ArchiveErrorKind::IsLink(name())),
        ];
        for (code, kind) in table {
            let problem = refused(&ArchiveError { path: "/data/uploads/1.zip".into(), kind });
            assert_eq!(problem.code.as_str(), code, "{}", problem.detail);
            assert!(!problem.detail.contains("/data"), "{}", problem.detail);
        }
    }
}
