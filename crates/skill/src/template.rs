//! Templates: text with placeholders, `{{name}}`.
//!
//! A placeholder is `{{`, anything but braces and line ends, and `}}`; spaces around the name do not count. What is put
//! in is not scanned again. There is no escape: a text that needs two braces has a space between them.
//! `{{` that is never closed on its line is text.

/// A stretch of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    Text(&'a str),
    /// The name between the braces.
    Placeholder(&'a str),
}

pub fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut text_from = 0;
    let mut at = 0;
    while let Some(open) = template[at..].find("{{").map(|ahead| at + ahead) {
        let name_from = open + 2;
        let stop = template[name_from..].find(['{', '}', '\n', '\r']).map_or(template.len(), |ahead| name_from + ahead);
        if template[stop..].starts_with("}}") {
            if text_from < open {
                pieces.push(Piece::Text(&template[text_from..open]));
            }
            pieces.push(Piece::Placeholder(template[name_from..stop].trim()));
            text_from = stop + 2;
            at = text_from;
        } else {
            // One brace further, so that the second of `{{{` may open.
            at = open + 1;
        }
    }
    if text_from < template.len() {
        pieces.push(Piece::Text(&template[text_from..]));
    }
    pieces
}

/// Puts values in. The first placeholder that `value` refuses ends it.
pub fn fill<E>(template: &str, mut value: impl FnMut(&str) -> Result<String, E>) -> Result<String, E> {
    let mut filled = String::with_capacity(template.len());
    for piece in pieces(template) {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Placeholder(name) => filled.push_str(&value(name)?),
        }
    }
    Ok(filled)
}

/// The names in a template, in their order.
pub fn names(template: &str) -> impl Iterator<Item = &str> {
    pieces(template).into_iter().filter_map(|piece| match piece {
        Piece::Text(_) => None,
        Piece::Placeholder(name) => Some(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(template: &str) -> String {
        fill(template, |name| Ok::<_, ()>(format!("<{name}>"))).unwrap()
    }

    #[test]
    fn what_is_a_placeholder() {
        let cases = [
            ("a {{b}} c", "a <b> c"),
            ("{{ b }}{{c.d}}", "<b><c.d>"),
            ("{{{b}}}", "{<b>}"),
            ("{{b", "{{b"),
            ("{{b\n}}", "{{b\n}}"),
            ("{\"a\": {\"b\": 1}}", "{\"a\": {\"b\": 1}}"),
            ("{{a {{b}}", "{{a <b>"),
            ("{{}}", "<>"),
            ("{ {b} }", "{ {b} }"),
            ("", ""),
        ];
        for (template, expected) in cases {
            assert_eq!(filled(template), expected, "{template}");
        }
    }

    #[test]
    fn what_is_put_in_is_not_looked_at_again() {
        assert_eq!(fill("{{a}}", |_| Ok::<_, ()>("{{a}}".to_owned())), Ok("{{a}}".to_owned()));
        assert_eq!(fill("{{{{a}}}}", |_| Ok::<_, ()>("b".to_owned())), Ok("{{b}}".to_owned()));
    }

    #[test]
    fn the_first_refusal_ends_it() {
        assert_eq!(fill("{{a}} {{b}}", |name| Err::<String, _>(name.to_owned())), Err("a".to_owned()));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(template in "[{}a \n]{0,40}") {
            let mut joined = String::new();
            for piece in pieces(&template) {
                match piece {
                    Piece::Text(text) => joined.push_str(text),
                    Piece::Placeholder(name) => joined.push_str(name),
                }
            }
            let bare = |text: &str| text.replace(['{', '}', ' '], "");
            prop_assert_eq!(bare(&joined), bare(&template));
        }
    }
}
