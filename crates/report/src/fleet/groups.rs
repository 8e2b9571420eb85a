//! Groups that were drawn, as a file for `--groups`: a row a server, with the seed that draws them again.

use crate::csv::line;
use plumb_model::fleet::FleetGroup;

/// A server with its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'a> {
    /// Its name.
    pub server: &'a str,
    /// Its group.
    pub group: FleetGroup,
    /// Its site.
    pub site: &'a str,
    /// Its hardware.
    pub hardware: &'a str,
    /// Its pair, where servers were matched.
    pub pair: Option<usize>,
    /// The seed that the groups were drawn with.
    pub seed: u64,
}

/// The file.
pub fn render<'a>(rows: impl Iterator<Item = Row<'a>>) -> String {
    let heads = ["server", "group", "site", "hardware", "pair", "seed"];
    let row = |row: Row| {
        let pair = row.pair.map_or_else(String::new, |pair| pair.to_string());
        let words = [row.server, row.group.name(), row.site, row.hardware].map(str::to_owned);
        line(words.into_iter().chain([pair, row.seed.to_string()]))
    };
    std::iter::once(line(heads.into_iter().map(str::to_owned))).chain(rows.map(row)).collect()
}
