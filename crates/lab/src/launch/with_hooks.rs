//! A method with commands around its samples, which are not timed.

use super::run_to_end::{Hook, hook};
use super::{
    Counted, CountingRunner, Limits, RawSample, Ready, RunError, Runner, Traced, TracedRunner,
};
use crate::experiment::{Command, Hooks, Method};
use crate::param::Point;

pub(super) struct WithHooks<R: ?Sized> {
    inner: Box<R>,
    hooks: Hooks,
    method: String,
    limits: Limits,
    arguments: Point,
}

impl<R: ?Sized> WithHooks<R> {
    pub(super) fn new(
        inner: Box<R>,
        hooks: &Hooks,
        method: &Method,
        limits: Limits,
    ) -> WithHooks<R> {
        let (hooks, method) = (hooks.clone(), method.name.clone());
        WithHooks { inner, hooks, method, limits, arguments: Point::default() }
    }

    fn setup(&mut self, arguments: &Point) -> Result<(), RunError> {
        self.arguments = arguments.clone();
        self.arguments.set("method", self.method.as_str());
        self.run("setup", self.hooks.setup.as_ref())
    }

    fn prepare_sample(&self) -> Result<(), RunError> {
        self.run("prepare", self.hooks.prepare.as_ref())
    }

    fn run(&self, name: &str, command: Option<&Command>) -> Result<(), RunError> {
        let Some(command) = command else { return Ok(()) };
        let Limits { answer_ns, dir, stop } = &self.limits;
        hook(&Hook { name, command, dir: dir.clone(), limit_ns: *answer_ns }, &self.arguments, stop)
    }
}

impl Runner for WithHooks<dyn Runner> {
    fn started(&mut self) -> Result<(), RunError> {
        self.inner.started()
    }

    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.setup(arguments)?;
        self.inner.prepare(arguments)
    }

    fn before(&mut self) -> Result<(), RunError> {
        self.inner.before()?;
        self.prepare_sample()
    }

    fn go(&mut self, n: u64, ops: u64) -> Result<RawSample, RunError> {
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

impl CountingRunner for WithHooks<dyn CountingRunner> {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.setup(arguments)?;
        self.inner.prepare(arguments)
    }

    fn before(&mut self) -> Result<(), RunError> {
        self.inner.before()?;
        self.prepare_sample()
    }

    fn count(&mut self, n: u64, ops: u64) -> Result<Counted, RunError> {
        self.inner.count(n, ops)
    }

    fn allocations(&mut self, n: u64, ops: u64) -> Result<Vec<(&'static str, u64)>, RunError> {
        self.inner.allocations(n, ops)
    }

    fn trace(&mut self, n: u64, ops: u64) -> Result<Traced, RunError> {
        self.inner.trace(n, ops)
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        self.inner.missing()
    }

    fn bye(&mut self) {
        self.inner.bye();
    }
}

impl TracedRunner for WithHooks<dyn TracedRunner> {
    fn pid(&self) -> Option<u32> {
        self.inner.pid()
    }

    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.setup(arguments)?;
        self.inner.prepare(arguments)
    }

    fn before(&mut self) -> Result<(), RunError> {
        self.inner.before()?;
        self.prepare_sample()
    }

    fn go(
        &mut self,
        n: u64,
        ops: u64,
        started: &mut dyn FnMut(u32),
    ) -> Result<RawSample, RunError> {
        self.inner.go(n, ops, started)
    }

    fn bye(&mut self) {
        self.inner.bye();
    }
}
