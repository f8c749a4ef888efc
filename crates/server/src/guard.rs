//! Who is let in: the name the client calls us by, the page it comes from, and what it may do.
//!
//! A page of another site can make a browser send requests here, and can give its own name our address. So the `Host`
//! must be a name of ours and the `Origin`, where there is one, a page of ours, before anything else is looked at.

use std::net::{IpAddr, SocketAddr};

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use skillrun_model::Timestamp;
use std::sync::Arc;

use crate::auth::{Granted, Scope, Sessions, Tokens};
use crate::problem::{Problem, ProblemCode, Result};
use crate::service::Service;

/// Longest token that is looked at.
const TOKEN_MAX: usize = 512;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

#[derive(Debug)]
pub(crate) struct Guard {
    /// Without ports, in lower case.
    hosts: Vec<String>,
    /// Other pages that may call us, as browsers spell them.
    origins: Vec<HeaderValue>,
    tokens: Tokens,
    sessions: Sessions,
}

/// Where a request comes from, as far as a browser says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// No browser, or one that says nothing.
    Unknown,
    OwnPage,
    /// Another page that may call us.
    Allowed(HeaderValue),
}

impl Guard {
    pub(crate) fn new(
        listen: SocketAddr,
        hosts: &[String],
        origins: &[String],
        tokens: Tokens,
        sessions: Sessions,
    ) -> Self {
        let mut names: Vec<String> = ["localhost".to_owned()].into();
        if !listen.ip().is_unspecified() {
            names.push(spelled(listen.ip()));
        }
        // A name is the same at every port.
        let bare =
            |host: &String| Authority::try_from(host.as_str()).map_or(host.clone(), |name| name.host().to_owned());
        names.extend(hosts.iter().map(bare).map(|host| host.to_ascii_lowercase()));
        let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(origin.trim_end_matches('/')).ok());
        Self { hosts: names, origins: origins.collect(), tokens, sessions }
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Refuses what a foreign page may have sent.
    pub(crate) fn admits(&self, parts: &Parts) -> Result<From> {
        let host = self.host(parts)?;
        self.from(&parts.headers, &parts.method, &host)
    }

    fn host(&self, parts: &Parts) -> Result<Authority> {
        let refused = |word: &str| Problem::new(ProblemCode::HostRefused, format!("this server is not called {word}"));
        let mut given = parts.headers.get_all(header::HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else {
            return Err(Problem::new(ProblemCode::HostRefused, "a request needs exactly one Host"));
        };
        let host = Authority::try_from(host.as_bytes()).map_err(|_| refused("that"))?;
        // Whoever names a server in the request line means that one.
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

    fn from(&self, headers: &HeaderMap, method: &Method, host: &Authority) -> Result<From> {
        let refused = || Problem::new(ProblemCode::OriginRefused, "a page of another site may not call this server");
        if let Some(origin) = headers.get(header::ORIGIN) {
            if self.origins.contains(origin) {
                return Ok(From::Allowed(origin.clone()));
            }
            let is_own = origin.to_str().is_ok_and(|origin| {
                let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
                authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host.as_str()))
            });
            return if is_own { Ok(From::OwnPage) } else { Err(refused()) };
        }
        let is = |name: &HeaderName, word: &str| headers.get(name).is_some_and(|value| value == word);
        // A link on another page may lead here; it brings no session with it.
        let is_link = is(&FETCH_MODE, "navigate") && method == Method::GET;
        if is(&FETCH_SITE, "same-origin") {
            return Ok(From::OwnPage);
        }
        if (is(&FETCH_SITE, "cross-site") || is(&FETCH_SITE, "same-site")) && !is_link {
            return Err(refused());
        }
        Ok(From::Unknown)
    }

    /// Who it is, by token or by the session of a browser.
    pub(crate) fn who(&self, parts: &Parts, now: Timestamp) -> Result<Granted> {
        let missing = |detail: &str| Problem::new(ProblemCode::Unauthorized, detail);
        if let Some(token) = bearer(&parts.headers) {
            return self.tokens.check(token, now).ok_or_else(|| missing("this token is not valid"));
        }
        let cookies = parts.headers.get_all(header::COOKIE).iter();
        let session = cookies.take(4).find_map(|header| self.sessions.check_header(header.as_bytes(), now));
        let granted = session.ok_or_else(|| missing("this needs a token"))?;
        let changes = !matches!(parts.method, Method::GET | Method::HEAD);
        // A browser names the page of every request that changes something.
        let is_refused = match parts.extensions.get::<From>() {
            Some(From::OwnPage) => false,
            Some(From::Unknown) | None => changes,
            Some(From::Allowed(_)) => true,
        };
        if is_refused {
            return Err(Problem::new(ProblemCode::OriginRefused, "a session is for the page of this server alone"));
        }
        Ok(granted)
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

/// Somebody who may read.
#[derive(Debug, Clone)]
pub(crate) struct Reads;

/// Somebody who may start, answer and cancel runs.
#[derive(Debug, Clone)]
pub(crate) struct Runs(pub(crate) Granted);

/// Somebody who may do everything.
#[derive(Debug, Clone)]
pub(crate) struct Administers;

fn granted(parts: &Parts, service: &Service, needed: Scope) -> Result<Granted> {
    let granted = service.guard.who(parts, service.now())?;
    if !granted.scope.allows(needed) {
        let words = format!("this needs the scope {needed}; {} has {}", granted.name, granted.scope);
        return Err(Problem::new(ProblemCode::Forbidden, words));
    }
    Ok(granted)
}

impl FromRequestParts<Arc<Service>> for Reads {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self> {
        granted(parts, service, Scope::Read).map(|_| Self)
    }
}

impl FromRequestParts<Arc<Service>> for Runs {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self> {
        granted(parts, service, Scope::Run).map(Self)
    }
}

impl FromRequestParts<Arc<Service>> for Administers {
    type Rejection = Problem;
    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self> {
        granted(parts, service, Scope::Admin).map(|_| Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::TokenFile;
    use skillrun_runtime::DataFolder;

    fn guard(hosts: &[&str], origins: &[&str]) -> (tempfile::TempDir, Guard) {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::new(folder.path());
        let token = TokenFile::load_or_make(&TokenFile::default_path(&data), [7; 32]).unwrap();
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let listen = SocketAddr::from(([192, 0, 2, 7], 7333));
        let sessions = Sessions::new([1; 32]);
        (folder, Guard::new(listen, &own(hosts), &own(origins), Tokens::new(token, &data), sessions))
    }

    fn admitted(guard: &Guard, headers: &[(&str, &str)]) -> std::result::Result<From, ProblemCode> {
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
            assert_eq!(admitted(&guard, &[("host", host)]), Ok(From::Unknown), "{host}");
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
        assert_eq!(from("http://localhost:7333"), Ok(From::OwnPage));
        assert_eq!(
            from("https://app.example.org"),
            Ok(From::Allowed(HeaderValue::from_static("https://app.example.org")))
        );
        for origin in
            ["http://localhost:7334", "http://localhost", "null", "https://evil.example.org", "localhost:7333"]
        {
            assert_eq!(from(origin), Err(ProblemCode::OriginRefused), "{origin}");
        }
        let site = |site: &str, mode: &str| {
            admitted(&guard, &[("host", "localhost"), ("sec-fetch-site", site), ("sec-fetch-mode", mode)])
        };
        assert_eq!(site("same-origin", "cors"), Ok(From::OwnPage));
        assert_eq!(site("cross-site", "navigate"), Ok(From::Unknown), "a link, which brings no session with it");
        assert_eq!(site("cross-site", "no-cors"), Err(ProblemCode::OriginRefused));
    }
}
