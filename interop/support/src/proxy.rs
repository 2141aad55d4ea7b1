//! A server of HTTP between a client and a real server, or in place of one: it counts, and it fails as it is told to.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// Path and query, as they were sent.
    pub target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// The value of a header, whose name is given in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What is done with a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It is sent on, and so is its answer.
    Forward,
    /// It is sent on, and its answer is lost: the client gets this status.
    Lose(u16),
    /// An answer by this proxy itself: status, headers and body.
    Answer(u16, Vec<(&'static str, &'static str)>, &'static str),
    /// No answer: the connection is closed, and the request went nowhere.
    Hangup,
    /// No answer, as long as the client waits.
    Silence,
}

/// A request that was answered.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The request.
    pub request: Request,
    /// How long the body of the answer was.
    pub answer_length: usize,
}

/// The server. It ends with this.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: Option<String>,
    decide: Box<dyn Fn(&Request) -> Reply + Send + Sync>,
    exchanges: Mutex<Vec<Exchange>>,
    ended: AtomicBool,
}

impl Proxy {
    /// Starts one in front of the server at an URL like `http://127.0.0.1:80`.
    ///
    /// # Panics
    /// When there is no port for it.
    #[must_use]
    pub fn before(upstream: &str, decide: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let upstream = upstream.strip_prefix("http://").expect("a URL without TLS");
        Self::start(Some(upstream.trim_end_matches('/').to_owned()), Box::new(decide))
    }

    /// Starts one that answers everything itself.
    ///
    /// # Panics
    /// As [`before`](Self::before).
    #[must_use]
    pub fn instead(decide: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::start(None, Box::new(decide))
    }

    fn start(upstream: Option<String>, decide: Box<dyn Fn(&Request) -> Reply + Send + Sync>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a port");
        let shared = Arc::new(Shared { upstream, decide, exchanges: Mutex::default(), ended: AtomicBool::new(false) });
        let server = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if server.ended.load(Ordering::SeqCst) {
                    return;
                }
                let server = Arc::clone(&server);
                // A client that goes away is none of the proxy's business.
                thread::spawn(move || server.serve(&client).ok());
            }
        });
        Self { address, shared }
    }

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was answered so far, which is forgotten with this.
    #[must_use]
    pub fn take_exchanges(&self) -> Vec<Exchange> {
        std::mem::take(&mut *self.shared.exchanges.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for clients.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    /// One request of a client, which is told to make a new connection for the next.
    fn serve(&self, client: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(client.try_clone()?);
        let Some(request) = read_request(&mut reader)? else { return Ok(()) };
        let answer = match (self.decide)(&request) {
            Reply::Forward => self.forward(&request)?,
            Reply::Lose(status) => {
                self.forward(&request)?;
                answer(status, &[], "")
            }
            Reply::Answer(status, headers, body) => answer(status, &headers, body),
            Reply::Hangup => return Ok(()),
            Reply::Silence => return reader.read_to_end(&mut Vec::new()).map(drop),
        };
        let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").map_or(answer.len(), |end| end + 4);
        let exchange = Exchange { request, answer_length: answer.len() - head };
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
        { client }.write_all(&answer)
    }

    fn forward(&self, request: &Request) -> io::Result<Vec<u8>> {
        let upstream = self.upstream.as_ref().ok_or_else(|| io::Error::other("there is no server behind"))?;
        let mut server = TcpStream::connect(upstream)?;
        let mut head = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", request.method, request.target);
        let headers = request.headers.iter().filter(|(name, _)| name != "connection");
        head.extend(headers.map(|(name, value)| format!("{name}: {value}\r\n")));
        server.write_all(format!("{head}\r\n").as_bytes())?;
        server.write_all(&request.body)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, target, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    Ok(Some(request))
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} \r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    text.extend(headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")));
    format!("{text}\r\n{body}").into_bytes()
}
