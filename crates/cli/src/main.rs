//! The program `lakelock`: encrypted Iceberg tables from the command line.

mod app;
mod args;
mod commands;
mod config;
mod context;
mod failure;
mod ingest;
mod inspect;
mod interrupt;
mod names;
mod output;
mod paths;
mod shell;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    app::run()
}
