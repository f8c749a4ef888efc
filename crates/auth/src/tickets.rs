//! Tickets for downloads. A link of a page sends no `Authorization`, so the page requests a ticket and puts it into the
//! address of one file. It is valid for one minute, for that address and for GET only.
//!
//! ```text
//! /v1/runs/RUN/bundle?full=true&ticket=v1.<expires, seconds of Unix time>.<who>.<mac>
//! who: first | token-NAME | browser-ID        mac: blake3 with server.key over the purpose, the address, expires and who
//! ```
//!
//! Nothing is stored. The credential of the client that requested the ticket must still be valid when the ticket is
//! used, so revoking a token revokes its tickets.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use skillrun_model::Timestamp;

use super::error::{AuthError, TokenFileProblem};
use super::private_file;
use super::scope::Who;
use super::sessions::{SessionId, unix_seconds};

pub const LIFETIME_SECONDS: u64 = 60;
const KEY_LENGTH: usize = 32;
const VERSION: &str = "v1";
/// The name of the parameter.
pub const PARAMETER: &str = "ticket";
/// More than the longest ticket.
const LENGTH_MAX: usize = 256;
/// Separates these from everything else made with the key.
const PURPOSE: &str = "download GET";

/// Creates and verifies tickets.
#[derive(Clone)]
pub struct Tickets {
    key: [u8; KEY_LENGTH],
}

impl std::fmt::Debug for Tickets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tickets(…)")
    }
}

impl Tickets {
    pub fn new(key: [u8; KEY_LENGTH]) -> Self {
        Self { key }
    }

    /// Uses the key in the data folder; `random` becomes the key if there is none.
    pub fn load_or_make(data: &Path, random: [u8; KEY_LENGTH]) -> Result<Self, AuthError> {
        let path = data.join("server.key");
        // One byte more, so that a file that is too long is recognized.
        let bytes = private_file::read_or_make(&path, KEY_LENGTH as u64 + 1, &random)?;
        let key = <[u8; KEY_LENGTH]>::try_from(bytes);
        key.map(Self::new).map_err(|_| AuthError::Content { path, problem: TokenFileProblem::NotAKey(KEY_LENGTH) })
    }

    /// A ticket for one address, path and query as they will be sent.
    pub fn make(&self, address: &str, who: &Who, now: Timestamp) -> String {
        let expires = unix_seconds(now).saturating_add(LIFETIME_SECONDS);
        let who = spelled(who);
        let mac = URL_SAFE_NO_PAD.encode(self.mac(address, expires, &who).as_bytes());
        format!("{VERSION}.{expires}.{who}.{mac}")
    }

    /// The client that requested this ticket, if it was made for this address and is still valid.
    pub fn check(&self, ticket: &str, address: &str, now: Timestamp) -> Option<Who> {
        if ticket.len() > LENGTH_MAX {
            return None;
        }
        let mut parts = ticket.split('.');
        let (version, expires, who, mac) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if version != VERSION || parts.next().is_some() {
            return None;
        }
        let expires = expires.parse::<u64>().ok()?;
        let mac: [u8; blake3::OUT_LEN] = URL_SAFE_NO_PAD.decode(mac).ok()?.try_into().ok()?;
        // Compares in constant time.
        if self.mac(address, expires, who) != blake3::Hash::from_bytes(mac) {
            return None;
        }
        let now = unix_seconds(now);
        // A ticket that lasts much longer than any this server creates is from before the clock was set back.
        let is_good = now < expires && expires - now <= 2 * LIFETIME_SECONDS;
        is_good.then(|| read(who)).flatten()
    }

    fn mac(&self, address: &str, expires: u64, who: &str) -> blake3::Hash {
        blake3::keyed_hash(&self.key, format!("{PURPOSE}\n{expires}\n{who}\n{address}").as_bytes())
    }
}

fn spelled(who: &Who) -> String {
    match who {
        Who::FirstToken => "first".to_owned(),
        Who::Token(name) => format!("token-{name}"),
        Who::Browser(id) => format!("browser-{id}"),
    }
}

fn read(who: &str) -> Option<Who> {
    if who == "first" {
        return Some(Who::FirstToken);
    }
    if let Some(name) = who.strip_prefix("token-") {
        return name.parse().ok().map(Who::Token);
    }
    SessionId::parse(who.strip_prefix("browser-")?).map(Who::Browser)
}

/// The address with its ticket, which is always the last parameter.
pub fn with_ticket(address: &str, ticket: &str) -> String {
    let sign = if address.contains('?') { '&' } else { '?' };
    format!("{address}{sign}{PARAMETER}={ticket}")
}

/// The address without its ticket, and the ticket, if it has one as its last parameter.
pub fn without_ticket(address: &str) -> Option<(&str, &str)> {
    let (before, ticket) = address.rsplit_once(['?', '&'])?;
    let ticket = ticket.strip_prefix(PARAMETER)?.strip_prefix('=')?;
    Some((before, ticket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{after, almost, now};
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const KEY: [u8; 32] = [3; 32];
    const ADDRESS: &str = "/v1/runs/r/bundle?full=true";

    fn all_clients() -> [Who; 3] {
        let session = SessionId::parse("00ff00ff00ff00ff").unwrap();
        [Who::FirstToken, Who::Token("ci-2".parse().unwrap()), Who::Browser(session)]
    }

    #[test]
    fn a_ticket_is_good_for_a_minute_and_one_address() {
        let tickets = Tickets::new(KEY);
        for who in all_clients() {
            let ticket = tickets.make(ADDRESS, &who, now());
            assert!(ticket.len() <= LENGTH_MAX);
            assert_eq!(tickets.check(&ticket, ADDRESS, now()), Some(who.clone()));
            assert_eq!(tickets.check(&ticket, ADDRESS, after(59)), Some(who));
            for moment in [after(60), after(61), after(3_600)] {
                assert_eq!(tickets.check(&ticket, ADDRESS, moment), None);
            }
            let earlier: Timestamp = "2026-01-02T03:03:00Z".parse().unwrap();
            assert_eq!(tickets.check(&ticket, ADDRESS, earlier), None, "the clock was set back");
            for other in ["/v1/runs/r/bundle", "/v1/runs/s/bundle?full=true", "/v1/runs/r/bundle?full=true&a=b", ""] {
                assert_eq!(tickets.check(&ticket, other, now()), None, "{other}");
            }
        }
    }

    #[test]
    fn a_ticket_that_was_changed_is_none() {
        let tickets = Tickets::new(KEY);
        let ticket = tickets.make(ADDRESS, &Who::FirstToken, now());
        for text in almost(&ticket).filter_map(|bytes| String::from_utf8(bytes).ok()) {
            assert_eq!(tickets.check(&text, ADDRESS, now()), None, "{text}");
        }
        for longer in [format!("{ticket}."), format!("{ticket}="), format!("{ticket}.x"), ticket.repeat(10)] {
            assert_eq!(tickets.check(&longer, ADDRESS, now()), None, "{longer}");
        }
        assert_eq!(tickets.check(&Tickets::new([4; 32]).make(ADDRESS, &Who::FirstToken, now()), ADDRESS, now()), None);
    }

    #[test]
    fn a_ticket_is_put_into_an_address_and_taken_out_again() {
        for address in ["/a", "/a?b=c", "/a?b=c&d=e", "/a?ticket"] {
            assert_eq!(without_ticket(&with_ticket(address, "v1.x")), Some((address, "v1.x")));
        }
        for none in ["/a", "/a?ticket", "/a?tickets=x", "/a?xticket=x", "/a?ticket=x&b=c", "ticket=x"] {
            assert_eq!(without_ticket(none), None, "{none}");
        }
    }

    #[test]
    fn the_key_is_made_once_and_kept_private() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().to_owned();
        let ticket = Tickets::load_or_make(&data, KEY).unwrap().make(ADDRESS, &Who::FirstToken, now());
        let path = dir.path().join("server.key");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Tickets::load_or_make(&data, [4; 32]).unwrap();
        assert!(again.check(&ticket, ADDRESS, now()).is_some());
        assert!(!format!("{again:?}").contains('3'));
        for length in [0, 31, 33, 10_000] {
            fs::write(&path, vec![0; length]).unwrap();
            let error = Tickets::load_or_make(&data, KEY).unwrap_err();
            assert!(matches!(error, AuthError::Content { .. } | AuthError::Unusable { .. }), "{length}: {error}");
        }
        fs::write(&path, [0; 32]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Tickets::load_or_make(&data, KEY), Err(AuthError::NotPrivate { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn nothing_random_is_a_ticket(
            text in "\\PC{0,300}",
            ticket in "v1\\.[0-9]{1,20}\\.(first|token-[a-z]{1,5}|browser-[0-9a-f]{16})\\.[A-Za-z0-9_-]{43}",
        ) {
            let tickets = Tickets::new(KEY);
            prop_assert_eq!(tickets.check(&text, ADDRESS, now()), None);
            prop_assert_eq!(tickets.check(&ticket, ADDRESS, now()), None);
        }
    }
}
