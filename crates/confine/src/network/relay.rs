//! Copies bytes between two connections until both have ended.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::thread;

/// Threads that copy need little.
pub(super) const STACK: usize = 128 * 1024;

/// Returns when both directions have ended.
pub(super) fn relay(inside: &TcpStream, outside: &TcpStream) {
    let up = || copy(inside, outside);
    thread::scope(|scope| {
        match thread::Builder::new().name("box-network-up".to_owned()).stack_size(STACK).spawn_scoped(scope, up) {
            Ok(_) => copy(outside, inside),
            Err(_) => {
                inside.shutdown(Shutdown::Both).ok();
                outside.shutdown(Shutdown::Both).ok();
            }
        }
    });
}

/// The end of one direction is passed on; an error ends both.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    match io::copy(&mut from, &mut to) {
        Ok(_) => to.shutdown(Shutdown::Write).ok(),
        Err(_) => {
            from.shutdown(Shutdown::Both).ok();
            to.shutdown(Shutdown::Both).ok()
        }
    };
}
