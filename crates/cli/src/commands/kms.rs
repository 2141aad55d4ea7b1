//! `lakelock kms`: whether the KMS of a catalog does its part.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use lakelock_crypto::{KeyLength, SecretKey};
use lakelock_kms::{KMS_IMPL, KMS_TYPE};
use serde_json::json;

use crate::context::{Context, open_kms};
use crate::failure::{Context as _, Failure, Result};
use crate::output::{Listing, OutputFormat, print_document};
use crate::terminal::{Paint, printable};

/// Try the key management service of a catalog
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
The KMS is what the catalog's properties say: encryption.kms-type (aws, azure or
gcp) or encryption.kms-impl (local and others), with the properties of that KMS."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Wrap and unwrap a random key with a master key
    #[command(after_help = "\
Nothing is stored, and no table is looked at. It fails if the KMS cannot be
reached, does not let this identity encrypt and decrypt with the master key, or
gives back another key; the error says which, and what to do.

Examples:
  lakelock kms check --key orders-key
  lakelock kms check --key alias/orders --catalog prod --output json
  lakelock kms check --key alias/orders --set encryption.kms-type=aws \\
      --set client.region=eu-west-1")]
    Check {
        /// The master key's id, as tables name it in encryption.key-id
        #[arg(long, value_name = "KEY")]
        key: String,
    },
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    match arguments.command {
        Command::Check { key } => check(context, &key).await,
    }
}

async fn check(context: &Context, key_id: &str) -> Result<()> {
    let settings = context.settings()?;
    let named = settings.properties.get(KMS_TYPE).or_else(|| settings.properties.get(KMS_IMPL));
    let (Some(name), Some(kms)) = (named, open_kms(&settings)?) else {
        return Err(Failure::usage(format!("the catalog {} has no KMS", settings.name))
            .hint(format!("set {KMS_TYPE} to aws, azure or gcp, or {KMS_IMPL} to local or another client")));
    };
    let key = SecretKey::generate(KeyLength::Aes256)?;
    let started = Instant::now();
    let wrapped = kms.wrap_key(&key, key_id).await;
    let wrapped = wrapped.map_err(|e| hinted(e, name)).with_context(|| format!("the KMS {name} does not wrap"))?;
    let wrap = started.elapsed();
    let started = Instant::now();
    let unwrapped = kms.unwrap_key(&wrapped, key_id).await;
    let unwrapped = unwrapped
        .map_err(|e| hinted(e, name))
        .with_context(|| format!("the KMS {name} wraps, but does not unwrap what it wrapped"))?;
    let unwrap = started.elapsed();
    if unwrapped != key {
        return Err(Failure::new(format!("the KMS {name} gives back another key than it wrapped with {key_id}"))
            .hint("do not use it: what it wraps is lost"));
    }
    match context.format() {
        OutputFormat::Table => {
            let (paint, name, key_id) = (context.paint(), printable(name), printable(key_id));
            let mut out = io::stdout().lock();
            writeln!(out, "{}", paint.bold(format!("The KMS {name} wraps and unwraps with {key_id}.")))?;
            writeln!(out, "  wrapped a random key of 256 bits    {:>9}   {} bytes", shown(wrap), wrapped.len())?;
            writeln!(out, "  unwrapped it: it is the same key    {:>9}", shown(unwrap))?;
        }
        OutputFormat::Json => print_document(&json!({
            "catalog": settings.name, "kms": name, "key_id": key_id, "wrapped_bytes": wrapped.len(),
            "wrap_ms": millis(wrap), "unwrap_ms": millis(unwrap),
        }))?,
        OutputFormat::Csv => Listing::default()
            .text("catalog", [Some(&settings.name)])
            .text("kms", [Some(name)])
            .text("key_id", [Some(key_id)])
            .numbers("wrapped_bytes", [i64::try_from(wrapped.len()).ok()])
            .numbers("wrap_ms", [i64::try_from(wrap.as_millis()).ok()])
            .numbers("unwrap_ms", [i64::try_from(unwrap.as_millis()).ok()])
            .print(OutputFormat::Csv, Paint::plain())?,
    }
    Ok(())
}

/// With what to do next where the error is of a service: what is said elsewhere thinks of the local keystore first.
fn hinted(error: lakelock_kms::Error, name: &str) -> Failure {
    use lakelock_kms::ErrorKind;
    let hint = match error.kind() {
        _ if name == "local" => None,
        ErrorKind::Credentials => Some(
            "log in to the platform, or give this process an identity: the guide says where each KMS looks for one",
        ),
        ErrorKind::NotFound => Some("--key is the id as the KMS knows it; see that it is the right KMS, too"),
        ErrorKind::Throttled | ErrorKind::Unreachable => {
            Some("try again; kms.timeout-ms and kms.max-attempts say how long and how often it is tried")
        }
        _ => None,
    };
    match hint {
        Some(hint) => Failure::from(error).hint(hint),
        None => error.into(),
    }
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", millis(time))
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}
