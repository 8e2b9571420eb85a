//! The sink's life: starts the runtime thread that serves connections, and ends it.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::sync::oneshot;

use super::{
    connection,
    control::Control,
    state::{Broker, SinkError, SinkOptions},
    timer::Timer,
};

/// The pause when no connection can be accepted, for instance without free file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A running sink. Dropping it closes every connection at once.
#[derive(Debug)]
pub struct SinkBroker {
    broker: Arc<Broker>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SinkBroker {
    /// Starts listening. Returns when clients can connect.
    pub fn start(options: SinkOptions) -> Result<Self, SinkError> {
        let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let listen = || {
            let listener = TcpListener::bind(asked)?;
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = listen().map_err(|source| SinkError::Listen { address: asked, source })?;
        let timer = Timer::start().map_err(SinkError::Threads)?;
        let broker = Arc::new(Broker::new(options, address, timer));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(SinkError::Threads)?;
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&broker);
        let listener = {
            let _runtime = runtime.enter();
            tokio::net::TcpListener::from_std(listener)
                .map_err(|source| SinkError::Listen { address, source })?
        };
        // One thread for all connections: a wake-up from a producer's connection to a consumer's is then no
        // switch between threads, which would cost more than all else that the sink does.
        let serve = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(&shared, listener) => {}
                    () = shared.expire() => {}
                    _ = stopped => {}
                }
            });
        };
        let thread = thread::Builder::new().name("sink".into()).spawn(serve).map_err(SinkError::Threads)?;
        Ok(Self { broker, stop: Some(stop), thread: Some(thread) })
    }

    /// The address for a client's `bootstrap.servers`.
    pub fn bootstrap(&self) -> String {
        self.broker.address.to_string()
    }

    /// The handle that sets faults and looks at what happened. Clones are cheap and work from any thread.
    pub fn control(&self) -> Control {
        Control::new(Arc::clone(&self.broker))
    }
}

impl Drop for SinkBroker {
    fn drop(&mut self) {
        // Ends the block_on above; the runtime goes with its thread, and with it every connection.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(broker: &Arc<Broker>, listener: tokio::net::TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection::serve(Arc::clone(broker), stream));
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}
