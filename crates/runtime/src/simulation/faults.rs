//! Faults of the modelled owner and its host, planted to check that the laws notice them. None of them is in the
//! product.

use crate::laws::Law;

/// The fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process receives an answer before it is in the Log.
    GivesBeforeWriting,
    /// A request is acknowledged before it is in the Log.
    SaysYesBeforeWriting,
    /// A new owner does not arm the timers that were armed.
    ForgetsTimers,
    /// A new owner starts what it does not see, without checking what is left.
    StartsAgain,
    /// What was appended is not folded into the state.
    ForgetsToEvolve,
    /// Of a recovery decision, only the effects are carried out.
    SkipsTheRestOfABatch,
    /// The process is not ended.
    NeverEnds,
    /// The gate does not receive the cancel.
    HidesTheCancel,
    /// After a torn record the numbers continue as if the record were there.
    CountsTheTornRecord,
    /// The host writes an answer that it has already written.
    WritesTwice,
    /// The process is started before the Log records it.
    StartsBeforeWriting,
    /// A batch that could not be appended leaves the number of the attempt that it would have opened.
    KeepsTheNumber,
    /// A host that waits for its start request is asked to end when its attempt cannot be written.
    EndsWhoeverWaits,
    /// A host that reports that it is changing over is taken for one that is leaving.
    TakesChangingForLeaving,
}

impl Fault {
    pub(crate) const ALL: [Self; 14] = [
        Self::GivesBeforeWriting,
        Self::SaysYesBeforeWriting,
        Self::ForgetsTimers,
        Self::StartsAgain,
        Self::ForgetsToEvolve,
        Self::SkipsTheRestOfABatch,
        Self::NeverEnds,
        Self::HidesTheCancel,
        Self::CountsTheTornRecord,
        Self::WritesTwice,
        Self::StartsBeforeWriting,
        Self::KeepsTheNumber,
        Self::EndsWhoeverWaits,
        Self::TakesChangingForLeaving,
    ];
}

impl Fault {
    /// The laws that it breaks.
    pub(crate) fn laws(self) -> &'static [Law] {
        match self {
            Self::GivesBeforeWriting => &[Law::GivenUnlogged],
            Self::SaysYesBeforeWriting => &[Law::LostReply, Law::Canceled],
            Self::ForgetsTimers => &[Law::Forgotten],
            Self::StartsAgain => &[Law::OneProcess, Law::BeganOnce],
            Self::ForgetsToEvolve => &[Law::Fold],
            Self::SkipsTheRestOfABatch => &[Law::Forgotten, Law::Ends, Law::CannotBegin],
            Self::NeverEnds => &[Law::Forgotten],
            Self::HidesTheCancel => &[Law::Verdict],
            Self::CountsTheTornRecord => &[Law::SeqGap],
            Self::WritesTwice => &[Law::GivenOnce],
            Self::StartsBeforeWriting => &[Law::BeganLogged],
            Self::KeepsTheNumber => &[Law::RightAttempt],
            Self::EndsWhoeverWaits | Self::TakesChangingForLeaving => &[Law::NoCause],
        }
    }
}
