//! Who we are to Vault: a token, given or got by a login, renewed while it is in use and replaced when it ends.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::mount_segments;
use super::wire::{self, Data, Server};
use crate::call::{Call, property};
use crate::http::{Answer, kind_of};
use crate::key_bytes::{from_json, to_json};
use crate::{Error, ErrorKind, Result, SecretString};

/// Property: how to log in: `token` (unless set), `approle` or `kubernetes`.
pub const VAULT_AUTH: &str = "vault.auth";
/// Property: where that method is mounted, `approle` or `kubernetes` unless set.
pub const VAULT_AUTH_MOUNT: &str = "vault.auth-mount";
/// Property, for `token`: the environment variable that holds the token; `BAO_TOKEN` or `VAULT_TOKEN` unless set.
pub const VAULT_TOKEN_ENV: &str = "vault.token-env";
/// Property, for `token`: the file that holds it, read again when the token ends; `~/.vault-token` unless set.
pub const VAULT_TOKEN_FILE: &str = "vault.token-file";
/// Property, for `approle`: the role's id.
pub const VAULT_ROLE_ID: &str = "vault.role-id";
/// Property, for `approle`: the environment variable that holds the secret id.
pub const VAULT_SECRET_ID_ENV: &str = "vault.secret-id-env";
/// Property, for `approle`: the file that holds the secret id, read at each login.
pub const VAULT_SECRET_ID_FILE: &str = "vault.secret-id-file";
/// Property, for `kubernetes`: the role's name.
pub const VAULT_ROLE: &str = "vault.role";
/// Property, for `kubernetes`: the service account's token, read at each login; where a pod has it unless set.
pub const VAULT_JWT_FILE: &str = "vault.jwt-file";

const POD_JWT_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
/// A token with less time left than this, or a third of what it was given, is renewed before it is used.
const RENEW_WITHIN: Duration = Duration::from_secs(30);

/// How to become someone, and who we are now.
pub(super) struct Login {
    method: LoginMethod,
    current: Mutex<Option<Arc<Session>>>,
}

enum LoginMethod {
    AppRole { mount: Vec<String>, role_id: String, secret_id: Source },
    Kubernetes { mount: Vec<String>, role: String, jwt: Source },
    Token(Source),
}

/// Where a secret is.
enum Source {
    Environment(String),
    File(PathBuf),
}

/// A token in use.
pub(super) struct Session {
    pub(super) token: SecretString,
    lease: Option<Lease>,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    end: Instant,
    duration: Duration,
    is_renewable: bool,
}

impl Login {
    pub(super) fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let needed = |name: &str, auth: &str| {
            let value = property(properties, name).map(str::to_owned);
            value.ok_or_else(|| Error::new(ErrorKind::InvalidInput, format!("{VAULT_AUTH}={auth} needs {name}")))
        };
        let mount =
            |default| mount_segments(VAULT_AUTH_MOUNT, property(properties, VAULT_AUTH_MOUNT).unwrap_or(default));
        let method = match property(properties, VAULT_AUTH).unwrap_or("token") {
            "token" => LoginMethod::Token(token_source(properties)?),
            "approle" => LoginMethod::AppRole {
                mount: mount("approle")?,
                role_id: needed(VAULT_ROLE_ID, "approle")?,
                secret_id: one_source(properties, VAULT_SECRET_ID_ENV, VAULT_SECRET_ID_FILE)?.ok_or_else(|| {
                    let needed = format!("{VAULT_SECRET_ID_FILE} or {VAULT_SECRET_ID_ENV}");
                    Error::new(ErrorKind::InvalidInput, format!("{VAULT_AUTH}=approle needs {needed}"))
                })?,
            },
            "kubernetes" => LoginMethod::Kubernetes {
                mount: mount("kubernetes")?,
                role: needed(VAULT_ROLE, "kubernetes")?,
                jwt: Source::File(property(properties, VAULT_JWT_FILE).unwrap_or(POD_JWT_FILE).into()),
            },
            other => {
                let message = format!("{VAULT_AUTH} is {other:?}: expected token, approle or kubernetes");
                return Err(Error::new(ErrorKind::InvalidInput, message));
            }
        };
        Ok(Self { method, current: Mutex::new(None) })
    }

    /// A token with some time left. One caller logs in or renews; the others wait for it.
    pub(super) async fn session(&self, server: &Server, call: Call<'_>) -> Result<Arc<Session>> {
        let mut current = self.current.lock().await;
        let session = match current.take() {
            Some(session) if session.lease.is_none_or(|lease| !lease.is_ending(Instant::now())) => session,
            Some(session) => match session.renewed(server, call).await? {
                Some(renewed) => Arc::new(renewed),
                None => Arc::new(self.log_in(server, call).await?),
            },
            None => Arc::new(self.log_in(server, call).await?),
        };
        *current = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Another token instead of one that the server does not know any more.
    pub(super) async fn replace(&self, ended: &Session, server: &Server, call: Call<'_>) -> Result<Arc<Session>> {
        let mut current = self.current.lock().await;
        if let Some(session) = &*current
            && session.token.expose_secret() != ended.token.expose_secret()
        {
            return Ok(Arc::clone(session));
        }
        *current = None;
        let session = self.log_in(server, call).await?;
        if session.token.expose_secret() == ended.token.expose_secret() {
            let detail = format!(
                "{server} does not accept the token from {}: it ended, was revoked, or may neither do this nor look itself up",
                self.method
            );
            return Err(call.error(ErrorKind::Credentials, detail));
        }
        Ok(Arc::clone(current.insert(Arc::new(session))))
    }

    async fn log_in(&self, server: &Server, call: Call<'_>) -> Result<Session> {
        let (mount, body) = match &self.method {
            LoginMethod::Token(source) => {
                let remedy = "set VAULT_TOKEN or vault.token-file, or vault.auth for a login";
                let token = source.read(call, remedy).await?;
                return Session::given(token, server, call).await;
            }
            LoginMethod::AppRole { mount, role_id, secret_id } => {
                let secret_id = secret_id.read(call, "put the secret id there").await?;
                (mount, to_json(&AppRoleRequest { role_id, secret_id: secret_id.expose_secret() })?)
            }
            LoginMethod::Kubernetes { mount, role, jwt } => {
                let jwt = jwt.read(call, "run in a pod, or set vault.jwt-file").await?;
                (mount, to_json(&KubernetesRequest { role, jwt: jwt.expose_secret() })?)
            }
        };
        let path: Vec<&str> = ["auth"].into_iter().chain(mount.iter().map(String::as_str)).chain(["login"]).collect();
        let answer = server.send(call, Method::POST, &path, None, Some(body)).await?;
        match answer.status {
            StatusCode::OK => Session::from_answer(&answer, server, call),
            status => {
                // A login that the server understood and refused is one of a wrong role or secret.
                let kind = match kind_of(status) {
                    kind @ (ErrorKind::Throttled | ErrorKind::Unreachable) => kind,
                    _ => ErrorKind::Credentials,
                };
                let detail = format!("no login by {}: {server} {}", self.method, wire::said(&answer));
                Err(call.error(kind, detail))
            }
        }
    }
}

impl Session {
    /// A token that was made elsewhere, with what it says of itself, if it may.
    async fn given(token: SecretString, server: &Server, call: Call<'_>) -> Result<Self> {
        #[derive(Deserialize)]
        struct Own {
            ttl: u64,
            #[serde(default)]
            renewable: bool,
        }
        let answer = look_up(&token, server, call).await?;
        let lease = match answer.status {
            StatusCode::OK => from_json::<Data<Own>>(&answer.body)
                .map(|own| Lease::new(own.data.ttl, own.data.renewable))
                .map_err(|problem| call.error(ErrorKind::Damaged, format!("{server}: {problem}")))?,
            // The token has ended, or its policies forbid the question. Its use will tell.
            StatusCode::FORBIDDEN => None,
            status => return Err(call.error(kind_of(status), format!("{server} {}", wire::said(&answer)))),
        };
        Ok(Self { token, lease })
    }

    fn from_answer(answer: &Answer, server: &Server, call: Call<'_>) -> Result<Self> {
        let Granted { auth } = from_json(&answer.body)
            .map_err(|problem| call.error(ErrorKind::Damaged, format!("login at {server}: {problem}")))?;
        let lease = Lease::new(auth.lease_duration, auth.renewable);
        Ok(Self { token: SecretString::from(auth.client_token), lease })
    }

    /// Whether the server still knows the token.
    pub(super) async fn is_valid(&self, server: &Server, call: Call<'_>) -> Result<bool> {
        Ok(look_up(&self.token, server, call).await?.status == StatusCode::OK)
    }

    /// This token with more time; as it is where it cannot be renewed and has not ended; `None` where it has.
    async fn renewed(&self, server: &Server, call: Call<'_>) -> Result<Option<Self>> {
        let Some(lease) = self.lease.filter(|lease| Instant::now() < lease.end) else { return Ok(None) };
        let as_it_is = Self { token: self.token.clone(), lease: self.lease };
        if !lease.is_renewable {
            return Ok(None);
        }
        let body = Zeroizing::new(b"{}".to_vec());
        let path = ["auth", "token", "renew-self"];
        let answer = server.send(call, Method::POST, &path, Some(&self.token), Some(body)).await?;
        match answer.status {
            StatusCode::OK => {
                let renewed = Self::from_answer(&answer, server, call)?;
                // At the end of its longest life a renewal adds nothing: then a new login is due.
                let has_gained = renewed.lease.is_none_or(|renewed| renewed.end > lease.end);
                Ok(has_gained.then_some(renewed))
            }
            StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST => Ok(None),
            _ => Ok(Some(as_it_is)),
        }
    }
}

impl Lease {
    /// `None`: without an end.
    fn new(seconds: u64, is_renewable: bool) -> Option<Self> {
        // Far enough: no sum with the present time overflows.
        let duration = Duration::from_secs(seconds.min(100 * 365 * 24 * 60 * 60));
        (seconds > 0).then(|| Self { end: Instant::now() + duration, duration, is_renewable })
    }

    fn is_ending(&self, now: Instant) -> bool {
        self.end.saturating_duration_since(now) < RENEW_WITHIN.max(self.duration / 3)
    }
}

impl Source {
    async fn read(&self, call: Call<'_>, remedy: &str) -> Result<SecretString> {
        let missing = || call.error(ErrorKind::Credentials, format!("no secret in {self}: {remedy}"));
        let text = match self {
            // The cause is left out: it quotes a value that is not UTF-8.
            Self::Environment(name) => std::env::var(name).map(Zeroizing::new).map_err(|_| missing())?,
            Self::File(file) => tokio::fs::read_to_string(file)
                .await
                .map(Zeroizing::new)
                .map_err(|source| missing().with_source(source))?,
        };
        match text.trim() {
            "" => Err(missing()),
            secret => Ok(SecretString::from(secret.to_owned())),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "the environment variable {name}"),
            Self::File(file) => write!(f, "{}", file.display()),
        }
    }
}

impl fmt::Display for LoginMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AppRole { mount, role_id, .. } => {
                write!(f, "AppRole at auth/{}, role id {role_id:?}", mount.join("/"))
            }
            Self::Kubernetes { mount, role, .. } => write!(f, "Kubernetes at auth/{}, role {role:?}", mount.join("/")),
            Self::Token(source) => write!(f, "{source}"),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({})", self.method)
    }
}

async fn look_up(token: &SecretString, server: &Server, call: Call<'_>) -> Result<Answer> {
    server.send(call, Method::GET, &["auth", "token", "lookup-self"], Some(token), None).await
}

fn token_source(properties: &HashMap<String, String>) -> Result<Source> {
    if let Some(source) = one_source(properties, VAULT_TOKEN_ENV, VAULT_TOKEN_FILE)? {
        return Ok(source);
    }
    let is_set = |name: &&str| std::env::var(name).is_ok_and(|token| !token.is_empty());
    let home = std::env::var_os("HOME").map(|home| Source::File(PathBuf::from(home).join(".vault-token")));
    let variable = ["BAO_TOKEN", "VAULT_TOKEN"].into_iter().find(is_set);
    let given = variable.map(|name| Source::Environment(name.to_owned()));
    Ok(given.or(home).unwrap_or_else(|| Source::Environment(String::from("VAULT_TOKEN"))))
}

fn one_source(properties: &HashMap<String, String>, variable: &str, file: &str) -> Result<Option<Source>> {
    match (property(properties, variable), property(properties, file)) {
        (Some(_), Some(_)) => {
            Err(Error::new(ErrorKind::InvalidInput, format!("set either {variable} or {file}, not both")))
        }
        (Some(variable), None) => Ok(Some(Source::Environment(variable.to_owned()))),
        (None, Some(file)) => Ok(Some(Source::File(file.into()))),
        (None, None) => Ok(None),
    }
}

#[derive(Serialize)]
struct AppRoleRequest<'a> {
    role_id: &'a str,
    secret_id: &'a str,
}

#[derive(Serialize)]
struct KubernetesRequest<'a> {
    role: &'a str,
    jwt: &'a str,
}

#[derive(Deserialize)]
struct Granted {
    auth: Auth,
}

#[derive(Deserialize)]
struct Auth {
    client_token: String,
    lease_duration: u64,
    #[serde(default)]
    renewable: bool,
}
