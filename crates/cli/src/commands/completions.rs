//! `lakelock completions`.

use std::io::{self, Write as _};

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::failure::Result;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lakelock completions bash > ~/.local/share/bash-completion/completions/lakelock
  lakelock completions zsh > ~/.zfunc/_lakelock
  lakelock completions fish > ~/.config/fish/completions/lakelock.fish")]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::args::Arguments::command(), "lakelock", &mut script);
    io::stdout().write_all(&script)?;
    Ok(())
}
