//! Resource usage of the children of this process that were reaped.

use std::mem::MaybeUninit;

use skillrun_evidence::host_record::Rusage;

/// Times of all children together, memory of the largest.
pub(crate) fn of_children() -> Option<Rusage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    #[expect(unsafe_code, reason = "rustix has no getrusage; the kernel fills the struct that is given to it")]
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) != 0 {
            return None;
        }
        usage.assume_init()
    };
    let micros = |time: libc::timeval| u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap_or(0);
    Some(Rusage {
        user_us: micros(usage.ru_utime),
        system_us: micros(usage.ru_stime),
        max_rss_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
    })
}
