//! What was done once already, by key. The oldest is forgotten when there are too many.

use std::collections::VecDeque;

use super::scenario::Scenario;

/// The most keys that are remembered.
const MOST: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Memory {
    seen: VecDeque<(Scenario, String)>,
}

impl Memory {
    /// Whether this is the first time for a key.
    pub(super) fn is_first(&mut self, scenario: Scenario, key: &str) -> bool {
        if self.seen.iter().any(|(of, seen)| *of == scenario && seen == key) {
            return false;
        }
        if self.seen.len() == MOST {
            self.seen.pop_front();
        }
        self.seen.push_back((scenario, key.to_owned()));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_once_and_the_oldest_is_forgotten() {
        let mut memory = Memory::default();
        assert!(memory.is_first(Scenario::CutOnce, "a"));
        assert!(!memory.is_first(Scenario::CutOnce, "a"));
        assert!(memory.is_first(Scenario::EndOnce, "a"));
        for number in 0..MOST {
            assert!(memory.is_first(Scenario::CutOnce, &format!("n{number}")));
        }
        assert_eq!(memory.seen.len(), MOST);
        assert!(memory.is_first(Scenario::CutOnce, "a"), "forgotten");
    }
}
