//! `skillrun completions`: completion scripts for shells.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::Args;
use crate::failure::Failure;
use crate::output::print;

const NAME: &str = "skillrun";

pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    // Into memory first: the generator panics if the reader of the output has gone away.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(), NAME, &mut script);
    print(&String::from_utf8_lossy(&script))
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
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut visible(), NAME, &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("normalize"), "{shell}");
            for hidden in ["attempt-host", "simulate-"] {
                assert!(!script.contains(hidden), "{shell} offers {hidden}");
            }
        }
    }
}
