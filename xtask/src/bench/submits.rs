//! Durable submits over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use super::raw;
use super::server::Up;
use super::{Bench, Row};

/// A run that is accepted suspended: nothing but the submit is measured.
fn body(name: &str) -> String {
    format!(
        r#"{{"workflow":{{"apiVersion":"argoproj.io/v1alpha1","kind":"Workflow","metadata":{{"name":"{name}"}},"spec":{{"suspend":true,"entrypoint":"main","templates":[{{"name":"main","container":{{"image":"busybox","command":["true"]}}}}]}}}}}}"#
    )
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Row>, String> {
    let sync_ms = raw::sync(&bench.dir)?.as_secs_f64() * 1e3;
    let raw = 1e3 / sync_ms;
    let one = submits(bench, 1, 500)?;
    let many = submits(bench, 64, 100)?;
    let goal = format!("{:.3} ms (1.5 syncs of {sync_ms:.3} + 0.5; ADR 10)", 1.5 * sync_ms + 0.5);
    Ok(vec![
        Row::ratio("durable submits, 1 connection", "/s", one, raw, "0.7 of the raw sync rate"),
        Row::ratio("the same: each", "ms", 1e3 / one, sync_ms, &goal),
        Row::ratio("durable submits, 64 connections", "/s", many, raw, "5,000/s"),
    ])
}

/// Submits a second, over so many connections.
fn submits(bench: &Bench, connections: usize, each: usize) -> Result<f64, String> {
    let up = Up::start(bench, &bench.data("submits")?)?;
    let began = Instant::now();
    let workers: Vec<_> = (0..connections)
        .map(|worker| {
            let address = up.address.clone();
            thread::spawn(move || work(&address, worker, each))
        })
        .collect();
    for worker in workers {
        worker.join().map_err(|_| "a client died".to_owned())??;
    }
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let count = (connections * each) as f64;
    Ok(count / began.elapsed().as_secs_f64())
}

fn work(address: &str, worker: usize, count: usize) -> Result<(), String> {
    let mut connection = Connection::open(address)?;
    (0..count).try_for_each(|number| connection.submit(&body(&format!("w{worker}-{number}"))))
}

/// A connection that stays.
struct Connection<'a> {
    address: &'a str,
    stream: TcpStream,
    answers: BufReader<TcpStream>,
}

impl<'a> Connection<'a> {
    fn open(address: &'a str) -> Result<Connection<'a>, String> {
        let failed = |error: std::io::Error| error.to_string();
        let stream = TcpStream::connect(address).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        let answers = BufReader::new(stream.try_clone().map_err(failed)?);
        Ok(Connection { address, stream, answers })
    }

    /// Submits a run and waits for the answer.
    fn submit(&mut self, body: &str) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        let head = format!(
            "POST /api/v1/workflows/default HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        self.stream.write_all((head + body).as_bytes()).map_err(failed)?;
        answer(&mut self.answers)
    }
}

/// Reads one answer, which must be a success.
fn answer(answers: &mut BufReader<TcpStream>) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let (mut status, mut length) = (String::new(), 0);
    answers.read_line(&mut status).map_err(failed)?;
    loop {
        let mut line = String::new();
        answers.read_line(&mut line).map_err(failed)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(|_| "no length".to_owned())?;
        }
    }
    let mut body = vec![0; length];
    answers.read_exact(&mut body).map_err(failed)?;
    if status.contains(" 200 ") {
        Ok(())
    } else {
        Err(format!("{status}: {}", String::from_utf8_lossy(&body)))
    }
}

/// From a submit to a watcher's word that one process has succeeded, on a server that has done it
/// before.
pub(super) fn hello(bench: &Bench) -> Result<Vec<Row>, String> {
    const TIMES: u32 = 50;
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let sync = ms(raw::sync(&bench.dir)?);
    let spawn = ms(raw::chain(50)?.wall) / 50.0;
    let up = Up::start(bench, &bench.data("hello")?)?;
    say_hello(&up.address, "warm")?;
    let began = Instant::now();
    for number in 0..TIMES {
        say_hello(&up.address, &format!("hello-{number}"))?;
    }
    let ours = ms(began.elapsed()) / f64::from(TIMES);
    let goal = format!("{:.3} ms (1 spawn + 3 syncs + 3)", spawn + 3.0 * sync + 3.0);
    Ok(vec![Row::ratio("one hello, warm", "ms", ours, spawn, &goal)])
}

fn say_hello(address: &str, name: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let body = body(name).replace("\"suspend\":true,", "");
    let mut connection = Connection::open(address)?;
    connection.submit(&body)?;
    let watch = format!(
        "GET /api/v1/workflow-events/default?listOptions.fieldSelector=metadata.name={name} HTTP/1.1\r\nhost: {address}\r\n\r\n"
    );
    connection.stream.write_all(watch.as_bytes()).map_err(failed)?;
    let mut line = String::new();
    while connection.answers.read_line(&mut line).map_err(failed)? > 0 {
        if line.contains("\"workflows.argoproj.io/phase\":\"Succeeded\"") {
            return Ok(());
        }
        line.clear();
    }
    Err(format!("{name} was not seen to succeed"))
}
