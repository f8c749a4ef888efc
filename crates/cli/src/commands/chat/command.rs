//! What a line at the prompt of `skillrun chat` means. Pure.

use skillrun_base::suggest;

/// A line, as it is understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatLine {
    Nothing,
    /// A text for the engine.
    Prompt(String),
    Help,
    /// Leaves the conversation at rest.
    Quit,
    /// Ends the conversation.
    Close,
    /// Begins the next conversation on this engine; none: shows which engine it is.
    Engine(Option<String>),
    /// Not a command. The text says so.
    Unknown(String),
}

pub(super) const HELP: &str = "\
/engine NAME  begin the next conversation on another engine
/close        close the conversation and leave
/quit         leave; the conversation can be continued later (also Ctrl-D)
/help         show this list
Enter sends a prompt. A line that ends in \\ continues on the next line, and
pasted text may have several lines. Esc or Ctrl-C interrupts the running turn.
A prompt that begins with / is sent with a second / before it.
";

const COMMANDS: [&str; 4] = ["engine", "close", "quit", "help"];

pub(super) fn read(line: &str) -> ChatLine {
    let trimmed = line.trim();
    if trimmed.is_empty() {
        return ChatLine::Nothing;
    }
    let Some(command) = trimmed.strip_prefix('/') else { return ChatLine::Prompt(line.to_owned()) };
    if command.starts_with('/') {
        return ChatLine::Prompt(command.to_owned());
    }
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = rest.trim();
    match (name, rest.is_empty()) {
        ("help", true) => ChatLine::Help,
        ("quit" | "exit", true) => ChatLine::Quit,
        ("close", true) => ChatLine::Close,
        ("engine", _) => ChatLine::Engine((!rest.is_empty()).then(|| rest.to_owned())),
        ("help" | "quit" | "exit" | "close", false) => {
            ChatLine::Unknown(format!("/{name} takes no argument; begin a prompt with // to send it as text"))
        }
        (other, _) => {
            let meant = suggest::closest(other, COMMANDS).map(|near| format!("; did you mean /{near}?"));
            let help = || "; /help lists the commands, and a prompt may begin with //".to_owned();
            ChatLine::Unknown(format!("there is no command /{other}{}", meant.unwrap_or_else(help)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands_or_prompts() {
        let prompt = |text: &str| ChatLine::Prompt(text.to_owned());
        let cases = [
            ("", ChatLine::Nothing),
            (" \t", ChatLine::Nothing),
            (" Why? ", prompt(" Why? ")),
            ("a\n/quit", prompt("a\n/quit")),
            ("//etc/hosts, what is it?", prompt("/etc/hosts, what is it?")),
            ("/help", ChatLine::Help),
            (" /quit ", ChatLine::Quit),
            ("/exit", ChatLine::Quit),
            ("/close", ChatLine::Close),
            ("/engine", ChatLine::Engine(None)),
            ("/engine  claude ", ChatLine::Engine(Some("claude".to_owned()))),
        ];
        for (line, meant) in cases {
            assert_eq!(read(line), meant, "{line:?}");
        }
    }

    #[test]
    fn other_commands_are_not_sent_to_the_engine() {
        let unknown = |line: &str| {
            let ChatLine::Unknown(text) = read(line) else { panic!("{line} is not unknown") };
            text
        };
        assert_eq!(unknown("/clos"), "there is no command /clos; did you mean /close?");
        let none = "there is no command /etc/hosts; /help lists the commands, and a prompt may begin with //";
        assert_eq!(unknown("/etc/hosts what is it?"), none);
        assert_eq!(unknown("/close now"), "/close takes no argument; begin a prompt with // to send it as text");
    }
}
