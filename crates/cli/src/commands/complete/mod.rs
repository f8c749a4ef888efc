//! `skillrun complete`, which completion scripts call: what can be typed at the end of a command line.
//!
//! One line per candidate: the word, a tab, and its description. Exit code 0: these are all; 1: the shell completes
//! names of files. Errors print nothing, because the user is typing.

mod cursor;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory, ValueHint};
use skillrun_model::IgnoredError;

use cursor::{Cursor, Slot, locate};
use values::ValueKind;

use crate::args::{Args, Global};
use crate::output::print;

/// Longest description, in characters; shells show one line.
const DESCRIPTION_MAX: usize = 100;

/// A word that can be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    word: String,
    description: String,
}

impl Candidate {
    fn new(word: &str, description: &str) -> Self {
        let line = description.lines().next().unwrap_or_default();
        let description = line.chars().filter(|c| !c.is_control()).take(DESCRIPTION_MAX).collect();
        Self { word: word.to_owned(), description }
    }

    /// Whether a shell takes it as one word as it is.
    fn is_plain(&self) -> bool {
        self.word
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ',' | '=' | '/' | '@' | '+' | ':'))
    }
}

/// What can be typed, in the order in which it is shown.
#[derive(Debug, Default, PartialEq, Eq)]
struct Candidates {
    list: Vec<Candidate>,
    /// Whether the shell completes names of files.
    files: bool,
}

pub(crate) fn run(words: &[OsString]) -> ExitCode {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut root = Args::command();
    root.build();
    let cursor = locate(&root, &words);
    let Candidates { list, files } = candidates(&cursor);
    let text: String = list.iter().map(|one| format!("{}{}\t{}\n", cursor.lead, one.word, one.description)).collect();
    // If the shell is gone, there is nothing left to do.
    print(&text).ignored();
    ExitCode::from(u8::from(files))
}

fn candidates(cursor: &Cursor<'_>) -> Candidates {
    let mut found = match &cursor.slot {
        Slot::Option => Candidates { list: options(cursor.command), files: false },
        Slot::Value(arg) => values(cursor, arg),
        Slot::Word { arg, commands } => {
            let mut found = arg.map_or_else(Candidates::default, |arg| values(cursor, arg));
            let names = cursor.command.get_subcommands().filter(|command| *commands && !command.is_hide_set());
            let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
            found.list.extend(names.map(|command| Candidate::new(command.get_name(), &about(command))));
            found
        }
    };
    found.list.retain(|candidate| candidate.word.starts_with(&cursor.typed) && candidate.is_plain());
    // Nothing else fits: a path, or a name that does not exist.
    found.files = found.files && found.list.is_empty();
    found
}

fn options(command: &Command) -> Vec<Candidate> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let option = |arg: &Arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        Some(Candidate::new(&format!("--{}", arg.get_long()?), &help))
    };
    shown.filter_map(option).collect()
}

fn values(cursor: &Cursor<'_>, arg: &Arg) -> Candidates {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let help = |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string).unwrap_or_default();
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        return Candidates {
            list: shown.map(|value| Candidate::new(value.get_name(), &help(value))).collect(),
            files: false,
        };
    }
    let id = arg.get_id().as_str();
    let Some(kind) = ValueKind::of(&cursor.path, id, &cursor.given) else {
        return Candidates { list: Vec::new(), files: is_file(arg) };
    };
    let global = Global {
        data: cursor.data.as_ref().map(Into::into),
        config: cursor.config.as_ref().map(Into::into),
        ..Global::default()
    };
    // A skill can be a path as well.
    Candidates { list: kind.candidates(&global, &cursor.typed), files: kind == ValueKind::Skill }
}

/// Whether a value is, or can be, the path of a file.
fn is_file(arg: &Arg) -> bool {
    let is_path = matches!(
        arg.get_value_hint(),
        ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath | ValueHint::ExecutablePath
    );
    is_path || matches!(arg.get_id().as_str(), "input" | "param" | "file" | "command" | "source")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Candidates {
        let mut root = Args::command();
        root.build();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        candidates(&locate(&root, &words))
    }

    fn names(line: &str) -> Vec<String> {
        words(line).list.into_iter().map(|candidate| candidate.word).collect()
    }

    #[test]
    fn commands_options_and_fixed_values_are_completed() {
        assert_eq!(names("en"), ["engines"]);
        assert_eq!(names("engines in"), ["install"]);
        assert_eq!(names("simulate"), Vec::<String>::new(), "hidden commands");
        assert_eq!(names("complet"), ["completions"]);
        assert_eq!(names("ls --stat"), ["--status"]);
        assert_eq!(names("ls --status wait"), ["waiting_user"]);
        assert_eq!(names("--color nev"), ["never"]);
        assert_eq!(names("completions z"), ["zsh"]);
        assert_eq!(names("run x --prof"), Vec::<String>::new(), "hidden options");
        assert_eq!(names("run x --dat"), ["--data"]);
        assert_eq!(words("engines in").list[0].description, "Install an engine with npm, for use by skillrun only");
    }

    #[test]
    fn settings_and_codes_are_completed() {
        assert_eq!(names("config get slots.tot"), ["slots.total"]);
        assert_eq!(names("explain ENGINE_END"), ["ENGINE_END_MISSING"]);
        assert_eq!(names("explain engine_end"), ["engine_end_missing"]);
    }

    #[test]
    fn paths_are_left_to_the_shell_and_texts_to_the_user() {
        for line in ["normalize rec", "run ./sk", "run x --input in", "run x --workspace ", "capture l", "--data x"] {
            assert_eq!(words(line), Candidates { list: Vec::new(), files: true }, "{line}");
        }
        for line in ["run x --model g", "reply last ye", "show last x", "ls -n 1"] {
            assert_eq!(words(line), Candidates::default(), "{line}");
        }
    }

    #[test]
    fn words_that_a_shell_would_take_apart_are_not_offered() {
        for word in ["a b", "$(x)", "a;b", "a'b", "*", "a\nb", "~"] {
            assert!(!Candidate::new(word, "").is_plain(), "{word:?}");
        }
        assert_eq!(Candidate::new("x", "one\u{1b}[1m\ttwo\nthree").description, "one[1mtwo");
    }

    /// Arguments that are texts, numbers or new names. A new argument is completed, or it is added here.
    const FREE: [&str; 7] = [
        "ask prompt",
        "continue prompt",
        "engines record scenario",
        "reply text",
        "skills new name",
        "token create name",
        "help",
    ];

    #[test]
    fn every_positional_argument_has_values() {
        fn check(command: &Command, path: &[&str]) {
            for arg in command.get_positionals() {
                let name = format!("{} {}", path.join(" "), arg.get_id());
                let kind = ValueKind::of(path, arg.get_id().as_str(), &["engine".to_owned()]);
                let has_values = kind.is_some() || !arg.get_possible_values().is_empty() || is_file(arg);
                assert!(has_values != FREE.contains(&name.as_str()), "{name}");
            }
            for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
                check(inner, &[path, &[inner.get_name()]].concat());
            }
        }
        check(&Args::command(), &[]);
    }
}
