//! The chain of a Log: every line carries the hash of the line before it.

use skillrun_log::{LineHash, LogLine};
use skillrun_model::RunId;
use skillrun_model::rasp::{ControlData, Data, Event, LogHead};

use super::{NotedHead, VerifyOutcome};

#[derive(Debug)]
pub(super) struct Chain {
    /// What the next line must carry.
    before: LineHash,
    /// The first event that carries a hash.
    first: Option<u64>,
    /// The first event declares that this Log is chained from its beginning.
    is_chained: bool,
    problem: Option<String>,
    /// The last line, if it carries a hash.
    head: Option<LogHead>,
    noted: Option<Noted>,
}

#[derive(Debug)]
struct Noted {
    head: NotedHead,
    /// The event with that hash.
    found: Option<u64>,
}

impl Chain {
    pub(super) fn new(run: RunId, noted: Option<NotedHead>) -> Self {
        Self {
            before: LineHash::before_first(run),
            first: None,
            is_chained: false,
            problem: None,
            head: None,
            noted: noted.map(|head| Noted { head, found: None }),
        }
    }

    pub(super) fn event(&mut self, line: LogLine<'_>, event: &Event) {
        let (seq, hash, prev) = (event.seq, line.hash(), line.prev());
        if let Data::Control(ControlData::RunStarted(started)) = &event.data {
            self.is_chained |= started.record_hash.is_some();
        }
        if self.problem.is_none() {
            self.problem = self.wrong(seq, prev);
        }
        if prev.is_some() {
            self.first.get_or_insert(seq);
        }
        self.before = hash;
        self.head = prev.map(|_| LogHead { seq, hash: hash.to_string() });
        if let Some(noted) = &mut self.noted
            && noted.head.hash == hash
        {
            noted.found.get_or_insert(seq);
        }
    }

    fn wrong(&self, seq: u64, prev: Option<LineHash>) -> Option<String> {
        let before = seq.saturating_sub(1);
        match prev {
            Some(prev) if prev == self.before => None,
            Some(_) if seq == 1 => {
                Some("seq 1 carries the hash of another run's id: the Log was made for another run".into())
            }
            Some(_) => Some(format!(
                "seq {seq} does not carry the hash of seq {before}: one of the two was changed, or events between them \
                 were added or left out"
            )),
            None if self.first.is_some() || self.is_chained => {
                Some(format!("seq {seq} carries no hash of the event before it, and should"))
            }
            None => None,
        }
    }

    /// The chain, and the noted head.
    pub(super) fn finish(self) -> (VerifyOutcome, Option<VerifyOutcome>, Option<LogHead>) {
        let chain = match (self.problem, self.first) {
            (Some(problem), _) => VerifyOutcome::different(problem),
            (None, Some(1)) => VerifyOutcome::Same,
            (None, Some(first)) => VerifyOutcome::not_comparable(format!(
                "the events before seq {first} are unchained: an older version wrote them"
            )),
            (None, None) => VerifyOutcome::not_comparable("its events are unchained: an older version wrote them"),
        };
        let noted = self.noted.map(|Noted { head, found }| match (found, head.seq) {
            (Some(found), Some(seq)) if found != seq => {
                VerifyOutcome::different(format!("the event with that hash is seq {found}, not seq {seq}"))
            }
            (Some(_), _) => VerifyOutcome::Same,
            (None, _) => VerifyOutcome::different("no event has that hash: the Log was changed or truncated since"),
        });
        (chain, noted, self.head)
    }
}
