//! A data folder, its Logs, and webhooks that do not wait for long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skillrun_log::{Durability, EventLog, FileLog, Seq};
use skillrun_model::RunId;
use skillrun_runs::DataFolder;
use skillrun_runtime::SystemClock;

use super::super::address::PrivateAddresses;
use super::super::queue::Pace;
use super::super::record::Delivery;
use super::super::secret::system_random;
use super::super::send::SendTimeouts;
use super::super::service::{Config, WebhookError, WebhookSetup, Webhooks};
use super::events::Story;

pub(super) struct World {
    _folder: tempfile::TempDir,
    pub(super) data: DataFolder,
    log: Arc<FileLog>,
    pub(super) config: Config,
    pub(super) pace: Pace,
}

impl World {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::new(folder.path());
        let log = Arc::new(FileLog::new(data.runs()));
        let config = Config { private_addresses: PrivateAddresses::Allowed, ..Config::default() };
        let pace = Pace {
            waits: vec![Duration::from_millis(1); 3],
            timeouts: SendTimeouts { connect: Duration::from_secs(5), total: Duration::from_secs(10) },
            ..Pace::default()
        };
        Self { _folder: folder, data, log, config, pace }
    }

    pub(super) fn start(&self) -> Webhooks {
        self.try_start().unwrap()
    }

    pub(super) fn try_start(&self) -> Result<Webhooks, WebhookError> {
        let setup = WebhookSetup {
            data: self.data.clone(),
            log: self.log.clone(),
            config: self.config.clone(),
            clock: Arc::new(SystemClock),
            random: system_random,
        };
        Webhooks::start_at(setup, self.pace.clone())
    }

    /// Creates the Log of a story, or appends its further events.
    pub(super) fn write(&self, story: &Story) -> RunId {
        let run = story.events_run();
        let next = match self.log.create(run) {
            Ok(head) => head.next_seq,
            Err(_) => self.log.next_seq(run).unwrap(),
        };
        let more = &story.events[usize::try_from(next.0 - 1).unwrap()..];
        self.log.append(run, Seq(next.0), more, Durability::Synced).unwrap();
        run
    }

    pub(super) fn remove(&self, run: RunId) {
        self.log.remove(run, skillrun_model::Timestamp::EPOCH).unwrap();
        std::fs::remove_dir_all(self.data.run(run).root()).unwrap();
    }

    pub(super) fn outbox_files(&self) -> usize {
        let names = std::fs::read_dir(self.data.root().join("webhooks")).unwrap().flatten();
        names.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json")).count()
    }
}

/// Waits until the messages of a run satisfy a condition.
pub(super) fn until(webhooks: &Webhooks, run: RunId, is_so: impl Fn(&[Delivery]) -> bool) -> Vec<Delivery> {
    until_true(|| Some(webhooks.records(run).unwrap()).filter(|records| is_so(records)))
}

pub(super) fn until_true<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "it never came to be");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(super) fn watch(webhooks: &Webhooks, run: RunId, urls: &[String]) {
    webhooks.watch(run, webhooks.check_urls(urls).unwrap()).unwrap();
}
