//! `skillrun explain`: what a code means and what to do about it.

use serde_json::json;
use skillrun_model::Code;

use crate::args::OutputForm;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// Most codes that are suggested for a code that does not exist.
const SIMILAR_MAX: usize = 3;

/// Shorter words, such as NOT, say little.
const WORD_MIN: usize = 4;

pub(crate) fn run(code: Option<&str>, form: OutputForm) -> Result<(), Failure> {
    match (code, form) {
        (Some(name), OutputForm::Text) => print(find(name)?.page()),
        (Some(name), OutputForm::Json) => {
            let code = find(name)?;
            print_json(&json!({ "code": code, "summary": code.summary(), "page": code.page() }))
        }
        (None, OutputForm::Text) => {
            print(&Code::ALL.iter().map(|code| format!("{code}\n    {}\n", code.summary())).collect::<String>())
        }
        (None, OutputForm::Json) => {
            let codes = Code::ALL.iter().map(|code| json!({ "code": code, "summary": code.summary() }));
            print_json(&json!({ "codes": codes.collect::<Vec<_>>() }))
        }
    }
}

fn find(name: &str) -> Result<Code, Failure> {
    name.parse::<Code>().map_err(|error| {
        let similar = similar(name);
        let hint = if similar.is_empty() {
            "`skillrun explain` lists all".to_owned()
        } else {
            format!("did you mean {}?", similar.join(" or "))
        };
        Failure::Input(format!("{error}; {hint}"))
    })
}

/// Codes that contain the name or differ from it by few letters, else those that share a word with it; the nearest
/// first.
fn similar(name: &str) -> Vec<&'static str> {
    let wanted = name.to_ascii_uppercase().replace(['-', ' '], "_");
    let near = near(&wanted);
    if near.is_empty() { sharing_words(&wanted) } else { near }
}

/// Codes that have the most words of the name.
fn sharing_words(wanted: &str) -> Vec<&'static str> {
    let words: Vec<&str> = wanted.split('_').filter(|word| word.len() >= WORD_MIN).collect();
    let shared = |code: &str| code.split('_').filter(|word| words.contains(word)).count();
    let most = Code::ALL.iter().map(|code| shared(code.as_str())).max().unwrap_or(0);
    let mut codes: Vec<(usize, &'static str)> = Code::ALL
        .iter()
        .map(|code| code.as_str())
        .filter(|code| most > 0 && shared(code) == most)
        .map(|code| (strsim::osa_distance(wanted, code), code))
        .collect();
    codes.sort_unstable();
    codes.into_iter().take(SIMILAR_MAX).map(|(_, code)| code).collect()
}

fn near(wanted: &str) -> Vec<&'static str> {
    let mut near: Vec<(usize, &'static str)> = Code::ALL
        .iter()
        .map(|code| code.as_str())
        .filter_map(|code| {
            let distance = strsim::osa_distance(wanted, code);
            let has_it = wanted.len() > 2 && code.contains(wanted);
            (has_it || distance <= wanted.len() / 3).then_some((distance, code))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(SIMILAR_MAX).map(|(_, code)| code).collect()
}
