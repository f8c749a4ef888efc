//! What is being typed: the command, and the option or value at the end of a command line. Pure; the rules are those of
//! the argument parser, which itself rejects an incomplete line.

use clap::{Arg, Command};

/// The end of a command line.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    /// The innermost command.
    pub(super) command: &'a Command,
    /// The names of the command and those above it, without the program.
    pub(super) path: Vec<&'a str>,
    pub(super) slot: Slot<'a>,
    /// The beginning of what is wanted.
    pub(super) typed: String,
    /// What is before it in the same word, such as `--engine=`, and has to be repeated.
    pub(super) lead: String,
    /// Values before it that belong to no option.
    pub(super) given: Vec<String>,
    /// Values of `--data` and `--config`.
    pub(super) data: Option<String>,
    pub(super) config: Option<String>,
}

/// What can be typed.
#[derive(Debug)]
pub(super) enum Slot<'a> {
    /// The name of an option.
    Option,
    /// The value of an option.
    Value(&'a Arg),
    /// A value that belongs to no option, or the name of a command.
    Word { arg: Option<&'a Arg>, commands: bool },
}

/// Finds out what is typed at the end of a line. `root` is built, so that every command has the global options.
pub(super) fn locate<'a>(root: &'a Command, words: &[String]) -> Cursor<'a> {
    let (words, is_split) = joined(words);
    let (last, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let mut cursor = Cursor {
        command: root,
        path: Vec::new(),
        slot: Slot::Option,
        typed: last.to_owned(),
        lead: String::new(),
        given: Vec::new(),
        data: None,
        config: None,
    };
    let mut pending: Option<&Arg> = None;
    let mut options = Options::Allowed;
    for word in before {
        if let Some(arg) = pending.take() {
            cursor.note(arg, word);
        } else if options == Options::Over || !word.starts_with('-') || word == "-" {
            options = cursor.word(word, options);
        } else if word == "--" {
            options = Options::Over;
        } else {
            pending = cursor.option(word);
        }
    }
    let with_value = last.split_once('=').filter(|_| last.starts_with("--"));
    let named = with_value.and_then(|(name, _)| cursor.named(name));
    cursor.slot = match (pending, options) {
        (Some(arg), _) => Slot::Value(arg),
        (None, Options::Allowed) if last.starts_with('-') => match (named, with_value) {
            (Some(arg), Some((name, value))) => {
                cursor.lead = format!("{name}=");
                cursor.typed = value.to_owned();
                Slot::Value(arg)
            }
            _ => Slot::Option,
        },
        (None, Options::Allowed | Options::Over) => {
            Slot::Word { arg: cursor.positional(), commands: cursor.given.is_empty() && options == Options::Allowed }
        }
    };
    cursor.split_list();
    // A shell that splits words at `=` replaces only what is behind it.
    if is_split {
        let whole = format!("{}{}", cursor.lead, cursor.typed);
        let behind = whole.rfind('=').map_or(0, |at| at + 1).min(cursor.lead.len());
        cursor.lead = cursor.lead[behind..].to_owned();
    }
    cursor
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Options {
    Allowed,
    /// Behind `--`, or behind the command of `capture`.
    Over,
}

/// Bash gives `--engine=codex` as three words. True if the end of the line was split in this way.
fn joined(words: &[String]) -> (Vec<String>, bool) {
    let mut all: Vec<String> = Vec::new();
    let (mut joins, mut is_split) = (false, false);
    for word in words {
        let is_sign = word == "=";
        match all.last_mut().filter(|before| joins || (is_sign && !before.is_empty())) {
            Some(before) => {
                before.push_str(word);
                is_split = true;
            }
            None => {
                all.push(word.clone());
                is_split = false;
            }
        }
        joins = is_sign && is_split;
    }
    (all, is_split)
}

impl<'a> Cursor<'a> {
    fn note(&mut self, arg: &Arg, value: &str) {
        match arg.get_id().as_str() {
            "data" => self.data = Some(value.to_owned()),
            "config" => self.config = Some(value.to_owned()),
            _ => {}
        }
    }

    fn named(&self, long: &str) -> Option<&'a Arg> {
        let name = long.strip_prefix("--")?;
        self.command.get_arguments().find(|arg| arg.get_long() == Some(name) && takes_value(arg))
    }

    /// An option that is given; returned if its value is the next word.
    fn option(&mut self, word: &str) -> Option<&'a Arg> {
        if let Some((name, value)) = word.split_once('=').filter(|_| word.starts_with("--")) {
            if let Some(arg) = self.named(name) {
                self.note(arg, value);
            }
            return None;
        }
        if word.starts_with("--") {
            return self.named(word).filter(|arg| !arg.is_require_equals_set());
        }
        // Letters of flags may be joined; the value of the first option that takes one is the rest of the word.
        let letters: Vec<char> = word.chars().skip(1).collect();
        let of = |letter: &char| self.command.get_arguments().find(|arg| arg.get_short() == Some(*letter));
        let at = letters.iter().position(|letter| of(letter).is_some_and(takes_value))?;
        of(&letters[at]).filter(|_| at + 1 == letters.len())
    }

    fn word(&mut self, word: &str, options: Options) -> Options {
        let inner = self.command.find_subcommand(word).filter(|_| self.given.is_empty() && options == Options::Allowed);
        if let Some(inner) = inner {
            self.command = inner;
            self.path.push(inner.get_name());
            return options;
        }
        let is_rest = self.positional().is_some_and(Arg::is_trailing_var_arg_set);
        self.given.push(word.to_owned());
        if is_rest { Options::Over } else { options }
    }

    /// The argument that the next word is a value of. The last one may have several.
    fn positional(&self) -> Option<&'a Arg> {
        let several = |arg: &&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        let next = self.command.get_positionals().nth(self.given.len());
        next.or_else(|| self.command.get_positionals().last().filter(several))
    }

    /// Of a list such as `codex,claude`, only the last item is being typed.
    fn split_list(&mut self) {
        let (Slot::Value(arg) | Slot::Word { arg: Some(arg), .. }) = &self.slot else { return };
        if let Some(at) = arg.get_value_delimiter().and_then(|delimiter| self.typed.rfind(delimiter)) {
            let item = self.typed.split_off(at + 1);
            self.lead += &std::mem::replace(&mut self.typed, item);
        }
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|range| range.takes_values())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Args;

    /// The path, what is at the cursor, what is repeated before it, and what is typed.
    fn at(line: &str) -> String {
        let mut root = Args::command();
        root.build();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let cursor = locate(&root, &words);
        let slot = match cursor.slot {
            Slot::Option => "option".to_owned(),
            Slot::Value(arg) => format!("value of {}", arg.get_id()),
            Slot::Word { arg, commands } => {
                let arg = arg.map_or("nothing", |arg| arg.get_id().as_str());
                if commands { format!("{arg} or command") } else { arg.to_owned() }
            }
        };
        format!("{}: {slot} {}|{}", cursor.path.join(" "), cursor.lead, cursor.typed)
    }

    #[test]
    fn the_end_of_a_line_is_found() {
        let cases = [
            ("", ": nothing or command |"),
            ("ru", ": nothing or command |ru"),
            ("run ", "run: skill or command |"),
            ("run greet --eng", "run: option |--eng"),
            ("run greet --engine ", "run: value of engine |"),
            ("run greet -e co", "run: value of engine |co"),
            ("run greet --engine=co", "run: value of engine --engine=|co"),
            // As bash splits it.
            ("run greet --engine = co", "run: value of engine |co"),
            ("run greet --engine =", "run: value of engine |"),
            ("run --engine codex gr", "run: skill or command |gr"),
            ("run --require-marker gr", "run: skill or command |gr"),
            ("run --require-marker = tr", "run: value of require_marker |tr"),
            ("run --cached gr", "run: skill or command |gr"),
            ("run greet --file slot = pa", "run: value of file |slot=pa"),
            ("--data folder show 01", "show: run or command |01"),
            ("reply 01 ", "reply: text |"),
            ("reply 01 yes ", "reply: nothing |"),
            ("rm 01 02 0", "rm: runs |0"),
            ("config set engine ", "config set: values |"),
            ("config set slots", "config set: key or command |slots"),
            ("engines sho", "engines: nothing or command |sho"),
            ("test x --engines codex,cl", "test: value of engines codex,|cl"),
            ("test x --engines=codex,cl", "test: value of engines --engines=codex,|cl"),
            ("test x --engines = codex,cl", "test: value of engines codex,|cl"),
            ("capture ls -", "capture: command |-"),
            ("capture -- ls", "capture: command |ls"),
            ("explain -- -", "explain: code |-"),
            ("run greet -", "run: option |-"),
            ("nonsense show 0", ": nothing |0"),
        ];
        for (line, expected) in cases {
            assert_eq!(at(line), expected, "{line:?}");
        }
    }
}
