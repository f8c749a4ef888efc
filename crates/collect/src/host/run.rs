//! The loop: bytes, requests, exits and deadlines, in the order of arrival.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::Pid;
use skillrun_confine::{BoxInit, BoxNetwork};
use skillrun_evidence::HostRecord;
use skillrun_evidence::host_record::HostError;
use skillrun_model::{AttemptNumber, Code, EndedBy, IgnoredError, Stream, Wiring};

use super::begin::{Begun, Signals};
use super::deadlines::{Deadlines, Moment, after};
use super::hold::Held;
use super::input::Inputs;
use super::ladder::{Climb, Ladder};
use super::launch::Launched;
use super::owner_socket::OwnerSocket;
use super::part::{AttemptEvidence, RecordingProblem};
use super::record;
use super::streams::Streams;
use crate::claim::Claim;
use crate::limits::watch::Watch;
use crate::plan::{HostPlan, Rung, StartWhen};
use crate::process::cgroup::Cgroup;
use crate::process::tree::{self, Exit, Left};
use crate::protocol::{HostRequest, Notice, ProcessState, RecordedSizes};
use crate::secrets::Secrets;
use crate::snapshot::Snapshots;

/// A process that lives this long gets a control group; moving it costs too much for a short-lived one.
const CGROUP_AFTER: Moment = 100_000_000;

/// Delay before a write to a full disk is retried.
const DISK_RETRY_DELAY: Duration = Duration::from_secs(1);

/// A host with everything it needs.
pub(super) struct Host {
    pub(super) plan: HostPlan,
    pub(super) audit: PathBuf,
    pub(super) claim: Claim,
    pub(super) owner_socket: OwnerSocket,
    pub(super) snapshots: Option<Snapshots>,
    pub(super) temporary: PathBuf,
    pub(super) record: HostRecord,
    pub(super) clock: Clock,
    /// Requests of the owner that could not be handled yet.
    pub(super) early: Vec<HostRequest>,
    pub(super) last_breath: Moment,
    /// Whether the process may be started.
    pub(super) process: ProcessState,
    pub(super) signals: Signals,
    /// The attempt whose input mark was made last.
    pub(super) marked: Option<AttemptNumber>,
    /// The attempt that the user has interrupted.
    pub(super) interrupted: Option<AttemptNumber>,
    /// Of a box with a network of its own.
    pub(super) network: Option<BoxNetwork>,
}

/// A process that was started, and everything about it.
pub(super) struct Running {
    pub(super) main: Pid,
    /// The first process of the box, if there is one with namespaces.
    pub(super) init: Option<BoxInit>,
    pub(super) streams: Streams,
    pub(super) deadlines: Deadlines,
    pub(super) ladder: Option<Ladder>,
    pub(super) exit: Option<(Exit, Moment)>,
    pub(super) drained: u64,
    pub(super) group: Option<Cgroup>,
    /// What the processes use, if that is limited.
    pub(super) watch: Option<Watch>,
    pub(super) inputs: Inputs,
    pub(super) wants_group: bool,
    pub(super) left: Left,
    /// Processes are no longer asked to exit.
    pub(super) is_at_top: bool,
    pub(super) change_over_by: Option<Moment>,
    /// The preliminary record did not fit on the disk, and is written at this time. Its bytes are not read before.
    pub(super) meta_due: Option<Moment>,
    /// Keeps the controlling terminal open.
    pub(super) held: Option<OwnedFd>,
}

/// One monotonic clock for everything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn now(self) -> Moment {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Waits until one of them is ready or the time has come.
    pub(super) fn poll(self, fds: &mut [PollFd<'_>], until: Option<Moment>) -> Result<(), Errno> {
        let mut timeout = until.map(|at| {
            let nanos = at.saturating_sub(self.now());
            Timespec { tv_sec: (nanos / 1_000_000_000).cast_signed(), tv_nsec: (nanos % 1_000_000_000).cast_signed() }
        });
        loop {
            match poll(fds, timeout.as_ref()) {
                Ok(_) => return Ok(()),
                // A signal: its event is handled now.
                Err(Errno::INTR) => timeout = Some(Timespec { tv_sec: 0, tv_nsec: 0 }),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Host {
    pub(super) fn new(begun: Begun) -> Self {
        let Begun { plan, audit, claim, owner_socket, signals, snapshots, temporary } = begun;
        let record = record::opening(&plan, &Secrets::of(&plan), plan.attempt, None);
        let clock = Clock(Instant::now());
        let (early, last_breath) = (Vec::new(), 0);
        let process = match plan.start {
            StartWhen::AtOnce => ProcessState::Started,
            StartWhen::Told { .. } => ProcessState::Held,
        };
        let (marked, interrupted) = (None, None);
        Self {
            plan,
            audit,
            claim,
            owner_socket,
            snapshots,
            temporary,
            record,
            clock,
            early,
            last_breath,
            process,
            signals,
            marked,
            interrupted,
            network: None,
        }
    }

    /// From the first snapshot to the record.
    pub(super) fn live(mut self) {
        // A process that is held back loses no time.
        self.snapshot_before(None, &mut Self::receive);
        match self.hold() {
            Held::Over => {}
            Held::TooLong => return self.withdraw(),
        }
        match self.launch() {
            Launched::Running(mut running) => {
                self.catch_up(&mut running);
                let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.run(&mut running)));
                if lived.is_err() {
                    self.record.ended_by = Some(EndedBy::HostError);
                    self.fail("the host process had an internal error");
                }
                self.close(*running);
            }
            Launched::Refused(part) => self.close_unstarted(part.map(|part| *part)),
        }
    }

    /// Notes an error of the host; the first one counts.
    pub(super) fn fail(&mut self, message: impl Into<String>) {
        let error = HostError { code: Code::HostError, message: message.into() };
        self.record.error.get_or_insert(error);
    }

    pub(super) fn run(&mut self, running: &mut Running) {
        loop {
            // Arrived data is handled before the clock is checked: a host that was delayed must not terminate a process
            // that was not.
            let ready = self.wait(running);
            self.handle(running, &ready);
            let now = self.clock.now();
            self.tend(running, now);
            if self.is_over(running, now) {
                break;
            }
        }
    }

    /// Performs the steps that are due.
    fn tend(&mut self, running: &mut Running, now: Moment) {
        if running.streams.announce_at().is_some_and(|at| now >= at) {
            running.streams.announce(now);
            self.owner_socket.progress(progress(&running.streams.part));
        }
        self.handle_evidence_error(running, now);
        self.look_at_limits(running, now);
        if running.streams.has_changed_over() || running.change_over_by.is_some_and(|by| now >= by) {
            self.change_over(running, now);
        }
        if running.ladder.is_none()
            && !running.has_finished()
            && let Some((at, why)) = running.deadlines.next()
            && now >= at
        {
            let since_begin = at.saturating_sub(running.streams.part.begun);
            self.record.deadline_at = Some(self.record.started_at.plus_nanos(since_begin));
            self.end(running, now, why, &self.plan.ladder.clone());
        }
        if running.meta_due.is_some_and(|due| now >= due) {
            self.write_meta(running, now);
        }
        running.climb(now);
        if running.wants_group && now >= running.streams.part.begun.saturating_add(CGROUP_AFTER) {
            running.wants_group = false;
            running.group = Cgroup::create(&self.plan.nonce);
            if let Some(group) = &running.group {
                // Processes outside of the group are found by walking the tree.
                group.adopt(tree::descendants).ignored();
            }
        }
        for event in self.owner_socket.flush(now) {
            self.desk_event(running, now, event);
        }
    }

    /// Writes a preliminary record that states how to read the bytes of this attempt. The final record contains the
    /// same and more.
    pub(super) fn write_meta(&mut self, running: &mut Running, now: Moment) {
        running.meta_due = match self.record.write_meta(&self.audit) {
            Ok(()) => None,
            Err(_) => Some(after(now, DISK_RETRY_DELAY)),
        };
        // An owner that waited for it checks again.
        self.owner_socket.progress(progress(&running.streams.part));
    }

    fn handle_evidence_error(&mut self, running: &mut Running, now: Moment) {
        let Some(trouble) = &running.streams.part.trouble else { return };
        if running.ladder.is_some() {
            return;
        }
        if let RecordingProblem::Disk(error) = trouble {
            let message = format!("the evidence could not be written ({error})");
            self.fail(message);
        }
        let why = trouble.ended_by();
        // Later output is lost, so there is no reason for a graceful end.
        let at_once = [Rung { signal: crate::signals::SignalName::KILL, pause: Duration::ZERO }];
        self.end(running, now, why, &at_once);
    }

    /// Starts terminating the process.
    pub(super) fn end(&mut self, running: &mut Running, now: Moment, why: EndedBy, rungs: &[Rung]) {
        running.streams.act(now, why);
        running.ladder = Some(Ladder::new(why, rungs, now));
    }

    fn is_over(&self, running: &Running, now: Moment) -> bool {
        if running.ladder.is_some() {
            return running.is_at_top || (running.exit.is_some() && running.left == Left::NoProcess);
        }
        match running.exit {
            None => false,
            Some(_) if running.streams.are_over() => true,
            Some(_) => running.streams_until().is_some_and(|until| now >= until),
        }
    }

    /// The next time at which a step is due.
    fn next_moment(&self, running: &Running) -> Option<Moment> {
        let ladder = running.ladder.as_ref().map(Ladder::next_at);
        // Only times that lead to an action: a time that has passed and changes nothing would keep the loop spinning.
        let deadline = match (&running.ladder, running.has_finished()) {
            (Some(_), _) => None,
            (None, true) => running.streams_until(),
            (None, false) => running.deadlines.next().map(|(at, _)| at),
        };
        let group = running.wants_group.then(|| running.streams.part.begun.saturating_add(CGROUP_AFTER));
        let announce = running.streams.announce_at();
        let watch = running.watch_at();
        let moments = [
            ladder,
            deadline,
            group,
            announce,
            watch,
            running.change_over_by,
            running.meta_due,
            self.owner_socket.due(),
        ];
        moments.into_iter().flatten().min()
    }

    fn wait(&self, running: &Running) -> Ready {
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(8);
        let mut what = Vec::with_capacity(8);
        let mut add = |source: Source, fd, flags: PollFlags| {
            fds.push(PollFd::from_borrowed_fd(fd, flags));
            what.push(source);
        };
        for (stream, fd, flags) in running.streams.polled() {
            add(Source::Stream(stream), fd, flags);
        }
        add(Source::Child, self.signals.child.as_fd(), PollFlags::IN);
        add(Source::End, self.signals.end.as_fd(), PollFlags::IN);
        if let Some(fd) = self.owner_socket.listener(self.clock.now()) {
            add(Source::Listener, fd, PollFlags::IN);
        }
        if let Some((fd, flags)) = self.owner_socket.seat() {
            add(Source::Owner, fd, flags);
        }
        if let Some((fd, flags)) = running.inputs.polled() {
            add(Source::Input, fd, flags);
        }
        if self.clock.poll(&mut fds, self.next_moment(running)).is_err() {
            // Temporarily out of memory.
            return Ready(Vec::new());
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ready(what.into_iter().zip(&fds).filter(|(_, fd)| is_ready(fd)).map(|(source, _)| source).collect())
    }

    fn handle(&mut self, running: &mut Running, ready: &Ready) {
        let now = self.clock.now();
        for source in &ready.0 {
            match source {
                Source::Stream(stream) => {
                    let count = running.streams.read(*stream, now);
                    if count > 0 {
                        // Storing it may have taken a while.
                        running.deadlines.byte(self.clock.now());
                        running.note_drained(count);
                    }
                    if running.streams.part.recorder.is_over(*stream) {
                        self.owner_socket.progress(progress(&running.streams.part));
                    }
                }
                Source::Child => {
                    Signals::came(&self.signals.child);
                    self.reap(running, now);
                }
                Source::End => {
                    if Signals::came(&self.signals.end) && running.ladder.is_none() {
                        self.fail("the host process was terminated by a signal");
                        self.end(running, now, EndedBy::HostError, &self.plan.ladder.clone());
                    }
                }
                Source::Owner => self.read_owner(running, now),
                Source::Listener => {
                    // A killed owner makes room for one that connects at the same time.
                    self.read_owner(running, now);
                    self.owner_socket.accept(now, &self.hello());
                }
                Source::Input => self.write_input(running),
            }
        }
        if self.owner_socket.due().is_some_and(|due| now >= due) {
            self.read_owner(running, now);
            self.owner_socket.accept(now, &self.hello());
        }
    }

    fn read_owner(&mut self, running: &mut Running, now: Moment) {
        for event in self.owner_socket.read(now) {
            self.desk_event(running, now, event);
        }
    }

    fn reap(&mut self, running: &mut Running, now: Moment) {
        let main = running.main;
        let mut exit = None;
        running.left = tree::reap(|pid, status| {
            if pid == main {
                exit = Some(status);
            }
        });
        if let Some(exit) = exit {
            running.exit = Some((exit, now));
            // It exits as soon as nothing else is left in the box, and the host has no child any more.
            if let Some(init) = &mut running.init {
                init.release();
            }
        }
        let matters = running.ladder.is_some() || matches!(running.exit, Some((Exit::Signal(_), _)));
        if running.left == Left::Some && running.exit.is_some() && matters {
            running.left = tree::left_of(main);
        }
        if let (Some(ladder), Some((_, exited)), Left::Tools) = (&mut running.ladder, running.exit, running.left) {
            ladder.only_tools_are_left(exited, now);
        }
        if running.left == Left::Some && running.ladder.is_none() && matches!(exit, Some(Exit::Signal(_))) {
            // It was a wrapper. Its earlier output comes before it in the index, all output of the real program after
            // it.
            if running.streams.drain(now) > 0 {
                running.deadlines.byte(self.clock.now());
            }
            running.streams.act(now, EndedBy::Exited);
            // The act has announced the bytes before it, so that nothing else reports them to the owner. If they end the
            // turn, no more bytes follow, and the owner would wait for them until the time limit.
            self.owner_socket.progress(progress(&running.streams.part));
        }
        if let Some(exit) = exit {
            self.send_exit(exit);
            match self.plan.wiring {
                // Its end is the end of both streams, and does not come while the host holds it open.
                Wiring::OnePty => drop(running.held.take()),
                Wiring::Pipes | Wiring::SplitPty => {}
            }
        }
    }

    pub(super) fn write_input(&mut self, running: &mut Running) {
        let wrote = running.inputs.write();
        if !wrote.bytes.is_empty() {
            running.streams.gave(&wrote.bytes);
        }
        if let Some((id, answer)) = wrote.answer {
            self.owner_socket.send_notice(&Notice::Input { id, answer });
        }
    }
}

impl Running {
    /// Asks the process to exit, when that was decided and is due.
    pub(super) fn climb(&mut self, now: Moment) {
        let Some(ladder) = &mut self.ladder else { return };
        match ladder.climb(now) {
            Climb::Send(signal) => {
                let main = self.exit.is_none().then_some(self.main);
                tree::signal(main, signal.signal());
            }
            Climb::Wait => {}
            Climb::Top => self.is_at_top = true,
        }
    }

    /// The engine itself has exited. One that was killed by a signal may have been a wrapper while the real program is
    /// still running, unless the turn was over before or only tools are left.
    pub(super) fn has_finished(&self) -> bool {
        match self.exit {
            None => false,
            Some((Exit::Code(_), _)) => true,
            Some((Exit::Signal(_), _)) => match self.left {
                Left::NoProcess | Left::Tools => true,
                Left::Some => self.deadlines.turn_is_over(),
            },
        }
    }

    /// When the host stops waiting for streams that outlive the engine; none while only they, or a deadline, can
    /// decide. The processes that hold them open are not the engine: a deadline no longer turns this into a failure.
    fn streams_until(&self) -> Option<Moment> {
        let (_, exited) = self.exit.filter(|_| self.has_finished())?;
        Some(self.deadlines.streams_linger_until(exited).min(self.deadlines.hard_limit()))
    }

    fn note_drained(&mut self, count: usize) {
        if self.exit.is_some() {
            self.drained += count as u64;
        }
    }

    /// Reads the output that has arrived meanwhile, during long operations.
    pub(super) fn breathe(&mut self, now: Moment) {
        for stream in Stream::ALL {
            let count = self.streams.read(stream, now);
            if count > 0 {
                self.deadlines.byte(now);
            }
        }
    }
}

/// What became ready.
struct Ready(Vec<Source>);

#[derive(Debug, Clone, Copy)]
enum Source {
    Stream(Stream),
    /// A child has exited.
    Child,
    /// The host received a signal to exit.
    End,
    Listener,
    Owner,
    Input,
}

pub(super) fn progress(part: &AttemptEvidence) -> RecordedSizes {
    let recorder = &part.recorder;
    RecordedSizes {
        attempt: recorder.number(),
        stdout: recorder.recorded(Stream::Stdout),
        stderr: recorder.recorded(Stream::Stderr),
        pty: recorder.recorded(Stream::Pty),
    }
}
