//! Files that hold secrets: private, bounded when read, replaced whole, and locked while they are changed.
//!
//! A file that its group or others may read or write is **refused**, as ssh does with its keys: a warning would be
//! lost in a log, and the remedy is one `chmod`. Where there are no Unix modes, this check does not exist.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::{Error, ErrorKind, Result};

/// Reads a private file of at most `limit` bytes; `what` names its kind in errors.
pub(super) fn read(path: &Path, what: &str, limit: u64) -> Result<Zeroizing<Vec<u8>>> {
    let file = File::open(path).map_err(|source| io_error(source, "read", what, path))?;
    let metadata = file.metadata().map_err(|source| io_error(source, "read", what, path))?;
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, format!("{what} {} is not a file", path.display())));
    }
    check_private(&metadata, what, path)?;
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|source| io_error(source, "read", what, path))?;
    if bytes.len() as u64 > limit {
        let message = format!("{what} {} is larger than {limit} bytes", path.display());
        return Err(Error::new(ErrorKind::Damaged, message));
    }
    Ok(bytes)
}

/// Writes a private file that must not exist yet.
pub(super) fn write_new(path: &Path, what: &str, bytes: &[u8]) -> Result<()> {
    let mut file = private(OpenOptions::new().write(true).create_new(true))
        .open(path)
        .map_err(|source| io_error(source, "create", what, path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|source| io_error(source, "write", what, path))?;
    sync_parent(path).map_err(|source| io_error(source, "write", what, path))
}

/// Puts `bytes` in place of a file, or makes it: after a crash there is the old file or the new one, whole.
///
/// The caller holds the [lock](Lock), so the temporary name is ours alone; one left by a crash is replaced.
pub(super) fn replace(path: &Path, what: &str, bytes: &[u8], _lock: &Lock) -> Result<()> {
    let temporary = with_suffix(path, ".tmp");
    match fs::remove_file(&temporary) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(io_error(source, "replace", what, &temporary));
        }
        _ => {}
    }
    write_new(&temporary, what, bytes)?;
    fs::rename(&temporary, path)
        .and_then(|()| sync_parent(path))
        .map_err(|source| io_error(source, "write", what, path))
}

/// The exclusive right to change a file, among processes and threads; given back when dropped.
///
/// A file of its own beside it (`NAME.lock`, empty, never removed) is what is locked, since the file itself is
/// replaced at every change. Readers need no lock.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until nobody else holds it; a change takes milliseconds.
    pub(super) fn acquire(path: &Path, what: &str) -> Result<Self> {
        let lock_path = with_suffix(path, ".lock");
        let file = private(OpenOptions::new().write(true).create(true).truncate(false))
            .open(&lock_path)
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|source| io_error(source, "lock", what, &lock_path))?;
        Ok(Self { _file: file })
    }
}

/// Makes the folders above `path`.
pub(super) fn create_parent(path: &Path, what: &str) -> Result<()> {
    match path.parent() {
        Some(parent) => {
            fs::create_dir_all(parent).map_err(|source| io_error(source, "create the folder of", what, path))
        }
        None => Ok(()),
    }
}

pub(super) fn io_error(source: io::Error, doing: &str, what: &str, path: &Path) -> Error {
    let (kind, message) = match source.kind() {
        io::ErrorKind::NotFound if doing == "read" => {
            (ErrorKind::NotFound, format!("{what} {} does not exist", path.display()))
        }
        io::ErrorKind::AlreadyExists => (ErrorKind::AlreadyExists, format!("{what} {} exists already", path.display())),
        _ => (ErrorKind::Io, format!("cannot {doing} {what} {}", path.display())),
    };
    Error::new(kind, message).with_source(source)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(unix)]
fn check_private(metadata: &fs::Metadata, what: &str, path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    let others = mode & 0o077;
    if others == 0 {
        return Ok(());
    }
    let path = path.display();
    let message = format!("{what} {path} is open to other users (mode {mode:04o}): run `chmod 600 {path}`");
    Err(Error::new(ErrorKind::InvalidInput, message))
}

#[cfg(not(unix))]
fn check_private(_metadata: &fs::Metadata, _what: &str, _path: &Path) -> Result<()> {
    Ok(())
}

/// Makes a new or renamed name durable.
#[cfg(unix)]
fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

#[cfg(not(unix))]
fn sync_parent(_path: &Path) -> io::Result<()> {
    Ok(())
}
