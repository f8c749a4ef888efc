//! Engines that try again for minutes, mostly without a word.

use crate::traps::lab::Lab;
use crate::traps::tape::ENGINES;

/// The longest silence of an engine before it reported what was wrong.
const LONGEST: f64 = 94.0;

#[test]
fn a_silence_of_94_s_is_no_stall() {
    for engine in ENGINES {
        let lab = Lab::new();
        lab.stand_in(engine, "exit 1");
        let timeouts = lab.run(engine, &[]).request()["request"]["timeouts"].clone();
        let stall = timeouts["stall_sec"].as_f64().expect("a number");
        assert!(stall > 2.0 * LONGEST, "{engine}: {timeouts}");
    }
}

#[test]
fn a_silence_that_is_too_long_ends_everybody() {
    let lab = Lab::new();
    let tool = "session [ pid @tool.pid forever ] wait-file @tool.pid forever";
    lab.stand_in("opencode", &lab.steps(tool));
    let run = lab.run("opencode", &["--stall", "1"]);
    run.ends_as("failed", "TIMEOUT");
    assert_eq!(run.meta()["ended_by"], "stall");
    lab.nobody_is_left();
}

#[test]
fn gemini_tries_twice_and_not_ten_times() {
    let lab = Lab::new();
    lab.stand_in("gemini", "exit 1");
    let settings = lab.run("gemini", &[]).home(".gemini/settings.json");
    assert_eq!(settings["general"]["maxAttempts"], 2);
}

#[test]
fn qwen_tries_once_more_and_not_for_ten_minutes() {
    let lab = Lab::new();
    lab.stand_in("qwen", "exit 1");
    let settings = lab.run("qwen", &[]).home(".qwen/settings.json");
    assert_eq!(settings["model"]["generationConfig"]["maxRetries"], 1);
}

#[test]
fn claude_tries_twice_more_and_not_for_minutes() {
    let lab = Lab::new();
    lab.stand_in("claude", &lab.steps("report"));
    assert_eq!(lab.run("claude", &[]).report()["env"]["CLAUDE_CODE_MAX_RETRIES"], "2");
}
