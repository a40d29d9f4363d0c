//! elfutils' client of debuginfod, the library libdebuginfod, as debuginfod_find_debuginfo(3) describes it.
//!
//! The library is loaded when it is first needed. It has the cache, the variables of the environment, the encryption and the attempts.

use std::cell::Cell;
use std::ffi::{CStr, OsStr};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

use libloading::Library;
use nix::errno::Errno;
use nix::libc::{self, c_char, c_int, c_long, c_uchar, c_void};

/// The library's name for the dynamic loader (`DEBUGINFOD_SONAME`).
pub(super) const NAME: &str = "libdebuginfod.so.1";

/// What the library keeps of one client. Only the library knows its layout.
type Handle = *mut c_void;
/// Is told of progress; a number other than zero ends the request (`debuginfod_progressfn_t`).
type OnProgress = unsafe extern "C" fn(Handle, c_long, c_long) -> c_int;

/// The functions of the library.
struct Functions {
    begin: unsafe extern "C" fn() -> Handle,
    end: unsafe extern "C" fn(Handle),
    find: unsafe extern "C" fn(Handle, *const c_uchar, c_int, *mut *mut c_char) -> c_int,
    on_progress: unsafe extern "C" fn(Handle, Option<OnProgress>),
    url: unsafe extern "C" fn(Handle) -> *const c_char,
}

/// How far a request is.
#[derive(Clone, Default)]
pub(super) struct Step {
    /// The bytes that have come, or the number of calls so far while no server sends the file.
    pub(super) done: u64,
    /// The bytes of the file; 0 while they are not known.
    pub(super) all: u64,
    /// The address that is read, if it is known.
    pub(super) url: Option<String>,
}

/// A client.
pub(super) struct Client {
    functions: Functions,
    handle: NonNull<c_void>,
}

// SAFETY: the library allows any thread to use a client, as long as one thread at a time does. A `Client` is neither `Clone` nor `Sync`, so
// that only the thread that owns it calls the library.
unsafe impl Send for Client {}

/// What the callback of a request needs.
struct Watch<'a> {
    goes_on: &'a mut dyn FnMut(Step) -> bool,
    url: unsafe extern "C" fn(Handle) -> *const c_char,
}

thread_local! {
    /// The request that the thread waits for. The library calls back in the thread that asks.
    static WATCHED: Cell<*mut Watch<'static>> = const { Cell::new(ptr::null_mut()) };
}

impl Client {
    /// Loads the library and makes a client.
    ///
    /// # Errors
    /// The loader's words, or those for what the library lacks.
    pub(super) fn load() -> Result<Client, String> {
        // SAFETY: the library is elfutils', whose initialization makes only libcurl ready and may be done at any time in any thread.
        let library = unsafe { Library::new(NAME) }.map_err(|error| error.to_string())?;
        let functions = Functions::of(&library).map_err(|error| error.to_string())?;
        // The library stays loaded to the end of the process: the addresses of its functions stay valid, and threads of libcurl may run.
        std::mem::forget(library);
        // SAFETY: the function takes nothing.
        let handle = NonNull::new(unsafe { (functions.begin)() });
        handle.map(|handle| Client { functions, handle }).ok_or_else(|| format!("{NAME} makes no client"))
    }

    /// Asks the servers of `DEBUGINFOD_URLS` for the debug file with a build ID, and returns its path in the cache. The answer
    /// of `goes_on` says whether the request goes on: elfutils 0.192 asks it while a server sends the file, 0.188 also each second before.
    ///
    /// # Errors
    /// `ENOENT` if no server has the file, and else the reason why nothing was learnt.
    pub(super) fn find(&mut self, build_id: &[u8], goes_on: &mut dyn FnMut(Step) -> bool) -> Result<PathBuf, Errno> {
        let size = c_int::try_from(build_id.len()).map_err(|_| Errno::EINVAL)?;
        let mut watch = Watch { goes_on, url: self.functions.url };
        let mut path: *mut c_char = ptr::null_mut();
        WATCHED.set((&raw mut watch).cast());
        // SAFETY: the client is live, the build ID has that size, and the path is written to a live variable. `watch` lives longer than the
        // call, during which only the callback uses it.
        let answer = unsafe {
            (self.functions.on_progress)(self.handle.as_ptr(), Some(progress));
            (self.functions.find)(self.handle.as_ptr(), build_id.as_ptr(), size, &raw mut path)
        };
        WATCHED.set(ptr::null_mut());
        if answer < 0 {
            return Err(Errno::from_raw(answer.saturating_neg()));
        }
        // SAFETY: the library opened the descriptor for its caller, who closes it.
        drop(unsafe { OwnedFd::from_raw_fd(answer) });
        if path.is_null() {
            return Err(Errno::ENOENT);
        }
        // SAFETY: the path is a string that ends with zero, which the library made for its caller.
        let found = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes())).to_path_buf();
        // SAFETY: the caller frees the path by free(3), and nothing uses it any more.
        unsafe { libc::free(path.cast()) };
        Ok(found)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: the client is live, and nothing uses it any more.
        unsafe { (self.functions.end)(self.handle.as_ptr()) };
    }
}

impl Functions {
    fn of(library: &Library) -> Result<Functions, libloading::Error> {
        // SAFETY: the types are those of elfutils/debuginfod.h, for whose interface the number in the library's name stands.
        unsafe {
            Ok(Functions {
                begin: *library.get(b"debuginfod_begin\0")?,
                end: *library.get(b"debuginfod_end\0")?,
                find: *library.get(b"debuginfod_find_debuginfo\0")?,
                on_progress: *library.get(b"debuginfod_set_progressfn\0")?,
                url: *library.get(b"debuginfod_get_url\0")?,
            })
        }
    }
}

/// The callback: it may only look, and say whether the request goes on.
unsafe extern "C" fn progress(handle: Handle, done: c_long, all: c_long) -> c_int {
    // SAFETY: `find` set the pointer for the time of the request, and this thread uses it nowhere else meanwhile.
    let Some(watch) = (unsafe { WATCHED.get().as_mut() }) else { return 1 };
    // SAFETY: the library calls with its live client.
    let url = unsafe { (watch.url)(handle) };
    // SAFETY: a pointer other than null is to a string that ends with zero and that the library keeps during the call.
    let url = (!url.is_null()).then(|| unsafe { CStr::from_ptr(url) }.to_string_lossy().into_owned());
    let number = |value: c_long| u64::try_from(value).unwrap_or(0);
    c_int::from(!(watch.goes_on)(Step { done: number(done), all: number(all), url }))
}
