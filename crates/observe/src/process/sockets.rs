//! How many bytes wait in the queues of a process' sockets: `/proc/PID/net/tcp` and `tcp6` (proc_pid_net(5)), matched with the process' descriptors.
//!
//! The tables are of a whole network namespace and long on a busy host, so that each reading says by its own cost when the next may be.
//! In a send queue are bytes that the other side has not acknowledged, also those on their way.

use crate::HostRoot;
use crate::own_cost::Pause;
use crate::tcp_table::{TcpSocket, sockets_of, tcp_sockets};
use std::time::Duration;

/// Time between two readings, at least (ours).
const EVERY: Duration = Duration::from_secs(1);
/// Share of one processor that the readings may take (ours).
const COST_MAX: f64 = 0.002;

/// The largest queues that were seen.
#[derive(Debug)]
pub(super) struct SocketQueues {
    pid: u32,
    pause: Pause,
    /// Numbers of the process' sockets, sorted.
    own: Vec<u64>,
    largest: Option<Queues>,
    /// Whether the process' descriptors may be looked at.
    is_refused: bool,
}

/// Bytes that wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Queues {
    pub(super) receive: u64,
    pub(super) send: u64,
}

impl SocketQueues {
    /// None seen yet.
    pub(super) fn new(pid: u32) -> Self {
        SocketQueues {
            pid,
            pause: Pause::new(EVERY, COST_MAX),
            own: Vec::new(),
            largest: None,
            is_refused: false,
        }
    }

    /// Reads them, where it is time.
    pub(super) fn read(&mut self, root: &HostRoot) {
        if self.is_refused || !self.pause.is_over() {
            return;
        }
        let begun = Pause::clock();
        self.read_now(root);
        self.pause.begin(begun);
    }

    fn read_now(&mut self, root: &HostRoot) {
        // A process that ended has no tables, and what was seen of it stays.
        let Some(all) = tcp_sockets(root, &format!("/proc/{}/net", self.pid)) else { return };
        let sockets: Vec<(u64, Queues)> = all.iter().filter_map(waiting).collect();
        // Most of the time nothing waits anywhere: then it does not matter whose the sockets are.
        if sockets.iter().any(|(socket, _)| self.own.binary_search(socket).is_err()) || self.largest.is_none()
        {
            match sockets_of(root, self.pid) {
                Some(own) => self.own = own,
                None => {
                    self.is_refused = true;
                    return;
                }
            }
        }
        let largest = self.largest.get_or_insert_default();
        for (_, queues) in sockets.iter().filter(|(socket, _)| self.own.binary_search(socket).is_ok()) {
            largest.receive = largest.receive.max(queues.receive);
            largest.send = largest.send.max(queues.send);
        }
    }

    /// The largest so far; absent where none could be read.
    pub(super) fn largest(&self) -> Option<Queues> {
        self.largest
    }

    /// Whether the kernel keeps the process' descriptors from this user.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused
    }
}

/// A socket's number and its queues, where something is in one; those of a socket that listens are connections, not bytes.
fn waiting(socket: &TcpSocket) -> Option<(u64, Queues)> {
    let queues = Queues { receive: socket.receive_queue, send: socket.send_queue };
    (!socket.listens() && queues != Queues::default()).then_some((socket.inode, queues))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn bytes_that_a_program_does_not_read_are_seen_in_its_receive_queue() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (receiver, _) = listener.accept().unwrap();
        sender.write_all(&[7; 12_345]).unwrap();
        // What was sent is there once it can be looked at.
        let mut there = vec![0; 12_345];
        while receiver.peek(&mut there).unwrap() < 12_345 {}
        let mut queues = SocketQueues::new(std::process::id());
        queues.read_now(&HostRoot::default());
        assert!(queues.largest().unwrap().receive >= 12_345, "{queues:?}");
        let own = sockets_of(&HostRoot::default(), std::process::id()).unwrap();
        assert!(own.len() >= 3, "{own:?}");
    }

    #[test]
    fn sockets_that_listen_and_those_of_others_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let (net, fd) = (folder.path().join("proc/7/net"), folder.path().join("proc/7/fd"));
        std::fs::create_dir_all(&net).unwrap();
        std::fs::create_dir_all(&fd).unwrap();
        std::os::unix::fs::symlink("socket:[100]", fd.join("3")).unwrap();
        std::os::unix::fs::symlink("/dev/null", fd.join("4")).unwrap();
        let line = |state: &str, queues: &str, inode: u32| {
            format!(" 0: 0100007F:2384 0100007F:A000 {state} {queues} 00:00000000 00000000 0 0 {inode} 1 0\n")
        };
        let table = format!(
            "  sl  local_address\n{}{}{}",
            line("0A", "00000080:00000005", 100),
            line("01", "00000010:00000400", 100),
            line("01", "0000FFFF:0000FFFF", 101)
        );
        std::fs::write(net.join("tcp"), table).unwrap();
        let mut queues = SocketQueues::new(7);
        queues.read(&HostRoot::new(folder.path()));
        assert_eq!(queues.largest(), Some(Queues { receive: 1_024, send: 16 }));
        let mut nobody = SocketQueues::new(8);
        nobody.read(&HostRoot::new(folder.path()));
        assert_eq!((nobody.largest(), nobody.is_refused()), (None, false));
    }
}
