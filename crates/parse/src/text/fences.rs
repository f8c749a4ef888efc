//! Markdown code fences, near enough to CommonMark for what agents write.

use memchr::memchr;

/// A code fence. All positions are byte offsets in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// Where the line of the opening fence begins.
    pub open_start: usize,
    /// The text behind the opening fence, trimmed.
    pub info: (usize, usize),
    /// The lines between, the last line ending included.
    pub body: (usize, usize),
    /// Where the line of the closing fence ends, without its line ending.
    pub end: usize,
    /// An unclosed fence reaches to the end of the text.
    pub closed: bool,
}

/// All fences of the text, in order. They never overlap.
pub fn find_fences(text: &str) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut open: Option<(Fence, Run)> = None;
    let mut at = 0;
    while at < text.len() {
        let (line_end, next) = match memchr(b'\n', &text.as_bytes()[at..]) {
            Some(ahead) => (at + ahead, at + ahead + 1),
            None => (text.len(), text.len()),
        };
        let line = text[at..line_end].trim_end_matches('\r');
        open = match (open, Run::at_start_of(line)) {
            (None, Some(run)) if run.may_open(line) => {
                let info = &line[run.end..];
                let start = at + run.end + (info.len() - info.trim_start().len());
                let fence = Fence {
                    open_start: at,
                    info: (start, start + info.trim().len()),
                    body: (next, text.len()),
                    end: text.len(),
                    closed: false,
                };
                Some((fence, run))
            }
            (Some((fence, opening)), Some(run)) if run.closes(opening, line) => {
                fences.push(Fence { body: (fence.body.0, at), end: at + line.len(), closed: true, ..fence });
                None
            }
            (open, _) => open,
        };
        at = next;
    }
    fences.extend(open.map(|(fence, _)| fence));
    fences
}

/// A run of fence characters at the start of a line.
#[derive(Debug, Clone, Copy)]
struct Run {
    character: u8,
    length: usize,
    /// Where it ends in the line.
    end: usize,
}

impl Run {
    fn at_start_of(line: &str) -> Option<Run> {
        let bytes = line.as_bytes();
        // A fourth space would make it an indented code block, in which fences mean nothing.
        let indent = bytes.iter().take(4).take_while(|b| **b == b' ').count();
        let character = *bytes.get(indent)?;
        if indent > 3 || !matches!(character, b'`' | b'~') {
            return None;
        }
        let length = bytes[indent..].iter().take_while(|b| **b == character).count();
        (length >= 3).then_some(Run { character, length, end: indent + length })
    }

    /// A backtick behind it makes it inline code: ```` ```like this``` ````.
    fn may_open(self, line: &str) -> bool {
        self.character == b'~' || !line[self.end..].contains('`')
    }

    fn closes(self, opening: Run, line: &str) -> bool {
        self.character == opening.character && self.length >= opening.length && line[self.end..].trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::find_fences;
    use proptest::prelude::*;

    /// Each fence as `info|body`, unclosed ones with a `!` before.
    fn shown(text: &str) -> Vec<String> {
        find_fences(text)
            .iter()
            .map(|fence| {
                let open = if fence.closed { "" } else { "!" };
                let info = &text[fence.info.0..fence.info.1];
                format!("{open}{info}|{}", &text[fence.body.0..fence.body.1])
            })
            .collect()
    }

    #[test]
    fn finds_fences() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("no fence", &[]),
            ("```\na\n```", &["|a\n"]),
            ("x\n```json\n{}\n```\ny", &["json|{}\n"]),
            ("```  json title \r\n{}\r\n```\r\n", &["json title|{}\r\n"]),
            ("~~~yaml\na\n~~~", &["yaml|a\n"]),
            ("   ```\na\n  ```  ", &["|a\n"]),
            ("    ```\na\n    ```", &[]),
            ("``\na\n``", &[]),
            ("````\n```\nb\n```\n````", &["|```\nb\n```\n"]),
            ("```\na\n~~~\n```", &["|a\n~~~\n"]),
            ("```\na\n``` x\n```", &["|a\n``` x\n"]),
            ("```\na\n````", &["|a\n"]),
            ("```a``` b", &[]),
            ("~~~a`b\nc\n~~~", &["a`b|c\n"]),
            ("```\n```", &["|"]),
            ("```\na", &["!|a"]),
            ("```", &["!|"]),
            ("```a\n1\n```\n```b\n2\n```", &["a|1\n", "b|2\n"]),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn a_fence_spans_its_lines() {
        let text = "x\r\n  ```json\n{}\n``` \r\ny";
        let fence = find_fences(text)[0];
        assert_eq!(&text[fence.open_start..fence.end], "  ```json\n{}\n``` ");
    }

    proptest! {
        #[test]
        fn fences_are_in_order_and_inside(text in "(```|~~~|````|\n|\r\n| |é|a){0,30}") {
            let mut last = 0;
            for fence in find_fences(&text) {
                let places = [
                    last, fence.open_start, fence.info.0, fence.info.1, fence.body.0, fence.body.1, fence.end, text.len(),
                ];
                prop_assert!(places.is_sorted(), "{places:?}");
                prop_assert!(places.iter().all(|place| text.is_char_boundary(*place)));
                last = fence.end;
            }
        }
    }
}
