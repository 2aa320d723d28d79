//! What a client must be able to do: to hand the bytes of one resource to a fold; and the job that
//! is made of it.

use crate::fold::{Digest, Fold, Sum, combined};
use crate::protocol::Arguments;

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

/// What is read.
pub(crate) struct Remote {
    pub(crate) url: String,
    pub(crate) buffer: usize,
    /// To be trusted, in PEM; none if it is plain HTTP.
    pub(crate) certificates: Option<Vec<u8>>,
}

/// How the bytes are requested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Chunks,
    Bytes,
    Whole,
}

/// A fold of a kind that is chosen while the program runs. It is called once a chunk, so that costs
/// nothing; the methods that hand over byte by byte know both kinds.
pub(crate) enum Taker {
    Sum(Sum),
    Digest(Digest),
}

impl Taker {
    pub(crate) fn chunk(&mut self, bytes: &[u8]) {
        match self {
            Taker::Sum(fold) => fold.chunk(bytes),
            Taker::Digest(fold) => fold.chunk(bytes),
        }
    }
}

/// A client that is set up, with all that it uses again.
pub(crate) trait Pass: Send {
    /// Requests the resource, hands over all its bytes in order, and returns their number.
    fn pass(&mut self, fold: &mut Taker) -> Result<u64>;
}

struct Reading {
    clients: Vec<Box<dyn Pass>>,
    size: u64,
}

/// A client for each of the `parallel` resources.
pub(crate) fn job(
    arguments: &Arguments,
    make: &dyn Fn(&Remote) -> Result<Box<dyn Pass>>,
) -> Result<Box<dyn Job>> {
    let get = |name: &str| arguments.get(name).ok_or(format!("no {name} is given"));
    let number = |name: &str| get(name)?.parse::<u64>().map_err(|_| format!("{name} is no number"));
    let size = number("size")?;
    let certificates = match arguments.get("certificates") {
        Some(path) if get("source")? == "https" => Some(std::fs::read(path).map_err(message)?),
        _ => None,
    };
    let mut clients = Vec::new();
    for index in 0..number("parallel")? {
        let name = if index == 0 { "url".to_owned() } else { format!("url{}", index + 1) };
        let buffer = number("buffer")?.clamp(1, 1 << 30) as usize;
        let url = get(&name)?.clone();
        clients.push(make(&Remote { url, buffer, certificates: certificates.clone() })?);
    }
    Ok(Box::new(Reading { clients, size }))
}

impl Reading {
    fn results(&mut self, times: u64, fold: fn() -> Taker) -> Result<Vec<u64>> {
        let size = self.size;
        if let [client] = self.clients.as_mut_slice() {
            return Ok(vec![repeat(client.as_mut(), times, size, fold)?]);
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .clients
                .iter_mut()
                .map(|client| scope.spawn(move || repeat(client.as_mut(), times, size, fold)))
                .collect();
            let joined = |thread: std::thread::ScopedJoinHandle<'_, Result<u64>>| {
                thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))
            };
            threads.into_iter().map(joined).collect()
        })
    }
}

fn repeat(client: &mut dyn Pass, times: u64, size: u64, fold: fn() -> Taker) -> Result<u64> {
    let mut result = 0;
    for _ in 0..times {
        let mut taker = fold();
        let bytes = client.pass(&mut taker)?;
        if bytes != size {
            return Err(format!("{bytes} bytes arrived instead of {size}"));
        }
        result = match taker {
            Taker::Sum(fold) => fold.result(),
            Taker::Digest(fold) => fold.result(),
        };
    }
    Ok(result)
}

impl Job for Reading {
    fn run(&mut self, times: u64) -> Result<Option<u64>> {
        let sums = self.results(times, || Taker::Sum(Sum::at(0)))?;
        Ok(Some(sums.into_iter().fold(0, u64::wrapping_add)))
    }

    fn digest(&mut self) -> Result<u64> {
        Ok(combined(self.results(1, || Taker::Digest(Digest::at(0)))?))
    }

    fn bytes(&self) -> u64 {
        self.size * self.clients.len() as u64
    }
}

/// Reads to the end into a buffer that is used again.
pub(crate) fn read_all(
    mut reader: impl std::io::Read,
    buffer: &mut [u8],
    fold: &mut Taker,
) -> Result<u64> {
    let mut total = 0;
    loop {
        match reader.read(buffer).map_err(message)? {
            0 => return Ok(total),
            n => {
                fold.chunk(&buffer[..n]);
                total += n as u64;
            }
        }
    }
}

pub(crate) fn message(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
