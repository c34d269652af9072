//! Serving until stopped.

use std::net::SocketAddr;
use std::process::ExitCode;

use argosy_model::{Code, Diagnostic};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::Context;
use crate::cli::UpArgs;
use crate::embed::{self, Embedded};
use crate::failure::Failure;

pub(super) async fn up(context: &Context, args: UpArgs) -> Result<ExitCode, Failure> {
    let _ = tracing_subscriber::fmt().with_writer(std::io::stderr).try_init();
    let listen = if args.listen.is_empty() { context.config.listen.clone() } else { args.listen };
    let mut listeners = Vec::new();
    for address in listen {
        listeners.push(bind(address).await?);
    }
    let embedded = Embedded::start(&context.config, &args.machine).await?;
    let addresses: Vec<SocketAddr> =
        listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect();
    embed::announce(&context.config.data, &addresses)?;
    greet(context, &addresses);
    let (stop, stopped) = watch::channel(false);
    let mut serving = Vec::new();
    for listener in listeners {
        let (router, mut stopped) = (embedded.router.clone(), stopped.clone());
        serving.push(tokio::spawn(async move {
            let until = async move {
                // The sender lives until after the last server has stopped.
                let _ = stopped.wait_for(|stop| *stop).await;
            };
            tokio::select! {
                served = axum::serve(listener, router) => served,
                () = until => Ok(()),
            }
        }));
    }
    asked_to_stop().await?;
    anstream::eprintln!("stopping; what runs goes on and is taken up again by the next start");
    stop.send_replace(true);
    for server in serving {
        // A server that failed has nothing more to say while everything stops.
        let _ = server.await;
    }
    embedded.stop().await;
    embed::withdraw(&context.config.data);
    Ok(ExitCode::SUCCESS)
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    if !address.ip().is_loopback() {
        let what = format!("{address} can be reached from other machines");
        return Err(Failure(vec![
            Diagnostic::new(Code::ListenRefused, what)
                .help("listen on 127.0.0.1 or [::1] until authentication can be configured"),
        ]));
    }
    TcpListener::bind(address).await.map_err(|error| {
        let what = format!("cannot listen on {address}: {error}");
        Failure(vec![Diagnostic::new(Code::BadRequest, what).help("choose another with --listen")])
    })
}

async fn asked_to_stop() -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::other(format!("signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// One block with everything that a client needs.
fn greet(context: &Context, addresses: &[SocketAddr]) {
    let Some(first) = addresses.first() else { return };
    anstream::println!(
        "argosy {} serves {}",
        env!("CARGO_PKG_VERSION"),
        context.config.data.display()
    );
    for address in addresses {
        anstream::println!("  http://{address}");
    }
    anstream::println!("for argosy:  export ARGOSY_SERVER=http://{first}");
    anstream::println!(
        "for argo:    export ARGO_SERVER={first} ARGO_HTTP1=true ARGO_SECURE=false KUBECONFIG=/dev/null"
    );
    anstream::println!(
        "for hera:    WorkflowsService(host=\"http://{first}\", namespace=\"{}\")",
        context.config.namespace
    );
}
