//! The server on stdin and stdout: one JSON message per line.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::GetMeta;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::sync::watch;

use crate::desk::{Access, Caller, DeskKind, RunDesk};
use crate::server::{ToolServer, unknown_request};

/// How long calls other than waits may still take once stdin has ended.
const LAST_CALLS_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves until stdin ends. The process is expected to exit afterwards: a wait may still have its thread.
pub fn serve_stdio(desk: DeskKind, runs: Arc<dyn RunDesk>) -> io::Result<()> {
    let threads = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let served = threads.block_on(serve(desk, runs));
    threads.shutdown_background();
    served
}

async fn serve(desk: DeskKind, runs: Arc<dyn RunDesk>) -> io::Result<()> {
    let (over, mut is_over) = watch::channel(false);
    let lines = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout());
    let transport = ClientLines { lines, state: Lifecycle::Before, over };
    let caller = Caller { desk: runs, access: Access::Run };
    let server = ToolServer::new(desk, Some(caller), Some(is_over.clone()));
    let running = match serve_server(server, transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    let after_end = async {
        is_over.wait_for(|is_over| *is_over).await.ok();
        tokio::time::sleep(LAST_CALLS_TIMEOUT).await;
    };
    tokio::select! {
        quit = running.waiting() => quit.map(drop).map_err(io::Error::other),
        () = after_end => Ok(()),
    }
}

/// Whether the client has begun to use the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lifecycle {
    /// No `initialize`, and no request that has its protocol version with it.
    Before,
    Begun,
}

/// The lines of the client. The SDK ends the server if a notification or a response comes first, and takes an unknown
/// method for one without metadata; agents send both.
struct ClientLines<T> {
    lines: T,
    state: Lifecycle,
    over: watch::Sender<bool>,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for ClientLines<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.lines.receive().await else {
                self.over.send_replace(true);
                return None;
            };
            if self.state == Lifecycle::Begun {
                return Some(message);
            }
            let ClientJsonRpcMessage::Request(request) = message else { continue };
            if let ClientRequest::CustomRequest(custom) = &request.request {
                let error = ServerJsonRpcMessage::error(unknown_request(custom), Some(request.id));
                self.lines.send(error).await.ok()?;
                continue;
            }
            if begins_lifecycle(&request.request) {
                self.state = Lifecycle::Begun;
            }
            return Some(ClientJsonRpcMessage::Request(request));
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close().await
    }
}

/// As the SDK decides it: `initialize`, or a request other than `server/discover` that has all metadata with it.
fn begins_lifecycle(request: &ClientRequest) -> bool {
    if matches!(request, ClientRequest::InitializeRequest(_)) {
        return true;
    }
    let is_probe = matches!(request, ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_));
    let meta = request.get_meta();
    let supported = meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
    !is_probe && supported && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
}
