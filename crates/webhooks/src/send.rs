//! One try: a POST to an address, and its outcome.
//!
//! The name is resolved here, the result is filtered, and the connection goes to one of the remaining addresses: a
//! second lookup, which could return other addresses, is not made. Redirects are not followed, proxies are not used,
//! and the response body is neither kept nor shown, only the status.

use std::io::{self, Read};
use std::time::Duration;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

use super::address::{PrivateAddresses, Url, WhyRefused};
use super::public_ip::is_public;
use super::secret::Secret;
use skillrun_model::IgnoredError;

/// Maximum size of a response that is read before the connection is closed.
const ANSWER_BYTES: u64 = 4 * 1024;
const ANSWER_HEADERS: usize = 16 * 1024;

/// Maximum length of the description of an error.
const ERROR_CHARS: usize = 200;

const USER_AGENT: &str = concat!("skillrun/", env!("CARGO_PKG_VERSION"));

/// Time limit of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SendTimeouts {
    pub(super) connect: Duration,
    pub(super) total: Duration,
}

impl Default for SendTimeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), total: Duration::from_secs(15) }
    }
}

/// The outcome of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tried {
    Answered { status: u16, retry_after: Option<Duration> },
    Failed { error: String },
}

#[derive(Debug)]
pub(super) struct Sender {
    agent: Agent,
    private: PrivateAddresses,
}

impl Sender {
    pub(super) fn new(private: PrivateAddresses, timeouts: SendTimeouts) -> Self {
        let config = Config::builder()
            // A proxy from the environment would connect on behalf of the server, to any address.
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(USER_AGENT)
            .accept("")
            .max_response_header_size(ANSWER_HEADERS)
            // A pooled connection was checked for another message.
            .max_idle_connections(0)
            .timeout_resolve(Some(timeouts.connect))
            .timeout_connect(Some(timeouts.connect))
            .timeout_global(Some(timeouts.total))
            .build();
        let resolver = Guard { inner: DefaultResolver::default(), private };
        Self { agent: Agent::with_parts(config, DefaultConnector::default(), resolver), private }
    }

    pub(super) fn send(&self, secret: &Secret, url: &str, id: &str, unix_seconds: u64, body: &str) -> Tried {
        // It was checked when it was accepted; the settings may have changed since.
        let url = match Url::parse(url, self.private) {
            Ok(url) => url,
            Err(why) => return Tried::Failed { error: format!("the address {why}") },
        };
        let request = self.agent.post(url.as_str());
        let request = request
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", unix_seconds.to_string())
            .header("webhook-signature", secret.sign(id, unix_seconds, body));
        match request.send(body) {
            Ok(mut response) => {
                let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
                let retry_after = retry_after.and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
                let status = response.status().as_u16();
                // A connection closed with unread data looks like a failure to the receiver. The content, and whether
                // it can be read, does not matter.
                io::copy(&mut response.body_mut().as_reader().take(ANSWER_BYTES), &mut io::sink()).ignored();
                Tried::Answered { status, retry_after }
            }
            Err(error) => Tried::Failed { error: in_words(&error) },
        }
    }
}

fn in_words(error: &Error) -> String {
    // The other crate may add kinds; an unknown one is reported as it is.
    let text = if matches!(error, Error::Timeout(_)) {
        "no response in time".to_owned()
    } else if matches!(error, Error::HostNotFound) {
        "failed to resolve its name".to_owned()
    } else if let Error::Io(inner) = error {
        inner.to_string()
    } else {
        error.to_string()
    };
    text.chars().take(ERROR_CHARS).collect()
}

/// Resolves names and removes every address that is not allowed, for names, numbers and any spelling of them alike.
#[derive(Debug)]
struct Guard {
    inner: DefaultResolver,
    private: PrivateAddresses,
}

impl Resolver for Guard {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        let mut left = self.empty();
        for address in found.iter() {
            let is_fit = match self.private {
                PrivateAddresses::Allowed => true,
                PrivateAddresses::Refused => is_public(address.ip()),
            };
            if is_fit {
                left.push(*address);
            }
        }
        if left.is_empty() {
            let refused =
                io::Error::new(io::ErrorKind::PermissionDenied, format!("the address {}", WhyRefused::Private));
            return Err(Error::Io(refused));
        }
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use ureq::unversioned::transport::time;

    use super::*;

    fn resolve(host: &str, private: PrivateAddresses) -> Result<usize, String> {
        let guard = Guard { inner: DefaultResolver::default(), private };
        let timeout = NextTimeout { after: time::Duration::NotHappening, ..NextTimeout::default() };
        let uri: Uri = format!("http://{host}/").parse().unwrap();
        guard.resolve(&uri, &Config::default(), timeout).map(|found| found.len()).map_err(|error| in_words(&error))
    }

    #[test]
    fn resolved_addresses_are_checked() {
        for host in ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::1]", "0"] {
            let why = resolve(host, PrivateAddresses::Refused).unwrap_err();
            assert!(why.contains("private network"), "{host}: {why}");
            assert!(resolve(host, PrivateAddresses::Allowed).is_ok_and(|found| found > 0), "{host}");
        }
        assert_eq!(resolve("8.8.8.8", PrivateAddresses::Refused), Ok(1));
    }

    #[test]
    fn a_name_that_looks_harmless_is_stopped_where_it_leads() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        // The text is allowed, as that of an unknown name would be.
        let mut sender = Sender::new(PrivateAddresses::Refused, SendTimeouts::default());
        sender.private = PrivateAddresses::Allowed;
        let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
        let tried = sender.send(&Secret::from_random([1; 32]), &url, "msg_1", 0, "{}");
        assert!(matches!(&tried, Tried::Failed { error } if error.contains("private network")), "{tried:?}");
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock, "no connection was made");
    }
}
