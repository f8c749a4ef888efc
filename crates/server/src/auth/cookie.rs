//! The headers around a session's cookie. What browsers send is not trusted: everything read here has a bound.

use super::sessions::{LENGTH_MAX, LIFETIME_SECONDS};

pub const NAME: &str = "skillrun_session";
/// Of a longer header the rest is not looked at.
const HEADER_MAX: usize = 16 * 1024;
/// Cookies of our name that are looked at; each costs a hash.
const SESSIONS_MAX: usize = 8;

/// How browsers reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// HTTP, on this machine. No `Secure` then: some browsers would not keep the cookie, or never send it.
    Plain,
    /// Something before the server speaks TLS with them.
    Tls,
}

/// The value of a `Set-Cookie` header. `cookie` comes from [`super::Sessions::new_cookie`].
pub fn set_cookie(cookie: &str, transport: Transport) -> String {
    header(cookie, LIFETIME_SECONDS, transport)
}

/// The same, to make the browser forget its cookie.
pub fn forget_cookie(transport: Transport) -> String {
    header("", 0, transport)
}

fn header(value: &str, seconds: u64, transport: Transport) -> String {
    let secure = match transport {
        Transport::Plain => "",
        Transport::Tls => "; Secure",
    };
    format!("{NAME}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// What a `Cookie` header has under our name, in its order.
pub fn sessions_in(header: &[u8]) -> impl Iterator<Item = &str> {
    let header = &header[..header.len().min(HEADER_MAX)];
    let ours = header.split(|byte| *byte == b';').filter_map(|pair| {
        let value = pair.trim_ascii().strip_prefix(NAME.as_bytes())?.strip_prefix(b"=")?;
        let value = std::str::from_utf8(value).ok()?;
        (!value.is_empty() && value.len() <= LENGTH_MAX).then_some(value)
    });
    ours.take(SESSIONS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_header_keeps_scripts_and_other_sites_out() {
        let all = "skillrun_session=x; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict";
        assert_eq!(set_cookie("x", Transport::Plain), all);
        assert_eq!(set_cookie("x", Transport::Tls), format!("{all}; Secure"));
        assert_eq!(forget_cookie(Transport::Plain), "skillrun_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    }

    #[test]
    fn our_cookies_are_found_among_others() {
        let found = |header: &str| sessions_in(header.as_bytes()).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(found("skillrun_session=a"), ["a"]);
        assert_eq!(found("x=1; skillrun_session=a; y=2;skillrun_session=b.c=d;"), ["a", "b.c=d"]);
        for none in [
            "",
            ";",
            "=",
            "skillrun_session",
            "skillrun_session=",
            "skillrun_session =a",
            "skillrun_sessions=a",
            "xskillrun_session=a",
            "Skillrun_session=a",
            "x=skillrun_session=a",
        ] {
            assert_eq!(found(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn there_is_a_most_of_everything() {
        let many = "skillrun_session=a; ".repeat(500);
        assert_eq!(sessions_in(many.as_bytes()).count(), SESSIONS_MAX);
        let long = format!("skillrun_session={}", "a".repeat(LENGTH_MAX + 1));
        assert_eq!(sessions_in(long.as_bytes()).count(), 0);
        let late = format!("{}; skillrun_session=a", "x".repeat(HEADER_MAX));
        assert_eq!(sessions_in(late.as_bytes()).count(), 0);
        assert_eq!(sessions_in(b"skillrun_session=\xff\xfe; skillrun_session=a").collect::<Vec<_>>(), ["a"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_header_upsets_it(bytes in prop::collection::vec(any::<u8>(), 0..600), at in 0..600_usize) {
            let mut header = bytes;
            let at = at.min(header.len());
            header.splice(at..at, *b"; skillrun_session=good;");
            let found: Vec<&str> = sessions_in(&header).collect();
            prop_assert!(found.contains(&"good"));
            prop_assert!(found.iter().all(|value| value.len() <= LENGTH_MAX && !value.contains(';')));
        }
    }
}
