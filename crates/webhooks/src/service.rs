//! The interface for the service.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use skillrun_base::sync::lock;
use skillrun_base::wait::wait_until;
use skillrun_log::FileLog;
use skillrun_model::RunId;
use skillrun_runs::DataFolder;
use skillrun_runtime::Clock;

use super::address::{self, AddressError, MAX_ADDRESSES, PrivateAddresses, Url};
use super::outbox::Outbox;
use super::queue::{Inbox, Pace, Queue, Shared, WebhookCounts};
use super::record::{Delivery, FORMAT, Record};
use super::secret::{self, Random, Secret, SecretError};
use super::send::Sender;

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

#[derive(Debug)]
pub struct WebhookSetup {
    pub data: DataFolder,
    pub log: Arc<FileLog>,
    pub config: Config,
    pub clock: Arc<dyn Clock>,
    pub random: Random,
}

#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("invalid webhook settings: {0}")]
    Address(#[from] AddressError),
    #[error("invalid webhook settings: {0}")]
    Secret(#[from] SecretError),
    #[error("{}: {why}; remove the file to create a new secret, which receivers must then be given", path.display())]
    SecretFile { path: PathBuf, why: SecretError },
    #[error("{}: {error}; allow this user to read it and to write to its folder", path.display())]
    SecretAccess { path: PathBuf, error: io::Error },
    #[error("{}: another process sends the webhooks of this data folder; stop it first", path.display())]
    Held { path: PathBuf },
    #[error("{}: written by a later version of skillrun (format {found}, this one reads up to {FORMAT}); use that version", path.display())]
    Newer { path: PathBuf, found: u64 },
    #[error("{}: cannot be parsed ({why}); move it away to start from scratch", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("failed to start a thread for webhooks ({0}); raise the limit of threads")]
    Thread(#[source] io::Error),
}

/// Notifies addresses of the ends and questions of runs, until it is stopped or dropped.
#[derive(Debug)]
pub struct Webhooks {
    pub(super) shared: Arc<Shared>,
    configured: Vec<Url>,
    private: PrivateAddresses,
    secret_path: PathBuf,
    thread: JoinHandle<()>,
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
        let secret_path = data.root().join("webhook.secret");
        let mut secret = config.secret.as_deref().map(Secret::parse).transpose()?;
        let (outbox, lock_file) = Outbox::open(data)?;
        let (records, errors) = outbox.load_all()?;
        if secret.is_none() && !(configured.is_empty() && records.is_empty()) {
            secret = Some(secret::read_or_make(&secret_path, random)?);
        }
        let (bell, rung) = sync_channel(1);
        let mut queue = Queue::new(lock_file);
        errors.iter().for_each(|error| queue.note_trouble(error));
        let mut inbox = Inbox::default();
        records.iter().for_each(|record| inbox.watch(record.run_id));
        records.into_iter().for_each(|record| queue.put(record));
        let shared = Arc::new(Shared {
            log,
            clock,
            random,
            outbox,
            sender: Sender::new(private, pace.timeouts),
            pace,
            secret: secret.map_or_else(OnceLock::new, OnceLock::from),
            queue: Mutex::new(queue),
            inbox: Mutex::new(inbox),
            bell,
            stop: OnceLock::new(),
        });
        let running = shared.clone();
        let thread = thread::Builder::new().name("webhooks".to_owned()).spawn(move || running.run(&rung));
        let thread = thread.map_err(WebhookError::Thread)?;
        Ok(Self { shared, configured, private, secret_path, thread })
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
    pub fn watch(&self, run: RunId, mut urls: Vec<Url>) -> Result<(), WebhookError> {
        let mut queue = lock(&self.shared.queue);
        let mut record = match queue.record(run) {
            Some(_) if urls.is_empty() => {
                self.check_log(run);
                return Ok(());
            }
            Some(record) => record.clone(),
            None => {
                urls.extend_from_slice(&self.configured);
                match self.shared.outbox.load(run)? {
                    Some(record) if record.is_done() => return Ok(()),
                    known => known.unwrap_or_else(|| Record::new(run)),
                }
            }
        };
        let is_changed = record.add_addresses(&urls);
        if record.urls.is_empty() {
            return Ok(());
        }
        if is_changed || queue.record(run).is_none() {
            self.secret()?;
            self.shared.outbox.save(&record)?;
            queue.put(record);
        }
        drop(queue);
        self.shared.watch(run);
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

    pub fn counts(&self) -> WebhookCounts {
        lock(&self.shared.queue).counts()
    }

    /// The secret that messages are signed with; created now if there is none.
    pub fn secret(&self) -> Result<Secret, WebhookError> {
        if let Some(secret) = self.shared.secret.get() {
            return Ok(secret.clone());
        }
        let secret = secret::read_or_make(&self.secret_path, self.shared.random)?;
        Ok(self.shared.secret.get_or_init(|| secret).clone())
    }

    /// Starts no more tries and waits briefly for those under way. Undelivered messages stay on the disk.
    pub fn stop(&self) {
        self.shared.stop.get_or_init(|| Instant::now() + STOPPING);
        self.shared.ring();
        // The thread ends by itself after the time limit.
        wait_until(2 * STOPPING, Duration::from_millis(2), || self.thread.is_finished());
    }
}

impl Drop for Webhooks {
    fn drop(&mut self) {
        self.stop();
    }
}
