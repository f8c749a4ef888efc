//! The plan of an agent as text: one line per item, with a mark for its state.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::buffer::cut;
use crate::json;

/// Most items that are kept, and most bytes of one.
const ITEMS_MAX: usize = 100;
const ITEM_MAX: usize = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemState {
    Open,
    Active,
    Done,
}

impl ItemState {
    fn mark(self) -> &'static str {
        match self {
            Self::Open => "[ ]",
            Self::Active => "[>]",
            Self::Done => "[x]",
        }
    }
}

/// An item as codex (`text`, `completed`) and agents of the protocol (`content`, `status`) write it.
#[derive(Deserialize)]
struct Item {
    text: Option<String>,
    content: Option<String>,
    completed: Option<bool>,
    status: Option<String>,
}

impl Item {
    fn state(&self) -> ItemState {
        match (self.completed, self.status.as_deref()) {
            (Some(true), _) | (None, Some("completed")) => ItemState::Done,
            (None, Some("in_progress")) => ItemState::Active,
            (Some(false), _) | (None, Some(_) | None) => ItemState::Open,
        }
    }

    fn line(self) -> Option<String> {
        let mark = self.state().mark();
        let words = self.text.or(self.content)?;
        // An item is one line, whatever it contains.
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(format!("{mark} {}", cut(&words, ITEM_MAX)))
    }
}

/// The items of a list; none when nothing in it is an item.
pub(super) fn text(list: Option<&RawValue>) -> Option<String> {
    // One more, so that it is known whether there are more.
    let elements = json::elements(list?.get(), ITEMS_MAX + 1);
    let items = elements.iter().take(ITEMS_MAX).filter_map(|raw| json::decode::<Item>(raw));
    let mut lines: Vec<String> = items.filter_map(Item::line).collect();
    if lines.is_empty() {
        return None;
    }
    if elements.len() > ITEMS_MAX {
        lines.push("…".to_owned());
    }
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &str) -> Option<String> {
        text(Some(&RawValue::from_string(list.to_owned()).expect("JSON")))
    }

    #[test]
    fn items_of_both_formats_are_lines_with_marks() {
        let codex = r#"[{"text":"Read\n it","completed":true},{"text":"Write it","completed":false}]"#;
        assert_eq!(of(codex).as_deref(), Some("[x] Read it\n[ ] Write it"));
        let agent = r#"[{"content":"a","status":"completed"},{"content":"b","status":"in_progress","priority":"low"},
                        {"content":"c","status":"pending"},{"content":"d"}]"#;
        assert_eq!(of(agent).as_deref(), Some("[x] a\n[>] b\n[ ] c\n[ ] d"));
    }

    #[test]
    fn a_hostile_list_is_bounded_and_other_shapes_are_left_out() {
        for nothing in ["[]", "7", "{}", r#"[1,null,{"content":7},{"status":"pending"}]"#] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
        assert_eq!(text(None), None);
        assert_eq!(of(r#"[{"content":"half \ud83d of a pair"}]"#).as_deref(), Some("[ ] half \u{fffd} of a pair"));
        assert_eq!(of(r#"[7,{"content":"kept"}]"#).as_deref(), Some("[ ] kept"));
        let many = format!("[{}]", vec![format!(r#"{{"content":"{}"}}"#, "é".repeat(1_000)); 5_000].join(","));
        let kept = of(&many).expect("a plan");
        assert_eq!((kept.lines().count(), kept.ends_with('…')), (ITEMS_MAX + 1, true));
        assert!(kept.len() <= (ITEMS_MAX + 1) * (ITEM_MAX + 8), "{}", kept.len());
    }
}
