//! The first lines of a request to the proxy: `CONNECT host:port`, or a request for a whole address of plain HTTP. Pure.

use skillrun_model::confinement::HostPort;

/// The most bytes until the empty line behind the header.
pub(crate) const HEADER_MAX: usize = 16 * 1024;

/// What a client asks the proxy for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) to: HostPort,
    /// What is sent to the host before the bytes that follow: nothing for a tunnel, the header for plain HTTP.
    pub(crate) first: Vec<u8>,
    pub(crate) is_tunnel: bool,
}

/// Where the header ends, if it is whole.
pub(crate) fn header_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// Reads a header. None: it is not one that the proxy can serve.
pub(crate) fn asked(header: &[u8]) -> Option<Asked> {
    let text = std::str::from_utf8(header).ok()?;
    let (line, rest) = text.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let to = HostPort::of_authority(target, 443)?;
        return Some(Asked { to, first: Vec::new(), is_tunnel: true });
    }
    if !target.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://")) {
        return None;
    }
    let to = HostPort::of_url(target)?;
    let path = target[7..].find(['/', '?', '#', '\\']).map_or("/", |at| &target[7 + at..]);
    let slash = if path.starts_with('/') { "" } else { "/" };
    // One request on each connection: a later one could name another host.
    let kept = rest.split("\r\n").filter(|line| {
        let name = line.split(':').next().unwrap_or_default();
        !line.is_empty()
            && !["proxy-connection", "proxy-authorization", "connection"].contains(&&*name.to_ascii_lowercase())
    });
    let mut first = format!("{method} {slash}{path} {version}\r\n");
    for line in kept {
        first.push_str(line);
        first.push_str("\r\n");
    }
    first.push_str("Connection: close\r\n\r\n");
    Some(Asked { to, first: first.into_bytes(), is_tunnel: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(String, String)> {
        let asked = asked(text.as_bytes())?;
        Some((asked.to.to_string(), String::from_utf8(asked.first).expect("text")))
    }

    #[test]
    fn a_tunnel_names_its_host() {
        let (to, first) = of("CONNECT api.example.com:8443 HTTP/1.1\r\nHost: x\r\n\r\n").expect("a request");
        assert_eq!((to.as_str(), first.as_str()), ("api.example.com:8443", ""));
    }

    #[test]
    fn a_request_for_an_address_is_sent_on_without_it() {
        let header =
            "GET http://127.0.0.1:4000/v1?a=b HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nProxy-Connection: keep-alive\r\n\r\n";
        let (to, first) = of(header).expect("a request");
        assert_eq!(to, "127.0.0.1:4000");
        assert_eq!(first, "GET /v1?a=b HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nConnection: close\r\n\r\n");
    }

    #[test]
    fn other_requests_are_refused() {
        for header in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://example.com/ HTTP/1.1\r\n\r\n",
            "CONNECT *.example.com:443 HTTP/1.1\r\n\r\n",
            "CONNECT a b:443 HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/2\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert_eq!(of(header), None, "{header}");
        }
        assert_eq!(header_end(b"GET / HTTP/1.1\r\n"), None);
        assert_eq!(header_end(b"a\r\n\r\nrest"), Some(5));
    }
}
