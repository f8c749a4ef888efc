//! The sockets of a box's network, made inside of its namespace by the starter and handed to the host process.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use skillrun_model::confinement::HostPattern;

use super::doors::{self, Door, NAME_SERVER, PROXY};
use crate::sys;

/// The most sockets that one message of the kernel carries.
const SOCKETS_MAX: usize = 253;

/// The listeners of a box, in the process that serves them.
#[derive(Debug)]
pub struct BoxSockets {
    pub(super) observer: OwnedFd,
    pub(super) names: UdpSocket,
    pub(super) proxy: TcpListener,
    /// Of each door.
    pub(super) doors: Vec<(Door, TcpListener)>,
}

/// Makes the network of this namespace, and sends its sockets.
pub(crate) fn make(reachable: &[HostPattern], to: &UnixStream) -> Result<(), (String, io::Error)> {
    let fails = |doing: &str| {
        let doing = doing.to_owned();
        move |error: io::Error| (doing, error)
    };
    sys::loopback_up().map_err(fails("switch the loopback interface on"))?;
    // Before any process can ask: what is refused from now on is seen.
    let observer = sys::observer().map_err(fails("observe the network"))?;
    sys::make_all_addresses_local().map_err(fails("make a route"))?;
    let names = UdpSocket::bind(NAME_SERVER).map_err(fails("open the port of the name server"))?;
    let proxy = TcpListener::bind(PROXY).map_err(fails("open the port of the proxy"))?;
    let mut sockets: Vec<OwnedFd> = vec![observer, names.into(), proxy.into()];
    for door in doors::doors(reachable) {
        let listener = TcpListener::bind(door.at).map_err(fails(&format!("open the port of {}", door.to)))?;
        sockets.push(listener.into());
    }
    send(to, &sockets).map_err(fails("hand over its sockets"))
}

fn send(to: &UnixStream, sockets: &[OwnedFd]) -> io::Result<()> {
    let all: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if all.len() > SOCKETS_MAX || !message.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(io::Error::other("there are too many"));
    }
    sendmsg(to, &[IoSlice::new(&[0])], &mut message, SendFlags::empty())?;
    Ok(())
}

impl BoxSockets {
    /// Receives what [`make`] has sent. The sender has sent everything, or is gone.
    pub(crate) fn receive(reachable: &[HostPattern], from: &UnixStream) -> io::Result<Self> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
        let mut message = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let found = recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC)?;
        let mut sockets = Vec::new();
        for part in message.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = part {
                sockets.extend(fds);
            }
        }
        let doors = doors::doors(reachable);
        if found.flags.contains(ReturnFlags::CTRUNC) || sockets.len() != doors.len() + 3 {
            return Err(io::Error::other(format!("{} sockets arrived in place of {}", sockets.len(), doors.len() + 3)));
        }
        let mut sockets = sockets.into_iter();
        let mut next = || sockets.next().ok_or_else(|| io::Error::other("a socket is missing"));
        let (observer, names, proxy) = (next()?, next()?, next()?);
        let doors = doors.into_iter().map(|door| Ok((door, TcpListener::from(next()?)))).collect::<io::Result<_>>()?;
        Ok(Self { observer, names: names.into(), proxy: proxy.into(), doors })
    }
}
