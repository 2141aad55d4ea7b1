//! `lakelock table files`.

use lakelock_iceberg::manifest::{
    DataFile, FileContent, FileFormat, Manifest, ManifestEntry, ManifestStatus, read_manifest_list,
};

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::names;
use crate::output::{Listing, OutputFormat};

pub(super) async fn run(context: &Context, table: &str, snapshot: Option<i64>) -> Result<()> {
    let ident = names::table(table)?;
    let loaded = context.catalog_with_keys().await?.load_table(&ident).await?;
    let metadata = loaded.metadata();
    let snapshot = match snapshot {
        Some(id) => Some(metadata.snapshot_by_id(id).ok_or_else(|| {
            Failure::new(format!("{table} has no snapshot {id}"))
                .hint(format!("`lakelock table history {table}` lists them"))
        })?),
        None => metadata.current_snapshot(),
    };
    let mut entries: Vec<ManifestEntry> = Vec::new();
    if let Some(snapshot) = snapshot {
        for file in read_manifest_list(loaded.io(), metadata, snapshot).await? {
            let manifest = Manifest::read(loaded.io(), metadata, &file).await?;
            entries.extend(manifest.entries.into_iter().filter(|entry| entry.status != ManifestStatus::Deleted));
        }
    }
    let files: Vec<_> = entries.iter().map(|entry| &entry.data_file).collect();
    let rows = || files.iter().map(|file| i64::try_from(file.record_count).ok());
    let bytes = || files.iter().map(|file| i64::try_from(file.file_size_in_bytes).ok());
    // Several deletion vectors share a file.
    let own_bytes = || files.iter().zip(bytes()).map(|(file, bytes)| file.content_size_in_bytes.or(bytes));
    let encrypted = || files.iter().map(|file| file.key_metadata.is_some());
    let listing = if context.format() == OutputFormat::Table {
        // People know where the table is, and have no room for all.
        let root = format!("{}/", metadata.location().trim_end_matches('/'));
        let shown = |path: &str| path.strip_prefix(&root).unwrap_or(path).to_owned();
        Listing::default()
            .text("content", files.iter().map(|file| Some(content(file))))
            .numbers("rows", rows())
            .numbers("bytes", own_bytes())
            .flags("encrypted", encrypted())
            .text("file", files.iter().map(|file| Some(shown(&file.file_path))))
    } else {
        Listing::default()
            .text("file_path", files.iter().map(|file| Some(&file.file_path)))
            .text("content", files.iter().map(|file| Some(content(file))))
            .text("format", files.iter().map(|file| Some(format(file.file_format))))
            .numbers("rows", rows())
            .numbers("stored_bytes", bytes())
            .numbers("first_row_id", files.iter().map(|file| file.first_row_id))
            .flags("encrypted", encrypted())
            .text("referenced_data_file", files.iter().map(|file| file.referenced_data_file.as_ref()))
    };
    listing.print(context.format(), context.paint())
}

fn content(file: &DataFile) -> &'static str {
    match (file.content, file.file_format) {
        (FileContent::Data, _) => "data",
        (FileContent::PositionDeletes, FileFormat::Puffin) => "deletion vector",
        (FileContent::PositionDeletes, _) => "position deletes",
        (FileContent::EqualityDeletes, _) => "equality deletes",
    }
}

fn format(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Avro => "avro",
        FileFormat::Orc => "orc",
        FileFormat::Parquet => "parquet",
        FileFormat::Puffin => "puffin",
    }
}
