//! Secrets (being written).
