//! The file of the catalog: opened, created, rebuilt, or kept in memory if it cannot be written.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior};
use skillrun_base::files;

use super::fold::FOLD_VERSION;
use super::trouble::{CatalogError, CatalogProblem, is_damage, is_misfit};
use skillrun_log::file::Boot;

/// The version of the tables.
const SCHEMA: i64 = 5;

/// How long a process waits for another one before it falls back to memory.
const DATABASE_LOCK_TIMEOUT: Duration = if cfg!(test) { Duration::from_millis(500) } else { Duration::from_secs(5) };

const TABLES: &str = "
    CREATE TABLE meta (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        boot TEXT NOT NULL,
        fold TEXT NOT NULL,
        making INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE runs (
        run_id TEXT PRIMARY KEY,
        inode INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        status TEXT,
        skill TEXT,
        engine TEXT,
        created_at TEXT,
        asks_until TEXT,
        damaged INTEGER NOT NULL,
        retried_as TEXT,
        retried_until TEXT,
        parent TEXT,
        root TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX questions ON runs (asks_until, run_id) WHERE asks_until IS NOT NULL;
    CREATE INDEX children ON runs (parent, run_id) WHERE parent IS NOT NULL;
    CREATE INDEX families ON runs (root, run_id) WHERE root IS NOT NULL;
    CREATE TABLE details (
        run_id TEXT PRIMARY KEY,
        row TEXT NOT NULL,
        fold TEXT NOT NULL,
        words TEXT NOT NULL
    ) STRICT;
";

/// The journal keeps its file between two transactions, so that no transaction creates and deletes one. It is cut to
/// this size after a larger transaction.
const JOURNAL_BYTES_MAX: u64 = 1 << 20;

/// What happened to the catalog when it was opened, or later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    Good,
    /// There was none; it was created.
    Made,
    /// There was one that could not be used; it was rebuilt.
    Rebuilt {
        why: Rebuild,
    },
    /// The file cannot be read or written; the catalog is kept in memory until it is opened again.
    InMemory {
        why: String,
    },
}

/// Why a catalog was rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rebuild {
    Damaged(String),
    /// Created by another version of this program.
    OtherVersion,
    /// Created before the machine was rebooted.
    OtherBoot,
}

impl fmt::Display for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good => f.write_str("the catalog is valid"),
            Self::Made => f.write_str("the catalog was created"),
            Self::Rebuilt { why: Rebuild::Damaged(what) } => {
                write!(f, "the catalog was damaged and has been rebuilt: {what}")
            }
            Self::Rebuilt { why: Rebuild::OtherVersion } => {
                f.write_str("the catalog was of another version and has been rebuilt")
            }
            Self::Rebuilt { why: Rebuild::OtherBoot } => f.write_str("the catalog was rebuilt after a reboot"),
            Self::InMemory { why } => write!(f, "the catalog is kept in memory, which is slower: {why}"),
        }
    }
}

/// What is known about a file before it is opened.
#[derive(Debug)]
pub(super) enum Known {
    Nothing,
    /// An earlier query found this error in it.
    Damage(rusqlite::Error),
}

#[derive(Debug)]
pub(super) struct Store {
    db: Connection,
    place: Place,
    /// The number of the tables read last.
    making: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Its device and inode.
    File(u64, u64),
    Memory,
}

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("the system does not provide a boot id, so a catalog could not be trusted later")]
    NoBoot,
    #[error("another process keeps recreating the catalog")]
    Contended,
}

impl Store {
    /// The catalog at `path`, or one in memory.
    pub(super) fn open(path: &Path, boot: &Boot, known: Known) -> Result<(Self, Opened), CatalogError> {
        match Self::open_file(path, boot, known) {
            Ok(opened) => Ok(opened),
            Err(error) => Self::in_memory(format!("{}: {error}", path.display())),
        }
    }

    pub(super) fn in_memory(why: String) -> Result<(Self, Opened), CatalogError> {
        let made = (|| {
            let mut db = Connection::open_in_memory()?;
            let making = create(&mut db, "memory")?;
            Ok(Self { db, place: Place::Memory, making })
        })();
        let store = made.map_err(|error: rusqlite::Error| CatalogError::Memory(error.into()))?;
        Ok((store, Opened::InMemory { why }))
    }

    fn open_file(path: &Path, boot: &Boot, known: Known) -> Result<(Self, Opened), Unusable> {
        let boot_name = boot.0.as_deref().ok_or(Unusable::NoBoot)?;
        make_private(path)?;
        let mut db =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        let found = fs::metadata(path)?;
        db.busy_timeout(DATABASE_LOCK_TIMEOUT)?;
        let mut opened = Opened::Good;
        if let Known::Damage(error) = known {
            reset(&db)?;
            opened = Opened::Rebuilt { why: Rebuild::Damaged(error.to_string()) };
        }
        // Each round but the last changes something; other processes may do so too.
        for _ in 0..4 {
            match examine(&db, boot) {
                Ok(Found::Good(making)) => {
                    let place = Place::File(found.dev(), found.ino());
                    return Ok((Self { db, place, making }, opened));
                }
                Ok(Found::Empty) => {
                    create(&mut db, boot_name)?;
                    if opened == Opened::Good {
                        opened = Opened::Made;
                    }
                }
                Ok(Found::Other(why)) => {
                    reset(&db)?;
                    opened = Opened::Rebuilt { why };
                }
                Err(error) if is_damage(&error) => {
                    reset(&db)?;
                    opened = Opened::Rebuilt { why: Rebuild::Damaged(error.to_string()) };
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Unusable::Contended)
    }

    pub(super) fn is_in_memory(&self) -> bool {
        self.place == Place::Memory
    }

    /// Whether the file at `path` is still the one that is open.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        match self.place {
            Place::Memory => true,
            Place::File(dev, ino) => fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (dev, ino)),
        }
    }

    /// Runs queries in one consistent snapshot.
    pub(super) fn read<T>(
        &mut self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, CatalogProblem> {
        self.during(TransactionBehavior::Deferred, |transaction| ask(transaction).map_err(CatalogProblem::from))
    }

    /// Runs changes in an exclusive transaction.
    pub(super) fn write<T>(
        &mut self,
        act: impl FnOnce(&Connection) -> Result<T, CatalogProblem>,
    ) -> Result<T, CatalogProblem> {
        self.during(TransactionBehavior::Immediate, |transaction| act(transaction))
    }

    fn during<T>(
        &mut self,
        behavior: TransactionBehavior,
        act: impl FnOnce(&Transaction<'_>) -> Result<T, CatalogProblem>,
    ) -> Result<T, CatalogProblem> {
        let transaction = self.db.transaction_with_behavior(behavior)?;
        match transaction.query_row("SELECT making FROM meta", [], |row| row.get::<_, i64>(0)).optional() {
            Ok(Some(making)) if making == self.making => {}
            Ok(_) => return Err(CatalogProblem::Changed),
            Err(error) if is_misfit(&error) => return Err(CatalogProblem::Changed),
            Err(error) => return Err(error.into()),
        }
        let done = act(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

/// Creates the file if there is none, so that SQLite does not create it readable for all users. An existing file is not
/// opened here: closing it would release the locks that SQLite has on it in this process.
fn make_private(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        files::create_private_folder(folder)?;
    }
    match files::create_private(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // SQLite may still be able to read it.
        Err(_) if path.exists() => Ok(()),
        Err(error) => Err(error),
    }
}

/// The state of a file.
enum Found {
    Good(i64),
    Empty,
    Other(Rebuild),
}

fn examine(db: &Connection, boot: &Boot) -> rusqlite::Result<Found> {
    // Even these statements read the file, so they may find it damaged.
    db.execute_batch(&format!(
        "PRAGMA synchronous = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;
         PRAGMA journal_mode = PERSIST; PRAGMA journal_size_limit = {JOURNAL_BYTES_MAX}"
    ))?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(Found::Empty);
    }
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != SCHEMA {
        return Ok(Found::Other(Rebuild::OtherVersion));
    }
    let meta = db.query_row("SELECT boot, fold, making FROM meta", [], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get(2)?))
    });
    Ok(match meta.optional()? {
        Some((_, fold, _)) if fold != FOLD_VERSION => Found::Other(Rebuild::OtherVersion),
        Some((seen, _, _)) if !boot.is(Some(&seen)) => Found::Other(Rebuild::OtherBoot),
        Some((_, _, making)) => Found::Good(making),
        None => Found::Other(Rebuild::OtherVersion),
    })
}

/// Empties a file whatever its content, by means of SQLite: under its locks, so that no process reads half of it.
fn reset(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = db.execute_batch("VACUUM");
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    emptied
}

/// Creates the tables, unless another process was quicker.
fn create(db: &mut Connection, boot: &str) -> rusqlite::Result<i64> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(&format!("PRAGMA user_version = {SCHEMA}"))?;
        transaction
            .execute("INSERT INTO meta (one, boot, fold, making) VALUES (1, ?1, ?2, random())", [boot, FOLD_VERSION])?;
    }
    let making = transaction.query_row("SELECT making FROM meta", [], |row| row.get(0))?;
    transaction.commit()?;
    Ok(making)
}
