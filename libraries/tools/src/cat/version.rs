//! The version of a complete download, kept with the file as an extended attribute: a later run
//! with `--resume` asks whether the resource has changed, and loads nothing if it has not. Where
//! the file system has no such attributes, it is loaded again.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use super::download::digest_of;

const ATTRIBUTE: &str = "user.bytelab.download";
/// The longest value that is read; longer ones fit into few file systems.
const VALUE_BYTES: usize = 4096;

/// Keeps the version with the file. Without it the next run loads more, so errors are ignored.
pub(super) fn keep(path: &Path, url: &OsStr, version: &str) {
    let _ = File::open(path).and_then(|file| {
        let value = before(&file, url)? + version;
        Ok(fsetxattr(&file, ATTRIBUTE, value.as_bytes(), XattrFlags::empty())?)
    });
}

/// The version of the file, if it was downloaded from this URL and has not been written since.
pub(super) fn kept(path: &Path, url: &OsStr) -> Option<String> {
    let file = File::open(path).ok()?;
    let mut value = vec![0; VALUE_BYTES];
    let len = fgetxattr(&file, ATTRIBUTE, value.as_mut_slice()).ok()?;
    let value = std::str::from_utf8(&value[..len]).ok()?;
    value.strip_prefix(&before(&file, url).ok()?).map(str::to_owned)
}

/// The text before the version: the URL, which may contain secrets, as a digest, and the size and
/// the time of the last change of the file.
fn before(file: &File, url: &OsStr) -> io::Result<String> {
    let meta = file.metadata()?;
    let (size, s, ns) = (meta.len(), meta.mtime(), meta.mtime_nsec());
    Ok(format!("{} {size} {s}.{ns:09} ", digest_of(url)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_version_is_that_of_one_url_and_of_a_file_as_it_was() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"hello").unwrap();
        let (url, path) = (OsStr::new("http://host/a"), file.path().to_owned());
        assert_eq!(kept(&path, url), None);
        keep(&path, url, "\"v 1\"");
        // A file system without attributes has no version.
        let Some(version) = kept(&path, url) else { return };
        assert_eq!(version, "\"v 1\"");
        assert_eq!(kept(&path, OsStr::new("http://host/b")), None);
        file.as_file().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(kept(&path, url), None);
        assert_eq!(kept(Path::new("/no/such/file"), url), None);
    }
}
