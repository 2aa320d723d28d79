//! The parts of a resource, fetched at once by one task and lent in order.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::super::client::Client;
use super::super::raw::{Raw, Version};
use super::super::response::Response;
use super::plan::Plan;
use crate::Result;
use crate::choice::Choice;

pub(crate) struct TaskRanges {
    plan: Arc<Plan>,
    client: Client,
    /// The parts behind the lent one, in order.
    parts: VecDeque<Part>,
    /// Connections and buffers of parts that were fetched, for the next ones.
    raws: Vec<Raw>,
    spare: Vec<Vec<u8>>,
    /// The part that is lent.
    part: Vec<u8>,
    /// The index of the next part to fetch.
    next: u64,
}

type Fetched = Result<(Option<Raw>, Vec<u8>)>;

#[expect(clippy::large_enum_variant, reason = "there are no more than connections")]
enum Part {
    Fetching(Pin<Box<dyn Future<Output = Fetched> + Send>>),
    Fetched(Fetched),
}

impl Part {
    fn poll(&mut self, context: &mut Context<'_>) {
        if let Part::Fetching(fetch) = self
            && let Poll::Ready(fetched) = fetch.as_mut().poll(context)
        {
            *self = Part::Fetched(fetched);
        }
    }
}

impl TaskRanges {
    /// `raw` has requested the first part.
    pub(super) fn new(raw: Raw, plan: Plan) -> TaskRanges {
        TaskRanges {
            plan: Arc::new(plan),
            client: raw.client().clone(),
            parts: VecDeque::new(),
            raws: vec![raw],
            spare: Vec::new(),
            part: Vec::new(),
            next: 0,
        }
    }

    pub(crate) fn chunk(&self) -> &[u8] {
        &self.part
    }

    pub(crate) fn choice(&self) -> Choice {
        self.plan.choice()
    }

    pub(crate) fn version(&self) -> &Version {
        &self.plan.version
    }

    pub(crate) fn response(&self) -> &Response {
        &self.plan.response
    }

    pub(crate) async fn advance(&mut self) -> Result<bool> {
        self.spare.push(std::mem::take(&mut self.part));
        self.start();
        let Some(fetched) = poll_fn(|context| self.poll_first(context)).await else {
            return Ok(false);
        };
        let (raw, part) = fetched?;
        self.raws.extend(raw);
        self.part = part;
        Ok(true)
    }

    /// Starts to fetch as many parts as there may be connections.
    fn start(&mut self) {
        while self.parts.len() < self.plan.connections && self.next < self.plan.parts() {
            let (plan, client, index) = (self.plan.clone(), self.client.clone(), self.next);
            let mut raw = self.raws.pop();
            let mut part = self.spare.pop().unwrap_or_default();
            self.next += 1;
            self.parts.push_back(Part::Fetching(Box::pin(async move {
                plan.fetch(&mut raw, &client, index, &mut part).await?;
                Ok((raw, part))
            })));
        }
    }

    /// Goes on with all parts until the first one is there; `None` if there is none.
    fn poll_first(&mut self, context: &mut Context<'_>) -> Poll<Option<Fetched>> {
        for part in &mut self.parts {
            part.poll(context);
        }
        match self.parts.pop_front() {
            None => Poll::Ready(None),
            Some(Part::Fetched(fetched)) => Poll::Ready(Some(fetched)),
            Some(part) => {
                self.parts.push_front(part);
                Poll::Pending
            }
        }
    }
}
