//! Real Apache Kafka on this machine.
