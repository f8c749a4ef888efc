//! Access control: the host name in the request, the page it comes from, and what the client may do.
//!
//! A page of another site can make a browser send requests to this server, and can make its own name resolve to the
//! address of this server. So before anything else is checked, the `Host` must be a name of this server and the
//! `Origin`, if present, a page of this server.

use std::net::{IpAddr, SocketAddr};

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use skillrun_model::Timestamp;
use std::sync::Arc;

use crate::problem::{HttpResult, Problem, ProblemCode};
use crate::service::Service;
use skillrun_auth::{Granted, Scope, Sessions, Tickets, Tokens, Who, tickets};

/// Maximum length of a token that is checked.
const TOKEN_MAX: usize = 512;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

#[derive(Debug)]
pub(crate) struct Guard {
    /// Without ports, in lower case.
    hosts: Vec<String>,
    /// Other origins that may call this server, as browsers spell them.
    origins: Vec<HeaderValue>,
    tokens: Tokens,
    sessions: Sessions,
    tickets: Tickets,
}

/// Where a request comes from, as far as the browser states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// Not a browser, or one that does not state it.
    Unknown,
    OwnPage,
    /// Another origin that may call this server.
    Allowed(HeaderValue),
}

impl Guard {
    pub(crate) fn new(
        listen: SocketAddr,
        hosts: &[String],
        origins: &[String],
        tokens: Tokens,
        sessions: Sessions,
        tickets: Tickets,
    ) -> Self {
        let mut names: Vec<String> = ["localhost".to_owned()].into();
        if !listen.ip().is_unspecified() {
            names.push(spelled(listen.ip()));
        }
        // The port is not part of the name.
        let bare =
            |host: &String| Authority::try_from(host.as_str()).map_or(host.clone(), |name| name.host().to_owned());
        names.extend(hosts.iter().map(bare).map(|host| host.to_ascii_lowercase()));
        let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(origin.trim_end_matches('/')).ok());
        Self { hosts: names, origins: origins.collect(), tokens, sessions, tickets }
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub(crate) fn tickets(&self) -> &Tickets {
        &self.tickets
    }

    /// Refuses requests that a foreign page may have sent.
    pub(crate) fn admits(&self, parts: &Parts) -> HttpResult<RequestOrigin> {
        let host = self.host(parts)?;
        self.from(&parts.headers, &parts.method, &host)
    }

    fn host(&self, parts: &Parts) -> HttpResult<Authority> {
        let refused =
            |word: &str| Problem::new(ProblemCode::HostRefused, format!("{word} is not a name of this server"));
        let mut given = parts.headers.get_all(header::HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else {
            return Err(Problem::new(ProblemCode::HostRefused, "a request needs exactly one Host header"));
        };
        let host = Authority::try_from(host.as_bytes()).map_err(|_| refused("that"))?;
        // A host in the request line takes precedence over the header.
        for name in [Some(&host), parts.uri.authority()].into_iter().flatten() {
            if !self.is_ours(name) {
                return Err(refused(name.as_str()));
            }
        }
        Ok(host)
    }

    fn is_ours(&self, name: &Authority) -> bool {
        let host = name.host().to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        !name.as_str().contains('@') && (is_loopback || self.hosts.contains(&host))
    }

    fn from(&self, headers: &HeaderMap, method: &Method, host: &Authority) -> HttpResult<RequestOrigin> {
        let refused = || Problem::new(ProblemCode::OriginRefused, "a page of another site may not call this server");
        if let Some(origin) = headers.get(header::ORIGIN) {
            if self.origins.contains(origin) {
                return Ok(RequestOrigin::Allowed(origin.clone()));
            }
            let is_own = origin.to_str().is_ok_and(|origin| {
                let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
                authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host.as_str()))
            });
            return if is_own { Ok(RequestOrigin::OwnPage) } else { Err(refused()) };
        }
        let is = |name: &HeaderName, word: &str| headers.get(name).is_some_and(|value| value == word);
        // A link on another page may lead here; the browser adds no credential to such a request.
        let is_link = is(&FETCH_MODE, "navigate") && method == Method::GET;
        if is(&FETCH_SITE, "same-origin") {
            return Ok(RequestOrigin::OwnPage);
        }
        if (is(&FETCH_SITE, "cross-site") || is(&FETCH_SITE, "same-site")) && !is_link {
            return Err(refused());
        }
        Ok(RequestOrigin::Unknown)
    }

    /// Identifies the client: by the token of a program or of a browser, or by the ticket of a download, which is
    /// removed from the address.
    pub(crate) fn who(&self, parts: &mut Parts, now: Timestamp) -> HttpResult<Granted> {
        let missing = |detail: &str| Problem::new(ProblemCode::Unauthorized, detail);
        let ticket = self.take_ticket(parts, now);
        if let Some(token) = bearer(&parts.headers) {
            let granted = self.tokens.check(token, now).or_else(|| self.sessions.check(token, now));
            return granted.ok_or_else(|| missing("this token is not valid"));
        }
        match ticket {
            None => Err(missing("a token is required")),
            Some(None) => Err(missing("this link has expired, or was made for another file; request a new one")),
            Some(Some(who)) => Ok(Granted { name: who, scope: Scope::Read }),
        }
    }

    /// The client that requested the ticket in the address; the inner value is none if the ticket is invalid. Later
    /// stages do not see the ticket.
    fn take_ticket(&self, parts: &mut Parts, now: Timestamp) -> Option<Option<Who>> {
        let address = parts.uri.path_and_query()?.as_str().to_owned();
        let (rest, ticket) = tickets::without_ticket(&address)?;
        let who = self.tickets.check(ticket, rest, now).filter(|who| match who {
            Who::FirstToken => true,
            Who::Token(name) => self.tokens.is_good(name, now),
            Who::Browser(id) => self.sessions.is_open(*id, now),
        });
        let mut uri = std::mem::take(&mut parts.uri).into_parts();
        uri.path_and_query = rest.parse().ok();
        parts.uri = Uri::from_parts(uri).ok()?;
        Some(who.filter(|_| parts.method == Method::GET))
    }
}

fn spelled(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    (scheme.eq_ignore_ascii_case(b"bearer ") && token.len() <= TOKEN_MAX).then(|| token.trim_ascii())
}

/// The identity of the client as determined by the front, or why it is unknown.
#[derive(Debug, Clone)]
pub(crate) struct Shown(pub(crate) HttpResult<Granted>);

/// A client that may read.
#[derive(Debug, Clone)]
pub(crate) struct Reads(pub(crate) Granted);

/// A client that may start, answer and cancel runs.
#[derive(Debug, Clone)]
pub(crate) struct Runs(pub(crate) Granted);

/// A client that may do everything.
#[derive(Debug, Clone)]
pub(crate) struct Administers;

fn granted(parts: &Parts, needed: Scope) -> HttpResult<Granted> {
    let unknown = || Problem::new(ProblemCode::Unauthorized, "a token is required");
    let granted = parts.extensions.get::<Shown>().map_or_else(|| Err(unknown()), |shown| shown.0.clone())?;
    if !granted.scope.allows(needed) {
        let words = format!("this needs the scope {needed}; {} has {}", granted.name, granted.scope);
        return Err(Problem::new(ProblemCode::Forbidden, words));
    }
    Ok(granted)
}

impl FromRequestParts<Arc<Service>> for Reads {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, _: &Arc<Service>) -> HttpResult<Self> {
        granted(parts, Scope::Read).map(Self)
    }
}

impl FromRequestParts<Arc<Service>> for Runs {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, _: &Arc<Service>) -> HttpResult<Self> {
        granted(parts, Scope::Run).map(Self)
    }
}

impl FromRequestParts<Arc<Service>> for Administers {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, _: &Arc<Service>) -> HttpResult<Self> {
        granted(parts, Scope::Admin).map(|_| Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillrun_auth::TokenFile;

    fn guard(hosts: &[&str], origins: &[&str]) -> (tempfile::TempDir, Guard) {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let token = TokenFile::load_or_make(&TokenFile::default_path(data), [7; 32]).unwrap();
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let listen = SocketAddr::from(([192, 0, 2, 7], 7333));
        let sessions = Sessions::load(data).unwrap();
        let tokens = Tokens::new(token, data);
        (folder, Guard::new(listen, &own(hosts), &own(origins), tokens, sessions, Tickets::new([1; 32])))
    }

    fn admitted(guard: &Guard, headers: &[(&str, &str)]) -> std::result::Result<RequestOrigin, ProblemCode> {
        let mut request = http::Request::builder().uri("/v1/runs");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.admits(&request.body(()).unwrap().into_parts().0).map_err(|problem| problem.code)
    }

    #[test]
    fn names_of_ours_are_known_at_every_port() {
        let (_folder, guard) = guard(&["Runs.Example.org:8443", "other.example.org"], &[]);
        let ours = [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:7333",
            "127.9.9.9",
            "[::1]:80",
            "192.0.2.7:7333",
            "runs.example.org",
        ];
        for host in ours.into_iter().chain(["runs.example.org:1", "other.example.org:8443"]) {
            assert_eq!(admitted(&guard, &[("host", host)]), Ok(RequestOrigin::Unknown), "{host}");
        }
        for host in ["example.org", "evil.example.org", "localhost.example.org", "192.0.2.8", "u@localhost", "", "a b"]
        {
            assert_eq!(admitted(&guard, &[("host", host)]), Err(ProblemCode::HostRefused), "{host}");
        }
    }

    #[test]
    fn pages_of_others_are_refused_unless_they_are_named() {
        let (_folder, guard) = guard(&[], &["https://app.example.org/"]);
        let from = |origin: &str| admitted(&guard, &[("host", "localhost:7333"), ("origin", origin)]);
        assert_eq!(from("http://localhost:7333"), Ok(RequestOrigin::OwnPage));
        assert_eq!(
            from("https://app.example.org"),
            Ok(RequestOrigin::Allowed(HeaderValue::from_static("https://app.example.org")))
        );
        for origin in
            ["http://localhost:7334", "http://localhost", "null", "https://evil.example.org", "localhost:7333"]
        {
            assert_eq!(from(origin), Err(ProblemCode::OriginRefused), "{origin}");
        }
        let site = |site: &str, mode: &str| {
            admitted(&guard, &[("host", "localhost"), ("sec-fetch-site", site), ("sec-fetch-mode", mode)])
        };
        assert_eq!(site("same-origin", "cors"), Ok(RequestOrigin::OwnPage));
        assert_eq!(
            site("cross-site", "navigate"),
            Ok(RequestOrigin::Unknown),
            "a link, with which a browser sends nothing that lets it in"
        );
        assert_eq!(site("cross-site", "no-cors"), Err(ProblemCode::OriginRefused));
    }
}
