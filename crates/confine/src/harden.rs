//! What a process gives up before the exec of the engine: capabilities, new privileges, and what Landlock forbids.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::sys;

/// No privileges for user 0, and no ambient capabilities; both locked.
const SECURE_BITS: u64 = 0b1100_0011;

/// Largest number of a capability that any kernel has.
const CAPABILITIES: u64 = 63;

/// `rules`: applied last, because they also forbid mounts.
pub(crate) fn harden(rules: Option<&OwnedFd>) -> Result<(), (String, io::Error)> {
    let fails = |doing: &'static str| move |error| (doing.to_owned(), error);
    sys::new_keyring();
    if sys::has_capabilities().map_err(fails("read the capabilities"))? {
        for capability in 0..=CAPABILITIES {
            match sys::prctl(libc::PR_CAPBSET_DROP, capability) {
                Ok(()) => {}
                // The first number that this kernel does not know.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
                Err(error) => return Err(fails("limit the capabilities")(error)),
            }
        }
        sys::prctl(libc::PR_SET_SECUREBITS, SECURE_BITS).map_err(fails("lock the capabilities"))?;
    }
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(fails("forbid new privileges"))?;
    sys::clear_ambient().map_err(fails("drop ambient capabilities"))?;
    sys::drop_capabilities().map_err(fails("drop the capabilities"))?;
    match rules {
        Some(rules) => sys::landlock_restrict(rules.as_fd()).map_err(fails("apply the rules of Landlock")),
        None => Ok(()),
    }
}
