//! The pass over the Log: passes each event to every check.

use skillrun_lifecycle::run::State;
use skillrun_log::{Damage, LogLine};
use skillrun_model::RunId;
use skillrun_model::rasp::data::Category;
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData};
use skillrun_runs::data_folder::{CONVERSATION_LOG_MAX, RunFolder};
use skillrun_runs::judge::Rules;
use skillrun_runs::record::{RunRecord, TRANSLATOR};
use skillrun_runs::result::ResultFold;
use skillrun_translate::FcmpTranslator;

use super::attempt::{AttemptCheck, Context};
use super::chain::Chain;
use super::kept::Kept;
use super::order::Order;
use super::run_checks;
use super::views::{self, Extent, LineFile};
use super::{Check, CheckKind, LogEnd, NotedHead, VerifyOutcome, VerifyReport};

#[derive(Debug)]
pub(super) struct Pass<'a> {
    context: Context<'a>,
    run: RunId,
    order: Order,
    chain: Chain,
    kept: Kept,
    state: State,
    /// Names of messages of earlier attempts, and of the last one.
    names: Vec<String>,
    last_names: Vec<String>,
    open: Option<AttemptCheck>,
    result: ResultFold,
    translator: FcmpTranslator,
    conversation: LineFile,
    diagnostics: LineFile,
    checks: Vec<Check>,
    /// The first event that a newer version wrote. What follows depends on it, and is not compared.
    newer_from: Option<u64>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(run: RunId, folder: &'a RunFolder, record: &'a RunRecord, noted: Option<NotedHead>) -> Self {
        Self {
            run,
            chain: Chain::new(run, noted),
            kept: Kept::default(),
            context: Context { folder, record, rules: Rules::of(folder, record) },
            order: Order::default(),
            state: State::default(),
            names: Vec::new(),
            last_names: Vec::new(),
            open: None,
            result: ResultFold::default(),
            translator: FcmpTranslator::default(),
            conversation: LineFile::open(&folder.fcmp()),
            diagnostics: LineFile::open(&folder.diagnostics()),
            checks: Vec::new(),
            newer_from: None,
        }
    }

    pub(super) fn newer_event(&mut self, line: LogLine<'_>) {
        self.newer_from.get_or_insert(line.seq.0);
    }

    pub(super) fn event(&mut self, line: LogLine<'_>, event: Event) {
        if self.newer_from.is_some() {
            return;
        }
        self.order.event(&self.state, &event);
        self.chain.event(line, &event);
        self.kept.event(&event);
        self.attempt(line.json(), &event);
        self.state.evolve(&event);
        self.result.linked(&event, line.prev());
        if event.event_type().category() == Category::Diagnostic {
            self.diagnostics.expect(&event.to_json());
        }
        let conversation = &mut self.conversation;
        self.translator.push(event, &mut |event| {
            // Something that cannot be serialized differs from any line.
            conversation.expect(&serde_json::to_string(&event).unwrap_or_default());
        });
    }

    fn attempt(&mut self, json: &[u8], event: &Event) {
        let number = event.attempt_number;
        if let Data::Control(ControlData::AttemptStarted(started)) = &event.data {
            self.leave_open("the next attempt begins before it is settled");
            self.names.append(&mut self.last_names);
            self.open = Some(AttemptCheck::begin(&self.context, number, event.seq, started, &self.names));
        } else if let Data::Control(ControlData::AttemptEnded(ended)) = &event.data {
            let settled = self.open.take().map(|open| open.settled(&self.context, &self.state, ended));
            self.checks.extend(settled.into_iter().flatten());
        } else if let Some(open) = &mut self.open {
            open.event(json, event);
        }
        if let Data::Evidence(EvidenceData::MessageFinal(message)) = &event.data {
            self.last_names.push(message.message_id.clone());
        }
    }

    fn leave_open(&mut self, why: &str) {
        let left = self.open.take().map(|open| open.left_open(&self.context, why));
        self.checks.extend(left.into_iter().flatten());
    }

    fn newer_words(&self) -> String {
        let from = self.newer_from.unwrap_or_default();
        format!("a newer version of skillrun wrote the Log from seq {from} on; verify the run with that version")
    }

    pub(super) fn finish(mut self, damage: Option<Damage>, end: LogEnd) -> VerifyReport {
        let (damage, extent) = match end {
            LogEnd::Reached if self.newer_from.is_some() => (damage, Extent::Unknown(self.newer_words())),
            LogEnd::Reached if self.state.is_over() => (damage, Extent::Over),
            LogEnd::Reached => (damage, Extent::NotOver),
            LogEnd::Damaged(found) => {
                let why = format!("the Log can be read only up to seq {}", self.state.last_seq);
                (Some(damage.unwrap_or(found)), Extent::Unknown(why))
            }
            LogEnd::Changed => (damage, Extent::Unknown("its owner repaired the Log meanwhile; try again".to_owned())),
        };
        let why = match &extent {
            Extent::Over => "the run ended without its turn record",
            Extent::NotOver => "the attempt is not over",
            Extent::Unknown(why) => why,
        };
        self.leave_open(why);
        let newer_words = self.newer_words();
        let Self {
            run,
            context,
            order,
            chain,
            kept,
            state,
            result,
            conversation,
            diagnostics,
            mut checks,
            newer_from,
            ..
        } = self;
        let log = match (damage, order.problem()) {
            (Some(damage), _) => VerifyOutcome::different(format!(
                "byte {}, where seq {} belongs: {}",
                damage.offset, damage.seq, damage.kind
            )),
            (None, Some(problem)) => VerifyOutcome::different(problem),
            (None, None) if newer_from.is_some() => VerifyOutcome::not_comparable(newer_words),
            (None, None) => VerifyOutcome::Same,
        };
        let of_run = |what, outcome| Check { what, attempt: None, outcome };
        let (chain, noted, log_head) = chain.finish();
        let first = [
            Some((CheckKind::Log, log)),
            Some((CheckKind::Chain, chain)),
            noted.map(|noted| (CheckKind::Head, noted)),
            Some((CheckKind::Record, kept.record(run, &context))),
            Kept::skill(&context).map(|skill| (CheckKind::Skill, skill)),
            kept.inputs(&context).map(|inputs| (CheckKind::Inputs, inputs)),
        ];
        checks.splice(0..0, first.into_iter().flatten().map(|(what, outcome)| of_run(what, outcome)));
        let run_checks = run_checks::check(context.folder, run, &kept.checks);
        checks.extend(run_checks.map(|outcome| of_run(CheckKind::RunChecks, outcome)));
        let artifacts = kept.artifacts(&context, &state, &extent);
        checks.extend(artifacts.map(|artifacts| of_run(CheckKind::Artifacts, artifacts)));
        let record = context.record;
        let result = views::check_result(context.folder, record, result, &extent);
        checks.push(of_run(CheckKind::Result, of_our_version(record, result)));
        let translated = conversation.finish(&extent);
        let is_missing = matches!(translated, VerifyOutcome::Missing { .. });
        let translated = if is_missing && !context.folder.stores_conversation() {
            let most = CONVERSATION_LOG_MAX >> 20;
            VerifyOutcome::not_comparable(format!("fcmp.jsonl is not stored for a Log of more than {most} MiB"))
        } else if record.translator == TRANSLATOR {
            of_our_version(record, translated)
        } else {
            let made_by = record.translator;
            VerifyOutcome::not_comparable(format!(
                "it was made by translator {made_by}, and the current one is {TRANSLATOR}"
            ))
        };
        checks.push(of_run(CheckKind::Conversation, translated));
        checks.push(of_run(CheckKind::Diagnostics, of_our_version(record, diagnostics.finish(&extent))));
        VerifyReport { run_id: run, status: state.status, log_head, checks }
    }
}

/// Another version may have made a view differently, and been right.
fn of_our_version(record: &RunRecord, outcome: VerifyOutcome) -> VerifyOutcome {
    match outcome {
        VerifyOutcome::Different { difference } if record.skillrun != env!("CARGO_PKG_VERSION") => {
            VerifyOutcome::not_comparable(format!("{difference}; skillrun {} accepted the run", record.skillrun))
        }
        other @ (VerifyOutcome::Same
        | VerifyOutcome::Different { .. }
        | VerifyOutcome::ChangedSince { .. }
        | VerifyOutcome::NotComparable { .. }
        | VerifyOutcome::Missing { .. }) => other,
    }
}
