//! Arguments of `skillrun token` and `skillrun open`: who may use the service.

use clap::Subcommand;
use skillrun_server::auth::{Scope, TokenName};

use super::Json;
use super::parsers::{count, named};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = HELP)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) command: Option<TokenCommand>,
    /// Of the list that is printed where no command is given.
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it, this one time
    Create {
        /// A name for it: lowercase letters, digits and hyphens
        name: TokenName,
        /// How far it goes; each scope includes those before it
        #[arg(long, default_value = "run", value_parser = named(Scope::ALL, Scope::as_str))]
        scope: Scope,
        /// Days until it expires [default: it does not]
        #[arg(long, value_name = "N", value_parser = days)]
        days: Option<u32>,
        #[command(flatten)]
        json: Json,
    },
    /// List all tokens; what they are nobody knows any more
    List {
        #[command(flatten)]
        json: Json,
    },
    /// End a token; a running server refuses it at once
    Revoke {
        /// Its name
        name: TokenName,
        #[command(flatten)]
        json: Json,
    },
}

/// A hundred years, which is as good as no end.
const DAYS_MAX: u32 = 36_500;

fn days(text: &str) -> Result<u32, &'static str> {
    count(text).ok().filter(|days| *days <= DAYS_MAX).ok_or("not a whole number of days from 1 to 36500")
}

const HELP: &str = "\
A program sends its token in the header `Authorization: Bearer TOKEN`.
read looks at everything; run also starts, answers and cancels runs; admin also
installs and removes skills. The server's own token, in server.token in the data
folder, is an admin's and is not in this list.";
