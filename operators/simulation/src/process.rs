//! A manager of the world: the real one, from leader election to status, which is killed, stopped and started again.

use std::sync::Arc;
use std::time::Duration;

use manager::{Args, ManagerError, WatchChecks, manage};
use runtime::outage::Outages;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::api_server::SimulatedApiServer;
use crate::operands::SimulatedOperands;
use crate::story::Story;

/// How soon a kubelet starts a container again that has ended.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// The start of the error with which a manager ends that another one has followed. Any other error is none of a running manager.
const LEASE_LOST: &str = "lost the lease";

/// What the world does to a manager.
#[derive(Clone, Copy, Debug)]
pub enum ManagerCommand {
    /// Ends it in the middle of whatever it does, and starts it after that time.
    Kill(Duration),
    /// Asks it to end, as SIGTERM does, and starts it after that time.
    Stop(Duration),
}

/// Why a manager is not running.
enum Ending {
    Ended(Result<(), ManagerError>),
    Commanded(ManagerCommand),
    WorldEnded,
}

/// Runs the manager of that name, with these flags, until the world drops this or `commands` closes.
pub async fn supervise(
    name: String,
    flags: Arc<[String]>,
    server: SimulatedApiServer,
    operands: SimulatedOperands,
    mut commands: mpsc::UnboundedReceiver<ManagerCommand>,
    story: Story,
) -> Result<(), ManagerError> {
    loop {
        story.tell(&name, "starts");
        let pause = match run_once(&name, &flags, &server, &operands, &mut commands).await? {
            Ending::WorldEnded => return Ok(()),
            Ending::Ended(Err(error)) if !error.to_string().starts_with(LEASE_LOST) => return Err(error),
            Ending::Ended(result) => {
                story.tell(&name, result.map_or_else(|error| format!("ends: {error}"), |()| "ends".to_owned()));
                RESTART_DELAY
            }
            Ending::Commanded(ManagerCommand::Kill(pause)) => {
                story.tell(&name, format!("is killed for {pause:?}"));
                pause
            }
            Ending::Commanded(ManagerCommand::Stop(pause)) => {
                story.tell(&name, format!("is stopped for {pause:?}"));
                pause
            }
        };
        tokio::time::sleep(pause).await;
    }
}

async fn run_once(
    name: &str,
    flags: &[String],
    server: &SimulatedApiServer,
    operands: &SimulatedOperands,
    commands: &mut mpsc::UnboundedReceiver<ManagerCommand>,
) -> Result<Ending, ManagerError> {
    let outages = Outages::default();
    let client = server.client(name, &outages);
    let flags: Vec<&str> = flags.iter().map(String::as_str).chain(["--identity", name]).collect();
    let (args, health, stop) = (Args::of(&flags)?, WatchChecks::default(), CancellationToken::new());
    let running = manage(&args, &client, operands, outages, &health, &stop);
    tokio::pin!(running);
    let command = tokio::select! {
        biased;
        command = commands.recv() => command,
        result = &mut running => return Ok(Ending::Ended(result)),
    };
    let Some(command) = command else { return Ok(Ending::WorldEnded) };
    if let ManagerCommand::Stop(_) = command {
        stop.cancel();
        if let Err(error) = running.await {
            return Ok(Ending::Ended(Err(error)));
        }
    }
    Ok(Ending::Commanded(command))
}
