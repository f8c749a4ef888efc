//! The client side: asks the process that owns a run.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

use skillrun_runs::data_folder::DataFolder;
use skillrun_runs::owner_sockets::connect;

use super::message::{Envelope, LINE_MAX, OwnerReply, OwnerRequest, VERSION};

/// How long an owner may take: it syncs to disk before it answers.
const OWNER_REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks the owner with this process id.
pub fn ask(data: &DataFolder, pid: u32, ask: OwnerRequest) -> io::Result<OwnerReply> {
    let owner = connect(&data.owners().join(format!("{pid}.sock")))?;
    owner.set_read_timeout(Some(OWNER_REPLY_TIMEOUT))?;
    owner.set_write_timeout(Some(OWNER_REPLY_TIMEOUT))?;
    let mut line = serde_json::to_vec(&Envelope { skillrun_client: VERSION, ask })?;
    line.push(b'\n');
    (&owner).write_all(&line)?;
    let mut answer = Vec::new();
    BufReader::new((&owner).take(LINE_MAX)).read_until(b'\n', &mut answer)?;
    Ok(serde_json::from_slice(&answer)?)
}
