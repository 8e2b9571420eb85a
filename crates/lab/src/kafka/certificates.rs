//! Certificates made on the spot, for a lab and for tests that need a wrong one. Not for anything that lasts.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};

use super::error::Result;

/// A certificate authority that lives as long as this value, plus whatever it signed.
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate_pem: String,
}

/// A certificate and its key, both PEM. The key is PKCS #8, as Kafka and OpenSSL read it.
pub struct Identity {
    /// The certificate.
    pub certificate_pem: String,
    /// Its private key.
    pub key_pem: String,
}

impl CertificateAuthority {
    /// A new authority, unknown to everyone, with an ECDSA P-256 key.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn new(common_name: &str) -> Result<Self> {
        let mut params = named(common_name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate_pem = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate_pem })
    }

    /// The certificate that clients have to trust, PEM.
    #[must_use]
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// A certificate for a server on 127.0.0.1 and localhost.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn issue_loopback_server(&self) -> Result<Identity> {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        params.distinguished_name = named("plumb lab broker").distinguished_name;
        // Brokers are clients of each other as well.
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params)
    }

    /// A certificate for a client of that name.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn issue_client(&self, common_name: &str) -> Result<Identity> {
        let mut params = named(common_name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params)
    }

    fn issue(&self, mut params: CertificateParams) -> Result<Identity> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate_pem = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate_pem, key_pem: key.serialize_pem() })
    }
}

fn named(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params
}
