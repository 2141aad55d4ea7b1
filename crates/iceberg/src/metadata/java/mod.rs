//! The text that Java prints for metadata, whatever the text in the file is like.
//!
//! Java parses metadata.json and, to hash it, prints what it parsed: the fields that it knows, in its order, without blanks,
//! with its own defaults, escapes and numbers. So each struct here has the fields of one of Java's parsers, in the order
//! in which that prints them. An order that Java keeps (of properties, references, entries of lists) is kept.

mod format;
mod ordered;
mod schema;

use std::io::{self, Write};

use serde::{Deserialize, Serialize, Serializer};

use self::format::JavaFormatter;
use self::ordered::Ordered;
use self::schema::SchemaText;

/// Prints metadata of format version 2 or 3 from its JSON.
pub(super) fn print(json: &[u8], out: impl Write) -> serde_json::Result<()> {
    let metadata: MetadataText = serde_json::from_slice(json)?;
    write(&metadata.with_defaults(), out)
}

/// Prints a schema of the spec's types as Java prints it.
pub(super) fn schema(schema: &impl Serialize) -> serde_json::Result<String> {
    reprint::<SchemaText>(schema)
}

/// As [`schema`].
pub(super) fn partition_spec(spec: &impl Serialize) -> serde_json::Result<String> {
    reprint::<PartitionSpecText>(spec)
}

/// As [`schema`].
pub(super) fn sort_order(order: &impl Serialize) -> serde_json::Result<String> {
    reprint::<SortOrderText>(order)
}

/// Prints pairs as an object, in their order.
pub(super) fn object(pairs: impl IntoIterator<Item = (String, String)>) -> serde_json::Result<String> {
    text(&Ordered(pairs.into_iter().collect()))
}

fn reprint<T: for<'de> Deserialize<'de> + Serialize>(value: &impl Serialize) -> serde_json::Result<String> {
    text(&serde_json::from_str::<T>(&serde_json::to_string(value)?)?)
}

fn text(value: &impl Serialize) -> serde_json::Result<String> {
    let mut out = Vec::new();
    write(value, &mut out)?;
    String::from_utf8(out).map_err(|e| serde_json::Error::io(io::Error::other(e)))
}

fn write(value: &impl Serialize, out: impl Write) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(out, JavaFormatter))
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct MetadataText {
    format_version: u8,
    table_uuid: String,
    #[serde(serialize_with = "without_last_slash")]
    location: String,
    last_sequence_number: i64,
    last_updated_ms: i64,
    last_column_id: i32,
    current_schema_id: i32,
    schemas: Vec<SchemaText>,
    default_spec_id: i32,
    partition_specs: Vec<PartitionSpecText>,
    last_partition_id: i32,
    default_sort_order_id: i32,
    sort_orders: Vec<SortOrderText>,
    #[serde(default)]
    properties: Ordered<String>,
    current_snapshot_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_row_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    encryption_keys: Vec<EncryptedKeyText>,
    refs: Option<Ordered<ReferenceText>>,
    #[serde(default)]
    snapshots: Vec<SnapshotText>,
    #[serde(default)]
    statistics: Vec<StatisticsText>,
    #[serde(default)]
    partition_statistics: Vec<PartitionStatisticsText>,
    #[serde(default)]
    snapshot_log: Vec<SnapshotLogText>,
    #[serde(default)]
    metadata_log: Vec<MetadataLogText>,
}

impl MetadataText {
    fn with_defaults(mut self) -> Self {
        let current = self.current_snapshot_id.filter(|id| *id != NO_SNAPSHOT);
        if self.refs.is_none() {
            let main = current.map(|snapshot_id| ("main".to_owned(), ReferenceText::branch(snapshot_id)));
            self.refs = Some(Ordered(main.into_iter().collect()));
        }
        if self.format_version >= 3 {
            self.current_snapshot_id = current;
        } else {
            self.current_snapshot_id = Some(current.unwrap_or(NO_SNAPSHOT));
            self.next_row_id = None;
        }
        self
    }
}

/// What stands for the current snapshot of a table that has none, before version 3.
const NO_SNAPSHOT: i64 = -1;

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct PartitionSpecText {
    spec_id: i32,
    fields: Vec<PartitionFieldText>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct PartitionFieldText {
    name: String,
    transform: String,
    source_id: i32,
    field_id: i32,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct SortOrderText {
    order_id: i32,
    fields: Vec<SortFieldText>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct SortFieldText {
    transform: String,
    source_id: i32,
    direction: String,
    null_order: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct EncryptedKeyText {
    key_id: String,
    encrypted_key_metadata: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted_by_id: Option<String>,
    #[serde(default, skip_serializing_if = "Ordered::is_empty")]
    properties: Ordered<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct ReferenceText {
    snapshot_id: i64,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_snapshots_to_keep: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_snapshot_age_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ref_age_ms: Option<i64>,
}

impl ReferenceText {
    fn branch(snapshot_id: i64) -> Self {
        Self {
            snapshot_id,
            r#type: "branch".to_owned(),
            min_snapshots_to_keep: None,
            max_snapshot_age_ms: None,
            max_ref_age_ms: None,
        }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct SnapshotText {
    #[serde(default, skip_serializing_if = "is_zero")]
    sequence_number: i64,
    snapshot_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_snapshot_id: Option<i64>,
    timestamp_ms: i64,
    #[serde(default, skip_serializing_if = "Ordered::is_empty", serialize_with = "operation_first")]
    summary: Ordered<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest_list: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifests: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema_id: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_row_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    added_rows: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct StatisticsText {
    snapshot_id: i64,
    statistics_path: String,
    file_size_in_bytes: i64,
    file_footer_size_in_bytes: i64,
    blob_metadata: Vec<BlobText>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct BlobText {
    r#type: String,
    snapshot_id: i64,
    sequence_number: i64,
    fields: Vec<i32>,
    #[serde(default, skip_serializing_if = "Ordered::is_empty")]
    properties: Ordered<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct PartitionStatisticsText {
    snapshot_id: i64,
    statistics_path: String,
    file_size_in_bytes: i64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct SnapshotLogText {
    timestamp_ms: i64,
    snapshot_id: i64,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct MetadataLogText {
    timestamp_ms: i64,
    metadata_file: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn without_last_slash<S: Serializer>(location: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let trimmed = location.trim_end_matches('/');
    serializer.serialize_str(if trimmed.is_empty() || trimmed.ends_with(':') { location } else { trimmed })
}

/// Java takes a summary that does not say its operation for one of an overwrite.
fn operation_first<S: Serializer>(summary: &Ordered<String>, serializer: S) -> Result<S::Ok, S::Error> {
    const OPERATION: &str = "operation";
    let operation = summary.0.iter().find(|(name, _)| name == OPERATION).map_or("overwrite", |(_, value)| value);
    let others = summary.0.iter().filter(|(name, _)| name != OPERATION);
    serializer.collect_map(
        [(OPERATION, operation)].into_iter().chain(others.map(|(name, value)| (name.as_str(), value.as_str()))),
    )
}
