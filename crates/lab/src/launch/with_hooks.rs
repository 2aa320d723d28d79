//! A method with commands around its samples, which are not timed.

use super::run_to_end::{Hook, hook as run_hook};
use super::{
    Child, Counted, CountingRunner, Limits, RawSample, Ready, RunError, Runner, Traced,
    TracedRunner,
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

    /// Passes the sample on after the hook that follows it.
    fn concluded<T>(&self, n: u64, taken: T) -> Result<T, RunError> {
        self.run("conclude", self.hooks.conclude.as_ref(), n)?;
        Ok(taken)
    }

    fn run(&self, name: &str, command: Option<&Command>, n: u64) -> Result<(), RunError> {
        let Some(command) = command else { return Ok(()) };
        let Limits { answer_ns, dir, stop } = &self.limits;
        let hook = Hook { name, command, dir: dir.clone(), limit_ns: *answer_ns, n };
        run_hook(&hook, &self.arguments, stop)
    }
}

impl<R: Child + ?Sized> Child for WithHooks<R> {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.arguments = arguments.clone();
        self.arguments.set("method", self.method.as_str());
        self.run("setup", self.hooks.setup.as_ref(), 0)?;
        self.inner.prepare(arguments)
    }

    fn before(&mut self, n: u64) -> Result<(), RunError> {
        self.inner.before(n)?;
        self.run("prepare", self.hooks.prepare.as_ref(), n)
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        self.inner.missing()
    }

    fn bye(&mut self) {
        self.inner.bye();
    }
}

impl Runner for WithHooks<dyn Runner> {
    fn started(&mut self) -> Result<(), RunError> {
        self.inner.started()
    }

    fn go(&mut self, n: u64, ops: u64) -> Result<RawSample, RunError> {
        let taken = self.inner.go(n, ops)?;
        self.concluded(n, taken)
    }

    fn has_died(&self) -> bool {
        self.inner.has_died()
    }
}

impl CountingRunner for WithHooks<dyn CountingRunner> {
    fn count(&mut self, n: u64, ops: u64) -> Result<Counted, RunError> {
        let counted = self.inner.count(n, ops)?;
        self.concluded(n, counted)
    }

    fn allocations(&mut self, n: u64, ops: u64) -> Result<Vec<(&'static str, u64)>, RunError> {
        let counts = self.inner.allocations(n, ops)?;
        self.concluded(n, counts)
    }

    fn trace(&mut self, n: u64, ops: u64, untraced_ns: u64) -> Result<Traced, RunError> {
        let traced = self.inner.trace(n, ops, untraced_ns)?;
        self.concluded(n, traced)
    }
}

impl TracedRunner for WithHooks<dyn TracedRunner> {
    fn pid(&self) -> Option<u32> {
        self.inner.pid()
    }

    fn go(
        &mut self,
        n: u64,
        ops: u64,
        started: &mut dyn FnMut(u32),
    ) -> Result<RawSample, RunError> {
        let taken = self.inner.go(n, ops, started)?;
        self.concluded(n, taken)
    }
}
