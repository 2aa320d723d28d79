//! The names of the system calls of this architecture.

use std::str::FromStr;

use syscalls::Sysno;

/// `read`, or `syscall_9999` for a call without a known name.
pub(crate) fn name(number: u64) -> String {
    match usize::try_from(number).ok().and_then(Sysno::new) {
        Some(known) => known.name().to_owned(),
        None => format!("syscall_{number}"),
    }
}

/// Whether [`name`] gives this name for some number.
pub fn is_system_call(name: &str) -> bool {
    let number = name.strip_prefix("syscall_").map(str::parse::<u64>);
    Sysno::from_str(name).is_ok() || matches!(number, Some(Ok(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names() {
        assert_eq!(name(libc::SYS_read as u64), "read");
        assert_eq!(name(libc::SYS_getppid as u64), "getppid");
        assert_eq!(name(9999), "syscall_9999");
        assert_eq!(name(u64::MAX), format!("syscall_{}", u64::MAX));
        for known in ["read", "getppid", "syscall_9999"] {
            assert!(is_system_call(known), "{known}");
        }
        for other in ["", "secret", "syscall_", "syscall_x"] {
            assert!(!is_system_call(other), "{other}");
        }
    }
}
