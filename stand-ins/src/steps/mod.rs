//! The engine `steps`: does one thing after another, as its words say, and exits with 0 at their end.
//!
//! ```text
//! stand-in steps  on SIGINT [ out bye\n exit 0 ]  child [ ignore SIGTERM forever ]  out hello\n  forever
//! ```
//!
//! Every step takes the words after it. A block stands between `[` and `]`, each a word of its own, and may hold
//! blocks. All words are read before the first step is done, those for children too. Writes go straight to the
//! descriptor: one `write` for one text, unless the kernel takes less.
//!
//! | step | what it does |
//! | --- | --- |
//! | `out TEXT`, `err TEXT`, `tty TEXT` | writes the text, as it is, to stdout, stderr or `/dev/tty` |
//! | `flood STREAM BYTES` | writes [`pattern`](skillrun_simulate::pattern()) from its beginning, 64 KiB at a time |
//! | `drip STREAM BYTES MILLIS` | the same, one byte at a time with a pause after each |
//! | `sleep MILLIS`, `forever` | waits; signals with an `on` are attended to |
//! | `exit CODE` | ends with this code, 0 to 255 |
//! | `die SIGNAL` | does to itself what the signal does by default, whatever `ignore` and `on` said |
//! | `ignore SIGNAL` | the signal does nothing from now on |
//! | `on SIGNAL [ .. ]` | when the signal has come, these steps are done, then it continues where it was |
//! | `child [ .. ]` | starts a child with these steps and continues; the child is never waited for |
//! | `heir [ .. ]` | `child` that begins its steps when its parent is gone |
//! | `call [ .. ]` | starts a child and waits for its end; how it ended does not matter |
//! | `group [ .. ]` | `child` in a process group of its own |
//! | `session [ .. ]` | `child [ setsid .. ]`: without a terminal |
//! | `orphan [ .. ]` | `call [ heir [ .. ] ]`: a grandchild whose parent is gone |
//! | `daemon [ .. ]` | `call [ setsid heir [ .. ] ]`: an orphan in another session, already when this step is over |
//! | `late MILLIS TEXT` | `orphan [ sleep MILLIS out TEXT ]` |
//! | `setsid` | becomes the leader of a new session itself |
//! | `gone PID` | waits until its parent is another process than this one; `heir` is made of it |
//! | `close STREAM` | the stream, also `stdin`, becomes `/dev/null`: who has the other end sees it closed |
//! | `silence` | `close stdout close stderr`, as daemons do |
//! | `report` | writes a line of JSON about its process to stdout, see below |
//! | `file PATH TEXT`, `append PATH TEXT` | writes a file, or adds to it |
//! | `folder PATH`, `remove PATH` | makes a folder and those above it; removes a file, a link or a whole folder |
//! | `link PATH TARGET` | makes a symbolic link at PATH |
//! | `pid PATH` | writes its process id and a newline to a file that appears at once, whole |
//! | `wait-file PATH` | waits until there is such a file, for 60 s at most |
//! | `read-line` | reads a line of stdin and writes `got: LINE`, or `got eof` at the end |
//! | `echo-stdin` | copies stdin to stdout until its end |
//! | `turns` | answers each line of stdin with `turn K begin`, `you said: LINE`, `turn K end`; at the end says `bye` |
//! | `repeat N [ .. ]` | does these steps N times |
//!
//! - TEXT knows `\n`, `\t`, `\r`, `\\`, `\0`, `\e` (escape) and `\xHH`. Paths are taken as they are.
//! - STREAM is `stdout`, `stderr` or `tty`; for `close` it is `stdin`, `stdout` or `stderr`.
//! - BYTES may end with `K`, `M` or `G` (1024 and so on).
//! - SIGNAL is a name with or without `SIG`.
//! - Signals with an `on` are attended to between steps, and within 10 ms in whatever waits, but not while a write is
//!   stuck because its output is not read. While the steps of an `on` are done, its own signal waits.
//! - Children have the same streams, folder and environment. Each needs its own steps for what it should ignore,
//!   since handlers do not outlive `exec`. A child that ended stays a zombie until its parent ends.
//! - Lines of stdin are read byte by byte, so what comes after them is left to children. A line is cut at 1 MiB.
//!
//! It ends with 64 and a sentence on stderr when the words make no sense, with 74 when it cannot continue: silently
//! when a stream takes no more bytes (`SIGPIPE` is ignored by Rust's runtime), else with a sentence; and with 75 after
//! ten minutes, whatever it is doing, so that a forgotten one is gone some day.
//!
//! `report` writes one object. `tty`: are stdin, stdout and stderr terminals. `pid`, `ppid` (0: none that it can see),
//! `sid`, `pgid`, `cwd`. `sigign` and `sigblk`: hexadecimal, from `/proc/self/status`; `SIGPIPE` (`1000`) is always
//! among the ignored. `umask`: octal. `fds`: open descriptors. `stdin`: what descriptor 0 is. `winsize`: columns and
//! rows of the first stream that is a terminal, or null. `pipe_size`: of stdout, or null when that is not a pipe. `env`:
//! all variables; what is not UTF-8 is replaced.

mod act;
mod report;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

/// The word by which the binary knows it, and by which it starts its children.
pub(crate) const SUBCOMMAND: &str = "steps";

/// Does what the words say.
pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    match words::parse(&words) {
        Ok(steps) => act::run(&steps),
        Err(error) => act::refuse(&error),
    }
}
