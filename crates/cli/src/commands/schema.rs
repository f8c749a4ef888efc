//! `skillrun schema`: the JSON Schema of an event protocol, the OpenAPI document, the JSON Schema of workflow files, the
//! texts of states and codes, or the page about how states are shown.

mod words;

use std::io::{self, Write};

use crate::args::Published;
use crate::failure::Failure;

pub(crate) fn run(published: Published) -> Result<(), Failure> {
    let document = match published {
        Published::Rasp => skillrun_model::rasp::schema::schema(),
        Published::Fcmp => skillrun_model::fcmp::schema::schema(),
        Published::Openapi => skillrun_server::openapi::document(),
        Published::Workflow => skillrun_skill::workflow::schema::schema(),
        Published::Words => words::table(),
        Published::Presenters => return print(&skillrun_model::presenters::page()),
    };
    print(&format!("{document:#}\n"))
}

fn print(text: &str) -> Result<(), Failure> {
    io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::Write { path: "stdout".to_owned(), error })
}
