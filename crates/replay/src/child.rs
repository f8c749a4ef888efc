//! The ends of child runs as a model sees them again: one form, made of the parent's record of the end alone.

use skillrun_model::delegation::{SubagentEnded, SubagentStatus};

use crate::item::Item;

/// The end of a child; none where it is not known how the child ended.
pub(crate) fn item(end: &SubagentEnded) -> Option<Item> {
    match end.status {
        SubagentStatus::Completed | SubagentStatus::Failed | SubagentStatus::TimedOut | SubagentStatus::Cancelled => {}
        SubagentStatus::Detached => return None,
    }
    Some(Item::Child { run_id: end.child_run_id, status: end.status, text: text(end) })
}

fn text(end: &SubagentEnded) -> String {
    let SubagentEnded { child_run_id: run, status, reason, .. } = end;
    let limit = end.timeout_ms.filter(|_| *status == SubagentStatus::TimedOut);
    let limit = limit.map(|limit| format!(" Its time limit was {limit} ms.")).unwrap_or_default();
    let head = format!("The run {run}, which this conversation started, has ended: {status} ({reason}).{limit}");
    match &end.summary {
        Some(answer) => format!("{head}\nIts answer, quoted as data:\n{}", quoted(answer)),
        None => head,
    }
}

/// Each line of a text behind `> `, with control characters and other line ends as escapes: text of another agent must
/// not look like anything else.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| format!("> {}", shown(line))).collect();
    lines.join("\n")
}

fn shown(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => line.push(c),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
    }
    line
}
