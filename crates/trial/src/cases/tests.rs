//! Cases files, good and bad.

use std::fs;
use std::path::Path;

use super::*;

fn parsed(text: &str) -> Result<Vec<Case>, String> {
    parse(Path::new("/skill/tests/cases.yaml"), text).map_err(|error| error.to_string())
}

#[test]
fn a_case_with_everything() {
    let text = r#"
- name: everything
  mode: interactive
  input: {version: v2}
  parameter: {tone: dry}
  files: {table: table.csv, other: /elsewhere/x}
  replies: [rivers, {to: which colour, text: "no"}]
  script: scripts/a.yaml
  expect:
    status: waiting_user
    output: {theme: rivers}
    artifacts: [artifacts/a.md]
    max_duration_sec: 1.5
- name: little
"#;
    let cases = parsed(text).unwrap();
    let [all, little] = &cases[..] else { panic!("{cases:?}") };
    assert_eq!((all.name.as_str(), all.mode), ("everything", Some(ExecutionMode::Interactive)));
    assert_eq!(all.input["version"], "v2");
    assert_eq!(all.parameter["tone"], "dry");
    assert_eq!(all.files["table"], Path::new("/skill/tests/table.csv"));
    assert_eq!(all.files["other"], Path::new("/elsewhere/x"));
    assert_eq!(all.script.as_deref(), Some(Path::new("/skill/tests/scripts/a.yaml")));
    let [CaseAnswer::Next(first), CaseAnswer::To { question, text }] = &all.replies[..] else {
        panic!("{:?}", all.replies)
    };
    assert_eq!((first.as_str(), text.as_str()), ("rivers", "no"));
    assert!(question.is_match("And Which COLOUR?"));
    let expect = &all.expect;
    assert_eq!((expect.status, expect.error), (RunStatus::WaitingUser, None));
    assert_eq!(expect.output.as_ref().unwrap()["theme"], "rivers");
    assert_eq!(expect.artifacts, ["artifacts/a.md"]);
    assert_eq!(expect.max_duration, Some(Duration::from_millis(1_500)));
    assert_eq!((little.expect.clone(), little.input.len(), little.mode), (Expect::default(), 0, None));
}

#[test]
fn an_error_is_of_a_failed_run() {
    let cases = parsed("- {name: a, expect: {error: output_schema_invalid}}").unwrap();
    assert_eq!(cases[0].expect.status, RunStatus::Failed);
    assert_eq!(cases[0].expect.error, Some(Code::OutputSchemaInvalid));
}

#[test]
fn json_and_yaml_say_the_same() {
    let json = r#"[{"name": "a", "input": {"n": 1}, "replies": ["no"]}]"#;
    let of = |name: &str| format!("{:?}", parse(Path::new(name), json).unwrap());
    assert_eq!(of("/x/cases.json"), of("/x/cases.yaml"));
}

#[test]
fn errors_name_the_file_and_the_place() {
    let cases = [
        ("{}", ": must be a list of cases, and is a mapping"),
        ("[]", ": contains no cases"),
        ("- a: [", ": is not YAML: "),
        ("- text", ": case 1: must be a mapping with a name"),
        ("- {input: {}}", ": case 1, name: is missing"),
        ("- {name: \"a\\nb\"}", "name: must be one line of 1 to 100 characters"),
        ("- {name: ' '}", "name: must be one line of 1 to 100 characters"),
        ("- {name: a}\n- {name: b}\n- {name: a}", ": case 3 \"a\", name: case 1 has the same name"),
        ("- {name: a, inputs: {}}", ": case 1 \"a\", inputs: there is no such key; did you mean \"input\"?"),
        ("- {name: a, input: [1]}", ": case 1 \"a\", input: must be a mapping"),
        (
            "- {name: a, mode: manual}",
            ": case 1 \"a\", mode: must be auto, interactive or conversation, and is \"manual\"",
        ),
        ("- {name: a, files: {t: 3}}", ": case 1 \"a\", files.t: must be a path"),
        ("- {name: a, replies: no}", ": case 1 \"a\", replies: must be a list of answers"),
        ("- {name: a, replies: [x, 3]}", "replies, answer 2: must be a text, or a mapping with to and text"),
        ("- {name: a, replies: [{to: a}]}", "replies, answer 1: must be a text, or a mapping with to and text"),
        ("- {name: a, replies: [{to: '(', text: b}]}", "replies, answer 1: is not a regular expression: "),
        (
            "- {name: a, replies: [{to: a, txt: b}]}",
            "replies, answer 1.txt: there is no such key; did you mean \"text\"?",
        ),
        (
            "- {name: a, expect: {stat: x}}",
            ": case 1 \"a\", expect.stat: there is no such key; the known ones are: status, ",
        ),
        ("- {name: a, expect: {status: done}}", "expect.status: must be succeeded, failed or waiting_user"),
        ("- {name: a, expect: {status: canceled}}", "expect.status: must be succeeded, failed or waiting_user"),
        ("- {name: a, expect: {error: OOPS}}", "expect.error: there is no code \"OOPS\"; `skillrun explain` lists"),
        ("- {name: a, expect: {status: succeeded, error: TIMEOUT}}", "expect.error: must be left out where"),
        ("- {name: a, expect: {output: 3}}", "expect.output: must be a mapping"),
        ("- {name: a, expect: {artifacts: a.md}}", "expect.artifacts: must be a list of paths"),
        ("- {name: a, expect: {artifacts: ['']}}", "expect.artifacts: must be a list of paths"),
        ("- {name: a, expect: {max_duration_sec: 0}}", "expect.max_duration_sec: must be a number of seconds above 0"),
    ];
    for (text, words) in cases {
        let error = parsed(text).expect_err(text);
        assert!(error.starts_with("/skill/tests/cases.yaml: "), "{error}");
        assert!(error.contains(words), "{text}\n{error}\n{words}");
        assert!(!error.contains('\n'), "{error}");
    }
    let error = parse(Path::new("/x/cases.json"), "[\n  {\"name\": }]").unwrap_err().to_string();
    assert_eq!(error, "/x/cases.json: is not JSON: expected value at line 2 column 12");
}

#[test]
fn a_bomb_is_refused() {
    let bomb =
        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c]";
    assert!(parsed(bomb).unwrap_err().contains("is not YAML"));
    assert!(parsed(&"[".repeat(100_000)).unwrap_err().contains("is not YAML"));
    let many: String = (0..1_001).map(|n| format!("- {{name: c{n}}}\n")).collect();
    assert!(parsed(&many).unwrap_err().contains("has more than 1000 cases"));
}

#[test]
fn files_that_a_case_names_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.yaml");
    fs::write(&path, "- {name: a, files: {t: t.csv}}\n- {name: b, script: s.yaml}\n").unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("case 1 \"a\", files.t: there is no file "));
    fs::write(folder.path().join("t.csv"), "").unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("case 2 \"b\", script: there is no file "));
    fs::write(folder.path().join("s.yaml"), "").unwrap();
    assert_eq!(read(&path).unwrap().len(), 2);
    let error = read(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with(": is not an ordinary file"), "{error}");
}

#[test]
fn a_skill_keeps_its_cases_in_one_of_two_places() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(find(folder.path()), None);
    fs::create_dir(folder.path().join("tests")).unwrap();
    fs::write(folder.path().join("tests/cases.json"), "").unwrap();
    assert_eq!(find(folder.path()), Some(folder.path().join("tests/cases.json")));
    fs::write(folder.path().join("tests/cases.yaml"), "").unwrap();
    assert_eq!(find(folder.path()), Some(folder.path().join("tests/cases.yaml")));
}
