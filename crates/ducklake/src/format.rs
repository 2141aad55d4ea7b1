//! The format row: which encoding a catalog is written in, and what was fixed when it was made.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    error::{Error, ErrorKind, Result, corrupt},
    keys,
    view::View,
};

/// The version of the encoding that this program reads and writes.
pub(crate) const VERSION: u32 = 1;

/// What a catalog is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Format {
    version: u32,
    /// The catalog's own number.
    pub(crate) id: Uuid,
    /// Whether the lake's data files are encrypted, if that was said when the catalog was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encrypted: Option<bool>,
}

/// Of any version.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Format {
    pub(crate) fn new(encrypted: Option<bool>) -> Self {
        Self { version: VERSION, id: Uuid::new_v4(), encrypted }
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| corrupt("the format row cannot be written").with_source(error))
    }

    /// The format of the catalog at `location`, if there is one.
    pub(crate) async fn read(view: &View, location: &str) -> Result<Option<Self>> {
        view.get(keys::FORMAT).await?.map(|json| Self::from_json(&json, location)).transpose()
    }

    fn from_json(json: &[u8], location: &str) -> Result<Self> {
        let unreadable = |error: serde_json::Error| {
            corrupt(format!("the format row of the catalog {location} is not readable")).with_source(error)
        };
        let Versioned { version } = serde_json::from_slice(json).map_err(unreadable)?;
        if version != VERSION {
            let message = format!(
                "the catalog {location} is written in version {version} of the format, and this program knows version \
                 {VERSION}: use the program that wrote it"
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        serde_json::from_slice(json).map_err(unreadable)
    }

    /// Refuses a catalog that is not as `encrypted` says.
    pub(crate) fn check_encrypted(&self, encrypted: Option<bool>, location: &str) -> Result<()> {
        let made = |encrypted| if encrypted { "encrypted" } else { "not encrypted" };
        match (self.encrypted, encrypted) {
            (Some(is), Some(asked)) if is != asked => Err(Error::new(
                ErrorKind::InvalidInput,
                format!(
                    "the catalog {location} was made for a lake that is {}, which cannot be changed: it cannot be \
                     opened as {}",
                    made(is),
                    made(asked)
                ),
            )),
            _ => Ok(()),
        }
    }
}
