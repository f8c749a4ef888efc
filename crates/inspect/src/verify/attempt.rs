//! One attempt against its evidence: reads it from the first byte, as its worker did, and applies the gate again.

use std::collections::VecDeque;

use serde_json::{Map, Value};
use skillrun_evidence::{EvidenceError, Feed, Folder, LiveFeed, Meta, Patterns};
use skillrun_lifecycle::closing;
use skillrun_lifecycle::run::State;
use skillrun_log::chain;
use skillrun_model::rasp::data::{AttemptEnded, AttemptStarted};
use skillrun_model::rasp::{ControlData, Data, Event, SourceStream};
use skillrun_model::{AttemptNumber, Code, EngineName, Stream, Timestamp};
use skillrun_runs::data_folder::RunFolder;
use skillrun_runs::events::is_evidence;
use skillrun_runs::judge::{Rules, ending, judge};
use skillrun_runs::record::{GATE, RunRecord};
use skillrun_runs::retention::is_evidence_removed;
use skillrun_runs::{blobs, settled_meta};
use skillrun_translate::coverage::Coverage;
use skillrun_translate::{EventBuilder, Replay, ReplayEnd};

use super::files::{self, Over};
use super::{Check, CheckKind, VerifyOutcome, difference, meta};

/// What the checks of all attempts need.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) folder: &'a RunFolder,
    pub(super) record: &'a RunRecord,
    pub(super) rules: Rules,
}

/// The attempt that the Log is about at the moment.
#[derive(Debug)]
pub(super) struct AttemptCheck {
    number: AttemptNumber,
    /// Why events and verdict cannot be compared.
    not_ours: Option<NotOurs>,
    coverage: Coverage,
    last_seq: u64,
    /// The host that began it.
    reading: Option<Box<Reading>>,
    /// The first difference of the events, or why there is no reading.
    outcome: Option<VerifyOutcome>,
}

/// Why the events of an attempt are not expected to be those that this version makes.
#[derive(Debug)]
enum NotOurs {
    OtherVersion(String),
    /// Two versions made them.
    ParserChanged,
    /// The disk was full before all of them were in the Log.
    NotLogged,
}

impl NotOurs {
    fn outcome(&self) -> VerifyOutcome {
        match self {
            Self::OtherVersion(why) => VerifyOutcome::not_comparable(why.clone()),
            Self::ParserChanged => VerifyOutcome::not_comparable("two versions of the parser made its events"),
            Self::NotLogged => {
                VerifyOutcome::not_comparable("the disk was full, and not all of its events are in the Log")
            }
        }
    }
}

/// The evidence as it is read again.
#[derive(Debug)]
struct Reading {
    /// Until its end.
    replay: Option<Replay<Feed>>,
    builder: EventBuilder,
    meta: Meta,
    waiting: VecDeque<Event>,
    end: Option<ReplayEnd>,
}

impl AttemptCheck {
    /// `names` are those of the messages of earlier attempts, so that none is used twice.
    pub(super) fn begin(
        context: &Context<'_>,
        number: AttemptNumber,
        seq: u64,
        started: &AttemptStarted,
        names: &[String],
    ) -> Self {
        let opened = if is_evidence_removed(&context.folder.audit()) {
            Err(VerifyOutcome::not_comparable("the evidence was removed to save space"))
        } else {
            Reading::open(context, number, names).map_err(|error| unreadable(&error))
        };
        let (reading, outcome) = match opened {
            Ok(reading) => (Some(Box::new(reading)), None),
            Err(outcome) => (None, Some(outcome)),
        };
        let coverage = Coverage::default();
        let not_ours = other_version(context, started).map(NotOurs::OtherVersion);
        Self { number, not_ours, coverage, last_seq: seq, reading, outcome }
    }

    /// An event of the Log while the attempt is open.
    pub(super) fn event(&mut self, json: &[u8], event: &Event) {
        if let Data::Control(ControlData::ParserWarning(warning)) = &event.data {
            if warning.code == Code::ParserChanged {
                self.not_ours = Some(NotOurs::ParserChanged);
            } else if warning.code == Code::EventsNotLogged {
                self.not_ours = Some(NotOurs::NotLogged);
            }
        }
        if !is_evidence(event) {
            return;
        }
        self.coverage.add(event);
        self.last_seq = event.seq;
        if self.not_ours.is_some() || self.outcome.is_some() {
            return;
        }
        let Some(reading) = &mut self.reading else { return };
        self.outcome = match reading.next() {
            Ok(Some(mut again)) => {
                again.seq = event.seq;
                let again = again.to_json();
                (!chain::is_event(json, again.as_bytes())).then(|| {
                    let place = difference::of_json(&chain::without_link(json), again.as_bytes());
                    VerifyOutcome::different(format!(
                        "seq {} differs from the evidence: {place} of its line",
                        event.seq
                    ))
                })
            }
            Ok(None) => Some(VerifyOutcome::different(format!(
                "seq {} is not in the evidence, which ends before it",
                event.seq
            ))),
            Err(error) => Some(unreadable(&error)),
        };
    }

    /// Its turn record is the next event. `state` is that of the run before it.
    pub(super) fn settled(mut self, context: &Context<'_>, state: &State, ended: &AttemptEnded) -> Vec<Check> {
        let audit = context.folder.audit();
        let files = files::check(&audit, context.record.run_id, self.number, Over::Settled(ended));
        if let VerifyOutcome::Missing { why, .. } = &files {
            let why = format!("{why}, so nothing can be derived");
            let rest = [CheckKind::EvidenceEvents, CheckKind::Coverage, CheckKind::Verdict, CheckKind::Meta];
            let rest = rest.into_iter().map(|what| (what, VerifyOutcome::not_comparable(why.clone())));
            let files = [(CheckKind::EvidenceFiles, files.clone())].into_iter();
            return self.checks(files.chain(rest));
        }
        let events = self.events();
        let coverage = self.covered();
        let (verdict, output) = self.verdict(context, state, ended);
        // Another version may have counted differently.
        let is_ours = self.not_ours.is_none();
        let reading = self.finished().ok().filter(|_| is_ours);
        let parsed = reading.and_then(|reading| Some(settled_meta::parsed(&reading.end.as_ref()?.facts)));
        let meta = meta::check(context.folder, self.number, parsed, ended, state.session_id.as_deref());
        let checks = [
            (CheckKind::EvidenceFiles, files),
            (CheckKind::EvidenceEvents, events),
            (CheckKind::Coverage, coverage),
            (CheckKind::Verdict, verdict),
        ];
        let output = output.map(|outcome| (CheckKind::LargeOutput, outcome));
        self.checks(checks.into_iter().chain(output).chain([(CheckKind::Meta, meta)]))
    }

    /// The Log ends, or cannot be read any further, while the attempt is open.
    pub(super) fn left_open(self, context: &Context<'_>, why: &str) -> Vec<Check> {
        let files = files::check(&context.folder.audit(), context.record.run_id, self.number, Over::NotYet);
        let events = match (&self.not_ours, &self.outcome) {
            (Some(why), _) => why.outcome(),
            (None, Some(outcome)) => outcome.clone(),
            (None, None) => VerifyOutcome::Same,
        };
        let rest = || VerifyOutcome::not_comparable(why);
        let checks = [
            (CheckKind::EvidenceFiles, files),
            (CheckKind::EvidenceEvents, events),
            (CheckKind::Coverage, rest()),
            (CheckKind::Verdict, rest()),
        ];
        self.checks(checks.into_iter())
    }

    fn checks(&self, outcomes: impl Iterator<Item = (CheckKind, VerifyOutcome)>) -> Vec<Check> {
        outcomes.map(|(what, outcome)| Check { what, attempt: Some(self.number), outcome }).collect()
    }

    /// Whether the Log has all events, and no others.
    fn events(&mut self) -> VerifyOutcome {
        if let Some(why) = &self.not_ours {
            return why.outcome();
        }
        if let Some(outcome) = &self.outcome {
            return outcome.clone();
        }
        let Some(reading) = &mut self.reading else { return VerifyOutcome::Same };
        match reading.next() {
            Ok(None) => VerifyOutcome::Same,
            Ok(Some(event)) => {
                let (kind, raw) = (event.event_type(), event.raw_ref);
                let range = match event.source.stream {
                    SourceStream::Stderr => format!("stderr {}..{}", raw.stderr_from, raw.stderr_to),
                    SourceStream::Stdout | SourceStream::Pty | SourceStream::Stdin | SourceStream::Control => {
                        format!("stdout {}..{}", raw.stdout_from, raw.stdout_to)
                    }
                };
                VerifyOutcome::different(format!(
                    "the evidence has more after seq {}: {kind} of {range}",
                    self.last_seq
                ))
            }
            Err(error) => unreadable(&error),
        }
    }

    fn covered(&mut self) -> VerifyOutcome {
        match &self.not_ours {
            // The two may not have met at the same byte.
            Some(why @ (NotOurs::ParserChanged | NotOurs::NotLogged)) => return why.outcome(),
            Some(NotOurs::OtherVersion(_)) | None => {}
        }
        let bytes = match self.finished() {
            Ok(reading) => reading.end.as_ref().map_or([0; 3], |end| end.bytes),
            Err(outcome) => return outcome,
        };
        let uncovered = [Stream::Stdout, Stream::Stderr].into_iter().find_map(|stream| {
            let (bytes, covered, name) = (bytes[stream.index()], self.coverage.covered(stream), stream.source());
            (bytes != covered).then(|| format!("events cover {covered} of the {bytes} bytes of {name}"))
        });
        uncovered.map_or(VerifyOutcome::Same, VerifyOutcome::different)
    }

    /// The verdict of the gate, and of a large output, if there is one.
    fn verdict(
        &mut self,
        context: &Context<'_>,
        state: &State,
        ended: &AttemptEnded,
    ) -> (VerifyOutcome, Option<VerifyOutcome>) {
        if let Some(why) = &self.not_ours {
            return (why.outcome(), None);
        }
        let number = self.number;
        let reading = match self.finished() {
            Ok(reading) => reading,
            Err(outcome) => return (outcome, None),
        };
        let Some(ReplayEnd { facts, elapsed_ms, .. }) = &reading.end else { return (VerifyOutcome::Same, None) };
        let settled = judge(context.record, &context.rules, state, number, facts, &reading.meta);
        // The hash is compared with the files.
        let ending = ending(context.record, state, &reading.meta, *elapsed_ms, ended.host_hash.clone());
        let events = closing::attempt_ended(facts, &settled, &ending, context.record.run_id);
        let again = events.iter().find_map(|event| {
            if let ControlData::AttemptEnded(again) = &event.data { serde_json::to_vec(again).ok() } else { None }
        });
        let verdict = match (serde_json::to_vec(ended), again) {
            (Ok(ended), Some(again)) if ended == again => VerifyOutcome::Same,
            (Ok(ended), Some(again)) => {
                let place = difference::of_json(&ended, &again);
                let told = format!("attempt.ended differs from the evidence: {place} of its data");
                let rules = context.record.gate;
                // By other rules the verdict may have been different, and right.
                if rules == GATE {
                    VerifyOutcome::different(told)
                } else {
                    VerifyOutcome::not_comparable(format!("{told}; it was judged by rules {rules}, not {GATE}"))
                }
            }
            (Err(_), _) | (Ok(_), None) => VerifyOutcome::not_comparable("the turn record cannot be derived again"),
        };
        let large = ended.verdict.output_bytes.map(|_| large_output(context, number, settled.verdict.output.as_ref()));
        (verdict, large)
    }

    /// The evidence, read to its end.
    fn finished(&mut self) -> Result<&Reading, VerifyOutcome> {
        let Some(reading) = &mut self.reading else {
            return Err(self.outcome.clone().unwrap_or(VerifyOutcome::not_comparable("there is no evidence")));
        };
        reading.finish().map_err(|error| unreadable(&error))?;
        Ok(reading)
    }
}

impl Reading {
    fn open(context: &Context<'_>, number: AttemptNumber, names: &[String]) -> Result<Self, EvidenceError> {
        let audit = context.folder.audit();
        let feed = LiveFeed::open(&audit, number)?.hiding(&Patterns::of_run(&audit)?).finish()?;
        let meta = Folder::open(&audit).and_then(|folder| folder.attempt(number)).map(|found| found.meta);
        let meta = meta.unwrap_or_default();
        let started_at = meta.started_at.unwrap_or(Timestamp::EPOCH);
        let engine = EngineName::new(context.record.engine.name.clone());
        let mut builder = EventBuilder::new(context.record.run_id, engine.clone());
        names.iter().for_each(|name| builder.recall(name));
        builder.set_attempt(number, engine);
        let replay = Some(Replay::new(feed, number, context.record.engine.profile, started_at));
        Ok(Self { replay, builder, meta, waiting: VecDeque::new(), end: None })
    }

    /// The next event of the evidence.
    fn next(&mut self) -> Result<Option<Event>, EvidenceError> {
        while self.waiting.is_empty() && self.replay.is_some() {
            self.advance()?;
        }
        Ok(self.waiting.pop_front())
    }

    fn finish(&mut self) -> Result<(), EvidenceError> {
        while self.replay.is_some() {
            self.advance()?;
            self.waiting.clear();
        }
        Ok(())
    }

    /// One step of the evidence, or its end.
    fn advance(&mut self) -> Result<(), EvidenceError> {
        let Self { replay, builder, waiting, end, .. } = self;
        let mut out = |event| waiting.push_back(event);
        let Some(reading) = replay else { return Ok(()) };
        if reading.step(builder, &mut out)?.is_none() {
            *end = replay.take().map(|reading| reading.finish(builder, out));
        }
        Ok(())
    }
}

fn unreadable(error: &EvidenceError) -> VerifyOutcome {
    VerifyOutcome::lost(format!("the evidence cannot be read ({error})"))
}

/// Events of another version are not expected to be the same.
fn other_version(context: &Context<'_>, started: &AttemptStarted) -> Option<String> {
    let ours = env!("CARGO_PKG_VERSION");
    let record = context.record;
    if record.skillrun != ours {
        return Some(format!("the run was accepted by skillrun {}, and this is {ours}", record.skillrun));
    }
    let (profile, version) = (record.engine.profile, record.engine.profile.version());
    if (started.profile, started.profile_version) != (profile, version) {
        let (then, its) = (started.profile, started.profile_version);
        return Some(format!("it was read with {then} version {its}, not {profile} version {version}"));
    }
    None
}

fn large_output(context: &Context<'_>, number: AttemptNumber, again: Option<&Map<String, Value>>) -> VerifyOutcome {
    match (blobs::read_output(context.folder, number), again) {
        (None, _) => VerifyOutcome::lost(format!("blobs/output.{number}.json is missing or not an output")),
        (Some(found), Some(again)) if found == *again => VerifyOutcome::Same,
        (Some(found), again) => {
            let again = again.cloned().map_or(Value::Null, Value::Object);
            let field = difference::first_field(&Value::Object(found), &again).unwrap_or_default();
            VerifyOutcome::different(format!("blobs/output.{number}.json differs from the evidence: in {field}"))
        }
    }
}
