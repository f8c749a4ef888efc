//! What goes wrong: one clear sentence, a truthful record, and nothing hangs or is lost.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab::host::{self, HostLab, error, output, said, spawn, spawn_piped, steps};
use lab::{is_gone, wait_until};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use skillrun_evidence::HostRecord;
use skillrun_model::{AttemptNumber, Code, EndedBy};

use crate::SKILLRUN;

/// What `normalize` says about the end.
fn reason(lab: &HostLab) -> String {
    let output = lab.normalize(&["--engine", "codex"]);
    assert!(output.status.success(), "{}", host::text(&output.stderr));
    let line = output.stdout.split(|byte| *byte == b'\n').next().expect("a line");
    let summary: Value = serde_json::from_slice(line).expect("JSON");
    summary["completion"]["reason_code"].as_str().expect("a reason").to_owned()
}

fn make_executable(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn a_command_that_cannot_be_run_gives_the_codes_of_a_shell() {
    let lab = HostLab::new();
    lab.put("text", "not a program");
    make_executable(&lab.workspace().join("script"), "#!/no/such/interpreter\n");
    fs::create_dir(lab.workspace().join("folder")).expect("a folder");
    let cases = [
        ("no-such-command", 127, "no-such-command: not found in PATH"),
        ("", 127, "\"\": not found in PATH"),
        ("./nowhere", 127, "./nowhere: there is no such file"),
        ("./text", 126, "./text: not executable"),
        ("./folder", 126, "./folder: not executable"),
        ("./script", 126, "./script: its interpreter was not found"),
        ("./text/x", 126, "./text/x: cannot be run (Not a directory (os error 20))"),
    ];
    for (number, (command, code, sentence)) in cases.into_iter().enumerate() {
        let number = number as u32 + 1;
        let output = output(lab.bare_capture(&["--engine", "codex"]).arg(command));
        assert_eq!((output.status.code(), error(&output)), (Some(code), sentence.to_owned()));
        assert_eq!(said(&output).len(), 1, "{command}: {:?}", said(&output));
        let record = lab.record(number);
        assert_eq!((record.ended_by, record.exit_code), (Some(EndedBy::NotStarted), Some(code)), "{command}");
        let told = record.error.expect("an error");
        let expected = if code == 127 { Code::EngineNotFound } else { Code::EngineNotStarted };
        assert_eq!((told.code, told.message.as_str()), (expected, sentence));
        // The five files of the recording, the claim, and what was seen of the workspace.
        assert_eq!((record.pid, record.hashes.len()), (None, 9), "{command}");
        let eofs: Vec<_> = lab.index(number).iter().map(|record| record["eof"].clone()).collect();
        assert_eq!(eofs, ["stdout", "stderr"], "{command}");
        let verdict = lab.normalize(&["--attempt", &number.to_string()]);
        assert!(host::text(&verdict.stdout).contains(&format!("\"reason_code\":\"{expected}\"")), "{command}");
    }
}

#[test]
fn a_command_is_found_where_the_engine_will_be() {
    let lab = HostLab::new();
    make_executable(&lab.workspace().join("tool"), "#!/bin/sh\necho from the workspace\n");
    let of = |command: &mut Command| (output(command).status.code(), host::text(&output(command).stdout));
    let found = (Some(0), "from the workspace\n".to_owned());
    assert_eq!(of(lab.bare_capture(&[]).arg("./tool")), found);
    // A part of PATH may be relative; it counts from the workspace as well.
    assert_eq!(of(lab.bare_capture(&["--env", "PATH=.:/usr/bin:/bin"]).arg("tool")), found);
    assert_eq!(of(lab.bare_capture(&[]).arg("tool")).0, Some(127));
    // Without a first line that names another program it is for the shell, as everywhere.
    make_executable(&lab.workspace().join("plain"), "echo from the workspace\n");
    assert_eq!(of(lab.bare_capture(&[]).arg("./plain")), found);
}

/// `capture` in the workspace of the lab, without a place for the recording and a command.
fn capture_anywhere(lab: &HostLab) -> Command {
    let mut command = lab.placeless_capture();
    command.arg("--workspace").arg(lab.workspace());
    command
}

#[test]
fn a_missing_workspace_is_reported_and_recorded() {
    for make in [|_: &Path| {}, |path: &Path| fs::write(path, "a file").expect("a file")] {
        let lab = HostLab::new();
        fs::remove_dir(lab.workspace()).expect("removed");
        make(&lab.workspace());
        let sentence = format!("the workspace {} is not a folder", lab.workspace().display());
        let without = output(capture_anywhere(&lab).args(["--", "true"]));
        assert_eq!((without.status.code(), error(&without)), (Some(125), sentence.clone()));
        assert!(!lab.workspace().join(".audit").exists(), "nothing was made");
        let with = lab.run(&[], &["report"]);
        assert_eq!((with.status.code(), error(&with)), (Some(125), sentence.clone()));
        let record = lab.record(1);
        let told = record.error.expect("an error");
        assert_eq!((record.ended_by, told.code, told.message), (Some(EndedBy::NotStarted), Code::HostError, sentence));
        assert_eq!((record.exit_code, record.signal), (None, None));
        assert!(lab.normalize(&["--engine", "codex"]).status.success());
    }
}

#[test]
fn an_unwritable_workspace_is_reported() {
    let lab = HostLab::new();
    let Some(user) = lab.other_user() else { return };
    fs::set_permissions(lab.workspace(), fs::Permissions::from_mode(0o555)).expect("read-only");
    let with = output(lab.capture(&[], &["report"]).uid(user).gid(user));
    assert_eq!(with.status.code(), Some(125));
    let sentence =
        format!("the workspace {} cannot be written to (Permission denied (os error 13))", lab.workspace().display());
    assert_eq!(error(&with), sentence);
    assert_eq!(lab.record(1).error.expect("an error").message, sentence);
    let without = output(capture_anywhere(&lab).args(["--", "true"]).uid(user).gid(user));
    assert_eq!(without.status.code(), Some(125));
    let sentence = ".audit: failed to create the folder (Permission denied (os error 13))";
    assert!(error(&without).ends_with(sentence), "{}", error(&without));
}

#[test]
fn a_read_only_workspace_is_reported_to_root_too() {
    let lab = HostLab::new();
    let script = format!("mount -t tmpfs -o ro none '{}' || exit 99", lab.workspace().display());
    let Some(output) = host::in_own_mounts(&script, &lab.capture(&[], &["report"])) else { return };
    assert_eq!(output.status.code(), Some(125));
    let place = lab.workspace();
    let sentence = "cannot be written to (Read-only file system (os error 30))";
    assert_eq!(error(&output), format!("the workspace {} {sentence}", place.display()));
    assert_eq!(lab.record(1).ended_by, Some(EndedBy::NotStarted));
}

#[test]
fn an_unreadable_input_is_reported_at_once() {
    let lab = HostLab::new();
    fs::create_dir(lab.path("folder")).expect("a folder");
    mknodat(CWD, lab.path("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let cases = [
        ("nowhere", "No such file or directory (os error 2)"),
        ("folder", "is not an ordinary file"),
        ("pipe", "is not an ordinary file"),
    ];
    for (number, (name, why)) in cases.into_iter().enumerate() {
        let path = lab.path(name).into_os_string().into_string().expect("UTF-8");
        let output = lab.run(&["--stdin", &path], &steps("file made.txt x"));
        assert_eq!(output.status.code(), Some(125), "{name}");
        assert_eq!(error(&output), format!("{path}: cannot be read as input ({why})"));
        let record = lab.record(number as u32 + 1);
        assert_eq!((record.ended_by, record.exit_code), (Some(EndedBy::NotStarted), None), "{name}");
    }
    assert!(!lab.workspace().join("made.txt").exists());
}

#[test]
fn a_rule_that_is_no_pattern_is_refused() {
    let lab = HostLab::new();
    for rule in ["a{b", "[z-a]", "two\nlines"] {
        let output = lab.run(&["--ignore", "*.log", "--ignore", rule], &["report"]);
        assert_eq!(output.status.code(), Some(125), "{rule}");
        let shown = rule.replace('\n', "\\n");
        assert!(error(&output).starts_with(&format!("not a pattern: {shown} (")), "{}", error(&output));
        assert_eq!(lab.left(), Vec::<String>::new(), "nothing was begun");
    }
}

#[test]
fn the_budget_is_kept_to_the_byte_over_both_streams() {
    // Only a part of the last write fits, and the engine would continue forever.
    let words = "flood stdout 600 flood stderr 300 ignore SIGTERM ignore SIGINT flood stdout 500 forever";
    let (lab, output) = host::captured(&["--max-bytes", "1000", "--engine", "codex"], &steps(words));
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(error(&output), "the command wrote more than --max-bytes and was terminated");
    let record = lab.record(1);
    assert_eq!(record.ended_by, Some(EndedBy::Budget));
    assert_eq!((record.bytes.stdout + record.bytes.stderr, record.capture.discarded), (1000, 400));
    let (out, err) = (lab.evidence("stdout.1.log"), lab.evidence("stderr.1.log"));
    assert_eq!(out.len() + err.len(), 1000);
    assert!(host::flood(300).starts_with(&err), "stderr is not the beginning of what was written");
    let expected = [host::flood(600), host::flood(500)].concat();
    assert!(expected.starts_with(&out), "stdout is not the beginning of what was written");
    assert_eq!(lab.index(1).iter().filter(|record| record["act"] == "budget").count(), 1);
    assert_eq!((record.signal.as_deref(), record.exit_code), (Some("SIGKILL"), None));
    assert!(output.stdout == out, "what was kept was shown");
}

#[test]
fn a_budget_that_is_just_enough_ends_nothing() {
    let (lab, output) = host::captured(&["--max-bytes", "1000"], &steps("flood stdout 600 flood stderr 400 exit 3"));
    assert_eq!((output.status.code(), lab.record(1).ended_by), (Some(3), Some(EndedBy::Exited)));
    let output = lab.run(&["--max-bytes", "0"], &steps("exit 4"));
    assert_eq!((output.status.code(), lab.record(2).capture.discarded), (Some(4), 0));
    let output = lab.run(&["--max-bytes", "0"], &steps("out x forever"));
    assert_eq!((output.status.code(), lab.record(3).ended_by), (Some(125), Some(EndedBy::Budget)));
}

#[test]
fn a_flood_is_stopped_with_everybody_who_takes_part_in_it() {
    for wiring in ["pipes", "split_pty", "one_pty"] {
        let lab = HostLab::new();
        let words = "daemon [ ignore SIGTERM pid one.pid wait-file go flood stdout 1G forever ] wait-file one.pid
            session [ ignore SIGHUP pid two.pid wait-file go flood stderr 1G forever ] wait-file two.pid
            out start pid main.pid wait-file go flood stdout 1G forever";
        let child = spawn_piped(&mut lab.capture(&["--max-bytes", "300000", "--wiring", wiring], &steps(words)));
        lab.await_pid("main.pid");
        lab.put("go", "");
        let output = child.wait_with_output().expect("its output");
        assert_eq!((output.status.code(), said(&output).len()), (Some(125), 2), "{wiring}: {:?}", said(&output));
        let record = lab.record(1);
        assert_eq!(record.ended_by, Some(EndedBy::Budget), "{wiring}");
        assert_eq!(record.bytes.stdout + record.bytes.stderr, 300_000, "{wiring}");
        assert_eq!((record.warnings[0].code, record.survivors_total), (Code::SurvivorsEnded, 2), "{wiring}");
        host::read_back(&lab.out(), 1);
    }
}

#[test]
fn an_answer_that_the_budget_cut_is_judged_as_that() {
    let recorded = testkit::paths::workspace().join("testkit/corpus/codex-tool-then-done/.audit/stdout.1.log");
    let stream = fs::read(recorded).expect("a recording");
    let end = stream.windows(14).position(|window| window == b"turn.completed").expect("the end event");
    let lines = stream[..end].iter().rposition(|byte| *byte == b'\n').expect("a line") + 1;
    let words = format!("out {} flood stdout 1M", host::escaped(&stream[..lines]));
    let (lab, output) =
        host::captured(&["--max-bytes", &(lines + 100).to_string(), "--engine", "codex"], &steps(&words));
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(reason(&lab), "EVIDENCE_BUDGET");
}

#[test]
fn an_impossible_recording_folder_is_reported() {
    let lab = HostLab::new();
    fs::write(lab.path("file"), "in the way").expect("a file");
    let beneath = lab.path("file/below");
    fs::create_dir(lab.path("taken")).expect("a folder");
    fs::write(lab.path("taken/.audit"), "in the way").expect("a file");
    for out in [lab.path("file"), beneath, lab.path("taken"), PathBuf::from("/proc/1/nowhere")] {
        let output = output(capture_anywhere(&lab).arg("--out").arg(&out).args(["--", "true"]));
        assert_eq!(output.status.code(), Some(125), "{}", out.display());
        let sentence = format!("{}: failed to create the folder (", out.join(".audit").display());
        assert!(error(&output).starts_with(&sentence), "{}", error(&output));
        assert_eq!(host::text(&output.stdout), "");
    }
}

/// Everything in `.audit`, name by name.
fn content(lab: &HostLab) -> Vec<(String, Vec<u8>)> {
    let files = lab.left().into_iter().filter(|name| !name.ends_with('/'));
    files.map(|name| (name.clone(), lab.evidence(&name))).collect()
}

#[test]
fn an_attempt_is_begun_once() {
    let lab = HostLab::new();
    assert_eq!(lab.run(&["--attempt", "3"], &steps(r"out first\n")).status.code(), Some(0));
    let before = content(&lab);
    let output = lab.run(&["--attempt", "3"], &steps(r"out second\n file made.txt x"));
    assert_eq!((output.status.code(), error(&output)), (Some(125), "attempt 3 was already begun here".to_owned()));
    assert!(content(&lab) == before, "the first one was touched");
    assert!(!lab.workspace().join("made.txt").exists());
    assert_eq!(lab.run(&[], &steps(r"out third\n")).status.code(), Some(0));
    assert_eq!(lab.evidence("stdout.4.log"), b"third\n", "without a wish it is the next one");
    assert_eq!(lab.run(&["--attempt", "4294967295"], &["report"]).status.code(), Some(0));
    let output = lab.run(&[], &["report"]);
    assert_eq!(
        (output.status.code(), error(&output).as_str()),
        (Some(125), "attempt 4294967295 was already begun here")
    );
}

/// The facts of a recording that was made by hand were written over, because it had no claim.
#[test]
fn a_recording_without_a_claim_is_not_written_over() {
    let lab = HostLab::new();
    fs::create_dir_all(lab.audit()).expect("a folder");
    let recorded = testkit::paths::workspace().join("testkit/corpus/codex-tool-then-done/.audit");
    for name in ["stdout.1.log", "stderr.1.log", "meta.1.json"] {
        fs::copy(recorded.join(name), lab.audit().join(name)).expect("copied");
    }
    let before = content(&lab);
    let output = lab.run(&["--attempt", "1"], &["report"]);
    assert_eq!((output.status.code(), error(&output)), (Some(125), "attempt 1 was already begun here".to_owned()));
    assert!(content(&lab) == before, "it was touched");
    assert_eq!(lab.run(&[], &["report"]).status.code(), Some(0));
    assert_eq!(lab.record(2).ended_by, Some(EndedBy::Exited));
    for (name, bytes) in before {
        assert!(lab.evidence(&name) == bytes, "{name} was touched");
    }
}

#[test]
fn a_second_capture_in_the_same_folder_is_refused() {
    let lab = HostLab::new();
    let mut first = spawn(&mut lab.capture(&[], &steps(r"out begin\n pid main.pid wait-file go out end\n exit 7")));
    let main = lab.await_pid("main.pid");
    for (options, sentence) in [
        (&[][..], format!("attempt 1 is still running in {}", lab.audit().display())),
        (&["--attempt", "1"], "attempt 1 was already begun here".to_owned()),
        (&["--attempt", "9"], format!("attempt 1 is still running in {}", lab.audit().display())),
    ] {
        let second = lab.run(options, &steps("file made.txt x"));
        assert_eq!((second.status.code(), error(&second)), (Some(125), sentence));
    }
    assert!(!lab.workspace().join("made.txt").exists() && !is_gone(main));
    assert!(lab.has("host.sock"), "the first one can still be spoken to");
    lab.put("go", "");
    assert_eq!(first.wait().expect("its end").code(), Some(7));
    assert_eq!(lab.evidence("stdout.1.log"), b"begin\nend\n");
    assert_eq!(lab.run(&[], &steps("exit 0")).status.code(), Some(0));
    assert_eq!(lab.record(2).ended_by, Some(EndedBy::Exited));
}

#[test]
fn captures_that_begin_in_the_same_moment_do_not_mix() {
    let lab = HostLab::new();
    let words = steps(r"out begin\n sleep 100 out end\n exit 7");
    let captures: Vec<_> = (0..4).map(|_| spawn_piped(&mut lab.capture(&["--no-snapshot"], &words))).collect();
    let outputs: Vec<_> = captures.into_iter().map(|capture| capture.wait_with_output().expect("its end")).collect();
    let mut begun = 0;
    for output in &outputs {
        match output.status.code() {
            Some(7) => {
                begun += 1;
                assert_eq!(host::text(&output.stdout), "begin\nend\n");
            }
            Some(125) => drop(error(output)),
            other => panic!("{other:?}: {:?}", said(output)),
        }
    }
    assert!(begun >= 1, "no capture was accepted");
    let records = (1..=4).filter_map(|number| HostRecord::read(&lab.audit(), AttemptNumber(number)).expect("readable"));
    let records: Vec<_> = records.collect();
    assert_eq!(records.len(), begun);
    for record in records {
        assert_eq!((record.exit_code, record.bytes.stdout), (Some(7), 10));
    }
}

fn odd(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[test]
fn paths_and_arguments_may_be_any_bytes() {
    let lab = HostLab::new();
    let root = lab.path("");
    let workspace = root.join(odd(b"work \n space\xff\"\\"));
    let out = root.join(odd(b"out\n\xfe put/de ep"));
    fs::create_dir(&workspace).expect("a workspace");
    fs::write(workspace.join(odd(b"old\n\xff")), "one\n").expect("a file");
    fs::write(workspace.join("gone \"quoted\""), "x").expect("a file");
    let command = workspace.join(odd(b"com\nmand\xff"));
    make_executable(&command, "#!/bin/sh\nprintf '%s' \"$1\"\nprintf two > \"$2\"\nrm gone*\nprintf x > \"$3\"\n");
    let argument = odd(b"argument\n\xff\xfe \x1b[0m");
    let mut capture = lab.placeless_capture();
    capture.arg("--workspace").arg(&workspace).arg("--out").arg(&out).arg("--");
    capture.arg(&command).arg(&argument).arg(odd(b"old\n\xff")).arg(odd(b"new\xfd\n"));
    let output = output(&mut capture);
    assert_eq!(output.status.code(), Some(0), "{}", host::text(&output.stderr));
    assert_eq!(output.stdout, argument.as_bytes());
    let audit = out.join(".audit");
    let record = HostRecord::read(&audit, AttemptNumber(1)).expect("readable").expect("a record");
    let argv: Vec<_> = record.argv.iter().map(|word| word.as_os_str().to_owned()).collect();
    assert_eq!(argv, [command.into_os_string(), argument, odd(b"old\n\xff"), odd(b"new\xfd\n")]);
    assert_eq!(record.cwd.as_path(), fs::canonicalize(&workspace).expect("a folder"));
    let json = |name: &str| serde_json::from_slice::<Value>(&fs::read(audit.join(name)).expect(name)).expect(name);
    for name in ["meta.1.json", "host.1.json", "claim.1", "fs-before.1.json", "fs-after.1.json"] {
        json(name);
    }
    let diff = json("fs-diff.1.json");
    let path = |bytes: &[u8]| serde_json::json!({"hex": skillrun_evidence::os_text::to_hex(bytes)});
    assert_eq!(diff["created"][0]["path"], path(b"new\xfd\n"));
    assert_eq!(diff["modified"][0]["path"], path(b"old\n\xff"));
    assert_eq!(diff["deleted"][0]["path"], "gone \"quoted\"");
    assert_eq!(diff["counts"], serde_json::json!({"created": 1, "modified": 1, "deleted": 1}));
    let normalized = host::output(Command::new(SKILLRUN).arg("normalize").arg(&out).args(["--engine", "codex"]));
    assert!(normalized.status.success());
}

/// A name with a line end in it made two lines of the sentence, and an escape in it was obeyed by the terminal.
#[test]
fn a_sentence_is_one_line_whatever_names_are_in_it() {
    let lab = HostLab::new();
    let output = output(lab.bare_capture(&[]).arg(odd(b"./no\nskillrun: error: \x1b[2Jsuch\xff")));
    assert_eq!(output.status.code(), Some(127));
    let sentence = "./no\\nskillrun: error: \\u{1b}[2Jsuch\u{fffd}: there is no such file";
    assert_eq!(host::text(&output.stderr), format!("skillrun: error: {sentence}\n"));
}

/// `capture` with the recording in the workspace, where the engine can reach it.
fn capture_in_workspace(lab: &HostLab, script: &str) -> Command {
    let mut command = capture_anywhere(lab);
    command.args(["--", "sh", "-c", script]);
    command
}

fn record_in_workspace(lab: &HostLab) -> HostRecord {
    HostRecord::read(&lab.workspace().join(".audit"), host::FIRST).expect("readable").expect("a record")
}

#[test]
fn an_engine_that_removes_its_workspace_is_recorded_to_its_end() {
    let lab = HostLab::new();
    lab.put("file.txt", "x");
    let output = output(lab.bare_capture(&[]).args(["sh", "-c", "rm -r \"$PWD\"; echo done; exit 3"]));
    assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(3), "done\n".to_owned()));
    let record = lab.record(1);
    assert_eq!(record.ended_by, Some(EndedBy::Exited));
    assert_eq!(record.warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(), [Code::SnapshotFailed]);
    assert_eq!(record.fs_diff, None, "nothing is known about it");
}

#[test]
fn an_engine_that_removes_its_recording_fails() {
    let lab = HostLab::new();
    // From when the index has something on, the host makes no more files until the end.
    let script = "echo begin; while ! test -s .audit/chunks.1.jsonl; do :; done; rm -r \"$PWD\"; echo end; exit 0";
    let output = output(&mut capture_in_workspace(&lab, script));
    assert_eq!(output.status.code(), Some(125), "{}", host::text(&output.stderr));
    let place = lab.workspace().join(".audit");
    assert_eq!(error(&output), format!("the recording was removed from {}", place.display()));
}

#[test]
fn an_engine_that_damages_its_recording_is_reported() {
    for (script, name) in [
        ("rm .audit/stdout.1.log", "stdout.1.log"),
        ("rm .audit/chunks.1.jsonl", "chunks.1.jsonl"),
        (": > .audit/stdout.1.log", "stdout.1.log"),
        ("echo more >> .audit/stderr.1.log", "stderr.1.log"),
    ] {
        let lab = HostLab::new();
        let script = format!("echo begin; while ! test -s .audit/chunks.1.jsonl; do :; done; {script}; echo end");
        let output = output(&mut capture_in_workspace(&lab, &script));
        assert_eq!(output.status.code(), Some(125), "{script}: {}", host::text(&output.stderr));
        let sentence =
            format!("the evidence on the disk is incomplete ({name} was removed or changed by another process)");
        assert_eq!(error(&output), sentence, "{script}");
        let record = record_in_workspace(&lab);
        assert_eq!((record.ended_by, record.exit_code), (Some(EndedBy::HostError), Some(0)), "{script}");
        assert!(record.hashes.is_empty(), "nothing is vouched for");
    }
}

#[test]
fn an_engine_that_meddles_with_the_rest_changes_nothing() {
    for script in [
        "rm .audit/host.sock",
        "rm .audit/claim.1",
        "rm .audit/meta.1.json .audit/fs-before.1.json .audit/reserve.1",
        "rm -r .audit/blobs; ln -s / .audit/blobs",
        "echo '{}' > .audit/host.1.json",
        "sed 's/\"started_at\"/\"ended_by\":\"exited\",&/' .audit/meta.1.json > .audit/host.1.json",
        "chmod 777 .audit .audit/*",
    ] {
        let lab = HostLab::new();
        let output = output(&mut capture_in_workspace(&lab, &format!("echo begin; {script}; echo end; exit 5")));
        assert_eq!(output.status.code(), Some(5), "{script}: {}", host::text(&output.stderr));
        assert_eq!(host::text(&output.stdout), "begin\nend\n", "{script}");
        let record = record_in_workspace(&lab);
        assert_eq!((record.ended_by, record.bytes.stdout), (Some(EndedBy::Exited), 10), "{script}");
    }
}

/// An attaching owner trusted the file, and did not ask the host.
#[test]
fn a_forged_record_is_ignored_while_the_host_lives() {
    let lab = HostLab::new();
    let forged = lab.audit().join("host.1.json");
    let claim = lab.audit().join("claim.1");
    let words = format!("file {} {{}} remove {} pid main.pid wait-file go exit 5", forged.display(), claim.display());
    host::start_host(&lab.plan(&steps(&words)));
    lab.await_pid("main.pid");
    let mut owner = lab.attach(host::FIRST);
    lab.put("go", "");
    assert_eq!(host::receive_ended(&mut owner), EndedBy::Exited);
    assert_eq!(lab.record(1).exit_code, Some(5), "the forged one was replaced");
}

#[test]
fn without_a_record_no_success_is_reported() {
    let lab = HostLab::new();
    // Long enough to be attached to: what ends at once on a busy machine is not mirrored.
    let script = "echo begin; mkdir -p .audit/host.1.json/x; sleep 1; echo end";
    let output = output(&mut capture_in_workspace(&lab, script));
    assert_eq!(output.status.code(), Some(125), "{}", host::text(&output.stderr));
    assert!(!error(&output).is_empty());
    assert_eq!(host::text(&output.stdout), "begin\nend\n");
}

#[test]
fn an_engine_that_locks_the_recording_is_reported() {
    let lab = HostLab::new();
    let Some(user) = lab.other_user() else { return };
    let mut command = capture_in_workspace(&lab, "echo begin; chmod 0 .audit; echo end");
    let output = output(command.env("TMPDIR", lab.path("")).uid(user).gid(user));
    assert_eq!(output.status.code(), Some(125), "{}", host::text(&output.stderr));
    assert!(error(&output).contains("Permission denied"), "{}", error(&output));
    // Where the recording cannot be reached, the end of the host cannot be waited for.
    let left = || fs::read_dir(lab.path("")).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    wait_until("the end of the folder for temporary files", || left().eq(["workspace"]));
    lab.wait_quiet();
}

/// A program that was removed or replaced while it ran, as upgrades do, could not start its host.
#[test]
fn a_replaced_program_starts_its_own_host() {
    let lab = HostLab::new();
    let copy = lab.path("copy");
    fs::copy(SKILLRUN, &copy).expect("copied");
    let capture = lab.capture(&[], &steps("out x exit 3"));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg("exec 5<\"$1\"; rm \"$1\"; echo 'exit 99' > \"$1\"; shift; exec /proc/self/fd/5 \"$@\"");
    shell.arg("sh").arg(&copy).args(capture.get_args()).stdin(Stdio::null());
    let output = output(&mut shell);
    assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(3), "x".to_owned()), "{:?}", said(&output));
}

#[test]
fn the_exit_code_is_the_engines() {
    for (words, code, signal) in [
        ("exit 0", 0, None),
        ("exit 3", 3, None),
        ("exit 124", 124, None),
        ("exit 255", 255, None),
        ("die SIGKILL", 137, Some("SIGKILL")),
        ("die SIGTERM", 143, Some("SIGTERM")),
        ("die SIGSEGV", 139, Some("SIGSEGV")),
        ("die SIGPIPE", 141, Some("SIGPIPE")),
    ] {
        for wiring in ["pipes", "split_pty"] {
            let words = format!(r"out last\x20words\n {words}");
            let (lab, output) = host::captured(&["--wiring", wiring], &steps(&words));
            assert_eq!((output.status.code(), said(&output)), (Some(code), vec![]), "{words}, {wiring}");
            let record = lab.record(1);
            let expected = (Some(EndedBy::Exited), signal, signal.is_none().then_some(code));
            assert_eq!((record.ended_by, record.signal.as_deref(), record.exit_code), expected, "{words}, {wiring}");
            assert_eq!(lab.evidence("stdout.1.log"), b"last words\n");
        }
    }
}

#[test]
fn an_engine_that_is_ended_for_its_time_has_a_code_of_its_own() {
    for (options, why, sentence) in [
        (["--timeout", "0.2"], EndedBy::HardTimeout, "the command ran longer than --timeout and was terminated"),
        (["--stall", "0.2"], EndedBy::Stall, "the command wrote nothing for longer than --stall and was terminated"),
    ] {
        let lab = HostLab::new();
        let output = lab.run(&[&options[..], &["--grace", "1"]].concat(), &steps(r"out words\n ignore SIGINT forever"));
        assert_eq!((output.status.code(), error(&output)), (Some(124), sentence.to_owned()));
        let record = lab.record(1);
        assert_eq!((record.ended_by, record.signal.as_deref()), (Some(why), Some("SIGTERM")));
        assert_eq!(host::text(&output.stdout), "words\n");
    }
}
