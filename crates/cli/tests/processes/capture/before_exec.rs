//! What an engine finds when it begins: nothing it was not meant to have, everything it was.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use lab::host::{self, HostLab, Stopped, after, escaped, output, report, said, spawn_piped, steps};
use lab::{eventually, is_gone, wait_until};
use rustix::pipe::{fcntl_setpipe_size, pipe};
use rustix::process::Uid;
use serde_json::Value;
use skillrun_model::{Code, EndedBy};

use crate::SKILLRUN;

/// Rust's own runtime ignores SIGPIPE in the engine that reports, and nothing else.
const SIGPIPE_ALONE: &str = "0000000000001000";
const NO_SIGNAL: &str = "0000000000000000";

#[test]
fn signals_that_were_ignored_are_not_ignored_by_the_engine() {
    let lab = HostLab::new();
    let script = "trap '' INT TERM HUP PIPE QUIT USR1 USR2 TSTP TTIN TTOU CHLD";
    let output = output(&mut after(script, &lab.capture(&[], &["report"])));
    let report = report(&output);
    assert_eq!((&report["sigign"], &report["sigblk"]), (&SIGPIPE_ALONE.into(), &NO_SIGNAL.into()));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn signals_of_every_kind_ignored_and_blocked_change_nothing() {
    let knows = Command::new("env").args(["--ignore-signal=USR1", "--block-signal=USR2", "true"]).output();
    if !knows.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: env of this system cannot block signals");
        return;
    }
    for wiring in ["pipes", "split_pty"] {
        let lab = HostLab::new();
        let capture = lab.capture(&["--wiring", wiring], &["report"]);
        let mut command = Command::new("env");
        command.args(["--ignore-signal", "--block-signal"]).arg(capture.get_program()).args(capture.get_args());
        let output = output(command.stdin(Stdio::null()));
        let report = report(&output);
        assert_eq!((&report["sigign"], &report["sigblk"]), (&SIGPIPE_ALONE.into(), &NO_SIGNAL.into()), "{wiring}");
        assert_eq!((output.status.code(), lab.record(1).ended_by), (Some(0), Some(EndedBy::Exited)), "{wiring}");
    }
}

#[test]
fn only_the_three_descriptors_are_open() {
    for wiring in ["pipes", "split_pty", "one_pty"] {
        let lab = HostLab::new();
        let script = "exec 3</etc/passwd 7</etc/passwd 9>/dev/null 8<&0";
        let output = output(&mut after(script, &lab.capture(&["--wiring", wiring], &["report"])));
        assert_eq!(report(&output)["fds"], serde_json::json!([0, 1, 2]), "{wiring}");
    }
}

/// A host kept the descriptors of the process that started it: a reader of such a pipe waited for the host.
#[test]
fn a_host_keeps_nothing_open_that_its_starter_was_given() {
    let lab = HostLab::new();
    let capture = lab.capture(&[], &steps("pid main.pid wait-file go exit 6"));
    let mut command = after("exec 9>&1 8<. >/dev/null 2>&1", &capture);
    let mut starter = command.stdout(Stdio::piped()).spawn().expect("a process");
    lab.await_pid("main.pid");
    starter.kill().expect("killed");
    starter.wait().expect("gone");
    let mut rest = Vec::new();
    starter.stdout.take().expect("a pipe").read_to_end(&mut rest).expect("the end of the pipe");
    assert_eq!(rest, b"");
    lab.put("go", "");
    assert_eq!(lab.record(1).exit_code, Some(6));
}

/// Starts a capture whose standard input the test writes.
fn spawn_with_input(lab: &HostLab, stdin: &str, words: &str) -> (Child, ChildStdin) {
    let mut command = lab.capture(&["--stdin", stdin], &steps(words));
    let mut child = spawn_piped(command.stdin(Stdio::piped()));
    let stdin = child.stdin.take().expect("a pipe");
    (child, stdin)
}

/// Runs it with these bytes on the standard input of `capture`.
fn run_with_input(lab: &HostLab, options: &[&str], words: &[&str], input: &[u8]) -> Output {
    let mut child = spawn_piped(lab.capture(options, words).stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // An engine need not take all of it.
            stdin.write_all(input).ok();
        });
        child.wait_with_output().expect("its output")
    })
}

#[test]
fn without_a_wish_there_is_nothing_on_stdin() {
    let lab = HostLab::new();
    let output = run_with_input(&lab, &[], &steps("read-line echo-stdin"), b"not for the engine\n");
    assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(0), "got eof\n".to_owned()));
    let output = run_with_input(&lab, &["--stdin", "null"], &["report"], b"neither");
    assert_eq!(report(&output)["stdin"], "/dev/null");
    assert_eq!((lab.evidence("stdin.1.log"), lab.evidence("stdin.2.log")), (vec![], vec![]));
    assert_eq!((&lab.meta(1)["stdin"], &lab.meta(2)["stdin"]), (&"null".into(), &"null".into()));
}

#[test]
fn a_file_on_stdin_is_given_byte_for_byte() {
    let every_byte: Vec<u8> = (0..=255).collect();
    for content in [vec![], b"no line end".to_vec(), every_byte.repeat(10), host::flood(2 << 20)] {
        let lab = HostLab::new();
        fs::write(lab.path("in put"), &content).expect("a file");
        // A name that is not absolute is meant from where we are.
        let mut command = lab.capture(&["--stdin", "in put"], &["echo-stdin"]);
        let output = output(command.current_dir(lab.path("")));
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout == content, "{} bytes: what was read is not in the file", content.len());
        assert!(lab.evidence("stdin.1.log") == content, "{} bytes: what was given was not recorded", content.len());
        assert_eq!((lab.meta(1)["stdin"].as_str(), lab.record(1).bytes.stdin), (Some("file"), content.len() as u64));
    }
}

#[test]
fn an_engine_that_does_not_read_its_file_is_not_waited_for() {
    let lab = HostLab::new();
    fs::write(lab.path("input"), host::flood(4 << 20)).expect("a file");
    let input = lab.path("input").into_os_string().into_string().expect("UTF-8");
    let output = lab.run(&["--stdin", &input], &steps("read-line exit 3"));
    assert_eq!((output.status.code(), lab.record(1).ended_by), (Some(3), Some(EndedBy::Exited)));
    let given = lab.evidence("stdin.1.log");
    assert!(host::flood(4 << 20).starts_with(&given) && given.len() < 4 << 20, "{} bytes were given", given.len());
}

#[test]
fn our_own_input_is_passed_on_to_its_end() {
    let odd: Vec<u8> = (0..2_u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for input in [b"".to_vec(), b"no line end".to_vec(), "grün\0\n".as_bytes().to_vec(), odd] {
        let lab = HostLab::new();
        let output = run_with_input(&lab, &["--stdin", "pipe"], &["echo-stdin"], &input);
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout == input, "{} bytes: what came out is not what went in", input.len());
        assert!(lab.evidence("stdin.1.log") == input, "{} bytes: what was given was not recorded", input.len());
    }
}

#[test]
fn an_engine_that_ignores_its_input_keeps_its_exit_code() {
    let input = host::flood(4 << 20);
    for round in 0..3 {
        let lab = HostLab::new();
        let output = run_with_input(&lab, &["--stdin", "pipe", "--no-snapshot"], &steps("read-line exit 3"), &input);
        assert_eq!(output.status.code(), Some(3), "round {round}: {}", host::text(&output.stderr));
    }
}

/// The host ended while more input was on its way to it, and its record was not looked at: exit code 125.
#[test]
fn input_for_a_host_that_has_just_ended_is_no_error() {
    let lab = HostLab::new();
    let (child, mut stdin) = spawn_with_input(&lab, "pipe", "pid main.pid wait-file go exit 3");
    lab.await_pid("main.pid");
    for count in 1..=2 {
        stdin.write_all(b"x").expect("written");
        let log = lab.audit().join("stdin.1.log");
        eventually("the input", || fs::metadata(&log).ok().filter(|log| log.len() == count));
    }
    // The write is acknowledged, and the engine waits for more.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let stopped = Stopped::new(child.id());
    lab.put("go", "");
    let host = lab.record(1).host_pid;
    wait_until("the end of the host", || is_gone(host));
    stdin.write_all(b"too late").expect("written");
    drop(stopped);
    let output = child.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(3), "{}", host::text(&output.stderr));
}

#[test]
fn a_terminal_on_stdin_is_a_terminal_whatever_the_others_are() {
    for (wiring, tty) in [("pipes", [true, false, false]), ("split_pty", [true; 3]), ("one_pty", [true; 3])] {
        let lab = HostLab::new();
        let output = run_with_input(&lab, &["--wiring", wiring, "--stdin", "tty"], &["report"], b"");
        assert_eq!(report(&output)["tty"], serde_json::json!([tty[0], tty[1], tty[2]]), "{wiring}");
        assert_eq!(lab.meta(1)["stdin"], "tty");
    }
}

/// A last line without its end was never ended, and the end of a large input was forgotten when the terminal was full.
#[test]
fn a_terminal_passes_lines_on_and_comes_to_an_end() {
    let many: String = (0..40_000).map(|number| format!("{number}\n")).collect();
    for (wiring, words) in [("pipes", "echo-stdin"), ("pipes", "sleep 100 echo-stdin"), ("one_pty", "echo-stdin")] {
        for input in ["", "one\n", "one\ntwo without an end", "grün\r\n", &many] {
            let lab = HostLab::new();
            let options = ["--wiring", wiring, "--stdin", "tty", "--no-snapshot"];
            let output = run_with_input(&lab, &options, &steps(words), input.as_bytes());
            let length = input.len();
            assert_eq!(output.status.code(), Some(0), "{wiring}, {length} bytes: {}", host::text(&output.stderr));
            assert!(output.stdout == input.as_bytes(), "{wiring}, {length} bytes: not what was typed");
            assert!(lab.evidence("stdin.1.log") == input.as_bytes(), "{wiring}, {length} bytes: not recorded");
        }
    }
}

/// The kernel would cut it without a word, also where it comes in two pieces.
#[test]
fn a_line_too_long_for_a_terminal_is_skipped_and_reported() {
    let long = "x".repeat(5_000);
    let lab = HostLab::new();
    let output = run_with_input(&lab, &["--stdin", "tty"], &["echo-stdin"], format!("{long}\n").as_bytes());
    assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(0), String::new()));
    let warning = "skillrun: warning: a line of the input is too long for a terminal and was skipped";
    assert_eq!(said(&output), [warning]);
    // The first half is written: the length of the line is not known yet.
    let (child, mut stdin) = spawn_with_input(&lab, "tty", "echo-stdin");
    let (first, second) = long.split_at(3_000);
    stdin.write_all(first.as_bytes()).expect("written");
    let log = lab.audit().join("stdin.2.log");
    wait_until("the first half", || fs::metadata(&log).is_ok_and(|log| log.len() == 3_000));
    stdin.write_all(format!("{second}{second}\n").as_bytes()).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("its output");
    assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(0), first.to_owned()));
    assert_eq!(said(&output), [warning]);
}

#[test]
fn keys_of_a_terminal_are_obeyed() {
    let lab = HostLab::new();
    let words = r"on SIGINT [ out interrupted\n exit 9 ] pid main.pid forever";
    let (child, mut stdin) = spawn_with_input(&lab, "tty", words);
    lab.await_pid("main.pid");
    stdin.write_all(b"\x03").expect("written");
    let output = child.wait_with_output().expect("its output");
    assert_eq!((output.status.code(), host::text(&output.stdout)), (Some(9), "interrupted\n".to_owned()));
}

/// A script for the engine: fills its folder for temporary files in every way, and reports its path and mode.
const FILL: &str = r#"
    printf '%s\n%s\n' "$TMPDIR" "$(stat -c %a "$TMPDIR")"
    mkdir -p "$TMPDIR/a/b/c" && cd "$TMPDIR"
    for n in 1 2 3 4 5 6 7 8 9; do echo text > "a/file $n"; mkdir "a/b/$n"; done
    ln -s "$OLDPWD" a/b/workspace; ln -s / root; mkfifo pipe; echo x > "$(printf 'odd\n\377')"
    echo x > a/b/c/kept; chmod 555 a/b/c; chmod 500 a"#;

fn check_temporary_folder(lab: &HostLab, output: &Output, above: &std::path::Path) {
    assert_eq!(output.status.code(), Some(0), "{}", host::text(&output.stderr));
    let text = host::text(&output.stdout);
    let lines: Vec<_> = text.lines().collect();
    let [place, mode] = lines[..] else { panic!("{text}") };
    assert_eq!(mode, "700");
    let place = std::path::Path::new(place);
    assert_eq!(place.parent(), Some(above), "it is made where the caller has such folders");
    assert!(!place.exists(), "{} is left", place.display());
    assert!(lab.workspace().join("precious").exists(), "nothing is removed through a link");
}

#[test]
fn the_engine_has_a_folder_for_temporary_files_until_it_is_over() {
    let lab = HostLab::new();
    lab.put("precious", "");
    fs::create_dir(lab.path("temporary")).expect("a folder");
    let above = lab.path("temporary");
    for given in [above.clone(), "temporary".into()] {
        let mut command = lab.bare_capture(&[]);
        command.args(["sh", "-c", FILL]).env("TMPDIR", given).current_dir(lab.path(""));
        check_temporary_folder(&lab, &output(&mut command), &above);
        assert_eq!(fs::read_dir(&above).expect("a folder").count(), 0, "nothing is left beside it either");
    }
}

/// Folders that cannot be written to keep their content from everybody but root.
#[test]
fn the_folder_goes_also_when_the_engine_has_locked_parts_of_it() {
    let lab = HostLab::new();
    lab.put("precious", "");
    let Some(user) = lab.other_user() else { return };
    let mut command = lab.bare_capture(&[]);
    command.args(["sh", "-c", FILL]).env("TMPDIR", lab.path("")).uid(user).gid(user);
    let output = output(&mut command);
    let above = lab.path("");
    check_temporary_folder(&lab, &output, std::path::Path::new(above.to_str().expect("UTF-8").trim_end_matches('/')));
}

#[test]
fn an_engine_that_never_began_leaves_no_folder() {
    let lab = HostLab::new();
    fs::create_dir(lab.path("temporary")).expect("a folder");
    let mut command = lab.bare_capture(&[]);
    assert_eq!(output(command.arg("no-such-command").env("TMPDIR", lab.path("temporary"))).status.code(), Some(127));
    let mut command = lab.bare_capture(&["--attempt", "1"]);
    assert_eq!(output(command.arg("true").env("TMPDIR", lab.path("temporary"))).status.code(), Some(125));
    assert_eq!(fs::read_dir(lab.path("temporary")).expect("a folder").count(), 0);
}

fn names(environment: &Value) -> BTreeSet<String> {
    environment.as_object().expect("an object").keys().cloned().collect()
}

/// Everything that is in `.audit` but what the engine wrote and was given.
fn all_but_logs(lab: &HostLab) -> Vec<(String, Vec<u8>)> {
    let files = lab.left().into_iter().filter(|name| !name.ends_with(".log") && !name.ends_with('/'));
    files.map(|name| (name.clone(), lab.evidence(&name))).collect()
}

#[test]
fn only_variables_that_were_meant_for_it_reach_the_engine() {
    const VALUE: &str = "value-that-stands-nowhere-else";
    let lab = HostLab::new();
    let options =
        ["--env", "PASSED", "--env", "SET=set: value-that-stands-nowhere-else", "--env", "EMPTY=", "--env", "UNSET"];
    let wrong = ["--env", "TMPDIR=/elsewhere", "--env", "SKILLRUN_ATTEMPT=a/1/b", "--env", "TZ=Mars/Olympus"];
    let mut command = lab.capture(&[&options[..], &wrong].concat(), &["report"]);
    command.env_clear();
    let allowed: Vec<_> =
        "PATH LANG LC_ALL LC_TIME LC_ TZ TERM https_proxy HTTP_PROXY NO_PROXY no_proxy SSL_CERT_FILE \
        NODE_EXTRA_CA_CERTS"
            .split(' ')
            .collect();
    let others = "HOME FAKE_API_KEY USER SHELL PWD LD_LIBRARY_PATH PATHX path LCX MY_PROXY CODEX_HOME SKILLRUN_SOMETHING \
        RUST_LOG PASSED";
    for name in allowed.iter().copied().chain(others.split(' ')) {
        command.env(name, VALUE);
    }
    command.env("PATH", "/usr/bin:/bin");
    let output = output(&mut command);
    let environment = &report(&output)["env"];
    let given = ["PASSED", "SET", "EMPTY", "SKILLRUN_LAB", "SKILLRUN_ATTEMPT", "TMPDIR"];
    let expected: BTreeSet<_> = allowed.iter().chain(&given).map(|name| (*name).to_owned()).collect();
    assert_eq!(names(environment), expected);
    assert_eq!((&environment["PASSED"], &environment["https_proxy"]), (&VALUE.into(), &VALUE.into()));
    assert_eq!((&environment["SET"], &environment["EMPTY"]), (&format!("set: {VALUE}").into(), &"".into()));
    assert_eq!(environment["TZ"], "Mars/Olympus", "what was given explicitly counts");
    assert_ne!(environment["TMPDIR"], "/elsewhere");

    let record = lab.record(1);
    let claim = lab.json("claim.1");
    let nonce = claim["nonce"].as_str().expect("a nonce");
    assert!(nonce.len() >= 16 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit()), "{nonce}");
    assert_eq!(environment["SKILLRUN_ATTEMPT"], format!("{}/1/{nonce}", record.run_id));

    let told: Vec<String> = serde_json::from_value(lab.meta(1)["env_names"].clone()).expect("names");
    assert_eq!(told, expected.into_iter().collect::<Vec<_>>(), "sorted");
    for (name, content) in all_but_logs(&lab) {
        assert!(!host::text(&content).contains(VALUE), "a value is in {name}");
    }
}

#[test]
fn names_and_values_may_be_any_bytes() {
    let lab = HostLab::new();
    let mut command = lab.bare_capture(&[]);
    // The options end before the command; these come before that end.
    let options: Vec<_> = command.get_args().take_while(|arg| *arg != "--").map(OsStr::to_owned).collect();
    command = Command::new(SKILLRUN);
    command.args(options).arg("--env").arg(OsStr::from_bytes(b"ODD\xff=a=b\n\xfe")).arg("--");
    command.args(["sh", "-c", "tr '\\0' '\\n' < /proc/self/environ"]).stdin(Stdio::null());
    let output = output(&mut command);
    assert_eq!(output.status.code(), Some(0), "{}", host::text(&output.stderr));
    let wanted = b"ODD\xff=a=b\n\xfe\n";
    assert!(output.stdout.windows(wanted.len()).any(|window| window == wanted), "{}", output.stdout.escape_ascii());
    let told = &lab.meta(1)["env_names"];
    assert!(told.as_array().expect("a list").contains(&serde_json::json!({"hex": "4f4444ff"})), "{told}");
    let mut command = lab.bare_capture(&["--env", "=x"]);
    let output = host::output(command.arg("true"));
    assert_eq!((output.status.code(), host::error(&output).as_str()), (Some(125), "--env =x: the name is missing"));
}

#[test]
fn the_engine_leads_a_session_of_its_own_in_its_workspace() {
    for wiring in ["pipes", "split_pty", "one_pty"] {
        let lab = HostLab::new();
        fs::rename(lab.workspace(), lab.path("real")).expect("renamed");
        symlink("real", lab.workspace()).expect("a link");
        let output = output(&mut after("umask 027", &lab.capture(&["--wiring", wiring], &["report"])));
        let report = report(&output);
        let record = lab.record(1);
        assert_eq!(report["pid"], record.pid.expect("a process id"));
        assert_eq!((&report["sid"], &report["pgid"]), (&report["pid"], &report["pid"]), "{wiring}");
        assert_eq!(report["ppid"], record.host_pid, "{wiring}");
        let real = fs::canonicalize(lab.path("real")).expect("a folder");
        assert_eq!(report["cwd"], real.to_str().expect("UTF-8"), "{wiring}");
        assert_eq!(lab.meta(1)["cwd"], report["cwd"], "{wiring}");
        assert_eq!(report["umask"], "0027", "{wiring}");
    }
}

fn largest_pipe() -> usize {
    let text = fs::read_to_string("/proc/sys/fs/pipe-max-size").expect("the kernel's limit");
    text.trim().parse().expect("a number")
}

#[test]
fn pipes_are_as_large_as_the_kernel_gives_them() {
    let (lab, output) = host::captured(&[], &["report"]);
    assert_eq!(report(&output)["pipe_size"], largest_pipe());
    assert_eq!(lab.meta(1)["warnings"], serde_json::json!([]));
}

/// Uses up what the kernel lets a user have of pipes, as long as what it gives back is kept.
fn use_up_pipes(user: u32) -> Option<Vec<rustix::fd::OwnedFd>> {
    // Only this thread becomes the user, and ends.
    let taking = std::thread::spawn(move || {
        let user = Uid::from_raw(user);
        rustix::thread::set_thread_res_uid(user, user, user).ok()?;
        let mut kept = Vec::new();
        for _ in 0..2_000 {
            let (read, write) = pipe().ok()?;
            let is_given = fcntl_setpipe_size(&read, largest_pipe()).is_ok();
            kept.extend([read, write]);
            if !is_given {
                return Some(kept);
            }
        }
        None
    });
    taking.join().expect("a thread")
}

#[test]
fn small_pipes_are_reported_and_lose_nothing() {
    let lab = HostLab::new();
    let Some(user) = lab.other_user() else { return };
    let Some(_kept) = use_up_pipes(user) else {
        eprintln!("skipped: the kernel gives this user any number of pipes");
        return;
    };
    let words = steps("report flood stdout 1M flood stderr 1M");
    let output = output(lab.capture(&[], &words).uid(user).gid(user));
    assert_eq!(output.status.code(), Some(0), "{}", host::text(&output.stderr[..output.stderr.len().min(500)]));
    let line = output.stdout.iter().position(|byte| *byte == b'\n').expect("a report") + 1;
    let report: Value = serde_json::from_slice(&output.stdout[..line]).expect("a report");
    assert!(report["pipe_size"].as_u64().is_some_and(|size| size < largest_pipe() as u64), "{}", report["pipe_size"]);
    assert!(output.stdout[line..] == host::flood(1 << 20), "bytes are missing");
    assert!(lab.evidence("stderr.1.log") == host::flood(1 << 20), "bytes are missing");
    let codes: Vec<_> = lab.record(1).warnings.iter().map(|warning| warning.code).collect();
    assert_eq!(codes, [Code::PipeSmall]);
    assert!(said(&output)[0].starts_with("skillrun: warning: PIPE_SMALL: "), "{:?}", said(&output));
}

/// Everything above, for a user without any rights.
#[test]
fn a_user_without_rights_gets_the_same() {
    let lab = HostLab::new();
    let Some(user) = lab.other_user() else { return };
    let odd: Vec<u8> = (0..=255).collect();
    let words = format!("out {} report", escaped(&odd));
    for wiring in ["pipes", "split_pty", "one_pty"] {
        let output = output(lab.capture(&["--wiring", wiring], &steps(&words)).uid(user).gid(user));
        assert_eq!(output.status.code(), Some(0), "{wiring}: {}", host::text(&output.stderr));
        assert!(output.stdout.starts_with(&odd), "{wiring}");
        let report: Value = serde_json::from_slice(&output.stdout[256..]).expect("a report");
        assert_eq!((&report["fds"], &report["sid"]), (&serde_json::json!([0, 1, 2]), &report["pid"]), "{wiring}");
    }
    let mode = fs::metadata(lab.audit()).expect("a folder").permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
}
