//! Whole runs with limits.

use std::fs;

use lab::{Lab, kind};
use serde_json::{Value, json};
use skillrun_confine::{ProbeScope, probe};

use super::has_python;

/// An engine that does what its prompt says.
const ENGINE: &str = r#"
name = "tool"
title = "A tool"
profile = "plain_text"
continuation = "none"

[executable]
path = PROGRAM

[start]
argv = ["{{prompt_flags}}"]

[prompt]
argument = ["{{prompt}}"]

[permission]
workspace = { posture = "not_enforced" }
read_only = { posture = "asked" }
full = { posture = "not_enforced" }

[environment]
set = { HOME = "{{home}}" }
"#;

fn place() -> Lab {
    let lab = Lab::new();
    lab.write_program("programs/tool", "#!/bin/sh\neval \"$1\"\necho done\n");
    lab.write("engines/tool.toml", &ENGINE.replace("PROGRAM", &format!("{:?}", lab.path("programs/tool"))));
    settings(&lab, "");
    lab
}

fn settings(lab: &Lab, more: &str) {
    lab.settings(&format!("engines = {:?}\nconsent = [\"tool\"]\n{more}", lab.path("engines")));
}

/// Runs the engine with these flags; its run.
fn ran(lab: &Lab, prompt: &str, flags: &[&str]) -> String {
    let before = lab.runs();
    let output = lab.output(&[&["ask", prompt, "--engine", "tool"], flags].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let run = lab.runs().into_iter().find(|run| !before.contains(run));
    run.unwrap_or_else(|| panic!("{flags:?}: {said}"))
}

fn data(lab: &Lab, run: &str, which: &str) -> Value {
    let events = lab.events(run);
    let event = events.iter().find(|event| kind(event) == which);
    event.unwrap_or_else(|| panic!("{which}: {events:#?}"))["data"].clone()
}

/// Without a box; bounded like all bombs.
const BOMBS: [(&str, &str, &[&str], &str); 4] = [
    (
        "MEMORY_LIMIT",
        "python3 -c 'import time; x = b\"x\" * (200 << 20); time.sleep(10)'",
        &["--memory", "64M"],
        "of 64 MiB allowed",
    ),
    ("PROCESS_LIMIT", "for i in $(seq 100); do sleep 10 & done; wait", &["--processes", "20"], "of 20 allowed"),
    ("CPU_LIMIT", "timeout 20 sh -c 'while :; do :; done'", &["--cpu", "1s"], "of 1 s allowed"),
    ("DISK_LIMIT", "head -c 60000000 /dev/zero > large; sleep 10", &["--disk", "16M"], "of 16 MiB allowed"),
];

#[test]
fn a_verdict_names_the_limit() {
    if !has_python() {
        return;
    }
    let lab = place();
    for (code, bomb, flags, words) in BOMBS {
        let run = ran(&lab, bomb, flags);
        let failed = data(&lab, &run, "run.failed");
        assert_eq!((&failed["reason_code"], &failed["error"]["code"]), (&json!(code), &json!(code)), "{failed:#}");
        let ended = data(&lab, &run, "attempt.ended");
        let verdict = &ended["verdict"];
        assert_eq!((&verdict["rule"], &verdict["turn"]), (&json!("5"), &json!("interrupted")), "{ended:#}");
        let by = code.to_lowercase();
        assert_eq!(ended["exit"]["ended_by"], json!(by), "{ended:#}");
        let record: Value = serde_json::from_str(
            &fs::read_to_string(lab.run_folder(&run).join(".audit/host.1.json")).expect("a record"),
        )
        .expect("JSON");
        assert!(record["limit"]["seen"].as_u64() >= record["limit"]["limit"].as_u64(), "{record:#}");
        let error = failed["error"]["message"].as_str().expect("words");
        let by_kernel = "allowed";
        assert!(error.contains(words) || error.contains(by_kernel), "{error}");
        assert!(lab.printed(&["show", &run]).contains(code), "{code}");
        assert!(lab.printed(&["explain", code]).contains("rule 5"), "{code}");
    }
}

#[test]
fn the_report_names_each_limit_in_every_view() {
    let lab = place();
    let run = ran(&lab, "true", &["--memory", "1G", "--processes", "100", "--cpu", "10min", "--disk", "2G"]);
    let started = data(&lab, &run, "attempt.started");
    let parts = started["box"]["parts"].as_array().expect("parts").clone();
    let names: Vec<_> = parts.iter().map(|part| part["part"].as_str().expect("a name")).collect();
    assert_eq!(names, ["memory", "process_count", "cpu", "disk"]);
    assert!(parts.iter().all(|part| part["state"] == "enforced"), "{parts:#?}");
    assert_eq!((&parts[2]["mechanism"], &parts[3]["mechanism"]), (&json!("watched"), &json!("watched")));
    let record = lab.run_json(&run, "run.json");
    assert_eq!((&record["format"], &record["box"]["parts"]), (&json!(7), &json!(parts)));
    let limits = json!({ "memory_bytes": 1 << 30, "processes": 100, "cpu_sec": 600, "disk_bytes": 2_u64 << 30 });
    assert_eq!(record["request"]["limits"], limits);
    assert_eq!(record["request"]["box"], Value::Null, "it has no box");
    let page = lab.printed(&["show", &run]);
    assert!(page.contains("disk enforced, watched by the host"), "{page}");
    let doctor = lab.output(&["doctor"]);
    let doctor = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(doctor.contains("cpu enforced, watched by the host"), "{doctor}");
}

#[test]
fn a_run_without_limits_has_none() {
    let lab = place();
    let run = ran(&lab, "true", &[]);
    assert_eq!(data(&lab, &run, "attempt.started")["box"], Value::Null);
    assert_eq!(lab.run_json(&run, "run.json")["request"]["limits"], Value::Null);
    assert!(lab.run_json(&run, "run.json")["format"].as_u64() < Some(6));
}

#[test]
fn a_box_has_limits_by_default() {
    if probe(ProbeScope::WithoutNetwork).namespaces.is_err() && probe(ProbeScope::WithoutNetwork).landlock < Some(3) {
        eprintln!("skipped: {:?}", probe(ProbeScope::WithoutNetwork));
        return;
    }
    let lab = place();
    let run = ran(&lab, "true", &["--box", "on", "--disk", "3G"]);
    let limits = json!({ "memory_bytes": 8_u64 << 30, "processes": 1024, "disk_bytes": 3_u64 << 30 });
    assert_eq!(lab.run_json(&run, "run.json")["request"]["limits"], limits);
    lab.output(&["retry", &run, "--memory", "3G"]);
    let again = lab.runs().into_iter().find(|one| *one != run).expect("a second run");
    let limits = json!({ "memory_bytes": 3_u64 << 30, "processes": 1024, "disk_bytes": 3_u64 << 30 });
    assert_eq!(lab.run_json(&again, "run.json")["request"]["limits"], limits, "a retry has them, too");
}

#[test]
fn settings_limit_runs_that_say_nothing() {
    let lab = place();
    settings(&lab, "[limits]\nmemory = \"1G\"\nprocesses = 50\ncpu_sec = 7\ndisk = 1000000\n");
    let run = ran(&lab, "true", &["--processes", "60"]);
    let limits = json!({ "memory_bytes": 1 << 30, "processes": 60, "cpu_sec": 7, "disk_bytes": 1_000_000 });
    assert_eq!(lab.run_json(&run, "run.json")["request"]["limits"], limits);
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let lab = place();
    let rows: [(&[&str], &str); 8] = [
        (&["--memory", "0"], "not a size above 0 such as 512M or 2G"),
        (&["--memory", "much"], "not a size above 0 such as 512M or 2G"),
        (&["--disk", "1.5G"], "not a size above 0 such as 512M or 2G"),
        (&["--disk", "0G"], "not a size above 0 such as 512M or 2G"),
        (&["--processes", "0"], "not a whole number from 1"),
        (&["--cpu", "0s"], "not a time above 0 such as 30s, 10min or 2h"),
        (&["--cpu", "10"], "not a time above 0 such as 30s, 10min or 2h"),
        (&["--memory", "9000T"], "a whole number from 1 to 9007199254740991"),
    ];
    for (flags, sentence) in rows {
        let output = lab.output(&[&["ask", "hello", "--engine", "tool"], flags].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {error}");
        assert!(error.contains(sentence), "{flags:?}: {error}");
    }
    assert_eq!(lab.runs(), Vec::<String>::new());
}

/// A check has the limits of its run.
#[test]
fn a_check_is_ended_at_the_limit_of_its_run() {
    let lab = place();
    let run = ran(&lab, "true", &["--processes", "20", "--check", "for i in $(seq 100); do sleep 10 & done; wait"]);
    let ended = data(&lab, &run, "check.ended");
    assert_eq!(ended["status"], "failed", "{ended:#}");
    assert!(ended["message"].to_string().contains("of 20 allowed") || ended.to_string().contains("20"), "{ended:#}");
}
