//! The world of one story: the disk, the hosts, the clients, an owner that may die, and a clock. In each step one of
//! them does one thing; the tape chooses which.

use std::collections::VecDeque;

use skillrun_lifecycle::run::{Input, State};
use skillrun_model::rasp::data::{PlannedRetry, RunStarted, Versions};
use skillrun_model::rasp::{Event, Source, SourceStream};
use skillrun_model::{EngineName, RunId, RunStatus, Timestamp};

use crate::action::Action;
use crate::clients::{Clients, Said};
use crate::disk::{Disk, Durability};
use crate::evidence::{End, Exit, Line, end_of};
use crate::faults::Fault;
use crate::host::{Hosts, Phase};
use crate::laws::{Broken, Law, Laws};
use crate::owner::{After, At, Hand, Owner};
use crate::scene::{Paper, Scene};
use crate::tally::Tally;
use crate::tape::{NUMBERS, Tape};

/// The moment at which stories begin, so that a clock can be set back.
const BEGIN: u64 = 1_000_000_000_000;

/// How far a clock jumps.
const JUMP: i64 = 3_600_000;

/// The number of steps that a story may have after its run is over.
const AFTER_END: u32 = 3;

/// More steps than any story needs.
const STEPS_MAX: u32 = 400;

pub(crate) struct World {
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
    source: Source,
    choices: Vec<Action>,
    /// Steps since the run was over.
    after_end: u32,
}

impl World {
    pub(crate) fn new(mut tape: Tape, fault: Option<Fault>) -> Self {
        let scene = Scene::draw(&mut tape);
        let source = Source {
            engine: EngineName::new("scripted"),
            stream: SourceStream::Control,
            parser: None,
            confidence: 1.0,
        };
        let hosts = Hosts::new(fault == Some(Fault::WritesTwice));
        let mut world = Self {
            tape,
            scene,
            fault,
            now: 0,
            offset: 0,
            latest: Timestamp::EPOCH,
            run_id: RunId::new(1, [1; 10]),
            disk: Disk::default(),
            hosts,
            clients: Clients::default(),
            owner: Some(Owner::default()),
            laws: Laws::default(),
            planned: None,
            tally: Tally::default(),
            story: None,
            source,
            choices: Vec::new(),
            after_end: 0,
        };
        if scene.paper == Paper::Text {
            world.tally.mark("the Log is kept as text");
        }
        world
    }

    /// Plays the story to its end: until the run is over and nothing of it is left, or it waits indefinitely.
    pub(crate) fn play(&mut self) -> Result<(), Broken> {
        self.accept()?;
        for _ in 0..STEPS_MAX {
            if self.is_done() {
                return self.check_end();
            }
            self.step()?;
        }
        if self.laws.end.is_some() {
            return Err(Law::ProcessLeft.broken("it is there still"));
        }
        Err(Law::Ends.broken(format!("it continues after {STEPS_MAX} steps, {:?}", self.disk.state.status)))
    }

    /// A request is accepted, by an owner that has just started.
    pub(crate) fn accept(&mut self) -> Result<(), Broken> {
        let versions = Versions { skillrun: "0".to_owned(), engine: None, profile: 1 };
        let mut started = RunStarted::new("scripted", self.scene.mode, versions);
        started.continuation = Some(self.scene.options.continuation);
        started.not_before = self.planned.map(|planned| planned.not_before);
        self.put_in_hand(State::default());
        self.decide(Input::Accepted(started), None, After::Enqueue).map(drop)
    }

    fn is_done(&self) -> bool {
        let is_asked_for = self.owner.as_ref().is_some_and(|owner| owner.hand.is_some());
        let was_accepted = !self.disk.log.is_empty() || self.planned.is_some() || is_asked_for;
        let is_over = !was_accepted || (self.laws.end.is_some() && !self.can_retry());
        let is_late = !was_accepted || self.tape.is_over() || self.after_end >= AFTER_END;
        is_over && is_late && self.is_quiet()
    }

    fn is_quiet(&self) -> bool {
        self.hosts.living.is_none() && self.owner.as_ref().is_none_or(|owner| self.is_idle(owner))
    }

    fn step(&mut self) -> Result<(), Broken> {
        let mut choices = std::mem::take(&mut self.choices);
        choices.clear();
        self.list(&mut choices);
        // A number means the same action in every story; where that action is not possible, the step that makes
        // progress is taken. So a story keeps its meaning when a piece of it is removed.
        let drawn = Action::of(self.tape.pick(NUMBERS));
        let chosen = drawn.filter(|action| choices.contains(action)).or(choices.first().copied());
        let is_busy = choices.first().is_some_and(|action| action.is_of_owner());
        self.choices = choices;
        if !is_busy {
            self.check_idle()?;
        }
        let Some(action) = chosen else {
            return Err(
                Law::Ends.broken(format!("nothing can happen any more, and it is {:?}", self.disk.state.status))
            );
        };
        self.after_end = if self.laws.end.is_some() { self.after_end + 1 } else { 0 };
        self.tally.action(action, self.disk.state.status);
        self.latest = self.latest.max(self.wall());
        self.act(action)?;
        self.check()
    }

    /// The possible actions. The one that makes progress comes first.
    fn list(&self, choices: &mut Vec<Action>) {
        let is_idle = match &self.owner {
            None => {
                choices.push(Action::Restart);
                true
            }
            Some(owner) => {
                let before = choices.len();
                self.owner_choices(owner, choices);
                choices.len() == before
            }
        };
        if self.host_can_work() {
            choices.push(Action::Host);
        }
        let state = &self.disk.state;
        // A request that could not be answered now would be retried indefinitely.
        let is_open = state.status == Some(RunStatus::WaitingUser) && state.canceling.is_none();
        let is_asked = state.question.is_some() && is_open && self.owner.is_some();
        if is_asked && (self.clients.may_send() || self.tape.is_over()) {
            choices.push(Action::Reply);
        }
        if is_idle && self.next_moment().is_some() {
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
                }
                choices.push(Action::Crash);
                match owner.hand.as_ref().map(|hand| &hand.at) {
                    Some(At::Write(_)) => {
                        choices.push(Action::CrashWriting);
                        choices.push(Action::DiskFull);
                    }
                    Some(At::Start(_)) => choices.push(Action::StartFails),
                    Some(_) | None => {}
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

    fn act(&mut self, action: Action) -> Result<(), Broken> {
        match action {
            Action::Restart => {
                self.narrate(|| "an owner starts".to_owned());
                self.restart()
            }
            Action::Comes => {
                let said = self.some_word();
                self.narrate(|| "a client comes and takes the run itself".to_owned());
                let mail = VecDeque::from([said]);
                self.owner = Some(Owner { mail, is_visitor: true, ..Owner::default() });
                self.take_mail()
            }
            Action::Owner => self.owner_goes_on(),
            Action::PollHost => self.poll_host(),
            Action::Mail => self.take_mail(),
            Action::Due => self.timer_is_due(),
            Action::Host => {
                self.host_works();
                self.look_at_processes()
            }
            Action::Time => self.time_passes(),
            Action::Reply => {
                let question = self.disk.state.question.as_ref().map_or(0, |question| question.interaction_id.0);
                let has_key = self.tape.pick(3) != 2;
                let said = self.clients.reply(question, has_key);
                self.put_in_mail(said);
                Ok(())
            }
            Action::Other => {
                let said = self.clients.reply(self.disk.state.interactions, true);
                self.put_in_mail(said);
                Ok(())
            }
            Action::Stale => {
                let said = self.clients.reply(1, true);
                self.put_in_mail(said);
                Ok(())
            }
            Action::Again => {
                let keyed = self.clients.with_key();
                let at = self.tape.pick(keyed.len());
                let said = self.clients.again(keyed[at]);
                self.put_in_mail(said);
                Ok(())
            }
            Action::Cancel => {
                self.put_in_mail(Said::Cancel);
                Ok(())
            }
            Action::Crash => {
                self.narrate(|| "the owner dies".to_owned());
                self.owner_dies();
                Ok(())
            }
            Action::CrashWriting => self.dies_writing(),
            Action::DiskFull => {
                self.tally.mark("an append fails");
                self.narrate(|| "the disk is full, and nothing can be appended".to_owned());
                self.append_fails()
            }
            Action::StartFails => self.start_fails(),
            Action::HostKilled => {
                self.narrate(|| "the host is killed".to_owned());
                self.hosts.kill();
                Ok(())
            }
            Action::ProcessDies => {
                let exit = [Exit::Bad, Exit::Good][self.tape.pick(2)];
                self.narrate(|| format!("the process dies by itself ({exit:?})"));
                self.hosts.exit(exit);
                Ok(())
            }
            Action::PowerCut => {
                let unsynced = self.disk.log.len() - self.disk.synced;
                let kept = self.tape.pick(unsynced + 1);
                self.narrate(|| "the machine dies, with every process on it".to_owned());
                self.hosts.kill();
                self.owner_dies();
                self.disk.lose_unsynced(kept);
                Ok(())
            }
            Action::ClockForward => {
                self.offset += JUMP;
                self.narrate(|| "the clock is set an hour ahead".to_owned());
                Ok(())
            }
            Action::ClockBack => {
                self.offset -= JUMP;
                self.narrate(|| "the clock is set an hour back".to_owned());
                Ok(())
            }
        }
    }

    /// A request of a client that finds no owner.
    fn some_word(&mut self) -> Said {
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

    fn owner_dies(&mut self) {
        self.owner = None;
        if let Some(host) = &mut self.hosts.living {
            host.alone_since = Some(self.now);
        }
    }

    /// Of the batch that is being written, only the first events reach the disk.
    fn dies_writing(&mut self) -> Result<(), Broken> {
        let batch = self.batch_in_hand();
        let kept = self.tape.pick(batch.len() + 1);
        let is_torn = kept < batch.len() && self.tape.pick(2) == 1;
        self.tally.mark("a batch is cut");
        if is_torn {
            self.tally.mark("a record is torn");
        }
        let (whole, torn) = (batch.len(), if is_torn { ", and a piece of the next" } else { "" });
        self.narrate(|| format!("the owner dies writing: {kept} of {whole} events are in the Log{torn}"));
        self.disk.has_result |= self.writes_result();
        for event in batch.into_iter().take(kept) {
            self.append(event, Durability::Synced)?;
        }
        self.disk.is_torn = is_torn;
        self.owner_dies();
        Ok(())
    }

    /// One event more in the Log.
    pub(crate) fn append(&mut self, event: Event, durability: Durability) -> Result<(), Broken> {
        self.tally.event(event.event_type().as_str());
        let number = event.attempt_number;
        self.narrate(|| format!("    {:>3} {} (attempt {number})", event.seq, event.event_type().as_str()));
        let judged = self.laws.event(&event, &self.disk.state, &mut self.hosts, &self.scene);
        self.disk.append(event, durability, self.scene.paper);
        judged
    }

    pub(crate) fn source(&self, stream: SourceStream) -> Source {
        Source { stream, ..self.source.clone() }
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

    fn next_moment(&self) -> Option<u64> {
        let mut moments = [self.hosts.due(), None, None, None, None];
        if let Some(owner) = &self.owner {
            let timers = [owner.desk.timer, owner.hand.as_ref().and_then(|hand| hand.timer)];
            moments[1] = timers[0].map(|timer| self.moment(timer.at));
            moments[2] = timers[1].map(|timer| self.moment(timer.at));
            // An owner that works on the run needs no reminder.
            moments[3] = owner.desk.again_at.filter(|_| owner.hand.is_none());
            let later = self.disk.state.not_before.filter(|_| owner.desk.is_queued);
            moments[4] = later.map(|at| self.moment(at));
        }
        moments.into_iter().flatten().min()
    }

    /// Until the next moment at which something is due.
    fn time_passes(&mut self) -> Result<(), Broken> {
        let Some(next) = self.next_moment() else { return Ok(()) };
        // Something may have been due for a long time; then one moment passes.
        self.now = next.max(self.now + 1);
        self.narrate(|| "time passes".to_owned());
        let had_host = self.hosts.living.is_some();
        self.hosts.see_to_time(self.now);
        if had_host && self.hosts.living.is_none() {
            self.tally.mark("a host withdraws");
            self.narrate(|| "the host received no start request, and leaves".to_owned());
        }
        Ok(())
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
            return self.hosts.change_over();
        }
        if let Some(why) = host.ladder {
            self.narrate(|| format!("the process is gone ({why})"));
            return self.hosts.exit(Exit::Killed);
        }
        match host.phase {
            Phase::Held | Phase::AsksCall | Phase::Stuck => {}
            Phase::EndWritten | Phase::Between => {
                let exits = [(Some(Exit::Good), 8), (Some(Exit::Bad), 1), (None, 1)];
                match self.tape.weighted(&exits).flatten() {
                    Some(exit) => {
                        self.narrate(|| format!("the process leaves ({exit:?})"));
                        self.hosts.exit(exit);
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
            Leaves(Exit),
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
            (Does::Leaves(Exit::Good), 1),
            (Does::Leaves(Exit::Bad), 1),
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
                self.hosts.exit(exit);
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
            self.laws.began(attempt, starts, words)?;
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

    fn check(&mut self) -> Result<(), Broken> {
        if let Some(hand) = self.owner.as_ref().and_then(|owner| owner.hand.as_ref())
            && !hand.is_same(&self.disk.state)
        {
            return Err(Law::Fold.broken(format!("the owner has {}", differs(hand, &self.disk.state))));
        }
        if self.laws.end.is_some() && !self.disk.has_result {
            return Err(Law::Result.broken("there is none"));
        }
        if self.clients.has_canceled && !self.laws.is_canceling {
            return Err(Law::Canceled.broken("a client received the acknowledgement, and the Log does not contain it"));
        }
        self.clients.check(&self.laws.replies)
    }

    fn check_end(&mut self) -> Result<(), Broken> {
        if self.disk.log.is_empty() {
            return Ok(());
        }
        let again = self.disk.read(self.scene.paper);
        if again != self.disk.state {
            return Err(Law::Text.broken("a process that reads it again gets another state"));
        }
        Ok(())
    }
}

fn differs(hand: &Hand, disk: &State) -> String {
    let mine = hand.state();
    format!(
        "status {:?}, attempt {}, seq {}; the Log says {:?}, {}, {}",
        mine.status, mine.attempt, mine.last_seq, disk.status, disk.attempt, disk.last_seq
    )
}
