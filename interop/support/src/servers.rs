//! The servers of `interop/servers`, each of which ends with its value. Those that keep files have a bucket `lake`.

use std::path::Path;

use crate::process::{Process, text};

/// A server of AWS, with KMS and S3 among others, that takes any credentials.
pub struct Moto(Server);

impl Moto {
    /// Starts one, and waits until it answers.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        Self(Server::start("moto", folder))
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.0.url
    }
}

/// A server of S3 that checks credentials. Those of a name NAME are the access key id NAME and the secret NAME-secret:
/// `lakelock` may do everything, `reader` may read, and so may whoever does not say who he is.
pub struct SeaweedFs(Server);

impl SeaweedFs {
    /// As [`Moto::start`].
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        Self(Server::start("seaweedfs", folder))
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.0.url
    }
}

/// A server of Azure Blob Storage, with the [account](Self::ACCOUNT) that all its emulators have.
pub struct Azurite(Server);

impl Azurite {
    /// The name of the account, which is the first part of the paths of its URLs.
    pub const ACCOUNT: &str = "devstoreaccount1";
    /// The key of the account, which everybody knows.
    pub const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

    /// As [`Moto::start`].
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        Self(Server::start("azurite", folder))
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.0.url
    }
}

struct Server {
    url: String,
    _process: Process,
}

impl Server {
    fn start(name: &str, folder: &Path) -> Self {
        let mut process = Process::start("servers/run.sh", &[name, text(folder)]);
        Self { url: process.line(|line| line.starts_with("http")), _process: process }
    }
}
