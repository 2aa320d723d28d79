//! The names of the functions at addresses.

use std::collections::HashMap;
use std::ffi::CStr;
use std::path::Path;
use std::sync::Arc;

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Input, Symbolizer};
use model::profile::KERNEL;

use super::collect::{self, CodeAddress};
use super::elf::ElfFile;

pub(super) struct Symbols {
    symbolizer: Symbolizer,
    chosen: Option<ChosenFunctions>,
    /// By address, the function, if it has a name.
    known: HashMap<CodeAddress, Option<Arc<str>>>,
}

/// The functions for which the C library has code for several processors, and chooses one at start.
/// The symbol is that of the choice, so without debug symbols the code that runs has no name. This
/// process has loaded the same library, which has chosen the same.
struct ChosenFunctions {
    library: String,
    elf: ElfFile,
    /// By the address in the file at which the code begins. Several may have the same.
    names: HashMap<u64, String>,
}

const CHOSEN_FUNCTIONS: [&CStr; 36] = [
    c"memchr",
    c"memcmp",
    c"memcpy",
    c"memmove",
    c"mempcpy",
    c"memrchr",
    c"memset",
    c"rawmemchr",
    c"stpcpy",
    c"stpncpy",
    c"strcasecmp",
    c"strcasestr",
    c"strcat",
    c"strchr",
    c"strchrnul",
    c"strcmp",
    c"strcpy",
    c"strcspn",
    c"strlen",
    c"strncasecmp",
    c"strncat",
    c"strncmp",
    c"strncpy",
    c"strnlen",
    c"strpbrk",
    c"strrchr",
    c"strspn",
    c"strstr",
    c"wcschr",
    c"wcscmp",
    c"wcscpy",
    c"wcslen",
    c"wcsncmp",
    c"wcsnlen",
    c"wmemchr",
    c"wmemset",
];

impl ChosenFunctions {
    /// None where the C library is linked into this program.
    fn of_this_process() -> Option<ChosenFunctions> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let library = place(&maps, c"memcpy")?.0;
        let elf = ElfFile::open(Path::new(library))?;
        let mut names = HashMap::<u64, String>::new();
        for function in CHOSEN_FUNCTIONS {
            // A library that was loaded before may have its own.
            let place = place(&maps, function).filter(|(file, _)| *file == library);
            let start = place.and_then(|(_, offset)| elf.address_of(offset));
            let start = start.filter(|start| elf.function_start(*start) == Some(*start));
            let (Some(start), Ok(function)) = (start, function.to_str()) else { continue };
            let name = names.entry(start).or_default();
            if !name.is_empty() {
                name.push('/');
            }
            name.push_str(function);
        }
        Some(ChosenFunctions { library: library.to_owned(), elf, names })
    }

    fn name(&self, file: &str, offset: u64) -> Option<String> {
        let address = self.elf.address_of(offset).filter(|_| file == self.library)?;
        self.names.get(&self.elf.function_start(address)?).cloned()
    }
}

/// What stands for a function without a name.
fn file_name(address: &CodeAddress) -> Arc<str> {
    let file = match address {
        CodeAddress::Kernel(_) => return Arc::from(KERNEL.trim_start()),
        CodeAddress::File(path, _) => path.rsplit('/').next().unwrap_or_default(),
        CodeAddress::Unknown => "",
    };
    match file.trim_matches(['[', ']']) {
        "" => Arc::from("[unknown]"),
        file => Arc::from(format!("[{file}]")),
    }
}

/// The file, and the offset in it, of the code that this process runs for a function.
#[expect(unsafe_code, reason = "dlsym has no safe form")]
fn place<'maps>(maps: &'maps str, function: &CStr) -> Option<(&'maps str, u64)> {
    // SAFETY: the name ends with a zero byte, and no library is loaded or closed.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, function.as_ptr()) } as u64;
    maps.lines().filter_map(collect::mapping).find_map(|(start, len, offset, file)| {
        let distance = address.checked_sub(start).filter(|distance| *distance < len)?;
        Some((file, offset + distance))
    })
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
        let chosen = ChosenFunctions::of_this_process();
        Symbols { symbolizer, chosen, known: HashMap::new() }
    }

    /// The functions of a call chain, the outermost first. Code that has no name belongs to the
    /// function of the same file that called it: a library without debug symbols has the names of
    /// what programs call. Else it has the name of its file.
    pub(super) fn chain(&mut self, stack: &[CodeAddress]) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::with_capacity(stack.len());
        let mut caller: Option<&CodeAddress> = None;
        for address in stack {
            let name = self.function(address).unwrap_or_else(|| match (caller, address) {
                (Some(CodeAddress::File(outer, _)), CodeAddress::File(file, _))
                    if outer == file =>
                {
                    names.last().cloned().unwrap_or_else(|| file_name(address))
                }
                _ => file_name(address),
            });
            names.push(name);
            caller = Some(address);
        }
        names
    }

    fn function(&mut self, address: &CodeAddress) -> Option<Arc<str>> {
        if let Some(known) = self.known.get(address) {
            return known.clone();
        }
        let name: Option<Arc<str>> = self.look_up(address).map(Arc::from);
        self.known.insert(address.clone(), name.clone());
        name
    }

    fn look_up(&self, address: &CodeAddress) -> Option<String> {
        match address {
            CodeAddress::Unknown => None,
            CodeAddress::Kernel(address) => {
                let kernel =
                    Kernel { vmlinux: MaybeDefault::None, debug_syms: false, ..Kernel::default() };
                let name = self.symbol(&Source::Kernel(kernel), Input::AbsAddr(*address));
                Some(name? + KERNEL)
            }
            CodeAddress::File(path, offset) => {
                // The path may be that of a removed file, or of no file at all: a named pipe that
                // has its name now would have to be waited for.
                if !std::fs::metadata(&**path).is_ok_and(|metadata| metadata.is_file()) {
                    return None;
                }
                let mut elf = Elf::new(&**path);
                elf.debug_syms = false;
                let name = self.symbol(&Source::Elf(elf), Input::FileOffset(*offset));
                name.or_else(|| self.chosen.as_ref()?.name(path, *offset))
            }
        }
    }

    fn symbol(&self, source: &Source<'_>, address: Input<u64>) -> Option<String> {
        let found = self.symbolizer.symbolize_single(source, address).ok()?.into_sym()?;
        Some(found.name.into_owned()).filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_the_c_library_has_chosen_has_the_name_that_programs_call() {
        let chosen = ChosenFunctions::of_this_process().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        for (function, start) in [(c"memcpy", "mem"), (c"memset", "memset"), (c"strlen", "strlen")]
        {
            let (file, offset) = place(&maps, function).unwrap();
            // A library with debug symbols has longer names.
            let names = Symbols::new().chain(&[CodeAddress::File(file.into(), offset + 4)]);
            assert!(names[0].contains(start), "{function:?}: {names:?}");
            let name = chosen.name(file, offset + 4).unwrap();
            assert!(name.split('/').any(|one| one == function.to_str().unwrap()), "{name}");
            assert_eq!(chosen.name("/another/libc.so.6", offset + 4), None);
        }
    }
    #[test]
    fn code_without_a_name_belongs_to_the_function_of_its_file_that_called_it() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let (file, malloc) = place(&maps, c"malloc").unwrap();
        let file: Arc<str> = file.into();
        // The header of the file holds no code.
        let [malloc, nameless] =
            [malloc + 4, 8].map(|offset| CodeAddress::File(Arc::clone(&file), offset));
        let other = CodeAddress::File("/nonexistent/program".into(), 4);
        let stack =
            [other.clone(), nameless.clone(), malloc, nameless.clone(), nameless.clone(), other];
        let names = Symbols::new().chain(&stack);
        let of_malloc = Arc::clone(&names[2]);
        assert!(of_malloc.contains("malloc"), "{names:?}");
        assert_eq!([&names[3], &names[4]], [&of_malloc; 2]);
        assert_eq!([&*names[0], &*names[5]], ["[program]"; 2]);
        assert!(names[1].starts_with("[libc"), "{names:?}");
    }
}
