//! The summary: one JSON object per attempt, and one for the run.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use skillrun_lifecycle::Settled;
use skillrun_model::codes::NextAction;
use skillrun_model::interaction::Pending;
use skillrun_model::rasp::data::{MessageFinal, TurnUsage};
use skillrun_model::rasp::{Data, Event, EvidenceData};
use skillrun_model::verdict::{Rule, RunError, Verdict, VerdictEvidence};
use skillrun_model::{
    AttemptNumber, Code, CompletionState, EngineName, ProfileId, RunId, RunStatus, Stream, TurnState,
};
use skillrun_translate::Facts;
use skillrun_translate::coverage::Coverage;

/// Bytes of messages that a summary holds; later messages are only counted.
const MESSAGES_BUDGET: usize = 4 * 1024 * 1024;

/// Overhead of a message in a summary: millions of tiny ones must not fill memory either.
fn message_cost(message: &MessageFinal) -> usize {
    const KEYS: usize = 48;
    message.text.len() + message.message_id.len() + KEYS
}

/// Tool calls that a summary lists.
const TOOL_CALLS_MAX: usize = 10_000;

#[derive(Debug, Serialize)]
struct Completion {
    state: CompletionState,
    reason_code: Code,
    confidence: f64,
}

#[derive(Debug, Serialize)]
struct MarkerSummary {
    found: bool,
    form: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct MessageSummary {
    message_id: String,
    text: String,
    partial: bool,
}

#[derive(Debug, Serialize)]
struct ToolCallSummary {
    id: Option<String>,
    name: Option<String>,
    status: &'static str,
}

#[derive(Debug, Default, Serialize)]
struct EventCounts {
    total: u64,
    by_type: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Default, Serialize)]
struct CoverageSummary {
    stdout_bytes: u64,
    stdout_covered: u64,
    stderr_bytes: u64,
    stderr_covered: u64,
}

#[derive(Debug, Serialize)]
struct DiagnosticCount {
    code: Code,
    count: u64,
}

/// What is collected from the events of one attempt.
#[derive(Debug, Default)]
pub(super) struct Observed {
    events: EventCounts,
    messages: Vec<MessageSummary>,
    message_bytes: usize,
    omitted: u64,
    tool_calls: Vec<ToolCallSummary>,
    tool_at: BTreeMap<String, usize>,
    diagnostics: BTreeMap<Code, u64>,
    coverage: Coverage,
}

impl Observed {
    pub(super) fn event(&mut self, event: &Event) {
        self.events.total += 1;
        *self.events.by_type.entry(event.event_type().as_str()).or_default() += 1;
        self.coverage.add(event);
        let tool_id = || event.correlation.tool_call_id.clone();
        if let Some(diagnostic) = event.data.diagnostic() {
            *self.diagnostics.entry(diagnostic.code).or_default() += 1;
        }
        let Data::Evidence(data) = &event.data else { return };
        match data {
            EvidenceData::MessageFinal(message) if self.message_bytes + message_cost(message) <= MESSAGES_BUDGET => {
                self.message_bytes += message_cost(message);
                let (message_id, text) = (message.message_id.clone(), message.text.clone());
                self.messages.push(MessageSummary { message_id, text, partial: message.partial });
            }
            EvidenceData::MessageFinal(_) => self.omitted += 1,
            EvidenceData::ToolCallStarted(call) if self.tool_calls.len() < TOOL_CALLS_MAX => {
                if let Some(id) = tool_id() {
                    self.tool_at.insert(id, self.tool_calls.len());
                }
                let name = Some(call.name.clone());
                self.tool_calls.push(ToolCallSummary { id: tool_id(), name, status: "started" });
            }
            EvidenceData::ToolCallCompleted(_) => self.tool_ended(tool_id(), "completed"),
            EvidenceData::ToolCallFailed(_) => self.tool_ended(tool_id(), "failed"),
            EvidenceData::ToolCallStarted(_)
            | EvidenceData::RunStatus(_)
            | EvidenceData::MessageDelta(_)
            | EvidenceData::ReasoningSummary(_)
            | EvidenceData::SubagentObserved(_)
            | EvidenceData::ParserWarning(_)
            | EvidenceData::ParserError(_)
            | EvidenceData::EngineError(_)
            | EvidenceData::RawStdout(_)
            | EvidenceData::RawStderr(_) => {}
        }
    }

    fn tool_ended(&mut self, id: Option<String>, status: &'static str) {
        if let Some(at) = id.as_ref().and_then(|id| self.tool_at.get(id)) {
            self.tool_calls[*at].status = status;
        } else if self.tool_calls.len() < TOOL_CALLS_MAX {
            self.tool_calls.push(ToolCallSummary { id, name: None, status });
        }
    }

    fn coverage(&self, [stdout_bytes, stderr_bytes]: [u64; 2]) -> CoverageSummary {
        CoverageSummary {
            stdout_bytes,
            stdout_covered: self.coverage.covered(Stream::Stdout),
            stderr_bytes,
            stderr_covered: self.coverage.covered(Stream::Stderr),
        }
    }
}

/// One line of the summary.
#[derive(Debug, Serialize)]
pub struct AttemptSummary {
    engine: EngineName,
    profile: ProfileId,
    profile_version: u32,
    attempt_number: AttemptNumber,
    session_id: Option<String>,
    turn_state: Option<TurnState>,
    completion: Option<Completion>,
    run_status: Option<RunStatus>,
    rule: Option<Rule>,
    marker: MarkerSummary,
    output: Option<Map<String, Value>>,
    output_errors: Vec<String>,
    messages: Vec<MessageSummary>,
    /// Messages left out because earlier ones filled the summary.
    #[serde(skip_serializing_if = "is_zero")]
    omitted: u64,
    prompt: Option<String>,
    pending: Option<Pending>,
    tool_calls: Vec<ToolCallSummary>,
    usage: Option<TurnUsage>,
    events: EventCounts,
    coverage: CoverageSummary,
    diagnostics: Vec<DiagnosticCount>,
    warnings: Vec<Code>,
    error: Option<RunError>,
    next_actions: Vec<NextAction>,
    parse_confidence: f64,
    evidence: Option<VerdictEvidence>,
    #[serde(skip)]
    bytes: [u64; 2],
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl AttemptSummary {
    pub(super) fn new(
        engine: &EngineName,
        profile: ProfileId,
        attempt_number: AttemptNumber,
        facts: &Facts,
        settled: Option<Settled>,
        next_actions: Vec<NextAction>,
        bytes: [u64; 2],
    ) -> Self {
        let marker = settled.as_ref().and_then(|s| s.marker);
        let output_errors = settled.as_ref().map(|s| s.output_errors.clone()).unwrap_or_default();
        let verdict = settled.map(|s| s.verdict);
        let pending = verdict.as_ref().and_then(|v| v.pending.clone());
        Self {
            engine: engine.clone(),
            profile,
            profile_version: profile.version(),
            attempt_number,
            session_id: facts.session_id.clone(),
            turn_state: verdict.as_ref().map(|v| v.turn),
            completion: verdict.as_ref().map(|v| Completion {
                state: v.completion,
                reason_code: v.reason_code,
                confidence: v.confidence,
            }),
            run_status: verdict.as_ref().map(|v| v.run_status),
            rule: verdict.as_ref().map(|v| v.rule),
            marker: MarkerSummary { found: marker.is_some(), form: marker.map(|form| form.as_str()) },
            output: verdict.as_ref().and_then(|v| v.output.clone()),
            output_errors,
            messages: Vec::new(),
            omitted: 0,
            prompt: pending.as_ref().map(|p| p.prompt.clone()),
            pending,
            tool_calls: Vec::new(),
            usage: facts.usage.clone(),
            events: EventCounts::default(),
            coverage: CoverageSummary::default(),
            diagnostics: Vec::new(),
            warnings: verdict.as_ref().map(|v| v.warnings.clone()).unwrap_or_default(),
            error: verdict.as_ref().and_then(|v| v.error.clone()),
            next_actions,
            parse_confidence: facts.parse.confidence,
            evidence: verdict.map(|v| v.evidence),
            bytes,
        }
    }

    /// Adds what was collected from the events.
    pub(super) fn complete(mut self, observed: Observed) -> Self {
        self.coverage = observed.coverage(self.bytes);
        self.events = observed.events;
        self.messages = observed.messages;
        self.omitted = observed.omitted;
        self.tool_calls = observed.tool_calls;
        self.diagnostics =
            observed.diagnostics.into_iter().map(|(code, count)| DiagnosticCount { code, count }).collect();
        self
    }

    /// False for an attempt after the end of the run.
    pub fn is_judged(&self) -> bool {
        self.completion.is_some()
    }

    /// The verdict as text, for a terminal of 80 columns.
    pub fn words(&self) -> String {
        let mut text = String::from("\n");
        match (&self.completion, self.run_status, self.rule) {
            (Some(completion), Some(status), Some(rule)) => {
                // The error, if there is one: a marker that was found does not explain a failure.
                let code = self.error.as_ref().map_or(completion.reason_code, |error| error.code);
                labelled(&mut text, "verdict", &format!("{status} · {code} (rule {rule})\n{}", code.summary()));
            }
            _ => {
                let number = self.attempt_number;
                labelled(&mut text, "note", &format!("attempt {number} came after the end; it is read, not judged"));
            }
        }
        if let Some(evidence) = &self.evidence {
            for (name, spans) in [("end", &evidence.end), ("marker", &evidence.marker), ("answer", &evidence.answer)] {
                if let (Some(first), Some(last)) = (spans.first(), spans.last()) {
                    let place = format!("{name}: bytes {}..{} of {}", first.from, last.to, first.stream);
                    labelled(&mut text, "evidence", &place);
                }
            }
        }
        if let Some(error) = &self.error {
            let message = error.message.trim_end();
            labelled(&mut text, "error", &format!("{} ({})\n{message}", error.code, error.category));
        }
        if let Some(output) = &self.output {
            text.push_str(&format!("{:LABEL$}{}\n", "output", Value::Object(output.clone())));
        }
        for warning in &self.warnings {
            labelled(&mut text, "warning", &format!("{warning}\n{}", warning.summary()));
        }
        text
    }
}

/// Width of the labels of the verdict's lines, and of the text after them.
const LABEL: usize = 10;
const COLUMNS: usize = 80 - LABEL;

/// A label and its text, broken between words.
fn labelled(out: &mut String, label: &str, text: &str) {
    let mut label = label;
    for line in text.lines() {
        let mut column = 0;
        for word in line.split(' ') {
            let width = word.chars().count();
            if column == 0 || column + 1 + width > COLUMNS {
                let end = if column == 0 { "" } else { "\n" };
                out.push_str(&format!("{end}{:LABEL$}{word}", std::mem::take(&mut label)));
                column = width;
            } else {
                out.push(' ');
                out.push_str(word);
                column += 1 + width;
            }
        }
        out.push('\n');
    }
}

/// The last line of the summary, when several attempts were read.
#[derive(Debug, Serialize)]
pub struct RunSummary {
    run: RunLine,
}

#[derive(Debug, Serialize)]
struct RunLine {
    run_id: RunId,
    status: Option<RunStatus>,
    attempts: u64,
    session_id: Option<String>,
    reason_code: Option<Code>,
    output: Option<Map<String, Value>>,
    warnings: Vec<Code>,
    error: Option<RunError>,
    events: u64,
}

impl RunSummary {
    pub(super) fn new(
        run_id: RunId,
        session_id: Option<String>,
        last: Option<&Verdict>,
        (attempts, events): (u64, u64),
    ) -> Self {
        Self {
            run: RunLine {
                run_id,
                status: last.map(|v| v.run_status),
                attempts,
                session_id,
                reason_code: last.map(|v| v.reason_code),
                output: last.and_then(|v| v.output.clone()),
                warnings: last.map(|v| v.warnings.clone()).unwrap_or_default(),
                error: last.and_then(|v| v.error.clone()),
                events,
            },
        }
    }
}
