//! Connections: how many there may be, and how long one may keep its place for nothing.
//!
//! A request may take as long as it likes, as a watch does. What is bounded is the time without
//! one: before the first, between two, and while the headers or the body of one do not come on. Of
//! a client that has vanished the kernel tells.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use argosy_api::http::no_place;
use argosy_model::limits;
use axum::Router;
use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Sleep;
use tower::ServiceExt;

/// How long a connection may be without a request, or wait for more of one.
const IDLE: Duration = Duration::from_secs(limits::CONNECTION_IDLE.max);

/// Connections beyond the limit that are told so at the same time. The others are closed at once.
const REFUSED: usize = 64;

/// The kernel asks the other end of a connection on which nothing has come for half of the limit,
/// and so often that the answers would have come within the other half.
const ASK_AFTER: Duration = Duration::from_secs(limits::CONNECTION_PEER.max / 2);
const ASKS: u32 = 4;
const ASK_EVERY: Duration = Duration::from_secs(limits::CONNECTION_PEER.max / 2 / ASKS as u64);

/// How long after a failure to accept it is tried again: whatever was short may be there then.
const RETRY: Duration = Duration::from_secs(1);

/// Serves until told to stop.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
    let door = Door::new(router);
    let all = async {
        loop {
            if let Some(connection) = door.take(accept(&listener).await) {
                tokio::spawn(connection);
            }
        }
    };
    tokio::select! {
        () = all => {}
        // The sender lives until after the last server has stopped.
        _ = stopped.wait_for(|stop| *stop) => {}
    }
}

/// The next connection, ready for use.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // A connection that is gone already says so when it is read.
                let _ = prepare(&stream);
                return stream;
            }
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be accepted");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    // A watch writes little and often: without this a word waits for the last one's receipt.
    stream.set_nodelay(true)?;
    sockopt::set_tcp_keepidle(stream, ASK_AFTER)?;
    sockopt::set_tcp_keepintvl(stream, ASK_EVERY)?;
    sockopt::set_tcp_keepcnt(stream, ASKS)?;
    sockopt::set_socket_keepalive(stream, true)?;
    Ok(())
}

/// What connections find, and how many may be open.
struct Door {
    router: Router,
    /// Answers that there is no place.
    full: Router,
    places: Arc<Semaphore>,
    refused: Arc<Semaphore>,
}

impl Door {
    fn new(router: Router) -> Door {
        let places = usize::try_from(limits::CONNECTIONS.max).unwrap_or(Semaphore::MAX_PERMITS);
        Door {
            router,
            full: Router::new().fallback(async || no_place()),
            places: Arc::new(Semaphore::new(places)),
            refused: Arc::new(Semaphore::new(REFUSED)),
        }
    }

    /// Gives a connection its place, or one where it is told that there is none.
    fn take<I>(&self, stream: I) -> Option<impl Future<Output = ()> + Send + use<I>>
    where
        I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let free = |places: &Arc<Semaphore>| Arc::clone(places).try_acquire_owned().ok();
        let (router, place) = match free(&self.places) {
            Some(place) => (self.router.clone(), place),
            None => (self.full.clone(), free(&self.refused)?),
        };
        Some(connection(stream, router, place))
    }
}

/// Serves one connection until it ends, or has been idle for too long.
async fn connection<I>(stream: I, router: Router, _place: OwnedSemaphorePermit)
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (requests, seen) = watch::channel(Requests::default());
    let requests = Arc::new(requests);
    let service = service_fn(move |request: Request<Incoming>| {
        let open = Open::new(&requests);
        let request = request.map(|body| Body::new(Patient { body, waiting: None }));
        let answer = router.clone().oneshot(request);
        async move {
            let answer = answer.await;
            answer.map(|response| response.map(|body| Counted { body, _open: open }))
        }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        // What broke it is the client's to know.
        _ = served => {}
        () = idle(seen) => {}
    }
}

/// Waits until there has been no request for too long.
async fn idle(mut requests: watch::Receiver<Requests>) {
    loop {
        // The service that counts them lives as long as the connection.
        let none = requests.wait_for(|requests| requests.open == 0).await;
        let Ok(begun) = none.map(|requests| requests.begun) else { return };
        let next = requests.wait_for(|requests| requests.begun != begun);
        if !matches!(tokio::time::timeout(IDLE, next).await, Ok(Ok(_))) {
            return;
        }
    }
}

/// The requests of a connection.
#[derive(Default)]
struct Requests {
    begun: u64,
    open: u64,
}

/// A request that is not answered in full.
struct Open(Arc<watch::Sender<Requests>>);

impl Open {
    fn new(requests: &Arc<watch::Sender<Requests>>) -> Open {
        requests.send_modify(|requests| {
            requests.begun += 1;
            requests.open += 1;
        });
        Open(Arc::clone(requests))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send_modify(|requests| requests.open -= 1);
    }
}

/// The body of an answer, which counts as open for as long as it is there.
struct Counted {
    body: Body,
    _open: Open,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a request, which breaks when it does not come on.
struct Patient {
    body: Incoming,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for Patient {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.waiting = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)));
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(IDLE)));
        ready!(waiting.as_mut().poll(context));
        let text = "the body of the request does not come on";
        Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::TimedOut, text))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::{get, post};
    use futures::StreamExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::Instant;

    use super::*;

    const ASK: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    fn door() -> Door {
        // Says a word, and then nothing for as long as anybody listens.
        let watch = async || {
            let word = futures::stream::iter([Ok::<_, io::Error>("word")]);
            Body::from_stream(word.chain(futures::stream::pending()))
        };
        let echo = async |body: axum::extract::Request| {
            let read = axum::body::to_bytes(body.into_body(), 100).await;
            read.map_or_else(|error| error.to_string(), |bytes| format!("{} bytes", bytes.len()))
        };
        Door::new(
            Router::new()
                .route("/", get(async || "hello"))
                .route("/watch", get(watch))
                .route("/echo", post(echo)),
        )
    }

    /// A client's end of a connection.
    fn connect(door: &Door) -> Option<(DuplexStream, tokio::task::JoinHandle<()>)> {
        let (client, server) = duplex(4_096);
        Some((client, tokio::spawn(door.take(server)?)))
    }

    /// What comes until the text does, or the end.
    async fn read_to(client: &mut DuplexStream, text: &str) -> String {
        let mut found = Vec::new();
        while !String::from_utf8_lossy(&found).ends_with(text) {
            let mut byte = [0];
            if client.read(&mut byte).await.unwrap() == 0 {
                break;
            }
            found.extend(byte);
        }
        String::from_utf8(found).unwrap()
    }

    /// Seconds until the server closes the connection.
    async fn closed_after(client: &mut DuplexStream) -> u64 {
        let began = Instant::now();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_whole_request_is_closed_after_the_limit() {
        let door = door();
        // Nothing; part of a request; part of what begins HTTP 2; that, and no request.
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        for sent in ["", "GET / HTTP/1.1\r\nhost: a\r\nx-long: ", "PRI * HTTP/2.0", preface] {
            let (mut client, task) = connect(&door).unwrap();
            client.write_all(sent.as_bytes()).await.unwrap();
            assert_eq!(closed_after(&mut client).await, limits::CONNECTION_IDLE.max, "{sent:?}");
            task.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_may_be_idle_up_to_the_limit_and_no_longer() {
        let (mut client, _task) = connect(&door()).unwrap();
        for _ in 0..3 {
            tokio::time::sleep(IDLE - Duration::from_millis(1)).await;
            client.write_all(ASK.as_bytes()).await.unwrap();
            assert!(read_to(&mut client, "hello").await.starts_with("HTTP/1.1 200 OK\r\n"));
        }
        assert_eq!(closed_after(&mut client).await, limits::CONNECTION_IDLE.max);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_has_nothing_to_say_goes_on() {
        let (mut client, task) = connect(&door()).unwrap();
        client.write_all(b"GET /watch HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        assert!(read_to(&mut client, "word\r\n").await.ends_with("\r\n\r\n4\r\nword\r\n"));
        let more = tokio::time::timeout(100 * IDLE, client.read_u8()).await;
        assert!(more.is_err(), "neither a byte nor an end: {more:?}");
        drop(client);
        task.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_pause_up_to_the_limit_and_no_longer() {
        let door = door();
        for (pauses, answer) in [
            (&[IDLE - Duration::from_millis(1); 3][..], "3 bytes"),
            (&[Duration::ZERO, IDLE + Duration::from_millis(1)], "does not come on"),
        ] {
            let (mut client, _task) = connect(&door).unwrap();
            let head = "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n";
            client.write_all(head.as_bytes()).await.unwrap();
            for pause in pauses {
                tokio::time::sleep(*pause).await;
                // The server may have given it up.
                let _ = client.write_all(b"x").await;
            }
            let read = read_to(&mut client, answer).await;
            assert!(read.ends_with(answer), "{read}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn as_many_connections_as_the_limit_are_served_and_one_more_is_told() {
        let door = door();
        let mut open: Vec<_> =
            (0..limits::CONNECTIONS.max).map(|_| connect(&door).unwrap()).collect();
        let (last, _) = open.last_mut().unwrap();
        last.write_all(ASK.as_bytes()).await.unwrap();
        assert!(read_to(last, "hello").await.starts_with("HTTP/1.1 200 OK\r\n"));
        let (mut refused, task) = connect(&door).unwrap();
        refused.write_all(ASK.as_bytes()).await.unwrap();
        let mut answer = String::new();
        refused.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
        assert!(answer.contains("the limit `connections` of 512 connections"), "{answer}");
        task.await.unwrap();
        // Those who do not even listen to that do not add up.
        let told: Vec<_> = (0..REFUSED).map(|_| connect(&door).unwrap()).collect();
        assert!(connect(&door).is_none());
        drop(told);
        let (gone, task) = open.swap_remove(0);
        drop(gone);
        task.await.unwrap();
        let (mut client, _task) = connect(&door).unwrap();
        client.write_all(ASK.as_bytes()).await.unwrap();
        assert!(read_to(&mut client, "hello").await.starts_with("HTTP/1.1 200 OK\r\n"));
    }

    #[tokio::test]
    async fn an_accepted_connection_sends_at_once_and_notices_a_client_that_vanished() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let accepted = accept(&listener).await;
        assert!(accepted.nodelay().unwrap());
        assert!(sockopt::socket_keepalive(&accepted).unwrap());
        let ask_after = sockopt::tcp_keepidle(&accepted).unwrap();
        let ask_every = sockopt::tcp_keepintvl(&accepted).unwrap();
        let asks = sockopt::tcp_keepcnt(&accepted).unwrap();
        assert_eq!((ask_after + asks * ask_every).as_secs(), limits::CONNECTION_PEER.max);
    }
}
