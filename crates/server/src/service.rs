//! The service as handlers see it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use skillrun_engine::Engines;
use skillrun_log::FileLog;
use skillrun_model::Timestamp;
use skillrun_runs::DataFolder;
use skillrun_runtime::top_level::TopLevelDesk;
use skillrun_runtime::{Clock, Runtime};
use skillrun_skill::SearchPath;
use tokio::sync::Semaphore;

use crate::blocking::blocking;
use crate::feed::Feeds;
use crate::front::no_place;
use crate::guard::Guard;
use crate::metrics::{Metrics, OpenStream};
use crate::places::{ConnectionPlace, Places};
use crate::problem::HttpResult;
use crate::routes::Pages;
use crate::summaries::Summaries;
use skillrun_webhooks::Webhooks;

/// Reports an internal error: one sentence for the operator of the service.
pub type Complain = Arc<dyn Fn(&str) + Send + Sync>;

/// The state that handlers share.
pub(crate) struct Service {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) data: DataFolder,
    pub(crate) log: Arc<FileLog>,
    pub(crate) feeds: Arc<Feeds>,
    pub(crate) summaries: Arc<Summaries>,
    /// For clients that follow all runs.
    pub(crate) pages: Pages,
    /// For the tools of agents.
    pub(crate) desk: Arc<TopLevelDesk>,
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) around: ServiceContext,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) complain: Complain,
    /// Permits for requests that read much.
    pub(crate) heavy: Arc<Semaphore>,
    /// The places for connections.
    pub(crate) places: Arc<Places>,
}

/// The defaults of requests, and where skills and engines are found.
#[derive(Debug)]
pub struct ServiceContext {
    pub skills: SearchPath,
    /// The folder in which the service was started.
    pub cwd: PathBuf,
    pub engines: Engines,
    /// The engine for requests that name none.
    pub engine: Option<String>,
    /// Maximum size of a request body.
    pub body_max: u64,
    /// The path of this program, for engines that are part of it.
    pub own: PathBuf,
    pub user_home: Option<PathBuf>,
    /// The folder of private installs.
    pub programs: Option<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
}

impl ServiceContext {
    pub(crate) fn of_engines<'a>(&'a self, runtime: &'a Runtime) -> skillrun_runtime::engines::EngineContext<'a> {
        skillrun_runtime::engines::EngineContext {
            own: &self.own,
            cwd: &self.cwd,
            user_home: self.user_home.as_deref(),
            programs: self.programs.as_deref(),
            environment: &self.environment,
            consents: runtime.consent_setting(),
            data: Some(runtime.data()),
        }
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("data", &self.data).finish_non_exhaustive()
    }
}

impl Service {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Work that reads much: limited in number, so that quick requests never wait for a thread.
    pub(crate) async fn heavily<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        // The semaphore is never closed, so there is always a permit. It is held until the work is done, even if the
        // client has disconnected.
        let turn = self.heavy.clone().acquire_owned().await.ok();
        blocking(move || {
            let _turn = turn;
            work()
        })
        .await
    }

    /// Room for one more stream, on the connection of a request.
    pub(crate) fn stream(&self, place: &ConnectionPlace) -> HttpResult<OpenStream> {
        place.stream().map_err(no_place)?;
        Ok(self.metrics.stream())
    }
}

/// Where the service listens and which hosts and origins it accepts.
#[derive(Debug, Clone)]
pub struct ListenConfig {
    pub listen: SocketAddr,
    /// More names for this server.
    pub hosts: Vec<String>,
    /// Other origins that may call it.
    pub origins: Vec<String>,
    pub connections: usize,
    pub token_file: PathBuf,
}
