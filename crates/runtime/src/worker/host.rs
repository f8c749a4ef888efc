//! The conversation with a living host.

use std::collections::VecDeque;
use std::process::Child;
use std::time::{Duration, Instant};

use skillrun_collect::owner::Heard;
use skillrun_collect::protocol::{InputAnswer, Notice, Progress, Request};
use skillrun_collect::{CollectError, Owner};
use skillrun_evidence::live_feed::Extent;
use skillrun_model::AttemptNumber;

use crate::error::RuntimeError;

/// How long an input that was not taken waits before it is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(200);

/// How long an agent that was told to cancel its turn has, before its process is ended.
const CANCEL_MOMENT: Duration = Duration::from_millis(500);

/// A living host and our conversation with it.
pub(super) struct Host {
    pub(super) owner: Box<Owner>,
    pub(super) child: Option<Child>,
    /// How far its streams can be read.
    pub(super) extent: Extent,
    /// Inputs that were not taken yet, in order; one at a time is under way. There are never more than what a driver
    /// says in one attempt, which has a bound of its own, and one answer.
    unsent: VecDeque<(String, String)>,
    /// When the first of them is sent again.
    again_at: Instant,
    ending: Ending,
}

/// Whether the process is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    /// The agent was told to cancel its turn; its process is ended at this moment.
    Asked(Instant),
    Told,
}

/// What a host has told since it was last listened to.
#[derive(Debug, Default)]
pub(super) struct News {
    /// The attempt before ended here, and the process goes on.
    pub(super) turned: Option<Extent>,
    /// A request was not carried out.
    pub(super) refused: bool,
    /// The process has taken an input.
    pub(super) took_input: bool,
    pub(super) is_gone: bool,
}

impl Host {
    pub(super) fn new(owner: Box<Owner>, child: Option<Child>) -> Self {
        let (unsent, again_at) = (VecDeque::new(), Instant::now());
        Self { owner, child, extent: Extent::default(), unsent, again_at, ending: Ending::No }
    }

    /// Sends a request. A host that has hung up tells why in its record.
    pub(super) fn send(&mut self, request: &Request) {
        self.owner.send(request).ok();
    }

    /// Writes a line to the process, after those before it. A name is written once, whoever says it.
    pub(super) fn say(&mut self, id: String, line: String) {
        self.unsent.push_back((id, line));
        if self.unsent.len() == 1 {
            self.send_first();
        }
    }

    fn send_first(&mut self) {
        if let Some((id, line)) = self.unsent.front().cloned() {
            self.send(&Request::Input { id, text: Some(line), hex: None });
            self.again_at = Instant::now() + TRY_AGAIN;
        }
    }

    /// Everything that was to be told has reached the process.
    pub(super) fn has_told_all(&self) -> bool {
        self.unsent.is_empty()
    }

    /// The next moment at which there is something to do.
    pub(super) fn due(&self) -> Option<Instant> {
        let again = (!self.unsent.is_empty()).then_some(self.again_at);
        let ending = match self.ending {
            Ending::Asked(until) => Some(until),
            Ending::No | Ending::Told => None,
        };
        [again, ending].into_iter().flatten().min()
    }

    /// Does what its time has come for.
    fn see_to_time(&mut self) {
        if !self.unsent.is_empty() && Instant::now() >= self.again_at {
            self.send_first();
        }
        if let Ending::Asked(until) = self.ending
            && Instant::now() >= until
        {
            self.end_now();
        }
    }

    /// The agent was told that its turn is canceled; it has a moment. Said again, it has none.
    pub(super) fn end_soon(&mut self) {
        match self.ending {
            Ending::No => self.ending = Ending::Asked(Instant::now() + CANCEL_MOMENT),
            Ending::Asked(_) | Ending::Told => self.end_now(),
        }
    }

    /// Ends the process and everything it started.
    pub(super) fn end_now(&mut self) {
        self.ending = Ending::Told;
        self.send(&Request::Cancel { ladder: None });
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending != Ending::No
    }

    /// It was told to cancel, and has not been ended yet.
    pub(super) fn has_a_moment(&self) -> bool {
        matches!(self.ending, Ending::Asked(_))
    }

    /// Hears everything it has said about `attempt`.
    pub(super) fn hear(&mut self, attempt: AttemptNumber) -> Result<News, RuntimeError> {
        let mut news = News::default();
        self.see_to_time();
        loop {
            match self.owner.hear(Duration::ZERO) {
                Ok(Heard::Notice(Notice::Progress(progress))) if progress.attempt == attempt => {
                    self.extent = extent(&progress);
                }
                Ok(Heard::Notice(Notice::Progress(_))) => {}
                Ok(Heard::Notice(Notice::NextAttempt(progress))) => {
                    news.turned = Some(extent(&progress));
                    return Ok(news);
                }
                Ok(Heard::Notice(Notice::Input { id, answer })) => news.took_input |= self.answered(&id, answer),
                Ok(Heard::Notice(Notice::Refused { .. })) => news.refused = true,
                Ok(Heard::Notice(Notice::Exited { .. } | Notice::Ended { .. } | Notice::Closed { .. })) => {}
                Ok(Heard::Nothing) => return Ok(news),
                Ok(Heard::Gone) | Err(CollectError::Silent(_)) => {
                    news.is_gone = true;
                    return Ok(news);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What became of an input; true when the process has taken it.
    fn answered(&mut self, id: &str, answer: InputAnswer) -> bool {
        // What was sent twice is answered twice.
        if self.unsent.front().is_none_or(|(first, _)| first != id) {
            return answer == InputAnswer::Written;
        }
        match answer {
            // It is tried again.
            InputAnswer::Busy => return false,
            InputAnswer::Written | InputAnswer::Repeated | InputAnswer::Closed => {}
            InputAnswer::TooLarge | InputAnswer::Unreadable | InputAnswer::LineTooLong => {
                // It will never have its answer, so it is not waited for.
                self.send(&Request::TurnOver { linger: None });
            }
        }
        self.unsent.pop_front();
        self.send_first();
        answer == InputAnswer::Written
    }
}

fn extent(progress: &Progress) -> Extent {
    Extent { stdout: progress.stdout, stderr: progress.stderr, pty: progress.pty }
}
