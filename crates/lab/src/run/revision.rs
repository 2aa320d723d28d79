//! What git says of the project that was measured: of the tree in which a run began, and of the
//! revisions whose programs it measured. Both are facts of the run's environment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The start of the names of the facts of the tree.
const OF_TREE: &str = "project_";

/// The fact with the revisions, which is a list of [`MeasuredRevision`].
pub const REVISIONS: &str = "revisions";

/// A commit, and what is known of the tree in which it was checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCommit {
    /// All digits of its hash.
    pub commit: String,
    /// When it was committed: RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_time: Option<String>,
    /// The first line of its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether files that git tracks had been changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
}

/// A revision of which programs were measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredRevision {
    /// Its name as it was typed.
    pub name: String,
    /// The tree is the worktree of the revision after its build.
    #[serde(flatten)]
    pub commit: ProjectCommit,
    pub methods: Vec<RevisionMethod>,
}

/// A method whose program is that of a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisionMethod {
    pub name: String,
    /// The name that it would have without a revision, which is the same at all of them.
    pub command: String,
    /// The SHA-256 of each file of the worktree that the command names, by its path there.
    pub sha256: BTreeMap<String, String>,
}

/// The digits of a hash that readers see.
const SHORT: usize = 7;

impl ProjectCommit {
    /// The first digits of the hash.
    pub fn short(&self) -> &str {
        self.commit.get(..SHORT).unwrap_or(&self.commit)
    }

    /// The first digits of the hash, with the mark that git uses for a tree with changes.
    pub fn described(&self) -> String {
        let changed = if self.dirty == Some(true) { "-dirty" } else { "" };
        format!("{}{changed}", self.short())
    }

    /// That of the tree in which the run of these facts began.
    pub fn from_facts(facts: &BTreeMap<String, Value>) -> Option<ProjectCommit> {
        let fact = |name: &str| facts.get(&format!("{OF_TREE}{name}"));
        let text = |name: &str| fact(name).and_then(Value::as_str).map(str::to_owned);
        Some(ProjectCommit {
            commit: text("commit")?,
            commit_time: text("commit_time"),
            subject: text("subject"),
            branch: text("branch"),
            dirty: fact("dirty").and_then(Value::as_bool),
        })
    }

    /// The facts of a run that is measured in this tree.
    pub fn facts(&self) -> BTreeMap<String, Value> {
        let ProjectCommit { commit, commit_time, subject, branch, dirty } = self;
        let known = [
            ("commit", Some(commit.as_str().into())),
            ("commit_time", commit_time.as_deref().map(Value::from)),
            ("subject", subject.as_deref().map(Value::from)),
            ("branch", branch.as_deref().map(Value::from)),
            ("dirty", dirty.map(Value::from)),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
        known.map(|(name, value)| (format!("{OF_TREE}{name}"), value)).collect()
    }
}

impl MeasuredRevision {
    /// Those of the run of these facts; none if the fact is not what it should be.
    pub fn from_facts(facts: &BTreeMap<String, Value>) -> Vec<MeasuredRevision> {
        let revisions = facts.get(REVISIONS).map(Vec::deserialize);
        revisions.and_then(Result::ok).unwrap_or_default()
    }

    /// What readers see of the revision: the name that was typed, and the commit that it was then.
    pub fn label(&self) -> String {
        let short = self.commit.short();
        // A name may be the hash itself, of which git takes no fewer digits.
        if self.name.len() >= 4 && self.commit.commit.starts_with(&self.name) {
            return short.to_owned();
        }
        format!("{} {short}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn commit() -> ProjectCommit {
        ProjectCommit {
            commit: "cfdcc50b9572f1d0cfdcc50b9572f1d0cfdcc50b".to_owned(),
            commit_time: Some("2026-01-02T03:04:05Z".to_owned()),
            subject: Some("one: \"two\"".to_owned()),
            branch: Some("main".to_owned()),
            dirty: Some(true),
        }
    }

    #[test]
    fn the_facts_of_a_tree_are_read_as_they_were_written() {
        let bare = ProjectCommit { commit: commit().commit, ..ProjectCommit::default() };
        for commit in [commit(), bare] {
            let facts = commit.facts();
            assert!(facts.values().all(|value| !value.is_null()), "{facts:?}");
            assert_eq!(ProjectCommit::from_facts(&facts), Some(commit));
        }
        assert_eq!(ProjectCommit::from_facts(&BTreeMap::new()), None);
    }

    #[test]
    fn revisions_are_read_as_they_were_written() {
        let method = RevisionMethod {
            name: "HEAD~1 cfdcc50".to_owned(),
            command: "./tool".to_owned(),
            sha256: BTreeMap::from([("tool".to_owned(), "00".to_owned())]),
        };
        let revision =
            MeasuredRevision { name: "HEAD~1".to_owned(), commit: commit(), methods: vec![method] };
        let read = |value: Value| {
            MeasuredRevision::from_facts(&BTreeMap::from([(REVISIONS.to_owned(), value)]))
        };
        let written = serde_json::to_value([&revision]).unwrap();
        assert_eq!(written[0]["commit"], commit().commit.as_str());
        assert_eq!(read(written), [revision]);
        for odd in [json!(null), json!(3), json!([{"name": "a"}]), json!({})] {
            assert_eq!(read(odd), []);
        }
    }

    #[test]
    fn a_revision_is_called_by_its_name_and_its_commit() {
        let check = |name: &str, expected: &str| {
            let name = name.to_owned();
            let revision = MeasuredRevision { name, commit: commit(), methods: Vec::new() };
            assert_eq!(revision.label(), expected);
        };
        check("HEAD~1", "HEAD~1 cfdcc50");
        check("v1", "v1 cfdcc50");
        check("cfdc", "cfdcc50");
        check("c", "c cfdcc50");
        check("cfdcc50b9", "cfdcc50");
        check(&commit().commit, "cfdcc50");
        assert_eq!(commit().described(), "cfdcc50-dirty");
        assert_eq!(ProjectCommit::default().described(), "");
    }
}
