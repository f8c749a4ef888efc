//! No path leads out of a run, however it is spelled, and no link.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use lab::{Lab, Server};
use serde_json::json;

use super::refused;

const SCRIPT: &str = "- - write: {path: artifacts/page.html, content: inside}\n  - write: {path: aside.txt, content: aside}\n  \
                      - output: {answer: artifacts/page.html}\n    done: true\n";
const CANARY: &str = "nobody may read this";

/// A server with a run that named one artifact, and a file outside that must not be readable.
fn with_run() -> (Lab, Server, String, PathBuf) {
    let (lab, server) = Lab::serving(&[("plain", SCRIPT)]);
    let run = server.done("plain", json!({}));
    let canary = lab.path("canary.txt");
    fs::write(&canary, CANARY).expect("written");
    (lab, server, run, canary)
}

fn ups() -> Vec<String> {
    let spelled = ".. %2e%2e %2E%2E .%2e %252e%252e ..%5c ..\\ %c0%ae%c0%ae %e0%80%ae%e0%80%ae ..%00 .%00. ..; .... \
        %uff0e%uff0e ．．";
    let slashes = ["/", "%2f", "%252f", "\\", "%5c", "%c0%af", "//", "/./"];
    let mut all = Vec::new();
    for up in spelled.split(' ') {
        for slash in slashes {
            all.push(format!("{up}{slash}"));
        }
    }
    all
}

#[test]
fn no_spelling_of_up_leads_out() {
    let (lab, server, run, _) = with_run();
    let data = lab.data();
    let before = server.belongings();
    let token = server.token().to_owned();
    let mut tried = 0;
    for up in ups() {
        for (base, count, target) in [
            (format!("/v1/runs/{run}/artifacts/"), 4, "canary.txt"),
            (format!("/v1/runs/{run}/artifacts/"), 1, "run.json"),
            (format!("/v1/runs/{run}/artifacts/artifacts/"), 1, "aside.txt"),
            (format!("/v1/runs/{run}/artifacts/artifacts/"), 4, "server.token"),
            ("/v1/skills/".to_owned(), 1, "server.token"),
            ("/v1/runs/".to_owned(), 1, "server.token"),
            (format!("/v1/runs/{run}/"), 1, "run.json"),
            ("/".to_owned(), 2, "canary.txt"),
        ] {
            let path = format!("{base}{}{target}", up.repeat(count));
            // What the server will not even read as a request is refused as well.
            let Ok(answer) = server.client.get(&path) else { continue };
            assert!(matches!(answer.status, 400 | 404 | 405), "{path}: {} {}", answer.status, answer.text());
            for secret in [CANARY, "aside", &token] {
                assert!(!answer.text().contains(secret), "{path}");
            }
            tried += 1;
        }
        let path = format!("/v1/skills/{up}runs");
        if let Ok(answer) = server.client.request("DELETE", &path, &[], b"") {
            assert!(matches!(answer.status, 400 | 404 | 405), "{path}: {}", answer.status);
        }
    }
    assert!(tried > 400, "{tried}");
    for path in
        ["%2fetc%2fpasswd", "/etc/passwd", "//etc/passwd", "file:///etc/passwd", "%00", "artifacts%2f..%2faside.txt"]
    {
        let answer = server.get(&format!("/v1/runs/{run}/artifacts/{path}"));
        refused(&answer, 404, "NOT_FOUND");
    }
    for name in [".", "%2e", "..", "%2e%2e", "%2e%2e%2fruns", "plain%2f..%2fplain", "%00", "*"] {
        let answer = server.client.request("DELETE", &format!("/v1/skills/{name}"), &[], b"").expect("an answer");
        refused(&answer, 404, "SKILL_NOT_FOUND");
    }
    assert!(data.join("runs").join(&run).join("run.json").is_file() && data.join("skills/plain/SKILL.md").is_file());
    assert_eq!(server.belongings(), before);
    server.is_well();
}

#[test]
fn only_what_the_run_has_named_is_an_artifact() {
    let (lab, server, run, _) = with_run();
    let of = |path: &str| server.get(&format!("/v1/runs/{run}/artifacts/{path}"));
    assert_eq!(of("artifacts/page.html").text(), "inside");
    assert!(lab.run_folder(&run).join("workspace/aside.txt").is_file());
    for path in
        ["aside.txt", "./artifacts/page.html", "artifacts", "artifacts/", "artifacts/page.html/", "ARTIFACTS/PAGE.HTML"]
    {
        refused(&of(path), 404, "NOT_FOUND");
    }
    for run in ["00000000-0000-7000-8000-000000000000", "..", "%2e%2e", "x", "%00"] {
        refused(&server.get(&format!("/v1/runs/{run}/artifacts/artifacts/page.html")), 404, "RUN_NOT_FOUND");
    }
    server.is_well();
}

/// The text of everything in a zip.
fn unzipped(bytes: Vec<u8>) -> String {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("a zip");
    let mut all = String::new();
    for index in 0..archive.len() {
        let mut bytes = Vec::new();
        std::io::copy(&mut archive.by_index(index).expect("an entry"), &mut bytes).expect("read");
        all += &String::from_utf8_lossy(&bytes);
    }
    all
}

#[test]
fn a_link_in_the_workspace_is_not_followed() {
    let (lab, server, run, canary) = with_run();
    let artifacts = lab.run_folder(&run).join("workspace/artifacts");
    let page = artifacts.join("page.html");
    let refuses = |what: &str| {
        let answer = server.get(&format!("/v1/runs/{run}/artifacts/artifacts/page.html"));
        let code = answer.json()["code"].clone();
        assert_eq!((answer.status, code), (404, json!("NOT_FOUND")), "{what}: {}", answer.text());
        for kind in ["bundle", "bundle?full=true"] {
            let answer = server.get(&format!("/v1/runs/{run}/{kind}"));
            assert!(answer.status != 200 || !unzipped(answer.body).contains(CANARY), "{what} {kind}");
        }
    };
    fs::remove_file(&page).expect("removed");
    symlink(&canary, &page).expect("a link");
    refuses("a link to a file");
    fs::remove_file(&page).expect("removed");
    symlink("../../../../../canary.txt", &page).expect("a link");
    refuses("a relative link");
    fs::remove_file(&page).expect("removed");
    fs::remove_dir(&artifacts).expect("removed");
    let outside = lab.path("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("page.html"), CANARY).expect("written");
    symlink(&outside, &artifacts).expect("a link");
    refuses("a link to a folder");
    fs::remove_file(&artifacts).expect("removed");
    fs::create_dir(&artifacts).expect("a folder");
    assert!(Command::new("mkfifo").arg(&page).status().expect("mkfifo").success());
    refuses("a pipe without a writer");
    fs::remove_file(&page).expect("removed");
    fs::create_dir(&page).expect("a folder");
    refuses("a folder");
    server.is_well();
}
