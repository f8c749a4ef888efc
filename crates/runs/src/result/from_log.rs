//! The result of a run, made from its Log.

use skillrun_log::{FileLog, LogError};
use skillrun_model::RunId;

use super::{ResultFold, RunResult};
use crate::blobs;
use crate::data_folder::RunFolder;
use crate::events::read_lines;

/// The result of a run, read from its Log; none where it is not over.
pub fn result_of(log: &FileLog, run: RunId, folder: &RunFolder) -> Result<Option<RunResult>, LogError> {
    let mut fold = ResultFold::default();
    read_lines(log, run, |line, event| {
        fold.linked(&event, line.prev());
        Ok::<(), LogError>(())
    })?;
    Ok(finished_result(fold, run, folder))
}

/// The result of a fold over the whole Log, with an output that is in a file of its own; none where it is not over.
pub fn finished_result(mut fold: ResultFold, run: RunId, folder: &RunFolder) -> Option<RunResult> {
    if let Some((attempt, _)) = fold.missing_output()
        && let Some(output) = blobs::read_output(folder, attempt)
    {
        fold.large_output(output);
    }
    fold.finish(run)
}
