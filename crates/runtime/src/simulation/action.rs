//! What can happen next in a story.

use super::tape::NUMBERS;

macro_rules! actions {
    ($($(#[$meta:meta])* $name:ident = $words:literal in [$($status:literal),*] with $weight:literal,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Action { $($(#[$meta])* $name,)+ }

        impl Action {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)+];

            pub(crate) fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)+ }
            }

            /// How many of all tape numbers select it.
            fn weight(self) -> usize {
                match self { $(Self::$name => $weight,)+ }
            }

            /// Statuses in which it must have occurred, as columns of the table.
            pub(crate) fn statuses(self) -> &'static [usize] {
                match self { $(Self::$name => &[$($status),*],)+ }
            }
        }
    };
}

actions! {
    Restart = "an owner starts" in [1, 2, 3, 4, 5, 6, 7] with 0,
    /// An owner starts because of a client's request, and handles that before it looks at the run.
    Comes = "a client takes the run" in [1, 2, 3, 4, 5, 6, 7] with 8,
    Owner = "the owner continues" in [0, 1, 2, 3, 4, 5, 6, 7] with 0,
    Mail = "the owner takes its mail" in [1, 2, 3, 4, 5, 6, 7] with 20,
    Due = "a timer is due" in [3] with 20,
    Host = "the process works" in [2, 3, 4, 5, 6, 7] with 30,
    /// Also once more for the same one, and also when no turn is open.
    Spawn = "the process asks for a child" in [2, 3] with 12,
    ChildEnds = "a child ends" in [2, 3] with 12,
    Time = "time passes" in [1, 2, 3, 4, 5, 6, 7] with 16,
    Reply = "a client answers" in [3] with 16,
    Again = "the same again" in [1, 2, 3, 4, 5, 6, 7] with 3,
    Other = "another answer" in [2, 3] with 4,
    Stale = "an old answer" in [1, 2, 3] with 3,
    Cancel = "a client cancels" in [1, 2, 3] with 3,
    Interrupt = "a client interrupts" in [1, 2, 3] with 12,
    Close = "a client closes" in [1, 2, 3] with 8,
    LetGo = "the owner lets go" in [2, 3] with 2,
    Crash = "the owner dies" in [1, 2, 3, 4, 5, 6, 7] with 8,
    CrashWriting = "the owner dies writing" in [0, 1, 2, 3] with 10,
    DiskFull = "the disk is full" in [1, 2, 3] with 4,
    StartFails = "a host cannot start" in [1] with 3,
    HostKilled = "the host is killed" in [1, 2, 3] with 3,
    ProcessDies = "the process dies" in [2, 3] with 3,
    PowerCut = "the machine dies" in [1, 2, 3] with 2,
    ClockForward = "the clock jumps ahead" in [1, 2, 3] with 2,
    ClockBack = "the clock jumps back" in [1, 2, 3] with 2,
}

impl Action {
    /// The action of a number; the lowest numbers only let the story continue.
    pub(crate) fn of(number: usize) -> Option<Self> {
        let mut from_top = NUMBERS.checked_sub(number + 1)?;
        Self::ALL.iter().copied().find(|action| {
            let weight = action.weight();
            let is_it = from_top < weight;
            from_top = from_top.saturating_sub(weight);
            is_it
        })
    }

    /// The owner performs it, and has something to do as long as it is possible.
    pub(crate) fn is_of_owner(self) -> bool {
        matches!(self, Self::Owner | Self::Mail | Self::Due)
    }
}
