//! Debug files from the servers of debuginfod(8), for code whose debug information is not on this machine.
//!
//! Nothing is fetched unless the environment or the command line names servers. A program may be held while a file comes. Therefore each
//! wait is shown, and ends by the signal that ends ntrace, or at the time of `DEBUGINFOD_TIMEOUT` without a byte. After such an end no other
//! file is asked for in this run.

mod client;
mod patience;
mod request;

use std::cell::RefCell;
use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::libc;
use ubp_symbols::files::Fetch;

use self::client::{Client, NAME};
use self::patience::{End, Wait, limit, server};
use crate::heritage;
use crate::output::{Patience, shown, tell};

/// The variable that names the servers, and the time without a byte, in seconds (debuginfod_find_debuginfo(3)).
const SERVERS: &str = "DEBUGINFOD_URLS";
const TIMEOUT: &str = "DEBUGINFOD_TIMEOUT";
/// The word of the command line for no servers.
const NONE: &str = "none";
/// Debian's package with the library.
const PACKAGE: &str = "libdebuginfod1";

/// Takes the servers from the command line in place of those of the environment. The process must have a single thread.
pub(crate) fn ask(servers: &str) {
    let servers = if servers == NONE { "" } else { servers };
    heritage::keep_variable(SERVERS);
    // SAFETY: no other thread reads the environment, because there is none yet.
    unsafe { env::set_var(SERVERS, servers) };
}

/// What fetches debug files; `None` if no servers are named. `group` is the process group of this job, to whose terminal the wait is
/// shown. A request ends when `stop` is readable.
pub(crate) fn fetch(group: i32, stop: Option<Arc<File>>) -> Option<Fetch> {
    let servers = env::var(SERVERS).ok().filter(|servers| !servers.trim().is_empty())?;
    let servers = servers.split_whitespace().map(server).collect::<Vec<_>>().join(", ");
    let state = RefCell::new(State::Unloaded);
    let fetcher = Fetcher { servers, patience: Patience::new(group), stop };
    // A request asks for no other debug file, so that the state is free.
    Some(Fetch::new(move |build_id, path| fetcher.bring(&mut *state.try_borrow_mut().ok()?, build_id, path)))
}

/// Whether the library is loaded.
enum State {
    Unloaded,
    Loaded(Client),
    /// Nothing is fetched any more.
    Over,
}

struct Fetcher {
    /// Their names.
    servers: String,
    patience: Patience,
    stop: Option<Arc<File>>,
}

impl Fetcher {
    /// Fetches the debug file with a build ID for the file at a path.
    fn bring(&self, state: &mut State, build_id: &[u8], path: &Path) -> Option<PathBuf> {
        if let State::Unloaded = state {
            *state = load().map_or_else(
                |why| {
                    tell(format_args!("no debug file is fetched: {why}"));
                    State::Over
                },
                State::Loaded,
            );
        }
        let client = match std::mem::replace(state, State::Over) {
            State::Loaded(client) => client,
            State::Unloaded | State::Over => return None,
        };
        let mut wait = Wait::new(path, limit(env::var(TIMEOUT).ok().as_deref()), self.patience, self.stop.as_deref());
        let answer = request::make(client, build_id.into(), |step| wait.goes_on(step));
        let end = wait.end();
        drop(wait);
        let why = match (answer, end) {
            (Some((Ok(found), client)), _) => {
                *state = State::Loaded(client);
                return Some(found);
            }
            // No server has the file.
            (Some((Err(Errno::ENOENT), client)), _) => {
                *state = State::Loaded(client);
                return None;
            }
            (Some((Err(error), _)), _) => error.desc().to_string(),
            (None, Some(End::Silent(limit))) => {
                format!("nothing came for {} s, the time of {TIMEOUT}", limit.as_secs())
            }
            (None, Some(End::Stopped) | None) => return None,
        };
        let servers = &self.servers;
        tell(format_args!("{}: no debug information from {servers}: {why}; this run asks no more", shown(path)));
        None
    }
}

/// Loads the library.
fn load() -> Result<Client, String> {
    // SAFETY: the call takes a number only.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return Err("ntrace has permissions that its user has not (AT_SECURE, getauxval(3))".into());
    }
    Client::load().map_err(|error| format!("{NAME} cannot be loaded ({error}); Debian's package {PACKAGE} has it"))
}
