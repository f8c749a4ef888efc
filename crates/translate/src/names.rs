//! Names of messages: the engine's where it is usable, else derived from attempt and number. No two messages of a run
//! have the same name.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use skillrun_model::{AttemptNumber, Stream};
use skillrun_parse::record::MessageKey;

/// How many names are remembered, to recognise a second text under the same name.
const REMEMBERED: usize = 65_536;

/// Names that messages of a run have, and how many messages requested each.
#[derive(Debug, Default)]
pub(crate) struct UsedNames {
    wanted: HashMap<u64, u32>,
    order: VecDeque<u64>,
}

impl UsedNames {
    /// The name itself or, with a number appended, the first that no message has.
    fn free(&self, name: &str) -> String {
        let Some(times) = self.wanted.get(&hash(name)) else { return name.to_owned() };
        let mut number = times + 1;
        loop {
            let numbered = format!("{name}#{number}");
            if !self.wanted.contains_key(&hash(&numbered)) {
                return numbered;
            }
            number += 1;
        }
    }

    fn take(&mut self, name: &str) -> String {
        let given = self.free(name);
        self.count(name);
        if given != name {
            self.count(&given);
        }
        given
    }

    /// Registers a name that was assigned, as the Log has it.
    pub(crate) fn recall(&mut self, given: &str) {
        self.count(given);
        // An appended number shows that the name itself was requested once more.
        if let Some((name, number)) = given.rsplit_once('#')
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && self.wanted.contains_key(&hash(name))
        {
            self.count(name);
        }
    }

    fn count(&mut self, name: &str) {
        let name = hash(name);
        let times = self.wanted.entry(name).or_insert(0);
        if *times == 0 {
            self.order.push_back(name);
        }
        *times += 1;
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.wanted.remove(&oldest);
        }
    }
}

/// Names the messages of one attempt.
#[derive(Debug)]
pub(crate) struct MessageNames {
    attempt: AttemptNumber,
    /// Per stream, because nothing may depend on the order across streams.
    unnamed: [u64; 3],
}

impl MessageNames {
    pub(crate) fn new(attempt: AttemptNumber) -> Self {
        Self { attempt, unnamed: [0; 3] }
    }

    /// The name that the message being written will get.
    pub(crate) fn upcoming(&self, key: &MessageKey, stream: Stream, used: &UsedNames) -> String {
        used.free(&self.wish(key, stream))
    }

    /// The name of a finished message; no later one gets the same.
    pub(crate) fn finish(&mut self, key: &MessageKey, stream: Stream, used: &mut UsedNames) -> String {
        let name = used.take(&self.wish(key, stream));
        match key {
            MessageKey::Unnamed => self.unnamed[stream.index()] += 1,
            MessageKey::PerTurn(_) | MessageKey::Engine(_) => {}
        }
        name
    }

    fn wish(&self, key: &MessageKey, stream: Stream) -> String {
        let (attempt, next) = (self.attempt, self.unnamed[stream.index()] + 1);
        match (key, stream) {
            (MessageKey::Engine(id), _) => id.clone(),
            (MessageKey::PerTurn(id), _) => format!("m{attempt}.{id}"),
            (MessageKey::Unnamed, Stream::Stdout) => format!("m{attempt}.{next}"),
            (MessageKey::Unnamed, Stream::Stderr) => format!("m{attempt}.stderr.{next}"),
            (MessageKey::Unnamed, Stream::Pty) => format!("m{attempt}.pty.{next}"),
        }
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An owner that resumes a run from its Log assigns the same names as the previous owner would have.
    #[test]
    fn names_in_the_log_are_not_assigned_again() {
        let (mut first, mut second) = (UsedNames::default(), UsedNames::default());
        for wish in ["a", "a", "b", "a#2", "c#7", "a", "c"] {
            let given = first.take(wish);
            second.recall(&given);
        }
        for wish in ["a", "b", "c", "a#2", "d", "a"] {
            assert_eq!(second.take(wish), first.take(wish), "{wish}");
        }
    }
}
