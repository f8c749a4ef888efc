//! Files of a run that are no longer what the run made, and a result that is no longer what the Log gives.

use std::fs;

use lab::{Lab, Server};
use serde_json::json;

use super::refused;

const SCRIPT: &str = "- - write: {path: artifacts/page.html, content: inside}\n  \
                      - output: {answer: artifacts/page.html}\n    done: true\n";
const CANARY: &str = "nobody may read this";

fn with_run() -> (Lab, Server, String) {
    let (lab, server) = Lab::serving(&[("plain", SCRIPT)]);
    let run = server.done("plain", json!({}));
    (lab, server, run)
}

/// Files of a bundle, and the names in its manifest of those that changed.
fn bundled(server: &Server, run: &str) -> (String, String) {
    let answer = server.get(&format!("/v1/runs/{run}/bundle"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(answer.body)).expect("a zip");
    let mut read = |name: &str| {
        let mut text = String::new();
        if let Ok(mut entry) = archive.by_name(name) {
            std::io::Read::read_to_string(&mut entry, &mut text).expect("read");
        }
        text
    };
    (read("workspace/artifacts/page.html"), read("MANIFEST.json"))
}

#[test]
fn a_changed_artifact_is_not_served_beside_its_old_hash() {
    let (lab, server, run) = with_run();
    let page = lab.run_folder(&run).join("workspace/artifacts/page.html");
    let get = || server.get(&format!("/v1/runs/{run}/artifacts/artifacts/page.html"));
    assert_eq!(get().text(), "inside");
    assert_eq!(bundled(&server, &run).0, "inside");
    for text in ["insidE", "inside and more", ""] {
        fs::write(&page, text).expect("written");
        refused(&get(), 410, "ARTIFACT_CHANGED");
        let (packed, manifest) = bundled(&server, &run);
        assert_eq!(packed, "");
        assert!(manifest.contains("it has changed since the run made it"), "{manifest}");
        let told = lab.printed(&["result", &run]);
        assert!(told.contains("it has changed since the run made it"), "{told}");
    }
    fs::write(&page, "inside").expect("written");
    assert_eq!(get().text(), "inside");
    assert_eq!(bundled(&server, &run).0, "inside");
    server.is_well();
}

#[test]
fn a_hard_link_is_not_served() {
    let (lab, server, run) = with_run();
    let page = lab.run_folder(&run).join("workspace/artifacts/page.html");
    let canary = lab.path("canary.txt");
    fs::write(&canary, CANARY).expect("written");
    for source in [CANARY, "inside"] {
        fs::write(&canary, source).expect("written");
        fs::remove_file(&page).expect("removed");
        fs::hard_link(&canary, &page).expect("a link");
        let answer = server.get(&format!("/v1/runs/{run}/artifacts/artifacts/page.html"));
        refused(&answer, 410, "ARTIFACT_CHANGED");
        assert_eq!(bundled(&server, &run).0, "");
    }
    server.is_well();
}

#[test]
fn a_damaged_result_is_made_again() {
    let (lab, server, run) = with_run();
    let path = lab.run_folder(&run).join("result.json");
    let whole = fs::read(&path).expect("a result");
    let cut = &whole[..whole.len() / 2];
    for damaged in [cut, b"", b"{}", b"\xff\xfe"] {
        fs::write(&path, damaged).expect("written");
        let answer = server.get(&format!("/v1/runs/{run}/result"));
        assert_eq!((answer.status, answer.json()["status"].as_str()), (200, Some("succeeded")), "{}", answer.text());
        assert_eq!(fs::read(&path).expect("a result"), whole, "it is on the disk again");
        fs::write(&path, damaged).expect("written");
        assert_eq!(bundled(&server, &run).0, "inside");
        fs::write(&path, damaged).expect("written");
        lab.printed(&["result", &run, "--json"]);
        assert_eq!(fs::read(&path).expect("a result"), whole);
    }
    server.is_well();
}
