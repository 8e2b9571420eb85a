//! The sink broker with a real client: what it says it does is what librdkafka sees.

mod client;
mod faults;
mod groups;
mod path;
mod strangers;
