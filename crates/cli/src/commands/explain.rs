//! `skillrun explain`: what a code means and what to do about it.

use std::io::{self, Write};

use skillrun_model::Code;

use crate::failure::Failure;

pub(crate) fn run(code: Option<&str>) -> Result<(), Failure> {
    let text = match code {
        Some(name) => page(name)?.to_owned(),
        None => Code::ALL.iter().map(|code| format!("{code}\n    {}\n", code.summary())).collect(),
    };
    io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::Write { path: "stdout".to_owned(), error })
}

fn page(name: &str) -> Result<&'static str, Failure> {
    name.parse::<Code>().map(Code::page).map_err(|error| {
        let wanted = name.to_ascii_uppercase();
        let similar: Vec<&str> = Code::ALL
            .iter()
            .map(|code| code.as_str())
            .filter(|code| wanted.split('_').any(|word| word.len() > 3 && code.contains(word)))
            .collect();
        let hint = if similar.is_empty() {
            "\"skillrun explain\" lists all".to_owned()
        } else {
            format!("did you mean {}?", similar.join(", "))
        };
        Failure::Input(format!("{error}; {hint}"))
    })
}
