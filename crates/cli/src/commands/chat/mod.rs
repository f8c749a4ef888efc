//! `skillrun chat`: a conversation with an engine in the terminal, without a skill.
//!
//! `line` reads prompts, with `history` for the arrow keys; `command` says what a line means. How turns are followed and
//! shown is in `run::follow`, and `run::keyboard` watches for Esc while a turn runs.

mod command;
mod history;
mod line;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use skillrun_model::interaction::{Pending, Scope};
use skillrun_model::{ErrorClass, ExecutionMode, RunId};
use skillrun_runs::prompt::{self, TextKind};
use skillrun_runtime::owners::OwnerErrorKind;
use skillrun_runtime::{NewRun, Reply};

use self::command::{ChatLine, HELP};
use self::line::{LineReader, Typed};
use super::run::ask::{self, Meant};
use super::run::follow::{FollowChannel, FollowExit, Turns};
use super::run::keyboard::KeyWatch;
use super::run::request;
use crate::args::{Chat, Global, PromptArgs};
use crate::exit::RunOutcome;
use crate::failure::Failure;
use crate::live::LiveLine;
use crate::output::{self, Output};
use crate::owner::OwnerProcess;
use crate::place::{CommandContext, note};
use crate::short_ids::ShortIds;

pub(crate) fn run(global: &Global, args: &Chat) -> Result<ExitCode, Failure> {
    let place = CommandContext::open(global)?;
    let run = args.run.as_deref().map(|word| place.run(word)).transpose()?;
    if let Some(run) = run {
        check(&place, run)?;
    }
    let around = Around {
        owner: OwnerProcess::new(&place.settings)?,
        output: Output::new(global.color, &place.settings.surroundings),
        channel: FollowChannel::open()?,
        place,
    };
    let lines = LineReader::open(&around.place.settings)?;
    let mut chat = ChatSession { around: &around, lines, request: args.request.clone(), begun: String::new() };
    chat.greet(run)?;
    let mut next = run;
    loop {
        match chat.converse(next)? {
            Left::Chat(outcome) => return Ok(outcome.into()),
            Left::Conversation => next = None,
        }
    }
}

/// A run that takes prompts here.
fn check(place: &CommandContext, run: RunId) -> Result<(), Failure> {
    let (state, record) = (place.state(run)?, place.record(run)?);
    if state.is_over() {
        let status = state.status.map_or("over", |status| status.as_str());
        let sentence =
            format!("run {run} is {status} and takes no more prompts; `skillrun chat` begins a new conversation");
        return Err(Failure::Input(sentence));
    }
    match record.request.mode {
        ExecutionMode::Interactive | ExecutionMode::Conversation => Ok(()),
        ExecutionMode::Auto => Err(Failure::Input(format!(
            "run {run} is in auto mode and takes no prompts; `skillrun logs -f {run}` follows it"
        ))),
    }
}

/// Why a conversation is left.
enum Left {
    /// The program ends.
    Chat(RunOutcome),
    /// The next prompt begins another conversation.
    Conversation,
}

/// What the user wants next.
enum Wish {
    Prompt(String),
    Quit,
    Close,
    OtherEngine,
}

/// What all conversations of this process use.
struct Around {
    place: CommandContext,
    owner: OwnerProcess,
    output: Output,
    channel: FollowChannel,
}

struct ChatSession<'a> {
    around: &'a Around,
    lines: LineReader,
    /// Of the next conversation.
    request: PromptArgs,
    /// What was typed while the last turn ran.
    begun: String,
}

impl ChatSession<'_> {
    fn greet(&self, run: Option<RunId>) -> Result<(), Failure> {
        let head = match run {
            None => "a new conversation".to_owned(),
            Some(run) => {
                let record = self.around.place.record(run)?;
                format!("{} · on {}", output::plain(&record.title()), record.engine.name)
            }
        };
        self.print(&format!("{head}\n/help lists the commands, Esc interrupts a turn\n"))
    }

    fn print(&self, text: &str) -> Result<(), Failure> {
        output::print(&self.around.output.fit(text))
    }

    /// One conversation, until it is over or left.
    fn converse(&mut self, run: Option<RunId>) -> Result<Left, Failure> {
        if let Some(run) = run {
            let known = self.around.place.state(run)?.last_seq;
            return self.turns(run, known);
        }
        match self.wish("> ", None)? {
            Wish::Prompt(text) => match self.begin(text) {
                Ok(run) => self.turns(run, 0),
                // The engine, the folder or the consent is wrong. The user may name another engine.
                Err(failure) => {
                    note(&failure.to_string());
                    Ok(Left::Conversation)
                }
            },
            Wish::Quit | Wish::Close => Ok(Left::Chat(RunOutcome::SUCCEEDED)),
            Wish::OtherEngine => Ok(Left::Conversation),
        }
    }

    fn begin(&self, text: String) -> Result<RunId, Failure> {
        let new = request::of_prompt(&self.around.place.settings, text, &self.request)?;
        Ok(self.around.owner.runtime.submit(NewRun { mode: Some(ExecutionMode::Conversation), ..new })?)
    }

    /// Turn after turn.
    fn turns(&mut self, run: RunId, known: u64) -> Result<Left, Failure> {
        let Around { place, owner, output, channel } = self.around;
        let mut line = LiveLine::new();
        let mut turns = Turns::new(&place.settings, owner, channel, run, known, output, &mut line)?;
        loop {
            // Without it, Ctrl-C still interrupts the turn.
            let watch = io::stdin().is_terminal().then(|| KeyWatch::start(channel.escape()).ok().flatten()).flatten();
            let exit = turns.next();
            self.begun = watch.map(KeyWatch::finish).unwrap_or_default();
            let question = match exit? {
                FollowExit::Waiting(question) => question,
                FollowExit::Ended(outcome) => return Ok(Left::Chat(outcome)),
                FollowExit::Left => return Ok(Left::Chat(RunOutcome::Interrupted)),
            };
            if let Some(left) = self.reply(run, &question)? {
                return Ok(left);
            }
        }
    }

    /// Reads the next prompt, or the answer to a question, and sends it. None: the conversation continues.
    fn reply(&mut self, run: RunId, question: &Pending) -> Result<Option<Left>, Failure> {
        let label = match question.scope {
            Scope::Prompt => "> ",
            Scope::Turn | Scope::Call | Scope::Step => {
                self.print(&ask::options(question))?;
                "answer> "
            }
        };
        let runtime = &self.around.owner.runtime;
        let text = match self.wish(label, Some(question))? {
            Wish::Prompt(text) => text,
            Wish::Quit => return self.quit(run).map(Some),
            Wish::Close => {
                runtime.close_anywhere(run, "skillrun chat")?;
                self.print(&format!("the conversation {run} is closed\n"))?;
                return Ok(Some(Left::Chat(RunOutcome::SUCCEEDED)));
            }
            Wish::OtherEngine => {
                self.print(&format!("this one stays open: {}\n", self.command(run)))?;
                return Ok(Some(Left::Conversation));
            }
        };
        let state = self.around.place.state(run)?;
        if state.rests()
            && let Err(error) = runtime.check_variables(run)
        {
            let sentence = format!("{error}, or send the prompt with `skillrun reply {run} TEXT --use-my-variables`");
            return Err(Failure::caused(ErrorClass::Usage, sentence, error));
        }
        let reply = Reply { interaction_id: question.interaction_id, text, files: Vec::new(), request_id: None };
        match runtime.reply_anywhere(run, reply) {
            Ok(_) => Ok(None),
            // Another client was quicker. What happens next is shown.
            Err(error) if matches!(error.kind(), OwnerErrorKind::Stale | OwnerErrorKind::Over) => {
                note("another client has continued the conversation, so this prompt was not sent");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Leaves the conversation as it is.
    fn quit(&self, run: RunId) -> Result<Left, Failure> {
        self.print(&format!("the conversation stays open; continue it with: {}\n", self.command(run)))?;
        Ok(Left::Chat(RunOutcome::SUCCEEDED))
    }

    /// What continues a conversation.
    fn command(&self, run: RunId) -> String {
        format!("skillrun chat {}", ShortIds::new(&self.around.place.ids()).of(run))
    }

    /// Reads lines until one of them is for the conversation.
    fn wish(&mut self, label: &str, question: Option<&Pending>) -> Result<Wish, Failure> {
        loop {
            let line = match self.typed(label)? {
                Typed::Text(line) => line,
                Typed::Interrupt => {
                    note("no turn is running; Ctrl-D or /quit leaves the conversation");
                    continue;
                }
                Typed::Unusable(sentence) => {
                    note(&sentence);
                    continue;
                }
                Typed::End => return Ok(Wish::Quit),
            };
            match command::read(&line) {
                ChatLine::Nothing => {}
                ChatLine::Help => self.print(HELP)?,
                ChatLine::Unknown(sentence) => note(&sentence),
                ChatLine::Quit => return Ok(Wish::Quit),
                ChatLine::Close => match question.map(|question| question.scope) {
                    Some(Scope::Prompt) | None => return Ok(Wish::Close),
                    Some(Scope::Turn | Scope::Call | Scope::Step) => {
                        note(
                            "the agent waits for an answer; answer it, or interrupt the turn with `skillrun interrupt`",
                        );
                    }
                },
                ChatLine::Engine(None) => note("give the name of an engine; `skillrun engines` lists them"),
                ChatLine::Engine(Some(name)) => {
                    if self.set_engine(name) {
                        return Ok(Wish::OtherEngine);
                    }
                }
                ChatLine::Prompt(text) => {
                    self.lines.keep(&line);
                    match question.map(|question| ask::meaning(question, &text)) {
                        Some(Meant::Answer(answer)) if question.is_some_and(|it| it.scope != Scope::Prompt) => {
                            match prompt::check_kind(&answer, TextKind::Answer) {
                                Ok(()) => return Ok(Wish::Prompt(answer)),
                                Err(fault) => note(&fault.sentence(TextKind::Answer)),
                            }
                        }
                        Some(Meant::NoSuchOption(number)) => note(&format!("there is no option {number}")),
                        Some(Meant::Answer(_) | Meant::Nothing) | None => match prompt::check(&text) {
                            Ok(()) => return Ok(Wish::Prompt(text)),
                            Err(fault) => note(&fault.to_string()),
                        },
                    }
                }
            }
        }
    }

    /// One line. A whole line that was typed while the turn ran is taken as it is; the beginning of one is completed.
    fn typed(&mut self, label: &str) -> Result<Typed, Failure> {
        if let Some((line, rest)) = self.begun.split_once('\n') {
            let (line, rest) = (line.to_owned(), rest.to_owned());
            self.begun = rest;
            self.print(&format!("{label}{}\n", output::plain(&line)))?;
            return Ok(Typed::Text(line));
        }
        let begun = std::mem::take(&mut self.begun);
        self.around.channel.set_at_prompt(true);
        let typed = self.lines.read(label, &begun);
        self.around.channel.set_at_prompt(false);
        typed
    }

    /// The engine of the next conversation. False: there is no such engine.
    fn set_engine(&mut self, name: String) -> bool {
        if let Err(error) = self.around.place.settings.engines().get(&name) {
            note(&error.to_string());
            return false;
        }
        note(&format!("the next prompt begins a new conversation on {name}, without these turns"));
        // A model is specific to its engine.
        let common = &mut self.request.common;
        (common.engine, common.model, common.effort) = (Some(name), None, None);
        true
    }
}
