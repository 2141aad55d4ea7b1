//! `lakelock keystore`: master keys in a file on this machine.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use lakelock_crypto::{KeyLength, SecretKey};
use lakelock_kms::{
    DEFAULT_PASSPHRASE_ENV, KEYSTORE_KEY_FILE, KEYSTORE_PASSPHRASE_ENV, KEYSTORE_PATH, KMS_IMPL, Keystore, LocalKms,
    Protection, SecretString,
};
use zeroize::Zeroizing;

use crate::config::Properties;
use crate::context::Context;
use crate::failure::{Context as _, Failure, Result};
use crate::output::Listing;

/// Make and list master keys in the local keystore
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
The keystore is the file that the catalog property keystore.path names. It is
sealed with the key file of keystore.key-file, or with a passphrase: from the
variable LAKELOCK_KEYSTORE_PASSPHRASE (or what keystore.passphrase-env names),
or asked for. A key can be made and used, but never shown."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a new random master key
    #[command(after_help = "\
Examples:
  lakelock keystore create-key orders-key
  lakelock keystore create-key orders-key --length 16
  lakelock load shop.orders orders.csv --create --key orders-key")]
    CreateKey {
        /// The key's id, which tables name as encryption.key-id
        key: String,
        /// Length in bytes: 16, 24 or 32
        #[arg(long, value_name = "BYTES", default_value = "32", value_parser = key_length)]
        length: KeyLength,
    },
    /// Add a master key that was made elsewhere
    #[command(after_help = "\
Examples:
  lakelock keystore import-key orders-key --hex-file orders-key.hex
  vault-export orders-key | lakelock keystore import-key orders-key --hex-file -")]
    ImportKey {
        /// The key's id, which tables name as encryption.key-id
        key: String,
        /// A file with the key as 32, 48 or 64 hexadecimal digits; - for standard input
        #[arg(long, value_name = "FILE")]
        hex_file: PathBuf,
    },
    /// List the master keys: their ids and lengths
    #[command(after_help = "\
Examples:
  lakelock keystore list
  lakelock keystore list --output json")]
    List,
}

fn key_length(text: &str) -> Result<KeyLength, String> {
    let bytes: usize = text.parse().map_err(|_| "expected 16, 24 or 32".to_owned())?;
    KeyLength::try_from(bytes).map_err(|_| "expected 16, 24 or 32".to_owned())
}

pub(crate) fn run(context: &Context, arguments: Arguments) -> Result<()> {
    let settings = context.settings()?;
    let place = Place::of(&settings.properties)?;
    match arguments.command {
        Command::CreateKey { key, length } => {
            place.open_or_create(context)?.create_key(&key, length)?;
            context.say(format!("created master key {key} ({} bits)", length.bytes() * 8));
        }
        Command::ImportKey { key, hex_file } => {
            let secret = read_hex_key(&hex_file)?;
            place.open_or_create(context)?.import_key(&key, &secret)?;
            context.say(format!("imported master key {key} ({} bits)", secret.length().bytes() * 8));
            if hex_file != Path::new("-") {
                context.say(format!("delete {} when it is not needed any more", hex_file.display()));
            }
        }
        Command::List => {
            let keys = place.open()?.list()?;
            Listing::default()
                .text("key_id", keys.iter().map(|key| Some(&key.id)))
                .numbers("bits", keys.iter().map(|key| i64::try_from(key.length.bytes() * 8).ok()))
                .print(context.format(), context.paint())?;
        }
    }
    Ok(())
}

/// Where the keystore is and what opens it.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    unlock: Unlock,
}

#[derive(Debug)]
enum Unlock {
    KeyFile(PathBuf),
    /// The environment variable with the passphrase; without it, a question.
    Passphrase(String),
}

impl Place {
    /// As a catalog's properties have it.
    pub(crate) fn of(properties: &Properties) -> Result<Self> {
        let path = properties.get(KEYSTORE_PATH).filter(|path| !path.is_empty()).ok_or_else(|| {
            Failure::usage(format!("the catalog has no property {KEYSTORE_PATH}, so there is no local keystore"))
                .hint("`lakelock init` makes a catalog with one")
        })?;
        let unlock = match properties.get(KEYSTORE_KEY_FILE) {
            Some(file) => Unlock::KeyFile(file.into()),
            None => {
                Unlock::Passphrase(properties.get(KEYSTORE_PASSPHRASE_ENV).unwrap_or(DEFAULT_PASSPHRASE_ENV).to_owned())
            }
        };
        Ok(Self { path: path.into(), unlock })
    }

    /// Opens the keystore.
    pub(crate) fn open(&self) -> Result<Keystore> {
        Ok(Keystore::open(&self.path, &self.protection()?)?)
    }

    /// What opens the keystore, asked for if need be.
    pub(crate) fn protection(&self) -> Result<Protection> {
        match &self.unlock {
            Unlock::KeyFile(file) => Ok(Protection::KeyFile(file.clone())),
            Unlock::Passphrase(variable) => match passphrase_from(variable)? {
                Some(passphrase) => Ok(Protection::Passphrase(passphrase)),
                None => ask(&format!("Passphrase of {}: ", self.path.display()), variable).map(Protection::Passphrase),
            },
        }
    }

    /// The KMS client of a catalog whose keystore opens with a passphrase that only the user knows, asked for now;
    /// `None` if nobody has to be asked, or nobody can be.
    pub(crate) fn ask_for_client(properties: &Properties) -> Result<Option<LocalKms>> {
        if properties.get(KMS_IMPL) != Some("local") || !io::stdin().is_terminal() {
            return Ok(None);
        }
        let place = Self::of(properties)?;
        let must_ask = matches!(&place.unlock, Unlock::Passphrase(variable) if std::env::var_os(variable).is_none());
        if !must_ask || !place.path.exists() {
            return Ok(None);
        }
        let protection = place.protection()?;
        // A wrong passphrase is better known before the work than after it.
        Keystore::open(&place.path, &protection)?;
        Ok(Some(LocalKms::new(place.path, protection)))
    }

    fn open_or_create(&self, context: &Context) -> Result<Keystore> {
        if self.path.try_exists().with_context(|| format!("cannot look for the keystore {}", self.path.display()))? {
            return self.open();
        }
        self.create(context)
    }

    /// Makes an empty keystore, and its key file if there is none.
    pub(crate) fn create(&self, context: &Context) -> Result<Keystore> {
        let protection = match &self.unlock {
            Unlock::KeyFile(file) if file.exists() => Protection::KeyFile(file.clone()),
            Unlock::KeyFile(file) => {
                let protection = Protection::create_key_file(file)?;
                context.say(format!("created key file {}: whoever has it opens the keystore", file.display()));
                protection
            }
            Unlock::Passphrase(variable) => {
                let given = passphrase_from(variable)?;
                Protection::Passphrase(given.map_or_else(|| self.ask_for_new(variable), Ok)?)
            }
        };
        let keystore = Keystore::create(&self.path, &protection)?;
        context.say(format!("created keystore {}", self.path.display()));
        Ok(keystore)
    }
}

impl Place {
    fn ask_for_new(&self, variable: &str) -> Result<SecretString> {
        let passphrase = ask(&format!("New passphrase for {}: ", self.path.display()), variable)?;
        let again = ask("The same again: ", variable)?;
        if passphrase.expose_secret() != again.expose_secret() {
            return Err(Failure::new("the two passphrases differ: nothing was made"));
        }
        Ok(passphrase)
    }
}

fn passphrase_from(variable: &str) -> Result<Option<SecretString>> {
    match std::env::var(variable) {
        Ok(passphrase) => Ok(Some(SecretString::from(passphrase))),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(Failure::usage(format!("${variable} is not valid UTF-8"))),
    }
}

fn ask(prompt: &str, variable: &str) -> Result<SecretString> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new("the keystore needs a passphrase, and there is no terminal to ask on").hint(format!(
            "put it into the environment variable {variable}, or use a key file ({KEYSTORE_KEY_FILE})"
        )));
    }
    let passphrase = rpassword::prompt_password(prompt).context("cannot read the passphrase")?;
    if passphrase.is_empty() {
        return Err(Failure::new("the passphrase is empty"));
    }
    Ok(SecretString::from(passphrase))
}

/// Reads a key in hex. What was read is wiped, and no error quotes it.
fn read_hex_key(file: &Path) -> Result<SecretKey> {
    /// More than any key has, so that a wrong file is not read whole.
    const LIMIT: u64 = 1024;
    let mut text = Zeroizing::new(Vec::with_capacity(usize::try_from(LIMIT).unwrap_or_default()));
    let is_standard_input = file == Path::new("-");
    let name = if is_standard_input { "standard input".to_owned() } else { file.display().to_string() };
    let read = if is_standard_input {
        io::stdin().lock().take(LIMIT).read_to_end(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(LIMIT).read_to_end(&mut text))
    };
    read.with_context(|| format!("cannot read {name}"))?;
    let wrong = || Failure::new(format!("{name}: expected a key of 32, 48 or 64 hexadecimal digits"));
    let bytes = Zeroizing::new(hex::decode(text.trim_ascii()).map_err(|_| wrong())?);
    SecretKey::new(&bytes).map_err(|_| wrong())
}
