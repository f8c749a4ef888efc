//! The words of the model: what it says and the commands it runs.

use serde_json::{Value, json};

/// The key that says that a skill is done.
pub(super) const DONE_KEY: &str = "__SKILL_DONE__";

pub(super) const QUESTION: &str =
    "I need one decision before I can go on: which colour should the report use, **red** or **blue**?";

pub(super) const QUESTIONS: [&str; 3] = [
    "Question one: which colour should the report use, **red** or **blue**?",
    "Thanks. Question two: should the report be `large` or `small`?",
    "Last one: may I overwrite the existing file report.md (yes/no)?",
];

pub(super) const ASK: &str = "Before I can go on I need a decision from you: which colour should the report use?

<ASK_USER_YAML>
ask_user:
  kind: choose_one
  prompt: Which colour?
  options:
    - {value: red, label: Red}
    - {value: blue, label: Blue, default: true}
  default_decision_policy: safe_default
</ASK_USER_YAML>";

pub(super) const ASK_BAD: &str = "Before I can go on I need a decision from you: which colour should the report use?

<ASK_USER_YAML>
ask_user:
  kind: choose_one
  prompt: Which colour? [red: or blue
  options:
    - {value: red, label: Red
   - value: blue
\t label: \"Blue
  default_decision_policy: safe_default
";

/// Said before commands, with objects in it that are not a result.
pub(super) const COMMENTARY: [&str; 2] = [
    r#"I will first look at the date, for example {"status": "draft", "summary": "not yet"}."#,
    r#"The date is known. Next I check the file; the result could look like {"status": "draft", "summary": "still not"}."#,
];

pub(super) const NO_MARKER: &str = "Done, but without any marker.";
pub(super) const SOFT: &str = r#"{"status":"ok","summary":"soft"}"#;
pub(super) const MARKER_ALONE: &str =
    "```json\n{\"status\":\"ok\",\"summary\":\"x\"}\n```\n\n{\"__SKILL_DONE__\": true}";
pub(super) const MARKER_TWICE: &str = "First result:

{\"__SKILL_DONE__\": true, \"status\": \"error\", \"summary\": \"first object\"}

Corrected result:

{\"__SKILL_DONE__\": true, \"status\": \"ok\", \"summary\": \"second object\"}
";

pub(super) const THOUGHT: &str = "Thinking about it … 思考中 🤔 step one, step two.";
pub(super) const REFUSED: &str = "I'm sorry, but I can't help with that";
pub(super) const NO_SHELL: &str = "No tool that runs commands was offered, so nothing was done.";
pub(super) const SCRIPT_OVER: &str = "The script has no more turns.";
pub(super) const NO_TOOL: &str = "No such tool was offered, so nothing was done.";
pub(super) const COMMAND_OVER: &str = "The command is over.";
pub(super) const NO_ORDER: &str = "There is no order to follow.";

/// An answer with an ordered word. An order alone does not contain it, so that the two can be distinguished.
pub(super) fn said_word(word: &str) -> String {
    format!("The word is {word}.")
}

/// What a tool printed, after it was called by an order.
pub(super) fn printed(text: &str) -> String {
    format!("The tool says: {}", text.trim())
}

/// A message of a turn that is going to fail.
pub(super) fn broken_word(word: &str) -> String {
    format!("The word may be {word}.")
}

pub(super) const TITLE: &str = "A title";
/// Fits what the CLIs ask for beside the conversation: routes, titles, checks.
pub(super) const SIDE_OBJECT: &str = r#"{"reasoning":"none","model_choice":"flash","title":"A title","complexity_score":1,"complexity_reasoning":"none"}"#;

/// Combining characters, both directions, joined emoji, separators that are not newlines, and escapes that give a NUL
/// and half a pair when the object is read.
pub(super) const UNICODE: &str = concat!(
    "{\"__SKILL_DONE__\": true, \"status\": \"ok\", \"summary\": \"e\u{301}a\u{308}n\u{303} | ",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{202e}abc\u{202c} \u{645}\u{631}\u{62d}\u{628}\u{627} | ",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{1f3f3}\u{fe0f}\u{200d}\u{1f308} \u{1f44d}\u{1f3fd} | ",
    "ls:\u{2028} ps:\u{2029} nel:\u{85} bom:\u{feff} nbsp:\u{a0} zwsp:\u{200b} del:\u{7f} c1:\u{9b} | ",
    r#"nul:\u0000 esc:\u001b lone:\ud800 pair:\ud83d\ude00 end"}"#,
);

pub(super) const UNICODE_NUL: &str = concat!(
    "Prose with a NUL >\0<, an ESC >\x1b[31m<, a VT >\x0b<, an FS >\x1c<, a CR >\r<.\n\n",
    "{\"__SKILL_DONE__\": true, \"status\": \"ok\", \"summary\": \"ls:\u{2028} nel:\u{85} end\"}\n",
);

/// U+E000 to U+E7FF stand for the halves of surrogate pairs, see [`Encoding`](super::plan::Encoding).
pub(super) const UNICODE_RAW: &str = concat!(
    "Prose with a NUL >\0<, an ESC >\x1b[31m<, a VT >\x0b<, an FS >\x1c<, a CR >\r<, ",
    "a lone half >\u{e000}< and a pair in the wrong order >\u{e600}\u{e03d}<.\n\n",
    "{\"__SKILL_DONE__\": true, \"status\": \"ok\", \"summary\": \"raw lone:\u{e400} ls:\u{2028} end\"}\n",
);

pub(super) const DATE: &str = "date -u +%Y > model-was-here.txt; cat model-was-here.txt; echo to-stderr >&2";
pub(super) const COUNT: &str = "ls -l model-was-here.txt | wc -l";
pub(super) const SECOND: &str = "echo second-call";
pub(super) const SLEEP: &str = "echo started; sleep 300; echo ended";
pub(super) const BIG: &str =
    "yes the-same-words-over-and-over-again-until-there-is-enough-of-them-to-be-big | head -n 2600 | cat -n";
pub(super) const ECHO_MARKER: &str = r#"echo '{"__SKILL_DONE__": true, "status": "ok", "summary": "from tool"}'"#;

fn final_object() -> Value {
    json!({DONE_KEY: true, "status": "ok", "summary": "the run is finished", "unicode": "naïve – 完成 ✅"})
}

pub(super) fn done() -> String {
    final_object().to_string()
}

pub(super) fn done_fenced() -> String {
    format!("All steps are done.\n\n```json\n{:#}\n```\n", final_object())
}

/// Half of the final object, and the other half.
pub(super) fn done_halves() -> (String, String) {
    let text = done();
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    (first.to_owned(), second.to_owned())
}

/// At least this many bytes of text with the final object at its end.
pub(super) fn long(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 512);
    for number in 0_u32.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&format!(
            "Line {number:06}: the quick brown fox jumps over the lazy dog, naïve – 完成 ✅ {{\"n\": {number}}} \"quoted\" \\ back\n"
        ));
    }
    text.push_str("\nEnd of the report.\n\n");
    text.push_str(&done());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_the_whole_and_no_half_is_an_object() {
        let (first, second) = done_halves();
        assert_eq!(format!("{first}{second}"), done());
        assert!(serde_json::from_str::<Value>(&first).is_err() && serde_json::from_str::<Value>(&second).is_err());
    }

    #[test]
    fn long_texts_are_as_long_as_asked_and_not_much_longer() {
        for bytes in [0, 1, 60_000, 2_000_000] {
            let text = long(bytes);
            assert!((bytes..bytes + 512).contains(&text.len()), "{} for {bytes}", text.len());
            assert!(text.ends_with(&done()));
        }
    }
}
