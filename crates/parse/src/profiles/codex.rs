//! `codex exec --json`: one JSON object per line on stdout, and the same in a merged terminal recording.
//!
//! An `item` of type `error` is a warning, an `error` event alone is a retry that may still succeed; only
//! `turn.failed` ends a turn badly.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use skillrun_model::rasp::data::TurnUsage;
use skillrun_model::status::Phase;
use skillrun_model::{Code, ProfileId, Stream};

use crate::classify;
use crate::json::{self, Str};
use crate::profile::{Emit, LineOutcome, MergedUse, Profile, ProfileLine};
use crate::profiles::subagents::{self, Subagents};
use crate::profiles::{plan_items, stderr, text_errors};
use crate::record::{End, MessageKey, RecordKind};

#[derive(Debug, Default)]
pub(crate) struct Codex {
    subagents: [Subagents; 3],
}

/// Most subagents of one call that are looked at.
const SUBAGENTS_OF_CALL: usize = 100;

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: Str<'a>,
    thread_id: Option<Str<'a>>,
    item: Option<Item<'a>>,
    usage: Option<&'a RawValue>,
    error: Option<Message<'a>>,
    message: Option<Str<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    message: Option<Str<'a>>,
    reason: Option<Str<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Item<'a> {
    id: Option<Str<'a>>,
    #[serde(rename = "type", alias = "item_type")]
    kind: Str<'a>,
    text: Option<Str<'a>>,
    message: Option<Str<'a>>,
    command: Option<Str<'a>>,
    aggregated_output: Option<Str<'a>>,
    exit_code: Option<i64>,
    status: Option<Str<'a>>,
    server: Option<Str<'a>>,
    tool: Option<Str<'a>>,
    query: Option<Str<'a>>,
    arguments: Option<&'a RawValue>,
    changes: Option<&'a RawValue>,
    items: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    /// Of a call to a subagent.
    prompt: Option<&'a RawValue>,
    receiver_thread_ids: Option<&'a RawValue>,
    agents_states: Option<&'a RawValue>,
}

/// What codex reports of one of its subagents.
#[derive(Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct AgentState<'a> {
    status: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Usage {
    input_tokens: Option<u64>,
    cached_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    reasoning_output_tokens: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Started,
    Updated,
    Completed,
}

impl Profile for Codex {
    fn id(&self) -> ProfileId {
        ProfileId::CodexNdjson
    }

    fn line(&mut self, line: ProfileLine<'_>, emit: &mut Emit<'_>) -> LineOutcome {
        // On a terminal a line that is not JSON may come from stderr.
        if line.span.stream == Stream::Stderr || !line.text.starts_with('{') {
            return stderr::line(line, emit);
        }
        let subagents = &mut self.subagents[line.span.stream.index()];
        json::read_event(line.text, |text| Some(event(serde_json::from_str(text).ok()?, subagents, emit)))
    }

    fn is_cut_success_end(&self, line: ProfileLine<'_>) -> bool {
        let members = json::members_before_cut(line.text);
        members.iter().any(|(key, value)| key == "type" && *value == "\"turn.completed\"")
    }

    fn merged(&self) -> MergedUse {
        MergedUse::MissingMessages
    }
}

fn event(event: Event<'_>, subagents: &mut Subagents, emit: &mut Emit<'_>) -> LineOutcome {
    match event.kind.as_str() {
        "thread.started" => {
            if let Some(id) = event.thread_id {
                emit.push(RecordKind::Session { id: id.into_string() });
            }
            emit.status(Phase::SessionStarted);
        }
        "turn.started" => {
            emit.push(RecordKind::End(End::retracted()));
            emit.status(Phase::TurnStarted);
        }
        "turn.completed" => {
            // Figures of another shape lose the usage, never the end.
            if let Some(usage) = event.usage.and_then(json::decode::<Usage>) {
                emit.push(RecordKind::Usage(TurnUsage {
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens,
                    cached_input_tokens: usage.cached_input_tokens,
                    reasoning_tokens: usage.reasoning_output_tokens,
                    ..TurnUsage::default()
                }));
            }
            emit.push(RecordKind::End(End::success()));
            emit.status(Phase::TurnCompleted);
        }
        "turn.failed" => turn_failed(event.error, emit),
        "error" => {
            let message = event.message.unwrap_or_default();
            emit.push(warning(Code::EngineRetry, message.as_str()));
        }
        "item.started" => return item(Moment::Started, event.item, subagents, emit),
        "item.updated" => return item(Moment::Updated, event.item, subagents, emit),
        "item.completed" => return item(Moment::Completed, event.item, subagents, emit),
        other => return LineOutcome::Unknown(other.to_owned()),
    }
    LineOutcome::Known
}

/// A problem that codex handles by itself, as text.
fn warning(code: Code, message: &str) -> RecordKind {
    text_errors::warning_of(code, &text_errors::readable_text(message), classify::by_words(message), None)
}

fn turn_failed(error: Option<Message<'_>>, emit: &mut Emit<'_>) {
    let (message, reason) = match &error {
        Some(error) => (error.message.as_ref().map(Str::as_str), error.reason.as_ref().map(Str::as_str)),
        None => (None, None),
    };
    let by_reason = text_errors::LIMITS.into_iter().find(|limit| reason == Some(*limit));
    let limit = by_reason.or_else(|| message.and_then(text_errors::named_limit));
    // The category follows from the whole response of the service; the user sees its text.
    let category = classify::by_words(message.unwrap_or_default());
    let words = message.map(text_errors::readable_text);
    let words = words.as_deref();
    emit.push(match limit {
        Some(limit) => text_errors::limit_or_refusal(words, limit == text_errors::REFUSAL),
        None => text_errors::failure(words, Some(category)),
    });
    emit.push(text_errors::with_category(words.unwrap_or("the turn failed"), category));
    emit.status(Phase::TurnFailed);
}

fn item(moment: Moment, item: Option<Item<'_>>, subagents: &mut Subagents, emit: &mut Emit<'_>) -> LineOutcome {
    let Some(item) = item else { return LineOutcome::Unknown("item without content".to_owned()) };
    match (item.kind.as_str(), moment) {
        ("agent_message", Moment::Completed) => {
            let text = item.text.unwrap_or_default().into_string();
            let id = match item.id {
                Some(id) => MessageKey::PerTurn(id.into_string()),
                None => MessageKey::Unnamed,
            };
            emit.push(RecordKind::Message { id, text: text.into(), partial: false });
        }
        ("agent_message", Moment::Started | Moment::Updated) => emit.status(Phase::Streaming),
        ("reasoning", Moment::Completed) => {
            emit.push(RecordKind::Reasoning { text: item.text.unwrap_or_default().into_string() });
        }
        ("reasoning", Moment::Started | Moment::Updated) => emit.status(Phase::Working),
        ("todo_list", _) => {
            emit.push(RecordKind::Status { phase: Phase::Planning, detail: plan_items::text(item.items) });
        }
        ("error", _) => {
            let message = item.message.or(item.text).unwrap_or_default();
            emit.push(warning(Code::EngineWarning, message.as_str()));
        }
        ("command_execution" | "file_change" | "mcp_tool_call" | "web_search", _) => tool(moment, item, emit),
        ("collab_tool_call", _) => {
            let (prompt, receivers, states) = (item.prompt, item.receiver_thread_ids, item.agents_states);
            let is_task = item.tool.as_ref().is_some_and(|tool| tool.as_str().starts_with("spawn"));
            tool(moment, item, emit);
            observe(subagents, prompt.filter(|_| is_task), receivers, states, emit);
        }
        (other, _) => return LineOutcome::Unknown(format!("item {other}")),
    }
    LineOutcome::Known
}

fn tool(moment: Moment, item: Item<'_>, emit: &mut Emit<'_>) {
    let id = item.id.as_ref().map(|id| id.as_str().to_owned()).unwrap_or_default();
    match moment {
        Moment::Started => emit.push(RecordKind::ToolStarted { id, name: tool_name(&item), input: tool_input(&item) }),
        Moment::Updated => emit.status(Phase::Working),
        Moment::Completed => {
            emit.push(RecordKind::ToolSeen { id: id.clone(), name: tool_name(&item), input: tool_input(&item) });
            let output = item
                .aggregated_output
                .map(Str::into_string)
                .or_else(|| item.result.or(item.error).map(|raw| raw.get().to_owned()).filter(|raw| raw != "null"));
            let failed = item.status.as_ref().is_some_and(|s| matches!(s.as_str(), "failed" | "declined"));
            if failed {
                let reason = match item.exit_code {
                    Some(code) => format!("exit code {code}"),
                    None => item.status.map(Str::into_string).unwrap_or_default(),
                };
                emit.push(RecordKind::ToolFailed { id, reason, output });
            } else {
                emit.push(RecordKind::ToolCompleted { id, output });
            }
        }
    }
}

/// The subagents of a call: those that it is about, and their states as codex reports them.
fn observe(
    subagents: &mut Subagents,
    task: Option<&RawValue>,
    receivers: Option<&RawValue>,
    states: Option<&RawValue>,
    emit: &mut Emit<'_>,
) {
    let receivers = receivers.map_or_else(Vec::new, |ids| json::elements(ids.get(), SUBAGENTS_OF_CALL));
    let receivers: Vec<String> = receivers.into_iter().filter_map(json::decode::<String>).collect();
    for id in &receivers {
        subagents.announce(id, None, task.and_then(json::decode::<String>));
    }
    let states = states.and_then(|raw| serde_json::from_str::<BTreeMap<String, &RawValue>>(raw.get()).ok());
    let states = states.unwrap_or_default();
    for (id, state) in states.iter().take(SUBAGENTS_OF_CALL) {
        let state: AgentState<'_> = serde_json::from_str(state.get()).unwrap_or_default();
        subagents.report(id, subagents::word(state.status), subagents::word(state.message), emit);
    }
    for id in receivers.iter().filter(|id| !states.contains_key(*id)) {
        subagents.works(id, emit);
    }
}

fn tool_name(item: &Item<'_>) -> String {
    match (&item.server, &item.tool) {
        (Some(server), Some(tool)) => format!("{}.{}", server.as_str(), tool.as_str()),
        (None, Some(tool)) => tool.as_str().to_owned(),
        (_, None) => item.kind.as_str().to_owned(),
    }
}

fn tool_input(item: &Item<'_>) -> Option<String> {
    let text = |key: &str, value: &Str<'_>| serde_json::json!({ key: value.as_str() }).to_string();
    if let Some(command) = &item.command {
        Some(text("command", command))
    } else if let Some(query) = &item.query {
        Some(text("query", query))
    } else {
        let prompt = item.prompt.map(|prompt| format!("{{\"prompt\":{}}}", prompt.get()));
        item.arguments.or(item.changes).map(|raw| raw.get().to_owned()).or(prompt)
    }
}

#[cfg(test)]
mod tests {
    use skillrun_model::{ProfileId, Stream};

    use crate::profiles::story;

    /// A list was reported only as a phase, so that its items were nowhere but in the evidence.
    #[test]
    fn a_todo_list_keeps_its_items() {
        let item = |kind: &str, first: bool| {
            format!(
                r#"{{"type":"item.{kind}","item":{{"id":"item_0","type":"todo_list","items":[{{"text":"Read it","completed":{first}}},{{"text":"Write it","completed":false}}]}}}}"#
            )
        };
        let text = [item("started", false), item("updated", true), item("completed", true)].join("\n") + "\n";
        let lines = story::read(ProfileId::CodexNdjson, &[(Stream::Stdout, text)]).lines();
        let changed = "status planning: [x] Read it\n[ ] Write it";
        assert_eq!(lines, ["status planning: [ ] Read it\n[ ] Write it", changed, changed]);
    }

    /// In the documented form of `collab_tool_call`.
    #[test]
    fn subagents_are_shown_as_codex_reports_them() {
        let item = |kind: &str, members: &str| {
            format!(
                r#"{{"type":"item.{kind}","item":{{"id":"i1","type":"collab_tool_call","sender_thread_id":"t0",{members}}}}}"#
            )
        };
        let spawn = r#""tool":"spawn_agent","prompt":"Find the tests.","status":"completed""#;
        let wait = r#""tool":"wait","prompt":null,"receiver_thread_ids":["t1","t2"],"status":"completed""#;
        let text = [
            item("started", r#""tool":"spawn_agent","prompt":"Find the tests.","receiver_thread_ids":[],"agents_states":{}"#),
            item("completed", &format!(r#"{spawn},"receiver_thread_ids":["t1"],"agents_states":{{"t1":{{"status":"pending_init","message":null}}}}"#)),
            item("completed", &format!(r#"{wait},"agents_states":{{"t1":{{"status":"completed","message":"There are two."}}}}"#)),
            // The same again is not news.
            item("updated", &format!(r#"{wait},"agents_states":{{"t1":{{"status":"completed","message":"There are two."}}}}"#)),
            item("updated", &format!(r#"{wait},"agents_states":{{"t1":{{"status":{{"odd":1}}}},"t2":7}}"#)),
        ]
        .join("\n")
            + "\n";
        let story = story::read(ProfileId::CodexNdjson, &[(Stream::Stdout, text)]);
        let subagents: Vec<String> = story.lines().into_iter().filter(|line| line.starts_with("subagent")).collect();
        let expected = [
            "subagent t1 - | Find the tests. | pending_init | -",
            "subagent t1 - | Find the tests. | completed | There are two.",
            "subagent t2 - | - | - | -",
            r#"subagent t1 - | Find the tests. | {"odd":1} | -"#,
        ];
        assert_eq!(subagents, expected);
        assert_eq!(story.lines()[0], r#"tool i1 spawn_agent {"prompt":"Find the tests."}"#);
    }
}
