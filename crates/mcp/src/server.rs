//! The tools as a handler of the protocol.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, RequestMetaObject, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use skillrun_model::delegation::RefusalReason;
use tokio::sync::{Semaphore, watch};

use crate::answer::{answer, refused};
use crate::desk::{Access, Caller, DeskKind, refusal};
use crate::tools::ToolName;

/// Waits at the same time in one process; each has a thread.
const WAITS_MAX: usize = 64;

/// Where clients put their own id of a call.
const CALL_IDS: [&str; 2] = ["callId", "claudecode/toolUseId"];

/// Methods of the protocol. A request with one of these and with other parameters is invalid, and not unknown.
const METHODS: [&str; 6] = ["initialize", "ping", "tools/list", "tools/call", "prompts/list", "resources/list"];

/// The handler of a connection or of a request.
#[derive(Debug, Clone)]
pub(crate) struct ToolServer {
    desk: DeskKind,
    /// None: each request has its own, which the transport adds.
    caller: Option<Caller>,
    waits: Arc<Semaphore>,
    /// True once the client is gone. None where the transport drops the calls of a client that is gone.
    is_over: Option<watch::Receiver<bool>>,
}

impl ToolServer {
    pub(crate) fn new(desk: DeskKind, caller: Option<Caller>, is_over: Option<watch::Receiver<bool>>) -> Self {
        Self { desk, caller, waits: Arc::new(Semaphore::new(WAITS_MAX)), is_over }
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let of_request = || context.extensions.get::<http::request::Parts>()?.extensions.get::<Caller>().cloned();
        let caller = self.caller.clone().or_else(of_request);
        caller.ok_or_else(|| ErrorData::internal_error("the caller of this request is not known", None))
    }
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let instructions = match self.desk {
            DeskKind::Children => {
                "Delegate parts of your task to child runs: spawn_run starts one, wait_runs waits for them, read_result \
                 reads the answer. A run is done only if its state is completed."
            }
            DeskKind::TopLevel => {
                "Runs tasks on other coding agents: spawn_run starts one, wait_runs waits, send_to_run answers its \
                 question, read_result reads the answer. A run is done only if its state is completed."
            }
        };
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("skillrun", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_instructions(instructions)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(ToolName::ALL.iter().map(|tool| tool.tool(self.desk)).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        ToolName::find(name).map(|tool| tool.tool(self.desk))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = ToolName::find(&request.name) else {
            let shown: String = request.name.chars().take(60).collect();
            let words = format!("there is no tool {shown:?}; tools/list has the names of all tools");
            return Err(ErrorData::invalid_params(words, None));
        };
        let caller = self.caller(&context)?;
        if tool.needs() == Access::Run && caller.access == Access::Read {
            let words =
                format!("{tool} needs a token with the scope run, and this one may only read; ask the user for one");
            return Ok(refused(&refusal(RefusalReason::NotAllowed, words)).into());
        }
        let call = match tool.call(request.arguments.unwrap_or_default(), call_id(&context.meta)) {
            Ok(call) => call,
            Err(refusal) => return Ok(refused(&refusal).into()),
        };
        let place = match tool {
            ToolName::WaitRuns => match self.waits.clone().try_acquire_owned() {
                Ok(place) => Some(place),
                Err(_) => {
                    let words = format!("{WAITS_MAX} calls wait already; call wait_runs again in a few seconds");
                    return Ok(refused(&refusal(RefusalReason::Unavailable, words)).into());
                }
            },
            ToolName::SpawnRun
            | ToolName::SendToRun
            | ToolName::CancelRun
            | ToolName::ListRuns
            | ToolName::ReadResult => None,
        };
        let asked = tokio::task::spawn_blocking(move || {
            let _place = place;
            caller.desk.ask(call.request)
        });
        // A wait has no effect, so it is left where it is.
        let mut is_over = self.is_over.clone().filter(|_| tool == ToolName::WaitRuns);
        let client_left = async {
            match &mut is_over {
                Some(is_over) => drop(is_over.wait_for(|is_over| *is_over).await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            response = asked => match response {
                Ok(response) => Ok(answer(tool, call.page, response).into()),
                Err(_) => Err(ErrorData::internal_error("the call failed because of a bug in skillrun", None)),
            },
            () = client_left => Err(ErrorData::internal_error("the client has closed the connection", None)),
        }
    }

    /// A server declares what it answers, and this one has tools alone.
    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unknown_request(&request))
    }
}

/// The error for a request that is none of the protocol.
pub(crate) fn unknown_request(request: &CustomRequest) -> ErrorData {
    let method = &request.method;
    match METHODS.contains(&method.as_str()) {
        true => ErrorData::invalid_params(format!("the parameters of {method} have the wrong type"), None),
        false => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no such method".to_owned(), None),
    }
}

fn call_id(meta: &RequestMetaObject) -> Option<String> {
    CALL_IDS.iter().find_map(|name| Some(meta.get(*name)?.as_str()?.to_owned()))
}
