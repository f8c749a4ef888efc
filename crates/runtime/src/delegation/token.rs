//! The token that the process of an attempt shows at the socket of its run. Only its hash is on disk. A process that
//! continues with the next attempt keeps its token; another process gets another one.

use std::fs;
use std::io;
use std::path::PathBuf;

use skillrun_base::whole_file;
use skillrun_collect::start::random_nonce;
use skillrun_model::RunId;
use skillrun_runs::data_folder::{DataFolder, RunFolder};

fn file(folder: &RunFolder) -> PathBuf {
    folder.audit().join("delegation-token")
}

/// A new token for the process that is started next; earlier ones are not valid any more.
pub(crate) fn issue(folder: &RunFolder) -> io::Result<String> {
    let token = random_nonce()?;
    whole_file::replace(&file(folder), hash(&token).as_bytes())?;
    Ok(token)
}

/// Whether this is the token of the process that was started last.
pub(crate) fn is_valid(folder: &RunFolder, token: &str) -> bool {
    fs::read_to_string(file(folder)).is_ok_and(|known| known == hash(token))
}

fn hash(token: &str) -> String {
    blake3::hash(token.as_bytes()).to_hex().to_string()
}

/// The name of each socket in its folder.
pub(crate) const SOCKET: &str = "sock";

/// The socket of a run.
pub(crate) fn socket(data: &DataFolder, run: RunId) -> PathBuf {
    folder(data, run).join(SOCKET)
}

/// The folder of the socket of a run. It stays until the run is over: an engine in a box sees this folder, and with it the
/// socket of the next owner.
pub(crate) fn folder(data: &DataFolder, run: RunId) -> PathBuf {
    data.delegation().join(run.to_string())
}

/// The run is over.
pub(crate) fn remove_folder(data: &DataFolder, run: RunId) -> io::Result<()> {
    fs::remove_dir(folder(data, run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_token_is_valid() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = RunFolder::at(place.path());
        fs::create_dir(folder.audit()).expect("created");
        assert!(!is_valid(&folder, ""));
        let first = issue(&folder).expect("issued");
        assert!(is_valid(&folder, &first) && !is_valid(&folder, "") && !is_valid(&folder, &hash(&first)));
        let second = issue(&folder).expect("issued");
        assert!(is_valid(&folder, &second) && !is_valid(&folder, &first));
        let on_disk = fs::read_to_string(file(&folder)).expect("a file");
        assert!(!on_disk.contains(&second), "only the hash is on disk");
    }
}
