//! Runs one target: cases in small batches until the budget is spent. Each batch has a seed of its own, so a failure is
//! seen again at once.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::watch::{Watch, peak_memory};

const SECONDS: &str = "SKILLRUN_FUZZ_SECONDS";
const SEED: &str = "SKILLRUN_FUZZ_SEED";

/// For `make test`, where it is one of many things.
const DEFAULT_SECONDS: u64 = 2;

/// Few, so that a slow target keeps to its budget.
const BATCH: u32 = 16;

/// Far more than any case needs, and far less than a bomb takes.
const MEMORY_MAX: u64 = 1 << 30;

/// What a case is made of. The bytes are what a failure leaves in a file.
pub(crate) trait Input: std::fmt::Debug + Send + Sync + 'static {
    fn bytes(&self) -> Vec<u8>;
}

impl Input for Vec<u8> {
    fn bytes(&self) -> Vec<u8> {
        self.clone()
    }
}

impl Input for String {
    fn bytes(&self) -> Vec<u8> {
        self.clone().into_bytes()
    }
}

/// Checks cases of the strategy until the budget is spent. A check fails by panicking.
pub(crate) fn fuzz<S>(target: &'static str, strategy: S, check: impl Fn(&S::Value))
where
    S: Strategy,
    S::Value: Input,
{
    let budget = Duration::from_secs(number(SECONDS).unwrap_or(DEFAULT_SECONDS));
    let first = number(SEED).unwrap_or_else(random);
    let begin = Instant::now();
    let watch = Watch::begin(target);
    let (mut seed, mut cases) = (first, 0u64);
    while cases == 0 || begin.elapsed() < budget {
        watch.seed(seed);
        let mut runner = TestRunner::new_with_rng(config(), rng(seed));
        let outcome = runner.run(&strategy, |input| {
            let input = Arc::new(input);
            let case = watch.case(input.clone());
            check(&input);
            drop(case);
            Ok(())
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(reason, input)) => failed(target, seed, &reason.to_string(), &input),
            Err(TestError::Abort(reason)) => panic!("{target}: no cases could be made: {reason}"),
        }
        let memory = peak_memory();
        assert!(memory < MEMORY_MAX, "{target}: {memory} bytes of memory; see it again with {SEED}={seed}");
        cases += u64::from(BATCH);
        seed = next(seed);
    }
    let seconds = begin.elapsed().as_secs_f64();
    eprintln!("fuzz {target}: {cases} cases in {seconds:.1} s, first seed {first}");
}

fn config() -> Config {
    Config {
        cases: BATCH,
        failure_persistence: None,
        max_shrink_iters: 4096,
        max_shrink_time: 60_000,
        ..Config::default()
    }
}

/// Says what happened, and leaves the bytes where they can be looked at.
fn failed(target: &str, seed: u64, reason: &str, input: &dyn Input) -> ! {
    let file = leave(target, seed, &input.bytes());
    let shown: String = format!("{input:?}").chars().take(4000).collect();
    let place = file.display();
    panic!(
        "fuzz {target}: {reason}\n  with {shown}\n  its bytes: {place}\n  again: {SEED}={seed} cargo test -p skillrun --test fuzz {target}"
    );
}

pub(crate) fn leave(target: &str, seed: u64, bytes: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    let file = folder.join(format!("{target}-{seed}.bin"));
    fs::create_dir_all(&folder).and_then(|()| fs::write(&file, bytes)).expect("a place for the bytes");
    file
}

fn number(variable: &str) -> Option<u64> {
    let value = env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} must be a whole number, not {value:?}")))
}

fn random() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    next(now.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(40))
}

/// One step of a generator that visits every number once, and mixes it well.
fn next(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn rng(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

/// The failure is reported with everything that is needed to reproduce it, and minimized first.
#[test]
fn a_failure_reports_its_seed_and_keeps_its_bytes() {
    let bytes = proptest::collection::vec(proptest::num::u8::ANY, 0..50);
    let failing = || fuzz("drive_itself", bytes, |bytes: &Vec<u8>| assert!(bytes.len() < 3, "three bytes"));
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(failing)).expect_err("it must fail");
    let told = told.downcast_ref::<String>().expect("words").clone();
    let seed = told.split_once("SKILLRUN_FUZZ_SEED=").and_then(|(_, rest)| rest.split(' ').next()).expect("a seed");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz").join(format!("drive_itself-{seed}.bin"));
    assert_eq!(fs::read(&file).expect("its bytes"), [0, 0, 0], "{told}");
    fs::remove_file(file).expect("removed");
}
