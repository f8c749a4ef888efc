//! The stop signal, which everything that waits observes.

use skillrun_model::IgnoredError;
use tokio::sync::watch;

/// Waits for the stop signal. A dropped sender counts as the signal.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    stop.wait_for(|stop| *stop).await.ignored();
}
