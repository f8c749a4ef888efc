//! Checks webhook addresses by their text when they are given; [`super::send`] checks what the name resolves to just
//! before it connects.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use ureq::http::Uri;

use super::public_ip::is_public;

/// Maximum length of an address.
const MAX_BYTES: usize = 2048;

/// Maximum number of addresses of one run.
pub const MAX_ADDRESSES: usize = 10;

/// Names that are never public, each with all its subdomains.
const PRIVATE_NAMES: &[&str] = &["localhost", "local", "internal", "localdomain", "home.arpa"];

/// Whether addresses in private networks are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrivateAddresses {
    Allowed,
    #[default]
    Refused,
}

/// A checked address: http or https, a host, no password.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Url {
    text: String,
    /// Host and port, the same for all addresses of one receiver.
    receiver: String,
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Which address of a list was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("webhook address {}: {why}", at + 1)]
    Refused { at: usize, why: WhyRefused },
    #[error("{given} webhook addresses; give at most {MAX_ADDRESSES}")]
    TooMany { given: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WhyRefused {
    #[error("has more than {MAX_BYTES} bytes; use a shorter one")]
    TooLong,
    #[error("has invalid characters; write it in plain ASCII, escaped where needed")]
    Characters,
    #[error("is not a URL; write https://host/path")]
    NoUrl,
    #[error("is neither http nor https; use one of them")]
    Scheme,
    #[error("has a user or password in it; remove it, messages are signed")]
    Credentials,
    #[error("has a part after #, which is never sent; remove it")]
    Fragment,
    #[error("has no usable host; write a name, or an address as four decimal numbers or in brackets")]
    Host,
    #[error("has no usable port; use 1 to 65535")]
    Port,
    #[error("leads into a private network; use a public address, or allow private ones in the settings of the service")]
    Private,
}

impl Url {
    pub(super) fn parse(text: &str, private: PrivateAddresses) -> Result<Self, WhyRefused> {
        if text.len() > MAX_BYTES {
            return Err(WhyRefused::TooLong);
        }
        // Parsers disagree about these characters: the same text is a host for one and a path for another.
        if !text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>' | b'^' | b'`'))
        {
            return Err(WhyRefused::Characters);
        }
        let (scheme, rest) = text.split_once("://").ok_or(WhyRefused::NoUrl)?;
        let default_port = match scheme.to_ascii_lowercase().as_str() {
            "http" => 80,
            "https" => 443,
            _ => return Err(WhyRefused::Scheme),
        };
        if rest.contains('#') {
            return Err(WhyRefused::Fragment);
        }
        let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
        if authority.contains('@') {
            return Err(WhyRefused::Credentials);
        }
        let (host, port) = split(authority)?;
        let port = port.map_or(Ok(default_port), read_port)?;
        let (host, is_private) = canonical_host(host)?;
        if is_private && private == PrivateAddresses::Refused {
            return Err(WhyRefused::Private);
        }
        // The address must mean the same to the HTTP client that sends to it.
        let uri: Uri = text.parse().map_err(|_| WhyRefused::NoUrl)?;
        let is_same = uri.authority().is_some_and(|theirs| theirs.as_str() == authority);
        is_same.then(|| Self { text: text.to_owned(), receiver: format!("{host}:{port}") }).ok_or(WhyRefused::NoUrl)
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The host and port of an address that was checked before. The settings may have changed since.
pub(super) fn receiver_of(url: &str) -> String {
    Url::parse(url, PrivateAddresses::Allowed).map_or_else(|_| url.to_owned(), |url| url.receiver)
}

/// A list as a request has it, each address once.
pub(super) fn check(urls: &[String], private: PrivateAddresses) -> Result<Vec<Url>, AddressError> {
    if urls.len() > MAX_ADDRESSES {
        return Err(AddressError::TooMany { given: urls.len() });
    }
    let mut checked = Vec::new();
    for (at, url) in urls.iter().enumerate() {
        let url = Url::parse(url, private).map_err(|why| AddressError::Refused { at, why })?;
        if !checked.contains(&url) {
            checked.push(url);
        }
    }
    Ok(checked)
}

fn split(authority: &str) -> Result<(&str, Option<&str>), WhyRefused> {
    if authority.starts_with('[') {
        let end = authority.find(']').ok_or(WhyRefused::Host)? + 1;
        let (host, rest) = authority.split_at(end);
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(WhyRefused::Host),
        };
    }
    Ok(authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))))
}

fn read_port(port: &str) -> Result<u16, WhyRefused> {
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse::<u16>().ok().filter(|port| is_number && *port > 0);
    port.ok_or(WhyRefused::Port)
}

/// A host in its canonical spelling, and whether its text reveals that it is private. The text of a name reveals little.
fn canonical_host(host: &str) -> Result<(String, bool), WhyRefused> {
    if let Some(inside) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        let address: Ipv6Addr = inside.parse().map_err(|_| WhyRefused::Host)?;
        return Ok((format!("[{address}]"), !is_public(IpAddr::V6(address))));
    }
    let name = host.to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Ok((address.to_string(), !is_public(IpAddr::V4(address))));
    }
    let is_label = |label: &str| {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
        (1..=63).contains(&label.len()) && label.bytes().all(is_plain)
    };
    // A last label that is a number makes the whole an address to most systems: 127.1, 0x7f.1, 2130706433. No public
    // name ends like this, and the spelling is not needed.
    if name.len() > 253 || !name.split('.').all(is_label) || name.rsplit('.').next().is_some_and(is_number) {
        return Err(WhyRefused::Host);
    }
    let below = |private: &str| name.strip_suffix(private).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    Ok((name.to_owned(), PRIVATE_NAMES.iter().any(|private| below(private))))
}

fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hex || label.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(text: &str) -> Option<WhyRefused> {
        Url::parse(text, PrivateAddresses::Refused).err()
    }

    #[test]
    fn addresses_by_the_dozen() {
        use WhyRefused as No;
        for (texts, expected) in [
            (
                "https://example.com https://example.com/hook?token=1 HTTPS://Example.COM:8443/hook
                 http://example.com. http://8.8.8.8/ http://[2606:4700::1111]:81/x https://my_host.example.com
                 https://localhost.example.com https://mylocal",
                None,
            ),
            ("ftp://example.com file:///etc/passwd gopher://example.com unix:///run/docker.sock", Some(No::Scheme)),
            ("example.com/hook http:/example.com", Some(No::NoUrl)),
            (
                "http:// http:///path http://. http://a..b http://%31%32%37.0.0.1 http://[fe80::1%25eth0] http://[::1
                 http://[::1]x http://[v1.x] http://2130706433/ http://0x7f.1 http://0x7f000001 http://127.1
                 http://127.0.0.01 http://0177.0.0.1 http://0 http://0x http://example.1",
                Some(No::Host),
            ),
            (
                "https://user:secret@example.com https://example.com@127.0.0.1/ https://@example.com",
                Some(No::Credentials),
            ),
            ("https://example.com#@127.0.0.1", Some(No::Fragment)),
            (
                "https://example.com:0 https://example.com: https://example.com:65536 https://example.com:+80
                 http://::1/",
                Some(No::Port),
            ),
            (
                "http://localhost http://LOCALHOST.:8080/ http://a.b.localhost http://printer.local
                 http://metadata.google.internal/ http://router.home.arpa http://127.0.0.1 http://127.0.0.1.
                 http://169.254.169.254/latest/meta-data http://10.0.0.1:80 http://[::1] http://[::ffff:127.0.0.1]
                 http://[::ffff:7f00:1] http://[64:ff9b::7f00:1] http://[fd00::1]",
                Some(No::Private),
            ),
        ] {
            for text in texts.split_whitespace() {
                assert_eq!(refused(text), expected, "{text}");
            }
        }
        for (text, expected) in [
            ("", No::NoUrl),
            ("https://example.com\\@127.0.0.1", No::Characters),
            ("https://exa mple.com", No::Characters),
            ("https://example.com\r\nX: y", No::Characters),
            ("https://ex\u{e4}mple.com", No::Characters),
            ("http://\u{2460}27.0.0.1", No::Characters),
        ] {
            assert_eq!(refused(text), Some(expected), "{text}");
        }
        assert_eq!(refused(&format!("https://example.com/{}", "x".repeat(MAX_BYTES))), Some(No::TooLong));
        for text in ["http://127.0.0.1:9/x", "http://localhost", "http://[::1]:80/"] {
            assert!(Url::parse(text, PrivateAddresses::Allowed).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_list_names_the_one_that_is_wrong() {
        let urls = |all: &[&str]| all.iter().map(|url| (*url).to_owned()).collect::<Vec<_>>();
        let given = urls(&["https://a.example", "https://a.example", "https://b.example"]);
        let checked = check(&given, PrivateAddresses::Refused).unwrap();
        assert_eq!(checked.iter().map(Url::as_str).collect::<Vec<_>>(), ["https://a.example", "https://b.example"]);
        let error = check(&urls(&["https://a.example", "http://[::1]"]), PrivateAddresses::Refused).unwrap_err();
        assert_eq!(error, AddressError::Refused { at: 1, why: WhyRefused::Private });
        assert!(error.to_string().starts_with("webhook address 2: leads into a private network"), "{error}");
        let many = vec!["https://a.example".to_owned(); 11];
        assert_eq!(check(&many, PrivateAddresses::Refused), Err(AddressError::TooMany { given: 11 }));
    }

    /// All ways of the old C function to write an address: parts in three bases, the last for all that is left.
    fn spelling(bits: u32, parts: usize, bases: [u8; 4]) -> String {
        let write = |value: u32, base: u8| match base {
            0 => value.to_string(),
            1 => format!("0{value:o}"),
            2 => format!("0x{value:x}"),
            _ => format!("0X{value:08X}"),
        };
        let mut text: Vec<String> = (0..parts - 1).map(|i| write((bits >> (24 - 8 * i)) & 0xff, bases[i])).collect();
        let left = 32 - 8 * (parts as u32 - 1);
        text.push(write(u32::try_from(u64::from(bits) & ((1_u64 << left) - 1)).unwrap(), bases[3]));
        text.join(".")
    }

    fn private_bits() -> impl Strategy<Value = u32> {
        prop_oneof![
            any::<u32>().prop_map(|x| (x & 0x00ff_ffff) | 0x7f00_0000),
            any::<u32>().prop_map(|x| (x & 0x00ff_ffff) | 0x0a00_0000),
            any::<u32>().prop_map(|x| (x & 0x0000_ffff) | 0xc0a8_0000),
            any::<u32>().prop_map(|x| (x & 0x0000_ffff) | 0xa9fe_0000),
            any::<u32>().prop_map(|x| (x & 0x003f_ffff) | 0x6440_0000),
        ]
    }

    proptest! {
        #[test]
        fn no_spelling_of_a_private_address_gets_round(
            bits in private_bits(), parts in 1_usize..=4, bases in any::<[u8; 4]>(), dot in any::<bool>(),
            tail in prop_oneof![Just(""), Just("/"), Just(":80"), Just(":8080/x?y")],
        ) {
            let bases = bases.map(|base| base % 4);
            let text = format!("http://{}{}{tail}", spelling(bits, parts, bases), if dot { "." } else { "" });
            let why = refused(&text);
            prop_assert!(matches!(why, Some(WhyRefused::Host | WhyRefused::Private)), "{} gave {:?}", text, why);
            let [a, b, c, d] = bits.to_be_bytes();
            for form in [
                format!("http://[::ffff:{a}.{b}.{c}.{d}]{tail}"),
                format!("http://[::FFFF:{a:x}{b:02x}:{c:x}{d:02x}]{tail}"),
                format!("http://[0:0:0:0:0:ffff:{a:x}{b:02x}:{c:x}{d:02x}]{tail}"),
                format!("http://[64:ff9b::{a}.{b}.{c}.{d}]{tail}"),
                format!("http://[::{a}.{b}.{c}.{d}]{tail}"),
                format!("http://[2002:{a:x}{b:02x}:{c:x}{d:02x}::1]{tail}"),
            ] {
                prop_assert_eq!(refused(&form), Some(WhyRefused::Private), "{}", form);
            }
        }

        #[test]
        fn whatever_is_taken_has_the_host_that_the_sender_sees(text in "https?://[a-z0-9.:@\\[\\]/?#%_-]{0,40}") {
            if let Ok(url) = Url::parse(&text, PrivateAddresses::Refused) {
                let uri: Uri = url.as_str().parse().unwrap();
                let host = uri.host().unwrap().trim_end_matches('.').to_owned();
                prop_assert!(url.receiver.starts_with(&host) || host.starts_with('['), "{} {}", url.receiver, host);
                let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
                prop_assert!(address.is_ok_and(is_public) || host.parse::<IpAddr>().is_err());
            }
        }
    }
}
