//! The Parquet file itself, encrypted or not.

use std::sync::Arc;

use arrow::datatypes::SchemaRef as ArrowSchemaRef;
use bytes::Bytes;
use lakelock_crypto::StandardKeyMetadata;
use lakelock_parquet::EncryptingWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory};
use parquet::errors::Result;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::TypePtr;

use super::upload::Outbox;

/// Puts row groups, encoded elsewhere, into a file.
pub(super) enum Body {
    Encrypted(Box<EncryptingWriter<Outbox>>),
    Plaintext { parquet: Box<SerializedFileWriter<Outbox>>, encoders: ArrowRowGroupWriterFactory },
}

impl Body {
    pub(super) fn new(
        schema: &TypePtr,
        arrow_schema: &ArrowSchemaRef,
        properties: WriterProperties,
        key: Option<&StandardKeyMetadata>,
    ) -> Result<Self> {
        let (schema, arrow_schema) = (Arc::clone(schema), Arc::clone(arrow_schema));
        let (out, properties) = (Outbox::default(), Arc::new(properties));
        if let Some(key) = key {
            let writer = EncryptingWriter::new(out, schema, arrow_schema, properties, key)?;
            return Ok(Self::Encrypted(Box::new(writer)));
        }
        let parquet = Box::new(SerializedFileWriter::new(out, schema, properties)?);
        let encoders = ArrowRowGroupWriterFactory::new(&parquet, arrow_schema);
        Ok(Self::Plaintext { parquet, encoders })
    }

    pub(super) fn begin_row_group(&mut self) -> Result<Vec<ArrowColumnWriter>> {
        match self {
            Self::Encrypted(writer) => writer.begin_row_group(),
            Self::Plaintext { parquet, encoders } => encoders.create_column_writers(parquet.flushed_row_groups().len()),
        }
    }

    pub(super) fn end_row_group(&mut self, chunks: Vec<ArrowColumnChunk>) -> Result<()> {
        match self {
            Self::Encrypted(writer) => writer.end_row_group(chunks),
            Self::Plaintext { parquet, .. } => {
                let mut row_group = parquet.next_row_group()?;
                for chunk in chunks {
                    chunk.append_to_row_group(&mut row_group)?;
                }
                row_group.close()?;
                Ok(())
            }
        }
    }

    pub(super) fn finish(&mut self) -> Result<ParquetMetaData> {
        match self {
            Self::Encrypted(writer) => writer.finish(),
            Self::Plaintext { parquet, .. } => parquet.finish(),
        }
    }

    pub(super) fn bytes_written(&self) -> u64 {
        match self {
            Self::Encrypted(writer) => writer.bytes_written(),
            Self::Plaintext { parquet, .. } => parquet.bytes_written() as u64,
        }
    }

    /// What was written since.
    pub(super) fn take(&mut self) -> Result<Vec<Bytes>> {
        Ok(match self {
            Self::Encrypted(writer) => writer.inner_mut().take(),
            Self::Plaintext { parquet, .. } => {
                parquet.flush()?;
                parquet.inner_mut().take()
            }
        })
    }
}
