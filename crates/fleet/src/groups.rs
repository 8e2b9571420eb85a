//! The groups file: a CSV with `server`, `group` and, if there are any, `site` and `hardware`.

use crate::error::FleetInputError;
use crate::exclusions::{Exclusions, Left};
use crate::quotes::Quotes;
use crate::request::GroupNames;
use crate::text::{delimiter, line_of, without_mark};
use plumb_model::fleet::FleetGroup;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// The group of a server, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Membership {
    /// Nothing yet.
    Unknown,
    Control,
    Test,
    /// In a group that is not compared.
    Neither,
}

impl Membership {
    pub(crate) fn new(group: &str, names: &GroupNames) -> Self {
        match group {
            group if group == names.control => Membership::Control,
            group if group == names.test => Membership::Test,
            "" => Membership::Unknown,
            _ => Membership::Neither,
        }
    }

    pub(crate) fn group(self) -> Option<FleetGroup> {
        match self {
            Membership::Control => Some(FleetGroup::Control),
            Membership::Test => Some(FleetGroup::Test),
            Membership::Unknown | Membership::Neither => None,
        }
    }
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedServer {
    pub(crate) membership: Membership,
    pub(crate) site: String,
    pub(crate) hardware: String,
    group: String,
    line: u64,
}

/// The lines of the file by server.
pub(crate) type ListedServers = BTreeMap<String, ListedServer>;

/// Reads a groups file.
///
/// # Errors
///
/// A file that cannot be read or lacks a column, a server in both groups, a group that nobody is in.
pub(crate) fn read(
    path: &Path,
    names: &GroupNames,
    left: &mut Exclusions,
) -> Result<ListedServers, FleetInputError> {
    let unreadable = |source| FleetInputError::Open { path: path.to_owned(), source };
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let delimiter = delimiter(path, &mut file)?;
    let damaged = |error: ::csv::Error| FleetInputError::Damaged {
        path: path.to_owned(),
        format: "CSV",
        reason: error.to_string(),
    };
    let mut reader =
        ::csv::ReaderBuilder::new().delimiter(delimiter).trim(::csv::Trim::All).from_reader(file);
    let header: Vec<String> = reader.headers().map_err(damaged)?.iter().map(without_mark).collect();
    let place = |column: &str| header.iter().position(|name| name.eq_ignore_ascii_case(column));
    let needed = |column: &'static str| {
        place(column).ok_or_else(|| FleetInputError::NoGroupsColumn {
            path: path.to_owned(),
            column,
            columns: header.clone(),
        })
    };
    let (server, group) = (needed("server")?, needed("group")?);
    let (site, hardware) = (place("site"), place("hardware"));
    let mut listed = ListedServers::new();
    let used: Vec<usize> = [Some(server), Some(group), site, hardware].into_iter().flatten().collect();
    let mut quotes = Quotes::new(path, delimiter, header.len(), used);
    let mut record = ::csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(damaged)? {
        let cell = |place: Option<usize>| place.and_then(|place| record.get(place)).unwrap_or("").to_owned();
        let line = line_of(record.as_byte_record(), reader.position().line());
        quotes.check(record.as_byte_record())?;
        let name = cell(Some(server));
        if name.is_empty() {
            left.add(Left::NoServer, || format!("{}:{line}", path.display()));
            continue;
        }
        let group = cell(Some(group));
        let membership = Membership::new(&group, names);
        let entry = ListedServer { membership, site: cell(site), hardware: cell(hardware), group, line };
        match listed.get(&name) {
            None => {
                listed.insert(name, entry);
            }
            Some(first) if first.membership == membership => {
                left.add(Left::ListedTwice, || format!("{name} ({}:{line})", path.display()));
            }
            Some(first) => {
                return Err(FleetInputError::BothGroups {
                    first: first.group.clone(),
                    first_place: format!("{}:{}", path.display(), first.line),
                    second: entry.group,
                    second_place: format!("{}:{line}", path.display()),
                    server: name,
                });
            }
        }
    }
    quotes.closed()?;
    both_there(path, names, &listed)?;
    Ok(listed)
}

fn both_there(path: &Path, names: &GroupNames, listed: &ListedServers) -> Result<(), FleetInputError> {
    for (group, membership) in [(&names.control, Membership::Control), (&names.test, Membership::Test)] {
        if !listed.values().any(|server| server.membership == membership) {
            let found: BTreeSet<&String> = listed.values().map(|server| &server.group).collect();
            return Err(FleetInputError::NoSuchGroup {
                group: group.clone(),
                place: path.display().to_string(),
                found: found.into_iter().cloned().collect(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::fault::HasFault;

    fn read_text(text: &str) -> (Result<ListedServers, FleetInputError>, Exclusions) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("groups.csv");
        std::fs::write(&path, text).unwrap();
        let mut left = Exclusions::new();
        (read(&path, &GroupNames::default(), &mut left), left)
    }

    #[test]
    fn servers_have_the_group_site_and_hardware_of_their_line() {
        let (listed, _) =
            read_text("\u{feff}Hardware,server,group,site\nold,a,control,x\nnew, b ,test,y\n,c,canary,\n");
        let listed = listed.unwrap();
        let memberships: Vec<Membership> = listed.values().map(|server| server.membership).collect();
        assert_eq!(memberships, [Membership::Control, Membership::Test, Membership::Neither]);
        assert_eq!((listed["b"].site.as_str(), listed["b"].hardware.as_str()), ("y", "new"));
    }

    #[test]
    fn a_server_in_both_groups_is_an_error_that_names_both_lines() {
        let (listed, _) = read_text("server,group\na,control\nb,test\n\na,test\n");
        let message = listed.unwrap_err().to_string();
        assert!(message.contains("\"a\" is in both groups: \"control\""), "{message}");
        assert!(message.contains("groups.csv:2)") && message.contains("groups.csv:5)"), "{message}");
    }

    #[test]
    fn a_server_that_is_there_twice_alike_counts_once() {
        let (listed, left) = read_text("server,group\na,control\nb,test\na,control\n,test\n");
        assert_eq!(listed.unwrap().len(), 2);
        assert_eq!((left.count(Left::ListedTwice), left.count(Left::NoServer)), (1, 1));
    }

    #[test]
    fn groups_of_other_names_are_listed_and_a_missing_column_names_those_there() {
        let message = read_text("server,group\na,old\nb,new\n").0.unwrap_err().to_string();
        assert!(message.ends_with("the groups there are \"new\", \"old\""), "{message}");
        let message = read_text("host,group\na,old\n").0.unwrap_err().to_string();
        assert!(
            message.contains("no column \"server\" for the server; it has \"host\", \"group\""),
            "{message}"
        );
        let hint = read_text("host,group\na,old\n").0.unwrap_err().hint().unwrap();
        assert!(hint.contains("server and group") && !hint.contains("--"), "{hint}");
    }

    #[test]
    fn semicolons_and_tabs_part_columns_as_commas_do() {
        for delimiter in [',', ';', '\t'] {
            let text =
                "server,group,site\na,control,x\nb,test,\"y,z\"\n".replace(',', &delimiter.to_string());
            let listed = read_text(&text).0.unwrap();
            let b = &listed["b"];
            let site = format!("y{delimiter}z");
            assert_eq!((b.membership, b.site.as_str()), (Membership::Test, site.as_str()));
        }
    }
}
