//! A catalog in a Hive metastore, shared with Spark, Flink, Trino and whatever else uses Java's `HiveCatalog`.
//!
//! The metastore keeps a table as parameters, and among them what must not be believed of metadata.json: the key id, the data
//! key length, and a hash of the text that Java prints for the metadata. `thrift` knows bytes, `client` connections,
//! `metastore` methods, `table` what Java's catalog writes, `lock` how writers take turns, and `pointers` puts them together.

mod client;
mod lock;
mod metastore;
mod pointers;
mod settings;
mod table;
#[cfg(test)]
mod tests;
mod thrift;
mod types;

use std::collections::HashMap;
use std::env;

use lakelock_kms::KmsRegistry;

use self::pointers::HivePointers;
use self::settings::Settings;
use crate::tables::{HasTables, Tables};
use crate::{Result, names};

/// Whether bytes are an answer of a metastore.
#[cfg(fuzzing)]
#[must_use]
pub fn is_answer(mut bytes: &[u8]) -> bool {
    thrift::Message::read(&mut bytes).is_ok()
}

/// A catalog in a Hive metastore.
///
/// Tables, parameters, locks and checks are those of Java's `HiveCatalog`, so that both can write to one table.
/// Connections use neither TLS nor Kerberos: the metastore must be where only those who may change tables can reach it.
///
/// Properties: `uri` is `thrift://HOST:9083`, with further hosts after commas for when the first cannot be reached.
/// `warehouse` is the folder of databases that are made; without it the metastore chooses. Further ones have the names of
/// Java's Hadoop configuration:
///
/// | property | default | meaning |
/// |---|---|---|
/// | `iceberg.engine.hive.lock-enabled` | `true` | commits hold a lock; `false`: the metastore compares, which needs one with HIVE-26882 (Hive 2.3.10, 4.0). The table property `engine.hive.lock-enabled` decides for one table |
/// | `iceberg.hive.lock-timeout-ms` | 180000 | how long a lock is waited for |
/// | `iceberg.hive.lock-check-min-wait-ms`, `-max-wait-ms` | 50, 5000 | how often is asked for it |
/// | `iceberg.hive.lock-heartbeat-interval-ms` | 60000 | how often a lock is kept alive |
/// | `iceberg.hive.table-property-max-size` | 32672 | the longest schema, spec or summary that is shown as a parameter; 0: none |
/// | `iceberg.engine.hive.enabled` | `false` | whether Hive itself can read new tables; the table property `engine.hive.enabled` decides for one table |
/// | `hive.connect-timeout-ms`, `hive.timeout-ms` | 10000, 120000 | how long is waited for a host, and for an answer |
#[derive(Debug)]
pub struct HiveCatalog {
    tables: Tables,
}

impl HiveCatalog {
    /// Sets the catalog up; nothing is asked of the metastore yet.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for impossible properties, and what setting up the KMS
    /// client answers.
    pub fn new(name: &str, properties: &HashMap<String, String>) -> Result<Self> {
        Self::with_registry(name, properties, &KmsRegistry::with_builtins())
    }

    /// As [`new`](Self::new), with KMS clients of your own.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_registry(name: &str, properties: &HashMap<String, String>, registry: &KmsRegistry) -> Result<Self> {
        let settings = Settings::from_properties(name, properties)?;
        let warehouse = properties.get("warehouse").map(String::as_str);
        let pointers = HivePointers::new(settings, user(), warehouse.map(names::warehouse).transpose()?);
        Ok(Self { tables: Tables::new(name, warehouse, properties, registry, Box::new(pointers))? })
    }
}

impl HasTables for HiveCatalog {
    fn tables(&self) -> &Tables {
        &self.tables
    }
}

/// Who owns what is made, and holds what is locked.
fn user() -> String {
    ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| env::var(name).ok()).unwrap_or_else(|| "lakelock".to_owned())
}
