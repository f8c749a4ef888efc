//! `skillrun completions`: completion scripts for shells.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::Args;
use crate::failure::Failure;
use crate::output::print;

const NAME: &str = "skillrun";

pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    print(&script(shell))
}

/// The scripts of three shells ask `skillrun complete`, which also knows runs, skills and so on. The generated scripts
/// of the others know only commands, options and fixed values.
fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => include_str!("completions/skillrun.bash").to_owned(),
        Shell::Zsh => include_str!("completions/skillrun.zsh").to_owned(),
        Shell::Fish => include_str!("completions/skillrun.fish").to_owned(),
        Shell::Elvish | Shell::PowerShell | _ => {
            // Into memory first: the generator panics if the reader of the output has gone away.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut visible(), NAME, &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    }
}

/// Without the hidden commands, which some generators would offer.
fn visible() -> Command {
    let all = Args::command();
    let commands = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::new(NAME).version(env!("CARGO_PKG_VERSION")).args(all.get_arguments().cloned()).subcommands(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_commands_are_not_offered() {
        for shell in [Shell::Elvish, Shell::PowerShell] {
            let script = script(shell);
            assert!(script.contains("normalize"), "{shell}");
            for hidden in ["attempt-host", "simulate-", "What completion scripts call"] {
                assert!(!script.contains(hidden), "{shell} offers {hidden}");
            }
        }
    }
}
