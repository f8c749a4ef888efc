//! Follows a run until it is over, or waits for an answer that cannot be given here. `turns` follows a conversation for
//! a caller that reads the prompts itself, and `chat_view` is how that looks. `steps` reports what the steps of a workflow
//! ask.

mod chat_view;
mod steps;
mod turns;

use std::io::{self, IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use skillrun_base::wait::wait_until;
use skillrun_lifecycle::run::State;
use skillrun_log::{EventLog, Seq};
use skillrun_model::interaction::{Pending, Scope};
use skillrun_model::rasp::{ControlData, Data};
use skillrun_model::{AttemptNumber, ExecutionMode, IgnoredError, InteractionId, RunId, RunStatus};
use skillrun_runs::conversation::{ConversationItem, ConversationRead, ConversationReader};
use skillrun_runs::prompt::{self, TextKind};
use skillrun_runs::result::ResultFold;
use skillrun_runtime::Reply;
use skillrun_runtime::owners::{OwnerErrorKind, OwnerRequest, ask as ask_owner};
use skillrun_translate::transcript::{Asks, CallLayout, LineLimit, Shown, Transcript, TranscriptStyle};

use self::chat_view::ChatView;
use self::steps::StepReports;
pub(crate) use self::turns::{FollowChannel, Turns};
use super::ask::{self, Meant, Typed};
use super::ending::{print_end, print_waiting};
use super::keyboard::{KeyWatch, LineWatch};
use crate::args::{Json, OutputForm, Wait};
use crate::exit::{RunOutcome, run_state, run_words};
use crate::failure::Failure;
use crate::live::{self, LiveLine, LiveRun};
use crate::output::{self, Output};
use crate::owner::{OwnerProcess, Take, in_background};
use crate::settings::Settings;
use crate::words::{moment, plain_lines};

/// Interval of the checks for trouble that the Log does not show.
const TROUBLE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How long the owner of a run may take to create the run that retries it.
const RETRY_CREATION_TIMEOUT: Duration = Duration::from_secs(10);

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(super) form: OutputForm,
    pub(super) conversation: Conversation,
    pub(super) ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversation {
    Shown,
    Left,
}

/// What is printed when the run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The status, the result and where it is.
    Whole,
    /// The answer alone.
    Answer,
}

impl Style {
    pub(crate) fn of(wait: Wait) -> Self {
        let form = wait.json.form();
        let is_watched = form == OutputForm::Text && io::stdout().is_terminal();
        let conversation = if wait.follow || is_watched { Conversation::Shown } else { Conversation::Left };
        Self { form, conversation, ending: Ending::Whole }
    }

    /// The answer alone.
    pub(crate) fn answer(json: Json) -> Self {
        Self { form: json.form(), conversation: Conversation::Left, ending: Ending::Answer }
    }
}

/// What can happen during the wait.
enum FollowEvent {
    News,
    Typed(Typed),
    /// Esc, while a turn runs.
    Escape,
    /// Ctrl-C.
    Interrupt,
    Terminate,
    HangUp,
}

struct Following<'a> {
    settings: &'a Settings,
    owner: &'a OwnerProcess,
    run: RunId,
    style: Style,
    reader: ConversationReader,
    /// Events up to this sequence number were printed before.
    known: u64,
    /// Whether the last event was.
    is_known: bool,
    state: State,
    /// For the answer of a turn after which the run rests.
    result: ResultFold,
    view: View,
    output: &'a Output,
    line: &'a mut LiveLine,
    live: LiveRun,
    mode: Option<ExecutionMode>,
    /// The question that was asked at the terminal.
    asked: Option<Pending>,
    keyboard: Keyboard,
    /// What was typed while a turn ran.
    begun: String,
    /// The question at which Ctrl-C was pressed once; at a question, only the second one cancels.
    warned: Option<InteractionId>,
    interrupts: u32,
    /// The attempt that the user interrupted.
    stopped: Option<AttemptNumber>,
    reported_trouble: Option<String>,
    /// Of a workflow: what its steps ask.
    steps: StepReports,
    outcome: Option<RunOutcome>,
}

/// How events are shown.
enum View {
    Transcript(Transcript),
    Chat(ChatView),
}

/// What is read from the terminal at the moment.
#[derive(Debug)]
enum Keyboard {
    /// No user can answer here.
    None,
    /// Nothing is read now.
    Unused,
    /// A turn runs that Esc interrupts.
    Turn(KeyWatch),
    /// A question was asked.
    Question(LineWatch),
    /// The caller reads prompts and answers.
    Caller,
}

impl Keyboard {
    fn is_callers(&self) -> bool {
        match self {
            Self::Caller => true,
            Self::None | Self::Unused | Self::Turn(_) | Self::Question(_) => false,
        }
    }

    /// A user can answer here.
    fn is_there(&self) -> bool {
        match self {
            Self::None => false,
            Self::Unused | Self::Turn(_) | Self::Question(_) | Self::Caller => true,
        }
    }
}

/// Follows a run from its event `known` on, and then the runs that retry it.
pub(crate) fn follow(
    settings: &Settings,
    owner: &OwnerProcess,
    run: RunId,
    known: u64,
    style: Style,
    output: &Output,
) -> Result<RunOutcome, Failure> {
    let (sender, receiver) = channel();
    signals(&sender)?;
    let is_terminal = io::stdin().is_terminal() && style.form == OutputForm::Text;
    let (mut run, mut known) = (run, known);
    let mut line = LiveLine::new();
    let transcript = TranscriptStyle {
        asks: if is_terminal { Asks::Elsewhere } else { Asks::Here },
        calls: CallLayout::Live,
        lines: output.terminal_width().map_or(LineLimit::Whole, LineLimit::Columns),
    };
    let mut keyboard = if is_terminal { Keyboard::Unused } else { Keyboard::None };
    loop {
        let news = sender.clone();
        let subscription = owner.runtime.log().subscribe(
            run,
            Arc::new(move || {
                news.send(FollowEvent::News).ignored();
            }),
        )?;
        let mut following = Following {
            settings,
            owner,
            run,
            style,
            reader: ConversationReader::default(),
            known,
            is_known: false,
            state: State::default(),
            result: ResultFold::default(),
            view: View::Transcript(Transcript::new(transcript)),
            output,
            line: &mut line,
            live: LiveRun::default(),
            mode: None,
            asked: None,
            keyboard,
            begun: String::new(),
            warned: None,
            interrupts: 0,
            stopped: None,
            reported_trouble: None,
            steps: StepReports::default(),
            outcome: None,
        };
        let rest = following.until_rest(&sender, &receiver);
        drop(subscription);
        match rest? {
            FollowExit::Ended(outcome) => {
                // Files that are written after the end are written before this process exits.
                owner.runtime.wait_after_end(run, Duration::from_secs(60));
                let Some(retry) = following.state.retry.filter(|retry| is_there(owner, retry.run_id)) else {
                    print_end(settings, run, style, output)?;
                    return Ok(outcome);
                };
                let at = moment(retry.not_before);
                print_line(&format!("the quota is exhausted: retrying as run {}, not before {at}", retry.run_id));
                (run, known, keyboard) = (retry.run_id, 0, following.keyboard);
            }
            FollowExit::Waiting(question) => {
                print_waiting(settings, run, &question, &following.state, following.result.turn_text(), style)?;
                return Ok(RunOutcome::not_over(&following.state));
            }
            FollowExit::Left => return Ok(RunOutcome::Interrupted),
        }
    }
}

/// Whether a planned run exists. Another process may be about to create it.
fn is_there(owner: &OwnerProcess, run: RunId) -> bool {
    wait_until(RETRY_CREATION_TIMEOUT, Duration::from_millis(20), || {
        owner.runtime.log().head(run).is_ok_and(|head| head.next_seq > Seq(1))
    })
}

/// Why following stops.
pub(crate) enum FollowExit {
    Ended(RunOutcome),
    Waiting(Box<Pending>),
    /// The run continues without this process.
    Left,
}

impl Following<'_> {
    fn until_rest(
        &mut self,
        sender: &Sender<FollowEvent>,
        receiver: &Receiver<FollowEvent>,
    ) -> Result<FollowExit, Failure> {
        loop {
            self.read()?;
            if let Some(outcome) = self.outcome {
                let interrupted = self.interrupts > 0 && outcome == RunOutcome::CANCELED;
                return Ok(FollowExit::Ended(if interrupted { RunOutcome::Interrupted } else { outcome }));
            }
            if let Some(rest) = self.question(sender) {
                return Ok(rest);
            }
            self.watch_keys(sender);
            for line in self.steps.news(self.owner.runtime.log(), &self.state) {
                print_line(&line);
            }
            self.draw();
            let came = match receiver.recv_timeout(TROUBLE_CHECK_INTERVAL) {
                Ok(came) => came,
                Err(RecvTimeoutError::Timeout) => {
                    self.trouble()?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(FollowExit::Left),
            };
            match came {
                FollowEvent::News => {}
                FollowEvent::Typed(typed) => {
                    if let Some(rest) = self.typed(typed, sender)? {
                        return Ok(rest);
                    }
                }
                FollowEvent::HangUp => return self.leave(),
                FollowEvent::Escape => self.stop_turn()?,
                FollowEvent::Interrupt if self.keyboard.is_callers() => self.stop_turn()?,
                // The conversation is not canceled with the process that shows it.
                FollowEvent::Terminate if self.keyboard.is_callers() => return self.leave(),
                FollowEvent::Interrupt if self.warns(sender) => {}
                FollowEvent::Interrupt | FollowEvent::Terminate => {
                    self.interrupts += 1;
                    if self.interrupts > 1 {
                        return self.leave();
                    }
                    print_line(
                        "canceling; press Ctrl-C again to stop waiting, and the cancel continues in the background",
                    );
                    match self.owner.runtime.cancel_anywhere(self.run, "interrupt at the terminal") {
                        Ok(_) => {}
                        // It is over already.
                        Err(error) if matches!(error.kind(), OwnerErrorKind::Over) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
    }

    /// Shows what the run is doing, unless the user is asked for an answer here.
    fn draw(&mut self) {
        let is_asked = self.state.status == Some(RunStatus::WaitingUser) && self.keyboard.is_there();
        if !is_asked {
            let audit = self.settings.data.run(self.run).audit();
            self.live.draw(self.line, &self.state, &audit);
        }
    }

    /// Reads and shows what is new in the Log.
    fn read(&mut self) -> Result<(), Failure> {
        let log = self.owner.runtime.log().clone();
        let mut reader = std::mem::take(&mut self.reader);
        loop {
            match reader.page(&log, self.run, |item| self.item(item))? {
                ConversationRead::Page { .. } => {}
                ConversationRead::Reset => {
                    (self.state, self.live) = (State::default(), LiveRun::default());
                    self.result = ResultFold::default();
                }
                ConversationRead::End => break,
            }
        }
        self.reader = reader;
        Ok(())
    }

    fn item(&mut self, item: ConversationItem<'_>) -> Result<(), Failure> {
        let said = match item {
            ConversationItem::Event(event) => {
                self.state.evolve(event);
                self.live.evolve(event);
                self.result.event(event);
                self.outcome = RunOutcome::of(&event.data).or(self.outcome);
                if let Data::Control(ControlData::RunStarted(started)) = &event.data {
                    self.mode = Some(started.mode);
                }
                self.is_known = event.seq <= self.known;
                return Ok(());
            }
            ConversationItem::Said(said) => said,
        };
        if self.style.conversation == Conversation::Left {
            return Ok(());
        }
        // What was printed before is read too: a later event may refer to it.
        let shown = if self.is_known { Shown::No } else { Shown::Yes };
        let text = match &mut self.view {
            View::Transcript(transcript) => transcript.event(&said, shown),
            View::Chat(view) => view.event(&said, shown),
        };
        let text = self.output.fit(&plain_lines(&text));
        if text.is_empty() {
            return Ok(());
        }
        match self.style.form {
            OutputForm::Text => output::print(&text),
            // The result alone is on stdout.
            OutputForm::Json => {
                live::erase();
                let _ = io::stderr().write_all(text.as_bytes());
                Ok(())
            }
        }
    }

    /// Asks at the terminal, or decides whether it is worth staying.
    fn question(&mut self, sender: &Sender<FollowEvent>) -> Option<FollowExit> {
        let question = self.state.question.clone().filter(|_| self.state.status == Some(RunStatus::WaitingUser))?;
        if self.interrupts > 0 {
            return None;
        }
        if self.asked.as_ref().is_some_and(|asked| asked.interaction_id == question.interaction_id) {
            return None;
        }
        match self.keyboard {
            Keyboard::None => {
                // With a deadline, the question will be answered or decided in time; without one, not from here.
                self.asked = Some(question.clone());
                if question.deadline.is_none() {
                    return Some(FollowExit::Waiting(Box::new(question)));
                }
                let words = run_words(run_state(&self.state));
                print_line(&format!("the run {words}: skillrun reply {} TEXT", self.run));
                None
            }
            Keyboard::Unused | Keyboard::Turn(_) | Keyboard::Question(_) => {
                self.stop_reading();
                self.ask(&question, sender);
                self.asked = Some(question);
                None
            }
            Keyboard::Caller => {
                self.asked = Some(question.clone());
                Some(FollowExit::Waiting(Box::new(question)))
            }
        }
    }

    /// Ends what reads from the terminal, and keeps what was typed.
    fn stop_reading(&mut self) {
        match std::mem::replace(&mut self.keyboard, Keyboard::Unused) {
            Keyboard::Turn(watch) => self.begun.push_str(&watch.finish()),
            Keyboard::Question(watch) => self.begun.insert_str(0, &watch.finish()),
            other @ (Keyboard::None | Keyboard::Unused | Keyboard::Caller) => self.keyboard = other,
        }
    }

    /// Asks, and reads one line. A whole line that was typed while the turn ran is taken as it is; the beginning of one
    /// is completed.
    fn ask(&mut self, question: &Pending, sender: &Sender<FollowEvent>) {
        ask::prompt(question);
        if let Some((line, rest)) = self.begun.split_once('\n') {
            let (line, rest) = (line.to_owned(), rest.to_owned());
            self.begun = rest;
            ask::echo(&format!("{}\n", output::plain(&line)));
            sender.send(FollowEvent::Typed(Typed::Line(line))).ignored();
            return;
        }
        ask::echo(&output::plain(&self.begun));
        let sender = sender.clone();
        let typed = move |typed| sender.send(FollowEvent::Typed(typed)).ignored();
        match LineWatch::start(std::mem::take(&mut self.begun), typed) {
            Ok(watch) => self.keyboard = Keyboard::Question(watch),
            // The question cannot be answered here, but `skillrun reply` still works.
            Err(error) => print_line(&format!("failed to read from the terminal: {error}")),
        }
    }

    /// Watches for Esc while a turn runs that can be interrupted.
    fn watch_keys(&mut self, sender: &Sender<FollowEvent>) {
        let can_interrupt = match self.mode {
            Some(ExecutionMode::Interactive | ExecutionMode::Conversation) => true,
            Some(ExecutionMode::Auto) | None => false,
        };
        let is_wanted = can_interrupt && !RunOutcome::waits(&self.state) && self.interrupts == 0;
        match (&self.keyboard, is_wanted) {
            (Keyboard::Unused | Keyboard::Question(_), true) => {
                self.stop_reading();
                let sender = sender.clone();
                let escape = move || sender.send(FollowEvent::Escape).ignored();
                // Without it, `skillrun interrupt` still works.
                if let Ok(Some(watch)) = KeyWatch::start(escape) {
                    self.keyboard = Keyboard::Turn(watch);
                }
            }
            (Keyboard::Turn(_), false) => self.stop_reading(),
            (Keyboard::Unused | Keyboard::Question(_), false)
            | (Keyboard::Turn(_), true)
            | (Keyboard::None | Keyboard::Caller, _) => {}
        }
    }

    /// At a question, the first Ctrl-C only says which key does what: a user who does not want to answer now would
    /// otherwise lose the run. True if it was said.
    fn warns(&mut self, sender: &Sender<FollowEvent>) -> bool {
        let is_asked = match self.keyboard {
            Keyboard::Question(_) => true,
            Keyboard::None | Keyboard::Unused | Keyboard::Turn(_) | Keyboard::Caller => false,
        };
        let Some(question) = self.asked.clone().filter(|_| is_asked) else { return false };
        let open = self.state.question.as_ref().filter(|_| RunOutcome::waits(&self.state));
        let is_open = open.is_some_and(|open| open.interaction_id == question.interaction_id);
        let is_first = self.warned != Some(question.interaction_id);
        if !is_open || !is_first || self.interrupts > 0 {
            return false;
        }
        self.warned = Some(question.interaction_id);
        // The terminal has printed ^C behind the prompt.
        print_line("\nCtrl-D leaves the question open; press Ctrl-C again to cancel the run");
        // The terminal has discarded what was typed.
        self.stop_reading();
        self.begun.clear();
        self.ask(&question, sender);
        true
    }

    fn typed(&mut self, typed: Typed, sender: &Sender<FollowEvent>) -> Result<Option<FollowExit>, Failure> {
        let Some(question) = self.asked.clone() else { return Ok(None) };
        self.stop_reading();
        let meant = match typed {
            Typed::Line(line) => ask::meaning(&question, &line),
            Typed::Unusable(fault) => {
                print_line(&fault.to_string());
                Meant::Nothing
            }
            Typed::End => {
                self.keyboard = Keyboard::None;
                if question.deadline.is_none() && RunOutcome::waits(&self.state) {
                    return Ok(Some(FollowExit::Waiting(Box::new(question))));
                }
                return Ok(None);
            }
        };
        let text = match meant {
            Meant::Answer(text) => text,
            Meant::Nothing => {
                self.ask(&question, sender);
                return Ok(None);
            }
            Meant::NoSuchOption(number) => {
                ask::refuse(&question, &number);
                self.ask(&question, sender);
                return Ok(None);
            }
        };
        let kind = match question.scope {
            Scope::Prompt => TextKind::Prompt,
            Scope::Turn | Scope::Call | Scope::Step => TextKind::Answer,
        };
        if let Err(fault) = prompt::check_kind(&text, kind) {
            print_line(&fault.sentence(kind));
            self.ask(&question, sender);
            return Ok(None);
        }
        let interaction_id = question.interaction_id;
        let reply = Reply { interaction_id, text, files: Vec::new(), request_id: None };
        match self.owner.runtime.reply_anywhere(self.run, reply) {
            Ok(_) => Ok(None),
            // Another client was quicker, or the deadline has passed.
            Err(error)
                if matches!(error.kind(), OwnerErrorKind::Stale | OwnerErrorKind::Repeated | OwnerErrorKind::Over) =>
            {
                print_line("that question is no longer open");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Interrupts the open turn, once.
    fn stop_turn(&mut self) -> Result<(), Failure> {
        let attempt = self.state.attempt;
        if self.stopped == Some(attempt) {
            return Ok(());
        }
        match self.owner.runtime.interrupt_anywhere(self.run, "interrupt at the terminal", None) {
            Ok(_) => self.stopped = Some(attempt),
            // The turn has not begun, or has just ended.
            Err(error) if matches!(error.kind(), OwnerErrorKind::WrongState | OwnerErrorKind::Over) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Hands the run over to an owner process in the background.
    fn leave(&mut self) -> Result<FollowExit, Failure> {
        if self.owner.runtime.has(self.run) {
            self.owner.runtime.let_go(self.run);
            in_background(self.settings, Take::One(self.run))?;
        }
        let goes_on = if self.interrupts > 0 { "canceling in the background" } else { "left running" };
        print_line(&format!("{goes_on}; `skillrun logs -f {}` follows it", self.run));
        Ok(FollowExit::Left)
    }

    /// Whether another process owns the run and responds.
    fn is_owned(&self) -> bool {
        let data = &self.settings.data;
        let pid = self.owner.runtime.log().last_writer(self.run).filter(|pid| *pid != std::process::id());
        pid.is_some_and(|pid| ask_owner(data, pid, OwnerRequest::Hello).is_ok())
    }

    /// Reports once what keeps the run from making progress.
    fn trouble(&mut self) -> Result<(), Failure> {
        // Another process owns the run; if it has died, this process takes the run up.
        if !self.owner.runtime.has(self.run) && !self.state.is_over() && !self.state.rests() && !self.is_owned() {
            self.owner.runtime.take_up(self.run)?;
        }
        let trouble = self.owner.runtime.trouble(self.run);
        if let Some(words) = &trouble
            && self.reported_trouble.as_ref() != Some(words)
        {
            print_line(&format!("warning: {words}"));
        }
        self.reported_trouble = trouble.or(self.reported_trouble.take());
        Ok(())
    }
}

/// Prints a line on stderr, beside the output of the command.
fn print_line(text: &str) {
    live::erase();
    // If stderr is gone, there is nothing left to do.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Sends the signals of this process to a channel.
fn signals(to: &Sender<FollowEvent>) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::internal(format!("failed to register signal handlers: {error}"), error);
    let events: [(i32, fn() -> FollowEvent); 3] =
        [(SIGINT, || FollowEvent::Interrupt), (SIGTERM, || FollowEvent::Terminate), (SIGHUP, || FollowEvent::HangUp)];
    for (signal, event) in events {
        let (mut reader, writer) = UnixStream::pair().map_err(failed)?;
        signal_hook::low_level::pipe::register(signal, writer).map_err(failed)?;
        let to = to.clone();
        let listen = move || {
            use std::io::Read;
            while reader.read(&mut [0; 16]).is_ok_and(|count| count > 0) {
                if to.send(event()).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(listen).map_err(failed)?;
    }
    Ok(())
}
