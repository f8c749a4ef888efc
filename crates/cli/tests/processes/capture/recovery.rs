//! An attempt whose host is gone: what is believed, what is kept, what is said.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

use lab::host::{self, FIRST, HostLab};
use lab::{is_gone, signal, wait_until};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde_json::Value;
use skillrun_collect::plan::SnapshotPlan;
use skillrun_collect::{CollectError, HostPlan, HostResponse, attach_within, end_host, host_is_alive, host_responds};
use skillrun_model::EndedBy;

use crate::SKILLRUN;

/// A lab whose host was killed, and the claim it left.
fn lost(words: &str) -> (HostLab, Value) {
    let (lab, owner) = host::started(&host::steps(words));
    lab.await_pid("main.pid");
    host::kill_host(&owner);
    let claim = lab.json("claim.1");
    (lab, claim)
}

#[test]
fn a_later_owner_receives_the_same() {
    let (lab, _) = lost("daemon [ silence pid daemon.pid forever ] wait-file daemon.pid pid main.pid forever");
    let first = lab.attach_lost(FIRST);
    assert!(first >= 1);
    assert_eq!(lab.attach_lost(FIRST), first);
    let meta = lab.meta(1);
    assert_eq!(meta["survivors"].as_array().map(Vec::len), Some(first));
    assert_eq!(meta["survivors_total"], first);
}

#[test]
fn a_forged_claim_removes_no_folder() {
    let (lab, mut claim) = lost("pid main.pid forever");
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
        lab.attach_lost(FIRST);
        assert!(precious.join("file").exists(), "{}", forged.display());
    }
    assert!(fs::exists(&temporary).expect("an answer"), "it was hidden by the forged ones");
    claim["temporary"] = temporary.clone().into();
    fs::write(lab.audit().join("claim.1"), claim.to_string()).expect("written");
    lab.attach_lost(FIRST);
    assert!(!fs::exists(&temporary).expect("an answer"));
}

#[test]
fn a_claim_that_cannot_be_read_is_a_host_that_is_gone() {
    for content in ["", "{\"run_id\":", "[]"] {
        let lab = HostLab::new();
        lab.run(&[], &["out", "before\n"]);
        fs::remove_file(lab.audit().join("host.1.json")).expect("removed");
        fs::write(lab.audit().join("claim.1"), content).expect("written");
        assert_eq!(lab.attach_lost(FIRST), 0);
        assert_eq!(lab.meta(1)["ended_by"], "host_lost");
        assert_eq!(lab.run(&[], &["out", "next\n"]).status.code(), Some(0), "and the next attempt is not blocked");
    }
}

#[test]
fn a_host_killed_after_its_record_has_finished() {
    let lab = HostLab::new();
    lab.run(&["--engine", "codex"], &["out", "hello\n", "exit", "3"]);
    let whole = lab.normalize(&[]);
    // What such a host leaves: the view from when the process started, or none.
    let mut meta = lab.meta(1);
    for field in ["exit_code", "signal", "ended_by", "ended_at"] {
        meta[field] = Value::Null;
    }
    fs::write(lab.audit().join("meta.1.json"), meta.to_string()).expect("written");
    assert_eq!(host::text(&lab.normalize(&[]).stdout), host::text(&whole.stdout));
    fs::remove_file(lab.audit().join("meta.1.json")).expect("removed");
    assert_eq!(host::text(&lab.normalize(&[]).stdout), host::text(&whole.stdout));
    let record = lab.attach_ended(FIRST);
    assert_eq!((record.exit_code, record.ended_by), (Some(3), Some(EndedBy::Exited)));
}

#[test]
fn a_link_planted_in_the_folder_is_not_followed() {
    let lab = HostLab::new();
    let victim = lab.path("victim");
    fs::write(&victim, "precious").expect("a file");
    // The workspace is the folder of the recording, so that the engine reaches it.
    let target = victim.to_str().expect("UTF-8");
    let mut command = std::process::Command::new(SKILLRUN);
    command.arg("capture").arg("--workspace").arg(lab.workspace()).arg("--");
    command.args(host::engine(&["link", ".audit/host.1.json", target, "link", ".audit/fs-after.1.json", target]));
    let output = host::output(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", host::text(&output.stderr));
    assert_eq!(fs::read_to_string(&victim).expect("the file"), "precious");
    let record = fs::symlink_metadata(lab.workspace().join(".audit/host.1.json")).expect("the record");
    assert!(record.file_type().is_file());
}

/// Regression: unmasked texts of the workspace, drafts and folders for temporary files stayed forever (found by
/// killing hosts).
#[test]
fn what_a_killed_host_would_have_removed_is_removed() {
    let lab = HostLab::new();
    lab.put("text.txt", "some text\n");
    let snapshot = SnapshotPlan::On { ignore: Vec::new() };
    let owner = lab.start(&HostPlan { snapshot, ..lab.plan(&["pid", "main.pid", "forever"]) });
    lab.await_pid("main.pid");
    host::kill_host(&owner);
    assert!(lab.has("blobs/text.1.pack"));
    let drafts = ["fs-after.1.json.tmp".to_owned(), format!("host.1.json.{}.tmp", owner.host_pid())];
    // Another process writes that one at this moment.
    let others = ["meta.1.json.1.tmp", "fs-after.10.json.tmp"];
    for name in drafts.iter().map(String::as_str).chain(others) {
        fs::write(lab.audit().join(name), "x").expect("written");
    }
    assert_eq!(lab.attach_lost(FIRST), 0);
    let left = lab.left();
    assert!(!left.iter().any(|name| drafts.contains(name) || name.ends_with(".pack")), "{left:?}");
    assert!(others.iter().all(|name| left.iter().any(|left| left == name)), "{left:?}");
}

#[test]
fn a_host_killed_after_its_record_leaves_no_temporary_folder() {
    let lab = HostLab::new();
    lab.run(&[], &["out", "hello\n"]);
    let claim: Value = lab.json("claim.1");
    let temporary = claim["temporary"].as_str().expect("a path");
    // The host has written its record and may still be exiting; what a living host has is left to it.
    wait_until("the host has exited", || matches!(host_is_alive(&lab.audit()), Ok(false)));
    fs::create_dir(temporary).expect("as if it had not come to that");
    lab.attach_ended(FIRST);
    assert!(!fs::exists(temporary).expect("an answer"));
}

/// Connections to a stopped host wait in a queue of bounded length, and the next one would wait
/// forever to enter it.
#[test]
fn no_command_waits_for_a_stopped_host() {
    let (lab, owner) = host::started(&["pid", "main.pid", "forever"]);
    lab.await_pid("main.pid");
    assert_eq!(host_responds(&lab.audit()), HostResponse::Yes, "whichever owner is attached");
    signal(owner.host_pid(), "STOP");
    let place = fs::File::open(lab.audit()).expect("a folder");
    let door = format!("/proc/self/fd/{}/host.sock", std::os::fd::AsRawFd::as_raw_fd(&place));
    let door = SocketAddrUnix::new(door.as_str()).expect("an address");
    let comes = || {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).expect("a socket");
        connect(&socket, &door)
    };
    // Who leaves keeps its place in the line.
    assert!((0..1_000_000).any(|_| comes().is_err()), "the line has no end");
    assert_eq!(host_responds(&lab.audit()), HostResponse::No);
    let begin = Instant::now();
    let silent = attach_within(&lab.audit(), FIRST, Duration::from_millis(50));
    assert!(matches!(silent, Err(CollectError::Silent(_))), "{silent:?}");
    assert!(begin.elapsed() < Duration::from_secs(20), "it took {:?}", begin.elapsed());
    end_host(&lab.audit(), FIRST).expect("ended");
    assert!(is_gone(owner.host_pid()));
    lab.assert_no_process_is_left();
    assert_eq!(lab.attach_lost(FIRST), 0);
    end_host(&lab.audit(), FIRST).expect("there is no host");
}

#[test]
fn a_forged_claim_ends_no_process() {
    let (lab, mut claim) = lost("pid main.pid forever");
    let mut precious = Command::new("sleep").arg("60").spawn().expect("a process");
    let stat = fs::read_to_string(format!("/proc/{}/stat", precious.id())).expect("a process");
    let field = stat.rsplit(')').next().and_then(|fields| fields.split_whitespace().nth(19));
    let began: u64 = field.expect("a field").parse().expect("a number");
    claim["host_pid"] = precious.id().into();
    claim["host_began"] = began.into();
    fs::write(lab.audit().join("claim.1"), claim.to_string()).expect("written");
    let refused = end_host(&lab.audit(), FIRST);
    let is_alive = precious.try_wait().expect("an answer").is_none();
    precious.kill().and_then(|()| precious.wait()).expect("ended");
    assert!(matches!(refused, Err(CollectError::Refused(_))), "{refused:?}");
    assert!(is_alive);
    lab.wait_quiet();
}
