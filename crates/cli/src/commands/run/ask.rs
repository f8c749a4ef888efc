//! Asks the user at the terminal.

use std::io::{self, Write};

use skillrun_model::interaction::{AskOption, InteractionKind, Pending, Scope};
use skillrun_runs::prompt::PromptFault;

use crate::output::plain;

/// What came from the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    Line(String),
    /// A line that cannot be sent.
    Unusable(PromptFault),
    /// Nothing more will come.
    End,
}

/// What a line means as an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meant {
    Answer(String),
    /// An empty line where there is no default.
    Nothing,
    /// A number where one of the options must be picked, and none has this number.
    NoSuchOption(String),
}

/// The options of a question, with their numbers.
pub(crate) fn options(question: &Pending) -> String {
    let option = |(number, option): (usize, &AskOption)| {
        let mark = if option.default { "  (Enter)" } else { "" };
        format!("  {number}) {}{mark}\n", plain(&option.label))
    };
    (1..).zip(&question.options).map(option).collect()
}

/// Prints the options and the prompt.
pub(crate) fn prompt(question: &Pending) {
    let mut text = options(question);
    text.push_str(match question.scope {
        Scope::Prompt => "prompt> ",
        Scope::Turn | Scope::Call | Scope::Step if question.options.is_empty() => "answer> ",
        Scope::Turn | Scope::Call | Scope::Step => "number or answer> ",
    });
    crate::live::erase();
    let mut out = io::stderr();
    // If the terminal is gone, there is nothing left to do.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Shows text that was typed while the terminal showed no characters.
pub(crate) fn echo(text: &str) {
    let mut out = io::stderr();
    // If the terminal is gone, there is nothing left to do.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says that no option has this number.
pub(crate) fn refuse(question: &Pending, number: &str) {
    let text = format!("there is no option {number}; {}\n", range(question.options.len()));
    // If the terminal is gone, there is nothing left to do.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn range(options: usize) -> String {
    match options {
        1 => "enter 1, or an answer in words".to_owned(),
        more => format!("enter a number from 1 to {more}, or an answer in words"),
    }
}

/// Whether the answer to such a question is one of its options. For the others, options are suggestions, and a number
/// can be an answer.
fn picks(kind: InteractionKind) -> bool {
    match kind {
        InteractionKind::ChooseOne | InteractionKind::Confirm | InteractionKind::RiskAck => true,
        InteractionKind::FillFields | InteractionKind::OpenText => false,
    }
}

/// A number picks an option, an empty line the default one; everything else is the answer itself, except a number that
/// no option has: it is a slip, and the agent would take it for an answer.
pub(crate) fn meaning(question: &Pending, line: &str) -> Meant {
    let line = line.trim();
    let picked = line.parse::<usize>().ok().and_then(|number| question.options.get(number.checked_sub(1)?));
    let default = question.options.iter().find(|option| option.default).filter(|_| line.is_empty());
    let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    let is_value = || question.options.iter().any(|option| option.value == line || option.label == line);
    match picked.or(default) {
        Some(option) => Meant::Answer(option.value.clone()),
        None if line.is_empty() => Meant::Nothing,
        None if is_number && !question.options.is_empty() && picks(question.kind) && !is_value() => {
            Meant::NoSuchOption(line.to_owned())
        }
        None => Meant::Answer(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillrun_model::{AttemptNumber, InteractionId};

    fn question(options: &[(&str, bool)]) -> Pending {
        let option = |(value, default): &(&str, bool)| AskOption {
            value: (*value).to_owned(),
            label: value.to_uppercase(),
            default: *default,
        };
        let (kind, options) = (InteractionKind::ChooseOne, options.iter().map(option).collect());
        Pending { kind, options, ..Pending::open_text(InteractionId(1), AttemptNumber(1), "Which?") }
    }

    #[test]
    fn numbers_pick_and_words_are_themselves() {
        let answer = |text: &str| Meant::Answer(text.to_owned());
        let asked = question(&[("red", false), ("blue", true)]);
        let cases = [("1", "red"), (" 2 ", "blue"), ("", "blue"), ("green ", "green"), ("3 reds", "3 reds")];
        for (line, meant) in cases {
            assert_eq!(meaning(&asked, line), answer(meant), "{line:?}");
        }
        assert_eq!(meaning(&question(&[("red", false)]), " "), Meant::Nothing);
        assert_eq!(meaning(&question(&[]), "1"), answer("1"));
    }

    /// Regression: the agent got "9" as the answer to a choice of two.
    #[test]
    fn number_without_option_is_not_an_answer() {
        let asked = question(&[("red", false), ("blue", true)]);
        for line in ["0", "3", " 9 ", "99999999999999999999999"] {
            assert_eq!(meaning(&asked, line), Meant::NoSuchOption(line.trim().to_owned()), "{line:?}");
        }
        let answer = |text: &str| Meant::Answer(text.to_owned());
        assert_eq!(meaning(&question(&[("10", false), ("20", false)]), "20"), answer("20"), "the value of an option");
        let open = Pending { kind: InteractionKind::OpenText, ..asked };
        assert_eq!(meaning(&open, "9"), answer("9"), "the options of an open question are suggestions");
    }
}
