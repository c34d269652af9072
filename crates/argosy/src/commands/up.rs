//! Serving until stopped.

use std::net::SocketAddr;
use std::process::ExitCode;

use argosy_blob::s3::Keys;
use argosy_model::{Code, Diagnostic};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::Context;
use crate::cli::UpArgs;
use crate::embed::{self, Embedded, Owned};
use crate::failure::Failure;
use crate::out::{self, note};
use crate::serve::serve;

pub(super) async fn up(context: &Context, args: UpArgs) -> Result<ExitCode, Failure> {
    super::log("info");
    let listen = if args.listen.is_empty() { context.config.listen.clone() } else { args.listen };
    let s3_listen = args.s3_listen.or(context.config.s3_listen);
    listen.iter().chain(&s3_listen).try_for_each(judge)?;
    // Whoever owns it has the addresses too.
    let owned = Owned::take(&context.config).await?;
    let mut listeners = Vec::new();
    for address in listen {
        listeners.push(bind(address, "--listen").await?);
    }
    let s3_listener = match s3_listen {
        Some(address) => Some(bind(address, "--s3-listen").await?),
        None => None,
    };
    let s3_address = s3_listener.as_ref().and_then(|listener| listener.local_addr().ok());
    let mut embedded = Embedded::start(owned, &context.config, &args.machine, s3_address).await?;
    let addresses: Vec<SocketAddr> =
        listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
    let (stop, stopped) = watch::channel(false);
    let mut serving = Vec::new();
    let mut s3 = None;
    if let Some((listener, objects)) = s3_listener.zip(embedded.objects.take()) {
        s3 = Some((objects.address, objects.keys));
        serving.push(tokio::spawn(serve(listener, objects.router, stopped.clone())));
    }
    // Whoever reads the greeting may ask for the stop at once.
    let mut asked = Asked::take()?;
    embed::announce(&context.config.data, &addresses)?;
    if out::text(&greeting(context, &addresses, s3.as_ref())).is_err() {
        tracing::warn!("standard output is closed or full; the server goes on");
    }
    for listener in listeners {
        let router = embedded.router.clone();
        serving.push(tokio::spawn(serve(listener, router, stopped.clone())));
    }
    asked.wait().await;
    note!("stopping; what runs goes on and is taken up again by the next start");
    stop.send_replace(true);
    for server in serving {
        // A server that failed has nothing more to say while everything stops.
        let _ = server.await;
    }
    tokio::select! {
        () = embedded.stop() => {}
        // Whoever asks twice does not want to wait.
        () = asked.wait() => {}
    }
    embed::withdraw(&context.config.data);
    Ok(ExitCode::SUCCESS)
}

/// Refuses an address that others can reach.
fn judge(address: &SocketAddr) -> Result<(), Failure> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    let what = format!("{address} can be reached from other machines");
    Err(Failure(vec![
        Diagnostic::new(Code::ListenRefused, what)
            .help("listen on 127.0.0.1 or [::1] until authentication can be configured"),
    ]))
}

async fn bind(address: SocketAddr, option: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let what = format!("cannot listen on {address}: {error}");
        let help = format!("choose another with {option}");
        Failure(vec![Diagnostic::new(Code::BadRequest, what).help(help)])
    })
}

/// The signals that ask for a stop.
struct Asked {
    terminate: Signal,
    interrupt: Signal,
}

impl Asked {
    /// From now on they do not end the process by themselves.
    fn take() -> Result<Asked, Failure> {
        let failed = |error: std::io::Error| Failure::other(format!("signals: {error}"));
        let terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        Ok(Asked { terminate, interrupt })
    }

    /// Until one has come.
    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// One block with everything that a client needs.
fn greeting(
    context: &Context,
    addresses: &[SocketAddr],
    s3: Option<&(SocketAddr, Keys)>,
) -> String {
    let Some(first) = addresses.first() else { return String::new() };
    let data = context.config.data.display();
    let mut lines = vec![format!("argosy {} serves {data}", env!("CARGO_PKG_VERSION"))];
    lines.extend(addresses.iter().map(|address| format!("  http://{address}")));
    lines.extend([
        format!("for argosy:  export ARGOSY_SERVER=http://{first}"),
        format!(
            "for argo:    export ARGO_SERVER={first} ARGO_HTTP1=true ARGO_SECURE=false KUBECONFIG=/dev/null"
        ),
        format!(
            "for hera:    WorkflowsService(host=\"http://{first}\", namespace=\"{}\")",
            context.config.namespace
        ),
    ]);
    if let Some((address, keys)) = s3 {
        lines.push(format!(
            "for s3:      export AWS_ENDPOINT_URL=http://{address} AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID={}",
            keys.admin().access_key
        ));
        lines.push(format!("             AWS_SECRET_ACCESS_KEY is in {}", keys.path().display()));
    }
    lines.join("\n") + "\n"
}
