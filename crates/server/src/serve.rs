//! The life cycle of the service: it listens, loads the existing runs, serves, and stops without terminating any run.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use skillrun_log::Catalog;
use skillrun_log::catalog::CatalogError;
use skillrun_runtime::{Clock, DataFolder, Retention, Runtime, RuntimeError};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, watch};

use crate::auth::{AuthError, ServerNote, Sessions, Tickets, TokenFile, Tokens, random, server_note};
use crate::blocking::blocking;
use crate::feed::Feeds;
use crate::front::Front;
use crate::guard;
use crate::housekeeping;
use crate::listen;
use crate::metrics::Metrics;
use crate::places::{Bounds, Places};
use crate::routes;
use crate::service::{Around, Complain, Door, Service};
use crate::stopping::stopped;
use crate::summaries::{Change, Guard, Since, Summaries, SummariesError};
use crate::webhooks::{self, WebhookError, Webhooks};

/// Threads for requests; blocking file work has its own threads.
const THREADS: usize = 2;
const WAITING_THREADS: usize = 256;

/// Time limit for background tasks when the server stops.
const CLOSING: Duration = Duration::from_secs(5);

/// Maximum number of concurrent requests that read much.
const HEAVY: usize = 8;

/// Everything the service is created with.
pub struct Setup {
    pub runtime: Arc<Runtime>,
    pub clock: Arc<dyn Clock>,
    pub door: Door,
    pub around: Around,
    pub webhooks: webhooks::Config,
    pub retention: Retention,
    pub complain: Complain,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("door", &self.door).finish_non_exhaustive()
    }
}

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("failed to listen on {listen} ({error}); choose another address with --listen")]
    Listen { listen: SocketAddr, error: io::Error },
    #[error("another server (process {pid}) has this data folder, at {url}; use that one, or give another --data")]
    Another { pid: u32, url: String },
    #[error(transparent)]
    Auth(#[from] AuthError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Summaries(#[from] SummariesError),
    #[error(transparent)]
    Webhooks(#[from] WebhookError),
    #[error("failed to start a thread ({0})")]
    Threads(io::Error),
}

/// What is known once the service is ready.
#[derive(Debug, Clone)]
pub struct Serving {
    pub url: String,
    pub token_file: std::path::PathBuf,
    /// Runs that were found and resumed.
    pub taken_up: usize,
    pub waiting: usize,
    /// Runs that cannot be resumed, and why.
    pub broken: Vec<(skillrun_model::RunId, String)>,
}

/// Stops a service.
#[derive(Debug, Clone)]
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Stop {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// A service that has stopped. It keeps the data folder until this is dropped: runs must be released first.
#[must_use = "the data folder belongs to this service until this is dropped"]
#[derive(Debug)]
pub struct Stopped {
    data: DataFolder,
    note: ServerNote,
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // A note left behind is recognized as that of a dead process.
        self.note.remove(&self.data).ok();
    }
}

/// Serves until `stop` is called. `told` is called once, when the service is ready.
pub fn serve(setup: Setup, stop: &Stop, told: impl FnOnce(&Serving) + Send + 'static) -> Result<Stopped, ServeError> {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(WAITING_THREADS)
        .thread_name("http")
        .enable_all()
        .build()
        .map_err(ServeError::Threads)?;
    let served = threads.block_on(serving(setup, stop, told));
    // Blocking work that is still under way has no client left.
    threads.shutdown_timeout(Duration::from_secs(2));
    served
}

async fn serving(
    setup: Setup,
    stop: &Stop,
    told: impl FnOnce(&Serving) + Send + 'static,
) -> Result<Stopped, ServeError> {
    let Setup { runtime, clock, door, around, webhooks, retention, complain } = setup;
    let has_configured = !webhooks.urls.is_empty();
    let data = runtime.data().clone();
    if let server_note::Server::Running(other) = ServerNote::read(&data)? {
        return Err(ServeError::Another { pid: other.pid, url: other.url });
    }
    let bound = TcpListener::bind(door.listen).await;
    let listener = bound.map_err(|error| ServeError::Listen { listen: door.listen, error })?;
    let listen = listener.local_addr().map_err(|error| ServeError::Listen { listen: door.listen, error })?;
    let token = TokenFile::load_or_make(&door.token_file, random::bytes()?)?;
    let tickets = Tickets::load_or_make(&data, random::bytes()?)?;
    let sessions = Sessions::load(&data)?;
    let tokens = Tokens::new(token, &data);
    let guard = Arc::new(guard::Guard::new(listen, &door.hosts, &door.origins, tokens, sessions, tickets));
    let metrics = Arc::new(Metrics::new());
    let (router, when_ready) = watch::channel(None);
    let front = Arc::new(Front::new(guard.clone(), metrics.clone(), when_ready, clock.clone(), complain.clone()));
    // It responds from now on; requests that need runs wait until these are loaded.
    let connections = listen::with_descriptors(door.connections);
    if connections < door.connections {
        complain(&format!(
            "the limit of open files leaves room for {connections} connections, and server.connections is {}; raise it",
            door.connections
        ));
    }
    let bounds = Bounds::new(connections);
    let places = Places::new(bounds);
    let accepting = tokio::spawn(listen::serve(listener, front, places.clone(), bounds.all(), stop.0.subscribe()));

    let log = runtime.log().clone();
    let feeds = Feeds::new(log.clone(), data.clone());
    let url = url(listen);
    let (at, note_url, token_file) = (listen, url.clone(), door.token_file.clone());
    let (starting, folder, time) = (runtime.clone(), data.clone(), clock.clone());
    let found = blocking(move || {
        housekeeping::tidy(&folder, time.now());
        let (mut catalog, _) = Catalog::open(&folder.catalog(), &folder.runs())?;
        catalog.refresh(starting.log())?;
        let recovered = starting.recover_from_dead(&mut catalog)?;
        let summaries = Summaries::start(starting.log().clone(), &folder)?;
        let setup = webhooks::Setup {
            data: folder.clone(),
            log: starting.log().clone(),
            config: webhooks,
            clock: time.clone(),
            random: webhooks::system_random(),
        };
        let webhooks = Arc::new(Webhooks::start(setup)?);
        for run in catalog.not_terminal()? {
            webhooks.watch(run, Vec::new())?;
        }
        let listening =
            server_note::Listening { listen: at.to_string(), url: note_url, token_file, started_at: time.now() };
        let note = ServerNote::of_this_process(listening)?;
        note.write(&folder)?;
        Ok::<_, ServeError>((recovered, summaries, webhooks, note))
    })
    .await;
    let (recovered, summaries, webhooks, note) = match found {
        Ok(found) => found,
        Err(error) => {
            stop.stop();
            drop(router);
            accepting.await.ok();
            return Err(error);
        }
    };
    let telling = webhooks.clone();
    let _bell = log.subscribe_all(Arc::new(move |run| telling.look(run)));
    let _watch = has_configured.then(|| watch_all(&summaries, &webhooks));
    let service = Arc::new(Service {
        runtime: runtime.clone(),
        data: data.clone(),
        log,
        feeds: feeds.clone(),
        summaries,
        pages: routes::Pages::default(),
        webhooks: webhooks.clone(),
        guard,
        metrics,
        around,
        clock: clock.clone(),
        complain,
        heavy: Arc::new(Semaphore::new(HEAVY)),
        places,
    });
    router.send_replace(Some(routes::router(service.clone())));
    let keeping = tokio::spawn(housekeeping::keep(service, retention, stop.0.subscribe()));
    told(&Serving {
        url,
        token_file: door.token_file,
        taken_up: recovered.working.len(),
        waiting: recovered.waiting,
        broken: recovered.broken,
    });
    stopped(&mut stop.0.subscribe()).await;
    // Streams end; their clients reconnect with a cursor.
    feeds.stop();
    accepting.await.ok();
    // The server does not wait for a scan of all runs that is under way.
    tokio::time::timeout(CLOSING, keeping).await.ok();
    blocking(move || webhooks.stop()).await;
    Ok(Stopped { data, note })
}

/// Configured addresses are notified of every run, whichever process created or owns it: all changes are watched.
fn watch_all(summaries: &Arc<Summaries>, webhooks: &Arc<Webhooks>) -> Guard {
    let bell = Arc::new(Notify::new());
    let rung = bell.clone();
    let guard = summaries.subscribe(Arc::new(move || rung.notify_one()));
    let (summaries, webhooks) = (Arc::downgrade(summaries), webhooks.clone());
    tokio::spawn(async move {
        let mut number = 0;
        loop {
            let Some(summaries) = summaries.upgrade() else { return };
            let since = blocking(move || summaries.since(Some((summaries.epoch(), number)))).await;
            let changes = match since {
                Ok(Since::Changes(changes)) => changes,
                // More changes than are kept; unfinished runs are found at the next start.
                Ok(Since::Reset { number: last, .. }) => {
                    number = last;
                    continue;
                }
                Err(_) => Vec::new(),
            };
            let Some((last, _)) = changes.last() else {
                bell.notified().await;
                continue;
            };
            number = *last;
            let telling = webhooks.clone();
            blocking(move || {
                for (_, change) in changes {
                    if let Change::Row(row) = change {
                        // A full disk may have space at the next change.
                        telling.watch(row.run_id, Vec::new()).ok();
                        telling.look(row.run_id);
                    }
                }
            })
            .await;
        }
    });
    guard
}

fn url(listen: SocketAddr) -> String {
    // For a server that listens on all addresses, the URL is the loopback address.
    let ip = if listen.ip().is_unspecified() { std::net::IpAddr::from([127, 0, 0, 1]) } else { listen.ip() };
    format!("http://{}", SocketAddr::new(ip, listen.port()))
}
