//! Errors of the service as `application/problem+json` (RFC 9457): a stable code, whether a retry can help, and what to
//! do.

use std::ops::Deref;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use skillrun_engine::GetError;
use skillrun_lifecycle::run::Refusal;
use skillrun_log::catalog::CatalogError;
use skillrun_log::{LogError, LogErrorKind};
use skillrun_model::RunId;
use skillrun_runtime::record::RecordError;
use skillrun_runtime::{AcceptError, RuntimeError, owners};
use skillrun_skill::{InputError, SkillErrorKind};

/// Whether the same request may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    MayHelp,
    NoUse,
}

macro_rules! problem_codes {
    ($($(#[$doc:meta])* $variant:ident = $wire:literal, $status:ident, $again:ident, $action:literal;)+) => {
        /// Every problem the service can report.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
        pub enum ProblemCode { $($(#[$doc])* #[serde(rename = $wire)] $variant,)+ }

        impl ProblemCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $wire,)+ }
            }

            pub fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)+ }
            }

            fn again(self) -> Again {
                match self { $(Self::$variant => Again::$again,)+ }
            }

            /// What to do about the problem.
            pub fn next_action(self) -> &'static str {
                match self { $(Self::$variant => $action,)+ }
            }
        }
    };
}

problem_codes! {
    /// A field of the request is missing, misspelled or has an invalid value.
    InvalidRequest = "INVALID_REQUEST", BAD_REQUEST, NoUse, "correct the named fields and send the request again";
    Unauthorized = "UNAUTHORIZED", UNAUTHORIZED, NoUse, "send a token as Authorization: Bearer, or open the page with a link of `skillrun open`";
    Forbidden = "FORBIDDEN", FORBIDDEN, NoUse, "use a token with a wider scope; `skillrun token create` makes one";
    HostRefused = "HOST_REFUSED", FORBIDDEN, NoUse, "use the address the server prints, or add this name to server.hosts";
    OriginRefused = "ORIGIN_REFUSED", FORBIDDEN, NoUse, "call it from its own page, or add the origin to server.origins";
    NotFound = "NOT_FOUND", NOT_FOUND, NoUse, "see /openapi.json for the available routes";
    RunNotFound = "RUN_NOT_FOUND", NOT_FOUND, NoUse, "list runs with GET /v1/runs";
    /// Retention has removed the run.
    RunRemoved = "RUN_REMOVED", GONE, NoUse, "raise retention if runs are needed for longer";
    EvidenceRemoved = "EVIDENCE_REMOVED", GONE, NoUse, "the Log is still available: GET /v1/runs/{id}/events/history";
    /// The file in the workspace has changed since the run made it.
    ArtifactChanged = "ARTIFACT_CHANGED", GONE, NoUse, "run it again; the current version of the file is in the workspace of the run";
    SkillNotFound = "SKILL_NOT_FOUND", NOT_FOUND, NoUse, "list skills with GET /v1/skills, or send the skill as a zip";
    MethodNotAllowed = "METHOD_NOT_ALLOWED", METHOD_NOT_ALLOWED, NoUse, "use a method that the Allow header lists";
    /// The question is no longer open, or never was; the body contains the current state of the run.
    StaleInteraction = "STALE_INTERACTION", CONFLICT, NoUse, "see the current state of the run in this response";
    /// The environment variables of the server differ from those the run was created with; nothing was changed.
    OtherVariables = "OTHER_VARIABLES", CONFLICT, NoUse, "answer with `skillrun reply` from a shell that has the variables, or cancel the run and start it here";
    RunOver = "RUN_OVER", CONFLICT, NoUse, "start a new run with POST /v1/runs/{id}/retry";
    NotYet = "NOT_YET", CONFLICT, MayHelp, "wait for the end of the run, with GET /v1/runs/{id}?wait=60";
    SkillExists = "SKILL_EXISTS", CONFLICT, NoUse, "delete the installed skill first, or send it with replace=true";
    WorkspaceInUse = "WORKSPACE_IN_USE", CONFLICT, MayHelp, "wait for the run that uses the workspace";
    /// The events the client has no longer match the Log.
    CursorReset = "CURSOR_RESET", CONFLICT, NoUse, "discard the events you have and read from the beginning";
    KeyReused = "IDEMPOTENCY_KEY_REUSED", UNPROCESSABLE_ENTITY, NoUse, "use a new Idempotency-Key for another request";
    /// The skill, its schema or its engine does not allow this run.
    CannotRun = "CANNOT_RUN", UNPROCESSABLE_ENTITY, NoUse, "correct the request as described in detail";
    /// The input does not match the schema of the skill.
    InputInvalid = "INPUT_INVALID", UNPROCESSABLE_ENTITY, NoUse, "correct the input as listed in errors";
    SkillInvalid = "SKILL_INVALID", UNPROCESSABLE_ENTITY, NoUse, "fix the skill; `skillrun skills validate` lists every error";
    AddressRefused = "WEBHOOK_ADDRESS_REFUSED", UNPROCESSABLE_ENTITY, NoUse, "use a public http or https address, or set server.webhook_private";
    BodyTooLarge = "BODY_TOO_LARGE", PAYLOAD_TOO_LARGE, NoUse, "send less, or raise server.body_mb";
    BodyTooSlow = "BODY_TOO_SLOW", REQUEST_TIMEOUT, MayHelp, "send the request again without pauses";
    MediaType = "UNSUPPORTED_MEDIA_TYPE", UNSUPPORTED_MEDIA_TYPE, NoUse, "send application/json or multipart/form-data";
    RangeNotSatisfiable = "RANGE_NOT_SATISFIABLE", RANGE_NOT_SATISFIABLE, NoUse, "request a range below the given size";
    QueueFull = "QUEUE_FULL", TOO_MANY_REQUESTS, MayHelp, "send the request again after Retry-After seconds, or raise slots.queued";
    /// The limit of concurrent requests is reached, for this token or for all tokens together.
    TooManyRequests = "TOO_MANY_REQUESTS", TOO_MANY_REQUESTS, MayHelp, "send the request again after Retry-After seconds, or raise server.connections";
    TooManyStreams = "TOO_MANY_STREAMS", TOO_MANY_REQUESTS, MayHelp, "close streams, or raise server.connections";
    Stopping = "STOPPING", SERVICE_UNAVAILABLE, MayHelp, "send the request again when the server has restarted";
    DiskFull = "DISK_FULL", INSUFFICIENT_STORAGE, MayHelp, "free space; `skillrun gc` removes old runs";
    OwnerSilent = "OWNER_SILENT", SERVICE_UNAVAILABLE, MayHelp, "send the request again; the process that owns the run does not respond";
    Internal = "INTERNAL", INTERNAL_SERVER_ERROR, MayHelp, "see the log of the server";
}

/// One invalid field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldError {
    /// The location of the field, such as `input.count` or `query.limit`.
    pub field: String,
    /// What is wrong with the field.
    pub message: String,
}

/// An internal error, for the operator of the service. Travels with the response to `front`, which reports it.
#[derive(Debug, Clone)]
pub(crate) struct Fault(pub(crate) String);

/// A problem, to be returned as a response.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem(Box<Told>);

impl Deref for Problem {
    type Target = Told;
    fn deref(&self) -> &Told {
        &self.0
    }
}

/// The body of every response that reports a problem.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct Told {
    /// Always `about:blank`: `code` identifies the problem.
    pub r#type: &'static str,
    /// The reason phrase of the HTTP status.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// One sentence: what is wrong and what to do.
    pub detail: String,
    pub code: ProblemCode,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// What to do about the problem.
    pub next_action: String,
    /// The run the problem is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The invalid fields; omitted when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// The current state of the run, if the request referred to an earlier state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<Value>,
    #[serde(skip)]
    headers: Vec<(http::HeaderName, HeaderValue)>,
}

pub(crate) type Result<T, E = Problem> = std::result::Result<T, E>;

impl Problem {
    pub(crate) fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Told {
            r#type: "about:blank",
            title: code.status().canonical_reason().unwrap_or("Problem").to_owned(),
            status: code.status().as_u16(),
            detail: detail.into(),
            code,
            retryable: code.again() == Again::MayHelp,
            next_action: code.next_action().to_owned(),
            run_id: None,
            errors: Vec::new(),
            current: None,
            headers: Vec::new(),
        }))
    }

    /// Adds the invalid fields.
    #[must_use]
    fn naming(mut self, errors: Vec<FieldError>) -> Self {
        self.0.errors = errors;
        self
    }

    /// One field of the request is wrong.
    pub(crate) fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        let (field, message) = (field.into(), message.into());
        let detail = format!("{field}: {message}");
        Self::new(ProblemCode::InvalidRequest, detail).naming(vec![FieldError { field, message }])
    }

    #[must_use]
    pub(crate) fn of_run(mut self, run: RunId) -> Self {
        self.0.run_id = Some(run);
        self
    }

    #[must_use]
    pub(crate) fn with_current(mut self, current: Value) -> Self {
        self.0.current = Some(current);
        self
    }

    #[must_use]
    pub(crate) fn with_header(mut self, name: http::HeaderName, value: impl Into<HeaderValue>) -> Self {
        self.0.headers.push((name, value.into()));
        self
    }

    pub(crate) fn run_not_found(run: RunId) -> Self {
        Self::new(ProblemCode::RunNotFound, format!("there is no run {run}")).of_run(run)
    }

    fn internal(error: &dyn std::error::Error) -> Self {
        Self::new(ProblemCode::Internal, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&*self.0).unwrap_or_default();
        let kind = (header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        let mut response = (self.code.status(), [kind], body).into_response();
        if self.code == ProblemCode::Unauthorized {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.code == ProblemCode::Internal {
            response.extensions_mut().insert(Fault(self.detail.clone()));
        }
        response.headers_mut().extend(self.0.headers.into_iter().map(|(name, value)| (Some(name), value)));
        response
    }
}

impl From<LogError> for Problem {
    fn from(error: LogError) -> Self {
        let run = error.run;
        let problem = match &error.kind {
            LogErrorKind::NotFound => return Self::run_not_found(run),
            LogErrorKind::Gone => Self::new(ProblemCode::RunRemoved, format!("run {run} was removed to make room")),
            LogErrorKind::NoSpace { .. } => Self::new(ProblemCode::DiskFull, error.to_string()),
            LogErrorKind::Held { .. } | LogErrorKind::Stale { .. } => {
                Self::new(ProblemCode::OwnerSilent, error.to_string())
            }
            LogErrorKind::Exists
            | LogErrorKind::NotOpen
            | LogErrorKind::WrongSeq { .. }
            | LogErrorKind::WrongRun { .. }
            | LogErrorKind::BatchTooLarge { .. }
            | LogErrorKind::Damaged(_)
            | LogErrorKind::ReadOnly { .. }
            | LogErrorKind::Failed
            | LogErrorKind::Io { .. } => Self::internal(&error),
        };
        problem.of_run(run)
    }
}

impl From<CatalogError> for Problem {
    fn from(error: CatalogError) -> Self {
        Self::internal(&error)
    }
}

impl From<RecordError> for Problem {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Missing { .. } => Self::new(ProblemCode::RunNotFound, "there is no such run"),
            RecordError::Newer { .. } | RecordError::Unreadable { .. } | RecordError::Io { .. } => {
                Self::internal(&error)
            }
        }
    }
}

impl From<RuntimeError> for Problem {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Log(error) => error.into(),
            RuntimeError::Record(error) => error.into(),
            RuntimeError::Catalog(error) => error.into(),
            RuntimeError::Refused { run, ref refusal } => {
                let code = match refusal {
                    Refusal::Over => ProblemCode::RunOver,
                    Refusal::OutOfPlace | Refusal::Stale { .. } | Refusal::Repeated { .. } => {
                        ProblemCode::StaleInteraction
                    }
                };
                Self::new(code, error.to_string()).of_run(run)
            }
            RuntimeError::Owner(trouble) => {
                let code = match trouble.kind {
                    owners::Kind::Stale | owners::Kind::Repeated => ProblemCode::StaleInteraction,
                    owners::Kind::Over => ProblemCode::RunOver,
                    owners::Kind::OtherVariables => ProblemCode::OtherVariables,
                    owners::Kind::NotFound => ProblemCode::RunNotFound,
                    owners::Kind::Held | owners::Kind::Version => ProblemCode::OwnerSilent,
                    owners::Kind::Other => ProblemCode::Internal,
                };
                Self::new(code, trouble.message)
            }
            RuntimeError::OwnerSilent { run, .. } => Self::new(ProblemCode::OwnerSilent, error.to_string()).of_run(run),
            RuntimeError::OtherVariables { run, .. } => {
                Self::new(ProblemCode::OtherVariables, error.to_string()).of_run(run)
            }
            RuntimeError::ReplyTooLong { run, .. } => Self::field("text", error.to_string()).of_run(run),
            RuntimeError::Host(_) | RuntimeError::Evidence(_) => Self::internal(&error),
            RuntimeError::File { error: ref cause, .. } => of_io(cause).unwrap_or_else(|| Self::internal(&error)),
        }
    }
}

/// I/O errors caused by the system and not by the server.
pub(crate) fn of_io(error: &std::io::Error) -> Option<Problem> {
    use std::io::ErrorKind;
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        .then(|| Problem::new(ProblemCode::DiskFull, error.to_string()))
}

impl From<AcceptError> for Problem {
    fn from(error: AcceptError) -> Self {
        let words = error.to_string();
        let about = |field: &str| {
            let error = FieldError { field: field.to_owned(), message: words.clone() };
            Self::new(ProblemCode::CannotRun, words.clone()).naming(vec![error])
        };
        match error {
            AcceptError::Runtime(error) => error.into(),
            AcceptError::Input(InputError::DoesNotFit(misfits)) => {
                let field = |misfit: &skillrun_skill::input::Misfit| FieldError {
                    field: format!("{}{}", misfit.part, misfit.problem.path.replace('/', ".")),
                    message: misfit.problem.message.clone(),
                };
                Self::new(ProblemCode::InputInvalid, words.clone()).naming(misfits.iter().map(field).collect())
            }
            AcceptError::Skill(ref wrong) => {
                let full = if let SkillErrorKind::Io(cause) = &wrong.kind { of_io(cause) } else { None };
                full.unwrap_or_else(|| about("skill").with_code(ProblemCode::SkillInvalid))
            }
            AcceptError::Input(InputError::Schema(_)) => about("skill").with_code(ProblemCode::SkillInvalid),
            AcceptError::Engine(GetError::Unknown { .. } | GetError::Broken { .. })
            | AcceptError::NotInstalled(_)
            | AcceptError::EngineNotSupported { .. }
            | AcceptError::NoConsent { .. } => about("engine"),
            AcceptError::ModeNotAllowed { .. } | AcceptError::NotInteractive { .. } => about("mode"),
            AcceptError::NoScript { .. } => about("script"),
            AcceptError::File { .. } | AcceptError::NoFile { .. } | AcceptError::FileTooLarge { .. } => about("files"),
            AcceptError::NoFolder { .. } => about("workspace"),
            AcceptError::WorkspaceInUse { run, .. } => {
                about("workspace").with_code(ProblemCode::WorkspaceInUse).of_run(run)
            }
            AcceptError::Option { name, .. } => about(&format!("options.{name}")),
            AcceptError::Pattern(_) => Self::new(ProblemCode::Internal, words),
            AcceptError::Write { ref error, .. } => {
                of_io(error).unwrap_or_else(|| Self::new(ProblemCode::Internal, words.clone()))
            }
            AcceptError::QueueFull { .. } => Self::new(ProblemCode::QueueFull, words)
                .with_header(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER)),
        }
    }
}

/// Seconds after which a full queue may accept runs again.
const RETRY_AFTER: u16 = 5;

impl Problem {
    /// The same text under another code.
    #[must_use]
    pub(crate) fn with_code(self, code: ProblemCode) -> Self {
        let Told { detail, run_id, errors, current, headers, .. } = *self.0;
        let mut told = Self::new(code, detail).0;
        (told.run_id, told.errors, told.current, told.headers) = (run_id, errors, current, headers);
        Self(told)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use skillrun_skill::SkillError;

    use super::*;

    /// Regression: a skill that could not be copied because the disk was full was reported as invalid, and the caller
    /// gave up. Found by `make chaos`.
    #[test]
    fn a_full_disk_is_told_as_such_wherever_it_is_met() {
        let skill = |cause: ErrorKind| {
            let error = SkillError { path: "SKILL.md".into(), kind: Error::from(cause).into() };
            Problem::from(AcceptError::Skill(error))
        };
        let write = AcceptError::Write { path: "run.json".into(), error: ErrorKind::StorageFull.into() };
        for full in [skill(ErrorKind::StorageFull), skill(ErrorKind::QuotaExceeded), write.into()] {
            assert_eq!((full.code, full.retryable), (ProblemCode::DiskFull, true));
        }
        assert_eq!(skill(ErrorKind::PermissionDenied).code, ProblemCode::SkillInvalid);
    }
}
