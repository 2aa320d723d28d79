//! Which module files of a crate use items of which others, computed from the tokens of its
//! sources.
//!
//! The graph includes the paths of `use` and of all other code, also inside macros. A path through
//! a re-export leads to the file that defines the item, and a module alone is not an item. Test
//! code is omitted, and so is a file that replaces another one outside Linux.

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens::{Token, tokens};

/// For each file and each file that it uses, one of the paths that lead there.
pub(crate) type Uses = BTreeMap<(String, String), String>;

/// Returns the text of a file; `None` if the file does not exist.
type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The uses of the files that are modules below `root`.
pub(crate) fn uses(root: &str, read: Read<'_>) -> Uses {
    let mut modules = Modules::default();
    modules.load(root, None, read);
    let mut uses = Uses::new();
    for (number, module) in modules.all.iter().enumerate() {
        for path in &module.paths {
            if let Resolved::Item(file) = modules.find(number, path, false, 0)
                && file != module.file
            {
                uses.insert((module.file.clone(), file), path.join("::"));
            }
        }
    }
    uses
}

/// The groups of files that use each other in circles, each sorted.
pub(crate) fn circles(uses: &Uses) -> BTreeSet<Vec<String>> {
    let mut direct: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (user, used) in uses.keys() {
        direct.entry(user).or_default().push(used);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        direct.keys().map(|file| (*file, reached_from(file, &direct))).collect();
    let circle = |(file, all): (&&str, &BTreeSet<&str>)| -> Vec<String> {
        let back = |other: &&&str| reached.get(**other).is_some_and(|all| all.contains(file));
        all.iter().filter(back).map(|other| (*other).to_owned()).collect()
    };
    reached.iter().map(circle).filter(|circle| !circle.is_empty()).collect()
}

fn reached_from<'a>(file: &'a str, direct: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![file];
    while let Some(file) = next.pop() {
        let used = direct.get(file).into_iter().flatten().copied();
        next.extend(used.filter(|used| reached.insert(*used)));
    }
    reached
}

#[derive(Default)]
struct Modules {
    all: Vec<Module>,
}

/// A module: a file, or an inline module in a file.
#[derive(Default)]
struct Module {
    file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    /// The imported path of each name.
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// The paths in the code of the module.
    paths: Vec<Vec<String>>,
}

enum Resolved {
    Module(usize),
    /// An item in this file.
    Item(String),
    /// A path of another crate, or a name that is not a module.
    Elsewhere,
}

impl Modules {
    fn load(&mut self, file: &str, parent: Option<usize>, read: Read<'_>) -> usize {
        let text = read(file).unwrap_or_else(|| panic!("there is no {file}"));
        let folder = match file.rsplit_once('/') {
            Some((folder, "mod.rs" | "lib.rs" | "main.rs")) => folder,
            _ => file.trim_end_matches(".rs"),
        };
        let number = self.all.len();
        self.all.push(Module { file: file.to_owned(), parent, ..Module::default() });
        self.fill(number, folder, &tokens(&text), read);
        number
    }

    fn fill(&mut self, number: usize, folder: &str, tokens: &[Token], read: Read<'_>) {
        let tokens = without_tests(tokens);
        let mut rest = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match word(Some(token)) {
                "use" => {
                    let tree = &tokens[at..];
                    let len = tree.iter().position(|token| *token == Token::Punct(';')).unwrap();
                    // A re-export is not a use: the file that takes the name uses the item behind
                    // it.
                    let before =
                        tokens[..at - 1].iter().rev().find(|t| !matches!(t, Token::Group('(', _)));
                    let is_use = word(before) != "pub";
                    self.all[number].import(&tree[..len], is_use);
                    at += len;
                    continue;
                }
                "mod" => {
                    let name = word(tokens.get(at)).to_owned();
                    let child = self.child(number, folder, &name, &tokens[at + 1], read);
                    self.all[number].children.insert(name, child);
                    at += 2;
                    continue;
                }
                "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" => {
                    self.all[number].items.insert(word(tokens.get(at)).to_owned());
                }
                _ => {}
            }
            rest.push(token.clone());
        }
        collect_paths(&rest, &mut self.all[number].paths);
    }

    fn child(
        &mut self,
        parent: usize,
        folder: &str,
        name: &str,
        body: &Token,
        read: Read<'_>,
    ) -> usize {
        let path = format!("{folder}/{name}");
        if let Token::Group(_, tokens) = body {
            let file = self.all[parent].file.clone();
            self.all.push(Module { file, parent: Some(parent), ..Module::default() });
            let number = self.all.len() - 1;
            self.fill(number, &path, tokens, read);
            return number;
        }
        let files = [format!("{path}.rs"), format!("{path}/mod.rs")];
        let there = files.iter().find(|file| read(file).is_some());
        self.load(there.unwrap_or_else(|| panic!("there is no {path}")), Some(parent), read)
    }

    /// Resolves a path in the code of the module `from`.
    fn find(&self, from: usize, path: &[String], wants_module: bool, depth: usize) -> Resolved {
        let mut at = from;
        for (i, name) in path.iter().enumerate() {
            let is_last = i + 1 == path.len();
            match name.as_str() {
                "crate" => at = 0,
                "self" => {}
                "super" => at = self.all[at].parent.unwrap_or(0),
                name => match self.meaning(at, name, !is_last || wants_module, depth) {
                    Resolved::Module(module) => at = module,
                    // A glob import, or a name that a macro defines.
                    Resolved::Elsewhere if i > 0 => {
                        return Resolved::Item(self.all[at].file.clone());
                    }
                    other => return other,
                },
            }
        }
        Resolved::Module(at)
    }

    /// Resolves a name in the module `at`. A module and an item may have the same name.
    fn meaning(&self, at: usize, name: &str, wants_module: bool, depth: usize) -> Resolved {
        let module = &self.all[at];
        if depth > 16 {
            return Resolved::Elsewhere;
        }
        let child = || module.children.get(name).map(|child| Resolved::Module(*child));
        let item = || module.items.contains(name).then(|| Resolved::Item(module.file.clone()));
        let import = || {
            let path = module.imports.get(name)?;
            Some(self.find(at, path, wants_module, depth + 1))
        };
        let by_glob = |path: &Vec<String>| match self.find(at, path, true, depth + 1) {
            Resolved::Module(other) => match self.meaning(other, name, wants_module, depth + 1) {
                Resolved::Elsewhere => None,
                found => Some(found),
            },
            _ => None,
        };
        let found = if wants_module {
            child().or_else(import).or_else(item)
        } else {
            item().or_else(import).or_else(child)
        };
        found.or_else(|| module.globs.iter().find_map(by_glob)).unwrap_or(Resolved::Elsewhere)
    }
}

impl Module {
    fn import(&mut self, tree: &[Token], is_use: bool) {
        let mut leaves = Vec::new();
        collect_leaves(tree, &[], &mut leaves);
        for (mut path, name) in leaves {
            if is_use {
                self.paths.push(path.clone());
            }
            if name == "*" {
                path.pop();
                self.globs.push(path);
            } else if path != [name.clone()] {
                // `use name;` imports another crate.
                self.imports.insert(name, path);
            }
        }
    }
}

/// The paths of a tree of `use`, each with the name that it defines.
fn collect_leaves(tree: &[Token], before: &[String], leaves: &mut Vec<(Vec<String>, String)>) {
    for part in tree.split(|token| *token == Token::Punct(',')) {
        let mut path = before.to_vec();
        let mut name = None;
        let mut is_tree = false;
        for (i, token) in part.iter().enumerate() {
            match token {
                Token::Word(word) if word == "as" => {
                    name = Some(self::word(part.get(i + 1)).to_owned());
                    break;
                }
                // `{self}` is the path before it.
                Token::Word(word) if word == "self" && !path.is_empty() => {}
                Token::Word(word) => path.push(word.clone()),
                Token::Punct('*') => path.push("*".to_owned()),
                Token::Group(_, tokens) => {
                    collect_leaves(tokens, &path, leaves);
                    is_tree = true;
                }
                _ => {}
            }
        }
        if let Some(last) = path.last().filter(|_| !is_tree && !part.is_empty()) {
            let name = name.unwrap_or_else(|| last.clone());
            leaves.push((path, name));
        }
    }
}

/// The paths of several names in any code, including that of macros.
fn collect_paths(tokens: &[Token], paths: &mut Vec<Vec<String>>) {
    let tokens = without_tests(tokens);
    let colons = [Token::Punct(':'), Token::Punct(':')];
    let is_joined = |at: usize| tokens[at..].starts_with(&colons);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        if let Token::Group(_, inside) = token {
            collect_paths(inside, paths);
        }
        let Token::Word(first) = token else { continue };
        let mut path = vec![first.clone()];
        while is_joined(at) {
            match tokens.get(at + 2) {
                Some(Token::Word(name)) => path.push(name.clone()),
                Some(Token::Punct('*')) => path.push("*".to_owned()),
                // The tree of a `use` inside a function.
                Some(Token::Group('{', tree)) => {
                    let mut leaves = Vec::new();
                    collect_leaves(tree, &path, &mut leaves);
                    paths.extend(leaves.into_iter().map(|(path, _)| path));
                }
                _ => {}
            }
            at += 3;
        }
        if path.len() > 1 {
            paths.push(path);
        }
    }
}

/// The tokens without attributes, and without the items that are only for tests. The module that an
/// attribute of serde names is kept as a path.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let Some(Token::Group('[', attribute)) = tokens.get(at) else {
            kept.push(token.clone());
            continue;
        };
        if *token != Token::Punct('#') {
            kept.push(token.clone());
            continue;
        }
        at += 1;
        if is_for_tests(attribute) {
            let is_end = |token: &Token| matches!(token, Token::Punct(';') | Token::Group('{', _));
            let len = tokens[at..].iter().position(is_end);
            at = len.map_or(tokens.len(), |len| at + len + 1);
        } else if let [Token::Word(serde), Token::Group('(', options)] = attribute.as_slice()
            && serde == "serde"
            && let [Token::Word(with), Token::Punct('='), Token::Text(path), ..] =
                options.as_slice()
            && with == "with"
        {
            kept.extend(crate::tokens::tokens(&format!("{path}::deserialize")));
        }
    }
    kept
}

/// `cfg(test)`, or `cfg(all(test, …))`.
fn is_for_tests(attribute: &[Token]) -> bool {
    let [Token::Word(cfg), Token::Group('(', condition)] = attribute else { return false };
    let condition = match condition.as_slice() {
        [Token::Word(all), Token::Group('(', all_of)] if all == "all" => all_of,
        _ => condition,
    };
    cfg == "cfg" && word(condition.first()) == "test"
}

fn word(token: Option<&Token>) -> &str {
    match token {
        Some(Token::Word(word)) => word,
        _ => "",
    }
}
