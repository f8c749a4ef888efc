//! Which folders are let into a box. Part of the plan for a host.

use serde::{Deserialize, Serialize};
use skillrun_evidence::OsText;
use skillrun_model::confinement::{BoxMechanism, NetworkAccess};

/// What a box lets in. Folders of the system that every program needs are let in always, and the host adds the folder
/// for temporary files of the attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxPlan {
    pub mechanism: BoxMechanism,
    pub network: NetworkAccess,
    /// Files and folders that can be read. Those that do not exist are left out.
    pub readable: Vec<OsText>,
    /// Folders that can be written. They must exist.
    pub writable: Vec<OsText>,
}
