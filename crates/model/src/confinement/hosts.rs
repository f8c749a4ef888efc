//! Patterns of hosts that a box may reach: `api.example.com`, `*.example.com:8443`, `127.0.0.1:4000`, `[::1]:80`.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The ports of a pattern without one.
const USUAL_PORTS: &[u16] = &[443, 80];

/// The longest name of a host, as DNS has it.
const NAME_MAX: usize = 253;

/// A host that may be reached, and on which port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPattern {
    pub host: HostName,
    /// None: those of the web.
    pub port: Option<u16>,
}

/// The host of a pattern. Names are in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostName {
    Exact(String),
    /// Every name that ends with a dot and this one, and not this name itself.
    Below(String),
    Address(IpAddr),
}

/// What a program asked for: a host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostPort {
    /// A name in lower case, or an address without brackets.
    pub host: String,
    pub port: u16,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{given}\" is not a host: {reason}. Use a name, an address or *.NAME, and a port after a colon if needed: \
         api.example.com, *.example.com, 10.0.0.1:8080, [::1]:8080"
)]
pub struct HostPatternError {
    pub given: String,
    pub reason: &'static str,
}

impl HostPattern {
    pub fn of_host(host: HostName, port: u16) -> Self {
        Self { host, port: Some(port) }
    }

    pub fn ports(&self) -> Vec<u16> {
        self.port.map_or_else(|| USUAL_PORTS.to_vec(), |port| vec![port])
    }

    /// Whether the pattern has this host and port.
    pub fn allows(&self, asked: &HostPort) -> bool {
        self.ports().contains(&asked.port) && self.allows_host(&asked.host)
    }

    /// Whether the pattern has this host, on any port.
    pub fn allows_host(&self, asked: &str) -> bool {
        let asked = asked.strip_suffix('.').unwrap_or(asked).to_ascii_lowercase();
        match &self.host {
            HostName::Exact(name) => *name == asked,
            HostName::Below(name) => {
                asked.strip_suffix(name.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            HostName::Address(address) => asked.parse::<IpAddr>().is_ok_and(|asked| asked == *address),
        }
    }
}

impl HostPort {
    /// The host and port of a URL: `https://api.example.com/v1`. None if it is not one of the web.
    pub fn of_url(url: &str) -> Option<Self> {
        let (scheme, rest) = url.trim().split_once("://")?;
        let port = match scheme.to_ascii_lowercase().as_str() {
            "https" => 443,
            "http" => 80,
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#', '\\']).next()?;
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        Self::of_authority(authority, port)
    }

    /// `HOST` or `HOST:PORT`, with brackets around an address that has colons in it.
    pub fn of_authority(authority: &str, usual_port: u16) -> Option<Self> {
        let pattern = HostPattern::from_str(authority).ok()?;
        let port = pattern.port.unwrap_or(usual_port);
        match pattern.host {
            HostName::Exact(host) => Some(Self { host, port }),
            HostName::Address(address) => Some(Self { host: address.to_string(), port }),
            HostName::Below(_) => None,
        }
    }
}

impl From<HostPort> for HostPattern {
    fn from(asked: HostPort) -> Self {
        let host = asked.host.parse().map_or_else(|_| HostName::Exact(asked.host), HostName::Address);
        Self::of_host(host, asked.port)
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.port) {
            (HostName::Exact(name), _) => f.write_str(name)?,
            (HostName::Below(name), _) => write!(f, "*.{name}")?,
            (HostName::Address(IpAddr::V6(address)), Some(_)) => write!(f, "[{address}]")?,
            (HostName::Address(address), _) => write!(f, "{address}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        let bad = |reason| HostPatternError { given: given.chars().take(80).collect(), reason };
        if given.contains("://") {
            return Err(bad("it is a URL"));
        }
        if let Ok(address) = given.parse::<Ipv6Addr>() {
            return Ok(Self { host: HostName::Address(address.into()), port: None });
        }
        let (host, port) = match given.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            Some(_) | None => (given, None),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return Err(bad("its port is not a number from 1 to 65535")),
        };
        if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let address: Ipv6Addr = address.parse().map_err(|_| bad("there is no address in its brackets"))?;
            return Ok(Self { host: HostName::Address(address.into()), port });
        }
        if let Ok(address) = host.parse::<Ipv4Addr>() {
            return Ok(Self { host: HostName::Address(address.into()), port });
        }
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let (name, is_below) = match name.strip_prefix("*.") {
            Some(rest) => (rest.to_owned(), true),
            None => (name, false),
        };
        check_name(&name).map_err(bad)?;
        if is_below && !name.contains('.') {
            return Err(bad("a star needs a name of two parts behind it"));
        }
        Ok(Self { host: if is_below { HostName::Below(name) } else { HostName::Exact(name) }, port })
    }
}

fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("it has no name");
    }
    if name.contains('*') {
        return Err("a star can only be the first part of a name");
    }
    if name.len() > NAME_MAX {
        return Err("it is too long");
    }
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.split('.').all(|part| (1..=63).contains(&part.len()) && part.bytes().all(is_letter)) {
        return Err("a name has letters, digits, hyphens and dots");
    }
    // `127.1` and `0x7f000001` lead to an address in some programs, and are names in others.
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
        return Err("an address has four numbers");
    }
    Ok(())
}

impl Serialize for HostPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for HostPattern {
    fn schema_name() -> Cow<'static, str> {
        "HostPattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A host that can be reached: a name, an address or `*.NAME`, and a port after a colon; without one 443 and 80.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> HostPattern {
        text.parse().expect("a pattern")
    }

    fn allows(text: &str, host: &str, port: u16) -> bool {
        pattern(text).allows(&HostPort { host: host.to_owned(), port })
    }

    #[test]
    fn a_pattern_is_shown_as_it_is_read() {
        for text in ["api.example.com", "*.example.com:8443", "127.0.0.1:4000", "[::1]:80", "::1", "localhost:3000"] {
            assert_eq!(pattern(text).to_string(), text);
        }
        assert_eq!(pattern("API.Example.com.").to_string(), "api.example.com");
    }

    #[test]
    fn only_the_names_and_ports_of_a_pattern_are_allowed() {
        assert!(allows("example.com", "Example.com.", 443) && allows("example.com", "example.com", 80));
        assert!(!allows("example.com", "example.com", 8080) && !allows("example.com", "www.example.com", 443));
        assert!(allows("*.example.com", "a.b.example.com", 443));
        for host in ["example.com", ".example.com", "evilexample.com", "example.com.evil.org"] {
            assert!(!allows("*.example.com", host, 443), "{host}");
        }
        assert!(allows("[::1]:80", "0:0:0:0:0:0:0:1", 80) && !allows("127.0.0.1:80", "localhost", 80));
    }

    #[test]
    fn what_is_not_a_host_is_refused_with_a_reason() {
        let rows = [
            ("", "no name"),
            ("*", "star"),
            ("*.com", "two parts"),
            ("a.*.com", "star"),
            ("https://example.com", "URL"),
            ("example.com:0", "port"),
            ("example.com:x", "port"),
            ("exa mple.com", "letters"),
            ("a..b", "letters"),
            ("127.1", "four numbers"),
            ("0x7f000001", "four numbers"),
            ("[127.0.0.1]", "brackets"),
            ("example.com/path", "letters"),
        ];
        for (text, part) in rows {
            let error = HostPattern::from_str(text).expect_err(text);
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_host_of_an_address_of_the_web_is_found() {
        let rows = [
            ("https://api.example.com/v1", Some("api.example.com:443")),
            ("http://127.0.0.1:4000", Some("127.0.0.1:4000")),
            ("http://[::1]:4000/v1", Some("[::1]:4000")),
            ("https://user:pass@example.com:8443?x", Some("example.com:8443")),
            ("https://good.test\\@evil.test/", Some("good.test:443")),
            ("ftp://example.com", None),
            ("example.com", None),
        ];
        for (url, found) in rows {
            assert_eq!(HostPort::of_url(url).map(|found| found.to_string()).as_deref(), found, "{url}");
        }
    }
}
