//! `<data>/webhook.secret`: the secret if none is configured. Created once, readable only by its owner.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skillrun_base::whole_file;

use super::sign::{Secret, SecretError};

/// A secret has at most 94 bytes.
const MAX_BYTES: u64 = 1024;

/// Fills a buffer with random bytes.
pub type Random = Arc<dyn Fn(&mut [u8]) -> io::Result<()> + Send + Sync>;

/// The machine's.
pub fn system_random() -> Random {
    Arc::new(|bytes| {
        rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty()).map(|_| ()).map_err(io::Error::from)
    })
}

#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    #[error("{}: {why}; remove the file to create a new secret, which receivers must then be given", path.display())]
    Bad { path: PathBuf, why: SecretError },
    #[error("{}: {error}; allow this user to read it and to write to its folder", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Reads the secret, or creates it. Two processes that create it at the same time get the same one.
pub(super) fn read_or_make(path: &Path, random: &Random) -> Result<Secret, SecretFileError> {
    let io = |error| SecretFileError::Io { path: path.to_owned(), error };
    match read(path) {
        Err(SecretFileError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
        other @ (Ok(_) | Err(SecretFileError::Io { .. } | SecretFileError::Bad { .. })) => return other,
    }
    let mut key = [0; 32];
    random(&mut key).map_err(io)?;
    let text = format!("{}\n", Secret::from_random(key).reveal());
    whole_file::create_once(path, text.as_bytes()).map_err(io)?;
    read(path)
}

fn read(path: &Path) -> Result<Secret, SecretFileError> {
    let io = |error| SecretFileError::Io { path: path.to_owned(), error };
    let mut text = String::new();
    File::open(path).map_err(io)?.take(MAX_BYTES).read_to_string(&mut text).map_err(io)?;
    Secret::parse(&text).map_err(|why| SecretFileError::Bad { path: path.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn is_made_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("webhook.secret");
        let made = read_or_make(&path, &system_random()).unwrap();
        assert_eq!(read_or_make(&path, &system_random()).unwrap(), made);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        assert_ne!(made, Secret::from_random([0; 32]));
    }

    #[test]
    fn a_bad_secret_is_reported_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("webhook.secret");
        std::fs::write(&path, "whsec_AAAA").unwrap();
        let error = read_or_make(&path, &system_random()).unwrap_err();
        assert!(matches!(error, SecretFileError::Bad { why: SecretError::Length { bytes: 3 }, .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "whsec_AAAA");
    }
}
