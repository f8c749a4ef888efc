//! Random bytes of the system, for callers that pass them in.

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::error::AuthError;

/// At most 256 bytes, which the kernel returns completely.
pub fn bytes<const N: usize>() -> Result<[u8; N], AuthError> {
    const { assert!(N <= 256) };
    let mut random = [0; N];
    loop {
        match getrandom(&mut random[..], GetRandomFlags::empty()) {
            Ok(count) if count == N => return Ok(random),
            Ok(_) => return Err(AuthError::NoRandom(std::io::Error::other("too few bytes"))),
            Err(Errno::INTR) => {}
            Err(error) => return Err(AuthError::NoRandom(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bytes_twice() {
        assert_ne!(bytes::<32>().unwrap(), bytes::<32>().unwrap());
        assert_ne!(bytes::<16>().unwrap(), [0; 16]);
    }
}
