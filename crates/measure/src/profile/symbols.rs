//! The names of the functions at addresses.

use std::collections::HashMap;
use std::sync::Arc;

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Input, Symbolizer};
use model::profile::KERNEL;

use super::collect::CodeAddress;

pub(super) struct Symbols {
    symbolizer: Symbolizer,
    known: HashMap<CodeAddress, Arc<str>>,
}

impl Symbols {
    pub(super) fn new() -> Symbols {
        // A function is one that the compiler has left as such: what it inlined belongs to the
        // function around it, whether there is debug information or not.
        let symbolizer = Symbolizer::builder()
            .enable_code_info(false)
            .enable_inlined_fns(false)
            .enable_demangling(true)
            .build();
        Symbols { symbolizer, known: HashMap::new() }
    }

    /// The function at an address; without one, the file.
    pub(super) fn name(&mut self, address: &CodeAddress) -> Arc<str> {
        if let Some(known) = self.known.get(address) {
            return Arc::clone(known);
        }
        let name: Arc<str> = Arc::from(self.look_up(address));
        self.known.insert(address.clone(), Arc::clone(&name));
        name
    }

    fn look_up(&self, address: &CodeAddress) -> String {
        match address {
            CodeAddress::Unknown => "[unknown]".to_owned(),
            CodeAddress::Kernel(address) => {
                let kernel =
                    Kernel { vmlinux: MaybeDefault::None, debug_syms: false, ..Kernel::default() };
                let name = self.symbol(&Source::Kernel(kernel), Input::AbsAddr(*address));
                name.map_or_else(|| KERNEL.trim_start().to_owned(), |name| name + KERNEL)
            }
            CodeAddress::File(path, offset) => {
                let mut elf = Elf::new(&**path);
                elf.debug_syms = false;
                // The path may be that of a removed file, or of no file at all: a named pipe that
                // has its name now would have to be waited for.
                let is_file = std::fs::metadata(&**path).is_ok_and(|metadata| metadata.is_file());
                let name = is_file
                    .then(|| self.symbol(&Source::Elf(elf), Input::FileOffset(*offset)))
                    .flatten();
                name.unwrap_or_else(|| match path.rsplit('/').next() {
                    Some(file) if !file.is_empty() => {
                        format!("[{}]", file.trim_matches(['[', ']']))
                    }
                    _ => "[unknown]".to_owned(),
                })
            }
        }
    }

    fn symbol(&self, source: &Source<'_>, address: Input<u64>) -> Option<String> {
        let found = self.symbolizer.symbolize_single(source, address).ok()?.into_sym()?;
        Some(found.name.into_owned()).filter(|name| !name.is_empty())
    }
}
