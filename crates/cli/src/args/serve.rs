//! Arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// File with the token of programs that use the server; made if it is not there
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Install sample skills and start three scripted runs to look at
    #[arg(long)]
    pub(crate) demo: bool,
}
