//! The messages to the process of a run: answers, and the request to end.

use serde_json::Value;
use skillrun_collect::protocol::{HostRequest, InterruptedProcess};
use skillrun_engine::acp;
use skillrun_engine::input::{self, CallQuestion, UserMessage};
use skillrun_lifecycle::run::{GivenReply, State};
use skillrun_model::ProfileId;
use skillrun_model::interaction::Scope;
use skillrun_model::status::Continuation;

use super::Worker;
use super::calls::{Calls, asked_in, context};
use super::host::Host;
use crate::attempt::message;
use crate::attempt::reading::Reading;
use crate::error::RuntimeError;

impl Worker<'_> {
    /// Sends an answer to the running process. The host refuses one that it has written before.
    pub(super) fn send_answer(&mut self, reply: &GivenReply) -> Result<(), RuntimeError> {
        let attempt = self.run.state.attempt;
        if matches!(reply.scope, Scope::Turn | Scope::Prompt) {
            self.note_missing_message()?;
            if self.files.has_opening(&self.run, attempt) {
                // The process was started with it.
                return Ok(());
            }
        }
        let words = message::words(&self.run.folder, &reply.text, &reply.files);
        let profile = self.run.record.engine.profile;
        let context = reply.context.as_ref().filter(|_| reply.scope == Scope::Call);
        let call = context.and_then(|context| question(profile, context));
        let answer = call.and_then(|question| input::answer(profile, &question, &words));
        let session = self.run.state.session_id.as_deref();
        let line = answer.unwrap_or_else(|| input::line(profile, UserMessage { text: &words, session, attempt }));
        if let Some(host) = &mut self.host {
            host.send(&HostRequest::GoOn);
            host.send_line(reply.interaction_id.0.to_string(), line);
        }
        Ok(())
    }

    /// Ends the process: at once if the run is canceled, otherwise its input is closed, and it has a moment to exit.
    pub(super) fn end_process(&mut self) {
        let state = &self.run.state;
        let is_wanted = state.canceling.is_some() || state.failing.is_some();
        let is_agent = self.run.record.engine.profile == ProfileId::AcpJsonrpc && state.attempt_is_open;
        let Some(host) = &mut self.host else { return };
        match (is_wanted, state.session_id.as_deref()) {
            (true, Some(session)) if is_agent => {
                if !host.is_ending() {
                    ask_agent_to_stop(host, state, session);
                }
                host.end_soon();
            }
            (true, _) => host.end_now(),
            (false, _) => {
                host.send(&HostRequest::CloseStdin);
                host.send(&HostRequest::TurnOver { linger: None });
            }
        }
    }

    /// Stops the turn: an agent is asked to, and keeps its process if it does so in time; any other process is ended.
    pub(super) fn interrupt_turn(&mut self) {
        let state = &self.run.state;
        let record = &self.run.record;
        let stays = record.engine.profile == ProfileId::AcpJsonrpc
            && record.engine.continuation == Continuation::Sticky
            && self.files.interrupted_agent(&self.run) == InterruptedProcess::Stays;
        let attempt = state.attempt;
        // A host that is at a later attempt has left this one behind, with its end.
        let is_its = |host: &&mut Host| !host.is_ending() && host.link.attempt() <= attempt;
        let Some(host) = self.host.as_mut().filter(is_its) else { return };
        planted!(CancelsTheTurn => { return host.end_now(); });
        match state.session_id.as_deref() {
            Some(session) if stays && !host.is_interrupting() => {
                // First the act, so that it stands before everything that the agent writes because of it.
                host.interrupt_soon(attempt);
                ask_agent_to_stop(host, state, session);
            }
            // Asked again, it has no time left.
            Some(_) | None => host.interrupt_now(attempt),
        }
    }

    /// An agent that was asked to cancel its turn: its open questions are not answered any more, and when it has ended
    /// the turn it is not waited for any more.
    pub(super) fn finish_cancel(&mut self, reading: &Reading, calls: &mut Calls) {
        let has_a_moment = |host: &&mut Host| host.has_a_moment() || host.is_interrupting();
        let Some(host) = self.host.as_mut().filter(has_a_moment) else { return };
        for call in calls.waiting.drain(..) {
            calls.dropped += 1;
            let context = context(&call);
            let asked = asked_in(&context).unwrap_or(NOTHING_OFFERED);
            let line = acp::answer::canceled(&call.call_id, &asked);
            host.send_line(format!("acp.{}.dropped.{}", reading.attempt, calls.dropped), line);
        }
        if host.has_a_moment() && reading.end_so_far().is_some() {
            host.end_now();
        }
    }
}

/// Asks an agent to stop its turn.
fn ask_agent_to_stop(host: &mut Host, state: &State, session: &str) {
    host.send_line(format!("acp.{}.cancel", state.attempt), acp::lines::cancel(session));
    // An agent may not end its turn before it has all answers.
    let open = state.question.as_ref().filter(|question| question.scope == Scope::Call);
    if let Some((id, line)) = open.and_then(|open| {
        let question = question(ProfileId::AcpJsonrpc, open.context.as_ref()?)?;
        Some((open.interaction_id.0, acp::answer::canceled(question.call_id, &question.asked?)))
    }) {
        host.send_line(id.to_string(), line);
    }
}

/// An agent that offers no options can only be informed that nothing was chosen.
const NOTHING_OFFERED: acp::ExpectedAnswer<'static> = acp::ExpectedAnswer::Permission(Vec::new());

/// A question inside a turn, from what the Log has of it.
fn question(profile: ProfileId, context: &Value) -> Option<CallQuestion<'_>> {
    let call_id = context.get("call_id")?.as_str()?;
    let asked = asked_in(context).or((profile == ProfileId::AcpJsonrpc).then_some(NOTHING_OFFERED));
    Some(CallQuestion { call_id, input: context.get("input"), asked })
}
