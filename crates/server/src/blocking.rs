//! Work that waits for files, on threads made for waiting.

/// Carries it out and gives back what it gives. A panic in there goes on here.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that ends cancels it, and then nobody waits for this.
            Err(_) => std::future::pending().await,
        },
    }
}
