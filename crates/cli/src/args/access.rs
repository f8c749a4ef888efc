//! Arguments of `skillrun token` and `skillrun open`: who may use the service.

use clap::Subcommand;
use skillrun_auth::{Scope, TokenName};

use super::Json;
use super::parsers::{count, named};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = HELP)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) command: Option<TokenCommand>,
    /// Form of the list that is printed if no subcommand is given.
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it (it cannot be printed again)
    Create {
        /// Name of the token: lowercase letters, digits and hyphens
        name: TokenName,
        /// What the token allows; each scope includes the ones before it
        #[arg(long, default_value = "run", value_parser = named(Scope::ALL, Scope::as_str))]
        scope: Scope,
        /// Days until the token expires, 1 to 36500 [default: never]
        #[arg(long, value_name = "N", value_parser = days)]
        days: Option<u32>,
        #[command(flatten)]
        json: Json,
    },
    /// List tokens (names and scopes only; the secrets are not stored)
    List {
        #[command(flatten)]
        json: Json,
    },
    /// Revoke a token; a running server refuses it at once
    Revoke {
        /// Name of the token
        name: TokenName,
        #[command(flatten)]
        json: Json,
    },
}

/// A hundred years, which is as good as no expiry.
const DAYS_MAX: u32 = 36_500;

fn days(text: &str) -> Result<u32, &'static str> {
    count(text).ok().filter(|days| *days <= DAYS_MAX).ok_or("not a whole number of days from 1 to 36500")
}

const HELP: &str = "\
A program sends its token in the header `Authorization: Bearer TOKEN`.
read allows reading everything; run also allows starting, answering,
interrupting, closing, canceling and retrying runs; admin also allows installing
and removing skills, removing runs, and starting runs that name paths, pass
variables, use the home folder of the user or have the permission full. The
server's own token, in server.token in the data folder, has the scope admin and
is not listed.";
