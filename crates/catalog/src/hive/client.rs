//! Calls to a metastore: connections, hosts, and what is known of a call that failed.

use std::fmt;
use std::io::{self, BufReader};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing::debug;

use super::settings::{Host, Settings};
use super::thrift::{Message, MessageKind, Struct};

/// The field of an answer that holds the result; others are exceptions.
const RESULT: i16 = 0;

/// What Thrift itself answers to a method that the server does not have.
const UNKNOWN_METHOD: i32 = 1;

/// A call.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) arguments: Struct,
    /// Which exceptions the method declares, by their fields in the answer.
    pub(super) exceptions: &'static [(i16, Exception)],
    /// Whether it may be made twice: if no answer comes, it is tried again on another connection or host.
    pub(super) repeatable: bool,
}

/// The exceptions of the metastore that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exception {
    AlreadyExists,
    InvalidObject,
    InvalidOperation,
    NoSuchLock,
    NoSuchObject,
    /// Any other, and those that a method does not declare.
    Other,
    UnknownMethod,
}

/// Why there is no result.
#[derive(Debug)]
pub(super) enum CallError {
    /// The call went out, and no answer came back that could be understood.
    Lost { host: Host, source: io::Error },
    /// The metastore has answered that it did not do it.
    Refused { exception: Exception, message: String },
    /// Nothing was asked: no host could be reached, or the call was repeatable.
    Unreachable { hosts: String, source: io::Error },
}

/// Connections to the first of some hosts that answers. Calls block.
pub(super) struct Client {
    hosts: Vec<Host>,
    connect_timeout: Duration,
    answer_timeout: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl Client {
    pub(super) fn new(settings: &Settings) -> Arc<Self> {
        Arc::new(Self {
            hosts: settings.hosts.clone(),
            connect_timeout: settings.connect_timeout,
            answer_timeout: settings.answer_timeout,
            idle: Mutex::default(),
        })
    }

    /// Makes a call and returns the struct that holds its result.
    pub(super) fn call(&self, request: &Request) -> Result<Struct, CallError> {
        let mut failures = Vec::new();
        while let Some(connection) = self.idle_connection() {
            if connection.is_open() {
                match self.exchange(connection, request) {
                    Err(CallError::Lost { source, .. }) if request.repeatable => failures.push(source),
                    outcome => return outcome,
                }
            }
        }
        for host in &self.hosts {
            match Connection::open(host, self.connect_timeout, self.answer_timeout) {
                Ok(connection) => match self.exchange(connection, request) {
                    Err(CallError::Lost { source, .. }) if request.repeatable => failures.push(source),
                    outcome => return outcome,
                },
                Err(error) => {
                    debug!(%host, %error, "a metastore cannot be reached");
                    failures.push(error);
                }
            }
        }
        let hosts: Vec<_> = self.hosts.iter().map(ToString::to_string).collect();
        let source = failures.pop().unwrap_or_else(|| io::ErrorKind::NotConnected.into());
        Err(CallError::Unreachable { hosts: hosts.join(", "), source })
    }

    fn exchange(&self, mut connection: Connection, request: &Request) -> Result<Struct, CallError> {
        match connection.exchange(request) {
            Ok(answer) => {
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
                result(answer, request)
            }
            Err(source) => Err(CallError::Lost { host: connection.host, source }),
        }
    }

    fn idle_connection(&self) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

fn result(answer: Message, request: &Request) -> Result<Struct, CallError> {
    let body = answer.body;
    if answer.kind == MessageKind::Exception {
        let exception = if body.i32(2) == Some(UNKNOWN_METHOD) { Exception::UnknownMethod } else { Exception::Other };
        return Err(CallError::Refused { exception, message: printable(body.string(1).unwrap_or_default()) });
    }
    let Some((field, value)) = body.first_other_than(RESULT) else { return Ok(body) };
    let known = request.exceptions.iter().find(|(id, _)| *id == field);
    let message = value.as_struct().and_then(|exception| exception.string(1)).unwrap_or_default();
    Err(CallError::Refused {
        exception: known.map_or(Exception::Other, |(_, exception)| *exception),
        message: printable(message),
    })
}

/// A message from elsewhere: its first line, and nothing that a terminal would act upon.
fn printable(message: &str) -> String {
    const LONGEST: usize = 500;
    message.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

struct Connection {
    host: Host,
    stream: BufReader<TcpStream>,
    sequence: i32,
}

impl Connection {
    fn open(host: &Host, connect_timeout: Duration, answer_timeout: Duration) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in (host.name.as_str(), host.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, connect_timeout) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(answer_timeout))?;
                    stream.set_write_timeout(Some(answer_timeout))?;
                    return Ok(Self { host: host.clone(), stream: BufReader::new(stream), sequence: 0 });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Whether the other side has not closed an idle connection: a call into a closed one would be lost without a trace.
    fn is_open(&self) -> bool {
        let stream = self.stream.get_ref();
        let quiet = || -> io::Result<bool> {
            stream.set_nonblocking(true)?;
            let peeked = stream.peek(&mut [0]);
            stream.set_nonblocking(false)?;
            Ok(matches!(peeked, Err(e) if e.kind() == io::ErrorKind::WouldBlock))
        };
        self.stream.buffer().is_empty() && quiet().unwrap_or(false)
    }

    fn exchange(&mut self, request: &Request) -> io::Result<Message> {
        self.sequence = self.sequence.wrapping_add(1);
        let call = Message {
            kind: MessageKind::Call,
            method: request.method.to_owned(),
            sequence: self.sequence,
            body: request.arguments.clone(),
        };
        call.write(self.stream.get_mut())?;
        let answer = Message::read(&mut self.stream)?;
        let answers =
            answer.kind != MessageKind::Call && answer.sequence == call.sequence && answer.method == call.method;
        if answers { Ok(answer) } else { Err(io::Error::new(io::ErrorKind::InvalidData, "an answer to another call")) }
    }
}
