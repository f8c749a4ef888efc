//! Changes by another writer, which stands for another process here: it has its own Log over the same folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::tail::Watcher;
use super::*;
use crate::bells::Bells;
use crate::conformance::{LONG, moment, tailed};

#[test]
fn a_subscriber_to_all_runs_is_woken_for_each() {
    let fixture = Fixture::new(0);
    let (log, heard) = (fixture.log(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let take = || std::mem::take(&mut *heard.lock().expect("a lock"));
    let bell = heard.clone();
    let subscription = log.subscribe_all(Arc::new(move |run| bell.lock().expect("a lock").push(run)));
    let (first, second) = (run_id(8), run_id(9));
    for run in [first, second] {
        log.create(run).expect("made");
        take();
        log.append(run, Seq(1), &events(run, 1, 2), Durability::Derived).expect("appended");
        assert_eq!(take(), [run]);
        log.release(run);
        assert_eq!(take(), [run]);
    }
    log.remove(first, moment(1)).expect("removed");
    assert!(take().contains(&first));
    assert_eq!(log.watched(), (0, 0), "nothing outside is watched for it");
    drop(subscription);
    log.open(second).expect("opened");
    log.append(second, Seq(2), &events(second, 2, 3), Durability::Derived).expect("appended");
    assert_eq!(take(), []);
    // A bell may end its own subscription.
    let own: Arc<std::sync::Mutex<Option<Subscription>>> = Arc::default();
    let (mine, counted) = (own.clone(), Arc::new(AtomicUsize::new(0)));
    let count = counted.clone();
    let subscription = log.subscribe_all(Arc::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        drop(mine.lock().expect("a lock").take());
    }));
    *own.lock().expect("a lock") = Some(subscription);
    log.release(second);
    log.open(second).expect("opened");
    assert_eq!(counted.load(Ordering::SeqCst), 1);
}

#[test]
fn a_tail_notices_another_writer_at_once() {
    let fixture = Fixture::new(3);
    let run = fixture.run;
    let (here, there) = (fixture.log(), fixture.log());
    there.open(run).expect("opened");
    let mut tail = Tail::new(&here, run, Cursor::new(Epoch::FIRST, Seq(3))).expect("a tail");
    assert_eq!(here.watched(), (1, 0));
    let start = Instant::now();
    for seq in 4..200 {
        thread::scope(|scope| {
            let reader = scope.spawn(|| tailed(tail.next(MANY, LONG).expect("more")).events().expect("events"));
            if seq % 10 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            there.append(run, Seq(seq), &events(run, seq, seq + 1), Durability::Derived).expect("appended");
            assert_eq!(reader.join().expect("a reader"), events(run, seq, seq + 1));
        });
    }
    assert!(start.elapsed() < LONG / 3, "woken, not waiting: {:?}", start.elapsed());
    drop(tail);
    assert_eq!(here.watched(), (0, 0), "no subscriber is left");
}

#[test]
fn a_tail_notices_a_removal_by_another_process() {
    let fixture = Fixture::new(3);
    let run = fixture.run;
    let (here, there) = (fixture.log(), fixture.log());
    let mut tail = Tail::new(&here, run, Cursor::new(Epoch::FIRST, Seq(3))).expect("a tail");
    thread::scope(|scope| {
        let reader = scope.spawn(|| tail.next(MANY, LONG));
        thread::sleep(Duration::from_millis(10));
        there.remove(run, moment(0)).expect("removed");
        assert!(matches!(reader.join().expect("a reader").expect_err("gone").kind, LogErrorKind::Gone));
    });
    // The list may be lost with the whole data folder; a process that had the run still knows that it existed.
    let fixture = Fixture::new(3);
    let here = fixture.log();
    let mut tail = Tail::new(&here, run, Cursor::new(Epoch::FIRST, Seq(3))).expect("a tail");
    fs::remove_dir_all(fixture.runs()).expect("removed");
    assert!(matches!(tail.next(MANY, LONG).expect_err("gone").kind, LogErrorKind::Gone));
}

#[test]
fn a_tail_goes_from_outside_to_inside_and_back() {
    let fixture = Fixture::new(3);
    let run = fixture.run;
    let (here, there) = (fixture.log(), fixture.log());
    let mut tail = Tail::new(&here, run, Cursor::new(Epoch::FIRST, Seq(3))).expect("a tail");
    for seq in (4..40).step_by(2) {
        for (writer, seq) in [(&here, seq), (&there, seq + 1)] {
            thread::scope(|scope| {
                let reader = scope.spawn(|| tailed(tail.next(MANY, LONG).expect("more")).events().expect("events"));
                writer.open(run).expect("opened");
                assert_eq!(here.watched().0, usize::from(std::ptr::eq(writer, &raw const there)));
                writer.append(run, Seq(seq), &events(run, seq, seq + 1), Durability::Derived).expect("appended");
                assert_eq!(reader.join().expect("a reader"), events(run, seq, seq + 1));
                writer.release(run);
            });
        }
    }
}

#[test]
fn a_second_log_over_the_folder_cannot_write() {
    let fixture = Fixture::new(3);
    let (here, there) = (fixture.log(), fixture.log());
    here.open(fixture.run).expect("opened");
    for result in [there.open(fixture.run), there.cut_at_damage(fixture.run)] {
        let error = result.expect_err("held");
        assert!(matches!(error.kind, LogErrorKind::Held { pid: Some(pid) } if pid == std::process::id()), "{error}");
    }
    let error = there.remove(fixture.run, moment(0)).expect_err("held");
    assert!(error.to_string().contains("has another writer, process "), "{error}");
    drop(here);
    there.open(fixture.run).expect("free again");
}

#[test]
fn a_run_that_cannot_be_watched_is_polled() {
    let folder = TempDir::new().expect("a folder");
    // The system refuses to watch a missing file, as it does when there are too many watches.
    let runs = folder.path().to_owned();
    let bells = Arc::new_cyclic(|bells| Bells::new(Watcher::new(runs, bells.clone())));
    let count = Arc::new(AtomicUsize::new(0));
    let rung = count.clone();
    let wake: Wake = Arc::new(move || {
        rung.fetch_add(1, Ordering::SeqCst);
    });
    let subscription = bells.subscribe(run_id(1), wake);
    bells.update_watch(run_id(1), || false).expect("started");
    assert_eq!(bells.outside.watched(), (0, 1));
    let start = Instant::now();
    while count.load(Ordering::SeqCst) < 2 {
        assert!(start.elapsed() < LONG);
        thread::sleep(Duration::from_millis(10));
    }
    drop(subscription);
    assert_eq!(bells.outside.watched(), (0, 0));
}
