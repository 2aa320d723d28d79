//! The kernel's report on each task (thread) when it ends, on all CPUs: `taskstats` over a
//! generic netlink socket (Documentation/accounting/taskstats.rst). The wait for a CPU is reported
//! also where the other delays are not accounted (`kernel.task_delayacct=0`). It takes
//! `CAP_NET_ADMIN` in the first namespaces.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};

use super::reading::EndedTask;

/// The ends of tasks, as the kernel reports them while [`TaskEnds::listen`] is in force.
pub(crate) struct TaskEnds {
    socket: OwnedFd,
    family: u16,
    /// The CPUs whose tasks are reported, as the kernel writes a list of them.
    cpus: Vec<u8>,
    ended: Vec<EndedTask>,
    /// Whether the kernel had more reports than the socket could hold.
    lost: bool,
}

/// The kernel keeps this much for a reader that is late. A report takes about 1.3 KB, so that it
/// holds 25,000 tasks.
const BUFFER_BYTES: usize = 32 << 20;

impl TaskEnds {
    /// Fails where the kernel does not report them, or not to this user.
    pub(crate) fn open() -> Result<TaskEnds, String> {
        let refused = |error: Errno| match error {
            Errno::PERM => "taskstats needs CAP_NET_ADMIN".to_owned(),
            Errno::INVAL => "taskstats is reported in the first namespaces only".to_owned(),
            Errno::NOENT => "this kernel has no taskstats".to_owned(),
            error => format!("taskstats: {}", io::Error::from(error)),
        };
        let mut ends = TaskEnds::connect().map_err(refused)?;
        ends.listen().map_err(refused)?;
        ends.ignore().map_err(refused)?;
        Ok(ends)
    }

    fn connect() -> Result<TaskEnds, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(GENERIC))?;
        bind(&socket, &SocketAddrNetlink::new(0, 0))?;
        set_socket_recv_buffer_size_force(&socket, BUFFER_BYTES)?;
        let cpus = std::fs::read("/sys/devices/system/cpu/possible").map_err(|_| Errno::NOENT)?;
        let cpus = [cpus.trim_ascii_end(), b"\0"].concat();
        let mut ends = TaskEnds { socket, family: 0, cpus, ended: Vec::new(), lost: false };
        let name = attribute(CTRL_ATTR_FAMILY_NAME, b"TASKSTATS\0");
        let answer = ends.request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, &name)?;
        ends.family = family_id(&answer).ok_or(Errno::NOENT)?;
        Ok(ends)
    }

    /// From now on the ends of tasks are reported.
    pub(crate) fn listen(&mut self) -> Result<(), Errno> {
        self.ended.clear();
        self.lost = false;
        self.register(TASKSTATS_CMD_ATTR_REGISTER_CPUMASK)
    }

    /// Ends what [`TaskEnds::listen`] began, and forgets what was not taken.
    pub(crate) fn ignore(&mut self) -> Result<(), Errno> {
        let done = self.register(TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK);
        self.receive([0; 2]);
        self.ended.clear();
        done
    }

    fn register(&mut self, kind: u16) -> Result<(), Errno> {
        let cpus = attribute(kind, &self.cpus);
        self.request(self.family, TASKSTATS_CMD_GET, &cpus).map(|_| ())
    }

    /// The tasks that have ended since [`TaskEnds::listen`], in this order; none where some of the
    /// reports are lost.
    pub(crate) fn take(&mut self, seen_ns: [u64; 2]) -> Option<Vec<EndedTask>> {
        self.receive(seen_ns);
        let ended = std::mem::take(&mut self.ended);
        (!self.lost).then_some(ended)
    }

    /// Keeps the reports that are there: they have arrived between these two times.
    pub(crate) fn receive(&mut self, seen_ns: [u64; 2]) {
        let mut buffer = [0; BUFFER_LEN];
        loop {
            match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((len, _)) => self.keep(&buffer[..len], seen_ns),
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => self.lost = true,
                Err(_) => return,
            }
        }
    }

    fn keep(&mut self, datagram: &[u8], seen_ns: [u64; 2]) {
        for message in messages(datagram).filter(|message| message.kind == self.family) {
            self.ended.extend(ended_tasks(message.payload, seen_ns));
        }
    }

    /// Sends a request, and returns the payload of its answer. Reports that come before the answer
    /// are kept.
    fn request(&mut self, family: u16, command: u8, attributes: &[u8]) -> Result<Vec<u8>, Errno> {
        let len = (HEADER_LEN + GENERIC_LEN + attributes.len()) as u32;
        let mut message = Vec::new();
        message.extend(len.to_ne_bytes());
        message.extend(family.to_ne_bytes());
        message.extend((NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
        // The sequence number, and the port, which the kernel fills in.
        message.extend([0; 8]);
        message.extend([command, 1, 0, 0]);
        message.extend(attributes);
        send(&self.socket, &message, SendFlags::empty())?;
        let mut buffer = [0; BUFFER_LEN];
        let mut answer = Vec::new();
        // The kernel answers before `send` returns.
        loop {
            let len = match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((len, _)) => len,
                Err(Errno::INTR) => continue,
                Err(Errno::NOBUFS) => {
                    self.lost = true;
                    continue;
                }
                Err(error) => return Err(error),
            };
            for message in messages(&buffer[..len]) {
                match message.kind {
                    NLMSG_ERROR => return ended(message.payload).map(|()| answer),
                    kind if kind == self.family => {
                        self.ended.extend(ended_tasks(message.payload, [0; 2]));
                    }
                    _ => answer = message.payload.to_vec(),
                }
            }
        }
    }
}

impl AsFd for TaskEnds {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// One report of the last thread of a process has two structs of about 600 bytes.
const BUFFER_LEN: usize = 8192;

// include/uapi/linux/netlink.h, genetlink.h and taskstats.h.
const HEADER_LEN: usize = 16;
const GENERIC_LEN: usize = 4;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const TASKSTATS_CMD_GET: u8 = 1;
const TASKSTATS_CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
const TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK: u16 = 4;
const TASKSTATS_TYPE_STATS: u16 = 3;
const TASKSTATS_TYPE_AGGR_PID: u16 = 4;

struct Message<'a> {
    kind: u16,
    payload: &'a [u8],
}

/// The netlink messages of a datagram.
fn messages(datagram: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let len = u32::from_ne_bytes(bytes(rest, 0)?) as usize;
        let kind = u16::from_ne_bytes(bytes(rest, 4)?);
        let payload = rest.get(HEADER_LEN..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(Message { kind, payload })
    })
}

/// The attributes of a message or of an attribute that has others in it: kind and value.
fn attributes(text: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let len = usize::from(u16::from_ne_bytes(bytes(rest, 0)?));
        let kind = u16::from_ne_bytes(bytes(rest, 2)?);
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    text.extend((4 + value.len() as u16).to_ne_bytes());
    text.extend(kind.to_ne_bytes());
    text.extend(value);
    text.resize(text.len().next_multiple_of(4), 0);
    text
}

fn bytes<const N: usize>(text: &[u8], at: usize) -> Option<[u8; N]> {
    text.get(at..at + N)?.try_into().ok()
}

/// The error of an acknowledgement, which is 0 or a negative number.
fn ended(payload: &[u8]) -> Result<(), Errno> {
    match bytes(payload, 0).map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(Errno::from_raw_os_error(error.saturating_neg())),
        None => Err(Errno::BADMSG),
    }
}

fn family_id(answer: &[u8]) -> Option<u16> {
    let mut all = attributes(answer.get(GENERIC_LEN..)?);
    let (_, id) = all.find(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID)?;
    Some(u16::from_ne_bytes(bytes(id, 0)?))
}

/// The tasks of a report. That of the last thread of a process also has the sums of all threads,
/// which are left out.
fn ended_tasks(payload: &[u8], seen_ns: [u64; 2]) -> impl Iterator<Item = EndedTask> {
    let all = attributes(payload.get(GENERIC_LEN..).unwrap_or_default());
    let of_tasks = all.filter(|(kind, _)| *kind == TASKSTATS_TYPE_AGGR_PID);
    let stats = of_tasks.filter_map(|(_, nested)| {
        attributes(nested).find(|(kind, _)| *kind == TASKSTATS_TYPE_STATS)
    });
    stats.filter_map(move |(_, stats)| ended_task(stats, seen_ns))
}

/// The version of `struct taskstats` that has new fields in its middle.
const VERSION_OF_ANOTHER_ORDER: u16 = 15;

/// From `struct taskstats`, which grows at its end in all other versions.
fn ended_task(stats: &[u8], [seen_from_ns, seen_ns]: [u64; 2]) -> Option<EndedTask> {
    let long = |at| bytes(stats, at).map(u64::from_ne_bytes);
    let short = |at| bytes(stats, at).map(u32::from_ne_bytes);
    if bytes(stats, 0).map(u16::from_ne_bytes)? == VERSION_OF_ANOTHER_ORDER {
        return None;
    }
    let task = short(128)?;
    Some(EndedTask {
        task,
        // Since version 12, Linux 5.19. Before, a thread stands for a process of its own, with the
        // same parent.
        process: short(368).filter(|process| *process > 0).unwrap_or(task),
        parent: short(132)?,
        wait_ns: long(24)?,
        // `cpu_run_virtual_total`: the other one is counted in ticks.
        cpu_ns: long(72)?,
        lifetime_ns: long(144)?.saturating_mul(1000),
        seen_from_ns,
        seen_ns,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A report as Linux 6.18 writes it.
    fn report(kind: u16, tasks: &[[u32; 3]]) -> Vec<u8> {
        let nested = tasks.iter().flat_map(|[task, parent, process]| {
            let mut stats = vec![0; 560];
            stats[24..32].copy_from_slice(&7_000_u64.to_ne_bytes());
            stats[72..80].copy_from_slice(&90_000_u64.to_ne_bytes());
            stats[128..132].copy_from_slice(&task.to_ne_bytes());
            stats[132..136].copy_from_slice(&parent.to_ne_bytes());
            stats[144..152].copy_from_slice(&250_u64.to_ne_bytes());
            stats[368..372].copy_from_slice(&process.to_ne_bytes());
            let id = attribute(1, &task.to_ne_bytes());
            attribute(kind, &[id, attribute(TASKSTATS_TYPE_STATS, &stats)].concat())
        });
        [0; GENERIC_LEN].into_iter().chain(nested).collect()
    }

    #[test]
    fn a_report_is_the_wait_of_each_task_and_not_of_their_sum() {
        let text = report(TASKSTATS_TYPE_AGGR_PID, &[[12, 3, 11]]);
        let ended: Vec<EndedTask> = ended_tasks(&text, [5, 6]).collect();
        let task = EndedTask {
            task: 12,
            process: 11,
            parent: 3,
            wait_ns: 7_000,
            cpu_ns: 90_000,
            lifetime_ns: 250_000,
            seen_from_ns: 5,
            seen_ns: 6,
        };
        assert_eq!(ended, [task]);
        let old = report(TASKSTATS_TYPE_AGGR_PID, &[[12, 3, 0]]);
        assert_eq!(ended_tasks(&old, [0; 2]).next().unwrap().process, 12);
        let mut other = report(TASKSTATS_TYPE_AGGR_PID, &[[12, 3, 11]]);
        let version = other.len() - 560;
        other[version..version + 2].copy_from_slice(&15_u16.to_ne_bytes());
        assert_eq!(ended_tasks(&other, [0; 2]).count(), 0);
        let sum = report(5, &[[11, 0, 0]]);
        assert_eq!(ended_tasks(&sum, [0; 2]).count(), 0);
    }

    proptest! {
        #[test]
        fn no_report_makes_it_fail(text in prop::collection::vec(any::<u8>(), 0..200)) {
            for message in messages(&text) {
                let _ = (ended(message.payload), family_id(message.payload));
                let _ = ended_tasks(message.payload, [0; 2]).count();
            }
        }

        #[test]
        fn a_report_that_is_cut_off_is_none(len in 0..600usize) {
            let whole = report(TASKSTATS_TYPE_AGGR_PID, &[[12, 3, 11]]);
            let len = len.min(whole.len() - 1);
            prop_assert_eq!(ended_tasks(&whole[..len], [0; 2]).count(), 0);
        }
    }
}
