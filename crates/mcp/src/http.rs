//! The server over streamable HTTP. No request belongs to a session: each has its token with it.

use std::convert::Infallible;
use std::fmt;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::desk::{Caller, DeskKind};
use crate::server::ToolServer;

/// Largest body. A tool refuses smaller ones with a sentence.
const BODY_MAX: usize = 16 << 20;

/// Answers requests of any client of a server.
pub struct HttpServer {
    service: StreamableHttpService<ToolServer, NeverSessionManager>,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").finish_non_exhaustive()
    }
}

impl HttpServer {
    /// The program that calls this checks the names in `Host` and `Origin`, and tokens.
    pub fn new(desk: DeskKind) -> Self {
        let server = ToolServer::new(desk, None, None);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(BODY_MAX)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let service =
            StreamableHttpService::new(move || Ok(server.clone()), NeverSessionManager::default().into(), config);
        Self { service }
    }

    pub async fn answer<B>(&self, mut request: Request<B>, caller: Caller) -> Response<BoxBody<Bytes, Infallible>>
    where
        B: Body + Send + 'static,
        B::Error: fmt::Display,
    {
        request.extensions_mut().insert(caller);
        self.service.handle(request).await
    }
}
