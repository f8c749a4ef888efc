//! The first token: one line in a file, created when the server starts for the first time. It may do everything.

use std::path::{Path, PathBuf};

use super::error::{AuthError, TokenFileProblem};
use super::private_file;
use super::token::{LENGTH_MAX, Token, TokenHash};

/// An operator may use their own token, but not one that can be guessed.
pub const LENGTH_MIN: usize = 16;
/// Room for the token and for what an editor adds to its end.
const FILE_MAX: u64 = LENGTH_MAX as u64 + 64;

/// The first token, as a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFile {
    path: PathBuf,
    hash: TokenHash,
}

impl TokenFile {
    /// The default path.
    pub fn default_path(data: &Path) -> PathBuf {
        data.join("server.token")
    }

    /// Reads the token, or creates one from `random` if there is no file.
    pub fn load_or_make(path: &Path, random: [u8; 32]) -> Result<Self, AuthError> {
        let new = format!("{}\n", Token::new(random).reveal());
        let bytes = private_file::read_or_make(path, FILE_MAX, new.as_bytes())?;
        let token = token(&bytes).map_err(|problem| AuthError::Content { path: path.to_owned(), problem })?;
        Ok(Self { path: path.to_owned(), hash: TokenHash::of(token) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn hash(&self) -> TokenHash {
        self.hash
    }
}

/// The one token in the file, without the end of its line.
fn token(bytes: &[u8]) -> Result<&[u8], TokenFileProblem> {
    let token = bytes.trim_ascii();
    match token.len() {
        0 => Err(TokenFileProblem::Empty),
        1..LENGTH_MIN => Err(TokenFileProblem::TooShort(LENGTH_MIN)),
        LENGTH_MIN..=LENGTH_MAX if token.iter().all(u8::is_ascii_graphic) => Ok(token),
        LENGTH_MIN..=LENGTH_MAX => Err(TokenFileProblem::NotPrintable),
        _ => Err(TokenFileProblem::TooLong(LENGTH_MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skillrun_base::files::FileProblem;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_made_once_and_read_ever_after() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data/server.token");
        let made = TokenFile::load_or_make(&path, [1; 32]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{}\n", Token::new([1; 32]).reveal()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(made.hash(), TokenHash::of(text.trim().as_bytes()));
        assert_eq!(TokenFile::load_or_make(&path, [2; 32]).unwrap(), made);
        assert_eq!(made.path(), path);
    }

    #[test]
    fn one_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.token");
        TokenFile::load_or_make(&path, [1; 32]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = TokenFile::load_or_make(&path, [1; 32]).unwrap_err().to_string();
        assert!(error.ends_with(": other users may read or change it (mode 644); run `chmod 600` on it"), "{error}");
    }

    #[test]
    fn one_that_can_be_guessed_or_not_be_sent_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.token");
        TokenFile::load_or_make(&path, [1; 32]).unwrap();
        for (content, problem) in [
            ("".to_owned(), TokenFileProblem::Empty),
            ("\n \n".to_owned(), TokenFileProblem::Empty),
            ("x".repeat(15), TokenFileProblem::TooShort(16)),
            (format!("{}\n", "x".repeat(15)), TokenFileProblem::TooShort(16)),
            (format!("{} {}", "x".repeat(15), "x".repeat(15)), TokenFileProblem::NotPrintable),
            (format!("{}\n{}", "x".repeat(15), "x".repeat(15)), TokenFileProblem::NotPrintable),
            ("ü".repeat(16), TokenFileProblem::NotPrintable),
            ("x".repeat(513), TokenFileProblem::TooLong(512)),
        ] {
            fs::write(&path, &content).unwrap();
            match TokenFile::load_or_make(&path, [1; 32]) {
                Err(AuthError::Content { problem: found, .. }) => assert_eq!(found, problem),
                other => panic!("{content:?}: {other:?}"),
            }
        }
        fs::write(&path, "x".repeat(10_000)).unwrap();
        assert!(matches!(
            TokenFile::load_or_make(&path, [1; 32]),
            Err(AuthError::Unusable { problem: FileProblem::TooLarge(_), .. })
        ));
        fs::write(&path, format!(" {}\r\n", "x".repeat(16))).unwrap();
        assert_eq!(TokenFile::load_or_make(&path, [1; 32]).unwrap().hash(), TokenHash::of(&[b'x'; 16]));
    }
}
