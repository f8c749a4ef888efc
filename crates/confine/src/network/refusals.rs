//! What the processes of a box asked for, and did not get.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub use skillrun_evidence::host_record::{Refusal, RefusalKind, RefusalList};

/// How many different ones are kept for an attempt; the others are counted.
const REFUSALS_MAX: usize = 100;

/// The list, shared by the threads that serve a network.
#[derive(Clone, Default)]
pub struct Refusals(Arc<Mutex<Collected>>);

#[derive(Default)]
struct Collected {
    times: BTreeMap<(RefusalKind, String, Option<u16>), u64>,
    /// The order in which they were first seen.
    order: Vec<(RefusalKind, String, Option<u16>)>,
    others: u64,
}

impl Refusals {
    pub(crate) fn note(&self, kind: RefusalKind, host: impl Into<String>, port: Option<u16>) {
        let mut collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (kind, host.into(), port);
        if let Some(times) = collected.times.get_mut(&key) {
            *times += 1;
        } else if collected.order.len() < REFUSALS_MAX {
            collected.order.push(key.clone());
            collected.times.insert(key, 1);
        } else {
            collected.others += 1;
        }
    }

    /// Everything since the last call.
    pub fn take(&self) -> RefusalList {
        let collected = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let Collected { times, order, others } = collected;
        let refusal = |key: (RefusalKind, String, Option<u16>)| {
            let times = times.get(&key).copied().unwrap_or(1);
            Refusal { kind: key.0, host: key.1, port: key.2, times }
        };
        RefusalList { refused: order.into_iter().map(refusal).collect(), others }
    }
}

impl fmt::Debug for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Refusals")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_counted_and_the_list_is_bounded() {
        let refusals = Refusals::default();
        for _ in 0..3 {
            refusals.note(RefusalKind::Name, "evil.example", None);
        }
        for number in 0..200 {
            refusals.note(RefusalKind::Tcp, format!("10.0.0.{number}"), Some(443));
        }
        let list = refusals.take();
        assert_eq!((list.refused.len(), list.others), (REFUSALS_MAX, 101));
        let first = &list.refused[0];
        assert_eq!((first.kind, first.host.as_str(), first.times), (RefusalKind::Name, "evil.example", 3));
        assert_eq!(refusals.take(), RefusalList::default());
    }
}
