//! An owner is killed between the start of a host and the request to start its process. The next owner uses that host,
//! or another host has the attempt and this one exits; no process waits for it, and no run fails because of it.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lab::{Lab, eventually, kind, runtime, within};
use skillrun_collect::HostPlan;
use skillrun_model::{ExecutionMode, RunId};

use skillrun_runtime::{NewRun, Options, Runtime, RuntimeSetup, SlotLimits};
use skillrun_skill::Skill;

use crate::SKILLRUN;

const DONE: &str = "- - output: {answer: blue}\n    done: true\n";

/// Less than a host waits for the word.
const SOON: Duration = Duration::from_secs(20);

/// A host that shows its plan before it reads it, and waits until it may.
const PAUSED: &str = r#"cat > "$1/plan.new" && mv "$1/plan.new" "$1/plan"
until [ -e "$1/go" ]; do sleep 0.01; done
exec "$0" attempt-host < "$1/plan""#;

fn host_command(lab: PathBuf) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", PAUSED, SKILLRUN]).arg(lab);
    command
}

/// An owner in this process, whose hosts wait before they claim anything.
fn owner(lab: &Lab) -> Runtime {
    let root = lab.path("");
    let setup = RuntimeSetup { host_command: Box::new(move || host_command(root.clone())), ..runtime::setup(lab) };
    Runtime::new(setup, SlotLimits::default())
}

fn new_run(lab: &Lab) -> NewRun {
    let skill = Skill::load(&lab.skill("probe", DONE)).expect("a skill");
    NewRun { mode: Some(ExecutionMode::Auto), ..NewRun::new(skill, "scripted") }
}

/// The plan of the host that the owner has just started, as another owner would have made it.
fn another_plan(lab: &Lab) -> HostPlan {
    let text = eventually("plan", || fs::read_to_string(lab.path("plan")).ok());
    let plan: HostPlan = serde_json::from_str(&text).expect("a plan");
    HostPlan { nonce: skillrun_collect::start::random_nonce().expect("randomness"), ..plan }
}

/// A host as an owner starts it. What the owner does next is up to the test.
fn host() -> Child {
    let mut command = Command::new(SKILLRUN);
    command.arg("attempt-host").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().expect("a host")
}

fn hand_over(host: &mut Child, plan: &HostPlan) {
    let json = serde_json::to_vec(plan).expect("JSON");
    host.stdin.take().expect("a pipe").write_all(&json).expect("written");
}

fn audit(lab: &Lab, run: RunId) -> PathBuf {
    lab.data().join("runs").join(run.to_string()).join(".audit")
}

/// It succeeded with one attempt, and no process is left.
fn assert_done(lab: &Lab, run: RunId) {
    let run = run.to_string();
    let last = lab.wait_end(&run);
    assert_eq!(kind(&last), "run.completed", "{last:#}");
    let started = lab.events(&run).iter().filter(|event| kind(event) == "attempt.started").count();
    assert_eq!(started, 1);
}

fn let_go_on(lab: &Lab) {
    fs::write(lab.path("go"), "").expect("written");
}

/// Regression: the host of the owner before claimed the attempt after the next owner had looked and before its own host
/// did. That one was refused, the run failed, and the first was left waiting for a minute (found by killing owners).
#[test]
fn a_host_of_the_owner_before_that_claims_late_is_used() {
    let lab = Lab::new();
    let owner = owner(&lab);
    let run = owner.accept(new_run(&lab)).expect("accepted");
    owner.take_up(run).expect("taken up");
    let plan = another_plan(&lab);
    let mut late = host();
    hand_over(&mut late, &plan);
    let mut answer = String::new();
    late.stdout.take().expect("a pipe").read_to_string(&mut answer).expect("an answer");
    assert_eq!(answer, "\"listening\"");
    let_go_on(&lab);
    assert_done(&lab, run);
    let claim = lab.run_json(&run.to_string(), ".audit/claim.1");
    assert_eq!(claim["nonce"], plan.nonce, "no second host was needed");
    assert!(within(SOON, "exit", || late.try_wait().expect("waited")).success());
    drop(owner);
    lab.wait_quiet();
}

/// A host whose owner died before it was notified is known to no process.
#[test]
fn a_host_whose_owner_died_before_it_claimed_leaves_at_once() {
    let lab = Lab::new();
    let owner = owner(&lab);
    let run = owner.accept(new_run(&lab)).expect("accepted");
    owner.take_up(run).expect("taken up");
    let plan = another_plan(&lab);
    let mut late = host();
    drop(late.stdout.take());
    hand_over(&mut late, &plan);
    within(SOON, "exit", || late.try_wait().expect("waited"));
    let names = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let left: Vec<_> = names(&audit(&lab, run)).filter(|name| name != "blobs").collect();
    assert_eq!((left, names(&lab.path("tmp")).next()), (vec![], None), "something is left of it");
    let_go_on(&lab);
    assert_done(&lab, run);
    drop(owner);
    lab.wait_quiet();
}

/// A run that was canceled while it was queued left the host of the owner before waiting for a minute.
#[test]
fn a_held_host_exits_when_its_run_is_canceled() {
    let lab = Lab::new();
    let owner = owner(&lab);
    let (run, canceled) = (owner.accept(new_run(&lab)).expect("a run"), owner.accept(new_run(&lab)).expect("a run"));
    owner.take_up(run).expect("taken up");
    let folder = lab.data().join("runs").join(canceled.to_string());
    let place = skillrun_collect::start::prepare_folder(&folder).expect("a folder");
    let plan = HostPlan { run_id: canceled, audit: place.into(), ..another_plan(&lab) };
    let mut held = host();
    hand_over(&mut held, &plan);
    held.stdout.take().expect("a pipe").read_to_string(&mut String::new()).expect("an answer");
    owner.cancel(canceled, "a test").expect("canceled");
    within(SOON, "exit", || held.try_wait().expect("waited"));
    let_go_on(&lab);
    assert_done(&lab, run);
    drop(owner);
    lab.wait_quiet();
}

/// Regression: the start of an attempt could not be noted, and its host, which waited for the start request, was sent the
/// end of the turn. It acted on it as soon as the next try had started the process, and ended it (found by the
/// simulation).
#[test]
fn a_host_whose_start_could_not_be_noted_waits_for_the_next_try() {
    let lab = Lab::new();
    let owner = owner(&lab);
    let linger_sec = Some(0.5);
    let slow = "- - sleep_ms: 3000\n  - output: {answer: blue}\n    done: true\n";
    let new = NewRun {
        task: Skill::load(&lab.skill("slow", slow)).expect("a skill").into(),
        options: Options { linger_sec, ..Options::default() },
        ..new_run(&lab)
    };
    let run = owner.accept(new).expect("accepted");
    owner.take_up(run).expect("taken up");
    let plan = eventually("plan", || fs::read_to_string(lab.path("plan")).ok());
    let plan: HostPlan = serde_json::from_str(&plan).expect("a plan");
    // A Log that was changed since its writer left it takes nothing. The next process that opens it puts this aside.
    let folder = lab.data().join("runs").join(run.to_string());
    let mut log = fs::File::options().append(true).open(folder.join("events.jsonl")).expect("a Log");
    log.write_all(b"{").expect("written");
    let_go_on(&lab);
    assert_done(&lab, run);
    assert!(folder.join("events.torn.1").exists(), "the first try failed");
    let claim = lab.run_json(&run.to_string(), ".audit/claim.1");
    assert_eq!(claim["nonce"], plan.nonce, "no second host was needed");
    // We are its parent, and have let go of it when the first try failed.
    let host =
        lab.events(&run.to_string()).iter().find_map(|event| event["data"]["host_pid"].as_u64()).expect("a host");
    let entry = PathBuf::from(format!("/proc/{host}"));
    within(SOON, "end of the host, to its last trace", || (!entry.exists()).then_some(()));
    drop(owner);
    lab.wait_quiet();
}
