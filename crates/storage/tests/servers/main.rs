//! Object stores, over the wire: real servers of `interop/servers`, and a proxy that fails as it is told to.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod at_rest;
mod errors;
mod lost_answers;
mod stores;

use std::{collections::HashMap, path::Path, sync::OnceLock};

use lakelock_interop::servers::{Azurite, Moto, SeaweedFs};
use lakelock_storage::Storage;
use tempfile::TempDir;

/// A storage that reaches a real server, and a folder in it that is a test's own.
struct Place {
    storage: Storage,
    folder: String,
    url: &'static str,
}

impl Place {
    fn all(test: &str) -> [Self; 3] {
        [Self::moto(test), Self::seaweedfs(test), Self::azurite(test)]
    }

    fn moto(test: &str) -> Self {
        static SERVER: OnceLock<(Moto, TempDir)> = OnceLock::new();
        let url = SERVER.get_or_init(|| started(Moto::start)).0.url();
        Self { storage: storage(&s3(url)), folder: format!("s3://lake/{test}"), url }
    }

    fn seaweedfs(test: &str) -> Self {
        static SERVER: OnceLock<(SeaweedFs, TempDir)> = OnceLock::new();
        let url = SERVER.get_or_init(|| started(SeaweedFs::start)).0.url();
        Self { storage: storage(&s3(url)), folder: format!("s3://lake/{test}"), url }
    }

    fn azurite(test: &str) -> Self {
        static SERVER: OnceLock<(Azurite, TempDir)> = OnceLock::new();
        let url = SERVER.get_or_init(|| started(Azurite::start)).0.url();
        let folder = format!("abfss://lake@{}.dfs.core.windows.net/{test}", Azurite::ACCOUNT);
        Self { storage: storage(&azure(url)), folder, url }
    }

    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }
}

/// One for all tests. It ends with the process, whose end of its input closes then.
fn started<S>(start: impl FnOnce(&Path) -> S) -> (S, TempDir) {
    let files = tempfile::tempdir().unwrap();
    (start(files.path()), files)
}

fn storage<S: AsRef<str>>(properties: &[(&str, S)]) -> Storage {
    let properties: HashMap<_, _> =
        properties.iter().map(|(name, value)| ((*name).to_owned(), value.as_ref().to_owned())).collect();
    Storage::from_properties(&properties).unwrap()
}

fn s3(url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("s3.endpoint", url.to_owned()),
        ("s3.path-style-access", "true".to_owned()),
        ("s3.access-key-id", "lakelock".to_owned()),
        ("s3.secret-access-key", "lakelock-secret".to_owned()),
    ]
}

fn azure(url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("adls.connection-string.devstoreaccount1", format!("{url}/{}", Azurite::ACCOUNT)),
        ("adls.auth.shared-key.account.name", Azurite::ACCOUNT.to_owned()),
        ("adls.auth.shared-key.account.key", Azurite::KEY.to_owned()),
    ]
}

/// The answer to a request to a server, with its head, in lower case. Moto wants to be told who asks, and believes it.
fn plain_request(method: &str, url: &str, target: &str) -> String {
    use std::io::{Read as _, Write as _};
    let host = url.strip_prefix("http://").unwrap();
    let mut connection = std::net::TcpStream::connect(host).unwrap();
    let who = if url == Place::moto("").url {
        "authorization: AWS4-HMAC-SHA256 Credential=lakelock/20260101/us-east-1/s3/aws4_request, \
         SignedHeaders=host, Signature=0\r\n"
    } else {
        ""
    };
    write!(connection, "{method} {target} HTTP/1.1\r\nhost: {host}\r\n{who}connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.to_ascii_lowercase()
}
