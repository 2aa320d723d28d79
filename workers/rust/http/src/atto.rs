//! attohttpc: blocking, a connection for each request.

use attohttpc::{ProxySettings, Session};

use crate::jobs::{Pass, Remote, Result, Taker, read_all, message};

pub(crate) struct Atto {
    session: Session,
    url: String,
    buffer: Vec<u8>,
}

impl Atto {
    pub(crate) fn new(remote: &Remote) -> Result<Atto> {
        if remote.certificates.is_some() {
            return Err("skip it was built without TLS, which would bring a C library".to_owned());
        }
        let mut session = Session::new();
        session.proxy_settings(ProxySettings::builder().build());
        Ok(Atto { session, url: remote.url.clone(), buffer: vec![0; remote.buffer] })
    }
}

impl Pass for Atto {
    fn pass(&mut self, fold: &mut Taker) -> Result<u64> {
        let response = self.session.get(&self.url).send().and_then(|it| it.error_for_status());
        let (_, _, reader) = response.map_err(message)?.split();
        read_all(reader, &mut self.buffer, fold)
    }
}
