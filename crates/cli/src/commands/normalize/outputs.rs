//! Where events go: to stdout in the chosen format, and to the files of `--out`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use skillrun_inspect::normalize::{AttemptSummary, NormalizeOutput, RunSummary};
use skillrun_model::Stream;
use skillrun_model::fcmp::FcmpEvent;
use skillrun_model::rasp::Event;
use skillrun_model::rasp::data::Category;
use skillrun_model::wire::LineWriter;
use skillrun_translate::FcmpTranslator;
use skillrun_translate::transcript::{CallLayout, LineLimit, Shown, Transcript, TranscriptStyle};

use crate::args::Format;
use crate::failure::Failure;
use crate::output::Output;

/// A place lines are written to. The first error stays; writing after it does nothing.
struct Lines {
    name: String,
    writer: LineWriter,
    error: Option<io::Error>,
}

impl Lines {
    fn new(name: String, writer: Box<dyn Write + Send>) -> Self {
        Self { name, writer: LineWriter::new(writer), error: None }
    }

    fn file(dir: &Path, name: &str) -> Result<Self, Failure> {
        let path = dir.join(name);
        let shown = path.display().to_string();
        match File::create(&path) {
            Ok(file) => Ok(Self::new(shown, Box::new(file))),
            Err(error) => Err(Failure::Write { path: shown, error }),
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut LineWriter) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = write(&mut self.writer).err();
        }
    }

    fn rasp(&mut self, event: &Event) {
        self.write(|writer| writer.rasp(event));
    }

    fn fcmp(&mut self, event: &FcmpEvent) {
        self.write(|writer| writer.fcmp(event));
    }

    fn json(&mut self, value: &impl Serialize) {
        self.write(|writer| writer.value(value));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.write(|writer| writer.bytes(bytes));
    }

    fn text(&mut self, text: &str) {
        self.write(|writer| writer.plain(text));
    }

    fn check(&mut self) -> Result<(), Failure> {
        match self.error.take() {
            Some(error) => Err(Failure::Write { path: self.name.clone(), error }),
            None => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.check()?;
        self.writer.flush().map_err(|error| Failure::Write { path: self.name.clone(), error })
    }
}

/// The files of `--out`.
struct Files {
    events: Lines,
    fcmp: Lines,
    diagnostics: Lines,
    summary: Lines,
    /// The engine output of all attempts, with secrets masked.
    stdout: Lines,
    stderr: Lines,
}

impl Files {
    fn each(&mut self, act: fn(&mut Lines) -> Result<(), Failure>) -> Result<(), Failure> {
        let Self { events, fcmp, diagnostics, summary, stdout, stderr } = self;
        [events, fcmp, diagnostics, summary, stdout, stderr].into_iter().try_for_each(act)
    }
}

pub(crate) struct Outputs {
    format: Format,
    stdout: Lines,
    files: Option<Files>,
    fcmp: FcmpTranslator,
    transcript: Transcript,
    layout: Output,
    /// Verdicts as text, printed after the conversation.
    words: String,
}

impl Outputs {
    pub(crate) fn open(format: Format, out: Option<&Path>, layout: Output) -> Result<Self, Failure> {
        let files = match out {
            None => None,
            Some(dir) => {
                fs::create_dir_all(dir).map_err(|error| Failure::Write { path: dir.display().to_string(), error })?;
                Some(Files {
                    events: Lines::file(dir, "events.jsonl")?,
                    fcmp: Lines::file(dir, "fcmp.jsonl")?,
                    diagnostics: Lines::file(dir, "parser_diagnostics.jsonl")?,
                    summary: Lines::file(dir, "summary.jsonl")?,
                    stdout: Lines::file(dir, "stdout.txt")?,
                    stderr: Lines::file(dir, "stderr.txt")?,
                })
            }
        };
        Ok(Self {
            format,
            stdout: Lines::new("stdout".to_owned(), Box::new(io::stdout())),
            files,
            fcmp: FcmpTranslator::default(),
            transcript: Transcript::new(TranscriptStyle {
                calls: CallLayout::Whole,
                lines: layout.terminal_width().map_or(LineLimit::Whole, LineLimit::Columns),
                ..TranscriptStyle::default()
            }),
            layout,
            words: String::new(),
        })
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.stdout.text(&self.layout.fit(&self.transcript.finish()));
        self.stdout.text(&self.words);
        if let Some(files) = &mut self.files {
            files.each(Lines::finish)?;
        }
        self.stdout.finish()
    }
}

impl NormalizeOutput for Outputs {
    type Error = Failure;

    /// A merged recording repeats the bytes of the other two.
    fn bytes(&mut self, stream: Stream, bytes: &[u8]) {
        if let Some(files) = &mut self.files {
            match stream {
                Stream::Stdout => files.stdout.bytes(bytes),
                Stream::Stderr => files.stderr.bytes(bytes),
                Stream::Pty => {}
            }
        }
    }

    fn event(&mut self, event: Event) {
        let is_diagnostic = event.event_type().category() == Category::Diagnostic;
        if let Some(files) = &mut self.files {
            files.events.rasp(&event);
            if is_diagnostic {
                files.diagnostics.rasp(&event);
            }
        }
        match self.format {
            Format::Rasp => self.stdout.rasp(&event),
            Format::Diagnostics if is_diagnostic => self.stdout.rasp(&event),
            Format::Diagnostics | Format::Summary | Format::Fcmp | Format::Conversation => {}
        }
        let is_read = match self.format {
            Format::Fcmp | Format::Conversation => true,
            Format::Summary | Format::Rasp | Format::Diagnostics => self.files.is_some(),
        };
        if is_read {
            let Self { fcmp, format, stdout, files, transcript, layout, .. } = self;
            fcmp.push(event, &mut |event: FcmpEvent| {
                if let Some(files) = files {
                    files.fcmp.fcmp(&event);
                }
                match format {
                    Format::Fcmp => stdout.fcmp(&event),
                    Format::Conversation => stdout.text(&layout.fit(&transcript.event(&event, Shown::Yes))),
                    Format::Summary | Format::Rasp | Format::Diagnostics => {}
                }
            });
        }
    }

    fn attempt_summary(&mut self, summary: AttemptSummary) {
        if let Some(files) = &mut self.files {
            files.summary.json(&summary);
        }
        match self.format {
            Format::Summary => self.stdout.json(&summary),
            // Of several attempts, the last judged one decides; later ones are only noted.
            Format::Conversation if summary.is_judged() => self.words = summary.words(),
            Format::Conversation => self.words.push_str(summary.words().trim_start()),
            Format::Rasp | Format::Fcmp | Format::Diagnostics => {}
        }
    }

    fn run_summary(&mut self, summary: &RunSummary) {
        if let Some(files) = &mut self.files {
            files.summary.json(summary);
        }
        if self.format == Format::Summary {
            self.stdout.json(summary);
        }
    }

    fn check(&mut self) -> Result<(), Failure> {
        self.stdout.check()?;
        self.files.as_mut().map_or(Ok(()), |files| files.each(Lines::check))
    }
}
