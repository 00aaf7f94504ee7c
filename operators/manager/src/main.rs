//! The program `manager`.

use std::process::ExitCode;

use manager::{Args, ManagerError, run};

fn main() -> ExitCode {
    let args = Args::read();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(args.worker_threads).enable_all().build();
    let result = runtime.map_err(ManagerError::from).and_then(|runtime| runtime.block_on(run(args)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("manager: {error}");
            ExitCode::FAILURE
        }
    }
}
