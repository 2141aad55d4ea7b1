//! Hardware security modules through PKCS#11: master keys that never leave the token.
//!
//! `wrapped = iv[12] | CKM_AES_GCM ciphertext | tag[16]`, without additional authenticated data: the layout of the local
//! keystore. The token draws the IV.

mod failure;
mod token;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use cryptoki::error::{Error as TokenError, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::aead::GcmParams;
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;
use lakelock_crypto::SecretKey;
use tokio::sync::Semaphore;
use tokio::task;
use zeroize::Zeroizing;

use self::failure::Failure;
use self::token::Token;
pub use self::token::{
    DEFAULT_PIN_ENV, PKCS11_MODULE, PKCS11_PIN_ENV, PKCS11_PIN_FILE, PKCS11_SLOT_ID, PKCS11_TOKEN_LABEL,
};
use crate::call::Call;
use crate::{ErrorKind, KeyManagementClient, Operation, Result};

const IV_LENGTH: usize = 12;
const TAG_LENGTH: usize = 16;
/// Calls in the module at once. One that hangs in a broken module keeps its thread: this bounds how many can.
const MAX_CALLS: usize = 16;

/// A KMS client on a token; `encryption.kms-impl` = `pkcs11`. A key id is the label (`CKA_LABEL`) of an AES key.
///
/// Makes single attempts: put a [`Remote`](crate::Remote) around it.
#[derive(Debug)]
pub struct Pkcs11Kms {
    token: Arc<Token>,
    calls: Arc<Semaphore>,
}

impl Pkcs11Kms {
    /// A client by the catalog properties [`PKCS11_MODULE`], [`PKCS11_TOKEN_LABEL`] and so on. The module is loaded when
    /// the first key is used.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a property that is missing or makes no sense.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let token = Arc::new(Token::from_properties(properties)?);
        Ok(Self { token, calls: Arc::new(Semaphore::new(MAX_CALLS)) })
    }

    /// Works with the token and a key on it, in a thread that may block.
    async fn with_key<T: Send + 'static>(
        &self,
        operation: Operation,
        key_id: &str,
        work: impl Fn(&Session, ObjectHandle) -> std::result::Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let internal = |source: Box<dyn std::error::Error + Send + Sync>| {
            Call::new(operation, key_id).error(ErrorKind::Internal, "the call did not finish").with_source(source)
        };
        let turn = Arc::clone(&self.calls).acquire_owned().await.map_err(|e| internal(e.into()))?;
        let (token, id) = (Arc::clone(&self.token), key_id.to_owned());
        let blocking = task::spawn_blocking(move || {
            let call = Call::new(operation, &id);
            let outcome = token.with_session(call, |session| work(session, find_key(session, &id)?));
            drop(turn);
            outcome
        });
        blocking.await.map_err(|e| internal(e.into()))?
    }
}

#[async_trait]
impl KeyManagementClient for Pkcs11Kms {
    async fn wrap_key(&self, key: &SecretKey, wrapping_key_id: &str) -> Result<Vec<u8>> {
        let key = key.clone();
        self.with_key(Operation::Wrap, wrapping_key_id, move |session, master| encrypt(session, master, &key)).await
    }

    async fn unwrap_key(&self, wrapped: &[u8], wrapping_key_id: &str) -> Result<SecretKey> {
        let call = Call::new(Operation::Unwrap, wrapping_key_id);
        call.check_wrapped(wrapped)?;
        let wrapped = wrapped.to_vec();
        let opened = self
            .with_key(Operation::Unwrap, wrapping_key_id, move |session, master| decrypt(session, master, &wrapped))
            .await?;
        call.secret_key(&opened)
    }
}

/// The one AES key of a label.
fn find_key(session: &Session, label: &str) -> std::result::Result<ObjectHandle, Failure> {
    let template = [
        Attribute::Class(ObjectClass::SECRET_KEY),
        Attribute::Token(true),
        Attribute::Label(label.as_bytes().to_vec()),
    ];
    let keys = session.find_objects(&template)?;
    let [key] = keys.as_slice() else {
        return Err(match keys.len() {
            0 => Failure::of(ErrorKind::NotFound, "the token has no secret key of that label (CKA_LABEL)"),
            count => Failure::of(ErrorKind::InvalidInput, format!("the token has {count} keys of that label")),
        });
    };
    let attributes = session.get_attributes(*key, &[AttributeType::KeyType])?;
    if !attributes.contains(&Attribute::KeyType(KeyType::AES)) {
        return Err(Failure::of(ErrorKind::InvalidInput, "the key is not an AES key (CKK_AES)"));
    }
    Ok(*key)
}

fn encrypt(session: &Session, master: ObjectHandle, key: &SecretKey) -> std::result::Result<Vec<u8>, Failure> {
    let mut iv = [0; IV_LENGTH];
    session.generate_random_slice(&mut iv)?;
    let sealed = session.encrypt(&gcm(&mut iv)?, master, key.expose_secret())?;
    let expected = key.expose_secret().len() + TAG_LENGTH;
    if sealed.len() != expected {
        let detail = format!("the token made {} bytes of ciphertext and tag instead of {expected}", sealed.len());
        return Err(Failure::of(ErrorKind::Unsupported, detail));
    }
    // After the call: a token that insists on its own IV has put it there.
    Ok([iv.as_slice(), &sealed].concat())
}

fn decrypt(
    session: &Session,
    master: ObjectHandle,
    wrapped: &[u8],
) -> std::result::Result<Zeroizing<Vec<u8>>, Failure> {
    let wrong = || Failure::of(ErrorKind::WrongKey, "it was wrapped with another key, or its bytes were changed");
    let Some((iv, sealed)) = wrapped.split_first_chunk::<IV_LENGTH>().filter(|(_, s)| s.len() > TAG_LENGTH) else {
        return Err(wrong());
    };
    let mut iv = *iv;
    match session.decrypt(&gcm(&mut iv)?, master, sealed) {
        Ok(key) => Ok(Zeroizing::new(key)),
        // What many modules say of a wrong tag, and of everything else. A key that still works tells them apart.
        Err(error @ TokenError::Pkcs11(RvError::GeneralError | RvError::FunctionFailed, _)) => {
            Err(if key_works(session, master) { wrong() } else { error.into() })
        }
        Err(error) => Err(error.into()),
    }
}

fn key_works(session: &Session, master: ObjectHandle) -> bool {
    let mut iv = [0; IV_LENGTH];
    let mut works = || {
        session.generate_random_slice(&mut iv)?;
        let sealed = session.encrypt(&gcm(&mut iv)?, master, &[0; 16])?;
        session.decrypt(&gcm(&mut iv)?, master, &sealed)
    };
    works().is_ok_and(|opened| opened == [0; 16])
}

fn gcm(iv: &mut [u8]) -> std::result::Result<Mechanism<'_>, TokenError> {
    const TAG_BITS: u64 = TAG_LENGTH as u64 * 8;
    Ok(Mechanism::AesGcm(GcmParams::new(iv, &[], TAG_BITS.into())?))
}
