//! Carries out what `lifecycle` decides. The only place where things meet; no truth is held in memory alone.
//!
//! - `data_folder`: where everything lies. `record`: `run.json`. `limits`, `clock`: what is handed in.
//! - `result`, `artifacts`, `bundle`: what a run leaves. `cache`: results that can be used again.
//! - `retention`: what is removed.

pub mod artifacts;
pub mod bundle;
pub mod cache;
pub mod clock;
pub mod data_folder;
pub mod limits;
pub mod record;
pub mod result;
pub mod retention;

pub use clock::{Clock, SystemClock};
pub use data_folder::{DataFolder, RunFolder};
pub use limits::{Keep, Retention, SlotLimits};
pub use record::{RecordError, RunRecord};
