//! Text that grows without bound in bounded memory: its head for the event, its tail for the gate.

/// Most of a message's text that an event carries, and that the gate examines.
pub const MESSAGE_BUDGET: usize = 4 * 1024 * 1024;

/// A message's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text {
    head: String,
    /// Kept only when the text is longer than the head.
    tail: Option<String>,
    total: u64,
}

impl Text {
    pub fn push(&mut self, piece: &str) {
        self.total += piece.len() as u64;
        match &mut self.tail {
            None if self.head.len() + piece.len() <= MESSAGE_BUDGET => self.head.push_str(piece),
            None => {
                let mut tail = String::with_capacity(self.head.len() + piece.len());
                tail.push_str(&self.head);
                tail.push_str(piece);
                let room = piece.floor_char_boundary(MESSAGE_BUDGET - self.head.len());
                self.head.push_str(&piece[..room]);
                self.tail = Some(tail);
                self.trim_tail();
            }
            Some(tail) => {
                tail.push_str(piece);
                self.trim_tail();
            }
        }
    }

    /// Lets the tail grow to twice its size before it is cut, so that cutting costs no more than writing.
    fn trim_tail(&mut self) {
        if let Some(tail) = &mut self.tail
            && tail.len() > 2 * MESSAGE_BUDGET
        {
            let cut = tail.ceil_char_boundary(tail.len() - MESSAGE_BUDGET);
            tail.drain(..cut);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub fn is_blank(&self) -> bool {
        self.head.trim().is_empty() && self.tail.as_ref().is_none_or(|t| t.trim().is_empty())
    }

    /// The beginning, for the event.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Whether the event has less than the message.
    pub fn is_truncated(&self) -> bool {
        self.tail.is_some()
    }

    /// The last part, at most the budget, for the gate.
    pub fn tail(&self) -> &str {
        let whole = self.tail.as_deref().unwrap_or(&self.head);
        &whole[whole.ceil_char_boundary(whole.len().saturating_sub(MESSAGE_BUDGET))..]
    }

    /// Releases memory that is not needed once the text is complete.
    pub fn settle(mut self) -> Self {
        if self.tail.is_some() {
            self.tail = Some(self.tail().to_owned());
        }
        self
    }

    /// Only the part that the gate needs.
    pub fn into_tail(self) -> (String, bool) {
        let truncated = self.is_truncated();
        if truncated { (self.tail().to_owned(), true) } else { (self.head, false) }
    }

    pub fn append(&mut self, other: &Text) {
        match &other.tail {
            None => self.push(&other.head),
            Some(tail) => {
                let before = self.total;
                self.push(tail);
                self.total = before + other.total;
            }
        }
    }

    pub fn len(&self) -> u64 {
        self.total
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        if text.len() <= MESSAGE_BUDGET {
            return Self { total: text.len() as u64, head: text, tail: None };
        }
        let mut whole = Self::default();
        whole.push(&text);
        whole.settle()
    }
}

/// The beginning of a text, at most this many bytes.
pub(crate) fn cut(text: &str, max: usize) -> String {
    text[..text.floor_char_boundary(max)].to_owned()
}
