//! Requests to the HTTP door: of a server over the network, or of the one in this process.

use argosy_model::{Code, Diagnostic};
use axum::Router;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, stream};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::embed;
use crate::failure::Failure;

/// How long a server may be away while somebody follows a run: longer than it takes to start one
/// again.
const AWAY: Duration = Duration::from_secs(60);

/// Pause between looks for a server that is away.
const PAUSE: Duration = Duration::from_millis(250);

/// A way to reach a door.
#[derive(Clone)]
enum Transport {
    Router(Router),
    Tcp {
        address: String,
        /// The data directory that has said so.
        data: Option<PathBuf>,
    },
}

/// A door and the space that is meant.
#[derive(Clone)]
pub(crate) struct Client {
    transport: Transport,
    pub(crate) space: String,
}

type Flow<T> = std::pin::Pin<Box<dyn Stream<Item = Result<T, Failure>> + Send>>;

/// The answer's body, in pieces.
pub(crate) type Pieces = Flow<Bytes>;

/// Whole lines of the answer.
pub(crate) type Blocks = Flow<Bytes>;

/// The results in an answer.
pub(crate) type Results = Flow<Value>;

impl Client {
    /// The door in this process.
    pub(crate) fn embedded(router: Router, space: &str) -> Client {
        Client { transport: Transport::Router(router), space: space.to_owned() }
    }

    /// A server's door, `http://HOST:PORT`.
    pub(crate) fn remote(url: &str, space: &str) -> Result<Client, Failure> {
        let address = url.trim_end_matches('/').strip_prefix("http://").ok_or_else(|| {
            let what = format!("{url:?} is not of the form http://HOST:PORT");
            Failure(vec![Diagnostic::new(Code::BadValue, what)])
        })?;
        let transport = Transport::Tcp { address: address.to_owned(), data: None };
        Ok(Client { transport, space: space.to_owned() })
    }

    /// The door of the server that lives on a data directory, if one does.
    pub(crate) fn living(data: &Path, space: &str) -> Option<Client> {
        let address = embed::live_server(data)?;
        let transport = Transport::Tcp { address, data: Some(data.to_owned()) };
        Some(Client { transport, space: space.to_owned() })
    }

    /// The same door once its server is there again, which may have another address by then;
    /// `None` where it has none, or stays away.
    pub(crate) async fn again(&self) -> Option<Client> {
        let Transport::Tcp { data, .. } = &self.transport else { return None };
        let end = Instant::now() + AWAY;
        while Instant::now() < end {
            sleep(PAUSE).await;
            let found = match data {
                Some(data) => Client::living(data, &self.space),
                None => Some(self.clone()),
            };
            if let Some(found) = found
                && found.bytes("/healthz").await.is_ok()
            {
                return Some(found);
            }
        }
        None
    }

    /// The same door for another space; an empty name leaves it.
    pub(crate) fn within(&self, space: &str) -> Client {
        let space = if space.is_empty() { &self.space } else { space };
        Client { transport: self.transport.clone(), space: space.to_owned() }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: Bytes,
    ) -> Result<(http::StatusCode, Pieces), Failure> {
        let host = match &self.transport {
            Transport::Router(_) => "argosy",
            Transport::Tcp { address, .. } => address,
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", host)
            .header("content-type", kind)
            .body(Body::from(body))
            .map_err(|error| Failure::other(error.to_string()))?;
        match &self.transport {
            Transport::Router(router) => {
                let Ok(answer) = router.clone().oneshot(request).await;
                Ok(split(answer))
            }
            Transport::Tcp { address, .. } => Ok(split(over_tcp(address, request).await?)),
        }
    }

    /// The answer's body; one that is a refusal is an error.
    async fn answer(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: Bytes,
    ) -> Result<Pieces, Failure> {
        let (status, pieces) = self.send(method, path, kind, body).await?;
        if status.is_success() {
            return Ok(pieces);
        }
        Err(refusal(status, &whole(pieces).await?))
    }

    /// A request whose answer is one JSON value.
    pub(crate) async fn json(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: Bytes,
    ) -> Result<Value, Failure> {
        let all = whole(self.answer(method, path, kind, body).await?).await?;
        serde_json::from_slice(&all).map_err(|error| {
            Failure::unreachable(
                format!("the answer is not JSON: {error}"),
                "is this an argosy server?",
            )
        })
    }

    /// A request whose answer is one JSON value, as its bytes come.
    pub(crate) async fn bytes(&self, path: &str) -> Result<Pieces, Failure> {
        self.answer(Method::GET, path, "application/json", Bytes::new()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.json(Method::GET, path, "application/json", Bytes::new()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.json(Method::PUT, path, "application/json", Bytes::from(body.to_string())).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.json(Method::POST, path, "application/json", Bytes::from(body.to_string())).await
    }

    pub(crate) async fn post_yaml(&self, path: &str, body: String) -> Result<Value, Failure> {
        self.json(Method::POST, path, "application/yaml", Bytes::from(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.json(Method::DELETE, path, "application/json", Bytes::new()).await
    }

    /// A request whose answer is one `{"result": ...}` a line, as long as the server has some.
    pub(crate) async fn lines(&self, path: &str) -> Result<Results, Failure> {
        let blocks = self.blocks(path).await?;
        Ok(Box::pin(blocks.flat_map(|block| {
            stream::iter(match block {
                Ok(block) => results(&block).collect(),
                Err(failure) => vec![Err(failure)],
            })
        })))
    }

    /// The same as whole lines of text, as many at a time as there are. What breaks off is an error,
    /// and the last.
    pub(crate) async fn blocks(&self, path: &str) -> Result<Blocks, Failure> {
        let pieces = self.bytes(path).await?;
        Ok(Box::pin(stream::unfold(
            (pieces, BytesMut::new()),
            |(mut pieces, mut rest)| async move {
                loop {
                    let piece = match pieces.next().await? {
                        Ok(piece) => piece,
                        Err(failure) => {
                            let nothing: Pieces = Box::pin(stream::empty());
                            return Some((Err(failure), (nothing, BytesMut::new())));
                        }
                    };
                    let Some(end) = piece.iter().rposition(|byte| *byte == b'\n') else {
                        rest.extend_from_slice(&piece);
                        continue;
                    };
                    let (whole, begun) = piece.split_at(end + 1);
                    rest.extend_from_slice(whole);
                    let block = rest.split().freeze();
                    rest.extend_from_slice(begun);
                    return Some((Ok(block), (pieces, rest)));
                }
            },
        )))
    }
}

/// All of a body.
async fn whole(mut pieces: Pieces) -> Result<BytesMut, Failure> {
    let mut all = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

fn split(answer: Response<Body>) -> (http::StatusCode, Pieces) {
    let status = answer.status();
    let pieces = answer.into_body().into_data_stream().map(|piece| {
        piece.map_err(|error| {
            Failure::unreachable(format!("the connection broke: {error}"), "try again")
        })
    });
    (status, Box::pin(pieces))
}

async fn over_tcp(address: &str, request: Request<Body>) -> Result<Response<Body>, Failure> {
    let refused = |error: String| {
        Failure::unreachable(
            format!("no server answers at {address}: {error}"),
            "start one with `argosy up`, or name another with --server",
        )
    };
    let stream = TcpStream::connect(address).await.map_err(|error| refused(error.to_string()))?;
    // Requests are small, and somebody waits for each.
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| refused(error.to_string()))?;
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(|error| refused(error.to_string()))?;
    Ok(answer.map(|body| Body::new(body.map_err(axum::Error::new))))
}

/// The results in some lines.
pub(crate) fn results<'t, T: Deserialize<'t>>(
    block: &'t [u8],
) -> impl Iterator<Item = Result<T, Failure>> {
    block.split_inclusive(|byte| *byte == b'\n').map(result_of)
}

#[derive(Deserialize)]
struct Told<T> {
    result: Option<T>,
    error: Option<Value>,
}

fn result_of<'t, T: Deserialize<'t>>(line: &'t [u8]) -> Result<T, Failure> {
    let line: Told<T> = serde_json::from_slice(line)
        .map_err(|error| Failure::other(format!("a line is no result: {error}")))?;
    match (line.result, line.error) {
        (_, Some(error)) => Err(told(&error).unwrap_or_else(|| Failure::other(error.to_string()))),
        (Some(result), None) => Ok(result),
        (None, None) => Err(Failure::other("a line has no result")),
    }
}

fn refusal(status: http::StatusCode, body: &[u8]) -> Failure {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    match told(&value) {
        Some(failure) => failure,
        None if status == http::StatusCode::NOT_FOUND => {
            Failure(vec![Diagnostic::new(Code::NotFound, "the server does not know this path")])
        }
        None => Failure::other(format!("the server answered {status}")),
    }
}

/// What a server of ours says of an error.
fn told(error: &Value) -> Option<Failure> {
    let known: Vec<Diagnostic> = serde_json::from_value(error.get("diagnostics")?.clone()).ok()?;
    (!known.is_empty()).then_some(Failure(known))
}

/// A text as one segment of a path or one value of a query.
pub(crate) fn quote(text: &str) -> String {
    use std::fmt::Write as _;
    let mut quoted = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            quoted.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(quoted, "%{byte:02X}");
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use axum::routing::get;

    use super::*;

    /// A door whose answer comes in these pieces.
    fn door(pieces: &[&str]) -> Client {
        let pieces: Vec<_> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        let answer = move || async move {
            let pieces = pieces.into_iter().map(|piece| match &*piece {
                "broken" => Err(std::io::Error::other("broken")),
                _ => Ok(Bytes::from(piece)),
            });
            Body::from_stream(stream::iter(pieces))
        };
        Client::embedded(Router::new().route("/lines", get(answer)), "default")
    }

    #[tokio::test]
    async fn lines_are_whole_however_the_answer_is_cut() {
        let cut: [&[&str]; 3] = [
            &["{\"result\":1}\n{\"result\":\"a\"}\n{\"result\":3}\n"],
            &["{\"resu", "lt\"", ":1}", "\n", "{\"result\":\"a\"}\n{", "\"result\":3}\n"],
            // What has no end is none.
            &["{\"result\":1}\n{\"result\":\"a\"}\n", "{\"result\":3}\n{\"result\":4}"],
        ];
        for pieces in cut {
            let lines = door(pieces).lines("/lines").await.unwrap();
            let values: Vec<Value> = lines.map(Result::unwrap).collect().await;
            assert_eq!(values, [Value::from(1), Value::from("a"), Value::from(3)], "{pieces:?}");
        }
    }

    #[tokio::test]
    async fn an_error_is_one_of_the_lines_and_a_broken_answer_the_last() {
        let refused = Diagnostic::new(Code::DataUnreadable, "no");
        let line = serde_json::json!({"error": {"diagnostics": [&refused]}}).to_string();
        let after = "\n{\"result\":2}\n{}\nx\n";
        let lines = door(&[&line, after, "broken", "{}\n"]).lines("/lines").await.unwrap();
        let lines: Vec<_> = lines.collect().await;
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[0].as_ref().unwrap_err().0, [refused]);
        assert_eq!(lines[1].as_ref().unwrap(), &Value::from(2));
        assert!(lines[2..].iter().all(Result::is_err));
    }
}
