//! What a user orders the model to do, in brackets in the prompt. The last order of a conversation counts, so each prompt
//! decides what becomes of its own turn.
//!
//! ```text
//! [[say amber]]        an answer with this word
//! [[run sleep 300]]    a command, then an answer
//! [[fail 500]]         an HTTP error, every time
//! [[break amber]]      a message with this word and a command, then an HTTP error
//! [[call list_runs {}]]  a tool of an MCP server with these arguments, then what it printed
//! [[play family]]      the script of this name, in place of the conversation
//! ```

/// An order of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order<'a> {
    Say(&'a str),
    Run(&'a str),
    Fail(u16),
    Break(&'a str),
    /// A tool, and its arguments as JSON.
    Call(&'a str, &'a str),
    Play(&'a str),
}

const OPEN: &str = "[[";
const CLOSE: &str = "]]";

impl<'a> Order<'a> {
    /// The last order in a text.
    pub(super) fn last(text: &'a str) -> Option<Self> {
        let mut before = text;
        loop {
            let (earlier, order) = before.rsplit_once(OPEN)?;
            if let Some(order) = order.split_once(CLOSE).and_then(|(words, _)| Self::read(words)) {
                return Some(order);
            }
            before = earlier;
        }
    }

    fn read(words: &'a str) -> Option<Self> {
        let (verb, object) = words.split_once(' ')?;
        match verb {
            "say" => Some(Self::Say(object)),
            "run" => Some(Self::Run(object)),
            "fail" => object.parse().ok().filter(|status| (400..600).contains(status)).map(Self::Fail),
            "break" => Some(Self::Break(object)),
            "call" => object.split_once(' ').map(|(tool, arguments)| Self::Call(tool, arguments)),
            "play" => Some(Self::Play(object)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_order_counts() {
        assert_eq!(Order::last("[[say a]] then [[run sleep 3]] and more"), Some(Order::Run("sleep 3")));
        assert_eq!(Order::last("[[fail 500]] [[break b]]"), Some(Order::Break("b")));
        assert_eq!(Order::last(r#"[[call wait_runs {"a": 1}]]"#), Some(Order::Call("wait_runs", r#"{"a": 1}"#)));
        assert_eq!(Order::last("[[play family]]"), Some(Order::Play("family")));
        assert_eq!(Order::last("[[fail 503]] [[ -f x ]] [[say"), Some(Order::Fail(503)));
        for nothing in ["", "say a", "[[say]]", "[[fail 200]]", "[[fail many]]", "[[shout a]]", "[[call a]]", "]] [["] {
            assert_eq!(Order::last(nothing), None, "{nothing}");
        }
    }
}
