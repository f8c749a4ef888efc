use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use skillrun_engine::Engines;
use skillrun_log::{EventLog, FileLog};
use skillrun_model::Timestamp;
use skillrun_runs::DataFolder;
use skillrun_runs::events::read_all;
use skillrun_runs::record::RunRecord;
use skillrun_runs::request_entries::{KeyError, RequestKey, tidy};
use skillrun_skill::{Layers, SearchPath, Skill};
use tempfile::TempDir;

use super::*;
use crate::accept::{NewRun, Options};
use crate::clock::SystemClock;
use crate::limits::SlotLimits;
use crate::runtime::{Runtime, RuntimeSetup};

/// A data folder whose runs wait forever: no engine is started.
struct World {
    root: PathBuf,
}

impl World {
    fn new(root: &Path) -> Self {
        let world = Self { root: root.to_owned() };
        let skill = world.root.join("skill");
        fs::create_dir_all(skill.join("assets")).expect("a folder");
        fs::write(skill.join("SKILL.md"), "---\nname: probe\ndescription: For tests.\n---\n\nAnswer.\n")
            .expect("written");
        fs::write(skill.join("assets/scripted.yaml"), "turns: []\n").expect("written");
        world
    }

    fn data(&self) -> DataFolder {
        DataFolder::new(self.root.join("data"))
    }

    fn runtime(&self) -> Runtime {
        let setup = RuntimeSetup {
            role: crate::OwnerRole::Caller,
            data: self.data(),
            clock: Arc::new(SystemClock),
            engines: Engines::load(None),
            layers: Layers::shipped(),
            skills: SearchPath::default(),
            defaults: Options::default(),
            consents: Vec::new(),
            redact_patterns: Vec::new(),
            environment: Vec::new(),
            own_program: std::env::current_exe().expect("a program"),
            cwd: self.root.clone(),
            user_home: self.root.clone(),
            programs: None,
            temporary: self.root.clone(),
            host_command: Box::new(|| Command::new("/nonexistent")),
        };
        Runtime::new(setup, SlotLimits { total: 0, sticky: 0, queued: 1_000, ..SlotLimits::default() })
    }

    fn new_run(&self) -> NewRun {
        NewRun::new(Skill::load(&self.root.join("skill")).expect("a skill"), "scripted")
    }

    fn submit(&self, runtime: &Runtime, key: &RequestKey) -> Result<Submitted, SubmitError> {
        runtime.submit_once(key, request(1), || Ok(self.new_run()))
    }

    /// Runs that were accepted for a key.
    fn runs(&self, key: &RequestKey) -> HashSet<RunId> {
        let log = FileLog::new(self.data().runs());
        let names = fs::read_dir(self.data().runs()).into_iter().flatten().flatten();
        let ids = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter(|run| {
            let mut events = 0;
            read_all(&log, *run, |_| {
                events += 1;
                Ok(())
            })
            .ok();
            let record = RunRecord::read(&self.data().run(*run).record());
            events > 0 && record.is_ok_and(|record| record.request.request_id.as_deref() == Some(key.as_str()))
        })
        .collect()
    }
}

fn request(n: u8) -> blake3::Hash {
    blake3::hash(&[n])
}

fn key(text: &str) -> RequestKey {
    RequestKey::new(text).expect("a key")
}

fn run(n: u8) -> RunId {
    RunId::new(u64::from(n), [n; 10])
}

#[test]
fn a_key_is_visible_and_short() {
    for good in ["a", "8e03978e-40d5-43dd-bc93-6894a57f9324", "!~/..%", &"x".repeat(255)] {
        assert_eq!(RequestKey::new(good).map(|key| key.as_str().to_owned()), Ok(good.to_owned()));
    }
    for bad in ["", " ", "a b", "a\n", "a\0", "ä", "\u{7f}", &"x".repeat(256)] {
        assert_eq!(RequestKey::new(bad), Err(KeyError), "{bad:?}");
    }
}

#[test]
fn the_same_request_is_the_same_run() {
    let root = TempDir::new().expect("a folder");
    let world = World::new(root.path());
    let runtime = world.runtime();
    let (first, second) = (key("first"), key("../second"));
    let made = world.submit(&runtime, &first).expect("accepted");
    assert_eq!(made.was_new, WasNew::New);
    let again = runtime.submit_once(&first, request(1), || -> Result<_, SubmitError> { panic!("it is there") });
    let again = again.expect("accepted before");
    assert_eq!(again, Submitted { run: made.run, was_new: WasNew::Before });
    match runtime.submit_once(&first, request(2), || panic!("refused")) {
        Err(SubmitError::KeyReused { run }) => assert_eq!(run, made.run),
        other => panic!("{other:?}"),
    }
    assert_ne!(world.submit(&runtime, &second).expect("accepted").run, made.run);
    assert_eq!(world.runs(&first), HashSet::from([made.run]));
    // As another process, later.
    drop(runtime);
    let runtime = world.runtime();
    assert_eq!(world.submit(&runtime, &first).expect("accepted before"), again);
    for entry in fs::read_dir(world.data().requests()).expect("a folder").flatten() {
        assert_eq!(entry.metadata().expect("found").permissions().mode() & 0o777, 0o600);
    }
    // Removed: still no second run.
    let now = skillrun_model::Timestamp::EPOCH;
    runtime.let_go(made.run);
    runtime.log().remove(made.run, now).expect("removed");
    assert_eq!(world.submit(&runtime, &first).expect("accepted before"), again);
    assert_eq!(runtime.stats().accepted, 0, "the second process made none");
}

#[test]
fn a_refused_request_leaves_nothing() {
    let root = TempDir::new().expect("a folder");
    let world = World::new(root.path());
    let runtime = world.runtime();
    let refused = || Err(SubmitError::from(AcceptError::QueueFull { queued: 7 }));
    assert!(matches!(runtime.submit_once(&key("a"), request(1), refused), Err(SubmitError::Accept(_))));
    let unknown = || Ok(NewRun { engine: "nobody".to_owned(), ..world.new_run() });
    assert!(matches!(runtime.submit_once(&key("a"), request(1), unknown), Err(SubmitError::Accept(_))));
    assert_eq!(fs::read_dir(world.data().requests()).expect("a folder").count(), 0);
    // The key can be used for another request: nothing was accepted under it.
    let made = runtime.submit_once(&key("a"), request(2), || Ok::<_, SubmitError>(world.new_run()));
    let made = made.expect("accepted");
    assert_eq!(made.was_new, WasNew::New);
}

/// Everything that a killed process can leave.
#[test]
fn what_was_never_made_is_made() {
    let root = TempDir::new().expect("a folder");
    let world = World::new(root.path());
    let runtime = world.runtime();
    let log = FileLog::new(world.data().runs());
    let named = |n: u8| format!("{} {}\n", run(n), request(1).to_hex());
    log.create(run(3)).expect("an empty Log");
    log.create(run(4)).expect("a Log");
    log.create(run(6)).expect("a Log");
    drop(log);
    fs::write(world.data().run(run(4)).events(), "{\"the beginning of a first li").expect("written");
    fs::write(world.data().run(run(6)).events(), [0; 100]).expect("written");
    fs::create_dir_all(world.data().requests()).expect("a folder");
    let left = [
        ("made, and not yet written", String::new()),
        ("torn", named(1)[..50].to_owned()),
        ("without its end", named(1).trim_end().to_owned()),
        ("no run", named(2)),
        ("a run without an event", named(3)),
        ("a run with half an event", named(4)),
        ("a run with zeros", named(6)),
        ("garbage", "\u{0}garbage".repeat(1_000)),
    ];
    for (number, (what, text)) in left.into_iter().enumerate() {
        let key = key(&format!("key-{number}"));
        fs::write(key.path(&world.data()), text).expect("written");
        // Whatever was requested then: nothing of it was accepted.
        let made = runtime.submit_once(&key, request(9), || Ok::<_, SubmitError>(world.new_run())).expect(what);
        assert_eq!(made.was_new, WasNew::New, "{what}");
        assert_eq!(world.runs(&key), HashSet::from([made.run]), "{what}");
        let again = runtime.submit_once(&key, request(9), || -> Result<_, SubmitError> { panic!("it is there") });
        let again = again.expect(what);
        assert_eq!(again, Submitted { run: made.run, was_new: WasNew::Before }, "{what}");
    }
}

#[test]
fn of_many_at_once_one_makes_it() {
    let root = TempDir::new().expect("a folder");
    let world = World::new(root.path());
    let (runtime, other) = (world.runtime(), world.runtime());
    let made = AtomicUsize::new(0);
    for round in 0..10 {
        let key = key(&format!("round-{round}"));
        made.store(0, Ordering::SeqCst);
        let submit = |runtime: &Runtime| {
            runtime.submit_once(&key, request(1), || {
                made.fetch_add(1, Ordering::SeqCst);
                Ok::<_, SubmitError>(world.new_run())
            })
        };
        let all: Vec<Submitted> = thread::scope(|scope| {
            let submit = &submit;
            let threads: Vec<_> = (0..8)
                .map(|n| if n % 2 == 0 { &runtime } else { &other })
                .map(|runtime| scope.spawn(move || submit(runtime).expect("accepted")))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread")).collect()
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
        assert_eq!(all.iter().filter(|submitted| submitted.was_new == WasNew::New).count(), 1);
        assert_eq!(all.iter().map(|submitted| submitted.run).collect::<HashSet<_>>(), world.runs(&key));
    }
}

const FOLDER: &str = "SKILLRUN_REQUESTS_TEST_FOLDER";

/// The child process: the same keys repeatedly. Without a folder this test does nothing.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let world = World { root: folder.into() };
    let runtime = world.runtime();
    for number in 0.. {
        world.submit(&runtime, &key(&number.to_string())).expect("accepted");
    }
}

#[test]
fn killed_at_any_moment_a_key_has_one_run() {
    let root = TempDir::new().expect("a folder");
    let world = World::new(root.path());
    for kill in 0..8_u64 {
        let mut child = Command::new(std::env::current_exe().expect("a program"));
        child.args(["--exact", "requests::tests::child"]).env(FOLDER, &world.root);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a child");
        // Any moment is fine: it is killed in the middle of something.
        let begin = Instant::now();
        let entries = || fs::read_dir(world.data().requests()).map_or(0, Iterator::count);
        let before = entries();
        while entries() < before + 3 && begin.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(1 + kill % 3));
        }
        child.kill().expect("killed");
        child.wait().expect("gone");
    }
    let runtime = world.runtime();
    let keys = fs::read_dir(world.data().requests()).expect("a folder").count();
    assert!(keys >= 8, "{keys}");
    for number in 0..keys {
        let key = key(&number.to_string());
        let before = world.runs(&key);
        let submitted = world.submit(&runtime, &key).expect("accepted");
        let runs = world.runs(&key);
        assert_eq!(runs, HashSet::from([submitted.run]), "{before:?}");
        assert_eq!(submitted.was_new == WasNew::Before, before == runs);
    }
}

#[test]
fn old_entries_of_runs_that_are_gone_go() {
    let root = TempDir::new().expect("a folder");
    let world = World::new(root.path());
    let runtime = world.runtime();
    let [there, gone, young, held] = ["there", "gone", "young", "held"].map(key);
    let data = world.data();
    let mut runs = BTreeMap::new();
    for key in [&there, &gone, &young, &held] {
        runs.insert(key.as_str().to_owned(), world.submit(&runtime, key).expect("accepted").run);
    }
    let now = SystemTime::now();
    let old = now - Duration::from_secs(8 * 24 * 60 * 60);
    for key in [&there, &gone, &held] {
        File::options().write(true).open(key.path(&data)).and_then(|file| file.set_modified(old)).expect("set");
    }
    for key in [&gone, &young, &held] {
        runtime.let_go(runs[key.as_str()]);
        runtime.log().remove(runs[key.as_str()], Timestamp::EPOCH).expect("removed");
    }
    fs::write(data.requests().join("notes.txt"), "not ours").expect("written");
    let in_hand = File::open(held.path(&data)).expect("an entry");
    flock(&in_hand, FlockOperation::NonBlockingLockExclusive).expect("locked");
    let now = Timestamp::try_from(now).expect("a moment");
    assert_eq!(tidy(&data, now), 1);
    assert!(!gone.path(&data).exists());
    assert!(there.path(&data).exists() && young.path(&data).exists() && held.path(&data).exists());
    assert!(data.requests().join("notes.txt").exists());
    drop(in_hand);
    assert_eq!(tidy(&data, now), 1, "no process holds it any more");
    assert_eq!(tidy(&DataFolder::new(world.root.join("nothing")), now), 0);
}
