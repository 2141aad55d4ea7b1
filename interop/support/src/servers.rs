//! The servers of `interop/servers`, each of which ends with its value. Those that keep files have a bucket `lake`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// A server of OpenBao, which is Vault in all that matters here, unsealed and empty.
pub struct OpenBao {
    server: Server,
    folder: PathBuf,
}

impl OpenBao {
    /// The token that may do everything.
    pub const ROOT_TOKEN: &str = "root";

    /// As [`Moto::start`].
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        Self { server: Server::start("openbao", folder), folder: folder.to_owned() }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.server.url
    }

    /// The authority of its certificate.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        self.folder.join("vault-ca.pem")
    }
}

/// Google Cloud KMS and Azure Key Vault, and who gives out tokens for them: see `interop/servers/clouds.py`, also for what
/// there is in the folder.
pub struct Clouds(Server);

impl Clouds {
    /// As [`Moto::start`].
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        Self(Server::start("clouds", folder))
    }

    /// Where they are.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.0.url
    }
}

/// A token of SoftHSM, a hardware security module in software, for processes that have its configuration in the
/// environment variable `SOFTHSM2_CONF`.
pub struct SoftHsm {
    config: PathBuf,
    module: PathBuf,
}

impl SoftHsm {
    /// The token's label.
    pub const LABEL: &str = "lakelock";
    /// The PIN of its user.
    pub const PIN: &str = "12345678";

    /// Makes one in a folder.
    ///
    /// # Panics
    /// When that fails.
    #[must_use]
    pub fn create(folder: &Path) -> Self {
        let softhsm = setup().join("softhsm");
        let tokens = folder.join("tokens");
        fs::create_dir(&tokens).expect("a new folder");
        let config = folder.join("softhsm2.conf");
        let settings = format!("directories.tokendir = {}\nobjectstore.backend = file\n", text(&tokens));
        fs::write(&config, settings).expect("a file to write");
        let token = Self { config, module: softhsm.join("libsofthsm2.so") };
        let output = Command::new(softhsm.join("softhsm2-util"))
            .args(["--init-token", "--free", "--label", Self::LABEL, "--pin", Self::PIN, "--so-pin", "87654321"])
            .args(["--module", text(&token.module)])
            .env("SOFTHSM2_CONF", &token.config)
            .output()
            .expect("softhsm2-util starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        token
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// The PKCS#11 module.
    #[must_use]
    pub fn module(&self) -> &Path {
        &self.module
    }
}

/// A Python that has what the servers need, `cryptography` among others.
///
/// # Panics
/// When it cannot be fetched.
#[must_use]
pub fn python() -> PathBuf {
    setup().join("venv/bin/python")
}

fn setup() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../servers/setup.sh");
    let output = Command::new(script).stderr(Stdio::inherit()).output().expect("setup.sh starts");
    assert!(output.status.success(), "setup.sh fails: its errors are above");
    PathBuf::from(String::from_utf8(output.stdout).expect("the name of a folder").trim())
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
