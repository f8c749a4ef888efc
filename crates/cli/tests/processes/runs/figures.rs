//! What an owner counts is what its runs have left.

use std::fs;

use lab::TEST_TIMEOUT;
use lab::runtime::{RuntimeLab, on};
use serde_json::Value;
use skillrun_model::{ExecutionMode, TurnState};
use skillrun_runtime::runtime::{EngineStats, ParseTotals};

#[test]
fn figures_are_those_of_the_runs() {
    let lab = RuntimeLab::new();
    lab.add_engine("second", "");
    let runtime = lab.runtime();
    let done = lab.new_run(ExecutionMode::Auto, "- - say: I begin.\n  - output: {answer: blue}\n    done: true\n");
    let asks = lab.new_run(ExecutionMode::Interactive, "- - ask: {prompt: Which?}\n");
    let runs = [done.clone(), done.clone(), on(done, "second"), asks].map(|new| {
        let run = runtime.submit(new).expect("accepted");
        assert!(runtime.wait_for(run, TEST_TIMEOUT));
        run
    });
    let stats = runtime.stats();
    assert_eq!((stats.accepted, stats.active, stats.in_trouble, stats.queued.used), (4, 0, 0, 0));
    assert_eq!((stats.slots.turns.used, stats.slots.turns.limit), (0, lab.slots.total));
    assert_eq!(stats.events, runs.iter().map(|run| lab.events(*run).len() as u64).sum::<u64>());
    let mut totals = ParseTotals::default();
    for run in [runs[0], runs[1], runs[3]] {
        let audit = lab.data().run(run).audit();
        let meta = lab.evidence_json(run, "meta.1.json");
        let of = |name: &str| meta["parse"][name].as_u64().expect("a number");
        totals.matched += of("matched");
        totals.inferred += of("inferred");
        totals.raw += of("raw");
        totals.unknown += of("unknown");
        let size = |name: &str| fs::metadata(audit.join(name)).map_or(0, |found| found.len());
        totals.bytes += size("stdout.1.log") + size("stderr.1.log") + size("pty-output.1.log");
    }
    let EngineStats { settled, parse, unknown_types } = &stats.engines["scripted"];
    assert_eq!((parse, settled.values().sum::<u64>()), (&totals, 3));
    assert!(unknown_types.is_empty(), "{unknown_types:?}");
    assert!(totals.matched > 0 && totals.bytes > 0, "{totals:?}");
    assert_eq!(stats.engines["second"].settled, [(TurnState::Completed, 1)].into());
    // Another process starts counting from zero.
    assert_eq!(lab.runtime().stats().accepted, 0);
}

/// An engine that says something new is noticed by the type of it, in the attempt's file and in the figures.
#[test]
fn unknown_events_are_counted_by_type() {
    let odd = "- - raw: '{\"type\":\"new.thing\"}'\n  - raw: '{\"type\":\"new.thing\"}'\n  - raw: '{\"odd\":1}'\n";
    let script = format!("{odd}  - output: {{answer: blue}}\n    done: true\n");
    let (lab, runtime, run) = RuntimeLab::begun(ExecutionMode::Auto, &script);
    assert!(runtime.wait_for(run, TEST_TIMEOUT));
    let meta = lab.evidence_json(run, "meta.1.json");
    let expected = serde_json::json!({ "new.thing": 2, "object without type": 1 });
    assert_eq!((&meta["parse"]["unknown"], &meta["parse"]["unknown_types"]), (&Value::from(3), &expected));
    let stats = runtime.stats();
    let counted: Vec<(&str, u64)> = stats.engines["scripted"].unknown_types.iter().collect();
    assert_eq!(counted, [("new.thing", 2), ("object without type", 1)]);
}
