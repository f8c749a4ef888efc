//! Input and parameter: checked against the skill's schemas before anything starts.

use std::fmt;

use serde_json::{Map, Value};

use crate::error::SkillError;
use crate::package::Skill;
use crate::package::runner::SchemaRole;
use crate::schema::SchemaProblem;

/// What a value was given as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InputPart {
    Input,
    Parameter,
}

#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The skill's schema is at fault, not the input.
    #[error(transparent)]
    Schema(#[from] SkillError),
    #[error("{}", told(.0))]
    DoesNotFit(Vec<Misfit>),
}

/// One thing that does not fit the schema.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Misfit {
    pub part: InputPart,
    #[serde(flatten)]
    pub problem: SchemaProblem,
}

/// A pair that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    #[error("\"{0}\" is not KEY=VALUE")]
    NoEquals(String),
    #[error("\"{0}\" has no key before \"=\"")]
    NoKey(String),
    #[error("the key \"{0}\" is given twice")]
    Twice(String),
}

impl fmt::Display for InputPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Parameter => "parameter",
        })
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}: {}", self.part, self.problem.path, self.problem.message)
    }
}

fn told(misfits: &[Misfit]) -> String {
    misfits.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Checks input and parameter against the schemas of the skill. All problems are reported at once.
pub fn check(skill: &Skill, input: &Map<String, Value>, parameter: &Map<String, Value>) -> Result<(), InputError> {
    let mut misfits = Vec::new();
    for (part, role, given) in
        [(InputPart::Input, SchemaRole::Input, input), (InputPart::Parameter, SchemaRole::Parameter, parameter)]
    {
        if let Some(schema) = skill.schema(role)? {
            let problems = schema.problems(&Value::Object(given.clone()));
            misfits.extend(problems.into_iter().map(|problem| Misfit { part, problem }));
        }
    }
    if misfits.is_empty() { Ok(()) } else { Err(InputError::DoesNotFit(misfits)) }
}

/// An object from texts `key=value`. What is JSON is taken as such (`n=3`, `list=[1]`, `text="3"`), the rest is text.
pub fn from_pairs<T: AsRef<str>>(pairs: &[T]) -> Result<Map<String, Value>, PairError> {
    let mut object = Map::new();
    for pair in pairs.iter().map(AsRef::as_ref) {
        let (key, value) = pair.split_once('=').ok_or_else(|| PairError::NoEquals(pair.to_owned()))?;
        if key.is_empty() {
            return Err(PairError::NoKey(pair.to_owned()));
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        if object.insert(key.to_owned(), value).is_some() {
            return Err(PairError::Twice(key.to_owned()));
        }
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn pairs_are_json_where_they_can_be() {
        let given = from_pairs(&["n=3", "b=true", "t=hello world", "q=\"3\"", "l=[1, {\"a\": null}]", "e=", "u=a=b"]);
        let expected = json!({
            "n": 3, "b": true, "t": "hello world", "q": "3", "l": [1, {"a": null}], "e": "", "u": "a=b"
        });
        assert_eq!(given.unwrap(), object(expected));
        let expected = object(json!({"v": "007", "x": "[1", "y": "1e999"}));
        assert_eq!(from_pairs(&["v=007", "x=[1", "y=1e999"]).unwrap(), expected);
    }

    #[test]
    fn pairs_that_are_none() {
        assert_eq!(from_pairs(&["x"]), Err(PairError::NoEquals("x".into())));
        assert_eq!(from_pairs(&["=x"]), Err(PairError::NoKey("=x".into())));
        assert_eq!(from_pairs(&["a=1", "a=1"]), Err(PairError::Twice("a".into())));
    }

    fn skill() -> (Folder, Skill) {
        let folder = Folder::skill("demo")
            .with("demo/assets/runner.json", r#"{"schemas": {"input": "i.json", "parameter": "p.json"}}"#)
            .with("demo/i.json", r#"{"required": ["topic"], "properties": {"topic": {"type": "string"}}}"#)
            .with("demo/p.json", r#"{"properties": {"lang": {"enum": ["de", "en"]}}}"#);
        let skill = Skill::load(&folder.at("demo")).unwrap();
        (folder, skill)
    }

    #[test]
    fn both_are_checked_and_all_problems_reported() {
        let (_folder, skill) = skill();
        assert!(check(&skill, &object(json!({"topic": "x"})), &Map::new()).is_ok());
        let error = check(&skill, &object(json!({"topic": 3})), &object(json!({"lang": "fr"}))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "input/topic: 3 is not of type \"string\"; parameter/lang: \"fr\" is not one of \"de\" or \"en\""
        );
        let error = check(&skill, &Map::new(), &Map::new()).unwrap_err();
        assert_eq!(error.to_string(), "input: \"topic\" is a required property");
    }

    #[test]
    fn a_broken_schema_is_the_skill_s_fault() {
        let (folder, skill) = skill();
        let _folder = folder.with("demo/p.json", "[");
        let error = check(&skill, &object(json!({"topic": "x"})), &Map::new()).unwrap_err();
        assert!(matches!(error, InputError::Schema(_)), "{error}");
    }

    #[test]
    fn without_schemas_everything_fits() {
        let folder = Folder::skill("demo");
        let skill = Skill::load(&folder.at("demo")).unwrap();
        assert!(check(&skill, &object(json!({"x": 1})), &object(json!({"y": 1}))).is_ok());
    }
}
