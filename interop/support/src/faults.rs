//! An HTTP server on a port of its own that answers as a test says, also wrongly or not at all, and counts.

use std::future;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// `POST`.
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// What followed.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It is answered: status, body.
    Full(u16, Vec<u8>),
    /// It is answered, but the connection ends in the midst of the body.
    Truncated(u16, Vec<u8>),
    /// The connection is closed without an answer.
    Closed,
    /// The connection stays open, without an answer.
    Nothing,
}

impl Answer {
    /// An answer of JSON.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self::Full(status, body.to_string().into_bytes())
    }

    /// The same answer, cut in the middle.
    #[must_use]
    pub fn truncated(self) -> Self {
        match self {
            Self::Full(status, body) => Self::Truncated(status, body),
            other => other,
        }
    }
}

/// The server; it ends with this.
#[derive(Debug)]
pub struct FaultServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl FaultServer {
    /// Starts one that answers every request as `answer` says.
    ///
    /// # Panics
    /// Without a free port.
    pub async fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::default();
        let task = tokio::spawn(serve(listener, Arc::new(answer), Arc::clone(&requests)));
        Self { address, requests, task }
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A URL of this machine at which nobody listens.
///
/// # Panics
/// Without a free port.
#[must_use]
pub fn nobody() -> String {
    let listener = StdListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

type AnswerTo = dyn Fn(&Request) -> Answer + Send + Sync;

async fn serve(listener: TcpListener, answer: Arc<AnswerTo>, requests: Arc<Mutex<Vec<Request>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (answer, requests) = (Arc::clone(&answer), Arc::clone(&requests));
        tokio::spawn(async move {
            // A client that goes away is none of the server's business.
            let _ = converse(stream, &*answer, &requests).await;
        });
    }
}

async fn converse(stream: TcpStream, answer: &AnswerTo, requests: &Mutex<Vec<Request>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let Some(request) = read(&mut stream).await? else { return Ok(()) };
    requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
    let (status, body, sent) = match answer(&request) {
        Answer::Full(status, body) => (status, body.clone(), body.len()),
        Answer::Truncated(status, body) => (status, body.clone(), body.len() / 2),
        Answer::Closed => return Ok(()),
        Answer::Nothing => future::pending().await,
    };
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body[..sent]).await?;
    stream.shutdown().await
}

async fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(ToOwned::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, path, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    stream.read_exact(&mut request.body).await?;
    Ok(Some(request))
}
