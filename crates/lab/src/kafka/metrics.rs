//! Serving a broker's metrics: the Prometheus JMX exporter, loaded into the running broker, limited to the beans that
//! say where a request spends its time. Reading them is not done here.

use fs_err as fs;

use super::agent;
use super::broker::Broker;
use super::error::{LabError, Result};
use super::ports::Reservation;

/// A scrape of everything costs a broker 0.2 s of processor time, of these 0.05 s (measured on Kafka 4.3). Times are
/// given as mean and count only, since the percentiles are of whole milliseconds and never forget a slow start.
const EXPORTER: &str = r#"startDelaySeconds: 0
includeObjectNames:
  - kafka.network:type=RequestMetrics,name=*,request=Produce
  - kafka.network:type=RequestMetrics,name=*,request=FetchConsumer
  - kafka.network:type=RequestMetrics,name=*,request=FetchFollower
  - kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Produce,*
  - kafka.network:type=RequestMetrics,name=RequestsPerSec,request=FetchConsumer,*
  - kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent
  - kafka.network:type=Processor,name=IdlePercent,*
  - kafka.network:type=Acceptor,*
  - kafka.network:type=RequestChannel,*
  - kafka.server:type=socket-server-metrics,listener=*,networkProcessor=*
  - kafka.server:type=KafkaRequestHandlerPool,*
  - kafka.server:type=socket-server-metrics
  - kafka.server:type=group-coordinator-metrics
  - kafka.server:type=BrokerTopicMetrics,*
  - kafka.server:type=ReplicaManager,*
  - kafka.server:type=ReplicaFetcherManager,name=MaxLag,*
  - kafka.server:type=FetcherLagMetrics,*
  - kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Produce
  - kafka.server:type=DelayedProduceMetrics,*
  - kafka.server:type=Produce,*
  - kafka.server:type=Fetch,*
  - kafka.log:type=LogFlushStats,*
rules:
  - pattern: '<>(Count|Mean|Value|OneMinuteRate|io-wait-time-ns-total|connection-creation-total|connection-count|MemoryPoolDepletedTimeTotal|[a-z-]*rebalance-count|throttle-time): '
"#;

/// The number of ports to try: the agent does not say that a port was taken, only that it did not start.
const ATTEMPTS: usize = 3;

/// Makes the broker serve its metrics. Returns where.
pub(super) fn serve(broker: &Broker, jar: &std::path::Path) -> Result<String> {
    let settings = broker.plan.directory.join("metrics.yaml");
    fs::write(&settings, EXPORTER)?;
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let mut port = Reservation::new(1)?;
        let address = port.addresses[0];
        port.release();
        let options = format!("{address}:{}", settings.display());
        match agent::load(broker.process, &broker.plan.directory, jar, &options) {
            Ok(()) => return Ok(format!("http://{address}/metrics")),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or(LabError::PortsTaken { attempts: 3 }))
}
