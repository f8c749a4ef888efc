//! Which variables an engine gets by default: what it needs to find programs, choose a language and reach the network.
//! Everything else is passed by name.

/// Proxies and certificates, in the spellings that programs look for.
const NETWORK: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "NODE_USE_SYSTEM_CA",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
];

const PLAIN: &[&str] = &["PATH", "LANG", "TZ", "TERM"];

/// Contains `run/attempt/nonce` in every process of an attempt, so that leftovers can be found.
pub const TAG: &str = "SKILLRUN_ATTEMPT";

/// Set by the host itself; a value from the caller is ignored.
pub const TEMPORARY: &str = "TMPDIR";

/// Whether a variable is passed on by default.
pub fn is_allowed(name: &[u8]) -> bool {
    let mut known = PLAIN.iter().chain(NETWORK);
    name.starts_with(b"LC_") || known.any(|known| known.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_on_the_list_is_passed_on() {
        for name in ["PATH", "LANG", "LC_ALL", "LC_TIME", "TZ", "TERM", "https_proxy", "NO_PROXY", "SSL_CERT_FILE"] {
            assert!(is_allowed(name.as_bytes()), "{name}");
        }
        for name in ["HOME", "OPENAI_API_KEY", "LD_PRELOAD", "PATHX", "path", "", "TMPDIR", "SKILLRUN_ATTEMPT"] {
            assert!(!is_allowed(name.as_bytes()), "{name}");
        }
    }
}
