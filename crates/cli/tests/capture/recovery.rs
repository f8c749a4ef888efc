//! An attempt whose host is gone: what is believed, what is kept, what is said.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;
use skillrun_collect::{Attached, attach};
use skillrun_model::EndedBy;

use crate::lab::{self, FIRST, Lab, eventually, is_gone, kill};

/// A lab whose host was killed, and the claim it left.
fn lost(steps: &[&str]) -> (Lab, Value) {
    let lab = Lab::new();
    let owner = lab.start(&lab.plan(steps));
    lab.await_pid("main.pid");
    kill(owner.host_pid(), "KILL");
    eventually("the death of the host", || is_gone(owner.host_pid()).then_some(()));
    let claim = serde_json::from_slice(&lab.evidence("claim.1")).expect("JSON");
    (lab, claim)
}

fn survivors(lab: &Lab) -> usize {
    match attach(&lab.audit(), FIRST).expect("an answer") {
        Attached::Lost { survivors } => survivors.len(),
        other @ (Attached::NotBegun | Attached::Live(_) | Attached::Ended(_)) => panic!("{other:?}"),
    }
}

#[test]
fn whoever_attaches_later_hears_the_same() {
    let steps = ["daemon", "[", "silence", "pid", "daemon.pid", "forever", "]", "wait-file", "daemon.pid", "pid"];
    let (lab, _) = lost(&[&steps[..], &["main.pid", "forever"]].concat());
    let first = survivors(&lab);
    assert!(first >= 1);
    assert_eq!(survivors(&lab), first);
    let meta = lab.meta(1);
    assert_eq!(meta["survivors"].as_array().map(Vec::len), Some(first));
    assert_eq!(meta["survivors_total"], first);
    lab.assert_nobody_is_left();
}

#[test]
fn a_forged_claim_removes_no_folder() {
    let (lab, mut claim) = lost(&["pid", "main.pid", "forever"]);
    let temporary = claim["temporary"].as_str().expect("a path").to_owned();
    let precious = lab.path("precious");
    fs::create_dir(&precious).expect("a folder");
    fs::write(precious.join("file"), "x").expect("a file");
    // Another folder, and one of the right name that is a link.
    let name = temporary.rsplit('/').next().expect("a name");
    let link = lab.workspace().join(name);
    symlink(&precious, &link).expect("a link");
    for forged in [&precious, &link] {
        claim["temporary"] = forged.to_str().expect("UTF-8").into();
        fs::write(lab.audit().join("claim.1"), claim.to_string()).expect("written");
        survivors(&lab);
        assert!(precious.join("file").exists(), "{}", forged.display());
    }
    assert!(fs::exists(&temporary).expect("an answer"), "it was hidden by the forged ones");
    claim["temporary"] = temporary.clone().into();
    fs::write(lab.audit().join("claim.1"), claim.to_string()).expect("written");
    survivors(&lab);
    assert!(!fs::exists(&temporary).expect("an answer"));
}

#[test]
fn a_claim_that_cannot_be_read_is_a_host_that_is_gone() {
    for content in ["", "{\"run_id\":", "[]"] {
        let lab = Lab::new();
        lab.run(&[], &["out", "before\n"]);
        fs::remove_file(lab.audit().join("host.1.json")).expect("removed");
        fs::write(lab.audit().join("claim.1"), content).expect("written");
        assert_eq!(survivors(&lab), 0);
        assert_eq!(lab.meta(1)["ended_by"], "host_lost");
        assert_eq!(lab.run(&[], &["out", "next\n"]).status.code(), Some(0), "and nobody is kept from the next attempt");
    }
}

#[test]
fn a_host_killed_between_its_record_and_the_view_of_it_has_finished() {
    let lab = Lab::new();
    lab.run(&["--engine", "codex"], &["out", "hello\n", "exit", "3"]);
    let whole = lab.normalize(&[]);
    // What such a host leaves: the view from when the process started, or none.
    let mut meta = lab.meta(1);
    for field in ["exit_code", "signal", "ended_by", "ended_at"] {
        meta[field] = Value::Null;
    }
    fs::write(lab.audit().join("meta.1.json"), meta.to_string()).expect("written");
    assert_eq!(lab::text(&lab.normalize(&[]).stdout), lab::text(&whole.stdout));
    fs::remove_file(lab.audit().join("meta.1.json")).expect("removed");
    assert_eq!(lab::text(&lab.normalize(&[]).stdout), lab::text(&whole.stdout));
    match attach(&lab.audit(), FIRST).expect("an answer") {
        Attached::Ended(record) => assert_eq!((record.exit_code, record.ended_by), (Some(3), Some(EndedBy::Exited))),
        other @ (Attached::NotBegun | Attached::Live(_) | Attached::Lost { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn a_link_planted_in_the_folder_is_not_followed() {
    let lab = Lab::new();
    let victim = lab.path("victim");
    fs::write(&victim, "precious").expect("a file");
    // The workspace is the folder of the recording, so that the engine reaches it.
    let target = victim.to_str().expect("UTF-8");
    let mut command = std::process::Command::new(lab::SKILLRUN);
    command.arg("capture").arg("--workspace").arg(lab.workspace()).arg("--");
    command.args(lab::engine(&["link", ".audit/host.1.json", target, "link", ".audit/fs-after.1.json", target]));
    let output = lab::output(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", lab::text(&output.stderr));
    assert_eq!(fs::read_to_string(&victim).expect("the file"), "precious");
    let record = fs::symlink_metadata(lab.workspace().join(".audit/host.1.json")).expect("the record");
    assert!(record.file_type().is_file());
}
