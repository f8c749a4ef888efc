use std::fs;
use std::path::Path;
use std::process::Command;

use skillrun_engine::Engines;
use skillrun_model::AttemptNumber;
use skillrun_model::rasp::data::{AttemptStarted, MessageOrigin, UserMessage};
use skillrun_skill::{Layers, SearchPath, Skill};

use super::*;
use crate::accept::{NewRun, Options};
use crate::clock::SystemClock;
use crate::limits::SlotLimits;
use crate::runtime::{Runtime, RuntimeSetup};
use crate::variables::OwnerRole;

/// A run that waits for its first attempt, held by this process.
fn queued(root: &Path) -> Run {
    let data = DataFolder::new(root.join("data"));
    let skill = root.join("skill");
    fs::create_dir_all(skill.join("assets")).expect("a folder");
    fs::write(skill.join("SKILL.md"), "---\nname: probe\ndescription: For tests.\n---\n\nAnswer.\n").expect("written");
    fs::write(skill.join("assets/scripted.yaml"), "turns: []\n").expect("written");
    let setup = RuntimeSetup {
        role: OwnerRole::Caller,
        data: data.clone(),
        clock: Arc::new(SystemClock),
        engines: Engines::load(None),
        layers: Layers::shipped(),
        skills: SearchPath::default(),
        defaults: Options::default(),
        consents: Vec::new(),
        redact_patterns: Vec::new(),
        environment: Vec::new(),
        own_program: std::env::current_exe().expect("a program"),
        cwd: root.to_owned(),
        user_home: root.to_owned(),
        programs: None,
        temporary: root.to_owned(),
        host_command: Box::new(|| Command::new("/nonexistent")),
    };
    let runtime = Runtime::new(setup, SlotLimits { total: 0, queued: 1, ..SlotLimits::default() });
    let new = NewRun::new(Skill::load(&skill).expect("a skill"), "scripted");
    let id = runtime.accept(new).expect("accepted");
    drop(runtime);
    let log = Arc::new(FileLog::new(data.runs()));
    let variables = ProcessVariables { role: OwnerRole::Caller, environment: Vec::new(), user_home: root.to_owned() };
    let (clock, variables) = (Arc::new(SystemClock), Arc::new(variables));
    let engines = Arc::new(Engines::shipped());
    Run::open(&Tools { data, engines, log, clock, counters: Arc::default(), variables }, id).expect("ours")
}

fn started(run: &Run) -> AttemptStarted {
    let profile = run.record.engine.profile;
    AttemptStarted {
        profile,
        profile_version: profile.version(),
        engine_version: None,
        host_pid: None,
        started_at: run.now(),
        confinement: None,
    }
}

fn ready(run: &Run) -> Input<'static> {
    let message = UserMessage::new(MessageOrigin::Skill, "Count the words.");
    Input::HostReady { started: started(run), message }
}

fn attempts(run: &Run) -> Vec<u32> {
    let mut attempts = Vec::new();
    let mut take = |event: &Event, _| {
        attempts.push(event.attempt_number.0);
        Ok(())
    };
    run.store.read_all(run.id, &mut take).expect("readable");
    attempts
}

fn cancel() -> Input<'static> {
    Input::Cancel { by: "a test".to_owned() }
}

/// Regression: the batch that was to open an attempt could not be appended, and the next events had the number of that
/// attempt. Found by the simulation.
#[test]
fn after_a_failed_append_events_keep_the_last_attempt_number() {
    let root = tempfile::tempdir().expect("a folder");
    let mut run = queued(root.path());
    let before = attempts(&run);
    let (log, away) = (run.folder.events(), root.path().join("away"));
    fs::rename(&log, &away).expect("moved");
    run.apply(ready(&run)).expect_err("there is nothing to append to");
    fs::rename(&away, &log).expect("moved back");
    assert_eq!((attempts(&run), run.state.attempt), (before.clone(), AttemptNumber::BEFORE_FIRST), "nothing was kept");
    run.apply(cancel()).expect("canceled");
    let after = attempts(&run);
    assert!(after.len() > before.len() && after.iter().all(|attempt| *attempt == 0), "{after:?}");
}

/// An owner that died between the two left a process that no owner looked for, or that received an answer. Found by the
/// simulation.
#[test]
fn a_process_is_ended_after_the_log_has_the_reason_and_before_it_has_the_end() {
    let root = tempfile::tempdir().expect("a folder");
    let mut run = queued(root.path());
    let (log, before) = (run.folder.events(), attempts(&run).len());
    let lines = || fs::read_to_string(&log).expect("a Log").lines().count();
    let mut seen = None;
    let effects = run.apply_idle(cancel(), || seen = Some(lines())).expect("canceled");
    assert_eq!((seen, lines()), (Some(before + 1), before + 2));
    assert!(run.state.is_over());
    assert!(!effects.contains(&Effect::EndProcess), "once is enough: {effects:?}");
}

#[test]
fn a_process_of_a_continuing_run_is_not_ended() {
    let root = tempfile::tempdir().expect("a folder");
    let mut run = queued(root.path());
    run.apply(ready(&run)).expect("started");
    let effects = run.apply_idle(cancel(), || panic!("its turn is settled first")).expect("canceling");
    assert!(effects.contains(&Effect::EndProcess) && !run.state.is_over(), "{effects:?}");
}
