//! The catalog properties of a Hive metastore, under the names that Java's configuration has for them.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use crate::{Error, ErrorKind, Result};

const DEFAULT_PORT: u16 = 9083;

/// Whether commits hold a lock of the metastore, or leave the comparison to it; a table property says it for one table.
const LOCK_ENABLED: &str = "iceberg.engine.hive.lock-enabled";
const TABLE_LOCK_ENABLED: &str = "engine.hive.lock-enabled";

/// Whether tables can be read from Hive itself; a table property says it for one table.
const HIVE_ENABLED: &str = "iceberg.engine.hive.enabled";
const TABLE_HIVE_ENABLED: &str = "engine.hive.enabled";

/// A host of the metastore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: u16,
}

/// What the properties say.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) hosts: Vec<Host>,
    pub(super) connect_timeout: Duration,
    pub(super) answer_timeout: Duration,
    pub(super) lock: LockSettings,
    /// The longest text that is put into a table's parameters beside its properties.
    pub(super) max_parameter: usize,
    lock_enabled: bool,
    hive_enabled: bool,
}

/// How long locks are waited for, and how they are kept.
#[derive(Debug, Clone)]
pub(super) struct LockSettings {
    pub(super) timeout: Duration,
    pub(super) min_wait: Duration,
    pub(super) max_wait: Duration,
    pub(super) heartbeat_interval: Duration,
}

impl Settings {
    pub(super) fn from_properties(catalog: &str, properties: &HashMap<String, String>) -> Result<Self> {
        let uri = properties.get("uri").ok_or_else(|| {
            invalid(format!("catalog {catalog} has no property `uri`: expected thrift://HOST:{DEFAULT_PORT}"))
        })?;
        let read = Properties { catalog, properties };
        Ok(Self {
            hosts: uri.split(',').map(|part| host(part.trim())).collect::<Result<_>>()?,
            connect_timeout: read.millis("hive.connect-timeout-ms", 10_000)?,
            answer_timeout: read.millis("hive.timeout-ms", 120_000)?,
            lock: LockSettings {
                timeout: read.millis("iceberg.hive.lock-timeout-ms", 180_000)?,
                min_wait: read.millis("iceberg.hive.lock-check-min-wait-ms", 50)?,
                max_wait: read.millis("iceberg.hive.lock-check-max-wait-ms", 5_000)?,
                heartbeat_interval: read.millis("iceberg.hive.lock-heartbeat-interval-ms", 60_000)?,
            },
            max_parameter: usize::try_from(read.number("iceberg.hive.table-property-max-size", 32_672)?)
                .unwrap_or(usize::MAX),
            lock_enabled: read.boolean(LOCK_ENABLED, true)?,
            hive_enabled: read.boolean(HIVE_ENABLED, false)?,
        })
    }

    /// Whether commits to a table with these properties hold a lock.
    pub(super) fn locks(&self, table: &HashMap<String, String>) -> bool {
        table.get(TABLE_LOCK_ENABLED).map_or(self.lock_enabled, |value| value.eq_ignore_ascii_case("true"))
    }

    /// Whether a table with these properties is to be readable from Hive.
    pub(super) fn is_for_hive(&self, table: &HashMap<String, String>) -> bool {
        table.get(TABLE_HIVE_ENABLED).map_or(self.hive_enabled, |value| value.eq_ignore_ascii_case("true"))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            return write!(f, "[{}]:{}", self.name, self.port);
        }
        write!(f, "{}:{}", self.name, self.port)
    }
}

struct Properties<'a> {
    catalog: &'a str,
    properties: &'a HashMap<String, String>,
}

impl Properties<'_> {
    fn millis(&self, name: &str, default: u64) -> Result<Duration> {
        // A wait of no time at all would not be one.
        Ok(Duration::from_millis(self.number(name, default)?.max(1)))
    }

    fn number(&self, name: &str, default: u64) -> Result<u64> {
        self.properties.get(name).map_or(Ok(default), |value| {
            value.trim().parse().map_err(|e| self.invalid(name, value, "a number").with_source(e))
        })
    }

    fn boolean(&self, name: &str, default: bool) -> Result<bool> {
        self.properties.get(name).map_or(Ok(default), |value| {
            value
                .trim()
                .to_ascii_lowercase()
                .parse()
                .map_err(|e| self.invalid(name, value, "true or false").with_source(e))
        })
    }

    fn invalid(&self, name: &str, value: &str, expected: &str) -> Error {
        invalid(format!("property {name} of catalog {} is {value:?}: expected {expected}", self.catalog))
    }
}

fn host(uri: &str) -> Result<Host> {
    let bad =
        || invalid(format!("{uri:?} is not the address of a Hive metastore: expected thrift://HOST:{DEFAULT_PORT}"));
    let authority = uri.strip_prefix("thrift://").ok_or_else(bad)?.trim_end_matches('/');
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().map_err(|e| bad().with_source(e))?),
        _ => (authority, DEFAULT_PORT),
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    if name.is_empty() || name.contains(['/', '@', '[', ']', ' ']) {
        return Err(bad());
    }
    Ok(Host { name: name.to_owned(), port })
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Result<Settings> {
        let properties = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Settings::from_properties("lake", &properties)
    }

    #[test]
    fn hosts_are_tried_in_their_order() {
        for (uri, expected) in [
            ("thrift://meta", "meta:9083"),
            ("thrift://meta:1/", "meta:1"),
            ("thrift://a:1, thrift://b", "a:1 b:9083"),
            ("thrift://[::1]:2,thrift://[::1]", "[::1]:2 [::1]:9083"),
        ] {
            let hosts: Vec<_> = settings(&[("uri", uri)]).unwrap().hosts.iter().map(ToString::to_string).collect();
            assert_eq!(hosts.join(" "), expected, "{uri}");
        }
        for bad in [
            "",
            "meta:9083",
            "thrift://",
            "thrift://a:b",
            "http://a:1",
            "thrift://a:1,",
            "thrift://u@a",
            "thrift://a/b",
        ] {
            let error = settings(&[("uri", bad)]).unwrap_err();
            assert!(
                error.kind() == ErrorKind::InvalidInput && error.to_string().contains("thrift://HOST:9083"),
                "{bad}"
            );
        }
        assert!(settings(&[]).unwrap_err().to_string().contains("`uri`"));
    }

    #[test]
    fn a_table_decides_over_its_catalog() {
        let table = |value: &str| HashMap::from([(TABLE_LOCK_ENABLED.to_owned(), value.to_owned())]);
        let by_default = settings(&[("uri", "thrift://a")]).unwrap();
        let off = settings(&[("uri", "thrift://a"), (LOCK_ENABLED, "false")]).unwrap();
        assert!(by_default.locks(&HashMap::new()) && !by_default.locks(&table("false")));
        assert!(!off.locks(&HashMap::new()) && off.locks(&table("TRUE")));
        for (name, value) in [(LOCK_ENABLED, "no"), ("hive.timeout-ms", "1s")] {
            let error = settings(&[("uri", "thrift://a"), (name, value)]).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
