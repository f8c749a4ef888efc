//! `skillrun skills show`: a skill, or the text that an agent reads.

use serde_json::{Value, json};
use skillrun_inspect::patched::patched as patched_skill;
use skillrun_model::{ErrorClass, ExecutionMode};
use skillrun_skill::validate::validate;
use skillrun_skill::{Finding, SchemaRole, Skill, SkillOrigin};

use super::findings_text;
use super::list::origin_word;
use crate::args::{Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, Output, plain, print, print_json};
use crate::settings::Settings;

pub(super) fn run(global: &Global, wanted: &str, form: OutputForm) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let path = settings.search_path(settings.cwd());
    let skill = path.resolve(wanted, settings.cwd())?;
    let listed = path.list().skills.into_iter().find(|found| found.root == skill.root);
    let origin = listed.map_or(SkillOrigin::Path, |found| found.origin);
    let findings = validate(&skill.root).findings;
    match form {
        OutputForm::Json => print_json(&skill_json(&skill, origin, &findings)),
        OutputForm::Text => {
            let output = Output::new(global.color, &settings.surroundings);
            print(&output.fit(&skill_text(&skill, origin, &findings, &output)))
        }
    }
}

pub(super) fn patched(
    global: &Global,
    wanted: &str,
    mode: Option<ExecutionMode>,
    form: OutputForm,
) -> Result<(), Failure> {
    let settings = Settings::load(global)?;
    let skill = settings.search_path(settings.cwd()).resolve(wanted, settings.cwd())?;
    let patched = patched_skill(&skill, &settings.layers()?, &settings.data, mode, None)
        .map_err(|error| Failure::of_class(ErrorClass::Usage, error))?;
    match form {
        OutputForm::Json => print_json(&patched),
        OutputForm::Text => print(&patched.patched.text),
    }
}

fn modes(skill: &Skill) -> Vec<&'static str> {
    skill.runner.execution_modes.iter().map(|mode| mode.as_str()).collect()
}

fn schemas(skill: &Skill) -> impl Iterator<Item = (&'static str, String)> {
    SchemaRole::ALL.iter().filter_map(|role| {
        let path = skill.runner.schema(*role)?;
        Some((role.as_str(), path.as_path().to_string_lossy().into_owned()))
    })
}

fn skill_json(skill: &Skill, origin: SkillOrigin, findings: &[Finding]) -> Value {
    let runner = &skill.runner;
    json!({
        "name": skill.name,
        "description": skill.description(),
        "folder": skill.root.to_string_lossy(),
        "origin": origin,
        "version": runner.version,
        "modes": modes(skill),
        "engines": runner.engines.iter().map(|engine| engine.as_str()).collect::<Vec<_>>(),
        "unsupported_engines": runner.unsupported_engines.iter().map(|engine| engine.as_str()).collect::<Vec<_>>(),
        "max_attempt": runner.max_attempt,
        "require_marker": runner.require_marker,
        "schemas": schemas(skill).collect::<std::collections::BTreeMap<_, _>>(),
        "artifacts": runner.artifacts.iter().map(|rule| &rule.pattern).collect::<Vec<_>>(),
        "hash": skill.hash().ok().map(|hash| hash.to_string()),
        "findings": findings,
    })
}

fn skill_text(skill: &Skill, origin: SkillOrigin, findings: &[Finding], output: &Output) -> String {
    let runner = &skill.runner;
    let names = |engines: &[skillrun_model::EngineName]| {
        engines.iter().map(|engine| plain(engine.as_str())).collect::<Vec<_>>().join(", ")
    };
    let engines = match (runner.engines.is_empty(), runner.unsupported_engines.is_empty()) {
        (true, true) => "all".to_owned(),
        (true, false) => format!("all but {}", names(&runner.unsupported_engines)),
        (false, true) => names(&runner.engines),
        (false, false) => format!("{}, not {}", names(&runner.engines), names(&runner.unsupported_engines)),
    };
    let version = runner.version.as_deref().map(|version| format!(" {}", plain(version))).unwrap_or_default();
    let mut text = format!("{}{version}\n", output.paint(Ink::Bold, &plain(&skill.name)));
    if !skill.description().is_empty() {
        text += &format!("{}\n", plain(skill.description()));
    }
    let schemas = schemas(skill).map(|(role, path)| format!("{role}: {}", plain(&path))).collect::<Vec<_>>();
    let artifacts = runner.artifacts.iter().map(|rule| plain(&rule.pattern)).collect::<Vec<_>>();
    let rows = [
        ("folder", plain(&skill.root.to_string_lossy())),
        ("from", origin_word(origin).to_owned()),
        ("modes", modes(skill).join(", ")),
        ("engines", engines),
        ("max attempts", runner.max_attempt.map(|max| max.to_string()).unwrap_or_default()),
        ("done marker", required(runner.require_marker).to_owned()),
        ("schemas", schemas.join(", ")),
        ("artifacts", artifacts.join(", ")),
    ];
    text.push('\n');
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("{}{value}\n", output.paint(Ink::Dim, &format!("{name:<14}")));
    }
    if !findings.is_empty() {
        text += &format!("\n{}", findings_text(&skill.root, findings, output));
    }
    text
}

fn required(require_marker: Option<bool>) -> &'static str {
    match require_marker {
        Some(true) => "required",
        Some(false) => "not required",
        None => "",
    }
}
