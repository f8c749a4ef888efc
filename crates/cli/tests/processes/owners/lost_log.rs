//! A Log that was cut inside its first event: no event is left, and the run is not forgotten.

use std::fs;

use lab::{Lab, kind};

const SCRIPT: &str = "- - say: Here it is.\n  - output: {answer: done}\n    done: true\n";

fn with_run() -> (Lab, String) {
    let lab = Lab::new();
    let skill = lab.skill("plain", SCRIPT);
    lab.printed(&["run", &skill.display().to_string(), "--engine", "scripted"]);
    let run = lab.runs().pop().expect("a run");
    (lab, run)
}

#[test]
fn a_log_cut_in_its_first_event_is_damaged_until_recovery() {
    // With `--cut` nothing else happens.
    for words in [&["recover", "--json"][..], &["recover", "--json", "--cut", "RUN"]] {
        let (lab, run) = with_run();
        let folder = lab.run_folder(&run);
        let events = fs::read(folder.join("events.jsonl")).expect("a Log");
        fs::write(folder.join("events.jsonl"), &events[..40]).expect("cut");

        let listed = lab.json(&["ls", "--json"]);
        assert_eq!(listed["runs"][0]["run_id"], run.as_str(), "{listed}");
        assert!(listed["runs"][0]["damage"].as_str().is_some_and(|why| why.contains("first event")), "{listed}");
        let doctor = lab.output(&["doctor"]);
        let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
        assert!(!doctor.status.success() && said.contains("its first event is incomplete"), "{said}");
        assert!(!lab.output(&["verify", &run]).status.success());

        let words: Vec<&str> = words.iter().map(|word| if *word == "RUN" { run.as_str() } else { word }).collect();
        let recovered = lab.json(&words);
        assert_eq!(recovered["taken_up"][&run], "failed", "{recovered}");
        let left: Vec<String> = lab.events(&run).iter().map(|event| kind(event).to_owned()).collect();
        assert_eq!(left, ["run.started", "run.status", "run.failed"]);
        let result = lab.json(&["result", &run, "--json"]);
        assert_eq!((&result["status"], &result["error"]["code"]), (&"failed".into(), &"LOG_LOST".into()), "{result}");
        assert_eq!(fs::read(folder.join("events.torn.1")).expect("kept"), &events[..40]);
        assert!(folder.join(".audit/stdout.1.log").exists(), "the evidence stays");
        lab.printed(&["verify", &run]);
        let listed = lab.json(&["ls", "--json"]);
        assert_eq!(listed["runs"][0]["damage"], serde_json::Value::Null, "{listed}");
        assert!(!String::from_utf8_lossy(&lab.output(&["doctor"]).stdout).contains("damaged;"));
    }
}

/// The process that moved the rest of the first event aside died before another event was written.
#[test]
fn a_recovery_that_was_cut_short_is_done_again() {
    let (lab, run) = with_run();
    let folder = lab.run_folder(&run);
    fs::write(folder.join("events.torn.1"), "{\"what is left").expect("written");
    fs::write(folder.join("events.jsonl"), "").expect("cut");
    let listed = lab.json(&["ls", "--json"]);
    assert!(listed["runs"][0]["damage"].is_string(), "{listed}");
    let recovered = lab.json(&["recover", "--json"]);
    assert_eq!(recovered["taken_up"][&run], "failed", "{recovered}");
    assert!(lab.output(&["verify", &run]).status.success());
}
