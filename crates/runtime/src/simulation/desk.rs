//! The owner of the run while no worker has it: what `runtime/` does with one run, as far as it determines the order of
//! things (`deliver`, `take_up`, `threads`, `retries`). The runs and the workers are the product's own. Everything in
//! memory is lost when the owner dies.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skillrun_collect::protocol::HostRequest;
use skillrun_lifecycle::run::{HostState, Input, SessionLeft, made_until};
use skillrun_model::rasp::data::{RunStarted, Versions};
use skillrun_model::{AttemptNumber, IgnoredError, RunStatus};
use skillrun_runs::data_folder::DataFolder;

use super::action::Action;
use super::clients::{Clients, Said};
use super::disk::Disk;
use super::family::Family;
use super::faults::{Fault, HostFault};
use super::host::Hosts;
use super::laws::{Broken, Law, Laws};
use super::outside::Outside;
use super::tape::Tape;
use super::world::{SimulatedWorld, Spot, Turn, millis};
use crate::clock::Clock;
use crate::error::RuntimeError;
use crate::run::Run;
use crate::worker::{Alarm, Timer, Worker, WorkerExit};

/// How long after a failure the work is retried.
const PAUSE: u64 = 2_000;

/// What an owner has in memory.
#[derive(Debug, Default)]
pub(crate) struct Owner {
    pub(crate) mail: VecDeque<Said>,
    pub(crate) timer: Option<Timer>,
    pub(crate) is_queued: bool,
    /// Something failed, and is retried at this moment.
    pub(crate) again_at: Option<u64>,
    /// It came with a request, and leaves if that is not accepted.
    is_visitor: bool,
}

/// One story, shared by the scheduler and everything that the owner uses.
#[derive(Clone)]
pub(crate) struct Story(Arc<Mutex<SimulatedWorld>>);

impl fmt::Debug for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Story").finish_non_exhaustive()
    }
}

/// The owner stops in the middle of its work: it has died, or a law is broken.
struct Stopped;

impl Story {
    pub(crate) fn new(tape: Tape, fault: Option<Fault>) -> Self {
        Self(Arc::new(Mutex::new(SimulatedWorld::new(tape, fault))))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, SimulatedWorld> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Plays the story to its end: until the run is over and nothing of it is left, or it waits indefinitely.
    pub(crate) fn play(&self) -> Result<(), Broken> {
        self.owner_acts(Self::accept)?;
        loop {
            let turn = {
                let mut world = self.lock();
                if world.is_done() {
                    return world.check_end();
                }
                world.schedule(Spot::Desk)?
            };
            match turn {
                Turn::Go => self.owner_acts(Self::goes_on)?,
                Turn::Desk(Action::Mail) => self.owner_acts(Self::take_mail)?,
                Turn::Desk(Action::Due) => self.owner_acts(Self::timer_is_due)?,
                Turn::Desk(Action::Restart) => {
                    self.narrate("an owner starts");
                    self.lock().owner = Some(Owner::default());
                    self.owner_acts(Self::take_up_found)?;
                }
                Turn::Desk(Action::Comes) => {
                    self.narrate("a client comes and takes the run itself");
                    let mut world = self.lock();
                    let mail = VecDeque::from([world.some_word()]);
                    world.owner = Some(Owner { mail, is_visitor: true, ..Owner::default() });
                    drop(world);
                    self.owner_acts(Self::take_mail)?;
                }
                Turn::Desk(_) | Turn::Other | Turn::Fails | Turn::DiesWriting | Turn::Died => {}
            }
        }
    }

    /// The owner does something, which its death may interrupt anywhere.
    fn owner_acts(&self, act: fn(&Self)) -> Result<(), Broken> {
        match catch_unwind(AssertUnwindSafe(|| act(self))) {
            Err(cause) if !cause.is::<Stopped>() => {
                let words = cause.downcast_ref::<String>().cloned();
                let words = words.or_else(|| cause.downcast_ref::<&str>().map(|words| (*words).to_owned()));
                return Err(Law::Panics.broken(words.unwrap_or_default()));
            }
            Ok(()) | Err(_) => {}
        }
        let mut world = self.lock();
        world.broken.take().map_or_else(|| world.check(), Err)
    }

    /// Others act before the owner does its next thing.
    pub(crate) fn turn(&self, spot: Spot) -> Turn {
        let turn = self.lock().schedule(spot);
        match turn {
            Ok(Turn::Died) => self.stop(),
            Ok(turn) => turn,
            Err(broken) => self.breaks(broken),
        }
    }

    /// The owner does something that may break a law.
    pub(crate) fn lawful<T>(&self, act: impl FnOnce(&mut SimulatedWorld) -> Result<T, Broken>) -> T {
        let done = act(&mut self.lock());
        done.unwrap_or_else(|broken| self.breaks(broken))
    }

    fn breaks(&self, broken: Broken) -> ! {
        self.lock().broken = Some(broken);
        self.stop()
    }

    /// The work of the owner ends here.
    pub(crate) fn stop(&self) -> ! {
        resume_unwind(Box::new(Stopped))
    }

    pub(crate) fn narrate(&self, words: &str) {
        self.lock().narrate(|| words.to_owned());
    }

    fn with_owner(&self, change: impl FnOnce(&mut Owner)) {
        if let Some(owner) = &mut self.lock().owner {
            change(owner);
        }
    }

    fn new_run(&self) -> Run {
        let (record, folder) = {
            let world = self.lock();
            (world.record.clone(), DataFolder::new("/nonexistent").run(world.run_id))
        };
        let clock: Arc<dyn Clock> = Arc::new(self.clone());
        Run::stored(Arc::new(self.clone()), folder, clock, Arc::default(), record)
    }

    /// The owner becomes the writer of the Log.
    fn open(&self) -> Run {
        let mut run = self.new_run();
        run.fold().expect("a Log in memory can be read");
        run
    }

    /// A request is accepted.
    fn accept(&self) {
        let mut run = self.new_run();
        let started = {
            let world = self.lock();
            let versions = Versions { skillrun: "0".to_owned(), engine: None, profile: 1 };
            let mut started = RunStarted::new("claude", world.scene.mode, versions);
            started.continuation = Some(world.scene.continuation);
            started.not_before = world.planned.map(|planned| planned.not_before);
            started
        };
        match run.apply(Input::Accepted(started)) {
            Ok(_) => self.with_owner(|owner| owner.is_queued = true),
            // The request was not accepted, and no client received an acknowledgement; a planned run is retried.
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&self, error: &RuntimeError) {
        let again_at = self.lock().now + PAUSE;
        if !matches!(error, RuntimeError::Refused { .. }) {
            self.with_owner(|owner| owner.again_at = Some(again_at));
        }
    }

    /// A new owner finds the run.
    fn take_up_found(&self) {
        if !self.lock().disk.log.is_empty() {
            self.take_up(self.open());
        }
    }

    /// Continues with a run that no owner works on: `take_up.rs`.
    fn take_up(&self, mut run: Run) {
        if run.state.status.is_none()
            && let Err(error) = run.recover(HostState::NoClaim, SessionLeft::Lost, || {})
        {
            return self.failed(&error);
        }
        let state = &run.state;
        if state.is_over() {
            self.with_owner(|owner| owner.is_queued = false);
        } else if state.rests() {
            let open = state.question.as_ref().and_then(|open| Some((open.deadline?, open.interaction_id)));
            let timer = open.map(|(deadline, interaction_id)| {
                let alarm = Alarm::Question(interaction_id);
                Timer { at: run.time_up_at(deadline), alarm }
            });
            self.with_owner(|owner| owner.timer = timer);
        } else if state.status == Some(RunStatus::Queued) && !state.is_unfinished && !state.lacks_end() {
            self.with_owner(|owner| owner.is_queued = true);
        } else {
            self.work(run);
        }
    }

    /// A worker has the run until there is nothing to do for now.
    fn work(&self, run: Run) {
        let outcome = Worker::new(&Outside(self.clone()), run).work();
        match outcome {
            Ok(WorkerExit::Over) => self.with_owner(|owner| owner.again_at = None),
            Ok(WorkerExit::Waiting { timer }) => {
                if timer.is_none() {
                    self.lock().tally.mark("a run waits without a limit");
                }
                self.with_owner(|owner| (owner.again_at, owner.timer) = (None, timer));
            }
            Ok(WorkerExit::LetGo) => self.lock().owner_dies(),
            Err(error) => self.failed(&error),
        }
    }

    /// The owner of the run does its next piece of work.
    fn goes_on(&self) {
        let (now, may_begin) = {
            let world = self.lock();
            (world.now, world.may_begin())
        };
        let (mut begins, mut again) = (false, false);
        self.with_owner(|owner| {
            begins = owner.is_queued && may_begin;
            again = !begins && owner.again_at.is_some_and(|at| at <= now);
            if begins {
                (owner.is_queued, owner.timer) = (false, None);
            } else if again {
                owner.again_at = None;
            }
        });
        if begins {
            self.narrate("the run has a slot");
            return self.work(self.open());
        }
        if again {
            self.narrate("the owner tries again");
            let (is_empty, is_planned) = {
                let world = self.lock();
                (world.disk.log.is_empty(), world.planned.is_some())
            };
            return match (is_empty, is_planned) {
                (false, _) => self.take_up(self.open()),
                (true, true) => self.accept(),
                (true, false) => {}
            };
        }
        self.lawful(SimulatedWorld::make_planned);
        self.accept();
    }

    /// A client's request to a run that no worker has: `deliver.rs`.
    fn take_mail(&self) {
        let Some(said) = self.lock().owner.as_mut().and_then(|owner| owner.mail.pop_front()) else { return };
        if said == Said::ChildNews {
            return self.record_child_end();
        }
        let command = {
            let world = self.lock();
            world.clients.command(said, &world.family)
        };
        let Some(input) = command.input() else { return };
        self.lock().narrate(|| format!("the owner reads {said:?}"));
        if let Err(error) = self.apply_unowned(input, Some(said)) {
            let mut world = self.lock();
            world.answered(said, Err(error));
            if world.owner.as_ref().is_some_and(|owner| owner.is_visitor) {
                world.narrate(|| "the client leaves".to_owned());
                world.owner_dies();
            }
        }
    }

    /// A child has ended while no worker has the run: `children.rs`.
    fn record_child_end(&self) {
        let run = self.open();
        let end = {
            let world = self.lock();
            run.state.open_children().find_map(|child| world.family.ending(child, world.wall()))
        };
        let Some(end) = end else { return };
        self.narrate("the owner records the end of a child");
        // If it fails, the next worker does the same.
        self.apply_unowned(Input::ChildEnded(Box::new(end)), None).ignored();
    }

    /// The deadline of a question has passed.
    fn timer_is_due(&self) {
        self.narrate("the deadline of the question has passed");
        let timer = self.lock().owner.as_mut().and_then(|owner| owner.timer.take());
        let Some(Timer { alarm: Alarm::Question(interaction_id), .. }) = timer else { return };
        if let Err(error) = self.apply_unowned(Input::Expired { interaction_id }, None) {
            self.failed(&error);
        }
    }

    fn apply_unowned(&self, input: Input<'_>, said: Option<Said>) -> Result<(), RuntimeError> {
        let mut run = self.open();
        run.apply_idle(input, || self.end_left_process())?;
        self.turn(Spot::Busy);
        self.with_owner(|owner| (owner.is_visitor, owner.timer) = (false, None));
        if let Some(said) = said {
            self.lock().answered(said, Ok(()));
        }
        if run.state.is_over() {
            self.with_owner(|owner| owner.is_queued = false);
        } else {
            self.take_up(run);
        }
        Ok(())
    }

    fn end_left_process(&self) {
        self.turn(Spot::Busy);
        self.narrate("the owner ends the process that waited");
        self.lawful(|world| world.request(&HostRequest::Cancel { ladder: None }));
    }
}

impl SimulatedWorld {
    fn may_begin(&self) -> bool {
        self.disk.state.attempt != AttemptNumber::BEFORE_FIRST
            || self.disk.state.not_before.is_none_or(|at| at <= self.wall())
    }

    /// What an owner can do while no worker has the run.
    pub(crate) fn desk_choices(&self, owner: &Owner, choices: &mut Vec<Action>) {
        let has_work = (owner.is_queued && self.may_begin())
            || owner.again_at.is_some_and(|at| at <= self.now)
            || (owner.again_at.is_none() && self.can_retry());
        if has_work {
            choices.push(Action::Owner);
        }
        if owner.timer.is_some_and(|timer| millis(timer.at) <= self.now) {
            choices.push(Action::Due);
        }
        if !owner.mail.is_empty() {
            choices.push(Action::Mail);
        }
    }

    /// The run that replaces this one was planned, and does not exist.
    pub(crate) fn can_retry(&self) -> bool {
        let planned = if self.disk.log.is_empty() { self.planned } else { self.disk.state.retry };
        planned.is_some_and(|planned| self.wall() <= made_until(planned))
    }

    /// The run that replaces one that failed takes its place in the story: `retries.rs`.
    fn make_planned(&mut self) -> Result<(), Broken> {
        if let Some(planned) = self.disk.state.retry.filter(|_| !self.disk.log.is_empty()) {
            if planned.run_id == self.run_id {
                return Err(Law::OneRetry.broken("a run takes its own place"));
            }
            let number = self.record.quota_retry.map_or(0, |retry| retry.number) + 1;
            if number > self.record.request.retry.quota_max {
                return Err(Law::OneRetry.broken("more runs are made than were asked for"));
            }
            self.run_id = planned.run_id;
            self.planned = Some(planned);
            self.record = Arc::new(self.scene.record(planned.run_id, Some((number, planned.not_before))));
            self.disk = Disk::default();
            self.laws = Laws::default();
            self.clients = Clients::default();
            self.family = Family::default();
            self.tally_of_runs += 1;
            self.hosts = Hosts::new(HostFault::of(self.fault));
            if let Some(owner) = &mut self.owner {
                owner.mail.clear();
            }
        }
        self.tally.mark("a planned run is made");
        self.narrate(|| "the planned run is created".to_owned());
        Ok(())
    }
}
