//! The word to stop, heard by everything that waits.

use tokio::sync::watch;

/// Waits until it is said. A sender that is gone has said it too.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    stop.wait_for(|stop| *stop).await.ok();
}
