//! YAML, wherever it is read: questions in answers, scripts, test cases, the head of a skill.
//!
//! Laws: read or refused in one sentence; aliases, nesting, tags and merge keys cost little.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use skillrun_lifecycle::ask_user::{self, AskUser};
use skillrun_skill::Skill;
use skillrun_trial::cases;

use crate::drive::fuzz;
use crate::mutate::{self, Bytes, Material};
use crate::process::{assert_ended, skillrun};
use crate::seeds;
use crate::tree::assert_sentence;
use crate::words::{self, list};

/// Mappings and lists with anchors and aliases among them, in both styles.
fn structured() -> impl Strategy<Value = String> {
    let scalar = select(vec![
        "x",
        "'a b'",
        "\"\\u0041\\n\"",
        "~",
        "1",
        "-.inf",
        ".nan",
        "yes",
        "*a",
        "*b",
        "&a x",
        "&b [*a, *a, *a, *a, *a, *a, *a, *a]",
        "!!str 3",
        "!!binary aGk=",
        "!x y",
        "2001-12-14",
        "0x7fffffffffffffffff",
        "{}",
        "[]",
        "\"\\ud800\"",
        "|\n      a\n      b",
    ])
    .prop_map(str::to_owned);
    let keys = "name description metadata ask_user kind prompt options value label default say think ask tool output \
        done turns session expect status replies to text input files mode << 1 a";
    let key = select(list(keys).into_iter().chain(["? [a]"]).collect::<Vec<_>>());
    let flow = scalar.prop_recursive(8, 80, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(", "))),
            vec((key.clone(), inner), 0..5).prop_map(|fields| {
                let fields: Vec<String> = fields.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
                format!("{{{}}}", fields.join(", "))
            }),
        ]
    });
    let line = (
        0..4usize,
        select(vec!["", "- ", "- - ", "name: ", "prompt: ", "kind: ", "options: ", "say: ", "? ", "a: &a ", "b: "]),
        flow,
    );
    vec(line, 0..10).prop_map(|lines| {
        lines.into_iter().map(|(indent, begin, value)| format!("{}{begin}{value}\n", "  ".repeat(indent))).collect()
    })
}

/// Anchors that each stand for several of the one before.
fn bomb() -> impl Strategy<Value = String> {
    (1..40usize, 1..30usize, select(vec!["[{}]", "{{k: {}}}"]), 1..2000usize).prop_map(
        |(levels, times, shape, first)| {
            let mut text = format!("a0: &a0 \"{}\"\n", "x".repeat(first));
            for level in 1..=levels {
                let before = vec![format!("*a{}", level - 1); times].join(", ");
                let value = if shape.starts_with('[') { format!("[{before}]") } else { format!("{{k: [{before}]}}") };
                text.push_str(&format!("a{level}: &a{level} {value}\n"));
            }
            text
        },
    )
}

fn deep() -> impl Strategy<Value = String> {
    let open = select(vec!["[", "{a: ", "- ", "? ", "!x [", "&a [", "\"", "'", "| ", "-\n "]);
    (open, 1..20_000usize, select(vec!["", "]", "}"]))
        .prop_map(|(open, times, close)| open.repeat(times) + &close.repeat(times))
}

fn texts(material: &Material) -> impl Strategy<Value = Bytes> + use<> {
    let made = prop_oneof![4 => structured(), 1 => bomb(), 1 => deep()].prop_map(|text| Bytes(text.into_bytes()));
    prop_oneof![4 => mutate::bytes(material), 4 => made]
}

fn material(ending: &str) -> Material {
    Material::new(seeds::files("examples", ending), words::YAML)
}

#[test]
fn yaml_questions() {
    let seed = "ask_user:\n  kind: choose_one\n  prompt: Which?\n  options:\n    - {value: a, label: A, default: true}\n    - b\n  ui_hints: {x: 1}\n";
    let material = Material::new(vec![seed.as_bytes().to_vec(), b"prompt: q\nkind: confirm\n".to_vec()], words::YAML);
    let before = select(vec!["<ASK_USER_YAML>\n", "```yaml\n", "```\n", "text <ASK_USER_YAML>", ""]);
    let after = select(vec!["\n</ASK_USER_YAML>", "\n```\n", "</ASK_USER_YAML> text", ""]);
    let answers = (before, texts(&material), after)
        .prop_map(|(before, yaml, after)| format!("{before}{}{after}", String::from_utf8_lossy(&yaml.0)));
    fuzz("yaml_questions", answers, |answer| match ask_user::find(answer) {
        AskUser::None => {}
        AskUser::Malformed { ranges } => assert_ranges(answer, &ranges),
        AskUser::Found { ask, ranges, .. } => {
            assert_ranges(answer, &ranges);
            // Everything in it comes from the text, and an alias must not make it many times as large.
            let size = format!("{ask:?}").len();
            assert!(size < 1 << 22, "a question of {size} bytes");
        }
    });
}

/// In order, apart, and within the text.
fn assert_ranges(answer: &str, ranges: &[(usize, usize)]) {
    assert!(!ranges.is_empty(), "an envelope is somewhere");
    assert!(ranges.iter().all(|(from, to)| from < to && answer.get(*from..*to).is_some()), "{ranges:?}");
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{ranges:?}");
    ask_user::without_envelopes(answer, ranges);
}

#[test]
fn yaml_heads() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("demo");
    fs::create_dir_all(&root).expect("a folder");
    let heads = (any::<bool>(), texts(&material("SKILL.md"))).prop_map(|(framed, yaml)| {
        if framed { Bytes([&b"---\nname: demo\n"[..], &yaml.0, b"\n---\nDo it.\n"].concat()) } else { yaml }
    });
    fuzz("yaml_heads", heads, |text| {
        fs::write(root.join("SKILL.md"), &text.0).expect("written");
        match Skill::load(&root) {
            Ok(skill) => skill.findings.iter().for_each(|finding| assert_sentence(&finding.message)),
            Err(error) => assert_sentence(&error.to_string()),
        }
    });
}

#[test]
fn yaml_cases() {
    let names = select(vec!["cases.yaml", "cases.json"]);
    let cases = (names, texts(&material("cases.yaml"))).prop_map(|(name, text)| Named(name, text));
    fuzz("yaml_cases", cases, |Named(name, text)| {
        let text = String::from_utf8_lossy(&text.0);
        match cases::parse(&Path::new("/tests").join(name), &text) {
            Ok(cases) => assert!(!cases.is_empty() && cases.len() <= 1000, "{} cases", cases.len()),
            Err(error) => assert_sentence(&error.to_string()),
        }
    });
}

#[derive(Debug, Clone)]
struct Named(&'static str, Bytes);

impl crate::drive::Input for Named {
    fn bytes(&self) -> Vec<u8> {
        self.1.0.clone()
    }
}

/// The script is read and held against the format, and nothing of it is done: there is no such session.
#[test]
fn yaml_scripts() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script.yaml");
    let profiles = select(vec!["codex_ndjson", "claude_stream_json", "gemini_json", "opencode_ndjson", "iflow_text"]);
    let scripts = (profiles, texts(&material("scripted.yaml"))).prop_map(|(profile, text)| Named(profile, text));
    fuzz("yaml_scripts", scripts, |Named(profile, text)| {
        fs::write(&script, &text.0).expect("written");
        let script = script.to_str().expect("UTF-8");
        let words =
            ["simulate-scripted", "--script", script, "--profile", profile, "--resume", "nobody", "--prompt", "go"];
        let output = skillrun(&words).current_dir(folder.path()).output().expect("run");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{said}");
        match output.status.code() {
            Some(64) => assert_ended(&output, &[64]),
            // What the engine says of a session that it does not know.
            Some(1 | 42) => {}
            Some(_) | None => panic!("{}: {said}", output.status),
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "it left something");
    });
}
