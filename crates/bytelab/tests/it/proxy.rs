//! A network that drops, delays and resets: a proxy on a TCP port before a Unix socket.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Numbers that are the same in each run of a test (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// Where and how a connection ends.
#[derive(Clone, Copy)]
struct Cut {
    after_bytes: usize,
    /// Before each part of a message.
    delay: Duration,
    /// For this time, what comes is lost.
    hole: Duration,
    /// By RST in place of FIN.
    is_reset: bool,
    /// In what the client sends, or else in what it gets.
    is_in_requests: bool,
}

impl Cut {
    fn at_random(random: &mut Random) -> Cut {
        let magnitude = 4 + random.below(14);
        let milliseconds = |n: usize| Duration::from_millis(n as u64);
        Cut {
            // As often near the start, where a connection is made, as far from it.
            after_bytes: random.below(1 << magnitude),
            delay: milliseconds(random.below(4)),
            hole: milliseconds(if random.below(4) == 0 { random.below(200) } else { 0 }),
            is_reset: random.below(2) == 0,
            is_in_requests: random.below(2) == 0,
        }
    }
}

struct ProxyState {
    socket: PathBuf,
    cuts: AtomicUsize,
    is_open: AtomicBool,
}

pub(crate) struct Proxy {
    port: u16,
    shared: Arc<ProxyState>,
}

impl Proxy {
    pub(crate) fn to(socket: PathBuf, seed: u64) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cuts, is_open) = (AtomicUsize::new(0), AtomicBool::new(false));
        let shared = Arc::new(ProxyState { socket, cuts, is_open });
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            let mut random = Random::new(seed);
            for client in listener.incoming() {
                let (shared, random) =
                    (Arc::clone(&own), Random::new(random.below(1 << 50) as u64));
                thread::spawn(move || serve(&client.unwrap(), &shared, random));
            }
        });
        Proxy { port, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/runs?sslmode=disable", self.port)
    }

    pub(crate) fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::Relaxed)
    }

    pub(crate) fn cut_no_more(&self) {
        self.shared.is_open.store(true, Ordering::Relaxed);
    }
}

fn serve(client: &TcpStream, shared: &ProxyState, mut random: Random) {
    let Ok(server) = UnixStream::connect(&shared.socket) else { return };
    let cut = Cut::at_random(&mut random);
    let cut = (!shared.is_open.load(Ordering::Relaxed)).then_some(cut);
    let is_cut = AtomicBool::new(false);
    thread::scope(|scope| {
        let pass = |from: &mut dyn Read, to: &mut dyn Write, cut: Option<Cut>| {
            if pass_until_cut(from, to, cut) {
                is_cut.store(true, Ordering::Relaxed);
                shared.cuts.fetch_add(1, Ordering::Relaxed);
            }
            // The client's other direction stays open for RST.
            let _ = (server.shutdown(Shutdown::Both), client.shutdown(Shutdown::Read));
        };
        let (requests, answers) =
            (cut.filter(|c| c.is_in_requests), cut.filter(|c| !c.is_in_requests));
        let server = &server;
        scope.spawn(move || pass(&mut &*client, &mut &*server, requests));
        pass(&mut &*server, &mut &*client, answers);
    });
    if is_cut.into_inner() && cut.is_some_and(|cut| cut.is_reset) {
        rustix::net::sockopt::set_socket_linger(client, Some(Duration::ZERO)).unwrap();
    }
}

/// Passes bytes on until the source or the target ends, or until the cut; whether it was that.
fn pass_until_cut(from: &mut dyn Read, to: &mut dyn Write, cut: Option<Cut>) -> bool {
    let mut buffer = [0; 8192];
    let mut left = cut.map_or(usize::MAX, |cut| cut.after_bytes);
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) | Err(_) => return false,
            Ok(n) => n,
        };
        let passed = n.min(left);
        thread::sleep(cut.map_or(Duration::ZERO, |cut| cut.delay));
        let is_passed = to.write_all(&buffer[..passed]).is_ok();
        left -= passed;
        if let Some(cut) = cut.filter(|_| left == 0) {
            thread::sleep(cut.hole);
            return true;
        }
        if !is_passed {
            return false;
        }
    }
}
