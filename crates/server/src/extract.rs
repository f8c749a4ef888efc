//! Extractors for requests; every error is reported as a problem that names the field.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use skillrun_model::RunId;

use crate::problem::{HttpResult, Problem, ProblemCode};

/// Maximum size of a JSON body.
pub(crate) const JSON_MAX: usize = 8 << 20;

/// Time limit for receiving a JSON body.
const JSON_BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The path parameters of a route.
#[derive(Debug, Clone)]
pub(crate) struct InPath<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> HttpResult<Self> {
        let found = Path::<T>::from_request_parts(parts, state).await;
        found.map(|Path(names)| Self(names)).map_err(|rejection| Problem::field("path", rejection.body_text()))
    }
}

/// The run in the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfRun(pub(crate) RunId);

impl<S: Send + Sync> FromRequestParts<S> for OfRun {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> HttpResult<Self> {
        let InPath(names) = InPath::<BTreeMap<String, String>>::from_request_parts(parts, state).await?;
        let word = names.get("run_id").map_or("", String::as_str);
        let id = word.parse().map_err(|_| Problem::new(ProblemCode::RunNotFound, "this is not a run id"))?;
        Ok(Self(id))
    }
}

/// The query string.
#[derive(Debug, Clone)]
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> HttpResult<Self> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => {
                let words = rejection.body_text();
                let words = words.rsplit_once("query string: ").map_or(words.as_str(), |(_, rest)| rest);
                let (field, message) = words.split_once(": ").unwrap_or(("", words));
                Err(Problem::field(format!("query.{field}").trim_end_matches('.'), message))
            }
        }
    }
}

/// A JSON body.
#[derive(Debug, Clone)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> HttpResult<Self> {
        if !is_json(request.headers()) {
            return Err(Problem::new(ProblemCode::MediaType, "the body must be application/json"));
        }
        Ok(Self(parsed(&whole(request).await?, "")?))
    }
}

/// The value of a JSON text; `place` is its location, for error messages.
pub(crate) fn parsed<T: DeserializeOwned>(json: &[u8], place: &str) -> HttpResult<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let field = match (place, path.as_str()) {
            ("", "." | "?") => "body".to_owned(),
            ("", path) => path.to_owned(),
            (place, "." | "?") => place.to_owned(),
            (place, path) => format!("{place}.{path}"),
        };
        Problem::field(field, error.inner().to_string())
    })?;
    deserializer.end().map_err(|error| Problem::field("body", error.to_string()))?;
    Ok(value)
}

pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

pub(crate) fn media_type(headers: &HeaderMap) -> Option<&str> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.split(';').next().unwrap_or(kind).trim())
}

/// A small body, read completely within a time limit.
pub(crate) async fn whole(request: Request) -> HttpResult<Bytes> {
    whole_up_to(request, JSON_MAX).await
}

/// The same with a size limit. A body whose announced length is over the limit is not read at all.
pub(crate) async fn whole_up_to(request: Request, most: usize) -> HttpResult<Bytes> {
    if announced(request.headers()).is_some_and(|length| length > most as u64) {
        return Err(too_large(most as u64));
    }
    let reading = async {
        let mut body = request.into_body();
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Problem::field("body", format!("the body ended too early ({error})")))?;
            let Ok(data) = frame.into_data() else { continue };
            if whole.len() + data.len() > most {
                return Err(too_large(most as u64));
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    };
    match tokio::time::timeout(JSON_BODY_TIMEOUT, reading).await {
        Ok(read) => read,
        Err(_) => Err(too_slow()),
    }
}

/// The announced length of a body.
pub(crate) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub(crate) fn too_large(limit: u64) -> Problem {
    Problem::new(ProblemCode::BodyTooLarge, format!("the body has more than {limit} bytes"))
        .with_header(header::CONNECTION, http::HeaderValue::from_static("close"))
}

pub(crate) fn too_slow() -> Problem {
    Problem::new(ProblemCode::BodyTooSlow, "the body arrived too slowly")
        .with_header(header::CONNECTION, http::HeaderValue::from_static("close"))
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use axum::body::Body;
    use http_body::Frame;
    use tokio::time::{Instant, Interval, interval};

    use super::*;

    /// One byte now and then, indefinitely.
    struct Drip(Interval);

    impl http_body::Body for Drip {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<HttpResult<Frame<Bytes>, Self::Error>>> {
            self.0.poll_tick(context).map(|_| Some(Ok(Frame::data(Bytes::from_static(b"a")))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_comes_byte_by_byte_is_not_waited_for() {
        for pause in [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(3600)] {
            let begin = Instant::now();
            let request = Request::new(Body::new(Drip(interval(pause))));
            assert_eq!(whole(request).await.unwrap_err().code, ProblemCode::BodyTooSlow);
            assert_eq!(begin.elapsed().as_secs(), JSON_BODY_TIMEOUT.as_secs(), "{pause:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_read_up_to_its_limit() {
        let of = |bytes: usize| whole_up_to(Request::new(Body::from(vec![b'a'; bytes])), 100);
        assert_eq!(of(100).await.unwrap().len(), 100);
        assert_eq!(of(101).await.unwrap_err().code, ProblemCode::BodyTooLarge);
        let mut endless = Request::new(Body::new(Drip(interval(Duration::from_millis(1)))));
        endless.headers_mut().insert(header::CONTENT_LENGTH, 101.into());
        let begin = Instant::now();
        assert_eq!(whole_up_to(endless, 100).await.unwrap_err().code, ProblemCode::BodyTooLarge);
        assert_eq!(begin.elapsed(), Duration::ZERO, "what is announced too long is not read");
        let endless = Request::new(Body::new(Drip(interval(Duration::from_millis(1)))));
        assert_eq!(whole_up_to(endless, 100).await.unwrap_err().code, ProblemCode::BodyTooLarge);
    }
}
