//! The secret that messages are signed with, and signatures of Standard Webhooks: HMAC-SHA256 over
//! `id.timestamp.body`.
//!
//! If none is configured it is in `<data>/webhook.secret`, which is created once and readable only by its owner.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::service::WebhookError;

/// A file with a secret has at most 94 bytes.
const FILE_MAX_BYTES: u64 = 1024;

const PREFIX: &str = "whsec_";

/// The key lengths that the standard requires.
const SHORTEST: usize = 24;
const LONGEST: usize = 64;

/// Why a text is not a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("a webhook secret must begin with {PREFIX}, followed by the base64 of the key")]
    Prefix,
    #[error("the text after {PREFIX} is not base64; copy the secret again")]
    Base64,
    #[error("the key has {bytes} bytes; use {SHORTEST} to {LONGEST} random bytes")]
    Length { bytes: usize },
}

/// The key shared with receivers. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    key: Vec<u8>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// Reads `whsec_<base64>`.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let base64 = text.trim().strip_prefix(PREFIX).ok_or(SecretError::Prefix)?;
        let key = STANDARD_PAD_INDIFFERENT.decode(base64).map_err(|_| SecretError::Base64)?;
        if !(SHORTEST..=LONGEST).contains(&key.len()) {
            return Err(SecretError::Length { bytes: key.len() });
        }
        Ok(Self { key })
    }

    pub(super) fn from_random(key: [u8; 32]) -> Self {
        Self { key: key.to_vec() }
    }

    /// The form in which receivers get it.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.key))
    }

    /// The value of `webhook-signature`.
    pub(super) fn sign(&self, id: &str, unix_seconds: u64, body: &str) -> String {
        // A key of any length is accepted, so the other arm is never reached.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else { return String::new() };
        for part in [id, ".", &unix_seconds.to_string(), ".", body] {
            mac.update(part.as_bytes());
        }
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// Fills a buffer with random bytes.
pub type Random = fn(&mut [u8]) -> io::Result<()>;

/// The machine's.
pub fn system_random(bytes: &mut [u8]) -> io::Result<()> {
    Ok(rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty()).map(|_| ())?)
}

/// Reads the secret, or creates it. Two processes that create it at the same time get the same one.
pub(super) fn read_or_make(path: &Path, random: Random) -> Result<Secret, WebhookError> {
    let io = |error| WebhookError::SecretAccess { path: path.to_owned(), error };
    if path.try_exists().map_err(io)? {
        return read(path);
    }
    let mut key = [0; 32];
    random(&mut key).map_err(io)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    // Its mode is 0600 from its creation.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
    writeln!(file, "{}", Secret::from_random(key).reveal()).map_err(io)?;
    file.as_file().sync_all().map_err(io)?;
    match file.persist_noclobber(path) {
        Ok(_) => skillrun_base::whole_file::sync_folder(folder).map_err(io)?,
        Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(refused) => return Err(io(refused.error)),
    }
    read(path)
}

fn read(path: &Path) -> Result<Secret, WebhookError> {
    let io = |error| WebhookError::SecretAccess { path: path.to_owned(), error };
    let mut text = String::new();
    File::open(path).map_err(io)?.take(FILE_MAX_BYTES).read_to_string(&mut text).map_err(io)?;
    Secret::parse(&text).map_err(|why| WebhookError::SecretFile { path: path.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn signs_as_other_implementations_do() {
        // Known to the libraries of the standard, and computed again with another HMAC.
        let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_read_as_it_is_written_and_not_shown() {
        let secret = Secret::from_random([7; 32]);
        assert_eq!(Secret::parse(&secret.reveal()), Ok(secret.clone()));
        assert_eq!(Secret::parse(&format!("{}\n", secret.reveal().trim_end_matches('='))), Ok(secret.clone()));
        assert_eq!(format!("{secret:?}"), "Secret(..)");
    }

    #[test]
    fn bad_secrets_are_refused() {
        assert_eq!(Secret::parse("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), Err(SecretError::Prefix));
        assert_eq!(Secret::parse("whsec_!"), Err(SecretError::Base64));
        assert_eq!(Secret::parse("whsec_"), Err(SecretError::Length { bytes: 0 }));
        let long = format!("{PREFIX}{}", STANDARD.encode([0; 65]));
        assert_eq!(Secret::parse(&long), Err(SecretError::Length { bytes: 65 }));
    }

    #[test]
    fn is_made_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("webhook.secret");
        let made = read_or_make(&path, system_random).unwrap();
        assert_eq!(read_or_make(&path, system_random).unwrap(), made);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        assert_ne!(made, Secret::from_random([0; 32]));
    }

    #[test]
    fn a_bad_secret_is_reported_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("webhook.secret");
        std::fs::write(&path, "whsec_AAAA").unwrap();
        let error = read_or_make(&path, system_random).unwrap_err();
        assert!(matches!(error, WebhookError::SecretFile { why: SecretError::Length { bytes: 3 }, .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "whsec_AAAA");
    }
}
