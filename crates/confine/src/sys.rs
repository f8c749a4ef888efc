//! Calls of the kernel without a safe interface. Each function is one call, and returns its error.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Flags of `mount`, by the names of the kernel.
pub(crate) mod flags {
    pub(crate) const NOSUID: u64 = libc::MS_NOSUID;
    pub(crate) const NODEV: u64 = libc::MS_NODEV;
    pub(crate) const NOEXEC: u64 = libc::MS_NOEXEC;
    pub(crate) const BIND: u64 = libc::MS_BIND;
    pub(crate) const REC: u64 = libc::MS_REC;
    pub(crate) const SLAVE: u64 = libc::MS_SLAVE;
}

/// Attributes that are set on a mount and all mounts below it.
pub(crate) mod attributes {
    pub(crate) const RDONLY: u64 = 1;
    pub(crate) const NOSUID: u64 = 2;
    pub(crate) const NODEV: u64 = 4;
    pub(crate) const NOEXEC: u64 = 8;
}

fn result(returned: i64) -> io::Result<i64> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

pub(crate) fn text(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

pub(crate) fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: u64, data: &CStr) -> io::Result<()> {
    #[expect(unsafe_code, reason = "all pointers are to strings that outlive the call")]
    let returned = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast()) };
    result(returned.into()).map(drop)
}

/// Sets attributes of a mount, and of all mounts below it if asked to. Attributes are never cleared.
pub(crate) fn mount_attributes(target: &CStr, set: u64, is_recursive: bool) -> io::Result<()> {
    /// `struct mount_attr`.
    #[repr(C)]
    struct MountAttributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    const RECURSIVE: libc::c_uint = 0x8000;
    let attributes = MountAttributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    let recursive = if is_recursive { RECURSIVE } else { 0 };
    #[expect(unsafe_code, reason = "the kernel reads the struct, whose size is given, and the string")]
    let returned = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            target.as_ptr(),
            recursive,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    result(returned).map(drop)
}

/// Detaches a mount, with all mounts below it.
pub(crate) fn detach(target: &CStr) -> io::Result<()> {
    #[expect(unsafe_code, reason = "the string outlives the call")]
    let returned = unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
    result(returned.into()).map(drop)
}

/// Makes a mount the root, and attaches the old root at a folder.
pub(crate) fn pivot_root(new: &CStr, old: &CStr) -> io::Result<()> {
    #[expect(unsafe_code, reason = "the strings outlive the call")]
    let returned = unsafe { libc::syscall(libc::SYS_pivot_root, new.as_ptr(), old.as_ptr()) };
    result(returned).map(drop)
}

pub(crate) fn unshare(namespaces: libc::c_int) -> io::Result<()> {
    #[expect(unsafe_code, reason = "no namespace of files or memory is among them")]
    let returned = unsafe { libc::unshare(namespaces) };
    result(returned.into()).map(drop)
}

/// A second process, from here on. Only for a process with one thread, and for code that allocates nothing.
/// None in the new process.
pub(crate) fn fork() -> io::Result<Option<libc::pid_t>> {
    #[expect(unsafe_code, reason = "callers have one thread, or call the kernel alone in the new process")]
    let returned = unsafe { libc::fork() };
    result(returned.into())?;
    Ok((returned != 0).then_some(returned))
}

/// A process whose parent is the parent of the caller, in the PID namespace that the caller has made.
/// None in the new process.
pub(crate) fn fork_sibling() -> io::Result<Option<libc::pid_t>> {
    const FLAGS: libc::c_ulong = (libc::CLONE_PARENT | libc::SIGCHLD) as libc::c_ulong;
    const NONE: libc::c_ulong = 0;
    #[expect(unsafe_code, reason = "like fork: no memory is shared, and the new process keeps its copy of the stack")]
    let returned = unsafe { libc::syscall(libc::SYS_clone, FLAGS, NONE, NONE, NONE, NONE) };
    let pid = result(returned)?;
    Ok((pid != 0).then_some(pid as libc::pid_t))
}

/// Ends a process at once, without the handlers of the process it was forked from.
pub(crate) fn exit(code: i32) -> ! {
    #[expect(unsafe_code, reason = "does not return")]
    unsafe {
        libc::_exit(code)
    }
}

/// Waits until a child has exited.
pub(crate) fn wait_for(pid: libc::pid_t) -> io::Result<libc::c_int> {
    let mut status = 0;
    loop {
        #[expect(unsafe_code, reason = "the kernel writes the status")]
        let returned = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        match result(returned.into()) {
            Ok(_) => return Ok(status),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reaps every child that has exited; whether any child is left.
pub(crate) fn reap() -> bool {
    loop {
        #[expect(unsafe_code, reason = "no status is written")]
        let returned = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
        match result(returned.into()) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

pub(crate) fn kill(pid: libc::pid_t) {
    #[expect(unsafe_code, reason = "a child that was not reaped keeps its id")]
    unsafe {
        libc::kill(pid, libc::SIGKILL);
    }
}

pub(crate) fn user() -> (u32, u32) {
    #[expect(unsafe_code, reason = "they cannot fail")]
    unsafe {
        (libc::geteuid(), libc::getegid())
    }
}

/// `prctl` with numbers alone.
pub(crate) fn prctl(option: libc::c_int, argument: u64) -> io::Result<()> {
    const NONE: libc::c_ulong = 0;
    #[expect(unsafe_code, reason = "the options in use take numbers")]
    let returned = unsafe { libc::prctl(option, argument, NONE, NONE, NONE) };
    result(returned.into()).map(drop)
}

pub(crate) fn clear_ambient() -> io::Result<()> {
    const NONE: libc::c_ulong = 0;
    #[expect(unsafe_code, reason = "takes numbers")]
    let returned = unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, NONE, NONE, NONE) };
    result(returned.into()).map(drop)
}

pub(crate) fn set_name(name: &CStr) {
    #[expect(unsafe_code, reason = "the kernel copies 16 bytes at most")]
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
    }
}

/// `struct __user_cap_header_struct`, for sets of 64 bits.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: libc::c_int,
}

/// Half of the bits of each set.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Whether this process has any capability.
pub(crate) fn has_capabilities() -> io::Result<bool> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    let mut sets = [CapabilitySets::default(); 2];
    #[expect(unsafe_code, reason = "the kernel writes two structs for this version")]
    let returned = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) };
    result(returned)?;
    Ok(sets.iter().any(|set| set.permitted != 0))
}

/// Drops every capability of this process.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION, pid: 0 };
    let sets = [CapabilitySets::default(); 2];
    #[expect(unsafe_code, reason = "the kernel reads two structs for this version")]
    let returned = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) };
    result(returned).map(drop)
}

/// A session keyring of its own, so that keys of the user's session are not inherited.
pub(crate) fn new_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    #[expect(unsafe_code, reason = "no name is given; kernels without keyrings refuse the call")]
    unsafe {
        libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<u8>());
    }
}

/// Default handlers for all signals, and all of them blocked.
pub(crate) fn block_all_signals() -> io::Result<()> {
    const DEFAULT: [u64; 4] = [0; 4];
    const MASK_BYTES: usize = 8;
    let all = u64::MAX;
    #[expect(unsafe_code, reason = "the kernel reads the two values; it refuses the signals that have no handler")]
    let returned = unsafe {
        for signal in 1..=64 {
            libc::syscall(libc::SYS_rt_sigaction, signal, DEFAULT.as_ptr(), std::ptr::null::<u64>(), MASK_BYTES);
        }
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const all, std::ptr::null::<u64>(), MASK_BYTES)
    };
    result(returned).map(drop)
}

/// A descriptor that becomes readable when a child exits. `SIGCHLD` is blocked.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    #[expect(unsafe_code, reason = "the set is initialized before it is read; the new descriptor is owned here alone")]
    unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        let number = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        result(number.into())?;
        Ok(OwnedFd::from_raw_fd(number))
    }
}

/// Waits until one of two descriptors is readable.
pub(crate) fn wait_readable(first: BorrowedFd<'_>, second: BorrowedFd<'_>) -> io::Result<(bool, bool)> {
    let poll = |fd: BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut both = [poll(first), poll(second)];
    #[expect(unsafe_code, reason = "the array has as many entries as stated")]
    let returned = unsafe { libc::poll(both.as_mut_ptr(), 2, -1) };
    result(returned.into())?;
    Ok((both[0].revents != 0, both[1].revents != 0))
}

/// Closes every descriptor but these two.
pub(crate) fn close_all_but(kept: [BorrowedFd<'_>; 2]) {
    let mut kept = kept.map(|fd| fd.as_raw_fd());
    kept.sort_unstable();
    let ranges = [(0, kept[0] - 1), (kept[0] + 1, kept[1] - 1), (kept[1] + 1, libc::c_int::MAX)];
    for (first, last) in ranges {
        if first > last {
            continue;
        }
        #[expect(unsafe_code, reason = "nothing uses the descriptors: the process runs only its own loop from here on")]
        unsafe {
            libc::syscall(libc::SYS_close_range, first, last, 0);
        }
    }
}

/// Switches the loopback interface of a new network namespace on.
pub(crate) fn loopback_up() -> io::Result<()> {
    #[expect(unsafe_code, reason = "the request is initialized, and its flags are the field that the call reads")]
    unsafe {
        let number = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        result(number.into())?;
        let socket = OwnedFd::from_raw_fd(number);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l'.cast_signed() as libc::c_char;
        request.ifr_name[1] = b'o'.cast_signed() as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        result(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request).into()).map(drop)
    }
}

/// `struct landlock_ruleset_attr`.
#[repr(C)]
pub(crate) struct RulesetAttributes {
    pub(crate) files: u64,
    pub(crate) network: u64,
    pub(crate) scoped: u64,
}

/// The version of Landlock; none if this kernel has none.
pub(crate) fn landlock_version() -> Option<u32> {
    const VERSION: u32 = 1;
    #[expect(unsafe_code, reason = "with this flag the kernel reads no struct")]
    let returned = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<RulesetAttributes>(), 0usize, VERSION)
    };
    u32::try_from(returned).ok().filter(|version| *version > 0)
}

/// A set of rules. `bytes`: as much of the struct as this version of the kernel knows.
pub(crate) fn landlock_ruleset(attributes: &RulesetAttributes, bytes: usize) -> io::Result<OwnedFd> {
    #[expect(unsafe_code, reason = "the kernel reads no more of the struct than it has; the descriptor is owned here")]
    unsafe {
        let number =
            libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::from_ref(attributes), bytes, 0 as libc::c_uint);
        Ok(OwnedFd::from_raw_fd(result(number)? as libc::c_int))
    }
}

/// Allows accesses below a file or folder.
pub(crate) fn landlock_allow(rules: BorrowedFd<'_>, below: BorrowedFd<'_>, access: u64) -> io::Result<()> {
    /// `struct landlock_path_beneath_attr`.
    #[repr(C, packed)]
    struct PathBeneath {
        access: u64,
        parent: i32,
    }
    const PATH_BENEATH: libc::c_int = 1;
    let rule = PathBeneath { access, parent: below.as_raw_fd() };
    #[expect(unsafe_code, reason = "the kernel reads the struct of this type of rule")]
    let returned = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), PATH_BENEATH, &raw const rule, 0 as libc::c_uint)
    };
    result(returned).map(drop)
}

/// Holds this process, and all that it starts, to a set of rules.
pub(crate) fn landlock_restrict(rules: BorrowedFd<'_>) -> io::Result<()> {
    #[expect(unsafe_code, reason = "takes numbers")]
    let returned = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0 as libc::c_uint) };
    result(returned).map(drop)
}

/// Writes a file that exists, in one call. Allocates nothing.
pub(crate) fn write_file(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    #[expect(unsafe_code, reason = "the string and the bytes outlive the calls; the descriptor is owned here alone")]
    unsafe {
        let number = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        result(number.into())?;
        let file = OwnedFd::from_raw_fd(number);
        result(libc::write(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) as i64).map(drop)
    }
}

/// Reads what is there, and forgets it.
pub(crate) fn discard(fd: BorrowedFd<'_>) {
    let mut buffer = [0u8; 1024];
    #[expect(unsafe_code, reason = "the kernel writes at most as many bytes as the buffer has")]
    while unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) } > 0 {}
}

/// A socket that receives the refusals on the loopback interface of this network namespace: resets of TCP, and messages
/// about ports and hosts that are not there. See `network::packets`.
pub(crate) fn observer() -> io::Result<OwnedFd> {
    const fn load(width: u32, at: u32) -> libc::sock_filter {
        libc::sock_filter { code: (libc::BPF_LD | width | libc::BPF_ABS) as u16, jt: 0, jf: 0, k: at }
    }
    const fn load_behind(at: u32) -> libc::sock_filter {
        libc::sock_filter { code: (libc::BPF_LD | libc::BPF_B | libc::BPF_IND) as u16, jt: 0, jf: 0, k: at }
    }
    const fn jump(test: u32, value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
        libc::sock_filter { code: (libc::BPF_JMP | test | libc::BPF_K) as u16, jt: then, jf: otherwise, k: value }
    }
    const fn give(bytes: u32) -> libc::sock_filter {
        libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: bytes }
    }
    const RESET: u32 = 0x04;
    // Packets begin with the header of IP. Without a filter, every byte of the engine would be copied once more.
    let filter = [
        load(libc::BPF_B, 0),
        libc::sock_filter { code: (libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K) as u16, jt: 0, jf: 0, k: 4 },
        jump(libc::BPF_JEQ, 4, 0, 9),
        // Version 4: the length of the header is in its first byte.
        libc::sock_filter { code: (libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH) as u16, jt: 0, jf: 0, k: 0 },
        load(libc::BPF_B, 9),
        jump(libc::BPF_JEQ, 6, 0, 2),
        load_behind(13),
        jump(libc::BPF_JSET, RESET, 12, 13),
        jump(libc::BPF_JEQ, 1, 0, 12),
        load_behind(0),
        jump(libc::BPF_JEQ, 3, 9, 10),
        give(0),
        // Version 6, where headers of extensions are not read.
        jump(libc::BPF_JEQ, 6, 0, 8),
        load(libc::BPF_B, 6),
        jump(libc::BPF_JEQ, 6, 0, 2),
        load(libc::BPF_B, 53),
        jump(libc::BPF_JSET, RESET, 3, 4),
        jump(libc::BPF_JEQ, 58, 0, 3),
        load(libc::BPF_B, 40),
        jump(libc::BPF_JEQ, 1, 0, 1),
        give(256),
        give(0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    #[expect(
        unsafe_code,
        reason = "the structs outlive the calls, and their sizes are given; the descriptor is owned here"
    )]
    unsafe {
        // Protocol 0 until the filter is there: no packet is received before.
        let number = libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0);
        result(number.into())?;
        let socket = OwnedFd::from_raw_fd(number);
        let size = size_of::<libc::sock_fprog>() as libc::socklen_t;
        let set = libc::setsockopt(number, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, (&raw const program).cast(), size);
        result(set.into())?;
        let one: libc::c_int = 1;
        let size = size_of::<libc::c_int>() as libc::socklen_t;
        // Each packet on this interface is sent and received, and one of them is enough. Kernels before 4.20 show both.
        libc::setsockopt(number, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, (&raw const one).cast(), size);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = libc::if_nametoindex(c"lo".as_ptr()).cast_signed();
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        result(libc::bind(number, (&raw const address).cast(), size).into())?;
        Ok(socket)
    }
}

/// Makes every address of both versions one of this network namespace, so that a connection to an address without a
/// listener is refused at once, and the refusal can be seen.
pub(crate) fn make_all_addresses_local() -> io::Result<()> {
    local_route(libc::AF_INET)?;
    // A machine may have no version 6.
    local_route(libc::AF_INET6).ok();
    Ok(())
}

/// `ip route add local default dev lo`.
fn local_route(family: libc::c_int) -> io::Result<()> {
    /// `struct rtmsg`.
    #[repr(C)]
    struct Route {
        family: u8,
        destination_bits: u8,
        source_bits: u8,
        tos: u8,
        table: u8,
        protocol: u8,
        scope: u8,
        kind: u8,
        flags: u32,
    }
    /// The message: its header, the route, and the interface.
    #[repr(C)]
    struct Message {
        header: libc::nlmsghdr,
        route: Route,
        attribute_length: u16,
        attribute_kind: u16,
        interface: u32,
    }
    /// The answer, as far as it is read.
    #[repr(C)]
    struct Answer {
        header: libc::nlmsghdr,
        error: i32,
        rest: [u8; 128],
    }
    const OUTPUT_INTERFACE: u16 = 4;
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE;
    #[expect(
        unsafe_code,
        reason = "the structs outlive the calls, and their sizes are given; the descriptor is owned here"
    )]
    unsafe {
        let message = Message {
            header: libc::nlmsghdr {
                nlmsg_len: size_of::<Message>() as u32,
                nlmsg_type: libc::RTM_NEWROUTE,
                nlmsg_flags: flags as u16,
                nlmsg_seq: 1,
                nlmsg_pid: 0,
            },
            route: Route {
                family: family as u8,
                destination_bits: 0,
                source_bits: 0,
                tos: 0,
                table: libc::RT_TABLE_LOCAL,
                protocol: libc::RTPROT_STATIC,
                scope: libc::RT_SCOPE_HOST,
                kind: libc::RTN_LOCAL,
                flags: 0,
            },
            attribute_length: 8,
            attribute_kind: OUTPUT_INTERFACE,
            interface: libc::if_nametoindex(c"lo".as_ptr()),
        };
        let number = libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE);
        result(number.into())?;
        let socket = OwnedFd::from_raw_fd(number);
        let sent = libc::send(socket.as_raw_fd(), (&raw const message).cast(), size_of::<Message>(), 0);
        result(sent as i64)?;
        let mut answer: Answer = std::mem::zeroed();
        let read = libc::recv(socket.as_raw_fd(), (&raw mut answer).cast(), size_of::<Answer>(), 0);
        result(read as i64)?;
        match (answer.header.nlmsg_type, answer.error) {
            (kind, 0) if kind == libc::NLMSG_ERROR as u16 => Ok(()),
            (_, error) => Err(io::Error::from_raw_os_error(-error)),
        }
    }
}
