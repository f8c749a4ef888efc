//! Our block in a text: one, at its end, between two marker lines, so that it can be found and replaced.

pub(super) const BEGIN: &str = "<!-- skillrun:begin -->";
pub(super) const END: &str = "<!-- skillrun:end -->";

/// The text with this block at its end, and no other.
pub(super) fn put(text: &str, content: &str) -> String {
    let mut patched = strip(text);
    patched.truncate(patched.trim_end_matches(['\n', '\r', ' ', '\t']).len());
    if !patched.is_empty() {
        patched.push_str("\n\n");
    }
    for part in [BEGIN, "\n", content.trim(), "\n", END, "\n"] {
        patched.push_str(part);
    }
    patched
}

/// Where the content begins in a text that [`put`] has given, with the same content.
pub(super) fn content_start(patched: &str, content: &str) -> usize {
    patched.len() - content.trim().len() - 1 - END.len() - 1
}

/// The text without any block, including foreign ones: a skill may have been published from a patched copy.
///
/// Markers pair like brackets, so that what is left can never pair up with a block that is added later.
fn strip(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut open = Vec::new();
    for line in text.split_inclusive('\n') {
        match line.trim() {
            BEGIN => {
                open.push(kept.len());
                kept.push_str(line);
            }
            END => match open.pop() {
                Some(start) => kept.truncate(start),
                None => kept.push_str(line),
            },
            _ => kept.push_str(line),
        }
    }
    kept
}

/// A marker that stands on a line of the text.
pub(super) fn marker_line(text: &str) -> Option<&'static str> {
    let marker = |line: &str| [BEGIN, END].into_iter().find(|marker| line.trim() == *marker);
    text.lines().find_map(marker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_block_at_the_end() {
        let expected = format!("a\n\n{BEGIN}\nx\n{END}\n");
        for text in ["a", "a\n", "a\n\n\n", "a\r\n"] {
            assert_eq!(put(text, "x"), expected, "{text:?}");
        }
        assert_eq!(put("", "x"), format!("{BEGIN}\nx\n{END}\n"));
    }

    #[test]
    fn another_one_replaces_it() {
        assert_eq!(put(&put("a", "x"), "y"), put("a", "y"));
        let followed = format!("{}b\n", put("a", "x"));
        assert_eq!(put(&followed, "y"), format!("a\n\nb\n\n{BEGIN}\ny\n{END}\n"));
    }

    #[test]
    fn markers_that_do_not_pair_lose_no_text() {
        let text = format!("a\n{END}\nb\n{BEGIN}\nc\n");
        let once = put(&text, "x");
        assert!(once.starts_with(text.trim_end()));
        assert_eq!(put(&once, "x"), once);
    }

    proptest! {
        #[test]
        fn twice_is_once(parts in prop::collection::vec(prop_oneof![
            Just(BEGIN.to_owned()), Just(END.to_owned()), "[ab \r]{0,3}"
        ], 0..12), ends in any::<bool>()) {
            let mut text = parts.join("\n");
            if ends {
                text.push('\n');
            }
            let once = put(&text, "x\ny");
            prop_assert_eq!(put(&once, "x\ny"), once.clone());
            prop_assert_eq!(put(&put(&once, "z"), "x\ny"), once);
        }
    }
}
