//! Pages: the web page, the login, and the API reference for people.
//!
//! - `web`: how the web page is served. `dist`: where its files are. `docs`: the API reference.

mod dist;
mod docs;
mod web;

use axum::Router;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use http::{HeaderValue, header};

const OPEN: &str = include_str!("open.html");
const OPEN_SCRIPT: &str = include_str!("open.js");
const STYLE: &str = include_str!("style.css");

fn text(media: &'static str, body: impl Into<String>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(media))], body.into()).into_response()
}

const HTML: &str = "text/html; charset=utf-8";

pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .merge(web::router(dist::file))
        .route("/open", get(|| async { text(HTML, OPEN) }))
        .route("/open.js", get(|| async { text("text/javascript; charset=utf-8", OPEN_SCRIPT) }))
        .route("/page.css", get(|| async { text("text/css; charset=utf-8", STYLE) }))
        .route("/docs", get(|| async { text(HTML, docs::page()) }))
        .route("/docs/", get(|| async { Redirect::permanent("/docs") }))
}
