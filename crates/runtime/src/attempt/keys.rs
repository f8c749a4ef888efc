//! The server's own keys, which an engine of the same user can read: they are masked wherever the engine writes them.
//!
//! ```text
//! server.token    the first token, or the file that `server.json` names in its place
//! server.key      the key of sessions
//! webhook.secret  the key of webhooks, without its prefix
//! ```
//!
//! Tokens that were created later are stored as hashes, so they are not known here. A file that does not exist, or
//! cannot be read, contains nothing that this process could mask.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::Deserialize;
use skillrun_collect::plan::Key;
use skillrun_evidence::OsText;
use skillrun_runs::data_folder::DataFolder;

/// No file of a key is longer.
const LONGEST: u64 = 8 << 10;

#[derive(Deserialize)]
struct ServerNote {
    token_file: OsText,
}

pub(super) fn of_server(data: &DataFolder) -> Vec<Key> {
    let file = |name: &str| read(&data.root().join(name));
    let note = file("server.json").and_then(|bytes| serde_json::from_slice::<ServerNote>(&bytes).ok());
    let named = note.and_then(|note| read(note.token_file.as_path()));
    let secret = file("webhook.secret").map(|bytes| bytes.strip_prefix(b"whsec_").map(Vec::from).unwrap_or(bytes));
    let mut keys = Vec::new();
    for text in [file("server.token"), named, secret].into_iter().flatten() {
        keys.push(Key(OsStr::from_bytes(text.trim_ascii()).into()));
    }
    // These are random bytes, so a newline at the end is not stripped.
    keys.extend(file("server.key").map(|bytes| Key(OsStr::from_bytes(&bytes).into())));
    keys.dedup();
    keys
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_data_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = DataFolder::new(folder.path());
        assert_eq!(of_server(&data), []);
        let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).expect("written");
        write("server.token", b"first-token-of-all\n");
        write("other.token", b"the-token-of-an-operator\n");
        let other = folder.path().join("other.token");
        write("server.json", format!("{{\"pid\":1,\"token_file\":\"{}\"}}", other.display()).as_bytes());
        write("webhook.secret", b"whsec_AAECAwQFBgcICQ\n");
        write("server.key", b"\x00\xff raw bytes\n");
        let keys: Vec<_> = of_server(&data).iter().map(|key| key.0.as_bytes().to_vec()).collect();
        let expected: [&[u8]; 4] =
            [b"first-token-of-all", b"the-token-of-an-operator", b"AAECAwQFBgcICQ", b"\x00\xff raw bytes\n"];
        assert_eq!(keys, expected);
    }
}
