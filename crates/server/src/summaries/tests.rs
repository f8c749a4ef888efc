//! Lists are up to date, and readers of changes miss nothing and never see an older state after a newer one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use skillrun_catalog::{Catalog, Query, Row};
use skillrun_log::{Durability, EventLog, FileLog, Seq};
use skillrun_model::rasp::data::{RawText, RunStarted, Versions};
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData};
use skillrun_model::{EngineName, ExecutionMode, RunId, RunStatus, Timestamp};
use skillrun_runs::DataFolder;
use tempfile::TempDir;

use super::book::Book;
use super::shared::{LastRefresh, PendingNews as Pending, read_to_head, refresh_due};
use super::*;

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

const EPOCH: Epoch = Epoch(7);

pub(crate) struct World {
    _folder: TempDir,
    data: DataFolder,
    pub(crate) log: Arc<FileLog>,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let data = DataFolder::new(folder.path());
        let log = Arc::new(FileLog::new(data.runs()));
        Self { _folder: folder, data, log }
    }

    pub(crate) fn start(&self) -> Arc<Summaries> {
        Summaries::in_epoch(self.log.clone(), &self.data, EPOCH).expect("started")
    }

    /// The same folder as another process has it.
    fn other_log(&self) -> FileLog {
        FileLog::new(self.data.runs())
    }
}

pub(crate) fn run(n: u64) -> RunId {
    RunId::new(1_700_000_000_000 + n, [7; 10])
}

fn event(run: RunId, seq: u64, data: Data) -> Event {
    let ts = Timestamp::EPOCH.plus_nanos(seq * 1_000_000);
    let running = ControlData::status(RunStatus::Running);
    Event { data, ..Event::control(run, seq, ts, EngineName::new("scripted"), running) }
}

fn first(run: RunId) -> Event {
    let versions = Versions { skillrun: "0".to_owned(), engine: None, profile: 1 };
    event(run, 1, Data::Control(ControlData::RunStarted(RunStarted::new("scripted", ExecutionMode::Auto, versions))))
}

/// Creates a run and leaves it open for writing.
pub(crate) fn make(log: &FileLog, run: RunId) {
    log.create(run).expect("made");
    log.append(run, Seq(1), &[first(run)], Durability::Derived).expect("appended");
}

fn say(log: &FileLog, run: RunId, seq: u64, data: Data) {
    log.append(run, Seq(seq), &[event(run, seq, data)], Durability::Derived).expect("appended");
}

fn text() -> Data {
    Data::Evidence(EvidenceData::RawStdout(RawText::new("x")))
}

fn status(status: RunStatus) -> Data {
    Data::Control(ControlData::status(status))
}

fn size(world: &World, run: RunId) -> u64 {
    std::fs::metadata(world.data.run(run).events()).expect("a Log").len()
}

/// A bell that can be waited for.
fn bell(summaries: &Summaries) -> (Guard, Receiver<()>) {
    let (ring, rung) = channel();
    let wake = move || {
        ring.send(()).ok();
    };
    (summaries.subscribe(Arc::new(wake)), rung)
}

fn number_of(since: &Since) -> u64 {
    match since {
        Since::Reset { number, .. } => *number,
        Since::Changes(changes) => changes.last().map_or(0, |(number, _)| *number),
    }
}

fn changes(summaries: &Summaries, number: u64) -> Vec<(u64, RowChange)> {
    match summaries.since(Some((summaries.epoch(), number))).expect("asked") {
        Since::Changes(changes) => changes,
        Since::Reset { .. } => panic!("reset at {number}"),
    }
}

#[test]
fn what_was_appended_here_is_in_every_answer() {
    let world = World::new();
    make(&world.log, run(1));
    let summaries = world.start();
    for n in 2..60 {
        make(&world.log, run(n));
        let rows = summaries.list(&Query { limit: Some(1), ..Query::default() }).expect("a list");
        assert_eq!(rows[0].run_id, run(n));
        say(&world.log, run(n), 2, status(RunStatus::Queued));
        assert_eq!(summaries.counts().expect("counts").by_status[&RunStatus::Queued], n - 1);
        say(&world.log, run(1), n, text());
        assert_eq!(summaries.get(run(1)).expect("asked").expect("a row").log_bytes, size(&world, run(1)));
        say(&world.log, run(n), 3, text());
        let told = changes(&summaries, number_of(&summaries.since(None).expect("asked")));
        assert_eq!(told, [], "the snapshot has it");
    }
    assert_eq!(summaries.waiting(None, 9).expect("asked"), (vec![], 0));
    world.log.remove(run(9), Timestamp::EPOCH).expect("removed");
    assert_eq!(summaries.get(run(9)).expect("asked"), None);
    assert_eq!(summaries.list(&Query::default()).expect("a list").len(), 58);
}

#[test]
fn what_others_do_is_seen_at_once_or_soon() {
    let world = World::new();
    let other = world.other_log();
    let summaries = world.start();
    make(&other, run(1));
    assert!(summaries.get(run(1)).expect("asked").is_some(), "one run is always looked at");
    let number = number_of(&summaries.since(None).expect("asked"));
    let (_guard, rung) = bell(&summaries);
    make(&other, run(2));
    say(&other, run(1), 2, status(RunStatus::Running));
    // Another process refreshes the catalog file first, and so consumes the changes.
    let (mut catalog, _) = Catalog::open(&world.data.catalog(), &world.data.runs()).expect("a catalog");
    catalog.refresh(&other).expect("refreshed");
    rung.recv_timeout(TEST_TIMEOUT).expect("woken");
    let mut told = Vec::new();
    let begin = Instant::now();
    while told.len() < 2 && begin.elapsed() < TEST_TIMEOUT {
        told = changes(&summaries, number);
    }
    let runs: Vec<RunId> = told.iter().map(|(_, change)| change.run()).collect();
    assert!(runs.contains(&run(1)) && runs.contains(&run(2)), "{told:?}");
    // Removed by another process.
    let number = told.last().expect("changes").0;
    other.remove(run(2), Timestamp::EPOCH).expect("removed");
    let begin = Instant::now();
    let mut told = Vec::new();
    while told.is_empty() && begin.elapsed() < TEST_TIMEOUT {
        rung.recv_timeout(TEST_TIMEOUT).expect("woken");
        told = changes(&summaries, number);
    }
    assert_eq!(told.last().map(|(_, change)| change.clone()), Some(RowChange::Removed(run(2))));
}

impl RowChange {
    fn run(&self) -> RunId {
        match self {
            Self::Row(row) => row.run_id,
            Self::Removed(run) => *run,
        }
    }
}

#[test]
fn an_old_question_is_not_forgotten() {
    let world = World::new();
    for n in 1..=210 {
        make(&world.log, run(n));
        if n == 4 {
            say(&world.log, run(n), 2, status(RunStatus::WaitingUser));
        }
        world.log.release(run(n));
    }
    match world.start().since(None).expect("asked") {
        Since::Reset { snapshot, .. } => {
            assert_eq!((snapshot.len(), snapshot[200].run_id), (201, run(4)));
            assert_eq!(snapshot[200].status, Some(RunStatus::WaitingUser));
        }
        Since::Changes(changes) => panic!("{changes:?}"),
    }
}

#[test]
fn a_cursor_is_good_where_it_was_given_out() {
    let world = World::new();
    for n in 1..=210 {
        make(&world.log, run(n));
        world.log.release(run(n));
    }
    let summaries = world.start();
    let reset = |cursor| match summaries.since(cursor).expect("asked") {
        Since::Reset { snapshot, number } => (snapshot, number),
        Since::Changes(changes) => panic!("{changes:?}"),
    };
    let (snapshot, number) = reset(None);
    assert_eq!((snapshot.len(), snapshot[0].run_id, number), (200, run(210), 0), "the newest, bounded");
    assert_eq!(reset(Some((Epoch(8), 0))).1, 0);
    assert_eq!(reset(Some((EPOCH, 1))).1, 0, "never given out");
    assert_eq!(changes(&summaries, 0), []);
    world.log.open(run(3)).expect("opened");
    say(&world.log, run(3), 2, text());
    say(&world.log, run(3), 3, status(RunStatus::Running));
    let told = changes(&summaries, 0);
    let [(number, RowChange::Row(row))] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((row.run_id, row.status), (run(3), Some(RunStatus::Running)));
    assert_eq!(changes(&summaries, *number), []);
    world.log.remove(run(4), Timestamp::EPOCH).expect("removed");
    let told = changes(&summaries, *number);
    assert_eq!(told, [(told[0].0, RowChange::Removed(run(4)))]);
    assert!(told[0].0 > *number);
    assert_eq!(changes(&summaries, 0).len(), 2, "nothing is taken away");
    assert_ne!(Summaries::start(world.log.clone(), &world.data).expect("started").epoch(), EPOCH);
}

#[test]
fn many_changes_come_in_pages() {
    let world = World::new();
    let summaries = world.start();
    for n in 0..620 {
        make(&world.log, run(n));
        world.log.release(run(n));
    }
    let (mut number, mut pages, mut seen) = (0, Vec::new(), HashMap::new());
    loop {
        let page = changes(&summaries, number);
        let Some(last) = page.last() else { break };
        number = last.0;
        pages.push(page.len());
        seen.extend(page.iter().map(|(number, change)| (change.run(), *number)));
    }
    assert_eq!((pages.len(), pages[0], seen.len()), (2, 500, 620));
}

#[test]
fn listeners_are_woken_by_any_refresh() {
    let world = World::new();
    let summaries = world.start();
    let (guard, rung) = bell(&summaries);
    for n in 0..50 {
        make(&world.log, run(n));
        // Consumes the changes that the thread would have reported.
        summaries.list(&Query::default()).expect("a list");
        rung.recv_timeout(TEST_TIMEOUT).expect("woken");
        while rung.try_recv().is_ok() {}
        assert_eq!(changes(&summaries, n).len(), 1);
    }
    drop(guard);
    make(&world.log, run(99));
    summaries.list(&Query::default()).expect("a list");
    assert!(rung.try_recv().is_err(), "the waker is not called any more");
    // Nothing of it is left.
    let log = Arc::downgrade(&world.log);
    drop(summaries);
    drop(world);
    let begin = Instant::now();
    while log.strong_count() > 0 && begin.elapsed() < TEST_TIMEOUT {
        thread::yield_now();
    }
    assert_eq!(log.strong_count(), 0, "the thread has ended");
}

/// What a reader knows of each run.
#[derive(Default)]
struct Reader {
    cursor: Option<(Epoch, u64)>,
    rows: HashMap<RunId, Row>,
    removed: Vec<RunId>,
}

impl Reader {
    /// Takes all pending changes.
    fn read(&mut self, summaries: &Summaries) {
        loop {
            match summaries.since(self.cursor).expect("asked") {
                Since::Reset { snapshot, number } => {
                    assert_eq!(self.cursor, None, "nothing was forgotten");
                    self.cursor = Some((summaries.epoch(), number));
                    snapshot.into_iter().for_each(|row| self.take(row));
                }
                Since::Changes(changes) if changes.is_empty() => return,
                Since::Changes(changes) => {
                    for (number, change) in changes {
                        assert!(self.cursor.is_some_and(|(_, before)| before < number), "in order");
                        self.cursor = Some((summaries.epoch(), number));
                        match change {
                            RowChange::Row(row) => self.take(*row),
                            RowChange::Removed(run) => {
                                self.rows.remove(&run);
                                self.removed.push(run);
                            }
                        }
                    }
                }
            }
        }
    }

    fn take(&mut self, row: Row) {
        assert!(!self.removed.contains(&row.run_id), "it came back");
        if let Some(before) = self.rows.get(&row.run_id) {
            assert!(before.log_bytes <= row.log_bytes && before.updated_at <= row.updated_at, "{before:?} {row:?}");
        }
        self.rows.insert(row.run_id, row);
    }
}

/// Writers in this and in another process, a process that refreshes the same catalog, queries, and readers of changes.
#[test]
fn no_reader_misses_the_last_state_or_sees_one_go_back() {
    const RUNS: u64 = 6;
    const EVENTS: u64 = 150;
    let world = World::new();
    let summaries = world.start();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let (_guard, rung) = bell(&summaries);
                    let mut reader = Reader::default();
                    while !is_over.load(Ordering::SeqCst) {
                        reader.read(&summaries);
                        rung.recv_timeout(Duration::from_millis(20)).ok();
                    }
                    reader.read(&summaries);
                    reader
                })
            })
            .collect();
        let busy = [
            scope.spawn(|| {
                let (log, catalog) = (world.other_log(), world.data.catalog());
                let (mut catalog, _) = Catalog::open(&catalog, &world.data.runs()).expect("a catalog");
                while !is_over.load(Ordering::SeqCst) {
                    catalog.refresh(&log).expect("refreshed");
                }
            }),
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    summaries.list(&Query::default()).expect("a list");
                    summaries.get(run(1)).expect("asked");
                }
            }),
        ];
        let writers: Vec<_> = (0..RUNS)
            .map(|n| {
                let world = &world;
                scope.spawn(move || {
                    let elsewhere = world.other_log();
                    let log = if n % 3 == 0 { &elsewhere } else { &*world.log };
                    make(log, run(n));
                    for seq in 2..EVENTS {
                        let word = if seq % 2 == 0 { RunStatus::Running } else { RunStatus::Queued };
                        say(log, run(n), seq, status(word));
                    }
                    log.release(run(n));
                    if n == RUNS - 1 {
                        log.remove(run(n), Timestamp::EPOCH).expect("removed");
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        // The last changes of other processes are found by a scan of all runs.
        for n in 0..RUNS {
            summaries.get(run(n)).expect("asked");
        }
        is_over.store(true, Ordering::SeqCst);
        busy.into_iter().for_each(|thread| thread.join().expect("a thread"));
        for reader in readers {
            let reader = reader.join().expect("a reader");
            assert_eq!(reader.rows.len() as u64, RUNS - 1);
            for (run, row) in &reader.rows {
                assert_eq!((row.log_bytes, row.status), (size(&world, *run), Some(RunStatus::Queued)), "{run}");
            }
        }
    });
}

/// A run that floods its Log was chased: 0.9 s at 100,000 lines.
#[test]
fn a_run_is_read_to_the_end_that_it_had_when_asked() {
    let world = World::new();
    let other = world.other_log();
    make(&other, run(1));
    let mut next = 2;
    let mut write_megabyte = || {
        let text = Data::Evidence(EvidenceData::RawStdout(RawText::new("x".repeat(100_000))));
        for _ in 0..11 {
            say(&other, run(1), next, text.clone());
            next += 1;
        }
    };
    let mut book = Book::open(world.log.clone(), &world.data.catalog(), EPOCH).expect("opened");
    (0..3).for_each(|_| write_megabyte());
    let (asked, mut parts) = (size(&world, run(1)), 0);
    let row = read_to_head(|_| {
        parts += 1;
        assert!(parts <= 4, "the writer is chased");
        let part = book.refresh_part(run(1));
        // As much as was read, so that the end is never reached.
        (0..2).for_each(|_| write_megabyte());
        part
    });
    let row = row.expect("asked").expect("a row");
    assert!((asked..asked + (2 << 20)).contains(&row.log_bytes), "{} of {asked} bytes", row.log_bytes);
}

/// Without readers a refresh only bounds how much the next query finds.
#[test]
fn a_process_without_readers_refreshes_every_five_seconds() {
    let (at, second) = (Instant::now(), Duration::from_secs(1));
    let last = LastRefresh { at, all_at: at, pause: second / 20 };
    let due = |news: Pending, has_listeners| refresh_due(news, has_listeners, last).map(|due| due - at);
    assert_eq!(due(Pending::Nothing, false), None, "until something happens");
    assert_eq!(due(Pending::Changes, false), Some(5 * second));
    assert_eq!(due(Pending::Changes, true), Some(second / 20));
    assert_eq!(due(Pending::Nothing, true), Some(second), "changes by other processes");
    for has_listeners in [false, true] {
        assert_eq!(due(Pending::Rest, has_listeners), Some(second / 500), "a run that writes much is read on");
    }
    let failed = LastRefresh { pause: second, ..last };
    assert_eq!(refresh_due(Pending::Changes, false, failed), Some(at + 5 * second));
}

#[test]
fn an_epoch_is_read_as_it_is_written() {
    for epoch in [Epoch(0), Epoch(7), Epoch(u64::MAX)] {
        assert_eq!(epoch.to_string().parse(), Ok(epoch));
    }
    for bad in ["", "7", "+000000000000007", "00000000000000FF", "10000000000000000", "x"] {
        assert_eq!(bad.parse::<Epoch>(), Err(NoEpoch), "{bad}");
    }
}
