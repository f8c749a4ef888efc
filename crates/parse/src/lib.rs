//! Bytes to records: lines with offsets, one file per engine profile.
