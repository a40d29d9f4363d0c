//! Processes that a session traces as soon as they execute a program.

use std::fmt;

/// Which processes a session begins to trace when they execute a program ([`Session::follow`](crate::Session::follow)). A process must fulfil all
/// conditions that are set; with none every process does.
///
/// ```
/// use ubp::Follow;
///
/// // Every git of user 1000.
/// let follow = Follow::new().program("git").user(1000);
/// assert_eq!(follow.user, Some(1000));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Follow {
    /// Pattern for the path of the program, as the process sees it (`/proc/PID/exe`): `*` stands for any bytes, `?` for one byte. A pattern
    /// without `/` is compared with the last component. At most 256 bytes. The program of a script is its interpreter.
    pub program: Option<Vec<u8>>,
    /// The real user, as a number in the tracer's user namespace.
    pub user: Option<u32>,
    /// A control group of version 2, by the inode number of its folder: the process is in it or in one below.
    pub group: Option<u64>,
    /// A PID namespace, by the inode number of `/proc/PID/ns/pid`: the process is in it or in one below.
    pub namespace: Option<u64>,
}

impl Follow {
    /// Bytes of a pattern at most.
    pub const MOST_PATTERN: usize = 256;
    /// Rules of a user at most, in all sessions.
    pub const MOST: usize = 256;

    /// Every process.
    pub fn new() -> Follow {
        Follow::default()
    }

    /// Only processes whose program has such a path ([`Follow::program`]).
    #[must_use]
    pub fn program(self, pattern: impl Into<Vec<u8>>) -> Follow {
        Follow { program: Some(pattern.into()), ..self }
    }

    /// Only processes of a real user.
    #[must_use]
    pub fn user(self, user: u32) -> Follow {
        Follow { user: Some(user), ..self }
    }

    /// Only processes in a control group ([`Follow::group`]).
    #[must_use]
    pub fn group(self, inode: u64) -> Follow {
        Follow { group: Some(inode), ..self }
    }

    /// Only processes in a PID namespace ([`Follow::namespace`]).
    #[must_use]
    pub fn namespace(self, inode: u64) -> Follow {
        Follow { namespace: Some(inode), ..self }
    }
}

/// What a session follows. No other rule ever has the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FollowId(pub(crate) u64);

impl fmt::Display for FollowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Why a session cannot follow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowError {
    /// The pattern has more than [`Follow::MOST_PATTERN`] bytes.
    Pattern {
        /// Bytes of the pattern.
        bytes: usize,
    },
    /// The user has [`Follow::MOST`] such rules already.
    TooMany,
    /// The kernel has no memory for the rule.
    NoMemory,
}

impl fmt::Display for FollowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FollowError::Pattern { bytes } => {
                write!(f, "the pattern for programs has {bytes} bytes, of {} at most", Follow::MOST_PATTERN)
            }
            FollowError::TooMany => {
                write!(f, "this user's sessions follow {} sets of processes already, as many as they may", Follow::MOST)
            }
            FollowError::NoMemory => f.write_str("the kernel has no memory to follow processes"),
        }
    }
}

impl std::error::Error for FollowError {}
