//! Other activity on the machine: load, pressure, and the CPU time that other programs used
//! meanwhile.

use std::fs::File;
use std::os::unix::fs::FileExt;

use model::facts::Facts;
use serde_json::Value;

use super::system::Quota;
use super::tree::Tree;

/// A reading of the CPU times of the machine, with which a later one is compared.
pub struct Noise {
    before: Option<MachineTimes>,
    quota: Option<Quota>,
    /// Stays open where it is read around each sample; none where the hypervisor had taken no time
    /// at the start.
    stat: Option<File>,
    tree: Tree,
}

/// The first line of `/proc/stat`, which is all that is read of it, is shorter.
const LINE_LEN: usize = 512;

/// Shares of the CPU time that the machine had between two readings, 0 … 1. None: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Taken by the hypervisor for other machines.
    pub steal_share: Option<f64>,
    /// Used by processes that do not belong to this program.
    pub busy_share_of_others: Option<f64>,
    /// Of the periods of its control group's quota those in which the quota was used up, so that
    /// what the group holds had to wait. None: there is no quota.
    pub cgroup_throttled_share: Option<f64>,
}

impl Noise {
    pub fn start() -> Self {
        Self::start_from(Tree::new("/"))
    }

    /// Children that still run count as part of this program, as do those that it has waited for.
    pub fn finish(&self) -> Shares {
        let shares = match (self.before, MachineTimes::read(&self.tree)) {
            (Some(before), Some(now)) => now.since(before),
            _ => Shares::default(),
        };
        let quota = self.quota.zip(Quota::read(&self.tree));
        let cgroup_throttled_share = quota.and_then(|(before, now)| now.throttled_since(before));
        Shares { cgroup_throttled_share, ..shares }
    }

    /// The time that the hypervisor took for other machines until now, on all CPUs together. None
    /// where it had taken none at the start: to read it takes some time.
    pub fn stolen_ns(&self) -> Option<u64> {
        let mut buffer = [0; LINE_LEN];
        let len = self.stat.as_ref()?.read_at(&mut buffer, 0).ok()?;
        let (.., steal) = machine(str::from_utf8(&buffer[..len]).ok()?.lines().next()?)?;
        steal.checked_mul(TICK_NS)
    }

    fn start_from(tree: Tree) -> Self {
        let is_whole = !has_file_of_container(&tree, "/proc/stat");
        let before = is_whole.then(|| MachineTimes::read(&tree)).flatten();
        let has_steal = before.is_some_and(|before| before.steal > 0);
        let stat = has_steal.then(|| File::open(tree.path("proc/stat")).ok()).flatten();
        Self { before, quota: Quota::read(&tree), stat, tree }
    }
}

/// Whether a file system is mounted over the file, as lxcfs does in containers, whose `/proc/stat`
/// has the times of the container alone.
fn has_file_of_container(tree: &Tree, file: &str) -> bool {
    // The fifth word of a line of mountinfo is where it is mounted (proc_pid_mountinfo(5)).
    let mounts = tree.text("proc/self/mountinfo").unwrap_or_default();
    mounts.lines().any(|line| line.split(' ').nth(4) == Some(file))
}

/// The tick of the machine's times in `/proc/stat`, whatever the kernel's own tick is.
const TICK_NS: u64 = 10_000_000;

/// All values are in ticks of 10 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MachineTimes {
    total: u64,
    busy: u64,
    steal: u64,
    own: u64,
}

impl MachineTimes {
    fn read(tree: &Tree) -> Option<Self> {
        let (total, busy, steal) = machine(&tree.line("proc/stat")?)?;
        Some(Self { total, busy, steal, own: own(tree)? })
    }

    fn since(self, before: Self) -> Shares {
        let less = u64::saturating_sub;
        let total = less(self.total, before.total);
        if total == 0 {
            return Shares::default();
        }
        let others = less(less(self.busy, before.busy), less(self.own, before.own));
        let share = |ticks: u64| Some((ticks as f64 / total as f64).min(1.0));
        Shares {
            steal_share: share(less(self.steal, before.steal)),
            busy_share_of_others: share(others),
            cgroup_throttled_share: None,
        }
    }
}

/// Total, busy and steal of the line `cpu user nice system idle iowait irq softirq steal guest
/// guest_nice` (proc(5)). The time of guests is already in that of the user; steal is not work on
/// this machine.
fn machine(line: &str) -> Option<(u64, u64, u64)> {
    let mut times = [0u64; 8];
    let mut words = line.strip_prefix("cpu ")?.split_whitespace();
    for time in &mut times {
        *time = words.next()?.parse().ok()?;
    }
    let total = times.iter().try_fold(0u64, |sum, time| sum.checked_add(*time))?;
    let [_, _, _, idle, iowait, _, _, steal] = times;
    Some((total, total - idle - iowait - steal, steal))
}

/// The CPU time of this process and its children.
fn own(tree: &Tree) -> Option<u64> {
    let own = process(&tree.text("proc/self/stat")?)?;
    let threads = tree.names("proc/self/task");
    let children =
        threads.iter().filter_map(|id| tree.line(&format!("proc/self/task/{id}/children")));
    let mut all = own;
    for pid in
        children.flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    {
        // A process that ended in the meantime is not counted.
        let time = tree.text(&format!("proc/{pid}/stat")).and_then(|text| process(&text));
        all = all.checked_add(time.unwrap_or(0))?;
    }
    Some(all)
}

/// User and system time of a process and of the children that it waited for: fields 14 to 17, after
/// the name in parentheses.
fn process(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    (0..4).try_fold(0u64, |sum, _| sum.checked_add(fields.next()?.parse().ok()?))
}

pub(super) fn add(tree: &Tree, facts: &mut Facts) {
    let load = tree.line("proc/loadavg").unwrap_or_default();
    let mut words = load.split_whitespace();
    for minutes in ["1", "5", "15"] {
        let load = words.next().and_then(|word| word.parse::<f64>().ok());
        facts.insert(format!("load_{minutes}_min"), load.into());
    }
    let running = words.next().and_then(|word| word.split_once('/')?.0.parse::<u64>().ok());
    facts.insert("processes_ready".into(), running.into());
    for resource in ["cpu", "io", "memory"] {
        let pressure = tree.line(&format!("proc/pressure/{resource}"));
        let average = pressure.and_then(|line| {
            let word = line.split_whitespace().find_map(|word| word.strip_prefix("avg60="))?;
            word.parse::<f64>().ok()
        });
        facts.insert(format!("pressure_{resource}_60_s_percent"), average.into());
    }
    let since_boot = tree.line("proc/stat").and_then(|line| machine(&line));
    let steal = since_boot.filter(|(total, ..)| *total > 0);
    let steal = steal.map(|(total, _, steal)| steal as f64 / total as f64);
    facts.insert("steal_share_since_boot".into(), steal.into());
    facts.insert("on_battery".into(), on_battery(tree));
}

/// Null on a machine without a power supply that reports its state.
fn on_battery(tree: &Tree) -> Value {
    let folder = "sys/class/power_supply";
    let names = tree.names(folder);
    let online = names.iter().filter_map(|name| tree.flag(&format!("{folder}/{name}/online")));
    online.reduce(|a, b| a || b).map(|online| !online).into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_times_of_the_machine_are_summed_without_those_of_guests() {
        let check = |line, expected| assert_eq!(machine(line), expected, "{line}");
        check("cpu  10 1 20 300 4 0 2 7 5 5", Some((344, 33, 7)));
        check("cpu  10 1 20 300 4 0 2", None);
        check("cpu  18446744073709551615 1 0 0 0 0 0 0", None);
        check("cpu0 10 1 20 300 4 0 2 7 0 0", None);
        check("", None);
    }

    #[test]
    fn a_process_is_counted_with_the_children_it_waited_for() {
        let check = |stat, expected| assert_eq!(process(stat), expected, "{stat}");
        check("1 (a) b) S 1 1 1 0 -1 4194304 5 6 7 8 100 20 3 4 20 0 1", Some(127));
        check("1 (a) S 1 1 1 0 -1 4194304 5 6 7 8 100 20 3", None);
        check("1 (a", None);
    }

    #[test]
    fn others_are_what_is_neither_idle_nor_stolen_nor_ours() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join("proc").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let stat = |user: u64| format!("1 (a) S 1 1 1 0 -1 0 5 6 7 8 {user} 0 0 0 20 0 1");
        write("stat", "cpu 100 0 100 1000 0 0 0 10 0 0\n");
        write("self/stat", &stat(10));
        write("self/task/1/children", "17 18 \n");
        write("17/stat", &stat(5));
        let noise = Noise::start_from(Tree::new(directory.path()));
        // Of 1000 ticks: 50 stolen, 300 busy, of which 40 are of this process and 60 of a child.
        write("stat", "cpu 300 0 200 1650 0 0 0 60 0 0\n");
        write("self/stat", &stat(50));
        write("17/stat", &stat(65));
        let (steal_share, busy_share_of_others) = (Some(0.05), Some(0.2));
        let expected = Shares { steal_share, busy_share_of_others, ..Shares::default() };
        assert_eq!(noise.finish(), expected);
        assert_eq!(noise.stolen_ns(), Some(600_000_000));
        // No time has passed, or the files are gone.
        let noise = Noise::start_from(Tree::new(directory.path()));
        assert_eq!(noise.finish(), Shares::default());
        write("stat", "cpu 300 0 200 1650 0 0 0 0 0 0\n");
        assert_eq!(Noise::start_from(Tree::new(directory.path())).stolen_ns(), None);
        write("stat", "rubbish\n");
        assert_eq!(noise.finish(), Shares::default());
    }

    #[test]
    fn the_times_of_a_container_are_not_those_of_the_machine() {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::new(directory.path());
        tree.write("proc/stat", "cpu 100 0 100 1000 0 0 0 10 0 0\n");
        tree.write("proc/self/stat", "1 (a) S 1 1 1 0 -1 0 5 6 7 8 10 0 0 0 20 0 1");
        let share_of_others = |mounts: &str| {
            tree.write("proc/self/mountinfo", mounts);
            tree.write("proc/stat", "cpu 100 0 100 1000 0 0 0 10 0 0\n");
            let noise = Noise::start_from(Tree::new(directory.path()));
            tree.write("proc/stat", "cpu 200 0 100 1100 0 0 0 10 0 0\n");
            noise.finish().busy_share_of_others
        };
        let proc = "22 26 0:20 / /proc rw,relatime shared:5 - proc proc rw\n";
        let lxcfs = "23 22 0:40 /proc/stat /proc/stat rw,nosuid - fuse.lxcfs lxcfs rw\n";
        assert_eq!(share_of_others(proc), Some(0.5));
        assert_eq!(share_of_others(&format!("{proc}{lxcfs}")), None);
    }

    #[test]
    fn load_pressure_and_steal_are_those_of_the_files() {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::new(directory.path());
        let write = |path, text| tree.write(path, text);
        write("proc/loadavg", "0.5 1.25 2 3/400 5000\n");
        write("proc/pressure/io", "some avg10=1.00 avg60=2.50 avg300=3.00 total=4\n");
        write("proc/stat", "cpu 100 0 100 290 0 0 0 10 0 0\n");
        write("sys/class/power_supply/AC/online", "0\n");
        let mut facts = Facts::new();
        add(&tree, &mut facts);
        assert_eq!((&facts["load_1_min"], &facts["load_15_min"]), (&0.5.into(), &2.0.into()));
        assert_eq!(facts["processes_ready"], 3);
        assert_eq!(facts["pressure_io_60_s_percent"], 2.5);
        assert!(facts["pressure_cpu_60_s_percent"].is_null());
        assert_eq!(facts["steal_share_since_boot"], 0.02);
        assert_eq!(facts["on_battery"], true);
        write("sys/class/power_supply/USB/online", "1\n");
        assert_eq!(on_battery(&tree), false, "one of the supplies is enough");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_reports_its_times() {
        assert!(Noise::start().before.is_some());
    }
}
