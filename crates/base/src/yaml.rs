//! YAML from sources that are not trusted: models, skills, files of users. Size, depth, count and aliases are bounded,
//! so that the worst text costs little.

use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::{MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Options, Spanned};

use crate::lines::PathPart;

/// Longest error message; the library quotes from the text.
const MESSAGE_MAX: usize = 300;
/// Most bytes of text under anchors.
const ANCHORED_MAX: usize = 1 << 20;

/// How much a text may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlSize {
    /// A page that one person or model writes: a question, the head of a skill.
    Page,
    /// A long list, such as cases or scripts; aliases are useful in it.
    List,
    /// Ten thousand steps of a workflow, with what is in them.
    Workflow,
}

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// From 1.
    pub line: Option<usize>,
    /// One line.
    pub message: String,
}

/// Reads a text that has at most `max_bytes`, which the caller has checked. The error is one line.
///
/// Booleans are strict, so that `no` is a text and not `false`. Merge keys are ordinary keys.
pub fn parse<T: DeserializeOwned>(text: &str, max_bytes: usize, size: YamlSize) -> Result<T, String> {
    parse_located(text, max_bytes, size).map_err(|error| error.message)
}

/// The same, with the line of an error.
pub fn parse_located<T: DeserializeOwned>(text: &str, max_bytes: usize, size: YamlSize) -> Result<T, YamlError> {
    serde_saphyr::from_str_with_options(text, options(max_bytes, size)).map_err(|error| {
        let words = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        let line = error.location().and_then(|location| usize::try_from(location.line()).ok()).filter(|line| *line > 0);
        YamlError { line, message: words.chars().take(MESSAGE_MAX).collect() }
    })
}

/// The line, from 1, of the part to which a path leads, or of the last part on the way that exists. The text is read
/// again for it, which is cheaper than to keep the position of every part of a text that is almost always correct.
pub fn line_of(text: &str, max_bytes: usize, size: YamlSize, path: &[PathPart<'_>]) -> Option<usize> {
    let root: Located = serde_saphyr::from_str_with_options(text, options(max_bytes, size)).ok()?;
    let (mut at, mut line) = (&root, root.line);
    for part in path {
        let found = match (part, &at.parts) {
            (PathPart::Key(key), LocatedParts::Mapping(entries)) => {
                entries.iter().find(|(name, _, _)| name == key).map(|(_, line, value)| (*line, value))
            }
            (PathPart::Index(index), LocatedParts::List(items)) => items.get(*index).map(|item| (item.line, item)),
            (_, LocatedParts::Scalar | LocatedParts::List(_) | LocatedParts::Mapping(_)) => None,
        };
        let Some((found_line, value)) = found else { break };
        (at, line) = (value, found_line);
    }
    usize::try_from(line).ok().filter(|line| *line > 0)
}

/// Where the parts of a text begin.
struct Located {
    line: u64,
    parts: LocatedParts,
}

enum LocatedParts {
    Scalar,
    List(Vec<Located>),
    /// The line is that of the key.
    Mapping(Vec<(String, u64, Located)>),
}

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<LocatedParts>::deserialize(deserializer)?;
        Ok(Self { line: spanned.referenced.line(), parts: spanned.value })
    }
}

impl<'de> Deserialize<'de> for LocatedParts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PartsVisitor)
    }
}

struct PartsVisitor;

impl<'de> Visitor<'de> for PartsVisitor {
    type Value = LocatedParts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<LocatedParts, E> {
        Ok(LocatedParts::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<LocatedParts, E> {
        Ok(LocatedParts::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<LocatedParts, E> {
        Ok(LocatedParts::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<LocatedParts, E> {
        Ok(LocatedParts::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<LocatedParts, E> {
        Ok(LocatedParts::Scalar)
    }

    fn visit_unit<E>(self) -> Result<LocatedParts, E> {
        Ok(LocatedParts::Scalar)
    }

    fn visit_none<E>(self) -> Result<LocatedParts, E> {
        Ok(LocatedParts::Scalar)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<LocatedParts, D::Error> {
        LocatedParts::deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<LocatedParts, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| LocatedParts::Scalar)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<LocatedParts, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(LocatedParts::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LocatedParts, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let value: Located = map.next_value()?;
            let line = if key.referenced.line() > 0 { key.referenced.line() } else { value.line };
            entries.push((key.value, line, value));
        }
        Ok(LocatedParts::Mapping(entries))
    }
}

fn options(max_bytes: usize, size: YamlSize) -> Options {
    // One alias may stand for a scalar of almost the whole size, so that few replays are already too many.
    let (nodes, depth, aliases, replayed) = match size {
        YamlSize::Page => (10_000, 32, 16, 100),
        YamlSize::List => (200_000, 64, 64, 1_000),
        YamlSize::Workflow => (1_000_000, 64, 64, 1_000),
    };
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 2 * nodes,
            max_nodes: nodes,
            max_depth: depth,
            flow_nesting_limit: depth,
            max_documents: 1,
            max_anchors: 16,
            max_aliases: aliases,
            max_merge_keys: 16,
            max_recorded_anchor_events: 10_000,
            max_recorded_anchor_bytes: (4 * max_bytes).min(ANCHORED_MAX),
            max_total_scalar_bytes: 4 * max_bytes,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: replayed,
            max_replay_stack_depth: 4,
        },
        strict_booleans: true,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const SIZES: [YamlSize; 3] = [YamlSize::Page, YamlSize::List, YamlSize::Workflow];

    fn read(text: &str, size: YamlSize) -> Result<Value, String> {
        parse(text, text.len(), size)
    }

    #[test]
    fn words_stay_words_and_aliases_are_replaced() {
        let text = "answers: [no, yes, on]\nflag: true\nfirst: &a {b: 1}\nsecond: *a\n<<: x\nlarge: .inf";
        let value = json!({
            "answers": ["no", "yes", "on"], "flag": true, "first": {"b": 1}, "second": {"b": 1}, "<<": "x",
            "large": ".inf",
        });
        for size in SIZES {
            assert_eq!(read(text, size).expect("it is YAML"), value);
        }
    }

    #[test]
    fn bombs_are_refused_in_one_line() {
        let mut laughs = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
        for (name, before) in ["b", "c", "d", "e"].iter().zip(["a", "b", "c", "d"]) {
            let list = vec![format!("*{before}"); 10].join(", ");
            laughs += &format!("{name}: &{name} [{list}]\n");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        let many = "- x\n".repeat(1_100_000);
        let anchors = (0..100).map(|number| format!("- &a{number} x\n")).collect::<String>();
        for bomb in [laughs, deep, many, anchors, "a: 1\n---\nb: 2".to_owned(), "a: [".to_owned()] {
            for size in SIZES {
                let error = read(&bomb, size).expect_err("it is refused");
                assert!(!error.contains('\n') && error.chars().count() <= MESSAGE_MAX, "{error}");
            }
        }
    }

    #[test]
    fn line_of_a_part_is_that_of_its_key_or_item() {
        let text = "a: 1\nlist:\n  - x: 1\n    y:\n      z: 2\n  -\n    x: 3\nflow: {u: [1,\n  2], v: 3}\n";
        let (list, z) = (PathPart::Key("list"), PathPart::Key("z"));
        let cases: [(&[PathPart<'_>], usize); 9] = [
            (&[], 1),
            (&[list], 2),
            (&[list, PathPart::Index(0)], 3),
            (&[list, PathPart::Index(0), PathPart::Key("y")], 4),
            (&[list, PathPart::Index(0), PathPart::Key("y"), z], 5),
            (&[list, PathPart::Index(1)], 7),
            (&[list, PathPart::Index(1), z], 7),
            (&[PathPart::Key("flow"), PathPart::Key("u"), PathPart::Index(1)], 9),
            (&[PathPart::Key("none"), list], 1),
        ];
        for (path, line) in cases {
            assert_eq!(line_of(text, text.len(), YamlSize::Workflow, path), Some(line), "{path:?}");
        }
        assert_eq!(line_of("a: [", 4, YamlSize::Workflow, &[]), None);
    }

    #[test]
    fn error_has_the_line_at_which_it_was_found() {
        let error = parse_located::<Value>("a: 1\nb: [1, 2\nc: 3\n", 30, YamlSize::Workflow).expect_err("not closed");
        assert!(matches!(error.line, Some(2..=4)), "{error:?}");
    }
}
