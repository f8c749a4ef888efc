"""What a hostile process in a box tries. Prints a line per attempt: its name, and `open` if it worked, else `held`."""

import ctypes
import os
import socket
import stat

LAB = os.environ["LAB"]
WORKSPACE = os.environ["WORKSPACE"]
AUDIT = os.environ["AUDIT"]
MARKER = os.environ["VICTIM_WORD"]
VICTIM = int(os.environ["VICTIM"])
HOME_FILE = LAB + "/user-home/.ssh/id"
LIBC = ctypes.CDLL(None, use_errno=True)


def report(name, attempt):
    try:
        worked = attempt()
    except OSError:
        worked = False
    print(f"{name} {'open' if worked else 'held'}", flush=True)


def read(path):
    with open(path, "rb") as file:
        return len(file.read(4096)) > 0


def write(path, text="x"):
    with open(path, "w") as file:
        file.write(text)
    return True


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def victim_is_seen():
    try:
        with open(f"/proc/{VICTIM}/cmdline", "rb") as file:
            return MARKER.encode() in file.read()
    except OSError:
        return False


def any_of(paths):
    def works(path):
        try:
            return read(path)
        except OSError:
            return False

    return any([works(path) for path in paths])


def environment_of_victim():
    if not victim_is_seen():
        return False
    return read(f"/proc/{VICTIM}/environ")


def hard_link():
    os.link(HOME_FILE, WORKSPACE + "/hard")
    return read(WORKSPACE + "/hard")


def signal_victim():
    if not victim_is_seen():
        return False
    os.kill(VICTIM, 0)
    return True


def trace_victim():
    seize = 0x4206
    if not victim_is_seen():
        return False
    return LIBC.ptrace(seize, VICTIM, 0, 0) == 0


def same_value(path):
    with open(path, "r+") as file:
        value = file.read()
        file.seek(0)
        file.write(value)
    return True


def opened_for_writing(path):
    os.close(os.open(path, os.O_WRONLY))
    return True


def mounted():
    os.mkdir(WORKSPACE + "/mount")
    return LIBC.mount(b"tmpfs", (WORKSPACE + "/mount").encode(), b"tmpfs", 0, None) == 0


def remounted():
    remount, bind = 32, 4096
    return LIBC.mount(b"", b"/usr", b"", remount | bind, None) == 0


def mount_in_user_namespace():
    user, mounts = 0x10000000, 0x20000
    child = os.fork()
    if child == 0:
        made = LIBC.unshare(user | mounts) == 0 and LIBC.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None) == 0
        os._exit(0 if made else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def device():
    os.mknod(WORKSPACE + "/device", stat.S_IFBLK | 0o600, os.makedev(253, 0))
    return True


def change_root():
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.chroot(WORKSPACE.encode()) == 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def connected(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(5)
        client.connect(address)
    return True


def raw_packets():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    return True


def capabilities():
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    sets = [int(lines[name].strip(), 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")]
    return any(sets) or lines["NoNewPrivs"].strip() != "1"


def inherited_descriptors():
    opened = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.readlink("/proc/self/fd/" + name)
            opened.append(int(name))
        except OSError:
            # The folder itself, which is closed again.
            pass
    return any(number > 2 for number in opened)


def descriptors_of_first():
    return any([os.readlink("/proc/1/fd/" + name) for name in os.listdir("/proc/1/fd")])


def change_mode():
    os.chmod(HOME_FILE, 0o600)
    return True


def tool():
    return os.system("ls /usr > /dev/null && echo x | tr x y > /dev/null") == 0


report("read the HOME of the user", lambda: read(HOME_FILE))
report("read another run", lambda: read(LAB + "/other/.audit/stdout.1.log"))
report("read its own evidence", lambda: any_of([AUDIT + "/claim.1", AUDIT + "/stdout.1.log", AUDIT + "/chunks.1.jsonl"]))
report("read through a symbolic link", lambda: read(WORKSPACE + "/link/.ssh/id"))
report("read through ..", lambda: read(WORKSPACE + "/../user-home/.ssh/id"))
report("read through the root of a process", lambda: any_of([f"/proc/{pid}/root{HOME_FILE}" for pid in pids()]))
report("read through a hard link", hard_link)
report("write into the HOME of the user", lambda: write(LAB + "/user-home/written"))
report("write through a symbolic link", lambda: write(WORKSPACE + "/link/written"))
report("write into its own evidence", lambda: write(AUDIT + "/written"))
report("write into the programs of the system", lambda: write("/usr/written"))
report("write into /etc", lambda: write("/etc/written"))
report("write into the root", lambda: write("/written"))
report("change the mode of a file outside", change_mode)
report("see the command line of a process outside", victim_is_seen)
report("read the environment of a process outside", environment_of_victim)
report("read the memory of the first process", lambda: any_of(["/proc/1/environ", "/proc/1/mem", "/proc/1/maps"]))
report("follow the descriptors of the first process", descriptors_of_first)
report("signal a process outside", signal_victim)
report("trace a process outside", trace_victim)
report("write settings of the kernel", lambda: same_value("/proc/sys/kernel/core_pattern"))
report("open the keys of the kernel", lambda: opened_for_writing("/proc/sysrq-trigger"))
report("mount a file system", mounted)
report("mount the programs of the system again", remounted)
report("mount in a user namespace", mount_in_user_namespace)
report("make a device", device)
report("change the root", change_root)
report("send raw packets", raw_packets)
report("connect to an abstract socket outside", lambda: connected(socket.AF_UNIX, "\0" + MARKER))
report("connect to a socket file outside", lambda: connected(socket.AF_UNIX, LAB + "/outside.sock"))
report("connect to its own host", lambda: connected(socket.AF_UNIX, AUDIT + "/host.sock"))
report("connect to a port outside", lambda: connected(socket.AF_INET, ("127.0.0.1", int(os.environ["PORT"]))))
report("have capabilities", capabilities)
report("have inherited descriptors", inherited_descriptors)
report("write into the workspace", lambda: write(WORKSPACE + "/written"))
report("write into its folder for temporary files", lambda: write(os.environ["TMPDIR"] + "/written"))
report("write into /tmp", lambda: write("/tmp/written-" + MARKER))
report("write into /dev/null", lambda: write("/dev/null"))
report("run tools", tool)
