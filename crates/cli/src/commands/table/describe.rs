//! `lakelock table describe`.

use std::io::{self, Write as _};

use chrono::{DateTime, SecondsFormat, Utc};
use lakelock_iceberg::Table;
use lakelock_iceberg::schema_text::print_type;
use lakelock_iceberg::spec::TableMetadata;
use serde_json::{Map, Value, json};

use super::create::KEY_ID;
use super::history::count;
use crate::context::Context;
use crate::failure::Result;
use crate::names;
use crate::output::{Listing, OutputFormat, print_document};
use crate::terminal::{Paint, grouped, printable};

const DATA_KEY_LENGTH: &str = "encryption.data-key-length";
/// Where a KEK's entry says when it was made, in milliseconds since the epoch.
const KEY_TIMESTAMP: &str = "KEY_TIMESTAMP";
const DEFAULT_DATA_KEY_LENGTH: &str = "16";
const MILLIS_PER_DAY: i64 = 86_400_000;

pub(super) async fn run(context: &Context, table: &str) -> Result<()> {
    let ident = names::table(table)?;
    let table = context.catalog().await?.load_table(&ident).await?;
    let description = describe(&table, Utc::now().timestamp_millis());
    match context.format() {
        OutputFormat::Json => print_document(&Value::Object(description)),
        OutputFormat::Csv => columns(table.metadata()).print(OutputFormat::Csv, Paint::plain()),
        OutputFormat::Table => print_for_people(&description, context.paint()),
    }
}

fn describe(table: &Table, now: i64) -> Map<String, Value> {
    let metadata = table.metadata();
    let schema = metadata.current_schema();
    let source_name = |id: i32| schema.name_by_field_id(id).map_or_else(|| format!("field {id}"), ToOwned::to_owned);
    let columns: Vec<Value> = schema
        .as_struct()
        .fields()
        .iter()
        .map(|field| {
            json!({
                "id": field.id, "name": field.name, "type": print_type(&field.field_type),
                "required": field.required, "doc": field.doc,
            })
        })
        .collect();
    let partitioning: Vec<Value> = metadata
        .default_partition_spec()
        .fields()
        .iter()
        .map(|field| {
            json!({"name": field.name, "transform": field.transform.to_string(), "source": source_name(field.source_id)})
        })
        .collect();
    let current = metadata.current_snapshot().map(|snapshot| {
        json!({
            "id": snapshot.snapshot_id().to_string(), "committed_at": instant(snapshot.timestamp_ms()),
            "operation": snapshot.summary().operation.as_str(), "rows": count(snapshot, "total-records"),
            "data_files": count(snapshot, "total-data-files"), "stored_bytes": count(snapshot, "total-files-size"),
            "delete_files": count(snapshot, "total-delete-files"),
            "position_deletes": count(snapshot, "total-position-deletes"),
            "equality_deletes": count(snapshot, "total-equality-deletes"),
        })
    });
    let mut properties: Vec<_> = metadata.properties().iter().collect();
    properties.sort();
    let mut description = Map::new();
    let mut set = |name: &str, value: Value| drop(description.insert(name.to_owned(), value));
    set("table", json!(names::show(table.identifier())));
    set("uuid", json!(metadata.uuid()));
    set("format_version", json!(metadata.format_version() as u8));
    set("location", json!(metadata.location()));
    set("metadata_location", json!(table.metadata_location()));
    set("last_updated", json!(instant(metadata.last_updated_ms())));
    set("columns", json!(columns));
    set("partitioning", json!(partitioning));
    set("snapshots", json!(metadata.snapshots().count()));
    set("current_snapshot", json!(current));
    set("encryption", encryption(metadata, now));
    set("properties", Value::Object(properties.into_iter().map(|(k, v)| (k.clone(), json!(v))).collect()));
    description
}

/// What metadata.json says of the keys; null for a table that is not encrypted.
fn encryption(metadata: &TableMetadata, now: i64) -> Value {
    let Some(key_id) = metadata.properties().get(KEY_ID) else { return Value::Null };
    let (keks, list_keys): (Vec<_>, Vec<_>) =
        metadata.encryption_keys_iter().partition(|key| key.encrypted_by_id() == Some(key_id.as_str()));
    let mut keks: Vec<(Option<i64>, Value)> = keks
        .into_iter()
        .map(|kek| {
            let made = kek.properties().get(KEY_TIMESTAMP).and_then(|text| text.parse::<i64>().ok());
            let age = made.map(|made| now.saturating_sub(made).max(0) / MILLIS_PER_DAY);
            (made, json!({"id": kek.key_id(), "created_at": made.map(instant), "age_days": age}))
        })
        .collect();
    keks.sort_by_key(|(made, _)| *made);
    let length = metadata.properties().get(DATA_KEY_LENGTH).map_or(DEFAULT_DATA_KEY_LENGTH, String::as_str);
    json!({
        "master_key_id": key_id,
        "data_key_length": length.parse::<u64>().map_or_else(|_| json!(length), |length| json!(length)),
        "key_encryption_keys": keks.into_iter().map(|(_, kek)| kek).collect::<Vec<_>>(),
        "manifest_list_keys": list_keys.len(),
    })
}

fn instant(millis: i64) -> String {
    DateTime::from_timestamp_millis(millis)
        .map_or_else(|| format!("{millis} ms"), |at| at.to_rfc3339_opts(SecondsFormat::Millis, false))
}

/// A table's columns.
pub(crate) fn columns(metadata: &TableMetadata) -> Listing {
    let fields = metadata.current_schema().as_struct().fields();
    Listing::default()
        .numbers("id", fields.iter().map(|field| Some(i64::from(field.id))))
        .text("name", fields.iter().map(|field| Some(&field.name)))
        .text("type", fields.iter().map(|field| Some(print_type(&field.field_type))))
        .flags("required", fields.iter().map(|field| field.required))
        .text("doc", fields.iter().map(|field| field.doc.as_ref()))
}

fn print_for_people(description: &Map<String, Value>, paint: Paint) -> Result<()> {
    let mut out = io::stdout().lock();
    let text = |value: &Value| match value {
        Value::String(text) => printable(text),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let number = |value: &Value| value.as_u64().map_or_else(|| "-".to_owned(), grouped);
    let list = |name: &str| description.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let line = |name: &str, value: String| format!("{}{value}", paint.dim(format!("{name:<18}")));

    writeln!(out, "{}", paint.bold(text(&description["table"])))?;
    for name in ["location", "metadata_location", "uuid", "format_version", "last_updated"] {
        writeln!(out, "{}", line(&name.replace('_', " "), text(&description[name])))?;
    }
    writeln!(out, "{}", line("snapshots", number(&description["snapshots"])))?;
    if let Some(current) = description["current_snapshot"].as_object() {
        let what =
            format!("{} ({} at {})", text(&current["id"]), text(&current["operation"]), text(&current["committed_at"]));
        writeln!(out, "{}", line("current snapshot", what))?;
        let files = if current["data_files"] == 1 { "data file" } else { "data files" };
        let size = format!("{} in {} {files}", number(&current["rows"]), number(&current["data_files"]));
        writeln!(out, "{}", line("rows", size))?;
        if current["delete_files"].as_u64().is_some_and(|files| files > 0) {
            let deletes = format!(
                "{} by position and {} by value, in {} delete files",
                number(&current["position_deletes"]),
                number(&current["equality_deletes"]),
                number(&current["delete_files"])
            );
            writeln!(out, "{}", line("deletes", deletes))?;
        }
    }

    writeln!(out, "\n{}", paint.bold("Columns"))?;
    let columns = list("columns");
    let width = columns.iter().map(|column| text(&column["name"]).chars().count()).max().unwrap_or_default();
    for column in &columns {
        let required = if column["required"] == true { " not null" } else { "" };
        let doc = column["doc"].as_str().map(|doc| format!("  -- {}", printable(doc))).unwrap_or_default();
        writeln!(out, "  {:<width$}  {}{required}{}", text(&column["name"]), text(&column["type"]), paint.dim(doc))?;
    }

    writeln!(out, "\n{}", paint.bold("Partitioning"))?;
    let fields = list("partitioning");
    if fields.is_empty() {
        writeln!(out, "  none")?;
    }
    for field in fields {
        writeln!(out, "  {}: {} of {}", text(&field["name"]), text(&field["transform"]), text(&field["source"]))?;
    }

    writeln!(out, "\n{}", paint.bold("Encryption"))?;
    print_encryption(&mut out, &description["encryption"], paint)?;

    let properties = description["properties"].as_object().filter(|properties| !properties.is_empty());
    if let Some(properties) = properties {
        writeln!(out, "\n{}", paint.bold("Properties"))?;
        for (name, value) in properties {
            writeln!(out, "  {} = {}", printable(name), text(value))?;
        }
    }
    Ok(())
}

fn print_encryption(out: &mut impl io::Write, encryption: &Value, paint: Paint) -> Result<()> {
    let Some(encryption) = encryption.as_object() else {
        writeln!(out, "  {}", paint.hint("not encrypted"))?;
        return Ok(());
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), printable);
    writeln!(out, "  master key id       {}", text(&encryption["master_key_id"]))?;
    writeln!(out, "  data key length     {} bytes", text(&encryption["data_key_length"]))?;
    writeln!(out, "  manifest list keys  {}", text(&encryption["manifest_list_keys"]))?;
    for kek in encryption["key_encryption_keys"].as_array().into_iter().flatten() {
        let age = match kek["age_days"].as_i64() {
            Some(0) => "made today".to_owned(),
            Some(1) => "1 day old".to_owned(),
            Some(days) => format!("{days} days old"),
            None => "of unknown age".to_owned(),
        };
        writeln!(out, "  KEK                 {}, {age}", text(&kek["id"]))?;
    }
    Ok(())
}
