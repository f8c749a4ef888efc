//! `meta.N.json` with the verdict in it, for whoever reads the folder without the Log.

use std::fs;
use std::io;

use serde_json::{Map, Value, json};
use skillrun_evidence::{names, whole_file};
use skillrun_model::AttemptNumber;
use skillrun_model::verdict::Verdict;

use crate::attempt::reading::Read;
use crate::data_folder::RunFolder;

pub(super) fn write(
    folder: &RunFolder,
    attempt: AttemptNumber,
    read: &Read,
    verdict: &Verdict,
    session_id: Option<&str>,
) -> io::Result<()> {
    let path = folder.audit().join(names::meta(attempt));
    let mut meta: Map<String, Value> = match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(error),
    };
    let parse = &read.facts.parse;
    meta.insert(
        "parse".to_owned(),
        json!({
            "matched": parse.matched,
            "inferred": parse.inferred,
            "raw": parse.raw,
            "unknown": parse.unknown,
            "unknown_types": parse.unknown_types,
            "confidence": parse.confidence,
        }),
    );
    meta.insert(
        "completion".to_owned(),
        json!({
            "state": verdict.completion,
            "reason_code": verdict.reason_code,
            "warnings": verdict.warnings,
            "error": verdict.error,
        }),
    );
    meta.insert("turn_state".to_owned(), json!(verdict.turn));
    meta.insert("session_id".to_owned(), json!(session_id));
    let mut text = serde_json::to_vec_pretty(&meta)?;
    text.push(b'\n');
    whole_file::replace_view(&path, &text)
}
