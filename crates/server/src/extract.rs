//! Takes requests apart; whatever is wrong with one is told as a problem that names the field.

use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use skillrun_model::RunId;

use crate::problem::{Problem, ProblemCode, Result};

/// Largest body that is JSON.
pub(crate) const JSON_MAX: usize = 8 << 20;

/// How long a body of JSON may take.
const JSON_PATIENCE: Duration = Duration::from_secs(30);

/// The run in the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfRun(pub(crate) RunId);

impl<S: Send + Sync> FromRequestParts<S> for OfRun {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let word = match Path::<std::collections::HashMap<String, String>>::from_request_parts(parts, state).await {
            Ok(Path(names)) => names.get("run_id").cloned().unwrap_or_default(),
            Err(rejection) => return Err(Problem::field("run_id", rejection.body_text())),
        };
        let id = word.parse().map_err(|_| Problem::new(ProblemCode::RunNotFound, "this is no id of a run"))?;
        Ok(Self(id))
    }
}

/// What stands after the question mark.
#[derive(Debug, Clone)]
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
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

/// A body of JSON.
#[derive(Debug, Clone)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        if !is_json(request.headers()) {
            return Err(Problem::new(ProblemCode::MediaType, "the body must be application/json"));
        }
        Ok(Self(parsed(&whole(request).await?, "")?))
    }
}

/// The value in some JSON; `place` is where the JSON stands, for complaints.
pub(crate) fn parsed<T: DeserializeOwned>(json: &[u8], place: &str) -> Result<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let field = match (place, path.as_str()) {
            ("", ".") => "body".to_owned(),
            ("", path) => path.to_owned(),
            (place, ".") => place.to_owned(),
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

/// A small body, read as a whole within a time.
pub(crate) async fn whole(request: Request) -> Result<Bytes> {
    whole_up_to(request, JSON_MAX).await
}

/// The same, of at most so many bytes. What is announced to be longer is not read at all.
pub(crate) async fn whole_up_to(request: Request, most: usize) -> Result<Bytes> {
    if announced(request.headers()).is_some_and(|length| length > most as u64) {
        return Err(too_large(most as u64));
    }
    let reading = async {
        let mut body = request.into_body();
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Problem::field("body", format!("it ended too early ({error})")))?;
            let Ok(data) = frame.into_data() else { continue };
            if whole.len() + data.len() > most {
                return Err(too_large(most as u64));
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    };
    match tokio::time::timeout(JSON_PATIENCE, reading).await {
        Ok(read) => read,
        Err(_) => Err(too_slow()),
    }
}

/// The length a body is said to have.
pub(crate) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub(crate) fn too_large(limit: u64) -> Problem {
    Problem::new(ProblemCode::BodyTooLarge, format!("the body has more than {limit} bytes"))
        .with_header(header::CONNECTION, http::HeaderValue::from_static("close"))
}

pub(crate) fn too_slow() -> Problem {
    Problem::new(ProblemCode::BodyTooSlow, "the body came too slowly")
        .with_header(header::CONNECTION, http::HeaderValue::from_static("close"))
}
