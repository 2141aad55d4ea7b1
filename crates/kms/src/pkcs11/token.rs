//! A token: its module, its sessions and its login.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error as TokenError, RvError};
use cryptoki::session::{Session, SessionState, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use zeroize::Zeroizing;

use super::Failure;
use crate::call::{Call, property};
use crate::{Error, ErrorKind, Result, SecretString};

/// Property: the module, a shared library that comes with the token.
pub const PKCS11_MODULE: &str = "pkcs11.module";
/// Property: the token's label; or else [`PKCS11_SLOT_ID`].
pub const PKCS11_TOKEN_LABEL: &str = "pkcs11.token-label";
/// Property: the number of the slot that the token is in.
pub const PKCS11_SLOT_ID: &str = "pkcs11.slot-id";
/// Property: the environment variable that holds the user's PIN.
pub const PKCS11_PIN_ENV: &str = "pkcs11.pin-env";
/// Property: the file that holds the user's PIN; not together with [`PKCS11_PIN_ENV`].
pub const PKCS11_PIN_FILE: &str = "pkcs11.pin-file";
/// The environment variable read when neither of the two properties is set.
pub const DEFAULT_PIN_ENV: &str = "LAKELOCK_PKCS11_PIN";

/// The modules that this process has loaded. PKCS#11 allows each to be initialised once in a process.
static MODULES: Mutex<BTreeMap<PathBuf, Pkcs11>> = Mutex::new(BTreeMap::new());

/// A token, and what is needed to be its user.
pub(super) struct Token {
    module: PathBuf,
    place: Place,
    pin: PinSource,
    state: Mutex<State>,
}

#[derive(Debug)]
enum Place {
    Label(String),
    Slot(Slot),
}

#[derive(Debug)]
enum PinSource {
    Environment(String),
    File(PathBuf),
}

#[derive(Default)]
struct State {
    idle: Vec<Session>,
    /// A PIN that the token did not accept. Trying it again would lock the token.
    refused: Option<SecretString>,
}

impl Token {
    pub(super) fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let invalid = |message: String| Error::new(ErrorKind::InvalidInput, message);
        let module = property(properties, PKCS11_MODULE)
            .ok_or_else(|| invalid(format!("the KMS pkcs11 needs the property {PKCS11_MODULE}")))?;
        if !Path::new(module).is_absolute() {
            return Err(invalid(format!("{PKCS11_MODULE} is {module:?}: expected an absolute path")));
        }
        let place = match (property(properties, PKCS11_TOKEN_LABEL), property(properties, PKCS11_SLOT_ID)) {
            (Some(label), None) => Place::Label(label.to_owned()),
            (None, Some(id)) => Place::Slot(
                id.parse::<u64>()
                    .ok()
                    .and_then(|id| Slot::try_from(id).ok())
                    .ok_or_else(|| invalid(format!("{PKCS11_SLOT_ID} is {id:?}: expected a number")))?,
            ),
            _ => return Err(invalid(format!("set one of {PKCS11_TOKEN_LABEL} and {PKCS11_SLOT_ID}"))),
        };
        let pin = match (property(properties, PKCS11_PIN_ENV), property(properties, PKCS11_PIN_FILE)) {
            (Some(_), Some(_)) => {
                return Err(invalid(format!("set either {PKCS11_PIN_ENV} or {PKCS11_PIN_FILE}, not both")));
            }
            (None, Some(file)) => PinSource::File(file.into()),
            (variable, None) => PinSource::Environment(variable.unwrap_or(DEFAULT_PIN_ENV).to_owned()),
        };
        Ok(Self { module: module.into(), place, pin, state: Mutex::default() })
    }

    /// Works in a session of the token's user. One that was lost is replaced by a new one, once. Blocks.
    pub(super) fn with_session<T>(
        &self,
        call: Call<'_>,
        work: impl Fn(&Session) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let used = lock(&self.state).idle.pop();
        if let Some(session) = used {
            match self.work_in(session, call, &work) {
                Err(failure) if failure.is_lost_session() => lock(&self.state).idle.clear(),
                outcome => return outcome.map_err(|failure| failure.on(call)),
            }
        }
        self.open().and_then(|session| self.work_in(session, call, &work)).map_err(|failure| failure.on(call))
    }

    fn work_in<T>(
        &self,
        session: Session,
        call: Call<'_>,
        work: impl Fn(&Session) -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, Failure> {
        // Others in this process may log out, after which private keys seem not to exist.
        if matches!(session.get_session_info()?.session_state(), SessionState::RoPublic | SessionState::RwPublic) {
            self.log_in(&session, call)?;
        }
        let outcome = work(&session);
        // A session is used again only if the module found nothing wrong with it.
        if matches!(outcome, Ok(_) | Err(Failure::Ours(..))) {
            lock(&self.state).idle.push(session);
        }
        outcome
    }

    fn open(&self) -> std::result::Result<Session, Failure> {
        let module = self.load_module()?;
        let slot = match &self.place {
            Place::Slot(slot) => *slot,
            Place::Label(label) => {
                let with_token = module.get_slots_with_token()?;
                let has_label = |slot: &Slot| module.get_token_info(*slot).is_ok_and(|token| token.label() == label);
                let slots: Vec<Slot> = with_token.into_iter().filter(has_label).collect();
                let [slot] = slots.as_slice() else {
                    let detail = match slots.len() {
                        0 => format!("no token has the label {label:?}: check {PKCS11_TOKEN_LABEL}"),
                        count => format!("{count} tokens have the label {label:?}: set {PKCS11_SLOT_ID} instead"),
                    };
                    return Err(Failure::of(ErrorKind::NotFound, detail));
                };
                *slot
            }
        };
        Ok(module.open_ro_session(slot)?)
    }

    fn load_module(&self) -> std::result::Result<Pkcs11, Failure> {
        let mut modules = lock(&MODULES);
        let module = if let Some(module) = modules.get(&self.module) {
            module.clone()
        } else {
            let module = Pkcs11::new(&self.module)?;
            modules.insert(self.module.clone(), module.clone());
            module
        };
        // Each time: another user of the module in this process may have finalised it.
        match module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
            Ok(()) | Err(TokenError::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => Ok(module),
            Err(error) => Err(error.into()),
        }
    }

    fn log_in(&self, session: &Session, call: Call<'_>) -> std::result::Result<(), Failure> {
        // One after the other, so that a wrong PIN is tried once however many calls there are.
        let mut state = lock(&self.state);
        let token = self.load_module()?.get_token_info(session.get_session_info()?.slot_id())?;
        if !token.login_required() {
            return Ok(());
        }
        if token.protected_authentication_path() {
            return logged_in(session.login(UserType::User, None));
        }
        let pin = self.pin.read()?;
        if let Some(refused) = &state.refused
            && refused.expose_secret() == pin.expose_secret()
        {
            let detail = format!("the token refused the PIN in {}, which is not tried again", self.pin);
            return Err(Failure::of(ErrorKind::Credentials, detail));
        }
        let outcome = logged_in(session.login(UserType::User, Some(&AuthPin::from(pin.expose_secret().to_owned()))));
        if let Err(Failure::Theirs(TokenError::Pkcs11(RvError::PinIncorrect, _))) = outcome {
            tracing::warn!(key_id = call.key_id, "the token refused the PIN");
            state.refused = Some(pin);
        }
        outcome
    }
}

/// All sessions of a process log in and out together.
fn logged_in(outcome: std::result::Result<(), TokenError>) -> std::result::Result<(), Failure> {
    match outcome {
        Ok(()) | Err(TokenError::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl PinSource {
    fn read(&self) -> std::result::Result<SecretString, Failure> {
        let missing = || Failure::of(ErrorKind::Credentials, format!("no PIN in {self}"));
        let text = match self {
            Self::Environment(variable) => std::env::var(variable).ok(),
            Self::File(file) => fs::read_to_string(file).ok(),
        };
        let text = Zeroizing::new(text.ok_or_else(missing)?);
        match text.trim_end_matches(['\r', '\n']) {
            "" => Err(missing()),
            pin => Ok(SecretString::from(pin.to_owned())),
        }
    }
}

impl fmt::Display for PinSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(variable) => write!(f, "the environment variable {variable}"),
            Self::File(file) => write!(f, "{}", file.display()),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("module", &self.module)
            .field("place", &self.place)
            .field("pin", &self.pin)
            .finish_non_exhaustive()
    }
}

/// No code panics while it holds one of these locks, so a poisoned one still guards consistent data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
