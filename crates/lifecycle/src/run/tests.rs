//! The laws, over any sequence of inputs.

mod checks;
mod children;
mod conversation;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use skillrun_model::checks::CheckStatus;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::{AskOption, DecisionPolicy, InteractionKind, Pending, PolicySource, Scope};
use skillrun_model::rasp::data::{
    AttemptStarted, MessageOrigin, ResolutionMode, RunHeartbeat, RunStarted, RunStatusChange, UserMessage, Versions,
};
use skillrun_model::rasp::{ControlData, Correlation, Data, Event, EventType, Level};
use skillrun_model::status::{CompletionState, Continuation, EndedBy, Phase, TurnState};
use skillrun_model::verdict::{Rule, RunError, Verdict};
use skillrun_model::{
    AttemptNumber, EngineName, ExecutionMode, InteractionId, ProfileId, RunId, RunStatus, Stream, Timestamp,
};
use skillrun_parse::record::{AnswerFrom, EndPolicy};
use skillrun_translate::facts::FactsFold;

use super::*;
use crate::closing::{self, ControlEvent, ProcessEnding};
use crate::control::ProcessExit;
use crate::settle::Settled;

/// A run with its Log, and what the effects have done so far.
struct World {
    options: RunOptions,
    log: Vec<Event>,
    state: State,
    timers: BTreeSet<InteractionId>,
    results: u32,
    now: u64,
}

fn run_id() -> RunId {
    RunId::new(1, [1; 10])
}

impl World {
    fn new(options: RunOptions) -> Self {
        Self { options, log: Vec::new(), state: State::default(), timers: BTreeSet::new(), results: 0, now: 0 }
    }

    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.plus_nanos(self.now * 1_000_000_000)
    }

    fn happens(&mut self, input: Input<'_>) -> Result<Vec<Effect>, Refusal> {
        self.now += 1;
        if let Input::Expired { interaction_id } = &input {
            // The timer has fired.
            let fired = *interaction_id;
            let decision = decide(&self.state, self.options, run_id(), self.now(), input)?;
            self.timers.remove(&fired);
            return Ok(self.carry_out(decision));
        }
        let decision = decide(&self.state, self.options, run_id(), self.now(), input)?;
        Ok(self.carry_out(decision))
    }

    fn recovery(&self, host: HostState, session: SessionLeft) -> Decision {
        recover(&self.state, self.options, run_id(), self.now(), host, session)
    }

    /// The code of the error that is the last event of the Log.
    fn failure(&self) -> Code {
        let last = self.log.last().map(|event| &event.data);
        let Some(Data::Control(ControlData::RunFailed(failed))) = last else { panic!("{last:?}") };
        failed.error.code
    }

    /// The owner dies while the batch is written: only its first events are kept, and nothing else is done.
    fn dies_writing(&mut self, happening: &Happening, kept: usize) {
        let mut other =
            World { log: self.log.clone(), state: self.state.clone(), now: self.now, ..Self::new(self.options) };
        if other.play(happening).is_err() {
            return;
        }
        let whole = other.log.len() - self.log.len();
        self.log.extend(other.log.drain(self.log.len()..).take(kept.min(whole)));
        self.state = State::of(&self.log);
        (self.timers, self.now) = (BTreeSet::new(), other.now);
    }

    fn carry_out(&mut self, decision: Decision) -> Vec<Effect> {
        self.results += u32::from(decision.ends_run());
        let before = self.state.attempt;
        // As a run does it: all events of a batch name the session that was known before it.
        let session_id = self.state.session_id.clone();
        let in_session = |event: ControlEvent| ControlEvent {
            correlation: Correlation { session_id: session_id.clone(), ..event.correlation },
            ..event
        };
        decision.events.into_iter().map(in_session).for_each(|event| self.append(before, event));
        if let Some(Opening { attempt, events }) = decision.opening {
            events.into_iter().map(in_session).for_each(|event| self.append(attempt, event));
        }
        for effect in &decision.effects {
            match effect {
                Effect::ArmTimer { interaction_id, .. } => {
                    self.timers.insert(*interaction_id);
                }
                Effect::DisarmTimer { interaction_id } => {
                    self.timers.remove(interaction_id);
                }
                Effect::Start { .. }
                | Effect::WriteInput(_)
                | Effect::EndProcess
                | Effect::InterruptTurn
                | Effect::MakeChild { .. } => {}
            }
        }
        decision.effects
    }

    fn append(&mut self, attempt_number: AttemptNumber, event: ControlEvent) {
        let ControlEvent { level, data, correlation } = event;
        let seq = self.log.len() as u64 + 1;
        let event = Event::control(run_id(), seq, self.now(), EngineName::new("scripted"), data);
        let event = Event { attempt_number, level, correlation, ..event };
        self.state.evolve(&event);
        self.log.push(event);
    }

    fn types(&self) -> Vec<&'static str> {
        self.log.iter().map(|event| event.event_type().as_str()).collect()
    }
}

fn started() -> RunStarted {
    let versions = Versions { skillrun: "0".to_owned(), engine: None, profile: 1 };
    RunStarted::new("scripted", ExecutionMode::Interactive, versions)
}

fn first_message() -> UserMessage {
    UserMessage::new(MessageOrigin::Skill, "Count the words.")
}

fn attempt_started() -> AttemptStarted {
    AttemptStarted { host_pid: Some(1), ..AttemptStarted::new(ProfileId::PlainText, Timestamp::EPOCH) }
}

fn question(interaction_id: u32) -> Pending {
    Pending::open_text(InteractionId(interaction_id), AttemptNumber(1), "?")
}

fn error() -> RunError {
    RunError::new(ErrorCategory::Engine, Code::EngineFailed, "it failed")
}

fn settled(run_status: RunStatus, pending: Option<Pending>) -> Settled {
    let (turn, completion) = (TurnState::Completed, CompletionState::Completed);
    let error = (run_status == RunStatus::Failed).then(error);
    let decided = Verdict::new(Rule::Waiting, turn, completion, Code::CleanFinal, run_status);
    let verdict = Verdict { error, pending, ..decided };
    Settled { verdict, notices: Vec::new(), marker: None, output_errors: Vec::new(), prompt: None }
}

/// What may happen next, as a test names it.
#[derive(Debug, Clone)]
enum Happening {
    Accept,
    HostReady,
    CannotStart,
    Settle(RunStatus),
    Call,
    CallDecided,
    Reply {
        id: u32,
        request: Option<u8>,
    },
    Expire {
        id: u32,
    },
    Cancel,
    Interrupt {
        say: bool,
    },
    Close,
    ProcessGone(SessionLeft),
    /// The open check ends, and the worker does what follows from that.
    CheckEnds(CheckStatus),
}

impl World {
    /// What the gate decides about a turn that would end this way undisturbed. A turn whose own end is not a question
    /// ended before the interrupt.
    fn gate(&self, status: RunStatus) -> Settled {
        let is_conversation = self.options.mode == ExecutionMode::Conversation;
        let status = match self.state.canceling {
            Some(_) => RunStatus::Canceled,
            None if is_conversation => RunStatus::WaitingUser,
            None => status,
        };
        let is_interrupted = self.state.interrupting.is_some() && status == RunStatus::WaitingUser;
        let scope = if is_interrupted || is_conversation { Scope::Prompt } else { Scope::Turn };
        let next = || Pending { scope, ..question(self.state.interactions + 1) };
        let mut settled = settled(status, (status == RunStatus::WaitingUser).then(next));
        if is_interrupted {
            settled.verdict.rule = Rule::Interrupted;
            settled.verdict.turn = TurnState::Interrupted;
        }
        settled
    }

    fn play(&mut self, happening: &Happening) -> Result<Vec<Effect>, Refusal> {
        let facts = FactsFold::default().finish(EndPolicy::Event, AnswerFrom::Only(Stream::Stdout));
        match happening {
            Happening::Accept => self.happens(Input::Accepted(started())),
            Happening::HostReady => {
                self.happens(Input::HostReady { started: attempt_started(), message: first_message() })
            }
            Happening::CannotStart => self.happens(Input::CannotStart(error())),
            Happening::Settle(status) => {
                // The gate gives a canceled run the status of a cancel, and a question the next number.
                let settled = self.gate(*status);
                let status = settled.verdict.run_status;
                let process = match (self.options.continuation, status) {
                    (Continuation::Sticky, RunStatus::WaitingUser) => ProcessLeft::Living,
                    _ => ProcessLeft::Gone,
                };
                self.happens(Input::Settled(SettledAttempt {
                    facts: &facts,
                    settled: &settled,
                    ending: ProcessEnding::new(ProcessExit::Code(0), Some(EndedBy::Exited)),
                    artifacts: Vec::new(),
                    process,
                }))
            }
            Happening::Call => self.happens(Input::CallAsked(Box::new(question(0)))),
            Happening::CallDecided => {
                self.happens(Input::CallDecided { question: Box::new(question(0)), text: "deny".to_owned() })
            }
            Happening::Reply { id, request } => self.happens(Input::Reply {
                interaction_id: InteractionId(*id),
                text: "blue".to_owned(),
                files: Vec::new(),
                request_id: request.map(|request| request.to_string()),
            }),
            Happening::Expire { id } => self.happens(Input::Expired { interaction_id: InteractionId(*id) }),
            Happening::Interrupt { say } => {
                self.happens(Input::Interrupt { by: "test".to_owned(), say: say.then(|| "go on".to_owned()) })
            }
            Happening::Close => self.happens(Input::Close { by: "test".to_owned() }),
            Happening::Cancel => self.happens(Input::Cancel { by: "test".to_owned() }),
            Happening::ProcessGone(session) => self.happens(Input::ProcessGone { session: *session }),
            Happening::CheckEnds(status) => {
                let number = self.state.open_check().unwrap_or(1);
                let mut effects = self.happens(Input::CheckEnded(Box::new(checks::ended(number, *status))))?;
                if next_step(&self.state, None) == RunStep::End {
                    let decision = self.recovery(HostState::Ended, SessionLeft::Lost);
                    effects.extend(self.carry_out(decision));
                }
                Ok(effects)
            }
        }
    }

    fn all(&mut self, happenings: &[Happening]) {
        for happening in happenings {
            self.play(happening).unwrap_or_else(|refusal| panic!("{happening:?}: {refusal}"));
        }
    }

    /// What must hold whatever has happened.
    fn check(&self) {
        let is_end = |event: &&Event| event.data.end().is_some();
        let ends = self.log.iter().filter(is_end).count();
        assert_eq!(ends, usize::from(self.state.is_over()), "{:?}", self.types());
        if ends == 1 {
            assert!(self.log.last().as_ref().is_some_and(is_end), "{:?}", self.types());
            assert_eq!(next_step(&self.state, None), RunStep::Over, "a worker is left");
            assert_eq!(self.timers, BTreeSet::new(), "a timer is left");
            let ended = self.log.iter().filter(|event| event.event_type() == EventType::AttemptEnded).count();
            assert_eq!(ended, self.state.attempt.0 as usize, "every attempt has its turn record");
            assert_eq!(self.results, 1, "one result");
        }
        if let Some(first) = self.log.first() {
            assert_eq!(first.event_type().as_str(), "run.started");
        }
        assert!(self.log.iter().enumerate().all(|(at, event)| event.seq == at as u64 + 1));
        let mut resolutions: BTreeMap<InteractionId, u32> = BTreeMap::new();
        let (mut attempts, mut open) = (0, false);
        let mut questions = 0;
        for event in &self.log {
            if let Data::Control(ControlData::InteractionRequested(question)) = &event.data {
                questions += 1;
                assert_eq!(question.interaction_id, InteractionId(questions), "numbered from 1, each asked once");
            }
            if let Data::Control(ControlData::InteractionReplied(reply)) = &event.data {
                *resolutions.entry(reply.interaction_id).or_default() += 1;
            }
            if let Data::Control(ControlData::AttemptStarted(_)) = &event.data {
                assert!(!open, "an attempt begins before the one before has ended");
                attempts += 1;
                open = true;
                assert_eq!(event.attempt_number, AttemptNumber(attempts));
            }
            if let Data::Control(ControlData::AttemptEnded(_)) = &event.data {
                assert!(open, "an attempt ends that has not begun");
                open = false;
            }
        }
        assert!(resolutions.values().all(|count| *count == 1), "{resolutions:?}");
        assert_eq!(State::of(&self.log), self.state, "the state is the fold over the Log");
        if let Some(question) = &self.state.question
            && !self.state.is_over()
            && self.state.canceling.is_none()
            && self.state.interrupting.is_none()
        {
            assert_eq!(question.deadline.is_some(), self.timers.contains(&question.interaction_id));
        }
        if self.state.status == Some(RunStatus::WaitingUser)
            && self.options.continuation == Continuation::Resumable
            && !self.state.attempt_is_open
        {
            assert_eq!(next_step(&self.state, None), RunStep::Wait, "a run that waits for a person keeps no worker");
        }
    }
}

fn happenings() -> impl Strategy<Value = Happening> {
    // A question is three times as likely as each end.
    let waiting = [RunStatus::WaitingUser; 3];
    let statuses = [&[RunStatus::Succeeded, RunStatus::Failed], &waiting[..]].concat();
    prop_oneof![
        1 => Just(Happening::Accept),
        8 => Just(Happening::HostReady),
        1 => Just(Happening::CannotStart),
        8 => prop::sample::select(statuses).prop_map(Happening::Settle),
        4 => Just(Happening::Call),
        2 => Just(Happening::CallDecided),
        8 => (1..6u32, prop::option::of(0..4u8)).prop_map(|(id, request)| Happening::Reply { id, request }),
        6 => (1..6u32).prop_map(|id| Happening::Expire { id }),
        1 => Just(Happening::Cancel),
        3 => any::<bool>().prop_map(|say| Happening::Interrupt { say }),
        1 => Just(Happening::Close),
        1 => prop::sample::select(vec![SessionLeft::Lost, SessionLeft::Loadable]).prop_map(Happening::ProcessGone),
        6 => prop::sample::select(CheckStatus::ALL).prop_map(Happening::CheckEnds),
    ]
}

fn options() -> impl Strategy<Value = RunOptions> {
    let continuations = vec![Continuation::Resumable, Continuation::Sticky];
    let session_timeout = Duration::from_secs(5);
    let modes = vec![ExecutionMode::Interactive, ExecutionMode::Conversation];
    (prop::sample::select(modes), prop::sample::select(continuations), any::<bool>(), 0..3u32, 0..3u32).prop_map(
        move |(mode, continuation, require_user_reply, auto_decision_limit, checks)| RunOptions {
            mode,
            continuation,
            require_user_reply,
            session_timeout,
            auto_decision_limit,
            quota_wait: None,
            max_children: None,
            checks,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_laws_hold(options in options(), happenings in prop::collection::vec(happenings(), 1..60)) {
        let mut world = World::new(options);
        world.play(&Happening::Accept).expect("accepted");
        for happening in &happenings {
            let before = world.log.len();
            if world.play(happening).is_err() {
                prop_assert_eq!(world.log.len(), before, "a refusal changes nothing");
            }
            world.check();
        }
    }

    #[test]
    fn recovery_always_leads_on(
        options in options(),
        happenings in prop::collection::vec(happenings(), 0..30),
        found in prop::sample::select(vec![HostState::NoClaim, HostState::Alive, HostState::Ended, HostState::Lost]),
        session in prop::sample::select(vec![SessionLeft::Lost, SessionLeft::Loadable]),
    ) {
        let mut world = World::new(options);
        world.play(&Happening::Accept).expect("accepted");
        for happening in &happenings {
            world.play(happening).ok();
        }
        let decision = world.recovery(found, session);
        let waits = world.state.question.is_some();
        let is_started = decision.effects.iter().any(|effect| matches!(effect, Effect::Start { .. }));
        let host = Some(world.state.attempt).filter(|_| found == HostState::Alive);
        let goes_on = is_started || !matches!(next_step(&world.state, host), RunStep::Wait);
        prop_assert!(waits || goes_on, "{:?} would stay forever", world.state.status);
        let had_end = world.state.is_over();
        world.results = 0;
        world.carry_out(decision);
        prop_assert!(!had_end || world.log.last().is_some_and(|event| world.state.last_seq == event.seq));
    }

    /// Whatever part of a batch reached the Log: recovery writes the rest, once, and the laws hold from there on.
    #[test]
    fn a_batch_that_was_cut_anywhere_is_completed(
        options in options(),
        before in prop::collection::vec(happenings(), 0..20),
        last in happenings(),
        kept in 0..6usize,
        after in prop::collection::vec(happenings(), 0..20),
    ) {
        let mut world = World::new(options);
        if !before.is_empty() {
            world.play(&Happening::Accept).expect("accepted");
        }
        before.iter().for_each(|happening| drop(world.play(happening)));
        world.dies_writing(if before.is_empty() { &Happening::Accept } else { &last }, kept);
        let is_kept = options.continuation == Continuation::Sticky && !world.state.process_ended;
        let found = if is_kept || world.state.attempt_is_open { HostState::Alive } else { HostState::Ended };
        let session = SessionLeft::Loadable;
        let decision = world.recovery(found, session);
        world.results = u32::from(world.state.is_over());
        world.carry_out(decision);
        let again = world.recovery(found, session);
        prop_assert_eq!(again.events, vec![], "nothing is left to write: {:?}", world.types());
        prop_assert_eq!(again.opening, None);
        if world.state.last_seq > 0 {
            world.check();
            let expected = match (world.state.attempt_is_open, &world.state.question) {
                (true, None) => vec![RunStatus::Running, RunStatus::WaitingUser],
                (_, Some(_)) => vec![RunStatus::WaitingUser],
                (false, None) if world.state.open_check().is_some() => vec![RunStatus::Running],
                (false, None) => vec![
                    RunStatus::Queued,
                    RunStatus::Succeeded,
                    RunStatus::Closed,
                    RunStatus::Failed,
                    RunStatus::Canceled,
                ],
            };
            prop_assert!(world.state.status.is_some_and(|status| expected.contains(&status)), "{:?}", world.types());
        }
        for happening in &after {
            world.play(happening).ok();
            world.check();
        }
    }
}

fn with(continuation: Continuation, require_user_reply: bool) -> World {
    let options = RunOptions { continuation, require_user_reply, ..RunOptions::default() };
    let mut world = World::new(options);
    world.all(&[Happening::Accept, Happening::HostReady, Happening::Settle(RunStatus::WaitingUser)]);
    world
}

#[test]
fn the_four_cells_of_the_matrix() {
    // Waits indefinitely, slot released.
    let mut world = with(Continuation::Resumable, true);
    assert_eq!((world.timers.len(), next_step(&world.state, None)), (0, RunStep::Wait));
    assert_eq!(world.play(&Happening::Expire { id: 1 }), Err(Refusal::OutOfPlace));
    assert_eq!(world.state.status, Some(RunStatus::WaitingUser));

    // An automatic reply resumes the session.
    let mut world = with(Continuation::Resumable, false);
    assert_eq!((world.timers.len(), next_step(&world.state, None)), (1, RunStep::Wait));
    let effects = world.play(&Happening::Expire { id: 1 }).expect("decided");
    assert!(effects.contains(&Effect::Start { attempt: AttemptNumber(2) }), "{effects:?}");
    let tail = ["interaction.timeout", "interaction.auto_decision", "interaction.replied", "run.status"];
    assert_eq!(world.types()[world.log.len() - 4..], tail);
    assert_eq!((world.state.auto_decisions, world.state.status), (1, Some(RunStatus::Queued)));

    // The process is ended, the run failed.
    let mut world = with(Continuation::Sticky, true);
    assert_eq!((world.timers.len(), next_step(&world.state, Some(AttemptNumber(1)))), (1, RunStep::Between));
    let effects = world.play(&Happening::Expire { id: 1 }).expect("ended");
    assert!(effects.contains(&Effect::EndProcess), "{effects:?}");
    assert_eq!(world.failure(), Code::InteractionWaitTimeout);

    // The automatic reply is written to the running process, and begins its next attempt.
    let mut world = with(Continuation::Sticky, false);
    let effects = world.play(&Happening::Expire { id: 1 }).expect("decided");
    assert!(effects.iter().any(|effect| matches!(effect, Effect::WriteInput(_))), "{effects:?}");
    assert_eq!((world.state.attempt, world.state.status), (AttemptNumber(2), Some(RunStatus::Running)));
}

#[test]
fn a_sticky_process_over_four_attempts() {
    let mut world = with(Continuation::Sticky, true);
    for turn in 2..=4 {
        world.all(&[Happening::Reply { id: turn - 1, request: None }]);
        assert_eq!(world.state.attempt, AttemptNumber(turn));
        let status = if turn == 4 { RunStatus::Succeeded } else { RunStatus::WaitingUser };
        world.all(&[Happening::Settle(status)]);
        world.check();
    }
    assert_eq!(world.state.status, Some(RunStatus::Succeeded));
}

#[test]
fn a_lost_process_fails_the_run_unless_its_session_loads() {
    let mut world = with(Continuation::Sticky, true);
    world.all(&[Happening::ProcessGone(SessionLeft::Lost)]);
    assert_eq!(world.failure(), Code::SessionLost);

    let gone = Happening::ProcessGone(SessionLeft::Loadable);
    let mut world = with(Continuation::Sticky, true);
    assert!(!world.state.rests());
    world.all(std::slice::from_ref(&gone));
    assert_eq!((next_step(&world.state, None), world.timers.len()), (RunStep::Wait, 1));
    let said = world.log.len();
    world.all(&[gone]);
    assert_eq!(world.log.len(), said, "it is said once");
    let effects = world.play(&Happening::Reply { id: 1, request: None }).expect("answered");
    assert!(effects.contains(&Effect::Start { attempt: AttemptNumber(2) }), "{effects:?}");
    assert_eq!(world.state.status, Some(RunStatus::Queued));
    world.all(&[Happening::HostReady]);
    assert!(!world.state.process_ended, "another process works on it");
    world.all(&[Happening::Settle(RunStatus::Succeeded)]);
    world.check();

    // An owner that died after the answer finds the process gone.
    let mut world = with(Continuation::Sticky, true);
    world.dies_writing(&Happening::Reply { id: 1, request: None }, 1);
    let after = |session| recover(&world.state, world.options, run_id(), world.now(), HostState::Ended, session);
    assert_eq!(after(SessionLeft::Loadable).effects, [Effect::Start { attempt: AttemptNumber(2) }]);
    let types: Vec<_> = after(SessionLeft::Lost).events.iter().map(|event| event.data.event_type().as_str()).collect();
    assert_eq!(types, ["run.failed"]);
}

#[test]
fn the_same_request_has_one_effect_and_the_same_answer() {
    let mut world = with(Continuation::Resumable, true);
    world.all(&[Happening::Reply { id: 1, request: Some(7) }]);
    let again = Happening::Reply { id: 1, request: Some(7) };
    assert_eq!(world.play(&again), Err(Refusal::Repeated { interaction_id: InteractionId(1) }));
    let other = Happening::Reply { id: 1, request: Some(8) };
    assert_eq!(world.play(&other), Err(Refusal::Stale { asked: InteractionId(1), open: None }));
    world.all(&[Happening::HostReady, Happening::Settle(RunStatus::Succeeded)]);
    assert_eq!(world.play(&again), Err(Refusal::Repeated { interaction_id: InteractionId(1) }));
    assert_eq!(world.play(&other), Err(Refusal::Over));
}

#[test]
fn reply_and_expiry_race_and_one_wins() {
    let mut world = with(Continuation::Resumable, false);
    world.all(&[Happening::Reply { id: 1, request: None }]);
    assert_eq!(world.play(&Happening::Expire { id: 1 }), Err(Refusal::Stale { asked: InteractionId(1), open: None }));
    let late = Refusal::Stale { asked: InteractionId(1), open: Some(InteractionId(2)) };
    assert_eq!(late.to_string(), "question 1 is not open; question 2 is");
    let mut world = with(Continuation::Resumable, false);
    world.all(&[Happening::Expire { id: 1 }]);
    assert_eq!(
        world.play(&Happening::Reply { id: 1, request: None }),
        Err(Refusal::Stale { asked: InteractionId(1), open: None })
    );
}

#[test]
fn a_cancel_ends_a_waiting_run_now_and_a_running_one_settled() {
    let mut world = with(Continuation::Sticky, true);
    let effects = world.play(&Happening::Cancel).expect("canceled");
    assert!(effects.contains(&Effect::EndProcess));
    assert_eq!(world.state.status, Some(RunStatus::Canceled));
    world.check();

    let mut world = World::new(RunOptions::default());
    world.all(&[Happening::Accept, Happening::HostReady, Happening::Cancel]);
    assert_eq!(world.state.status, Some(RunStatus::Running));
    world.all(&[Happening::Settle(RunStatus::Succeeded)]);
    assert_eq!(world.state.status, Some(RunStatus::Canceled));
    world.check();
}

#[test]
fn policies_decide_and_a_model_cannot_abort() {
    let expired = |kind, policy, source, options: Vec<AskOption>| {
        let mut world = with(Continuation::Resumable, false);
        let asked = world.state.question.take().expect("a question");
        let (default_decision_policy, policy_source) = (policy, source);
        world.state.question = Some(Pending { kind, default_decision_policy, policy_source, options, ..asked });
        let expired = Input::Expired { interaction_id: InteractionId(1) };
        let decision = decide(&world.state, world.options, run_id(), world.now(), expired).expect("decided");
        decision.events.into_iter().find_map(|event| {
            let ControlData::AutoDecision(decided) = event.data else { return None };
            Some((decided.policy, decided.instruction))
        })
    };
    let option = |value: &str, default| AskOption { value: value.to_owned(), label: String::new(), default };
    let open = InteractionKind::OpenText;
    assert_eq!(expired(open, DecisionPolicy::Abort, PolicySource::Request, vec![]), None);
    assert_eq!(expired(open, DecisionPolicy::Abort, PolicySource::Skill, vec![]), None);
    let judged = expired(open, DecisionPolicy::Abort, PolicySource::Model, vec![]).expect("decided");
    assert_eq!(judged.0, DecisionPolicy::EngineJudgement);
    let options = vec![option("red", false), option("blue", true)];
    let chosen = expired(open, DecisionPolicy::SafeDefault, PolicySource::Model, options).expect("decided");
    let words = "No answer came in time. The default was taken: blue";
    assert_eq!(chosen, (DecisionPolicy::SafeDefault, words.to_owned()), "no agent takes it for a person's word");
    let none = expired(open, DecisionPolicy::SafeDefault, PolicySource::Model, vec![option("red", false)]);
    assert!(none.is_some_and(|(policy, words)| policy == DecisionPolicy::EngineJudgement && words.contains("default")));
    let risk = vec![option("yes", true)];
    let risk = expired(InteractionKind::RiskAck, DecisionPolicy::SafeDefault, PolicySource::Request, risk);
    assert!(risk.is_some_and(|(_, words)| words.contains("not acknowledged")));
}

#[test]
fn after_so_many_decisions_of_its_own_the_run_ends() {
    let options = RunOptions { require_user_reply: false, auto_decision_limit: 1, ..RunOptions::default() };
    let mut world = World::new(options);
    world.all(&[Happening::Accept, Happening::HostReady, Happening::Settle(RunStatus::WaitingUser)]);
    world.all(&[Happening::Expire { id: 1 }, Happening::HostReady, Happening::Settle(RunStatus::WaitingUser)]);
    world.all(&[Happening::Expire { id: 2 }]);
    assert_eq!(world.failure(), Code::AutoDecisionLimit);
    let modes: Vec<_> = world
        .log
        .iter()
        .filter_map(|event| {
            let Data::Control(ControlData::InteractionReplied(reply)) = &event.data else { return None };
            Some(reply.resolution_mode)
        })
        .collect();
    assert_eq!(modes, [ResolutionMode::AutoDecideTimeout]);
}

#[test]
fn a_batch_cut_after_the_turn_record_is_completed() {
    let world = with(Continuation::Resumable, false);
    let cut = world.log.iter().position(|event| event.event_type() == EventType::AttemptEnded).expect("a turn record");
    let state = State::of(&world.log[..=cut]);
    assert!(state.is_unfinished);
    let decision = recover(&state, world.options, run_id(), world.now(), HostState::Ended, SessionLeft::Lost);
    let types: Vec<_> = decision.events.iter().map(|event| event.data.event_type().as_str()).collect();
    assert_eq!(types, ["interaction.requested", "run.status"]);
    assert_ne!(next_step(&state, None), RunStep::Settle, "it is never settled again");
}

/// Regression: an owner died after the turn record; a client that canceled before the run was recovered died while it
/// wrote the cancel; the run then ended with the verdict of the turn (found by the simulation).
#[test]
fn a_cancel_between_a_turn_and_the_end_of_its_run_counts() {
    for status in [RunStatus::Succeeded, RunStatus::Failed, RunStatus::WaitingUser] {
        let mut world = World::new(RunOptions::default());
        world.all(&[Happening::Accept, Happening::HostReady]);
        world.dies_writing(&Happening::Settle(status), 1);
        assert!(world.state.is_unfinished, "{:?}", world.types());
        world.dies_writing(&Happening::Cancel, 1);
        assert!(world.state.canceling.is_some() && !world.state.is_over(), "{:?}", world.types());
        let decision = world.recovery(HostState::Ended, SessionLeft::Lost);
        world.carry_out(decision);
        assert_eq!(world.state.status, Some(RunStatus::Canceled), "{:?}", world.types());
    }
}

/// Regression: the answer was in the Log, its owner and then the process that waited for it died, and the owner that
/// started the next process did not know that there was one before, whose files it refused to touch (found by the
/// simulation).
#[test]
fn a_process_that_died_after_its_answer_is_known_to_be_gone() {
    for kept in [1, 2] {
        let mut world = with(Continuation::Sticky, true);
        world.dies_writing(&Happening::Reply { id: 1, request: None }, kept);
        let options = world.options;
        let decision = recover(&world.state, options, run_id(), world.now(), HostState::Ended, SessionLeft::Loadable);
        assert_eq!(decision.effects, [Effect::Start { attempt: AttemptNumber(2) }]);
        world.carry_out(decision);
        assert_eq!((world.state.status, world.state.process_ended), (Some(RunStatus::Queued), true));
        assert!(world.state.reply.is_some(), "the next process begins with the answer");
    }
}

/// Regression: the answer that a process was started with was also written to it by the next owner, where the engine
/// has an open standard input (found by the simulation).
#[test]
fn what_a_process_was_started_with_is_not_written_to_it() {
    let mut world = with(Continuation::Resumable, true);
    world.all(&[Happening::Reply { id: 1, request: None }, Happening::HostReady]);
    let after = |world: &World| {
        recover(&world.state, world.options, run_id(), world.now(), HostState::Alive, SessionLeft::Lost).effects
    };
    assert_eq!(after(&world), []);
    assert_eq!(next_step(&world.state, Some(AttemptNumber(2))), RunStep::Follow);
    world.all(&[Happening::Call, Happening::Reply { id: 2, request: None }]);
    assert!(after(&world).iter().any(|effect| matches!(effect, Effect::WriteInput(_))), "a question inside a turn");
}

/// Regression: an owner died after a cancel of a run that asks inside a turn; its process kept waiting until the
/// deadline of the question, and longer (found by the simulation).
#[test]
fn recovery_of_a_cancel_ends_a_process_that_asks() {
    let mut world = World::new(RunOptions::default());
    world.all(&[Happening::Accept, Happening::HostReady, Happening::Call, Happening::Cancel]);
    assert_eq!(world.state.status, Some(RunStatus::WaitingUser));
    let decision = recover(&world.state, world.options, run_id(), world.now(), HostState::Alive, SessionLeft::Lost);
    assert_eq!(decision.effects, [Effect::EndProcess]);
}

/// Regression: an owner ended a process at the deadline of its question and was killed before this was in the Log; the
/// next owner concluded that the process had died by itself (found by `make kills`).
#[test]
fn a_process_ended_at_its_deadline_is_not_a_lost_session() {
    let world = with(Continuation::Sticky, true);
    let deadline = world.state.question.as_ref().and_then(|question| question.deadline).expect("a deadline");
    for (now, code) in [(world.now(), Code::SessionLost), (deadline, Code::InteractionWaitTimeout)] {
        let decision = recover(&world.state, world.options, run_id(), now, HostState::Ended, SessionLeft::Lost);
        let Some(ControlData::RunFailed(failed)) = decision.events.last().map(|event| &event.data) else {
            panic!("no end")
        };
        assert_eq!(failed.error.code, code);
    }
}

/// Regression: an owner died after the turn record of a process that waits between turns, and then the process died;
/// the run waited for an answer that no process could receive (found by the simulation).
#[test]
fn a_question_is_not_put_for_a_process_that_is_gone() {
    for kept in [1, 2] {
        let world = |session| {
            let options = RunOptions { continuation: Continuation::Sticky, ..RunOptions::default() };
            let mut world = World::new(options);
            world.all(&[Happening::Accept, Happening::HostReady]);
            world.dies_writing(&Happening::Settle(RunStatus::WaitingUser), kept);
            let decision = world.recovery(HostState::Lost, session);
            world.carry_out(decision);
            world
        };
        let lost = world(SessionLeft::Lost);
        assert_eq!(lost.failure(), Code::SessionLost);
        lost.check();
        let loadable = world(SessionLeft::Loadable);
        assert!(loadable.state.rests(), "{:?}", loadable.types());
        loadable.check();
    }
}

/// An owner died after `attempt.started` and before it sent the start to the host, and then the run was canceled.
#[test]
fn nothing_is_begun_after_a_cancel() {
    let mut world = World::new(RunOptions::default());
    world.all(&[Happening::Accept, Happening::HostReady, Happening::Cancel]);
    let decision = recover(&world.state, world.options, run_id(), world.now(), HostState::NoClaim, SessionLeft::Lost);
    assert_eq!((decision.effects, next_step(&world.state, None)), (vec![], RunStep::Settle));
}

/// Regression: an owner ended a process that waited and died before the Log had the reason; an answer that came before
/// the process was gone opened an attempt that counted as canceled (found by the simulation).
#[test]
fn after_the_reason_of_its_end_a_run_takes_no_answer() {
    for (input, status) in [
        (Input::Cancel { by: "a user".to_owned() }, RunStatus::Canceled),
        (Input::Expired { interaction_id: InteractionId(1) }, RunStatus::Failed),
    ] {
        let mut world = with(Continuation::Sticky, true);
        let mut reason = decide(&world.state, world.options, run_id(), world.now(), input).expect("decided");
        let end = reason.take_end().expect("an end");
        assert_eq!((reason.events.len(), reason.effects.len(), end.events.len()), (1, 0, 1));
        world.carry_out(reason);
        assert!(world.state.lacks_end() && !world.state.rests());
        let answered = world.play(&Happening::Reply { id: 1, request: None });
        assert!(matches!(answered, Err(Refusal::Stale { .. })), "{answered:?}");
        let host = Some(AttemptNumber(2));
        assert_eq!((next_step(&world.state, host), next_step(&world.state, None)), (RunStep::End, RunStep::End));
        let again = recover(&world.state, world.options, run_id(), world.now(), HostState::Alive, SessionLeft::Lost);
        assert_eq!((&again.events, again.effects.first()), (&end.events, Some(&Effect::EndProcess)));
        world.carry_out(again);
        assert_eq!((world.state.status, world.state.lacks_end()), (Some(status), false));
    }
}
