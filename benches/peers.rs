//! The others that read and write AGS1: the `iceberg` crate and Java.

use std::{ops::Range, path::Path, process::Command, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures::executor::block_on;
use iceberg::{
    encryption::{AesGcmCipher, AesGcmFileRead, AesGcmFileWrite, SecureKey},
    io::{FileRead, FileWrite},
};

const PIECE: usize = 1 << 20;

/// The streams of the `iceberg` crate over memory.
pub(crate) struct IcebergStreams {
    cipher: Arc<AesGcmCipher>,
    prefix: Box<[u8]>,
}

impl IcebergStreams {
    pub(crate) fn new(key: &[u8], prefix: &[u8]) -> Self {
        Self { cipher: Arc::new(AesGcmCipher::new(SecureKey::new(key).unwrap())), prefix: prefix.into() }
    }

    /// Encrypts `piece` so many times and throws the stream away.
    pub(crate) fn write(&self, piece: &Bytes, times: usize) {
        let mut writer = AesGcmFileWrite::new(Box::new(Sink), Arc::clone(&self.cipher), self.prefix.clone());
        block_on(async {
            for _ in 0..times {
                writer.write(piece.clone()).await.unwrap();
            }
            writer.close().await.unwrap();
        });
    }

    /// Decrypts `stream`, a MiB at a time.
    pub(crate) fn read(&self, stream: &Bytes) {
        let (source, length) = (Box::new(Source(stream.clone())), stream.len() as u64);
        let reader = AesGcmFileRead::new(source, Arc::clone(&self.cipher), self.prefix.clone(), length).unwrap();
        block_on(async {
            for start in (0..reader.plaintext_length()).step_by(PIECE) {
                std::hint::black_box(reader.read(start..start + PIECE as u64).await.unwrap());
            }
        });
    }
}

struct Sink;

#[async_trait]
impl FileWrite for Sink {
    async fn write(&mut self, bytes: Bytes) -> iceberg::Result<()> {
        std::hint::black_box(bytes);
        Ok(())
    }

    async fn close(&mut self) -> iceberg::Result<()> {
        Ok(())
    }
}

struct Source(Bytes);

#[async_trait]
impl FileRead for Source {
    async fn read(&self, range: Range<u64>) -> iceberg::Result<Bytes> {
        let at = |position: u64| usize::try_from(position).unwrap();
        Ok(self.0.slice(at(range.start)..at(range.end)))
    }
}

/// What Java's streams do in memory, AES-128, one thread, in GB/s.
pub(crate) struct JavaStreams {
    pub(crate) write: f64,
    pub(crate) read: f64,
}

impl JavaStreams {
    pub(crate) fn measure(mib: usize) -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interop/java/run.sh");
        let output = Command::new(script).args(["bench-ags1", &mib.to_string()]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let figure = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().split(' ').next()?.parse().ok()
        };
        Some(Self { write: figure("write ")?, read: figure("read ")? })
    }
}
