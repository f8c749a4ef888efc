//! `skillrun explain`: what a code means and what to do about it.

use std::io::{self, Write};

use skillrun_model::Code;

use crate::failure::Failure;

/// Most codes that are suggested for a code that does not exist.
const SIMILAR_MAX: usize = 3;

pub(crate) fn run(code: Option<&str>) -> Result<(), Failure> {
    let text = match code {
        Some(name) => page(name)?.to_owned(),
        None => Code::ALL.iter().map(|code| format!("{code}\n    {}\n", code.summary())).collect(),
    };
    io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::Write { path: "stdout".to_owned(), error })
}

fn page(name: &str) -> Result<&'static str, Failure> {
    name.parse::<Code>().map(Code::page).map_err(|error| {
        let similar = similar(name);
        let hint = if similar.is_empty() {
            "`skillrun explain` lists all".to_owned()
        } else {
            format!("did you mean {}?", similar.join(" or "))
        };
        Failure::Input(format!("{error}; {hint}"))
    })
}

/// Codes that contain the name, else those that differ from it by few letters; the nearest first.
fn similar(name: &str) -> Vec<&'static str> {
    let wanted = name.to_ascii_uppercase().replace(['-', ' '], "_");
    let mut near: Vec<(usize, &'static str)> = Code::ALL
        .iter()
        .map(|code| code.as_str())
        .filter_map(|code| {
            let distance = strsim::osa_distance(&wanted, code);
            let has_it = wanted.len() > 2 && code.contains(&wanted);
            (has_it || distance <= wanted.len() / 3).then_some((distance, code))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(SIMILAR_MAX).map(|(_, code)| code).collect()
}
