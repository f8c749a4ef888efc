//! A run as a zip: the result with its artifacts, or everything with the evidence.
