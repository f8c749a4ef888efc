//! YAML from sources that are not trusted: models, skills, files of users. Size, depth, count and aliases are bounded,
//! so that the worst text costs little.

use serde::de::DeserializeOwned;
use serde_saphyr::options::{MergeKeyPolicy, NonFiniteFloatPolicy};

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
}

/// Reads a text that has at most `max_bytes`, which the caller has checked. The error is one line.
///
/// Booleans are strict, so that `no` is a text and not `false`. Merge keys are ordinary keys.
pub fn parse<T: DeserializeOwned>(text: &str, max_bytes: usize, size: YamlSize) -> Result<T, String> {
    // One alias may stand for a scalar of almost the whole size, so that few replays are already too many.
    let (nodes, depth, aliases, replayed) = match size {
        YamlSize::Page => (10_000, 32, 16, 100),
        YamlSize::List => (200_000, 64, 64, 1_000),
    };
    let options = serde_saphyr::options! {
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
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let words = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        words.chars().take(MESSAGE_MAX).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const SIZES: [YamlSize; 2] = [YamlSize::Page, YamlSize::List];

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
        let many = "- x\n".repeat(300_000);
        let anchors = (0..100).map(|number| format!("- &a{number} x\n")).collect::<String>();
        for bomb in [laughs, deep, many, anchors, "a: 1\n---\nb: 2".to_owned(), "a: [".to_owned()] {
            for size in SIZES {
                let error = read(&bomb, size).expect_err("it is refused");
                assert!(!error.contains('\n') && error.chars().count() <= MESSAGE_MAX, "{error}");
            }
        }
    }
}
