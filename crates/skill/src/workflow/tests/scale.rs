//! Hostile and large files: refused in one sentence, and read in time that grows with their size alone.

use std::time::{Duration, Instant};

use super::*;

fn sentence(text: &str) -> String {
    let error = planned(text).expect_err("it is refused").to_string();
    assert!(!error.contains('\n') && error.len() < 600, "{error}");
    error
}

/// Steps in a chain, each with a value from the one before.
fn chain(steps: usize) -> String {
    let step = |number: usize| {
        let (needs, from) = match number.checked_sub(1) {
            Some(before) => (format!("[s{before}]"), format!("{{from: /steps/s{before}/output/note}}")),
            None => ("[]".to_owned(), "x".to_owned()),
        };
        format!(
            "  - id: s{number}\n    skill: list\n    engine: codex\n    needs: {needs}\n    with: {{topic: {from}}}\n"
        )
    };
    format!("steps:\n{}", (0..steps).map(step).collect::<String>())
}

/// The best of three, so that a busy machine does not count.
fn time_of(folder: &Folder, text: &str) -> Duration {
    let once = || {
        let start = Instant::now();
        planned_in(folder, text, WorkflowForm::Yaml).unwrap();
        start.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap_or_default()
}

/// The goal is 10,000 steps in 100 ms, in an optimized build; `--no-capture` shows the figures.
#[test]
fn time_grows_with_the_steps_alone() {
    let folder = skills();
    let (small, large) = (time_of(&folder, &chain(1_000)), time_of(&folder, &chain(10_000)));
    eprintln!("1,000 steps: {small:?}; 10,000 steps: {large:?}");
    // Ten times as many steps; work in proportion to their square would be a hundred times as much.
    assert!(large < small * 40, "{small:?}, {large:?}");
    assert!(large < Duration::from_secs(30), "{large:?}");
}

#[test]
fn a_step_that_needs_all_others_takes_no_longer() {
    let folder = skills();
    let all: Vec<String> = (0..9_999).map(|number| format!("s{number}")).collect();
    let steps: String = all.iter().map(|id| format!("- {{id: {id}, prompt: x}}\n")).collect();
    let text = format!("steps:\n{steps}- {{id: last, prompt: x, needs: [{}]}}\n", all.join(", "));
    let start = Instant::now();
    let plan = planned_in(&folder, &text, WorkflowForm::Yaml).unwrap();
    assert_eq!(plan.steps[9_999].needs.len(), 9_999);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn too_much_is_refused_in_one_sentence() {
    let steps: String = (0..100_000).map(|number| format!("- {{id: s{number}, prompt: x}}\n")).collect();
    assert_eq!(
        sentence(&format!("steps:\n{steps}")),
        "flow.yaml:1: the workflow has 100000 steps, and the limit is 10000"
    );
    let million = format!("steps:\n- id: a\n  prompt: x\n  for_each: [{}1]\n", "1,".repeat(900_000));
    assert_eq!(sentence(&million), "flow.yaml:4: step \"a\": for_each has 900001 items, and the limit is 10000");
    let default = format!(
        "inputs: {{l: {{default: [{}1]}}}}\nsteps: [{{id: a, prompt: x, for_each: {{from: /inputs/l}}}}]",
        "1,".repeat(10_000)
    );
    assert_eq!(sentence(&default), "flow.yaml:2: step \"a\": for_each has 10001 items, and the limit is 10000");
    let large = format!("steps: [{{id: a, prompt: {}}}]", "x".repeat(4 << 20));
    assert_eq!(sentence(&large), "flow.yaml: the file is larger than 4194304 bytes");
    let cycle: String = (0..10_000)
        .map(|number| format!("- {{id: s{number}, prompt: x, needs: [s{}]}}\n", (number + 1) % 10_000))
        .collect();
    let expected = "flow.yaml:2: step \"s0\": steps need each other in a cycle: s0 → s1 → s2 → s3 → s4 → s5 → s6 → s7 → (9992 more) → s0";
    assert_eq!(sentence(&format!("steps:\n{cycle}")), expected);
}

#[test]
fn bombs_are_refused() {
    let mut laughs = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, before) in ["b", "c", "d", "e"].iter().zip(["a", "b", "c", "d"]) {
        laughs += &format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 10].join(", "));
    }
    let deep = format!("steps: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    for bomb in [laughs, deep, "- x\n".repeat(1_040_000)] {
        let error = sentence(&bomb);
        assert!(error.starts_with("flow.yaml") && error.contains("is not usable YAML"), "{error}");
    }
    let deep = "[".repeat(100_000);
    let error = planned_in(&skills(), &deep, WorkflowForm::Json).unwrap_err().to_string();
    assert!(error.starts_with("flow.yaml:1: is not JSON: "), "{error}");
}

/// Literal items are held against the schema as long as that is little work.
#[test]
fn many_items_and_many_values_do_not_multiply() {
    let items = vec!["x"; 10_000].join(", ");
    let parts = vec!["x"; 10_000].join(", ");
    let text =
        format!("steps: [{{id: a, skill: free, for_each: [{items}], with: {{v: [{parts}], w: {{from: /item}}}}}}]");
    let start = Instant::now();
    planned(&text).unwrap();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
