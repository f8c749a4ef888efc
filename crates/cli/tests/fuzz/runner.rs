//! `assets/runner.json`: any bytes, and JSON with the right keys and the wrong values.
//!
//! Laws: read or refused, with one sentence for each thing that is wrong; a skill that may start has a prompt for every
//! engine, or one sentence why a value is missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use skillrun_model::{EngineName, ExecutionMode};
use skillrun_skill::prompt::{PlaceholderProblem, prompt};
use skillrun_skill::{PromptValues, SchemaRole, Skill};

use crate::drive::fuzz;
use crate::mutate::{self, Bytes, Material};
use crate::seeds;
use crate::tree::assert_sentence;
use crate::words::{self, list, texts};

const KEYS: &str = "id version description execution_modes engines unsupported_engines max_attempt require_marker \
    mcp_servers schemas entrypoint prompts common codex runtime_options default_decision_policy artifacts pattern role type \
    required input parameter output x";

const TEXTS: &str = r##"
    auto interactive codex common safe_default abort ../x /etc/passwd assets/o.json a/**/b ** [ {{input}}
    {{input.topic}}\x20{{mode}} {{file.x}} {{nothing}} {{ {{\x20skill_name\x20}}{{files}} \x1b[31m \n \0 C:\\x 😀
"##;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => select(texts(TEXTS)).prop_map(Value::from),
        1 => select(vec![json!(0), json!(1), json!(-1), json!(1.5), json!(u64::MAX), json!(1e300), json!(true), json!(null)]),
        1 => "\\PC{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((select(list(KEYS)), inner), 0..8).prop_map(|fields| {
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
            }),
        ]
    })
}

/// Nearly right: each key has a value of its own kind more often than not.
fn nearly() -> impl Strategy<Value = Value> {
    let text = || select(texts(TEXTS)).prop_map(Value::from);
    let several = || vec(text(), 0..4).prop_map(Value::from);
    let prompts = vec((select(vec!["common", "codex", "gemini", "x"]), text()), 0..3).prop_map(
        |all| json!({"prompts": all.into_iter().map(|(key, text)| (key.to_owned(), text)).collect::<Map<_, _>>()}),
    );
    let schemas = vec((select(vec!["input", "parameter", "output", "x"]), text()), 0..3)
        .prop_map(|all| all.into_iter().map(|(key, text)| (key.to_owned(), text)).collect::<Map<_, _>>().into());
    let rule = prop_oneof![
        text(),
        (text(), any::<bool>()).prop_map(|(pattern, required)| json!({"pattern": pattern, "required": required}))
    ];
    let field = prop_oneof![
        (Just("execution_modes"), several()),
        (Just("engines"), several()),
        (Just("unsupported_engines"), several()),
        (Just("max_attempt"), (0..5u32).prop_map(Value::from)),
        (Just("entrypoint"), prompts),
        (Just("schemas"), schemas),
        (Just("default_decision_policy"), text()),
        (Just("artifacts"), vec(rule, 0..3).prop_map(Value::from)),
        (select(list(KEYS)), value()),
    ];
    vec(field, 0..6)
        .prop_map(|fields| fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into())
}

fn check(root: &Path, bytes: &Bytes) {
    fs::write(root.join("assets/runner.json"), &bytes.0).expect("written");
    let skill = match Skill::load(root) {
        Ok(skill) => skill,
        Err(error) => return assert_sentence(&error.to_string()),
    };
    skill.findings.iter().for_each(|finding| assert_sentence(&finding.message));
    if let Err(error) = skill.check_usable() {
        return assert_sentence(&error.to_string());
    }
    assert!(!skill.runner.execution_modes.is_empty(), "no mode");
    for role in SchemaRole::ALL {
        skill.schema(*role).map(drop).unwrap_or_else(|error| assert_sentence(&error.to_string()));
    }
    for engine in ["codex", "gemini", "x"] {
        let engine = EngineName::new(engine);
        skill.supports(&engine);
        let (input, files) =
            (Map::from_iter([("topic".to_owned(), json!("rain"))]), BTreeMap::<String, PathBuf>::new());
        let values = PromptValues {
            skill_path: root,
            engine: &engine,
            mode: ExecutionMode::Auto,
            artifacts_dir: Path::new("artifacts"),
            input: &input,
            parameter: &Map::new(),
            files: &files,
        };
        match prompt(&skill, &values) {
            Ok(text) => assert!(text.len() < 64 << 20, "a prompt of {} bytes", text.len()),
            Err(error) => {
                assert_eq!(error.problem, PlaceholderProblem::NotGiven, "a usable skill has no prompt: {error}");
                assert_sentence(&error.to_string());
            }
        }
    }
}

#[test]
fn runner() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("demo");
    fs::create_dir_all(root.join("assets")).expect("a folder");
    fs::write(root.join("SKILL.md"), "---\nname: demo\ndescription: D.\n---\nDo it.\n").expect("written");
    fs::write(root.join("assets/o.json"), "{\"type\": \"object\"}").expect("written");
    let material = Material::new(seeds::files("examples", "runner.json"), words::JSON);
    let json = |value: Value| Bytes(value.to_string().into_bytes());
    let any = prop_oneof![3 => mutate::bytes(&material), 1 => value().prop_map(json), 4 => nearly().prop_map(json)];
    fuzz("runner", any, |bytes| check(&root, bytes));
}
