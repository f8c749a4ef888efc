//! The client side: asks the process that owns a run.

use std::io;
use std::time::Duration;

use skillrun_base::unix_socket::exchange_line;
use skillrun_runs::data_folder::DataFolder;

use super::message::{Envelope, LINE_MAX, OwnerReply, OwnerRequest, VERSION};

/// How long an owner may take: it syncs to disk before it answers.
const OWNER_REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks the owner with this process id.
pub fn ask(data: &DataFolder, pid: u32, ask: OwnerRequest) -> io::Result<OwnerReply> {
    let socket = data.owners().join(format!("{pid}.sock"));
    let line = serde_json::to_vec(&Envelope { skillrun_client: VERSION, ask })?;
    let answer = exchange_line(&socket, line, OWNER_REPLY_TIMEOUT, LINE_MAX)?;
    Ok(serde_json::from_slice(&answer)?)
}
