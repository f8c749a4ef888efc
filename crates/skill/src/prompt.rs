//! The first prompt for the engine: the skill's own template for the engine, its common one, or the default.
//!
//! Placeholders of templates (see [`crate::template`]):
//!
//! ```text
//! {{skill_name}}      {{skill_path}}      the skill, and the folder of its copy
//! {{engine}}          {{mode}}            auto, interactive or conversation
//! {{artifacts_dir}}                       where artifacts go
//! {{input}}           {{parameter}}       as JSON
//! {{input.KEY}}       {{parameter.KEY}}   one value: text as it is, anything else as JSON
//! {{files}}                               a line `- SLOT: PATH` each
//! {{file.SLOT}}                           one path
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use skillrun_model::ExecutionMode;
use skillrun_model::profile::EngineName;

use crate::package::{RUNNER_FILE, Skill};
use crate::template;

/// What a prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct PromptValues<'a> {
    /// The skill's copy, as the engine will find it.
    pub skill_path: &'a Path,
    pub engine: &'a EngineName,
    pub mode: ExecutionMode,
    pub artifacts_dir: &'a Path,
    pub input: &'a Map<String, Value>,
    pub parameter: &'a Map<String, Value>,
    /// By slot.
    pub files: &'a BTreeMap<String, PathBuf>,
}

/// A template that cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {place} has the placeholder {{{{{placeholder}}}}}, {problem}", file.display())]
pub struct PromptError {
    pub file: PathBuf,
    /// The key in the file.
    pub place: String,
    pub placeholder: String,
    pub problem: PlaceholderProblem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderProblem {
    #[error("which is unknown")]
    Unknown,
    #[error("but this run has no such value")]
    NotGiven,
}

enum Placeholder<'a> {
    SkillName,
    SkillPath,
    Engine,
    Mode,
    ArtifactsDir,
    Input,
    Parameter,
    Files,
    InputValue(&'a str),
    ParameterValue(&'a str),
    File(&'a str),
}

impl<'a> Placeholder<'a> {
    fn parse(name: &'a str) -> Option<Self> {
        let rest = |prefix| name.strip_prefix(prefix).filter(|rest| !rest.is_empty());
        Some(match name {
            "skill_name" => Self::SkillName,
            "skill_path" => Self::SkillPath,
            "engine" => Self::Engine,
            "mode" => Self::Mode,
            "artifacts_dir" => Self::ArtifactsDir,
            "input" => Self::Input,
            "parameter" => Self::Parameter,
            "files" => Self::Files,
            _ => match (rest("input."), rest("parameter."), rest("file.")) {
                (Some(key), _, _) => Self::InputValue(key),
                (_, Some(key), _) => Self::ParameterValue(key),
                (_, _, Some(slot)) => Self::File(slot),
                (None, None, None) => return None,
            },
        })
    }
}

/// The names in a template that no run could fill.
pub(crate) fn unknown_placeholders(text: &str) -> impl Iterator<Item = &str> {
    template::names(text).filter(|name| Placeholder::parse(name).is_none())
}

pub fn prompt(skill: &Skill, values: &PromptValues<'_>) -> Result<String, PromptError> {
    let Some((text, place)) = skill.runner.prompts.for_engine(values.engine) else {
        return Ok(default_prompt(&skill.name, values));
    };
    template::fill(text, |name| {
        let failed = |problem| PromptError {
            file: skill.root.join(RUNNER_FILE),
            place: place.clone(),
            placeholder: name.to_owned(),
            problem,
        };
        let placeholder = Placeholder::parse(name).ok_or_else(|| failed(PlaceholderProblem::Unknown))?;
        value_of(&placeholder, &skill.name, values).ok_or_else(|| failed(PlaceholderProblem::NotGiven))
    })
}

fn value_of(placeholder: &Placeholder<'_>, skill_name: &str, values: &PromptValues<'_>) -> Option<String> {
    Some(match placeholder {
        Placeholder::SkillName => skill_name.to_owned(),
        Placeholder::SkillPath => values.skill_path.display().to_string(),
        Placeholder::Engine => values.engine.to_string(),
        Placeholder::Mode => values.mode.to_string(),
        Placeholder::ArtifactsDir => values.artifacts_dir.display().to_string(),
        Placeholder::Input => pretty(&Value::Object(values.input.clone())),
        Placeholder::Parameter => pretty(&Value::Object(values.parameter.clone())),
        Placeholder::Files => list(values.files),
        Placeholder::InputValue(key) => bare(values.input.get(*key)?),
        Placeholder::ParameterValue(key) => bare(values.parameter.get(*key)?),
        Placeholder::File(slot) => values.files.get(*slot)?.display().to_string(),
    })
}

/// The first prompt for an engine, as far as it is known without a run: placeholders stay, and input, parameter and
/// files are missing. Without an engine: the prompt for engines without a template of their own.
pub fn unfilled(skill: &Skill, engine: Option<&EngineName>) -> String {
    let prompts = &skill.runner.prompts;
    let own = match engine {
        Some(engine) => prompts.for_engine(engine).map(|(text, _)| text),
        None => prompts.common.as_deref(),
    };
    own.map_or_else(|| default_beginning(&skill.name, Path::new("{{skill_path}}")), str::to_owned)
}

fn default_beginning(skill_name: &str, skill_path: &Path) -> String {
    format!(
        "Use the skill \"{skill_name}\" at {}: read its SKILL.md and follow it from the first step to the last.\n",
        skill_path.display(),
    )
}

fn default_prompt(skill_name: &str, values: &PromptValues<'_>) -> String {
    let mut prompt = default_beginning(skill_name, values.skill_path);
    if !values.input.is_empty() || !values.parameter.is_empty() {
        // No line of JSON begins with a backtick, so nothing in it can close the fence.
        let both = pretty(&json!({"input": values.input, "parameter": values.parameter}));
        prompt.push_str(&format!("\nInput and parameter:\n\n```json\n{both}\n```\n"));
    }
    if !values.files.is_empty() {
        prompt.push_str(&format!("\nFiles:\n\n{}\n", list(values.files)));
    }
    prompt
}

fn list(files: &BTreeMap<String, PathBuf>) -> String {
    files.iter().map(|(slot, path)| format!("- {slot}: {}", path.display())).collect::<Vec<_>>().join("\n")
}

fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    struct Given {
        engine: EngineName,
        input: Map<String, Value>,
        parameter: Map<String, Value>,
        files: BTreeMap<String, PathBuf>,
    }

    impl Given {
        fn nothing() -> Self {
            let (input, parameter) = (Map::new(), Map::new());
            Self { engine: EngineName::new("codex"), input, parameter, files: BTreeMap::new() }
        }

        fn something() -> Self {
            let object = |value: Value| value.as_object().cloned().unwrap();
            Self {
                input: object(json!({"topic": "{{mode}}", "n": 3})),
                parameter: object(json!({"list": ["a"]})),
                files: [("draft".to_owned(), PathBuf::from("/in/draft.md"))].into(),
                ..Self::nothing()
            }
        }

        fn prompt(&self, skill: &Skill) -> Result<String, PromptError> {
            let values = PromptValues {
                skill_path: Path::new("/w/.agents/skills/demo"),
                engine: &self.engine,
                mode: ExecutionMode::Auto,
                artifacts_dir: Path::new("artifacts"),
                input: &self.input,
                parameter: &self.parameter,
                files: &self.files,
            };
            prompt(skill, &values)
        }
    }

    fn skill(runner: &str) -> (Folder, Skill) {
        let folder = Folder::skill("demo").with("demo/assets/runner.json", runner);
        let skill = Skill::load(&folder.at("demo")).unwrap();
        (folder, skill)
    }

    fn filled(template: &str) -> Result<String, PromptError> {
        let (_folder, skill) = skill(&json!({"entrypoint": {"prompts": {"common": template}}}).to_string());
        Given::something().prompt(&skill)
    }

    #[test]
    fn the_default_names_the_skill_and_nothing_that_was_not_given() {
        let (_folder, skill) = skill("{}");
        let expected = "Use the skill \"demo\" at /w/.agents/skills/demo: read its SKILL.md and follow it from the \
                        first step to the last.\n";
        assert_eq!(Given::nothing().prompt(&skill).unwrap(), expected);
    }

    #[test]
    fn the_default_with_everything() {
        let (_folder, skill) = skill("{}");
        let prompt = Given::something().prompt(&skill).unwrap();
        let json = prompt.split("```json\n").nth(1).unwrap().split("\n```\n").next().unwrap();
        let expected = json!({"input": {"topic": "{{mode}}", "n": 3}, "parameter": {"list": ["a"]}});
        assert_eq!(serde_json::from_str::<Value>(json).unwrap(), expected);
        assert!(prompt.ends_with("\nFiles:\n\n- draft: /in/draft.md\n"), "{prompt}");
    }

    #[test]
    fn every_placeholder() {
        let cases = [
            ("{{skill_name}} {{skill_path}}", "demo /w/.agents/skills/demo"),
            ("{{engine}} {{mode}} {{artifacts_dir}}", "codex auto artifacts"),
            ("{{input.n}} {{parameter.list}}", "3 [\"a\"]"),
            ("{{files}} / {{file.draft}}", "- draft: /in/draft.md / /in/draft.md"),
            ("{{parameter}}", "{\n  \"list\": [\n    \"a\"\n  ]\n}"),
        ];
        for (template, expected) in cases {
            assert_eq!(filled(template).unwrap(), expected);
        }
    }

    #[test]
    fn a_value_is_not_a_template() {
        assert_eq!(filled("about {{input.topic}}").unwrap(), "about {{mode}}");
    }

    #[test]
    fn what_cannot_be_filled_names_file_and_placeholder() {
        let told = |template| filled(template).unwrap_err().to_string();
        let unknown = told("x {{ unheard_of }}");
        let place = "demo/assets/runner.json: entrypoint.prompts.common has the placeholder";
        assert!(unknown.ends_with(&format!("{place} {{{{unheard_of}}}}, which is unknown")), "{unknown}");
        let not_given = told("{{input.other}}");
        assert!(
            not_given.ends_with(&format!("{place} {{{{input.other}}}}, but this run has no such value")),
            "{not_given}"
        );
        assert!(filled("{{input.}}").is_err());
    }

    #[test]
    fn the_engine_s_own_template_comes_first() {
        let (_folder, skill) = skill(r#"{"entrypoint": {"prompts": {"common": "all", "codex": "codex's"}}}"#);
        let mut given = Given::nothing();
        assert_eq!(given.prompt(&skill).unwrap(), "codex's");
        given.engine = EngineName::new("gemini");
        assert_eq!(given.prompt(&skill).unwrap(), "all");
    }

    #[test]
    fn without_a_run_placeholders_stay() {
        let (_folder, plain) = skill("{}");
        let told = unfilled(&plain, None);
        assert_eq!(told.replace("{{skill_path}}", "/w/.agents/skills/demo"), Given::nothing().prompt(&plain).unwrap());
        let (_folder, own) = skill(r#"{"entrypoint": {"prompts": {"common": "{{input.a}}", "codex": "codex's"}}}"#);
        let of = |engine: &str| unfilled(&own, Some(&EngineName::new(engine)));
        let expected = ("{{input.a}}".into(), "codex's".into(), "{{input.a}}".into());
        assert_eq!((unfilled(&own, None), of("codex"), of("gemini")), expected);
    }
}
