//! Nothing may take too long. The bound is so wide that only a case that is quadratic or endless reaches it.

use std::fs;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use skillrun_base::sync::lock;

use crate::drive::{Input, leave};

const LONGEST_CASE: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The case at hand and when it began.
type AtHand = Arc<Mutex<Option<(Instant, Arc<dyn Input>)>>>;

/// Looks at one target until it is dropped. A case cannot be interrupted, so one that takes too long ends the process.
pub(crate) struct Watch {
    at_hand: AtHand,
    seed: Arc<AtomicU64>,
    /// Its end ends the thread.
    _alive: Sender<()>,
}

/// A case that is under way.
pub(crate) struct Case<'a>(&'a Watch);

impl Watch {
    pub(crate) fn begin(target: &'static str) -> Self {
        let (alive, over) = channel();
        let watch = Self { at_hand: AtHand::default(), seed: Arc::default(), _alive: alive };
        let (at_hand, seed) = (watch.at_hand.clone(), watch.seed.clone());
        thread::spawn(move || {
            while over.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let late = lock(&at_hand).clone();
                if let Some((_, input)) = late.filter(|(begin, _)| begin.elapsed() > LONGEST_CASE) {
                    give_up(target, seed.load(Ordering::Relaxed), &*input);
                }
            }
        });
        watch
    }

    pub(crate) fn seed(&self, seed: u64) {
        self.seed.store(seed, Ordering::Relaxed);
    }

    pub(crate) fn case(&self, input: Arc<dyn Input>) -> Case<'_> {
        self.set(Some((Instant::now(), input)));
        Case(self)
    }

    fn set(&self, at_hand: Option<(Instant, Arc<dyn Input>)>) {
        *lock(&self.at_hand) = at_hand;
    }
}

impl Drop for Case<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

fn give_up(target: &str, seed: u64, input: &dyn Input) -> ! {
    let file = leave(target, seed, &input.bytes());
    let limit = LONGEST_CASE.as_secs();
    let words = format!("fuzz {target}: one case takes longer than {limit} s, seed {seed}: {}\n", file.display());
    // Past whatever keeps the output of tests back: the process is over now.
    io::stderr().write_all(words.as_bytes()).ok();
    std::process::exit(101);
}

/// Most memory that this process ever held, in bytes.
pub(crate) fn peak_memory() -> u64 {
    memory("/proc/self/status", "VmHWM:")
}

/// A line of memory in a file of `/proc`, in bytes; 0 where there is none.
pub(crate) fn memory(status: &str, name: &str) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}
