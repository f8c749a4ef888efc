//! The questions of a run and how each was resolved, from the Log.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::Serialize;
use skillrun_model::interaction::Pending;
use skillrun_model::rasp::data::{AutoDecideReason, InteractionReplied, ResolutionMode};
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_model::{InteractionId, Timestamp};

/// Bytes of all questions and answers together. Beyond this, the oldest are left out and counted.
const MOST_BYTES: usize = 16 << 20;

/// A fold over the Log of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    list: VecDeque<Kept>,
    bytes: usize,
    left_out: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Kept {
    asked: AskedQuestion,
    bytes: usize,
}

/// A question and how it was resolved.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Asked")]
pub struct AskedQuestion {
    pub question: Pending,
    pub asked_at: Timestamp,
    pub timed_out_at: Option<Timestamp>,
    /// None while there is no answer, and permanently where the run ended before.
    pub resolution_mode: Option<ResolutionMode>,
    pub resolved_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_decide_reason: Option<AutoDecideReason>,
    pub reply: Option<String>,
    /// Names in `inputs/` of the run.
    pub files: Vec<String>,
    pub is_open: bool,
}

impl History {
    pub fn take(&mut self, event: &Event) {
        if let Data::Control(ControlData::InteractionRequested(question)) = &event.data {
            self.asked(question, event.ts);
        } else if let Data::Control(ControlData::InteractionTimeout(timeout)) = &event.data {
            if let Some(Kept { asked, .. }) = self.last(timeout.interaction_id) {
                asked.timed_out_at = Some(event.ts);
                asked.is_open &= timeout.fails_with.is_none();
            }
        } else if let Data::Control(ControlData::InteractionReplied(reply)) = &event.data {
            self.replied(reply, event.ts);
        } else if event.data.end().is_some() {
            self.list.iter_mut().for_each(|kept| kept.asked.is_open = false);
        }
    }

    fn asked(&mut self, question: &Pending, at: Timestamp) {
        // Its size in the Log; it came from there, so it can be serialized.
        let bytes = serde_json::to_vec(question).map_or(0, |text| text.len());
        let asked = AskedQuestion {
            question: question.clone(),
            asked_at: at,
            timed_out_at: None,
            resolution_mode: None,
            resolved_at: None,
            auto_decide_reason: None,
            reply: None,
            files: Vec::new(),
            is_open: true,
        };
        self.list.push_back(Kept { asked, bytes });
        self.grown(bytes);
    }

    fn replied(&mut self, reply: &InteractionReplied, at: Timestamp) {
        let Some(Kept { asked, bytes }) = self.last(reply.interaction_id) else { return };
        asked.resolution_mode = Some(reply.resolution_mode);
        asked.resolved_at = Some(at);
        asked.reply = Some(reply.text.clone());
        asked.files.clone_from(&reply.files);
        asked.is_open = false;
        asked.auto_decide_reason = match reply.resolution_mode {
            ResolutionMode::AutoDecideTimeout => Some(AutoDecideReason::UserNoReply),
            ResolutionMode::UserReply | ResolutionMode::PermissionPolicy => None,
        };
        let more = reply.text.len();
        *bytes += more;
        self.grown(more);
    }

    /// The newest stays, however large it is.
    fn grown(&mut self, more: usize) {
        self.bytes += more;
        while self.bytes > MOST_BYTES && self.list.len() > 1 {
            let Some(oldest) = self.list.pop_front() else { return };
            self.bytes -= oldest.bytes;
            self.left_out += 1;
        }
    }

    /// The newest with this id, which is the one that waits.
    fn last(&mut self, id: InteractionId) -> Option<&mut Kept> {
        self.list.iter_mut().rev().find(|kept| kept.asked.question.interaction_id == id)
    }

    /// In the order in which they were asked.
    pub fn into_list(self) -> Vec<AskedQuestion> {
        self.list.into_iter().map(|kept| kept.asked).collect()
    }

    /// Older ones that are not in the list, because all together are too large.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use skillrun_model::rasp::data::{InteractionTimeout, RunCanceled};
    use skillrun_model::{AttemptNumber, Code};

    use super::*;
    use crate::testing::{Events, second};

    fn question(id: u32, prompt: &str) -> ControlData {
        ControlData::InteractionRequested(Pending::open_text(InteractionId(id), AttemptNumber(1), prompt))
    }

    fn reply(id: u32, resolution_mode: ResolutionMode, text: &str) -> ControlData {
        let files = vec!["reply-1-a.txt".to_owned()];
        let reply = InteractionReplied::new(InteractionId(id), resolution_mode, text);
        ControlData::InteractionReplied(InteractionReplied { files, ..reply })
    }

    fn timeout(id: u32, fails_with: Option<Code>) -> ControlData {
        ControlData::InteractionTimeout(InteractionTimeout {
            interaction_id: InteractionId(id),
            deadline: None,
            fails_with,
        })
    }

    fn history(all: Vec<ControlData>) -> History {
        let (mut history, mut events) = (History::default(), Events::default());
        all.into_iter().for_each(|data| history.take(&events.next(1, data)));
        history
    }

    #[test]
    fn an_answer_closes_its_question_alone() {
        let list = history(vec![
            question(1, "Which?"),
            reply(1, ResolutionMode::UserReply, "this"),
            question(2, "Sure?"),
            reply(7, ResolutionMode::UserReply, "to no question"),
        ])
        .into_list();
        assert_eq!(list.len(), 2);
        assert_eq!(list[0].reply.as_deref(), Some("this"));
        assert_eq!(list[0].files, ["reply-1-a.txt"]);
        assert_eq!((list[0].asked_at, list[0].resolved_at), (second(1), Some(second(2))));
        assert_eq!((list[0].is_open, list[0].auto_decide_reason), (false, None));
        assert_eq!((list[1].is_open, list[1].reply.as_deref()), (true, None));
    }

    #[test]
    fn an_automatic_answer_says_why() {
        let list =
            history(vec![question(1, "?"), timeout(1, None), reply(1, ResolutionMode::AutoDecideTimeout, "go on")])
                .into_list();
        assert_eq!(list[0].timed_out_at, Some(second(2)));
        let json = serde_json::to_value(&list[0]).expect("JSON");
        assert_eq!(json["auto_decide_reason"], "user_no_reply");
        assert_eq!(json["resolution_mode"], "auto_decide_timeout");
    }

    #[test]
    fn time_that_is_up_closes_only_where_the_run_fails_for_it() {
        let is_open = |all| history(all).into_list()[0].is_open;
        assert!(is_open(vec![question(1, "?"), timeout(1, None)]));
        assert!(!is_open(vec![question(1, "?"), timeout(1, Some(Code::ALL[0]))]));
        let canceled = ControlData::RunCanceled(RunCanceled { reason_code: Code::ALL[0], by: None });
        assert!(!is_open(vec![question(1, "?"), canceled]), "no answer is possible when the run is over");
    }

    #[test]
    fn the_oldest_go_when_all_are_too_large() {
        let large = "x".repeat(MOST_BYTES / 4);
        let all = history((1..=5).map(|id| question(id, &large)).collect());
        assert_eq!(all.left_out(), 2);
        let ids: Vec<u32> = all.into_list().iter().map(|asked| asked.question.interaction_id.0).collect();
        assert_eq!(ids, [3, 4, 5]);
        let alone = history(vec![question(1, "?"), reply(1, ResolutionMode::UserReply, &"x".repeat(MOST_BYTES + 1))]);
        assert_eq!((alone.left_out(), alone.into_list().len()), (0, 1), "the newest stays");
    }
}
