//! The servers met so far: their numbers, and what is known of their groups, sites and hardware.

use crate::error::FleetInputError;
use crate::exclusions::{Exclusions, Left};
use crate::groups::{self, ListedServers, Membership};
use crate::request::{FleetGroups, GroupNames};
use std::collections::{BTreeSet, HashMap};

/// Something that is known of a server, by the names of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Label {
    Site,
    Hardware,
}

/// The place of a row in the source.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowPlace {
    /// The number of the file; 0 for a metrics server.
    pub(crate) origin: u32,
    pub(crate) row: u64,
}

/// A server as known so far.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) name: Box<str>,
    pub(crate) site: Box<str>,
    pub(crate) hardware: Box<str>,
    /// Its group's name in the source, and where it was met first.
    pub(crate) group: Box<str>,
    group_place: RowPlace,
    moved: bool,
}

/// All of them, numbered in the order in which they are met.
#[derive(Debug)]
pub(crate) struct Servers {
    names: Option<GroupNames>,
    listed: Option<ListedServers>,
    by_name: HashMap<Box<str>, u32>,
    servers: Vec<Server>,
    /// The membership of each server. By themselves, as every row asks for one.
    memberships: Vec<Membership>,
    other_groups: BTreeSet<Box<str>>,
    parts: Parts,
}

/// Parts of servers, such as interfaces: each is a series of its own.
#[derive(Debug, Default)]
struct Parts {
    by_name: HashMap<Box<str>, u32>,
    /// The series by server and part.
    series: HashMap<(u32, u32), u32>,
    /// The server of each series; empty where servers have no parts.
    owners: Vec<u32>,
}

/// Other names of groups that are kept for a message.
const OTHER_GROUPS_KEPT: usize = 20;

impl Servers {
    /// # Errors
    ///
    /// Those of a groups file.
    pub(crate) fn new(from: &FleetGroups, left: &mut Exclusions) -> Result<Self, FleetInputError> {
        let (names, listed) = match from {
            FleetGroups::None => (None, None),
            FleetGroups::Source { names } => (Some(names.clone()), None),
            FleetGroups::File { path, names } => {
                (Some(names.clone()), Some(groups::read(path, names, left)?))
            }
        };
        Ok(Servers {
            names,
            listed,
            by_name: HashMap::new(),
            servers: Vec::new(),
            memberships: Vec::new(),
            other_groups: BTreeSet::new(),
            parts: Parts::default(),
        })
    }

    pub(crate) fn get(&self, id: u32) -> &Server {
        &self.servers[id as usize]
    }

    pub(crate) fn all(&self) -> &[Server] {
        &self.servers
    }

    pub(crate) fn names(&self) -> Option<&GroupNames> {
        self.names.as_ref()
    }

    pub(crate) fn listed(&self) -> Option<&ListedServers> {
        self.listed.as_ref()
    }

    /// Names of groups other than the two, as far as kept.
    pub(crate) fn other_groups(&self) -> Vec<String> {
        self.other_groups.iter().map(|name| name.to_string()).collect()
    }

    /// A server's number; new ones get the next.
    pub(crate) fn id(&mut self, name: &str) -> u32 {
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = self.servers.len() as u32;
        let known = self.listed.as_ref().and_then(|listed| listed.get(name));
        self.servers.push(Server {
            name: name.into(),
            site: known.map_or("", |known| &known.site).into(),
            hardware: known.map_or("", |known| &known.hardware).into(),
            group: "".into(),
            group_place: RowPlace::default(),
            moved: false,
        });
        self.memberships.push(known.map_or(Membership::Unknown, |known| known.membership));
        self.by_name.insert(name.into(), id);
        id
    }

    /// The group of a server, as far as it is known.
    #[inline]
    pub(crate) fn membership_of(&self, id: u32) -> Membership {
        self.memberships[id as usize]
    }

    /// The number of a part's name, the same for all servers.
    pub(crate) fn part(&mut self, name: &str) -> u32 {
        if let Some(number) = self.parts.by_name.get(name) {
            return *number;
        }
        let number = self.parts.by_name.len() as u32;
        self.parts.by_name.insert(name.into(), number);
        number
    }

    /// The number of the series of a server's part. Where servers have no parts each is one series, of its own number.
    pub(crate) fn series(&mut self, server: u32, part: u32) -> u32 {
        let Parts { series, owners, .. } = &mut self.parts;
        *series.entry((server, part)).or_insert_with(|| {
            owners.push(server);
            owners.len() as u32 - 1
        })
    }

    /// The server that a series is of.
    pub(crate) fn of_series(&self, series: u32) -> &Server {
        self.get(self.parts.owners.get(series as usize).copied().unwrap_or(series))
    }

    /// The server of each series; empty where each server is one.
    pub(crate) fn owners(&self) -> &[u32] {
        &self.parts.owners
    }

    /// True if its samples may matter: with a groups file, those of servers in neither group do not.
    pub(crate) fn matters(&self, id: u32) -> bool {
        self.listed.is_none() || self.membership_of(id).group().is_some()
    }

    /// The meaning of a group's name in the source.
    pub(crate) fn membership(&mut self, group: &str) -> Membership {
        let Some(names) = &self.names else { return Membership::Unknown };
        let membership = Membership::new(group, names);
        if membership == Membership::Neither && self.other_groups.len() < OTHER_GROUPS_KEPT {
            self.other_groups.insert(group.into());
        }
        membership
    }

    /// The source says that a server is in the group `name`; `place` is where. The place where it said otherwise comes back.
    pub(crate) fn join(
        &mut self,
        id: u32,
        membership: Membership,
        name: &str,
        place: RowPlace,
    ) -> Result<(), RowPlace> {
        let (server, known) = (&mut self.servers[id as usize], &mut self.memberships[id as usize]);
        if membership == *known || membership == Membership::Unknown {
            return Ok(());
        }
        if *known == Membership::Unknown {
            (*known, server.group, server.group_place) = (membership, name.into(), place);
            return Ok(());
        }
        Err(server.group_place)
    }

    /// The source says where a server stands or what it is; the first word counts.
    pub(crate) fn describe(&mut self, id: u32, label: Label, value: &str, left: &mut Exclusions) {
        let server = &mut self.servers[id as usize];
        let known = match label {
            Label::Site => &mut server.site,
            Label::Hardware => &mut server.hardware,
        };
        if known.is_empty() {
            *known = value.into();
        } else if &**known != value && !server.moved {
            server.moved = true;
            left.add(Left::OtherSite, || format!("{}: {known}, then {value}", server.name));
        }
    }
}
