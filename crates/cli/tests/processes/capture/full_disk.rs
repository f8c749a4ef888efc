//! The disk is full, in mid-stream or from the beginning. A small file system in memory stands for it, mounted in
//! a namespace of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use lab::host::{self, HostLab, error, output, said, steps};
use serde_json::Value;
use skillrun_evidence::HostRecord;
use skillrun_model::{AttemptNumber, Code, EndedBy};

/// Runs a capture whose folder for the recording lies on a disk of its own. What is on it at the end is found in
/// [`HostLab::out`] afterwards. None, with the reason printed, where mounting is not allowed.
fn on_small_disk(lab: &HostLab, mount_options: &str, before: &str, capture: &Command) -> Option<Output> {
    // Mounting is tried first, so that a later failure is a failure of the test.
    host::in_own_mounts("true", &Command::new("true"))?;
    fs::create_dir_all(lab.out()).expect("a folder");
    let kept = lab.path("kept");
    let script = format!(
        "mount -t tmpfs -o {mount_options} none \"$OUT\" || exit 99\n{before}\n\"$@\"\ncode=$?\ncp -a \"$OUT/.\" \"$KEPT\"\nexit $code"
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script, "sh"]).arg(capture.get_program()).args(capture.get_args());
    command.env("OUT", lab.out()).env("KEPT", &kept).stdin(Stdio::null());
    let output = output(&mut command);
    fs::remove_dir(lab.out()).expect("the empty folder under the disk");
    fs::rename(&kept, lab.out()).expect("what was on the disk");
    Some(output)
}

/// Sees that the attempt ended because the disk was full, and that everything the record says is true.
fn check_record(lab: &HostLab, output: &Output) -> HostRecord {
    assert_eq!(output.status.code(), Some(125), "{:?}", said(output));
    let sentence = "the evidence could not be written (No space left on device (os error 28))";
    assert_eq!(error(output), sentence);
    let record = lab.record(1);
    assert_eq!(record.ended_by, Some(EndedBy::HostError));
    let told = record.error.as_ref().expect("an error");
    assert_eq!((told.code, told.message.as_str()), (Code::HostError, sentence));
    // Every byte that the record counts has a record in the index and is in its file.
    let mut reached = [0; 2];
    for (number, line) in lab.index(1).iter().enumerate() {
        assert_eq!(line["i"], number, "{line}");
        if let Some(to) = line["to"].as_u64() {
            let at = usize::from(line["stream"] == "stderr");
            assert_eq!(line["from"], reached[at], "{line}");
            reached[at] = to;
        }
    }
    assert_eq!(reached, [record.bytes.stdout, record.bytes.stderr]);
    for (name, hash) in &record.hashes {
        assert_eq!(*hash, blake3::hash(&lab.evidence(name)).to_hex().to_string(), "{name}");
    }
    let recorded = ["stdout.1.log", "stderr.1.log", "stdin.1.log", "chunks.1.jsonl", "redact.1.jsonl"];
    assert!(recorded.iter().all(|name| record.hashes.contains_key(*name)), "{:?}", record.hashes);
    let streams = host::read_back(&lab.out(), 1);
    assert_eq!([streams[0].len() as u64, streams[1].len() as u64], reached, "nothing is in a file without a record");
    for name in lab.left() {
        let is_of_no_use = [".tmp", ".pack", ".sock", "reserve.1"].iter().any(|end| name.ends_with(end));
        assert!(!is_of_no_use, "{name} is left");
    }
    assert_eq!(lab.meta(1)["ended_by"], "host_error", "the view was written too");
    assert!(lab.normalize(&["--engine", "codex"]).status.success());
    lab.assert_no_process_is_left();
    record
}

#[test]
fn a_disk_that_fills_up_in_mid_stream_keeps_what_was_recorded() {
    for wiring in ["pipes", "one_pty"] {
        let lab = HostLab::new();
        let capture = lab.capture(&["--wiring", wiring], &steps("ignore SIGTERM flood stdout 8M forever"));
        let Some(output) = on_small_disk(&lab, "size=1m", "", &capture) else { return };
        let record = check_record(&lab, &output);
        let kept = lab.evidence("stdout.1.log");
        assert!(kept == host::flood(kept.len()), "{wiring}: what was kept is not the beginning of what was written");
        assert!(kept.len() > 500_000, "{wiring}: {} bytes were kept", kept.len());
        assert!(output.stdout == kept, "{wiring}: what was shown is not what was kept");
        assert!(record.capture.discarded > 0, "{wiring}");
        assert_eq!(record.signal.as_deref(), Some("SIGKILL"), "{wiring}");
        let acts: Vec<_> = lab.index(1).into_iter().filter(|line| !line["act"].is_null()).collect();
        assert_eq!(acts.iter().map(|line| &line["act"]).collect::<Vec<_>>(), ["host_error"], "{wiring}");
    }
}

#[test]
fn it_does_not_matter_where_the_last_byte_falls() {
    // Logs, index and mask grow at different rates; each of them may be the one that does not fit.
    let secret = ["--env", "KEY=open-sesame-1", "--secret", "KEY", "--no-snapshot"];
    let words = r"repeat 60000 [ out key:\x20open-sesame-1\n err x\n ] forever";
    for kilobytes in [300, 308, 320, 332] {
        let lab = HostLab::new();
        let capture = lab.capture(&secret, &steps(words));
        let Some(output) = on_small_disk(&lab, &format!("size={kilobytes}k"), "", &capture) else { return };
        check_record(&lab, &output);
        let kept = host::text(&lab.evidence("stdout.1.log"));
        let whole = "key: open-sesame-1\n".repeat(kept.len() / 19 + 1);
        assert!(whole.starts_with(&kept), "{kilobytes}: what was kept is not what was written");
        let masked = "key: *************\n".repeat(kept.len() / 19 + 1);
        let read = host::text(&host::read_back(&lab.out(), 1)[0]);
        assert!(!read.contains("open-sesame"), "{kilobytes}: a secret is read");
        assert!(!host::text(&output.stdout).contains("open-sesame"), "{kilobytes}: a secret was shown");
        assert!(masked.starts_with(&read[..read.len().saturating_sub(19)]), "{kilobytes}: not masked as it should be");
    }
}

/// The space kept for the record was released while the engine was alive, and the engine used it.
#[test]
fn an_engine_cannot_use_the_space_kept_for_the_record() {
    let lab = HostLab::new();
    let script = "while :; do cat /dev/zero; done >> fill 2>/dev/null & yes";
    let mut capture = lab.placeless_capture();
    capture.arg("--workspace").arg(lab.out()).arg("--out").arg(lab.out()).args(["--", "sh", "-c", script]);
    let Some(output) = on_small_disk(&lab, "size=3m", "", &capture) else { return };
    let record = check_record(&lab, &output);
    assert!(record.survivors_total >= 1, "what it had started was ended");
}

#[test]
fn a_large_workspace_leaves_room_for_the_record() {
    let lab = HostLab::new();
    for number in 0..3_000 {
        lab.put(&format!("a file with a name that is not short {number}"), "");
    }
    let capture = lab.capture(&[], &steps("flood stdout 8M forever"));
    // The first listing takes most of a megabyte, and the second does not fit any more.
    let Some(output) = on_small_disk(&lab, "size=1500k", "", &capture) else { return };
    let record = check_record(&lab, &output);
    assert!(record.warnings.iter().any(|warning| warning.code == Code::SnapshotFailed), "{:?}", record.warnings);
    assert!(!lab.has("fs-after.1.json") && !lab.has("fs-diff.1.json"));
}

/// The listing after the attempt took the room that was kept for the record, when it was just of that size.
#[test]
fn a_listing_of_any_size_leaves_room_for_the_record() {
    let lab = HostLab::new();
    let name = "x".repeat(200);
    let (mut count, mut given_up) = (0, 0);
    for more in [590, 20, 10, 5, 5, 5, 15] {
        for _ in 0..more {
            count += 1;
            lab.put(&format!("{count} {name}"), "");
        }
        if lab.out().exists() {
            fs::remove_dir_all(lab.out()).expect("removed");
        }
        let capture = lab.capture(&[], &steps("flood stdout 4M forever"));
        let Some(output) = on_small_disk(&lab, "size=1500k", "", &capture) else { return };
        check_record(&lab, &output);
        given_up += usize::from(!lab.has("fs-after.1.json"));
    }
    assert!((1..7).contains(&given_up), "{given_up} of 7 listings were given up: the sizes are not at the edge");
}

/// What of an attempt is there: nothing, or a claim and a record.
fn check_all_or_nothing(lab: &HostLab, output: &Output, what: &str) {
    let code = output.status.code();
    assert!(code == Some(125) || code == Some(0), "{what}: {code:?} {:?}", said(output));
    let audit: &Path = &lab.audit();
    let has_record = HostRecord::read(audit, AttemptNumber(1)).expect("a record that can be read").is_some();
    let has_pack = audit.exists() && lab.left().iter().any(|name| name.ends_with(".pack"));
    assert!(!has_pack, "{what}: old texts are left");
    if code == Some(0) {
        assert!(has_record && said(output).iter().all(|line| line.contains("warning: SNAPSHOT_FAILED")), "{what}");
    } else {
        error(output);
        let left = if audit.exists() { lab.left() } else { vec![] };
        assert!(has_record || left.is_empty(), "{what}: {left:?}");
    }
    lab.assert_no_process_is_left();
}

#[test]
fn a_disk_full_from_the_start_is_reported_at_once() {
    let lab = HostLab::new();
    let capture = lab.capture(&[], &steps("file made.txt x"));
    let fill = "mkdir -m 700 \"$OUT/.audit\"; cat /dev/zero > \"$OUT/fill\" 2>/dev/null";
    let Some(output) = on_small_disk(&lab, "size=64k", fill, &capture) else { return };
    assert_eq!(output.status.code(), Some(125));
    assert!(error(&output).contains("No space left on device"), "{}", error(&output));
    assert_eq!(lab.left(), Vec::<String>::new(), "nothing was begun, and nothing is left of it");
    assert!(!lab.workspace().join("made.txt").exists());
}

/// One after the other, everything that a host makes is what does not fit any more.
#[test]
fn a_full_disk_is_reported_in_one_sentence() {
    for files in 2..22 {
        let lab = HostLab::new();
        let capture = lab.capture(&["--wiring", "split_pty"], &steps(r"out a\n tty b\n"));
        let Some(output) = on_small_disk(&lab, &format!("size=2m,nr_inodes={files}"), "", &capture) else { return };
        check_all_or_nothing(&lab, &output, &format!("{files} files"));
    }
    for pages in [1, 2, 8, 64, 65, 66, 67, 68, 70] {
        let lab = HostLab::new();
        lab.put("text.txt", "some text\n");
        let capture = lab.capture(&[], &steps(r"out a\n err b\n file text.txt other\n"));
        let Some(output) = on_small_disk(&lab, &format!("size={}k", pages * 4), "", &capture) else { return };
        check_all_or_nothing(&lab, &output, &format!("{pages} pages"));
    }
}

#[test]
fn what_comes_through_a_terminal_of_its_own_counts_as_well() {
    let lab = HostLab::new();
    let capture = lab.capture(&["--wiring", "split_pty"], &steps("flood tty 8M forever"));
    let Some(output) = on_small_disk(&lab, "size=1m", "", &capture) else { return };
    assert_eq!(output.status.code(), Some(125));
    let kept = lab.evidence("pty-output.1.log");
    assert!(kept == host::flood(kept.len()) && kept.len() as u64 == lab.record(1).bytes.pty, "not what was written");
    let meta: Value = lab.meta(1);
    assert_eq!(meta["error"]["code"], "HOST_ERROR");
}
