//! HashiCorp Vault and OpenBao: their Transit secrets engine as KMS.
//!
//! ```text
//! wrap      POST MOUNT/encrypt/KEY            {"plaintext": BASE64}    -> {"data": {"ciphertext": "vault:vN:BASE64"}}
//! unwrap    POST MOUNT/decrypt/KEY            {"ciphertext": "vault:vN:BASE64"} -> {"data": {"plaintext": BASE64}}
//! generate  POST MOUNT/datakey/plaintext/KEY  {"bits": 128 or 256}     -> {"data": {"plaintext", "ciphertext"}}
//! look      GET  MOUNT/keys/KEY                                        -> {"data": {...}}
//! ```
//!
//! A wrapped key is the text `vault:vN:BASE64` as the server returns it: what its own tools decrypt and rewrap.

mod login;
mod wire;

use std::collections::HashMap;
use std::fmt;

use async_trait::async_trait;
use lakelock_crypto::{KeyLength, SecretKey};
use reqwest::{Method, StatusCode};
use zeroize::Zeroizing;

use self::login::Login;
pub use self::login::{
    VAULT_AUTH, VAULT_AUTH_MOUNT, VAULT_JWT_FILE, VAULT_ROLE, VAULT_ROLE_ID, VAULT_SECRET_ID_ENV, VAULT_SECRET_ID_FILE,
    VAULT_TOKEN_ENV, VAULT_TOKEN_FILE,
};
use self::wire::{
    Ciphertext, Data, DataKeyRequest, DecryptRequest, EncryptRequest, Encrypted, KeyState, Plain, Server,
};
use crate::call::{Call, property};
use crate::http::{Answer, kind_of};
use crate::key_bytes::{KeyBytes, from_json, to_json};
use crate::{Error, ErrorKind, GeneratedKey, KeyManagementClient, Operation, Result};

/// Property: where the server is; `BAO_ADDR` or `VAULT_ADDR` unless set.
pub const VAULT_ADDRESS: &str = "vault.address";
/// Property: the namespace; `BAO_NAMESPACE` or `VAULT_NAMESPACE` unless set.
pub const VAULT_NAMESPACE: &str = "vault.namespace";
/// Property: where the Transit engine is mounted, `transit` unless set.
pub const VAULT_MOUNT: &str = "vault.mount";
/// Property: the authorities to trust instead of the system's, in PEM; `BAO_CACERT` or `VAULT_CACERT` unless set.
pub const VAULT_CA_FILE: &str = "vault.ca-file";

/// A KMS client on the Transit engine of HashiCorp Vault or OpenBao; `encryption.kms-impl` = `vault`.
///
/// Makes single attempts: put a [`Remote`](crate::Remote) around it.
pub struct VaultKms {
    server: Server,
    mount: Vec<String>,
    login: Login,
}

impl VaultKms {
    /// A client by the catalog properties [`VAULT_ADDRESS`], [`VAULT_MOUNT`], [`VAULT_AUTH`] and so on.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a property that is missing or makes no sense.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let mount = property(properties, VAULT_MOUNT).unwrap_or("transit");
        Ok(Self {
            server: Server::from_properties(properties)?,
            mount: mount_segments(VAULT_MOUNT, mount)?,
            login: Login::from_properties(properties)?,
        })
    }

    fn path<'a>(&'a self, what: &[&'a str]) -> Vec<&'a str> {
        self.mount.iter().map(String::as_str).chain(what.iter().copied()).collect()
    }

    /// Asks with a token. A token that has ended is replaced once, where that is possible.
    async fn ask(&self, call: Call<'_>, path: &[&str], body: Option<&Zeroizing<Vec<u8>>>) -> Result<Answer> {
        let session = self.login.session(&self.server, call).await?;
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let answer = self.server.send(call, method.clone(), path, Some(&session.token), body.cloned()).await?;
        // Only a denial may be one of the token.
        if answer.status != StatusCode::FORBIDDEN || session.is_valid(&self.server, call).await? {
            return Ok(answer);
        }
        let session = self.login.replace(&session, &self.server, call).await?;
        self.server.send(call, method, path, Some(&session.token), body.cloned()).await
    }

    async fn key_state(&self, call: Call<'_>) -> Result<KeyState> {
        let answer = self.ask(call, &self.path(&["keys", call.key_id]), None).await?;
        match answer.status {
            StatusCode::OK => Ok(KeyState::Known(self.data(call, &answer)?)),
            StatusCode::NOT_FOUND => Ok(KeyState::Missing),
            // Whoever may use a key need not be allowed to look at it.
            StatusCode::FORBIDDEN => Ok(KeyState::Hidden),
            _ => Err(self.refused(call, &answer)),
        }
    }

    /// Why a key does not do what it was asked for; `version` is that of what it should decrypt.
    fn unfit(&self, call: Call<'_>, state: &KeyState, version: Option<u64>) -> Option<Error> {
        let mount = self.mount.join("/");
        match state {
            KeyState::Missing => {
                let detail = format!("{} has no such key below {mount:?} (check {VAULT_MOUNT})", self.server);
                Some(call.error(ErrorKind::NotFound, detail))
            }
            KeyState::Known(key) if key.soft_deleted => {
                Some(call.error(ErrorKind::Disabled, "the key is deleted, and can be restored (soft-delete)"))
            }
            KeyState::Known(key) if key.derived => {
                let detail = "it is a key for derivation, which needs a context: make one without derived=true";
                Some(call.error(ErrorKind::InvalidInput, detail))
            }
            KeyState::Known(key) if !key.supports_encryption => {
                let detail = format!("a key of type {:?} does not encrypt: make one of type aes256-gcm96", key.kind);
                Some(call.error(ErrorKind::InvalidInput, detail))
            }
            KeyState::Known(key) if version.is_some_and(|version| version < key.min_decryption_version) => {
                let (version, oldest) = (version.unwrap_or_default(), key.min_decryption_version);
                let detail = format!(
                    "version {version} of the key may not decrypt any more: lower its min_decryption_version, now {oldest}"
                );
                Some(call.error(ErrorKind::Disabled, detail))
            }
            KeyState::Hidden | KeyState::Known(_) => None,
        }
    }

    fn data<'a, T: serde::Deserialize<'a>>(&self, call: Call<'_>, answer: &'a Answer) -> Result<T> {
        from_json::<Data<T>>(&answer.body)
            .map(|answer| answer.data)
            .map_err(|problem| call.error(ErrorKind::Damaged, format!("{}: {problem}", self.server)))
    }

    fn refused(&self, call: Call<'_>, answer: &Answer) -> Error {
        let kind = kind_of(answer.status);
        let remedy = match kind {
            ErrorKind::AccessDenied => ": the policies of the token do not allow it",
            ErrorKind::NotFound => ": check the address, vault.mount and vault.namespace",
            ErrorKind::Unreachable => ": try again later, or unseal the server if it is sealed",
            _ => "",
        };
        call.error(kind, format!("{} {}{remedy}", self.server, wire::said(answer)))
    }

    /// Reads an answer to an operation, or finds out why there is none.
    async fn outcome(&self, call: Call<'_>, answer: Answer, version: Option<u64>) -> Result<Answer> {
        match answer.status {
            StatusCode::OK => Ok(answer),
            // All that is wrong with a request or a key has this status, and is told apart only by English.
            StatusCode::BAD_REQUEST => {
                let state = self.key_state(call).await?;
                if let Some(error) = self.unfit(call, &state, version) {
                    return Err(error);
                }
                let said = wire::said(&answer);
                let kind = match call.operation {
                    _ if matches!(state, KeyState::Hidden) && said.contains("key not found") => ErrorKind::NotFound,
                    Operation::Unwrap => ErrorKind::WrongKey,
                    _ => ErrorKind::InvalidInput,
                };
                Err(call.error(kind, format!("{} {said}", self.server)))
            }
            _ => Err(self.refused(call, &answer)),
        }
    }

    async fn operate(
        &self,
        call: Call<'_>,
        path: &[&str],
        body: Zeroizing<Vec<u8>>,
        version: Option<u64>,
    ) -> Result<Answer> {
        let answer = self.ask(call, &self.path(path), Some(&body)).await?;
        self.outcome(call, answer, version).await
    }
}

#[async_trait]
impl KeyManagementClient for VaultKms {
    async fn wrap_key(&self, key: &SecretKey, wrapping_key_id: &str) -> Result<Vec<u8>> {
        let call = Call::new(Operation::Wrap, wrapping_key_id);
        check_key_name(call)?;
        // Encrypting with a key that does not exist makes it, where the policy allows that: a typing error would.
        let state = self.key_state(call).await?;
        if let Some(error) = self.unfit(call, &state, None) {
            return Err(error);
        }
        let body = to_json(&EncryptRequest { plaintext: KeyBytes::new(key.expose_secret()) })?;
        let answer = self.operate(call, &["encrypt", call.key_id], body, None).await?;
        let data: Encrypted = self.data(call, &answer)?;
        Ok(Ciphertext::parse(call, data.ciphertext.as_bytes(), ErrorKind::Damaged)?.text.as_bytes().to_vec())
    }

    async fn unwrap_key(&self, wrapped: &[u8], wrapping_key_id: &str) -> Result<SecretKey> {
        let call = Call::new(Operation::Unwrap, wrapping_key_id);
        check_key_name(call)?;
        call.check_wrapped(wrapped)?;
        // A server forgives what it can in base64. Here one wrapped key has one text.
        let ciphertext = match Ciphertext::parse(call, wrapped, ErrorKind::WrongKey) {
            Ok(ciphertext) => ciphertext,
            // What never came from Transit is the lesser problem when the key does not even exist.
            Err(error) => {
                let state = self.key_state(call).await?;
                return Err(self.unfit(call, &state, None).unwrap_or(error));
            }
        };
        let body = to_json(&DecryptRequest { ciphertext: ciphertext.text })?;
        let answer = self.operate(call, &["decrypt", call.key_id], body, Some(ciphertext.version)).await?;
        let data: Plain = self.data(call, &answer)?;
        call.secret_key(data.plaintext.as_slice())
    }

    async fn generate_key(&self, length: KeyLength, wrapping_key_id: &str) -> Result<Option<GeneratedKey>> {
        let call = Call::new(Operation::Generate, wrapping_key_id);
        check_key_name(call)?;
        if length == KeyLength::Aes192 {
            return Ok(None);
        }
        let body = to_json(&DataKeyRequest { bits: length.bytes() * 8 })?;
        let answer = self.operate(call, &["datakey", "plaintext", call.key_id], body, None).await?;
        let (plain, encrypted): (Plain, Encrypted) = (self.data(call, &answer)?, self.data(call, &answer)?);
        let key = call.secret_key(plain.plaintext.as_slice())?;
        if key.length() != length {
            let detail = format!("the answer has a key of {} bytes", key.length().bytes());
            return Err(call.error(ErrorKind::Damaged, detail));
        }
        let wrapped = Ciphertext::parse(call, encrypted.ciphertext.as_bytes(), ErrorKind::Damaged)?;
        Ok(Some(GeneratedKey { key, wrapped: wrapped.text.as_bytes().to_vec() }))
    }
}

impl fmt::Debug for VaultKms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultKms")
            .field("server", &self.server)
            .field("mount", &self.mount)
            .field("login", &self.login)
            .finish()
    }
}

/// A key's name is one segment of a path: nothing in it may lead elsewhere.
fn check_key_name(call: Call<'_>) -> Result<()> {
    if is_path_segment(call.key_id) {
        return Ok(());
    }
    let detail = "a key id is the name of a Transit key: letters, digits, '_', '-' and '.'";
    Err(call.error(ErrorKind::InvalidInput, detail))
}

fn mount_segments(name: &str, mount: &str) -> Result<Vec<String>> {
    let segments: Vec<String> = mount.trim_matches('/').split('/').map(str::to_owned).collect();
    if segments.iter().all(|segment| is_path_segment(segment)) {
        return Ok(segments);
    }
    Err(Error::new(ErrorKind::InvalidInput, format!("{name}: {mount:?} is not the path of a mount")))
}

fn is_path_segment(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !text.is_empty() && text.chars().all(is_plain) && text != "." && text != ".."
}
