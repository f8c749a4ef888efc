//! A data folder, its Logs, and webhooks that do not wait for long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use skillrun_base::wait;
use skillrun_log::{Durability, EventLog, FileLog};
use skillrun_model::{RunId, Timestamp};
use skillrun_runs::DataFolder;
use skillrun_runtime::{Clock, SystemClock};

use super::super::address::PrivateAddresses;
use super::super::queue::{Pace, WebhookCounts};
use super::super::record::{Delivery, DeliveryState};
use super::super::secret::system_random;
use super::super::service::{Config, WebhookError, WebhookSetup, Webhooks};
use super::events::LogStory;

const TEST_TIMEOUT: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(2);

/// A clock that can be made to panic once.
#[derive(Debug, Default)]
pub(super) struct FaultyClock(pub(super) AtomicBool);

impl Clock for FaultyClock {
    fn now(&self) -> Timestamp {
        assert!(!self.0.swap(false, Ordering::Relaxed), "the clock panics as planned");
        SystemClock.now()
    }

    fn running(&self) -> Duration {
        SystemClock.running()
    }
}

pub(super) struct World {
    _folder: tempfile::TempDir,
    pub(super) data: DataFolder,
    log: Arc<FileLog>,
    pub(super) clock: Arc<FaultyClock>,
    pub(super) config: Config,
    pub(super) pace: Pace,
}

impl World {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::new(folder.path());
        let log = Arc::new(FileLog::new(data.runs()));
        let config = Config { private_addresses: PrivateAddresses::Allowed, ..Config::default() };
        let pace = Pace { waits: vec![Duration::from_millis(1); 3], ..Pace::default() };
        Self { _folder: folder, data, log, clock: Arc::default(), config, pace }
    }

    pub(super) fn start(&self) -> Webhooks {
        self.try_start().unwrap()
    }

    pub(super) fn try_start(&self) -> Result<Webhooks, WebhookError> {
        let (data, log, clock) = (self.data.clone(), self.log.clone(), self.clock.clone());
        let setup = WebhookSetup { data, log, config: self.config.clone(), clock, random: system_random };
        Webhooks::start_at(setup, self.pace.clone())
    }

    /// Starts webhooks that notify one address of one run.
    pub(super) fn start_with(&self, story: &LogStory, url: String) -> (Webhooks, RunId) {
        let (webhooks, run) = (self.start(), self.write(story));
        watch(&webhooks, run, &[url]);
        (webhooks, run)
    }

    /// Creates the Log of a story, or appends its further events.
    pub(super) fn write(&self, story: &LogStory) -> RunId {
        let created = self.log.create(story.run).map(|head| head.next_seq);
        let next = created.unwrap_or_else(|_| self.log.next_seq(story.run).unwrap());
        let more = &story.events[usize::try_from(next.0 - 1).unwrap()..];
        self.log.append(story.run, next, more, Durability::Synced).unwrap();
        story.run
    }

    pub(super) fn remove(&self, run: RunId) {
        self.log.remove(run, Timestamp::EPOCH).unwrap();
        std::fs::remove_dir_all(self.data.run(run).root()).unwrap();
    }

    pub(super) fn outbox_files(&self) -> usize {
        let names = std::fs::read_dir(self.data.root().join("webhooks")).unwrap().flatten();
        names.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json")).count()
    }
}

/// Waits until the messages of a run satisfy a condition.
pub(super) fn until(webhooks: &Webhooks, run: RunId, is_so: impl Fn(&[Delivery]) -> bool) -> Vec<Delivery> {
    let records = || webhooks.records(run).unwrap();
    let told = wait::retry(TEST_TIMEOUT, STEP, records, |told| !is_so(told));
    assert!(is_so(&told), "it never came to be: {told:?}");
    told
}

/// Waits until the first message of a run is in a state.
pub(super) fn until_first(webhooks: &Webhooks, run: RunId, state: DeliveryState) -> Delivery {
    until(webhooks, run, |told| told.first().is_some_and(|one| one.state == state)).remove(0)
}

pub(super) fn until_true(is_so: impl FnMut() -> bool) {
    assert!(wait::wait_until(TEST_TIMEOUT, STEP, is_so), "it never came to be");
}

pub(super) fn watch(webhooks: &Webhooks, run: RunId, urls: &[String]) {
    webhooks.watch(run, webhooks.check_urls(urls).unwrap()).unwrap();
}

pub(super) fn counts(delivered: u64, failed_tries: u64, given_up: u64, pending: u64) -> WebhookCounts {
    WebhookCounts { delivered, failed_tries, given_up, pending }
}
