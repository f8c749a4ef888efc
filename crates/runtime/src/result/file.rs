//! The file itself.

use std::fs::File;
use std::io::{self, Read};

use skillrun_evidence::whole_file;

use super::RunResult;
use crate::data_folder::RunFolder;

/// Largest that is read. An answer has at most 8 MiB, an output 4 MiB, and a few thousand artifacts a few more.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// Writes `result.json`, on the disk when this returns: the last event of the run comes after it.
pub fn write(folder: &RunFolder, result: &RunResult) -> io::Result<()> {
    // Whole or not there. That its name survives a power failure is not worth a sync: it can be made again.
    whole_file::replace_in_folder(&folder.result(), &text(result)?)
}

/// Reads it; none where there is none.
pub fn read(folder: &RunFolder) -> io::Result<Option<RunResult>> {
    let file = match File::open(folder.result()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// What stands in the file.
pub(crate) fn text(result: &RunResult) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(result)?;
    text.push(b'\n');
    Ok(text)
}
