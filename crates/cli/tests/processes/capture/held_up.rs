//! A host that is stopped or limited by the system still records correctly.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use lab::host::{self, HostLab, spawn};
use lab::{is_gone, signal};
use skillrun_collect::plan::{HostPlan, Limits};
use skillrun_model::{EndedBy, Stream};

fn limits(hard: u64, stall: u64) -> Limits {
    Limits { hard: Duration::from_secs(hard), stall: Duration::from_secs(stall), ..Limits::default() }
}

/// Stops the host, waits, and continues it.
fn hold_up(pid: u32, time: Duration) {
    signal(pid, "STOP");
    sleep(time);
    signal(pid, "CONT");
}

#[test]
fn a_process_done_while_the_host_was_stopped_is_not_timed_out() {
    let lab = HostLab::new();
    let plan = HostPlan { limits: limits(2, 600), ..lab.plan(&["pid", "main.pid", "sleep", "300", "out", "done\n"]) };
    let owner = lab.start(&plan);
    lab.await_pid("main.pid");
    hold_up(owner.host_pid(), Duration::from_millis(2500));
    let record = lab.record(1);
    assert_eq!((record.ended_by, record.exit_code), (Some(EndedBy::Exited), Some(0)));
    assert_eq!(lab.read_stdout(1), "done\n");
}

#[test]
fn output_during_a_stop_of_the_host_is_not_a_stall() {
    let lab = HostLab::new();
    let steps = ["pid", "main.pid", "drip", "stdout", "40", "50"];
    let plan = HostPlan { limits: limits(600, 1), ..lab.plan(&steps) };
    let owner = lab.start(&plan);
    lab.await_pid("main.pid");
    hold_up(owner.host_pid(), Duration::from_millis(1500));
    let record = lab.record(1);
    assert_eq!((record.ended_by, record.bytes.stdout), (Some(EndedBy::Exited), 40));
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_that_is_recorded() {
    let lab = HostLab::new();
    let capture = lab.capture(&[], &["flood", "stdout", "4M", "forever"]);
    // In units of 512 or 1024 bytes; less than four megabytes in both.
    let output = host::output(&mut host::after("ulimit -f 1000", &capture));
    assert_eq!(output.status.code(), Some(125), "{}", host::text(&output.stderr));
    let record = lab.record(1);
    assert_eq!(record.ended_by, Some(EndedBy::HostError));
    let kept = host::read_back(&lab.out(), 1);
    let kept = host::of(&kept, Stream::Stdout);
    assert!(!kept.is_empty() && *kept == host::flood(kept.len()), "{} bytes", kept.len());
}

#[test]
fn a_process_whose_first_thread_has_ended_is_ended_too() {
    let script = "import ctypes, threading, time\n\
        open('main.pid', 'w').write(str(__import__('os').getpid()))\n\
        threading.Thread(target=time.sleep, args=(100,)).start()\n\
        ctypes.CDLL(None).syscall(60, 0)\n";
    if !cfg!(target_arch = "x86_64") || Command::new("python3").arg("-c").arg("import ctypes").status().is_err() {
        eprintln!("skipped: it takes python3 and the number of a system call on x86_64");
        return;
    }
    let lab = HostLab::new();
    let mut command = lab.bare_capture(&["--timeout", "1", "--grace", "0.1"]);
    let capture = spawn(command.args(["python3", "-c", script]));
    let pid = lab.await_pid("main.pid");
    let output = capture.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(124));
    let record = lab.record(1);
    assert_eq!(record.ended_by, Some(EndedBy::HardTimeout));
    // By the host: the kernel ends it with the host in any case, but then its exit is not recorded.
    assert!(record.signal.is_some() && record.warnings.is_empty(), "{:?} {:?}", record.signal, record.warnings);
    assert!(is_gone(pid));
}
