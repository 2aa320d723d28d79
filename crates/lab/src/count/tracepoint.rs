//! The number of the tracepoint at which each system call begins. tracefs tells it; where that is not
//! mounted, a mount that is attached nowhere is asked, and is gone when it is closed.

use std::fs;
use std::io::{self, ErrorKind, Read};

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const FILE: &str = "events/raw_syscalls/sys_enter/id";

/// The error says why it cannot be had, and what would help.
pub(super) fn id() -> Result<u64, String> {
    let mut refused = false;
    for mount in MOUNTS {
        match fs::read_to_string(format!("{mount}/{FILE}")) {
            Ok(text) => return parse(&text),
            Err(error) => refused |= error.kind() == ErrorKind::PermissionDenied,
        }
    }
    match from_detached_mount() {
        Ok(text) => parse(&text),
        Err(_) if refused => Err("tracefs may be read by root only".to_owned()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err("tracefs is not mounted, and mounting it needs root".to_owned())
        }
        Err(error) => {
            Err(format!("this kernel has no tracepoint raw_syscalls:sys_enter ({error})"))
        }
    }
}

fn parse(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("tracefs: {:?} is no tracepoint number", text.trim()))
}

fn from_detached_mount() -> io::Result<String> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let mount =
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    let file = openat(&mount, FILE, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    fs::File::from(file).read_to_string(&mut text)?;
    Ok(text)
}
