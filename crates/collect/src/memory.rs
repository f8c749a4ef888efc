//! What a long-lived process does with freed memory. Here because only this crate may call C.

/// From this size on a block is allocated directly from the system, and returned to it when it is freed.
#[cfg(target_env = "gnu")]
const ALONE: libc::c_int = 128 << 10;

/// Maximum number of heaps. Each keeps the most that it ever needed, and threads come and go with every run; two are
/// enough for threads that mostly wait.
#[cfg(target_env = "gnu")]
const HEAPS: libc::c_int = 2;

/// Returns freed memory to the system, so that a server holds what it needs and not what it once needed. Must be called
/// before there are threads.
///
/// glibc begins with the same size. But whenever a larger block is freed it raises the size to that, up to 32 MiB, and
/// keeps such blocks from then on, in each of its heaps, of which it creates eight for each processor: a server with 2
/// MB in use held 110 after two minutes of work. Setting the size ends the raising. Other C libraries have no such
/// rule, and there is nothing to do.
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    for (option, value) in
        [(libc::M_MMAP_THRESHOLD, ALONE), (libc::M_TRIM_THRESHOLD, ALONE), (libc::M_ARENA_MAX, HEAPS)]
    {
        // A refused option stays unchanged, and nothing depends on it.
        #[expect(unsafe_code, reason = "takes two numbers and has a lock of its own")]
        unsafe {
            libc::mallopt(option, value);
        }
    }
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    /// Found by `make soak`: memory that grew by 100 KB with every run, none of it in use.
    #[test]
    fn a_large_block_is_never_kept_for_later() {
        return_freed_memory();
        drop(vec![1_u8; 8 << 20]);
        // A directly allocated block begins at a page, after the 16 bytes that the allocator keeps for itself.
        let blocks: Vec<Vec<u8>> = (1..=8).map(|number| vec![1; (256 << 10) + 1000 * number]).collect();
        let places: Vec<usize> = blocks.iter().map(|block| block.as_ptr().addr() % 4096).collect();
        assert_eq!(places, [16; 8]);
    }
}
