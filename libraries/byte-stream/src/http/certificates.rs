//! The verification of servers' certificates, and the texts of errors of TLS. It does no I/O.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

/// Certificates that are trusted: as those of authorities, and as those of servers.
pub(super) struct TrustedCertificates {
    pub(super) roots: RootCertStore,
    pub(super) certificates: Vec<CertificateDer<'static>>,
}

/// Accepts a certificate that leads to a trusted authority, and one that is trusted itself, as
/// OpenSSL does with `X509_V_FLAG_PARTIAL_CHAIN`: a server's own certificate is not issued by an
/// authority, and `openssl req -x509` marks it as that of one, which alone is not allowed for a
/// server.
#[derive(Debug)]
pub(super) struct CertificateVerifier {
    certificates: Vec<CertificateDer<'static>>,
    authorities: Arc<WebPkiServerVerifier>,
}

impl CertificateVerifier {
    pub(super) fn new(
        trusted: TrustedCertificates,
        provider: Arc<CryptoProvider>,
    ) -> Result<CertificateVerifier, VerifierBuilderError> {
        let TrustedCertificates { roots, certificates } = trusted;
        let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(CertificateVerifier { certificates, authorities: authorities.build()? })
    }

    fn is_trusted_itself(&self, presented: &CertificateDer<'_>) -> bool {
        self.certificates.iter().any(|certificate| certificate[..] == presented[..])
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            Err(error) if is_of_chain(&error) && self.is_trusted_itself(end_entity) => {
                // The time was checked before the chain, the name would be behind it. The handshake
                // shows that the server has the key.
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.authorities.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

/// Whether the error is about who issued the certificate, and not about its time, its name or its
/// own form.
fn is_of_chain(error: &rustls::Error) -> bool {
    use CertificateError::{
        BadSignature, Other, UnknownIssuer, UnsupportedSignatureAlgorithmContext,
    };
    matches!(
        error,
        rustls::Error::InvalidCertificate(
            UnknownIssuer | BadSignature | UnsupportedSignatureAlgorithmContext { .. } | Other(_)
        )
    )
}

/// The error in words.
pub(super) fn words(error: &rustls::Error) -> String {
    use rustls::Error::{
        AlertReceived, DecryptError, InappropriateHandshakeMessage, InappropriateMessage,
        InvalidCertificate, InvalidMessage, NoCertificatesPresented, PeerIncompatible,
        PeerMisbehaved, PeerSentOversizedRecord,
    };
    use rustls::InvalidMessage::{InvalidContentType, UnknownProtocolVersion};
    let text = match error {
        InvalidCertificate(error) => {
            return format!("the certificate of the server {}", flaw(error));
        }
        AlertReceived(alert) => {
            return format!("the server refused the connection: {}", reason(*alert));
        }
        InvalidMessage(InvalidContentType | UnknownProtocolVersion) => {
            "the server does not speak TLS, or it is that of an http:// URL"
        }
        PeerIncompatible(_) => "the server has no version or method of TLS that is supported here",
        InvalidMessage(_)
        | PeerMisbehaved(_)
        | InappropriateMessage { .. }
        | InappropriateHandshakeMessage { .. }
        | PeerSentOversizedRecord => "the server does not keep to the protocol",
        NoCertificatesPresented => "the server presented no certificate",
        DecryptError => "a record cannot be decrypted, as its bytes have changed on the way",
        other => return other.to_string(),
    };
    text.to_owned()
}

/// The flaw of a certificate, as the end of a sentence about it.
fn flaw(error: &CertificateError) -> String {
    use CertificateError::{
        BadEncoding, BadSignature, Expired, ExpiredContext, InvalidPurpose, InvalidPurposeContext,
        NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext, Other, Revoked,
        UnhandledCriticalExtension, UnknownIssuer, UnsupportedSignatureAlgorithmContext,
        UnsupportedSignatureAlgorithmForPublicKeyContext,
    };
    let text = match error {
        UnknownIssuer => "is not from an authority that is trusted here",
        // Above all that of an authority: rustls has no word for it.
        Other(_) => "is not one that an authority issues to servers, and is not trusted itself",
        NotValidForName => "is for another host",
        NotValidForNameContext { expected, .. } => {
            return format!("is not for {}", expected.to_str());
        }
        Expired => "has expired",
        ExpiredContext { time, not_after } => {
            return format!("expired {} ago, by the clock here", days(*not_after, *time));
        }
        NotValidYet => "is not valid yet",
        NotValidYetContext { time, not_before } => {
            return format!("is valid only in {}, by the clock here", days(*time, *not_before));
        }
        Revoked => "has been revoked",
        BadEncoding => "is malformed",
        BadSignature => "is not signed by the authority that it names",
        UnhandledCriticalExtension => "has a critical extension that is not known here",
        InvalidPurpose | InvalidPurposeContext { .. } => "is for another purpose than servers",
        UnsupportedSignatureAlgorithmContext { .. }
        | UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "is signed by a method that is not supported here"
        }
        _ => "cannot be verified",
    };
    text.to_owned()
}

/// The time between the two, in whole days.
fn days(from: UnixTime, to: UnixTime) -> String {
    match to.as_secs().saturating_sub(from.as_secs()) / (24 * 60 * 60) {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        n => format!("{n} days"),
    }
}

/// The reason that the server gave for ending the handshake (RFC 8446, 6.2).
fn reason(alert: AlertDescription) -> String {
    use AlertDescription::{
        AccessDenied, BadCertificate, CertificateExpired, CertificateRequired, CertificateRevoked,
        CertificateUnknown, HandshakeFailure, InsufficientSecurity, InternalError, NoCertificate,
        ProtocolVersion, UnknownCA, UnrecognisedName, UnsupportedCertificate,
    };
    let text = match alert {
        HandshakeFailure | ProtocolVersion | InsufficientSecurity => {
            "it has no version or method of TLS that is supported here"
        }
        UnrecognisedName => "it has no site of this name",
        CertificateRequired | NoCertificate => "it requires a certificate of the client",
        BadCertificate
        | UnsupportedCertificate
        | CertificateRevoked
        | CertificateExpired
        | CertificateUnknown
        | UnknownCA => "it does not accept the certificate of the client",
        AccessDenied => "access is denied",
        InternalError => "it has an internal error",
        other => return format!("alert {} of TLS", u8::from(other)),
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::{InvalidMessage, OtherError};

    use super::*;

    fn check(error: impl Into<rustls::Error>, expected: &str) {
        assert_eq!(words(&error.into()), expected);
    }

    fn check_flaw(error: CertificateError, expected: &str) {
        check(error, &format!("the certificate of the server {expected}"));
    }

    #[test]
    fn a_certificate_that_is_refused_has_a_reason_in_words() {
        let at = |days: u64| UnixTime::since_unix_epoch(Duration::from_secs(days * 86_400));
        let expired = |time, not_after| CertificateError::ExpiredContext {
            time: at(time),
            not_after: at(not_after),
        };
        let expected = ServerName::try_from("a.example").unwrap();
        let presented = vec!["DnsName(\"b.example\")".to_owned()];
        check_flaw(
            CertificateError::NotValidForNameContext { expected, presented },
            "is not for a.example",
        );
        check_flaw(expired(10, 10), "expired less than a day ago, by the clock here");
        check_flaw(expired(11, 10), "expired 1 day ago, by the clock here");
        check_flaw(expired(40, 10), "expired 30 days ago, by the clock here");
        check_flaw(
            CertificateError::NotValidYetContext { time: at(1), not_before: at(4) },
            "is valid only in 3 days, by the clock here",
        );
        check_flaw(
            CertificateError::UnknownIssuer,
            "is not from an authority that is trusted here",
        );
        check_flaw(
            CertificateError::Other(OtherError(Arc::new(std::fmt::Error))),
            "is not one that an authority issues to servers, and is not trusted itself",
        );
        check_flaw(CertificateError::UnknownRevocationStatus, "cannot be verified");
    }

    #[test]
    fn a_handshake_that_fails_has_a_reason_in_words() {
        check(
            InvalidMessage::InvalidContentType,
            "the server does not speak TLS, or it is that of an http:// URL",
        );
        check(InvalidMessage::InvalidCcs, "the server does not keep to the protocol");
        let refused = |alert, expected: &str| {
            let text = format!("the server refused the connection: {expected}");
            check(rustls::Error::AlertReceived(alert), &text);
        };
        refused(AlertDescription::UnrecognisedName, "it has no site of this name");
        refused(AlertDescription::CertificateRequired, "it requires a certificate of the client");
        refused(AlertDescription::UserCanceled, "alert 90 of TLS");
    }
}
