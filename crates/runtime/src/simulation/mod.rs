//! The simulation: runs and workers of the product, with Log, clock, hosts and files in memory, under a scheduler that
//! draws the next step. Time is virtual, and everything happens in one thread: whenever the owner uses one of these,
//! others act first, or the owner dies.
//!
//! - `tape` the choices of a story, `scene` what a run was accepted with, `action` what can happen, `world` the
//!   scheduler.
//! - `outside` what the owner uses: `disk` the Log, `host` hosts and what they leave, `process` what processes do,
//!   `evidence` their output. `clients` answer, interrupt, close and cancel. `desk` is the owner while no worker has the run.
//! - `family` the children of the run.
//! - `faults` what is done wrong on purpose, to check that it is noticed.
//! - `laws` what must hold, `checks` when that is checked. `story`, `shrink` print a story that breaks one, as short as
//!   possible. `tally` what was reached.
//! - `batch` many stories at once.
//!
//! `SKILLRUN_INTERLEAVINGS` sets how many stories are played, `SKILLRUN_SEED` the first seed.

mod action;
mod batch;
mod checks;
mod clients;
mod desk;
mod disk;
mod evidence;
mod family;
pub(crate) mod faults;
mod host;
mod laws;
mod outside;
mod process;
mod scene;
mod shrink;
mod story;
mod tally;
mod tape;
mod world;

use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use batch::{play_all, report};
use faults::Fault;
use tally::Tally;

/// The default number of stories: enough to reach everything, and a few seconds in an unoptimised build.
const STORIES: u64 = 6_000;

/// The default first seed.
const SEED: u64 = 1;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.replace('_', "").parse().unwrap_or_else(|error| panic!("{name} is {text}: {error}")))
}

fn all_hold(first: u64, count: u64) -> Tally {
    let begin = Instant::now();
    let (tally, found) = play_all(first, count, None);
    eprintln!("{count} stories from seed {first} in {:.1} s", begin.elapsed().as_secs_f64());
    if let Some(found) = found {
        panic!("{}", report(found, None).1);
    }
    tally
}

#[test]
fn the_laws_hold_and_everything_is_reached() {
    let count = number("SKILLRUN_INTERLEAVINGS").unwrap_or(STORIES);
    let tally = all_hold(number("SKILLRUN_SEED").unwrap_or(SEED), count);
    eprintln!("{}", tally.table());
    // Fewer stories are for looking at one seed.
    if count >= STORIES {
        assert_eq!(tally.missing(), Vec::<String>::new(), "never reached");
    }
}

/// Seeds that were not used before. The first one is printed.
#[test]
fn the_laws_hold_for_other_seeds() {
    all_hold(RandomState::new().hash_one(0) >> 1, STORIES / 10);
}

#[test]
fn the_same_seed_gives_the_same_story() {
    for seed in 0..20 {
        let numbers = || {
            let story = desk::Story::new(tape::Tape::seeded(seed), None);
            story.play().unwrap_or_else(|broken| panic!("{broken:?}"));
            story.lock().tape.numbers().to_vec()
        };
        let first = numbers();
        assert_eq!(first, numbers());
        assert_eq!(story::transcript(&first, None), story::transcript(&first, None));
    }
}

/// The number of stories within which a planted fault must be found, and the most steps of the shortest story.
const WITHIN: u64 = 20_000;
const STEPS: u64 = 60;

#[test]
fn planted_faults_are_found_and_their_stories_are_short() {
    for fault in Fault::ALL.iter().copied() {
        let (tally, found) = play_all(SEED, WITHIN, Some(fault));
        let found = found.unwrap_or_else(|| panic!("{fault:?} is not found in {} stories", tally.stories));
        let (short, words) = report(found, Some(fault));
        eprintln!("{fault:?} in {} stories, {} steps: {}", tally.stories, short.steps, short.broken.law.words());
        assert!(short.steps <= STEPS, "{fault:?}: {words}");
        assert!(fault.laws().contains(&short.broken.law), "{fault:?}: {words}");
    }
}
