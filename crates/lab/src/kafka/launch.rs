//! Starting a broker's process so that it ends as it should: with the process that owns the lab, or only on demand.
//!
//! The kernel sends the parent-death signal when the *thread* that started the child ends (prctl(2),
//! `PR_SET_PDEATHSIG`). Every lab therefore has a thread of its own that starts its processes and lives as long as
//! the lab.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal, setsid};

/// The event that ends the processes of a lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// The owner: by stopping them, or by dying.
    WithOwner,
    /// Only being taken down.
    UntilDown,
}

type Request = (Command, Sender<io::Result<Child>>);

/// The thread that starts the processes of one lab. It ends when this is dropped.
pub(super) struct Launcher {
    requests: Sender<Request>,
}

impl Launcher {
    pub(super) fn new(lifetime: Lifetime) -> io::Result<Self> {
        let (requests, inbox): (_, Receiver<Request>) = channel();
        thread::Builder::new().name("lab-launcher".into()).spawn(move || {
            for (mut command, reply) in inbox {
                detach(&mut command, lifetime);
                // The other end waits for the reply; it cannot have gone.
                let _ = reply.send(command.spawn());
            }
        })?;
        Ok(Self { requests })
    }

    pub(super) fn spawn(&self, command: Command) -> io::Result<Child> {
        let gone = || io::Error::other("the lab's launcher thread has ended");
        let (reply, result) = channel();
        self.requests.send((command, reply)).map_err(|_| gone())?;
        result.recv().map_err(|_| gone())?
    }
}

/// Takes the child out of the terminal's session, so that Ctrl-C reaches the owner alone and a closed terminal
/// nobody; and ties it to the owner's life.
#[expect(
    unsafe_code,
    reason = "only code between fork and exec can make the kernel end a child with its parent"
)]
fn detach(command: &mut Command, lifetime: Lifetime) {
    use std::os::unix::process::CommandExt as _;
    let owner = getpid();
    let prepare = move || prepare_child(owner, lifetime);
    // SAFETY: the closure runs between fork and exec, where only async-signal-safe calls are allowed. It makes three
    // system calls through rustix, which allocates nothing and takes no lock.
    unsafe { command.pre_exec(prepare) };
}

fn prepare_child(owner: Pid, lifetime: Lifetime) -> io::Result<()> {
    setsid()?;
    if lifetime == Lifetime::WithOwner {
        // SIGKILL, since a broker that hangs while shutting down would outlive its owner.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The owner may have died before the line above.
        if getppid() != Some(owner) {
            return Err(rustix::io::Errno::SRCH.into());
        }
    }
    Ok(())
}
