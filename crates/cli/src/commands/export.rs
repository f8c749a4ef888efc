//! `skillrun export`: a run as a zip file that can be shared.

use std::fs::File;
use std::io::{self, IsTerminal, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use skillrun_base::whole_file::FileDraft;
use skillrun_inspect::bundle::{self, BundleError, Contents, Summary};
use skillrun_model::{ErrorClass, IgnoredError, RunId};
use skillrun_runs::hidden::Hidden;
use skillrun_runs::result;

use crate::args::{Export, Global, OutputForm};
use crate::failure::Failure;
use crate::output::{Ink, LastColumn, Output, plain, print, print_json};
use crate::place::CommandContext;
use crate::short_ids::ShortIds;
use crate::words::{counted, size};

/// Files that are listed; of more, only the number is shown.
const NAMED: usize = 20;

pub(crate) fn run(global: &Global, args: &Export) -> Result<(), Failure> {
    let place = CommandContext::open(global)?;
    let run = place.run(&args.run)?;
    let path = match &args.out {
        Some(path) => place.settings.surroundings.absolute_path(path),
        None => place.settings.cwd().join(default_name(&place, run)?),
    };
    if path.is_dir() {
        return Err(Failure::Input(format!("{}: is a folder; give the name of a file", path.display())));
    }
    if !args.force && path.symlink_metadata().is_ok() {
        return Err(in_the_way(&path));
    }
    let hidden = if args.full { Some(hidden(&place, run)?) } else { None };
    let contents = hidden.as_ref().map_or(Contents::Result, Contents::Full);
    let draft = ExportFile::create(&path)?;
    let mut out = Counting::new(&draft.file);
    // The bundle includes the file; a damaged one is regenerated.
    result::read_or_make(&place.log, &place.folder(run), run).ignored();
    let summary = bundle::write(&place.folder(run), contents, &mut out).map_err(|error| failed(&path, error))?;
    out.done();
    let bytes = draft.keep(&path, if args.force { Existing::Replace } else { Existing::Refuse })?;
    match args.json.form() {
        OutputForm::Json => print_json(&json!({
            "run_id": run,
            "file": path.to_string_lossy(),
            "bytes": bytes,
            "bundle": summary,
        })),
        OutputForm::Text => {
            let output = Output::new(global.color, &place.settings.surroundings);
            print(&text(&path, bytes, &summary, &output))
        }
    }
}

/// The parts of the request that are not exported.
fn hidden(place: &CommandContext, run: RunId) -> Result<Hidden, Failure> {
    let (record, path) = (place.record(run)?, place.folder(run).record());
    let surroundings = &place.settings.surroundings;
    Ok(Hidden::of(&record, &path, &place.settings.engines(), |name| surroundings.variable(name))?)
}

fn default_name(place: &CommandContext, run: RunId) -> Result<String, Failure> {
    let title = place.record(run)?.title();
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let title: String = title.trim_start_matches('.').chars().map(safe).collect();
    Ok(format!("{title}-{}.zip", ShortIds::new(&place.ids()).of(run)))
}

fn in_the_way(path: &Path) -> Failure {
    Failure::Input(format!("{}: already exists; give --force to replace it, or another name with -o", path.display()))
}

fn failed(path: &Path, error: BundleError) -> Failure {
    match error {
        BundleError::NoResult => {
            Failure::Failed("the run is not over and has no result yet; give --full to export what there is".to_owned())
        }
        BundleError::Write(error) => Failure::Write { path: path.display().to_string(), error },
        BundleError::Evidence(error) => error.into(),
        error @ (BundleError::Read { .. } | BundleError::Log(_) | BundleError::Zip(_)) => {
            Failure::of_class(ErrorClass::Internal, error)
        }
    }
}

fn text(path: &Path, bytes: u64, summary: &Summary, output: &Output) -> String {
    let row = |name: &str, rest: String| [(Ink::Plain, String::new()), (Ink::Plain, plain(name)), (Ink::Dim, rest)];
    let rows: Vec<_> = summary.files.iter().take(NAMED).map(|file| row(&file.name, size(file.size))).collect();
    let mut text = format!("{} ({})\n", plain(&path.to_string_lossy()), size(bytes));
    text += &output.table(&rows, LastColumn::Wrapped);
    if summary.files.len() > NAMED {
        let more = counted(summary.files.len() - NAMED, "more file", "more files");
        text += &format!("  … {more}\n");
    }
    for left_out in &summary.left_out {
        let warning = output.paint(Ink::Warning, "left out:");
        text += &format!("{warning} {}, {}\n", plain(&left_out.name), plain(&left_out.why));
    }
    text
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    Replace,
    Refuse,
}

/// A file that gets its name only when it is complete.
struct ExportFile {
    draft: FileDraft,
    file: File,
}

impl ExportFile {
    fn create(target: &Path) -> Result<Self, Failure> {
        // Only a folder has no file name, and that was checked.
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let beside = target.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        // The content of a run is private to its user, who decides who else may read the file.
        let created = FileDraft::create_as(target, beside);
        let (draft, file) = created.map_err(|error| Failure::Write { path: target.display().to_string(), error })?;
        Ok(Self { draft, file })
    }

    /// Gives the file its name and returns its size.
    fn keep(self, target: &Path, existing: Existing) -> Result<u64, Failure> {
        let failed = |error: io::Error| Failure::Write { path: target.display().to_string(), error };
        let bytes = self.file.metadata().map_err(failed)?.len();
        let renamed = match existing {
            Existing::Replace => self.draft.keep(),
            Existing::Refuse => self.draft.keep_new(),
        };
        match renamed {
            Err(error) if existing == Existing::Refuse && error.kind() == io::ErrorKind::AlreadyExists => {
                Err(in_the_way(target))
            }
            other => other.map(|()| bytes).map_err(failed),
        }
    }
}

/// Shows the user at a terminal how much was written.
struct Counting<'a> {
    out: &'a File,
    written: u64,
    told: Instant,
    is_told: bool,
}

/// A faster export shows no progress.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

impl<'a> Counting<'a> {
    fn new(out: &'a File) -> Self {
        Self { out, written: 0, told: Instant::now(), is_told: false }
    }

    fn show_progress(&mut self) {
        if self.told.elapsed() < PROGRESS_DELAY || !io::stderr().is_terminal() {
            return;
        }
        self.told = Instant::now();
        self.is_told = true;
        // If stderr is gone, nothing is lost.
        let _ = write!(io::stderr(), "\rwritten {:<12}", size(self.written));
    }

    fn done(&self) {
        if self.is_told {
            let _ = write!(io::stderr(), "\r{:20}\r", "");
        }
    }
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        self.show_progress();
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Seek for Counting<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}
