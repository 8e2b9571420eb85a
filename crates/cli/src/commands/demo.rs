//! `plumb demo`: a real broker on this machine, a quick run of the latency experiment, a report.

use super::{End, carry_out};
use crate::args::DemoArgs;
use crate::printer;
use anyhow::Result;
use plumb_model::resolve::resolve;

const SCENARIO: &str = include_str!("../../../../scenarios/event-hubs-latency.yaml");

pub(super) fn demo(arguments: &DemoArgs) -> Result<End> {
    let (mut scenario, mut sources) =
        plumb_scenario::file::parse("scenarios/event-hubs-latency.yaml", SCENARIO)?;
    super::run::quicken(&mut scenario, &mut sources, "demo");
    printer::remark(
        "plumb demo: Apache Kafka on this machine, and eight client settings measured with 1,000 messages each.",
    );
    carry_out(resolve(&scenario, &sources)?, &arguments.output)
}
