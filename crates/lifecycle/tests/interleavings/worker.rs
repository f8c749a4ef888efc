//! The owner at work on a run that has a process, or is about to. Mirrors `runtime/src/worker.rs`, `worker/` and
//! `judge.rs`.

use skillrun_lifecycle::closing::ProcessEnding;
use skillrun_lifecycle::run::{Effect, GivenReply, HostState, Input, ProcessLeft, SessionLeft, SettledAttempt};
use skillrun_lifecycle::{Control, settle};
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::interaction::{
    AskOption, DecisionPolicy, InteractionKind, OnDeadline, Pending, PolicySource, Scope,
};
use skillrun_model::rasp::data::{AttemptStarted, EnginePhase};
use skillrun_model::rasp::{Correlation, Data, Event, EvidenceData, Level, RawRef, SourceStream};
use skillrun_model::status::{Continuation, Phase as Said};
use skillrun_model::verdict::RunError;
use skillrun_model::{AttemptNumber, EndedBy, ExecutionMode, InteractionId, ProfileId, RunStatus};

use crate::disk::Durability;
use crate::evidence::{Line, Schema, end_of, facts};
use crate::faults::Fault;
use crate::host::{Answered, Ask, Given};
use crate::laws::{Broken, Law, fingerprint};
use crate::owner::{After, At, Hand};
use crate::world::World;

/// What the host received about the end of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnReport {
    Nothing,
    Over,
    Next,
}

/// A loop of the worker: a worker that is asked to go where it already is stays there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inside {
    Nothing,
    Follow,
    Between,
}

fn after(attempt: AttemptNumber) -> AttemptNumber {
    AttemptNumber(attempt.0 + 1)
}

impl World {
    /// One piece of work.
    pub(crate) fn work(&mut self) -> Result<(), Broken> {
        let hand = self.hand();
        match &mut hand.at {
            At::Look => self.look(),
            At::Write(_) => self.write(),
            At::Effects(doing) => match doing.left.pop_front() {
                Some(effect) => {
                    self.carry_out(&effect)?;
                    self.do_what_is_in_memory()
                }
                None => self.after_effects(),
            },
            At::Start(attempt) => {
                let attempt = *attempt;
                self.start(attempt)
            }
            At::EnterFollow => self.enter_follow(),
            At::Settle => self.settle(),
            At::EnterBetween => {
                let deadline = self.deadline();
                self.narrate(|| "the owner waits with the process".to_owned());
                let hand = self.hand();
                (hand.at, hand.inside) = (At::Between, Inside::Between);
                self.ask(Ask::Wait(deadline))
            }
            At::Follow | At::Between | At::SeeOut => Ok(()),
            At::Rest => {
                self.rest();
                Ok(())
            }
        }
    }

    /// Sends a request to the attached host, if there is one.
    pub(crate) fn ask(&mut self, ask: Ask) -> Result<(), Broken> {
        let ends = matches!(ask, Ask::Cancel | Ask::CloseStdin | Ask::TurnOver);
        if ends && self.fault == Some(Fault::NeverEnds) && ask == Ask::Cancel {
            return Ok(());
        }
        if ends && !self.may_end() {
            return Err(Law::NoCause.broken(format!("the owner sends {ask:?}")));
        }
        self.hosts.ask(self.now, ask);
        self.look_at_processes()
    }

    fn deadline(&mut self) -> Option<u64> {
        let timer = self.hand().timer?;
        Some(self.moment(timer.at) - self.now)
    }

    /// Determines what is left of the last attempt, and asks the reducer what to do.
    pub(crate) fn look(&mut self) -> Result<(), Broken> {
        let is_sticky = self.scene.options.continuation == Continuation::Sticky;
        let state = &self.hand().state;
        let (last, is_open) = (state.attempt, state.attempt_is_open);
        let waits_between = !is_open
            && !state.is_over()
            && last != AttemptNumber::BEFORE_FIRST
            && is_sticky
            && state.status != Some(RunStatus::Queued);
        let has_session = state.session_id.is_some();
        let found = if is_open {
            self.look_at(last)
        } else if waits_between {
            self.look_at(after(last))
        } else {
            HostState::Ended
        };
        self.tally.mark(match found {
            HostState::NoClaim => "found: nothing",
            HostState::Alive => "found: a living host",
            HostState::Ended => "found: a record",
            HostState::Lost => "found: a host that was lost",
        });
        let session = match found {
            HostState::Alive => SessionLeft::Lost,
            HostState::NoClaim | HostState::Ended | HostState::Lost if has_session => self.scene.session,
            HostState::NoClaim | HostState::Ended | HostState::Lost => SessionLeft::Lost,
        };
        self.narrate(|| format!("the owner looks: {found:?}"));
        self.recover(found, session, After::Next)
    }

    fn look_at(&mut self, attempt: AttemptNumber) -> HostState {
        if self.fault == Some(Fault::StartsAgain) {
            return HostState::NoClaim;
        }
        if self.attach(attempt) {
            return HostState::Alive;
        }
        let left = self.hosts.attempt(attempt.0).clone();
        match left.record {
            Some(record) => {
                if record.continues {
                    self.attach(after(attempt));
                }
                HostState::Ended
            }
            None if left.is_claimed => HostState::Lost,
            None => HostState::NoClaim,
        }
    }

    /// Whether a running host has the attempt; then the owner attaches to it.
    fn attach(&mut self, attempt: AttemptNumber) -> bool {
        let sees = self.fault != Some(Fault::StartsAgain);
        let host = self.hosts.living.as_mut().filter(|host| host.attempt == attempt.0 && sees);
        let Some(host) = host else { return false };
        host.alone_since = None;
        let number = host.number;
        self.hand().host = Some(number);
        true
    }

    /// An effect that reaches another process.
    pub(crate) fn carry_out(&mut self, effect: &Effect) -> Result<(), Broken> {
        match effect {
            Effect::WriteInput(reply) => self.give(reply),
            Effect::EndProcess => self.end_process(),
            Effect::Enqueue { .. }
            | Effect::ArmTimer { .. }
            | Effect::DisarmTimer { .. }
            | Effect::ReleaseSlot
            | Effect::WriteResult
            | Effect::Adopt { .. }
            | Effect::Settle { .. } => Ok(()),
        }
    }

    fn give(&mut self, reply: &GivenReply) -> Result<(), Broken> {
        if self.hand().host.is_none() {
            return Ok(());
        }
        let given = Given { interaction: reply.interaction_id.0, text: fingerprint(&reply.text) };
        // A process that was started with the answer does not receive it again. The shell can determine that only for
        // processes that wait between turns.
        let attempt = self.hand().state.attempt.0;
        let is_sticky = self.scene.options.continuation == Continuation::Sticky;
        if reply.scope == Scope::Turn && is_sticky && self.hosts.attempt(attempt).has_opening {
            return Ok(());
        }
        if self.laws.was_given(given.interaction) {
            self.tally.mark("an answer is written twice");
        }
        self.narrate(|| format!("the owner gives the answer to question {} to the process", given.interaction));
        self.ask(Ask::GoOn)?;
        self.ask(Ask::Input(given))
    }

    pub(crate) fn end_process(&mut self) -> Result<(), Broken> {
        let hand = self.hand();
        if hand.host.is_none() {
            return Ok(());
        }
        let is_wanted = hand.state.canceling.is_some() || hand.state.failing.is_some();
        if is_wanted {
            hand.is_ending = true;
            self.narrate(|| "the owner ends the process".to_owned());
            return self.ask(Ask::Cancel);
        }
        self.narrate(|| "the owner closes the input of the process".to_owned());
        self.ask(Ask::CloseStdin)?;
        self.ask(Ask::TurnOver)
    }

    /// All effects of the decision have been carried out.
    pub(crate) fn after_effects(&mut self) -> Result<(), Broken> {
        let At::Effects(doing) = std::mem::replace(&mut self.hand().at, At::Rest) else { return Ok(()) };
        let (told, after) = (doing.told, doing.after);
        let status = self.hand().state.status;
        match after {
            After::Begin => self.go(At::EnterFollow),
            After::Asked => {
                self.hand().at = At::Follow;
                if status == Some(RunStatus::WaitingUser) {
                    let deadline = self.deadline();
                    return self.ask(Ask::Wait(deadline));
                }
            }
            After::Settled => {
                let is_sticky = self.scene.options.continuation == Continuation::Sticky;
                let is_gone = self.hand().host.is_none();
                if status == Some(RunStatus::WaitingUser) && is_gone && is_sticky {
                    return self.process_gone();
                }
                let next = told.unwrap_or_else(|| self.next());
                self.go(next);
            }
            After::Next | After::Enqueue | After::Desk | After::TakeUp => {
                let next = told.unwrap_or_else(|| self.next());
                self.go(next);
            }
        }
        Ok(())
    }

    /// The next step according to the state.
    pub(crate) fn next(&mut self) -> At {
        let hand = self.hand();
        let (state, has_host) = (&hand.state, hand.host.is_some());
        if state.is_over() {
            return if has_host { At::SeeOut } else { At::Rest };
        }
        if state.attempt_is_open {
            return if has_host { At::EnterFollow } else { At::Settle };
        }
        match state.status {
            Some(RunStatus::WaitingUser) if has_host => At::EnterBetween,
            Some(RunStatus::WaitingUser) => At::Rest,
            Some(RunStatus::Queued | RunStatus::Running) => At::Start(after(state.attempt)),
            Some(RunStatus::Succeeded | RunStatus::Failed | RunStatus::Canceled) | None => At::Rest,
        }
    }

    /// Moves there; a worker that is already there continues as before.
    pub(crate) fn go(&mut self, at: At) {
        let hand = self.hand();
        (hand.at, hand.inside) = match (at, hand.inside) {
            (At::EnterFollow, Inside::Follow) => (At::Follow, Inside::Follow),
            (At::EnterBetween, Inside::Between) => (At::Between, Inside::Between),
            (at, _) => (at, Inside::Nothing),
        };
    }

    /// The worker leaves the run.
    fn rest(&mut self) {
        let hand = self.hand();
        let (waits, timer) = (hand.state.status == Some(RunStatus::WaitingUser), hand.timer);
        if waits && timer.is_none() {
            self.tally.mark("a run waits without a limit");
        }
        self.put_down();
        let desk = self.desk();
        desk.again_at = None;
        if waits {
            desk.timer = timer;
        }
    }

    fn is_restarted(&mut self, attempt: AttemptNumber) -> bool {
        let state = &self.hand().state;
        state.attempt_is_open && state.attempt == attempt
    }

    fn start(&mut self, attempt: AttemptNumber) -> Result<(), Broken> {
        let is_restarted = self.is_restarted(attempt);
        self.narrate(|| format!("the owner starts attempt {attempt}"));
        if !self.attach(attempt) {
            let left = self.hosts.attempt(attempt.0).clone();
            if left.record.is_some() || left.is_claimed {
                self.free(attempt)?;
            }
            let words = self.hand().state.reply.as_ref().filter(|reply| reply.scope == Scope::Turn);
            let words =
                words.map(|reply| Given { interaction: reply.interaction_id.0, text: fingerprint(&reply.text) });
            let Some(number) = self.hosts.start(attempt.0, self.now, words) else {
                return Err(Law::OneProcess.broken(format!("attempt {attempt} is started beside another")));
            };
            self.hand().host = Some(number);
        }
        if is_restarted {
            self.go(At::EnterFollow);
            return Ok(());
        }
        if self.disk.state.not_before.is_some_and(|at| at > self.latest) {
            return Err(Law::TooEarly.broken(format!("attempt {attempt} begins")));
        }
        let started = AttemptStarted {
            profile: ProfileId::PlainText,
            profile_version: 1,
            engine_version: None,
            host_pid: Some(1),
            started_at: self.wall(),
        };
        let ready = self.decide(Input::HostReady(started), None, After::Begin)?;
        ready.map_err(|refusal| Law::CannotBegin.broken(format!("attempt {attempt}: {refusal}")))
    }

    /// What is left of an attempt that the Log does not contain.
    fn free(&mut self, attempt: AttemptNumber) -> Result<(), Broken> {
        if self.fault == Some(Fault::StartsAgain) {
            self.hosts.put_aside(attempt.0);
            return Ok(());
        }
        if self.hand().state.process_ended {
            self.tally.mark("what a process left is put aside");
            self.hosts.put_aside(attempt.0);
            return Ok(());
        }
        match self.hosts.withdraw(attempt.0) {
            Answered::Done => Ok(()),
            Answered::Refused => Err(Law::CannotBegin.broken(format!("attempt {attempt} has files of another"))),
        }
    }

    /// The engine is no longer available.
    pub(crate) fn start_fails(&mut self) -> Result<(), Broken> {
        let At::Start(attempt) = self.hand().at else { return Ok(()) };
        self.narrate(|| format!("attempt {attempt} cannot be started"));
        if self.hosts.living.is_some() {
            return self.start(attempt);
        }
        if self.is_restarted(attempt) {
            self.go(At::Settle);
            return Ok(());
        }
        let error = RunError {
            category: ErrorCategory::Host,
            code: Code::HostError,
            message: "it cannot".to_owned(),
            details: Vec::new(),
            reset_at: None,
        };
        let failed = self.decide(Input::CannotStart(error), None, After::Next)?;
        failed.map_err(|refusal| Law::CannotBegin.broken(format!("attempt {attempt}: {refusal}")))
    }

    fn enter_follow(&mut self) -> Result<(), Broken> {
        let read = self.disk.evidence;
        let hand = self.hand();
        (hand.at, hand.inside) = (At::Follow, Inside::Follow);
        (hand.told, hand.read) = (TurnReport::Nothing, read);
        let waits = hand.state.status == Some(RunStatus::WaitingUser);
        let deadline = self.deadline();
        self.narrate(|| "the owner follows the process".to_owned());
        self.ask(Ask::Start)?;
        if waits { self.ask(Ask::Wait(deadline)) } else { Ok(()) }
    }

    fn is_gone(&self, hand: &Hand) -> bool {
        hand.host.is_none_or(|number| !self.hosts.lives(number))
    }

    /// The host has something to report, or has closed the connection.
    pub(crate) fn has_news(&self, hand: &Hand) -> bool {
        if self.is_gone(hand) {
            return true;
        }
        if !matches!(hand.at, At::Follow) {
            return false;
        }
        let Some(host) = &self.hosts.living else { return true };
        let number = hand.state.attempt.0;
        let lines = self.hosts.lines(number);
        host.attempt != number
            || lines.len() > hand.read
            || (end_of(lines).is_some() && hand.told == TurnReport::Nothing && !hand.is_ending)
            || self.has_call(hand, lines)
    }

    /// A question inside the turn can be asked.
    fn has_call(&self, hand: &Hand, lines: &[Line]) -> bool {
        let asked = lines.iter().filter(|line| **line == Line::Asked).count();
        let state = &hand.state;
        asked > state.calls as usize
            && state.status == Some(RunStatus::Running)
            && state.question.is_none()
            && state.canceling.is_none()
    }

    /// Reads from the host, and does the first thing that follows.
    pub(crate) fn poll_host(&mut self) -> Result<(), Broken> {
        let owner = self.owner.as_ref().expect("an owner");
        let hand = owner.hand.as_ref().expect("a run in hand");
        let is_gone = self.is_gone(hand);
        if matches!(hand.at, At::Between) {
            self.narrate(|| "the process that should have waited is gone".to_owned());
            self.tally.mark("a process that waited is gone");
            self.hand().host = None;
            return self.process_gone();
        }
        if matches!(hand.at, At::SeeOut) {
            self.hand().host = None;
            self.go(At::Rest);
            return Ok(());
        }
        let attempt = hand.state.attempt;
        if is_gone {
            self.narrate(|| "the host has closed the connection".to_owned());
            self.hand().host = None;
            let left = self.hosts.attempt(attempt.0);
            let at = if left.is_claimed { At::Settle } else { At::Start(attempt) };
            self.go(at);
            return Ok(());
        }
        if self.hosts.living.as_ref().is_some_and(|host| host.attempt != attempt.0) {
            self.go(At::Settle);
            return Ok(());
        }
        if self.hosts.lines(attempt.0).len() > hand.read {
            self.append_lines()?;
        }
        let hand = self.hand();
        let is_told = hand.told != TurnReport::Nothing || hand.is_ending;
        let lines = self.hosts.lines(attempt.0);
        if end_of(lines).is_some() && !is_told {
            return self.report_turn_end(attempt);
        }
        let hand = self.owner.as_ref().and_then(|owner| owner.hand.as_ref());
        if hand.is_some_and(|hand| self.has_call(hand, lines)) { self.ask_next() } else { Ok(()) }
    }

    /// Events from the output of the process. They can be recreated, so nothing waits for the disk.
    fn append_lines(&mut self) -> Result<(), Broken> {
        let (run_id, ts, source) = (self.run_id, self.wall(), self.source(SourceStream::Stdout));
        let hand = self.hand();
        let (attempt, read) = (hand.state.attempt, hand.read);
        let count = self.hosts.lines(attempt.0).len();
        self.narrate(|| format!("the owner reads {} lines", count - read));
        for at in read..count {
            let phase = EnginePhase { phase: Some(Said::Working), detail: None };
            let place = at as u64;
            let hand = self.hand();
            let event = Event {
                run_id,
                seq: hand.state.last_seq + 1 + hand.skipped,
                ts,
                attempt_number: hand.numbered,
                source: source.clone(),
                level: Level::Info,
                data: Data::Evidence(EvidenceData::RunStatus(phase)),
                correlation: Correlation { session_id: Some("s".into()), ..Correlation::default() },
                raw_ref: RawRef { stdout_from: place, stdout_to: place + 1, ..RawRef::default() },
            };
            if self.disk.evidence != at {
                return Err(
                    Law::Evidence.broken(format!("line {at} of attempt {attempt} after {}", self.disk.evidence))
                );
            }
            let hand = self.hand();
            hand.state.evolve(&event);
            hand.read = at + 1;
            self.append(event, Durability::Derived)?;
        }
        Ok(())
    }

    /// Reports to the host that the turn is over.
    fn report_turn_end(&mut self, attempt: AttemptNumber) -> Result<(), Broken> {
        if self.hand().state.question.is_some() {
            self.ask(Ask::GoOn)?;
        }
        if !self.scene.goes_on() {
            self.hand().told = TurnReport::Over;
            self.narrate(|| "the owner reports to the host that the turn is over".to_owned());
            self.ask(Ask::CloseStdin)?;
            return self.ask(Ask::TurnOver);
        }
        self.hand().told = TurnReport::Next;
        self.narrate(|| "the owner asks for the next attempt".to_owned());
        let is_changing = self.hosts.living.as_ref().is_some_and(|host| host.is_changing);
        let answered = self.hosts.ask(self.now, Ask::Next(attempt.0 + 1));
        let leaves = !is_changing || self.fault == Some(Fault::TakesChangingForLeaving);
        if answered == Answered::Refused && leaves {
            self.hand().told = TurnReport::Over;
            self.ask(Ask::CloseStdin)?;
            return self.ask(Ask::TurnOver);
        }
        Ok(())
    }

    /// Asks the next question of the turn.
    fn ask_next(&mut self) -> Result<(), Broken> {
        self.tally.mark("a question inside a turn");
        self.narrate(|| "the owner asks the question of the process".to_owned());
        let question = Box::new(self.call());
        let asked = match self.scene.mode {
            ExecutionMode::Interactive => self.decide(Input::CallAsked(question), None, After::Asked)?,
            ExecutionMode::Auto => {
                let text = "deny".to_owned();
                self.decide(Input::CallDecided { question, text }, None, After::Asked)?
            }
        };
        asked.map_err(|refusal| Law::RightQuestion.broken(format!("it is refused: {refusal}")))
    }

    fn call(&mut self) -> Pending {
        let (default_decision_policy, policy_source) = match self.scene.policy {
            Some(policy) => (policy, PolicySource::Request),
            None => (DecisionPolicy::SafeDefault, PolicySource::Default),
        };
        Pending {
            interaction_id: InteractionId(0),
            scope: Scope::Call,
            kind: InteractionKind::Confirm,
            prompt: "?".to_owned(),
            options: vec![AskOption { value: "deny".to_owned(), label: String::new(), default: true }],
            ui_hints: None,
            default_decision_policy,
            policy_source,
            context: None,
            deadline: None,
            on_deadline: OnDeadline::Wait,
            source_attempt: self.hand().state.attempt,
        }
    }

    pub(crate) fn process_gone(&mut self) -> Result<(), Broken> {
        let has_session = self.hand().state.session_id.is_some();
        let session = if has_session { self.scene.session } else { SessionLeft::Lost };
        if self.decide(Input::ProcessGone { session }, None, After::Next)?.is_err() {
            let next = self.next();
            self.go(next);
        }
        Ok(())
    }

    /// Reads the rest of the evidence, and runs the gate.
    fn settle(&mut self) -> Result<(), Broken> {
        let attempt = self.hand().state.attempt;
        let known = self.disk.evidence;
        self.hand().read = known;
        if self.hosts.lines(attempt.0).len() > known {
            self.append_lines()?;
        }
        let record = self.hosts.record(attempt.0);
        let facts = facts(self.hosts.lines(attempt.0), record);
        let scene = self.scene;
        let hides = self.fault == Some(Fault::HidesTheCancel);
        let state = &self.hand().state;
        let unanswered = state.failing.is_some() && state.canceling.is_none();
        let ended_by = match record.ended_by {
            Some(EndedBy::Canceled) if unanswered => Some(EndedBy::WaitTimeout),
            other => other,
        };
        let is_canceled = state.canceling.is_some() || ended_by == Some(EndedBy::Canceled);
        let control = Control {
            mode: scene.mode,
            attempt,
            max_attempt: scene.max_attempt,
            require_marker: false,
            continuation: scene.options.continuation,
            known_session: state.session_id.as_deref(),
            cancel_recorded: is_canceled && !hides,
            ended_by,
            exit: record.process_exit(),
            host_words: None,
            schema: Some(&Schema),
            next_interaction: InteractionId(state.interactions + 1),
            request_policy: scene.policy,
            skill_policy: None,
        };
        let settled = settle(&facts, &control);
        let process = if self.hand().host.is_some() { ProcessLeft::Living } else { ProcessLeft::Gone };
        self.narrate(|| format!("the owner settles attempt {attempt}: {}", settled.verdict.run_status));
        if process == ProcessLeft::Living && settled.verdict.run_status.is_terminal() {
            self.end_process()?;
        }
        let ending = ProcessEnding {
            exit: record.process_exit(),
            ended_by,
            elapsed_ms: None,
            timeout_ms: None,
            host_hash: None,
        };
        let (facts, settled) = (&facts, &settled);
        let input = Input::Settled(SettledAttempt { facts, settled, ending, artifacts: Vec::new(), process });
        let written = self.decide(input, None, After::Settled)?;
        written.map_err(|refusal| Law::OneRecord.broken(format!("attempt {attempt}: {refusal}")))
    }
}
