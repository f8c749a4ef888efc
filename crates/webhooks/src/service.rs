//! The interface for the service.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use skillrun_base::sync::lock;
use skillrun_log::FileLog;
use skillrun_model::RunId;
use skillrun_runs::DataFolder;
use skillrun_runtime::Clock;

use super::address::{self, AddressError, MAX_ADDRESSES, PrivateAddresses, Url};
use super::deliver::Deliverer;
use super::outbox::{Outbox, OutboxError};
use super::record::{Delivery, Record};
use super::secret_file::{self, Random, SecretFileError};
use super::send::Sender;
use super::shared::{Counts, Entry, OnDisk, Pace, Parts, Shared, Thread};
use super::sign::{Secret, SecretError};

/// Time limit for tries under way when the service stops.
const STOPPING: Duration = Duration::from_secs(2);

/// The settings of webhooks.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Addresses that are notified of all runs.
    pub urls: Vec<String>,
    /// `whsec_<base64>`; without one, `webhook.secret` in the data folder.
    pub secret: Option<String>,
    pub private_addresses: PrivateAddresses,
}

pub struct WebhookSetup {
    pub data: DataFolder,
    pub log: Arc<FileLog>,
    pub config: Config,
    pub clock: Arc<dyn Clock>,
    pub random: Random,
}

impl std::fmt::Debug for WebhookSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("data", &self.data).finish_non_exhaustive()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("invalid webhook settings: {0}")]
    Address(#[from] AddressError),
    #[error("invalid webhook settings: {0}")]
    Secret(#[from] SecretError),
    #[error(transparent)]
    SecretFile(#[from] SecretFileError),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    #[error("failed to start a thread for webhooks ({0}); raise the limit of threads")]
    Thread(#[source] io::Error),
}

/// Notifies addresses of the ends and questions of runs, until it is stopped or dropped.
#[derive(Debug)]
pub struct Webhooks {
    shared: Arc<Shared>,
    configured: Vec<Url>,
    private: PrivateAddresses,
    secret_path: std::path::PathBuf,
}

impl Webhooks {
    /// Resumes all pending deliveries. No message is sent for a run that has not been watched.
    pub fn start(setup: WebhookSetup) -> Result<Self, WebhookError> {
        Self::start_at(setup, Pace::default())
    }

    pub(super) fn start_at(setup: WebhookSetup, pace: Pace) -> Result<Self, WebhookError> {
        let WebhookSetup { data, log, config, clock, random } = setup;
        let private = config.private_addresses;
        let configured = address::check(&config.urls, private)?;
        let secret = config.secret.as_deref().map(Secret::parse).transpose()?;
        let secret_path = data.root().join("webhook.secret");
        let (outbox, held) = Outbox::open(data)?;
        let (records, errors) = outbox.load_all()?;
        let sender = Sender::new(private, pace.timeouts);
        let shared = Arc::new(Shared::new(Parts { log, clock, random, outbox, sender, pace, secret }));
        errors.iter().for_each(|error| shared.note_trouble(error));
        let webhooks = Self { shared: shared.clone(), configured, private, secret_path };
        if !webhooks.configured.is_empty() || !records.is_empty() {
            webhooks.secret()?;
        }
        for record in records {
            let run = record.run_id;
            lock(&shared.records).insert(run, Entry { record, on_disk: OnDisk::Same });
            shared.update_inbox(|inbox| {
                inbox.watched.insert(run);
                inbox.looks.insert(run);
            });
        }
        let deliverer = Deliverer::new(shared.clone(), held);
        shared.update_inbox(|inbox| inbox.thread = Thread::Running);
        let started = thread::Builder::new().name("webhooks".to_owned()).spawn(move || deliverer.run());
        if let Err(error) = started {
            // There is no thread to wait for.
            shared.update_inbox(|inbox| inbox.thread = Thread::None);
            return Err(WebhookError::Thread(error));
        }
        Ok(webhooks)
    }

    /// The addresses of a request, each once.
    pub fn check_urls(&self, urls: &[String]) -> Result<Vec<Url>, AddressError> {
        let checked = address::check(urls, self.private)?;
        let all = checked.len() + self.configured.iter().filter(|url| !checked.contains(url)).count();
        if all > MAX_ADDRESSES { Err(AddressError::TooMany { given: all }) } else { Ok(checked) }
    }

    /// Notifies these addresses and the configured ones of a run, from its first event on. On the disk when this
    /// returns.
    ///
    /// A run that was watched before keeps its addresses, and these are added; a finished record stays finished.
    pub fn watch(&self, run: RunId, urls: Vec<Url>) -> Result<(), WebhookError> {
        let mut records = lock(&self.shared.records);
        if let Some(entry) = records.get_mut(&run) {
            let mut record = entry.record.clone();
            if record.add_addresses(&urls) {
                self.shared.outbox.save(&record)?;
                *entry = Entry { record, on_disk: OnDisk::Same };
            }
        } else {
            let mut record = match self.shared.outbox.load(run)? {
                Some(record) if record.is_done() => return Ok(()),
                known => known.unwrap_or_else(|| Record::new(run)),
            };
            record.add_addresses(&[&urls, self.configured.as_slice()].concat());
            if !record.has_addresses() {
                return Ok(());
            }
            self.secret()?;
            self.shared.outbox.save(&record)?;
            records.insert(run, Entry { record, on_disk: OnDisk::Same });
        }
        drop(records);
        self.shared.update_inbox(|inbox| {
            inbox.watched.insert(run);
            inbox.looks.insert(run);
        });
        Ok(())
    }

    /// The Log of this run may have new events. Returns at once, and may be called for any run.
    pub fn check_log(&self, run: RunId) {
        self.shared.check_log(run);
    }

    /// All messages of a run, oldest first.
    pub fn records(&self, run: RunId) -> Result<Vec<Delivery>, WebhookError> {
        Ok(self.shared.outbox.load(run)?.map(|record| record.messages).unwrap_or_default())
    }

    pub fn counts(&self) -> Counts {
        self.shared.counts()
    }

    /// The last error that was not caused by a receiver.
    pub fn last_trouble(&self) -> Option<String> {
        lock(&self.shared.trouble).clone()
    }

    /// The secret that messages are signed with; created now if there is none.
    pub fn secret(&self) -> Result<Secret, WebhookError> {
        let mut known = lock(&self.shared.secret);
        if let Some(secret) = &*known {
            return Ok(secret.clone());
        }
        let secret = secret_file::read_or_make(&self.secret_path, &self.shared.random)?;
        Ok(known.insert(secret).clone())
    }

    /// Starts no more tries and waits briefly for those under way. Undelivered messages stay on the disk.
    pub fn stop(&self) {
        let until = Instant::now() + STOPPING;
        self.shared.update_inbox(|inbox| {
            inbox.stop.get_or_insert(until);
        });
        self.shared.wait(
            |inbox| {
                if inbox.thread == Thread::None || Instant::now() >= until { Ok(()) } else { Err(until) }
            },
        );
    }
}

impl Drop for Webhooks {
    fn drop(&mut self) {
        self.stop();
    }
}
