//! The web page: its first file at `/`, and the files it refers to at `/assets/`. It contains no data, so it needs no
//! token.

use std::borrow::Cow;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{HTML, text};
use crate::extract::InPath;
use crate::problem::{Problem, ProblemCode};

/// Shown if the page was not built.
const NOT_BUILT: &str = include_str!("home.html");

/// A file of the page.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) bytes: Cow<'static, [u8]>,
    pub(super) hash: [u8; 32],
}

/// Where the files are found by their paths.
pub(super) type Files = fn(&str) -> Option<File>;

/// How long a browser may keep a file without asking.
#[derive(Debug, Clone, Copy)]
enum Keep {
    /// Its name depends on its content: another content has another name.
    ForEver,
    /// The browser asks every time, and gets 304 when nothing has changed.
    Never,
}

impl Keep {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::ForEver => "public, max-age=31536000, immutable",
            Self::Never => "no-cache",
        })
    }
}

pub(super) fn router<S: Clone + Send + Sync + 'static>(files: Files) -> Router<S> {
    let first = move |headers: HeaderMap| async move {
        match files("index.html") {
            Some(file) => answer("index.html", file, Keep::Never, &headers),
            None => text(HTML, NOT_BUILT),
        }
    };
    let icon = move |headers: HeaderMap| async move { found(files, "favicon.svg", Keep::Never, &headers) };
    let asset = move |InPath(path): InPath<String>, headers: HeaderMap| async move {
        found(files, &format!("assets/{path}"), Keep::ForEver, &headers)
    };
    Router::new().route("/", get(first)).route("/favicon.svg", get(icon)).route("/assets/{*path}", get(asset))
}

fn found(files: Files, path: &str, keep: Keep, headers: &HeaderMap) -> Response {
    match files(path) {
        Some(file) => answer(path, file, keep, headers),
        None => Problem::new(ProblemCode::NotFound, "there is no such page").into_response(),
    }
}

fn answer(path: &str, file: File, keep: Keep, headers: &HeaderMap) -> Response {
    let tag = tag(&file.hash);
    let told = [(header::CACHE_CONTROL, keep.header()), (header::ETAG, tag.clone())];
    if has(headers, &tag) {
        return (StatusCode::NOT_MODIFIED, told).into_response();
    }
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(media(path)))];
    (told, kind, Body::from(file.bytes)).into_response()
}

fn tag(hash: &[u8; 32]) -> HeaderValue {
    // Half of the hash is enough to distinguish two builds.
    let digits: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("\"{digits}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Whether the browser states that it has this version already.
fn has(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let told = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = told.flat_map(|tags| tags.split(',')).map(str::trim);
    tags.any(|given| given == "*" || given.strip_prefix("W/").unwrap_or(given) == tag)
}

/// Only the media types of the page; browsers must not guess.
fn media(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => HTML,
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, Request};
    use http_body_util::BodyExt;
    use tower_service::Service;

    use super::*;

    fn built(path: &str) -> Option<File> {
        let (bytes, hash): (&[u8], u8) = match path {
            "index.html" => (b"<!doctype html>the page", 1),
            "assets/index-1a2b.js" => (b"run()", 2),
            "assets/deep/style-3c.css" => (b"a {}", 3),
            "assets/odd.exe" => (b"MZ", 4),
            "favicon.svg" => (b"<svg/>", 5),
            "secret.txt" => (b"not for the world", 6),
            _ => return None,
        };
        Some(File { bytes: bytes.into(), hash: [hash; 32] })
    }

    fn not_built(_: &str) -> Option<File> {
        None
    }

    /// Status, some headers, and the body.
    struct Got {
        status: StatusCode,
        headers: HeaderMap,
        body: String,
    }

    impl Got {
        fn header(&self, name: header::HeaderName) -> &str {
            self.headers.get(name).map_or("", |value| value.to_str().unwrap())
        }
    }

    async fn got(files: Files, method: Method, path: &str, has: Option<&str>) -> Got {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(tag) = has {
            request = request.header(header::IF_NONE_MATCH, tag);
        }
        let mut router: Router = router(files);
        let answer = router.call(request.body(Body::empty()).unwrap()).await.unwrap();
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Got { status: parts.status, headers: parts.headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    #[tokio::test]
    async fn every_file_has_its_kind_and_the_time_it_may_be_kept() {
        for (path, body, kind, keep) in [
            ("/", "<!doctype html>the page", "text/html; charset=utf-8", "no-cache"),
            ("/favicon.svg", "<svg/>", "image/svg+xml", "no-cache"),
            ("/assets/index-1a2b.js", "run()", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
            ("/assets/deep/style-3c.css", "a {}", "text/css; charset=utf-8", "public, max-age=31536000, immutable"),
            ("/assets/odd.exe", "MZ", "application/octet-stream", "public, max-age=31536000, immutable"),
        ] {
            let whole = got(built, Method::GET, path, None).await;
            assert_eq!((whole.status, whole.body.as_str()), (StatusCode::OK, body), "{path}");
            assert_eq!(whole.header(header::CONTENT_TYPE), kind, "{path}");
            assert_eq!(whole.header(header::CACHE_CONTROL), keep, "{path}");
            let head = got(built, Method::HEAD, path, None).await;
            assert_eq!((head.status, head.body.as_str()), (StatusCode::OK, ""), "{path}");
            assert_eq!(head.header(header::CONTENT_TYPE), kind, "{path}");
            assert_eq!(head.header(header::CONTENT_LENGTH), body.len().to_string(), "{path}");
            assert_eq!(head.header(header::ETAG), whole.header(header::ETAG), "{path}");
        }
    }

    #[tokio::test]
    async fn a_browser_that_has_it_gets_it_no_second_time() {
        let tag = got(built, Method::GET, "/", None).await.header(header::ETAG).to_owned();
        assert_eq!(tag, format!("\"{}\"", "01".repeat(16)));
        for has in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let same = got(built, Method::GET, "/", Some(&has)).await;
            assert_eq!((same.status, same.body.as_str()), (StatusCode::NOT_MODIFIED, ""), "{has}");
            assert_eq!((same.header(header::ETAG), same.header(header::CACHE_CONTROL)), (tag.as_str(), "no-cache"));
        }
        for has in ["\"other\"", "01", &format!("\"{}\"", "02".repeat(16))] {
            assert_eq!(got(built, Method::GET, "/", Some(has)).await.status, StatusCode::OK, "{has}");
        }
    }

    #[tokio::test]
    async fn nothing_else_is_given_out() {
        for path in
            ["/assets/no.js", "/assets/../secret.txt", "/assets/%2e%2e/secret.txt", "/secret.txt", "/index.html"]
        {
            assert_eq!(got(built, Method::GET, path, None).await.status, StatusCode::NOT_FOUND, "{path}");
        }
        assert_eq!(got(built, Method::POST, "/", None).await.status, StatusCode::METHOD_NOT_ALLOWED);
    }

    #[tokio::test]
    async fn where_it_was_not_built_the_page_says_how() {
        let page = got(not_built, Method::GET, "/", None).await;
        assert_eq!((page.status, page.header(header::CONTENT_TYPE)), (StatusCode::OK, HTML));
        assert!(page.body.contains("make web"), "{}", page.body);
        assert_eq!(page.header(header::ETAG), "", "the real page must come as soon as there is one");
        for path in ["/assets/index-1a2b.js", "/favicon.svg"] {
            assert_eq!(got(not_built, Method::GET, path, None).await.status, StatusCode::NOT_FOUND, "{path}");
        }
    }
}
