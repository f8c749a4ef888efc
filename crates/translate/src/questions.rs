//! Questions on which the engine waits, until the caller fetches them.
//!
//! The code that runs the attempt fetches them after every step. When old files are read they are never fetched, so
//! there are limits: beyond them the oldest are dropped, since an engine that has asked so many more is not waiting for
//! them.

use std::collections::VecDeque;

use skillrun_parse::record::{CallQuestion, QUESTION_INPUT_MAX, Record, RecordKind};

const KEPT: usize = 1000;
/// Counted by the lines they were read from. A value in memory takes many times the bytes of its text.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Questions {
    /// With the size of each.
    asked: VecDeque<(CallQuestion, usize)>,
    bytes: usize,
    withdrawn: VecDeque<String>,
}

impl Questions {
    /// Inspects a record on its way to the facts.
    pub(crate) fn record(&mut self, record: &Record) {
        if let RecordKind::Question(question) = &record.kind {
            let line = usize::try_from(record.span.to - record.span.from).unwrap_or(usize::MAX);
            let size = line.min(QUESTION_INPUT_MAX);
            self.asked.push_back((question.clone(), size));
            self.bytes += size;
            while self.asked.len() > KEPT || self.bytes > KEPT_BYTES {
                self.bytes -= self.asked.pop_front().map_or(self.bytes, |(_, size)| size);
            }
        } else if let RecordKind::Withdrawn { call_id } = &record.kind {
            self.withdraw(call_id);
        }
    }

    /// A question that was not fetched yet is dropped; the withdrawal of a fetched one must be reported.
    fn withdraw(&mut self, call_id: &str) {
        if let Some(at) = self.asked.iter().position(|(question, _)| question.call_id == call_id) {
            self.bytes -= self.asked.remove(at).map_or(0, |(_, size)| size);
            return;
        }
        if self.withdrawn.len() == KEPT {
            self.withdrawn.pop_front();
        }
        self.withdrawn.push_back(call_id.to_owned());
    }

    pub(crate) fn take(&mut self) -> Vec<CallQuestion> {
        self.bytes = 0;
        self.asked.drain(..).map(|(question, _)| question).collect()
    }

    pub(crate) fn take_withdrawn(&mut self) -> Vec<String> {
        self.withdrawn.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use skillrun_model::{ProfileId, Stream};
    use skillrun_parse::Span;
    use skillrun_parse::record::Asks;

    use super::*;

    fn record(kind: RecordKind, bytes: usize) -> Record {
        let span = Span { stream: Stream::Stdout, from: 0, to: bytes as u64 };
        Record { span, pieces: Vec::new(), profile: ProfileId::ClaudeStreamJson, confidence: 1.0, kind }
    }

    fn asked(questions: &mut Questions, call_id: impl ToString, bytes: usize) {
        let question = CallQuestion {
            call_id: call_id.to_string(),
            tool: "Bash".to_owned(),
            input: None,
            options: Vec::new(),
            asks: Asks::Permission,
        };
        questions.record(&record(RecordKind::Question(question), bytes));
    }

    fn withdrawn(questions: &mut Questions, call_id: &str) {
        questions.record(&record(RecordKind::Withdrawn { call_id: call_id.to_owned() }, 50));
    }

    fn taken(questions: &mut Questions) -> Vec<String> {
        questions.take().into_iter().map(|question| question.call_id).collect()
    }

    #[test]
    fn each_is_fetched_once_in_order() {
        let mut questions = Questions::default();
        assert_eq!(taken(&mut questions), [""; 0]);
        asked(&mut questions, "r1", 100);
        asked(&mut questions, "r2", 100);
        assert_eq!(taken(&mut questions), ["r1", "r2"]);
        asked(&mut questions, "r3", 100);
        assert_eq!(taken(&mut questions), ["r3"]);
        assert_eq!(taken(&mut questions), [""; 0]);
    }

    #[test]
    fn beyond_a_thousand_the_oldest_go() {
        let mut questions = Questions::default();
        (0..1003).for_each(|number| asked(&mut questions, number, 100));
        let kept = taken(&mut questions);
        assert_eq!((kept.len(), kept[0].as_str(), kept[999].as_str()), (1000, "3", "1002"));
        (0..1003).for_each(|number| withdrawn(&mut questions, &number.to_string()));
        let kept = questions.take_withdrawn();
        assert_eq!((kept.len(), kept[0].as_str(), kept[999].as_str()), (1000, "3", "1002"));
    }

    #[test]
    fn large_questions_are_dropped_first_and_fetched_ones_are_free() {
        let mut questions = Questions::default();
        for _ in 0..2 {
            // A line of 8 MiB has an input that is left out; it weighs no more than one that just fits.
            (0..70).for_each(|number| asked(&mut questions, number, 8 * 1024 * 1024));
            let kept = taken(&mut questions);
            assert_eq!((kept.len(), kept[0].as_str()), (64, "6"));
        }
        (0..70).for_each(|number| asked(&mut questions, number, 8 * 1024 * 1024));
        (6..70).for_each(|number| withdrawn(&mut questions, &number.to_string()));
        (0..64).for_each(|number| asked(&mut questions, number, 8 * 1024 * 1024));
        assert_eq!((taken(&mut questions).len(), questions.take_withdrawn().len()), (64, 0));
    }

    #[test]
    fn one_that_is_taken_back_before_it_was_fetched_was_never_asked() {
        let mut questions = Questions::default();
        asked(&mut questions, "r1", 100);
        asked(&mut questions, "r2", 100);
        withdrawn(&mut questions, "r1");
        assert_eq!(taken(&mut questions), ["r2"]);
        assert_eq!(questions.take_withdrawn(), [""; 0]);
        withdrawn(&mut questions, "r2");
        assert_eq!(questions.take_withdrawn(), ["r2"]);
        assert_eq!(questions.take_withdrawn(), [""; 0]);
    }
}
