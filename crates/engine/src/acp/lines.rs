//! The messages that skillrun writes, one line each. Their shape is that of the protocol crate; request ids are chosen
//! so that a reader of the evidence sees which request an answer belongs to.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, CancelNotification, ClientCapabilities, ContentBlock, ElicitationCapabilities,
    ElicitationFormCapabilities, Error, Implementation, InitializeRequest, JsonRpcMessage, LoadSessionRequest,
    NewSessionRequest, Notification, PromptRequest, Request, RequestId, ResumeSessionRequest, TextContent,
};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use skillrun_model::AttemptNumber;
use skillrun_parse::acp::{Name, Wanted, Way};

/// Requests that no agent knows and every agent answers: the answer shows how far the agent has come.
const PAST: &str = "_skillrun/past";
const NOW: &str = "_skillrun/now";

/// No files and no terminal are offered: an agent has its own, and what it does with them is seen in the workspace.
pub fn initialize() -> String {
    let forms = ElicitationCapabilities::new().form(ElicitationFormCapabilities::new());
    let request = InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(ClientCapabilities::new().elicitation(forms))
        .client_info(Implementation::new("skillrun", env!("CARGO_PKG_VERSION")));
    request_line(&Name::Initialize, AGENT_METHOD_NAMES.initialize, request)
}

pub fn session(wanted: &Wanted, cwd: &str, meta: &Map<String, Value>) -> String {
    let meta = || (!meta.is_empty()).then(|| meta.clone());
    let name = Name::Session(wanted.clone());
    let methods = AGENT_METHOD_NAMES;
    match &wanted.way {
        Way::New => request_line(&name, methods.session_new, NewSessionRequest::new(cwd).meta(meta())),
        Way::Resume(session) => {
            let request = ResumeSessionRequest::new(session.to_owned(), cwd).meta(meta());
            request_line(&name, methods.session_resume, request)
        }
        Way::Load(session) => {
            let request = LoadSessionRequest::new(session.to_owned(), cwd).meta(meta());
            request_line(&name, methods.session_load, request)
        }
    }
}

/// Asks whether the agent is still replaying the history of a session.
pub fn past(number: u32) -> String {
    request_line(&Name::Past(number), PAST, Map::<String, Value>::new())
}

/// Marks the end of the history.
pub fn now() -> String {
    request_line(&Name::Now, NOW, Map::<String, Value>::new())
}

pub fn prompt(session: &str, attempt: AttemptNumber, text: &str) -> String {
    let content = vec![ContentBlock::Text(TextContent::new(text))];
    let request = PromptRequest::new(session.to_owned(), content);
    request_line(&Name::Prompt(attempt), AGENT_METHOD_NAMES.session_prompt, request)
}

/// Ends the current turn.
pub fn cancel(session: &str) -> String {
    let params = Some(CancelNotification::new(session.to_owned()));
    line(&JsonRpcMessage::wrap(Notification { method: AGENT_METHOD_NAMES.session_cancel.into(), params }))
}

/// The answer to a request that is not supported or not understood.
pub fn refuse(id: &RawValue, error: Error) -> String {
    line(&Answer { jsonrpc: "2.0", id, body: Body::<()>::Error(error) })
}

/// The answer to a request. Its id is repeated as the agent wrote it.
pub fn result(id: &RawValue, result: impl Serialize) -> String {
    line(&Answer { jsonrpc: "2.0", id, body: Body::Result(result) })
}

#[derive(Serialize)]
struct Answer<'a, R> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(flatten)]
    body: Body<R>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Body<R> {
    Result(R),
    Error(Error),
}

fn request_line<P: Serialize>(name: &Name, method: &str, params: P) -> String {
    let request = Request { id: RequestId::Str(name.to_string()), method: method.into(), params: Some(params) };
    line(&JsonRpcMessage::wrap(request))
}

fn line(message: &impl Serialize) -> String {
    // Serialization of these types cannot fail: all maps have string keys, and no float is produced here.
    let mut line = serde_json::to_string(message).unwrap_or_default();
    line.push('\n');
    line
}
