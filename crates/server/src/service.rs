//! The service as handlers see it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use skillrun_engine::Engines;
use skillrun_log::FileLog;
use skillrun_model::Timestamp;
use skillrun_runtime::{Clock, DataFolder, Runtime};
use skillrun_skill::SearchPath;
use tokio::sync::Semaphore;

use crate::blocking::blocking;
use crate::feed::Feeds;
use crate::front::no_place;
use crate::guard::Guard;
use crate::metrics::{Metrics, OpenStream};
use crate::places::{Place, Places};
use crate::problem::Result;
use crate::routes::Pages;
use crate::summaries::Summaries;
use crate::webhooks::Webhooks;

/// Told what went wrong inside: one sentence for whoever keeps the service.
pub type Complain = Arc<dyn Fn(&str) + Send + Sync>;

/// What handlers have.
pub(crate) struct Service {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) data: DataFolder,
    pub(crate) log: Arc<FileLog>,
    pub(crate) feeds: Arc<Feeds>,
    pub(crate) summaries: Arc<Summaries>,
    /// For those who follow all runs.
    pub(crate) pages: Pages,
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) around: Around,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) complain: Complain,
    /// Turns for what reads much.
    pub(crate) heavy: Arc<Semaphore>,
    /// Of connections.
    pub(crate) places: Arc<Places>,
}

/// What requests are filled in with, and where skills and engines are found.
#[derive(Debug)]
pub struct Around {
    pub skills: SearchPath,
    /// Where the service was started.
    pub cwd: PathBuf,
    pub engines: Engines,
    /// For requests that name none.
    pub engine: Option<String>,
    /// Largest body of a request.
    pub body_max: u64,
    /// This program, for engines that are part of it.
    pub own: PathBuf,
    pub user_home: Option<PathBuf>,
    /// The folder of private installs.
    pub programs: Option<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
}

impl Around {
    pub(crate) fn of_engines<'a>(&'a self, runtime: &'a Runtime) -> skillrun_runtime::looking::engines::Around<'a> {
        skillrun_runtime::looking::engines::Around {
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

    /// Work that reads much: only some of it at the same time, so that what is quick never waits for a thread.
    pub(crate) async fn heavily<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        // Never closed, so there is always a turn. It is kept until the work is done, even if nobody waits any more.
        let turn = self.heavy.clone().acquire_owned().await.ok();
        blocking(move || {
            let _turn = turn;
            work()
        })
        .await
    }

    /// Room for one more stream, on the connection of a request.
    pub(crate) fn stream(&self, place: &Place) -> Result<OpenStream> {
        place.stream().map_err(no_place)?;
        Ok(self.metrics.stream())
    }
}

/// Where the service listens and whom it answers.
#[derive(Debug, Clone)]
pub struct Door {
    pub listen: SocketAddr,
    /// More names for this server.
    pub hosts: Vec<String>,
    /// Other pages that may call it.
    pub origins: Vec<String>,
    pub connections: usize,
    pub token_file: PathBuf,
}
