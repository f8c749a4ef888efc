//! `meta.N.json` with the verdict in it, for readers of the folder without the Log.

use std::fs;
use std::io;

use serde_json::{Map, Value, json};
use skillrun_base::whole_file::{self, SyncLevel};
use skillrun_evidence::names;
use skillrun_model::AttemptNumber;
use skillrun_model::verdict::Verdict;
use skillrun_translate::Facts;

use crate::data_folder::RunFolder;

/// Adds what was settled to the file, which the host began.
pub fn write(
    folder: &RunFolder,
    attempt: AttemptNumber,
    facts: &Facts,
    verdict: &Verdict,
    session_id: Option<&str>,
) -> io::Result<()> {
    let path = folder.audit().join(names::meta(attempt));
    let mut meta: Map<String, Value> = match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(error),
    };
    meta.extend(fields(Some(parsed(facts)), verdict, session_id));
    let mut text = serde_json::to_vec_pretty(&meta)?;
    text.push(b'\n');
    whole_file::replace_with(&path, &text, SyncLevel::Nothing)
}

/// What the parser counted.
pub fn parsed(facts: &Facts) -> Value {
    let parse = &facts.parse;
    json!({
        "matched": parse.matched,
        "inferred": parse.inferred,
        "raw": parse.raw,
        "unknown": parse.unknown,
        "unknown_types": parse.unknown_types,
        "confidence": parse.confidence,
    })
}

/// What is added when the attempt is settled.
pub fn fields(parse: Option<Value>, verdict: &Verdict, session_id: Option<&str>) -> Map<String, Value> {
    let completion = json!({
        "state": verdict.completion,
        "reason_code": verdict.reason_code,
        "warnings": verdict.warnings,
        "error": verdict.error,
    });
    let parse = parse.map(|parse| ("parse".to_owned(), parse));
    let settled = [
        ("completion".to_owned(), completion),
        ("turn_state".to_owned(), json!(verdict.turn)),
        ("session_id".to_owned(), json!(session_id)),
    ];
    parse.into_iter().chain(settled).collect()
}
