//! Pages from the middle of a long Log, by number and by time.

use std::time::{Duration, Instant};

use serde_json::Value;
use skillrun_log::{Durability, EventLog, FileLog, Seq};
use skillrun_model::rasp::data::RawText;
use skillrun_model::rasp::{Correlation, Data, Event, EvidenceData, Level, RawRef, Source, SourceStream};
use skillrun_model::{AttemptNumber, EngineName, ProfileId, RunId, Timestamp};

use super::place::{Place, Server};
use super::sizes::Sizes;
use super::spread::{Spread, ms};
use crate::problem::Problem;
use crate::program::Program;
use crate::table::Table;

const TARGET: Duration = Duration::from_millis(5);
const PAGE: usize = 100;
const AT_ONCE: u64 = 2_000;
/// Between two events.
const APART: u64 = 1_000_000;

pub(super) fn measure(program: &Program, sizes: Sizes, table: &mut Table) -> Result<(), Problem> {
    let place = Place::new(program, "history", &[])?;
    let first: Timestamp = "2026-01-01T00:00:00.000000Z".parse().map_err(|_| Problem("no moment".to_owned()))?;
    let run = RunId::new(1_767_225_600_000, [7; 10]);
    write(&FileLog::new(place.data().join("runs")), run, first, sizes.log_events)?;
    let begin = Instant::now();
    let server = place.serve()?;
    let name = format!("start with a Log of {} events and no catalog", sizes.log_events);
    table.measured(&name, &ms(begin.elapsed()), "–", "–", "–");
    let floor = Spread::new(
        (0..sizes.pages).map(|_| timed(&server, "/healthz").map(|(time, _)| time)).collect::<Result<_, _>>()?,
    );
    // From 40 to 60 of a hundred, each page another.
    let place_of =
        |number: usize| sizes.log_events * 2 / 5 + sizes.log_events / 5 * number as u64 / sizes.pages as u64 + 1;
    let path = |query: String| format!("/v1/runs/{run}/events/history?limit={PAGE}&{query}");
    let by_seq = |seq: u64| path(format!("from_seq={seq}"));
    let by_time = |seq: u64| path(format!("from_ts={}", first.plus_nanos(seq * APART)));
    let ways: [(&str, &dyn Fn(u64) -> String); 2] = [("number", &by_seq), ("time", &by_time)];
    for (name, way) in ways {
        let mut times = Vec::new();
        for number in 0..sizes.pages {
            let seq = place_of(number);
            let (time, body) = timed(&server, &way(seq))?;
            let page: Value = serde_json::from_slice(&body)?;
            let events = page["events"].as_array().map_or(0, Vec::len);
            if events != PAGE || page["events"][0]["seq"] != seq {
                let found = &page["events"][0]["seq"];
                return Err(Problem(format!("service: a page from {seq} has {events} events from {found}")));
            }
            times.push(time);
        }
        let times = Spread::new(times);
        let two = |spread: &Spread| format!("{}, {}", ms(spread.p50()), ms(spread.p99()));
        let more = format!("{} more", ms(times.p50().saturating_sub(floor.p50())));
        let name =
            format!("page of {PAGE} from a Log of {} events by {name}, p50, p99 of {}", sizes.log_events, times.len());
        table.measured(&name, &two(&times), &two(&floor), &more, "p50 under 5 ms");
        if times.p50() >= TARGET {
            table.missed(format!("service: {name}: {}", ms(times.p50())));
        }
    }
    server.stop().map(drop)
}

fn timed(server: &Server, path: &str) -> Result<(Duration, Vec<u8>), Problem> {
    let begin = Instant::now();
    let answer = server.client.get(path)?;
    let time = begin.elapsed();
    if answer.status == 200 {
        Ok((time, answer.body))
    } else {
        Err(Problem(format!("service: {path} was answered with {} {}", answer.status, answer.text())))
    }
}

fn write(log: &FileLog, run: RunId, first: Timestamp, events: u64) -> Result<(), Problem> {
    let failed = |error: skillrun_log::LogError| Problem(error.to_string());
    let mut next = log.create(run).map_err(failed)?.next_seq;
    while next.0 <= events {
        let to = (next.0 + AT_ONCE).min(events + 1);
        let batch: Vec<_> = (next.0..to).map(|seq| event(run, seq, first.plus_nanos(seq * APART))).collect();
        next = log.append(run, next, &batch, Durability::Derived).map_err(failed)?;
    }
    log.append(run, Seq(next.0), &[], Durability::Synced).map_err(failed)?;
    log.release(run);
    Ok(())
}

fn event(run: RunId, seq: u64, ts: Timestamp) -> Event {
    let text = format!("line {seq} of an engine that has much to say about what it does");
    Event {
        run_id: run,
        seq,
        ts,
        attempt_number: AttemptNumber(1),
        source: Source {
            engine: EngineName::new("quick"),
            stream: SourceStream::Stdout,
            parser: Some(ProfileId::PlainText),
            confidence: 0.3,
        },
        level: Level::Info,
        data: Data::Evidence(EvidenceData::RawStdout(RawText::new(text))),
        correlation: Correlation::default(),
        raw_ref: RawRef { stdout_from: seq * 70, stdout_to: seq * 70 + 70, ..RawRef::default() },
    }
}
