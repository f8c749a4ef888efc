//! Questions of a run, asked and answered on a terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;

use lab::{Lab, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

const ASKS: &str = r"
- - say: Let me think.
  - ask: {kind: choose_one, prompt: Which colour?, options: [red, green, blue]}
- - output: {answer: '{{reply}}'}
    done: true
";

const PROMPT: &str = "number or answer> ";

/// A command on a terminal of its own.
struct Terminal {
    keys: File,
    screen: Arc<Mutex<String>>,
    child: Child,
}

impl Terminal {
    fn new(lab: &Lab, words: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&ours).expect("a terminal");
        unlockpt(&ours).expect("a terminal");
        let name = ptsname(&ours, Vec::new()).expect("a name");
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let theirs = || OpenOptions::new().read(true).write(true).open(path).expect("a terminal");
        let child =
            lab.command(words).stdin(theirs()).stdout(theirs()).stderr(theirs()).spawn().expect("started");
        let keys = File::from(ours);
        let mut output = keys.try_clone().expect("a file");
        let screen = Arc::new(Mutex::new(String::new()));
        let shown = screen.clone();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // An error when no process has the other end open any more.
            while let Ok(read @ 1..) = output.read(&mut buffer) {
                shown.lock().expect("a screen").push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        });
        Self { keys, screen, child }
    }

    fn screen(&self) -> String {
        self.screen.lock().expect("a screen").replace("\r\n", "\n")
    }

    /// Waits until the screen shows this text so many times.
    fn wait_for(&self, text: &str, times: usize) {
        wait_until(&format!("{text:?}, {times} times"), || self.screen().matches(text).count() >= times);
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("written");
    }

    /// The terminal is not the controlling one, so Ctrl-C is sent as what it causes.
    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("a signal");
    }

    fn end(&mut self) -> Option<i32> {
        self.child.wait().expect("an end").code()
    }
}

fn asking() -> (Lab, Terminal) {
    let lab = Lab::with_skill("paint", ASKS);
    let terminal = Terminal::new(&lab, &["run", "./paint", "--engine", "scripted", "--mode", "interactive"]);
    terminal.wait_for(PROMPT, 1);
    (lab, terminal)
}

/// Regression: the agent got "9" as its answer.
#[test]
fn number_without_option_is_asked_again() {
    let (lab, mut terminal) = asking();
    terminal.press("9\n");
    terminal.wait_for("there is no option 9; enter a number from 1 to 3, or an answer in words", 1);
    terminal.wait_for(PROMPT, 2);
    terminal.press("3\n");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.screen());
    assert_eq!(lab.json(&["result", "last", "--json"])["output"]["answer"], "blue");
}

/// Regression: Ctrl-C canceled a run whose question the user only wanted to leave for later.
#[test]
fn ctrl_c_at_a_question_names_ctrl_d_before_it_cancels() {
    let (lab, mut terminal) = asking();
    terminal.interrupt();
    terminal.wait_for("Ctrl-D leaves the question open; press Ctrl-C again to cancel the run", 1);
    terminal.wait_for(PROMPT, 2);
    terminal.press("\x04");
    assert_eq!(terminal.end(), Some(6), "{}", terminal.screen());
    assert!(terminal.screen().contains("skillrun reply"), "{}", terminal.screen());
    assert_eq!(lab.json(&["show", "last", "--json"])["status"], "waiting_user");
}

#[test]
fn second_ctrl_c_at_a_question_cancels_the_run() {
    let (lab, mut terminal) = asking();
    terminal.interrupt();
    terminal.wait_for(PROMPT, 2);
    terminal.interrupt();
    assert_eq!(terminal.end(), Some(130), "{}", terminal.screen());
    assert_eq!(lab.json(&["show", "last", "--json"])["status"], "canceled");
}
