//! What must be undone when a run has ended.

use anyhow::Result;

/// Work that is done once: on an explicit call of [`Ending::end`], else on drop.
#[derive(Default)]
pub struct Ending(Option<Box<dyn FnOnce() -> Result<()>>>);

impl Ending {
    pub fn new(work: impl FnOnce() -> Result<()> + 'static) -> Ending {
        Ending(Some(Box::new(work)))
    }

    pub fn end(&mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), |work| work())
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // A caller that needs the result calls `end` itself.
        let _ = self.end();
    }
}
