//! `skillrun serve`: the HTTP server for programs and browsers, until a signal stops it.

mod demo;

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use skillrun_auth::{TokenFile, links, random};
use skillrun_runtime::SystemClock;
use skillrun_server::{ListenConfig, ServerSetup, ServiceContext, Serving, Stop, serve};
use skillrun_webhooks::{self as webhooks, PrivateAddresses};

use crate::args::{Global, OutputForm, Serve};
use crate::failure::Failure;
use crate::output;
use crate::owner::OwnerProcess;
use crate::place::note;
use crate::settings::Settings;
use crate::words::counted;
use skillrun_model::IgnoredError;

pub(crate) fn run(global: &Global, args: &Serve) -> Result<ExitCode, Failure> {
    skillrun_collect::memory::return_freed_memory();
    let settings = Settings::load(global)?;
    std::fs::create_dir_all(settings.data.root()).map_err(|error| {
        let path = settings.data.root().display().to_string();
        Failure::Write { path, error }
    })?;
    let owner = OwnerProcess::for_server(&settings)?;
    let setup = setup(&settings, &owner, args)?;
    if !setup.listen_config.listen.ip().is_loopback() {
        note(
            "this address can be reached from other machines, and the traffic is not encrypted; \
             put a TLS proxy in front of it, and add the proxy's name to server.hosts",
        );
    }
    let stop = Stop::default();
    listen_for_signals(&stop)?;
    let (told, runtime) = (settings.clone(), owner.runtime.clone());
    let (is_demo, form) = (args.demo, if args.json { OutputForm::Json } else { OutputForm::Text });
    let served = serve(setup, &stop, move |serving| {
        if is_demo && let Err(error) = demo::begin(&told, &runtime) {
            note(&format!("failed to start the demo: {error}"));
        }
        print_address(&told, serving, form);
    });
    // Host processes keep running, and the next start finds them.
    owner.leave_runs();
    drop(served?);
    Ok(ExitCode::SUCCESS)
}

fn setup(settings: &Settings, owner: &OwnerProcess, args: &Serve) -> Result<ServerSetup, Failure> {
    let server = &settings.server;
    let token_file = args.token_file.as_deref().map(|path| settings.surroundings.absolute_path(path));
    Ok(ServerSetup {
        runtime: owner.runtime.clone(),
        clock: Arc::new(SystemClock),
        listen_config: ListenConfig {
            listen: args.listen.unwrap_or(server.listen),
            hosts: server.hosts.clone(),
            origins: server.origins.clone(),
            connections: server.connections as usize,
            token_file: token_file.unwrap_or_else(|| TokenFile::default_path(settings.data.root())),
        },
        around: ServiceContext {
            skills: settings.search_path(settings.cwd()),
            cwd: settings.cwd().to_owned(),
            engines: settings.engines(),
            engine: settings.engine.clone(),
            body_max: u64::from(server.body_mb) << 20,
            own: settings.surroundings.own.clone(),
            user_home: settings.surroundings.home().map(ToOwned::to_owned),
            programs: settings.programs.clone(),
            environment: settings.surroundings.environment.clone(),
        },
        webhooks: webhooks::Config {
            urls: server.webhooks.clone(),
            secret: server.webhook_secret.as_ref().map(webhooks::Secret::reveal),
            private_addresses: if server.webhook_private {
                PrivateAddresses::Allowed
            } else {
                PrivateAddresses::Refused
            },
        },
        retention: settings.retention.clone(),
        complain: Arc::new(|what| note(&format!("fault: {what}"))),
    })
}

/// The first signal stops the server, a second one exits at once.
fn listen_for_signals(stop: &Stop) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::internal(format!("failed to register signal handlers: {error}"), error);
    let is_second = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, is_second.clone()).map_err(failed)?;
        signal_hook::flag::register(signal, is_second.clone()).map_err(failed)?;
    }
    let (mut heard, said) = UnixStream::pair().map_err(failed)?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, said.try_clone().map_err(failed)?).map_err(failed)?;
    }
    let stop = stop.clone();
    let wait = move || {
        if heard.read(&mut [0]).is_ok() {
            note("stopping; engines keep running, and the next start resumes their runs");
            stop.stop();
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(())
}

/// Prints the address of the server and how to log in.
fn print_address(settings: &Settings, serving: &Serving, form: OutputForm) {
    let Serving { url, token_file, taken_up, waiting, broken } = serving;
    let link = random::bytes().and_then(|random| links::make(settings.data.root(), crate::words::now(), random));
    let open = link.map_or_else(|error| format!("({error})"), |code| format!("{url}/open#code={code}"));
    let mut text = format!("serving  {url}\nopen     {open}\ntoken    {}\n", token_file.display());
    if taken_up + waiting > 0 {
        text += &format!("resumed  {}, {} waiting for the user\n", counted(*taken_up, "run", "runs"), waiting);
    }
    // If stdout is gone, the server keeps running.
    match form {
        OutputForm::Text => output::print(&text).ignored(),
        OutputForm::Json => output::print_json(&json!({
            "url": url,
            "open": open,
            "token_file": token_file.to_string_lossy(),
            "resumed": taken_up,
            "waiting": waiting,
        }))
        .ignored(),
    }
    for (run, why) in broken {
        note(&format!("{run} cannot be resumed: {why}"));
    }
}
