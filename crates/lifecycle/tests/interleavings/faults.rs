//! Faults of the modelled owner and its host, planted to see that the laws notice them. None of them is in the product.

use crate::laws::Law;

/// What is done wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The process gets an answer before it is in the Log.
    GivesBeforeWriting,
    /// A client is told yes before it is in the Log.
    SaysYesBeforeWriting,
    /// A new owner does not arm what was armed.
    ForgetsTimers,
    /// A new owner starts what it does not see, without a look at what is left.
    StartsAgain,
    /// What was appended is not folded into the state.
    ForgetsToEvolve,
    /// Of what recovery decides, only the effects are carried out.
    SkipsTheRestOfABatch,
    /// The process is not ended.
    NeverEnds,
    /// The gate is not told that somebody canceled.
    HidesTheCancel,
    /// After a record that was torn the numbers go on as if it were there.
    CountsTheTornRecord,
    /// The host writes an answer that it has written before.
    WritesTwice,
    /// The process is started before the Log says so.
    StartsBeforeWriting,
    /// A batch that could not be appended leaves the number of the attempt it would have opened.
    KeepsTheNumber,
    /// A host that waits to be told is told to end when its attempt cannot be written.
    EndsWhoeverWaits,
    /// A host that is changing over, and says so, is taken for one that leaves.
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
