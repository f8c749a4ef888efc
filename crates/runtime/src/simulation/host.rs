//! Hosts, their processes, and what they leave behind. All of it outlives the owner.
//!
//! Mirrors, in small, `collect/src/host`: `hold` (waits for the start request), `requests`, `input` (a number is
//! written once), `next_attempt` (the changeover), `deadlines`, and `collect/src/{withdraw,aside}.rs`.

use std::collections::VecDeque;

use skillrun_collect::protocol::{HostRequest, InputAnswer, Notice, RecordedSizes};
use skillrun_model::{AttemptNumber, EndedBy};

use super::evidence::{Line, Record, SimulatedExit, bytes_of, end_of};
use super::faults::HostFault;

/// Timeouts of a host, in milliseconds.
pub(crate) const HARD: u64 = 100_000;
const STALL: u64 = 30_000;
const LINGER: u64 = 10_000;
const WAIT_GRACE: u64 = 60_000;
const OWNERLESS: u64 = 1_000_000;
const HELD: u64 = 30_000;

/// What is left of an attempt in its folder.
#[derive(Debug, Default, Clone)]
pub(crate) struct SimulatedAttempt {
    pub(crate) is_claimed: bool,
    /// Its files were opened.
    pub(crate) is_begun: bool,
    pub(crate) lines: Vec<Line>,
    /// An answer was written to its process.
    has_input: bool,
    pub(crate) begun_at: u64,
    pub(crate) record: Option<Record>,
    /// What its host did to end it, and after how many lines: what the chunk index has of it.
    pub(crate) acts: Vec<(usize, EndedBy)>,
    /// The number of lines before the host was asked to interrupt it.
    pub(crate) interrupted_after: Option<usize>,
    /// What an earlier process left of it.
    aside: Option<Box<SimulatedAttempt>>,
    /// Processes that were started for it.
    pub(crate) starts: u32,
    /// The input that its process is started with was recorded; that stays.
    pub(crate) has_opening: bool,
}

impl SimulatedAttempt {
    fn clear(&mut self) {
        *self = Self { starts: self.starts, has_opening: self.has_opening, ..Self::default() };
    }
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The process does not exist yet: its host waits for the start request.
    Held,
    Turn,
    AsksCall,
    EndWritten,
    /// It does nothing, and does not exit.
    Stuck,
    /// It waits for the answer that begins its next turn.
    Between,
}

/// An answer, as a process receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) interaction: u32,
    /// The line that was written to it, or the prompt that it was started with.
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    Done,
    Refused,
}

#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) number: u32,
    pub(crate) attempt: u32,
    pub(crate) phase: Phase,
    /// The files of the next attempt are being opened.
    pub(crate) is_changing: bool,
    pub(crate) is_closed: bool,
    pub(crate) ladder: Option<EndedBy>,
    after_end: bool,
    highest: u32,
    linger_until: Option<u64>,
    waiting: Option<(u64, Option<u64>)>,
    begun: u64,
    last_byte: u64,
    /// Nothing was written to it in this attempt.
    pub(crate) awaits_input: bool,
    pub(crate) alone_since: Option<u64>,
    held_until: u64,
    early: Vec<HostRequest>,
    /// What its owner has not received yet.
    notices: VecDeque<Notice>,
    /// The prompt that it is started with.
    prompt: Option<Given>,
}

/// Everything in `.audit`, and the running host, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    attempts: Vec<SimulatedAttempt>,
    pub(crate) living: Option<Host>,
    made: u32,
    /// What the last host reported before it closed its connection.
    last_notices: (u32, VecDeque<Notice>),
    /// Answers that processes received and that the laws have not checked yet.
    pub(crate) given: Vec<Given>,
    /// Attempts whose process began since the last check of the laws, with the input that it was started with.
    pub(crate) began: Vec<(u32, Option<Given>)>,
    fault: HostFault,
}

impl Hosts {
    pub(crate) fn new(fault: HostFault) -> Self {
        Self { fault, ..Self::default() }
    }

    pub(crate) fn attempt(&mut self, number: u32) -> &mut SimulatedAttempt {
        let at = number as usize;
        if self.attempts.len() <= at {
            self.attempts.resize(at + 1, SimulatedAttempt::default());
        }
        &mut self.attempts[at]
    }

    /// What the process of an attempt wrote.
    pub(crate) fn lines(&self, number: u32) -> &[Line] {
        self.attempts.get(number as usize).map_or(&[], |attempt| &attempt.lines)
    }

    /// How the attempt ended, as far as is known.
    pub(crate) fn record(&mut self, number: u32) -> Record {
        self.attempt(number).record.unwrap_or(Record::LOST)
    }

    /// The host has a message for its owner, or has closed the connection.
    pub(crate) fn has_news(&self, number: u32) -> bool {
        self.living.as_ref().is_none_or(|host| host.number != number || !host.notices.is_empty())
    }

    /// The next message of a host; none when it has closed the connection.
    pub(crate) fn receive(&mut self, number: u32) -> Option<Option<Notice>> {
        match &mut self.living {
            Some(host) if host.number == number => Some(host.notices.pop_front()),
            _ if self.last_notices.0 == number => self.last_notices.1.pop_front().map(Some),
            _ => None,
        }
    }

    /// An owner attaches to the living host, and receives how far it is.
    pub(crate) fn greet(&mut self) -> Option<(u32, u32)> {
        let attempt = self.living.as_ref()?.attempt;
        let sizes = self.sizes(attempt);
        let host = self.living.as_mut()?;
        host.notices.clear();
        host.notices.push_back(Notice::Progress(sizes));
        host.alone_since = None;
        Some((host.number, attempt))
    }

    fn sizes(&self, number: u32) -> RecordedSizes {
        let stdout = bytes_of(self.lines(number));
        RecordedSizes { attempt: AttemptNumber(number), stdout, stderr: 0, pty: 0 }
    }

    fn notify(&mut self, notice: Notice) {
        if let Some(host) = &mut self.living {
            host.notices.push_back(notice);
        }
    }

    /// The highest attempt that a host has claimed.
    pub(crate) fn last_claimed(&self) -> Option<u32> {
        let at = self.attempts.iter().rposition(|attempt| attempt.is_claimed)?;
        u32::try_from(at).ok()
    }

    /// A process runs, and was not asked to end or to leave.
    pub(crate) fn is_forgotten(&self) -> bool {
        let host = self.living.as_ref().filter(|host| host.phase != Phase::Held);
        host.is_some_and(|host| host.ladder.is_none() && host.linger_until.is_none())
    }

    /// The process of the attempt received no answer and wrote nothing.
    pub(crate) fn received_nothing(&self, number: u32) -> bool {
        self.attempts.get(number as usize).is_none_or(|attempt| !attempt.has_input && attempt.lines.is_empty())
    }

    pub(crate) fn lives(&self, number: u32) -> bool {
        self.living.as_ref().is_some_and(|host| host.number == number)
    }

    /// A host claims an attempt and waits for the start request. None when it refuses.
    pub(crate) fn start(&mut self, number: u32, now: u64, prompt: Option<Given>) -> Option<u32> {
        if self.living.is_some() || self.attempt(number).is_claimed {
            return None;
        }
        let attempt = self.attempt(number);
        (attempt.is_claimed, attempt.has_opening) = (true, true);
        self.made += 1;
        self.living = Some(Host {
            number: self.made,
            attempt: number,
            phase: Phase::Held,
            is_changing: false,
            is_closed: false,
            ladder: None,
            after_end: false,
            highest: 0,
            linger_until: None,
            waiting: None,
            begun: now,
            last_byte: now,
            awaits_input: false,
            alone_since: None,
            held_until: now + HELD,
            early: Vec::new(),
            notices: VecDeque::new(),
            prompt,
        });
        Some(self.made)
    }

    /// A request of the owner.
    pub(crate) fn request(&mut self, now: u64, request: &HostRequest) {
        let Some(host) = &mut self.living else { return };
        if host.phase == Phase::Held {
            match request {
                HostRequest::Start => self.begin(now),
                HostRequest::Cancel { .. } => self.leave(Record::never_begun(EndedBy::Canceled)),
                HostRequest::Interrupt { attempt, .. } if attempt.0 == host.attempt => {
                    let number = host.attempt;
                    self.attempt(number).interrupted_after = Some(0);
                    self.leave(Record::never_begun(EndedBy::Interrupted));
                }
                HostRequest::Interrupt { .. } => {}
                HostRequest::Detach => host.alone_since = Some(now),
                HostRequest::Input { .. }
                | HostRequest::CloseStdin
                | HostRequest::NextAttempt { .. }
                | HostRequest::TurnOver { .. }
                | HostRequest::TurnGoesOn
                | HostRequest::Wait { .. }
                | HostRequest::StopWaiting
                | HostRequest::GoOn => host.early.push(request.clone()),
            }
            return;
        }
        match request {
            HostRequest::Start => {}
            HostRequest::Input { id, text, .. } => {
                let given = Given { interaction: id.parse().unwrap_or(0), text: text.clone().unwrap_or_default() };
                let answer = self.input(now, given);
                self.notify(Notice::Input { id: id.clone(), answer });
            }
            HostRequest::CloseStdin => host.is_closed = true,
            HostRequest::NextAttempt { attempt } => {
                if self.begin_next(now, attempt.0) == Answered::Refused {
                    self.notify(Notice::Refused { reason: "the process is being terminated".to_owned() });
                }
            }
            HostRequest::Cancel { .. } => self.end(EndedBy::Canceled),
            HostRequest::Interrupt { attempt, .. } => self.interrupt(attempt.0),
            HostRequest::TurnOver { .. } => host.linger_until = Some(now + LINGER),
            HostRequest::TurnGoesOn => host.linger_until = None,
            HostRequest::Wait { deadline } => {
                let since = host.waiting.map_or(now, |(since, _)| since);
                let limit = deadline.and_then(|limit| u64::try_from(limit.as_millis()).ok());
                host.waiting = Some((since, limit.map(|limit| now + limit)));
            }
            HostRequest::GoOn => host.go_on(now),
            HostRequest::StopWaiting => self.end(EndedBy::WaitTimeout),
            HostRequest::Detach => host.alone_since = Some(now),
        }
    }

    fn begin(&mut self, now: u64) {
        let Some(host) = &mut self.living else { return };
        host.phase = Phase::Turn;
        (host.begun, host.last_byte) = (now, now);
        let (number, prompt) = (host.attempt, host.prompt.clone());
        let early = std::mem::take(&mut host.early);
        self.began.push((number, prompt.clone()));
        self.given.extend(prompt);
        let attempt = self.attempt(number);
        (attempt.is_begun, attempt.begun_at) = (true, now);
        attempt.starts += 1;
        for request in early {
            self.request(now, &request);
        }
    }

    fn input(&mut self, now: u64, given: Given) -> InputAnswer {
        let forgets = self.fault == HostFault::WritesTwice;
        let Some(host) = &mut self.living else { return InputAnswer::Closed };
        let is_old = given.interaction <= host.highest && !forgets;
        if is_old {
            return InputAnswer::Repeated;
        }
        if host.is_closed || host.ladder.is_some() {
            return InputAnswer::Closed;
        }
        host.highest = given.interaction;
        host.go_on(now);
        host.last_byte = now;
        if std::mem::replace(&mut host.awaits_input, false) {
            host.begun = now;
            host.linger_until = None;
        }
        match host.phase {
            Phase::AsksCall | Phase::Between => host.phase = Phase::Turn,
            Phase::Held | Phase::Turn | Phase::EndWritten | Phase::Stuck => {}
        }
        let number = host.attempt;
        self.attempt(number).has_input = true;
        self.given.push(given);
        InputAnswer::Written
    }

    fn begin_next(&mut self, now: u64, attempt: u32) -> Answered {
        let Some(host) = &mut self.living else { return Answered::Done };
        if attempt != host.attempt + 1 || host.ladder.is_some() {
            return Answered::Refused;
        }
        if host.is_changing {
            // An earlier owner has requested it.
            return Answered::Done;
        }
        host.is_changing = true;
        host.awaits_input = true;
        host.linger_until = None;
        (host.begun, host.last_byte) = (now, now);
        self.attempt(attempt).is_claimed = true;
        Answered::Done
    }

    /// The files of the next attempt are open, and those of the one before are closed.
    pub(crate) fn change_over(&mut self, now: u64) {
        let Some(host) = &mut self.living else { return };
        host.is_changing = false;
        if host.phase == Phase::EndWritten {
            host.phase = Phase::Between;
        }
        let before = host.attempt;
        host.attempt += 1;
        let next = host.attempt;
        let record = Record { ended_by: None, exit: SimulatedExit::Unknown, continues: true, after_end: false };
        self.attempt(before).record = Some(record);
        let attempt = self.attempt(next);
        (attempt.is_begun, attempt.begun_at) = (true, now);
        let sizes = RecordedSizes { attempt: AttemptNumber(next), ..self.sizes(before) };
        self.notify(Notice::NextAttempt(sizes));
        let sizes = self.sizes(next);
        self.notify(Notice::Progress(sizes));
    }

    /// The turn is interrupted, unless the process has left it. The engine of the simulation cannot stop its turn and
    /// stay.
    fn interrupt(&mut self, number: u32) {
        let is_its = |host: &&Host| host.attempt == number && !host.is_changing && host.ladder.is_none();
        if self.living.as_ref().filter(is_its).is_none() {
            return;
        }
        let attempt = self.attempt(number);
        attempt.interrupted_after = Some(attempt.lines.len());
        self.end(EndedBy::Interrupted);
        if self.fault == HostFault::ForgetsTheAct {
            self.attempt(number).acts.clear();
        }
    }

    /// The process is asked to end; it will.
    pub(crate) fn end(&mut self, why: EndedBy) {
        let Some(host) = self.living.as_ref().filter(|host| host.ladder.is_none()) else { return };
        // While the files of the next attempt are being opened, the previous one is over except for its last line.
        let (number, newest) = (host.attempt, host.attempt + u32::from(host.is_changing));
        let after_end = end_of(&self.attempt(number).lines).is_some();
        let attempt = self.attempt(newest);
        attempt.acts.push((attempt.lines.len(), why));
        let Some(host) = &mut self.living else { return };
        (host.ladder, host.after_end) = (Some(why), after_end);
    }

    pub(crate) fn write(&mut self, now: u64, line: Line) {
        let Some(host) = &mut self.living else { return };
        host.last_byte = now;
        let number = host.attempt;
        self.attempt(number).lines.push(line);
        let sizes = self.sizes(number);
        self.notify(Notice::Progress(sizes));
    }

    /// The process has exited, and its host leaves a record.
    pub(crate) fn exit(&mut self, now: u64, exit: SimulatedExit) {
        if self.living.as_ref().is_some_and(|host| host.is_changing) {
            self.change_over(now);
        }
        let Some(host) = &self.living else { return };
        let record = match host.ladder {
            Some(why) => {
                Record { ended_by: Some(why), exit: SimulatedExit::Killed, continues: false, after_end: host.after_end }
            }
            None => Record { ended_by: Some(EndedBy::Exited), exit, continues: false, after_end: false },
        };
        self.leave(record);
    }

    fn leave(&mut self, record: Record) {
        if let Some(host) = self.living.take() {
            self.attempt(host.attempt).record = Some(record);
            self.last_notices = (host.number, host.notices);
        }
    }

    /// The host is killed; the process dies with it.
    pub(crate) fn kill(&mut self) {
        if let Some(host) = self.living.take() {
            self.last_notices = (host.number, host.notices);
        }
    }

    /// No request arrived in time.
    fn withdraws(&mut self) {
        if let Some(host) = self.living.take() {
            self.attempt(host.attempt).clear();
        }
    }

    /// The files of an attempt that was claimed and never begun are removed. An attempt that was begun is refused.
    pub(crate) fn withdraw(&mut self, number: u32) -> Answered {
        let attempt = self.attempt(number);
        if attempt.is_begun || attempt.record.is_some() {
            return Answered::Refused;
        }
        attempt.clear();
        Answered::Done
    }

    /// The files of a process that ended while it waited are set aside.
    pub(crate) fn put_aside(&mut self, number: u32) {
        let aside = Box::new(self.attempt(number).clone());
        let attempt = self.attempt(number);
        attempt.clear();
        attempt.aside = Some(aside);
    }

    /// A host that was started in place of another did not come; what the other left is restored.
    pub(crate) fn take_back(&mut self, number: u32) {
        if let Some(aside) = self.attempt(number).aside.take() {
            *self.attempt(number) = *aside;
        }
    }

    /// The moment at which the host acts by itself.
    pub(crate) fn due(&self) -> Option<u64> {
        let host = self.living.as_ref().filter(|host| host.ladder.is_none())?;
        host.next().map(|(at, _)| at)
    }

    /// Does what is due.
    pub(crate) fn see_to_time(&mut self, now: u64) {
        let Some(host) = self.living.as_ref().filter(|host| host.ladder.is_none()) else { return };
        let Some((_, why)) = host.next().filter(|(at, _)| *at <= now) else { return };
        match why {
            Some(why) => self.end(why),
            None => self.withdraws(),
        }
    }
}

impl Host {
    fn go_on(&mut self, now: u64) {
        if let Some((since, _)) = self.waiting.take() {
            let stood = now.saturating_sub(since);
            self.begun += stood;
            self.last_byte = if self.last_byte < since { self.last_byte + stood } else { now };
            self.linger_until = self.linger_until.map(|until| until + stood);
        }
    }

    /// What it does next, and when; none where it withdraws.
    fn next(&self) -> Option<(u64, Option<EndedBy>)> {
        if self.phase == Phase::Held {
            return Some((self.held_until, None));
        }
        match self.waiting {
            Some((_, Some(until))) => Some((until + WAIT_GRACE, Some(EndedBy::WaitTimeout))),
            Some((_, None)) => self.alone_since.map(|since| (since + OWNERLESS, Some(EndedBy::WaitTimeout))),
            None => {
                let hard = (self.begun + HARD, Some(EndedBy::HardTimeout));
                let stall = (self.last_byte + STALL, Some(EndedBy::Stall));
                let others = self.linger_until.map_or(stall, |until| (until, Some(EndedBy::Linger)));
                Some(if others.0 <= hard.0 { others } else { hard })
            }
        }
    }
}
