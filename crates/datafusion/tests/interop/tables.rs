//! Opens tables without a catalog, and queries them.

use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use lakelock_crypto::SecretKey;
use lakelock_datafusion::{LakelockTableProvider, sql, table_error};
use lakelock_iceberg::encryption::{CatalogEncryption, EncryptingFileIO, EncryptionProperties};
use lakelock_iceberg::metadata::TableDocument;
use lakelock_iceberg::spec::TableIdent;
use lakelock_iceberg::{ErrorKind, Table};
use lakelock_kms::{KeyManagementClient, MemoryKms};
use lakelock_storage::Storage;

/// The master key of the judge's tables.
pub(crate) const MASTER_KEY: &[u8] = b"0123456789012345";

pub(crate) async fn open(metadata_location: &str) -> Table {
    open_with(metadata_location, MASTER_KEY).await
}

pub(crate) async fn open_with(metadata_location: &str, master_key: &[u8]) -> Table {
    let kms = MemoryKms::new().with_key("keyA", SecretKey::new(master_key).unwrap());
    let kms: Arc<dyn KeyManagementClient> = Arc::new(kms);
    open_by(metadata_location, &CatalogEncryption::new(Some(kms))).await
}

pub(crate) async fn open_by(metadata_location: &str, encryption: &CatalogEncryption) -> Table {
    let storage = Storage::local();
    let bytes = storage.read(metadata_location).await.unwrap();
    let document = TableDocument::read(&bytes, metadata_location).unwrap();
    let properties = EncryptionProperties::from_table(document.metadata()).unwrap();
    let manager = encryption.manager("db.t", properties);
    let identifier = TableIdent::from_strs(["db", "t"]).unwrap();
    let io = EncryptingFileIO::new(storage, manager);
    Table::new(identifier, Arc::new(document), metadata_location.to_owned(), io)
}

/// A session with one table `t`, with enough partitions to have files read side by side.
pub(crate) fn session(provider: LakelockTableProvider) -> SessionContext {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    context.register_table("t", Arc::new(provider)).unwrap();
    context
}

pub(crate) async fn query(context: &SessionContext, text: &str) -> DataFrame {
    sql(context, text).await.unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The kind of the table's error behind a failed query, and all that a user would see of it.
pub(crate) fn failure(error: &DataFusionError) -> (ErrorKind, String) {
    use std::error::Error;
    let table = table_error(error).unwrap_or_else(|| panic!("an error of DataFusion's own: {error:?}"));
    let (mut text, mut next) = (table.to_string(), table.source());
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    (table.kind(), text)
}
