//! Errors of the service as `application/problem+json` (RFC 9457): a stable code, whether a retry can help, and what to
//! do.

use std::error::Error;
use std::ops::Deref;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use skillrun_catalog::CatalogError;
use skillrun_inspect::InspectError;
use skillrun_lifecycle::run::Refusal;
use skillrun_log::LogError;
use skillrun_model::error_class::source_texts;
use skillrun_model::{Classified, ErrorClass, RunId};
use skillrun_runs::copy::CopyError;
use skillrun_runs::record::RecordError;
use skillrun_runtime::{AcceptError, RuntimeError, SubmitError, owners};
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
    Unauthorized = "UNAUTHORIZED", UNAUTHORIZED, NoUse, "send a token as Authorization: Bearer, or open the page with a link from `skillrun open`";
    Forbidden = "FORBIDDEN", FORBIDDEN, NoUse, "use a token with a wider scope; `skillrun token create` makes one";
    HostRefused = "HOST_REFUSED", FORBIDDEN, NoUse, "use the address the server prints, or add this name to server.hosts";
    OriginRefused = "ORIGIN_REFUSED", FORBIDDEN, NoUse, "call the server from its own page, or add the origin to server.origins";
    NotFound = "NOT_FOUND", NOT_FOUND, NoUse, "check the names and numbers in the path; /openapi.json lists the routes";
    RunNotFound = "RUN_NOT_FOUND", NOT_FOUND, NoUse, "list runs with GET /v1/runs";
    /// A client or retention has removed the run.
    RunRemoved = "RUN_REMOVED", GONE, NoUse, "raise the retention settings if runs are needed for longer";
    EvidenceRemoved = "EVIDENCE_REMOVED", GONE, NoUse, "the Log is still available: GET /v1/runs/{id}/events/history";
    /// The file in the workspace has changed since the run made it.
    ArtifactChanged = "ARTIFACT_CHANGED", GONE, NoUse, "retry the run; the current version of the file is in its workspace";
    SkillNotFound = "SKILL_NOT_FOUND", NOT_FOUND, NoUse, "list skills with GET /v1/skills, or send the skill as a zip";
    MethodNotAllowed = "METHOD_NOT_ALLOWED", METHOD_NOT_ALLOWED, NoUse, "use a method that the Allow header lists";
    /// The question is no longer open, or never was; the body contains the current state of the run.
    StaleInteraction = "STALE_INTERACTION", CONFLICT, NoUse, "see the current state of the run in this response";
    /// The state of the run does not allow this; the body contains it.
    WrongState = "WRONG_STATE", CONFLICT, NoUse, "see the current state of the run in this response";
    /// The environment variables of the server differ from those the run was created with; nothing was changed.
    OtherVariables = "OTHER_VARIABLES", CONFLICT, NoUse, "answer with `skillrun reply` from a shell that has the variables, or cancel the run and start it here";
    RunOver = "RUN_OVER", CONFLICT, NoUse, "start a new run with POST /v1/runs/{id}/retry";
    NotYet = "NOT_YET", CONFLICT, MayHelp, "wait for the end of the run with GET /v1/runs/{id}?wait=60, and answer its open question, if it has one";
    SkillExists = "SKILL_EXISTS", CONFLICT, NoUse, "delete the installed skill first, or send it with replace=true";
    /// The folder has other files than the run found in it, or the copy has other files than the run left in it.
    ApplyConflict = "APPLY_CONFLICT", CONFLICT, NoUse, "restore the named files, or apply the changes to another folder; GET /v1/runs/{id}/artifacts lists the patch";
    WorkspaceInUse = "WORKSPACE_IN_USE", CONFLICT, MayHelp, "wait until the run that uses the workspace is over";
    /// The events the client has no longer match the Log.
    CursorReset = "CURSOR_RESET", CONFLICT, NoUse, "discard the events you have and read from the beginning";
    KeyReused = "IDEMPOTENCY_KEY_REUSED", UNPROCESSABLE_ENTITY, NoUse, "use a new Idempotency-Key for another request";
    /// The skill, its schema or its engine does not allow this run.
    CannotRun = "CANNOT_RUN", UNPROCESSABLE_ENTITY, NoUse, "correct the request as described in detail";
    /// The input does not match the schema of the skill.
    InputInvalid = "INPUT_INVALID", UNPROCESSABLE_ENTITY, NoUse, "correct the input as listed in errors";
    SkillInvalid = "SKILL_INVALID", UNPROCESSABLE_ENTITY, NoUse, "fix the skill; `skillrun skills validate` lists every error";
    AddressRefused = "WEBHOOK_ADDRESS_REFUSED", UNPROCESSABLE_ENTITY, NoUse, "use a public http or https address, or set server.webhook_private to true";
    BodyTooLarge = "BODY_TOO_LARGE", PAYLOAD_TOO_LARGE, NoUse, "send less, or raise server.body_mb";
    BodyTooSlow = "BODY_TOO_SLOW", REQUEST_TIMEOUT, MayHelp, "send the request again without pauses";
    MediaType = "UNSUPPORTED_MEDIA_TYPE", UNSUPPORTED_MEDIA_TYPE, NoUse, "send application/json or multipart/form-data";
    RangeNotSatisfiable = "RANGE_NOT_SATISFIABLE", RANGE_NOT_SATISFIABLE, NoUse, "request a range within the size given in Content-Range";
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
pub struct Problem(Box<ProblemBody>);

impl Deref for Problem {
    type Target = ProblemBody;
    fn deref(&self) -> &ProblemBody {
        &self.0
    }
}

/// The body of every response that reports a problem.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub struct ProblemBody {
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

pub(crate) type HttpResult<T, E = Problem> = std::result::Result<T, E>;

impl Problem {
    pub(crate) fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self(Box::new(ProblemBody {
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

impl ProblemCode {
    /// The code of an error that has no code of its own.
    fn of_class(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Usage => Self::CannotRun,
            ErrorClass::NotFound => Self::RunNotFound,
            ErrorClass::Gone => Self::RunRemoved,
            ErrorClass::Conflict => Self::StaleInteraction,
            ErrorClass::Busy => Self::OwnerSilent,
            ErrorClass::StorageFull => Self::DiskFull,
            ErrorClass::Internal => Self::Internal,
        }
    }
}

impl Problem {
    /// The sources of the error are in the log only: a client gets one sentence.
    fn caused(code: ProblemCode, detail: impl Into<String>, cause: &(dyn Error + 'static)) -> Self {
        let problem = Self::new(code, detail);
        tracing::debug!(code = code.as_str(), sources = ?source_texts(cause), "{}", problem.detail);
        problem
    }

    pub(crate) fn of_class(error: &(impl Classified + 'static), detail: impl Into<String>) -> Self {
        Self::caused(ProblemCode::of_class(error.class()), detail, error)
    }

    fn of_log(error: &LogError) -> Self {
        let run = error.run;
        let detail = match error.class() {
            ErrorClass::NotFound => return Self::run_not_found(run),
            ErrorClass::Gone => format!("run {run} was removed"),
            ErrorClass::Usage
            | ErrorClass::Conflict
            | ErrorClass::Busy
            | ErrorClass::StorageFull
            | ErrorClass::Internal => error.to_string(),
        };
        Self::of_class(error, detail).of_run(run)
    }

    fn of_record(error: &RecordError) -> Self {
        // The path on the disk of the server does not help a client that has named a run.
        let is_missing = matches!(error, RecordError::Missing { .. });
        Self::of_class(error, if is_missing { "there is no such run".to_owned() } else { error.to_string() })
    }

    fn of_runtime(error: &RuntimeError) -> Self {
        let coded = |code| Self::caused(code, error.to_string(), error);
        let by_class = || Self::of_class(error, error.to_string());
        match error {
            RuntimeError::Log(error) => Self::of_log(error),
            RuntimeError::Record(error) => Self::of_record(error),
            RuntimeError::Refused { run, refusal: Refusal::Over } => coded(ProblemCode::RunOver).of_run(*run),
            RuntimeError::Refused {
                run,
                refusal:
                    Refusal::NoOpenTurn { .. }
                    | Refusal::NotInterruptible
                    | Refusal::OtherPrompt
                    | Refusal::NotAtRest { .. }
                    | Refusal::NothingHeld { .. }
                    | Refusal::NoDelegation
                    | Refusal::NoTurnForChild { .. }
                    | Refusal::TooManyChildren { .. },
            } => coded(ProblemCode::WrongState).of_run(*run),
            RuntimeError::OtherVariables { run, .. } => coded(ProblemCode::OtherVariables).of_run(*run),
            RuntimeError::UnusableText { run, .. } => {
                Self::field("text", error.to_string()).with_code(ProblemCode::CannotRun).of_run(*run)
            }
            RuntimeError::Refused {
                run,
                refusal:
                    Refusal::OutOfPlace | Refusal::Stale { .. } | Refusal::Repeated { .. } | Refusal::RepeatedChild { .. },
            }
            | RuntimeError::OwnerSilent { run, .. } => by_class().of_run(*run),
            RuntimeError::Owner(owner) => match owner.kind {
                owners::OwnerErrorKind::Over => coded(ProblemCode::RunOver),
                owners::OwnerErrorKind::WrongState => coded(ProblemCode::WrongState),
                owners::OwnerErrorKind::OtherVariables => coded(ProblemCode::OtherVariables),
                // An owner of another version does not answer questions of this one.
                owners::OwnerErrorKind::Version => coded(ProblemCode::OwnerSilent),
                owners::OwnerErrorKind::Other => coded(ProblemCode::Internal),
                owners::OwnerErrorKind::Stale
                | owners::OwnerErrorKind::Repeated
                | owners::OwnerErrorKind::NotFound
                | owners::OwnerErrorKind::Held => by_class(),
            },
            RuntimeError::File { error: cause, .. } => of_io(cause).unwrap_or_else(by_class),
            RuntimeError::Catalog(_) | RuntimeError::Host(_) | RuntimeError::Evidence(_) => by_class(),
        }
    }
}

impl From<LogError> for Problem {
    fn from(error: LogError) -> Self {
        Self::of_log(&error)
    }
}

impl From<CatalogError> for Problem {
    fn from(error: CatalogError) -> Self {
        Self::of_class(&error, error.to_string())
    }
}

impl From<RecordError> for Problem {
    fn from(error: RecordError) -> Self {
        Self::of_record(&error)
    }
}

impl From<InspectError> for Problem {
    fn from(error: InspectError) -> Self {
        match error {
            InspectError::Log(error) => error.into(),
            InspectError::Record(error) => error.into(),
        }
    }
}

impl From<RuntimeError> for Problem {
    fn from(error: RuntimeError) -> Self {
        Self::of_runtime(&error)
    }
}

/// I/O errors caused by the system and not by the server.
pub(crate) fn of_io(error: &std::io::Error) -> Option<Problem> {
    let is_full = ErrorClass::of_io(error) == ErrorClass::StorageFull;
    is_full.then(|| Problem::new(ProblemCode::DiskFull, error.to_string()))
}

impl From<AcceptError> for Problem {
    fn from(error: AcceptError) -> Self {
        let words = error.to_string();
        let coded = |code| Self::caused(code, words.clone(), &error);
        let about = |field: &str| {
            let wrong = FieldError { field: field.to_owned(), message: words.clone() };
            coded(ProblemCode::CannotRun).naming(vec![wrong])
        };
        match &error {
            AcceptError::Runtime(error) => Self::of_runtime(error),
            AcceptError::Input(InputError::DoesNotFit(misfits)) => {
                let field = |misfit: &skillrun_skill::input::Misfit| FieldError {
                    field: format!("{}{}", misfit.part, misfit.problem.path.replace('/', ".")),
                    message: misfit.problem.message.clone(),
                };
                coded(ProblemCode::InputInvalid).naming(misfits.iter().map(field).collect())
            }
            AcceptError::Skill(wrong) => {
                let full = if let SkillErrorKind::Io(cause) = &wrong.kind { of_io(cause) } else { None };
                full.unwrap_or_else(|| about("skill").with_code(ProblemCode::SkillInvalid))
            }
            AcceptError::Input(InputError::Schema(_)) => about("skill").with_code(ProblemCode::SkillInvalid),
            AcceptError::Prompt(_) => about("prompt"),
            AcceptError::OnlyWithSkill { part } => about(part.field()),
            AcceptError::Engine(_)
            | AcceptError::NotInstalled(_)
            | AcceptError::EngineNotSupported { .. }
            | AcceptError::NoConsent { .. } => about("engine"),
            AcceptError::NoConsentToChecks { .. } | AcceptError::NoConsentToWorkflow { .. } => about("skill"),
            AcceptError::ModeNotAllowed { .. } | AcceptError::NotInteractive { .. } => about("mode"),
            AcceptError::CannotDelegate { .. } => about("options.delegation"),
            AcceptError::NoScript { .. } => about("script"),
            AcceptError::File { .. } | AcceptError::NoFile { .. } | AcceptError::FileTooLarge { .. } => about("files"),
            AcceptError::NoFolder { .. } | AcceptError::FolderAndCopy | AcceptError::WorkspaceInBox { .. } => {
                about("workspace")
            }
            AcceptError::NetworkWithoutBox { .. } | AcceptError::ModelAddressUnknown { .. } => about("options.network"),
            AcceptError::BadHost(_) | AcceptError::HostsWithoutList { .. } | AcceptError::TooManyHosts { .. } => {
                about("options.allow_hosts")
            }
            AcceptError::BoxNotEnforced { .. } => about("options.box"),
            AcceptError::WorkspaceStarts { .. } => about("options.workspace_settings"),
            AcceptError::Copy(CopyError::Write { error: cause, .. }) => {
                of_io(cause).unwrap_or_else(|| Self::of_class(&error, words.clone()))
            }
            AcceptError::Copy(
                CopyError::TooMany { .. }
                | CopyError::TooLarge { .. }
                | CopyError::TooDeep { .. }
                | CopyError::Repository { .. }
                | CopyError::Read { .. },
            ) => about("workspace"),
            AcceptError::WorkspaceInUse { run, .. } => {
                about("workspace").with_code(ProblemCode::WorkspaceInUse).of_run(*run)
            }
            AcceptError::McpServers(_)
            | AcceptError::McpRefusal(_)
            | AcceptError::SkillServer { .. }
            | AcceptError::SkillServerVariable { .. }
            | AcceptError::ServerVariable { .. } => about("options.mcp_servers"),
            AcceptError::NotOfWorkflows { name } | AcceptError::Option { name, .. } => {
                about(&format!("options.{name}"))
            }
            // The patterns are in the settings of the server and not in the request.
            AcceptError::Pattern(_) => coded(ProblemCode::Internal),
            AcceptError::Write { error: cause, .. } => {
                of_io(cause).unwrap_or_else(|| Self::of_class(&error, words.clone()))
            }
            AcceptError::QueueFull { .. } => {
                coded(ProblemCode::QueueFull).with_header(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER))
            }
        }
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Accept(error) => error.into(),
            SubmitError::Busy => Self::of_class(&error, error.to_string()),
            SubmitError::KeyReused { run } => {
                Self::caused(ProblemCode::KeyReused, error.to_string(), &error).of_run(run)
            }
        }
    }
}

/// Seconds after which a full queue may accept runs again.
const RETRY_AFTER: u16 = 5;

impl Problem {
    /// The same text under another code.
    #[must_use]
    pub(crate) fn with_code(self, code: ProblemCode) -> Self {
        let ProblemBody { detail, run_id, errors, current, headers, .. } = *self.0;
        let mut body = Self::new(code, detail).0;
        (body.run_id, body.errors, body.current, body.headers) = (run_id, errors, current, headers);
        Self(body)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use skillrun_evidence::error::EvidenceErrorKind;
    use skillrun_evidence::{EvidenceError, PatternError};
    use skillrun_log::{Damage, DamageKind, LogErrorKind, Seq};
    use skillrun_model::InteractionId;
    use skillrun_runs::prompt::{PromptFault, TextKind};
    use skillrun_runtime::owners::{OwnerError, OwnerErrorKind};
    use skillrun_skill::SkillError;

    use skillrun_model::confinement::NetworkAccess;

    use super::*;

    #[test]
    fn codes_follow_from_the_class() {
        let codes = ErrorClass::ALL.iter().map(|class| (*class, ProblemCode::of_class(*class).as_str()));
        let expected = [
            (ErrorClass::Usage, "CANNOT_RUN"),
            (ErrorClass::NotFound, "RUN_NOT_FOUND"),
            (ErrorClass::Gone, "RUN_REMOVED"),
            (ErrorClass::Conflict, "STALE_INTERACTION"),
            (ErrorClass::Busy, "OWNER_SILENT"),
            (ErrorClass::StorageFull, "DISK_FULL"),
            (ErrorClass::Internal, "INTERNAL"),
        ];
        assert_eq!(codes.collect::<Vec<_>>(), expected);
    }

    fn run() -> RunId {
        RunId::new(1, [1; 10])
    }

    fn denied() -> Error {
        ErrorKind::PermissionDenied.into()
    }

    fn check(table: impl IntoIterator<Item = (&'static str, Problem)>) {
        for (code, problem) in table {
            assert_eq!(problem.code.as_str(), code, "{}", problem.detail);
        }
    }

    #[test]
    fn every_error_of_a_log_has_its_code() {
        let place = || "events.jsonl".to_owned();
        let damage = Damage { seq: Seq(1), offset: 0, kind: DamageKind::Zeros };
        let (one, two) = (Seq(1), Seq(2));
        let table = [
            ("INTERNAL", LogErrorKind::Exists),
            ("RUN_NOT_FOUND", LogErrorKind::NotFound),
            ("RUN_REMOVED", LogErrorKind::Gone),
            ("INTERNAL", LogErrorKind::NotOpen),
            ("OWNER_SILENT", LogErrorKind::Held { pid: Some(1) }),
            ("OWNER_SILENT", LogErrorKind::Stale { expected: one, actual: two }),
            ("INTERNAL", LogErrorKind::WrongSeq { found: one, wanted: two }),
            ("INTERNAL", LogErrorKind::WrongRun { found: run() }),
            ("INTERNAL", LogErrorKind::BatchTooLarge { limit: 1 }),
            ("INTERNAL", LogErrorKind::Damaged(damage)),
            ("DISK_FULL", LogErrorKind::NoSpace { place: place(), source: denied() }),
            ("INTERNAL", LogErrorKind::ReadOnly { place: place(), source: denied() }),
            ("INTERNAL", LogErrorKind::Failed),
            ("INTERNAL", LogErrorKind::Io { place: place(), source: denied() }),
        ];
        check(table.map(|(code, kind)| {
            let problem = Problem::from(RuntimeError::from(LogError { run: run(), kind }));
            assert_eq!(problem.run_id, Some(run()));
            (code, problem)
        }));
    }

    #[test]
    fn every_error_of_a_run_has_its_code() {
        let owner = |kind| RuntimeError::from(OwnerError { kind, message: "refused".to_owned() });
        let refused = |refusal| RuntimeError::Refused { run: run(), refusal };
        let file = |kind: ErrorKind| RuntimeError::File { path: "x".into(), doing: "written", error: kind.into() };
        let evidence = EvidenceError { path: "x".into(), kind: EvidenceErrorKind::NoFolder };
        let record = |error: RecordError| RuntimeError::from(error);
        let table = [
            ("RUN_NOT_FOUND", record(RecordError::Missing { path: "x".into() })),
            ("INTERNAL", record(RecordError::Newer { path: "x".into(), found: 9 })),
            ("INTERNAL", record(RecordError::Unreadable { path: "x".into(), why: "cut".into() })),
            ("INTERNAL", record(RecordError::Io { path: "x".into(), error: denied() })),
            ("INTERNAL", CatalogError::Runs { place: "x".to_owned(), source: denied() }.into()),
            ("INTERNAL", evidence.into()),
            ("RUN_OVER", refused(Refusal::Over)),
            ("STALE_INTERACTION", refused(Refusal::OutOfPlace)),
            ("STALE_INTERACTION", refused(Refusal::Stale { asked: InteractionId(1), open: None })),
            ("STALE_INTERACTION", refused(Refusal::Repeated { interaction_id: InteractionId(1) })),
            ("STALE_INTERACTION", owner(OwnerErrorKind::Stale)),
            ("STALE_INTERACTION", owner(OwnerErrorKind::Repeated)),
            ("RUN_OVER", owner(OwnerErrorKind::Over)),
            ("OTHER_VARIABLES", owner(OwnerErrorKind::OtherVariables)),
            ("RUN_NOT_FOUND", owner(OwnerErrorKind::NotFound)),
            ("OWNER_SILENT", owner(OwnerErrorKind::Held)),
            ("OWNER_SILENT", owner(OwnerErrorKind::Version)),
            ("INTERNAL", owner(OwnerErrorKind::Other)),
            ("OWNER_SILENT", RuntimeError::OwnerSilent { run: run(), pid: 1 }),
            ("OTHER_VARIABLES", RuntimeError::OtherVariables { run: run(), changed: Vec::new() }),
            (
                "CANNOT_RUN",
                RuntimeError::UnusableText { run: run(), kind: TextKind::Answer, fault: PromptFault::TooLong },
            ),
            ("INTERNAL", file(ErrorKind::PermissionDenied)),
            ("DISK_FULL", file(ErrorKind::StorageFull)),
        ];
        check(table.map(|(code, error)| (code, error.into())));
    }

    #[test]
    fn every_refused_request_has_its_code() {
        let skill = |kind: SkillErrorKind| SkillError { path: "skill".into(), kind };
        let path = || "x".into();
        let (engine, name) = (|| "codex".to_owned(), || "probe".to_owned());
        let unknown = skillrun_engine::GetError::Unknown { given: engine(), suggestion: None, known: Vec::new() };
        let missing = skillrun_engine::FindError::BadVariable { engine: engine(), variable: name(), path: path() };
        let mode = skillrun_model::ExecutionMode::Auto;
        let permission = skillrun_engine::Permission::Full;
        let in_use = AcceptError::WorkspaceInUse { path: path(), run: run(), not_before: None };
        let option = AcceptError::Option { place: "options", name: "timeout", value: name(), wanted: "a number" };
        let table = [
            ("SKILL_INVALID", skill(SkillErrorKind::Empty).into()),
            ("SKILL_INVALID", skill(denied().into()).into()),
            ("SKILL_INVALID", InputError::Schema(skill(SkillErrorKind::Missing)).into()),
            ("INPUT_INVALID", InputError::DoesNotFit(Vec::new()).into()),
            ("CANNOT_RUN", PromptFault::Empty.into()),
            ("CANNOT_RUN", AcceptError::OnlyWithSkill { part: skillrun_runtime::SkillPart::Input }),
            ("CANNOT_RUN", unknown.into()),
            ("CANNOT_RUN", missing.into()),
            ("OWNER_SILENT", AcceptError::Runtime(RuntimeError::OwnerSilent { run: run(), pid: 1 })),
            ("CANNOT_RUN", AcceptError::NotOfWorkflows { name: "checks" }),
            ("CANNOT_RUN", AcceptError::McpServers(skillrun_model::mcp::McpServersError::OwnName)),
            ("CANNOT_RUN", AcceptError::McpRefusal(skillrun_engine::mcp::McpRefusal::NoServers { engine: engine() })),
            ("CANNOT_RUN", AcceptError::SkillServer { skill: name(), server: name(), engine: engine(), permission }),
            ("CANNOT_RUN", AcceptError::SkillServerVariable { skill: name(), server: name(), name: name() }),
            ("CANNOT_RUN", AcceptError::ServerVariable { server: name(), name: name() }),
            ("CANNOT_RUN", AcceptError::EngineNotSupported { skill: name(), engine: engine(), engines: Vec::new() }),
            ("CANNOT_RUN", AcceptError::ModeNotAllowed { skill: name(), mode }),
            ("CANNOT_RUN", AcceptError::NotInteractive { engine: engine(), mode }),
            ("CANNOT_RUN", AcceptError::CannotDelegate { engine: engine() }),
            ("CANNOT_RUN", AcceptError::NoConsent { engine: engine(), permission }),
            ("CANNOT_RUN", AcceptError::File { path: path(), error: denied() }),
            ("CANNOT_RUN", AcceptError::NoFile { path: path() }),
            ("CANNOT_RUN", AcceptError::NoFolder { path: path() }),
            ("CANNOT_RUN", AcceptError::NetworkWithoutBox { network: NetworkAccess::None }),
            ("CANNOT_RUN", AcceptError::HostsWithoutList { network: NetworkAccess::Model }),
            ("CANNOT_RUN", AcceptError::TooManyHosts { count: 33, limit: 32 }),
            ("CANNOT_RUN", AcceptError::ModelAddressUnknown { engine: engine(), variable: String::new() }),
            ("CANNOT_RUN", AcceptError::WorkspaceInBox { path: path(), reason: "" }),
            ("CANNOT_RUN", AcceptError::FileTooLarge { path: path(), limit: 1 }),
            ("CANNOT_RUN", AcceptError::NoScript { skill: name(), engine: engine() }),
            ("WORKSPACE_IN_USE", in_use),
            ("INTERNAL", AcceptError::Write { path: path(), error: denied() }),
            ("CANNOT_RUN", option),
            ("INTERNAL", PatternError::TooMany(1_000).into()),
            ("QUEUE_FULL", AcceptError::QueueFull { queued: 1 }),
        ];
        check(table.map(|(code, error)| (code, SubmitError::Accept(error).into())));
        check([
            ("OWNER_SILENT", SubmitError::Busy.into()),
            ("IDEMPOTENCY_KEY_REUSED", SubmitError::KeyReused { run: run() }.into()),
        ]);
    }

    /// Regression: a skill that could not be copied because the disk was full was reported as invalid, and the caller
    /// gave up. Found by `make chaos`.
    #[test]
    fn a_full_disk_is_reported_as_disk_full_everywhere() {
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
