//! How the process of a run asks its owner for other runs: over a Unix socket, one JSON line each way per connection.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use skillrun_base::unix_socket::exchange_line;
use skillrun_model::delegation::{DelegationRequest, DelegationResponse};

/// The variable with the path of the socket.
pub const SOCKET_VARIABLE: &str = "SKILLRUN_DELEGATION_SOCKET";

/// The variable with the token of the process.
pub const TOKEN_VARIABLE: &str = "SKILLRUN_DELEGATION_TOKEN";

/// Version of the messages.
pub const VERSION: u32 = 1;

/// Longest request.
pub const REQUEST_MAX: u64 = 1 << 20;

/// Longest answer.
const ANSWER_MAX: u64 = 16 << 20;

/// How long an owner may take to answer. The longest wait is shorter.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);

/// Where the owner of a run listens for requests of its process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegationAddress {
    pub socket: PathBuf,
    pub token: String,
}

/// A request with the token of its process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelegationEnvelope {
    pub skillrun_delegation: u32,
    pub token: String,
    pub ask: DelegationRequest,
}

impl DelegationAddress {
    /// None outside of a run that may delegate.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let socket = variable(SOCKET_VARIABLE).filter(|path| !path.is_empty())?;
        let token = variable(TOKEN_VARIABLE)?.into_string().ok()?;
        Some(Self { socket: socket.into(), token })
    }

    /// Sends one request, and waits for the response.
    pub fn ask(&self, ask: DelegationRequest) -> io::Result<DelegationResponse> {
        self.ask_within(ask, ANSWER_TIMEOUT)
    }

    /// The same, for at most this long.
    pub fn ask_within(&self, ask: DelegationRequest, time: Duration) -> io::Result<DelegationResponse> {
        let envelope = DelegationEnvelope { skillrun_delegation: VERSION, token: self.token.clone(), ask };
        let answer = exchange_line(&self.socket, serde_json::to_vec(&envelope)?, time, ANSWER_MAX)?;
        Ok(serde_json::from_slice(&answer)?)
    }
}
