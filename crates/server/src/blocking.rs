//! Blocking file work, on threads reserved for it.

/// Runs the work and returns its result. A panic in the work is resumed here.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that shuts down cancels it, and then no task waits for this.
            Err(_) => std::future::pending().await,
        },
    }
}
