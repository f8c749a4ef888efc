//! `meta.N.json`: a view of the host's record and of the verdict.

use std::fs;
use std::io;

use serde_json::{Map, Value};
use skillrun_evidence::{HostRecord, names};
use skillrun_model::AttemptNumber;
use skillrun_model::rasp::data::AttemptEnded;
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::retention::is_evidence_removed;
use skillrun_runs::settled_meta;

use super::{VerifyOutcome, difference};

/// Compares what can be derived. `parse` is what the reader of this version counted; none where another version read
/// it.
pub(super) fn check(
    folder: &RunFolder,
    number: AttemptNumber,
    parse: Option<Value>,
    ended: &AttemptEnded,
    session_id: Option<&str>,
) -> VerifyOutcome {
    let (audit, name) = (folder.audit(), names::meta(number));
    if is_evidence_removed(&audit) {
        return VerifyOutcome::not_comparable("the evidence was removed to save space");
    }
    let found: Map<String, Value> = match fs::read(audit.join(&name)) {
        Ok(text) => match serde_json::from_slice(&text) {
            Ok(found) => found,
            Err(error) => return VerifyOutcome::different(format!("{name} is not a JSON object ({error})")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return VerifyOutcome::not_comparable(
                "there is none: the host was lost, or its owner died before it was written",
            );
        }
        Err(error) => return VerifyOutcome::lost(format!("{name} cannot be read ({error})")),
    };
    let host = match HostRecord::read(&audit, number).map(|record| record.map(serde_json::to_value)) {
        Ok(Some(Ok(Value::Object(host)))) => host,
        // Reported by the check of the files.
        Ok(Some(Ok(_) | Err(_)) | None) | Err(_) => Map::new(),
    };
    // The host writes its part first; where that failed, its owner adds the verdict to an empty file.
    if !host.is_empty() && host.keys().all(|key| !found.contains_key(key)) {
        return VerifyOutcome::not_comparable("the host could not write its part of it");
    }
    let settled = settled_meta::fields(parse, &ended.verdict, session_id);
    // Its owner died after the turn record and before this view: then it is as the host left it.
    let is_settled = found.get("completion").is_some_and(|completion| !completion.is_null());
    let expected = host.into_iter().chain(if is_settled { settled } else { Map::new() });
    for (key, expected) in expected {
        let found = found.get(&key).unwrap_or(&Value::Null);
        if let Some(inside) = difference::first_field(found, &expected) {
            let dot = if inside.is_empty() { "" } else { "." };
            return VerifyOutcome::different(format!(
                "{name} differs from the host and the Log: in {key}{dot}{inside}"
            ));
        }
    }
    if is_settled {
        VerifyOutcome::Same
    } else {
        VerifyOutcome::not_comparable("its owner died before the verdict was written to it")
    }
}
