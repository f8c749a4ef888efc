//! Log, clock, hosts and files of the owner, all of them in memory. Each call is a moment at which others can act, and
//! at which the owner can die.

use std::cell::OnceCell;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use skillrun_collect::owner::HostMessage;
use skillrun_collect::protocol::{HostRequest, InterruptedProcess};
use skillrun_collect::{CollectError, HostResponse};
use skillrun_engine::descriptor::Calls as CallRule;
use skillrun_evidence::feed::StepKind;
use skillrun_evidence::host_record::HostRecord;
use skillrun_evidence::live_feed::Extent;
use skillrun_evidence::{EvidenceError, FeedStep, Meta, Patterns, Stream};
use skillrun_lifecycle::Settled;
use skillrun_lifecycle::closing::ControlEvent;
use skillrun_lifecycle::run::{ChildRun, GivenReply, ProcessLeft, SessionLeft, State};
use skillrun_lifecycle::workflow::{Beginning, Checkpoint, UnjudgedChild, end_without_run};
use skillrun_log::{Durability, FileLog, LineHash, LogError, LogErrorKind, Seq};
use skillrun_model::checks::CheckEnded;
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::delegation::SubagentEnded;
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::Event;
use skillrun_model::rasp::data::{MessageOrigin, UserMessage};
use skillrun_model::verdict::{RunError, Verdict};
use skillrun_model::workflow::StepState;
use skillrun_model::{AttemptNumber, EndedBy, RunId, Timestamp};
use skillrun_runs::checks;
use skillrun_runs::data_folder::{DataFolder, RunFolder};
use skillrun_runs::events::is_evidence;
use skillrun_runs::judge::Rules;
use skillrun_runs::record::{RunCheck, RunRecord};
use skillrun_runs::result::ResultFold;

use super::desk::Story;
use super::evidence::text_of;
use super::host::{Answered, Given};
use super::laws::Law;
use super::scene::Paper;
use super::world::{Spot, Turn, millis};
use crate::attempt::evidence::{AttemptEvidence, EvidenceTotals};
use crate::attempt::launch;
use crate::attempt::reading::AttemptRead;
use crate::clock::Clock;
use crate::error::RuntimeError;
use crate::mailbox::Mail;
use crate::run::Run;
use crate::runtime::LentSlot;
use crate::store::{LoggedEvidence, RunStore, TakeEvent};
use crate::worker::outside::{
    AttachedHost, AttemptFiles, CheckFound, Checks, ChildFault, Children, HostLink, Hosts, NoHost, PreparedStep, Steps,
    TurnFiles,
};

impl Clock for Story {
    fn now(&self) -> Timestamp {
        self.lock().wall()
    }

    fn running(&self) -> Duration {
        Duration::from_millis(self.lock().now)
    }

    fn awake(&self) -> Duration {
        self.running()
    }

    fn sleep(&self, time: Duration) {
        self.turn(Spot::Busy);
        let mut world = self.lock();
        let now = world.now + millis(time).max(1);
        world.pass(now);
    }
}

impl RunStore for Story {
    fn append(&self, run: RunId, expected: Seq, batch: &Arc<[Event]>, durability: Durability) -> Result<(), LogError> {
        match self.turn(Spot::Append) {
            Turn::DiesWriting => {
                self.lawful(|world| world.dies_writing(batch));
                self.stop()
            }
            Turn::Fails => {
                let (place, source) = ("events.jsonl".to_owned(), std::io::Error::other("full"));
                let kind = match durability {
                    // There is no reserve for them.
                    Durability::Derived => LogErrorKind::NoSpace { place, source },
                    Durability::Synced => LogErrorKind::Io { place, source },
                };
                Err(LogError { run, kind })
            }
            Turn::Go | Turn::Desk(_) | Turn::Other | Turn::Died => {
                self.lawful(|world| world.append_all(expected.0, batch, durability));
                Ok(())
            }
        }
    }

    fn hash_after(&self, _: RunId, _: Seq, _: &[Event]) -> Option<LineHash> {
        None
    }

    fn release(&self, _: RunId) {}

    fn read_all(&self, _: RunId, take: &mut TakeEvent<'_>) -> Result<(), RuntimeError> {
        let events = {
            let mut world = self.lock();
            let paper = world.scene.paper;
            world.disk.read(paper)
        };
        events.iter().try_for_each(|event| take(event, None))
    }

    fn file_log(&self) -> Option<&FileLog> {
        None
    }

    fn logged_evidence(&self, _: RunId, attempt: AttemptNumber, until: Seq) -> Box<dyn LoggedEvidence> {
        let events = self.lock().disk.read(Paper::Events);
        let is_wanted =
            |event: &Arc<Event>| event.seq <= until.0 && event.attempt_number == attempt && is_evidence(event);
        Box::new(LoggedInMemory(events.into_iter().filter(is_wanted).collect::<Vec<_>>().into_iter()))
    }

    fn prepare_end(&self, _: &RunFolder, _: &RunRecord, _: ResultFold) {
        self.lock().disk.has_result = true;
    }

    fn keep_reserve(&self, _: RunId) {}

    fn free_reserve(&self, _: RunId) {}

    fn check_variables(&self, _: RunId) -> Result<(), RuntimeError> {
        Ok(())
    }
}

#[derive(Debug)]
struct LoggedInMemory(std::vec::IntoIter<Arc<Event>>);

impl LoggedEvidence for LoggedInMemory {
    fn next(&mut self) -> Result<Option<(Vec<u8>, Event)>, RuntimeError> {
        Ok(self.0.next().map(|event| (event.to_json().into_bytes(), Arc::unwrap_or_clone(event))))
    }
}

/// Hosts and files.
pub(crate) struct Outside(pub(crate) Story);

impl Outside {
    /// A connection to the living host.
    fn link(&self) -> Option<Box<dyn HostLink>> {
        let (number, attempt) = self.0.lock().hosts.greet()?;
        Some(Box::new(Link { story: self.0.clone(), number, attempt: AttemptNumber(attempt) }))
    }
}

impl Hosts for Outside {
    fn attach(&self, attempt: AttemptNumber) -> Result<AttachedHost, CollectError> {
        self.0.turn(Spot::Busy);
        let mut world = self.0.lock();
        let left = world.hosts.attempt(attempt.0).clone();
        // A host that is changing over has claimed the attempt.
        let is_its = world
            .hosts
            .living
            .as_ref()
            .is_some_and(|host| host.attempt == attempt.0 || (host.is_changing && host.attempt + 1 == attempt.0));
        let (found, mark) = match (left.record, left.is_claimed) {
            _ if is_its => (None, "found: a living host"),
            (Some(record), _) => (Some(AttachedHost::Ended { process_continues: record.continues }), "found: a record"),
            (None, true) => (Some(AttachedHost::Lost), "found: a host that was lost"),
            (None, false) => (Some(AttachedHost::NotBegun), "found: nothing"),
        };
        world.tally.mark(mark);
        world.narrate(|| format!("the owner looks for the host of attempt {attempt}: {mark}"));
        drop(world);
        Ok(found.or_else(|| self.link().map(AttachedHost::Live)).unwrap_or(AttachedHost::NotBegun))
    }

    fn prepare(&self) -> Result<(), CollectError> {
        Ok(())
    }

    fn start(
        &self,
        run: &Run,
        _: &Rules,
        attempt: AttemptNumber,
    ) -> Result<Result<Box<dyn HostLink>, NoHost>, RuntimeError> {
        if self.0.turn(Spot::Start) == Turn::Fails {
            self.0.lock().start_failed = true;
            let error = launch::error(ErrorCategory::Host, Code::HostError, "it cannot".to_owned());
            return Ok(Err(NoHost::Never(error)));
        }
        let reply = run.state.reply.as_ref().filter(|reply| match reply.scope {
            Scope::Turn | Scope::Prompt => true,
            Scope::Call | Scope::Step => false,
        });
        let prompt = reply.map(|reply| Given { interaction: reply.interaction_id.0, text: reply.text.clone() });
        self.0.lawful(|world| {
            let is_open = run.state.attempt_is_open && run.state.attempt == attempt;
            if !is_open && world.disk.state.not_before.is_some_and(|at| at > world.latest) {
                return Err(Law::TooEarly.broken(format!("attempt {attempt} begins")));
            }
            world.narrate(|| format!("the owner starts a host for attempt {attempt}"));
            let started = world.hosts.start(attempt.0, world.now, prompt);
            started.ok_or_else(|| Law::OneProcess.broken(format!("attempt {attempt} is started beside another")))
        });
        self.0.turn(Spot::Busy);
        match self.link() {
            Some(link) => Ok(Ok(link)),
            None => {
                self.0.lock().start_failed = true;
                let error = launch::error(ErrorCategory::Host, Code::HostError, "it was killed".to_owned());
                Ok(Err(NoHost::InTheWay(error)))
            }
        }
    }

    fn terminate(&self, _: AttemptNumber) -> Result<(), CollectError> {
        self.0.lock().hosts.kill();
        Ok(())
    }

    fn are_gone(&self) -> bool {
        self.0.lock().hosts.living.is_none()
    }

    fn response(&self) -> HostResponse {
        if self.are_gone() { HostResponse::NoSocket } else { HostResponse::Yes }
    }

    fn last_attempt(&self) -> Option<AttemptNumber> {
        self.0.lock().hosts.last_claimed().map(AttemptNumber)
    }

    fn withdraw(&self, attempt: AttemptNumber) -> Result<(), CollectError> {
        self.0.turn(Spot::Busy);
        match self.0.lock().hosts.withdraw(attempt.0) {
            Answered::Done => Ok(()),
            Answered::Refused => Err(CollectError::Refused(format!("attempt {attempt} was begun"))),
        }
    }

    fn put_aside(&self, attempt: AttemptNumber) -> Result<(), CollectError> {
        self.0.turn(Spot::Busy);
        let mut world = self.0.lock();
        world.tally.mark("what a process left is put aside");
        world.hosts.put_aside(attempt.0);
        Ok(())
    }

    fn take_back(&self, attempt: AttemptNumber) -> Result<(), CollectError> {
        self.0.lock().hosts.take_back(attempt.0);
        Ok(())
    }

    fn received_nothing(&self, attempt: AttemptNumber) -> bool {
        self.0.lock().hosts.received_nothing(attempt.0)
    }

    fn take_mail(&self) -> Option<Mail> {
        self.0.lock().take_mail()
    }
}

/// Runs of the simulation have no checks.
impl Checks for Outside {
    fn find(&self, _: u32) -> Result<CheckFound, CollectError> {
        Ok(CheckFound::NotBegun)
    }

    fn start(
        &self,
        _: &Run,
        _: (u32, &RunCheck),
        _: AttemptNumber,
    ) -> Result<Result<Box<dyn HostLink>, NoHost>, RuntimeError> {
        let error = launch::error(ErrorCategory::Host, Code::HostError, "it cannot".to_owned());
        Ok(Err(NoHost::Never(error)))
    }

    fn terminate(&self, _: u32) -> Result<(), CollectError> {
        Ok(())
    }

    fn ended(
        &self,
        run: &Run,
        (number, check): (u32, &RunCheck),
        record: &HostRecord,
    ) -> Result<CheckEnded, RuntimeError> {
        Ok(checks::ended(&run.folder, check, number, record, &Patterns::default())?)
    }

    fn lost(&self, run: &Run, (number, check): (u32, &RunCheck), recording: AttemptNumber) -> CheckEnded {
        checks::lost(&run.folder, check, number, recording, &Patterns::default())
    }
}

impl Children for Outside {
    fn make(&self, _: &Run, child: &ChildRun) -> Result<(), ChildFault> {
        self.0.turn(Spot::Busy);
        let made = self.0.lawful(|world| world.make_child(child));
        self.0.turn(Spot::Busy);
        made
    }

    fn ending(&self, child: &ChildRun) -> Option<SubagentEnded> {
        let world = self.0.lock();
        world.family.ending(child, world.wall())
    }

    fn cancel(&self, child: &ChildRun) {
        self.0.turn(Spot::Busy);
        self.0.lock().cancel_child(child.run_id);
    }

    fn post(&self, state: &State) {
        self.0.lawful(|world| {
            let is_so = state.children == world.disk.state.children;
            if is_so { Ok(()) } else { Err(Law::Fold.broken("the owner shows other children than the Log has")) }
        });
    }

    fn lend_slot(&self) -> Option<LentSlot> {
        None
    }

    fn look_again(&self) {}

    fn wait_for_mail(&self, time: Duration) {
        self.0.lock().tally.mark("a run waits for its children");
        let until = self.0.lock().now.saturating_add(millis(time));
        self.0.turn(Spot::Children { until });
    }
}

impl Steps for Outside {
    fn prepare(&self, _: &Run, beginning: &Beginning) -> Result<PreparedStep, RuntimeError> {
        let words = "no run is a workflow here";
        let end = end_without_run(&beginning.step_id, StepState::Failed, Code::StepInputInvalid, words);
        Ok(PreparedStep::Ended(Box::new(end)))
    }

    fn checkpoint(&self, _: &Run, _: &UnjudgedChild) -> Checkpoint {
        unreachable!("no run is a workflow here, so that no child of one ends")
    }

    fn outputs(&self, _: &Run) -> Option<serde_json::Map<String, serde_json::Value>> {
        None
    }
}

struct Link {
    story: Story,
    number: u32,
    attempt: AttemptNumber,
}

impl Drop for Link {
    fn drop(&mut self) {
        let mut world = self.story.lock();
        let now = world.now;
        if let Some(host) = world.hosts.living.as_mut().filter(|host| host.number == self.number) {
            host.alone_since.get_or_insert(now);
        }
    }
}

impl HostLink for Link {
    fn host_pid(&self) -> u32 {
        self.number
    }

    fn attempt(&self) -> AttemptNumber {
        self.attempt
    }

    fn send(&mut self, request: &HostRequest) -> Result<(), CollectError> {
        match request {
            HostRequest::Start
            | HostRequest::Input { .. }
            | HostRequest::NextAttempt { .. }
            | HostRequest::Interrupt { .. }
            | HostRequest::StopWaiting
            | HostRequest::Cancel { .. } => {
                self.story.turn(Spot::Busy);
            }
            HostRequest::CloseStdin
            | HostRequest::TurnOver { .. }
            | HostRequest::TurnGoesOn
            | HostRequest::Wait { .. }
            | HostRequest::GoOn
            | HostRequest::Detach => {}
        }
        let number = self.number;
        self.story.lawful(|world| {
            // A host that has closed the connection receives nothing.
            if !world.hosts.lives(number) {
                return Ok(());
            }
            world.narrate(|| format!("the owner sends {request:?}"));
            world.request(request)
        });
        Ok(())
    }

    fn receive(&mut self) -> Result<HostMessage, CollectError> {
        Ok(match self.story.lock().hosts.receive(self.number) {
            Some(Some(notice)) => HostMessage::Notice(notice),
            Some(None) => HostMessage::Nothing,
            None => HostMessage::Gone,
        })
    }

    fn wait(&self, time: Option<Duration>) {
        let until = time.map(|time| self.story.lock().now.saturating_add(millis(time)));
        self.story.turn(Spot::Wait { host: self.number, until });
    }

    fn reap(self: Box<Self>) {}
}

thread_local! {
    static RULES: OnceCell<Arc<Rules>> = const { OnceCell::new() };
}

/// A skill whose output has a number as its answer.
fn rules() -> Arc<Rules> {
    let folder = tempfile::tempdir().expect("a folder");
    let run = DataFolder::new(folder.path()).run(RunId::new(1, [1; 10]));
    let skill = run.skill();
    let schema = r#"{"type":"object","required":["answer"],"properties":{"answer":{"type":"number"}}}"#;
    let files = [
        ("SKILL.md", "---\nname: probe\ndescription: For the simulation.\n---\n\nAnswer.\n"),
        ("assets/runner.json", r#"{"schemas": {"output": "assets/output.json"}}"#),
        ("assets/output.json", schema),
    ];
    fs::create_dir_all(skill.join("assets")).expect("a folder");
    for (name, text) in files {
        fs::write(skill.join(name), text).expect("written");
    }
    Arc::new(Rules::read(&run))
}

impl AttemptFiles for Outside {
    fn rules(&self, _: &Run) -> Arc<Rules> {
        RULES.with(|known| known.get_or_init(rules).clone())
    }

    fn evidence(&self, _: &Run, attempt: AttemptNumber) -> Result<Box<dyn AttemptEvidence>, RuntimeError> {
        Ok(Box::new(LinesRead { story: self.0.clone(), attempt: attempt.0, line: 0, bytes: 0, acts: 0 }))
    }

    fn session_left(&self, run: &Run) -> SessionLeft {
        match run.state.session_id {
            Some(_) => self.0.lock().scene.session,
            None => SessionLeft::Lost,
        }
    }

    fn message(&self, run: &Run, _: &Rules) -> Result<UserMessage, RunError> {
        let first = || UserMessage::new(MessageOrigin::Skill, "the instructions of the skill");
        Ok(run.state.reply.as_ref().map_or_else(first, GivenReply::message))
    }

    fn has_opening(&self, _: &Run, attempt: AttemptNumber) -> bool {
        self.0.lock().hosts.attempt(attempt.0).has_opening
    }

    fn call_rule(&self, _: &Run) -> Option<CallRule> {
        self.0.lock().tally.mark("a question inside a turn is decided");
        None
    }

    fn interrupted_agent(&self, _: &Run) -> InterruptedProcess {
        InterruptedProcess::Stays
    }

    fn found_in_workspace(&self, _: &Run) -> Vec<ControlEvent> {
        Vec::new()
    }

    fn untested_version(&self, _: &Run) -> Option<ControlEvent> {
        None
    }

    fn give_back_login(&self, _: RunId, _: ProcessLeft) -> Vec<ControlEvent> {
        Vec::new()
    }

    fn turn_files(&self, _: &Run, _: &Rules, _: AttemptNumber, _: &Settled) -> TurnFiles {
        TurnFiles::default()
    }

    fn note_settled(&self, _: &Run, _: AttemptNumber, _: &AttemptRead, _: &Verdict) {}

    fn write_views(&self, _: RunId) {}

    fn write_waiting_views(&self, _: RunId) {}
}

/// The lines of a process, as far as they were read.
#[derive(Debug)]
struct LinesRead {
    story: Story,
    attempt: u32,
    line: usize,
    bytes: u64,
    /// Acts of its host that were read; they stand between the lines.
    acts: usize,
}

impl LinesRead {
    /// The act that stands before the next line.
    fn next_act(&mut self) -> Option<EndedBy> {
        let mut world = self.story.lock();
        let (before, act) = *world.hosts.attempt(self.attempt).acts.get(self.acts)?;
        (before <= self.line).then(|| self.acts += 1).map(|()| act)
    }

    fn next_within(&mut self, reach: u64) -> Option<FeedStep<'_>> {
        let line = *self.story.lock().hosts.lines(self.attempt).get(self.line)?;
        if let Some(act) = self.next_act() {
            return Some(FeedStep { t_ns: 0, kind: StepKind::Act(act) });
        }
        let text = text_of(line, self.line);
        let end = self.bytes + text.len() as u64;
        if end > reach {
            return None;
        }
        (self.line, self.bytes) = (self.line + 1, end);
        Some(FeedStep { t_ns: 0, kind: StepKind::Bytes { stream: Stream::Stdout, bytes: text.as_bytes() } })
    }
}

impl AttemptEvidence for LinesRead {
    fn started_at(&self) -> Option<Timestamp> {
        let mut world = self.story.lock();
        let attempt = world.hosts.attempt(self.attempt);
        let begun = attempt.is_begun.then_some(attempt.begun_at)?;
        Some(Timestamp::EPOCH.plus_nanos(begun * 1_000_000))
    }

    fn next_step(&mut self, extent: Extent) -> Result<Option<FeedStep<'_>>, EvidenceError> {
        Ok(self.next_within(extent.stdout))
    }

    fn end(&mut self) -> Result<Meta, EvidenceError> {
        let started_at = self.started_at().unwrap_or(Timestamp::EPOCH);
        let record = self.story.lock().hosts.record(self.attempt);
        Ok(record.meta(started_at))
    }

    fn next_left(&mut self) -> Result<Option<FeedStep<'_>>, EvidenceError> {
        if self.story.lock().hosts.lines(self.attempt).len() > self.line {
            return Ok(self.next_within(u64::MAX));
        }
        Ok(self.next_act().map(|act| FeedStep { t_ns: 0, kind: StepKind::Act(act) }))
    }

    fn totals(&self) -> EvidenceTotals {
        EvidenceTotals { bytes: self.bytes, ..EvidenceTotals::default() }
    }
}
