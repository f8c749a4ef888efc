//! The Log (being written).
