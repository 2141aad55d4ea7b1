//! `lakelock demo`: a tour on real data.

mod folder;
mod tour;

use std::path::{Path, PathBuf};
use std::pin::pin;

use clap::Args;

use crate::context::Context;
use crate::failure::{Failure, Fault, Result};
use crate::interrupt::interruption;

/// A tour on real data: make an encrypted table, load it, query it, tamper with it
#[derive(Debug, Args)]
#[command(after_help = "\
Works on 336,776 flights, in a folder of its own that stays for you to explore.
Needs no input and no configuration.

Examples:
  lakelock demo                in ./lakelock-demo
  lakelock demo /tmp/tour      elsewhere")]
pub(crate) struct Arguments {
    /// The folder: new, empty, or that of an earlier demo
    #[arg(default_value = "lakelock-demo")]
    dir: PathBuf,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    let context = context.for_people();
    let folder = context.absolute(&arguments.dir);
    super::init::check_folder(&folder)?;
    folder::prepare(&folder, &arguments.dir).await?;
    let mut interruption = pin!(interruption()?);
    let outcome = tokio::select! {
        outcome = tour::Tour::new(&context, &folder, &arguments.dir).run() => outcome,
        failure = &mut interruption => Err(failure),
    };
    // Whichever step noticed, it does not speak for the whole folder.
    outcome.map_err(|failure| match failure.fault() {
        Fault::Interrupt => {
            let shown = arguments.dir.display();
            Failure::interrupted(format!("interrupted: {shown} is left as it was then"))
                .hint(format!("`lakelock demo {shown}` starts over in it; or delete it"))
        }
        _ => failure,
    })
}

/// How this program is called from within the demo's folder.
fn program_within(dir: &Path) -> String {
    use std::path::Component;
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let inside = dir.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if called.components().count() == 1 && !called.is_absolute() {
        called.display().to_string()
    } else if called.is_relative() && inside {
        let up =
            dir.components().filter(|part| matches!(part, Component::Normal(_))).map(|_| "..").collect::<PathBuf>();
        up.join(called).display().to_string()
    } else {
        std::env::current_exe().unwrap_or(called).display().to_string()
    }
}
