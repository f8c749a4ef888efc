//! The secret that messages are signed with, and signatures of Standard Webhooks: HMAC-SHA256 over
//! `id.timestamp.body`.
//!
//! If none is configured it is in `<data>/webhook.secret`, which is created once and readable only by its owner.

use std::fmt;
use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use skillrun_base::files::{self, FileReadError};
use skillrun_base::whole_file;

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
    if !path.try_exists().map_err(io)? {
        let mut key = [0; 32];
        random(&mut key).map_err(io)?;
        whole_file::create_once(path, format!("{}\n", Secret::from_random(key).reveal()).as_bytes()).map_err(io)?;
    }
    let text = files::read_text(path, FILE_MAX_BYTES).map_err(|error| match error {
        FileReadError::Io(error) => io(error),
        FileReadError::Problem(problem) => io(io::Error::other(format!("it {problem}"))),
    })?;
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
        let long = format!("{PREFIX}{}", STANDARD.encode([0; 65]));
        for (text, why) in [
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", SecretError::Prefix),
            ("whsec_!", SecretError::Base64),
            ("whsec_", SecretError::Length { bytes: 0 }),
            (&long, SecretError::Length { bytes: 65 }),
        ] {
            assert_eq!(Secret::parse(text), Err(why), "{text}");
        }
    }

    #[test]
    fn is_made_once_and_private_and_a_bad_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("webhook.secret");
        let made = read_or_make(&path, system_random).unwrap();
        assert_eq!(read_or_make(&path, system_random).unwrap(), made);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
        assert_ne!(made, Secret::from_random([0; 32]));
        std::fs::write(&path, "whsec_AAAA").unwrap();
        let error = read_or_make(&path, system_random).unwrap_err();
        assert!(matches!(error, WebhookError::SecretFile { why: SecretError::Length { bytes: 3 }, .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "whsec_AAAA");
    }
}
