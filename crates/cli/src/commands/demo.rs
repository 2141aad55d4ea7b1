//! `lakelock demo`: a tour on real data.

mod folder;
mod tour;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::context::Context;
use crate::failure::Result;

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
    tour::Tour::new(&context, &folder, &arguments.dir).run().await
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
