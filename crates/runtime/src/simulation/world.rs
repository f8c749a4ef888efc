//! The world of one story: the disk, the hosts, the clients, an owner that may die, and a clock. In each step one of
//! them does one thing; the tape chooses which.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use skillrun_collect::protocol::HostRequest;
use skillrun_model::rasp::data::PlannedRetry;
use skillrun_model::{ExecutionMode, RunId, RunStatus, Timestamp};
use skillrun_runs::record::RunRecord;

use super::action::Action;
use super::clients::{Clients, Said};
use super::desk::Owner;
use super::disk::Disk;
use super::evidence::SimulatedExit;
use super::family::Family;
use super::faults::{self, Fault, HostFault};
use super::host::{Hosts, Phase};
use super::laws::{Broken, Law, Laws};
use super::scene::{Paper, Scene};
use super::tally::Tally;
use super::tape::{NUMBERS, Tape};
use crate::error::RuntimeError;

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
    pub(crate) family: Family,
    /// Runs that were made in place of this one.
    pub(crate) tally_of_runs: u32,
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
    pub(super) answers: Vec<(Said, Receiver<Result<(), RuntimeError>>)>,
    /// A host could not be started, or was killed at once.
    pub(crate) start_failed: bool,
    /// Since when the run has waited for the next prompt.
    pub(crate) rests_since: Option<u64>,
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
    /// A worker without a host waits for the ends of its children, for its mail, or until this moment.
    Children { until: u64 },
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
        let hosts = Hosts::new(HostFault::of(fault));
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
            family: Family::default(),
            tally_of_runs: 0,
            owner: Some(Owner::default()),
            laws: Laws::default(),
            planned: None,
            tally: Tally::default(),
            story: None,
            record: Arc::new(scene.record(run_id, None)),
            broken: None,
            answers: Vec::new(),
            start_failed: false,
            rests_since: None,
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
            (Spot::Children { until }, _) => {
                let has_mail = self.owner.as_ref().is_some_and(|owner| !owner.mail.is_empty());
                if has_mail || until <= self.now {
                    choices.push(Action::Owner);
                }
            }
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
        if self.family.has_working() {
            choices.push(Action::ChildEnds);
        }
        let state = &self.disk.state;
        // A request that could not be answered now would be retried indefinitely.
        let is_open =
            state.status == Some(RunStatus::WaitingUser) && !state.is_ending() && state.interrupting.is_none();
        let is_open = is_open && state.unsent_prompt().is_none();
        let has_mail = self.owner.as_ref().is_some_and(|owner| !owner.mail.is_empty());
        let is_asked = state.question.is_some() && is_open && self.owner.is_some() && !has_mail;
        if is_asked && self.tape.is_over() && self.is_conversation_at_rest() {
            // So that every story ends.
            choices.push(Action::Close);
        }
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
                    choices.push(Action::Close);
                    if self.clients.may_interrupt() {
                        choices.push(Action::Interrupt);
                    }
                    if matches!(spot, Spot::Wait { .. } | Spot::Children { .. }) {
                        choices.push(Action::LetGo);
                    }
                    let has_process = self.hosts.living.as_ref().is_some_and(|host| host.phase != Phase::Held);
                    if has_process && self.scene.delegates && self.family.may_ask() {
                        choices.push(Action::Spawn);
                    }
                }
                choices.push(Action::Crash);
                match spot {
                    Spot::Append => {
                        choices.push(Action::CrashWriting);
                        choices.push(Action::DiskFull);
                    }
                    Spot::Start => choices.push(Action::StartFails),
                    Spot::Desk | Spot::Busy | Spot::Wait { .. } | Spot::Children { .. } => {}
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

    fn is_conversation_at_rest(&self) -> bool {
        self.scene.mode == ExecutionMode::Conversation && self.disk.state.is_at_rest()
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
            Action::Interrupt => {
                let says = self.tape.pick(2) == 1;
                let said = self.clients.interrupt(says);
                self.put_in_mail(said);
            }
            Action::Close => self.put_in_mail(Said::Close),
            Action::LetGo => self.put_in_mail(Said::LetGo),
            Action::Spawn => self.asks_for_child(),
            Action::ChildEnds => self.child_ends(),
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

    pub(crate) fn owner_dies(&mut self) {
        self.owner = None;
        self.answers.clear();
        if let Some(host) = &mut self.hosts.living {
            host.alone_since = Some(self.now);
        }
    }

    /// A request of the owner to the attached host.
    pub(crate) fn request(&mut self, request: &HostRequest) -> Result<(), Broken> {
        let ends =
            matches!(request, HostRequest::Cancel { .. } | HostRequest::CloseStdin | HostRequest::TurnOver { .. });
        let may_end =
            if *request == HostRequest::StopWaiting { self.may_stop_waiting() } else { !ends || self.may_end() };
        if !may_end {
            return Err(Law::NoCause.broken(format!("the owner sends {request:?}")));
        }
        if let HostRequest::Interrupt { attempt, .. } = request
            && !self.laws.is_interrupted(attempt.0)
        {
            return Err(Law::NoCause.broken(format!("the owner interrupts attempt {attempt}, and the Log does not")));
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
            (Spot::Children { until }, _) => moments[1] = Some(until),
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
}

/// A time of this clock, in whole milliseconds.
pub(crate) fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
