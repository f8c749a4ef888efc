//! Browser sessions. A browser that logged in with a one-time link has its own token, which its page keeps in the
//! storage of its origin and sends as `Authorization: Bearer`.
//!
//! ```text
//! DATA/sessions.json     [{"hash": "<blake3 of the token, hex>", "created_at": "…", "expires_at": "…"}]
//! ```
//!
//! Only the running server writes the file, so a restart ends no session. A session that was ended is refused from then
//! on. Removing the file while no server runs ends every session.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use skillrun_base::sync::lock;
use skillrun_model::Timestamp;

use super::error::{AuthError, TokenFileProblem};
use super::private_file;
use super::scope::{Granted, Scope, Who};
use super::token::{LENGTH_MAX, TokenHash};

const SECOND_NANOS: u64 = 1_000_000_000;
pub const LIFETIME_SECONDS: u64 = 30 * 24 * 60 * 60;
/// Tolerance for clocks that are set back a little.
const SLACK_SECONDS: u64 = 24 * 60 * 60;
/// Maximum number of sessions; a new one replaces the oldest.
pub const COUNT_MAX: usize = 1_000;
/// Several times the size that the maximum number of sessions needs.
const FILE_MAX: u64 = 1024 * 1024;
/// The prefix of session tokens; other tokens have another one.
const PREFIX: &str = "sks_";

/// Identifies a session in texts and files. It is not a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId([u8; 8]);

impl SessionId {
    fn of(hash: &TokenHash) -> Self {
        let mut id = [0; 8];
        id.copy_from_slice(&hash.as_bytes()[..8]);
        Self(id)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hex.then(|| u64::from_str_radix(text, 16).ok()).flatten().map(|number| Self(number.to_be_bytes()))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Session {
    hash: TokenHash,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl Session {
    fn id(&self) -> SessionId {
        SessionId::of(&self.hash)
    }

    /// A session that lasts much longer than any this server creates is from before the clock was set back.
    fn is_good(&self, now: Timestamp) -> bool {
        now < self.expires_at && self.expires_at <= now.plus_nanos((LIFETIME_SECONDS + SLACK_SECONDS) * SECOND_NANOS)
    }
}

/// A new session. The token is shown only once.
#[derive(Clone, PartialEq, Eq)]
pub struct NewSession {
    pub token: String,
    pub expires_at: Timestamp,
}

impl fmt::Debug for NewSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewSession").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// All sessions.
#[derive(Debug)]
pub struct Sessions {
    path: PathBuf,
    /// Oldest first.
    open: RwLock<Arc<[Session]>>,
    /// Held while the file is written, so that checks do not wait for the disk.
    writing: Mutex<()>,
}

impl Sessions {
    pub fn load(data: &Path) -> Result<Self, AuthError> {
        let path = data.join("sessions.json");
        let open: Vec<Session> = match private_file::read(&path, FILE_MAX)? {
            None => Vec::new(),
            Some((bytes, _)) => serde_json::from_slice(&bytes).map_err(|error| AuthError::Content {
                path: path.clone(),
                problem: TokenFileProblem::DamagedSessions(error.to_string()),
            })?,
        };
        Ok(Self { path, open: RwLock::new(open.into()), writing: Mutex::new(()) })
    }

    fn open(&self) -> Arc<[Session]> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Starts a session. It is on the disk before this returns.
    pub fn begin(&self, now: Timestamp, random: [u8; 32]) -> Result<NewSession, AuthError> {
        let token = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
        let expires_at = now.plus_nanos(LIFETIME_SECONDS * SECOND_NANOS);
        let session = Session { hash: TokenHash::of(token.as_bytes()), created_at: now, expires_at };
        self.change(|open| {
            open.retain(|known| known.is_good(now));
            let too_many = (open.len() + 1).saturating_sub(COUNT_MAX);
            open.drain(..too_many);
            open.push(session);
        })?;
        Ok(NewSession { token, expires_at })
    }

    /// Ends a session: its token is refused from now on.
    pub fn end(&self, id: SessionId) -> Result<(), AuthError> {
        self.change(|open| open.retain(|known| known.id() != id))
    }

    /// The session of a token, if it is still valid.
    ///
    /// The time this takes reveals nothing about any token: all hashes are compared, in constant time.
    pub fn check(&self, presented: &[u8], now: Timestamp) -> Option<Granted> {
        if presented.len() > LENGTH_MAX || !presented.starts_with(PREFIX.as_bytes()) {
            return None;
        }
        let hash = TokenHash::of(presented);
        let mut found = None;
        for session in &*self.open() {
            let is_same = session.hash == hash;
            if is_same & session.is_good(now) {
                found = Some(Granted { name: Who::Browser(session.id()), scope: Scope::Admin });
            }
        }
        found
    }

    pub fn is_open(&self, id: SessionId, now: Timestamp) -> bool {
        self.open().iter().any(|session| session.id() == id && session.is_good(now))
    }

    /// If the file cannot be written, nothing changes.
    fn change(&self, change: impl FnOnce(&mut Vec<Session>)) -> Result<(), AuthError> {
        let _writing = lock(&self.writing);
        let mut open = self.open().to_vec();
        change(&mut open);
        let failed = |error: serde_json::Error| AuthError::file(&self.path, "written")(error.into());
        let mut text = serde_json::to_vec_pretty(&open).map_err(failed)?;
        text.push(b'\n');
        private_file::replace(&self.path, &text)?;
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = open.into();
        Ok(())
    }
}

/// Whole seconds since 1970; earlier times count as 1970.
pub(super) fn unix_seconds(moment: Timestamp) -> u64 {
    moment.millis_since(Timestamp::EPOCH).unwrap_or(0) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, almost, now};
    use proptest::prelude::*;
    use skillrun_base::files::FileProblem;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn sessions() -> (tempfile::TempDir, PathBuf, Sessions) {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().to_owned();
        let sessions = Sessions::load(&data).unwrap();
        (dir, data, sessions)
    }

    fn id(granted: &Granted) -> SessionId {
        match &granted.name {
            Who::Browser(id) => *id,
            Who::FirstToken | Who::Token(_) => panic!("{granted:?}"),
        }
    }

    #[test]
    fn a_session_is_good_for_thirty_days() {
        let (_dir, _data, sessions) = sessions();
        let NewSession { token, expires_at } = sessions.begin(now(), [5; 32]).unwrap();
        assert!(token.starts_with("sks_BQUF") && token.len() == 47, "{token}");
        assert_eq!(expires_at, after(LIFETIME_SECONDS));
        let granted = sessions.check(token.as_bytes(), now()).unwrap();
        assert_eq!(granted.scope, Scope::Admin);
        assert!(sessions.is_open(id(&granted), now()));
        assert!(sessions.check(token.as_bytes(), after(LIFETIME_SECONDS - 1)).is_some());
        assert_eq!(sessions.check(token.as_bytes(), after(LIFETIME_SECONDS)), None);
        assert!(!sessions.is_open(id(&granted), after(LIFETIME_SECONDS)));
        assert_eq!(SessionId::parse(&id(&granted).to_string()), Some(id(&granted)));
        let shown = format!("{:?} {:?}", sessions, sessions.begin(now(), [6; 32]).unwrap());
        assert!(!shown.contains("sks_"), "{shown}");
    }

    #[test]
    fn a_session_that_was_ended_is_refused_and_the_others_stay() {
        let (_dir, data, sessions) = sessions();
        let [one, other] = [[1; 32], [2; 32]].map(|random| sessions.begin(now(), random).unwrap().token);
        let granted = sessions.check(one.as_bytes(), now()).unwrap();
        sessions.end(id(&granted)).unwrap();
        let again = Sessions::load(&data).unwrap();
        for sessions in [&sessions, &again] {
            assert_eq!(sessions.check(one.as_bytes(), now()), None);
            assert!(!sessions.is_open(id(&granted), now()));
            assert!(sessions.check(other.as_bytes(), now()).is_some());
        }
        sessions.end(id(&granted)).unwrap();
    }

    #[test]
    fn a_session_outlives_the_server_and_its_file_has_no_token() {
        let (dir, data, sessions) = sessions();
        let token = sessions.begin(now(), [5; 32]).unwrap().token;
        let path = dir.path().join("sessions.json");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!fs::read_to_string(&path).unwrap().contains(&token[8..20]));
        assert!(Sessions::load(&data).unwrap().check(token.as_bytes(), now()).is_some());
        fs::remove_file(&path).unwrap();
        assert_eq!(Sessions::load(&data).unwrap().check(token.as_bytes(), now()), None);
    }

    #[test]
    fn a_file_that_cannot_be_trusted_is_refused() {
        let (dir, data, sessions) = sessions();
        sessions.begin(now(), [5; 32]).unwrap();
        let path = dir.path().join("sessions.json");
        let good = fs::read(&path).unwrap();
        for bad in [&b""[..], b"{}", b"[{}]", &good[..good.len() / 2]] {
            fs::write(&path, bad).unwrap();
            let error = Sessions::load(&data).unwrap_err();
            assert!(error.to_string().contains("sessions.json: is damaged ("), "{error}");
        }
        fs::write(&path, vec![b' '; FILE_MAX as usize + 1]).unwrap();
        assert!(matches!(Sessions::load(&data), Err(AuthError::Unusable { problem: FileProblem::TooLarge(_), .. })));
        fs::write(&path, &good).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Sessions::load(&data), Err(AuthError::NotPrivate { .. })));
    }

    #[test]
    fn the_oldest_goes_where_there_are_too_many() {
        let (_dir, data, sessions) = sessions();
        let session = |number: usize| Session {
            hash: TokenHash::of(&number.to_be_bytes()),
            created_at: now(),
            expires_at: after(LIFETIME_SECONDS),
        };
        sessions.change(|open| open.extend((0..COUNT_MAX).map(session))).unwrap();
        sessions.begin(now(), [5; 32]).unwrap();
        let open = Sessions::load(&data).unwrap().open();
        assert_eq!((open.len(), open[0].clone()), (COUNT_MAX, session(1)));
        sessions.begin(after(LIFETIME_SECONDS), [6; 32]).unwrap();
        assert_eq!(sessions.open().len(), 1, "those that are over are cleared away");
    }

    #[test]
    fn a_session_from_after_now_is_not_good_for_longer() {
        let (_dir, _data, sessions) = sessions();
        let token = sessions.begin(after(60), [5; 32]).unwrap().token;
        assert!(sessions.check(token.as_bytes(), now()).is_some(), "a little is nothing");
        let token = sessions.begin(after(2 * SLACK_SECONDS), [6; 32]).unwrap().token;
        assert_eq!(sessions.check(token.as_bytes(), now()), None);
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_refused() {
        let (_dir, _data, sessions) = sessions();
        let token = sessions.begin(now(), [5; 32]).unwrap().token;
        for bytes in almost(&token) {
            assert_eq!(sessions.check(&bytes, now()), None, "{}", bytes.escape_ascii());
        }
        assert_eq!(sessions.check(token.repeat(100).as_bytes(), now()), None);
        assert_eq!(sessions.check(b"", now()), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn nothing_random_is_granted(text in "sks_[A-Za-z0-9_-]{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..700)) {
            thread_local!(static LAB: (tempfile::TempDir, PathBuf, Sessions) = {
                let lab = sessions();
                lab.2.begin(now(), [5; 32]).unwrap();
                lab
            });
            LAB.with(|(_, _, sessions)| {
                assert_eq!(sessions.check(text.as_bytes(), now()), None);
                assert_eq!(sessions.check(&bytes, now()), None);
            });
        }
    }
}
