//! reqwest: asynchronous, on a runtime of one thread, and its blocking form.

use std::future::poll_fn;
use std::pin::Pin;

use hyper::body::{Body as _, Bytes};
use reqwest::{Body, Certificate, Client, ClientBuilder, blocking};
use tokio::runtime::{Builder, Runtime};

use crate::fold::Fold;
use crate::jobs::{Access, Pass, Remote, Result, Taker, read_all, message};

pub(crate) struct Async {
    runtime: Runtime,
    client: Client,
    url: String,
    access: Access,
}

impl Async {
    pub(crate) fn new(remote: &Remote, access: Access) -> Result<Async> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(message)?;
        let mut client = ClientBuilder::new().no_proxy();
        if let Some(pem) = &remote.certificates {
            client = client.add_root_certificate(Certificate::from_pem(pem).map_err(message)?);
        }
        Ok(Async {
            runtime,
            client: client.build().map_err(message)?,
            url: remote.url.clone(),
            access,
        })
    }
}

impl Pass for Async {
    fn pass(&mut self, fold: &mut Taker) -> Result<u64> {
        let Async { runtime, client, url, access } = self;
        runtime.block_on(async {
            let response = client.get(&*url).send().await.and_then(|it| it.error_for_status());
            let mut response = response.map_err(message)?;
            let mut total = 0;
            match access {
                Access::Chunks => {
                    while let Some(chunk) = response.chunk().await.map_err(message)? {
                        fold.chunk(&chunk);
                        total += chunk.len() as u64;
                    }
                }
                Access::Whole => {
                    let all = response.bytes().await.map_err(message)?;
                    fold.chunk(&all);
                    total = all.len() as u64;
                }
                Access::Bytes => {
                    let mut bytes = EachByte { body: response.into(), chunk: Bytes::new(), at: 0 };
                    total = match fold {
                        Taker::Sum(fold) => bytes.all(fold).await?,
                        Taker::Digest(fold) => bytes.all(fold).await?,
                    };
                }
            }
            Ok(total)
        })
    }
}

/// A stream of bytes that is awaited for each of them.
struct EachByte {
    body: Body,
    chunk: Bytes,
    at: usize,
}

impl EachByte {
    async fn all<F: Fold>(&mut self, fold: &mut F) -> Result<u64> {
        let mut total = 0;
        while let Some(byte) = self.next().await? {
            fold.byte(byte);
            total += 1;
        }
        Ok(total)
    }

    fn next(&mut self) -> impl Future<Output = Result<Option<u8>>> {
        poll_fn(|context| {
            loop {
                if let Some(byte) = self.chunk.get(self.at).copied() {
                    self.at += 1;
                    return std::task::Poll::Ready(Ok(Some(byte)));
                }
                match std::task::ready!(Pin::new(&mut self.body).poll_frame(context)) {
                    None => return std::task::Poll::Ready(Ok(None)),
                    Some(Err(error)) => return std::task::Poll::Ready(Err(message(error))),
                    Some(Ok(frame)) => {
                        (self.chunk, self.at) = (frame.into_data().unwrap_or_default(), 0);
                    }
                }
            }
        })
    }
}

pub(crate) struct Blocking {
    client: blocking::Client,
    url: String,
    buffer: Vec<u8>,
}

impl Blocking {
    pub(crate) fn new(remote: &Remote) -> Result<Blocking> {
        let mut client = blocking::ClientBuilder::new().no_proxy().timeout(None);
        if let Some(pem) = &remote.certificates {
            client = client.add_root_certificate(Certificate::from_pem(pem).map_err(message)?);
        }
        let client = client.build().map_err(message)?;
        Ok(Blocking { client, url: remote.url.clone(), buffer: vec![0; remote.buffer] })
    }
}

impl Pass for Blocking {
    fn pass(&mut self, fold: &mut Taker) -> Result<u64> {
        let response = self.client.get(&self.url).send().and_then(|it| it.error_for_status());
        read_all(response.map_err(message)?, &mut self.buffer, fold)
    }
}
