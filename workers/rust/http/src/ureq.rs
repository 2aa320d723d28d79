//! ureq: blocking; its agent keeps connections.

use std::io::Read;

use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::jobs::{Access, Pass, Remote, Result, Taker, read_all, message};

pub(crate) struct Ureq {
    agent: Agent,
    url: String,
    buffer: Vec<u8>,
    access: Access,
}

impl Ureq {
    pub(crate) fn new(remote: &Remote, access: Access) -> Result<Ureq> {
        let mut config = Agent::config_builder().proxy(None);
        if let Some(pem) = &remote.certificates {
            let items = parse_pem(pem).filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            });
            let roots: Vec<Certificate<'static>> = items.collect();
            let tls = TlsConfig::builder().root_certs(RootCerts::Specific(roots.into())).build();
            config = config.tls_config(tls);
        }
        let buffer = vec![0; remote.buffer];
        Ok(Ureq { agent: config.build().into(), url: remote.url.clone(), buffer, access })
    }
}

impl Pass for Ureq {
    fn pass(&mut self, fold: &mut Taker) -> Result<u64> {
        let mut response = self.agent.get(&self.url).call().map_err(message)?;
        let mut reader = response.body_mut().with_config().limit(u64::MAX).reader();
        if self.access != Access::Whole {
            return read_all(reader, &mut self.buffer, fold);
        }
        let mut all = Vec::new();
        reader.read_to_end(&mut all).map_err(message)?;
        fold.chunk(&all);
        Ok(all.len() as u64)
    }
}
