//! What a profile is: something that reads lines and documents of one engine's format.

use std::fmt;

use skillrun_model::status::Phase;
use skillrun_model::{ProfileId, Stream};

use crate::record::{AnswerFrom, EndPolicy, Record, RecordKind, Span};

/// A line that is passed to a profile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProfileLine<'a> {
    /// Its bytes, blank lines before it included.
    pub(crate) span: Span,
    /// Without terminator, carriage return or byte-order mark; invalid UTF-8 shown as U+FFFD.
    pub(crate) text: &'a str,
    /// The last line of a stream may lack its terminator.
    pub(crate) terminated: bool,
}

/// What a profile made of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineOutcome {
    Known,
    /// Of the profile's format, but of an unknown type.
    Unknown(String),
    /// Part of something that is not complete yet. Nothing is emitted for the line now: the profile emits a record that
    /// covers it with the next line or document of the stream, or at its end.
    Held,
    Raw,
    /// Raw, and known: engines write such lines in every healthy run, and they have no content.
    Noise,
}

/// Maximum number of records of one line that are kept until the line is read. A line of 8 MiB can hold 300,000.
pub(crate) const RECORDS_AT_ONCE: usize = 1_000;

/// Takes the records that were collected so far.
pub(crate) type PassOn<'a> = &'a mut dyn FnMut(&mut Vec<Record>);

/// Collects the records of one line or document.
pub(crate) struct Emit<'a> {
    span: Span,
    profile: ProfileId,
    records: &'a mut Vec<Record>,
    pass_on: Option<PassOn<'a>>,
}

impl fmt::Debug for Emit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emit").field("span", &self.span).field("records", &self.records.len()).finish_non_exhaustive()
    }
}

impl<'a> Emit<'a> {
    pub(crate) fn new(span: Span, profile: ProfileId, records: &'a mut Vec<Record>) -> Self {
        Self { span, profile, records, pass_on: None }
    }

    /// The same; whenever there are very many records, they are passed on before the line is read to its end.
    pub(crate) fn passing_on(self, pass_on: PassOn<'a>) -> Self {
        Self { pass_on: Some(pass_on), ..self }
    }

    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// A record from an exact structured parse.
    pub(crate) fn push(&mut self, kind: RecordKind) {
        self.push_at(self.span, Vec::new(), 1.0, kind);
    }

    /// What the engine is doing.
    pub(crate) fn status(&mut self, phase: Phase) {
        self.push(RecordKind::Status { phase, detail: None });
    }

    pub(crate) fn push_inferred(&mut self, confidence: f64, kind: RecordKind) {
        self.push_at(self.span, Vec::new(), confidence, kind);
    }

    pub(crate) fn push_at(&mut self, span: Span, pieces: Vec<Span>, confidence: f64, kind: RecordKind) {
        self.records.push(Record { span, pieces, profile: self.profile, confidence, kind });
        if let Some(pass_on) = &mut self.pass_on
            && self.records.len() >= RECORDS_AT_ONCE
        {
            pass_on(self.records);
        }
    }
}

/// How a merged recording beside stdout and stderr is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergedUse {
    Nothing,
    /// It may have messages that stdout lacks.
    MissingMessages,
    /// It is used when the other two have no message and no end.
    WhenAlone,
}

/// Reads one engine's format. Keeps only what its budgets allow.
pub(crate) trait Profile: std::fmt::Debug + Send {
    /// The format that is being read, as far as it is known.
    fn id(&self) -> ProfileId;

    /// The format of one stream, for its records: the content of another stream must not affect them.
    fn id_on(&self, _stream: Stream) -> ProfileId {
        self.id()
    }

    /// Whether a line cannot change the format, so that its records may be passed on before it is read to its end.
    fn has_fixed_id(&self) -> bool {
        true
    }

    /// Reads a line. After [`LineOutcome::Raw`] the driver may call again with escape sequences removed, so a profile must
    /// not remember anything of a raw line.
    fn line(&mut self, line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome;

    /// Text formats need blank lines too; in the others they belong to the next event.
    fn wants_blank_lines(&self) -> bool {
        false
    }

    /// Whether a line that is not JSON by itself begins a document.
    fn opens_document(&self, _line: ProfileLine<'_>) -> bool {
        false
    }

    /// A complete JSON document; false when it is not of this profile's format.
    fn document(&mut self, _text: &str, _emit: &mut Emit<'_>) -> bool {
        false
    }

    /// Whether a cut last line is the beginning of an end event and already shows success.
    fn is_cut_success_end(&self, _line: ProfileLine<'_>) -> bool {
        false
    }

    /// The stream is over. `emit` is positioned at its end, with an empty span.
    fn eof(&mut self, _stream: Stream, _emit: &mut Emit<'_>) {}

    /// How the terminal's recording beside stdout and stderr is used.
    fn merged(&self) -> MergedUse {
        MergedUse::Nothing
    }

    fn end_policy(&self) -> EndPolicy {
        EndPolicy::Event
    }

    fn answer_from(&self) -> AnswerFrom {
        AnswerFrom::Only(Stream::Stdout)
    }
}
