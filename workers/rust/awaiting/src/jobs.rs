//! The job of all methods: to await each byte of a file, and to fold it.

use std::cell::Cell;
use std::fs::File;
use std::future::poll_fn;
use std::hint::black_box;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Poll};

use bytelab_awaiting::ByteStream;

use crate::fold::{Digest, Fold, Sum};
use crate::protocol::Arguments;
use crate::stream;
use crate::tasks::{Slot, run};

pub(crate) type Result<T> = std::result::Result<T, String>;

pub(crate) trait Job {
    /// Does it so often; the answer is that of any one time.
    fn run(&mut self, times: u64) -> Result<Option<u64>>;
    fn digest(&mut self) -> Result<u64>;
    /// What one operation hands over.
    fn bytes(&self) -> u64;
    /// Not a metric here.
    fn size_bytes(&self) -> Option<u64> {
        None
    }
}

/// A method: which of the factors it has. Whether it is optimised, the build decides.
#[derive(Clone, Copy, Default)]
struct Method {
    other: bool,
    never: bool,
    boxed: bool,
    handed: bool,
}

impl Method {
    /// The method of this name: `await`, or the words of its factors.
    fn from_name(name: &str) -> Result<Method> {
        let mut method = Method::default();
        for word in name.split('-').filter(|_| name != "await") {
            match word {
                "other" => method.other = true,
                "never" => method.never = true,
                "dyn" => method.boxed = true,
                "handed" => method.handed = true,
                _ => return Err(format!("there is no method {name}")),
            }
        }
        Ok(method)
    }
}

struct Awaiting {
    method: Method,
    path: PathBuf,
    size: u64,
    buffer: Vec<u8>,
}

/// The method of this name for these arguments.
pub(crate) fn job(name: &str, arguments: &Arguments) -> Result<Box<dyn Job>> {
    let get = |name: &str| arguments.get(name).ok_or(format!("no {name} is given"));
    let number = |name: &str| get(name)?.parse::<u64>().map_err(|_| format!("{name} is no number"));
    let (method, size) = (Method::from_name(name)?, number("size")?);
    let buffer = vec![0; number("buffer")?.clamp(1, 1 << 30) as usize];
    Ok(Box::new(Awaiting { method, path: get("file")?.into(), size, buffer }))
}

impl Job for Awaiting {
    fn run(&mut self, times: u64) -> Result<Option<u64>> {
        let mut sum = None;
        for _ in 0..times {
            sum = Some(self.pass::<Sum>()?);
        }
        Ok(sum)
    }

    fn digest(&mut self) -> Result<u64> {
        self.pass::<Digest>()
    }

    fn bytes(&self) -> u64 {
        self.size
    }
}

impl Awaiting {
    /// Opens the file, awaits each of its bytes, and closes it. The result of the fold.
    fn pass<F: Fold>(&mut self) -> Result<u64> {
        let Awaiting { method, path, size, buffer } = self;
        let failed = |error: io::Error| format!("reading {}: {error}", path.display());
        let file = File::open(&*path).map_err(failed)?;
        let folded = match (method.other, method.never) {
            (false, false) => folded::<F, _>(stream::Inlined::new(file, buffer), *method),
            (false, true) => folded::<F, _>(stream::Called::new(file, buffer), *method),
            (true, false) => {
                folded::<F, _>(bytelab_awaiting::stream::Inlined::new(file, buffer), *method)
            }
            (true, true) => {
                folded::<F, _>(bytelab_awaiting::stream::Called::new(file, buffer), *method)
            }
        };
        let (fold, n) = folded.map_err(failed)?;
        if n != *size {
            return Err(format!("{} has changed from {size} to {n} bytes", path.display()));
        }
        Ok(fold.result())
    }
}

/// The fold of all bytes, and their number.
type Folded<F> = io::Result<(F, u64)>;

fn folded<'a, F: Fold, S: ByteStream + 'a>(bytes: S, method: Method) -> Folded<F> {
    // The optimiser must not see which stream is in the box: it would call it directly.
    let boxed = |bytes: S| Boxed(black_box(Box::new(bytes) as Box<dyn ByteStream + 'a>));
    match (method.boxed, method.handed) {
        (false, false) => in_one_task(bytes),
        (false, true) => handed_over(bytes),
        (true, false) => in_one_task(boxed(bytes)),
        (true, true) => handed_over(boxed(bytes)),
    }
}

/// A stream of which only the trait is known.
struct Boxed<'a>(Box<dyn ByteStream + 'a>);

impl ByteStream for Boxed<'_> {
    #[inline]
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Option<u8>>> {
        self.0.poll_next(context)
    }
}

fn next<S: ByteStream>(bytes: &mut S) -> impl Future<Output = io::Result<Option<u8>>> {
    poll_fn(move |context| bytes.poll_next(context))
}

/// The task that awaits the bytes folds them.
fn in_one_task<F: Fold, S: ByteStream>(mut bytes: S) -> Folded<F> {
    let folded = Cell::new(None);
    let task = pin!(async {
        let (mut fold, mut n) = (F::at(0), 0);
        let end = loop {
            match next(&mut bytes).await {
                Ok(Some(byte)) => fold.byte(byte),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
            n += 1;
        };
        folded.set(Some(end.map(|()| (fold, n))));
    });
    run([task]);
    folded.take().unwrap_or_else(|| Err(io::Error::other("the task has not ended")))
}

/// A task awaits the bytes and hands each of them over to another one, which folds them.
fn handed_over<F: Fold, S: ByteStream>(mut bytes: S) -> Folded<F> {
    let (slot, read, folded) = (Slot::default(), Cell::new(Ok(())), Cell::new(None));
    let reader = pin!(async {
        loop {
            let byte = next(&mut bytes).await.unwrap_or_else(|error| {
                read.set(Err(error));
                None
            });
            slot.put(byte).await;
            if byte.is_none() {
                break;
            }
        }
    });
    let folder = pin!(async {
        let (mut fold, mut n) = (F::at(0), 0);
        while let Some(byte) = slot.take().await {
            fold.byte(byte);
            n += 1;
        }
        folded.set(Some((fold, n)));
    });
    run([reader, folder]);
    read.replace(Ok(()))?;
    folded.take().ok_or_else(|| io::Error::other("the tasks have not ended"))
}
