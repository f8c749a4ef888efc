//! Which message is due next, found without a search of all messages. Pure.

use std::collections::{BTreeSet, HashMap};

use skillrun_model::{RunId, Timestamp};

/// A message that may be sent from a time on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DueMessage {
    pub(super) at: Timestamp,
    /// Its index in the record of its run.
    pub(super) index: usize,
    /// Host and port.
    pub(super) receiver: String,
}

/// The messages that may be sent, of all runs.
#[derive(Debug, Default)]
pub(super) struct DueIndex {
    of_run: HashMap<RunId, Vec<DueMessage>>,
    of_receiver: HashMap<String, BTreeSet<(Timestamp, RunId, usize)>>,
    /// The time of the first message of each receiver.
    first_of_each: BTreeSet<(Timestamp, String)>,
}

impl DueIndex {
    /// Replaces the messages of a run.
    pub(super) fn set(&mut self, run: RunId, messages: Vec<DueMessage>) {
        for DueMessage { at, index, receiver } in self.of_run.remove(&run).unwrap_or_default() {
            self.change(&receiver, |due| due.remove(&(at, run, index)));
        }
        for DueMessage { at, index, receiver } in &messages {
            self.change(receiver, |due| due.insert((*at, run, *index)));
        }
        if !messages.is_empty() {
            self.of_run.insert(run, messages);
        }
    }

    fn change(&mut self, receiver: &str, change: impl FnOnce(&mut BTreeSet<(Timestamp, RunId, usize)>) -> bool) {
        let due = self.of_receiver.entry(receiver.to_owned()).or_default();
        let before = due.first().map(|(at, ..)| *at);
        if !change(due) {
            return;
        }
        let first = due.first().map(|(at, ..)| *at);
        if due.is_empty() {
            self.of_receiver.remove(receiver);
        }
        if first != before {
            before.map(|at| self.first_of_each.remove(&(at, receiver.to_owned())));
            first.map(|at| self.first_of_each.insert((at, receiver.to_owned())));
        }
    }

    /// The message that is due for the longest time, to a receiver that is not busy.
    pub(super) fn first(&self, now: Timestamp, mut is_busy: impl FnMut(&str) -> bool) -> Option<(RunId, usize)> {
        let due = self.first_of_each.iter().take_while(|(at, _)| *at <= now);
        let (_, receiver) = due.into_iter().find(|(_, receiver)| !is_busy(receiver))?;
        self.of_receiver.get(receiver)?.first().map(|(_, run, index)| (*run, *index))
    }

    /// When the next receiver has a message that is not due yet.
    pub(super) fn next_at(&self, now: Timestamp) -> Option<Timestamp> {
        // After every receiver with a message that is due now.
        let after = (now.plus_nanos(1), String::new());
        self.first_of_each.range(after..).next().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Timestamp = Timestamp::EPOCH;

    fn at(seconds: u64) -> Timestamp {
        BEGIN.plus_nanos(seconds * 1_000_000_000)
    }

    fn run(number: u64) -> RunId {
        RunId::new(number, [3; 10])
    }

    fn message(seconds: u64, index: usize, receiver: &str) -> DueMessage {
        DueMessage { at: at(seconds), index, receiver: receiver.to_owned() }
    }

    #[test]
    fn the_message_due_longest_is_first_unless_its_receiver_is_busy() {
        let mut due = DueIndex::default();
        due.set(run(1), vec![message(3, 0, "a"), message(2, 1, "b")]);
        due.set(run(2), vec![message(1, 5, "a"), message(9, 6, "c")]);
        let first = |due: &DueIndex, now, busy: &[&str]| due.first(at(now), |receiver| busy.contains(&receiver));
        assert_eq!(first(&due, 0, &[]), None);
        assert_eq!((due.next_at(at(0)), due.next_at(at(1)), due.next_at(at(9))), (Some(at(1)), Some(at(2)), None));
        assert_eq!(first(&due, 8, &[]), Some((run(2), 5)));
        assert_eq!(first(&due, 8, &["a"]), Some((run(1), 1)));
        assert_eq!(first(&due, 8, &["a", "b"]), None, "not due yet");
        due.set(run(2), vec![message(9, 6, "c")]);
        assert_eq!(first(&due, 8, &[]), Some((run(1), 1)), "the other was replaced");
        due.set(run(1), Vec::new());
        assert_eq!((first(&due, 8, &[]), first(&due, 9, &[])), (None, Some((run(2), 6))));
        due.set(run(2), Vec::new());
        assert!(due.of_run.is_empty() && due.of_receiver.is_empty() && due.first_of_each.is_empty());
    }

    /// Each try was found by a search of all messages: 14 ms with 10,000 runs.
    #[test]
    fn messages_to_a_busy_receiver_are_not_searched() {
        let mut due = DueIndex::default();
        (0..5_000).for_each(|number| due.set(run(number), vec![message(number, 0, "busy")]));
        due.set(run(5_000), vec![message(5_000, 0, "free")]);
        let mut asked = 0;
        let first = due.first(at(9_000), |receiver| {
            asked += 1;
            receiver == "busy"
        });
        assert_eq!((first, asked), (Some((run(5_000), 0)), 2));
    }
}
