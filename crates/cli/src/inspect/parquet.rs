//! Parquet: with an encrypted footer (`PARE`) or a plaintext one (`PAR1`).

use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};

use super::thrift::{Reader, Value};
use super::{Report, Subject, WHOLE_LIMIT};
use crate::failure::{Context as _, Failure, Result};

/// Footer length and magic.
const TRAILER: u64 = 8;

/// `"PARE" ... FileCryptoMetaData | encrypted footer | length of both, u32 LE | "PARE"`.
pub(super) async fn encrypted(subject: &Subject<'_>, report: &mut Report) -> Result<()> {
    report.format("Parquet with an encrypted footer (PARE)", true);
    let footer = footer(subject, *b"PARE").await?;
    report.set("footer_length", footer.len());
    let mut reader = Reader::new(&footer);
    let fields = reader.structure().map_err(|_| Failure::new("the footer's encryption header is malformed"))?;
    report.set("footer_ciphertext_length", reader.left());
    for (id, value) in fields {
        match (id, value) {
            (1, Value::Struct(algorithm)) => {
                if let Some((id, Value::Struct(parameters))) = algorithm.into_iter().next() {
                    let name = if id == 1 { "AES_GCM_V1" } else { "AES_GCM_CTR_V1" };
                    set_algorithm(report, name, &parameters);
                }
            }
            (2, Value::Binary(key_metadata)) => report.set("footer_key_metadata", printable_or_hex(key_metadata)),
            _ => {}
        }
    }
    if report.entries.get("footer_key_metadata").is_none() {
        report.set("footer_key_metadata", "none: the table's manifests hold the key");
    }
    Ok(())
}

fn set_algorithm(report: &mut Report, name: &str, parameters: &[(i16, Value<'_>)]) {
    report.set("algorithm", name);
    let mut prefix = "none";
    for (id, value) in parameters {
        match (id, value) {
            (1, Value::Binary(_)) => prefix = "in the file",
            (2, Value::Binary(unique)) => report.set("aad_file_unique", hex::encode(unique)),
            (3, Value::Bool(true)) => prefix = "supplied by the reader",
            _ => {}
        }
    }
    report.set("aad_prefix", prefix);
}

/// A footer that anybody can read.
pub(super) async fn plaintext(subject: &Subject<'_>, report: &mut Report) -> Result<()> {
    report.format("Parquet (PAR1)", false);
    let footer = footer(subject, *b"PAR1").await?;
    report.set("footer_length", footer.len());
    let metadata = ParquetMetaDataReader::decode_metadata(&footer).context("the footer is malformed")?;
    if metadata.row_groups().iter().flat_map(RowGroupMetaData::columns).any(|column| column.crypto_metadata().is_some())
    {
        report.format("Parquet with a plaintext footer and encrypted columns (PAR1)", true);
    }
    set_shape(report, &metadata);
    Ok(())
}

/// What a footer says of the rows.
pub(super) fn set_shape(report: &mut Report, metadata: &ParquetMetaData) {
    let file = metadata.file_metadata();
    report.set("rows", file.num_rows());
    report.set("row_groups", metadata.num_row_groups());
    report.set("columns", file.schema_descr().num_columns());
    if let Some(writer) = file.created_by() {
        report.set("created_by", writer);
    }
}

/// The footer between the last data and the trailer.
async fn footer(subject: &Subject<'_>, magic: [u8; 4]) -> Result<bytes::Bytes> {
    let trailer = subject.read_tail(TRAILER).await?;
    let Some((length, end)) = trailer.split_first_chunk::<4>() else {
        return Err(Failure::new("too short for a footer"));
    };
    if end != magic {
        return Err(Failure::new(format!("it does not end in {}: cut off?", String::from_utf8_lossy(&magic))));
    }
    let length = u64::from(u32::from_le_bytes(*length));
    let data = subject.length - TRAILER;
    if length > data.saturating_sub(4) || length > WHOLE_LIMIT {
        return Err(Failure::new(format!("it claims a footer of {length} bytes, more than there are")));
    }
    subject.read(data - length..data).await
}

fn printable_or_hex(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => hex::encode(bytes),
    }
}
