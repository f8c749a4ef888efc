//! Snapshots (being written).
