//! What must hold, whichever process dies at whichever moment.

use std::sync::Arc;

use skillrun_lifecycle::run::State;
use skillrun_model::codes::Code;
use skillrun_model::delegation::{OnParentEnd, SubagentEnded, SubagentStatus};
use skillrun_model::interaction::Scope;
use skillrun_model::rasp::{ControlData, Data, Event};
use skillrun_model::status::Phase;
use skillrun_model::verdict::Rule;
use skillrun_model::{AttemptNumber, ExecutionMode, RunId, RunStatus};

use super::clients::Response;
use super::evidence::expected;
use super::family::Family;
use super::host::{Given, Hosts, SimulatedAttempt};
use super::scene::Scene;
use super::tally::Tally;

macro_rules! laws {
    ($($name:ident = $words:literal,)+) => {
        /// A law, by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Law { $($name,)+ }

        impl Law {
            pub(crate) fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)+ }
            }
        }
    };
}

laws! {
    SeqGap = "numbers have no gaps",
    OneEnd = "a run ends once, and nothing follows",
    OneRecord = "an attempt begins once and ends once",
    RightAttempt = "an event carries the number of its attempt",
    RightQuestion = "questions are numbered from 1, and each is asked once",
    OneResolution = "of answer, expiry, interrupt and cancel one closes a question",
    LostReply = "an answer that was acknowledged is in the Log",
    RefusedReply = "an answer that was refused is not in the Log",
    GivenUnlogged = "a process gets only what is in the Log",
    GivenOnce = "a process gets an answer once",
    NotGiven = "an answer that is in the Log reaches the process that waits for it",
    BeganOnce = "one process is started for an attempt",
    BeganLogged = "the Log contains an attempt before its process begins",
    Message = "the Log has the message of a turn, once, before the process receives it",
    OneProcess = "a run has one process",
    Fold = "the state of the owner is the fold over the Log",
    Verdict = "a verdict depends on the evidence alone",
    Canceled = "a run that was canceled ends canceled",
    Interrupted = "an open turn is interrupted, and only where the run continues after it",
    Say = "the prompt of an interrupt is sent, once, if the turn was interrupted, and else never",
    Closed = "a run is closed while it waits for the next prompt, and a conversation ends no other way",
    Forgotten = "the owner of a run does what the run needs",
    Ends = "a run ends, unless it waits for a user without a deadline",
    ProcessLeft = "no process outlives its run",
    NoCause = "a process that should continue is not ended",
    CannotBegin = "what one process left does not hinder the next",
    Result = "a run that is over has a result",
    OneRetry = "a run that was planned is made once",
    TooEarly = "a run begins when its moment has come",
    ChildAsked = "a child is asked for by an open turn, once for each key, and is in the Log before it is made",
    ChildMade = "a child that is in the Log is made, unless the Log says that it was not",
    ChildEnd = "a child has one end in the Log of its parent, and it is its own",
    ChildLeft = "a child is canceled, waited for or left alone as its request says, and no run ends before its children",
    Evidence = "a line of a process is reported once",
    Panics = "nothing panics",
    Text = "a Log reads the same as it was written",
}

/// A law that was broken, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) law: Law,
    pub(crate) words: String,
}

impl Law {
    pub(crate) fn broken(self, words: impl Into<String>) -> Broken {
        Broken { law: self, words: words.into() }
    }

    fn check(self, holds: bool, words: impl FnOnce() -> String) -> Result<(), Broken> {
        if holds { Ok(()) } else { Err(self.broken(words())) }
    }
}

/// What the laws remember of a Log, kept separate from the fold that they check.
#[derive(Debug, Default)]
pub(crate) struct Laws {
    pub(crate) end: Option<RunStatus>,
    attempts: u32,
    is_open: bool,
    questions: u32,
    open_question: Option<u32>,
    pub(crate) is_canceling: bool,
    pub(crate) is_closing: bool,
    /// The open question is one for the next prompt.
    is_at_rest: bool,
    /// The attempts that a client has interrupted, while they were open.
    interrupts: Vec<u32>,
    /// The prompts that came with them.
    pub(crate) says: Vec<(u32, String)>,
    /// Of these attempts, those whose verdict is an interrupt.
    interrupted: Vec<u32>,
    /// The run fails with this as soon as its attempt is over.
    failing: Option<Code>,
    /// Answers in the Log, by question.
    pub(crate) replies: Vec<(u32, String)>,
    /// Of these, the answers that processes received.
    given: Vec<u32>,
    verdict: Option<RunStatus>,
    /// The message that began the open attempt is in the Log.
    has_message: bool,
    /// Events made from evidence in the open attempt.
    evidence: Vec<Arc<Event>>,
    /// The children that the Log has.
    children: Vec<LoggedChild>,
}

/// A child in the Log of its parent.
#[derive(Debug)]
struct LoggedChild {
    run_id: RunId,
    attempt: u32,
    key: String,
    is_started: bool,
    ended: Option<SubagentStatus>,
    /// Its end was not known, although its request says that it is not left alone.
    is_abandoned: bool,
    policy: OnParentEnd,
}

impl Laws {
    /// One more event. `state` is that before it.
    pub(crate) fn event(
        &mut self,
        event: &Arc<Event>,
        state: &State,
        hosts: &mut Hosts,
        scene: &Scene,
        family: &Family,
    ) -> Result<(), Broken> {
        let name = event.event_type().as_str();
        Law::SeqGap
            .check(event.seq == state.last_seq + 1, || format!("{name} is {} after {}", event.seq, state.last_seq))?;
        Law::OneEnd.check(self.end.is_none(), || format!("{name} after the end"))?;
        let Data::Control(data) = &event.data else {
            let is_same = |other: &Arc<Event>| other.raw_ref == event.raw_ref && other.data == event.data;
            let is_new = event.attempt_number.0 == self.attempts && !self.evidence.iter().any(is_same);
            Law::Evidence.check(is_new, || format!("{name} of attempt {} is there already", event.attempt_number))?;
            self.evidence.push(event.clone());
            return Ok(());
        };
        self.attempt_number(event, data)?;
        match data {
            ControlData::AttemptStarted(_) => {
                let is_next = !self.is_open && event.attempt_number == AttemptNumber(self.attempts + 1);
                Law::OneRecord.check(is_next, || format!("attempt {} begins", event.attempt_number))?;
                self.attempts += 1;
                self.is_open = true;
                self.has_message = false;
                self.verdict = None;
                self.evidence.clear();
            }
            ControlData::MessageUser(message) => {
                let is_first = self.is_open && !self.has_message;
                Law::Message.check(is_first, || format!("attempt {} has another message", self.attempts))?;
                let reply = self.replies.last().filter(|_| self.attempts > 1);
                let words = reply.map(|(id, text)| (Some(*id), text.as_str()));
                let named = event.correlation.interaction_id.map(|id| id.0);
                let is_so = words.is_none_or(|words| words == (named, message.text.as_str()));
                Law::Message.check(is_so, || format!("attempt {} has the message of another", self.attempts))?;
                self.has_message = true;
            }
            ControlData::AttemptEnded(ended) => {
                Law::OneRecord.check(self.is_open, || format!("attempt {} ends again", event.attempt_number))?;
                (self.is_open, self.open_question) = (false, None);
                let number = self.attempts;
                let record = hosts.record(number);
                let SimulatedAttempt { lines, interrupted_after, .. } = hosts.attempt(number);
                let expected = expected(scene, number, lines, record, *interrupted_after, self.is_canceling);
                let verdict = &ended.verdict;
                let (seen, rule) = (verdict.run_status, verdict.rule);
                // A verdict after an unanswered deadline does not decide.
                let is_so = expected.is(seen, rule == Rule::Interrupted, verdict.turn) || self.failing.is_some();
                Law::Verdict.check(is_so, || {
                    format!(
                        "attempt {number} is {seen}, {}, rule {rule}, and its evidence says {expected:?}",
                        verdict.turn
                    )
                })?;
                if rule == Rule::Interrupted {
                    Law::Interrupted.check(self.is_interrupted(number), || format!("attempt {number} was not"))?;
                    self.interrupted.push(number);
                }
                self.verdict = Some(seen);
            }
            ControlData::InteractionRequested(question) => {
                let id = question.interaction_id.0;
                let is_next = self.open_question.is_none() && id == self.questions + 1;
                Law::RightQuestion.check(is_next, || format!("question {id} after {}", self.questions))?;
                let in_turn = question.scope == Scope::Call;
                Law::RightQuestion.check(in_turn == self.is_open, || format!("question {id} out of place"))?;
                let is_prompt = question.scope == Scope::Prompt;
                let was_interrupted = self.interrupted.last() == Some(&self.attempts);
                let rests = was_interrupted || scene.mode == ExecutionMode::Conversation;
                Law::RightQuestion.check(in_turn || is_prompt == rests, || format!("question {id} is another one"))?;
                (self.questions, self.open_question, self.is_at_rest) = (id, Some(id), is_prompt);
            }
            ControlData::InteractionReplied(reply) => {
                let id = reply.interaction_id.0;
                let is_open = self.open_question.take() == Some(id) && !self.is_canceling && self.failing.is_none();
                let is_open = is_open && !self.is_closing;
                Law::OneResolution.check(is_open, || format!("question {id} is answered, and was not open"))?;
                self.is_at_rest = false;
                self.check_say(&reply.text)?;
                self.replies.push((id, reply.text.clone()));
            }
            ControlData::InteractionTimeout(timeout) if timeout.fails_with.is_some() => {
                let id = timeout.interaction_id.0;
                let is_open = self.open_question.take() == Some(id) && !self.is_canceling;
                Law::OneResolution.check(is_open, || format!("question {id} expires, and was not open"))?;
                self.failing = timeout.fails_with;
            }
            ControlData::RunStatus(change) if change.phase == Some(Phase::Canceling) => {
                Law::OneResolution.check(!self.is_canceling, || "canceled twice".to_owned())?;
                (self.is_canceling, self.open_question) = (true, None);
            }
            ControlData::RunStatus(change) if change.phase == Some(Phase::Interrupting) => {
                let is_so = self.is_open && !self.is_canceling && self.failing.is_none();
                let is_so = is_so && scene.mode != ExecutionMode::Auto;
                Law::Interrupted.check(is_so, || format!("attempt {} is interrupted", self.attempts))?;
                // A question inside the turn is closed with it.
                self.open_question = None;
                if !self.is_interrupted(self.attempts) {
                    self.interrupts.push(self.attempts);
                }
                self.says.extend(change.say.iter().map(|text| (self.attempts, text.clone())));
            }
            ControlData::RunStatus(change) if change.phase == Some(Phase::Closing) => {
                let is_so = self.is_at_rest && self.open_question.is_some() && !self.is_open && !self.is_canceling;
                Law::Closed.check(is_so && !self.is_closing, || "it is closed, and was not at rest".to_owned())?;
                (self.is_closing, self.open_question) = (true, None);
            }
            ControlData::RunCompleted(completed) => {
                let status = completed.status();
                let is_talk = scene.mode == ExecutionMode::Conversation;
                let is_so = (status == RunStatus::Closed) == self.is_closing && (self.is_closing || !is_talk);
                Law::Closed.check(is_so, || format!("it is {status}"))?;
                self.ends(status)?;
            }
            ControlData::RunFailed(failed) => {
                let code = failed.error.code;
                let is_so = self.failing.is_none_or(|failing| failing == code);
                Law::Verdict.check(is_so, || format!("it fails with {code}, though no answer came in time"))?;
                // A conversation fails where its next turn cannot begin, or a question inside a turn is not answered.
                let is_talk = scene.mode == ExecutionMode::Conversation;
                let is_so = !self.is_closing && (!is_talk || self.failing.is_some() || code == Code::HostError);
                Law::Closed.check(is_so, || format!("it fails with {code}"))?;
                self.ends(RunStatus::Failed)?;
            }
            ControlData::RunCanceled(_) => self.ends(RunStatus::Canceled)?,
            ControlData::InteractionTimeout(_)
            | ControlData::RunStatus(_)
            | ControlData::AutoDecision(_)
            | ControlData::RunStarted(_)
            | ControlData::RunHeartbeat(_)
            | ControlData::ArtifactCreated(_)
            | ControlData::ArtifactIndexed(_)
            | ControlData::ArtifactPreviewReady(_)
            | ControlData::ParserWarning(_)
            | ControlData::TurnUsage(_)
            | ControlData::WorkflowStarted(_)
            | ControlData::StepScheduled(_)
            | ControlData::StepHeld(_)
            | ControlData::StepEnded(_)
            | ControlData::WorkflowEnded(_)
            | ControlData::CheckEnded(_) => {}
            ControlData::SubagentRequested(asked) => {
                let is_same = |child: &LoggedChild| child.attempt == self.attempts && child.key == asked.key;
                let is_so = self.is_open && !self.is_canceling && !self.children.iter().any(is_same);
                Law::ChildAsked.check(is_so, || format!("child {} is asked for", asked.key))?;
                self.children.push(LoggedChild {
                    run_id: asked.child_run_id,
                    attempt: self.attempts,
                    key: asked.key.clone(),
                    is_started: false,
                    ended: None,
                    is_abandoned: false,
                    policy: asked.on_parent_end,
                });
            }
            ControlData::SubagentStarted(started) => {
                let is_made = family.is_made(started.child_run_id);
                let child = self.child(started.child_run_id);
                let is_first = child.is_some_and(|child| {
                    let is_first = !child.is_started && child.ended.is_none();
                    child.is_started = true;
                    is_first
                });
                Law::ChildMade.check(is_made && is_first, || "a child is started".to_owned())?;
            }
            ControlData::SubagentEnded(end) => self.child_ended(end, family)?,
        }
        Ok(())
    }

    fn child(&mut self, run: RunId) -> Option<&mut LoggedChild> {
        self.children.iter_mut().find(|child| child.run_id == run)
    }

    fn child_ended(&mut self, end: &SubagentEnded, family: &Family) -> Result<(), Broken> {
        let run = end.child_run_id;
        let (is_made, own) = (family.is_made(run), family.ended(run));
        let is_canceled = family.is_canceled(run);
        let unknown = || Law::ChildEnd.broken("a child ends that was not asked for");
        let child = self.child(run).ok_or_else(unknown)?;
        let is_first = child.ended.is_none_or(|status| status == SubagentStatus::Detached);
        child.ended = Some(end.status);
        let words = || format!("child {} is {} ({}), and it is {own:?}", child.key, end.status, end.reason);
        let is_so = match (end.status, end.reason) {
            (SubagentStatus::Failed, Code::ChildNotMade) => !is_made,
            (SubagentStatus::Detached, _) => {
                child.is_abandoned = child.policy != OnParentEnd::Detach && !is_canceled;
                true
            }
            (status, _) => own == Some(status),
        };
        Law::ChildEnd.check(is_first && is_so, words)
    }

    /// A child is about to be made.
    pub(crate) fn may_make(&mut self, run: RunId) -> Result<(), Broken> {
        let child = self.child(run);
        let is_so = child.as_ref().is_some_and(|child| child.ended.is_none());
        Law::ChildAsked.check(is_so, || "a child is made, and is not in the Log, or has ended there".to_owned())
    }

    /// The first child that is in the Log and was never made.
    pub(crate) fn unmade_child(&self, family: &Family) -> Option<&str> {
        let is_unmade = |child: &&LoggedChild| child.ended.is_none() && !family.is_made(child.run_id);
        self.children.iter().find(is_unmade).map(|child| child.key.as_str())
    }

    /// The first child whose own end is not in the Log.
    pub(crate) fn unrecorded_child(&self, family: &Family) -> Option<&str> {
        let is_unrecorded = |child: &&LoggedChild| child.ended.is_none() && family.ended(child.run_id).is_some();
        self.children.iter().find(is_unrecorded).map(|child| child.key.as_str())
    }

    /// Every acknowledged request for a child is in the Log, and every refused one is not.
    pub(crate) fn check_asked(&self, family: &Family) -> Result<(), Broken> {
        for asked in &family.asked {
            let is_there = self.children.iter().any(|child| child.run_id == asked.run_id);
            match asked.response {
                Response::Yes if !is_there => return Err(Law::LostReply.broken("a child is not in the Log")),
                Response::No if is_there => return Err(Law::RefusedReply.broken("a child is in the Log")),
                Response::Yes | Response::No | Response::Nothing => {}
            }
        }
        Ok(())
    }

    /// The number of the last attempt, or of the one that is being opened.
    fn attempt_number(&self, event: &Event, data: &ControlData) -> Result<(), Broken> {
        let opens = *data == ControlData::status(RunStatus::Running) || matches!(data, ControlData::AttemptStarted(_));
        let number = event.attempt_number.0;
        let is_right = number == self.attempts || (opens && number == self.attempts + 1);
        Law::RightAttempt.check(is_right, || {
            format!("{} carries {number}, and attempt {} is the last", event.event_type().as_str(), self.attempts)
        })
    }

    fn ends(&mut self, status: RunStatus) -> Result<(), Broken> {
        Law::OneRecord.check(!self.is_open, || "the run ends before its attempt".to_owned())?;
        let open = self.children.iter().find(|child| child.ended.is_none());
        Law::ChildLeft
            .check(open.is_none(), || format!("the run ends before child {}", open.map_or("", |c| &c.key)))?;
        // Where the reason for the end was not in the Log before, nothing could be waited for.
        let abandoned = self.children.iter().find(|child| child.is_abandoned && status != RunStatus::Failed);
        Law::ChildLeft
            .check(abandoned.is_none(), || format!("child {} is left alone", abandoned.map_or("", |c| &c.key)))?;
        let is_canceled = status == RunStatus::Canceled;
        Law::Canceled.check(is_canceled == self.is_canceling, || format!("it is {status}"))?;
        let is_earned = status != RunStatus::Succeeded || self.verdict == Some(RunStatus::Succeeded);
        let is_earned = is_earned && (self.failing.is_none() || status != RunStatus::Succeeded);
        Law::Verdict.check(is_earned, || "it succeeds without a verdict that says so".to_owned())?;
        self.end = Some(status);
        Ok(())
    }

    /// A client has interrupted the attempt.
    pub(crate) fn is_interrupted(&self, attempt: u32) -> bool {
        self.interrupts.contains(&attempt)
    }

    /// The attempt whose prompt is sent was interrupted, and the prompt was not sent before.
    fn check_say(&self, text: &str) -> Result<(), Broken> {
        let Some((attempt, _)) = self.says.iter().find(|(_, say)| say == text) else { return Ok(()) };
        let is_first = !self.replies.iter().any(|(_, sent)| sent == text);
        let is_so = is_first && self.interrupted.last() == Some(attempt) && self.attempts == *attempt;
        Law::Say.check(is_so, || format!("\"{text}\", for after attempt {attempt}, is sent"))
    }

    /// At the end of a story: the prompts of interrupted turns that were not sent. A cancel may have come before.
    pub(crate) fn check_says(&self, tally: &mut Tally) -> Result<(), Broken> {
        for (attempt, text) in &self.says {
            let is_sent = self.replies.iter().any(|(_, sent)| sent == text);
            let is_interrupted = self.interrupted.contains(attempt);
            Law::Say.check(is_sent || !is_interrupted || self.is_canceling, || {
                format!("\"{text}\", for after attempt {attempt}, is not sent")
            })?;
            tally.mark(if is_sent {
                "a prompt that came with an interrupt is sent"
            } else {
                "a prompt that came with an interrupt is not sent"
            });
        }
        for attempt in &self.interrupts {
            tally.mark(if self.interrupted.contains(attempt) {
                "an interrupt stops a turn"
            } else {
                "an end stands before an interrupt"
            });
        }
        Ok(())
    }

    /// A process received an answer.
    pub(crate) fn given(&mut self, given: Given) -> Result<(), Broken> {
        let id = given.interaction;
        let is_logged = self.replies.iter().any(|(logged, text)| *logged == id && given.text.contains(text));
        Law::GivenUnlogged.check(is_logged, || format!("the answer to question {id} is given and not in the Log"))?;
        Law::Message.check(self.has_message, || format!("the answer to question {id} is given without a message"))?;
        Law::GivenOnce.check(!self.given.contains(&id), || format!("the answer to question {id} is given again"))?;
        self.given.push(id);
        Ok(())
    }

    /// The process of an attempt began with this input.
    pub(crate) fn began(&self, attempt: u32, starts: u32, words: Option<&Given>) -> Result<(), Broken> {
        Law::BeganOnce.check(starts == 1, || format!("attempt {attempt} has {starts} processes"))?;
        let is_logged = self.attempts == attempt && self.is_open;
        Law::BeganLogged.check(is_logged, || format!("attempt {attempt} begins, and the Log has {}", self.attempts))?;
        Law::Message.check(self.has_message, || format!("attempt {attempt} begins without a message in the Log"))?;
        let last = self.replies.last().map(|(id, _)| *id);
        let has_words = attempt == 1 || words.map(|words| words.interaction) == last;
        Law::NotGiven.check(has_words, || format!("attempt {attempt} begins without the answer"))
    }

    /// The end of the Log is lost.
    pub(crate) fn lost_evidence(&mut self, log: &[Arc<Event>]) {
        let attempt = self.attempts;
        let is_of_it =
            |event: &&Arc<Event>| matches!(event.data, Data::Evidence(_)) && event.attempt_number.0 == attempt;
        self.evidence = log.iter().filter(is_of_it).cloned().collect();
    }

    pub(crate) fn was_given(&self, interaction: u32) -> bool {
        self.given.contains(&interaction)
    }
}
