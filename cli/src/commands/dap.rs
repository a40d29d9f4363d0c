//! `ntrace dap`.

use crate::args::DapArgs;
use crate::dap::Adapter;
use crate::debuginfod;
use crate::door::Door;
use crate::failure::Result;
use crate::heritage::Heritage;
use crate::worker::{Control, End};

/// Serves one editor until it leaves, or until ntrace is ended.
pub(crate) fn run(args: &DapArgs, control: &Control, heritage: Heritage) -> Result<End> {
    let door = Door::open(&args.address)?;
    door.announce("an editor");
    if let Some((input, output)) = door.wait(control.as_fd())? {
        let fetch = debuginfod::fetch(heritage.group(), Some(control.notices()));
        Adapter::new(heritage, fetch)?.serve(input, output, control.as_fd())?;
    }
    Ok(End::Detached)
}
