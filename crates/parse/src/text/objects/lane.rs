//! One reading of the text as JSON, byte by byte, with the containers that are open in it.

use std::collections::VecDeque;

/// A container that is open in a lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) start: usize,
    pub(crate) is_object: bool,
    /// A `{` whose first thing is a string key. Only such a brace can be called a cut object; `{ x }` in prose is not.
    pub(crate) opens_key: bool,
    /// How many root containers were taken when this one opened; see `Finder::is_eligible`.
    pub(crate) taken_before: usize,
}

/// What a byte does to a lane.
#[derive(Debug)]
pub(crate) enum LaneStep {
    Continues,
    /// The byte opens a container here. The caller pushes the frame.
    Opens,
    /// The byte completes the innermost container. The frame is already gone from the lane.
    Closes(Frame),
    /// No JSON continues with this byte. The caller ends the lane.
    Fails,
}

#[derive(Debug, Clone, Copy)]
enum State {
    KeyOrEnd,
    Key,
    Colon,
    ValueOrEnd,
    Value,
    AfterValue,
    Text { is_key: bool },
    Escape { is_key: bool },
    Hex { is_key: bool, left: u8 },
    Word(&'static [u8]),
    Number(Number),
}

/// Where in a number the lane stands, named after what was read last.
#[derive(Debug, Clone, Copy)]
enum Number {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Number {
    fn next(self, byte: u8) -> Option<Number> {
        match (self, byte) {
            (Number::Minus, b'0') => Some(Number::Zero),
            (Number::Minus, b'1'..=b'9') | (Number::Whole, b'0'..=b'9') => Some(Number::Whole),
            (Number::Zero | Number::Whole, b'.') => Some(Number::Point),
            (Number::Point | Number::Fraction, b'0'..=b'9') => Some(Number::Fraction),
            (Number::Zero | Number::Whole | Number::Fraction, b'e' | b'E') => Some(Number::Exponent),
            (Number::Exponent, b'+' | b'-') => Some(Number::ExponentSign),
            (Number::Exponent | Number::ExponentSign | Number::ExponentDigits, b'0'..=b'9') => {
                Some(Number::ExponentDigits)
            }
            _ => None,
        }
    }

    fn may_end(self) -> bool {
        match self {
            Number::Zero | Number::Whole | Number::Fraction | Number::ExponentDigits => true,
            Number::Minus | Number::Point | Number::Exponent | Number::ExponentSign => false,
        }
    }
}

/// A pushdown recogniser. It is alive while a container is open in it.
#[derive(Debug)]
pub(crate) struct Lane {
    state: State,
    frames: VecDeque<Frame>,
}

impl Lane {
    pub(crate) fn new() -> Lane {
        Lane { state: State::AfterValue, frames: VecDeque::new() }
    }

    pub(crate) fn is_alive(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Opens a container. Returns the outermost one when the nesting thereby exceeds `max_depth` and that one is
    /// abandoned.
    pub(crate) fn push(&mut self, frame: Frame, max_depth: usize) -> Option<Frame> {
        self.state = if frame.is_object { State::KeyOrEnd } else { State::ValueOrEnd };
        self.frames.push_back(frame);
        if self.frames.len() > max_depth { self.frames.pop_front() } else { None }
    }

    /// Takes the outermost open container away, for a caller that ends the lane.
    pub(crate) fn pop_outermost(&mut self) -> Option<Frame> {
        self.frames.pop_front()
    }

    pub(crate) fn step(&mut self, byte: u8) -> LaneStep {
        match self.state {
            State::Text { is_key } => match byte {
                b'"' => self.go(if is_key { State::Colon } else { State::AfterValue }),
                b'\\' => self.go(State::Escape { is_key }),
                0..=0x1f => LaneStep::Fails,
                _ => LaneStep::Continues,
            },
            State::Escape { is_key } => match byte {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.go(State::Text { is_key }),
                b'u' => self.go(State::Hex { is_key, left: 4 }),
                _ => LaneStep::Fails,
            },
            State::Hex { is_key, left } if byte.is_ascii_hexdigit() => {
                self.go(if left == 1 { State::Text { is_key } } else { State::Hex { is_key, left: left - 1 } })
            }
            State::Hex { .. } => LaneStep::Fails,
            State::Word(rest) => match rest.split_first() {
                Some((expected, rest)) if *expected == byte => {
                    self.go(if rest.is_empty() { State::AfterValue } else { State::Word(rest) })
                }
                _ => LaneStep::Fails,
            },
            State::Number(number) => match number.next(byte) {
                Some(number) => self.go(State::Number(number)),
                // Only the byte after a number shows that the number is over, so that byte still has to be read.
                None if number.may_end() => {
                    self.state = State::AfterValue;
                    self.between(byte)
                }
                None => LaneStep::Fails,
            },
            State::KeyOrEnd | State::Key | State::Colon | State::ValueOrEnd | State::Value | State::AfterValue => {
                self.between(byte)
            }
        }
    }

    /// A byte outside strings, words and numbers.
    fn between(&mut self, byte: u8) -> LaneStep {
        let Some(inner) = self.frames.back_mut() else {
            return LaneStep::Fails;
        };
        match (self.state, byte) {
            (_, b' ' | b'\t' | b'\n' | b'\r') => LaneStep::Continues,
            (State::KeyOrEnd, b'"') => {
                inner.opens_key = true;
                self.go(State::Text { is_key: true })
            }
            (State::Key, b'"') => self.go(State::Text { is_key: true }),
            (State::Colon, b':') => self.go(State::Value),
            (State::AfterValue, b',') => {
                let next = if inner.is_object { State::Key } else { State::Value };
                self.go(next)
            }
            (State::AfterValue, b'}') if inner.is_object => self.close(),
            (State::AfterValue, b']') if !inner.is_object => self.close(),
            (State::KeyOrEnd, b'}') | (State::ValueOrEnd, b']') => self.close(),
            (State::Value | State::ValueOrEnd, _) => self.value(byte),
            _ => LaneStep::Fails,
        }
    }

    fn value(&mut self, byte: u8) -> LaneStep {
        match byte {
            b'{' | b'[' => LaneStep::Opens,
            b'"' => self.go(State::Text { is_key: false }),
            b't' => self.go(State::Word(b"rue")),
            b'f' => self.go(State::Word(b"alse")),
            b'n' => self.go(State::Word(b"ull")),
            b'-' => self.go(State::Number(Number::Minus)),
            b'0' => self.go(State::Number(Number::Zero)),
            b'1'..=b'9' => self.go(State::Number(Number::Whole)),
            _ => LaneStep::Fails,
        }
    }

    fn close(&mut self) -> LaneStep {
        self.state = State::AfterValue;
        match self.frames.pop_back() {
            Some(frame) => LaneStep::Closes(frame),
            None => LaneStep::Fails,
        }
    }

    fn go(&mut self, state: State) -> LaneStep {
        self.state = state;
        LaneStep::Continues
    }
}
