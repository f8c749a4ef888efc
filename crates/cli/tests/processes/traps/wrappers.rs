//! Programs in front of the real one, which take signals for themselves.

use std::os::unix::fs::symlink;

use lab::{environment, eventually, signal};

use crate::traps::lab::{Lab, plays};

#[test]
fn the_native_codex_is_started_and_not_its_wrapper() {
    let lab = Lab::new();
    let package = "lib/node_modules/@openai";
    let native = "codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
    lab.program(&format!("{package}/codex/bin/codex.js"), "exit 9");
    lab.program(&format!("{package}/{native}"), &plays("codex-tool-then-done", 1));
    symlink(lab.path(&format!("{package}/codex/bin/codex.js")), lab.path("bin/codex")).expect("a link");
    let run = lab.run("codex", &[]);
    run.ends_as("succeeded", "");
    assert!(run.argv(1)[0].ends_with(native), "{:?}", run.argv(1));
}

#[test]
fn a_killed_wrapper_of_codex_leaves_codex_and_its_tool() {
    let lab = Lab::new();
    let codex = "child [ session [ pid @tool.pid forever ] wait-file @tool.pid pid @child.pid forever ]";
    let run = lab.busy("codex", &format!("{codex} wait-file @child.pid"));
    signal(lab.pid("main.pid"), "KILL");
    run.ends_as("failed", "TIMEOUT");
    lab.nobody_is_left();
    assert_eq!(run.process().1.as_deref(), Some("SIGKILL"));
}

#[test]
fn codex_continues_when_its_wrapper_was_killed() {
    let lab = Lab::new();
    let codex = "child [ pid @child.pid wait-file @go out said\\n ]";
    let run = lab.busy("codex", &format!("{codex} wait-file @child.pid"));
    signal(lab.pid("main.pid"), "KILL");
    let main = lab.pid("main.pid");
    eventually("the end of the wrapper", || environment(main).iter().all(String::is_empty).then_some(()));
    lab.put("go", "");
    run.ends_as("failed", "ENGINE_FAILED");
    assert_eq!(run.stdout(), "said\n", "nothing of what it said is lost");
    lab.nobody_is_left();
}

/// The variable that keeps an engine from starting itself once more.
#[track_caller]
fn runs_without_relaunch(engine: &str, variable: &str) {
    let lab = Lab::new();
    lab.stand_in(engine, &lab.steps("report"));
    assert_eq!(lab.run(engine, &[]).report()["env"][variable], "true");
}

#[test]
fn gemini_runs_without_its_relaunching_parent() {
    runs_without_relaunch("gemini", "GEMINI_CLI_NO_RELAUNCH");
}

#[test]
fn qwen_runs_without_its_relaunching_parent() {
    runs_without_relaunch("qwen", "QWEN_CODE_NO_RELAUNCH");
}
