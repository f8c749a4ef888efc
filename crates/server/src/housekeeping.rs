//! Background tasks: resume runs whose owner process died, remove old runs, clear leftovers, close files without
//! readers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skillrun_catalog::Catalog;
use skillrun_model::Timestamp;
use skillrun_runs::owner_sockets::crashed;
use skillrun_runs::retention::{self, Retention};
use skillrun_runs::{DataFolder, request_entries};
use skillrun_runtime::runtime::Recovered;
use tokio::sync::watch;

use crate::blocking::blocking;
use crate::service::Service;
use crate::stopping::stopped;
use skillrun_model::IgnoredError;
use skillrun_runtime::RuntimeError;

/// Interval at which runs whose owner process died are resumed and conversations without readers are closed.
const ORPHAN_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Interval at which old runs are removed.
const RETENTION_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// At the start: removes files that requests of the previous server process left behind.
pub(crate) fn tidy(data: &DataFolder, now: Timestamp) {
    // A failure here is retried at the next start.
    std::fs::remove_dir_all(data.uploads()).ignored();
    request_entries::tidy(data, now);
}

pub(crate) async fn keep(service: Arc<Service>, retention: Retention, mut stop: watch::Receiver<bool>) {
    let retention = Arc::new(retention);
    let mut removed: Option<Instant> = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(ORPHAN_CHECK_INTERVAL) => {}
            () = stopped(&mut stop) => return,
        }
        let looking = service.clone();
        blocking(move || {
            looking.feeds.let_go();
            take_up_orphans(&looking);
        })
        .await;
        if removed.is_none_or(|at| at.elapsed() >= RETENTION_INTERVAL) {
            removed = Some(Instant::now());
            let (removing, retention) = (service.clone(), retention.clone());
            blocking(move || remove_old(&removing, &retention)).await;
        }
    }
}

fn take_up_orphans(service: &Service) {
    if crashed(&service.data).is_empty() {
        return;
    }
    let take_up = || -> Result<Recovered, RuntimeError> {
        let (mut catalog, _) = Catalog::open(&service.data.catalog(), &service.data.runs())?;
        catalog.refresh(&service.log)?;
        service.runtime.recover_from_dead(&mut catalog)
    };
    // A run that could not be resumed is retried in the next round.
    take_up().ignored();
}

fn remove_old(service: &Service, rules: &Retention) {
    // A run that cannot be measured or removed is retried in the next round; `skillrun gc` lists it.
    if let Ok(measured) = retention::measure_all(&service.data) {
        let now = service.now();
        retention::carry_out(&service.log, &service.data, &retention::plan(&measured.uses, rules, now), now);
    }
}
