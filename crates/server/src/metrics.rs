//! Metrics for monitoring: requests, streams, and the counters of the runtime. Served at `/metrics`.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use skillrun_model::RunStatus;
use skillrun_runtime::runtime::Stats;

use crate::places::Counts;
use crate::problem::{Problem, ProblemCode};
use crate::service::Service;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    /// The path as declared, so that there are no more values than routes.
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Routed {
    route: String,
}

#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    answered: Family<Answered, Counter>,
    took: Family<Routed, Histogram>,
    streams: Gauge,
}

/// Counts a stream as open until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<Metrics>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.dec();
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("skillrun");
        let answered = Family::<Answered, Counter>::default();
        registry.register("http_requests", "Requests by route and status", answered.clone());
        let took =
            Family::<Routed, Histogram>::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 4.0, 8)));
        registry.register("http_request_seconds", "Time until the response began", took.clone());
        let streams = Gauge::default();
        registry.register("http_streams", "Open event streams", streams.clone());
        Self { registry, answered, took, streams }
    }

    pub(crate) fn answered(&self, method: &Method, route: Option<&str>, status: StatusCode, took: Duration) {
        let route = route.unwrap_or("none").to_owned();
        let method = match *method {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::POST => "POST",
            Method::DELETE => "DELETE",
            _ => "other",
        };
        self.took.get_or_create(&Routed { route: route.clone() }).observe(took.as_secs_f64());
        self.answered.get_or_create(&Answered { method, route, status: status.as_u16() }).inc();
    }

    pub(crate) fn stream(self: &Arc<Self>) -> OpenStream {
        self.streams.inc();
        OpenStream(self.clone())
    }

    #[cfg(test)]
    pub(crate) fn open_streams(&self) -> u64 {
        u64::try_from(self.streams.get()).unwrap_or(0)
    }

    /// All metrics as text; `more` registers what is counted elsewhere.
    pub(crate) fn text(&self, more: &Registry) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, more)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStatus {
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfEngine {
    engine: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Parsed {
    engine: String,
    /// `matched`, `inferred`, `raw` or `unknown`.
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UnknownType {
    engine: String,
    /// The engine's name of the type, see [`label`].
    r#type: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Settled {
    engine: String,
    turn: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSlots {
    kind: &'static str,
    is: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfConnections {
    standing: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClosedFor {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MessageLabels {
    state: &'static str,
}

/// All metrics as text. Blocking.
pub(crate) fn all(service: &Service) -> crate::problem::HttpResult<String> {
    let mut registry = Registry::with_prefix("skillrun");
    let runs = Family::<OfStatus, Gauge>::default();
    registry.register("runs", "Runs in the data folder, by status", runs.clone());
    let counts = service.summaries.counts()?;
    for status in RunStatus::ALL {
        let count = counts.by_status.get(status).copied().unwrap_or(0);
        runs.get_or_create(&OfStatus { status: status.as_str() }).set(signed(count));
    }
    runs.get_or_create(&OfStatus { status: "unknown" }).set(signed(counts.unknown));
    of_runtime(&mut registry, &service.runtime.stats());
    let messages = Family::<MessageLabels, Gauge>::default();
    registry.register("webhook_messages", "Webhook messages, by state", messages.clone());
    let webhooks = service.webhooks.counts();
    let states = [
        ("delivered", webhooks.delivered),
        ("failed_try", webhooks.failed_tries),
        ("given_up", webhooks.given_up),
        ("pending", webhooks.pending),
    ];
    for (state, count) in states {
        messages.get_or_create(&MessageLabels { state }).set(signed(count));
    }
    of_places(&mut registry, service.places.counts());
    service
        .metrics
        .text(&registry)
        .map_err(|error| Problem::new(ProblemCode::Internal, format!("failed to write the metrics: {error}")))
}

fn signed(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// Connections, and how many lost their place.
fn of_places(registry: &mut Registry, counts: Counts) {
    let open = Family::<OfConnections, Gauge>::default();
    registry.register("http_connections", "Connections by state; new: no valid token yet", open.clone());
    for (standing, count) in [("new", counts.new), ("idle", counts.idle), ("busy", counts.busy)] {
        open.get_or_create(&OfConnections { standing }).set(signed(count));
    }
    let closed = Family::<ClosedFor, Counter>::default();
    registry.register("http_connections_closed", "Connections that were closed to make room", closed.clone());
    for (reason, count) in [("place_needed", counts.evicted), ("no_token_in_time", counts.timed_out)] {
        closed.get_or_create(&ClosedFor { reason }).inc_by(count);
    }
    let refused = Counter::<u64>::default();
    refused.inc_by(counts.refused);
    registry.register("http_requests_refused", "Requests refused because a limit was reached", refused);
}

/// The counters of the runtime since the process started.
fn of_runtime(registry: &mut Registry, stats: &Stats) {
    let slots = Family::<OfSlots, Gauge>::default();
    registry.register("slots", "Slots for engine processes, used and allowed", slots.clone());
    for (kind, share) in [("turn", stats.slots.turns), ("sticky", stats.slots.sticky), ("queued", stats.queued)] {
        slots.get_or_create(&OfSlots { kind, is: "used" }).set(signed(share.used));
        slots.get_or_create(&OfSlots { kind, is: "limit" }).set(signed(share.limit));
    }
    let mut gauge = |name: &str, help: &str, value: i64| {
        let gauge = Gauge::<i64>::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    };
    gauge("runs_active", "Runs that this process owns", signed(stats.active));
    gauge("runs_in_trouble", "Runs that are stuck", signed(stats.in_trouble));
    let mut counter = |name: &str, help: &str, value: u64| {
        let counter = Counter::<u64>::default();
        counter.inc_by(value);
        registry.register(name, help, counter);
    };
    counter("runs_accepted", "Runs accepted by this process", stats.accepted);
    counter("events_appended", "Events appended to Logs by this process", stats.events);
    let parsed = Family::<Parsed, Counter>::default();
    registry.register("parser_lines", "Lines of engine output, by how they were parsed", parsed.clone());
    let unknown = Family::<UnknownType, Counter>::default();
    registry.register("parser_unknown_events", "Engine events of unknown type", unknown.clone());
    let bytes = Family::<OfEngine, Counter>::default();
    registry.register("parser_bytes", "Bytes of engine output read", bytes.clone());
    let settled = Family::<Settled, Counter>::default();
    registry.register("attempts_settled", "Attempts, by how their turn ended", settled.clone());
    for (engine, counted) in &stats.engines {
        let parse = &counted.parse;
        let kinds =
            [("matched", parse.matched), ("inferred", parse.inferred), ("raw", parse.raw), ("unknown", parse.unknown)];
        for (kind, count) in kinds {
            parsed.get_or_create(&Parsed { engine: engine.clone(), kind }).inc_by(count);
        }
        for (name, count) in counted.unknown_types.iter() {
            unknown.get_or_create(&UnknownType { engine: engine.clone(), r#type: label(name) }).inc_by(count);
        }
        bytes.get_or_create(&OfEngine { engine: engine.clone() }).inc_by(parse.bytes);
        for (turn, count) in &counted.settled {
            settled.get_or_create(&Settled { engine: engine.clone(), turn: turn.as_str() }).inc_by(*count);
        }
    }
}

/// Turns a name chosen by an engine into one that is valid in a label for any reader. Two names may become one; they
/// are counted together.
fn label(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/-$() ".contains(c);
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use skillrun_runtime::runtime::EngineStats;

    use super::*;

    #[test]
    fn unknown_types_are_counted_by_engine_and_type() {
        let mut codex = EngineStats::default();
        codex.unknown_types.add("new.thing", 2);
        codex.unknown_types.add("a\"} 1;x{b=\"", 3);
        codex.unknown_types.add("a'} 1,x{b='", 4);
        codex.unknown_types.add("n\nl", 1);
        let stats = Stats { engines: [("codex".to_owned(), codex)].into(), ..Stats::default() };
        let mut registry = Registry::with_prefix("skillrun");
        of_runtime(&mut registry, &stats);
        let mut text = String::new();
        encode_registry(&mut text, &registry).expect("text");
        let mut counted: Vec<&str> = text.lines().filter(|line| line.contains("unknown_events_total")).collect();
        counted.sort_unstable();
        let expected = [
            r#"skillrun_parser_unknown_events_total{engine="codex",type="a__ 1_x_b__"} 7"#,
            r#"skillrun_parser_unknown_events_total{engine="codex",type="n_l"} 1"#,
            r#"skillrun_parser_unknown_events_total{engine="codex",type="new.thing"} 2"#,
        ];
        assert_eq!(counted, expected);
    }
}
