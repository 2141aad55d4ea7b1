//! A program as KMS: for every service that has no client here. The protocol is in `docs/guide/kms.md`.
//!
//! One process per call: it reads one JSON object from stdin until its end, writes one to stdout and ends.
//!
//! ```text
//! {"version":1,"operation":"wrap","key-id":"ID","key":"BASE64"}       -> {"wrapped":"BASE64"}
//! {"version":1,"operation":"unwrap","key-id":"ID","wrapped":"BASE64"} -> {"key":"BASE64"}
//! {"version":1,"operation":"generate","key-id":"ID","length":32}      -> {"key":"BASE64","wrapped":"BASE64"}
//! any                                                                 -> {"error":{"kind":"KIND","message":"TEXT"}}
//! ```
//!
//! A process of its own cannot answer for another call, needs no framing, can be killed alone, and holds no key longer
//! than a call takes. Calls are rare enough to start one each: unwrapped keys are cached.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use base64::Engine as _;
use lakelock_crypto::{KeyLength, SecretKey};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, Command};
use zeroize::Zeroizing;

use crate::call::{Call, property, quoted};
use crate::key_bytes::{Alphabet as _, KeyBytes, Standard, from_json, to_json};
use crate::{Error, ErrorKind, GeneratedKey, KeyManagementClient, Operation, Result};

/// Property: the program, either its name or absolute path alone, or a JSON array of it and its arguments.
pub const KMS_COMMAND: &str = "kms.command";

/// A KMS client that asks a program; `encryption.kms-impl` = `command`.
///
/// The program runs with the environment of this process, without a shell. One that is still running when the call is
/// given up is killed.
pub struct CommandKms {
    program: String,
    arguments: Vec<String>,
    /// Cleared when the program says that it cannot.
    generates: AtomicBool,
}

impl CommandKms {
    /// A client that runs `program` with `arguments`.
    #[must_use]
    pub fn new(program: impl Into<String>, arguments: Vec<String>) -> Self {
        Self { program: program.into(), arguments, generates: AtomicBool::new(true) }
    }

    /// A client by the catalog property [`KMS_COMMAND`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] without a program, or with one whose place depends on the current folder.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let invalid = |problem: &str| {
            let expected = "a program, or a JSON array of a program and its arguments";
            Error::new(ErrorKind::InvalidInput, format!("{KMS_COMMAND}: {problem}; expected {expected}"))
        };
        let value = property(properties, KMS_COMMAND).ok_or_else(|| invalid("not set"))?;
        let mut words = if value.trim_start().starts_with('[') {
            serde_json::from_str::<Vec<String>>(value)
                .map_err(|e| invalid("no JSON array of strings").with_source(e))?
        } else {
            vec![value.to_owned()]
        }
        .into_iter();
        let program = words.next().filter(|program| !program.is_empty()).ok_or_else(|| invalid("no program"))?;
        if program.contains('/') && !program.starts_with('/') {
            return Err(invalid(&format!("the path {program:?} is not absolute")));
        }
        Ok(Self::new(program, words.collect()))
    }

    async fn ask(&self, call: Call<'_>, request: Request<'_>) -> Result<Answer> {
        let secret = request.key.as_ref().map(|key| Zeroizing::new(Standard::ENGINE.encode(key.as_slice())));
        let secret = secret.as_ref().map(|secret| secret.trim_end_matches('='));
        let finished = self.run(call, to_json(&request)?).await?;
        if let Ok(Answer { error: Some(fault), key: None, wrapped: None }) = from_json(&finished.answer) {
            if secret.is_some_and(|secret| fault.kind.contains(secret) || fault.message.contains(secret)) {
                let detail = format!("{} answered with an error that is left out, as it holds the key", self.program);
                return Err(call.error(ErrorKind::Damaged, detail));
            }
            return Err(self.fault(call, &fault));
        }
        if !finished.status.success() {
            let said = finished.said(secret);
            let detail = format!("{} ended with {}{said}", self.program, finished.status);
            return Err(call.error(ErrorKind::Damaged, detail));
        }
        match from_json(&finished.answer) {
            Ok(Answer { error: None, key, wrapped }) => Ok(Answer { error: None, key, wrapped }),
            Ok(_) => Err(call.error(ErrorKind::Damaged, format!("{} answered with an error and more", self.program))),
            Err(problem) => Err(call.error(ErrorKind::Damaged, format!("{}: {problem}", self.program))),
        }
    }

    fn fault(&self, call: Call<'_>, fault: &Fault) -> Error {
        let kind = match fault.kind.as_str() {
            "access-denied" => ErrorKind::AccessDenied,
            "credentials" => ErrorKind::Credentials,
            "disabled" => ErrorKind::Disabled,
            "invalid-input" => ErrorKind::InvalidInput,
            "not-found" => ErrorKind::NotFound,
            "throttled" => ErrorKind::Throttled,
            "unreachable" => ErrorKind::Unreachable,
            "unsupported" => ErrorKind::Unsupported,
            "wrong-key" => ErrorKind::WrongKey,
            other => {
                let detail = format!("{} answered with an error of unknown kind {:?}", self.program, quoted(other));
                return call.error(ErrorKind::Damaged, detail);
            }
        };
        let message = if fault.message.is_empty() { &fault.kind } else { &fault.message };
        call.error(kind, format!("{} says: {}", self.program, quoted(message)))
    }

    async fn run(&self, call: Call<'_>, request: Zeroizing<Vec<u8>>) -> Result<Finished> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| {
                let detail = format!("{} does not start: check {KMS_COMMAND}", self.program);
                let kind = match source.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => ErrorKind::InvalidInput,
                    // No process or memory to be had, just now.
                    _ => ErrorKind::Unreachable,
                };
                call.error(kind, detail).with_source(source)
            })?;
        let (Some(input), Some(output), Some(messages)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(call.error(ErrorKind::Internal, "the program has no pipes"));
        };
        // All at once: a program that says much before it reads must not wait for us.
        let exchange = async {
            tokio::try_join!(send(input, request), read_answer(output), read_end(messages)).map(|((), a, m)| (a, m))
        };
        let (answer, messages) = exchange.await.map_err(|source| {
            let detail = format!("cannot talk to {}", self.program);
            let kind = match source.kind() {
                io::ErrorKind::FileTooLarge => ErrorKind::Damaged,
                _ => ErrorKind::Unreachable,
            };
            call.error(kind, detail).with_source(source)
        })?;
        let status = child.wait().await.map_err(|source| {
            call.error(ErrorKind::Internal, format!("{} cannot be waited for", self.program)).with_source(source)
        })?;
        Ok(Finished { answer, messages, status })
    }

    fn missing(&self, call: Call<'_>, field: &str) -> Error {
        call.error(ErrorKind::Damaged, format!("the answer of {} has no {field:?}", self.program))
    }
}

#[async_trait]
impl KeyManagementClient for CommandKms {
    async fn wrap_key(&self, key: &SecretKey, wrapping_key_id: &str) -> Result<Vec<u8>> {
        let call = Call::new(Operation::Wrap, wrapping_key_id);
        let request = Request { key: Some(KeyBytes::new(key.expose_secret())), ..Request::of(call) };
        let wrapped = self.ask(call, request).await?.wrapped.filter(|wrapped| !wrapped.as_slice().is_empty());
        Ok(wrapped.ok_or_else(|| self.missing(call, "wrapped"))?.to_wrapped())
    }

    async fn unwrap_key(&self, wrapped: &[u8], wrapping_key_id: &str) -> Result<SecretKey> {
        let call = Call::new(Operation::Unwrap, wrapping_key_id);
        call.check_wrapped(wrapped)?;
        let request = Request { wrapped: Some(KeyBytes::new(wrapped)), ..Request::of(call) };
        let key = self.ask(call, request).await?.key.ok_or_else(|| self.missing(call, "key"))?;
        call.secret_key(key.as_slice())
    }

    async fn generate_key(&self, length: KeyLength, wrapping_key_id: &str) -> Result<Option<GeneratedKey>> {
        if !self.generates.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let call = Call::new(Operation::Generate, wrapping_key_id);
        let answer = match self.ask(call, Request { length: Some(length.bytes()), ..Request::of(call) }).await {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.generates.store(false, Ordering::Relaxed);
                return Ok(None);
            }
            answer => answer?,
        };
        let key = call.secret_key(answer.key.ok_or_else(|| self.missing(call, "key"))?.as_slice())?;
        if key.length() != length {
            let detail = format!("the answer of {} has a key of {} bytes", self.program, key.length().bytes());
            return Err(call.error(ErrorKind::Damaged, detail));
        }
        let wrapped = answer.wrapped.ok_or_else(|| self.missing(call, "wrapped"))?.to_wrapped();
        Ok(Some(GeneratedKey { key, wrapped }))
    }
}

impl fmt::Debug for CommandKms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the arguments: some hold secrets there.
        f.debug_struct("CommandKms").field("program", &self.program).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Request<'a> {
    version: u32,
    operation: String,
    key_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<KeyBytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrapped: Option<KeyBytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
}

impl<'a> Request<'a> {
    fn of(call: Call<'a>) -> Self {
        let operation = call.operation.to_string();
        Self { version: 1, operation, key_id: call.key_id, key: None, wrapped: None, length: None }
    }
}

#[derive(Deserialize)]
struct Answer {
    key: Option<KeyBytes>,
    wrapped: Option<KeyBytes>,
    error: Option<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    kind: String,
    #[serde(default)]
    message: String,
}

/// A program that has ended.
struct Finished {
    answer: Zeroizing<Vec<u8>>,
    /// The end of its stderr.
    messages: Zeroizing<Vec<u8>>,
    status: ExitStatus,
}

impl Finished {
    /// The end of what the program said on stderr, unless the key may be in it: the one that it was sent, or the one that
    /// it answered with before it failed.
    fn said(&self, secret: Option<&str>) -> String {
        let text = Zeroizing::new(String::from_utf8_lossy(&self.messages).into_owned());
        let may_show_key = match secret {
            Some(secret) => text.contains(secret),
            None => !self.answer.trim_ascii().is_empty(),
        };
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        match lines.last_chunk::<3>().map_or(lines.as_slice(), |last| last.as_slice()) {
            [] => String::from(", and said nothing"),
            _ if may_show_key => String::from("; its messages are left out, as they may hold the key"),
            last => format!(": {}", quoted(&last.join(" "))),
        }
    }
}

async fn send(mut input: ChildStdin, request: Zeroizing<Vec<u8>>) -> io::Result<()> {
    match input.write_all(&request).await {
        // It answered, or failed, without reading: that says more than the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

async fn read_answer(output: impl AsyncRead + Unpin) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut answer = Zeroizing::new(vec![0; MAX_ANSWER_LENGTH + 1]);
    let mut output = output;
    let mut filled = 0;
    while filled < answer.len() {
        match output.read(&mut answer[filled..]).await? {
            0 => {
                answer.truncate(filled);
                return Ok(answer);
            }
            count => filled += count,
        }
    }
    let message = format!("the answer is longer than {MAX_ANSWER_LENGTH} bytes");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
}

/// The end of a stream, which is read to its end however long it is. It begins with a whole word: of one that is cut it
/// could not be said whether it is a key.
async fn read_end(mut messages: impl AsyncRead + Unpin) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut end = Zeroizing::new(Vec::with_capacity(2 * MAX_MESSAGE_LENGTH));
    let mut part = Zeroizing::new([0; MAX_MESSAGE_LENGTH]);
    let mut is_cut = false;
    loop {
        let count = messages.read(&mut *part).await?;
        if count == 0 {
            break;
        }
        end.extend_from_slice(&part[..count]);
        let excess = end.len().saturating_sub(MAX_MESSAGE_LENGTH);
        is_cut |= excess > 0;
        end.drain(..excess);
    }
    if is_cut {
        let word_end = end.iter().position(u8::is_ascii_whitespace).unwrap_or(end.len());
        end.drain(..word_end);
    }
    Ok(end)
}

const MAX_ANSWER_LENGTH: usize = 64 * 1024;
const MAX_MESSAGE_LENGTH: usize = 4 * 1024;
