//! The owner of the run, as far as it determines the order of things. It has a desk, where it keeps what waits, and the
//! run in its hand while it works on it. All of it is lost when it dies.
//!
//! Mirrors the shells around the reducer: `runtime/src/run.rs` (decide, append, then carry out), `runtime/src/runtime/`
//! (`say`, `take_up`, `threads`, `retries`: the desk). The worker is in `worker`.

use std::collections::VecDeque;

use skillrun_lifecycle::closing::ControlEvent;
use skillrun_lifecycle::run::{
    Decision, Effect, HostState, Input, Opening, Refusal, SessionLeft, State, decide, made_until, recover,
};
use skillrun_model::rasp::{ControlData, Correlation, Data, Event, RawRef, SourceStream};
use skillrun_model::status::Continuation;
use skillrun_model::{AttemptNumber, InteractionId, RunStatus, Timestamp};

use crate::action::Action;
use crate::clients::{Clients, Said};
use crate::disk::{Disk, Durability};
use crate::faults::Fault;
use crate::host::{Ask, Hosts, Phase};
use crate::laws::{Broken, Law, Laws};
use crate::scene::Scene;
use crate::worker::{Inside, TurnReport};
use crate::world::World;

/// How long after a failure the work is retried.
const PAUSE: u64 = 2_000;

#[derive(Debug, Default)]
pub(crate) struct Owner {
    pub(crate) desk: Desk,
    pub(crate) hand: Option<Hand>,
    pub(crate) mail: VecDeque<Said>,
    /// It came with a request, and leaves if that is not accepted.
    pub(crate) is_visitor: bool,
}

/// What waits without being worked on.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) timer: Option<Timer>,
    pub(crate) is_queued: bool,
    /// Something failed, and is retried at this moment.
    pub(crate) again_at: Option<u64>,
    /// The run is over, and its process may still be running.
    ends_process: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timer {
    pub(crate) at: Timestamp,
    pub(crate) interaction_id: InteractionId,
}

/// Whether an input was accepted.
pub(crate) type Decided = Result<(), Refusal>;

/// The run, while a process is its writer.
#[derive(Debug)]
pub(crate) struct Hand {
    pub(crate) state: State,
    /// The attempt number of the next events.
    pub(crate) numbered: AttemptNumber,
    /// Numbers begin after this; a torn record does not count.
    pub(crate) skipped: u64,
    pub(crate) at: At,
    pub(crate) timer: Option<Timer>,
    pub(crate) host: Option<u32>,
    /// The loop that the worker is in.
    pub(crate) inside: Inside,
    pub(crate) told: TurnReport,
    /// Lines of the attempt that were appended.
    pub(crate) read: usize,
    pub(crate) is_ending: bool,
}

/// Where the work stands.
#[derive(Debug)]
pub(crate) enum At {
    Look,
    Write(Box<Writing>),
    Effects(Box<Doing>),
    Start(AttemptNumber),
    EnterFollow,
    Follow,
    Settle,
    EnterBetween,
    Between,
    SeeOut,
    /// Nothing is left to do for now.
    Rest,
}

/// A decision that is to be appended.
#[derive(Debug)]
pub(crate) struct Writing {
    decision: Decision,
    said: Option<Said>,
    after: After,
}

/// Effects that are still to be carried out.
#[derive(Debug)]
pub(crate) struct Doing {
    pub(crate) left: VecDeque<Effect>,
    pub(crate) told: Option<At>,
    pub(crate) said: Option<Said>,
    pub(crate) after: After,
}

/// What follows when a decision was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// The run was created; it waits for a slot.
    Enqueue,
    /// What the state says.
    Next,
    /// A question inside the turn was asked.
    Asked,
    /// The start request is sent to the host.
    Begin,
    Settled,
    /// There is no worker: a client answered or canceled, or a deadline passed.
    Desk,
    TakeUp,
}

impl Hand {
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn is_same(&self, disk: &State) -> bool {
        self.state == *disk
    }
}

impl World {
    /// An owner reads the run's state from the Log, and becomes its writer.
    pub(crate) fn put_in_hand(&mut self, state: State) {
        let skipped = u64::from(self.disk.is_torn && self.fault == Some(Fault::CountsTheTornRecord));
        let numbered = state.attempt;
        let Some(owner) = &mut self.owner else { return };
        owner.hand = Some(Hand {
            state,
            numbered,
            skipped,
            at: At::Rest,
            timer: None,
            host: None,
            inside: Inside::Nothing,
            told: TurnReport::Nothing,
            read: 0,
            is_ending: false,
        });
    }

    pub(crate) fn open(&mut self) {
        let is_torn = self.disk.is_torn;
        let state = self.disk.read(self.scene.paper);
        self.disk.is_torn = is_torn;
        self.put_in_hand(state);
        self.disk.is_torn = false;
    }

    pub(crate) fn hand(&mut self) -> &mut Hand {
        self.owner.as_mut().and_then(|owner| owner.hand.as_mut()).expect("an owner has the run in hand")
    }

    pub(crate) fn desk(&mut self) -> &mut Desk {
        &mut self.owner.as_mut().expect("an owner").desk
    }

    /// The run is released; the next process that needs it takes it again.
    pub(crate) fn put_down(&mut self) {
        let now = self.now;
        if let Some(owner) = &mut self.owner {
            owner.hand = None;
        }
        if let Some(host) = &mut self.hosts.living {
            host.alone_since.get_or_insert(now);
        }
    }

    pub(crate) fn is_in_trouble(&mut self) {
        self.put_down();
        self.desk().again_at = Some(self.now + PAUSE);
    }

    /// An input: its consequences are decided, and will be appended. The reducer is the product's own.
    pub(crate) fn decide(&mut self, input: Input<'_>, said: Option<Said>, after: After) -> Result<Decided, Broken> {
        let (options, run_id, now) = (self.scene.options, self.run_id, self.wall());
        match decide(&self.hand().state, options, run_id, now, input) {
            Ok(decision) => self.will_write(decision, said, after).map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    pub(crate) fn recover(&mut self, found: HostState, session: SessionLeft, after: After) -> Result<(), Broken> {
        let (options, run_id, now) = (self.scene.options, self.run_id, self.wall());
        let mut decision = recover(&self.hand().state, options, run_id, now, found, session);
        match self.fault {
            Some(Fault::ForgetsTimers) => decision.effects.retain(|effect| !matches!(effect, Effect::ArmTimer { .. })),
            Some(Fault::SkipsTheRestOfABatch) if after != After::TakeUp => {
                decision.events.clear();
                decision.opening = None;
            }
            Some(_) | None => {}
        }
        self.will_write(decision, None, after)
    }

    fn will_write(&mut self, decision: Decision, said: Option<Said>, after: After) -> Result<(), Broken> {
        if let (Some(Fault::SaysYesBeforeWriting), Some(said)) = (self.fault, said) {
            self.clients.done(said);
        }
        let is_silent = decision.events.is_empty() && decision.opening.is_none();
        self.hand().at = At::Write(Box::new(Writing { decision, said, after }));
        // Nothing is appended, so nothing can fail on the way.
        if is_silent { self.write() } else { Ok(()) }
    }

    /// The events of the current decision, with their places.
    pub(crate) fn batch_in_hand(&mut self) -> Vec<Event> {
        let (run_id, ts) = (self.run_id, self.wall());
        let source = self.source(SourceStream::Control);
        let hand = self.hand();
        let At::Write(writing) = &hand.at else { return Vec::new() };
        let Decision { events, opening, .. } = &writing.decision;
        let mut seq = hand.state.last_seq + hand.skipped;
        let mut place = |event: &ControlEvent, attempt_number: AttemptNumber| {
            seq += 1;
            let session_id = hand.state.session_id.clone();
            Event {
                run_id,
                seq,
                ts,
                attempt_number,
                source: source.clone(),
                level: event.level,
                data: event.data.clone().into(),
                correlation: Correlation { session_id, ..event.correlation.clone() },
                raw_ref: RawRef::default(),
            }
        };
        let mut batch: Vec<Event> = events.iter().map(|event| place(event, hand.numbered)).collect();
        if let Some(Opening { attempt, events }) = opening {
            batch.extend(events.iter().map(|event| place(event, *attempt)));
        }
        batch
    }

    /// The run ends with the current decision; its result is written before its last event.
    pub(crate) fn writes_result(&mut self) -> bool {
        matches!(&self.hand().at, At::Write(writing) if writing.decision.effects.contains(&Effect::WriteResult))
    }

    /// Appends the decision. The result exists before the last event does.
    pub(crate) fn write(&mut self) -> Result<(), Broken> {
        let batch = self.batch_in_hand();
        self.disk.has_result |= self.writes_result();
        let At::Write(writing) = std::mem::replace(&mut self.hand().at, At::Rest) else { return Ok(()) };
        let Writing { decision, said, after } = *writing;
        if self.fault == Some(Fault::GivesBeforeWriting) {
            let given: Vec<Effect> =
                decision.effects.iter().filter(|e| matches!(e, Effect::WriteInput(_))).cloned().collect();
            for effect in given {
                self.carry_out(&effect)?;
            }
            self.look_at_processes()?;
        }
        if self.fault == Some(Fault::StartsBeforeWriting) && after == After::Begin {
            self.ask(Ask::Start)?;
        }
        if !batch.is_empty() {
            self.narrate(|| "the owner appends".to_owned());
        }
        for event in batch {
            if let Data::Control(ControlData::RunFailed(failed)) = &event.data {
                self.mark_failure(failed.reason_code.as_str());
                if failed.retry.is_some() {
                    self.tally.mark("a run is planned");
                }
            }
            let hand = self.hand();
            hand.numbered = event.attempt_number;
            if self.fault != Some(Fault::ForgetsToEvolve) {
                self.hand().state.evolve(&event);
            }
            self.append(event, Durability::Synced)?;
        }
        let mut said = said;
        if after != After::Desk
            && let Some(said) = said.take()
        {
            self.clients.done(said);
            self.narrate(|| "the client receives the acknowledgement".to_owned());
        }
        let doing = Doing { left: decision.effects.into(), told: None, said, after };
        self.hand().at = At::Effects(Box::new(doing));
        self.do_what_is_in_memory()
    }

    /// The batch did not fit; nothing of it was written.
    pub(crate) fn append_fails(&mut self) -> Result<(), Broken> {
        let keeps = self.fault == Some(Fault::KeepsTheNumber);
        let hand = self.hand();
        let At::Write(writing) = std::mem::replace(&mut hand.at, At::Rest) else { return Ok(()) };
        let opened = writing.decision.opening.as_ref().map(|opening| opening.attempt);
        if let Some(attempt) = opened.filter(|_| keeps) {
            hand.numbered = attempt;
        }
        match writing.after {
            After::Enqueue => {
                // The request was not accepted, and no client received an acknowledgement; a planned run is retried.
                self.is_in_trouble();
                Ok(())
            }
            After::Desk if writing.said.is_some() => {
                self.turn_away();
                Ok(())
            }
            After::Next if writing.said.is_some() => {
                let next = self.next();
                self.go(next);
                Ok(())
            }
            After::Begin => {
                if self.fault == Some(Fault::EndsWhoeverWaits) {
                    self.end_process()?;
                }
                self.is_in_trouble();
                Ok(())
            }
            After::Next | After::Asked | After::Settled | After::Desk | After::TakeUp => {
                self.is_in_trouble();
                Ok(())
            }
        }
    }

    /// Effects that only change memory; stops before the first one that reaches another process.
    pub(crate) fn do_what_is_in_memory(&mut self) -> Result<(), Broken> {
        let is_at_desk =
            self.doing().is_some_and(|doing| matches!(doing.after, After::Desk | After::TakeUp | After::Enqueue));
        if is_at_desk {
            return self.go_on();
        }
        loop {
            let hand = self.hand();
            let At::Effects(doing) = &mut hand.at else { return Ok(()) };
            match doing.left.front() {
                None => return self.after_effects(),
                Some(Effect::WriteInput(_) | Effect::EndProcess) => return Ok(()),
                Some(Effect::Enqueue { attempt }) => doing.told = Some(At::Start(*attempt)),
                Some(Effect::Settle { .. }) => doing.told = Some(At::Settle),
                Some(Effect::ArmTimer { interaction_id, at }) => {
                    hand.timer = Some(Timer { at: *at, interaction_id: *interaction_id });
                }
                Some(Effect::DisarmTimer { .. }) => hand.timer = None,
                Some(Effect::ReleaseSlot | Effect::WriteResult | Effect::Adopt { .. }) => {}
            }
            doing.left.pop_front();
        }
    }

    fn doing(&mut self) -> Option<&mut Doing> {
        match &mut self.hand().at {
            At::Effects(doing) => Some(doing),
            At::Look
            | At::Write(_)
            | At::Start(_)
            | At::EnterFollow
            | At::Follow
            | At::Settle
            | At::EnterBetween
            | At::Between
            | At::SeeOut
            | At::Rest => None,
        }
    }

    /// The consequences for a run without a worker: `say.rs`, `go_on`.
    fn go_on(&mut self) -> Result<(), Broken> {
        let At::Effects(doing) = std::mem::replace(&mut self.hand().at, At::Rest) else { return Ok(()) };
        let Doing { left, said, after, .. } = *doing;
        if let Some(owner) = &mut self.owner {
            owner.is_visitor = false;
        }
        self.desk().timer = None;
        let (is_over, attempt) = (self.hand().state.is_over(), self.hand().state.attempt);
        if is_over {
            self.put_down();
            let is_sticky = self.scene.options.continuation == Continuation::Sticky;
            let ends = left.contains(&Effect::EndProcess) && attempt != AttemptNumber::BEFORE_FIRST && is_sticky;
            let desk = self.desk();
            (desk.is_queued, desk.ends_process) = (false, ends);
        } else if after == After::Enqueue {
            self.put_down();
            self.desk().is_queued = true;
        } else {
            self.take_up()?;
        }
        if let Some(said) = said {
            self.clients.done(said);
            self.narrate(|| "the client receives the acknowledgement".to_owned());
        }
        Ok(())
    }

    /// Continues with a run that no owner works on: `take_up.rs`.
    pub(crate) fn take_up(&mut self) -> Result<(), Broken> {
        let state = &self.hand().state;
        if state.status.is_none() {
            return self.recover(HostState::NoClaim, SessionLeft::Lost, After::TakeUp);
        }
        if state.is_over() {
            self.put_down();
            self.desk().is_queued = false;
        } else if state.rests() {
            let question = state.question.as_ref();
            let timer = question.and_then(|q| Some(Timer { at: q.deadline?, interaction_id: q.interaction_id }));
            self.put_down();
            self.desk().timer = timer.filter(|_| self.fault != Some(Fault::ForgetsTimers));
        } else if state.status == Some(RunStatus::Queued) && !state.is_unfinished {
            self.put_down();
            self.desk().is_queued = true;
        } else {
            self.hand().at = At::Look;
        }
        Ok(())
    }

    /// A new owner finds the run.
    pub(crate) fn restart(&mut self) -> Result<(), Broken> {
        self.owner = Some(Owner::default());
        if self.disk.log.is_empty() {
            return Ok(());
        }
        self.open();
        self.take_up()
    }

    /// What the owner can do.
    pub(crate) fn owner_choices(&self, owner: &Owner, choices: &mut Vec<Action>) {
        let has_mail = !owner.mail.is_empty();
        let is_due = |timer: &Option<Timer>| timer.is_some_and(|timer| timer.at <= self.wall());
        let Some(hand) = &owner.hand else {
            if self.desk_has_work(&owner.desk) {
                choices.push(Action::Owner);
            }
            if is_due(&owner.desk.timer) {
                choices.push(Action::Due);
            }
            if has_mail {
                choices.push(Action::Mail);
            }
            return;
        };
        match hand.at {
            At::Look
            | At::Write(_)
            | At::Effects(_)
            | At::Start(_)
            | At::EnterFollow
            | At::Settle
            | At::EnterBetween
            | At::Rest => choices.push(Action::Owner),
            At::Follow | At::Between | At::SeeOut => {
                if self.has_news(hand) {
                    choices.push(Action::PollHost);
                }
                if is_due(&hand.timer) && !matches!(hand.at, At::SeeOut) {
                    choices.push(Action::Due);
                }
                if has_mail {
                    choices.push(Action::Mail);
                }
            }
        }
    }

    pub(crate) fn is_idle(&self, owner: &Owner) -> bool {
        let mut choices = Vec::new();
        self.owner_choices(owner, &mut choices);
        choices.is_empty()
    }

    fn desk_has_work(&self, desk: &Desk) -> bool {
        let may_begin = self.disk.state.attempt != AttemptNumber::BEFORE_FIRST
            || self.disk.state.not_before.is_none_or(|at| at <= self.wall());
        desk.ends_process
            || (desk.is_queued && may_begin)
            || desk.again_at.is_some_and(|at| at <= self.now)
            || (desk.again_at.is_none() && self.can_retry())
    }

    /// The run that replaces this one was planned, and does not exist.
    pub(crate) fn can_retry(&self) -> bool {
        let planned = if self.disk.log.is_empty() { self.planned } else { self.disk.state.retry };
        planned.is_some_and(|planned| self.wall() <= made_until(planned))
    }

    /// The owner of the run does its next piece of work.
    pub(crate) fn owner_goes_on(&mut self) -> Result<(), Broken> {
        if self.owner.as_ref().is_some_and(|owner| owner.hand.is_some()) {
            return self.work();
        }
        let may_begin = self.disk.state.attempt != AttemptNumber::BEFORE_FIRST
            || self.disk.state.not_before.is_none_or(|at| at <= self.wall());
        let now = self.now;
        let desk = self.desk();
        if std::mem::take(&mut desk.ends_process) {
            self.narrate(|| "the owner ends the process that waited".to_owned());
            return self.ask(Ask::Cancel);
        }
        if desk.is_queued && may_begin {
            (desk.is_queued, desk.timer) = (false, None);
            self.narrate(|| "the run has a slot".to_owned());
            self.open();
            return self.look();
        }
        if desk.again_at.is_some_and(|at| at <= now) {
            desk.again_at = None;
            self.narrate(|| "the owner tries again".to_owned());
            if self.disk.log.is_empty() {
                return if self.planned.is_some() { self.accept() } else { Ok(()) };
            }
            self.open();
            return self.take_up();
        }
        self.make_planned()
    }

    /// Creates the run that replaces one that failed: `retries.rs`.
    fn make_planned(&mut self) -> Result<(), Broken> {
        if let Some(planned) = self.disk.state.retry.filter(|_| !self.disk.log.is_empty()) {
            if planned.run_id == self.run_id {
                return Err(Law::OneRetry.broken("a run takes its own place"));
            }
            self.run_id = planned.run_id;
            self.planned = Some(planned);
            self.disk = Disk::default();
            self.laws = Laws::default();
            self.clients = Clients::default();
            self.hosts = Hosts::new(self.fault == Some(Fault::WritesTwice));
            let Scene { options, .. } = &mut self.scene;
            if let Some(wait) = &mut options.quota_wait {
                wait.made += 1;
                wait.random[9] += 1;
                if wait.made > wait.max {
                    return Err(Law::OneRetry.broken("more runs are made than were asked for"));
                }
            }
            if let Some(owner) = &mut self.owner {
                owner.mail.clear();
            }
        }
        self.tally.mark("a planned run is made");
        self.narrate(|| "the planned run is created".to_owned());
        self.accept()
    }

    /// A client's request is decided: by the worker, or by the process that takes the run for it.
    pub(crate) fn take_mail(&mut self) -> Result<(), Broken> {
        let Some(said) = self.owner.as_mut().and_then(|owner| owner.mail.pop_front()) else { return Ok(()) };
        let is_worked_on = self.owner.as_ref().is_some_and(|owner| owner.hand.is_some());
        if !is_worked_on {
            self.open();
        }
        let (input, after) = (self.clients.input(said), if is_worked_on { After::Next } else { After::Desk });
        self.narrate(|| match said {
            Said::Cancel => "the owner reads the cancel".to_owned(),
            Said::Reply(at) => format!("the owner reads answer {}", at + 1),
        });
        if let Err(refusal) = self.decide(input, Some(said), after)? {
            self.narrate(|| format!("it is refused: {refusal}"));
            self.tally.mark(match refusal {
                Refusal::Repeated { .. } => "an answer is repeated",
                Refusal::Over | Refusal::OutOfPlace | Refusal::Stale { .. } => "an answer is refused",
            });
            self.clients.refused(said, &refusal);
            if !is_worked_on {
                self.turn_away();
            }
        }
        Ok(())
    }

    /// The request had no effect.
    fn turn_away(&mut self) {
        self.put_down();
        if self.owner.as_ref().is_some_and(|owner| owner.is_visitor) {
            self.narrate(|| "the client leaves".to_owned());
            self.owner = None;
        }
    }

    /// The deadline of a question has passed.
    pub(crate) fn timer_is_due(&mut self) -> Result<(), Broken> {
        self.narrate(|| "the deadline of the question has passed".to_owned());
        let is_worked_on = self.owner.as_ref().is_some_and(|owner| owner.hand.is_some());
        if is_worked_on {
            let Some(timer) = self.hand().timer.take() else { return Ok(()) };
            let input = Input::Expired { interaction_id: timer.interaction_id };
            if self.decide(input, None, After::Next)?.is_err() {
                let next = self.next();
                self.go(next);
            }
            return Ok(());
        }
        let Some(timer) = self.desk().timer.take() else { return Ok(()) };
        self.open();
        let input = Input::Expired { interaction_id: timer.interaction_id };
        if self.decide(input, None, After::Desk)?.is_err() {
            self.put_down();
        }
        Ok(())
    }

    /// Nothing is in progress: then every pending need of the run must be assigned to some process or timer.
    pub(crate) fn check_idle(&mut self) -> Result<(), Broken> {
        let Some(owner) = &self.owner else { return Ok(()) };
        let state = &self.disk.state;
        if state.is_over() || self.disk.log.is_empty() {
            return Ok(());
        }
        let forgotten = |words: &str| Err(Law::Forgotten.broken(words));
        let question = state.question.as_ref();
        let deadline = question.and_then(|q| Some(Timer { at: q.deadline?, interaction_id: q.interaction_id }));
        let is_ending = state.canceling.is_some() || state.failing.is_some();
        let Some(hand) = &owner.hand else {
            let Desk { timer, is_queued, again_at, .. } = &owner.desk;
            if again_at.is_some() {
                return Ok(());
            }
            return match state.status {
                Some(RunStatus::Queued) if *is_queued => Ok(()),
                Some(RunStatus::WaitingUser) if state.rests() && *timer == deadline => Ok(()),
                Some(RunStatus::WaitingUser) if state.rests() => {
                    forgotten("no owner waits for the deadline of the question")
                }
                Some(_) | None => forgotten("no owner works on the run"),
            };
        };
        if hand.timer != deadline && !is_ending && hand.state.status == Some(RunStatus::WaitingUser) {
            return forgotten("the owner does not wait for the deadline of the question");
        }
        let Some(host) = &self.hosts.living else {
            return forgotten("there is no process, and the owner waits for one");
        };
        if host.phase == Phase::Held {
            return forgotten("the host waits for the start request, and the owner waits too");
        }
        if is_ending && host.ladder.is_none() {
            return forgotten("the process should end, and no owner ends it");
        }
        let reply = state.reply.as_ref().filter(|_| question.is_none());
        let waits = matches!(host.phase, Phase::AsksCall | Phase::Between) && host.ladder.is_none();
        if let Some(reply) = reply
            && waits
            && !is_ending
            && !self.laws.was_given(reply.interaction_id.0)
        {
            let words = format!("question {} was answered, and its process waits", reply.interaction_id.0);
            return Err(Law::NotGiven.broken(words));
        }
        Ok(())
    }

    fn mark_failure(&mut self, code: &'static str) {
        let name = match code {
            "INTERACTION_WAIT_TIMEOUT" => "end: INTERACTION_WAIT_TIMEOUT",
            "AUTO_DECISION_LIMIT" => "end: AUTO_DECISION_LIMIT",
            "INTERACTION_ABORTED_BY_POLICY" => "end: INTERACTION_ABORTED_BY_POLICY",
            "SESSION_LOST" => "end: SESSION_LOST",
            "ATTEMPT_LOST" => "end: ATTEMPT_LOST",
            "TIMEOUT" => "end: TIMEOUT",
            "ENGINE_FAILED" => "end: ENGINE_FAILED",
            "LIMIT_REACHED" => "end: LIMIT_REACHED",
            "HOST_ERROR" => "end: HOST_ERROR",
            _ => "end: another failure",
        };
        self.tally.mark(name);
    }
}
