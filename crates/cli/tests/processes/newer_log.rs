//! A Log with events of a newer version: shown without them, with a notice, and never written to.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use skillrun_log::LineHash;

/// A conversation at rest, whose Log ends with an event of a type that this version does not know.
fn newer() -> (lab::Lab, String, PathBuf) {
    let place = lab::Lab::new();
    let skill = place.path("talks");
    fs::create_dir(&skill).expect("a folder");
    fs::write(skill.join("SKILL.md"), "---\nname: talks\ndescription: Talks.\n---\nTalk.\n").expect("written");
    let script = "turns:\n- - say: The first answer.\n- - say: The second answer.\n";
    fs::create_dir(skill.join("assets")).expect("a folder");
    fs::write(skill.join("assets/scripted.yaml"), script).expect("written");
    let words = ["run", &skill.to_string_lossy(), "--engine", "scripted", "--mode", "conversation", "--json"];
    let output = place.output(&words);
    let listed: Value = serde_json::from_slice(&place.output(&["ls", "--json"]).stdout).expect("JSON");
    let run = listed["runs"][0]["run_id"].as_str().unwrap_or_else(|| panic!("{output:?}")).to_owned();
    let path = place.run_folder(&run).join("events.jsonl");
    let mut log = fs::read_to_string(&path).expect("a Log");
    let last = log.trim_end().rsplit('\n').next().expect("a line").to_owned();
    let mut event: Value = serde_json::from_str(&last).expect("an event");
    event["seq"] = json!(event["seq"].as_u64().expect("a number") + 1);
    event["event"]["type"] = json!("galaxy.formed");
    event["data"] = json!({ "stars": 3 });
    event["prev"] = json!(LineHash::of(last.as_bytes()).to_string());
    log += &format!("{event}\n");
    fs::write(&path, log).expect("written");
    (place, run, path)
}

#[test]
fn events_of_a_newer_version_are_skipped_with_a_notice() {
    let (place, run, _) = newer();
    let printed = |words: &[&str]| {
        let output = place.output(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let notice = "1 event of a newer version of skillrun";
    for words in [vec!["ls"], vec!["show", &run], vec!["logs", &run]] {
        let text = printed(&words).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(notice) && !text.contains("damaged"), "{words:?}: {text}");
    }
    assert!(printed(&["logs", &run]).contains("The first answer."));
    assert!(printed(&["logs", &run, "--rasp"]).contains("galaxy.formed"), "its exact line");
    assert!(printed(&["replay", &run]).contains("The first answer."));
    assert!(printed(&["diagnose", &run]).contains("a newer version of skillrun wrote part of the Log"));
    let listed: Value = serde_json::from_str(&printed(&["ls", "--json"])).expect("JSON");
    assert_eq!((&listed["runs"][0]["newer_events"], &listed["runs"][0]["status"]), (&json!(1), &json!("waiting_user")));
    // What a newer version made of the run cannot be compared, and nothing is called different.
    let verified = printed(&["verify", &run]);
    assert!(verified.contains("not comparable") && !verified.contains("different"), "{verified}");
}

#[test]
fn nothing_is_written_after_an_event_of_a_newer_version() {
    let (place, run, path) = newer();
    let before = fs::read(&path).expect("a Log");
    for words in [vec!["reply", &run, "again"], vec!["close", &run], vec!["cancel", &run], vec!["interrupt", &run]] {
        let output = place.output(&words);
        let trouble = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!output.status.success(), "{words:?}: {output:?}");
        assert!(trouble.contains("galaxy.formed at seq"), "{words:?}: {trouble}");
        assert!(!trouble.contains("damaged") && !trouble.contains("--cut"), "{words:?}: {trouble}");
    }
    assert!(place.output(&["recover"]).status.success());
    assert_eq!(fs::read(&path).expect("a Log"), before);
}
