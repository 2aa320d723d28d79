//! Facts of the control group: how much CPU and memory this process may use, in both versions.

use serde_json::Value;

use super::mount::Mount;
use super::tree::{Facts, Tree};

pub(super) fn add(tree: &Tree, facts: &mut Facts) {
    let text = tree.text("proc/self/cgroup").unwrap_or_default();
    let mounts = Mount::all(tree);
    let memory = Group::find(tree, &text, &mounts, "memory");
    let cpu = Group::find(tree, &text, &mounts, "cpu");
    let memory_limit = memory.map(|group| {
        let name = if group.unified { "memory.max" } else { "memory.limit_in_bytes" };
        group.least(|folder| tree.number(&format!("{folder}/{name}")).filter(|n| *n < NO_LIMIT))
    });
    let cpu_limit = cpu.as_ref().map(|group| group.least(|folder| group.cpus(folder)));
    let version = cpu.as_ref().map(|group| if group.unified { "v2" } else { "v1" });
    facts.insert("cgroup_version".into(), version.into());
    facts.insert("cgroup_memory_limit_bytes".into(), memory_limit.into());
    facts.insert("cgroup_cpu_limit".into(), cpu_limit.into());
    let weight = cpu.map_or(Value::Null, |group| {
        let name = if group.unified { "cpu.weight" } else { "cpu.shares" };
        tree.value(&format!("{}/{name}", group.folder))
    });
    facts.insert("cgroup_cpu_weight".into(), weight);
}

/// How often the CPU quota of the group, or of the one above it that is used up most often, has
/// been used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Quota {
    periods: u64,
    throttled: u64,
}

impl Quota {
    pub(super) fn read(tree: &Tree) -> Option<Quota> {
        let text = tree.text("proc/self/cgroup").unwrap_or_default();
        let group = Group::find(tree, &text, &Mount::all(tree), "cpu")?;
        let of_folder = |folder: &str| {
            let text = tree.text(&format!("{folder}/cpu.stat"))?;
            let number = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
                line?.trim().parse::<u64>().ok()
            };
            Some(Quota { periods: number("nr_periods")?, throttled: number("nr_throttled")? })
        };
        group.folders().filter_map(of_folder).max_by_key(|quota| quota.throttled)
    }

    /// The share of the periods since then.
    pub(super) fn throttled_since(self, before: Quota) -> Option<f64> {
        let periods = self.periods.checked_sub(before.periods).filter(|periods| *periods > 0)?;
        Some(self.throttled.saturating_sub(before.throttled) as f64 / periods as f64)
    }
}

/// Version 1 has a large number in place of "max".
const NO_LIMIT: u64 = 1 << 62;

/// The location of the limits of one controller.
struct Group<'t> {
    tree: &'t Tree,
    unified: bool,
    /// The mount point, above which nothing is visible.
    top: String,
    folder: String,
}

impl<'t> Group<'t> {
    /// A controller belongs to version 1 if a line of /proc/self/cgroup names it, else to version
    /// 2.
    fn find(tree: &'t Tree, text: &str, mounts: &[Mount], controller: &str) -> Option<Self> {
        let names = |list: &str| list.split(',').any(|name| name == controller);
        let lines = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.split_once(':')
        });
        let old = lines.clone().find(|(controllers, _)| names(controllers));
        let (_, path) =
            old.or_else(|| lines.clone().find(|(controllers, _)| controllers.is_empty()))?;
        let mount = mounts.iter().find(|mount| match old {
            Some(_) => mount.kind == "cgroup" && names(&mount.super_options),
            None => mount.kind == "cgroup2",
        })?;
        // A container may see only its own part of the groups, under its full path.
        let path = path.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or("");
        let top = mount.point.clone();
        let folder = format!("{top}{}", path.trim_end_matches('/'));
        Some(Self { tree, unified: old.is_none(), top, folder })
    }

    /// The smallest value of the group and of all groups above it, else "unlimited".
    fn least<T: PartialOrd + Into<Value>>(&self, value: impl Fn(&str) -> Option<T>) -> Value {
        let values = self.folders().filter_map(value);
        let least = values.reduce(|least, value| if value < least { value } else { least });
        least.map_or_else(|| "unlimited".into(), Into::into)
    }

    /// The folder of the group, and those above it.
    fn folders(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.folder.as_str()), |folder| {
            let (above, _) = folder.rsplit_once('/')?;
            (above.len() >= self.top.len()).then_some(above)
        })
    }

    /// The number of CPUs whose time a group may use.
    fn cpus(&self, folder: &str) -> Option<f64> {
        let (quota, period) = if self.unified {
            let line = self.tree.line(&format!("{folder}/cpu.max"))?;
            let (quota, period) = line.split_once(' ')?;
            (quota.parse::<u64>().ok()?, period.parse::<u64>().ok()?)
        } else {
            let number = |name| self.tree.number(&format!("{folder}/{name}"));
            (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
        };
        (period > 0).then(|| quota as f64 / period as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts of a system whose control-group files are these.
    fn facts(mountinfo: &str, cgroup: &str, files: &[(&str, &str)]) -> Facts {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::new(directory.path());
        let own = [("proc/self/mountinfo", mountinfo), ("proc/self/cgroup", cgroup)];
        for (path, text) in own.iter().chain(files) {
            tree.write(path, text);
        }
        let mut facts = Facts::new();
        add(&tree, &mut facts);
        facts
    }

    #[test]
    fn in_version_2_the_least_limit_of_all_groups_above_counts() {
        let facts = facts(
            "41 31 0:38 / /cg rw - cgroup2 cgroup rw\n",
            "0::/a/b\n",
            &[
                ("cg/a/b/memory.max", "max\n"),
                ("cg/a/b/cpu.max", "400000 100000\n"),
                ("cg/a/b/cpu.weight", "79\n"),
                ("cg/a/memory.max", "4096\n"),
                ("cg/a/cpu.max", "150000 100000\n"),
                ("cpu.max", "1 100000\n"),
            ],
        );
        assert_eq!(facts["cgroup_version"], "v2");
        assert_eq!(facts["cgroup_memory_limit_bytes"], 4096);
        assert_eq!(facts["cgroup_cpu_limit"], 1.5);
        assert_eq!(facts["cgroup_cpu_weight"], 79);
    }

    #[test]
    fn in_version_1_each_controller_has_its_own_mount_and_part() {
        let facts = facts(
            "32 31 0:29 /docker/1 /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             35 31 0:32 /docker/1 /cg/memory rw - cgroup cgroup rw,memory\n\
             41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n",
            "4:memory:/docker/1/x\n1:cpuacct,cpu:/docker/1\n0::/\n",
            &[
                ("cg/memory/x/memory.limit_in_bytes", "9223372036854771712\n"),
                ("cg/memory/memory.limit_in_bytes", "1048576\n"),
                ("cg/cpu/cpu.cfs_quota_us", "-1\n"),
                ("cg/cpu/cpu.cfs_period_us", "100000\n"),
                ("cg/cpu/cpu.shares", "1024\n"),
            ],
        );
        assert_eq!(facts["cgroup_version"], "v1");
        assert_eq!(facts["cgroup_memory_limit_bytes"], 1_048_576);
        assert_eq!(facts["cgroup_cpu_limit"], "unlimited");
        assert_eq!(facts["cgroup_cpu_weight"], 1024);
    }

    #[test]
    fn a_quota_is_that_of_the_group_that_was_stopped_most_often() {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::new(directory.path());
        tree.write("proc/self/mountinfo", "41 31 0:38 / /cg rw - cgroup2 cgroup rw\n");
        tree.write("proc/self/cgroup", "0::/a/b\n");
        assert_eq!(Quota::read(&tree), None);
        let stat = |periods, throttled| {
            format!("usage_usec 5\nnr_periods {periods}\nnr_throttled {throttled}\nnr_bursts 0\n")
        };
        tree.write("cg/a/b/cpu.stat", &stat(0, 0));
        tree.write("cg/a/cpu.stat", &stat(10, 4));
        let before = Quota::read(&tree).unwrap();
        assert_eq!(before.throttled_since(before), None, "no period has ended");
        tree.write("cg/a/cpu.stat", &stat(33, 25));
        let share = Quota::read(&tree).unwrap().throttled_since(before);
        assert_eq!(share, Some(21.0 / 23.0));
    }

    #[test]
    fn without_groups_nothing_is_known() {
        let facts = facts("rubbish\n - \n1 - a\n", "::\n:\n0\n", &[]);
        assert!(facts.values().all(Value::is_null), "{facts:?}");
        assert_eq!(facts.len(), 4);
    }
}
