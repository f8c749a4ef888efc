//! Which folders and hosts are let into a box. Part of the plan for a host process.

use serde::{Deserialize, Serialize};
use skillrun_evidence::OsText;
use skillrun_model::confinement::{BoxMechanism, HostPattern};

/// What a box lets in. Folders of the system that every program needs are let in always, and the host process adds the
/// folder for temporary files of the attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxPlan {
    pub mechanism: BoxMechanism,
    pub network: NetworkPlan,
    /// Files and folders that can be read. Those that do not exist are left out.
    pub readable: Vec<OsText>,
    /// Folders that can be written. They must exist.
    pub writable: Vec<OsText>,
}

/// What a box reaches over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkPlan {
    /// The network of the user.
    Open,
    /// A network of its own, from which only these hosts can be reached; maybe none.
    Only(Vec<HostPattern>),
}

impl NetworkPlan {
    pub fn is_open(&self) -> bool {
        match self {
            Self::Open => true,
            Self::Only(_) => false,
        }
    }

    /// Whether nothing can be reached.
    pub fn has_no_host(&self) -> bool {
        match self {
            Self::Open => false,
            Self::Only(hosts) => hosts.is_empty(),
        }
    }
}
