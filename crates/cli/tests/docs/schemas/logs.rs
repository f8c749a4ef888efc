//! Logs beside the corpus, for what no small recording of an engine has: long texts, and what a runtime adds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::json;
use testkit::{parallel, paths};

use super::SKILLRUN;

/// A folder for `normalize`.
#[derive(Clone)]
pub(crate) struct Recording {
    pub(crate) folder: PathBuf,
    /// The event from which on they are of interest.
    pub(crate) from: u64,
}

/// After 10,000 raw lines in a row, one event stands for many.
const FLOOD: usize = 10_100;

/// Recordings of a codex and a gemini that write long texts and control characters, of a claude with a subagent, and of a
/// flood of lines.
pub(crate) fn recordings(root: &Path) -> Vec<Recording> {
    let long = "x".repeat(70 * 1024);
    let item = |event: &str, item: serde_json::Value| json!({"type": event, "item": item}).to_string();
    let call = |event: &str, id: &str, command: &str, output: &str, status: &str, exit: Option<u8>| {
        let kind = "command_execution";
        let call = json!({"id": id, "type": kind, "command": command, "aggregated_output": output, "exit_code": exit, "status": status});
        item(event, call)
    };
    let coloured = format!("\u{1b}[1mbold\u{1b}[0m {long}");
    let mut codex = vec![
        json!({"type": "thread.started", "thread_id": "t-1"}).to_string(),
        json!({"type": "turn.started"}).to_string(),
        json!({"type": "error", "message": "\u{1b}[31mReconnecting... 1/5\u{1b}[0m"}).to_string(),
        item("item.completed", json!({"id": "item_0", "type": "reasoning", "text": "\u{1b}[1mI think.\u{1b}[0m"})),
        item("item.completed", json!({"id": "item_1", "type": "reasoning", "text": "x".repeat(1 << 20) + "y"})),
        call("item.started", "item_2", &long, "", "in_progress", None),
        call("item.completed", "item_2", &long, &coloured, "completed", Some(0)),
        call("item.started", "item_3", "false", "", "in_progress", None),
        call("item.completed", "item_3", "false", &coloured, "failed", Some(1)),
        item("item.completed", json!({"id": "item_4", "type": "agent_message", "text": "x".repeat(4 << 20) + "y"})),
    ];
    let output = json!({"__SKILL_DONE__": true, "long": long}).to_string();
    codex.push(item("item.completed", json!({"id": "item_5", "type": "agent_message", "text": output})));
    codex.push(json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}).to_string());
    let gemini = [
        json!({"type": "init", "session_id": "s-1", "model": "m"}),
        json!({"type": "message", "role": "assistant", "content": "\u{1b}[1mbold", "delta": true}),
        json!({"type": "result", "status": "success"}),
    ];
    let gemini = gemini.map(|line| line.to_string()).to_vec();
    let task = json!({"subagent_type": "Explore", "description": long});
    let call = json!({"type": "tool_use", "id": "t-1", "name": "Task", "input": task});
    let told = json!({"task_id": "a-1", "tool_use_id": "t-1", "status": "completed", "summary": "\u{1b}[1mTwo."});
    let mut notification = json!({"type": "system", "subtype": "task_notification", "session_id": "s-1"});
    notification.as_object_mut().expect("an object").extend(told.as_object().expect("an object").clone());
    let claude = [
        json!({"type": "assistant", "session_id": "s-1", "message": {"id": "m-1", "content": [call]}}),
        notification,
        json!({"type": "result", "is_error": false, "result": "done", "session_id": "s-1"}),
    ];
    let claude = claude.map(|line| line.to_string()).to_vec();
    let record = |name: &str, engine: &str, lines: Vec<String>| {
        let folder = root.join(name);
        fs::create_dir_all(folder.join(".audit")).expect("a folder");
        fs::write(folder.join(".audit/stdout.1.log"), lines.join("\n") + "\n").expect("written");
        let meta = json!({"engine": engine, "execution_mode": "auto", "exit_code": 0}).to_string();
        fs::write(folder.join(".audit/meta.1.json"), meta).expect("written");
        folder
    };
    let noise = vec!["noise".to_owned(); FLOOD];
    vec![
        Recording { folder: record("codex", "codex", codex), from: 1 },
        Recording { folder: record("gemini", "gemini", gemini), from: 1 },
        Recording { folder: record("claude", "claude", claude), from: 1 },
        Recording { folder: record("noise", "codex", noise), from: FLOOD as u64 - 100 },
    ]
}

/// A Log that a run wrote which was silent for longer than a test may be.
pub(crate) fn kept() -> PathBuf {
    paths::workspace().join("testkit/logs/heartbeat.jsonl")
}

const ASKS: &str = "- - think: I think.\n  - write: {path: artifacts/report.md, content: '# Done'}\n  \
    - ask: {prompt: Which?, options: [{value: a, label: A, default: true}], ui_hints: {x: 1}, context: {y: 2}}\n\
    - - output: {answer: '{{reply}}'}\n    done: true\n";

const RUN: [&str; 6] = ["run", "./skill", "--engine", "scripted", "--script", "script.yaml"];

/// A data folder of its own, and the skill that is run in it.
struct Stage {
    root: PathBuf,
}

impl Stage {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(SKILLRUN);
        command.current_dir(&self.root).env("HOME", &self.root).env_remove("SKILLRUN_DATA");
        command.args(["--data", "data"]).args(args);
        command
    }

    fn skillrun(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("skillrun runs")
    }

    /// The command follows the run that takes the place of the failed one, which would begin in five hours.
    fn run_and_cancel_retry(&self, script: &str) {
        fs::write(self.root.join("script.yaml"), script).expect("written");
        let run = [&RUN[..], &["--retry-quota", "wait"]].concat();
        let mut child = self.command(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("skillrun runs");
        let is_retry = |folder: &PathBuf| {
            fs::read_to_string(folder.join("events.jsonl"))
                .is_ok_and(|log| log.contains("\"not_before\"") && log.contains("\"retry_of\""))
        };
        let retry = lab::eventually("a retry", || self.runs().into_iter().find(is_retry));
        let id = retry.file_name().and_then(|name| name.to_str()).expect("an id");
        assert_eq!(self.skillrun(&["cancel", id]).status.code(), Some(0));
        assert_eq!(child.wait().expect("it ends").code(), Some(8));
    }

    /// The folders of all runs.
    fn runs(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root.join("data/runs")).into_iter().flatten();
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.join("events.jsonl").exists()).collect()
    }

    /// A skill beside the one that is run.
    fn skill(&self, name: &str, script: &str) {
        let folder = self.root.join(name);
        fs::create_dir_all(folder.join("assets")).expect("a folder");
        let text = format!("---\nname: {name}\ndescription: For tests.\n---\n\nDo it.\n");
        fs::write(folder.join("SKILL.md"), text).expect("written");
        fs::write(folder.join("assets/scripted.yaml"), script).expect("written");
    }

    fn run(&self, script: &str, args: &[&str]) -> i32 {
        fs::write(self.root.join("script.yaml"), script).expect("written");
        let output = self.skillrun(&[&RUN[..], args].concat());
        let code = output.status.code().expect("an exit code");
        assert!(code != 2, "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        code
    }
}

/// Each is a story: the exit codes of its commands are those of the contract, so that it is known to have happened.
const STORIES: [fn(&Stage); 13] = [
    |stage| {
        let decides =
            ["--mode", "interactive", "--no-reply-needed", "--session-timeout", "0.2", "--decide", "safe_default"];
        assert_eq!(stage.run(ASKS, &decides), 0);
    },
    |stage| {
        let sticky = ["--mode", "interactive", "--continuation", "sticky_process", "--session-timeout", "0.2"];
        assert_eq!(stage.run(ASKS, &sticky), 3);
    },
    |stage| {
        assert_eq!(stage.run(ASKS, &["--mode", "interactive"]), 6);
        fs::write(stage.root.join("note.txt"), "a note").expect("written");
        let reply = ["reply", "last", "a", "--key", "key-1", "--file", "note.txt"];
        assert_eq!(stage.skillrun(&reply).status.code(), Some(0));
        // Its reasoning is left out.
        assert_eq!(stage.skillrun(&["continue", "last", "--engine", "scripted"]).status.code(), Some(6));
    },
    |stage| {
        assert_eq!(stage.run("[[hang]]", &["--timeout", "0.3"]), 3);
        let quota = "- - fail: 'Rate limit reached for the model. Please try again in 5 hours.'\n";
        stage.run_and_cancel_retry(quota);
    },
    |stage| {
        let turns = "- - say: working\n  - sleep_ms: 60000\n- - say: as you like\n";
        assert_eq!(stage.run(turns, &["--mode", "conversation", "--no-wait"]), 0);
        let is_working = |folder: &PathBuf| {
            fs::read_to_string(folder.join("events.jsonl")).is_ok_and(|log| log.contains("agent.message.final"))
        };
        lab::eventually("an open turn", || stage.runs().into_iter().find(is_working));
        // Too long for an event.
        let say = "otherwise ".repeat(7_000);
        assert_eq!(stage.skillrun(&["interrupt", "last", "--say", &say]).status.code(), Some(0));
        assert_eq!(stage.skillrun(&["wait", "last"]).status.code(), Some(6));
        assert_eq!(stage.skillrun(&["close", "last"]).status.code(), Some(0));
    },
    // A session that is lost, and another one.
    |stage| {
        assert_eq!(stage.run("- - think: I think.\n  - say: hello\n", &["--mode", "conversation"]), 6);
        let run = stage.runs().pop().expect("a run");
        fs::remove_dir_all(run.join("home/.scripted")).expect("the engine's sessions");
        for prompt in ["into nothing", "from the replay"] {
            assert_eq!(stage.skillrun(&["reply", "last", prompt]).status.code(), Some(6));
        }
    },
    // One child completes, and one runs out of time.
    |stage| {
        let slow = stage.root.join(".agents/skills/slow");
        fs::create_dir_all(slow.join("assets")).expect("a folder");
        fs::write(slow.join("SKILL.md"), "---\nname: slow\ndescription: For tests.\n---\n\nDo it.\n").expect("written");
        fs::write(slow.join("assets/scripted.yaml"), "- - say: Nearly.\n  - hang\n").expect("written");
        let turns = "- - delegate: {do: spawn, request: {prompt: A task., call_id: call_1}}\n  \
            - delegate: {do: spawn, request: {skill: slow, timeout_sec: 0.5}}\n  \
            - delegate: {do: wait, timeout_sec: 45}\n  - output: {answer: '{{delegated.outcome}}'}\n    done: true\n";
        assert_eq!(stage.run(turns, &["--delegate"]), 0);
    },
    // One check passes and one fails; one cannot be started, and one is killed.
    |stage| {
        let done = "- - output: {answer: x}\n    done: true\n";
        assert_eq!(stage.run(done, &["--check", "true", "--check", "echo no; exit 3"]), 1);
        assert_eq!(stage.run(done, &["--check", "kill -9 $$"]), 1);
        let words = json!({"checks": [{"name": "gone", "command": ["no-such-program-of-skillrun"]}]});
        fs::write(stage.root.join("skill/assets/runner.json"), words.to_string()).expect("written");
        assert_eq!(stage.skillrun(&["consent", "check:probe", "--yes"]).status.code(), Some(0));
        assert_eq!(stage.run(done, &[]), 1);
    },
    // A workflow that asks and is partial, and a second one that takes over what is ready.
    |stage| {
        let done = "- - write: {path: artifacts/a.txt, content: x}\n  - output: {answer: x}\n    done: true\n";
        stage.skill("done", done);
        stage.skill("fails", "- - fail: no\n");
        let flow = "timeout: 600\nsteps:\n- {id: a, skill: ./done, for_each: [1, 2]}\n\
            - {id: b, skill: ./done, ask: before, needs: [a]}\n- {id: c, skill: ./fails, needs: [b]}\n\
            outputs: {answer: {from: /steps/b/output}}\n";
        fs::write(stage.root.join("flow.yaml"), flow).expect("written");
        let run = ["workflow", "run", "flow.yaml", "--engine", "scripted"];
        assert_eq!(stage.skillrun(&run).status.code(), Some(6));
        assert_eq!(stage.skillrun(&["reply", "last", "start"]).status.code(), Some(5));
        assert_eq!(stage.skillrun(&["workflow", "retry", "last", "--from-failed"]).status.code(), Some(6));
        assert_eq!(stage.skillrun(&["reply", "last", "start"]).status.code(), Some(5));
    },
    // An item of a step about which the user decides.
    |stage| {
        stage.skill("fails", "- - fail: no\n");
        let flow = "steps:\n- {id: a, skill: ./fails, for_each: [1], on_failure: hold}\n";
        fs::write(stage.root.join("flow.yaml"), flow).expect("written");
        let run = ["workflow", "run", "flow.yaml", "--engine", "scripted"];
        assert_eq!(stage.skillrun(&run).status.code(), Some(6));
        assert_eq!(stage.skillrun(&["reply", "last", "stop"]).status.code(), Some(1));
    },
    // A step that waits for quota.
    |stage| {
        stage.skill("quota", "- - fail: 'Rate limit reached for the model. Please try again in 5 hours.'\n");
        let flow = "steps:\n- {id: a, skill: ./quota, retries: {max: 1, on: [quota]}}\n";
        fs::write(stage.root.join("flow.yaml"), flow).expect("written");
        let run = ["workflow", "run", "flow.yaml", "--engine", "scripted", "--no-wait"];
        assert_eq!(stage.skillrun(&run).status.code(), Some(0));
        let waits = |folder: &PathBuf| {
            fs::read_to_string(folder.join("events.jsonl")).is_ok_and(|log| log.contains("\"trial\":2"))
        };
        lab::eventually("a second try", || stage.runs().into_iter().find(waits));
        assert_eq!(stage.skillrun(&["cancel", "last"]).status.code(), Some(0));
        assert_eq!(stage.skillrun(&["wait", "last"]).status.code(), Some(8));
    },
    // In a box that holds what this machine can enforce, and in one that holds nothing.
    |stage| {
        for flags in [&["--box", "on", "--allow-host", "127.0.0.1:9"][..], &["--box", "on", "--permission", "full"]] {
            let words = [&["ask", "hello", "--engine", "scripted"], flags].concat();
            assert_eq!(stage.skillrun(&words).status.code(), Some(0));
        }
    },
    // A prompt that is too large for an event.
    |stage| {
        let prompt = "Why is the sky blue? ".repeat(4_000);
        assert_eq!(stage.skillrun(&["ask", &prompt, "--engine", "scripted"]).status.code(), Some(0));
    },
];

/// Plays all stories and gives the folders of their runs.
pub(crate) fn runs(root: &Path) -> Vec<PathBuf> {
    let stages: Vec<(usize, Stage)> =
        (0..STORIES.len()).map(|n| (n, Stage { root: root.join(n.to_string()) })).collect();
    let folders = parallel::each(&stages, |(n, stage)| {
        fs::create_dir_all(stage.root.join("skill/assets")).expect("a folder");
        let skill = "---\nname: probe\ndescription: A skill for tests.\n---\n\n# probe\n\nAnswer.\n";
        fs::write(stage.root.join("skill/SKILL.md"), skill).expect("written");
        let runner = json!({"artifacts": [{"pattern": "*.md", "role": "report"}]}).to_string();
        fs::write(stage.root.join("skill/assets/runner.json"), runner).expect("written");
        STORIES[*n](stage);
        stage.runs()
    });
    folders.into_iter().flatten().collect()
}
