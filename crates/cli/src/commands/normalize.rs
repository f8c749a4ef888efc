//! `skillrun normalize`: recorded bytes to events, conversation and verdict.
//!
//! All attempts of a folder form one run. This module reads, settles and writes; other crates decide the meaning.

mod outputs;
mod summary;

use skillrun_evidence::feed::StepKind;
use skillrun_evidence::{Attempt, Folder, Patterns};
use skillrun_lifecycle::closing::{self, ControlEvent, ProcessEnding};
use skillrun_lifecycle::{Control, OutputValidator, ProcessExit, advice, settle};
use skillrun_model::rasp::data::{AttemptStarted, RunStarted, Versions};
use skillrun_model::rasp::{ControlData, Correlation, Level};
use skillrun_model::verdict::Verdict;
use skillrun_model::{
    AttemptNumber, Code, EndedBy, EngineName, ErrorClass, ExecutionMode, InteractionId, ProfileId, RunId, RunStatus,
    Stream, Timestamp,
};
use skillrun_skill::OutputSchema;
use skillrun_translate::{AttemptPipeline, EventBuilder};

use crate::args::Normalize;
use crate::failure::Failure;
use outputs::Outputs;
use summary::{AttemptSummary, RunSummary};

pub(crate) fn run(args: &Normalize) -> Result<(), Failure> {
    let schema = args.schema.as_deref().map(OutputSchema::read).transpose()?;
    let folder = Folder::open(&args.dir)?;
    let patterns = [folder.recorded_patterns()?, args.redact.clone()].concat();
    let patterns = Patterns::new(&patterns).map_err(|error| Failure::of_class(ErrorClass::Usage, error))?;
    let folder = folder.hiding(&patterns);
    let numbers = match args.attempt {
        Some(number) => vec![AttemptNumber(number)],
        None => folder.attempts(),
    };
    let attempts = numbers.into_iter().map(|number| folder.attempt(number)).collect::<Result<Vec<_>, _>>()?;
    let outputs = Outputs::open(args.format, args.out.as_deref())?;
    let run_id = folder.run_id()?;
    let engine =
        attempts.first().map_or_else(|| EngineName::new(EngineName::UNKNOWN), |a| Circumstances::of(a, args).engine);
    let mut run = Run {
        args,
        schema: schema.as_ref().map(|s| s as &dyn OutputValidator),
        run_id,
        builder: EventBuilder::new(run_id, engine),
        outputs,
        session_id: None,
        interactions: 0,
        last: None,
        is_over: false,
        now: Timestamp::EPOCH,
    };
    let many = attempts.len() > 1;
    let mut expected = if args.attempt.is_some() { None } else { Some(1) };
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
        run.outputs.run_summary(&summary);
    }
    run.outputs.finish()
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
    fn of(attempt: &Attempt, args: &Normalize) -> Self {
        let meta = &attempt.meta;
        let named = args.engine.clone().or_else(|| meta.engine.clone());
        let asked = args.profile.or(meta.profile.filter(|_| args.engine.is_none()));
        let engine = named.or_else(|| asked.and_then(ProfileId::engine).map(str::to_owned));
        let engine = EngineName::new(engine.unwrap_or_else(|| EngineName::UNKNOWN.to_owned()));
        let exit = match (args.exit_code, &args.signal, meta.exit_code, &meta.signal) {
            (Some(code), _, _, _) => ProcessExit::Code(code),
            (None, Some(signal), _, _) => ProcessExit::Signal(signal.clone()),
            (None, None, Some(code), _) => ProcessExit::Code(code),
            (None, None, None, Some(signal)) => ProcessExit::Signal(signal.clone()),
            (None, None, None, None) => ProcessExit::Unknown,
        };
        Self {
            profile: asked.unwrap_or_else(|| ProfileId::for_engine(&engine)),
            engine,
            engine_version: meta.engine_version.clone(),
            mode: args.mode.or(meta.execution_mode).unwrap_or(ExecutionMode::Auto),
            exit,
            ended_by: args.ended_by.or(meta.ended_by),
            host_words: meta.host_words.clone().filter(|_| args.ended_by.is_none()),
            started_at: meta.started_at.unwrap_or(Timestamp::EPOCH),
        }
    }
}

/// The run that the attempts of a folder form.
struct Run<'a> {
    args: &'a Normalize,
    schema: Option<&'a dyn OutputValidator>,
    run_id: RunId,
    builder: EventBuilder,
    outputs: Outputs,
    session_id: Option<String>,
    interactions: u32,
    /// The last verdict; it decides the run.
    last: Option<Verdict>,
    is_over: bool,
    now: Timestamp,
}

impl Run<'_> {
    fn write(&mut self, event: ControlEvent) {
        let session_id = event.correlation.session_id.or_else(|| self.session_id.as_deref().map(Into::into));
        let correlation = Correlation { session_id, ..event.correlation };
        let event = self.builder.control(self.now, event.level, event.data, correlation);
        self.outputs.event(event);
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
            self.outputs.pending_notice(Code::AttemptMissing, format!("{numbers} not in the folder"));
        }
    }

    fn attempt(&mut self, attempt: &Attempt) -> Result<(), Failure> {
        let how = Circumstances::of(attempt, self.args);
        self.now = how.started_at;
        self.open(attempt, &how);
        let mut pipeline = AttemptPipeline::new(attempt.number, how.profile, how.started_at);
        let mut feed = attempt.feed()?;
        let (builder, outputs) = (&mut self.builder, &mut self.outputs);
        while let Some(step) = feed.next_step()? {
            if let StepKind::Bytes { stream, bytes } = &step.kind {
                outputs.bytes(*stream, bytes);
            }
            pipeline.step(&step, builder, |event| outputs.event(event));
            outputs.check()?;
        }
        self.now = pipeline.now();
        let profile = pipeline.profile();
        let facts = pipeline.finish(builder, |event| outputs.event(event));
        for problem in feed.problems() {
            self.write(closing::warning(Code::ChunkIndexTorn, problem));
        }
        if let Some(problem) = feed.withheld() {
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
            let elapsed_ms = self.now.millis_since(how.started_at);
            let ending = ProcessEnding {
                exit: how.exit.clone(),
                ended_by: how.ended_by,
                elapsed_ms,
                timeout_ms: None,
                host_hash: None,
            };
            for event in closing::attempt_ended(&facts, &settled, &ending) {
                self.write(event);
            }
            self.interactions += u32::from(settled.verdict.pending.is_some());
            self.is_over = settled.verdict.run_status.is_terminal();
            self.last = Some(settled.verdict.clone());
            Some(settled)
        };
        let bytes = [Stream::Stdout, Stream::Stderr].map(|stream| feed.position(stream));
        let next_actions = settled.as_ref().map(|s| advice::next_actions(&s.verdict, self.run_id)).unwrap_or_default();
        let summary = AttemptSummary::new(&how.engine, profile, attempt.number, &facts, settled, next_actions, bytes);
        self.outputs.attempt_summary(summary);
        Ok(())
    }

    fn circumstances<'a>(&'a self, attempt: AttemptNumber, how: &'a Circumstances, profile: ProfileId) -> Control<'a> {
        Control {
            mode: how.mode,
            attempt,
            max_attempt: self.args.max_attempt,
            require_marker: self.args.require_marker,
            continuation: profile.continuation(),
            known_session: self.session_id.as_deref(),
            cancel_recorded: how.ended_by == Some(EndedBy::Canceled),
            ended_by: how.ended_by,
            exit: how.exit.clone(),
            host_words: how.host_words.as_deref(),
            schema: self.schema,
            next_interaction: InteractionId(self.interactions + 1),
            request_policy: None,
            skill_policy: None,
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
        self.outputs.begin_attempt();
        if !self.is_over {
            self.write(closing::status(RunStatus::Running));
        }
        self.control(ControlData::AttemptStarted(AttemptStarted {
            profile: how.profile,
            profile_version: how.profile.version(),
            engine_version: how.engine_version.clone(),
            host_pid: None,
            started_at: how.started_at,
        }));
        for (code, message) in self.outputs.take_pending_notices() {
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
        RunSummary::new(self.run_id, self.session_id.clone(), self.last.as_ref(), self.outputs.totals())
    }
}
