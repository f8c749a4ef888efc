//! A data folder, skills and scripts for it, and a runtime whose hosts and engines are the real program.

use std::ffi::OsString;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use skillrun_engine::Engines;
use skillrun_lifecycle::run::State;
use skillrun_log::{Cursor, EventLog, Limits, LogError, ReadEnd};
use skillrun_model::rasp::data::{ResolutionMode, RunFailed};
use skillrun_model::rasp::{ControlData, Data, Event, EvidenceData};
use skillrun_model::status::Continuation;
use skillrun_model::verdict::Verdict;
use skillrun_model::{Code, ExecutionMode, InteractionId, ProfileId, RunId, RunStatus};
use skillrun_runs::DataFolder;
use skillrun_runs::result::RunResult;
use skillrun_runtime::{Clock, NewRun, Options, OwnerRole, Reply, Runtime, RuntimeSetup, SlotLimits, SystemClock};
use skillrun_skill::{Layers, SearchFolder, SearchPath, Skill, SkillOrigin};

use crate::{Lab, TEST_TIMEOUT, eventually, skillrun, wait_until};

#[derive(Debug)]
pub struct RuntimeLab {
    pub place: Lab,
    pub slots: SlotLimits,
    pub redact: Vec<String>,
    /// What the scripted engine is; hosts are always the real program.
    pub program: PathBuf,
    pub clock: Arc<dyn Clock>,
    pub role: OwnerRole,
    pub environment: Vec<(OsString, OsString)>,
}

const LADDER: &str = r#"
[process]
ladder = [{ signal = "SIGINT", pause_ms = 50 }, { signal = "SIGTERM", pause_ms = 50 }, { signal = "SIGKILL", pause_ms = 0 }]
"#;

/// Enough for a process to exit, however busy the machine is.
const LINGER: f64 = 5.0;

/// Time that nothing here uses up, however busy the machine is.
pub const LONG: f64 = 600.0;

/// A skill that wants `{"answer": text}` back.
const SCHEMA: &str =
    r#"{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}"#;

/// A runtime over the data folder of a lab, as another process would make one.
pub fn setup(place: &Lab) -> RuntimeSetup {
    RuntimeSetup {
        role: OwnerRole::Caller,
        data: DataFolder::new(place.data()),
        clock: Arc::new(SystemClock),
        engines: Engines::load(Some(&place.path("engines"))),
        layers: Layers::shipped(),
        skills: SearchPath::new(vec![SearchFolder { path: place.path("skills"), origin: SkillOrigin::Configured }]),
        defaults: Options::default(),
        consents: Vec::new(),
        redact_patterns: Vec::new(),
        environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        own_program: skillrun().into(),
        cwd: place.root().to_owned(),
        user_home: place.path("home"),
        programs: None,
        temporary: place.path("tmp"),
        host_command: Box::new(|| {
            let mut command = Command::new(skillrun());
            command.arg0("skillrun").arg("attempt-host");
            command
        }),
    }
}

impl Default for RuntimeLab {
    fn default() -> Self {
        Self::new()
    }
}

impl RuntimeLab {
    pub fn new() -> Self {
        let lab = Self {
            place: Lab::without_data(),
            slots: SlotLimits::default(),
            redact: Vec::new(),
            program: skillrun().into(),
            clock: Arc::new(SystemClock),
            role: OwnerRole::Caller,
            environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        };
        lab.add_engine("impatient", LADDER);
        lab
    }

    /// A lab with a runtime.
    pub fn running() -> (Self, Runtime) {
        let lab = Self::new();
        let runtime = lab.runtime();
        (lab, runtime)
    }

    /// A lab with a runtime and a run that plays `script`.
    pub fn begun(mode: ExecutionMode, script: &str) -> (Self, Runtime, RunId) {
        let lab = Self::new();
        let (runtime, run) = lab.begin(lab.new_run(mode, script));
        (lab, runtime, run)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    pub fn data(&self) -> DataFolder {
        DataFolder::new(self.place.data())
    }

    /// A skill with an output schema, and more in `runner` where that is needed.
    pub fn skill(&self, name: &str, runner: Value) -> Skill {
        let root = self.path("skills").join(name);
        let text = format!("---\nname: {name}\ndescription: A skill for tests.\n---\n\n# {name}\n\nAnswer.\n");
        self.place.write(&format!("skills/{name}/SKILL.md"), &text);
        fs::create_dir_all(root.join("assets")).expect("a folder");
        fs::write(root.join("assets/output.json"), SCHEMA).expect("written");
        let mut all = json!({ "schemas": { "output": "assets/output.json" } });
        let (Value::Object(all_of), Value::Object(more)) = (&mut all, runner) else { panic!("objects") };
        all_of.extend(more);
        fs::write(root.join("assets/runner.json"), all.to_string()).expect("written");
        Skill::load(&root).expect("a skill")
    }

    /// A runtime over the lab's data folder, as another process would make one.
    pub fn runtime(&self) -> Runtime {
        let setup = RuntimeSetup {
            role: self.role,
            clock: self.clock.clone(),
            redact_patterns: self.redact.clone(),
            environment: self.environment.clone(),
            own_program: self.program.clone(),
            ..setup(&self.place)
        };
        Runtime::new(setup, self.slots.clone())
    }

    /// A runtime that has accepted this request, and the run.
    pub fn begin(&self, new: NewRun) -> (Runtime, RunId) {
        let runtime = self.runtime();
        let run = runtime.submit(new).expect("accepted");
        (runtime, run)
    }

    /// The next owner of a run that this one leaves.
    pub fn next_owner(&self, runtime: Runtime, run: RunId) -> Runtime {
        drop(runtime);
        let runtime = self.runtime();
        runtime.take_up(run).expect("taken up");
        runtime
    }

    /// Waits for a question, and answers it.
    pub fn answer(&self, runtime: &Runtime, run: RunId, interaction: u32, text: &str) {
        self.wait_asked(run, interaction);
        runtime.reply(run, reply(interaction, text)).expect("answered");
    }

    /// Waits until a run is over and its runtime has nothing to do; nothing of the run is left behind.
    pub fn finish(&self, runtime: &Runtime, run: RunId) -> State {
        let state = self.wait_over(run);
        assert!(runtime.wait_idle(TEST_TIMEOUT), "the runtime has something to do");
        self.check_whole(run);
        state
    }

    /// A program in place of the scripted engine: this shell script, which ends by starting the engine.
    pub fn wrap_engine(&mut self, script: &str) {
        self.place.write_program("engine.sh", &format!("#!/bin/sh\n{script}\nexec '{}' \"$@\"\n", skillrun()));
        self.program = self.path("engine.sh");
    }

    pub fn script(&self, script: &str) -> PathBuf {
        let number = fs::read_dir(self.place.root()).map(Iterator::count).unwrap_or_default();
        let path = self.path(&format!("script-{number}.yaml"));
        fs::write(&path, script).expect("written");
        path
    }

    /// Another engine that plays scripts, with more in its file.
    pub fn add_engine(&self, name: &str, more: &str) {
        let shipped = include_str!("../../crates/engine/engines/scripted.toml");
        let text = shipped.replace("name = \"scripted\"", &format!("name = \"{name}\""));
        self.place.write(&format!("engines/{name}.toml"), &format!("{text}\n{more}"));
    }

    /// A run of a fresh skill that plays `script`.
    pub fn new_run(&self, mode: ExecutionMode, script: &str) -> NewRun {
        NewRun {
            mode: Some(mode),
            script: Some(self.script(script)),
            options: Options { linger_sec: Some(LINGER), ..Options::default() },
            ..NewRun::new(self.skill("probe", json!({})), "scripted")
        }
    }

    pub fn events(&self, run: RunId) -> Vec<Event> {
        let log = skillrun_log::FileLog::new(self.data().runs());
        let mut events = Vec::new();
        let read = log.for_each(run, Cursor::BEGINNING, Limits::default(), |line| {
            events.push(line.event()?);
            Ok::<_, LogError>(ControlFlow::Continue(()))
        });
        assert!(matches!(read.expect("readable"), ReadEnd::At(_)), "a reset from the beginning");
        events
    }

    pub fn types(&self, run: RunId) -> Vec<&'static str> {
        self.events(run).iter().map(|event| event.event_type().as_str()).collect()
    }

    pub fn state(&self, run: RunId) -> State {
        State::of(&self.events(run))
    }

    pub fn result(&self, run: RunId) -> RunResult {
        skillrun_runs::result::read(&self.data().run(run)).expect("readable").expect("a result")
    }

    /// Waits until a run is in a state that satisfies.
    pub fn wait(&self, run: RunId, what: &str, is_so: impl Fn(&State) -> bool) -> State {
        eventually(what, || Some(self.state(run)).filter(&is_so))
    }

    pub fn wait_over(&self, run: RunId) -> State {
        self.wait(run, "end", State::is_over)
    }

    pub fn wait_asked(&self, run: RunId, interaction: u32) -> State {
        self.wait(run, "question", |state| {
            state.status == Some(RunStatus::WaitingUser)
                && state.question.as_ref().is_some_and(|question| question.interaction_id.0 == interaction)
        })
    }

    /// Waits until something is so.
    pub fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        wait_until(what, is_so);
    }

    /// Waits until the Log has a message of the assistant's with these words.
    pub fn wait_said(&self, run: RunId, words: &str) {
        self.wait_until(words, || {
            self.events(run).iter().any(
                |event| matches!(&event.data, Data::Evidence(EvidenceData::MessageFinal(m)) if m.text.contains(words)),
            )
        });
    }

    /// Waits until a file of the last attempt's evidence has these words, and the host has noted that.
    pub fn wait_recorded(&self, run: RunId, attempt: u32, words: &str) {
        let audit = self.data().run(run).audit();
        self.wait_until(words, || {
            let text = fs::read_to_string(audit.join(format!("stdout.{attempt}.log"))).unwrap_or_default();
            let noted = format!("\"to\":{}", text.len());
            text.contains(words)
                && fs::read_to_string(audit.join(format!("chunks.{attempt}.jsonl")))
                    .is_ok_and(|all| all.contains(&noted))
        });
    }

    /// What was decided about each attempt.
    pub fn verdicts(&self, run: RunId) -> Vec<Verdict> {
        let verdict = |event: Event| {
            let Data::Control(ControlData::AttemptEnded(ended)) = event.data else { return None };
            Some(ended.verdict)
        };
        self.events(run).into_iter().filter_map(verdict).collect()
    }

    /// The host of each attempt.
    pub fn hosts(&self, run: RunId) -> Vec<u32> {
        let host = |event: Event| {
            let Data::Control(ControlData::AttemptStarted(started)) = event.data else { return None };
            started.host_pid
        };
        self.events(run).into_iter().filter_map(host).collect()
    }

    /// Names of everything in the folder of runs that may be one.
    pub fn run_folders(&self) -> Vec<String> {
        let entries = fs::read_dir(self.data().runs()).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().is_dir());
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    pub fn output(&self, run: RunId) -> Value {
        self.result(run).output.map_or(Value::Null, Value::Object)
    }

    /// The end of a run that failed.
    pub fn failed(&self, run: RunId) -> Option<RunFailed> {
        let Some(Data::Control(ControlData::RunFailed(failed))) = self.events(run).pop().map(|event| event.data) else {
            return None;
        };
        Some(failed)
    }

    /// The code a run failed with.
    pub fn failure(&self, run: RunId) -> Option<Code> {
        self.failed(run).map(|failed| failed.error.code)
    }

    /// How each question was answered.
    pub fn resolutions(&self, run: RunId) -> Vec<ResolutionMode> {
        let replied = |event: Event| {
            let Data::Control(ControlData::InteractionReplied(reply)) = event.data else { return None };
            Some(reply.resolution_mode)
        };
        self.events(run).into_iter().filter_map(replied).collect()
    }

    /// A file of `.audit` that is JSON.
    pub fn evidence_json(&self, run: RunId, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.data().run(run).audit().join(name)).expect(name)).expect("JSON")
    }

    /// Processes of a run.
    pub fn processes(&self, run: RunId) -> Vec<String> {
        processes_of(&self.data().run(run).root().display().to_string())
    }

    /// Nothing of a run is left behind when it is over.
    pub fn check_whole(&self, run: RunId) {
        let events = self.events(run);
        let is_end = |event: &&Event| event.data.end().is_some();
        assert_eq!(events.iter().filter(is_end).count(), 1, "one end: {:?}", self.types(run));
        assert!(events.last().as_ref().is_some_and(is_end), "and it is the last: {:?}", self.types(run));
        assert!(events.iter().enumerate().all(|(at, event)| event.seq == at as u64 + 1), "no gap");
        let state = State::of(&events);
        let result = self.result(run);
        assert_eq!(Some(result.status), state.status, "result.json says the same");
        assert_eq!(self.processes(run), Vec::<String>::new(), "no process is left");
    }
}

/// Command lines of processes that mention a path.
pub fn processes_of(path: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let Ok(words) = fs::read(entry.path().join("cmdline")) else { continue };
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        if words.contains(path) {
            found.push(words);
        }
    }
    found
}

pub fn reply(interaction: u32, text: &str) -> Reply {
    Reply { interaction_id: InteractionId(interaction), text: text.to_owned(), files: Vec::new(), request_id: None }
}

/// As a request for a sticky process.
pub fn sticky(new: NewRun) -> NewRun {
    NewRun { continuation: Some(Continuation::Sticky), ..new }
}

pub fn speaking(new: NewRun, profile: ProfileId) -> NewRun {
    NewRun { profile: Some(profile), ..new }
}

/// On an engine that is killed soon when it does not listen.
pub fn impatient(new: NewRun) -> NewRun {
    on(new, "impatient")
}

pub fn on(new: NewRun, engine: &str) -> NewRun {
    NewRun { engine: engine.to_owned(), ..new }
}

pub fn with(new: NewRun, change: impl FnOnce(&mut Options)) -> NewRun {
    let mut options = new.options.clone();
    change(&mut options);
    NewRun { options, ..new }
}

/// The end that no process can ignore.
pub fn kill_hard(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, Signal::KILL).expect("killed");
}
