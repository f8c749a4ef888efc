//! `skillrun schema`: the JSON Schema of an event protocol, the OpenAPI document, or the texts of states and codes.

mod words;

use std::io::{self, Write};

use crate::args::Published;
use crate::failure::Failure;

pub(crate) fn run(published: Published) -> Result<(), Failure> {
    let document = match published {
        Published::Rasp => skillrun_model::rasp::schema::schema(),
        Published::Fcmp => skillrun_model::fcmp::schema::schema(),
        Published::Openapi => skillrun_server::openapi::document(),
        Published::Words => words::table(),
    };
    writeln!(io::stdout(), "{document:#}").map_err(|error| Failure::Write { path: "stdout".to_owned(), error })
}
