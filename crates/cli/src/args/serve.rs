//! Arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Address and port to listen on; port 0 picks a free port [default: the setting `server.listen`]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// File with the admin token of the server; created if it is missing
    /// [default: server.token in the data folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Install sample skills and start three scripted runs as examples
    #[arg(long)]
    pub(crate) demo: bool,
    /// Print the address, the link and the token file as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "not an IP address and a port, such as 127.0.0.1:7333")
}
