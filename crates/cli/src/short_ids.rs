//! Prefixes of ids that are long enough to name a run, now and later. Ids begin with the time in milliseconds: a prefix
//! with all of it is not shared by later runs, and a shorter one is shared by all runs of up to a minute. Runs that were
//! created in the same millisecond need more characters; all runs have to be compared to know how many.

use skillrun_model::RunId;

/// The 48 bits of the time, and a hyphen. Shorter ones would become ambiguous with the next run.
const LEAST: usize = 13;

/// Knows all runs.
#[derive(Debug)]
pub(crate) struct ShortIds {
    /// In order.
    ids: Vec<String>,
}

impl ShortIds {
    pub(crate) fn new(runs: &[RunId]) -> Self {
        let mut ids: Vec<String> = runs.iter().map(ToString::to_string).collect();
        ids.sort();
        Self { ids }
    }

    /// The shortest prefix that no other run has.
    pub(crate) fn of(&self, run: RunId) -> String {
        let id = run.to_string();
        let at = self.ids.partition_point(|other| *other < id);
        // The most alike are the neighbours.
        let before = at.checked_sub(1).and_then(|before| self.ids.get(before));
        let after = self.ids[at..].iter().find(|other| **other != id);
        let shared = before.into_iter().chain(after).map(|other| shared(&id, other)).max().unwrap_or(0);
        let mut len = (shared + 1).max(LEAST);
        // A hyphen at the end is of no use.
        if id.as_bytes().get(len - 1) == Some(&b'-') {
            len += 1;
        }
        id.get(..len).unwrap_or(&id).to_owned()
    }
}

fn shared(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_as_long_as_it_must_be() {
        let ids = [
            "019a0000-0000-7000-8000-000000000000",
            "019b0000-0000-7000-8000-000000000000",
            "019b0000-0001-7000-8000-000000000000",
            "019b0000-1000-7000-8000-000000000000",
            "019c0000-0000-7000-8000-000000000000",
            "019c0000-0000-7000-9000-000000000000",
        ];
        let runs: Vec<RunId> = ids.iter().map(|id| id.parse().expect("an id")).collect();
        let short = ShortIds::new(&runs);
        let expected = [
            "019a0000-0000",
            "019b0000-0000",
            "019b0000-0001",
            "019b0000-1000",
            "019c0000-0000-7000-8",
            "019c0000-0000-7000-9",
        ];
        assert_eq!(runs.iter().map(|run| short.of(*run)).collect::<Vec<_>>(), expected);
        assert_eq!(ShortIds::new(&[]).of(runs[0]), "019a0000-0000");
    }

    /// Regression: an id was printed with eight characters, which every run of the next minute has too.
    #[test]
    fn a_printed_id_stays_unique_when_later_runs_come() {
        let at = |millis: u64| RunId::new(millis, [u8::try_from(millis % 251).unwrap_or_default(); 10]);
        let mut runs = Vec::new();
        let mut printed = Vec::new();
        for millis in (0..40).map(|run| 1_800_000_000_000 + run * run) {
            runs.push(at(millis));
            printed.push(ShortIds::new(&runs).of(at(millis)));
        }
        for (run, printed) in runs.iter().zip(&printed) {
            let found: Vec<&RunId> = runs.iter().filter(|other| other.to_string().starts_with(printed)).collect();
            assert_eq!(found, [run], "{printed}");
        }
    }
}
