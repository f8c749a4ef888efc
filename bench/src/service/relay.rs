//! `bench relay CLIENTS WORDS..`: the least that any program could do. It waits for this many clients, starts `bench
//! write WORDS..`, and sends each line as a server-sent event to all of them. Nothing is stored, nothing is parsed.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::problem::Problem;

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

pub(crate) fn relay(words: &[String]) -> Result<(), Problem> {
    let (clients, words) = words.split_first().ok_or_else(|| Problem("relay: no number of clients".to_owned()))?;
    let clients = clients.parse::<usize>().map_err(|_| Problem(format!("relay: {clients} is not a number")))?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut told = std::io::stdout().lock();
    writeln!(told, "{}", listener.local_addr()?)?;
    told.flush()?;
    let mut sockets = (0..clients).map(|_| greeted(&listener)).collect::<Result<Vec<_>, _>>()?;
    let mut writer = Command::new(std::env::current_exe()?);
    let mut child = writer.arg("write").args(words).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let relayed = match child.stdout.take() {
        Some(mut lines) => send_all(&mut lines, &mut sockets),
        None => Ok(()),
    };
    // It ends on its own when no client reads.
    child.wait()?;
    relayed
}

/// The next client, whose request was read and answered.
fn greeted(listener: &TcpListener) -> Result<TcpStream, Problem> {
    let (mut socket, _) = listener.accept()?;
    socket.set_nodelay(true)?;
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    while memchr::memmem::find(&request, b"\r\n\r\n").is_none() {
        let read = socket.read(&mut buffer)?;
        if read == 0 || request.len() > 64 * 1024 {
            return Err(Problem("relay: a client sent no request".to_owned()));
        }
        request.extend_from_slice(&buffer[..read]);
    }
    socket.write_all(HEAD.as_bytes())?;
    Ok(socket)
}

fn send_all(lines: &mut impl Read, sockets: &mut [TcpStream]) -> Result<(), Problem> {
    let (mut buffer, mut rest, mut seq) = (vec![0; 64 * 1024], Vec::new(), 0_u64);
    loop {
        let read = lines.read(&mut buffer)?;
        if read == 0 {
            return Ok(sockets.iter_mut().try_for_each(|socket| socket.write_all(b"0\r\n\r\n"))?);
        }
        rest.extend_from_slice(&buffer[..read]);
        let Some(end) = memchr::memrchr(b'\n', &rest) else { continue };
        let mut frames = Vec::with_capacity(2 * rest.len());
        for line in rest[..end].split(|byte| *byte == b'\n') {
            seq += 1;
            write!(frames, "id: {seq}\nevent: run_event\ndata: ")?;
            frames.extend_from_slice(line);
            frames.extend_from_slice(b"\n\n");
        }
        rest.drain(..=end);
        let mut chunk = format!("{:x}\r\n", frames.len()).into_bytes();
        chunk.extend_from_slice(&frames);
        chunk.extend_from_slice(b"\r\n");
        sockets.iter_mut().try_for_each(|socket| socket.write_all(&chunk))?;
    }
}
