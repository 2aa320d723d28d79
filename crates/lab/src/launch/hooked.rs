//! A method with commands around its samples, which are not timed.

use super::complete::{Hook, hook};
use super::{Counted, CountingRunner, Ended, Limits, Ready, Runner, Taken, Traced, TracedRunner};
use crate::experiment::{Command, Hooks, Method};
use crate::param::Point;

pub(super) struct Hooked<R: ?Sized> {
    inner: Box<R>,
    hooks: Hooks,
    method: String,
    limits: Limits,
    arguments: Point,
}

impl<R: ?Sized> Hooked<R> {
    pub(super) fn new(inner: Box<R>, hooks: &Hooks, method: &Method, limits: Limits) -> Hooked<R> {
        let (hooks, method) = (hooks.clone(), method.name.clone());
        Hooked { inner, hooks, method, limits, arguments: Point::default() }
    }

    fn setup(&mut self, arguments: &Point) -> Result<(), Ended> {
        self.arguments = arguments.clone();
        self.arguments.set("method", self.method.as_str());
        self.run("setup", self.hooks.setup.as_ref())
    }

    fn prepare_sample(&self) -> Result<(), Ended> {
        self.run("prepare", self.hooks.prepare.as_ref())
    }

    fn run(&self, name: &str, command: Option<&Command>) -> Result<(), Ended> {
        let Some(command) = command else { return Ok(()) };
        let Limits { answer_ns, dir, stop } = &self.limits;
        hook(&Hook { name, command, dir: dir.clone(), limit_ns: *answer_ns }, &self.arguments, stop)
    }
}

impl Runner for Hooked<dyn Runner> {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended> {
        self.setup(arguments)?;
        self.inner.prepare(arguments)
    }

    fn before(&mut self) -> Result<(), Ended> {
        self.inner.before()?;
        self.prepare_sample()
    }

    fn go(&mut self, n: u64, ops: u64) -> Result<Taken, Ended> {
        self.inner.go(n, ops)
    }

    fn has_died(&self) -> bool {
        self.inner.has_died()
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        self.inner.missing()
    }

    fn bye(&mut self) {
        self.inner.bye();
    }
}

impl CountingRunner for Hooked<dyn CountingRunner> {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended> {
        self.setup(arguments)?;
        self.inner.prepare(arguments)
    }

    fn before(&mut self) -> Result<(), Ended> {
        self.inner.before()?;
        self.prepare_sample()
    }

    fn count(&mut self, n: u64, ops: u64) -> Result<Counted, Ended> {
        self.inner.count(n, ops)
    }

    fn allocations(&mut self, n: u64, ops: u64) -> Result<Vec<(&'static str, u64)>, Ended> {
        self.inner.allocations(n, ops)
    }

    fn trace(&mut self, n: u64, ops: u64) -> Result<Traced, Ended> {
        self.inner.trace(n, ops)
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        self.inner.missing()
    }

    fn bye(&mut self) {
        self.inner.bye();
    }
}

impl TracedRunner for Hooked<dyn TracedRunner> {
    fn pid(&self) -> Option<u32> {
        self.inner.pid()
    }

    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended> {
        self.setup(arguments)?;
        self.inner.prepare(arguments)
    }

    fn before(&mut self) -> Result<(), Ended> {
        self.inner.before()?;
        self.prepare_sample()
    }

    fn go(&mut self, n: u64, ops: u64, started: &mut dyn FnMut(u32)) -> Result<Taken, Ended> {
        self.inner.go(n, ops, started)
    }

    fn bye(&mut self) {
        self.inner.bye();
    }
}
