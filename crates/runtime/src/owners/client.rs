//! The client side: asks the process that owns a run.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::listen::connect;
use super::message::{Envelope, LINE_MAX, OwnerReply, OwnerRequest, VERSION};
use crate::data_folder::DataFolder;

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

/// The process whose socket this is or was.
pub(crate) fn pid_of(socket: &std::path::Path) -> Option<u32> {
    let name = socket.file_stem()?.to_str()?;
    name.strip_prefix("was-").unwrap_or(name).parse().ok()
}

/// Sockets of owners that died without closing them. No process owns their runs now.
pub fn crashed(data: &DataFolder) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.owners()).into_iter().flatten().flatten();
    let is_dead = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "sock")
            && connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    entries.map(|entry| entry.path()).filter(is_dead).collect()
}
