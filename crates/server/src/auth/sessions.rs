//! Sessions of browsers. Nothing is kept: the cookie says until when it is good, and a mac says that we made it.
//!
//! ```text
//! v1.<expires, seconds of Unix time>.<16 random bytes>.<mac>      mac: blake3 with server.key over all before the dot
//! ```
//!
//! Bytes are URL-safe base64. Removing `server.key` and starting the server again ends every session.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use skillrun_model::Timestamp;
use skillrun_runtime::DataFolder;

use super::cookie;
use super::error::{AuthError, Problem};
use super::private_file;
use super::scope::{Granted, Scope, Who};

const DAY_SECONDS: u64 = 24 * 60 * 60;
pub const LIFETIME_SECONDS: u64 = 30 * DAY_SECONDS;
const KEY_LENGTH: usize = 32;
const VERSION: &str = "v1";
/// More than the longest that we make.
pub(super) const LENGTH_MAX: usize = 128;

/// Makes cookies and knows them again, also after a restart.
#[derive(Clone)]
pub struct Sessions {
    key: [u8; KEY_LENGTH],
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions(…)")
    }
}

impl Sessions {
    pub fn new(key: [u8; KEY_LENGTH]) -> Self {
        Self { key }
    }

    /// With the key in the data folder; `random` becomes the key where there is none.
    pub fn load_or_make(data: &DataFolder, random: [u8; KEY_LENGTH]) -> Result<Self, AuthError> {
        let path = data.root().join("server.key");
        // One byte more, so that a file that is too long is told as what it is.
        let bytes = private_file::read_or_make(&path, KEY_LENGTH as u64 + 1, &random)?;
        let key = <[u8; KEY_LENGTH]>::try_from(bytes);
        key.map(Self::new).map_err(|_| AuthError::Content { path, problem: Problem::NotAKey(KEY_LENGTH) })
    }

    pub fn new_cookie(&self, now: Timestamp, random: [u8; 16]) -> String {
        let expires = unix_seconds(now).saturating_add(LIFETIME_SECONDS);
        let body = format!("{VERSION}.{expires}.{}", URL_SAFE_NO_PAD.encode(random));
        let mac = URL_SAFE_NO_PAD.encode(self.mac(&body).as_bytes());
        format!("{body}.{mac}")
    }

    /// Whether we made this cookie and it is still good.
    pub fn check(&self, value: &str, now: Timestamp) -> Option<Granted> {
        if value.len() > LENGTH_MAX {
            return None;
        }
        let (body, mac) = value.rsplit_once('.')?;
        let mac: [u8; blake3::OUT_LEN] = URL_SAFE_NO_PAD.decode(mac).ok()?.try_into().ok()?;
        // Compares in constant time.
        if self.mac(body) != blake3::Hash::from_bytes(mac) {
            return None;
        }
        // Ours from here on.
        let mut parts = body.split('.');
        let (version, expires) = (parts.next()?, parts.next()?.parse::<u64>().ok()?);
        let is_good = version == VERSION && unix_seconds(now) < expires;
        is_good.then_some(Granted { name: Who::Browser, scope: Scope::Admin })
    }

    /// The same for a whole `Cookie` header, which may hold several of our name: cookies do not know ports, so another
    /// program on this machine can add one.
    pub fn check_header(&self, header: &[u8], now: Timestamp) -> Option<Granted> {
        cookie::sessions_in(header).find_map(|value| self.check(value, now))
    }

    fn mac(&self, body: &str) -> blake3::Hash {
        blake3::keyed_hash(&self.key, body.as_bytes())
    }
}

/// Whole seconds since 1970; what was before is taken for that.
pub(super) fn unix_seconds(moment: Timestamp) -> u64 {
    moment.millis_since(Timestamp::EPOCH).unwrap_or(0) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const KEY: [u8; 32] = [3; 32];

    fn now() -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    fn after(seconds: u64) -> Timestamp {
        now().plus_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_cookie_is_good_for_thirty_days() {
        let sessions = Sessions::new(KEY);
        let cookie = sessions.new_cookie(now(), [5; 16]);
        assert!(cookie.starts_with("v1.1769915045.BQUFBQUFBQUFBQUFBQUFBQ."), "{cookie}");
        assert!(cookie.len() < LENGTH_MAX);
        let good = Some(Granted { name: Who::Browser, scope: Scope::Admin });
        assert_eq!(sessions.check(&cookie, now()), good);
        assert_eq!(sessions.check(&cookie, after(LIFETIME_SECONDS - 1)), good);
        assert_eq!(sessions.check(&cookie, after(LIFETIME_SECONDS)), None);
        assert_eq!(sessions.check(&cookie, after(LIFETIME_SECONDS + 1)), None);
        assert_ne!(cookie, sessions.new_cookie(now(), [6; 16]));
    }

    #[test]
    fn the_last_moment_does_not_overflow() {
        let sessions = Sessions::new(KEY);
        let last = Timestamp::EPOCH.plus_nanos(u64::MAX);
        assert!(sessions.check(&sessions.new_cookie(last, [5; 16]), last).is_some());
    }

    #[test]
    fn a_cookie_outlives_the_server_and_not_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataFolder::new(dir.path());
        let cookie = Sessions::load_or_make(&data, KEY).unwrap().new_cookie(now(), [5; 16]);
        let path = dir.path().join("server.key");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Sessions::load_or_make(&data, [4; 32]).unwrap();
        assert!(again.check(&cookie, now()).is_some());
        fs::remove_file(&path).unwrap();
        let other = Sessions::load_or_make(&data, [4; 32]).unwrap();
        assert_eq!(other.check(&cookie, now()), None);
        assert!(!format!("{other:?}").contains('4'));
    }

    #[test]
    fn a_bad_key_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataFolder::new(dir.path());
        Sessions::load_or_make(&data, KEY).unwrap();
        let path = dir.path().join("server.key");
        for length in [0, 31, 33, 10_000] {
            fs::write(&path, vec![0; length]).unwrap();
            let error = Sessions::load_or_make(&data, KEY).unwrap_err();
            assert!(matches!(error, AuthError::Content { .. } | AuthError::TooLarge { .. }), "{length}: {error}");
        }
        fs::write(&path, [0; 32]).unwrap();
        assert!(Sessions::load_or_make(&data, KEY).is_ok());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Sessions::load_or_make(&data, KEY), Err(AuthError::NotPrivate { .. })));
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_refused() {
        let sessions = Sessions::new(KEY);
        let cookie = sessions.new_cookie(now(), [5; 16]);
        for cut in 0..cookie.len() {
            assert_eq!(sessions.check(&cookie[..cut], now()), None, "{cut}");
            assert_eq!(sessions.check(&cookie[cut + 1..], now()), None, "{cut}");
        }
        for bit in 0..cookie.len() * 8 {
            let mut flipped = cookie.clone().into_bytes();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(flipped) = String::from_utf8(flipped) {
                assert_eq!(sessions.check(&flipped, now()), None, "{flipped}");
            }
        }
        assert_eq!(sessions.check(&cookie.repeat(1_000), now()), None);
        assert_eq!(sessions.check(&format!("{cookie}="), now()), None);
        assert_eq!(sessions.check(&format!("{cookie}."), now()), None);
    }

    #[test]
    fn what_another_key_or_nobody_signed_is_refused() {
        let sessions = Sessions::new(KEY);
        assert_eq!(sessions.check(&Sessions::new([4; 32]).new_cookie(now(), [5; 16]), now()), None);
        let cookie = sessions.new_cookie(now(), [5; 16]);
        let (body, mac) = cookie.rsplit_once('.').unwrap();
        let longer = body.replace("1769915045", "9769915045");
        assert_eq!(sessions.check(&format!("{longer}.{mac}"), now()), None);
        let unkeyed = URL_SAFE_NO_PAD.encode(blake3::hash(body.as_bytes()).as_bytes());
        assert_eq!(sessions.check(&format!("{body}.{unkeyed}"), now()), None);
        assert_eq!(sessions.check(&format!("{body}."), now()), None);
    }

    /// Texts with our mac that we would never have made.
    #[test]
    fn another_form_is_refused_with_a_good_mac_too() {
        let sessions = Sessions::new(KEY);
        let signed = |body: &str| format!("{body}.{}", URL_SAFE_NO_PAD.encode(sessions.mac(body).as_bytes()));
        assert!(sessions.check(&signed("v1.9769915045.x"), now()).is_some());
        for body in ["", "v1", "v2.9769915045.x", "v1..x", "v1.-1.x", "v1.99999999999999999999999.x", "9769915045.v1.x"]
        {
            assert_eq!(sessions.check(&signed(body), now()), None, "{body}");
        }
    }

    #[test]
    fn the_right_cookie_is_found_beside_a_planted_one() {
        let sessions = Sessions::new(KEY);
        let cookie = sessions.new_cookie(now(), [5; 16]);
        let header = format!("a=b; skillrun_session=planted; skillrun_session={cookie}");
        assert!(sessions.check_header(header.as_bytes(), now()).is_some());
        assert_eq!(sessions.check_header(header.as_bytes(), after(LIFETIME_SECONDS)), None);
        assert_eq!(sessions.check_header(b"skillrun_session=planted", now()), None);
        assert_eq!(sessions.check_header(format!("other={cookie}").as_bytes(), now()), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn nothing_random_is_granted(
            text in "\\PC{0,200}",
            cookie in "v1\\.[0-9]{1,20}\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}",
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let sessions = Sessions::new(KEY);
            prop_assert_eq!(sessions.check(&text, now()), None);
            prop_assert_eq!(sessions.check(&cookie, now()), None);
            prop_assert_eq!(sessions.check_header(&bytes, now()), None);
            prop_assert_eq!(sessions.check_header(format!("skillrun_session={cookie}").as_bytes(), now()), None);
        }
    }
}
