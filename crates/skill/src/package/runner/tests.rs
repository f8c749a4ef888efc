use super::*;
use crate::package::finding::Finding;
use crate::testing::Folder;
use proptest::prelude::*;

fn read_in(root: &Path, text: &str) -> (Result<Runner, String>, Vec<FindingKind>) {
    let mut all: Vec<Finding> = Vec::new();
    let runner = read(text, root, &mut Findings::new("assets/runner.json", &mut all));
    (runner, all.into_iter().map(|finding| finding.kind).collect())
}

fn findings(text: &str) -> Vec<FindingKind> {
    let folder = Folder::new();
    let (runner, findings) = read_in(folder.path(), text);
    runner.unwrap();
    findings
}

#[test]
fn everything_it_can_say() {
    let folder = Folder::new().with("assets/in.json", "{}").with("assets/out.json", "{}");
    let (runner, findings) = read_in(
        folder.path(),
        r#"{"id": "x", "version": 2, "description": "D", "execution_modes": ["interactive"],
            "engines": ["codex", "codex"], "unsupported_engines": ["iflow"], "max_attempt": 3,
            "require_marker": true,
            "schemas": {"input": "assets/in.json", "parameter": null, "output": "./assets/out.json"},
            "entrypoint": {"prompts": {"common": "Do {{input}}", "codex": "Do it, codex"}},
            "runtime_options": {"hard_timeout_sec": 5}, "default_decision_policy": "abort",
            "artifacts": [
                "a/*.txt", {"pattern": "r.md", "role": "report", "type": "text/markdown", "required": true}
            ]}"#,
    );
    assert_eq!(findings, []);
    let runner = runner.unwrap();
    assert_eq!(runner.version.as_deref(), Some("2"));
    assert_eq!(runner.execution_modes, [ExecutionMode::Interactive]);
    assert_eq!(runner.default_mode(), ExecutionMode::Interactive);
    assert_eq!(runner.engines, [EngineName::new("codex")]);
    assert_eq!(runner.max_attempt.map(NonZeroU32::get), Some(3));
    assert_eq!(runner.require_marker, Some(true));
    assert_eq!(runner.schema(SchemaRole::Output).unwrap().as_path(), Path::new("assets/out.json"));
    assert_eq!(runner.schema(SchemaRole::Parameter), None);
    assert_eq!(runner.default_decision_policy, Some(DecisionPolicy::Abort));
    assert_eq!(runner.artifacts.len(), 2);
    assert!(runner.artifacts[1].required);
    let (text, place) = runner.prompts.for_engine(&EngineName::new("codex")).unwrap();
    assert_eq!((text, place.as_str()), ("Do it, codex", "entrypoint.prompts.codex"));
    let (text, place) = runner.prompts.for_engine(&EngineName::new("qwen")).unwrap();
    assert_eq!((text, place.as_str()), ("Do {{input}}", "entrypoint.prompts.common"));
}

#[test]
fn an_empty_one_says_nothing() {
    assert_eq!(read_in(Path::new("/"), "{}"), (Ok(Runner::default()), vec![]));
    assert_eq!(Runner::default().default_mode(), ExecutionMode::Auto);
    assert!(Runner::default().allows(ExecutionMode::Interactive));
}

#[test]
fn what_is_no_object_is_an_error() {
    for text in ["", "[]", "3", "{\"id\": }"] {
        assert!(read_in(Path::new("/"), text).0.is_err(), "{text}");
    }
}

#[test]
fn every_fault_has_its_kind() {
    use FindingKind::*;
    let cases: &[(&str, &[FindingKind])] = &[
        (r#"{"id": []}"#, &[WrongType]),
        (r#"{"color": 1, "schemas": {"x": "y"}, "entrypoint": {"z": 1}}"#, &[UnknownKey, UnknownKey, UnknownKey]),
        (r#"{"$schema": "x"}"#, &[]),
        (r#"{"execution_modes": ["auto", "magic"]}"#, &[UnknownMode]),
        (r#"{"execution_modes": []}"#, &[NoMode]),
        (r#"{"execution_modes": ["magic"]}"#, &[UnknownMode, NoMode]),
        (r#"{"execution_modes": "auto"}"#, &[RunnerPart]),
        (r#"{"engines": ["codex"], "unsupported_engines": ["codex"]}"#, &[EngineTwice]),
        (r#"{"engines": "codex"}"#, &[RunnerPart]),
        (r#"{"engines": [1]}"#, &[RunnerPart]),
        (r#"{"max_attempt": 0}"#, &[MaxAttempt]),
        (r#"{"max_attempt": -1}"#, &[MaxAttempt]),
        (r#"{"max_attempt": 1.5}"#, &[MaxAttempt]),
        (r#"{"max_attempt": "3"}"#, &[MaxAttempt]),
        (r#"{"max_attempt": 1}"#, &[]),
        (r#"{"max_attempt": null}"#, &[]),
        (r#"{"require_marker": "yes"}"#, &[RunnerPart]),
        (r#"{"require_marker": false}"#, &[]),
        (r#"{"schemas": {"output": "missing.json"}}"#, &[SchemaPath]),
        (r#"{"schemas": {"output": "../out.json"}}"#, &[SchemaPath]),
        (r#"{"schemas": {"output": "/etc/passwd"}}"#, &[SchemaPath]),
        (r#"{"schemas": {"output": {"type": "object"}}}"#, &[RunnerPart]),
        (r#"{"schemas": []}"#, &[RunnerPart]),
        (r#"{"default_decision_policy": "panic"}"#, &[PolicyUnknown]),
        (r#"{"entrypoint": {"prompts": {"common": "{{nobody}} {{input}}"}}}"#, &[PromptPlaceholder]),
        (r#"{"entrypoint": {"prompts": {"common": " "}}}"#, &[RunnerPart]),
        (r#"{"entrypoint": {"prompts": {"common": 1}}}"#, &[RunnerPart]),
        (r#"{"runtime_options": 1}"#, &[RunnerPart]),
        (r#"{"mcp_servers": {"lab": {"command": "x"}}}"#, &[]),
        (r#"{"mcp_servers": {"lab": {}}}"#, &[RunnerPart]),
        (r#"{"mcp_servers": {"Lab": {"command": "x"}}}"#, &[RunnerPart]),
        (r#"{"mcp_servers": ["x"]}"#, &[RunnerPart]),
        (r#"{"artifacts": ["../x"]}"#, &[ArtifactPath]),
        (r#"{"artifacts": [{"role": "x"}]}"#, &[RunnerPart]),
        (r#"{"artifacts": [{"pattern": "x", "size": 1}]}"#, &[UnknownKey]),
    ];
    for (text, expected) in cases {
        assert_eq!(findings(text), *expected, "{text}");
    }
}

#[test]
fn a_schema_behind_a_link_out_is_none() {
    let outside = Folder::new().with("s.json", "{}");
    let folder = Folder::new().with_link("s.json", outside.path().join("s.json"));
    let (_, findings) = read_in(folder.path(), r#"{"schemas": {"output": "s.json"}}"#);
    assert_eq!(findings, [FindingKind::SchemaPath]);
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "[{}\\[\\]\":,a-z0-9 ]{0,60}") {
        let _ = read_in(Path::new("/"), &text);
    }
}
