//! Files that were derived from the Log.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use skillrun_model::cost::SESSION_COST;
use skillrun_runs::blobs;
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::record::RunRecord;
use skillrun_runs::result::{self, ResultFold, RunResult};

use super::{VerifyOutcome, difference};

/// A file of lines, compared with the expected lines, one by one as they are derived.
#[derive(Debug)]
pub(super) struct LineFile {
    name: String,
    state: State,
    line: u64,
    /// Where that line begins.
    offset: u64,
}

#[derive(Debug)]
enum State {
    Reading(BufReader<File>),
    Missing,
    /// It ends before a line that the Log gives.
    Ended,
    Settled(VerifyOutcome),
}

/// How much of the run is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    Over,
    NotOver,
    /// The Log cannot be read to its end.
    Unknown(String),
}

impl LineFile {
    pub(super) fn open(path: &PathBuf) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let state = match File::open(path) {
            Ok(file) => State::Reading(BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => State::Missing,
            Err(error) => State::Settled(VerifyOutcome::lost(format!("{name} cannot be read ({error})"))),
        };
        Self { name, state, line: 1, offset: 0 }
    }

    /// The next line, without its end.
    pub(super) fn expect(&mut self, expected: &str) {
        let State::Reading(file) = &mut self.state else { return };
        let length = expected.len() as u64 + 1;
        let mut found = Vec::new();
        // No more than expected, however long the line is.
        if let Err(error) = file.by_ref().take(length).read_to_end(&mut found) {
            self.state = State::Settled(VerifyOutcome::lost(format!("{} cannot be read ({error})", self.name)));
            return;
        }
        if found.is_empty() {
            self.state = State::Ended;
        } else if found.strip_suffix(b"\n") != Some(expected.as_bytes()) {
            let byte = self.offset + difference::first_byte(&found, expected.as_bytes()) as u64;
            let words = format!("{} differs from the Log: line {}, at byte {byte}", self.name, self.line);
            self.state = State::Settled(VerifyOutcome::different(words));
        } else {
            self.line += 1;
            self.offset += length;
        }
    }

    pub(super) fn finish(self, extent: &Extent) -> VerifyOutcome {
        let Self { name, state, line, offset } = self;
        let is_over = match extent {
            Extent::Over => true,
            Extent::NotOver => false,
            Extent::Unknown(why) => return VerifyOutcome::not_comparable(why.clone()),
        };
        match state {
            State::Settled(outcome) => outcome,
            State::Missing if is_over => VerifyOutcome::lost(format!("{name} is missing")),
            State::Missing => VerifyOutcome::not_yet(format!("{name} is written when the run waits or is over")),
            State::Ended if is_over => {
                VerifyOutcome::different(format!("{name} ends at byte {offset}, before line {line} of the Log's view"))
            }
            State::Ended => VerifyOutcome::Same,
            State::Reading(mut file) => match file.read(&mut [0]) {
                Ok(0) => VerifyOutcome::Same,
                Ok(_) => {
                    VerifyOutcome::different(format!("{name} continues at byte {offset}, where the Log has no more"))
                }
                Err(error) => VerifyOutcome::lost(format!("{name} cannot be read ({error})")),
            },
        }
    }
}

/// `result.json` against the fold over the Log.
pub(super) fn check_result(
    folder: &RunFolder,
    record: &RunRecord,
    mut fold: ResultFold,
    extent: &Extent,
) -> VerifyOutcome {
    if let Extent::Unknown(why) = extent {
        return VerifyOutcome::not_comparable(why.clone());
    }
    if let Some((attempt, _)) = fold.missing_output()
        && let Some(output) = blobs::read_output(folder, attempt)
    {
        fold.large_output(output);
    }
    let found = match read_whole(folder) {
        Ok(found) => found,
        Err(error) => return VerifyOutcome::lost(format!("result.json cannot be read ({error})")),
    };
    let result = fold.finish(record.run_id);
    let expected = result.as_ref().map(result::text);
    match (found, expected) {
        (None, Some(_)) => VerifyOutcome::lost("result.json is missing"),
        (None, None) => VerifyOutcome::not_yet("result.json is written when the run is over"),
        (Some(_), None) => VerifyOutcome::not_comparable("the run is not over"),
        (Some(found), Some(Ok(expected))) if found == expected => VerifyOutcome::Same,
        (Some(found), Some(Ok(_))) if result.is_some_and(|result| has_added_costs(&found, result)) => {
            VerifyOutcome::not_comparable("an earlier version added the costs of the turns, which are totals already")
        }
        (Some(found), Some(Ok(expected))) => {
            let place = difference::of_json(&found, &expected);
            VerifyOutcome::different(format!("result.json differs from the Log: {place}"))
        }
        (Some(_), Some(Err(error))) => VerifyOutcome::not_comparable(format!("it cannot be derived again ({error})")),
    }
}

/// Whether a result differs from the expected one only in a larger cost of several attempts.
fn has_added_costs(found: &[u8], mut expected: RunResult) -> bool {
    let Ok(found) = serde_json::from_slice::<RunResult>(found) else { return false };
    let (Some(cost), Some(usage)) = (found.cost_usd(), &mut expected.usage) else { return false };
    let is_larger = usage.session_cost_usd().is_some_and(|expected| cost > expected);
    if let Some(figure) = found.usage.as_ref().and_then(|usage| usage.reported.get(SESSION_COST)) {
        usage.reported.insert(SESSION_COST.to_owned(), figure.clone());
    }
    is_larger && found.attempts > 1 && found == expected
}

/// A file that is longer than any result is read only as far as needed to see that it differs.
fn read_whole(folder: &RunFolder) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(folder.result()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(result::MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(attempts: u32, cost: f64, text: &str) -> Value {
        let at = "2026-01-01T00:00:00.000000Z";
        json!({
            "run_id": "019b0000-0000-7000-8000-000000000000",
            "status": "succeeded",
            "output": null,
            "text": text,
            "warnings": [],
            "artifacts": [],
            "usage": {"input_tokens": 200, "output_tokens": 40, "cached_input_tokens": 0, "reasoning_tokens": null,
                "reported": {"total_cost_usd": cost}},
            "completion": null,
            "timing": {"created_at": at, "started_at": null, "ended_at": at, "elapsed_ms": 0},
            "attempts": attempts,
            "next_actions": [],
        })
    }

    #[test]
    fn only_costs_that_were_added_are_excused() {
        let excused = |found: &Value, expected: &Value| {
            let expected = serde_json::from_value(expected.clone()).expect("a result");
            has_added_costs(&serde_json::to_vec(found).expect("JSON"), expected)
        };
        assert!(excused(&result(2, 0.0018, "a"), &result(2, 0.0012, "a")));
        assert!(!excused(&result(2, 0.0006, "a"), &result(2, 0.0012, "a")), "a sum is larger");
        assert!(!excused(&result(1, 0.0018, "a"), &result(1, 0.0012, "a")), "nothing was added");
        assert!(!excused(&result(2, 0.0018, "b"), &result(2, 0.0012, "a")), "another text");
        assert!(!has_added_costs(b"{", serde_json::from_value(result(2, 1.0, "a")).expect("a result")));
    }
}
