//! Follows a conversation turn by turn. The caller reads the prompts and sends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use signal_hook::consts::SIGTERM;
use skillrun_lifecycle::run::State;
use skillrun_log::{EventLog, Subscription};
use skillrun_model::{IgnoredError, RunId};

use super::chat_view::ChatView;
use super::steps::StepReports;
use super::{Conversation, Ending, FollowEvent, FollowExit, Following, Keyboard, Style, View, signals};
use crate::args::OutputForm;
use crate::failure::Failure;
use crate::live::{LiveLine, LiveRun};
use crate::output::Output;
use crate::owner::OwnerProcess;
use crate::settings::Settings;
use skillrun_runs::conversation::ConversationReader;
use skillrun_runs::result::ResultFold;

/// Where everything that can happen during a turn arrives: one for all conversations of a process.
pub(crate) struct FollowChannel {
    sender: Sender<FollowEvent>,
    receiver: Receiver<FollowEvent>,
    /// The process waits for the user, and receives nothing from this channel.
    at_prompt: Arc<AtomicBool>,
}

impl FollowChannel {
    /// Receives the signals of this process from now on.
    pub(crate) fn open() -> Result<Self, Failure> {
        let (sender, receiver) = channel();
        let at_prompt = Arc::new(AtomicBool::new(false));
        let failed = |error| Failure::internal(format!("failed to register signal handlers: {error}"), error);
        // A conversation at rest loses nothing when the process that shows it is terminated.
        signal_hook::flag::register_conditional_default(SIGTERM, at_prompt.clone()).map_err(failed)?;
        signals(&sender)?;
        Ok(Self { sender, receiver, at_prompt })
    }

    /// While the process waits for the user, SIGTERM terminates it at once.
    pub(crate) fn set_at_prompt(&self, is_so: bool) {
        self.at_prompt.store(is_so, Ordering::SeqCst);
    }

    /// A function that reports Esc.
    pub(crate) fn escape(&self) -> impl Fn() + Send + 'static {
        let sender = self.sender.clone();
        move || sender.send(FollowEvent::Escape).ignored()
    }

    /// Forgets what arrived while no turn was followed, such as an Esc that came too late.
    fn clear(&self) {
        while self.receiver.try_recv().is_ok() {}
    }
}

/// One conversation.
pub(crate) struct Turns<'a> {
    following: Following<'a>,
    channel: &'a FollowChannel,
    _subscription: Subscription,
}

impl<'a> Turns<'a> {
    /// Events up to `known` are not shown.
    pub(crate) fn new(
        settings: &'a Settings,
        owner: &'a OwnerProcess,
        channel: &'a FollowChannel,
        run: RunId,
        known: u64,
        output: &'a Output,
        line: &'a mut LiveLine,
    ) -> Result<Self, Failure> {
        let news = channel.sender.clone();
        let notify = Arc::new(move || news.send(FollowEvent::News).ignored());
        let subscription = owner.runtime.log().subscribe(run, notify)?;
        let following = Following {
            settings,
            owner,
            run,
            style: Style { form: OutputForm::Text, conversation: Conversation::Shown, ending: Ending::Whole },
            reader: ConversationReader::default(),
            known,
            is_known: false,
            state: State::default(),
            result: ResultFold::default(),
            view: View::Chat(ChatView::new(output.terminal_width())),
            output,
            line,
            live: LiveRun::default(),
            mode: None,
            asked: None,
            keyboard: Keyboard::Caller,
            begun: String::new(),
            warned: None,
            interrupts: 0,
            stopped: None,
            reported_trouble: None,
            steps: StepReports::default(),
            outcome: None,
        };
        Ok(Self { following, channel, _subscription: subscription })
    }

    /// Shows what happens until the run waits for the user, is over, or is left to another process.
    pub(crate) fn next(&mut self) -> Result<FollowExit, Failure> {
        self.channel.clear();
        let FollowChannel { sender, receiver, .. } = self.channel;
        let exit = self.following.until_rest(sender, receiver);
        crate::live::erase();
        exit
    }
}
