//! AGS1 against the cipher alone, on two threads, and against the streams of the `iceberg` crate and of Java.
//!
//! `cargo bench -p lakelock-benches --bench ags1`. Java takes part if `interop/java/run.sh` runs.

#![expect(clippy::unwrap_used, reason = "a benchmark ends at the first error")]

mod peers;

use std::time::Duration;

use aws_lc_rs::aead as aws;
use bytes::Bytes;
use lakelock_benches::{Contender, fastest, gigabytes_per_second, processor};
use lakelock_crypto::{
    SecretKey,
    ags1::{
        self, BlockEncryptor, CIPHER_BLOCK_LENGTH, Decryptor, Encryptor, HEADER_LENGTH, Layout, PLAIN_BLOCK_LENGTH,
    },
};
use peers::{IcebergStreams, JavaStreams};
use ring::aead as ring;

const BLOCKS: usize = 64;
const LENGTH: usize = BLOCKS * PLAIN_BLOCK_LENGTH as usize;
const STORED_BLOCK: usize = CIPHER_BLOCK_LENGTH as usize;
const ROUNDS: usize = 40;
const PREFIX: &[u8; 16] = b"sixteen bytes of";

/// The memory that all work on: one file of 64 MiB, its blocks and a whole stream.
struct Memory {
    plain: Vec<u8>,
    sealed: Vec<u8>,
    blocks: Vec<u8>,
    stream: Vec<u8>,
}

fn main() {
    println!("{}; {} MiB of plaintext; the fastest of {ROUNDS} rounds", processor(), LENGTH >> 20);
    let java = JavaStreams::measure(LENGTH >> 20);
    if java.is_none() {
        println!("Java does not take part: interop/java/run.sh does not run here");
    }
    for key_length in [16, 32] {
        let key = vec![7; key_length];
        let mut memory = memory(&key);
        println!("\nAES-{}", 8 * key_length);
        // Java's figures are those of AES-128.
        let java = java.as_ref().filter(|_| key_length == 16);
        encrypt(&key, &mut memory, java);
        decrypt(&key, &mut memory, java);
    }
}

fn memory(key: &[u8]) -> Memory {
    let plain: Vec<u8> = (0..=255).cycle().take(LENGTH).collect();
    let sealed = ags1::encrypt(&SecretKey::new(key).unwrap(), PREFIX, &plain, 1).unwrap();
    Memory { plain, blocks: sealed[HEADER_LENGTH..].to_vec(), stream: Vec::new(), sealed }
}

fn encrypt(key: &[u8], memory: &mut Memory, java: Option<&JavaStreams>) {
    let secret = SecretKey::new(key).unwrap();
    let in_place = BlockEncryptor::new(&secret, PREFIX).unwrap();
    let (ring, aws) = (ring_key(key), aws_key(key));
    let iceberg = IcebergStreams::new(key, PREFIX);
    let piece = Bytes::copy_from_slice(&memory.plain[..PLAIN_BLOCK_LENGTH as usize]);
    // A MiB at a time, always the same one, as Java's benchmark does it.
    let pieces = |memory: &mut Memory, mut encryptor: Encryptor| {
        for _ in 0..BLOCKS {
            let mut piece = &memory.plain[..PLAIN_BLOCK_LENGTH as usize];
            while let Some(chunk) = encryptor.push(&mut piece).unwrap() {
                std::hint::black_box(chunk);
            }
        }
        std::hint::black_box(encryptor.finish().unwrap());
    };
    let times = fastest(
        memory,
        ROUNDS,
        [
            Contender::new("ring in place", |memory: &mut Memory| ring_seal(&ring, 0, &mut memory.blocks)),
            Contender::new("ring in place, 2 threads", |memory: &mut Memory| {
                on_two_threads(&mut memory.blocks, |first, blocks| ring_seal(&ring, first, blocks));
            }),
            Contender::new("aws-lc-rs in place", |memory: &mut Memory| {
                for (index, block) in (0_u32..).zip(memory.blocks.chunks_mut(STORED_BLOCK)) {
                    let (nonce, text, tag) = parts(block);
                    let nonce = aws::Nonce::assume_unique_for_key(*nonce);
                    let sealed = aws.seal_in_place_separate_tag(nonce, aws::Aad::from(aad(index)), text).unwrap();
                    tag.copy_from_slice(sealed.as_ref());
                }
            }),
            Contender::new("lakelock in place", |memory: &mut Memory| {
                in_place.encrypt_blocks(0, &mut memory.blocks, 1).unwrap();
            }),
            Contender::new("lakelock in place, 2 threads", |memory: &mut Memory| {
                in_place.encrypt_blocks(0, &mut memory.blocks, 2).unwrap();
            }),
            Contender::new("lakelock in pieces", |memory: &mut Memory| {
                pieces(memory, Encryptor::new(&secret, PREFIX).unwrap());
            }),
            Contender::new("lakelock whole", |memory: &mut Memory| {
                std::hint::black_box(ags1::encrypt(&secret, PREFIX, &memory.plain, 1).unwrap());
            }),
            Contender::new("iceberg crate", |_: &mut Memory| iceberg.write(&piece, BLOCKS)),
        ],
    );
    report("encrypt", &times, java.map(|java| java.write));
}

fn decrypt(key: &[u8], memory: &mut Memory, java: Option<&JavaStreams>) {
    let secret = SecretKey::new(key).unwrap();
    let layout = Layout::from_plain_length(LENGTH as u64).unwrap();
    let decryptor = Decryptor::new(&secret, PREFIX, layout).unwrap();
    let (ring, aws) = (ring_key(key), aws_key(key));
    let iceberg = IcebergStreams::new(key, PREFIX);
    let stored = Bytes::from(memory.sealed.clone());
    let fresh_stream = |memory: &mut Memory| memory.stream.clone_from(&memory.sealed);
    let fresh_blocks = |memory: &mut Memory| memory.blocks.copy_from_slice(&memory.sealed[HEADER_LENGTH..]);
    let times = fastest(
        memory,
        ROUNDS,
        [
            Contender::new("ring in place", |memory: &mut Memory| ring_open(&ring, 0, &mut memory.blocks))
                .after(fresh_blocks),
            Contender::new("ring in place, 2 threads", |memory: &mut Memory| {
                on_two_threads(&mut memory.blocks, |first, blocks| ring_open(&ring, first, blocks));
            })
            .after(fresh_blocks),
            Contender::new("aws-lc-rs in place", |memory: &mut Memory| {
                for (index, block) in (0_u32..).zip(memory.blocks.chunks_mut(STORED_BLOCK)) {
                    let (nonce, text, tag) = parts(block);
                    let nonce = aws::Nonce::assume_unique_for_key(*nonce);
                    aws.open_in_place_separate_tag(nonce, aws::Aad::from(aad(index)), tag, text).unwrap();
                }
            })
            .after(fresh_blocks),
            Contender::new("lakelock in place", |memory: &mut Memory| {
                decryptor.decrypt_blocks_in_place(0, &mut memory.blocks, 1).unwrap();
            })
            .after(fresh_blocks),
            Contender::new("lakelock in place, 2 threads", |memory: &mut Memory| {
                decryptor.decrypt_blocks_in_place(0, &mut memory.blocks, 2).unwrap();
            })
            .after(fresh_blocks),
            Contender::new("lakelock whole", |memory: &mut Memory| {
                let stream = std::mem::take(&mut memory.stream);
                memory.stream = decryptor.decrypt(stream, 1).unwrap();
            })
            .after(fresh_stream),
            Contender::new("lakelock whole, 2 threads", |memory: &mut Memory| {
                let stream = std::mem::take(&mut memory.stream);
                memory.stream = decryptor.decrypt(stream, 2).unwrap();
            })
            .after(fresh_stream),
            Contender::new("iceberg crate", |_: &mut Memory| iceberg.read(&stored)),
        ],
    );
    report("decrypt", &times, java.map(|java| java.read));
}

fn report(what: &str, times: &[(&str, Duration)], java: Option<f64>) {
    let of = |wanted: &str| times.iter().find(|(name, _)| *name == wanted).map_or(Duration::MAX, |(_, time)| *time);
    let raw = of("ring in place").min(of("aws-lc-rs in place"));
    println!("{:30} {:>6} {:>12} {:>10} {:>15}", what, "GB/s", "of the raw", "of Java", "of the crate");
    for (name, time) in times {
        let speed = gigabytes_per_second(LENGTH, *time);
        let against = |other: Duration| other.as_secs_f64() / time.as_secs_f64();
        let java = java.map_or("-".to_owned(), |java| format!("{:.2}", speed / java));
        println!("{name:30} {speed:6.2} {:12.2} {java:>10} {:15.1}", against(raw), against(of("iceberg crate")));
    }
    if let Some(java) = java {
        println!("{:30} {java:6.2}", "Java");
    }
    for one in ["ring in place", "lakelock in place", "lakelock whole"] {
        let two = format!("{one}, 2 threads");
        if times.iter().any(|(name, _)| *name == two) {
            println!("{one}: two threads are {:.2} times one", of(one).as_secs_f64() / of(&two).as_secs_f64());
        }
    }
}

fn ring_seal(key: &ring::LessSafeKey, first: u32, blocks: &mut [u8]) {
    for (index, block) in (first..).zip(blocks.chunks_mut(STORED_BLOCK)) {
        let (nonce, text, tag) = parts(block);
        let nonce = ring::Nonce::assume_unique_for_key(*nonce);
        let sealed = key.seal_in_place_separate_tag(nonce, ring::Aad::from(aad(index)), text).unwrap();
        tag.copy_from_slice(sealed.as_ref());
    }
}

fn ring_open(key: &ring::LessSafeKey, first: u32, blocks: &mut [u8]) {
    for (index, block) in (first..).zip(blocks.chunks_mut(STORED_BLOCK)) {
        let (nonce, text, tag) = parts(block);
        let nonce = ring::Nonce::assume_unique_for_key(*nonce);
        key.open_in_place_separate_tag(nonce, ring::Aad::from(aad(index)), (*tag).into(), text, 0..).unwrap();
    }
}

/// Half of the blocks each: what two threads can do at most on this processor.
fn on_two_threads(blocks: &mut [u8], work: impl Fn(u32, &mut [u8]) + Sync) {
    let half = BLOCKS / 2;
    let (front, back) = blocks.split_at_mut(half * STORED_BLOCK);
    std::thread::scope(|scope| {
        scope.spawn(|| work(u32::try_from(half).unwrap(), back));
        work(0, front);
    });
}

fn parts(block: &mut [u8]) -> (&mut [u8; 12], &mut [u8], &mut [u8; 16]) {
    let (nonce, rest) = block.split_first_chunk_mut().unwrap();
    let (text, tag) = rest.split_last_chunk_mut().unwrap();
    (nonce, text, tag)
}

fn aad(index: u32) -> [u8; 20] {
    let mut aad = [0; 20];
    aad[..16].copy_from_slice(PREFIX);
    aad[16..].copy_from_slice(&index.to_le_bytes());
    aad
}

fn ring_key(key: &[u8]) -> ring::LessSafeKey {
    let algorithm = if key.len() == 16 { &ring::AES_128_GCM } else { &ring::AES_256_GCM };
    ring::LessSafeKey::new(ring::UnboundKey::new(algorithm, key).unwrap())
}

fn aws_key(key: &[u8]) -> aws::LessSafeKey {
    let algorithm = if key.len() == 16 { &aws::AES_128_GCM } else { &aws::AES_256_GCM };
    aws::LessSafeKey::new(aws::UnboundKey::new(algorithm, key).unwrap())
}
