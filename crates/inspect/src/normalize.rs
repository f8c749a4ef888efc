//! Recorded bytes to events, conversation and verdict. All attempts of a folder form one run.
//!
//! This module reads and settles; other crates decide the meaning, and the caller writes.

mod summary;

use skillrun_evidence::feed::StepKind;
use skillrun_evidence::{Attempt, EvidenceError, Folder};
use skillrun_lifecycle::closing::{self, ControlEvent, ProcessEnding};
use skillrun_lifecycle::{CompletionLayer, Control, OutputValidator, ProcessExit, advice, settle};
use skillrun_model::rasp::data::{AttemptStarted, RunStarted, Versions};
use skillrun_model::rasp::{ControlData, Correlation, Event, Level};
use skillrun_model::verdict::Verdict;
use skillrun_model::{
    AttemptNumber, Code, EndedBy, EngineName, ExecutionMode, InteractionId, ProfileId, RunId, RunStatus, Stream,
    Timestamp,
};
use skillrun_translate::{EventBuilder, Replay, ReplayEnd};

use summary::Observed;
pub use summary::{AttemptSummary, RunSummary};

/// What the caller says about a recording; the rest is taken from the recording.
#[derive(Debug, Default)]
pub struct NormalizeOptions {
    pub engine: Option<String>,
    pub profile: Option<ProfileId>,
    pub mode: Option<ExecutionMode>,
    /// Only this attempt.
    pub attempt: Option<AttemptNumber>,
    pub max_attempt: Option<u32>,
    pub require_marker: bool,
    /// The run had no skill: there is no marker and no output.
    pub no_skill: bool,
    pub exit: Option<ProcessExit>,
    pub ended_by: Option<EndedBy>,
}

/// Receives what a recording becomes.
pub trait NormalizeOutput {
    type Error: From<EvidenceError>;

    /// Bytes as the parser receives them.
    fn bytes(&mut self, stream: Stream, bytes: &[u8]);
    fn event(&mut self, event: Event);
    fn attempt_summary(&mut self, summary: AttemptSummary);
    /// Only of several attempts.
    fn run_summary(&mut self, summary: &RunSummary);
    /// The first thing that could not be written, if any.
    fn check(&mut self) -> Result<(), Self::Error>;
}

/// The attempts of a folder that are read, as one run.
#[derive(Debug)]
pub struct Recording<'a> {
    folder: &'a Folder,
    options: &'a NormalizeOptions,
    attempts: Vec<Attempt>,
}

impl<'a> Recording<'a> {
    /// Opens the attempts that the options name; nothing is read yet.
    pub fn open(folder: &'a Folder, options: &'a NormalizeOptions) -> Result<Self, EvidenceError> {
        let numbers = options.attempt.map_or_else(|| folder.attempts(), |number| vec![number]);
        let attempts = numbers.into_iter().map(|number| folder.attempt(number)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { folder, options, attempts })
    }

    /// Reads and settles all of it.
    pub fn normalize<O: NormalizeOutput>(
        self,
        schema: Option<&dyn OutputValidator>,
        output: &mut O,
    ) -> Result<(), O::Error> {
        let Self { folder, options, attempts } = self;
        let run_id = folder.run_id()?;
        let engine = attempts
            .first()
            .map_or_else(|| EngineName::new(EngineName::UNKNOWN), |a| Circumstances::of(a, options).engine);
        let mut run = Run {
            options,
            schema,
            run_id,
            builder: EventBuilder::new(run_id, engine),
            output: Observing { output, observed: Observed::default(), events: 0 },
            notices: Vec::new(),
            attempts: 0,
            session_id: None,
            interactions: 0,
            last: None,
            is_over: false,
            now: Timestamp::EPOCH,
        };
        let many = attempts.len() > 1;
        let mut expected = if options.attempt.is_some() { None } else { Some(1) };
        for attempt in attempts {
            if let Some(expected) = &mut expected {
                run.missing(*expected, attempt.number);
                *expected = attempt.number.0 + 1;
            }
            run.attempt(&attempt)?;
        }
        run.end();
        if many {
            let summary = run.summary();
            run.output.output.run_summary(&summary);
        }
        Ok(())
    }
}

/// What is known about how an attempt ran: from the options, else from the recording.
struct Circumstances {
    engine: EngineName,
    engine_version: Option<String>,
    profile: ProfileId,
    mode: ExecutionMode,
    exit: ProcessExit,
    ended_by: Option<EndedBy>,
    host_words: Option<String>,
    started_at: Timestamp,
}

impl Circumstances {
    fn of(attempt: &Attempt, options: &NormalizeOptions) -> Self {
        let meta = &attempt.meta;
        let named = options.engine.clone().or_else(|| meta.engine.clone());
        let asked = options.profile.or(meta.profile.filter(|_| options.engine.is_none()));
        let engine = named.or_else(|| asked.and_then(ProfileId::engine).map(str::to_owned));
        let engine = EngineName::new(engine.unwrap_or_else(|| EngineName::UNKNOWN.to_owned()));
        let exit = options.exit.clone().unwrap_or_else(|| ProcessExit::of(meta));
        Self {
            profile: asked.unwrap_or_else(|| ProfileId::for_engine(&engine)),
            engine,
            engine_version: meta.engine_version.clone(),
            mode: options.mode.or(meta.execution_mode).unwrap_or(ExecutionMode::Auto),
            exit,
            ended_by: options.ended_by.or(meta.ended_by),
            host_words: meta.host_words.clone().filter(|_| options.ended_by.is_none()),
            started_at: meta.started_at.unwrap_or(Timestamp::EPOCH),
        }
    }
}

/// The output, and what a summary says about its events.
struct Observing<'a, O> {
    output: &'a mut O,
    observed: Observed,
    events: u64,
}

impl<O: NormalizeOutput> Observing<'_, O> {
    fn event(&mut self, event: Event) {
        self.events += 1;
        self.observed.event(&event);
        self.output.event(event);
    }
}

/// The run that the attempts of a folder form.
struct Run<'a, O> {
    options: &'a NormalizeOptions,
    schema: Option<&'a dyn OutputValidator>,
    run_id: RunId,
    builder: EventBuilder,
    output: Observing<'a, O>,
    /// Noticed before the attempt that it belongs to has begun.
    notices: Vec<(Code, String)>,
    attempts: u64,
    session_id: Option<String>,
    interactions: u32,
    /// The last verdict; it decides the run.
    last: Option<Verdict>,
    is_over: bool,
    now: Timestamp,
}

impl<O: NormalizeOutput> Run<'_, O> {
    fn write(&mut self, event: ControlEvent) {
        let session_id = event.correlation.session_id.or_else(|| self.session_id.as_deref().map(Into::into));
        let correlation = Correlation { session_id, ..event.correlation };
        let event = self.builder.control(self.now, event.level, event.data, correlation);
        self.output.event(event);
    }

    fn control(&mut self, data: ControlData) {
        self.write(ControlEvent { level: Level::Info, data, correlation: Correlation::default() });
    }

    /// Reports that the attempts between `expected` and `found` are missing.
    fn missing(&mut self, expected: u32, found: AttemptNumber) {
        if found.0 > expected {
            let numbers = match found.0 - 1 {
                last if last == expected => format!("attempt {expected} is"),
                last => format!("attempts {expected} to {last} are"),
            };
            self.notices.push((Code::AttemptMissing, format!("{numbers} not in the folder")));
        }
    }

    fn attempt(&mut self, attempt: &Attempt) -> Result<(), O::Error> {
        let how = Circumstances::of(attempt, self.options);
        self.now = how.started_at;
        self.open(attempt, &how);
        let mut replay = Replay::new(attempt.feed()?, attempt.number, how.profile, how.started_at);
        let (builder, output) = (&mut self.builder, &mut self.output);
        while let Some(step) = replay.step(builder, |event| output.event(event))? {
            if let StepKind::Bytes { stream, bytes } = &step.kind {
                output.output.bytes(*stream, bytes);
            }
            output.output.check()?;
        }
        let end = replay.finish(builder, |event| output.event(event));
        let ReplayEnd { facts, profile, at, elapsed_ms, problems, withheld, bytes: [stdout, stderr, _] } = end;
        self.now = at;
        for problem in problems {
            self.write(closing::warning(Code::ChunkIndexTorn, problem));
        }
        if let Some(problem) = withheld {
            self.write(closing::warning(Code::MaskIncomplete, problem));
        }
        if self.session_id.is_none() {
            self.session_id.clone_from(&facts.session_id);
        }
        let settled = if self.is_over {
            self.write(closing::warning(
                Code::AfterTerminal,
                "the run was over before this attempt; it is read, not settled".to_owned(),
            ));
            None
        } else {
            let settled = settle(&facts, &self.circumstances(attempt.number, &how, profile));
            let ending = ProcessEnding::new(how.exit.clone(), how.ended_by);
            // A process that was ended after its answer has reached no limit.
            let deadline_at = attempt.meta.deadline_at.filter(|_| ending.limit.is_some());
            let ending = ProcessEnding { elapsed_ms, deadline_at, ..ending };
            for event in closing::attempt_ended(&facts, &settled, &ending, self.run_id) {
                self.write(event);
            }
            self.interactions += u32::from(settled.verdict.pending.is_some());
            self.is_over = settled.verdict.run_status.is_terminal();
            self.last = Some(settled.verdict.clone());
            Some(settled)
        };
        let next_actions = settled.as_ref().map(|s| advice::next_actions(&s.verdict, self.run_id)).unwrap_or_default();
        let bytes = [stdout, stderr];
        let summary = AttemptSummary::new(&how.engine, profile, attempt.number, &facts, settled, next_actions, bytes);
        self.attempts += 1;
        self.output.output.attempt_summary(summary.complete(std::mem::take(&mut self.output.observed)));
        Ok(())
    }

    fn circumstances<'a>(&'a self, attempt: AttemptNumber, how: &'a Circumstances, profile: ProfileId) -> Control<'a> {
        Control {
            max_attempt: self.options.max_attempt,
            require_marker: self.options.require_marker,
            layer: if self.options.no_skill { CompletionLayer::Absent } else { CompletionLayer::OfSkill },
            known_session: self.session_id.as_deref(),
            cancel_recorded: how.ended_by == Some(EndedBy::Canceled),
            ended_by: how.ended_by,
            host_words: how.host_words.as_deref(),
            schema: self.schema,
            next_interaction: InteractionId(self.interactions + 1),
            ..Control::new(how.mode, attempt, profile.continuation(), how.exit.clone())
        }
    }

    fn open(&mut self, attempt: &Attempt, how: &Circumstances) {
        let is_first = self.builder.attempt() == AttemptNumber::BEFORE_FIRST;
        if is_first {
            let versions = Versions {
                skillrun: env!("CARGO_PKG_VERSION").to_owned(),
                engine: how.engine_version.clone(),
                profile: how.profile.version(),
            };
            self.control(ControlData::RunStarted(RunStarted::new(how.engine.as_str(), how.mode, versions)));
        }
        self.builder.set_attempt(attempt.number, how.engine.clone());
        self.output.observed = Observed::default();
        if !self.is_over {
            self.write(closing::status(RunStatus::Running));
        }
        let started = AttemptStarted::new(how.profile, how.started_at);
        let engine_version = how.engine_version.clone();
        self.control(ControlData::AttemptStarted(AttemptStarted { engine_version, ..started }));
        for (code, message) in std::mem::take(&mut self.notices) {
            self.write(closing::warning(code, message));
        }
        for warning in &attempt.meta.warnings {
            self.write(closing::warning(warning.code, warning.message.clone()));
        }
        for problem in &attempt.meta.problems {
            self.write(closing::warning(Code::MetaMissing, problem.clone()));
        }
        if let Some(version) = &how.engine_version
            && how.profile.version_is_untested(version)
        {
            let message = format!("{} {version} is outside the versions {} was tested on", how.engine, how.profile);
            self.write(closing::warning(Code::EngineVersionUntested, message));
        }
    }

    /// Writes the last event, if the run is over.
    fn end(&mut self) {
        let ended = self
            .last
            .as_ref()
            .and_then(|verdict| closing::run_ended(verdict, advice::next_actions(verdict, self.run_id), None, None));
        if let Some(event) = ended {
            self.write(event);
        }
    }

    fn summary(&self) -> RunSummary {
        RunSummary::new(self.run_id, self.session_id.clone(), self.last.as_ref(), (self.attempts, self.output.events))
    }
}
