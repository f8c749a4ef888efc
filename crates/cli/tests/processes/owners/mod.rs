//! Owners of runs as processes of their own: killed at any moment, beside each other, on full and read-only disks.

mod beside;
mod checks;
mod children;
mod copies;
mod deaf;
mod families;
mod faults;
mod held;
mod kill;
mod log_lines;
mod lost_log;
mod places;
mod quota;
mod secrets;
mod variables;
