//! Memory nodes and the processors of each that this process may use.

use crate::cpus::allowed;
use plumb_model::facts::NumaNode;
use plumb_model::fault::{Fault, HasFault};
use plumb_model::probe::ProbedNode;
use thiserror::Error;

/// A list of processors that is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{list:?} is no list of processors; expected numbers and ranges such as 0-15,32-47")]
pub struct CpuListError {
    /// The list as it was read.
    pub list: String,
}

/// The nodes as the host tells them, each with those of its processors that this process may use.
pub fn nodes(told: &[NumaNode]) -> Result<Vec<ProbedNode>, NodesError> {
    let allowed = allowed().map_err(|source| NodesError::Affinity { source })?;
    let node = |node: &NumaNode| {
        let mut cpus = cpu_list(&node.cpus)?;
        cpus.retain(|cpu| allowed.contains(cpu));
        Ok(ProbedNode { node: node.node, cpus })
    };
    told.iter().map(node).collect()
}

/// A host that tells no nodes has one.
pub fn only_node() -> Result<ProbedNode, NodesError> {
    let cpus = allowed().map_err(|source| NodesError::Affinity { source })?;
    Ok(ProbedNode { node: 0, cpus })
}

/// The reason why the nodes are not known.
#[derive(Debug, Error)]
pub enum NodesError {
    /// The host's word is not understood.
    #[error(transparent)]
    List(#[from] CpuListError),
    /// The kernel does not say which processors may be used.
    #[error("the kernel does not say which processors this process may use")]
    Affinity {
        /// The system's error.
        source: std::io::Error,
    },
}

impl HasFault for NodesError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }
}

/// The kernel's notation, `0-15,32-47`.
fn cpu_list(list: &str) -> Result<Vec<u32>, CpuListError> {
    let fault = || CpuListError { list: list.to_owned() };
    let mut cpus = Vec::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) =
            (first.parse().map_err(|_| fault())?, last.parse().map_err(|_| fault())?);
        // More than the kernel can have; a list is not allowed to fill the memory.
        if last < first || last > 1 << 16 {
            return Err(fault());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_notation_is_read() {
        assert_eq!(cpu_list("0-3,8").unwrap(), [0, 1, 2, 3, 8]);
        assert_eq!(cpu_list("").unwrap(), [] as [u32; 0]);
        for wrong in ["x", "3-1", "0-", "0-99999999"] {
            assert_eq!(cpu_list(wrong), Err(CpuListError { list: wrong.to_owned() }));
        }
    }

    #[test]
    fn a_node_has_only_processors_that_may_be_used() {
        let told = [
            NumaNode { node: 0, cpus: "0-4095".to_owned(), memory_bytes: None, distances: Vec::new() },
            NumaNode { node: 1, cpus: String::new(), memory_bytes: None, distances: Vec::new() },
        ];
        let nodes = nodes(&told).unwrap();
        assert_eq!(nodes[0].cpus, only_node().unwrap().cpus);
        assert!(nodes[1].cpus.is_empty());
    }
}
