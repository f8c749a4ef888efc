//! People and programs that answer, interrupt, close and cancel. A client knows only what was reported to it.

use std::sync::mpsc::TryRecvError;

use skillrun_lifecycle::run::Refusal;
use skillrun_model::InteractionId;

use super::family::Family;
use super::laws::{Broken, Law};
use super::world::SimulatedWorld;
use crate::error::RuntimeError;
use crate::mailbox::{Mail, Reply, RunCommand};

/// The response that a client received to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Response {
    Nothing,
    /// It is on the disk.
    Yes,
    /// It was not carried out, and never will be.
    No,
}

/// An answer that a client sent; `key` is the caller's own key for it.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) interaction: u32,
    pub(crate) text: String,
    pub(crate) key: Option<String>,
    pub(crate) response: Response,
}

/// An interrupt that a client sent; `say` is the prompt that follows it.
#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    pub(crate) say: Option<String>,
    pub(crate) response: Response,
}

/// A request to a run: an answer or an interrupt by its index in the list, or another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Reply(usize),
    Interrupt(usize),
    Close,
    Cancel,
    /// The process asks for a child, by its index in the list.
    Spawn(usize),
    /// A child has ended.
    ChildNews,
    /// The owner leaves the run to the next one.
    LetGo,
}

#[derive(Debug, Default)]
pub(crate) struct Clients {
    pub(crate) sent: Vec<Sent>,
    pub(crate) interrupts: Vec<Interrupt>,
    /// A client received the response that the run is canceled.
    pub(crate) has_canceled: bool,
    /// A client received the response that the run is closed.
    pub(crate) has_closed: bool,
}

/// Answers of one story.
const SENT_MAX: usize = 12;

impl Clients {
    pub(crate) fn may_send(&self) -> bool {
        self.sent.len() < SENT_MAX
    }

    pub(crate) fn reply(&mut self, interaction: u32, has_key: bool) -> Said {
        let number = self.sent.len() + 1;
        let key = has_key.then(|| format!("k{number}"));
        self.sent.push(Sent { interaction, text: format!("answer {number}"), key, response: Response::Nothing });
        Said::Reply(number - 1)
    }

    pub(crate) fn may_interrupt(&self) -> bool {
        self.interrupts.len() < SENT_MAX
    }

    pub(crate) fn interrupt(&mut self, says: bool) -> Said {
        let number = self.interrupts.len() + 1;
        let say = says.then(|| format!("instead {number}"));
        self.interrupts.push(Interrupt { say, response: Response::Nothing });
        Said::Interrupt(number - 1)
    }

    pub(crate) fn command(&self, said: Said, family: &Family) -> RunCommand {
        match said {
            Said::Spawn(at) => RunCommand::Spawn(Box::new(family.request(at))),
            Said::ChildNews => RunCommand::ChildNews,
            Said::Interrupt(at) => {
                RunCommand::Interrupt { by: "a client".to_owned(), say: self.interrupts[at].say.clone() }
            }
            Said::Close => RunCommand::Close { by: "a client".to_owned() },
            Said::Cancel => RunCommand::Cancel { by: "a client".to_owned() },
            Said::LetGo => RunCommand::LetGo,
            Said::Reply(at) => {
                let sent = &self.sent[at];
                RunCommand::Reply(Reply {
                    interaction_id: InteractionId(sent.interaction),
                    text: sent.text.clone(),
                    files: Vec::new(),
                    request_id: sent.key.clone(),
                })
            }
        }
    }

    pub(crate) fn done(&mut self, said: Said) {
        match said {
            Said::Cancel => self.has_canceled = true,
            Said::Close => self.has_closed = true,
            Said::LetGo | Said::Spawn(_) | Said::ChildNews => {}
            Said::Interrupt(at) => self.interrupts[at].response = Response::Yes,
            Said::Reply(at) => self.sent[at].response = Response::Yes,
        }
    }

    pub(crate) fn refused(&mut self, said: Said, refusal: &Refusal) {
        let at = match said {
            Said::Reply(at) => at,
            Said::Interrupt(at) => {
                self.interrupts[at].response = Response::No;
                return;
            }
            Said::Close | Said::Cancel | Said::LetGo | Said::Spawn(_) | Said::ChildNews => return,
        };
        let sent = &mut self.sent[at];
        sent.response = match (refusal, sent.response) {
            // A request that was carried out once with the same key is done.
            (Refusal::Repeated { .. }, _) | (_, Response::Yes) => Response::Yes,
            (
                Refusal::Over
                | Refusal::OutOfPlace
                | Refusal::NoOpenTurn { .. }
                | Refusal::NotInterruptible
                | Refusal::OtherPrompt
                | Refusal::NotAtRest { .. }
                | Refusal::NothingHeld { .. }
                | Refusal::RepeatedChild { .. }
                | Refusal::NoDelegation
                | Refusal::NoTurnForChild { .. }
                | Refusal::TooManyChildren { .. }
                | Refusal::Stale { .. },
                Response::Nothing | Response::No,
            ) => Response::No,
        };
    }

    /// An answer that has a key is sent once more; the earlier response does not count.
    pub(crate) fn again(&mut self, at: usize) -> Said {
        if self.sent[at].response == Response::No {
            self.sent[at].response = Response::Nothing;
        }
        Said::Reply(at)
    }

    pub(crate) fn with_key(&self) -> Vec<usize> {
        (0..self.sent.len()).filter(|at| self.sent[*at].key.is_some()).collect()
    }

    /// Every acknowledged request is in the Log, and every refused one is not.
    pub(crate) fn check(&self, logged: &[(u32, String)], says: &[(u32, String)]) -> Result<(), Broken> {
        for Interrupt { say, response } in &self.interrupts {
            let Some(text) = say else { continue };
            let is_there = says.iter().any(|(_, logged)| logged == text);
            match response {
                Response::Yes if !is_there => {
                    return Err(Law::LostReply.broken(format!("\"{text}\", of an interrupt, is not in the Log")));
                }
                Response::No if is_there => {
                    return Err(Law::RefusedReply.broken(format!("\"{text}\", of an interrupt, is in the Log")));
                }
                Response::Yes | Response::No | Response::Nothing => {}
            }
        }
        for sent in &self.sent {
            let is_there = logged.iter().any(|(id, text)| *id == sent.interaction && *text == sent.text);
            match sent.response {
                Response::Yes if !is_there => {
                    return Err(Law::LostReply.broken(format!("\"{}\" is not in the Log", sent.text)));
                }
                Response::No if is_there => {
                    return Err(Law::RefusedReply.broken(format!("\"{}\" is in the Log", sent.text)));
                }
                Response::Yes | Response::No | Response::Nothing => {}
            }
        }
        Ok(())
    }
}

impl SimulatedWorld {
    /// The mail of the run, for its worker.
    pub(crate) fn take_mail(&mut self) -> Option<Mail> {
        let said = self.owner.as_mut()?.mail.pop_front()?;
        self.narrate(|| format!("the owner reads {said:?}"));
        let (answer, heard) = std::sync::mpsc::channel();
        self.answers.push((said, heard));
        Some(Mail { command: self.clients.command(said, &self.family), answer })
    }

    /// Clients receive what the worker has answered.
    pub(super) fn hear_answers(&mut self) {
        let mut waiting = std::mem::take(&mut self.answers);
        waiting.retain(|(said, heard)| match heard.try_recv() {
            Ok(answer) => {
                self.answered(*said, answer);
                false
            }
            Err(TryRecvError::Empty) => true,
            Err(TryRecvError::Disconnected) => false,
        });
        self.answers = waiting;
    }

    /// A client receives the answer to its request.
    pub(crate) fn answered(&mut self, said: Said, answer: Result<(), RuntimeError>) {
        match answer {
            Ok(()) => {
                self.narrate(|| "the client receives the acknowledgement".to_owned());
                self.clients.done(said);
                if let Said::Spawn(at) = said {
                    self.family.asked[at].response = Response::Yes;
                }
            }
            Err(RuntimeError::Refused { refusal, .. }) => {
                self.narrate(|| format!("it is refused: {refusal}"));
                self.tally.mark(match refusal {
                    Refusal::Repeated { .. } => "an answer is repeated",
                    Refusal::Over | Refusal::OutOfPlace | Refusal::Stale { .. } => "an answer is refused",
                    Refusal::NoOpenTurn { .. } | Refusal::NotInterruptible => "an interrupt is refused",
                    Refusal::OtherPrompt => "another prompt for the same interrupt is refused",
                    Refusal::NotAtRest { .. } | Refusal::NothingHeld { .. } => "a close is refused",
                    Refusal::RepeatedChild { .. } => "a repeated call gets the same child",
                    Refusal::NoDelegation | Refusal::NoTurnForChild { .. } | Refusal::TooManyChildren { .. } => {
                        "a child is refused"
                    }
                });
                if let Said::Spawn(at) = said {
                    self.family.asked[at].response = Response::No;
                }
                self.clients.refused(said, &refusal);
            }
            // It was not written; the client tries again, or gives up.
            Err(_) => {}
        }
    }

    /// A request of a client that finds no owner.
    pub(crate) fn some_word(&mut self) -> Said {
        let keyed = self.clients.with_key();
        match self.tape.pick(6) {
            0 if self.clients.may_send() => {
                let question = self.disk.state.interactions;
                self.clients.reply(question, true)
            }
            1 if !keyed.is_empty() => {
                let at = self.tape.pick(keyed.len());
                self.clients.again(keyed[at])
            }
            2 | 3 if self.clients.may_interrupt() => {
                let says = self.tape.pick(2) == 1;
                self.clients.interrupt(says)
            }
            4 => Said::Close,
            _ => Said::Cancel,
        }
    }

    pub(super) fn put_in_mail(&mut self, said: Said) {
        let words = self.story.is_some().then(|| match said {
            Said::Interrupt(at) => format!("a client wants to interrupt ({:?})", self.clients.interrupts[at].say),
            Said::Close => "a client wants to close".to_owned(),
            Said::Cancel => "a client wants to cancel".to_owned(),
            Said::LetGo => "the owner is to leave the run".to_owned(),
            Said::ChildNews => "the owner of a child reports its end".to_owned(),
            Said::Spawn(at) => format!("the process asks for child {}", self.family.request(at).key),
            Said::Reply(at) => {
                let sent = &self.clients.sent[at];
                let key = sent.key.as_ref().map(|key| format!(", key {key}")).unwrap_or_default();
                format!("a client sends \"{}\" to question {}{key}", sent.text, sent.interaction)
            }
        });
        self.narrate(|| words.unwrap_or_default());
        if let Some(owner) = &mut self.owner {
            owner.mail.push_back(said);
        }
    }
}
