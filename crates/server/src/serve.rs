//! The life cycle of the service: it listens, loads the existing runs, serves, and stops without terminating any run.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use skillrun_catalog::Catalog;
use skillrun_catalog::CatalogError;
use skillrun_model::{Classified, ErrorClass, IgnoredError};
use skillrun_runs::DataFolder;
use skillrun_runs::retention::Retention;
use skillrun_runtime::top_level::{NewRuns, SkillFolders, TopLevelConfig, TopLevelDesk};
use skillrun_runtime::{Clock, Runtime, RuntimeError};
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore, watch};

use crate::blocking::blocking;
use crate::feed::Feeds;
use crate::front::Front;
use crate::guard;
use crate::housekeeping;
use crate::listen;
use crate::metrics::Metrics;
use crate::places::{Bounds, Places};
use crate::routes;
use crate::service::{Complain, ListenConfig, Service, ServiceContext};
use crate::stopping::stopped;
use crate::summaries::{Guard, RowChange, Since, Summaries, SummariesError};
use skillrun_auth::{AuthError, ServerNote, Sessions, Tickets, TokenFile, Tokens, random, server_note};
use skillrun_webhooks::{self as webhooks, WebhookError, Webhooks};

/// Threads for requests; blocking file work has its own threads.
const THREADS: usize = 2;
const WAITING_THREADS: usize = 256;

/// Time limit for background tasks when the server stops.
const BACKGROUND_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of concurrent requests that read much.
const HEAVY: usize = 8;

/// Everything the service is created with.
pub struct ServerSetup {
    pub runtime: Arc<Runtime>,
    pub clock: Arc<dyn Clock>,
    pub listen_config: ListenConfig,
    pub around: ServiceContext,
    pub webhooks: webhooks::Config,
    pub retention: Retention,
    pub complain: Complain,
}

impl std::fmt::Debug for ServerSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("door", &self.listen_config).finish_non_exhaustive()
    }
}

/// Why the service does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("failed to listen on {listen} ({error}); choose another address with --listen")]
    Listen {
        listen: SocketAddr,
        #[source]
        error: io::Error,
    },
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
    Threads(#[source] io::Error),
}

impl Classified for ServeError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Another { .. } => ErrorClass::Busy,
            Self::Auth(error) => at_start(error.class()),
            Self::Runtime(error) => at_start(error.class()),
            Self::Catalog(error) => at_start(error.class()),
            Self::Listen { .. } | Self::Summaries(_) | Self::Webhooks(_) | Self::Threads(_) => ErrorClass::Internal,
        }
    }
}

/// The caller names nothing that could be missing or that could be in another state: these are the files of the server.
fn at_start(class: ErrorClass) -> ErrorClass {
    match class {
        ErrorClass::Usage | ErrorClass::NotFound | ErrorClass::Gone | ErrorClass::Conflict | ErrorClass::Internal => {
            ErrorClass::Internal
        }
        ErrorClass::Busy | ErrorClass::StorageFull => class,
    }
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
        self.note.remove(self.data.root()).ignored();
    }
}

/// Serves until `stop` is called. `on_ready` is called once, when the service is ready.
pub fn serve(
    setup: ServerSetup,
    stop: &Stop,
    on_ready: impl FnOnce(&Serving) + Send + 'static,
) -> Result<Stopped, ServeError> {
    let threads = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(WAITING_THREADS)
        .thread_name("http")
        .enable_all()
        .build()
        .map_err(ServeError::Threads)?;
    let served = threads.block_on(serving(setup, stop, on_ready));
    // Blocking work that is still under way has no client left.
    threads.shutdown_timeout(Duration::from_secs(2));
    served
}

async fn serving(
    setup: ServerSetup,
    stop: &Stop,
    on_ready: impl FnOnce(&Serving) + Send + 'static,
) -> Result<Stopped, ServeError> {
    let ServerSetup { runtime, clock, listen_config, around, webhooks, retention, complain } = setup;
    let has_configured = !webhooks.urls.is_empty();
    let data = runtime.data().clone();
    if let server_note::Server::Running(other) = ServerNote::read(data.root())? {
        return Err(ServeError::Another { pid: other.pid, url: other.url });
    }
    let bound = TcpListener::bind(listen_config.listen).await;
    let listener = bound.map_err(|error| ServeError::Listen { listen: listen_config.listen, error })?;
    let listen = listener.local_addr().map_err(|error| ServeError::Listen { listen: listen_config.listen, error })?;
    let token = TokenFile::load_or_make(&listen_config.token_file, random::bytes()?)?;
    let tickets = Tickets::load_or_make(data.root(), random::bytes()?)?;
    let sessions = Sessions::load(data.root())?;
    let tokens = Tokens::new(token, data.root());
    let guard =
        Arc::new(guard::Guard::new(listen, &listen_config.hosts, &listen_config.origins, tokens, sessions, tickets));
    let metrics = Arc::new(Metrics::new());
    let (router, when_ready) = watch::channel(None);
    let front = Arc::new(Front::new(guard.clone(), metrics.clone(), when_ready, clock.clone(), complain.clone()));
    // It responds from now on; requests that need runs wait until these are loaded.
    let connections = listen::with_descriptors(listen_config.connections);
    if connections < listen_config.connections {
        complain(&format!(
            "the limit of open files leaves room for {connections} connections, and server.connections is {}; raise it",
            listen_config.connections
        ));
    }
    let bounds = Bounds::new(connections);
    let places = Places::new(bounds);
    let accepting = tokio::spawn(listen::serve(listener, front, places.clone(), bounds.all(), stop.0.subscribe()));

    let log = runtime.log().clone();
    let feeds = Feeds::new(log.clone(), data.clone());
    let url = url(listen);
    let (at, note_url, token_file) = (listen, url.clone(), listen_config.token_file.clone());
    let (starting, folder, time) = (runtime.clone(), data.clone(), clock.clone());
    let found = blocking(move || {
        housekeeping::tidy(&folder, time.now());
        let (mut catalog, _) = Catalog::open(&folder.catalog(), &folder.runs())?;
        catalog.refresh(starting.log())?;
        let recovered = starting.recover_from_dead(&mut catalog)?;
        let summaries = Summaries::start(starting.log().clone(), &folder)?;
        let setup = webhooks::WebhookSetup {
            data: folder.clone(),
            log: starting.log().clone(),
            config: webhooks,
            clock: time.clone(),
            random: webhooks::system_random,
        };
        let webhooks = Arc::new(Webhooks::start(setup)?);
        for run in catalog.not_terminal()? {
            webhooks.watch(run, Vec::new())?;
        }
        let listening =
            server_note::Listening { listen: at.to_string(), url: note_url, token_file, started_at: time.now() };
        let note = ServerNote::of_this_process(listening)?;
        note.write(folder.root())?;
        Ok::<_, ServeError>((recovered, summaries, webhooks, note))
    })
    .await;
    let (recovered, summaries, webhooks, note) = match found {
        Ok(found) => found,
        Err(error) => {
            stop.stop();
            drop(router);
            accepting.await.ignored();
            return Err(error);
        }
    };
    let sender = webhooks.clone();
    let _bell = log.subscribe_all(Arc::new(move |run| sender.check_log(run)));
    let _watch = has_configured.then(|| watch_all(&summaries, &webhooks));
    let config = TopLevelConfig {
        skills: around.skills.clone(),
        skill_folders: SkillFolders::Refused,
        cwd: around.cwd.clone(),
        engine: around.engine.clone(),
        workspace: None,
        new_runs: NewRuns::Here,
        clock: clock.clone(),
    };
    let desk = Arc::new(TopLevelDesk::new(runtime.clone(), config, Box::new(routes::ServerKeeper)));
    let service = Arc::new(Service {
        runtime: runtime.clone(),
        data: data.clone(),
        log,
        feeds: feeds.clone(),
        summaries,
        pages: routes::Pages::default(),
        desk: desk.clone(),
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
    on_ready(&Serving {
        url,
        token_file: listen_config.token_file,
        taken_up: recovered.working.len(),
        waiting: recovered.waiting,
        broken: recovered.broken,
    });
    stopped(&mut stop.0.subscribe()).await;
    // Streams end; their clients reconnect with a cursor.
    feeds.stop();
    // So do waits of agents, which would keep their threads.
    desk.stop();
    accepting.await.ignored();
    // The server does not wait for a scan of all runs that is under way.
    tokio::time::timeout(BACKGROUND_STOP_TIMEOUT, keeping).await.ignored();
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
            let sender = webhooks.clone();
            blocking(move || {
                for (_, change) in changes {
                    if let RowChange::Row(row) = change {
                        // A full disk may have space at the next change.
                        sender.watch(row.run_id, Vec::new()).ignored();
                        sender.check_log(row.run_id);
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
