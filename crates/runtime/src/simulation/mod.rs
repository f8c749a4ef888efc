//! The simulation: `decide`, `evolve` and `recover` of the product, and a model of everything around them, under a
//! scheduler that draws the next step. Time is virtual.
//!
//! - `tape` the choices of a story, `scene` what a run was accepted with, `action` what can happen, `world` the scheduler.
//! - `disk` the Log, `host` processes and what they leave, `evidence` their output, `clients` that answer and cancel.
//! - `owner`, `worker` the shell around the reducer, in small. `faults` what it can do wrong, to check that it is
//!   noticed.
//! - `laws` what must hold. `story`, `shrink` print a story that breaks one, as short as possible. `tally` what was
//!   reached.
//! - `batch` many stories at once.
//!
//! `SKILLRUN_INTERLEAVINGS` sets how many stories are played, `SKILLRUN_SEED` the first seed.

mod action;
mod batch;
mod clients;
mod disk;
mod evidence;
mod faults;
mod host;
mod laws;
mod owner;
mod scene;
mod shrink;
mod story;
mod tally;
mod tape;
mod worker;
mod world;

use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use batch::{play_all, report};
use faults::Fault;
use tally::Tally;

/// The default number of stories: enough to reach everything, and a few seconds in an unoptimised build.
const STORIES: u64 = 20_000;

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
            let mut tally = Tally::default();
            let mut world = world::World::new(tape::Tape::seeded(seed), None);
            world.play().unwrap_or_else(|broken| panic!("{broken:?}"));
            tally.add(&world.tally);
            world.tape.into_numbers()
        };
        let first = numbers();
        assert_eq!(first, numbers());
        assert_eq!(story::transcript(&first, None), story::transcript(&first, None));
    }
}

/// The number of stories within which a planted fault must be found, and the most steps of the shortest story.
const WITHIN: u64 = 20_000;
const STEPS: u64 = 18;

#[test]
fn planted_faults_are_found_and_their_stories_are_short() {
    for fault in Fault::ALL {
        let (tally, found) = play_all(SEED, WITHIN, Some(fault));
        let found = found.unwrap_or_else(|| panic!("{fault:?} is not found in {} stories", tally.stories));
        let (short, words) = report(found, Some(fault));
        eprintln!("{fault:?} in {} stories, {} steps: {}", tally.stories, short.steps, short.broken.law.words());
        assert!(short.steps <= STEPS, "{fault:?}: {words}");
        assert!(fault.laws().contains(&short.broken.law), "{fault:?}: {words}");
    }
}
