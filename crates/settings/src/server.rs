//! Settings of the server, and how they are read.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use skillrun_webhooks::Secret;

use super::given::{Given, Located, is_text, wrong};

/// Shown instead of a secret.
pub(super) const HIDDEN: &str = "(hidden)";
const PORT: u16 = 7333;
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    pub listen: SocketAddr,
    /// Additional host names that requests may use.
    pub hosts: Vec<String>,
    /// Origins of pages from other sites that may use the server.
    pub origins: Vec<String>,
    pub body_mb: u32,
    pub connections: u32,
    /// Addresses that are notified of every run.
    pub webhooks: Vec<String>,
    pub webhook_secret: Option<Secret>,
    /// Webhooks may go to private addresses.
    pub webhook_private: bool,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: DEFAULT_LISTEN,
            hosts: Vec::new(),
            origins: Vec::new(),
            body_mb: 256,
            connections: 2048,
            webhooks: Vec::new(),
            webhook_secret: None,
            webhook_private: false,
        }
    }
}

impl Given<'_> {
    pub(super) fn listen(&self) -> Result<SocketAddr, Located> {
        let address = self.field.as_str().and_then(|text| text.parse().ok());
        address.ok_or_else(|| self.wrong(format!("an IP address and a port, such as {DEFAULT_LISTEN}")))
    }

    pub(super) fn hosts(&self) -> Result<Vec<String>, Located> {
        let expected = "a list of host names, with or without a port, such as skillrun.example.org";
        self.list(expected, |text| is_host(text).then(|| text.to_owned()))
    }

    pub(super) fn origins(&self) -> Result<Vec<String>, Located> {
        let is_origin = |text: &str| without_scheme(text).is_some_and(is_host);
        let expected = "a list of origins without a path, such as https://example.org";
        self.list(expected, |text| is_origin(text).then(|| text.to_owned()))
    }

    /// Whether the host exists and may be notified is checked when a message is sent.
    pub(super) fn web_addresses(&self) -> Result<Vec<String>, Located> {
        let is_address = |text: &str| {
            let rest = without_scheme(text).filter(|_| is_text(text) && !text.contains(' '));
            rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#']))
        };
        self.list("a list of addresses, each with http:// or https://", |text| {
            is_address(text).then(|| text.to_owned())
        })
    }

    /// An error message does not quote it: only its last character may be wrong.
    pub(super) fn webhook_secret(&self) -> Result<Secret, Located> {
        let secret = self.field.as_str().and_then(|text| Secret::parse(text).ok());
        let expected = "whsec_ and 24 to 64 bytes in base64";
        secret.ok_or_else(|| wrong(&self.field, expected, "something else, which is not shown"))
    }
}

fn without_scheme(text: &str) -> Option<&str> {
    text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))
}

/// A name or an address, and perhaps a port.
fn is_host(text: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':' | b'[' | b']');
    !text.is_empty() && text.len() <= 255 && text.bytes().all(is_good)
}
