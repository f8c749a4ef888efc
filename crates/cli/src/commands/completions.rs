//! `skillrun completions`: what a shell needs to complete our commands.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::args::Args;
use crate::failure::Failure;
use crate::output::print;

const NAME: &str = "skillrun";

pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    // Into memory first: the generator takes a reader that went away for a fault of ours.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(), NAME, &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Without the commands that people do not type, which some generators would offer.
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
