//! The result of a run, made from its Log.

use skillrun_log::{FileLog, LogError, Seq};
use skillrun_model::RunId;
use skillrun_model::rasp::Event;

use super::{ResultFold, RunResult};
use crate::blobs;
use crate::data_folder::RunFolder;
use crate::events::read_lines;

/// The result of a run with these events at the end of its Log; none where it is not over then.
pub fn result_with(
    log: &FileLog,
    run: RunId,
    folder: &RunFolder,
    batch: &[Event],
) -> Result<Option<RunResult>, LogError> {
    let mut fold = ResultFold::default();
    read_lines(log, run, |line, event| {
        fold.linked(&event, line.prev());
        Ok::<(), LogError>(())
    })?;
    for (event, at) in batch.iter().zip(0..) {
        let is_end = event.data.end().is_some();
        // Only the writer has a previous hash, and only the writer has events that are still to be appended.
        let prev = match (is_end, batch.first()) {
            (true, Some(first)) => log.hash_after(run, Seq(first.seq), &batch[..at]).ok(),
            (true, None) | (false, _) => None,
        };
        fold.linked(event, prev);
    }
    if let Some((attempt, _)) = fold.missing_output()
        && let Some(output) = blobs::read_output(folder, attempt)
    {
        fold.large_output(output);
    }
    Ok(fold.finish(run))
}
