use crate::{Mechanism, Options, Result, Session};

/// What a [`Session`] will be, before a thread has it.
///
/// A session belongs to the thread that opens it, and is not [`Send`], because the kernel takes ptrace(2) from that thread alone. A builder
/// is `Send`: it is made anywhere, moved to the thread that is to trace, and opened there.
///
/// ```
/// use ubp::{Options, SessionBuilder};
///
/// let mut options = Options::default();
/// options.signals = false;
/// let builder = SessionBuilder::default().options(options);
/// let tracing = std::thread::spawn(move || -> ubp::Result<()> {
///     let mut session = builder.open()?;
///     // … spawn or attach, and wait for events, in this thread.
///     assert!(session.wait()?.is_none());
///     Ok(())
/// });
/// tracing.join().expect("the thread does not panic")?;
/// # Ok::<(), ubp::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a builder does nothing before it is opened"]
pub struct SessionBuilder {
    mechanism: Mechanism,
    options: Options,
}

impl SessionBuilder {
    /// Sets the mechanism; the default is [`Mechanism::Ptrace`].
    pub fn mechanism(self, mechanism: Mechanism) -> SessionBuilder {
        SessionBuilder { mechanism, ..self }
    }

    /// Sets the options.
    pub fn options(self, options: Options) -> SessionBuilder {
        SessionBuilder { options, ..self }
    }

    /// Opens the session, which belongs to the calling thread.
    ///
    /// # Errors
    /// The errors of [`Session::open`].
    pub fn open(self) -> Result<Session> {
        Session::open(self.mechanism, self.options)
    }
}
