//! Samples into figures: medians with their intervals.

use super::rounds::{Cell, CryptoRounds};
use crate::probe::LEVEL;
use plumb_model::probe::Figure;
use plumb_model::probe::crypto::{
    CryptoEngine, CryptoRow, Form, NotMeasured, OperationRow, OtherForm, Throughput,
};
use plumb_probe::crypto::{Engine, Sample, Work};
use plumb_stats::distribution::samples_needed;
use plumb_stats::figure::figure;

/// Every engine with its figures, in the order of its work.
pub(super) fn engines(measured: &CryptoRounds<'_>) -> Vec<CryptoEngine> {
    let of = |(index, engine): (usize, &dyn Engine)| {
        let said = engine.describe();
        let samples = |work: Work, threads: Option<u32>| {
            let wanted = |cell: &Cell| {
                cell.engine == index
                    && cell.work == work
                    && threads.map_or(cell.threads > 1, |n| cell.threads == n)
            };
            measured.samples().find(|(cell, _)| wanted(cell)).map_or(&[][..], |(_, samples)| samples)
        };
        let work = engine.work();
        let broken = measured.broken.get(&index);
        let broke_off =
            broken.map(|reason| NotMeasured { what: "the rest".to_owned(), reason: reason.clone() });
        CryptoEngine {
            name: said.name,
            version: said.version,
            file: said.file,
            chosen_because: said.chosen_because,
            rows: work.iter().filter_map(|work| row(*work, &samples)).collect(),
            operations: work.iter().filter_map(|work| operation(*work, &samples)).collect(),
            not_measured: said.not_measured.into_iter().chain(broke_off).collect(),
            jvm_flags: said.jvm_flags,
            jvm_options: said.jvm_options,
        }
    };
    measured.engines.here.iter().map(Box::as_ref).enumerate().map(of).collect()
}

fn row<'a>(work: Work, samples: &impl Fn(Work, Option<u32>) -> &'a [Sample]) -> Option<CryptoRow> {
    let Work::Bytes { algorithm, block_bytes, form } = work else { return None };
    let other = match form {
        Form::Message => Form::Stream,
        Form::Stream => Form::Message,
    };
    let all_cores = samples(work, None);
    let in_other = samples(Work::Bytes { algorithm, block_bytes, form: other }, Some(1));
    Some(CryptoRow {
        algorithm,
        block_bytes,
        form,
        one_core: throughput(samples(work, Some(1)), block_bytes),
        all_cores: (!all_cores.is_empty()).then(|| throughput(all_cores, block_bytes)),
        other_form: (!in_other.is_empty())
            .then(|| OtherForm { form: other, one_core: throughput(in_other, block_bytes) }),
    })
}

fn operation<'a>(work: Work, samples: &impl Fn(Work, Option<u32>) -> &'a [Sample]) -> Option<OperationRow> {
    let Work::Operation(operation) = work else { return None };
    let samples = samples(work, Some(1));
    let figure = median(samples, 1.0);
    Some(OperationRow {
        operation,
        per_s: figure.map(|figure| figure.median),
        interval: figure.and_then(|figure| figure.interval),
        samples: samples.len() as u32,
    })
}

fn throughput(samples: &[Sample], block_bytes: u32) -> Throughput {
    let bytes: Vec<f64> = samples.iter().map(|sample| sample.per_s * f64::from(block_bytes)).collect();
    let figure = median(samples, f64::from(block_bytes));
    let shares: Option<Vec<f64>> = samples.iter().map(|sample| sample.on_cpu_share).collect();
    Throughput {
        bytes_per_s: figure.map(|figure| figure.median),
        interval: figure.and_then(|figure| figure.interval),
        samples: samples.len() as u32,
        min_bytes_per_s: bytes.iter().copied().min_by(f64::total_cmp),
        max_bytes_per_s: bytes.iter().copied().max_by(f64::total_cmp),
        on_cpu_share: shares
            .filter(|shares| !shares.is_empty())
            .map(|shares| shares.iter().sum::<f64>() / shares.len() as f64),
    }
}

/// The median, where there are samples enough for one.
fn median(samples: &[Sample], unit: f64) -> Option<Figure> {
    let values: Vec<f64> = samples.iter().map(|sample| sample.per_s * unit).collect();
    figure(&values, LEVEL).filter(|_| samples.len() as u64 >= samples_needed(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rates: impl IntoIterator<Item = f64>) -> Vec<Sample> {
        rates.into_iter().map(|per_s| Sample { per_s, on_cpu_share: Some(0.5) }).collect()
    }

    #[test]
    fn the_rate_is_the_middle_of_the_samples_times_the_bytes_of_each() {
        let rates = samples((1..=21).map(f64::from));
        let figure = throughput(&rates, 16);
        assert_eq!(figure.bytes_per_s, Some(11.0 * 16.0));
        assert_eq!((figure.min_bytes_per_s, figure.max_bytes_per_s), (Some(16.0), Some(21.0 * 16.0)));
        assert_eq!((figure.samples, figure.on_cpu_share), (21, Some(0.5)));
        // Published ranks of the sign test for 21 at 95 %: 6 and 16.
        let interval = figure.interval.unwrap();
        assert_eq!((interval.low, interval.high), (6.0 * 16.0, 16.0 * 16.0));
    }

    #[test]
    fn a_median_of_fewer_than_twenty_samples_is_absent_and_the_samples_are_counted() {
        let figure = throughput(&samples([1.0; 19]), 16);
        assert_eq!((figure.bytes_per_s, figure.interval, figure.samples), (None, None, 19));
        assert_eq!(throughput(&[], 16), Throughput::default());
    }
}
