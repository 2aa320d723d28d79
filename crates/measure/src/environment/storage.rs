//! Facts of the file system and the device that hold the data file, and the mounted file systems.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::facts::Facts;
use serde_json::Value;

use super::tree::Tree;

/// Files of a block device's queue.
const QUEUE: &[(&str, &str)] = &[
    ("data_logical_block_bytes", "logical_block_size"),
    ("data_max_sectors_kb", "max_sectors_kb"),
    ("data_nr_requests", "nr_requests"),
    ("data_physical_block_bytes", "physical_block_size"),
    ("data_read_ahead_kb", "read_ahead_kb"),
    ("data_write_cache", "write_cache"),
    ("data_write_latency_target_us", "wbt_lat_usec"),
];

/// The kind of a block device, by the beginning of its name.
const DEVICES: &[(&str, &str)] = &[
    ("nvme", "nvme"),
    ("vd", "virtio"),
    ("sd", "scsi"),
    ("xvd", "xen"),
    ("mmcblk", "mmc"),
    ("loop", "loop"),
    ("dm-", "device mapper"),
    ("md", "raid"),
    ("zram", "compressed memory"),
    ("ram", "memory"),
    ("pmem", "persistent memory"),
    ("nbd", "network"),
    ("rbd", "network"),
];

/// The storage of a file system without a block device of its own.
const FILE_SYSTEMS: &[(&str, &str)] = &[
    ("tmpfs", "memory"),
    ("ramfs", "memory"),
    ("hugetlbfs", "memory"),
    ("overlay", "overlay"),
    ("nfs", "network"),
    ("cifs", "network"),
    ("smb", "network"),
    ("ceph", "network"),
    ("9p", "host"),
    ("virtiofs", "host"),
    ("fuse", "fuse"),
    ("zfs", "zfs"),
];

pub(super) fn add(tree: &Tree, data_file: Option<&Path>, facts: &mut Facts) {
    facts.insert("data_directory".into(), data_file.and_then(directory).into());
    let existing = data_file.and_then(existing);
    let mount = existing.as_deref().and_then(|path| mount_of(tree, path));
    add_space(existing.as_deref(), facts);
    let options = mount.as_ref().map(options_of);
    facts.insert("data_file_system".into(), mount.as_ref().map(|mount| mount.kind.clone()).into());
    facts.insert("data_mount_options".into(), options.into());
    facts.insert("data_device".into(), mount.as_ref().map(|mount| mount.source.clone()).into());
    let device = mount.as_ref().and_then(|mount| Device::from_mount(tree, mount));
    add_device(tree, mount.as_ref(), device.as_ref(), facts);
}

/// The options of the mount, then those of the file system; without the other directories that
/// overlayfs lists.
fn options_of(mount: &Mount) -> String {
    let all = mount.options.split(',').chain(mount.super_options.split(','));
    let mut options: Vec<&str> = Vec::new();
    for option in all {
        let folder =
            ["lowerdir", "upperdir", "workdir"].iter().any(|name| option.starts_with(name));
        if !folder && !options.contains(&option) {
            options.push(option);
        }
    }
    options.join(",")
}

/// The facts of another path, named `data_2_file_system` and so on.
pub(super) fn of_place(tree: &Tree, path: &Path, number: usize) -> Facts {
    let mut facts = Facts::new();
    add(tree, Some(path), &mut facts);
    let renamed = |(fact, value): (String, Value)| {
        (fact.replacen("data_", &format!("data_{number}_"), 1), value)
    };
    facts.into_iter().map(renamed).collect()
}

/// The path itself if it is a directory, else the directory that holds the file.
pub(super) fn directory(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let directory = if path.is_dir() { &path } else { path.parent()? };
    directory.to_str().map(str::to_owned)
}

/// The file, or the nearest existing directory that will hold it.
fn existing(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find(|path| path.exists()).map(Path::to_owned)
}

/// Found by the number of the mount, because several mounts can have the same device number or
/// path.
#[cfg(target_os = "linux")]
fn mount_of(tree: &Tree, path: &Path) -> Option<Mount> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    // Opening a FIFO must not block, and the right to read must not be needed.
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path).ok()?;
    let text = tree.text(&format!("proc/self/fdinfo/{}", file.as_raw_fd()))?;
    let id = super::tree::number(&text, "mnt_id")?;
    Mount::all(tree).into_iter().find(|mount| mount.id == id)
}

#[cfg(not(target_os = "linux"))]
fn mount_of(_tree: &Tree, _path: &Path) -> Option<Mount> {
    None
}

fn add_space(path: Option<&Path>, facts: &mut Facts) {
    let space = path.and_then(|path| rustix::fs::statvfs(path).ok());
    let bytes = |blocks: u64| space.as_ref().and_then(|space| blocks.checked_mul(space.f_frsize));
    facts.insert("data_free_bytes".into(), space.as_ref().and_then(|s| bytes(s.f_bavail)).into());
    facts.insert("data_total_bytes".into(), space.as_ref().and_then(|s| bytes(s.f_blocks)).into());
    facts.insert("data_block_bytes".into(), space.as_ref().map(|space| space.f_bsize).into());
}

fn add_device(tree: &Tree, mount: Option<&Mount>, device: Option<&Device>, facts: &mut Facts) {
    let path = |name: &str| device.map(|device| format!("{}/{name}", device.folder));
    let value = |name: &str| path(name).map_or(Value::Null, |path| tree.value(&path));
    for (fact, name) in QUEUE {
        facts.insert((*fact).into(), value(&format!("queue/{name}")));
    }
    let flag = |name: &str| path(name).and_then(|path| tree.flag(&path));
    facts.insert("data_rotational".into(), flag("queue/rotational").into());
    let scheduler = path("queue/scheduler").and_then(|path| tree.chosen(&path));
    facts.insert("data_device_scheduler".into(), scheduler.into());
    facts.insert("data_device_model".into(), value("device/model"));
    // The kernel counts in units of 512 bytes here, whatever the block size of the device is.
    let size = path("size").and_then(|path| tree.number(&path)?.checked_mul(512));
    facts.insert("data_device_bytes".into(), size.into());
    facts.insert("data_device_name".into(), device.map(|device| device.name.clone()).into());
    facts.insert("data_device_below".into(), device.and_then(|device| device.below(tree)).into());
    let encrypted = device.map(|device| is_encrypted(tree, &device.folder, DEPTH_MAX));
    facts.insert("data_device_encrypted".into(), encrypted.into());
    let kind = match device {
        Some(device) => of_table(DEVICES, &device.name),
        None => mount.and_then(|mount| of_table(FILE_SYSTEMS, &mount.kind)),
    };
    facts.insert("data_device_kind".into(), kind.into());
    if let (None, Some(mount)) = (device, mount) {
        // Without a queue the read-ahead is that of the file system.
        let read_ahead = tree.value(&format!("sys/class/bdi/{}/read_ahead_kb", mount.device));
        facts.insert("data_read_ahead_kb".into(), read_ahead);
    }
}

/// A whole block device: its name and its directory in the tree.
struct Device {
    name: String,
    folder: String,
}

impl Device {
    /// A file system that spans devices, such as btrfs, has a number without a device; then the
    /// source of the mount identifies it.
    fn from_mount(tree: &Tree, mount: &Mount) -> Option<Self> {
        Self::numbered(tree, &mount.device).or_else(|| {
            let metadata = fs::metadata(tree.path(&mount.source)).ok()?;
            Self::numbered(tree, &number(metadata.rdev()))
        })
    }

    /// `number` is major:minor. A partition has no queue; its device is one directory above.
    fn numbered(tree: &Tree, number: &str) -> Option<Self> {
        if number.starts_with("0:") || number.contains('/') {
            return None;
        }
        let link = format!("sys/dev/block/{number}");
        let real = fs::canonicalize(tree.path(&link)).ok()?;
        let partition = real.join("partition").exists();
        let (real, folder) =
            if partition { (real.parent()?, format!("{link}/..")) } else { (real.as_path(), link) };
        Some(Self { name: real.file_name()?.to_str()?.to_owned(), folder })
    }

    /// The other device or the file that carries this one.
    fn below(&self, tree: &Tree) -> Option<String> {
        let slaves = tree.names(&format!("{}/slaves", self.folder));
        if !slaves.is_empty() {
            return Some(slaves.join(", "));
        }
        let file = tree.line(&format!("{}/loop/backing_file", self.folder))?;
        let device = Self::below_file(tree, &file);
        Some(
            device
                .map_or_else(|| "a file".to_owned(), |device| format!("a file on {}", device.name)),
        )
    }
}

impl Device {
    /// The device that holds a file.
    fn below_file(tree: &Tree, file: &str) -> Option<Self> {
        let metadata = fs::metadata(tree.path(file)).ok()?;
        Self::numbered(tree, &number(metadata.dev()))
    }
}

/// The maximum depth of stacked devices.
const DEPTH_MAX: usize = 16;

/// Whether dm-crypt is the device in this directory or one that carries it.
fn is_encrypted(tree: &Tree, folder: &str, depth: usize) -> bool {
    let uuid = tree.line(&format!("{folder}/dm/uuid")).unwrap_or_default();
    if uuid.starts_with("CRYPT-") || depth == 0 {
        return uuid.starts_with("CRYPT-");
    }
    let slaves = tree.names(&format!("{folder}/slaves"));
    let slaves = slaves.iter().map(|slave| format!("{folder}/slaves/{slave}"));
    let file = tree.line(&format!("{folder}/loop/backing_file"));
    let file = file.and_then(|file| Device::below_file(tree, &file)).map(|device| device.folder);
    slaves.chain(file).any(|folder| is_encrypted(tree, &folder, depth - 1))
}

fn number(device: u64) -> String {
    let device = device as rustix::fs::Dev;
    format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device))
}

fn of_table(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, kind)| *kind)
}

// The mounted file systems, from /proc/self/mountinfo.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) id: u64,
    /// major:minor; major 0 means no device.
    pub(super) device: String,
    /// The part of the file system that is mounted.
    pub(super) root: String,
    pub(super) point: String,
    pub(super) options: String,
    pub(super) kind: String,
    pub(super) source: String,
    pub(super) super_options: String,
}

impl Mount {
    /// Fields are separated by spaces; the number of those before the single `-` varies (proc(5)).
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let (left, right): (Vec<&str>, Vec<&str>) =
            (left.split(' ').collect(), right.split(' ').collect());
        Some(Self {
            id: left.first()?.parse().ok()?,
            device: (*left.get(2)?).to_owned(),
            root: unescape(left.get(3)?),
            point: unescape(left.get(4)?),
            options: (*left.get(5)?).to_owned(),
            kind: (*right.first()?).to_owned(),
            source: unescape(right.get(1)?),
            super_options: (*right.get(2)?).to_owned(),
        })
    }

    pub(super) fn all(tree: &Tree) -> Vec<Self> {
        let text = tree.text("proc/self/mountinfo").unwrap_or_default();
        text.lines().filter_map(Self::parse).collect()
    }
}

/// Spaces, tabs, line ends and backslashes are written as `\040` and so on.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if code.is_ascii() => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            _ => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mount(line: &str) -> Mount {
        Mount::parse(line).unwrap()
    }

    /// A disk with a partition, a device on top of it, and a device in a file.
    fn tree(directory: &Path) -> Tree {
        let tree = Tree::new(directory);
        let write = |path, text| tree.write(path, text);
        write("sys/devices/sda/sda1/partition", "1\n");
        write("sys/devices/sda/queue/scheduler", "none [mq-deadline] kyber\n");
        write("sys/devices/sda/queue/read_ahead_kb", "128\n");
        write("sys/devices/sda/queue/rotational", "1\n");
        write("sys/devices/sda/size", "1000\n");
        write("sys/devices/sda/device/model", "WDC WD40    \n");
        write("sys/devices/dm-0/slaves/sda1/partition", "1\n");
        // A logical volume on an encrypted partition.
        write("sys/devices/dm-1/dm/uuid", "LVM-x\n");
        write("sys/devices/dm-1/slaves/dm-2/dm/uuid", "CRYPT-LUKS2-x\n");
        write("sys/devices/loop0/loop/backing_file", "/image\n");
        write("sys/class/bdi/0:40/read_ahead_kb", "4096\n");
        write("sys/dev/block/README", "");
        for (number, folder) in
            [("8:1", "sda/sda1"), ("253:0", "dm-0"), ("253:1", "dm-1"), ("7:0", "loop0")]
        {
            let target = format!("../../devices/{folder}");
            symlink(target, tree.path(&format!("sys/dev/block/{number}"))).unwrap();
        }
        tree
    }

    fn device_facts(line: &str) -> Facts {
        let directory = tempfile::tempdir().unwrap();
        let tree = tree(directory.path());
        let mount = mount(line);
        let mut facts = Facts::new();
        add_device(&tree, Some(&mount), Device::from_mount(&tree, &mount).as_ref(), &mut facts);
        facts
    }

    #[test]
    fn a_partition_is_described_by_its_disk() {
        let facts = device_facts("1 0 8:1 / / rw - ext4 /dev/sda1 rw");
        assert_eq!(facts["data_device_name"], "sda");
        assert_eq!(facts["data_device_kind"], "scsi");
        assert_eq!(facts["data_device_scheduler"], "mq-deadline");
        assert_eq!(facts["data_device_model"], "WDC WD40");
        assert_eq!(facts["data_device_bytes"], 512_000);
        assert_eq!(facts["data_read_ahead_kb"], 128);
        assert_eq!(facts["data_rotational"], true);
        assert_eq!(facts["data_nr_requests"], Value::Null);
    }

    #[test]
    fn the_device_below_is_named() {
        let check = |number: &str, kind: &str, below: &str| {
            let facts = device_facts(&format!("1 0 {number} / / rw - ext4 x rw"));
            assert_eq!(
                (&facts["data_device_kind"], &facts["data_device_below"]),
                (&kind.into(), &below.into())
            );
        };
        check("253:0", "device mapper", "sda1");
        check("7:0", "loop", "a file");
    }

    #[test]
    fn encryption_of_the_device_below_is_reported() {
        let encrypted = |number: &str| {
            let facts = device_facts(&format!("1 0 {number} / / rw - ext4 x rw"));
            facts["data_device_encrypted"].clone()
        };
        assert_eq!(encrypted("253:1"), true);
        assert_eq!(encrypted("253:0"), false);
        assert_eq!(encrypted("8:1"), false);
        // For memory, a network or an overlay it is not known.
        assert_eq!(encrypted("0:40"), Value::Null);
    }

    #[test]
    fn options_are_reported_once_and_without_folders_of_others() {
        let line = "1 0 0:40 / / rw,noatime - overlay none rw,lowerdir=/a:/b,upperdir=/c,index=off";
        assert_eq!(options_of(&mount(line)), "rw,noatime,index=off");
    }

    #[test]
    fn a_file_system_without_a_device_is_named_honestly() {
        let check = |kind: &str, expected: Value| {
            let facts = device_facts(&format!("1 0 0:40 / / rw - {kind} none rw"));
            assert_eq!(facts["data_device_kind"], expected);
            assert_eq!(facts["data_device_name"], Value::Null);
            assert_eq!(facts["data_read_ahead_kb"], 4096);
        };
        check("tmpfs", "memory".into());
        check("overlay", "overlay".into());
        check("nfs4", "network".into());
        check("fuse.sshfs", "fuse".into());
        check("strange", Value::Null);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_that_is_not_there_yet_lies_where_its_folder_lies() {
        let directory = tempfile::tempdir().unwrap();
        let facts_of = |path: &Path| {
            let mut facts = Facts::new();
            add(&Tree::new("/"), Some(path), &mut facts);
            facts
        };
        let (folder, file) = (facts_of(directory.path()), facts_of(&directory.path().join("a/b")));
        assert!(file["data_file_system"].is_string(), "{file:?}");
        assert!(file["data_free_bytes"].is_u64(), "{file:?}");
        assert_eq!(folder["data_mount_options"], file["data_mount_options"]);
        assert_eq!(facts_of(Path::new("/proc/self/stat"))["data_file_system"], "proc");
    }
}

#[cfg(test)]
mod mount_tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_taken_apart_at_its_spaces() {
        let line = r"27 1 254:0 /part /with\040space rw,noatime shared:1 master:2 - ext4 /dev/vda rw,discard";
        let mount = Mount::parse(line).unwrap();
        assert_eq!((mount.id, mount.device.as_str(), mount.root.as_str()), (27, "254:0", "/part"));
        assert_eq!((mount.point.as_str(), mount.options.as_str()), ("/with space", "rw,noatime"));
        assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext4", "/dev/vda"));
        assert_eq!(mount.super_options, "rw,discard");
        assert_eq!(Mount::parse("27 1 254:0 / / rw ext4 /dev/vda rw"), None);
        assert_eq!(Mount::parse("27 1 254:0 - ext4"), None);
    }

    #[test]
    fn escapes_become_what_they_stand_for() {
        let check = |text, expected: &str| assert_eq!(unescape(text), expected);
        check(r"a\040b\134\011", "a b\\\t");
        check(r"a\", r"a\");
        check(r"a\9990", r"a\9990");
        check(r"\é12", r"\é12");
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in r"(\PC|[ :/\\-]|[0-9]|\\[0-9]{1,3}| - )*") {
            let _ = Mount::parse(&line);
            let _ = unescape(&line);
        }
    }
}
