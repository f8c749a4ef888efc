//! Faults that are planted in the worker and the run (with `planted!`), or in the modelled host, to check that the laws
//! notice them. None of them is in the product.

use std::cell::Cell;

use super::laws::Law;

macro_rules! faults {
    ($($(#[$meta:meta])* $name:ident breaks [$($law:ident),+],)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Fault { $($(#[$meta])* $name,)+ }

        impl Fault {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The laws that it breaks.
            pub(crate) fn laws(self) -> &'static [Law] {
                match self { $(Self::$name => &[$(Law::$law),+],)+ }
            }
        }
    };
}

faults! {
    /// The process receives an answer before it is in the Log.
    GivesBeforeWriting breaks [GivenUnlogged],
    /// A request is acknowledged before it is in the Log.
    SaysYesBeforeWriting breaks [LostReply, Canceled, Closed],
    /// A new worker does not arm the timers that were armed.
    ForgetsTimers breaks [Forgotten],
    /// A host is started without a look at the one that has the attempt.
    StartsAgain breaks [OneProcess, BeganOnce],
    /// What was appended is not folded into the state.
    ForgetsToEvolve breaks [Fold],
    /// Of a recovery decision, only the effects are carried out.
    SkipsTheRestOfABatch breaks [Forgotten, Ends, CannotBegin],
    /// The process is not ended.
    NeverEnds breaks [Forgotten, ProcessLeft],
    /// The gate does not receive the cancel.
    HidesTheCancel breaks [Verdict],
    /// The modelled host writes an answer that it has already written.
    WritesTwice breaks [GivenOnce],
    /// The process is started before the Log records it.
    StartsBeforeWriting breaks [BeganLogged],
    /// A batch that could not be appended leaves the number of the attempt that it would have opened.
    KeepsTheNumber breaks [RightAttempt],
    /// A host that waits for its start request is asked to end when its attempt cannot be written.
    EndsHeldHost breaks [NoCause],
    /// The process of a run that ends is ended after the last event, and not before it.
    EndsAfterLastEvent breaks [ProcessLeft],
    /// The process of a run that ends is ended before the Log has the reason.
    EndsBeforeReason breaks [NoCause],
    /// A worker that continues with an attempt does not compare its evidence with the Log.
    RepeatsEvidence breaks [Evidence],
    /// A worker that continues with an attempt does not ask its host to start it.
    DoesNotStartAgain breaks [Forgotten],
    /// A worker that continues with an attempt does not send the last answer again.
    DoesNotAnswerAgain breaks [NotGiven],
    /// The process receives an interrupt before it is in the Log.
    InterruptsBeforeWriting breaks [NoCause],
    /// The modelled host does not record that the turn was interrupted.
    ForgetsTheAct breaks [Verdict],
    /// A turn is interrupted the way a run is canceled.
    CancelsTheTurn breaks [NoCause],
    /// A worker that continues with an attempt does not interrupt it again.
    DoesNotInterruptAgain breaks [Forgotten],
    /// The prompt of an interrupt is sent, though the turn had ended before.
    SaysAnyway breaks [Say],
    /// The process of a run that is closed is not ended.
    LeavesProcessAtClose breaks [ProcessLeft],
    /// The message of an attempt is not written where an earlier owner died before it was in the Log.
    ForgetsTheMessage breaks [Message],
    /// A process that waits for the next prompt is never ended.
    WaitsForever breaks [Forgotten],
    /// A new worker does not make the children that an earlier one did not make.
    ForgetsChildren breaks [ChildMade],
    /// A child is made before its request is in the Log.
    MakesBeforeWriting breaks [ChildAsked],
    /// Whatever the end of a child is, it counts as completed.
    CallsItCompleted breaks [ChildEnd],
    /// A run that ends leaves its children alone.
    LeavesChildren breaks [ChildLeft],
    /// The end of a child is only looked at when it is reported.
    WaitsForNews breaks [Forgotten],
}

/// What is wrong with the hosts of a story.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostFault {
    #[default]
    Nothing,
    /// They write answers that they have already written.
    WritesTwice,
    /// They do not record that a turn was interrupted.
    ForgetsTheAct,
}

impl HostFault {
    pub(crate) fn of(fault: Option<Fault>) -> Self {
        match fault {
            Some(Fault::WritesTwice) => Self::WritesTwice,
            Some(Fault::ForgetsTheAct) => Self::ForgetsTheAct,
            Some(_) | None => Self::Nothing,
        }
    }
}

thread_local! {
    static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
}

/// The fault of the story that is played in this thread.
pub(crate) fn plant(fault: Option<Fault>) {
    PLANTED.set(fault);
}

pub(crate) fn is_planted(fault: Fault) -> bool {
    PLANTED.get() == Some(fault)
}
