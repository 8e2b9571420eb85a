//! stub
use crate::block::{BlockSpec, ProducerJob, Shared};
use crate::consume::Received;
use crate::error::LoadError;
use crate::librdkafka::connect::Cluster;
use crate::produce::{Reported, Sent};
use crate::seconds::Seconds;
use plumb_model::plan::{Properties, StepPlan};
use std::sync::atomic::AtomicBool;
pub(crate) struct Clients;
impl Clients {
    pub(crate) fn new(_: &Cluster, _: &BlockSpec<'_>, _: &AtomicBool) -> Result<Self, LoadError> {
        Ok(Clients)
    }
    pub(crate) fn produce(&self, _: ProducerJob<'_, '_>) -> (Sent, Reported) {
        Default::default()
    }
    pub(crate) fn receive(&self, _: usize, _: &Shared<'_>, _: Seconds<'_>) -> Received {
        Received::default()
    }
    pub(crate) fn effective(&self) -> (Properties, Properties) {
        Default::default()
    }
}
pub(crate) fn check(_: &StepPlan, _: &Properties) -> Result<(), LoadError> {
    Ok(())
}
