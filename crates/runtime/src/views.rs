//! Views that are written beside the Log: `fcmp.jsonl` and `parser_diagnostics.jsonl` whenever a run begins to wait and
//! when it is over, and `result.json` where the disk was too full for it at the end. They can be made from the Log at
//! any time, so a failure to write them loses nothing; missing views are written later. The process that writes them
//! owns the run. A run that is over is entered into the cache at the same time. The owner of a new run translates each
//! batch while it is in memory, into files that get their names when the run waits or is over.
//!
//! The two files of lines are only ever appended to: a line that was delivered once never changes, whichever version of
//! the program appends the next. `tail` finds out how far a file goes. The conversation is as large as the Log; of a
//! Log that is larger than `CONVERSATION_LOG_MAX` it is not stored, and readers translate it when they need it.

mod tail;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use skillrun_base::files;
use skillrun_log::{Cursor, Epoch, EventLog, FileLog, Limits, ReadEnd};
use skillrun_model::fcmp::FcmpEvent;
use skillrun_model::rasp::Event;
use skillrun_model::rasp::data::Category;
use skillrun_model::wire::LineWriter;
use skillrun_model::{IgnoredError, RunId, RunStatus};
use skillrun_runs::cache::{self, CacheKey};
use skillrun_runs::conversation::{ConversationItem, ConversationRead, ConversationReader};
use skillrun_runs::data_folder::{CONVERSATION_LOG_MAX, RunFolder};
use skillrun_runs::events::changed;
use skillrun_runs::record::{RunRecord, TRANSLATOR};
use skillrun_runs::result::{self, result_of};

use crate::error::RuntimeError;
use crate::run::Tools;
use tail::Tail;

/// For a run that is over: writes missing views.
pub(crate) fn write(tools: &Tools, run: RunId) {
    let folder = tools.data.run(run);
    if result::is_lacking(&folder)
        && let Ok(Some(result)) = result_of(&tools.log, run, &folder)
    {
        result::write(&folder, &result).ignored();
    }
    if !has_conversation(&folder) || !folder.diagnostics().exists() {
        add(&tools.log, run, &folder).ignored();
    }
    // A hint; a reader checks the run again.
    let has_succeeded =
        result::read(&folder).is_ok_and(|result| result.is_some_and(|r| r.status == RunStatus::Succeeded));
    if has_succeeded
        && let Ok(record) = RunRecord::read(&folder.record())
        && let Ok(Some(key)) = CacheKey::of(&record, &folder.inputs())
    {
        cache::remember(&tools.data, &key, run).ignored();
    }
}

/// Whether none of its views is missing.
pub(crate) fn are_there(folder: &RunFolder) -> bool {
    !result::is_lacking(folder) && has_conversation(folder) && folder.diagnostics().exists()
}

/// Whether the conversation is stored to its end, or is too large to be stored.
fn has_conversation(folder: &RunFolder) -> bool {
    is_whole(&folder.fcmp()) || !folder.stores_conversation()
}

/// For a run that waits: writes what its Log has and its views lack. If they cannot be written now, the run is not
/// affected; they are appended to when it continues.
pub(crate) fn write_waiting(tools: &Tools, run: RunId) {
    add(&tools.log, run, &tools.data.run(run)).ignored();
}

/// Whether the views of a waiting run are older than its Log, or missing. Copied files may look older without being so;
/// then there is nothing to append.
pub(crate) fn may_lag(folder: &RunFolder) -> bool {
    let changed = |path: PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
    let written = if folder.stores_conversation() {
        changed(folder.fcmp()).filter(|_| !is_lacking(&folder.fcmp()) && folder.diagnostics().exists())
    } else {
        changed(folder.diagnostics())
    };
    written.is_none_or(|written| changed(folder.events()).is_some_and(|log| log > written))
}

/// Whether a conversation is complete, so that it can be delivered instead of the Log.
pub fn is_whole(fcmp: &Path) -> bool {
    Tail::of_conversation(fcmp).is_ok_and(|tail| tail.is_end)
}

/// After a power failure a file may have its name and nothing in it.
fn is_lacking(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |file| file.len() == 0)
}

/// Removes them, because the Log they were made from has changed. They are made again when the run is over again, and
/// until then readers make them from the Log.
pub fn forget(folder: &RunFolder) -> io::Result<()> {
    for path in [folder.fcmp(), folder.diagnostics()] {
        files::remove_if_exists(&path)?;
    }
    Ok(())
}

/// Where a view continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GoesOn {
    /// The same translator made the existing lines: after this many of them.
    AfterLine(u64),
    /// Another translator did: after the last event that it has translated.
    AfterEvent(u64),
}

/// Appends to both files what the Log has and they lack.
fn add(log: &FileLog, run: RunId, folder: &RunFolder) -> Result<(), RuntimeError> {
    let made_by = RunRecord::read(&folder.record())?.translator;
    add_as(made_by, log, run, folder)
}

/// `made_by`: the translator of the existing lines.
fn add_as(made_by: u32, log: &FileLog, run: RunId, folder: &RunFolder) -> Result<(), RuntimeError> {
    ViewWriter::open(made_by, log, run, folder)?.finish(log)
}

/// Both files while lines are appended to them. Where they do not exist yet, the owner of a run opens this when the
/// first evidence arrives, and each batch goes into the files while it is in memory.
#[derive(Debug)]
pub(crate) struct ViewWriter {
    run: RunId,
    /// None when the Log is too large.
    conversation: Option<ConversationFile>,
    /// Where the conversation is stored.
    fcmp: PathBuf,
    diagnostics: DiagnosticsFile,
    /// How far the Log was read for the diagnostics alone.
    cursor: Cursor,
}

#[derive(Debug)]
struct ConversationFile {
    file: ViewFile,
    numbering: Numbering,
    reader: ConversationReader,
}

#[derive(Debug)]
struct DiagnosticsFile {
    file: ViewFile,
    /// The last event that is in the file already.
    noted: u64,
}

impl DiagnosticsFile {
    fn event(&mut self, event: &Event) -> Result<(), RuntimeError> {
        if event.event_type().category() == Category::Diagnostic && event.seq > self.noted {
            self.file.lines.rasp(event).map_err(failed(&self.file.path))?;
        }
        Ok(())
    }
}

impl ViewWriter {
    /// For a run whose files do not exist; none for others, whose files must not change before the run waits again.
    pub(crate) fn of_new(
        made_by: u32,
        log: &FileLog,
        run: RunId,
        folder: &RunFolder,
    ) -> Result<Option<Self>, RuntimeError> {
        let exists = [folder.fcmp(), folder.diagnostics()].iter().any(|path| path.exists());
        if exists { Ok(None) } else { Self::open(made_by, log, run, folder).map(Some) }
    }

    fn open(made_by: u32, log: &FileLog, run: RunId, folder: &RunFolder) -> Result<Self, RuntimeError> {
        let (fcmp, diagnostics) = (folder.fcmp(), folder.diagnostics());
        let head = log.head(run)?;
        let mut said = Tail::of_conversation(&fcmp).unwrap_or_default();
        let mut noted = Tail::of_events(&diagnostics).unwrap_or_default();
        // Lines of events that the Log has lost are invalid.
        if head.epoch != Epoch::FIRST || said.rasp_seq.max(noted.rasp_seq) >= head.next_seq.0 {
            (said, noted) = (Tail::default(), Tail::default());
        }
        let goes_on =
            if made_by == TRANSLATOR { GoesOn::AfterLine(said.seq) } else { GoesOn::AfterEvent(said.rasp_seq) };
        let conversation = if folder.stores_conversation() {
            Some(ConversationFile {
                file: ViewFile::open(&fcmp, said.bytes)?,
                numbering: Numbering { goes_on, lines: said.seq },
                reader: ConversationReader::default(),
            })
        } else {
            None
        };
        Ok(Self {
            run,
            conversation,
            fcmp,
            diagnostics: DiagnosticsFile { file: ViewFile::open(&diagnostics, noted.bytes)?, noted: noted.rasp_seq },
            cursor: Cursor::BEGINNING,
        })
    }

    /// Translates what the Log has by now.
    pub(crate) fn catch_up(&mut self, log: &FileLog) -> Result<(), RuntimeError> {
        let Self { run, conversation, diagnostics, cursor, .. } = self;
        while let Some(ConversationFile { file, numbering, reader }) = conversation {
            let read = reader.page(log, *run, |item| match item {
                ConversationItem::Event(event) => diagnostics.event(event),
                ConversationItem::Said(event) => match numbering.number(event) {
                    Some(event) => file.lines.fcmp(&event).map_err(failed(&file.path)),
                    None => Ok(()),
                },
            })?;
            match read {
                ConversationRead::Page { log_bytes, .. } if log_bytes > CONVERSATION_LOG_MAX => {
                    *cursor = reader.cursor();
                    *conversation = None;
                }
                ConversationRead::Page { .. } => {}
                ConversationRead::End => return Ok(()),
                ConversationRead::Reset => return Err(changed(*run).into()),
            }
        }
        let end = log.for_each(*run, *cursor, Limits::default(), |line| {
            diagnostics.event(&*line.event_ref()?)?;
            Ok::<_, RuntimeError>(ControlFlow::Continue(()))
        })?;
        match end {
            ReadEnd::At(end) => {
                *cursor = end;
                Ok(())
            }
            ReadEnd::Reset(_) => Err(changed(*run).into()),
        }
    }

    /// Both files get everything that the Log has, and their names.
    pub(crate) fn finish(mut self, log: &FileLog) -> Result<(), RuntimeError> {
        self.catch_up(log)?;
        // The conversation last: when it is complete, so is the other.
        self.diagnostics.file.finish()?;
        match self.conversation {
            Some(mut conversation) => conversation.file.finish(),
            // Its beginning may have been stored when the run waited.
            None => files::remove_if_exists(&self.fcmp).map_err(failed(&self.fcmp)),
        }
    }
}

/// Which events of a translation are not in the file yet, and the number of each.
#[derive(Debug)]
struct Numbering {
    goes_on: GoesOn,
    lines: u64,
}

impl Numbering {
    fn number(&mut self, event: FcmpEvent) -> Option<FcmpEvent> {
        let is_new = match self.goes_on {
            GoesOn::AfterLine(line) => event.seq > line,
            GoesOn::AfterEvent(rasp_seq) => event.meta.rasp_seq > rasp_seq,
        };
        is_new.then(|| {
            self.lines += 1;
            FcmpEvent { seq: self.lines, ..event }
        })
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RuntimeError {
    let path = path.to_owned();
    move |error| RuntimeError::File { path, doing: "written", error }
}

/// A file that lines are appended to. A new one gets its name when it is finished, and is removed if it is not.
#[derive(Debug)]
struct ViewFile {
    path: PathBuf,
    beside: Option<PathBuf>,
    lines: LineWriter,
}

impl ViewFile {
    /// The first `bytes` of the file stay.
    fn open(path: &Path, bytes: u64) -> Result<Self, RuntimeError> {
        let beside = (bytes == 0).then(|| path.with_extension("jsonl.tmp"));
        let opened = match &beside {
            Some(beside) => File::create(beside),
            None => OpenOptions::new().write(true).open(path).and_then(|mut file| {
                // The rest of a process that was interrupted in the middle of a line.
                file.set_len(bytes)?;
                file.seek(SeekFrom::End(0))?;
                Ok(file)
            }),
        };
        let lines = LineWriter::new(Box::new(opened.map_err(failed(path))?));
        Ok(Self { path: path.to_owned(), beside, lines })
    }

    fn finish(&mut self) -> Result<(), RuntimeError> {
        self.lines.flush().map_err(failed(&self.path))?;
        match self.beside.take() {
            Some(beside) => fs::rename(beside, &self.path).map_err(failed(&self.path)),
            None => Ok(()),
        }
    }
}

impl Drop for ViewFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            fs::remove_file(beside).ignored();
        }
    }
}
