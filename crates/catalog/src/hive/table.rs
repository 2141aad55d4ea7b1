//! A table as the metastore keeps it, and what Java's catalog writes into it.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lakelock_iceberg::encryption::{DATA_KEY_LENGTH, KEY_ID};
use lakelock_iceberg::spec::{Schema, TableIdent, TableMetadata};
use tracing::warn;

use super::settings::Settings;
use super::thrift::{Struct, Value};
use super::types::hive_type;
use crate::loaded::Loaded;
use crate::pointers::{MetadataHash, Pin, Pointer};
use crate::{Error, ErrorKind, Result};

/// Parameters.
const TABLE_TYPE: &str = "table_type";
pub(super) const METADATA_LOCATION: &str = "metadata_location";
const PREVIOUS_METADATA_LOCATION: &str = "previous_metadata_location";
const METADATA_HASH: &str = "metadata_hash";
const STORAGE_HANDLER: (&str, &str) = ("storage_handler", "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler");

/// A property that is the table's owner and no parameter.
const OWNER: &str = "hive.metastore.table.owner";

/// Properties that have another name in Hive.
const TRANSLATED: [(&str, &str); 1] = [("gc.enabled", "external.table.purge")];

/// Numbers of a snapshot's summary that Hive has as well.
const STATISTICS: [(&str, &str); 3] =
    [("total-data-files", "numFiles"), ("total-records", "numRows"), ("total-files-size", "totalSize")];

/// The ids of a table's fields.
mod field {
    pub(super) const NAME: i16 = 1;
    pub(super) const DATABASE: i16 = 2;
    pub(super) const OWNER: i16 = 3;
    pub(super) const CREATE_TIME: i16 = 4;
    pub(super) const LAST_ACCESS_TIME: i16 = 5;
    pub(super) const RETENTION: i16 = 6;
    pub(super) const STORAGE: i16 = 7;
    pub(super) const PARTITION_KEYS: i16 = 8;
    pub(super) const PARAMETERS: i16 = 9;
    pub(super) const TABLE_TYPE: i16 = 12;
}

/// A table of the metastore, with every field that came with it.
#[derive(Debug, Clone)]
pub(super) struct HiveTable(Struct);

impl From<Struct> for HiveTable {
    fn from(table: Struct) -> Self {
        Self(table)
    }
}

impl From<HiveTable> for Struct {
    fn from(table: HiveTable) -> Self {
        table.0
    }
}

impl HiveTable {
    /// A new external table.
    pub(super) fn new(table: &TableIdent, user: &str, written: &Loaded, settings: &Settings) -> Result<Self> {
        let metadata = written.document.metadata();
        let owner = metadata.properties().get(OWNER).map_or(user, String::as_str);
        let seconds = i32::try_from(metadata.last_updated_ms() / 1000).unwrap_or(i32::MAX);
        let new = Struct::default()
            .with(field::NAME, table.name())
            .with(field::DATABASE, table.namespace().as_ref().join("."))
            .with(field::OWNER, owner)
            .with(field::CREATE_TIME, seconds)
            .with(field::LAST_ACCESS_TIME, seconds)
            .with(field::RETENTION, i32::MAX)
            .with(field::PARTITION_KEYS, Value::structs([]))
            .with(field::PARAMETERS, Value::map([("EXTERNAL", "TRUE")]))
            .with(field::TABLE_TYPE, "EXTERNAL_TABLE");
        let mut new = Self(new);
        new.update(None, written, settings)?;
        Ok(new)
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.0.string(field::NAME)
    }

    /// Whether it is a table of Iceberg, and not a view or a table of Hive's own.
    pub(super) fn is_iceberg(&self) -> bool {
        self.parameter(TABLE_TYPE).is_some_and(|kind| kind.eq_ignore_ascii_case("iceberg"))
    }

    pub(super) fn metadata_location(&self) -> Option<&str> {
        self.parameter(METADATA_LOCATION)
    }

    pub(super) fn parameters(&self) -> HashMap<String, String> {
        self.0.strings(field::PARAMETERS).map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// Where its metadata is, and what the metastore keeps of that: no hash of a table that is not encrypted.
    pub(super) fn pointer(&self, table: &TableIdent) -> Result<Pointer> {
        let invalid =
            |what: &str| Error::new(ErrorKind::InvalidData, format!("the Hive metastore has {what} for table {table}"));
        let location = self.metadata_location().ok_or_else(|| invalid("no metadata_location"))?.to_owned();
        let key_id = self.parameter(KEY_ID).map(str::to_owned);
        let hash = self.parameter(METADATA_HASH).filter(|text| !text.is_empty() && key_id.is_some());
        if hash.is_none() && key_id.is_some() {
            warn!(%table, "the Hive metastore has no metadata_hash: only the key id is checked");
        }
        let hash = hash.map_or(Ok(MetadataHash::None), |text| {
            let bytes = BASE64.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
            bytes.map(MetadataHash::Java).ok_or_else(|| invalid("a metadata_hash that is no SHA-256"))
        })?;
        let pin = Pin {
            key_id,
            data_key_length: self.parameter(DATA_KEY_LENGTH).map(str::to_owned),
            metadata_location: location.clone(),
            hash,
        };
        Ok(Pointer { metadata_location: location, pin: Some(pin) })
    }

    /// Makes it that of the metadata written, as Java's `HiveTableOperations` does.
    pub(super) fn update(&mut self, base: Option<&Loaded>, written: &Loaded, settings: &Settings) -> Result<()> {
        let metadata = written.document.metadata();
        let for_hive = settings.is_for_hive(metadata.properties());
        let storage = storage(metadata, for_hive);
        self.0.set(field::STORAGE, storage);
        let mut parameters: BTreeMap<String, String> = self.parameters().into_iter().collect();

        for (name, value) in metadata.properties() {
            if !name.eq_ignore_ascii_case(OWNER) {
                parameters.insert(hive_name(name).to_owned(), value.clone());
            }
        }
        let before = base.map(|base| base.document.metadata().properties());
        for name in before.into_iter().flat_map(HashMap::keys) {
            if !metadata.properties().contains_key(name) {
                parameters.remove(hive_name(name));
            }
        }
        let mut set = |name: &str, value: Option<String>| match value {
            Some(value) => drop(parameters.insert(name.to_owned(), value)),
            None => drop(parameters.remove(name)),
        };
        set("uuid", Some(metadata.uuid().to_string()));
        set(TABLE_TYPE, Some("ICEBERG".to_owned()));
        set(METADATA_LOCATION, Some(written.location.clone()));
        set(PREVIOUS_METADATA_LOCATION, base.map(|base| base.location.clone()));
        set(STORAGE_HANDLER.0, for_hive.then(|| STORAGE_HANDLER.1.to_owned()));
        if written.key_id().is_some() {
            set(METADATA_HASH, Some(BASE64.encode(written.java_sha256()?)));
        }

        let fitting = |text: String| (text.encode_utf16().count() <= settings.max_parameter).then_some(text);
        let document = &written.document;
        set("current-schema", fitting(document.java_schema()?));
        let is_partitioned = !metadata.default_partition_spec().is_unpartitioned();
        set(
            "default-partition-spec",
            is_partitioned.then(|| document.java_partition_spec()).transpose()?.and_then(fitting),
        );
        let is_sorted = !metadata.default_sort_order().is_unsorted();
        set("default-sort-order", is_sorted.then(|| document.java_sort_order()).transpose()?.and_then(fitting));

        let current = metadata.current_snapshot();
        let shown = current.filter(|_| settings.max_parameter > 0);
        set("current-snapshot-id", shown.map(|s| s.snapshot_id().to_string()));
        set("current-snapshot-timestamp-ms", shown.map(|s| s.timestamp_ms().to_string()));
        set("current-snapshot-summary", document.java_summary()?.filter(|_| shown.is_some()).and_then(fitting));
        set("snapshot-count", Some(metadata.snapshots().len().to_string()));
        for (name, hive_name) in STATISTICS {
            if let Some(value) = current.and_then(|s| s.summary().additional_properties.get(name)) {
                set(hive_name, Some(value.clone()));
            }
        }
        set("COLUMN_STATS_ACCURATE", None);
        set("DO_NOT_UPDATE_STATS", Some("true".to_owned()));
        self.0.set(field::PARAMETERS, Value::map(parameters));
        Ok(())
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.0.strings(field::PARAMETERS).find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

fn hive_name(property: &str) -> &str {
    TRANSLATED.iter().find(|(name, _)| *name == property).map_or(property, |(_, hive_name)| hive_name)
}

/// The storage descriptor: columns, location, and classes that read no file by mistake.
fn storage(metadata: &TableMetadata, for_hive: bool) -> Struct {
    let (input, output, serde) = if for_hive {
        (
            "org.apache.iceberg.mr.hive.HiveIcebergInputFormat",
            "org.apache.iceberg.mr.hive.HiveIcebergOutputFormat",
            "org.apache.iceberg.mr.hive.HiveIcebergSerDe",
        )
    } else {
        (
            "org.apache.hadoop.mapred.FileInputFormat",
            "org.apache.hadoop.mapred.FileOutputFormat",
            "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        )
    };
    let nothing: [(&str, &str); 0] = [];
    let serde = Struct::default().with(2, serde).with(3, Value::map(nothing));
    Struct::default()
        .with(1, Value::structs(columns(metadata.current_schema())))
        .with(2, metadata.location())
        .with(3, input)
        .with(4, output)
        .with(5, false)
        .with(6, 0)
        .with(7, serde)
}

fn columns(schema: &Schema) -> impl Iterator<Item = Struct> {
    schema.as_struct().fields().iter().map(|field| {
        let column = Struct::default().with(1, field.name.as_str()).with(2, hive_type(&field.field_type));
        match &field.doc {
            Some(doc) => column.with(3, doc.as_str()),
            None => column,
        }
    })
}
