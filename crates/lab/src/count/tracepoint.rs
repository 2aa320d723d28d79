//! The ids of tracepoints, and the formats of their records. They are read from tracefs; where that
//! is not mounted, from a new mount that is attached to no directory and ends when it is closed.

use std::fs;
use std::io::{self, ErrorKind};

const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The format of a tracepoint's record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) id: u64,
    fields: Vec<Field>,
}

/// A numeric field of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    offset: usize,
    size: usize,
}

/// The id of the tracepoint at the beginning of each system call. The error is the reason why it is
/// not available, and what would help.
pub(crate) fn id() -> Result<u64, String> {
    let text = file("raw_syscalls/sys_enter", "id")?;
    text.trim().parse().map_err(|_| format!("tracefs: {:?} is no tracepoint number", text.trim()))
}

/// The format of the tracepoint of this name, which is `group/event`.
pub(crate) fn format(event: &str) -> Result<Format, String> {
    let text = file(event, "format")?;
    Format::parse(&text).ok_or_else(|| format!("tracefs: {event}/format is not understood"))
}

impl Format {
    fn parse(text: &str) -> Option<Format> {
        let after = |line: &str, word: &str| {
            let rest = line.split_once(word)?.1;
            rest.split_once(';').map_or(rest, |(number, _)| number).trim().parse::<usize>().ok()
        };
        let id = text.lines().find_map(|line| after(line, "ID:"))? as u64;
        let field = |line: &str| {
            let declared = line.trim().strip_prefix("field:")?.split_once(';')?.0;
            let name = declared.rsplit(' ').next()?.to_owned();
            Some(Field { name, offset: after(line, "offset:")?, size: after(line, "size:")? })
        };
        Some(Format { id, fields: text.lines().filter_map(field).collect() })
    }

    /// The position of the field with this name.
    pub(crate) fn place(&self, name: &str) -> Option<FieldLayout> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        Some(FieldLayout { offset: field.offset, size: field.size })
    }
}

/// The position of a number in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldLayout {
    offset: usize,
    size: usize,
}

impl FieldLayout {
    pub(crate) fn read(self, raw: &[u8]) -> Option<i64> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        match self.size {
            4 => Some(i64::from(i32::from_ne_bytes(bytes.try_into().ok()?))),
            8 => Some(i64::from_ne_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }
}

fn file(event: &str, name: &str) -> Result<String, String> {
    let file = format!("events/{event}/{name}");
    let mut refused = false;
    for mount in MOUNTS {
        match fs::read_to_string(format!("{mount}/{file}")) {
            Ok(text) => return Ok(text),
            Err(error) => refused |= error.kind() == ErrorKind::PermissionDenied,
        }
    }
    match from_detached_mount(&file) {
        Ok(text) => Ok(text),
        Err(_) if refused => Err("tracefs may be read by root only".to_owned()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err("tracefs is not mounted, and mounting it needs root".to_owned())
        }
        Err(error) => {
            let event = event.replace('/', ":");
            Err(format!("this kernel has no tracepoint {event} ({error})"))
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn from_detached_mount(_file: &str) -> io::Result<String> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn from_detached_mount(file: &str) -> io::Result<String> {
    use std::io::Read;

    use rustix::fs::{Mode, OFlags, openat};
    use rustix::mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen,
    };

    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let mount =
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    let file = openat(&mount, file, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::new();
    fs::File::from(file).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKEUP: &str = "name: sched_wakeup
ID: 312
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;
";

    #[test]
    fn a_format_says_where_a_number_stands() {
        let format = Format::parse(WAKEUP).unwrap();
        assert_eq!(format.id, 312);
        assert_eq!(format.place("pid"), Some(FieldLayout { offset: 24, size: 4 }));
        assert_eq!(format.place("nothing"), None);
        let mut raw = [0u8; 40];
        raw[24..28].copy_from_slice(&77i32.to_ne_bytes());
        assert_eq!(format.place("pid").unwrap().read(&raw), Some(77));
        assert_eq!(format.place("pid").unwrap().read(&raw[..27]), None);
        assert_eq!(format.place("comm[16]").unwrap().read(&raw), None, "text is no number");
        assert_eq!(Format::parse("name: x"), None);
    }
}
