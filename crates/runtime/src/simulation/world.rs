//! The world of one story: the disk, the hosts, the clients, an owner that may die, and a clock. In each step one of
//! them does one thing; the tape chooses which.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use skillrun_collect::protocol::HostRequest;
use skillrun_lifecycle::run::{Refusal, State};
use skillrun_log::Durability;
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::data::PlannedRetry;
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_model::{Code, RunId, RunStatus, Timestamp, status};
use skillrun_runs::record::RunRecord;

use super::action::Action;
use super::clients::{Clients, Said};
use super::desk::Owner;
use super::disk::Disk;
use super::evidence::{End, Line, SimulatedExit, end_of};
use super::faults::{self, Fault};
use super::host::{Hosts, Phase};
use super::laws::{Broken, Law, Laws};
use super::scene::{Paper, SESSION_TIMEOUT, Scene};
use super::tally::Tally;
use super::tape::{NUMBERS, Tape};
use crate::error::RuntimeError;
use crate::mailbox::Mail;

/// The moment at which stories begin, so that a clock can be set back.
const BEGIN: u64 = 1_000_000_000_000;

/// How far a clock jumps.
const JUMP: i64 = 3_600_000;

/// The number of steps that a story may have after its run is over.
const AFTER_END: u32 = 3;

/// More steps than any story needs.
const STEPS_MAX: u64 = 2_000;

pub(crate) struct SimulatedWorld {
    pub(crate) tape: Tape,
    pub(crate) scene: Scene,
    pub(crate) fault: Option<Fault>,
    /// Milliseconds of a clock that is never set.
    pub(crate) now: u64,
    offset: i64,
    /// The latest time that the wall clock has shown.
    pub(crate) latest: Timestamp,
    pub(crate) run_id: RunId,
    pub(crate) disk: Disk,
    pub(crate) hosts: Hosts,
    pub(crate) clients: Clients,
    pub(crate) owner: Option<Owner>,
    pub(crate) laws: Laws,
    /// The run before this one planned it.
    pub(crate) planned: Option<PlannedRetry>,
    pub(crate) tally: Tally,
    /// What happened, if the story is to be printed.
    pub(crate) story: Option<Vec<String>>,
    pub(crate) record: Arc<RunRecord>,
    /// The law that a worker has broken.
    pub(crate) broken: Option<Broken>,
    /// Requests that the owner has not answered yet.
    answers: Vec<(Said, Receiver<Result<(), RuntimeError>>)>,
    /// A host could not be started, or was killed at once.
    pub(crate) start_failed: bool,
    choices: Vec<Action>,
    /// Steps since the run was over.
    after_end: u32,
}

/// Where the owner is when the others can act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// No worker has the run.
    Desk,
    /// Between two acts of a process that has the run.
    Busy,
    /// A batch is about to be appended.
    Append,
    /// A host is about to be started.
    Start,
    /// A worker waits for the host of this number, its mail, or this moment.
    Wait { host: u32, until: Option<u64> },
}

/// What the scheduler has chosen for the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It continues.
    Go,
    /// Where no worker has the run: it does this.
    Desk(Action),
    /// Another participant has acted.
    Other,
    /// It cannot do what it was about to do.
    Fails,
    /// It dies in the middle of what it was about to do.
    DiesWriting,
    Died,
}

impl SimulatedWorld {
    pub(crate) fn new(mut tape: Tape, fault: Option<Fault>) -> Self {
        let scene = Scene::draw(&mut tape);
        faults::plant(fault);
        let run_id = RunId::new(1, [1; 10]);
        let hosts = Hosts::new(fault == Some(Fault::WritesTwice));
        let mut world = Self {
            tape,
            scene,
            fault,
            now: 0,
            offset: 0,
            latest: Timestamp::EPOCH,
            run_id,
            disk: Disk::default(),
            hosts,
            clients: Clients::default(),
            owner: Some(Owner::default()),
            laws: Laws::default(),
            planned: None,
            tally: Tally::default(),
            story: None,
            record: Arc::new(scene.record(run_id, None)),
            broken: None,
            answers: Vec::new(),
            start_failed: false,
            choices: Vec::new(),
            after_end: 0,
        };
        if scene.paper == Paper::Text {
            world.tally.mark("the Log is kept as text");
        }
        world
    }

    /// The run is over and nothing of it is left.
    pub(crate) fn is_done(&self) -> bool {
        let was_accepted = !self.disk.log.is_empty() || self.planned.is_some();
        let is_over = !was_accepted || (self.laws.end.is_some() && !self.can_retry());
        let is_late = !was_accepted || self.tape.is_over() || self.after_end >= AFTER_END;
        is_over && is_late && self.is_quiet()
    }

    fn is_quiet(&self) -> bool {
        let mut choices = Vec::new();
        if let Some(owner) = &self.owner {
            self.desk_choices(owner, &mut choices);
        }
        self.hosts.living.is_none() && choices.is_empty()
    }

    /// The participants act, until it is the owner's turn.
    pub(crate) fn schedule(&mut self, spot: Spot) -> Result<Turn, Broken> {
        loop {
            let turn = self.step(spot)?;
            self.check()?;
            if turn != Turn::Other || spot == Spot::Desk {
                return Ok(turn);
            }
        }
    }

    fn step(&mut self, spot: Spot) -> Result<Turn, Broken> {
        self.hear_answers();
        let mut choices = std::mem::take(&mut self.choices);
        choices.clear();
        self.list(spot, &mut choices);
        // A number means the same action in every story; where that action is not possible, the step that makes
        // progress is taken. So a story keeps its meaning when a piece of it is removed.
        let drawn = Action::of(self.tape.pick(NUMBERS));
        let chosen = drawn.filter(|action| choices.contains(action)).or(choices.first().copied());
        let is_busy = choices.first().is_some_and(|action| action.is_of_owner());
        self.choices = choices;
        if !is_busy {
            self.check_idle(spot)?;
        }
        let Some(action) = chosen else {
            return Err(
                Law::Ends.broken(format!("nothing can happen any more, and it is {:?}", self.disk.state.status))
            );
        };
        self.after_end = if self.laws.end.is_some() { self.after_end + 1 } else { 0 };
        self.tally.action(action, self.disk.state.status);
        if self.tally.steps > STEPS_MAX {
            let status = self.disk.state.status;
            return Err(match self.laws.end {
                Some(_) => Law::ProcessLeft.broken("it is there still"),
                None => Law::Ends.broken(format!("it continues after {STEPS_MAX} steps, {status:?}")),
            });
        }
        self.latest = self.latest.max(self.wall());
        self.act(spot, action)
    }

    /// The possible actions. The one that makes progress comes first.
    fn list(&self, spot: Spot, choices: &mut Vec<Action>) {
        match (spot, &self.owner) {
            (Spot::Desk, None) => choices.push(Action::Restart),
            (Spot::Desk, Some(owner)) => self.desk_choices(owner, choices),
            (Spot::Busy | Spot::Append | Spot::Start, _) => choices.push(Action::Owner),
            (Spot::Wait { host, until }, _) => {
                let has_mail = self.owner.as_ref().is_some_and(|owner| !owner.mail.is_empty());
                if has_mail || self.hosts.has_news(host) || until.is_some_and(|until| until <= self.now) {
                    choices.push(Action::Owner);
                }
            }
        }
        let is_idle = choices.first().is_none_or(|action| *action == Action::Restart);
        if self.host_can_work() {
            choices.push(Action::Host);
        }
        let state = &self.disk.state;
        // A request that could not be answered now would be retried indefinitely.
        let is_open = state.status == Some(RunStatus::WaitingUser) && state.canceling.is_none();
        let has_mail = self.owner.as_ref().is_some_and(|owner| !owner.mail.is_empty());
        let is_asked = state.question.is_some() && is_open && self.owner.is_some() && !has_mail;
        if is_asked && (self.clients.may_send() || self.tape.is_over()) {
            choices.push(Action::Reply);
        }
        if is_idle && self.next_moment(spot).is_some() {
            choices.push(Action::Time);
        }
        if self.tape.is_over() {
            return;
        }
        if self.owner.is_some() && self.clients.may_send() && state.status.is_some() {
            if state.interactions > 0 {
                choices.push(Action::Other);
                choices.push(Action::Stale);
            }
            if self.clients.sent.iter().any(|sent| sent.key.is_some()) {
                choices.push(Action::Again);
            }
        }
        match &self.owner {
            None if state.status.is_some() => choices.push(Action::Comes),
            None => {}
            Some(owner) => {
                if state.status.is_some() && owner.mail.is_empty() && self.laws.end.is_none() {
                    choices.push(Action::Cancel);
                    if matches!(spot, Spot::Wait { .. }) {
                        choices.push(Action::LetGo);
                    }
                }
                choices.push(Action::Crash);
                match spot {
                    Spot::Append => {
                        choices.push(Action::CrashWriting);
                        choices.push(Action::DiskFull);
                    }
                    Spot::Start => choices.push(Action::StartFails),
                    Spot::Desk | Spot::Busy | Spot::Wait { .. } => {}
                }
            }
        }
        if let Some(host) = &self.hosts.living {
            choices.push(Action::HostKilled);
            if host.phase != Phase::Held {
                choices.push(Action::ProcessDies);
            }
        }
        if self.laws.end.is_none() {
            choices.push(Action::PowerCut);
            choices.push(Action::ClockForward);
            choices.push(Action::ClockBack);
        }
    }

    fn act(&mut self, spot: Spot, action: Action) -> Result<Turn, Broken> {
        match action {
            Action::Owner => return Ok(Turn::Go),
            Action::Restart | Action::Comes | Action::Mail | Action::Due => return Ok(Turn::Desk(action)),
            Action::CrashWriting => return Ok(Turn::DiesWriting),
            Action::DiskFull => {
                self.tally.mark("an append fails");
                self.narrate(|| "the disk is full, and nothing can be appended".to_owned());
                return Ok(Turn::Fails);
            }
            Action::StartFails => {
                self.narrate(|| "the host cannot be started".to_owned());
                return Ok(Turn::Fails);
            }
            Action::Host => {
                self.host_works();
                self.look_at_processes()?;
            }
            Action::Time => self.time_passes(spot),
            Action::Reply => {
                let question = self.disk.state.question.as_ref().map_or(0, |question| question.interaction_id.0);
                let has_key = self.tape.pick(3) != 2;
                let said = self.clients.reply(question, has_key);
                self.put_in_mail(said);
            }
            Action::Other => {
                let said = self.clients.reply(self.disk.state.interactions, true);
                self.put_in_mail(said);
            }
            Action::Stale => {
                let said = self.clients.reply(1, true);
                self.put_in_mail(said);
            }
            Action::Again => {
                let keyed = self.clients.with_key();
                let at = self.tape.pick(keyed.len());
                let said = self.clients.again(keyed[at]);
                self.put_in_mail(said);
            }
            Action::Cancel => self.put_in_mail(Said::Cancel),
            Action::LetGo => self.put_in_mail(Said::LetGo),
            Action::Crash => {
                self.narrate(|| "the owner dies".to_owned());
                self.owner_dies();
                return Ok(Turn::Died);
            }
            Action::HostKilled => {
                self.narrate(|| "the host is killed".to_owned());
                self.hosts.kill();
            }
            Action::ProcessDies => {
                let exit = [SimulatedExit::Bad, SimulatedExit::Good][self.tape.pick(2)];
                self.narrate(|| format!("the process dies by itself ({exit:?})"));
                self.hosts.exit(self.now, exit);
            }
            Action::PowerCut => {
                let unsynced = self.disk.log.len() - self.disk.synced;
                let kept = self.tape.pick(unsynced + 1);
                self.narrate(|| "the machine dies, with every process on it".to_owned());
                self.hosts.kill();
                self.owner_dies();
                self.disk.lose_unsynced(kept);
                self.laws.lost_evidence(&self.disk.log);
                return Ok(Turn::Died);
            }
            Action::ClockForward => {
                self.offset += JUMP;
                self.narrate(|| "the clock is set an hour ahead".to_owned());
            }
            Action::ClockBack => {
                self.offset -= JUMP;
                self.narrate(|| "the clock is set an hour back".to_owned());
            }
        }
        Ok(Turn::Other)
    }

    /// The mail of the run, for its worker.
    pub(crate) fn take_mail(&mut self) -> Option<Mail> {
        let said = self.owner.as_mut()?.mail.pop_front()?;
        self.narrate(|| format!("the owner reads {said:?}"));
        let (answer, heard) = std::sync::mpsc::channel();
        self.answers.push((said, heard));
        Some(Mail { command: self.clients.command(said), answer })
    }

    /// Clients receive what the worker has answered.
    fn hear_answers(&mut self) {
        let mut waiting = std::mem::take(&mut self.answers);
        waiting.retain(|(said, heard)| match heard.try_recv() {
            Ok(answer) => {
                self.answered(*said, answer);
                false
            }
            Err(TryRecvError::Empty) => true,
            Err(TryRecvError::Disconnected) => false,
        });
        self.answers = waiting;
    }

    /// A client receives the answer to its request.
    pub(crate) fn answered(&mut self, said: Said, answer: Result<(), RuntimeError>) {
        match answer {
            Ok(()) => {
                self.narrate(|| "the client receives the acknowledgement".to_owned());
                self.clients.done(said);
            }
            Err(RuntimeError::Refused { refusal, .. }) => {
                self.narrate(|| format!("it is refused: {refusal}"));
                self.tally.mark(match refusal {
                    Refusal::Repeated { .. } => "an answer is repeated",
                    Refusal::Over | Refusal::OutOfPlace | Refusal::Stale { .. } => "an answer is refused",
                });
                self.clients.refused(said, &refusal);
            }
            // It was not written; the client tries again, or gives up.
            Err(_) => {}
        }
    }

    /// A request of a client that finds no owner.
    pub(crate) fn some_word(&mut self) -> Said {
        let keyed = self.clients.with_key();
        match self.tape.pick(3) {
            0 if self.clients.may_send() => {
                let question = self.disk.state.interactions;
                self.clients.reply(question, true)
            }
            1 if !keyed.is_empty() => {
                let at = self.tape.pick(keyed.len());
                self.clients.again(keyed[at])
            }
            _ => Said::Cancel,
        }
    }

    fn put_in_mail(&mut self, said: Said) {
        let words = self.story.is_some().then(|| match said {
            Said::Cancel => "a client wants to cancel".to_owned(),
            Said::LetGo => "the owner is to leave the run".to_owned(),
            Said::Reply(at) => {
                let sent = &self.clients.sent[at];
                let key = sent.key.as_ref().map(|key| format!(", key {key}")).unwrap_or_default();
                format!("a client sends \"{}\" to question {}{key}", sent.text, sent.interaction)
            }
        });
        self.narrate(|| words.unwrap_or_default());
        if let Some(owner) = &mut self.owner {
            owner.mail.push_back(said);
        }
    }

    pub(crate) fn owner_dies(&mut self) {
        self.owner = None;
        self.answers.clear();
        if let Some(host) = &mut self.hosts.living {
            host.alone_since = Some(self.now);
        }
    }

    /// Of the batch that is being written, only the first events reach the disk.
    pub(crate) fn dies_writing(&mut self, batch: &[Event]) -> Result<(), Broken> {
        let kept = self.tape.pick(batch.len() + 1);
        let is_torn = kept < batch.len() && self.tape.pick(2) == 1;
        self.tally.mark("a batch is cut");
        if is_torn {
            self.tally.mark("a record is torn");
        }
        let (whole, torn) = (batch.len(), if is_torn { ", and a piece of the next" } else { "" });
        self.narrate(|| format!("the owner dies writing: {kept} of {whole} events are in the Log{torn}"));
        for event in &batch[..kept] {
            self.append(event, Durability::Synced)?;
        }
        self.disk.is_torn = is_torn;
        self.owner_dies();
        Ok(())
    }

    /// A batch is appended.
    pub(crate) fn append_all(&mut self, expected: u64, batch: &[Event], durability: Durability) -> Result<(), Broken> {
        if expected != self.disk.state.last_seq + 1 {
            let words = format!("the owner appends at {expected} after {}", self.disk.state.last_seq);
            return Err(Law::Fold.broken(words));
        }
        self.narrate(|| "the owner appends".to_owned());
        for event in batch {
            if matches!(&event.data, Data::Control(ControlData::InteractionRequested(question)) if question.scope == Scope::Call)
            {
                self.tally.mark("a question inside a turn");
            }
            if matches!(&event.data, Data::Control(ControlData::RunStatus(change)) if change.phase == Some(status::Phase::ProcessEnded))
            {
                self.tally.mark("a process that waited is gone");
            }
            if let Data::Control(ControlData::RunFailed(failed)) = &event.data {
                self.mark_failure(failed.reason_code.as_str());
                if failed.reason_code == Code::HostError && !self.start_failed {
                    return Err(Law::CannotBegin.broken(failed.error.message.clone()));
                }
                if failed.retry.is_some() {
                    self.tally.mark("a run is planned");
                }
            }
            self.append(event, durability)?;
        }
        Ok(())
    }

    /// One event more in the Log.
    fn append(&mut self, event: &Event, durability: Durability) -> Result<(), Broken> {
        self.tally.event(event.event_type().as_str());
        let number = event.attempt_number;
        self.narrate(|| format!("    {:>3} {} (attempt {number})", event.seq, event.event_type().as_str()));
        let event = Arc::new(event.clone());
        let judged = self.laws.event(&event, &self.disk.state, &mut self.hosts, &self.scene);
        self.disk.append(event, durability, self.scene.paper);
        judged
    }

    /// A request of the owner to the attached host.
    pub(crate) fn request(&mut self, request: &HostRequest) -> Result<(), Broken> {
        let ends =
            matches!(request, HostRequest::Cancel { .. } | HostRequest::CloseStdin | HostRequest::TurnOver { .. });
        if ends && !self.may_end() {
            return Err(Law::NoCause.broken(format!("the owner sends {request:?}")));
        }
        self.hosts.request(self.now, request);
        self.look_at_processes()
    }

    /// The time on the wall clock.
    pub(crate) fn wall(&self) -> Timestamp {
        let millis = (BEGIN + self.now).saturating_add_signed(self.offset);
        Timestamp::EPOCH.plus_nanos(millis * 1_000_000)
    }

    /// A moment of the wall clock, on the clock that is never set.
    pub(crate) fn moment(&self, at: Timestamp) -> u64 {
        self.now + at.millis_since(self.wall()).unwrap_or(0)
    }

    pub(crate) fn narrate(&mut self, words: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            story.push(format!("{:>9.3} s  {}", self.now as f64 / 1000.0, words()));
        }
    }

    fn next_moment(&self, spot: Spot) -> Option<u64> {
        let mut moments = [self.hosts.due(), None, None, None];
        match (spot, &self.owner) {
            (Spot::Wait { until, .. }, _) => moments[1] = until,
            (Spot::Desk, Some(owner)) => {
                moments[1] = owner.timer.map(|timer| millis(timer.at));
                moments[2] = owner.again_at;
                let later = self.disk.state.not_before.filter(|_| owner.is_queued);
                moments[3] = later.map(|at| self.moment(at));
            }
            (Spot::Desk, None) | (Spot::Busy | Spot::Append | Spot::Start, _) => {}
        }
        moments.into_iter().flatten().min()
    }

    /// Until the next moment at which something is due.
    fn time_passes(&mut self, spot: Spot) {
        let Some(next) = self.next_moment(spot) else { return };
        // Something may have been due for a long time; then one moment passes.
        self.pass(next.max(self.now + 1));
        self.narrate(|| "time passes".to_owned());
    }

    /// The time is this.
    pub(crate) fn pass(&mut self, now: u64) {
        self.now = now;
        let had_host = self.hosts.living.is_some();
        self.hosts.see_to_time(self.now);
        if had_host && self.hosts.living.is_none() {
            self.tally.mark("a host withdraws");
            self.narrate(|| "the host received no start request, and leaves".to_owned());
        }
    }

    fn host_can_work(&self) -> bool {
        let Some(host) = &self.hosts.living else { return false };
        let is_ending = host.ladder.is_some() || host.is_changing;
        is_ending
            || match host.phase {
                Phase::Held | Phase::AsksCall | Phase::Stuck => false,
                Phase::Turn => true,
                // One that could continue waits for the reply whether it does.
                Phase::EndWritten => !self.scene.goes_on() || host.is_closed,
                Phase::Between => host.is_closed,
            }
    }

    /// The process does something, or its host does.
    fn host_works(&mut self) {
        let now = self.now;
        let Some(host) = &mut self.hosts.living else { return };
        if host.is_changing {
            self.tally.mark("a process waits between two turns");
            self.narrate(|| "the host continues with the next attempt".to_owned());
            return self.hosts.change_over(now);
        }
        if let Some(why) = host.ladder {
            self.narrate(|| format!("the process is gone ({why})"));
            return self.hosts.exit(now, SimulatedExit::Killed);
        }
        match host.phase {
            Phase::Held | Phase::AsksCall | Phase::Stuck => {}
            Phase::EndWritten | Phase::Between => {
                let exits = [(Some(SimulatedExit::Good), 8), (Some(SimulatedExit::Bad), 1), (None, 1)];
                match self.tape.weighted(&exits).flatten() {
                    Some(exit) => {
                        self.narrate(|| format!("the process leaves ({exit:?})"));
                        self.hosts.exit(now, exit);
                    }
                    None => {
                        host.phase = Phase::Stuck;
                        self.narrate(|| "the process has ended its turn and does not leave".to_owned());
                    }
                }
            }
            Phase::Turn => self.turn(now),
        }
    }

    fn turn(&mut self, now: u64) {
        #[derive(Clone, Copy)]
        enum Does {
            Writes(Line),
            Leaves(SimulatedExit),
            Hangs,
        }
        let attempt = self.hosts.living.as_ref().map_or(0, |host| host.attempt);
        let said = self.hosts.attempt(attempt).lines.len();
        let asks = if said < 3 { 4 } else { 0 };
        let end = |end: End| Does::Writes(Line::End(end));
        let choices = [
            (end(End::Done), 6),
            (end(End::Question), 14),
            (Does::Writes(Line::Asked), asks),
            (Does::Writes(Line::Said), asks / 2),
            (end(End::Misfit), 1),
            (end(End::Failure), 1),
            (end(End::Quota), 1),
            (end(End::Limit), 1),
            (Does::Leaves(SimulatedExit::Good), 1),
            (Does::Leaves(SimulatedExit::Bad), 1),
            (Does::Hangs, 1),
        ];
        let Some(does) = self.tape.weighted(&choices) else { return };
        let Some(host) = &mut self.hosts.living else { return };
        match does {
            Does::Writes(line) => {
                host.phase = match line {
                    Line::Said => Phase::Turn,
                    Line::Asked => Phase::AsksCall,
                    Line::End(_) => Phase::EndWritten,
                };
                self.narrate(|| format!("the process writes {line:?}"));
                self.hosts.write(now, line);
            }
            Does::Leaves(exit) => {
                self.narrate(|| format!("the process leaves in the middle of its turn ({exit:?})"));
                self.hosts.exit(now, exit);
            }
            Does::Hangs => {
                host.phase = Phase::Stuck;
                self.narrate(|| "the process hangs".to_owned());
            }
        }
    }

    /// Checks against the laws which answers processes received, and which processes began.
    pub(crate) fn look_at_processes(&mut self) -> Result<(), Broken> {
        while let Some(given) = self.hosts.given.pop() {
            self.tally.mark("an answer reaches a process");
            self.narrate(|| format!("the process has the answer to question {}", given.interaction));
            self.laws.given(given)?;
        }
        while let Some((attempt, words)) = self.hosts.began.pop() {
            self.narrate(|| format!("the process of attempt {attempt} begins"));
            let starts = self.hosts.attempt(attempt).starts;
            self.laws.began(attempt, starts, words.as_ref())?;
        }
        Ok(())
    }

    /// Whether the owner may report to the process that no more input comes.
    pub(crate) fn may_end(&mut self) -> bool {
        let state = &self.disk.state;
        if state.is_over() || state.canceling.is_some() || state.failing.is_some() {
            return true;
        }
        let Some(host) = &self.hosts.living else { return true };
        if host.ladder.is_some() {
            return true;
        }
        let ended = if host.awaits_input && !host.is_changing { host.attempt - 1 } else { host.attempt };
        let goes_on = self.scene.goes_on() && self.scene.max_attempt.is_none_or(|max| ended < max);
        match end_of(&self.hosts.attempt(ended).lines) {
            None => false,
            Some(End::Question) => !goes_on,
            Some(End::Done | End::Misfit | End::Failure | End::Quota | End::Limit) => true,
        }
    }

    pub(crate) fn check(&mut self) -> Result<(), Broken> {
        if self.laws.end.is_some() && !self.disk.has_result {
            return Err(Law::Result.broken("there is none"));
        }
        if self.clients.has_canceled && !self.laws.is_canceling {
            return Err(Law::Canceled.broken("a client received the acknowledgement, and the Log does not contain it"));
        }
        self.clients.check(&self.laws.replies)
    }

    /// Nothing is in progress: then every pending need of the run must be assigned to some process or timer.
    fn check_idle(&mut self, spot: Spot) -> Result<(), Broken> {
        let Some(owner) = &self.owner else { return Ok(()) };
        let state = &self.disk.state;
        if state.is_over() && spot == Spot::Desk && self.hosts.is_forgotten() {
            return Err(Law::ProcessLeft.broken("the run is over, and its process is not asked to end"));
        }
        if state.is_over() || self.disk.log.is_empty() {
            return Ok(());
        }
        let forgotten = |words: &str| Err(Law::Forgotten.broken(words));
        let question = state.question.as_ref();
        let is_ending = state.canceling.is_some() || state.failing.is_some();
        let has_deadline = question.is_some_and(|question| question.deadline.is_some());
        let Spot::Wait { until, .. } = spot else {
            let timer = owner.timer.map(|timer| timer.interaction_id);
            let deadline = question.filter(|_| has_deadline).map(|question| question.interaction_id);
            return match state.status {
                _ if owner.again_at.is_some() => Ok(()),
                Some(RunStatus::Queued) if owner.is_queued => Ok(()),
                Some(RunStatus::WaitingUser) if state.rests() && timer == deadline => Ok(()),
                Some(RunStatus::WaitingUser) if state.rests() => {
                    forgotten("no owner waits for the deadline of the question")
                }
                Some(_) | None => forgotten("no owner works on the run"),
            };
        };
        if has_deadline && !is_ending && state.status == Some(RunStatus::WaitingUser) {
            // By the clock that is never set; a millisecond is added where a time is cut.
            let latest = self.now + SESSION_TIMEOUT + 2;
            if until.is_none_or(|until| until > latest) {
                return forgotten("the owner does not wait for the deadline of the question");
            }
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

    pub(crate) fn check_end(&mut self) -> Result<(), Broken> {
        if self.disk.log.is_empty() {
            return Ok(());
        }
        let again = State::of(self.disk.read(self.scene.paper).iter().map(Arc::as_ref));
        if again != self.disk.state {
            return Err(Law::Text.broken("a process that reads it again gets another state"));
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

/// A time of this clock, in whole milliseconds.
pub(crate) fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
