//! One file per command.

mod explain;
mod normalize;
mod schema;

use crate::args::{Args, Command};
use crate::failure::Failure;

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::Normalize(args) => normalize::run(&args),
        Command::Schema { protocol } => schema::run(protocol),
        Command::Explain { code } => explain::run(code.as_deref()),
    }
}
