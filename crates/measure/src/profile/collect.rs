//! Puts the records of a profile together: the call chain of each sample, and of each time in which
//! no thread of the job was on a CPU.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use framehop::{
    CacheNative, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder, UnwinderNative,
};

use super::elf::ElfFile;
use super::records::{ProfileRecord, RawStack};

/// An address that becomes the name of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum CodeAddress {
    Kernel(u64),
    /// The offset in a file.
    File(Arc<str>, u64),
    /// In no file.
    Unknown,
}

/// Call chains, the outermost frame first, with their time on a CPU and the time in which the job
/// waited there.
#[derive(Debug, Default)]
pub(super) struct JobStacks {
    pub(super) times_ns: HashMap<Vec<CodeAddress>, [u64; 2]>,
    pub(super) lost: u64,
}

/// Deeper chains are cut off.
const FRAMES_MAX: usize = 200;

/// A job that has this number of different call chains is a long one: of further ones only the
/// function is kept, so that its memory has a limit.
const STACKS_MAX: usize = 20_000;

/// A job may start any number of new programs: the tables of this many files are kept until the
/// next job.
const FILES_MAX: usize = 2_000;

type Stack = Vec<CodeAddress>;

#[derive(Default)]
pub(super) struct Collector {
    job: JobStacks,
    processes: HashMap<u32, AddressSpace>,
    files: HashMap<Arc<str>, Option<Arc<ElfFile>>>,
    cache: Option<CacheNative<MayAllocateDuringUnwind>>,
    /// The threads on a CPU, or that wait for one.
    running: HashSet<u32>,
    /// Since when no thread is.
    idle_since_ns: Option<u64>,
    /// By thread, where it left the CPU.
    left_at: HashMap<u32, Stack>,
}

/// The program of a process.
#[derive(Clone)]
struct AddressSpace {
    mappings: BTreeMap<u64, FileMapping>,
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
}

#[derive(Clone, Debug)]
struct FileMapping {
    end: u64,
    offset: u64,
    file: Arc<str>,
}

impl AddressSpace {
    fn new() -> AddressSpace {
        AddressSpace { mappings: BTreeMap::new(), unwinder: UnwinderNative::new() }
    }

    fn frame(&self, address: u64) -> CodeAddress {
        let (start, mapping) = match self.mappings.range(..=address).next_back() {
            Some((start, mapping)) if address < mapping.end => (start, mapping),
            _ => return CodeAddress::Unknown,
        };
        let offset = (address - start).wrapping_add(mapping.offset);
        CodeAddress::File(Arc::clone(&mapping.file), offset)
    }
}

impl Collector {
    /// What the process has mapped already.
    pub(super) fn add_process(&mut self, process: u32, maps: &str) {
        for line in maps.lines() {
            if let Some((start, len, offset, file)) = mapping(line) {
                self.map(process, start, len, offset, file);
            }
        }
    }

    /// A process with a single thread has just been started, which now runs or waits: a job may
    /// wait before its first sample.
    pub(super) fn starts(&mut self, thread: u32, waits: bool, time_ns: u64) {
        if waits {
            self.idle_since_ns = Some(time_ns);
        } else {
            self.running.insert(thread);
        }
    }

    pub(super) fn take(&mut self, time_ns: u64, record: ProfileRecord) {
        match record {
            ProfileRecord::Sample(raw) if raw.period > 1 => {
                let stack = self.stack(&raw);
                self.running.insert(raw.thread);
                self.idle_since_ns = None;
                self.time_in(stack)[0] += raw.period;
            }
            ProfileRecord::Sample(raw) => {
                let stack = self.stack(&raw);
                self.left_at.insert(raw.thread, stack);
            }
            ProfileRecord::Mapped { process, start, len, offset, file } => {
                self.map(process, start, len, offset, &file);
            }
            ProfileRecord::Executed { process } => {
                self.processes.insert(process, AddressSpace::new());
            }
            ProfileRecord::Begins { process, parent_process } if process != parent_process => {
                let parent = self.processes.get(&parent_process).cloned();
                self.processes.insert(process, parent.unwrap_or_else(AddressSpace::new));
            }
            // A new thread of the same process, and one that waits for a CPU.
            ProfileRecord::Begins { .. } | ProfileRecord::Leaves { waits: false, .. } => {}
            ProfileRecord::Leaves { thread, waits: true } => self.leaves(thread, time_ns),
            ProfileRecord::Ends { process, thread } => {
                self.leaves(thread, time_ns);
                self.left_at.remove(&thread);
                if thread == process {
                    self.processes.remove(&process);
                }
            }
            ProfileRecord::Returns { thread } => self.returns(thread, time_ns),
            ProfileRecord::Lost(n) => {
                self.job.lost += n;
                // Which threads run is not known any more.
                self.running.clear();
                self.idle_since_ns = None;
            }
        }
    }

    /// What was collected since the last call.
    pub(super) fn end_job(&mut self) -> JobStacks {
        self.processes.clear();
        self.running.clear();
        self.left_at.clear();
        self.idle_since_ns = None;
        if self.files.len() > FILES_MAX {
            self.files.clear();
        }
        std::mem::take(&mut self.job)
    }

    fn leaves(&mut self, thread: u32, time_ns: u64) {
        if self.running.remove(&thread) && self.running.is_empty() {
            self.idle_since_ns = Some(time_ns);
        }
    }

    /// If nothing has run meanwhile, the job has waited for what this thread waited for.
    fn returns(&mut self, thread: u32, time_ns: u64) {
        let stack = self.left_at.remove(&thread).unwrap_or_default();
        if let Some(since_ns) = self.idle_since_ns.take() {
            let waited_ns = time_ns.saturating_sub(since_ns);
            self.time_in(stack)[1] += waited_ns;
        }
        self.running.insert(thread);
    }

    fn time_in(&mut self, mut stack: Stack) -> &mut [u64; 2] {
        let times_ns = &mut self.job.times_ns;
        if times_ns.len() >= STACKS_MAX && !times_ns.contains_key(&stack) {
            // What a job waits in is its innermost function that is not the kernel's.
            let is_user = |frame: &CodeAddress| !matches!(frame, CodeAddress::Kernel(_));
            let from = stack.iter().rposition(is_user).unwrap_or(stack.len().saturating_sub(1));
            stack.drain(..from);
        }
        times_ns.entry(stack).or_default()
    }

    fn map(&mut self, process: u32, start: u64, len: u64, offset: u64, file: &str) {
        let file: Arc<str> = match self.files.get_key_value(file) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::from(file),
        };
        let elf = self.files.entry(Arc::clone(&file)).or_insert_with(|| {
            let path = Path::new(&*file);
            path.is_absolute().then(|| ElfFile::open(path)).flatten().map(Arc::new)
        });
        let elf = elf.clone();
        let Some(end) = start.checked_add(len) else { return };
        let space = self.processes.entry(process).or_insert_with(AddressSpace::new);
        if space.mappings.contains_key(&start) {
            space.unwinder.remove_module(start);
        }
        space.mappings.insert(start, FileMapping { end, offset, file: Arc::clone(&file) });
        let loaded = elf.and_then(|elf| Some((elf.address_of(offset)?, elf)));
        if let Some((address, elf)) = loaded {
            let base = start.wrapping_sub(address);
            let module = Module::new(file.to_string(), start..end, base, elf.section_info());
            space.unwinder.add_module(module);
        }
    }

    /// The call chain of a sample, the outermost frame first.
    fn stack(&mut self, raw: &RawStack) -> Stack {
        let mut frames: Stack =
            raw.kernel.iter().map(|address| CodeAddress::Kernel(*address)).collect();
        if let Some(space) = self.processes.get(&raw.process) {
            let cache = self.cache.get_or_insert_with(CacheNative::new);
            user_frames(space, cache, raw, &mut frames);
        } else if frames.is_empty() {
            frames.push(CodeAddress::Unknown);
        }
        frames.truncate(FRAMES_MAX);
        frames.reverse();
        frames
    }
}

fn user_frames(
    space: &AddressSpace,
    cache: &mut CacheNative<MayAllocateDuringUnwind>,
    raw: &RawStack,
    frames: &mut Stack,
) {
    let Some(UserState { start, stack_pointer, registers }) = UserState::new(raw) else {
        if frames.is_empty() {
            frames.push(space.frame(raw.address));
        }
        return;
    };
    let mut read_stack = |address: u64| {
        let at = usize::try_from(address.wrapping_sub(stack_pointer)).map_err(|_| ())?;
        let word = at.checked_add(8).and_then(|end| raw.stack.get(at..end)).ok_or(())?;
        Ok(word.try_into().map_or(0, u64::from_ne_bytes))
    };
    let mut chain = space.unwinder.iter_frames(start, registers, cache, &mut read_stack);
    while frames.len() < FRAMES_MAX
        && let Ok(Some(frame)) = chain.next()
    {
        frames.push(space.frame(frame.address_for_lookup()));
    }
}

/// Where a thread was in user mode, with its registers in the form of the unwinder.
struct UserState {
    start: u64,
    stack_pointer: u64,
    registers: UnwindRegsNative,
}

impl UserState {
    #[cfg(target_arch = "x86_64")]
    fn new(raw: &RawStack) -> Option<UserState> {
        let [frame, stack_pointer, start] = raw.registers[..].try_into().ok()?;
        let registers = UnwindRegsNative::new(start, stack_pointer, frame);
        Some(UserState { start, stack_pointer, registers })
    }

    #[cfg(target_arch = "aarch64")]
    fn new(raw: &RawStack) -> Option<UserState> {
        let [frame, link, stack_pointer, start] = raw.registers[..].try_into().ok()?;
        let registers = UnwindRegsNative::new(link, stack_pointer, frame);
        Some(UserState { start, stack_pointer, registers })
    }
}

/// `55d0c8a00000-55d0c8a2c000 r-xp 00002000 fd:01 1234    /usr/bin/sh`, of what can be executed.
pub(super) fn mapping(line: &str) -> Option<(u64, u64, u64, &str)> {
    let mut words = line.splitn(6, ' ');
    let (range, access, offset) = (words.next()?, words.next()?, words.next()?);
    let file = words.nth(2)?.trim_start();
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = range.split_once('-')?;
    let (start, end) = (hex(start)?, hex(end)?);
    let is_shown = access.contains('x') && !file.is_empty();
    is_shown.then_some((start, end.checked_sub(start)?, hex(offset)?, file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mappings_of_code_in_files_are_read() {
        let line =
            "55d0c8a00000-55d0c8a2c000 r-xp 00002000 fd:01 1234                  /usr/bin/a b";
        let expected = (0x55d0_c8a0_0000, 0x2_c000, 0x2000, "/usr/bin/a b");
        assert_eq!(mapping(line), Some(expected));
        for other in [
            "55d0c8a00000-55d0c8a2c000 r--p 00002000 fd:01 1234                  /usr/bin/a",
            "7f0000000000-7f0000001000 r-xp 00000000 00:00 0 ",
            "7f0000000000-7f0000001000 r-xp",
            "",
        ] {
            assert_eq!(mapping(other), None, "{other}");
        }
    }

    fn on_cpu(thread: u32, address: u64) -> ProfileRecord {
        ProfileRecord::Sample(RawStack {
            process: 7,
            thread,
            address,
            period: 1000,
            ..RawStack::default()
        })
    }

    #[test]
    fn a_job_waits_where_the_thread_waited_that_ends_it() {
        let mut collector = Collector::default();
        let maps = "1000-3000 r-xp 00000100 fd:01 1 /nonexistent\n";
        collector.add_process(7, maps);
        let leaves_at = |thread, address| match on_cpu(thread, address) {
            ProfileRecord::Sample(raw) => ProfileRecord::Sample(RawStack { period: 1, ..raw }),
            other => other,
        };
        let records = [
            (0, on_cpu(7, 0x1000)),
            (10, leaves_at(7, 0x2000)),
            (10, ProfileRecord::Leaves { thread: 7, waits: true }),
            // Another thread runs for a while: until 30 the job does not wait.
            (15, ProfileRecord::Returns { thread: 8 }),
            (20, ProfileRecord::Leaves { thread: 8, waits: false }),
            (30, ProfileRecord::Leaves { thread: 8, waits: true }),
            (130, ProfileRecord::Returns { thread: 7 }),
            (131, on_cpu(7, 0x1000)),
        ];
        for (time_ns, record) in records {
            collector.take(time_ns, record);
        }
        let job = collector.end_job();
        let at = |offset| vec![CodeAddress::File(Arc::from("/nonexistent"), offset)];
        assert_eq!(job.times_ns[&at(0x100)], [2000, 0]);
        assert_eq!(job.times_ns[&at(0x1100)], [0, 100]);
        assert_eq!(job.times_ns[&Vec::new()], [0, 5], "where the other one waited is not known");
        assert!(collector.end_job().times_ns.is_empty());
    }

    #[test]
    fn a_long_job_keeps_the_time_of_all_but_not_all_call_chains() {
        let mut collector = Collector::default();
        for _ in 0..2 {
            for i in 0..STACKS_MAX as u64 + 1000 {
                // Two frames in the kernel: the caller differs in each sample.
                let ProfileRecord::Sample(raw) = on_cpu(7, 0) else { panic!() };
                let kernel = vec![1, 100 + i];
                collector.take(i, ProfileRecord::Sample(RawStack { kernel, ..raw }));
            }
        }
        let job = collector.end_job();
        assert_eq!(job.times_ns.len(), STACKS_MAX + 1);
        let ns: u64 = job.times_ns.values().map(|[on_cpu_ns, _]| on_cpu_ns).sum();
        assert_eq!(ns, 2 * 1000 * (STACKS_MAX as u64 + 1000));
        assert_eq!(job.times_ns[&vec![CodeAddress::Kernel(1)]], [2 * 1000 * 1000, 0]);
    }

    #[test]
    fn a_job_may_wait_before_its_first_sample() {
        for waits in [false, true] {
            let mut collector = Collector::default();
            collector.starts(7, waits, 10);
            if !waits {
                collector.take(10, ProfileRecord::Leaves { thread: 7, waits: true });
            }
            collector.take(210, ProfileRecord::Returns { thread: 7 });
            assert_eq!(collector.end_job().times_ns[&Vec::new()], [0, 200], "{waits}");
        }
    }

    #[test]
    fn an_ended_process_is_forgotten() {
        let mut collector = Collector::default();
        collector.add_process(7, "1000-3000 r-xp 00000000 fd:01 1 /nonexistent\n");
        for process in 10..1000 {
            collector.take(0, ProfileRecord::Begins { process, parent_process: 7 });
            collector.take(0, on_cpu(process, 0x1000));
            collector.take(0, ProfileRecord::Ends { process, thread: process });
        }
        assert_eq!((collector.processes.len(), collector.running.len()), (1, 0));
    }

    #[test]
    fn a_new_process_has_the_mappings_of_its_parent_until_it_replaces_its_program() {
        let mut collector = Collector::default();
        collector.add_process(7, "1000-3000 r-xp 00000000 fd:01 1 /nonexistent\n");
        let of_child = |collector: &mut Collector, address| {
            let raw = RawStack { process: 9, address, ..RawStack::default() };
            collector.stack(&raw)
        };
        assert_eq!(of_child(&mut collector, 0x1000), [CodeAddress::Unknown]);
        collector.take(0, ProfileRecord::Begins { process: 9, parent_process: 7 });
        let expected = [CodeAddress::File(Arc::from("/nonexistent"), 0)];
        assert_eq!(of_child(&mut collector, 0x1000), expected);
        assert_eq!(of_child(&mut collector, 0x3000), [CodeAddress::Unknown]);
        collector.take(0, ProfileRecord::Executed { process: 9 });
        assert_eq!(of_child(&mut collector, 0x1000), [CodeAddress::Unknown]);
    }
}
