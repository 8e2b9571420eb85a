//! A way between a worker and its coordinator that can be held up or cut, on all connections at once.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(5);

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    way: Arc<Way>,
}

#[derive(Default)]
struct Way {
    held: AtomicBool,
    sockets: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    pub(crate) fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, way) = (listener.local_addr().unwrap(), Arc::new(Way::default()));
        let of_thread = Arc::clone(&way);
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (near, far) = (near.unwrap(), TcpStream::connect(target).unwrap());
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let way = Arc::clone(&of_thread);
                    std::thread::spawn(move || way.pump(from, to));
                }
                of_thread.sockets.lock().unwrap().extend([near, far]);
            }
        });
        Proxy { address, way }
    }

    /// Nothing comes through, until it is let go.
    pub(crate) fn hold(&self, held: bool) {
        self.way.held.store(held, Relaxed);
    }

    /// Ends all connections, as the kernel does with those of a process that is killed.
    pub(crate) fn cut(&self) {
        for socket in self.way.sockets.lock().unwrap().drain(..) {
            let _gone = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Way {
    fn pump(&self, mut from: TcpStream, mut to: TcpStream) {
        from.set_read_timeout(Some(LOOK)).unwrap();
        let mut bytes = [0; 16 << 10];
        loop {
            if self.held.load(Relaxed) {
                std::thread::sleep(LOOK);
                continue;
            }
            match from.read(&mut bytes) {
                Ok(0) => break,
                Ok(read) => {
                    if to.write_all(&bytes[..read]).is_err() {
                        break;
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => break,
            }
        }
        let _gone = to.shutdown(Shutdown::Both);
    }
}
