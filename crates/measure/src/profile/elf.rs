//! What unwinding needs of an ELF file: where its segments are loaded, and its tables of frames.
//! Only files of 64 bits in little-endian order are read.

use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use framehop::ExplicitModuleSectionInfo;
use gimli::{BaseAddresses, EhFrame, EhFrameHdr, LittleEndian, UnwindSection};

#[derive(Debug, Default)]
pub(super) struct ElfFile {
    segments: Vec<ElfSegment>,
    sections: Vec<ElfSection>,
}

/// A segment that is loaded.
#[derive(Debug)]
struct ElfSegment {
    offset: u64,
    address: u64,
    size: u64,
}

#[derive(Debug)]
struct ElfSection {
    name: String,
    addresses: Range<u64>,
    data: Option<Arc<[u8]>>,
}

/// The sections whose content is needed; a larger one is left out.
const WITH_DATA: [&str; 2] = [".eh_frame", ".eh_frame_hdr"];
const SECTION_BYTES_MAX: u64 = 64 << 20;
const HEADERS_MAX: usize = 4096;

impl ElfFile {
    /// None if it is no such file.
    pub(super) fn open(path: &Path) -> Option<ElfFile> {
        // What is no regular file may never end, or may change by being read; a named pipe would
        // even have to be waited for.
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path);
        let file =
            file.ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
        let header = ElfBytes::read(&file, 0, 64)?;
        if !header.0.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let segments = headers(&file, &header, [32, 54, 56])?;
        let segments = segments.iter().filter(|segment| segment.u32(0) == Some(1));
        let segments = segments.filter_map(|segment| {
            let [offset, address, size] = [8, 16, 32].map(|at| segment.u64(at));
            Some(ElfSegment { offset: offset?, address: address?, size: size? })
        });
        Some(ElfFile { segments: segments.collect(), sections: sections(&file, &header)? })
    }

    /// The address that the file gives to the byte at this offset.
    pub(super) fn address_of(&self, offset: u64) -> Option<u64> {
        // A mapping begins at a page, which may be before the segment.
        let holds = |segment: &&ElfSegment| {
            (segment.offset & !0xfff..segment.offset.saturating_add(segment.size)).contains(&offset)
        };
        let segment = self.segments.iter().find(holds)?;
        Some(segment.address.wrapping_add(offset).wrapping_sub(segment.offset))
    }

    /// Where the function begins that has this address: its frames say it without any symbol.
    pub(super) fn function_start(&self, address: u64) -> Option<u64> {
        let (frames, table) = (self.section(".eh_frame")?, self.section(".eh_frame_hdr")?);
        let bases = BaseAddresses::default()
            .set_eh_frame(frames.addresses.start)
            .set_eh_frame_hdr(table.addresses.start);
        let table = EhFrameHdr::new(table.data.as_deref()?, LittleEndian).parse(&bases, 8).ok()?;
        let frames = EhFrame::new(frames.data.as_deref()?, LittleEndian);
        let frame =
            table.table()?.fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset);
        Some(frame.ok()?.initial_address())
    }

    fn section(&self, name: &str) -> Option<&ElfSection> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub(super) fn section_info(&self) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
        let addresses = |name| self.section(name).map(|section| section.addresses.clone());
        let data = |name| self.section(name).and_then(|section| section.data.clone());
        ExplicitModuleSectionInfo {
            text_svma: addresses(".text"),
            got_svma: addresses(".got"),
            eh_frame_svma: addresses(".eh_frame"),
            eh_frame: data(".eh_frame"),
            eh_frame_hdr_svma: addresses(".eh_frame_hdr"),
            eh_frame_hdr: data(".eh_frame_hdr"),
            ..ExplicitModuleSectionInfo::default()
        }
    }
}

/// The entries of a table: where the header has its offset, the size of an entry, and their number.
fn headers(
    file: &File,
    header: &ElfBytes,
    [offset, size, number]: [usize; 3],
) -> Option<Vec<ElfBytes>> {
    let (offset, size) = (header.u64(offset)?, usize::from(header.u16(size)?));
    let number = usize::from(header.u16(number)?).min(HEADERS_MAX);
    let table = ElfBytes::read(file, offset, size * number)?;
    Some(table.0.chunks_exact(size.max(1)).map(|entry| ElfBytes(entry.to_vec())).collect())
}

fn sections(file: &File, header: &ElfBytes) -> Option<Vec<ElfSection>> {
    let entries = headers(file, header, [40, 58, 60])?;
    let names = entries.get(usize::from(header.u16(62)?));
    let names = names.and_then(|entry| {
        let (offset, size) = (entry.u64(24)?, entry.u64(32)?);
        ElfBytes::read(file, offset, usize::try_from(size.min(SECTION_BYTES_MAX)).ok()?)
    });
    let names = names.unwrap_or(ElfBytes(Vec::new()));
    let section = |entry: &ElfBytes| {
        let name = names.0.get(entry.u32(0)? as usize..)?.split(|byte| *byte == 0).next()?;
        let name = String::from_utf8_lossy(name).into_owned();
        let [address, offset, size] = [16, 24, 32].map(|at| entry.u64(at));
        let (address, offset, size) = (address?, offset?, size?);
        let is_needed = WITH_DATA.contains(&name.as_str()) && size <= SECTION_BYTES_MAX;
        let data = if is_needed { ElfBytes::read(file, offset, size as usize) } else { None };
        let data = data.map(|bytes| Arc::from(bytes.0));
        Some(ElfSection { name, addresses: address..address.checked_add(size)?, data })
    };
    Some(entries.iter().filter_map(section).collect())
}

struct ElfBytes(Vec<u8>);

impl ElfBytes {
    fn read(file: &File, offset: u64, len: usize) -> Option<ElfBytes> {
        let mut bytes = vec![0; len];
        file.read_exact_at(&mut bytes, offset).ok()?;
        Some(ElfBytes(bytes))
    }

    fn get<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn u16(&self, at: usize) -> Option<u16> {
        self.get(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.get(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.get(at).map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_program_has_its_frames() {
        let own = std::env::current_exe().unwrap();
        let file = ElfFile::open(&own).unwrap();
        let info = file.section_info();
        assert!(info.eh_frame.is_some_and(|data| !data.is_empty()));
        let text = info.text_svma.unwrap();
        assert!(text.start < text.end);
        assert!(file.address_of(0).is_some());
        assert_eq!(file.address_of(u64::MAX), None);
    }

    #[test]
    fn what_is_no_elf_file_is_none() {
        assert!(ElfFile::open(Path::new("/nonexistent")).is_none());
        assert!(ElfFile::open(Path::new("/dev/zero")).is_none());
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(ElfFile::open(&pipe).is_none());
        let file = dir.path().join("short");
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        std::fs::write(&file, &bytes).unwrap();
        assert!(ElfFile::open(&file).is_none());
        // Its tables are beyond its end.
        bytes.resize(64, 0xff);
        std::fs::write(&file, &bytes).unwrap();
        assert!(ElfFile::open(&file).is_none());
    }
}
