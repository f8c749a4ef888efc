//! The head of `SKILL.md`: YAML between two lines `---`, by the Agent Skills standard.
//!
//! ```text
//! ---
//! name: pdf-processing          lowercase letters, digits, hyphens; the name of the folder
//! description: Reads PDF files. 1 to 1024 characters
//! license: MIT                  optional, as the following
//! compatibility: needs python   up to 500 characters
//! metadata: {author: me}
//! allowed-tools: Read Bash      kept as written, without effect
//! ---
//! ```
//!
//! Nothing in here makes a skill unusable: engines read what they can, and so do we.

use std::path::Path;

use serde_json::{Map, Value};
use skillrun_base::yaml::{self, YamlSize};

use super::finding::{FindingKind, Findings};
use super::name;
use crate::schema::shorten;

/// A longer front matter is not accepted as one.
const HEAD_MAX: usize = 64 * 1024;
const DESCRIPTION_MAX: usize = 1024;
const COMPATIBILITY_MAX: usize = 500;
/// Most unknown keys that a note names.
const KEYS_NAMED: usize = 5;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrontMatter {
    /// As written, whether it keeps the rules or not.
    pub name: Option<String>,
    pub description: Option<String>,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub metadata: Map<String, Value>,
    pub allowed_tools: Option<String>,
}

/// The head, when there is one, and what follows it.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    head: Head<'a>,
    body: &'a str,
}

#[derive(Debug, PartialEq, Eq)]
enum Head<'a> {
    None,
    /// It begins and never ends, so the whole text is body.
    Unclosed,
    Yaml(&'a str),
}

/// Reads the head of a text that has no byte order mark any more.
pub(super) fn read(text: &str, folder: &Path, findings: &mut Findings<'_>) -> FrontMatter {
    let Parts { head, body } = split(text);
    let fields = match head {
        Head::Yaml(yaml) => read_yaml(yaml, findings),
        Head::None => {
            findings.add(
                FindingKind::FrontMatterMissing,
                "SKILL.md does not begin with front matter; put name and description between two lines \"---\"",
            );
            None
        }
        Head::Unclosed => {
            findings
                .add(FindingKind::FrontMatterUnclosed, "the front matter is never closed; end it with a line \"---\"");
            None
        }
    };
    if body.trim().is_empty() {
        findings.add(FindingKind::BodyEmpty, "SKILL.md has no instructions after its front matter");
    }
    // One message for one fault: without front matter there is no name either, which is not reported again.
    let Some(fields) = fields else { return FrontMatter::default() };
    let front_matter = take_fields(fields, findings);
    check(&front_matter, folder, findings);
    front_matter
}

fn split(text: &str) -> Parts<'_> {
    let mut lines = text.split_inclusive('\n');
    let is_rule = |line: &str| line.trim_end() == "---";
    let Some(first) = lines.next().filter(|line| is_rule(line)) else {
        return Parts { head: Head::None, body: text };
    };
    let start = first.len();
    let mut at = start;
    for line in lines {
        if is_rule(line) {
            return Parts { head: Head::Yaml(&text[start..at]), body: &text[at + line.len()..] };
        }
        at += line.len();
    }
    Parts { head: Head::Unclosed, body: text }
}

/// None when nothing could be read.
fn read_yaml(yaml: &str, findings: &mut Findings<'_>) -> Option<Map<String, Value>> {
    if yaml.len() > HEAD_MAX {
        let message = format!("the front matter is larger than {HEAD_MAX} bytes and is ignored");
        findings.add(FindingKind::FrontMatterNotYaml, message);
        return None;
    }
    match yaml::parse::<Option<Map<String, Value>>>(yaml, HEAD_MAX, YamlSize::Page) {
        Ok(fields) => Some(fields.unwrap_or_default()),
        Err(error) => {
            let error = shorten(&error);
            findings.add(
                FindingKind::FrontMatterNotYaml,
                format!("the front matter is not valid YAML ({error}); a value with a colon in it needs quotes"),
            );
            Some(read_plain_lines(yaml)).filter(|fields| !fields.is_empty())
        }
    }
}

/// What can be had from lines `key: value` when YAML cannot be: the usual fault is a colon inside a description.
fn read_plain_lines(yaml: &str) -> Map<String, Value> {
    let plain = ["name", "description", "license", "compatibility", "allowed-tools"];
    let mut fields = Map::new();
    for (key, value) in yaml.lines().filter_map(|line| line.split_once(": ")) {
        let value = value.trim().trim_matches(['"', '\'']);
        // A block scalar, an anchor or an alias is not a plain value; taking it for one would show nonsense.
        if plain.contains(&key) && !value.starts_with(['|', '>', '&', '*', '[', '{']) && !value.is_empty() {
            fields.entry(key).or_insert_with(|| Value::from(value));
        }
    }
    fields
}

fn take_fields(fields: Map<String, Value>, findings: &mut Findings<'_>) -> FrontMatter {
    let mut front_matter = FrontMatter::default();
    let mut unknown = Vec::new();
    for (key, value) in fields {
        match key.as_str() {
            "name" => front_matter.name = text(&key, value, findings),
            "description" => front_matter.description = text(&key, value, findings),
            "license" => front_matter.license = text(&key, value, findings),
            "compatibility" => front_matter.compatibility = text(&key, value, findings),
            "allowed-tools" => front_matter.allowed_tools = text(&key, value, findings),
            "metadata" => match value {
                Value::Object(metadata) => front_matter.metadata = metadata,
                Value::Null => {}
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    findings.add(FindingKind::WrongType, "metadata must be a mapping, and is ignored");
                }
            },
            _ => unknown.push(format!("\"{}\"", shorten(&key))),
        }
    }
    // One note for all of them: many published skills have keys of one engine, and they do no harm.
    if let Some((last, others)) = unknown.split_last() {
        let named = match others {
            [] => format!("the key {last}"),
            [..] if others.len() < KEYS_NAMED => format!("the keys {} and {last}", others.join(", ")),
            [..] => {
                let (first, rest) = unknown.split_at(KEYS_NAMED);
                format!("the keys {} and {} more", first.join(", "), rest.len())
            }
        };
        let message = format!("the front matter has {named}, which the Agent Skills standard does not define");
        findings.add(FindingKind::ExtraKeys, message);
    }
    front_matter
}

fn text(key: &str, value: Value, findings: &mut Findings<'_>) -> Option<String> {
    findings.text(key, value).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn check(front_matter: &FrontMatter, folder: &Path, findings: &mut Findings<'_>) {
    match &front_matter.name {
        None => findings.add(FindingKind::NameMissing, "the front matter has no name"),
        Some(name) => match name::check(name) {
            Err(problem) => {
                findings.add(FindingKind::NameInvalid, format!("the name \"{}\" {problem}", shorten(name)));
            }
            Ok(()) if folder.file_name().is_some_and(|folder| folder != name.as_str()) => findings.add(
                FindingKind::NameNotFolder,
                format!("the name \"{name}\" is not the name of the folder; some engines will not find the skill"),
            ),
            Ok(()) => {}
        },
    }
    match &front_matter.description {
        None => findings.add(
            FindingKind::DescriptionMissing,
            "the front matter has no description; engines use it to decide whether to use the skill",
        ),
        Some(description) if description.chars().count() > DESCRIPTION_MAX => findings.add(
            FindingKind::DescriptionTooLong,
            format!("the description is longer than {DESCRIPTION_MAX} characters"),
        ),
        Some(_) => {}
    }
    if front_matter.compatibility.as_ref().is_some_and(|text| text.chars().count() > COMPATIBILITY_MAX) {
        let message = format!("compatibility is longer than {COMPATIBILITY_MAX} characters");
        findings.add(FindingKind::CompatibilityTooLong, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::finding::{Finding, Severity};
    use proptest::prelude::*;

    fn read_head(text: &str) -> (FrontMatter, Vec<FindingKind>) {
        let mut all: Vec<Finding> = Vec::new();
        let front_matter = read(text, Path::new("skills/demo"), &mut Findings::new("SKILL.md", &mut all));
        (front_matter, all.into_iter().map(|finding| finding.kind).collect())
    }

    #[test]
    fn everything_the_standard_knows() {
        let (front_matter, findings) = read_head(
            "---\nname: demo\ndescription: Does things.\nlicense: MIT\ncompatibility: linux\nmetadata:\n  author: me\n\
             allowed-tools: Read Bash(git:*)\n---\n# Do it\n",
        );
        assert_eq!(findings, []);
        assert_eq!(front_matter.name.as_deref(), Some("demo"));
        assert_eq!(front_matter.description.as_deref(), Some("Does things."));
        assert_eq!(front_matter.license.as_deref(), Some("MIT"));
        assert_eq!(front_matter.compatibility.as_deref(), Some("linux"));
        assert_eq!(front_matter.metadata["author"], "me");
        assert_eq!(front_matter.allowed_tools.as_deref(), Some("Read Bash(git:*)"));
    }

    #[test]
    fn windows_line_ends() {
        let (front_matter, findings) = read_head("---\r\nname: demo\r\ndescription: D.\r\n---\r\nDo it.\r\n");
        assert_eq!(findings, []);
        assert_eq!(front_matter.description.as_deref(), Some("D."));
    }

    #[test]
    fn what_is_wrong_is_a_warning_each() {
        use FindingKind::*;
        let long = |n: usize| "x".repeat(n);
        let cases: &[(&str, &[FindingKind])] = &[
            ("Just text.\n", &[FrontMatterMissing]),
            ("", &[FrontMatterMissing, BodyEmpty]),
            ("---\n---\nx", &[NameMissing, DescriptionMissing]),
            ("---\nname: demo\nDo it.\n", &[FrontMatterUnclosed]),
            ("---\nname: demo\ndescription: D.\n---\n\n", &[BodyEmpty]),
            ("---\ndescription: D.\n---\nx", &[NameMissing]),
            ("---\nname: Demo\ndescription: D.\n---\nx", &[NameInvalid]),
            ("---\nname: other\ndescription: D.\n---\nx", &[NameNotFolder]),
            ("---\nname: demo\n---\nx", &[DescriptionMissing]),
            ("---\nname: demo\ndescription: ''\n---\nx", &[DescriptionMissing]),
            (&format!("---\nname: demo\ndescription: {}\n---\nx", long(1025)), &[DescriptionTooLong]),
            (&format!("---\nname: demo\ndescription: {}\n---\nx", long(1024)), &[]),
            (
                &format!("---\nname: demo\ndescription: D.\ncompatibility: {}\n---\nx", long(501)),
                &[CompatibilityTooLong],
            ),
            ("---\nname: demo\ndescription: [D.]\n---\nx", &[WrongType, DescriptionMissing]),
            ("---\nname: demo\ndescription: D.\nmetadata: 3\n---\nx", &[WrongType]),
            ("---\nname: demo\ndescription: D.\nmodel: big\nversion: 1\ntags: [a]\n---\nx", &[ExtraKeys]),
            ("---\n- a\n- b\n---\nx", &[FrontMatterNotYaml]),
            ("---\nname: demo\nname: demo\ndescription: D.\n---\nx", &[FrontMatterNotYaml]),
        ];
        for (text, expected) in cases {
            assert_eq!(read_head(text).1, *expected, "{text}");
        }
    }

    /// 2,583 published skills had 5,510 warnings about such keys, most of them keys of one engine.
    #[test]
    fn unknown_keys_are_one_note_and_not_a_warning_each() {
        let note = |keys: &str| {
            let text = format!("---\nname: demo\ndescription: D.\n{keys}---\nx");
            let mut all: Vec<Finding> = Vec::new();
            read(&text, Path::new("skills/demo"), &mut Findings::new("SKILL.md", &mut all));
            let [finding] = all.try_into().expect("one finding");
            assert_eq!(finding.severity, Severity::Note);
            finding.message
        };
        let end = "which the Agent Skills standard does not define";
        assert_eq!(note("model: a\n"), format!("the front matter has the key \"model\", {end}"));
        let two = format!("the front matter has the keys \"model\" and \"tags\", {end}");
        assert_eq!(note("model: a\ntags: [b]\n"), two);
        let many: String = ('a'..='h').map(|key| format!("{key}: 1\n")).collect();
        let named = r#"the keys "a", "b", "c", "d", "e" and 3 more"#;
        assert_eq!(note(&many), format!("the front matter has {named}, {end}"));
        let five: String = ('a'..='e').map(|key| format!("{key}: 1\n")).collect();
        assert!(note(&five).contains(r#"the keys "a", "b", "c", "d" and "e", which"#));
    }

    /// The most common fault in published skills: `description: Use when: ...` without quotes.
    #[test]
    fn a_colon_in_the_description_loses_nothing() {
        let (front_matter, findings) = read_head("---\nname: demo\ndescription: Use when: it rains\n---\nx");
        assert_eq!(findings, [FindingKind::FrontMatterNotYaml]);
        assert_eq!(front_matter.name.as_deref(), Some("demo"));
        assert_eq!(front_matter.description.as_deref(), Some("Use when: it rains"));
    }

    #[test]
    fn an_alias_bomb_is_bad_yaml_and_costs_nothing() {
        let mut bomb = String::from("---\nname: demo\ndescription: D.\na: &a [x, x, x, x, x, x, x, x, x]\n");
        for (this, before) in ('b'..='i').zip('a'..) {
            bomb.push_str(&format!("{this}: &{this} [{}]\n", vec![format!("*{before}"); 9].join(", ")));
        }
        bomb.push_str("---\nx");
        let start = std::time::Instant::now();
        let (front_matter, findings) = read_head(&bomb);
        assert!(start.elapsed() < std::time::Duration::from_secs(1));
        assert_eq!(findings, [FindingKind::FrontMatterNotYaml]);
        assert_eq!(front_matter.name.as_deref(), Some("demo"));
    }

    #[test]
    fn a_huge_head_is_left_out() {
        let text = format!("---\nname: demo\nx: {}\n---\nx", "y".repeat(HEAD_MAX));
        assert_eq!(read_head(&text).1, [FindingKind::FrontMatterNotYaml]);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(
            head in "(---\n)?(name: |description: |[ -~\n\r\u{1f600}&*:'\"|>{}\\[\\]]){0,40}",
            body in "(---\n)?[a-z]{0,5}",
        ) {
            read_head(&(head + &body));
        }
    }
}
