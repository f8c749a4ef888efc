//! Names of messages: the engine's where it has a good one, else made from attempt and number.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use skillrun_model::AttemptNumber;
use skillrun_parse::record::MessageKey;

/// How many of the engine's names are remembered, to tell a second text under the same one.
const REMEMBERED: usize = 65_536;

#[derive(Debug)]
pub(crate) struct MessageNames {
    attempt: AttemptNumber,
    unnamed: u64,
    seen: HashMap<u64, u32>,
    order: VecDeque<u64>,
}

impl MessageNames {
    pub(crate) fn new(attempt: AttemptNumber) -> Self {
        Self { attempt, unnamed: 0, seen: HashMap::new(), order: VecDeque::new() }
    }

    /// The name the message gets that is being written.
    pub(crate) fn upcoming(&self, key: &MessageKey) -> String {
        match key {
            MessageKey::Unnamed => format!("m{}.{}", self.attempt, self.unnamed + 1),
            MessageKey::PerTurn(id) => self.numbered(format!("m{}.{id}", self.attempt)),
            MessageKey::Engine(id) => self.numbered(id.clone()),
        }
    }

    /// The name of a message that is finished; no later one gets the same.
    pub(crate) fn finish(&mut self, key: &MessageKey) -> String {
        let name = self.upcoming(key);
        let base = match key {
            MessageKey::Unnamed => {
                self.unnamed += 1;
                return name;
            }
            MessageKey::PerTurn(id) => hash(&format!("m{}.{id}", self.attempt)),
            MessageKey::Engine(id) => hash(id),
        };
        let count = self.seen.entry(base).or_insert(0);
        if *count == 0 {
            self.order.push_back(base);
        }
        *count += 1;
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        name
    }

    fn numbered(&self, base: String) -> String {
        match self.seen.get(&hash(&base)) {
            None => base,
            Some(times) => format!("{base}#{}", times + 1),
        }
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
