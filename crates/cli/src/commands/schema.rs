//! `skillrun schema`: the JSON Schema of an event protocol, or OpenAPI of the service.

use std::io::{self, Write};

use crate::args::Protocol;
use crate::failure::Failure;

pub(crate) fn run(protocol: Protocol) -> Result<(), Failure> {
    let schema = match protocol {
        Protocol::Rasp => skillrun_model::rasp::schema::schema(),
        Protocol::Fcmp => skillrun_model::fcmp::schema::schema(),
        Protocol::Openapi => skillrun_server::openapi::document(),
    };
    writeln!(io::stdout(), "{schema:#}").map_err(|error| Failure::Write { path: "stdout".to_owned(), error })
}
