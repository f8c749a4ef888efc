use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use skillrun_log::{Durability, EventLog, FileLog, LogErrorKind, Seq};
use skillrun_model::codes::{Code, ErrorCategory};
use skillrun_model::rasp::data::{RunCanceled, RunCompleted, RunFailed, RunStarted, Versions};
use skillrun_model::rasp::{ControlData, Event};
use skillrun_model::verdict::RunError;
use skillrun_model::{EngineName, ExecutionMode};
use tempfile::TempDir;

use super::RetentionStatus::{Canceled, Closed, Failed, NotOver, Succeeded};
use super::*;
use crate::cache;
use crate::data_folder::{DataFolder, RunFolder};

fn id(number: u8) -> RunId {
    RunId::new(u64::from(number), [number; 10])
}

fn day(days: u64) -> Timestamp {
    Timestamp::EPOCH.plus_nanos(days * 24 * 3600 * 1_000_000_000)
}

fn run(number: u8, standing: RetentionStatus, ended: u64) -> RunUse {
    let ended_at = Some(day(ended)).filter(|_| standing != NotOver);
    let (evidence_bytes, other_bytes) = (100, 10);
    let created_at = day(0);
    RunUse { run: id(number), standing, created_at, ended_at, evidence_bytes, other_bytes, evidence: Evidence::Present }
}

fn unlimited() -> Retention {
    let keep = Keep::default();
    Retention { succeeded: keep, failed: keep, canceled: keep, max_bytes: None, evidence_age: None }
}

fn planned(removals: &[Removal]) -> Vec<(RunId, What, Why)> {
    removals.iter().map(|removal| (removal.run, removal.what, removal.why)).collect()
}

#[test]
fn by_default_failed_runs_stay_three_times_as_long() {
    let runs: Vec<RunUse> = [Succeeded, Failed, Canceled, NotOver]
        .into_iter()
        .enumerate()
        .map(|(number, standing)| run(u8::try_from(number).expect("small"), standing, 0))
        .collect();
    let plan = |days| planned(&plan(&runs, &Retention::default(), day(days)));
    assert_eq!(plan(30), []);
    for days in [31, 90] {
        assert_eq!(plan(days), [(id(0), What::Run, Why::Age), (id(2), What::Run, Why::Age)]);
    }
    let all = [(id(0), What::Run, Why::Age), (id(2), What::Run, Why::Age), (id(1), What::Run, Why::Age)];
    assert_eq!(plan(91), all);
    assert_eq!(plan(10_000), all, "what is not over stays forever");
}

#[test]
fn the_oldest_are_too_many() {
    let runs: Vec<RunUse> = (0..5).map(|n| run(n, Succeeded, 10 - u64::from(n))).collect();
    let retention = Retention { succeeded: Keep { age: None, count: Some(3) }, ..unlimited() };
    let wanted = [(id(4), What::Run, Why::Count), (id(3), What::Run, Why::Count)];
    assert_eq!(planned(&plan(&runs, &retention, day(10))), wanted);
    let failed: Vec<RunUse> = (0..5).map(|n| run(n, Failed, 10 - u64::from(n))).collect();
    assert_eq!(plan(&failed, &retention, day(10)), [], "each kind of run has its own limit");
}

#[test]
fn a_failed_run_stays_as_long_as_an_older_one_that_did_not_fail() {
    let strict = Keep { age: Some(DAY), count: Some(0) };
    let retention = Retention { failed: strict, ..unlimited() };
    let runs = [run(1, Succeeded, 5), run(2, Failed, 5), run(3, Failed, 4)];
    assert_eq!(planned(&plan(&runs, &retention, day(100))), [(id(3), What::Run, Why::Age)]);
    let retention = Retention { succeeded: strict, ..retention };
    assert_eq!(plan(&runs, &retention, day(100)).len(), 3);
}

#[test]
fn evidence_goes_before_the_run() {
    let mut runs = vec![run(1, Succeeded, 0), run(2, Succeeded, 15), run(3, NotOver, 0)];
    runs.push(RunUse { evidence: Evidence::Absent, evidence_bytes: 0, ..run(4, Succeeded, 15) });
    let retention = Retention { evidence_age: Some(DAY * 10), ..Retention::default() };
    let removals = plan(&runs, &retention, day(31));
    assert_eq!(planned(&removals), [(id(1), What::Run, Why::Age), (id(2), What::Evidence, Why::Age)]);
    assert_eq!(removals.iter().map(|removal| removal.bytes).collect::<Vec<_>>(), [110, 100]);
}

#[test]
fn too_much_costs_old_evidence_first_and_then_old_runs() {
    let runs = [run(1, Failed, 1), run(2, Succeeded, 2), run(3, NotOver, 0)];
    let plan = |most| planned(&plan(&runs, &Retention { max_bytes: Some(most), ..unlimited() }, day(9)));
    assert_eq!(plan(330), []);
    assert_eq!(plan(329), [(id(1), What::Evidence, Why::Size)]);
    let both = [(id(1), What::Evidence, Why::Size), (id(2), What::Evidence, Why::Size)];
    assert_eq!(plan(130), both);
    assert_eq!(plan(129), [(id(1), What::Run, Why::Size), (id(2), What::Evidence, Why::Size)]);
    assert_eq!(plan(0), [(id(1), What::Run, Why::Size), (id(2), What::Run, Why::Size)]);
}

#[test]
fn a_failed_run_that_was_kept_for_an_older_one_goes_with_it() {
    let bare = |run: RunUse| RunUse { evidence: Evidence::Absent, evidence_bytes: 0, ..run };
    let runs = [bare(run(1, Succeeded, 1)), bare(run(2, Failed, 2))];
    let failed = Keep { age: Some(DAY), count: None };
    let retention = Retention { failed, max_bytes: Some(10), ..unlimited() };
    let wanted = [(id(1), What::Run, Why::Size), (id(2), What::Run, Why::Age)];
    assert_eq!(planned(&plan(&runs, &retention, day(9))), wanted);
}

#[test]
fn a_clock_that_was_set_back_removes_nothing() {
    assert_eq!(plan(&[run(1, Succeeded, 50)], &Retention::default(), day(1)), []);
}

fn standing() -> impl Strategy<Value = RetentionStatus> {
    prop_oneof![Just(NotOver), Just(Succeeded), Just(Closed), Just(Failed), Just(Failed), Just(Canceled)]
}

fn keep() -> impl Strategy<Value = Keep> {
    let age = proptest::option::of((0_u32..12).prop_map(|days| DAY * days));
    (age, proptest::option::of(0_usize..6)).prop_map(|(age, count)| Keep { age, count })
}

fn retention() -> impl Strategy<Value = Retention> {
    let evidence_age = proptest::option::of((0_u32..12).prop_map(|days| DAY * days));
    let parts = (keep(), keep(), keep(), proptest::option::of(0_u64..2_000), evidence_age);
    parts.prop_map(|(succeeded, failed, canceled, max_bytes, evidence_age)| Retention {
        succeeded,
        failed,
        canceled,
        max_bytes,
        evidence_age,
    })
}

fn any_runs() -> impl Strategy<Value = Vec<RunUse>> {
    let one = (standing(), 0_u64..12, 0_u64..200, 0_u64..50, any::<bool>());
    proptest::collection::vec(one, 0..16).prop_map(|runs| {
        let made = |(number, (standing, ended, evidence_bytes, other_bytes, present)): (usize, _)| {
            let evidence = if present { Evidence::Present } else { Evidence::Absent };
            let evidence_bytes = if present { evidence_bytes } else { 0 };
            let number = u8::try_from(number).expect("few");
            RunUse { evidence_bytes, other_bytes, evidence, ..run(number, standing, ended) }
        };
        runs.into_iter().enumerate().map(made).collect()
    })
}

/// The remaining runs.
fn carried_out(runs: &[RunUse], removals: &[Removal]) -> Vec<RunUse> {
    let fate: BTreeMap<String, What> = removals.iter().map(|r| (r.run.to_string(), r.what)).collect();
    let left = runs.iter().filter_map(|run| match fate.get(&run.run.to_string()) {
        Some(What::Run) => None,
        Some(What::Evidence) => Some(RunUse { evidence: Evidence::Absent, evidence_bytes: 0, ..run.clone() }),
        None => Some(run.clone()),
    });
    left.collect()
}

proptest! {
    /// Pitfall 30: gigabytes of logs; failed runs deleted first.
    #[test]
    fn the_laws_hold_whatever_the_settings_say(runs in any_runs(), retention in retention(), today in 0_u64..24) {
        let now = day(today);
        let removals = plan(&runs, &retention, now);
        let left = carried_out(&runs, &removals);
        let names: BTreeSet<String> = removals.iter().map(|removal| removal.run.to_string()).collect();
        prop_assert_eq!(names.len(), removals.len(), "nothing goes twice");
        let of = |name: RunId| runs.iter().find(|run| run.run == name).expect("one of them");
        for removal in &removals {
            let gone = of(removal.run);
            prop_assert_ne!(gone.standing, NotOver);
            if gone.standing != Failed {
                continue;
            }
            for kept in left.iter().filter(|kept| matches!(kept.standing, Succeeded | Closed | Canceled)) {
                let is_older = kept.ended_at <= gone.ended_at;
                match removal.what {
                    What::Run => prop_assert!(!is_older, "{gone:?} went before {kept:?}"),
                    What::Evidence => prop_assert!(!is_older || kept.evidence == Evidence::Absent),
                }
            }
        }
        if let Some(most) = retention.max_bytes {
            let bytes: u64 = left.iter().map(|run| run.evidence_bytes + run.other_bytes).sum();
            let all_that_can = left.iter().all(|run| run.standing == NotOver);
            prop_assert!(bytes <= most || all_that_can);
        }
        prop_assert_eq!(plan(&left, &retention, now), [], "asked again, there is no more");
        let mut other_order = runs.clone();
        other_order.reverse();
        prop_assert_eq!(plan(&other_order, &retention, now), removals);
    }
}

/// A data folder with runs in it.
struct World {
    dir: TempDir,
    data: DataFolder,
    log: FileLog,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let data = DataFolder::new(dir.path().join("data"));
        let log = FileLog::new(data.runs());
        Self { dir, data, log }
    }

    fn run(&self, number: u8, standing: RetentionStatus) -> RunFolder {
        let folder = self.data.run(id(number));
        self.log.create(id(number)).expect("a Log");
        let versions = Versions { skillrun: "0".into(), engine: None, profile: 1 };
        let mode = ExecutionMode::Auto;
        let mut data = vec![ControlData::RunStarted(RunStarted::new("scripted", mode, versions))];
        data.extend(ending_event(standing));
        let events: Vec<Event> =
            data.into_iter().enumerate().map(|(at, data)| event(number, at as u64, data)).collect();
        self.log.append(id(number), Seq::FIRST, &events, Durability::Synced).expect("appended");
        self.log.release(id(number));
        fs::create_dir_all(folder.audit().join("blobs")).expect("a folder");
        fs::create_dir_all(folder.workspace().join("artifacts")).expect("a folder");
        for name in EVIDENCE.iter().chain(&KEPT) {
            fs::write(folder.audit().join(name), "x".repeat(10_000)).expect("a file");
        }
        fs::write(folder.workspace().join("artifacts/a.txt"), "made").expect("a file");
        folder
    }

    fn carry_out(&self, what: What, numbers: &[u8]) -> RemovalReport {
        let removal = |number: &u8| Removal { run: id(*number), what, why: Why::Age, bytes: 1 };
        let removals: Vec<Removal> = numbers.iter().map(removal).collect();
        carry_out(&self.log, &self.data, &removals, day(100))
    }
}

const EVIDENCE: [&str; 8] = [
    "stdout.1.log",
    "stderr.1.log",
    "pty-output.1.log",
    "stdin.2.log",
    "chunks.1.jsonl",
    "redact.1.jsonl",
    "fs-before.1.json",
    "fs-diff.12.json",
];
const KEPT: [&str; 4] = ["host.1.json", "meta.1.json", "claim.1", "blobs/aa"];

fn ending_event(standing: RetentionStatus) -> Option<ControlData> {
    let reason_code = Code::EngineFailed;
    match standing {
        NotOver => None,
        Succeeded => Some(ControlData::RunCompleted(RunCompleted::new(reason_code))),
        Closed => Some(ControlData::RunCompleted(RunCompleted::new(Code::Closed))),
        Failed => {
            let error = RunError::new(ErrorCategory::Engine, reason_code, "no");
            Some(ControlData::RunFailed(RunFailed::new(error, vec![])))
        }
        Canceled => Some(ControlData::RunCanceled(RunCanceled { reason_code, by: None })),
    }
}

fn event(number: u8, at: u64, data: ControlData) -> Event {
    Event::control(id(number), at + 1, day(at + 1), EngineName::new("scripted"), data)
}

/// The file or folder was changed on this day.
fn set_day(path: &Path, days: u32) {
    let file = fs::File::open(path).expect("a file or folder");
    file.set_modified(std::time::UNIX_EPOCH + DAY * days).expect("a time");
}

fn names(folder: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

#[test]
fn a_run_is_measured_by_its_log_and_its_files() {
    let world = World::new();
    for (number, standing) in [NotOver, Succeeded, Failed, Canceled].into_iter().enumerate() {
        let number = u8::try_from(number).expect("small");
        world.run(number, standing);
        let found = measure(&world.data, id(number)).expect("measured");
        let ended_at = Some(day(2)).filter(|_| standing != NotOver);
        assert_eq!((found.standing, found.created_at, found.ended_at), (standing, day(1), ended_at));
        assert!((80_000..200_000).contains(&found.evidence_bytes), "{found:?}");
        assert!((40_000..200_000).contains(&found.other_bytes), "{found:?}");
        assert_eq!(found.evidence, Evidence::Present);
    }
    let usage = du(&world.data).expect("measured");
    assert_eq!(usage.by_standing.values().map(|total| total.runs).collect::<Vec<_>>(), [1, 1, 1, 1]);
    assert_eq!(usage.largest.len(), 4);
    measure(&world.data, id(99)).expect_err("there is none");
}

/// Found in use: `skillrun du` counted a closed conversation as a success.
#[test]
fn a_closed_run_is_counted_as_closed_and_kept_like_a_succeeded_one() {
    let world = World::new();
    world.run(1, Closed);
    world.run(2, Succeeded);
    let usage = du(&world.data).expect("measured");
    let counts: Vec<_> = usage.by_standing.iter().map(|(standing, total)| (*standing, total.runs)).collect();
    assert_eq!(counts, [(Succeeded, 1), (Closed, 1)]);
    let one = Retention { succeeded: Keep { age: None, count: Some(1) }, ..Retention::default() };
    let removals = plan(&[run(1, Closed, 1), run(2, Succeeded, 2)], &one, day(3));
    assert_eq!(removals.iter().map(|removal| removal.run).collect::<Vec<_>>(), [id(1)], "both are counted together");
}

/// A result is written before the last event: a run whose owner died in between is not over.
#[test]
fn a_log_that_does_not_end_plainly_is_not_over() {
    let world = World::new();
    let folder = world.run(1, Succeeded);
    let whole = fs::read(folder.events()).expect("a Log");
    let standing = || ending(&folder).expect("readable").standing;
    assert_eq!(standing(), Succeeded);
    let torn = [&whole[..whole.len() - 1], &whole[..whole.len() - 2], b"", b"nonsense\n", b"\n"];
    for bytes in torn {
        fs::write(folder.events(), bytes).expect("written");
        assert_eq!(standing(), NotOver, "{}", String::from_utf8_lossy(bytes));
    }
    let long = [b"x".repeat(1 << 20).as_slice(), b"\n"].concat();
    fs::write(folder.events(), [&long, &whole[..]].concat()).expect("written");
    assert_eq!(standing(), Succeeded, "whatever was before");
    fs::write(folder.events(), [&whole[..], &long].concat()).expect("written");
    assert_eq!(standing(), NotOver);
}

#[test]
fn evidence_is_removed_and_noted_and_the_rest_stays() {
    let world = World::new();
    let folder = world.run(1, Failed);
    let before = measure(&world.data, id(1)).expect("measured");
    let outcome = world.carry_out(What::Evidence, &[1]);
    assert_eq!((outcome.removed.len(), outcome.skipped.len()), (1, 0));
    assert_eq!(names(folder.audit()), ["blobs", "claim.1", "host.1.json", "meta.1.json", "removed.json"]);
    let note = fs::read_to_string(folder.audit().join(NOTE)).expect("a note");
    let wanted = format!("{{\"removed_at\":\"{}\",\"bytes\":{},\"why\":\"age\"}}\n", day(100), before.evidence_bytes);
    assert_eq!(note, wanted);
    assert!(folder.workspace().join("artifacts/a.txt").exists() && folder.events().exists());
    let after = measure(&world.data, id(1)).expect("measured");
    assert_eq!((after.evidence, after.evidence_bytes, after.standing), (Evidence::Absent, 0, Failed));

    // Interrupted, and done again.
    fs::write(folder.audit().join("stdout.1.log"), "x").expect("a file");
    world.carry_out(What::Evidence, &[1]);
    assert_eq!(fs::read_to_string(folder.audit().join(NOTE)).expect("a note"), wanted, "it states how much there was");
    assert!(!folder.audit().join("stdout.1.log").exists());
}

#[test]
fn a_run_is_removed_and_remembered() {
    let world = World::new();
    let (first, second) = (world.run(1, Succeeded), world.run(2, Succeeded));
    let outcome = world.carry_out(What::Run, &[1]);
    assert_eq!((outcome.removed.len(), outcome.skipped.len()), (1, 0));
    assert!(!first.root().exists() && second.events().exists());
    let error = world.log.head(id(1)).expect_err("gone");
    assert!(matches!(error.kind, LogErrorKind::Gone), "{error}");
    let outcome = world.carry_out(What::Run, &[1]);
    assert!(matches!(outcome.skipped[0].why, WhySkipped::Gone));
}

#[test]
fn a_run_gives_its_login_back_before_it_is_removed() {
    let world = World::new();
    let folder = world.run(1, Canceled);
    let user_home = world.dir.path().join("me");
    let users = user_home.join(".codex/auth.json");
    fs::create_dir_all(users.parent().expect("a folder")).expect("a folder");
    fs::write(&users, r#"{"token":"first"}"#).expect("a login");
    fs::create_dir(folder.home()).expect("a home");
    let engines = skillrun_engine::Engines::shipped();
    let (codex, found) = (engines.get("codex").expect("codex"), skillrun_engine::LoginFound::File(String::new()));
    crate::login::take(&world.data, id(1), codex, &found, &folder.home(), &user_home, |_| false).expect("taken");
    fs::write(folder.home().join(".codex/auth.json"), r#"{"token":"second"}"#).expect("refreshed");
    assert_eq!(world.carry_out(What::Run, &[1]).skipped.len(), 0);
    assert!(!folder.root().exists());
    assert_eq!(fs::read_to_string(&users).expect("a login"), r#"{"token":"second"}"#);
    assert_eq!(names(world.data.logins()), Vec::<String>::new());
}

#[test]
fn a_login_that_was_kept_goes_after_a_month() {
    let world = World::new();
    fs::create_dir_all(world.data.logins()).expect("a folder");
    for (name, written) in [("old.kept", 69), ("new.kept", 71), ("note.json", 1), ("left.tmp", 1)] {
        fs::write(world.data.logins().join(name), "").expect("a file");
        set_day(&world.data.logins().join(name), written);
    }
    world.carry_out(What::Run, &[]);
    assert_eq!(names(world.data.logins()), ["new.kept", "note.json"]);
}

/// Only a start of the server removed them.
#[test]
fn keys_of_requests_go_a_week_after_their_run() {
    let world = World::new();
    world.run(1, Succeeded);
    fs::create_dir_all(world.data.requests()).expect("a folder");
    let entry = |key: &str, number: u8, written: u32| {
        let name = blake3::hash(key.as_bytes()).to_hex().to_string();
        let path = world.data.requests().join(&name);
        fs::write(&path, format!("{} {}\n", id(number), blake3::hash(b"request").to_hex())).expect("written");
        set_day(&path, written);
        name
    };
    let _gone = entry("gone", 2, 92);
    let mut kept = [entry("there", 1, 92), entry("young", 2, 94)];
    kept.sort();
    world.carry_out(What::Run, &[]);
    assert_eq!(names(world.data.requests()), kept);
}

#[test]
fn test_folders_are_removed_after_a_week_unless_in_use() {
    let world = World::new();
    let tests = world.data.tests();
    let make = |name: &str, inner: &str, days: u32| {
        let owners = DataFolder::new(tests.join(name).join(inner)).owners();
        fs::create_dir_all(&owners).expect("a folder");
        let socket = std::os::unix::net::UnixListener::bind(owners.join("1.sock")).expect("a socket");
        set_day(&tests.join(name), days);
        socket
    };
    for (name, inner) in
        [("test-dead", ""), ("engine-dead", "auto/data"), ("mine", ""), ("test-login", ""), ("test-login-old", "")]
    {
        drop(make(name, inner, 92));
    }
    let _living = [make("test-living", "", 92), make("engine-living", "auto/data", 92)];
    drop(make("test-new", "", 94));
    // The user examined it, and retried a run.
    drop(make("test-used", "", 92));
    fs::create_dir(tests.join("test-used/runs")).expect("a folder");
    set_day(&tests.join("test-used/runs"), 99);
    set_day(&tests.join("test-used"), 0);
    for (name, days) in [("test-login", 92), ("test-login-old", 69)] {
        fs::create_dir(tests.join(name).join("logins")).expect("a folder");
        fs::write(tests.join(name).join("logins/a.kept"), "{}").expect("a file");
        set_day(&tests.join(name), days);
    }
    let elsewhere = tempfile::tempdir().expect("a folder");
    fs::write(elsewhere.path().join("mine.txt"), "mine").expect("a file");
    symlink(elsewhere.path(), tests.join("test-link")).expect("a link");
    world.carry_out(What::Run, &[]);
    let left =
        ["engine-living", "mine", "test-link", "test-living", "test-login", "test-new", "test-used"].map(str::to_owned);
    assert_eq!(names(tests), left);
    assert!(elsewhere.path().join("mine.txt").exists());
}

#[test]
fn a_folder_of_the_user_is_never_followed() {
    let world = World::new();
    let folder = world.run(1, Succeeded);
    let users = world.dir.path().join("users");
    fs::create_dir(&users).expect("a folder");
    fs::write(users.join("thesis.txt"), "x".repeat(1 << 20)).expect("a file");
    fs::remove_dir_all(folder.workspace()).expect("removed");
    symlink(&users, folder.workspace()).expect("a link");
    let outside = world.dir.path().join("outside.log");
    fs::write(&outside, "precious").expect("a file");
    fs::remove_file(folder.audit().join("stdout.1.log")).expect("removed");
    symlink(&outside, folder.audit().join("stdout.1.log")).expect("a link");
    symlink(world.dir.path(), folder.root().join("up")).expect("a link");

    let found = measure(&world.data, id(1)).expect("measured");
    assert!(found.other_bytes < 1 << 20, "the user's files are not the run's: {found:?}");
    assert_eq!(world.carry_out(What::Evidence, &[1]).skipped.len(), 0);
    assert!(outside.exists());
    assert_eq!(world.carry_out(What::Run, &[1]).skipped.len(), 0);
    assert!(!folder.root().exists());
    assert_eq!(fs::read(users.join("thesis.txt")).expect("still there").len(), 1 << 20);
    assert_eq!(fs::read(&outside).expect("still there"), b"precious");
}

#[test]
fn runs_in_progress_or_locked_are_never_removed() {
    let world = World::new();
    let (running, held) = (world.run(1, NotOver), world.run(2, Succeeded));
    let owner = FileLog::new(world.data.runs());
    owner.open(id(2)).expect("held");
    for what in [What::Evidence, What::Run] {
        let outcome = world.carry_out(what, &[1, 2]);
        assert_eq!(outcome.removed, []);
        assert!(matches!(outcome.skipped[0].why, WhySkipped::NotOver), "{outcome:?}");
        assert!(matches!(outcome.skipped[1].why, WhySkipped::Held { .. }), "{outcome:?}");
    }
    for folder in [running, held] {
        assert!(folder.audit().join("stdout.1.log").exists() && !folder.audit().join(NOTE).exists());
    }
    // This process may be the owner too.
    owner.release(id(2));
    world.log.open(id(2)).expect("ours");
    assert!(matches!(world.carry_out(What::Run, &[2]).skipped[0].why, WhySkipped::Held { .. }));
    world.log.release(id(2));
    assert_eq!(world.carry_out(What::Run, &[2]).removed.len(), 1);
}

#[test]
fn what_a_dead_process_left_is_tidied_up() {
    let world = World::new();
    let (removed, new) = (world.run(1, Succeeded), world.data.run(id(2)));
    world.log.remove(id(1), day(99)).expect("removed, and then it died");
    assert!(removed.root().exists());
    fs::create_dir_all(new.root()).expect("a run that is being made");
    fs::write(new.record(), "{}").expect("a record");
    let kept = world.run(3, Succeeded);
    fs::create_dir(world.data.cache()).expect("a folder");
    for (name, run) in [("stale", 1_u8), ("good", 3)] {
        fs::write(world.data.cache().join(name), format!("{}\n", id(run))).expect("an entry");
    }
    fs::write(world.data.cache().join("odd"), "nonsense").expect("an entry");
    let now = Timestamp::try_from(std::time::SystemTime::now()).expect("a moment");
    for name in ["old.7.tmp", "new.8.tmp"] {
        fs::write(kept.root().join(name), "half").expect("a file");
    }
    set_day(&kept.root().join("old.7.tmp"), 0);
    let outcome = carry_out(&world.log, &world.data, &[], now);
    assert_eq!((outcome.removed.len(), outcome.skipped.len()), (0, 0));
    assert!(!removed.root().exists(), "noted as removed");
    assert!(new.record().exists(), "a run without a Log may be new");
    assert_eq!(names(world.data.cache()), ["good"]);
    assert_eq!(cache::noted(&world.data.cache().join("good")), Some(id(3)));
    assert!(kept.root().join("new.8.tmp").exists() && !kept.root().join("old.7.tmp").exists());
}

/// A folder that no path reaches made `gc` and `du` fail for all runs.
#[test]
fn a_very_deep_folder_is_measured_and_removed() {
    let world = World::new();
    let deep = world.run(1, Succeeded);
    world.run(2, Succeeded);
    fs::create_dir_all(deep.workspace()).expect("a folder");
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
    let mut at = rustix::fs::open(deep.workspace(), flags, rustix::fs::Mode::empty()).expect("open");
    for _ in 0..3_000 {
        rustix::fs::mkdirat(&at, "d", rustix::fs::Mode::RWXU).expect("a folder");
        at = rustix::fs::openat(&at, "d", flags, rustix::fs::Mode::empty()).expect("open");
    }
    let measured = measure_all(&world.data).expect("listed");
    assert_eq!((measured.uses.len(), measured.unmeasured), (2, vec![]));
    let usage = du(&world.data).expect("measured");
    assert_eq!((usage.by_standing[&Succeeded].runs, usage.unmeasured), (2, vec![]));
    let outcome = world.carry_out(What::Run, &[1, 2]);
    assert_eq!((outcome.removed.len(), outcome.skipped.len()), (2, 0), "{:?}", outcome.skipped);
    assert!(!deep.root().exists());
}

#[test]
fn an_unmeasurable_run_is_named_and_others_are_measured() {
    let world = World::new();
    world.run(1, Succeeded);
    world.run(2, Succeeded);
    // Not a file: opening it fails.
    let events = world.data.run(id(1)).events();
    fs::remove_file(&events).expect("removed");
    fs::create_dir(&events).expect("a folder");
    let measured = measure_all(&world.data).expect("listed");
    assert_eq!(measured.uses.iter().map(|run| run.run).collect::<Vec<_>>(), [id(2)]);
    assert_eq!(measured.unmeasured.iter().map(|run| run.run).collect::<Vec<_>>(), [id(1)]);
}
