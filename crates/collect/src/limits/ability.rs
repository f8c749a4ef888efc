//! What this machine can do to hold limits, tried once per process.

use std::sync::OnceLock;

use super::groups::Groups;
use super::look;
use skillrun_model::limits::ResourceLimits;

/// What a machine can do to hold limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitAbility {
    /// Control groups for memory and processes can be made.
    pub has_groups: bool,
    /// Processes can be watched, or why not.
    pub watched: Result<(), String>,
}

/// Tries it. The result is kept.
pub fn ability() -> &'static LimitAbility {
    static ABILITY: OnceLock<LimitAbility> = OnceLock::new();
    ABILITY.get_or_init(|| {
        let limits =
            ResourceLimits { memory_bytes: Some(1 << 40), processes: Some(1 << 20), ..ResourceLimits::default() };
        // No process is in it; it is removed at once.
        let has_groups = Groups::create(&format!("try-{}", std::process::id()), limits).is_some();
        LimitAbility { has_groups, watched: look::try_this_process() }
    })
}
