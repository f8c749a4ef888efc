//! Views that are written when a run is over: `fcmp.jsonl` and `parser_diagnostics.jsonl`, and `result.json` where the disk
//! was too full for it before. They can be made from the Log at any time, so a failure to write them loses nothing; what
//! is lacking is written later. Whoever writes them has the run. The cache learns of the run at the same time.

use std::fs::File;
use std::io;
use std::path::Path;

use skillrun_log::FileLog;
use skillrun_model::rasp::data::Category;
use skillrun_model::wire::LineWriter;
use skillrun_model::{RunId, RunStatus};
use skillrun_translate::FcmpTranslator;

use crate::cache::{self, CacheKey};
use crate::data_folder::RunFolder;
use crate::error::RuntimeError;
use crate::record::RunRecord;
use crate::result;
use crate::run::{Tools, read_all, result_with};

pub(crate) fn write(tools: &Tools, run: RunId) {
    let folder = tools.data.run(run);
    if is_lacking(&folder.result())
        && let Ok(Some(result)) = result_with(&tools.log, run, &folder, &[])
    {
        result::write(&folder, &result).ok();
    }
    // Written once, and never again by another version.
    if is_lacking(&folder.fcmp()) || !folder.diagnostics().exists() {
        make(&tools.log, run, &folder.fcmp(), &folder.diagnostics()).ok();
    }
    // A hint; whoever uses it looks at the run again.
    let has_succeeded =
        result::read(&folder).is_ok_and(|result| result.is_some_and(|r| r.status == RunStatus::Succeeded));
    if has_succeeded
        && let Ok(record) = RunRecord::read(&folder.record())
        && let Ok(Some(key)) = CacheKey::of(&record, &folder.inputs())
    {
        cache::remember(&tools.data, &key, run).ok();
    }
}

/// Whether nothing of it is lacking.
pub(crate) fn are_there(folder: &RunFolder) -> bool {
    !is_lacking(&folder.result()) && !is_lacking(&folder.fcmp()) && folder.diagnostics().exists()
}

/// After a power failure a file may have its name and nothing in it.
fn is_lacking(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |file| file.len() == 0)
}

/// Removes them, because the Log they were made from has changed. They are made again when the run is over again, and
/// whoever wants them meanwhile makes them from the Log.
pub fn forget(folder: &RunFolder) -> io::Result<()> {
    for path in [folder.fcmp(), folder.diagnostics()] {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn make(log: &FileLog, run: RunId, fcmp: &Path, diagnostics: &Path) -> Result<(), RuntimeError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| RuntimeError::File { path, doing: "written", error }
    };
    let beside = |path: &Path| path.with_extension("jsonl.tmp");
    let open = |path: &Path| -> Result<LineWriter, RuntimeError> {
        let file = File::create(beside(path)).map_err(failed(path))?;
        Ok(LineWriter::new(Box::new(file)))
    };
    let (mut conversation, mut problems) = (open(fcmp)?, open(diagnostics)?);
    let mut translator = FcmpTranslator::default();
    read_all(log, run, |event| {
        if event.event_type().category() == Category::Diagnostic {
            problems.rasp(&event).map_err(failed(diagnostics))?;
        }
        let mut written = Ok(());
        translator.push(event, &mut |event| {
            if written.is_ok() {
                written = conversation.fcmp(&event);
            }
        });
        written.map_err(failed(fcmp))
    })?;
    conversation.flush().map_err(failed(fcmp))?;
    problems.flush().map_err(failed(diagnostics))?;
    for path in [diagnostics, fcmp] {
        std::fs::rename(beside(path), path).map_err(failed(path))?;
    }
    Ok(())
}
