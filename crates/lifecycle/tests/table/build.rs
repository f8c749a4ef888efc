//! Short builders for facts and circumstances.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use skillrun_lifecycle::{CompletionLayer, Control, OutputValidator, ProcessExit};
use skillrun_model::codes::ErrorCategory;
use skillrun_model::interaction::DecisionPolicy;
use skillrun_model::mcp::{McpServerEntry, McpServers};
use skillrun_model::rasp::Level;
use skillrun_model::status::Continuation;
use skillrun_model::verdict::EngineLimit;
use skillrun_model::{AttemptNumber, Code, EndedBy, ExecutionMode, InteractionId, ProfileId, Stream};
use skillrun_parse::Span;
use skillrun_parse::last_lines::LastLines;
use skillrun_parse::record::{AnswerFrom, EndKind, EndPolicy, EngineError};
use skillrun_translate::Facts;
use skillrun_translate::facts::{EndFact, FactsFold, FinalMessage, HostAct};

pub(crate) const DONE: &str = r#"{"__SKILL_DONE__": true}"#;
pub(crate) const GOOD: &str = r#"{"answer": 42}"#;
pub(crate) const GOOD_DONE: &str = r#"{"__SKILL_DONE__": true, "answer": 42}"#;
pub(crate) const BAD: &str = r#"{"answer": "forty-two"}"#;
pub(crate) const BAD_DONE: &str = r#"{"__SKILL_DONE__": true, "answer": "forty-two"}"#;
pub(crate) const NOT_DONE: &str = r#"{"__SKILL_DONE__": false, "answer": 42}"#;
pub(crate) const ASK: &str = "<ASK_USER_YAML>\nkind: confirm\nprompt: Go on?\n</ASK_USER_YAML>";

/// A schema: `answer` is a number, `note` is optional, and nothing else is allowed. So a marker that is not removed is
/// an error.
#[derive(Debug)]
pub(crate) struct AnswerSchema;

impl OutputValidator for AnswerSchema {
    fn errors(&self, output: &Map<String, Value>) -> Vec<String> {
        let missing = match output.get("answer") {
            Some(Value::Number(_)) => None,
            Some(other) => Some(format!("answer is {other}")),
            None => Some("answer is missing".to_owned()),
        };
        let known = ["answer", "note"];
        let unknown = output.keys().filter(|key| !known.contains(&key.as_str())).map(|key| format!("{key} is unknown"));
        missing.into_iter().chain(unknown).collect()
    }
}

/// Whether the host acted before the end or after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    BeforeEnd,
    AfterSuccess,
    AfterFailure,
    /// A limit that the engine may continue after.
    AfterProvisionalLimit,
}

/// The output of an engine: by default a session, no message, a success end.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    facts: Facts,
    tool: bool,
}

/// A turn with a success end and no message.
pub(crate) fn silent() -> Turn {
    let nothing = FactsFold::default().finish(EndPolicy::Event, AnswerFrom::Only(Stream::Stdout));
    let facts = Facts { session_id: Some("s-1".to_owned()), ..nothing };
    Turn { facts, tool: false }.ends(EndKind::Success)
}

/// A turn with a success end and this answer.
pub(crate) fn said(text: &str) -> Turn {
    silent().then(text)
}

/// A message and nothing else.
pub(crate) fn chat() -> Turn {
    said("Which colour?")
}

/// A profile that reports the end by the exit alone.
pub(crate) fn by_exit(text: &str) -> Turn {
    let mut turn = said(text).endless();
    turn.facts.end_policy = EndPolicy::Exit { confidence: 0.6 };
    turn
}

pub(crate) fn span(from: u64, to: u64) -> Span {
    Span { stream: Stream::Stdout, from, to }
}

impl Turn {
    pub(crate) fn facts(&self) -> Facts {
        self.facts.clone()
    }

    /// One more finished message.
    pub(crate) fn then(mut self, text: &str) -> Self {
        let number = self.facts.messages.len() as u64;
        self.facts.messages.push(FinalMessage {
            message_id: format!("m{}", number + 1),
            text: text.to_owned(),
            truncated: false,
            after_tool: std::mem::take(&mut self.tool),
            confidence: 1.0,
            spans: vec![span(number * 10, number * 10 + 10)],
        });
        self.facts.has_text = true;
        self
    }

    /// A tool call before the next message.
    pub(crate) fn tool(mut self) -> Self {
        self.tool = true;
        self
    }

    /// A tool call after all messages.
    pub(crate) fn works_on(mut self) -> Self {
        self.facts.tool_follows = true;
        self
    }

    /// The last message is the end of a longer one.
    pub(crate) fn cut(mut self) -> Self {
        self.last().truncated = true;
        self
    }

    pub(crate) fn message_confidence(mut self, confidence: f64) -> Self {
        self.last().confidence = confidence;
        self
    }

    fn last(&mut self) -> &mut FinalMessage {
        self.facts.messages.last_mut().expect("a message")
    }

    pub(crate) fn ends(mut self, kind: EndKind) -> Self {
        let is_broken = matches!(kind, EndKind::Failure | EndKind::Limit | EndKind::ProvisionalLimit);
        let message = is_broken.then(|| "no more".to_owned());
        let (category, confidence, span) = (ErrorCategory::Engine, 1.0, span(90, 99));
        self.facts.end = Some(EndFact { kind, message, category, limit: None, confidence, span });
        self
    }

    /// The end is a limit at which the model refused.
    pub(crate) fn refused(self) -> Self {
        self.limited(EngineLimit::Refusal)
    }

    /// The end is this limit.
    pub(crate) fn limited(self, limit: EngineLimit) -> Self {
        let mut turn = self.ends(EndKind::Limit);
        if let Some(end) = &mut turn.facts.end {
            end.limit = Some(limit);
        }
        turn
    }

    pub(crate) fn end_category(mut self, category: ErrorCategory) -> Self {
        self.facts.end.as_mut().expect("an end").category = category;
        self
    }

    pub(crate) fn end_confidence(mut self, confidence: f64) -> Self {
        self.facts.end.as_mut().expect("an end").confidence = confidence;
        self
    }

    pub(crate) fn endless(mut self) -> Self {
        self.facts.end = None;
        self
    }

    /// Only deltas were seen, no message was finished.
    pub(crate) fn deltas(mut self) -> Self {
        self.facts.has_text = true;
        self
    }

    /// A line on stderr that no rule understands.
    pub(crate) fn stderr(mut self, line: &str) -> Self {
        let mut lines = LastLines::default();
        lines.push(line);
        self.facts.last_words = lines.words();
        self
    }

    pub(crate) fn error(mut self, category: ErrorCategory, message: &str) -> Self {
        let (level, code) = (Level::Error, Code::EngineError);
        self.facts.error = Some(EngineError { level, code, message: message.to_owned(), category, reset: None });
        self.facts.session_refused |= category == ErrorCategory::Session;
        self
    }

    pub(crate) fn reset_at(mut self, moment: &str) -> Self {
        self.facts.reset_at = moment.parse().ok();
        self
    }

    pub(crate) fn profile(mut self, profile: ProfileId) -> Self {
        self.facts.profile = Some(profile);
        self
    }

    pub(crate) fn act(mut self, act: EndedBy, order: Order) -> Self {
        let after = match order {
            Order::BeforeEnd => None,
            Order::AfterSuccess => Some(EndKind::Success),
            Order::AfterFailure => Some(EndKind::Failure),
            Order::AfterProvisionalLimit => Some(EndKind::ProvisionalLimit),
        };
        self.facts.acts.push(HostAct { act, after });
        self
    }

    /// The engine reports that an MCP server did not start; none: one that it does not name.
    pub(crate) fn failed_server(mut self, server: Option<&str>) -> Self {
        self.facts.failed_servers.insert(server.map(str::to_owned));
        self
    }

    pub(crate) fn no_session(mut self) -> Self {
        self.facts.session_id = None;
        self
    }
}

/// Everything else: by default auto, attempt 1, exit 0, no schema, a resumable engine.
#[derive(Debug, Clone)]
pub(crate) struct How(Control<'static>);

pub(crate) fn auto() -> How {
    let (mode, exit) = (ExecutionMode::Auto, ProcessExit::Code(0));
    let control = Control::new(mode, AttemptNumber(1), Continuation::Resumable, exit);
    How(Control { ended_by: Some(EndedBy::Exited), ..control })
}

pub(crate) fn interactive() -> How {
    auto().mode(ExecutionMode::Interactive)
}

impl How {
    pub(crate) fn control(&self) -> &Control<'static> {
        &self.0
    }

    pub(crate) fn mode(self, mode: ExecutionMode) -> Self {
        Self(Control { mode, ..self.0 })
    }

    pub(crate) fn no_skill(self) -> Self {
        Self(Control { layer: CompletionLayer::Absent, ..self.0 })
    }

    pub(crate) fn schema(self) -> Self {
        Self(Control { schema: Some(&AnswerSchema), ..self.0 })
    }

    pub(crate) fn canceled(self) -> Self {
        Self(Control { cancel_recorded: true, ..self.0 })
    }

    pub(crate) fn exit(self, code: i32) -> Self {
        Self(Control { exit: ProcessExit::Code(code), ..self.0 })
    }

    pub(crate) fn signal(self) -> Self {
        Self(Control { exit: ProcessExit::Signal("SIGKILL".to_owned()), ..self.0 })
    }

    pub(crate) fn exit_unknown(self) -> Self {
        Self(Control { exit: ProcessExit::Unknown, ended_by: None, ..self.0 })
    }

    pub(crate) fn ended_by(self, ended_by: EndedBy) -> Self {
        Self(Control { ended_by: Some(ended_by), ..self.0 })
    }

    pub(crate) fn attempt(self, attempt: u32) -> Self {
        Self(Control { attempt: AttemptNumber(attempt), ..self.0 })
    }

    pub(crate) fn max_attempt(self, max: u32) -> Self {
        Self(Control { max_attempt: Some(max), ..self.0 })
    }

    pub(crate) fn require_marker(self) -> Self {
        Self(Control { require_marker: true, ..self.0 })
    }

    /// A run with these MCP servers: a name, and whether it is required.
    pub(crate) fn servers(self, servers: &[(&str, bool)]) -> Self {
        let entry =
            |required: bool| McpServerEntry { command: Some("x".to_owned()), required, ..McpServerEntry::default() };
        let entries: BTreeMap<_, _> =
            servers.iter().map(|(name, required)| ((*name).to_owned(), entry(*required))).collect();
        let servers = McpServers::try_from(entries).expect("servers");
        Self(Control { mcp_servers: Some(Box::leak(Box::new(servers))), ..self.0 })
    }

    pub(crate) fn continuation(self, continuation: Continuation) -> Self {
        Self(Control { continuation, ..self.0 })
    }

    pub(crate) fn known_session(self, session: &'static str) -> Self {
        Self(Control { known_session: Some(session), ..self.0 })
    }

    pub(crate) fn next_interaction(self, next_interaction: u32) -> Self {
        Self(Control { next_interaction: InteractionId(next_interaction), ..self.0 })
    }

    pub(crate) fn request_policy(self, policy: DecisionPolicy) -> Self {
        Self(Control { request_policy: Some(policy), ..self.0 })
    }

    pub(crate) fn skill_policy(self, policy: DecisionPolicy) -> Self {
        Self(Control { skill_policy: Some(policy), ..self.0 })
    }
}
