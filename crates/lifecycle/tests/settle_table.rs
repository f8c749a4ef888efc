//! The completion gate, row by row: contract R3.5 and contract R4. Each row names the rule or the sentence it comes from.

mod table;

use std::collections::HashSet;

use skillrun_lifecycle::{CompletionLayer, settle};
use skillrun_model::ExecutionMode::{self, Auto, Conversation, Interactive};
use skillrun_model::verdict::Rule;
use table::expect::{Expect, Row, Rows};

fn rows() -> Vec<Row> {
    let mut rows = Rows::default();
    table::process::rows(&mut rows);
    table::marker::rows(&mut rows);
    table::output::rows(&mut rows);
    table::question::rows(&mut rows);
    table::conversation::rows(&mut rows);
    table::prompt::rows(&mut rows);
    rows.0
}

#[test]
fn decision_table() {
    let wrong: Vec<String> = rows()
        .iter()
        .filter_map(|row| {
            let seen = Expect::from(&settle(&row.turn.facts(), row.how.control()));
            (seen != row.expect)
                .then(|| format!("{} ({})\n  expected {:?}\n  seen     {seen:?}", row.name, row.origin, row.expect))
        })
        .collect();
    assert!(wrong.is_empty(), "{} row(s):\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn names_are_unique() {
    let mut names = HashSet::new();
    for row in rows() {
        assert!(names.insert(row.name.clone()), "twice: {}", row.name);
    }
}

/// The modes in which a rule can apply.
fn modes(rule: Rule) -> &'static [ExecutionMode] {
    match rule {
        Rule::Canceled
        | Rule::Limit
        | Rule::Failure
        | Rule::TimedOut
        | Rule::HostEnded
        | Rule::NotStarted
        | Rule::BadExit
        | Rule::EndMissing
        | Rule::ExitUnknown => &[Auto, Interactive, Conversation],
        Rule::Interrupted | Rule::Waiting => &[Interactive, Conversation],
        Rule::MarkerOutputInvalid => &[Auto, Interactive],
        Rule::MarkerAuto | Rule::AnswerMissing | Rule::AgentNotDone | Rule::AutoValid | Rule::AutoInvalid => &[Auto],
        Rule::MarkerInteractive | Rule::SoftCompletion | Rule::MaxAttempt | Rule::SessionMissing => &[Interactive],
    }
}

/// The rules that decide about a clean final of a run without a skill, or about its absence.
#[test]
fn prompt_rows_cover_their_rules_in_each_mode() {
    let no_skill = |row: &&Row| row.how.control().layer == CompletionLayer::Absent;
    let seen: HashSet<_> =
        rows().iter().filter(no_skill).map(|row| (row.expect.rule(), row.how.control().mode)).collect();
    let possible = [
        (Rule::AnswerMissing, Auto),
        (Rule::AutoValid, Auto),
        (Rule::SoftCompletion, Interactive),
        (Rule::SessionMissing, Interactive),
        (Rule::Waiting, Interactive),
        (Rule::Waiting, Conversation),
    ];
    for cell in possible {
        assert!(seen.contains(&cell), "{cell:?}");
    }
    for (rule, mode) in seen {
        let is_of_skill = matches!(
            rule,
            Rule::MarkerOutputInvalid
                | Rule::MarkerAuto
                | Rule::MarkerInteractive
                | Rule::AgentNotDone
                | Rule::AutoInvalid
        );
        assert!(!is_of_skill, "{rule} needs a skill, in mode {mode}");
    }
}

#[test]
fn every_rule_has_a_row_in_each_of_its_modes() {
    let with_skill = |row: &&Row| row.how.control().layer == CompletionLayer::OfSkill;
    let seen: HashSet<_> =
        rows().iter().filter(with_skill).map(|row| (row.expect.rule(), row.how.control().mode)).collect();
    let possible: HashSet<_> =
        Rule::ALL.iter().flat_map(|rule| modes(*rule).iter().map(|mode| (*rule, *mode))).collect();
    assert_eq!(seen, possible);
}
