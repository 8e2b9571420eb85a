//! The series of each server.

use crate::track::SeriesCells;

/// Series by server: nearly always one.
pub(super) struct SeriesOfServers {
    pub(super) series: Vec<SeriesCells>,
    by_server: Vec<Vec<u32>>,
}

impl SeriesOfServers {
    pub(super) fn new(series: Vec<SeriesCells>, servers: usize, server_of: impl Fn(u32) -> u32) -> Self {
        let mut by_server = vec![Vec::new(); servers];
        for number in 0..series.len() as u32 {
            if let Some(numbers) = by_server.get_mut(server_of(number) as usize) {
                numbers.push(number);
            }
        }
        SeriesOfServers { series, by_server }
    }

    pub(super) fn series_of(&self, server: u32) -> Vec<&SeriesCells> {
        let numbers = self.by_server.get(server as usize).into_iter().flatten();
        numbers.map(|number| &self.series[*number as usize]).collect()
    }

    pub(super) fn has(&self, server: u32) -> bool {
        self.series_of(server).iter().any(|series| !series.cells.is_empty())
    }
}
