//! What the author of a skill does before it is used: reads what agents will read, and has it looked at.

use std::fs;

use lab::Lab;
use serde_json::json;

use super::{DONE, zipped};

#[test]
fn the_patched_text_is_what_the_agent_of_a_run_reads() {
    let (lab, server) = Lab::serving(&[("done", DONE)]);
    for mode in ["auto", "interactive"] {
        let told = server.get(&format!("/v1/skills/done/patched?mode={mode}&engine=scripted"));
        assert_eq!(told.status, 200, "{}", told.text());
        let told = told.json();
        assert_eq!((&told["name"], &told["mode"]), (&json!("done"), &json!(mode)));
        let text = told["text"].as_str().expect("a text");
        let lines: Vec<&str> = text.lines().collect();
        let line = |number: &serde_json::Value| lines[number.as_u64().expect("a line") as usize - 1];
        assert_eq!(line(&told["added_from_line"]), "<!-- skillrun:begin -->");
        let layers = told["layers"].as_array().expect("layers");
        let names: Vec<&str> = layers.iter().map(|layer| layer["name"].as_str().expect("a name")).collect();
        assert_eq!(names, ["artifacts", mode, "completion"]);
        for layer in layers {
            assert!(line(&layer["from_line"]).starts_with("## "), "{layer}");
            assert_eq!(layer["origin"], "shipped");
        }
        assert!(told["prompt"].as_str().is_some_and(|prompt| prompt.contains("\"done\" at {{skill_path}}")), "{told}");

        let run = server.run("done", json!({ "mode": mode }));
        server.wait(&run);
        let read = fs::read_to_string(lab.run_folder(&run).join("workspace/.agents/skills/done/SKILL.md"));
        assert_eq!(read.expect("the copy"), text.replace("/RUN/", &format!("/{run}/")));
    }
    let preferred = server.get("/v1/skills/done/patched").json();
    assert_eq!(preferred["mode"], "auto");
}

#[test]
fn a_skill_that_cannot_be_patched_is_reported() {
    let lab = Lab::new();
    let skill = lab.installed_skill("alone", DONE);
    fs::write(skill.join("assets/runner.json"), r#"{"execution_modes": ["interactive"]}"#).expect("written");
    let server = lab.serve();
    assert_eq!(server.get("/v1/skills/alone/patched").json()["mode"], "interactive");
    for (path, status, code) in [
        ("alone/patched?mode=auto", 422, "CANNOT_RUN"),
        ("alone/patched?engine=lunch", 422, "CANNOT_RUN"),
        ("alone/patched?mode=sometimes", 400, "INVALID_REQUEST"),
        ("nobody/patched", 404, "SKILL_NOT_FOUND"),
        ("..%2Falone/patched", 404, "SKILL_NOT_FOUND"),
    ] {
        let answer = server.get(&format!("/v1/skills/{path}"));
        assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{path}: {}", answer.text());
    }
}

#[test]
fn a_skill_is_looked_at_and_not_kept() {
    let lab = Lab::new();
    let folder = lab.installed_skill("fresh", DONE);
    let good = zipped(&folder);
    fs::write(folder.join("assets/runner.json"), r#"{"version": "2", "max_attempt": 0}"#).expect("written");
    let bad = zipped(&folder);
    fs::remove_dir_all(folder).expect("only what is sent counts");
    // The path of the service must stay free for a skill of any name.
    lab.installed_skill("validate", DONE);
    let server = lab.serve();
    let before = server.get("/v1/skills").json();
    let check = |zip: &[u8]| server.send_form("/v1/validate", &[], &[("skill", Some("a.zip"), zip)]);

    let told = check(&good);
    assert_eq!(told.status, 200, "{}", told.text());
    let told = told.json();
    assert_eq!((&told["name"], &told["problem"], &told["findings"]), (&json!("fresh"), &json!(null), &json!([])));
    assert_eq!(
        (&told["modes"], &told["is_installed"]),
        (&json!(["auto", "interactive", "conversation"]), &json!(false))
    );
    assert_eq!(told["schemas"]["output"]["required"], json!(["answer"]));

    let told = check(&bad).json();
    assert_eq!(told["version"], "2");
    let problem = told["problem"].as_str().expect("a problem");
    assert!(problem.starts_with("assets/runner.json: cannot be run as it is: max_attempt"), "{problem}");
    let findings = told["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|finding| finding["severity"] == "error"), "{told}");
    let text = told.to_string();
    assert!(!text.contains(&lab.data().to_string_lossy().into_owned()), "its path is not shown: {text}");

    let broken = check(b"PK no zip");
    assert_eq!((broken.status, &broken.json()["code"]), (422, &json!("SKILL_INVALID")), "{}", broken.text());
    let none = server.send_form("/v1/validate", &[], &[]);
    assert_eq!((none.status, &none.json()["errors"][0]["field"]), (400, &json!("skill")), "{}", none.text());
    assert_eq!(server.get("/v1/skills").json(), before);
    let left = fs::read_dir(lab.data().join("uploads")).map(Iterator::count).unwrap_or_default();
    assert_eq!(left, 0, "nothing is kept");

    let installed = server.send_form("/v1/skills", &[], &[("skill", Some("a.zip"), &good)]);
    assert_eq!(installed.status, 201, "{}", installed.text());
    assert_eq!(check(&good).json()["is_installed"], true);
    assert_eq!(server.get("/v1/skills/validate").json()["name"], "validate");
}

#[test]
fn engines_say_how_to_install_them() {
    let lab = Lab::new();
    let server = lab.serve();
    let list = server.get("/v1/engines").json();
    let engines = list["engines"].as_array().expect("engines");
    let with_command = engines.iter().filter(|engine| engine["install"].is_string()).count();
    assert!(with_command >= 5, "{list}");
    for engine in engines.iter().filter(|engine| engine["install"].is_string()) {
        let ends = &engine["tested_versions"];
        assert!(ends.is_null() || ends.as_array().is_some_and(|ends| ends.len() == 2), "{engine}");
    }
    let tested = engines.iter().filter(|engine| engine["tested_versions"].is_array()).count();
    assert!(tested >= 5, "{list}");
    assert!(engines.iter().all(|engine| engine["login"]["found"].is_string()), "{list}");
}

/// The list said nothing of a schema that is none, and offered the skill to be started.
#[test]
fn the_list_reports_what_is_wrong_with_a_skill() {
    let lab = Lab::new();
    lab.installed_skill("good", DONE);
    let bad = lab.installed_skill("bad", DONE);
    fs::write(bad.join("assets/output.json"), r#"{"type": 5}"#).expect("written");
    let server = lab.serve();
    let list = server.get("/v1/skills").json();
    let problem = |name: &str| {
        let skills = list["skills"].as_array().expect("skills");
        skills.iter().find(|skill| skill["name"] == name).expect(name)["problem"].clone()
    };
    assert!(problem("good").is_null());
    assert!(problem("bad").as_str().is_some_and(|words| words.contains("output.json")), "{list}");
}
