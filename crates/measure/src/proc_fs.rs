//! The files of processes below `/proc`. Where a pid namespace has no `/proc` of its own, they are
//! those of other processes that have the same numbers, and are not read.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The number that `/proc` has for this process; none where there is no `/proc`.
fn own_number() -> Option<u32> {
    std::fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

/// Whether `/proc` names processes by the numbers that this process sees.
pub fn is_own() -> bool {
    static IS_OWN: OnceLock<bool> = OnceLock::new();
    *IS_OWN.get_or_init(|| own_number() == Some(std::process::id()))
}

/// The path of a file of a process; an error where `/proc` is of another pid namespace.
pub fn path(process: u32, name: &str) -> io::Result<PathBuf> {
    if is_own() {
        return Ok(format!("/proc/{process}/{name}").into());
    }
    Err(io::Error::other("/proc is that of another pid namespace, or is not there"))
}

/// The path at which the children of this process find its open file.
pub(crate) fn path_of_own_file(file: &impl AsFd) -> String {
    let process = own_number().unwrap_or_else(std::process::id);
    format!("/proc/{process}/fd/{}", file.as_fd().as_raw_fd())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_of_this_process_is_found() {
        assert!(is_own());
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(
            std::fs::read_link(path_of_own_file(&file)).unwrap(),
            std::path::Path::new("/dev/null")
        );
        let status = std::fs::read_to_string(path(std::process::id(), "status").unwrap()).unwrap();
        assert!(status.contains(&format!("\nPid:\t{}\n", std::process::id())));
    }
}
