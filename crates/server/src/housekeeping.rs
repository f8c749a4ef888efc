//! What is done without being asked: runs of owners that died are taken up, old ones removed, leftovers cleared, files
//! that nobody reads any more closed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use skillrun_log::Catalog;
use skillrun_model::Timestamp;
use skillrun_runtime::owners::crashed;
use skillrun_runtime::runtime::Recovered;
use skillrun_runtime::{DataFolder, Retention, RuntimeError, requests, retention};
use tokio::sync::watch;

use crate::blocking::blocking;
use crate::service::Service;
use crate::stopping::stopped;

/// How long the runs of an owner that died may be without one, and how often conversations that nobody reads are looked
/// for.
const LOOK: Duration = Duration::from_secs(5);

/// How often old runs are looked for.
const REMOVE: Duration = Duration::from_secs(60 * 60);

/// At the start: what requests of the server before have left.
pub(crate) fn tidy(data: &DataFolder, now: Timestamp) {
    // All of it can be done next time.
    std::fs::remove_dir_all(data.uploads()).ok();
    requests::tidy(data, now);
}

pub(crate) async fn keep(service: Arc<Service>, retention: Retention, mut stop: watch::Receiver<bool>) {
    let retention = Arc::new(retention);
    let mut removed: Option<Instant> = None;
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = stopped(&mut stop) => return,
        }
        let looking = service.clone();
        blocking(move || {
            looking.feeds.let_go();
            take_up_orphans(&looking);
        })
        .await;
        if removed.is_none_or(|at| at.elapsed() >= REMOVE) {
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
    // Where one could not be taken up it is tried again.
    take_up().ok();
}

fn remove_old(service: &Service, rules: &Retention) {
    // What cannot be measured or removed now is the next hour's; `skillrun gc` names it.
    if let Ok(measured) = retention::measure_all(&service.data) {
        let now = service.now();
        retention::carry_out(&service.log, &service.data, &retention::plan(&measured.uses, rules, now), now);
    }
}
